"""The statistics of success counts, in NumPy: intervals, tests, and what many tests cost.

A share has Wilson's interval. Shares pooled over settings that reuse their seeds have a cluster interval,
since such runs resemble each other: the published restarts repeat from one distribution to the next, so that
70 runs of 10 seeds tell little more than 10. Two counts are compared by Fisher's exact test, and the tests of
one experiment are corrected by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.errors import invalid


class Interval(NamedTuple):
    """A share and the bounds of its interval."""

    share: float
    low: float
    high: float


def wilson(successes: float, runs: float, *, level: float = 0.95, quantile: float | None = None) -> Interval:
    """Return Wilson's score interval of a share.

    Parameters
    ----------
    successes, runs
        Counts; effective sample sizes need not be whole.
    level
        Coverage.
    quantile
        Instead of the standard normal's for ``level``.

    Raises
    ------
    InvalidArgument
        Unless 0 <= successes <= runs and runs > 0.

    Examples
    --------
    >>> [round(x, 2) for x in wilson(25, 70)]
    [0.36, 0.26, 0.47]
    """
    if not (runs > 0 and 0 <= successes <= runs):
        raise invalid(
            "successes and runs", "must fulfil 0 <= successes <= runs and runs > 0", (successes, runs)
        )
    z = normal_quantile(0.5 + level / 2) if quantile is None else quantile
    share = successes / runs
    centre = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    # Rounding must not push a bound past the share where they are equal.
    return Interval(share, min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half)))


def cluster_interval(outcomes: Iterable[tuple[Hashable, bool]], *, level: float = 0.95) -> Interval:
    """Return the interval of a share whose runs fall into clusters, here seeds, that resemble each other.

    The variance of the share is estimated between clusters, and Wilson's interval is taken at the number of
    independent runs that would have this variance (at most the number of runs), with Student's quantile for
    the number of clusters: Korn and Graubard, Survey Methodology 24 (1998), 193-201. Where all runs agree,
    the variance cannot be seen, and each cluster counts as one run.

    Raises
    ------
    InvalidArgument
        With fewer than two clusters.

    Examples
    --------
    >>> same = [(seed, seed < 3) for seed in range(10) for distribution in range(7)]
    >>> [round(x, 2) for x in cluster_interval(same)]
    [0.3, 0.09, 0.66]
    """
    counts: dict[Hashable, list[int]] = {}
    for cluster, success in outcomes:
        tally = counts.setdefault(cluster, [0, 0])
        tally[0] += bool(success)
        tally[1] += 1
    if len(counts) < 2:
        raise invalid("outcomes", "must come from two clusters or more", len(counts))
    solved, runs = np.array(list(counts.values()), dtype=np.float64).T
    number, total = len(runs), runs.sum()
    share = float(solved.sum() / total)
    deviations = solved - share * runs
    variance = float(number / (number - 1) * (deviations**2).sum() / total**2)
    if share in (0.0, 1.0):
        independent = float(number)
    else:
        independent = float(total if variance == 0 else min(total, share * (1 - share) / variance))
    found = wilson(share * independent, independent, quantile=student_quantile(0.5 + level / 2, number - 1))
    return Interval(share, found.low, found.high)


def fisher(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test that two shares are equal.

    Parameters
    ----------
    first, second
        (successes, runs) of either side.

    Examples
    --------
    >>> round(fisher((4, 10), (10, 10)), 4)
    0.0108
    """
    possible, chances = _tables(first, second)
    # Tables as likely as ours but for rounding count as ours.
    return float(min(1.0, chances[chances <= chances[possible.index(first[0])] * (1 + 1e-7)].sum()))


def chance_distance(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return how far two shares are apart in the mean if they are two samples of the same runs.

    The mean is over all ways in which their successes could have fallen on either side, as in Fisher's test.

    Examples
    --------
    >>> chance_distance((1, 1), (0, 1)), chance_distance((3, 3), (8, 8))
    (1.0, 0.0)
    """
    (a, m), (b, n) = first, second
    possible, chances = _tables(first, second)
    shares = np.array(possible) / m
    others = (a + b - np.array(possible)) / n
    return float(chances @ np.abs(shares - others))


def _tables(first: tuple[int, int], second: tuple[int, int]) -> tuple[range, NDArray[np.float64]]:
    """What the first count could have been, both sides' successes together being given, and how likely."""
    for name, (successes, runs) in (("first", first), ("second", second)):
        if not 0 <= successes <= runs:
            raise invalid(name, "must fulfil 0 <= successes <= runs", (successes, runs))
    (a, m), (b, n) = first, second
    total = a + b
    possible = range(max(0, total - n), min(total, m) + 1)
    logs = np.array([_log_choose(m, k) + _log_choose(n, total - k) for k in possible])
    chances = np.exp(logs - logs.max())
    return possible, chances / chances.sum()


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method, in the order given.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected


def normal_quantile(probability: float) -> float:
    """Return the standard normal's quantile."""
    from inalu.tasks import transforms

    return float(transforms.normal_quantile(np.array([probability]))[0])


def student_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution with whole degrees of freedom.

    Examples
    --------
    >>> round(student_quantile(0.975, 9), 4)
    2.2622
    """
    if not (0.5 <= probability < 1 and degrees >= 1):
        raise invalid("probability and degrees", "must be in [0.5, 1) and at least 1", (probability, degrees))
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _student_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, degrees: int) -> float:
    """The finite series for whole degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(degrees))
    cos2 = degrees / (degrees + t * t)
    odd = degrees % 2 == 1
    term = 1.0
    total = 0.0
    for k in range(degrees // 2):
        total += term
        term *= cos2 * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    if odd:
        inside = angle + math.sin(angle) * math.cos(angle) * total
        return 0.5 + inside / math.pi
    return 0.5 + 0.5 * math.sin(angle) * total


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
