"""Rows that are sums of the rows above them: subtotals after each group, a total at the end.

A label alone proves nothing ("Total" may be a brand): the cells must be the sums of the rows above, within printed
rounding. Only where most rows of one name add up, one more that does not is taken for a total with an error in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inalu.tabular.relation import TotalRow, WrongTotal
from inalu.tabular.total_labels import labels_of

if TYPE_CHECKING:
    from inalu.tabular.table import Table

Array = NDArray[np.float64]

# More labels than these are a category of the data.
MOST_LABELS = 20_000
# Labels of which none is verified among the first so many are none.
FIRST_TRIED = 200
# Bits by which a row with a label, and a last row without one, must be improbable as luck.
LABELLED_BITS, BARE_BITS = 12.0, 30.0
# One column says no more than this: that it agrees to a million is enough.
MOST_BITS = 20.0
LEAST_BLOCK = 3
# A cell so near to the sum was meant as one; one typed digit may lead farther away.
NEAR = 0.05
# Columns that a sentence names.
MOST_NAMES = 12


@dataclass(frozen=True, eq=False)
class _Block:
    """The sums over some rows above, column by column."""

    first: int
    last: int
    rows: int
    total: Array
    halves: Array
    squares: Array
    size: Array
    filled: NDArray[np.int64]
    nonzero: NDArray[np.int64]
    low: Array
    high: Array

    def plus(self, other: _Block) -> _Block:
        """Both blocks together, ``other`` below."""
        if not other.rows or not self.rows:
            return other if other.rows else self
        sums = ("rows", "total", "halves", "squares", "size", "filled", "nonzero")
        joined = {name: getattr(self, name) + getattr(other, name) for name in sums}
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return replace(self, last=other.last, low=low, high=high, **joined)


@dataclass(frozen=True, eq=False)
class _Match:
    """A row held against the sums of a block: which columns agree, and the bits that this is worth."""

    row: int
    block: _Block
    checked: NDArray[np.bool_]
    summed: NDArray[np.bool_]
    agreeing: int
    bits: float

    @property
    def strong(self) -> bool:
        """Whether luck is out of the question, for a row with a label."""
        return self.bits >= LABELLED_BITS and (self.agreeing >= 2 or self.block.rows >= LEAST_BLOCK)

    @property
    def bare(self) -> bool:
        """The same for a row without one."""
        most = 2 * self.agreeing > int(self.checked.sum())
        return self.bits >= BARE_BITS and self.agreeing >= 2 and self.block.rows >= LEAST_BLOCK and most

    @property
    def single(self) -> bool:
        """Whether the row repeats its only row: a total of a group of one."""
        return self.block.rows == 1 and self.agreeing > 0 and bool(self.summed[self.checked].all())


def total_rows(table: Table) -> tuple[TotalRow, ...]:
    """The rows that are totals of rows above them, with their cells that are not.

    Examples
    --------
    >>> from inalu.tabular.table import Table
    >>> rows = {"item": ["a", "b", "c", "Total"], "net": [12.5, 30.25, 9.0, 51.75], "tax": [2.4, 5.75, 1.7, 9.85]}
    >>> [(one.row, one.first, one.last, one.columns) for one in total_rows(Table.from_columns(rows))]
    [(3, 0, 2, ('net', 'tax'))]
    """
    if not table.columns or table.rows < 3:
        return ()
    labels = labels_of(table)
    if len(labels) > MOST_LABELS:
        return ()
    if not labels and not _ends_in_sums(table):
        return ()
    values = np.column_stack([column.values for column in table.columns])
    halves = np.column_stack([column.half_unit for column in table.columns])
    rows = sorted({*labels, table.rows - 1})
    found = _walk(values, halves, rows, labels, frozenset())
    words = {labels.get(match.row, "").casefold() for match in found if match.strong}
    # Rows named exactly like a total: when nearly all add up, one that does not is in error.
    named = frozenset(row for row, label in labels.items() if label.casefold() in words)
    if named - {match.row for match in found}:
        again = _walk(values, halves, rows, labels, named)
        strong = sum(match.strong for match in again)
        if strong >= 2 and strong >= 3 * sum(not (match.strong or match.single) for match in again):
            found = again
    if not any(match.strong for match in found):
        return ()
    sums = sum(match.summed.astype(int) for match in found)
    fails = sum((match.checked & ~match.summed).astype(int) for match in found)
    regular = (np.asarray(sums) >= 2) & (np.asarray(sums) >= 3 * np.asarray(fails))
    return tuple(_reported(table, match, labels.get(match.row), regular) for match in found)


def _ends_in_sums(table: Table) -> bool:
    """Whether the last row may be a total at all: a quick look that spares most tables the rest."""
    near = 0
    for column in table.columns:
        last, above = column.values[-1], float(np.nansum(column.values[:-1]))
        near += bool(last != 0 and abs(last - above) <= NEAR * abs(above))
    return near >= 2


def _walk(
    values: Array, halves: Array, rows: Sequence[int], labels: dict[int, str], forced: frozenset[int]
) -> list[_Match]:
    """The totals among the candidate rows, from the top; ``forced`` rows are taken for totals."""
    at, luck, empty = 0, math.log2(len(rows)), _block(values, halves, 0, 0)
    # What a total may sum: the rows since the last total, since the last total of totals, or all.
    group = region = whole = empty
    found: list[_Match] = []
    for tried, row in enumerate(rows):
        if tried == FIRST_TRIED and not any(match.strong for match in found):
            break
        above = _block(values, halves, at, row)
        group, region, whole = group.plus(above), region.plus(above), whole.plus(above)
        spans = [block for block in (group, region, whole) if block.rows]
        matches = [_match(values[row], halves[row], block, row, luck) for block in spans]
        best = max(matches, key=lambda match: match.bits, default=None)
        if best and not best.strong and matches[0].single:
            best = matches[0]
        at = row
        if best and (best.strong or best.single or row in forced if row in labels else best.bare):
            found.append(best)
            at = row + 1
            region = region if best.block is group else empty
            group = empty
    return found


def _block(values: Array, halves: Array, start: int, stop: int) -> _Block:
    """The sums of consecutive rows; rows without any number count for nothing."""
    part, units = values[start:stop], np.nan_to_num(halves[start:stop])
    there = np.isfinite(part)
    filled = np.flatnonzero(there.any(axis=1))
    cells = np.where(there, part, 0.0)
    return _Block(
        first=start + int(filled[0]) if len(filled) else start,
        last=start + int(filled[-1]) if len(filled) else start,
        rows=len(filled),
        total=cells.sum(axis=0),
        halves=units.sum(axis=0),
        squares=(units**2).sum(axis=0),
        size=np.abs(cells).sum(axis=0),
        filled=there.sum(axis=0),
        nonzero=(cells != 0).sum(axis=0),
        low=np.where(there, part, np.inf).min(axis=0, initial=np.inf),
        high=np.where(there, part, -np.inf).max(axis=0, initial=-np.inf),
    )


def _match(cells: Array, units: Array, block: _Block, row: int, luck: float) -> _Match:
    """Hold a row against a block."""
    checked = np.isfinite(cells) & (block.filled > 0)
    off = np.where(checked, np.abs(cells - block.total), np.inf)
    units = np.nan_to_num(units)
    # The rounding of many cells cancels: beyond three times its root mean square is no rounding.
    room = units + np.minimum(block.halves, 3.0 * np.sqrt(block.squares)) + 1e-12 * block.size
    summed = checked & (off <= room)
    telling = summed & (block.nonzero >= 2) & (block.total != 0)
    width = 2.0 * np.maximum(np.maximum(off, units), 1e-300)[telling]
    bits = np.clip(np.log2(np.abs(block.total[telling]) / width), 0.0, MOST_BITS)
    # Columns of zeros say nothing; of the others, it costs bits to say which ones agree.
    asked = checked & ((block.nonzero > 0) | (cells != 0))
    agreeing = int((summed & asked).sum())
    chosen = math.log2(math.comb(int(asked.sum()), agreeing))
    return _Match(row, block, checked, summed, agreeing, float(bits.sum()) - chosen - luck)


def _reported(table: Table, match: _Match, label: str | None, regular: NDArray[np.bool_]) -> TotalRow:
    """The total row with the names of its columns; ``regular`` marks columns that other totals sum."""
    block, agreeing = match.block, 2 * match.agreeing > int(match.checked.sum()) and match.agreeing >= 2
    wrong, unsummed = [], []
    for at in np.flatnonzero(match.checked & ~match.summed):
        column = table.columns[at]
        value, expected = float(column.values[match.row]), float(block.total[at])
        # A mean or a maximum lies among the cells; no sum of several is meant by it.
        among = block.low[at] <= value <= block.high[at]
        if regular[at] or (agreeing and not among and _nearly(value, expected, column.decimals)):
            wrong.append(WrongTotal(column.name, value, expected, value - expected))
        else:
            unsummed.append(column.name)
    names = tuple(table.columns[at].name for at in np.flatnonzero(match.summed))
    return TotalRow(match.row, label, block.first, block.last, names, tuple(wrong), tuple(unsummed))


def _nearly(value: float, expected: float, decimals: int) -> bool:
    """Whether a cell was meant as the sum: near it, its sign flipped, or one digit typed wrong."""
    if abs(value - expected) <= NEAR * abs(expected) or math.isclose(value, -expected, rel_tol=1e-9):
        return True
    one, other = f"{value:.{decimals}f}", f"{expected:.{decimals}f}"
    return len(one) == len(other) >= 4 and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def sentence(total: TotalRow, table: Table, others: Sequence[TotalRow] = ()) -> str:
    """What a person reads about a total row; ``others`` are all total rows of the table."""
    word = "row" if table.labels is None else "line" if table.sheet is None else "sheet row"
    first, last = table.row_label(total.first), table.row_label(total.last)
    span = f"{word} {first}" if first == last else f"{word}s {first}–{last}"
    between = any(total.first < other.row < total.last for other in others)
    text = f"{word} {table.row_label(total.row)} is the total of {span}"
    text += " without the totals among them" if between else ""
    text += f": {_listed(total.columns)}" if total.columns else ""
    for cell in total.breaking:
        value, expected = (table.shown(number, cell.column) for number in (cell.value, cell.expected))
        text += f"; {cell.column} is {value}, the sum is {expected}"
    if total.unsummed:
        text += f"; {_listed(total.unsummed)} {'is' if len(total.unsummed) == 1 else 'are'} not summed"
    return text


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
