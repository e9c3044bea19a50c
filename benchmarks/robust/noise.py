"""Noisy rows: noise, gross errors, few rows and irrelevant inputs; judged by the formula alone.

No network has no error on such rows, so that the search never ends early: every start is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.robust.judging import in_threads, wilson
from benchmarks.robust.tasks import OPERATIONS, noisy

from inalu import ROBUST, Network, Problem, Recipe, Result, Search, parse_task, solve

# Of each kind one, among them the hardest of the paper's: zero inside the range, and far from it.
DISTRIBUTIONS = ("U(-1,1) -> U(-10,-5)", "N(-4,2) -> N(8,10)", "E(0.2) -> E(0.5)")
NOISE, WILD, ROWS, IRRELEVANT = (0.01, 0.05), (0.0, 0.02, 0.2), (500, 5000), (0, 10, 50)
_AT_ONCE = 200


@dataclass(frozen=True)
class Case:
    """One noisy task."""

    operation: str
    ranges: str
    noise: float
    wild: float
    rows: int
    irrelevant: int
    seed: int

    def problem(self) -> Problem:
        """The network of one layer and its rows."""
        task = parse_task(f"{self.operation}; inputs={2 + self.irrelevant}; {self.ranges}")
        source = noisy(task, self.seed, self.rows, noise=self.noise, wild=self.wild)
        network = Network("inalu-independent", (task.inputs, 1))
        return Problem(network=network, source=source, seed=self.seed, tag=(self, task))


def cases(seeds: Iterable[int]) -> list[Case]:
    """Every combination of the settings, with these seeds."""
    settings = itertools.product(NOISE, WILD, ROWS, IRRELEVANT, DISTRIBUTIONS, OPERATIONS, seeds)
    return [
        Case(operation, ranges, noise, wild, rows, irrelevant, seed)
        for noise, wild, rows, irrelevant, ranges, operation, seed in settings
    ]


def right(result: Result) -> bool:
    """Whether the formula is the target's."""
    case, task = result.member.tag
    return result.expression().equals(task.target(case.seed))


def count(chosen: Sequence[Case], recipe: Recipe | Search) -> dict[Case, bool]:
    """Solve all cases and judge them."""
    found: dict[Case, bool] = {}
    for part in range(0, len(chosen), _AT_ONCE):
        results = solve([case.problem() for case in chosen[part : part + _AT_ONCE]], recipe)
        verdicts = in_threads(right, results)
        found |= {r.member.tag[0]: ok for r, ok in zip(results, verdicts, strict=True)}
    return found


def noise(seeds: Sequence[int]) -> None:
    """Print the counts by noise, gross errors, rows and irrelevant inputs."""
    found = count(cases(seeds), ROBUST)
    solved = sum(found.values())
    low, _ = wilson(solved, len(found))
    print(
        f"noise, ROBUST, seeds {min(seeds)}-{max(seeds)}: {solved} of {len(found)} "
        f"(95% lower bound {100 * low:.1f}%); each cell of the table: {len(DISTRIBUTIONS)} distributions x "
        f"{len(OPERATIONS)} operations x {len(seeds)} seeds"
    )
    columns = list(itertools.product(ROWS, IRRELEVANT))
    print("| noise | gross errors | " + " | ".join(f"{r:,} rows, {i} irrelevant" for r, i in columns) + " |")
    print("| --- | --- |" + " ---: |" * len(columns))
    for n, w in itertools.product(NOISE, WILD):
        cells = []
        for r, i in columns:
            inside = [
                ok for c, ok in found.items() if (c.noise, c.wild, c.rows, c.irrelevant) == (n, w, r, i)
            ]
            cells.append(f"{sum(inside)} of {len(inside)}")
        print(f"| {n:.0%} | {w:.0%} | " + " | ".join(cells) + " |")
    failed = [c for c, ok in found.items() if not ok]
    for name in ("operation", "ranges"):
        shares = {v: sum(getattr(c, name) == v for c in failed) for v in {getattr(c, name) for c in failed}}
        print(f"    failures by {name}: {shares}")
