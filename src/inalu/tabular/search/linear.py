"""Stages b and e on the values: sums, differences and weighted sums of up to twelve columns, broken rows or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from inalu.expression import Expression
from inalu.tabular.forms import Linear
from inalu.tabular.search.regress import Problem, clean_rows, supports
from inalu.tabular.search.snap import snaps
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

MOST_OPERANDS = 12
ROWS = 240
# Columns take part when this share of the target's rows has a value; tried one after the other.
FILLED = (0.98, 0.6, 0.3)
# So many more complete rows than columns are needed before a full regression says anything.
SPARE_ROWS = 8
# Exact fits that are followed up for one target and pool.
FITS = 4


def sums(view: View, targets: Sequence[int]) -> Found:
    """Weighted sums that are exact in all rows looked at."""
    return _search(view, targets, robust=False)


def robust_sums(view: View, targets: Sequence[int]) -> Found:
    """Weighted sums that are exact in most rows, the broken ones found by least absolute deviations."""
    return _search(view, targets, robust=True)


def _search(view: View, targets: Sequence[int], *, robust: bool) -> Found:
    found: dict[tuple[int, Expression], Candidate] = {}
    tried = 0
    for target in targets:
        for problem, columns in (*problems(view, target), *_with_counts(view, target)):
            if robust:
                keep = clean_rows(problem)
                # Where all rows are clean the plain search has been here before.
                if keep is None or keep.all() or keep.sum() < problem.x.shape[1] + 3:
                    continue
                problem = problem.rows(keep)
            fits = supports(problem, most=FITS, longest=MOST_OPERANDS + 1)
            tried += 2 ** min(len(columns), 12)
            for fit in fits:
                part = problem.columns(np.array(fit.support, dtype=np.intp))
                for weights in snaps(part):
                    formula = weighted_sum(view, [columns[place] for place in fit.support], weights)
                    if formula is not None:
                        stage = "robust" if robust else "sums"
                        found.setdefault((target, formula), Candidate(view.names[target], formula, stage))
    return Found(list(found.values()), tried)


def _with_counts(view: View, target: int) -> Iterator[tuple[Problem, list[int]]]:
    """The problems in which whole numbers are exact: rounded ones would hide what single units do."""
    if view.counted is view:
        return
    for problem, columns in problems(view.counted, target):
        # The target's own last digit is rounded all the same.
        yield replace(problem, hy=np.maximum(problem.hy, np.nanmin(view.halves[:, target]))), columns


def problems(
    view: View, target: int, *, rows: int = ROWS, intercept: bool = True
) -> Iterator[tuple[Problem, list[int]]]:
    """Complete regressions for a target: rows without missing cells, and the columns in it (-1: the constant)."""
    seen: set[tuple[int, ...]] = set()
    wide = max(rows, 4 * view.width)
    sample = view.sample(target, wide)
    if len(sample) < 6:
        return
    y = view.values[sample, target]
    others = np.array(
        [j for j in range(view.width) if j != target and usable(view, j, sample)], dtype=np.intp
    )
    if not len(others) or np.ptp(y) == 0:
        return
    present = np.isfinite(view.values[np.ix_(sample, others)])
    for share in FILLED:
        columns = others[present.mean(axis=0) >= share]
        for pool in _pools(view, target, sample, columns):
            if not len(pool) or tuple(pool) in seen:
                continue
            seen.add(tuple(pool))
            keep = sample[np.isfinite(view.values[np.ix_(sample, pool)]).all(axis=1)]
            if len(keep) >= len(pool) + SPARE_ROWS // 2 and np.ptp(view.values[keep, target]) > 0:
                yield _problem(view, target, keep, pool, intercept)


def usable(view: View, column: int, sample: Rows) -> bool:
    """Whether a column varies on these rows."""
    values = view.values[sample, column]
    values = values[np.isfinite(values)]
    return len(values) > 0 and bool(values.max() > values.min())


def _pools(view: View, target: int, sample: Rows, columns: Rows) -> Iterator[Rows]:
    """All columns where the rows suffice; otherwise neighbours in the file, and those most like the target."""
    complete = int(np.isfinite(view.values[np.ix_(sample, columns)]).all(axis=1).sum())
    room = max(complete - SPARE_ROWS, complete // 2)
    if len(columns) <= room:
        yield columns
        return
    if room < 2:
        return
    nearest = columns[np.argsort(np.abs(columns - target), kind="stable")[:room]]
    yield np.sort(nearest)
    before, after = columns[columns < target], columns[columns > target]
    yield before[-room:]
    yield after[:room]
    yield np.sort(columns[np.argsort(-_association(view, target, sample, columns), kind="stable")[:room]])


def _association(view: View, target: int, sample: Rows, columns: Rows) -> Array:
    """Absolute rank correlations with the target, on rows where both are filled."""
    out = np.zeros(len(columns))
    for place, column in enumerate(columns):
        pair = view.values[sample][:, [target, column]]
        pair = pair[np.isfinite(pair).all(axis=1)]
        if len(pair) > 3:
            ranks = pair.argsort(axis=0).argsort(axis=0).astype(np.float64)
            ranks -= ranks.mean(axis=0)
            out[place] = abs(float(ranks[:, 0] @ ranks[:, 1])) / max(float(ranks[:, 0] @ ranks[:, 0]), 1e-12)
    return out


def _problem(view: View, target: int, keep: Rows, pool: Rows, intercept: bool) -> tuple[Problem, list[int]]:
    x, hx = view.values[np.ix_(keep, pool)], view.halves[np.ix_(keep, pool)]
    columns = [int(column) for column in pool]
    if intercept:
        x = np.column_stack([x, np.ones(len(keep))])
        hx = np.column_stack([hx, np.zeros(len(keep))])
        columns.append(-1)
    return Problem(x, hx, view.values[keep, target], view.halves[keep, target]), columns


def weighted_sum(view: View, columns: Sequence[int], weights: Sequence[Fraction]) -> Expression | None:
    """The sum as an expression; None where nothing or too much is left."""
    proper = {
        column: weight for column, weight in zip(columns, weights, strict=True) if weight and column >= 0
    }
    if not proper or len(proper) > MOST_OPERANDS:
        return None
    constant = sum(
        (weight for column, weight in zip(columns, weights, strict=True) if column < 0), Fraction(0)
    )
    form = Linear({view.names[column]: weight for column, weight in proper.items()}, constant)
    return form.expression({name: at for at, name in enumerate(view.names)})
