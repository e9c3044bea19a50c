"""Numbers, names and orders as the page shows them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from inalu.experiments.published import Threshold
from inalu.experiments.statistics import Interval

T = TypeVar("T")

#: Models as the paper's captions call them.
MODELS = {
    "nalu-matrix": "NALU (m)",
    "nalu-vector": "NALU (v)",
    "inalu-shared": "iNALU (sw)",
    "inalu-independent": "iNALU (iw)",
}
OPERATIONS = {"add": "a + b", "sub": "a − b", "mul": "a × b", "div": "a ÷ b"}
#: The figures of the paper that show an experiment.
FIGURES = {"exp1": 3, "exp2": 4, "exp4": 5}
#: Headings that the page's list of contents shows whole.
HEADINGS = {
    "exp1": "Experiment 1: minimal arithmetic, 2 → 1",
    "exp2": "Experiment 2: simple arithmetic, 10 → 1",
    "exp3": "Experiment 3: initialisation, 100 → 2 → 1",
    "exp4": "Experiment 4: functions, 100 → 2 → 1",
    "regularization": "What the regulariser does",
    "challenges": "The challenges, one by one",
    "ablation": "Ablation: one part taken away",
    "stability": "Stability of deep stacks",
    "mnist": "MNIST, an illustration",
    "departures-exp1": "Departures of the code, experiment 1",
    "departures-exp2": "Departures of the code, experiment 2",
    "departures-exp3": "Departures of the code, experiment 3",
    "departures-exp4": "Departures of the code, experiment 4",
}
#: What a reader of an experiment's tables must know besides.
NOTES = {
    "exp3": "Ours are judged on inputs with mean 10 and σ 1, as the published planner says. The published errors are "
    "those of inputs with mean 0 and σ 10 (networks that put out 0 show it), so that errors cannot be compared one "
    "by one; docs/reproduction.md judges the same networks there.",
    "departures-exp3": "Five starts with the gate 0 and σ = 0.1; in all rows 201 epochs and inputs within ±2, as "
    "in the published planner, and an extrapolation set with mean 0 and deviation 10, which the published errors "
    "tell of.",
}
NOTHING = "–"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def model_name(model: str) -> str:
    """Return a model's name with its variant, where it has one.

    Examples
    --------
    >>> model_name("inalu-shared"), model_name("inalu-shared 2-1, without sign"), model_name("nau")
    ('iNALU (sw)', 'iNALU (sw) 2-1, without sign', 'nau')
    """
    found = re.match(r"[\w-]+", model)
    return model if found is None else MODELS.get(found[0], found[0]) + model[found.end() :]


def operation_name(operation: str) -> str:
    """Return an operation as a formula, where it is one of the paper's."""
    return OPERATIONS.get(operation, operation)


def number(value: float | None, nothing: str = "not finite") -> str:
    """Return an error with three digits.

    Examples
    --------
    >>> number(43600.0), number(6.14e-15), number(0.5), number(None)
    ('4.36e4', '6.14e-15', '0.5', 'not finite')
    """
    if value is None:
        return nothing
    if value == 0 or 1e-3 <= abs(value) < 999.5:
        return f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def share(successes: int, runs: int, interval: Interval | None) -> str:
    """Return a count with its interval in per cent.

    Examples
    --------
    >>> share(25, 70, Interval(25 / 70, 0.26, 0.47)), share(1, 1, None)
    ('25/70 · 36 % (26–47)', '1/1')
    """
    if interval is None:
        return f"{successes}/{runs}"
    low, middle, high = (f"{100 * x:.0f}" for x in (interval.low, interval.share, interval.high))
    return f"{successes}/{runs} · {middle} % ({low}–{high})"


def power_name(power: int) -> str:
    """Return a power of ten.

    Examples
    --------
    >>> power_name(-12)
    '10⁻¹²'
    """
    return f"10{str(power).translate(_SUPERSCRIPT)}"


def limit_name(threshold: Threshold) -> str:
    """Return a threshold as a condition.

    Examples
    --------
    >>> limit_name(Threshold(1e-4, inclusive=True)), limit_name(Threshold(2e-3, inclusive=False))
    ('≤ 10⁻⁴', '< 0.002')
    """
    power = math.log10(threshold.limit)
    limit = power_name(round(power)) if abs(power - round(power)) < 1e-9 else f"{threshold.limit:g}"
    return f"{'≤' if threshold.inclusive else '<'} {limit}"


def probability(p: float) -> str:
    """Return a p-value.

    Examples
    --------
    >>> probability(0.0421), probability(3e-9), probability(1.0)
    ('0.042', '< 0.001', '1')
    """
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def plain(value: object) -> str:
    """Return any value of a measure or a claim as a text."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value))
    return str(value)


def listed(names: Iterable[str]) -> str:
    """Join names with commas and an "and".

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def in_order(found: Iterable[T], preferred: Sequence[T]) -> list[T]:
    """Return distinct values, the preferred ones first in their order, then the others as they come.

    Examples
    --------
    >>> in_order(["div", "x", "add"], ["add", "sub", "div"])
    ['add', 'div', 'x']
    """
    distinct = list(dict.fromkeys(found))
    return [v for v in preferred if v in distinct] + [v for v in distinct if v not in preferred]
