"""What the breaking rows of a relation have in common: a group, a stretch of rows, a value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from inalu.tabular.table import Table

LEAST_BREAKS = 4
LEAST_BITS = 12.0
# Numeric columns with few different values are groups too.
MOST_VALUES = 30
MOST_TEXT = 40


def in_common(table: Table, checked: NDArray[np.bool_], breaking: NDArray[np.bool_]) -> tuple[str, ...]:
    """Sentences on what sets the breaking rows apart, the most telling first.

    Examples
    --------
    >>> table = Table.from_columns({"unit": ["kg"] * 30 + ["lb"] * 6, "x": [float(row) for row in range(36)]})
    >>> rows = np.arange(36)
    >>> in_common(table, rows >= 0, rows >= 30)[0]
    "unit is 'lb' in 6 of the 6 breaking rows and in 0 of the 30 others."
    """
    count = int(breaking.sum())
    others = int((checked & ~breaking).sum())
    if count < LEAST_BREAKS or not others:
        return ()
    found: list[tuple[float, str]] = []
    for name, labels in _groups(table):
        in_breaks = Counter(labels[row] for row in np.flatnonzero(breaking))
        for label, hits in in_breaks.most_common(2):
            elsewhere = sum(labels[row] == label for row in np.flatnonzero(checked & ~breaking))
            bits = telling(hits, count, elsewhere, others)
            if bits >= LEAST_BITS:
                where = f"{hits} of the {count} breaking rows and in {elsewhere} of the {others} others"
                said = f"{name} is {label} in {where}."
                found.append((bits, said))
    rows = np.flatnonzero(breaking)
    inside = int((checked & ~breaking)[rows[0] : rows[-1] + 1].sum())
    bits = telling(count, count, inside, others)
    if bits >= LEAST_BITS:
        first, last = table.number(int(rows[0])), table.number(int(rows[-1]))
        found.append((bits, f"All {count} breaking rows lie between rows {first} and {last}."))
    # Equally telling marks keep the order of the columns, and a value goes before a stretch of rows.
    found.sort(key=lambda item: -round(item[0], 6))
    return tuple(said for _, said in found[:3])


def telling(hits: int, breaks: int, elsewhere: int, others: int) -> float:
    """The bits by which a mark separates breaking rows from the others.

    Examples
    --------
    >>> telling(10, 10, 0, 90) > telling(10, 10, 45, 90) > telling(5, 10, 45, 90)
    True
    """
    share = (hits + elsewhere + 0.5) / (breaks + others + 1)
    inside = hits / breaks
    if inside <= share:
        return 0.0
    bits = hits * math.log2(inside / share)
    if hits < breaks:
        bits += (breaks - hits) * math.log2((1 - inside) / max(1 - share, 1e-9))
    return bits


def _groups(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Columns with few different values, as texts."""
    for other in table.others:
        labels = [repr(other.text(row).strip()[:MOST_TEXT]) for row in range(table.rows)]
        if 1 < len(set(labels)) <= max(MOST_VALUES, table.rows // 4):
            yield other.name, labels
    for column in table.columns:
        values = np.unique(column.values[np.isfinite(column.values)])
        if 1 < len(values) <= MOST_VALUES:
            yield column.name, [f"{value:g}" for value in column.values]
