"""What a claim is, and what claims share: counts as texts, and when a number of the text holds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inalu.experiments.evidence import Evidence, Outcome, count_text

#: What "almost all" asks for, and how near a number of the text must be.
ALMOST_ALL = 0.9
FACTOR = 10.0
OPERATIONS = ("add", "sub", "mul", "div")
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷"}

Measure = Callable[[Evidence], "Finding"]


class Finding(NamedTuple):
    """Whether a claim holds in some runs, and the figure or text that shows it."""

    holds: bool | None
    shown: float | str | None


@dataclass(frozen=True)
class Claim:
    """A claim of the text.

    Attributes
    ----------
    experiment, text, line
        Where it belongs, what it says, and the line of the paper's TeX source.
    measure
        Evidence → finding.
    needs
        Experiments with the repetitions that it takes to judge it; empty when no run is needed.
    stated
        The figure of the text, where there is one.
    """

    experiment: str
    text: str
    line: int
    measure: Callable[[Evidence], Finding]
    needs: tuple[tuple[str, int], ...]
    stated: str | None = None


def counts(runs: Callable[[str], list[Outcome]], operations: Sequence[str] = OPERATIONS) -> str:
    """Write the solved runs of each operation."""
    return ", ".join(f"{SIGNS[operation]} {count_text(runs(operation))}" for operation in operations)


def near(value: float, stated: float) -> bool:
    """Whether a figure lies within `FACTOR` of the text's."""
    return value > 0 and abs(math.log10(value / stated)) <= math.log10(FACTOR)


def mean_of(stated: float, values: list[float], *, at_most: bool = False) -> Finding:
    """Compare the mean of some errors with the text's; ``at_most`` where a smaller one is no less true."""
    mean = statistics.fmean(values) if values else math.inf
    holds = mean <= FACTOR * stated if at_most else near(mean, stated)
    return Finding(holds, mean if math.isfinite(mean) else None)


def figure(value: float) -> str:
    """Write a number as the text does.

    Examples
    --------
    >>> figure(6.14e-15), figure(4.46e11), figure(5.95e-4)
    ('6.14e-15', '4.46e11', '5.95e-4')
    """
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    if -3 <= int(exponent) < 3:
        return f"{value:.3g}"
    return f"{float(mantissa):g}e{int(exponent)}"
