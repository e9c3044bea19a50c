"""Runs and verdicts: solve many tasks at once, and count those that are right by the same strict rule.

A run counts when the network made exact is the target's formula, and the network as returned has at least
99.9% of rows within a relative error of 1e-5 on the interpolation and on the extrapolation set.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from benchmarks.robust.tasks import OPERATIONS

from inalu import Law, Network, Problem, Recipe, Result, Search, Task, TaskSource, solve
from inalu.engine.blas import one_blas_thread

PAPER_ROWS = 6_400_000
JUDGED_ROWS = 16_000
# Problems that are held at once; each keeps the rows that it is judged on.
_AT_ONCE = 800

In, Out = TypeVar("In"), TypeVar("Out")


@dataclass(frozen=True)
class Verdict:
    """What became of one run."""

    task: Task
    seed: int
    formula: bool
    soft: bool
    mse: float
    rows: int
    starts: int
    found: str

    @property
    def counts(self) -> bool:
        return self.formula and self.soft


def widths_of(task: Task) -> tuple[int, ...]:
    """One layer for one operation, two with two units between where sums come first."""
    return (task.inputs, 2, 1) if task.sums else (task.inputs, 1)


def verdict(result: Result) -> Verdict:
    """Judge a result on 16,000 rows of each test set, in float64."""
    task, seed = result.member.tag
    shares, mse = [], math.nan
    for name in ("interpolation", "extrapolation"):
        data = task.draw_set(seed, name, JUDGED_ROWS)
        y = result.predict(data.x)
        shares.append(float(np.mean(np.abs(y - data.y) <= 1e-5 * np.abs(data.y))))
        mse = float(np.mean((y - data.y) ** 2))
    right = min(shares) >= 0.999
    expression = result.expression()
    # Comparing long products takes its time, and where the values are wrong the run does not count anyway.
    formula = right and expression.equals(task.target(seed))
    return Verdict(task, seed, formula, right, mse, result.rows, result.starts, str(expression)[:60])


def in_threads(function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
    """Map in threads, one a core: drawing and evaluating rows are NumPy's work, outside the GIL."""
    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def run(
    cases: Sequence[tuple[Task, int]], recipe: Recipe | Search, cell: str, law: Law | None = None
) -> list[Verdict]:
    """Solve every (task, seed) and judge the results, in their order."""
    verdicts = []
    for part in range(0, len(cases), _AT_ONCE):
        problems = [
            Problem(network=Network(cell, widths_of(t)), source=TaskSource(t, s), seed=s, law=law, tag=(t, s))
            for t, s in cases[part : part + _AT_ONCE]
        ]
        verdicts += in_threads(verdict, solve(problems, recipe))
    return verdicts


def grid(tasks: Sequence[Task], seeds: Sequence[int]) -> list[tuple[Task, int]]:
    """Every task with every seed; tasks that share x lie beside each other."""
    alike: dict[tuple[str, int], list[Task]] = {}
    for task in tasks:
        alike.setdefault((str(task.train), task.inputs), []).append(task)
    return [(task, seed) for group in alike.values() for seed in seeds for task in group]


def wilson(solved: int, runs: int) -> tuple[float, float]:
    """The 95% interval of a share."""
    z, share = 1.959963984540054, solved / runs
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


def show(title: str, verdicts: Sequence[Verdict], *, detail: bool = True) -> None:
    """Print one line of counts, and what was found where it was wrong."""
    solved = sum(v.counts for v in verdicts)
    low, _ = wilson(solved, len(verdicts))
    rows = np.array([v.rows for v in verdicts]) / PAPER_ROWS
    print(
        f"{title}: {solved} of {len(verdicts)} (95% lower bound {100 * low:.1f}%), of the paper's budget "
        f"{rows.mean():.2f} on average, {rows.max():.2f} at most; "
        f"MSE <= 1e-4 on the extrapolation set: {sum(v.mse <= 1e-4 for v in verdicts)}"
    )
    for v in [v for v in verdicts if not v.counts][: 20 * detail]:
        print(f"    {v.task}, seed {v.seed}: {v.found}, starts {v.starts}, soft rows right: {v.soft}")
    sys.stdout.flush()


def by_operation(verdicts: Sequence[Verdict]) -> str:
    """Right runs of each operation."""
    return "  ".join(
        f"{o} {sum(v.counts for v in verdicts if v.task.operation.name == o)}" for o in OPERATIONS
    )
