"""Stage f: formulas that look at the row before: balances, running sums, changes and growth from row to row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inalu.expression import Expression
from inalu.tabular.derived import running, shifted
from inalu.tabular.search.linear import robust_sums, sums
from inalu.tabular.search.pairs import LEAST_ROWS, ROWS, Scored, best, score
from inalu.tabular.search.view import Array, Candidate, Found, View

# Rows above (older rows first) and below (newest row first).
SHIFTS = (-1, 1)


def neighbours(view: View, targets: Sequence[int]) -> Found:
    """Copies, changes, ratios and growth from the row before or after; the rows must be in the table's order."""
    candidates: list[Candidate] = []
    tried = 0
    for shift, before in _shifted(view):
        for target in targets:
            scored, count = _neighbours(view, before, target, shift)
            tried += count
            candidates += [Candidate(view.names[target], formula, "sequences") for formula in best(scored)]
    return Found(candidates, tried)


def balances(view: View, targets: Sequence[int]) -> Found:
    """The row before plus a weighted sum of other columns; the rows must be in the table's order."""
    candidates: list[Candidate] = []
    tried = 0
    for shift, before in _shifted(view):
        for target in targets:
            formulas, count = _changes(view, before, target, shift)
            tried += count
            candidates += [Candidate(view.names[target], formula, "sequences") for formula in formulas]
    return Found(candidates, tried)


def sums_so_far(view: View, targets: Sequence[int]) -> Found:
    """Running sums; the rows must be in the table's order."""
    if view.rows < LEAST_ROWS + 1:
        return Found()
    return Found(*_running(view, targets))


def _shifted(view: View) -> Iterator[tuple[int, View]]:
    """The table with its cells moved down by a row, and up."""
    if view.rows < LEAST_ROWS + 1:
        return
    for shift in SHIFTS:
        values = np.column_stack([shifted(view.values[:, j], shift) for j in range(view.width)])
        halves = np.column_stack([shifted(view.halves[:, j], shift) for j in range(view.width)])
        yield shift, replace(view, values=values, halves=halves)


def previous(view: View, column: int, shift: int) -> Expression:
    """The column in a neighbouring row, by its reserved name."""
    return Expression.column(f"{view.names[column]}[{shift}]")


def _changes(view: View, before: View, target: int, shift: int) -> tuple[list[Expression], int]:
    """The target as its own value in the row before plus a weighted sum of other columns."""
    values, halves = view.values.copy(), view.halves.copy()
    values[:, target] -= before.values[:, target]
    halves[:, target] += before.halves[:, target]
    steps = replace(view, values=values, halves=halves)
    found = [*sums(steps, [target]).candidates, *robust_sums(steps, [target]).candidates]
    own = previous(view, target, shift)
    return [own + one.formula for one in found], 2 ** min(view.width, 12)


def _neighbours(view: View, before: View, target: int, shift: int) -> tuple[list[Scored], int]:
    """The target as a change, a ratio or a growth rate of one column, or as its own value grown by a rate."""
    sample = view.sample(target, ROWS)
    y, hy = view.values[sample, target], view.halves[sample, target]
    if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
        return [], 0
    others = np.array([column for column in range(view.width) if column != target], dtype=np.intp)
    if not len(others):
        return [], 0
    cells = (view.values[np.ix_(sample, others)].T, view.halves[np.ix_(sample, others)].T)
    earlier = (before.values[np.ix_(sample, others)].T, before.halves[np.ix_(sample, others)].T)
    own = (before.values[sample, target], before.halves[sample, target])
    mine = previous(view, target, shift)
    scored: list[Scored] = []
    tried = 0
    # Growth has its constants: a fitted one would turn any column that hardly varies into a rate.
    for scaled, forms in ((True, _steps(cells, earlier)), (False, _own(cells, own, mine))):

        def describe(place: int, forms: Sequence[Form] = forms) -> Expression:
            form, at = divmod(place, len(others))
            column = int(others[at])
            return forms[form].write(view.column(column), previous(view, column, shift))

        values, radius = (
            np.vstack([form.values for form in forms]),
            np.vstack([form.radius for form in forms]),
        )
        tried += 2 * len(values)
        scored += score(values, radius, describe, y, hy, scaled=scaled)
    return scored, tried


Cells = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Form:
    """What every column can say together with a neighbouring row, and how that is written.

    Attributes
    ----------
    write : callable
        The formula, from the column and the same in the neighbouring row.
    values, radius : arrays of shape [columns, R]
        Its values, and how far rounding carries them.
    """

    write: Callable[[Expression, Expression], Expression]
    values: Array
    radius: Array


def _steps(cells: Cells, earlier: Cells) -> list[Form]:
    """What one column can say together with its row before."""
    (x, hx), (p, hp) = cells, earlier
    with np.errstate(all="ignore"):
        ratio, turned = x / p, p / x
        room = (hx + np.abs(ratio) * hp) / np.maximum(np.abs(p) - hp, 0)
        back = (hp + np.abs(turned) * hx) / np.maximum(np.abs(x) - hx, 0)
        return [
            Form(lambda now, then: then, p, hp),
            Form(lambda now, then: now - then, x - p, hx + hp),
            Form(lambda now, then: now + then, x + p, hx + hp),
            Form(lambda now, then: now / then, ratio, room),
            Form(lambda now, then: (now - then) / then, (x - p) / p, room),
            Form(lambda now, then: then / now, turned, back),
            Form(lambda now, then: (then - now) / now, (p - x) / x, back),
        ]


def _own(cells: Cells, own: Cells, mine: Expression) -> list[Form]:
    """The target's row before, multiplied by what a column says."""
    (x, hx), (p, hp) = cells, own
    times = (np.abs(p) * hx + np.abs(x) * hp, np.abs(p) * hx / 100)
    with np.errstate(all="ignore"):
        return [
            Form(lambda rate, _: mine * rate, p * x, times[0]),
            Form(lambda rate, _: mine * rate / 100, p * x / 100, times[0] / 100),
            Form(lambda rate, _: mine * (1 + rate), p * (1 + x), np.abs(p) * hx + np.abs(1 + x) * hp),
            Form(
                lambda rate, _: mine * (1 + rate / 100),
                p * (1 + x / 100),
                times[1] + np.abs(1 + x / 100) * hp,
            ),
        ]


def _running(view: View, targets: Sequence[int]) -> tuple[list[Candidate], int]:
    """Targets that are the running sum of a column."""
    found: list[Candidate] = []
    made = [running(view.values[:, j], view.halves[:, j]) for j in range(view.width)]
    for target in targets:
        sample = view.sample(target, ROWS)
        y, hy = view.values[sample, target], view.halves[sample, target]
        if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
            continue
        others = [j for j in range(view.width) if j != target and np.isfinite(view.values[:, j]).any()]
        values = np.array([made[j][0][sample] for j in others]).reshape(len(others), len(sample))
        radius = np.array([made[j][1][sample] for j in others]).reshape(len(others), len(sample))
        formulas = [Expression.column(f"cumsum({view.names[j]})") for j in others]
        scored = score(values, radius, formulas.__getitem__, y, hy)
        found += [Candidate(view.names[target], formula, "sequences") for formula in best(scored)]
    return found, 2 * view.width * len(targets)
