"""Compositions of depth three, where no closed form helps: ten formulas drawn from a hash, three layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.robust.judging import PAPER_ROWS, in_threads, wilson
from benchmarks.robust.tasks import Composition, compositions

from inalu import PAPER, ROBUST, Network, Problem, Recipe, Result, Search, solve

# Two operations may need both their operands carried past the first layer.
WIDTHS = (4, 4, 2, 1)
JUDGED_ROWS = 16_000


def right(result: Result) -> tuple[bool, bool]:
    """Whether the formula is the target's, and whether the network as returned has its values."""
    composition, seed = result.member.tag
    shares = []
    for far in (False, True):
        # Other seeds than any training set's.
        x, y = composition.draw(10**6 + seed, JUDGED_ROWS, far=far)
        error = np.abs(result.predict(x) - y)
        shares.append(float(np.mean(error <= 1e-5 * np.abs(y))))
    soft = min(shares) >= 0.999
    formula = soft and result.expression(list("abcd")).equals(composition.target)
    return formula, soft


def count(
    chosen: Sequence[Composition],
    seeds: Sequence[int],
    recipe: Recipe | Search,
    cell: str,
    widths: Sequence[int],
) -> list[tuple[Composition, bool, Result]]:
    """Solve every composition with every seed."""
    network = Network(cell, tuple(widths))
    problems = [
        Problem(network=network, source=c.source(s), seed=s, tag=(c, s)) for c in chosen for s in seeds
    ]
    results = list(solve(problems, recipe))
    return [(r.member.tag[0], ok, r) for r, (ok, _) in zip(results, in_threads(right, results), strict=True)]


def depth(digest: str, seeds: Sequence[int]) -> None:
    """Print how often ROBUST, and beside it PAPER, learns each composition."""
    chosen = compositions(digest)
    table: dict[str, dict[str, int]] = {}
    for recipe in (ROBUST, PAPER):
        found = count(chosen, seeds, recipe, "inalu-independent", WIDTHS)
        table[recipe.name] = {c.text: sum(ok for d, ok, _ in found if d == c) for c in chosen}
        solved = sum(ok for _, ok, _ in found)
        low, high = wilson(solved, len(found))
        rows = np.array([r.rows or PAPER_ROWS for _, _, r in found]) / PAPER_ROWS
        print(
            f"depth three, {recipe.name}, seeds {min(seeds)}-{max(seeds)}: {solved} of {len(found)} "
            f"({100 * low:.0f}-{100 * high:.0f}%), of the paper's budget {rows.mean():.1f} on average, "
            f"{rows.max():.1f} at most",
            flush=True,
        )
    print("| formula | inputs | ROBUST | PAPER |\n| --- | --- | ---: | ---: |")
    for c in chosen:
        counts = " | ".join(f"{table[name][c.text]} of {len(seeds)}" for name in ("ROBUST", "PAPER"))
        print(f"| `{c.text}` | U({c.low:g}, {c.high:g}) | {counts} |")
