"""Stage b for short tables: sums of columns that stand side by side, their mean, and shares of them.

A table of ten rows is too short for a regression over its columns, and too short to try every set of five; but the
parts of a total nearly always stand next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from inalu.expression import Expression
from inalu.tabular.forms import ONE, Linear
from inalu.tabular.search.pairs import LEAST_ROWS, ROWS, Scored, best, score
from inalu.tabular.search.triples import apply
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

SHORTEST, LONGEST = 3, 13


def ranges(view: View, targets: Sequence[int]) -> Found:
    """Sums and means of neighbouring columns, and the share of a column in such a sum."""
    candidates: list[Candidate] = []
    tried = 0
    for target in targets:
        sample = view.sample(target, ROWS)
        y, hy = view.values[sample, target], view.halves[sample, target]
        if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
            continue
        spans = _spans(view.width, target)
        if not spans:
            continue
        values, radius = _sums(view, sample, spans)
        scored: list[Scored] = score(values, radius, partial(_total, view, spans), y, hy)
        # A share is asked of columns that are part of the total.
        parts = [(at, column) for at, span in enumerate(spans) for column in range(span[0], span[1] + 1)]
        places, columns = np.array(parts, dtype=np.intp).T
        shares = apply(
            "r/",
            values[places],
            radius[places],
            view.values[sample].T[columns],
            view.halves[sample].T[columns],
        )
        scored += score(*shares, partial(_share, view, spans, parts), y, hy)
        tried += 2 * (len(spans) + len(parts))
        candidates += [Candidate(view.names[target], formula, "ranges") for formula in best(scored)]
    return Found(candidates, tried)


def _total(view: View, spans: Sequence[tuple[int, int]], place: int) -> Expression:
    names = view.names[spans[place][0] : spans[place][1] + 1]
    return Linear(dict.fromkeys(names, ONE)).expression({name: at for at, name in enumerate(names)})


def _share(
    view: View, spans: Sequence[tuple[int, int]], parts: Sequence[tuple[int, int]], place: int
) -> Expression:
    at, column = parts[place]
    return view.column(column) / _total(view, spans, at)


def _spans(width: int, target: int) -> list[tuple[int, int]]:
    """First and last column of every range that leaves the target out."""
    found = []
    for start, stop in ((0, target), (target + 1, width)):
        for first in range(start, stop):
            for last in range(first + SHORTEST - 1, min(first + LONGEST, stop)):
                found.append((first, last))
    return found


def _sums(view: View, sample: Rows, spans: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
    first, last = np.array(spans).T
    missing = np.concatenate(
        [np.zeros((len(sample), 1)), np.cumsum(~np.isfinite(view.values[sample]), axis=1)], axis=1
    )
    # Added up from the left: float sums in another order differ in the last bits only, which the tolerance allows.
    total = np.concatenate([np.zeros((len(sample), 1)), np.nancumsum(view.values[sample], axis=1)], axis=1)
    half = np.concatenate([np.zeros((len(sample), 1)), np.nancumsum(view.halves[sample], axis=1)], axis=1)
    values = (total[:, last + 1] - total[:, first]).T
    radius = (half[:, last + 1] - half[:, first]).T + 1e-15 * np.abs(total[:, -1])
    return np.where((missing[:, last + 1] - missing[:, first]).T > 0, np.nan, values), radius
