"""The columns that formulas may name beyond those of the table: the row before, and running sums."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_RESERVED = re.compile(r"(?P<before>.+)\[(?P<shift>-?\d{1,4})\]|cumsum\((?P<running>.+)\)", re.DOTALL)


class Place(NamedTuple):
    """What a name in a formula stands for: a column, some rows away, or its running sum."""

    name: str
    shift: int = 0
    running: bool = False


def place(name: str) -> Place:
    """Read the reserved names of formulas.

    Examples
    --------
    >>> place("balance[-1]"), place("cumsum(paid in)")
    (Place(name='balance', shift=-1, running=False), Place(name='paid in', shift=0, running=True))
    """
    found = _RESERVED.fullmatch(name)
    if found is None:
        return Place(name)
    if found["running"] is not None:
        return Place(found["running"], 0, True)
    return Place(found["before"], int(found["shift"]))


def shifted(values: Array, shift: int) -> Array:
    """The values ``-shift`` rows before (shift -1) or ``shift`` rows after; NaN where there is no such row.

    Examples
    --------
    >>> shifted(np.array([1.0, 2.0, 3.0]), -1)
    array([nan,  1.,  2.])
    """
    out = np.full_like(values, np.nan)
    if shift < 0:
        out[-shift:] = values[:shift]
    elif shift > 0:
        out[:-shift] = values[shift:]
    else:
        out[:] = values
    return out


def running(values: Array, halves: Array) -> tuple[Array, Array]:
    """The running sum, missing cells counting as zero, and how far rounding can carry it.

    The errors of many rounded cells do not add up at their worst: their sum grows with the square root of the count.
    """
    filled = np.isfinite(values)
    total = np.cumsum(np.where(filled, values, 0.0))
    half = np.where(filled, halves, 0.0)
    worst = np.cumsum(half)
    likely = 3.0 * np.sqrt(np.cumsum(half * half) / 3.0) + np.maximum.accumulate(half)
    return np.where(filled, total, np.nan), np.where(filled, np.minimum(worst, likely), np.nan)


# Typical whole numbers up to this size are counts.
MOST_FEW = 5.0


@dataclass(frozen=True, eq=False)
class Lookup:
    """Values and half units by the names that formulas use; derived columns are computed once.

    Examples
    --------
    >>> lookup = Lookup({"x": (np.array([1.0, 2.0]), np.array([0.5, 0.5]))})
    >>> lookup("x[-1]")[0], lookup("cumsum(x)")[0]
    (array([nan,  1.]), array([1., 3.]))
    """

    cells: dict[str, tuple[Array, Array]]
    _whole: dict[str, bool] = field(default_factory=dict)
    _made: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    def __call__(self, name: str) -> tuple[Array, Array]:
        if name in self.cells:
            return self.cells[name]
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> tuple[Array, Array]:
        where = place(name)
        values, halves = self.cells[where.name]
        if where.running:
            return running(values, halves)
        return shifted(values, where.shift), shifted(halves, where.shift)

    def whole(self, name: str) -> bool:
        """Whether a column holds whole numbers with a unit of one, as counts do."""
        if name not in self._whole:
            values, halves = self(name)
            filled = np.isfinite(values)
            whole = (halves[filled] == 0.5) & (values[filled] == np.round(values[filled]))
            # A running sum of counts is a count, whatever its worst case.
            self._whole[name] = self.whole(place(name).name) if place(name).running else bool(whole.all())
        return self._whole[name]

    def few(self, name: str) -> bool:
        """Whether a column of whole numbers counts a few things: such numbers were never rounded."""
        if not self.whole(name):
            return False
        values = np.abs(self(name)[0])
        counted = values[np.isfinite(values) & (values > 0)]
        return bool(len(counted)) and float(np.median(counted)) <= MOST_FEW

    def __contains__(self, name: str) -> bool:
        return name in self.cells or place(name).name in self.cells


def base(name: str) -> str:
    """The column of the table behind a name in a formula."""
    return place(name).name
