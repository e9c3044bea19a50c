"""Experiment 3 with ROBUST: the first start is drawn from each triple of means of the paper's table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from benchmarks.robust.judging import Verdict, run
from benchmarks.robust.tasks import OPERATIONS

from inalu import ROBUST, Law, parse_task

MEANS, STANDARD_DEVIATIONS = (-1.0, 0.0, 1.0), (0.1, 0.5)
RANGES = "N(-3,3) -> N(7,13)"


def triples(seeds: Sequence[int], cell: str) -> None:
    """Print for each triple how many runs the first start solves alone, and how many the recipe does."""
    tasks = [parse_task(f"{operation}; inputs=100; sums; {RANGES}") for operation in OPERATIONS]
    pairs = [(task, seed) for seed in seeds for task in tasks]
    print(
        f"experiment 3, {cell}, ROBUST, seeds {min(seeds)}-{max(seeds)}, {len(STANDARD_DEVIATIONS)} standard "
        "deviations: solved by the first start alone / by the recipe"
    )
    print(
        "| G | M | W | " + " | ".join(OPERATIONS) + " |\n| ---: | ---: | ---: |" + " ---: |" * len(OPERATIONS)
    )
    every: list[Verdict] = []
    for means in itertools.product(MEANS, repeat=3):
        found: list[Verdict] = []
        for std in STANDARD_DEVIATIONS:
            found += run(pairs, ROBUST, cell, Law.around(*means, std=std))
        every += found
        cells = [_cell([v for v in found if v.task.operation.name == o]) for o in OPERATIONS]
        print(f"| {means[0]:g} | {means[1]:g} | {means[2]:g} | " + " | ".join(cells) + " |", flush=True)
    totals = [_cell([v for v in every if v.task.operation.name == o]) for o in OPERATIONS]
    print("| all | | | " + " | ".join(totals) + " |")


def _cell(found: Sequence[Verdict]) -> str:
    """Counts of first starts, of searches, and of runs."""
    first = sum(v.counts and v.starts == 1 for v in found)
    return f"{first} / {sum(v.counts for v in found)} of {len(found)}"
