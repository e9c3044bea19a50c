"""Whether a relation follows from others: total = 1.1 * net follows from tax = 0.1 * net and total = net + tax.

Points are taken that fulfil the accepted relations exactly, and not only to rounding: rows of the table are shaken
by some percent, so that the new relation no longer holds by itself, and brought back onto the accepted ones by
Newton's method. The new relation follows when it holds again at these points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Expression
from inalu.tabular.constants import mantissa, named
from inalu.tabular.fitted import distinct
from inalu.tabular.forms import Linear, Monomial, implied, linear, monomial

Array = NDArray[np.float64]

POINTS = 3
_SHAKE = 0.2
_STEPS = 12
_ZERO = 1e-8
_STEP = 1e-6
# Constants with so many digits were fitted: there is a rest to which they are not known.
_LONG = 3
_EXACT = 1e-6
ZERO = Fraction(0)


@dataclass(frozen=True)
class Equation:
    """``target = formula`` as a residual over named columns."""

    target: str
    formula: Expression

    @property
    def columns(self) -> tuple[str, ...]:
        """Target and operands."""
        return (self.target, *self.formula.columns)

    def residual(self, at: dict[str, Array]) -> Array:
        """Target minus formula."""
        return np.asarray(at[self.target] - self.formula.evaluate(at), dtype=np.float64)


def follows_exactly(new: Equation, accepted: Sequence[Equation]) -> bool:
    """Whether an equation is a combination of the accepted weighted sums, or of the accepted monomials."""
    for vector in (_linear_vector, _monomial_vector):
        own = vector(new)
        if own is None:
            continue
        known = [found for equation in accepted if (found := vector(equation)) is not None]
        names = sorted({name for each in [own, *known] for name in each})
        if implied(
            [own.get(name, ZERO) for name in names],
            [[each.get(name, ZERO) for name in names] for each in known],
        ):
            return True
    return False


def remainders(new: Equation, accepted: Sequence[Equation]) -> list[Equation]:
    """What is left of an equation when an accepted one of its kind that shares columns with it is taken out.

    The kinds are weighted sums, where two columns have to be shared, and products of powers.

    Examples
    --------
    >>> sums = [Equation("t", Expression.parse("a + b")), Equation("t", Expression.parse("1.1 * a + 0.8 * b"))]
    >>> [f"{rest.target} = {rest.formula}" for rest in remainders(sums[1], sums[:1])]
    ['b = t / 3', 'a = 2 * t / 3', 'a = 2 * b']
    >>> both = [Equation("n", Expression.parse("a * b")), Equation("n", Expression.parse("3 * a * c"))]
    >>> [f"{rest.target} = {rest.formula}" for rest in remainders(both[1], both[:1])]
    ['b = 3 * c', 'b = 3 * c']
    """
    found: list[Equation] = []
    for equation in accepted:
        shared = sorted(set(new.columns) & set(equation.columns))
        found += _left_of_sums(new, equation, shared) if len(shared) > 1 else []
        found += _left_of_products(new, equation, shared)
    return found


def _left_of_sums(new: Equation, other: Equation, shared: Sequence[str]) -> Iterator[Equation]:
    own, known = _linear_vector(new), _linear_vector(other)
    if own is None or known is None:
        return
    for pivot in shared:
        if not known.get(pivot) or not own.get(pivot):
            continue
        factor = own[pivot] / known[pivot]
        rest = {name: own.get(name, ZERO) - factor * known.get(name, ZERO) for name in {*own, *known}}
        named = {name: weight for name, weight in rest.items() if weight and name}
        if len(named) > 1:
            target = min(named)
            weights = {name: -weight / named[target] for name, weight in named.items() if name != target}
            form = Linear(weights, -rest.get("", ZERO) / named[target])
            yield Equation(target, form.expression())


def _left_of_products(new: Equation, other: Equation, shared: Sequence[str]) -> Iterator[Equation]:
    own, known = monomial(new.formula), monomial(other.formula)
    if own is None or known is None:
        return
    # Products as powers that multiply to one: target ** -1 * constant * columns.
    powers = {**own.exponents, new.target: own.exponents.get(new.target, ZERO) - 1}
    others = {**known.exponents, other.target: known.exponents.get(other.target, ZERO) - 1}
    for pivot in shared:
        if not powers.get(pivot) or not others.get(pivot):
            continue
        factor = powers[pivot] / others[pivot]
        if factor.denominator != 1:
            continue
        rest = {name: powers.get(name, ZERO) - factor * others.get(name, ZERO) for name in {*powers, *others}}
        named = {name: power for name, power in rest.items() if power}
        constant = own.constant / known.constant ** int(factor)
        target = next((name for name in sorted(named) if abs(named[name]) == 1), None)
        if target is not None and len(named) > 1 and constant > 0:
            sign = -named[target]
            form = Monomial(
                {name: power * sign for name, power in named.items() if name != target},
                constant if sign > 0 else 1 / constant,
            )
            yield Equation(target, form.expression())


def _linear_vector(equation: Equation) -> dict[str, Fraction] | None:
    form = linear(equation.formula)
    if form is None:
        return None
    return {**form.weights, equation.target: form.weights.get(equation.target, ZERO) - 1, "": form.constant}


def _monomial_vector(equation: Equation) -> dict[str, Fraction] | None:
    """Exponents of columns; the constant counts as powers of its own prime factors would: only as itself."""
    form = monomial(equation.formula)
    if form is None:
        return None
    vector = {**form.exponents, equation.target: form.exponents.get(equation.target, ZERO) - 1}
    for part, sign in ((form.constant.numerator, 1), (form.constant.denominator, -1)):
        for prime, power in _factored(abs(part)):
            vector[f"\0{prime}"] = vector.get(f"\0{prime}", ZERO) + sign * power
    return vector


def _factored(whole: int) -> list[tuple[int, int]]:
    """A whole number as small primes with powers, and what is left of it as if it were prime."""
    found = []
    for prime in (2, 3, 5, 7, 11, 13):
        power = 0
        while whole % prime == 0:
            whole //= prime
            power += 1
        if power:
            found.append((prime, power))
    return [*found, (whole, 1)] if whole > 1 else found


def follows(new: Equation, accepted: Sequence[Equation], rows: dict[str, Array], *, seed: int = 0) -> bool:
    """Whether ``new`` holds wherever all accepted equations hold.

    Parameters
    ----------
    new, accepted : Equation
        Over the same columns.
    rows : dict of arrays of shape [points]
        Rows of the table to start from, without missing cells, for every column involved.
    seed : int
        Of the shaking.
    """
    if follows_exactly(new, accepted):
        return True
    near = _connected(new, accepted)
    allowed = imprecision(new.formula)
    if allowed == _EXACT and all(linear(each.formula) is not None for each in [new, *near]):
        return False
    known = {name for equation in near for name in equation.columns}
    if not near or not set(new.columns) <= known:
        return False
    names = sorted(known)
    start = np.array([rows[name] for name in names]).T
    if not len(start) or not np.isfinite(start).all():
        return False
    rng = np.random.default_rng(seed)
    scale = np.abs(start) + 1e-3 * np.abs(start).max(axis=1, keepdims=True) + 1e-9
    points = start + scale * rng.uniform(-_SHAKE, _SHAKE, start.shape)
    solved = _project(near, names, points, scale)
    if solved is None:
        return False
    at = dict(zip(names, solved.T, strict=True))
    size = _size(new, at, dict(zip(names, scale.T, strict=True)))
    with np.errstate(all="ignore"):
        return bool((np.abs(new.residual(at)) <= allowed * size).all())


def imprecision(formula: Expression) -> float:
    """How far a formula may be off because of its long constants, which are known to their digits only.

    Examples
    --------
    >>> imprecision(Expression.parse("0.159664 * a")), imprecision(Expression.parse("a / 12 + 0.19 * b"))
    (2e-06, 1e-06)
    """
    long = [digits for value in distinct(formula) if (digits := _digits(value)) >= _LONG]
    return max(_EXACT, 2.0 * 10.0 ** -min(long)) if long else _EXACT


def _digits(value: Fraction) -> int:
    """The digits of a constant; 0 for one that is exact by its nature, as a third or a conversion of units is."""
    whole = mantissa(value)
    return 0 if whole is None or named(value) else len(str(whole))


def _connected(new: Equation, accepted: Sequence[Equation]) -> list[Equation]:
    """The accepted equations that share columns with the new one, directly or through others."""
    reached, left = set(new.columns), list(accepted)
    chosen: list[Equation] = []
    while True:
        step = [equation for equation in left if reached & set(equation.columns)]
        if not step:
            return chosen
        chosen += step
        left = [equation for equation in left if equation not in step]
        reached.update(name for equation in step for name in equation.columns)


def _size(equation: Equation, at: dict[str, Array], scale: dict[str, Array]) -> Array:
    """How far the residual moves when each column moves by its own size."""
    size = np.abs(at[equation.target])
    middle = equation.residual(at)
    with np.errstate(all="ignore"):
        for name in equation.columns:
            step = scale[name] * _STEP
            size = size + np.abs(equation.residual({**at, name: at[name] + step}) - middle) / _STEP
    return np.where(np.isfinite(size), size, 0.0)


def _project(equations: Sequence[Equation], names: list[str], points: Array, scale: Array) -> Array | None:
    """The points moved onto all equations by the shortest way, or None where that does not converge."""
    index = {name: at for at, name in enumerate(names)}
    count, width = points.shape
    for _ in range(_STEPS):
        at = dict(zip(names, points.T, strict=True))
        residuals = np.zeros((count, len(equations)))
        slopes = np.zeros((count, len(equations), width))
        with np.errstate(all="ignore"):
            for row, equation in enumerate(equations):
                value = equation.residual(at)
                residuals[:, row] = value
                for name in equation.columns:
                    step = scale[:, index[name]] * _STEP
                    moved = equation.residual({**at, name: at[name] + step})
                    slopes[:, row, index[name]] = (moved - value) / _STEP
        if not (np.isfinite(residuals).all() and np.isfinite(slopes).all()):
            return None
        norm = np.linalg.norm(slopes, axis=2) + 1e-300
        if (np.abs(residuals) <= _ZERO * norm).all():
            return points
        move = np.linalg.pinv(slopes / norm[:, :, None], rcond=1e-9) @ (residuals / norm)[:, :, None]
        points = points - move[:, :, 0] * scale
    return None
