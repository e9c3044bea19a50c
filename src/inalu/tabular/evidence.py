"""One scale for all candidates: how many bits of the target a formula explains, after paying for itself.

A row that holds saves the bits that its target's digits would have cost without the formula: minus the logarithm
of the chance that a cell of that column falls into the window of the prediction. A row where any formula would
hold (0 = 0 + 0) has a chance near one and saves nothing. Rows that break, the formula's text, and the number of
candidates that were looked at are paid for in the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Constant, Expression, Power, Product, Sum
from inalu.tabular import constants
from inalu.tabular.bounds import Lookup, Prediction, predict

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# No single row counts for more than this, so that a few long numbers are not a proof.
MOST_BITS_PER_ROW = 16.0
# A row is trivial when a cell of the target's column would fit its window by chance this often.
TRIVIAL_CHANCE = 0.5
# Neighbours that make up a local density, on each side.
NEIGHBOURS = 2
# Of the rows checked, and of those where the answer is not trivial, this share has to hold.
LEAST_SHARE = 0.75
LEAST_ROWS = 5
# Bits left after everything is paid; one finding in 2**bits candidates sets would be luck.
THRESHOLD = 10.0


@dataclass(frozen=True)
class Target:
    """A target column, prepared for asking how likely a window is.

    Attributes
    ----------
    values, halves : arrays of shape [rows]
        The cells and half a unit of their last place.
    ordered : array
        The filled cells in ascending order.
    lattice : float
        The whole number of units that all cells are multiples of (prices in steps of 5: 5.0).
    """

    values: Array
    halves: Array
    ordered: Array
    lattice: float

    @classmethod
    def of(cls, values: Array, halves: Array) -> Target:
        """Prepare a column."""
        filled = np.isfinite(values)
        return cls(values, halves, np.sort(values[filled]), _lattice(values[filled], halves[filled]))

    def chance(self, centre: Array, radius: Array) -> Array:
        """The chance that a cell drawn from this column falls within ``radius`` of ``centre``.

        The larger of two estimates: the share of cells in the window, and the local density of cells (so that
        ten cells of six digits count as improbable) times its width.
        """
        ordered, count = self.ordered, len(self.ordered)
        low = np.searchsorted(ordered, centre - radius, side="left")
        high = np.searchsorted(ordered, centre + radius, side="right")
        # The row itself is among those that fit.
        ties = np.maximum(high - low - 1, 0) / max(count - 1, 1)
        place = np.searchsorted(ordered, centre)
        right = np.minimum(place + NEIGHBOURS, count - 1)
        left = np.maximum(place - 1 - NEIGHBOURS, 0)
        width = ordered[right] - ordered[left]
        with np.errstate(all="ignore"):
            density = (right - left) / (count * width)
            local = 2 * radius * self.lattice * density
        local = np.where(np.isfinite(local), local, 0.0)
        chance = np.maximum(ties, np.where(width > 0, local, 0.0))
        # Nothing is more certain than the column's own most frequent window of that size allows to say.
        return np.clip(chance, 2.0**-MOST_BITS_PER_ROW, 1.0)


def _lattice(values: Array, halves: Array) -> float:
    """The number of units that nine in ten cells are whole multiples of."""
    if not len(values):
        return 1.0
    units = values / (2 * halves)
    if np.abs(units).max(initial=0.0) > 1e14:
        return 1.0
    units = np.round(units)
    units = units[units != 0]
    for step in (100, 50, 25, 20, 10, 5, 4, 2):
        if len(units) and (np.mod(units, step) == 0).mean() >= 0.9:
            return float(step)
    return 1.0


@dataclass(frozen=True)
class Measure:
    """How a candidate does on the rows of a table.

    Attributes
    ----------
    bits : float
        Bits saved on the target, less the bits of breaks, formula and search.
    gross : float
        The same before formula and search are paid.
    checked, holding, trivial : masks of shape [rows]
        Rows where target and operands are filled; of those the rows that hold; the rows where that says nothing.
    residual, tolerance : arrays of shape [rows]
        Target minus prediction, and the largest difference that rounding explains.
    prediction : Prediction
        The formula's values.
    """

    bits: float
    gross: float
    checked: Mask
    holding: Mask
    trivial: Mask
    residual: Array
    tolerance: Array
    prediction: Prediction

    @property
    def share(self) -> float:
        """The share of checked rows that hold."""
        return float(self.holding.sum() / max(self.checked.sum(), 1))

    @property
    def share_nontrivial(self) -> float:
        """The share of rows holding, of those where the answer is not trivial."""
        asked = self.checked & ~self.trivial
        return float((self.holding & asked).sum() / max(asked.sum(), 1))

    @property
    def rows_nontrivial(self) -> int:
        """How many checked rows are not trivial."""
        return int((self.checked & ~self.trivial).sum())


def formula_bits(formula: Expression, columns: int) -> float:
    """The bits it takes to write a formula down, for a table of so many columns.

    Examples
    --------
    >>> short, long = Expression.parse("a + b"), Expression.parse("a + 1.37 * b")
    >>> formula_bits(short, 16) < formula_bits(long, 16)
    True
    """
    if isinstance(formula, Constant):
        return constants.bits(formula.value)
    if isinstance(formula, Sum):
        return sum(formula_bits(term, columns) + 1.5 for term in formula.terms)
    if isinstance(formula, Product):
        return sum(formula_bits(factor, columns) + 1.0 for factor in formula.factors)
    if isinstance(formula, Power):
        cost = 0.5 if formula.exponent == -1 else 2.0
        return formula_bits(formula.base, columns) + cost
    return math.log2(max(columns, 2))


def entropy(share: float) -> float:
    """The bits per row that it takes to say which rows break."""
    if share <= 0.0 or share >= 1.0:
        return 0.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)


def measure(target: Target, formula: Expression, lookup: Lookup, *, columns: int, tried: float = 1.0) -> Measure:
    """Weigh a candidate on all rows."""
    prediction = predict(formula, lookup)
    residual = target.values - prediction.value
    noise = prediction.noise + 1e-9 * target.halves
    tolerance = target.halves + prediction.radius + noise
    checked = np.isfinite(residual) & np.isfinite(tolerance)
    holding = checked & (np.abs(residual) <= tolerance)
    chance = np.ones_like(residual)
    chance[checked] = target.chance(prediction.value[checked], tolerance[checked])
    saved = np.where(holding, -np.log2(chance), 0.0)
    rows = int(checked.sum())
    weight = _independent_rows(formula, target, lookup, checked) / max(rows, 1)
    breaking = rows - int(holding.sum())
    gross = weight * (float(saved.sum()) - rows * entropy(breaking / max(rows, 1)))
    paid = formula_bits(formula, columns) + math.log2(max(tried, 1.0))
    trivial = checked & (chance > TRIVIAL_CHANCE)
    return Measure(gross - paid, gross, checked, holding, trivial, residual, tolerance, prediction)


def _independent_rows(formula: Expression, target: Target, lookup: Lookup, checked: Mask) -> float:
    """The number of rows that are evidence of their own.

    A table joined from others repeats the same cells in many rows, which proves as much as one of them. Small
    numbers repeat too, but then columns repeat independently of each other: that is seen by shuffling them.
    """
    rows = np.flatnonzero(checked)
    if len(rows) < 8:
        return float(len(rows))
    parts = [np.unique(column[rows], return_inverse=True)[1] for column in
             [target.values, *(lookup(name)[0] for name in formula.columns)]]
    distinct = _distinct(parts)
    if distinct >= 0.8 * len(rows):
        return float(len(rows))
    rng = np.random.default_rng(0)
    shuffled = _distinct([part if at == 0 else part[rng.permutation(len(rows))] for at, part in enumerate(parts[1:])])
    if len(parts) > 2 and distinct >= 0.5 * shuffled:
        return float(len(rows))
    return float(distinct)


def _distinct(parts: list[NDArray[np.intp]]) -> int:
    """The number of different rows of label columns."""
    code = np.zeros(len(parts[0]), dtype=np.int64)
    for part in parts:
        code = np.unique(code * (int(part.max()) + 1) + part, return_inverse=True)[1].astype(np.int64)
    return int(code.max()) + 1


def approximate(result: Measure, target: Target) -> bool:
    """Whether the residuals look like noise around a rough fit rather than like rounding with some broken rows.

    Two descriptions of the residuals compete. Rounding: most rows lie within what rounding explains, the others
    anywhere. Noise: a bell whose width is fitted, in units of each row's rounding. Where the second is shorter, rows
    fail because the formula is only near the truth.
    """
    rows = result.checked & ~result.trivial
    if result.holding[rows].all() or rows.sum() < LEAST_ROWS:
        return False
    ratio = np.abs(result.residual[rows]) / result.tolerance[rows]
    count, inside = len(ratio), float((ratio <= 1).mean())
    near = float(((ratio > 1) & (ratio <= 3)).mean())
    far = ratio[ratio > 3]
    # Half of the breaks' probability lies next to the window (one unit off), the other half falls off as 1 / distance.
    rounding = 0.0
    for share, width in ((inside, 1.0), (near, 2.0)):
        if share:
            rounding += count * share * (math.log2(share) - math.log2(width))
    reach = math.log2(max(float(ratio.max()), 6.0))
    if len(far):
        rounding += len(far) * math.log2(len(far) / count) - float(np.log2(far * reach).sum())
    scale = max(float(np.sqrt(np.mean(ratio**2))), 1e-12)
    bell = -count * math.log2(scale * math.sqrt(math.pi * math.e / 2))
    width = max(float(np.mean(ratio)), 1e-12)
    laplace = -count * math.log2(width * math.e)
    return max(bell, laplace) > rounding
