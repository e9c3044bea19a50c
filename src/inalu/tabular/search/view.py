"""What every stage is given, the numeric columns as two matrices and a choice of rows, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Expression

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Half a unit of a number that was not rounded.
EXACT = 1e-6


@dataclass(frozen=True)
class Candidate:
    """A formula that a stage proposes for a column.

    Attributes
    ----------
    target : str
        The column that is computed.
    formula : Expression
        The formula over other columns.
    found_by : str
        The stage that proposed it.
    """

    target: str
    formula: Expression
    found_by: str


@dataclass(frozen=True)
class Found:
    """What a stage returns: its candidates and how many it looked at to choose them."""

    candidates: list[Candidate] = field(default_factory=list)
    tried: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """The numeric columns of a table, as matrices.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values, halves : arrays of shape [rows, columns]
        The cells (NaN where missing) and half a unit of their last place.
    seed : int
        Every random choice of rows follows from it.
    """

    names: tuple[str, ...]
    values: Array
    halves: Array
    seed: int = 0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names)

    @cached_property
    def modes(self) -> Array:
        """The most frequent value of each column; NaN unless it fills a twentieth of the filled cells or more."""
        out = np.full(self.width, np.nan)
        for index in range(self.width):
            filled = self.values[np.isfinite(self.values[:, index]), index]
            if len(filled):
                seen, counts = np.unique(filled, return_counts=True)
                top = int(np.argmax(counts))
                if counts[top] > max(2, 0.05 * len(filled)):
                    out[index] = seen[top]
        return out

    @cached_property
    def filled(self) -> Array:
        """The share of columns that have a value, by row."""
        return np.isfinite(self.values).mean(axis=1) if self.width else np.zeros(self.rows)

    @cached_property
    def counted(self) -> View:
        """The same table with whole numbers taken as exact, as counts are; itself where there are none."""
        filled = np.isfinite(self.values)
        whole = np.where(filled, (self.halves == 0.5) & (self.values == np.round(self.values)), True).all(
            axis=0
        )
        if not whole.any():
            return self
        return replace(self, halves=np.where(whole & filled, EXACT, self.halves))

    def sample(self, target: int, count: int, *, salt: int = 0, zeros: bool = True) -> Rows:
        """Up to ``count`` rows that tell most about one target, in ascending order.

        Rows with the target's most frequent value say little (0 = 0 + 0 holds for any formula), so they fill at
        most a quarter of the places; rows with few missing cells come before others.
        """
        y = self.values[:, target]
        usable = np.isfinite(y) & (zeros | (y != 0))
        common = usable & (y == self.modes[target])
        rng = np.random.default_rng([self.seed, target, salt])
        # Rounding the share keeps rows apart only where a noticeable part of the cells is missing.
        order = np.lexsort((rng.random(self.rows), -np.round(self.filled, 1)))
        rare_rows = order[(usable & ~common)[order]]
        common_rows = order[common[order]]
        few = min(len(common_rows), max(count - len(rare_rows), count // 8))
        few = min(few, max(count // 4, 1)) if len(rare_rows) else min(few, count)
        picked = np.concatenate([rare_rows[: count - few], common_rows[:few]])
        return np.sort(picked).astype(np.intp)

    def column(self, index: int) -> Expression:
        """The column as an expression."""
        return Expression.column(self.names[index])


# A stage looks at the view for formulas of the named targets (indices of columns) and may call `tick` now and then.
Stage = Callable[[View, Sequence[int]], Found]
