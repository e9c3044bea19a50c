"""One scale for all candidates: how many bits of the target a formula explains, after paying for itself.

A row that holds saves the bits that its target's digits would have cost without the formula: minus the logarithm
of the chance that a cell of that column falls into the window of the prediction. A row where any formula would
hold (0 = 0 + 0) has a chance near one and saves nothing. Rows that break, the formula's text, and the number of
candidates that were looked at are paid for in the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Column, Constant, Expression, Power, Product, Sum
from inalu.tabular import constants
from inalu.tabular.bounds import Prediction, predict
from inalu.tabular.derived import Lookup, place

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What a column costs in a formula beyond its choice: fewer columns are simpler in small tables too.
_COLUMN_BITS = 2.0
# The row before, or a running sum, instead of the column itself.
_DERIVED_BITS = 2.0
_TERM_BITS = 1.5
# No single row counts for more than this, so that a few long numbers are not a proof.
MOST_BITS_PER_ROW = 16.0
# A row is trivial when a cell of the target's column would fit its window by chance this often.
TRIVIAL_CHANCE = 0.5
# Neighbours that make up a local density, on each side.
NEIGHBOURS = 2
# Of the rows checked, and of those where the answer is not trivial, this share has to hold.
LEAST_SHARE = 0.78
LEAST_ROWS = 5
# Constants of so few bits, as 100 and a half have, were not fitted.
PLAIN_BITS = 6.0
# Cells that are known so well, relative to their size, were not rounded.
UNROUNDED = 1e-13
# Columns of so few different cells are marks: yes and no, one of three.
MOST_MARKS = 3
# Where fewer rows than this share differ from each other, those that repeat are left out.
MOSTLY_DISTINCT = 0.8
# Columns that repeat independently of each other differ in at least this share of the rows that shuffled ones do.
BY_CHANCE = 0.5
# A cell that lies nearer to its formula than this part of its half unit meets it exactly.
EXACT_PART = 1e-3
# Where fewer rows than these hold with exact operands, and nearly all with rounded ones, operands are rounded.
ROUNDED_TWICE, NEARLY_ALL, A_FEW_UNITS = 0.78, 0.99, 4.0
# A formula that is met exactly is so in all rows that hold, but for this share.
FEW_COARSE = 0.1
# A formula whose windows are so wide that a row saves less than this on average is a vague one.
LEAST_BITS_PER_ROW = 0.75
# Of the rows next to the window's edge (half a window each way) at most this share may lie outside.
MOST_OUTSIDE = 0.23
# Formulas that fix this many bits of every row, or whose constants take fewer bits, are not asked for structure.
SURE_BITS_PER_ROW = 5.0
SIMPLE_BITS = 12.0
FEW_BROKEN = 0.02
# Stretches of rows whose mean errors are compared; with fewer, single rows are.
LEAST_BLOCKS = 20
# Such a tail has so many rows, and this share of all and of those that break; so many of its rows lie further off
# than one unit of rounding. Its density outside the window is that share of what it is inside, and thins out so fast.
LEAST_TAIL, MOST_TAIL, MOSTLY_NEAR, PAST_A_UNIT = 3, 0.02, 0.6, 0.08
PAST_THE_EDGE, THINNING = 0.1, 8.0
# The mean square of errors beside what is expected, and how many of its standard errors more; the squares of numbers
# that are spread evenly have this variance, relative to the square of their mean.
MOST_EXCESS, _SURE_EXCESS, _SPREAD_OF_SQUARES = 1.25, 2.0, 0.8
FEW_ROWS = 60
# The mean error of rounding may lie so far from zero, in windows, or so many standard errors.
MOST_ONE_SIDED = 0.2
# Of a code that is another one cut short (a state and its counties) less is enough.
MOST_CUT = 0.08
_SURE_SIDE, _MOST_NEAR = 5.0, 3.0
COARSE_BITS_PER_ROW = 4.0
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

    @cached_property
    def unrounded(self) -> bool:
        """Whether the cells have all digits of a double."""
        filled = np.isfinite(self.values) & (self.values != 0)
        relative = self.halves[filled] / np.abs(self.values[filled])
        return bool(len(relative)) and float(np.median(relative)) < UNROUNDED

    @cached_property
    def numbered(self) -> bool:
        """Whether the cells number the rows: whole numbers, each one more than the one before."""
        steps = np.diff(self.values)
        return len(steps) > 0 and bool((np.abs(steps) == 1).all()) and bool(np.ptp(steps) == 0)

    @cached_property
    def few(self) -> bool:
        """Whether the column has so few different cells that they are a mark, and no quantity."""
        return len(np.unique(self.ordered)) <= MOST_MARKS

    @cached_property
    def before(self) -> Array:
        """The cell of the row before; NaN where there is none."""
        return np.concatenate([[np.nan], self.values[:-1]])

    @cached_property
    def steps(self) -> Target:
        """The differences to the row before, as a column of their own."""
        return Target.of(self.values - self.before, self.halves)

    def chance_after(self, centre: Array, radius: Array, rows: Mask) -> Array:
        """The same for someone who knows the row before: in a column of running numbers nothing is a surprise."""
        before = self.before[rows]
        known = np.isfinite(before)
        chance = np.zeros(len(centre))
        if len(self.steps.ordered) > 2 * NEIGHBOURS:
            chance[known] = self.steps.chance(centre[known] - before[known], radius[known])
        return chance

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
        clipped: Array = np.clip(chance, 2.0**-MOST_BITS_PER_ROW, 1.0)
        return clipped


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
    rounded : str
        Which operands count as rounded numbers: "all", "fractions" (whole numbers are exact) or "none".
    weight : float
        The share of the checked rows that are evidence of their own.
    chance : array of shape [rows]
        How likely it is that a row holds by luck.
    """

    bits: float
    gross: float
    checked: Mask
    holding: Mask
    trivial: Mask
    residual: Array
    tolerance: Array
    prediction: Prediction
    rounded: str
    weight: float
    chance: Array

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


def formula_bits(formula: Expression, places: Mapping[str, int]) -> float:
    """The bits it takes to write a formula down, over a table whose columns stand at these places.

    Columns that stand side by side and are added up cost their first and their last one: twelve months are as
    short as two.

    Examples
    --------
    >>> table = {name: at for at, name in enumerate("abcdefghijklmnop")}
    >>> short, long = Expression.parse("a + b"), Expression.parse("a + 1.37 * b")
    >>> formula_bits(short, table) < formula_bits(long, table)
    True
    >>> beside, apart = Expression.parse("a + b + c + d"), Expression.parse("a + c + e + g")
    >>> formula_bits(beside, table) < formula_bits(apart, table)
    True
    """
    if isinstance(formula, Constant):
        return constants.bits(formula.value)
    if isinstance(formula, Sum):
        return _sum_bits(formula.terms, places)
    if isinstance(formula, Product):
        return sum(formula_bits(factor, places) + 1.0 for factor in formula.factors)
    if isinstance(formula, Power):
        cost = 0.5 if formula.exponent == -1 else 2.0
        return formula_bits(formula.base, places) + cost
    derived = isinstance(formula, Column) and formula.name not in places
    return math.log2(max(len(places), 2)) + _COLUMN_BITS + (_DERIVED_BITS if derived else 0.0)


def _sum_bits(terms: Sequence[Expression], places: Mapping[str, int]) -> float:
    """The bits of a sum; runs of neighbouring columns are told by their ends."""
    plain = sorted(places[term.name] for term in terms if isinstance(term, Column) and term.name in places)
    column = math.log2(max(len(places), 2)) + _COLUMN_BITS + _TERM_BITS
    total = 0.0
    for run in _runs(plain):
        total += column * min(run, 2)
    rest = [term for term in terms if not (isinstance(term, Column) and term.name in places)]
    return total + sum(formula_bits(term, places) + _TERM_BITS for term in rest)


def _runs(places: Sequence[int]) -> list[int]:
    """The lengths of the stretches of consecutive numbers.

    Examples
    --------
    >>> _runs([1, 2, 3, 7, 9, 10])
    [3, 1, 2]
    """
    lengths: list[int] = []
    for at, number in enumerate(places):
        if at and number == places[at - 1] + 1:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


def entropy(share: float) -> float:
    """The bits per row that it takes to say which rows break."""
    if share <= 0.0 or share >= 1.0:
        return 0.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)


def measure(
    target: Target,
    formula: Expression,
    lookup: Lookup,
    *,
    places: Mapping[str, int],
    tried: float = 1.0,
    rounded: str | None = None,
) -> Measure:
    """Weigh a candidate on all rows.

    Whether the operands were rounded when the target was computed is not printed anywhere: 3 may be a
    count or stand for 2.6. All readings are tried, and what saves most bits is taken; ``rounded`` fixes one.
    """
    prediction = predict(formula, lookup)
    least = _usual_elsewhere(target, formula, lookup)
    checked = np.isfinite(target.values - prediction.value) & np.isfinite(prediction.radius)
    rows = max(int(checked.sum()), 1)
    weights = tuple(count / rows for count in _independent_rows(formula, target, lookup, checked))
    paid = formula_bits(formula, places) + math.log2(max(tried, 1.0))
    options = {
        "all": prediction.radius,
        "fractions": prediction.radius_counts,
        "none": np.zeros(len(checked)),
    }
    if rounded is not None:
        options = {rounded: options[rounded]}
    elif np.array_equal(options["fractions"], options["all"]):
        del options["fractions"]
    # Without constants to fit, a formula has the level of a slow column right, and not only its steps.
    fitted = constant_bits(formula) > PLAIN_BITS
    found = [
        _weigh(target, prediction, checked, radius, reading, weights, paid, least, fitted=fitted)
        for reading, radius in options.items()
    ]
    best = max(found, key=lambda one: round(one.bits, 9))
    # Rows that are off by a unit or two, while all hold if operands were rounded too: they were. Where the others
    # are met exactly, rounded operands would put a good part of the rows a unit off; fewer are wrong.
    if checked.any() and best.share < (ROUNDED_TWICE if _met(best, target) else 1.0):
        for one in sorted(found, key=lambda one: float(np.median(one.tolerance[checked]))):
            narrow = np.median(one.tolerance[checked]) <= A_FEW_UNITS * np.median(best.tolerance[checked])
            if narrow and one.share >= NEARLY_ALL and one.bits >= THRESHOLD:
                return one
    return best


def _met(result: Measure, target: Target) -> bool:
    """Whether a formula is met exactly in most of the rows that hold, and not only within half a unit."""
    rows = result.holding & ~result.trivial
    return (
        bool((np.abs(result.residual[rows]) <= 0.01 * target.halves[rows]).mean() > 0.5)
        if rows.any()
        else True
    )


def _weigh(
    target: Target,
    prediction: Prediction,
    checked: Mask,
    radius: Array,
    rounded: str,
    weights: tuple[float, ...],
    paid: float,
    least: float,
    *,
    fitted: bool,
) -> Measure:
    """The bits under one reading of the operands; no row's chance is below ``least``."""
    residual = target.values - prediction.value
    tolerance = target.halves * (1 + 1e-9) + radius + prediction.noise
    holding = checked & (np.abs(residual) <= tolerance)
    chance = np.ones_like(residual)
    chance[checked] = np.maximum(target.chance(prediction.value[checked], tolerance[checked]), least)
    # What slowly changing columns agree on within rounding, they agree on anyway; what is met exactly counts in full.
    coarse = checked & (np.abs(residual) > EXACT_PART * target.halves + prediction.noise)
    if (coarse & holding).sum() > FEW_COARSE * holding.sum():
        coarse = checked
    if not fitted:
        coarse = np.zeros_like(checked)
    chance[coarse] = np.maximum(
        chance[coarse], target.chance_after(prediction.value[coarse], tolerance[coarse], coarse)
    )
    saved = np.where(holding, -np.log2(chance), 0.0)
    rows = int(checked.sum())
    breaking = rows - int(holding.sum())
    weight = weights[1 if breaking else 0]
    gross = weight * (float(saved.sum()) - rows * entropy(breaking / max(rows, 1)))
    trivial = checked & (chance > TRIVIAL_CHANCE)
    return Measure(
        gross - paid,
        gross,
        checked,
        holding,
        trivial,
        residual,
        tolerance,
        prediction,
        rounded,
        weight,
        chance,
    )


def _usual_elsewhere(target: Target, formula: Expression, lookup: Lookup) -> float:
    """How often a formula that looks at another row holds just as well a row further up or down.

    In a table that is sorted, or changes slowly, a cell agrees with many of its neighbours.
    """
    places = {name: place(name) for name in formula.columns}
    if not any(one.shift for one in places.values()):
        return 0.0
    found = 0.0
    for step in (-1, 1):
        moved = {
            name: one.name if one.shift + step == 0 else f"{one.name}[{one.shift + step}]"
            for name, one in places.items()
            if one.shift
        }
        other = formula.substitute({old: Expression.column(new) for old, new in moved.items()})
        # The target's own cell would be given by itself.
        if any(lookup(name)[0] is target.values for name in other.columns):
            continue
        predicted = predict(other, lookup)
        difference = np.abs(target.values - predicted.value)
        allowed = target.halves * (1 + 1e-9) + predicted.radius + predicted.noise
        asked = np.isfinite(difference) & np.isfinite(allowed)
        found = max(found, float((difference <= allowed)[asked].mean()) if asked.any() else 0.0)
    return found


def _independent_rows(
    formula: Expression, target: Target, lookup: Lookup, checked: Mask
) -> tuple[float, float]:
    """The number of rows that are evidence of their own, for a formula that holds in all and for one that breaks.

    A table joined from others repeats the same cells in many rows, which proves as much as one of them. Small
    numbers repeat too, but then columns repeat independently of each other: that is seen by shuffling them. Where
    rows break, a row that repeats proves nothing: a list of results for each pair of operands would do as well.
    """
    rows = np.flatnonzero(checked)
    every = float(len(rows))
    if len(rows) < 8 or not formula.columns:
        return every, every
    columns = [target.values, *(lookup(name)[0] for name in formula.columns)]
    parts = [np.unique(column[rows], return_inverse=True)[1] for column in columns]
    distinct = float(_distinct(parts))
    if distinct >= MOSTLY_DISTINCT * every:
        return every, every
    # A copy of a column is no second witness.
    parts = [
        part for at, part in enumerate(parts) if not any(np.array_equal(part, other) for other in parts[:at])
    ]
    if len(parts) < 3:
        return distinct, distinct
    rng = np.random.default_rng(0)
    shuffled = _distinct(
        [part if at == 0 else part[rng.permutation(len(rows))] for at, part in enumerate(parts[1:])]
    )
    return every if distinct >= BY_CHANCE * shuffled else distinct, distinct


def _distinct(parts: list[NDArray[np.intp]]) -> int:
    """The number of different rows of label columns."""
    code = np.zeros(len(parts[0]), dtype=np.int64)
    for part in parts:
        code = np.unique(code * (int(part.max()) + 1) + part, return_inverse=True)[1].astype(np.int64)
    return int(code.max()) + 1


# Bins of |residual| / tolerance: four inside the window, two levels next to it, and doubling distances beyond.
_EDGES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, *(3.0 * 2.0 ** np.arange(1, 40)), np.inf])
_INSIDE, _NEAR = 4, 7
# The same for the tail next to the window: its last quarter, half a window more, up to a unit, and beyond.
_TAIL = np.array([0.0, 0.5, 0.75, 1.0, 1.5, 3.0, 12.0])
_WIDTHS = np.geomspace(0.05, 1e6, 120)


def approximate(result: Measure) -> bool:
    """Whether the residuals look like noise around a rough fit rather than like rounding with some broken rows.

    Two descriptions of the residuals compete, in bits. Rounding: most rows lie within what rounding explains, the
    others next to it (one unit off) or anywhere. Noise: one bell that goes on beyond the window. Where the second is
    shorter, rows fail because the formula is only near the truth.
    """
    rows = result.checked & ~result.trivial
    if result.holding[rows].all() or rows.sum() < LEAST_ROWS:
        return False
    ratio = np.abs(result.residual[rows]) / result.tolerance[rows]
    counts = np.histogram(ratio, _EDGES)[0].astype(np.float64)
    # Rounding ends at the window's edge; a formula near the truth has as many rows just outside as just inside.
    inside, outside = float(counts[2:_INSIDE].sum()), float(counts[_INSIDE])
    if outside >= 3 and outside > MOST_OUTSIDE * (inside + outside):
        return True
    return _noise_bits(counts) < _rounding_bits(counts)


def continuous(result: Measure) -> bool:
    """Whether errors go on beyond the window, ever rarer, as those of an approximation do.

    Rows that break a true formula break it grossly, or by a unit of rounding. Where a good part of them lies near
    the window, thinning out with the distance from it, the formula is only near the truth.
    """
    rows = result.checked & ~result.trivial
    ratio = np.abs(result.residual[rows]) / result.tolerance[rows]
    inside, beside, unit, beyond = np.histogram(ratio, _TAIL)[0].astype(np.float64)[2:]
    near, broken = beside + unit + beyond, float((ratio > 1).sum())
    if near < LEAST_TAIL or near <= MOST_TAIL * len(ratio) or near <= MOSTLY_NEAR * broken:
        return False
    goes_on = beyond >= max(1.0, PAST_A_UNIT * near)
    edge, width = inside / 0.25, beside / 0.5
    thin = PAST_THE_EDGE * edge <= width and width >= THINNING * beyond / (_TAIL[-1] - 3.0)
    return bool(goes_on and thin)


def tied(result: Measure) -> Mask:
    """The rows in which a cell lies just between two printed numbers."""
    return np.abs(np.abs(result.residual) - result.tolerance) <= EXACT_PART * result.tolerance


def biased(result: Measure, *, most: float = MOST_ONE_SIDED) -> bool:
    """Whether a formula lies on one side of the cells, by more than this share of the window.

    The errors of rounding have no side; those of two counts that always stay near each other have one, and so have
    codes that were cut off. Ties may all have been rounded one way.
    """
    rows = result.checked & ~result.trivial
    if rows.sum() < LEAST_ROWS:
        return False
    rows &= ~tied(result)
    error = result.residual[rows] / result.tolerance[rows]
    error = error[np.abs(error) <= _MOST_NEAR]
    if len(error) < LEAST_ROWS:
        return False
    spread = float(error.std()) / math.sqrt(len(error))
    side = abs(float(error.mean()))
    return side > most and side > _SURE_SIDE * spread


def loose(result: Measure, target: Target) -> bool:
    """Whether errors are larger, in the mean square, than the rounding of target and operands leads to expect.

    A window is as wide as the worst case. Errors of rounding seldom come near its edge; those of an approximation
    fill it.
    """
    squares = result.prediction.square if result.rounded == "all" else result.prediction.square_counts
    # With exact operands the errors are what the last digit cut off, ties and all.
    rows = result.holding & ~result.trivial & (squares > EXACT_PART * target.halves**2)
    if result.rounded == "none" or not rows.any():
        return False
    expected = (target.halves**2 + squares) / 3 + result.prediction.noise**2
    if rows.sum() <= FEW_ROWS:
        # A few rows have no tail to look at: those just outside count as if they lay on the edge.
        near = np.abs(result.residual) <= _MOST_NEAR * result.tolerance
        rows |= result.checked & ~result.trivial & near & (squares > EXACT_PART * target.halves**2)
    distance = np.minimum(np.abs(result.residual[rows]), result.tolerance[rows])
    error = float((distance**2 / expected[rows]).mean())
    return error > MOST_EXCESS + _SURE_EXCESS * math.sqrt(_SPREAD_OF_SQUARES / rows.sum())


def structured(result: Measure, formula: Expression, target: Target) -> bool:
    """Whether the errors of a coarse formula follow each other, as those of an approximation do.

    Rounding errors are independent from row to row. The errors of a smooth approximation are alike in rows that
    follow each other in the table or in the order of the predicted values. Formulas without fitted constants
    that hold in all rows, and those that fix many digits, need no such doubt.
    """
    asked = result.holding & ~result.trivial
    count = int(asked.sum())
    fixed = result.gross / max(result.weight * result.rows_nontrivial, 1.0)
    broken = bool((result.checked & ~result.holding).any())
    fitted = constant_bits(formula) > SIMPLE_BITS
    # Fitted constants and a good part of broken rows and coarse windows: too much to forgive at once.
    if fitted and 1 - result.share > FEW_BROKEN and fixed < COARSE_BITS_PER_ROW:
        return True
    if count < 20 or fixed > SURE_BITS_PER_ROW or not (broken or fitted):
        return False
    # Ties may all have been rounded one way.
    asked &= ~tied(result)
    count = int(asked.sum())
    if count < 20:
        return False
    tolerance, predicted = result.tolerance[asked], result.prediction.value[asked]
    error, moves = result.residual[asked] / tolerance, predicted / tolerance
    # The errors of a true formula whose operands are exact, for comparison.
    unit = 2 * target.halves[asked]
    ideal = (np.round(predicted / unit) * unit - predicted) / tolerance
    for order in (np.arange(count), np.argsort(predicted, kind="stable")):
        found, natural = _block_means(error[order], moves[order]), 0.0
        if len(found) < LEAST_BLOCKS:
            found, natural = error[order], max(0.0, _alike(ideal[order]))
        if _alike(found) > max(0.3, 3.0 / math.sqrt(len(found))) + natural:
            return True
    return False


def _block_means(error: Array, predicted: Array) -> Array:
    """Mean errors of rows between which the prediction moves by a window.

    While it moves by less, the rounding error is a saw's tooth: its neighbours are alike in the truest formula.
    """
    moved = np.minimum(np.abs(np.diff(predicted, prepend=predicted[0])) / 2, 1.0)
    block = np.floor(np.cumsum(moved)).astype(np.intp)
    count = np.bincount(block)
    return np.bincount(block, error)[count > 0] / count[count > 0]


def _alike(error: Array) -> float:
    """The correlation of each error with the next."""
    error = error - error.mean()
    size = float(error @ error)
    return float(error[1:] @ error[:-1]) / size if size > 0 else 0.0


def constant_bits(formula: Expression) -> float:
    """The bits of all constants in a formula."""
    if isinstance(formula, Constant):
        return constants.bits(formula.value)
    if isinstance(formula, Sum):
        return sum(constant_bits(term) for term in formula.terms)
    if isinstance(formula, Product):
        return sum(constant_bits(factor) for factor in formula.factors)
    return constant_bits(formula.base) if isinstance(formula, Power) else 0.0


def _rounding_bits(counts: Array) -> float:
    total = float(counts.sum())
    inside, near, far = counts[:_INSIDE], counts[_INSIDE:_NEAR], counts[_NEAR:]
    price = 0.5 * math.log2(total)
    groups = np.array([inside.sum(), near.sum(), far.sum()])
    # Only what occurs has a share to state: one broken row among a million exact ones is two groups, not seven.
    stated = np.count_nonzero(groups) - 1
    # Inside the window errors are spread evenly, or in a way of their own (sums of several rounded cells).
    evenly = float(inside.sum()) * 2.0 + stated * price
    freely = sum(_code(inside, inside.sum())) + (stated + np.count_nonzero(inside) - 1) * price
    beside = float(near @ -np.log2(np.diff(_EDGES[_INSIDE : _NEAR + 1]) / 2))
    # Of the distances beyond, each doubling is as likely as any other up to the largest that occurs.
    reach = float(np.flatnonzero(far)[-1] + 1) if far.any() else 1.0
    return min(evenly, freely) + sum(_code(groups, total)) + beside + float(far.sum()) * math.log2(reach)


def _code(counts: Array, total: float) -> list[float]:
    return [float(-count * math.log2(count / total)) for count in counts if count]


def _noise_bits(counts: Array) -> float:
    """The bits of the best normal or Laplace distribution of any width."""
    return min(float((cost @ counts).min()) for cost in _bells()) + 0.5 * math.log2(float(counts.sum()))


@cache
def _bells() -> tuple[Array, Array]:
    """The bits of each bin under normal and Laplace distributions, one line for each width."""
    edges = _EDGES[None, :] / _WIDTHS[:, None]
    normal = np.array([[math.erf(edge / math.sqrt(2)) for edge in row] for row in edges])
    chances = [np.maximum(np.diff(upto, axis=1), 1e-12) for upto in (normal, 1.0 - np.exp(-edges))]
    return -np.log2(chances[0]), -np.log2(chances[1])
