"""The distributions that inputs are drawn from, as frozen values with a text form.

========================  ==========================================================================
``U(a,b)``                uniform between a and b
``N(a,b)``                normal with mean (a + b) / 2 and standard deviation (b - a) / 6, cut off at
                          its bounds a and b, which are the mean ± 3 standard deviations
``E(s)``                  exponential with mean (scale) s
``U(-6,-2)|U(2,6)``       one of the parts, then a number from it: parts that are all uniform are
                          chosen in proportion to their widths, others with equal chances
========================  ==========================================================================

``str`` writes the form and `parse_distribution` reads it. Numbers are written as briefly as they can be read
back exactly.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from inalu.errors import InvalidArgument, invalid
from inalu.tasks import random, transforms
from inalu.tasks.random import Floats, Key

Inputs: TypeAlias = npt.NDArray[np.float32]

_LARGEST = float(np.finfo(np.float32).max)
# The stream's largest quantile is 53 ln 2, so that scales up to here cannot overflow float32.
_LARGEST_SCALE = _LARGEST / 37


@runtime_checkable
class Distribution(Protocol):
    """What a task needs of a distribution."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value; the largest may be infinite."""
        ...

    def draw(self, key: Key, shape: random.Shape, *, start: int = 0) -> Inputs:
        """Draw float32 numbers from index ``start`` of the stream on, filling ``shape`` in C order.

        The numbers are computed in float64 and rounded once, so a bound that float32 does not have is kept as
        its rounding.
        """
        ...


class _Simple:
    """What the distributions with one inverse distribution function share."""

    __slots__ = ()

    def quantile(self, u: Floats) -> Floats:
        raise NotImplementedError

    def draw(self, key: Key, shape: random.Shape, *, start: int = 0) -> Inputs:
        out = np.empty(shape, np.float32)
        random.fill(out, key, self.quantile, start=start)
        return out


@dataclass(frozen=True, slots=True)
class Uniform(_Simple):
    """The uniform distribution between two bounds.

    Raises
    ------
    InvalidArgument
        When a bound is not finite, or ``low`` is not below ``high`` in float32.

    Examples
    --------
    >>> str(Uniform(-1, 0.5))
    'U(-1,0.5)'
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_bounds(self)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def quantile(self, u: Floats) -> Floats:
        return transforms.uniform_quantile(u, self.low, self.high)

    def __str__(self) -> str:
        return f"U({number_text(self.low)},{number_text(self.high)})"


@dataclass(frozen=True, slots=True)
class TruncatedNormal(_Simple):
    """The normal distribution cut off at its bounds, which are its mean ± 3 standard deviations.

    Raises
    ------
    InvalidArgument
        When a bound is not finite, or ``low`` is not below ``high`` in float32.

    Examples
    --------
    >>> wide = TruncatedNormal(-2, 4)
    >>> str(wide), wide.mean, wide.std
    ('N(-2,4)', 1.0, 1.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_bounds(self)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def mean(self) -> float:
        """The mean, which truncation does not move."""
        return (self.low + self.high) / 2

    @property
    def std(self) -> float:
        """The standard deviation before truncation."""
        return (self.high - self.low) / 6

    def quantile(self, u: Floats) -> Floats:
        return transforms.truncated_normal_quantile(u, self.low, self.high)

    def __str__(self) -> str:
        return f"N({number_text(self.low)},{number_text(self.high)})"


@dataclass(frozen=True, slots=True)
class Exponential(_Simple):
    """The exponential distribution with mean ``scale`` (rate 1 / scale).

    Raises
    ------
    InvalidArgument
        When the scale is not positive, or too large for float32.

    Examples
    --------
    >>> str(Exponential(0.2))
    'E(0.2)'
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _number("the scale of E", self.scale))
        if not 0 < self.scale <= _LARGEST_SCALE:
            raise invalid("the scale of E", f"must lie above 0 and below {_LARGEST_SCALE:.0e}", self.scale)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, math.inf

    def quantile(self, u: Floats) -> Floats:
        return transforms.exponential_quantile(u, self.scale)

    def __str__(self) -> str:
        return f"E({number_text(self.scale)})"


@dataclass(frozen=True, slots=True)
class Union:
    """A mixture: a part is chosen for each number, which is then drawn from it.

    Parts that are all uniform are chosen in proportion to their widths, so that parts that do not overlap
    make the uniform distribution over all of them. Other parts are chosen with equal chances.

    Raises
    ------
    InvalidArgument
        With fewer than two parts, or a part that is not one of the simple distributions.

    Examples
    --------
    >>> both = Union((Uniform(-6, -2), Uniform(2, 4)))
    >>> str(both), both.bounds
    ('U(-6,-2)|U(2,4)', (-6.0, 4.0))
    """

    parts: tuple[Uniform | TruncatedNormal | Exponential, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if len(self.parts) < 2:
            raise invalid("a union", "must have two parts or more", str(self))
        for part in self.parts:
            if not isinstance(part, _Simple):
                raise invalid("a part of a union", "must be Uniform, TruncatedNormal or Exponential", part)

    @property
    def bounds(self) -> tuple[float, float]:
        lows, highs = zip(*(part.bounds for part in self.parts), strict=True)
        return min(lows), max(highs)

    @property
    def weights(self) -> tuple[float, ...]:
        """The chance of each part."""
        widths = [part.high - part.low for part in self.parts if isinstance(part, Uniform)]
        if len(widths) < len(self.parts):
            return (1 / len(self.parts),) * len(self.parts)
        return tuple(width / math.fsum(widths) for width in widths)

    def draw(self, key: Key, shape: random.Shape, *, start: int = 0) -> Inputs:
        # A stream of its own makes the choice, so that every number keeps all bits of its own word.
        choice = random.uniform(random.key_of(key, "part"), shape, start=start)
        out = self.parts[0].draw(key, shape, start=start)
        reached = 0.0
        for weight, part in zip(self.weights[:-1], self.parts[1:], strict=True):
            reached += weight
            np.copyto(out, part.draw(key, shape, start=start), where=choice >= reached)
        return out

    def __str__(self) -> str:
        return "|".join(map(str, self.parts))


def number_text(value: float) -> str:
    """Write a number as briefly as it can be read back exactly, whole numbers without a point.

    Examples
    --------
    >>> number_text(-1.0), number_text(0.1), number_text(-0.0)
    ('-1', '0.1', '0')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


_FORMS: dict[str, tuple[type[Any], str]] = {
    "U": (Uniform, "U(low,high)"),
    "N": (TruncatedNormal, "N(low,high)"),
    "E": (Exponential, "E(scale)"),
}
_PART = re.compile(r"\s*([^\W\d]\w*)\s*\(([^()|]*)\)\s*")


def parse_distribution(text: str) -> Uniform | TruncatedNormal | Exponential | Union:
    """Read a distribution from its text form; blanks do not matter.

    Raises
    ------
    InvalidArgument
        With one sentence that says what is wrong with the text.

    Examples
    --------
    >>> parse_distribution("N(-3, 3)")
    TruncatedNormal(low=-3.0, high=3.0)
    >>> str(parse_distribution("U(-6,-2) | U(2,6)"))
    'U(-6,-2)|U(2,6)'
    """
    if not isinstance(text, str):
        raise invalid("a distribution", "must be text such as 'U(-1,1)'", text)
    parts = tuple(_parse_part(part) for part in text.split("|"))
    return parts[0] if len(parts) == 1 else Union(parts)


def _parse_part(text: str) -> Uniform | TruncatedNormal | Exponential:
    match = _PART.fullmatch(text)
    if match is None:
        forms = ", ".join(form for _, form in _FORMS.values())
        raise invalid("a distribution", f"must be one of {forms}, or several joined by '|'", text)
    letter, inside = match.groups()
    if letter not in _FORMS:
        message = f"a distribution must begin with one of {', '.join(_FORMS)}; got {text.strip()!r}."
        near = _FORMS.get(letter[0].upper())
        raise InvalidArgument(f"{message} Did you mean {near[1]}?" if near else message)
    kind, form = _FORMS[letter]
    words = inside.split(",")
    if len(words) != form.count(",") + 1:
        raise invalid("a distribution", f"must have the form {form}", text.strip())
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise invalid("a distribution", f"must have the form {form} with numbers", text.strip()) from None
    made: Uniform | TruncatedNormal | Exponential = kind(*numbers)
    return made


def _number(name: str, value: object) -> float:
    """A finite float, with no negative zero, since equal values must have equal text."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise invalid(name, "must be a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise invalid(name, "must be finite", value)
    return number + 0.0


def _check_bounds(owner: Uniform | TruncatedNormal) -> None:
    letter = "U" if isinstance(owner, Uniform) else "N"
    for name in ("low", "high"):
        value = _number(f"{name} of {letter}", getattr(owner, name))
        if abs(value) > _LARGEST:
            raise invalid(f"{name} of {letter}", f"must lie within float32, ±{_LARGEST:.1e}", value)
        object.__setattr__(owner, name, value)
    if owner.low > owner.high:
        fix = f"{letter}({number_text(owner.high)},{number_text(owner.low)}) has them in order"
        raise invalid("bounds", "must be in rising order", str(owner), fix=fix)
    if np.float32(owner.low) == np.float32(owner.high):
        raise invalid("bounds", "must differ in float32, or every input is the same", str(owner))
