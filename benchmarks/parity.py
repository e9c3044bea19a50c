"""Whole trainings of the backends, compared statistically: `make parity`.

    python benchmarks/parity.py [--members 100] [--rows 800] [--reference 10] [--output FILE]

Rounding sets two backends apart over thousands of steps, so single members may end differently; what must agree
is the population: how many solve their task (Fisher's exact test) and how their last losses are distributed (the
test of Kolmogorov and Smirnov). Half of the members learn a product, half a sum; member k has the same rows and
weights on every backend. With fewer rows than the paper's the recipes' windows are shortened in proportion, so
that as many restarts are looked at, and the learning rates are raised so far that with 800 rows about half of the
members get there: where all or none do, counts tell nothing. The exit code is 1 when a backend is rejected at the
level 0.01, divided by the number of tests.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter

import numpy as np

from inalu import (
    AUTHORS_CODE,
    PAPER,
    ROBUST,
    Member,
    Network,
    Plan,
    Recipe,
    Result,
    TaskSource,
    parse_task,
    train,
)
from inalu.engine.result import library_versions

CELL, OPERATIONS, ROWS_OF_THE_PAPER = "inalu-shared", ("mul", "add"), 64_000
# A member has solved its task when the last epoch's mean loss is below this.
SOLVED = 1e-4
LEVEL = 0.01
# By how much each recipe's learning rate is raised.
RAISED = {"PAPER": 10, "AUTHORS_CODE": 2, "ROBUST paths": 15, "ROBUST sampson": 50}


@dataclass(frozen=True)
class Sample:
    """The ends of a population on one backend."""

    backend: str
    losses: np.ndarray
    restarts: int
    seconds: float

    @property
    def solved(self) -> np.ndarray:
        return self.losses < SOLVED


def faster(recipe: Recipe) -> Recipe:
    kind = recipe.optimizer
    return recipe.but(optimizer=replace(kind, learning_rate=kind.learning_rate * RAISED[recipe.name]))


def recipes(rows: int) -> Iterator[Recipe]:
    """Yield the recipes, shortened to training sets of so many rows."""
    for recipe in (PAPER, AUTHORS_CODE):
        rule = recipe.reinitialization
        assert rule is not None
        window = max(2, rule.window * rows // ROWS_OF_THE_PAPER)
        yield faster(recipe.but(reinitialization=replace(rule, window=window)))
    seen = set()
    for stage in chain(ROBUST.one_layer, ROBUST.deeper):
        if stage.recipe.loss not in seen:
            seen.add(stage.recipe.loss)
            yield faster(stage.recipe.but(epochs=100))


def population(members: int, rows: int) -> list[Member]:
    tasks = [parse_task(f"{operation}; inputs=2; U(-2,2) -> U(-10,-5)") for operation in OPERATIONS]
    network = Network(CELL, (2, 1))
    return [
        Member(network=network, source=TaskSource(tasks[seed % 2], seed // 2, rows), seed=seed)
        for seed in range(members)
    ]


def sample(members: list[Member], recipe: Recipe, backend: str) -> Sample:
    began = perf_counter()
    results: Sequence[Result] = tuple(train(Plan(members=members, recipe=recipe), backend=backend))
    losses = np.array([result.loss[-1] for result in results])
    # What is not finite is as bad as anything can be.
    losses[~np.isfinite(losses)] = np.inf
    return Sample(backend, losses, sum(len(r.restarts) for r in results), perf_counter() - began)


def fisher(a: int, b: int, count: int) -> float:
    """Two-sided p of a and b successes among ``count`` each.

    >>> round(fisher(3, 3, 10), 3), round(fisher(0, 10, 10), 6)
    (1.0, 1.1e-05)
    """
    total = a + b
    ways = [
        math.comb(count, k) * math.comb(count, total - k)
        for k in range(max(0, total - count), min(count, total) + 1)
    ]
    seen = math.comb(count, a) * math.comb(count, b)
    return min(1.0, sum(w for w in ways if w <= seen) / sum(ways))


def kolmogorov(a: np.ndarray, b: np.ndarray) -> float:
    """Asymptotic p of the two-sample test.

    >>> kolmogorov(np.arange(50.0), np.arange(50.0)), kolmogorov(np.arange(50.0), np.arange(50.0) + 100) < 1e-6
    (1.0, True)
    """
    every = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(v), every, side="right") / len(v) for v in (a, b)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    size = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    z = (size + 0.12 + 0.11 / size) * distance
    if z < 0.2:
        return 1.0
    return float(
        min(1.0, max(0.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * z) ** 2) for k in range(1, 101))))
    )


def compare(recipe: Recipe, members: list[Member], reference: int, level: float) -> tuple[list[str], bool]:
    """Return the lines of one recipe, and whether no backend is rejected."""
    ours = sample(members, recipe, "cpu")
    stacked = sample(members, recipe, "stacked")
    few = sample(members[:reference], recipe, "reference") if reference else None
    ps = (
        fisher(int(ours.solved.sum()), int(stacked.solved.sum()), len(members)),
        kolmogorov(ours.losses, stacked.losses),
    )
    good = min(ps) >= level
    rate = recipe.optimizer.learning_rate
    lines = [f"{recipe.name} (loss {recipe.loss}, {recipe.epochs} epochs, learning rate {rate:g})"]
    for one in (ours, stacked):
        lines.append(
            f"  {one.backend:10} solved {one.solved.sum():4} of {len(one.losses):4}   median last loss "
            f"{np.median(one.losses):9.2e}   restarts {one.restarts:4}   {one.seconds:7.1f} s"
        )
    same = int((ours.solved == stacked.solved).sum())
    lines.append(
        f"  solved alike {same} of {len(members)}; p of the counts {ps[0]:.3f}, of the last losses {ps[1]:.3f}"
        f"{'' if good else '   REJECTED'}"
    )
    if few is not None:
        alike = [int((few.solved == one.solved[: len(few.losses)]).sum()) for one in (ours, stacked)]
        lines.append(
            f"  {few.backend:10} solved {few.solved.sum():4} of {len(few.losses):4}, the first members; "
            f"alike on cpu {alike[0]}, on stacked {alike[1]}   {few.seconds:7.1f} s"
        )
    return lines, good


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Whole trainings of the backends, compared statistically.")
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--reference", type=int, default=10, help="members that the reference trains, too")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args(arguments)
    chosen, members = list(recipes(options.rows)), population(options.members, options.rows)
    head = [
        f"{CELL} 2-1, {' and '.join(OPERATIONS)}, {options.members} members a recipe, seeds 0-{options.members - 1}, "
        f"{options.rows:,} rows",
        f"solved: the last epoch's mean loss is below {SOLVED:g}; level {LEVEL:g} over {2 * len(chosen)} tests",
        ", ".join(f"{name} {number}" for name, number in library_versions()),
        "",
    ]
    text, good = head, True
    print("\n".join(head), flush=True)
    for recipe in chosen:
        lines, agrees = compare(recipe, members, options.reference, LEVEL / (2 * len(chosen)))
        print("\n".join(lines), flush=True)
        text, good = [*text, *lines], good and agrees
    verdict = "All backends agree." if good else "A backend disagrees."
    print(verdict)
    if options.output is not None:
        options.output.write_text("\n".join([*text, verdict, ""]), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
