"""How many findings would be luck: the same search on row-shuffled copies of the table's own columns.

Whatever is found there is luck. Usually nothing is, so the estimate looks at how near the luckiest formulas came: by
the definition of the scale a formula with b bits too few would pass once in 2**b tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inalu.tabular import evidence
from inalu.tabular.derived import Lookup
from inalu.tabular.pipeline import Search

# Copies are made of at most so many columns; the count is then scaled to the whole table.
MOST_COLUMNS = 14
MOST_ROWS = 1500
# The tail is read at these ranks of the luckiest formulas.
RANKS = 5


def shuffled_search(search: Search, stages: Sequence[str], *, seed: int) -> Search:
    """Run the stages on shuffled copies of columns of a search."""
    view = search.view
    columns = np.unique(np.linspace(0, view.width - 1, min(view.width, MOST_COLUMNS)).round().astype(int))
    rows = view.rows
    keep = (
        np.arange(rows)
        if rows <= MOST_ROWS
        else np.sort(np.random.default_rng([seed, 1]).choice(rows, MOST_ROWS, replace=False))
    )
    rng = np.random.default_rng([seed, 2])
    cells = {}
    for column in columns:
        order = keep[rng.permutation(len(keep))]
        cells[view.names[column]] = (view.values[order, column], view.halves[order, column])
    decoys = Search.over(list(cells), Lookup(cells), seed=seed)
    for stage in stages:
        decoys.run(stage)
    return decoys


def expected(decoys: Search) -> float:
    """How many findings are expected to be luck, from how near the decoys came.

    Examples
    --------
    A search that looked at nothing expects nothing: its tail is empty.

    >>> expected(Search.over(["x"], Lookup({"x": (np.arange(9.0), np.full(9, 0.5))}), seed=0))
    0.0
    """
    found = sum(not finding.reason for finding in decoys.findings)
    missed = sorted((finding.measure.bits for finding in decoys.findings if finding.reason), reverse=True)
    # The k luckiest have at least b bits, so k / 2 ** (threshold - b) are expected beyond the threshold.
    tails = [
        (rank + 1) * 2.0 ** min(bits - evidence.THRESHOLD, 0.0) for rank, bits in enumerate(missed[:RANKS])
    ]
    return found + (float(np.mean(tails)) if tails else 0.0)
