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
    keep = np.arange(rows) if rows <= MOST_ROWS else np.sort(np.random.default_rng([seed, 1]).choice(rows, MOST_ROWS, replace=False))
    rng = np.random.default_rng([seed, 2])
    cells = {}
    for column in columns:
        order = keep[rng.permutation(len(keep))]
        cells[view.names[column]] = (view.values[order, column], view.halves[order, column])
    decoys = Search.over(list(cells), Lookup(cells), seed=seed)
    for stage in stages:
        decoys.run(stage)
    return decoys


def expected(search: Search, decoys: Search) -> float:
    """How many of the findings of ``search`` are expected to be luck."""
    found = sum(not finding.reason for finding in decoys.findings)
    # In the whole table more formulas were looked at, and each was asked to pay for that.
    bits = sorted((finding.measure.bits for finding in decoys.findings if finding.reason), reverse=True)
    tails = [
        (rank + 1) * 2.0 ** -(evidence.THRESHOLD - value) for rank, value in enumerate(bits[:RANKS]) if value < evidence.THRESHOLD
    ]
    return found + (float(np.mean(tails)) if tails else 0.0)
