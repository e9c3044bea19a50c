"""Initial laws: from which distributions a cell's parameters start, by name and as data.

No torch here: the engine draws the same laws from its own random numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from inalu.errors import check_choice, invalid


@dataclass(frozen=True)
class Normal:
    """A normal distribution of one parameter family."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.std) and self.std >= 0):
            raise invalid("Normal", "needs a finite mean and a finite std >= 0", (self.mean, self.std))

    def __str__(self) -> str:
        return f"normal({self.mean:g},{self.std:g})"

    def values(self, standard: Any, unit: Any) -> Any:
        """Turn standard normal and unit uniform numbers, NumPy's or torch's, into values of this law."""
        return self.mean + self.std * standard


@dataclass(frozen=True)
class Uniform:
    """A uniform distribution of one parameter family on [low, high)."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise invalid("Uniform", "needs finite bounds, low <= high", (self.low, self.high))

    def __str__(self) -> str:
        return f"uniform({self.low:g},{self.high:g})"

    def values(self, standard: Any, unit: Any) -> Any:
        """Turn standard normal and unit uniform numbers, NumPy's or torch's, into values of this law."""
        return self.low + (self.high - self.low) * unit


@dataclass(frozen=True)
class Signs:
    """A normal around +size or -size, with even chances: weights that start away from 0."""

    size: float
    std: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.size) and math.isfinite(self.std) and self.std >= 0):
            raise invalid("Signs", "needs a finite size and a finite std >= 0", (self.size, self.std))

    def __str__(self) -> str:
        return f"signs({self.size:g},{self.std:g})"

    def values(self, standard: Any, unit: Any) -> Any:
        """Turn standard normal and unit uniform numbers, NumPy's or torch's, into values of this law."""
        return self.size * (1 - 2 * (unit < 0.5)) + self.std * standard


Distribution = Normal | Uniform | Signs


@dataclass(frozen=True, kw_only=True)
class Law:
    """The initial laws of the paper's three parameter families: G, M_hat and W_hat.

    Examples
    --------
    >>> str(Law(G=Normal(0, 0.1), M_hat=Normal(-1, 0.1), W_hat=Normal(1, 0.1)))
    'G=normal(0,0.1) M_hat=normal(-1,0.1) W_hat=normal(1,0.1)'
    """

    G: Distribution
    M_hat: Distribution
    W_hat: Distribution

    @classmethod
    def around(cls, g: float, m_hat: float, w_hat: float, *, std: float) -> Law:
        """Return normal laws with these means and one standard deviation, as in experiment 3."""
        return cls(G=Normal(g, std), M_hat=Normal(m_hat, std), W_hat=Normal(w_hat, std))

    def of(self, parameter: str) -> Distribution:
        """Return the law of a parameter by its name: ``W_hat_a`` and ``W_hat_m`` follow ``W_hat``."""
        family = "G" if parameter == "G" else parameter[:5]
        check_choice("parameter", family, ("G", "M_hat", "W_hat"))
        law: Distribution = getattr(self, family)
        return law

    def __str__(self) -> str:
        return f"G={self.G} M_hat={self.M_hat} W_hat={self.W_hat}"


LAWS: MappingProxyType[str, Law] = MappingProxyType(
    {
        # The means that the paper's experiment 3 found most stable; sigma as in the published drivers.
        "paper": Law.around(0, -1, 1, std=0.1),
        # What the published code draws when it starts a network again.
        "uniform2": Law(G=Uniform(-2, 2), M_hat=Uniform(-2, 2), W_hat=Uniform(-2, 2)),
        # The paper's means, wide: for populations of short starts.
        "wide": Law.around(0, -1, 1, std=1.0),
        # Every weight near -0.85 or 0.85, every gate well to one side: one of the discrete patterns.
        "signs": Law(G=Signs(2, 0.1), M_hat=Normal(2, 0.1), W_hat=Signs(2, 0.1)),
    }
)


def resolve_law(law: str | Law) -> Law:
    """Return a law given by name or as data.

    Raises
    ------
    InvalidArgument
        When the name is not in ``LAWS``.
    """
    if isinstance(law, Law):
        return law
    check_choice("law", law, LAWS)
    return LAWS[law]
