"""How far a printed number can be from the number it stands for: half a unit of the last place that carries
meaning.

Writers of CSV strip zeros at the end, so the unit belongs to the column: with 1.25 above it, 1.5 means
1.50. Digits of binary floats mean nothing beyond the type's precision, and columns rounded to significant
digits have a unit that moves with the size of the cell. The docstring of `units` has the order in which
these are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inalu.tabular.numerals import Numerals, Texts

# A float64 sum of a few terms is off by a few units in the last place (1.1e-16 each); a float32 is off by
# 6e-8.
DOUBLE_NOISE = 1e-15
SINGLE_NOISE = 1e-7
# Shares of a column's cells that decide; each is far from what the other explanation predicts (see `units`).
STRAY_SHARE = 0.02
LONG_SHARE = 0.3
FULL_SHARE = 0.7
SHORT_SHARE = 0.5
FEW = 8
MOST_STORED = 5
# Cells that a power of ten must have to count, and the fewest digits: short cells agree by luck.
DECADE_CELLS = 3
LEAST_STEADY = 6
FARTHEST = 250
# A column of whole numbers counts as rounded to tens, hundreds ... when so many different cells all end in
# zeros.
ROUND_DISTINCT = 12


@dataclass(frozen=True)
class Units:
    """The precision of one column.

    Attributes
    ----------
    half : array of shape [rows]
        Half a unit of the last meaningful place, NaN where the cell is no number.
    decimals : int
        The decimals of the column, for ROUND; 0 for whole numbers.
    relative : float
        0.0, or the relative precision of a column whose last digits are float noise.
    """

    half: NDArray[np.float64]
    decimals: int
    relative: float = 0.0


def units(numerals: Numerals, texts: Texts, *, single: bool = False) -> Units:
    """Find the unit of every cell of a column; ``single`` says that the column was stored as float32.

    In order: digits of float32 or float64 noise (relative precision); cells in scientific notation with a
    fixed mantissa; significant digits (most cells have the column's highest number of digits while their
    decimals vary, where a fixed number of decimals would leave nine cells in ten at the highest number of
    decimals); whole numbers that all end in zeros; and, for all other columns, the highest number of
    decimals that more than a stray cell has.
    """
    where = numerals.numbers
    values, half = numerals.values, np.full(len(numerals.values), np.nan)
    if not where.any():
        return Units(half, 0)
    size = np.abs(values[where])
    decimals, digits = _without_noise(values[where], numerals.decimals[where], numerals.digits[where])
    # What pandas prints for a whole number in a column of floats, 12.0, says nothing about tenths.
    decimals = np.where((decimals == 1) & (values[where] == np.round(values[where])), 0, decimals)
    # Beyond these, units underflow; no quantity is known to a place so far away.
    decimals = np.clip(decimals, -FARTHEST, FARTHEST)
    mantissa = numerals.mantissa[where]
    stripped = _significant(values[where], decimals, digits)
    noise = _noise(values[where], decimals, digits, texts, np.flatnonzero(where), single=single)
    if noise == SINGLE_NOISE and (places := _stored_decimals(values[where])) is not None:
        # 97.6 stored as float32 and printed as a double: 97.5999984741211.
        half[where] = 0.5 * 10.0**-places + SINGLE_NOISE * size
        return Units(half, places)
    if noise:
        # What is left of a cancelled sum is as wrong as its terms; float32 columns span more, so theirs
        # counts less.
        typical = float(np.median(size[size > 0])) if (size > 0).any() else 1.0
        floor = noise * typical * (1.0 if noise == DOUBLE_NOISE else 0.01)
        cells = np.maximum(noise * size, floor)
        if digits.max() == 15:
            # Fifteen printed digits are themselves a rounding, wider than the noise of the float.
            place = np.floor(np.log10(np.where(size > 0, size, 1.0))) - 14
            cells = np.maximum(cells, 0.5 * 10.0**place + 2.0**-52 * size)
        half[where] = cells
        return Units(half, int(min(15, decimals.max(initial=0))), noise)
    per_cell = _scientific(mantissa, decimals) if (mantissa >= 0).any() else None
    column = _column_decimals(decimals)
    unit = np.full(len(size), float(column))
    if per_cell is not None:
        unit = np.where(per_cell, decimals, column).astype(np.float64)
    elif (significant := _fixed_digits(values[where], stripped, decimals)) is not None:
        place = significant - 1 - np.floor(np.log10(np.where(size > 0, size, 1.0)))
        # The last but one: a single cell may have the noise of a float for its decimals.
        unit = np.minimum(np.where(size > 0, place, decimals.max()), np.sort(decimals)[-2])
    elif column == 0:
        unit -= _round_zeros(size)
    else:
        # A stray cell with more digits keeps its own unit.
        unit = np.maximum(unit, decimals)
    # 8.32e-05 among numbers with nine decimals was not stripped of zeros.
    unit = np.where((mantissa >= 2) & (decimals < unit), decimals, unit)
    half[where] = np.maximum(0.5 * 10.0**-unit, (SINGLE_NOISE if single else 2.0**-53) * size)
    return Units(half, max(0, column))


def _without_noise(
    values: NDArray[np.float64], decimals: NDArray[Any], digits: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Decimals and digits as they were before a float sum left 0.30000000000000004 where 0.3 was meant."""
    decimals, digits = decimals.astype(np.int64), digits.astype(np.int64)
    for cell in np.flatnonzero((digits >= 15) & (decimals > 0)):
        short = f"{values[cell]:.12e}"
        mantissa, _, exponent = short.partition("e")
        places = len(mantissa.lstrip("-").rstrip("0").partition(".")[2])
        if places <= 9:
            decimals[cell], digits[cell] = max(0, places - int(exponent)), places + 1
    return decimals, digits


def _noise(
    values: NDArray[np.float64],
    decimals: NDArray[np.int64],
    digits: NDArray[np.int64],
    texts: Texts,
    rows: NDArray[np.intp],
    *,
    single: bool,
) -> float:
    """The relative precision of a column of float noise, or 0.0."""
    broken = decimals > 0
    long = broken & (digits >= 10)
    whole = max(1, int(broken.sum()))
    if long.sum() >= max(1, LONG_SHARE * whole):
        nearest = values[long].astype(np.float32).astype(np.float64)
        printed = np.maximum(0.5 * 10.0 ** (-decimals[long].astype(np.float64)), 2e-16 * np.abs(values[long]))
        if long.sum() >= 3 and (np.abs(values[long] - nearest) <= printed).all():
            return SINGLE_NOISE
        return DOUBLE_NOISE if (digits[long] >= 15).sum() >= LONG_SHARE * whole else 0.0
    if single and (broken & (digits >= 7)).sum() >= LONG_SHARE * whole:
        return SINGLE_NOISE
    return SINGLE_NOISE if _short_singles(values, decimals, digits, texts, rows) else 0.0


def _stored_decimals(values: NDArray[np.float64]) -> int | None:
    """The few decimals that all cells have but for the noise of float32; None where they have more."""
    room = 2 * SINGLE_NOISE * np.abs(values)
    if np.unique(values).size < FEW:
        return None
    for places in range(MOST_STORED + 1):
        if float(np.median(room)) > 0.01 * 10.0**-places:
            return None
        if (np.abs(values - np.round(values, places)) <= room).all():
            return places
    return None


def _short_singles(
    values: NDArray[np.float64],
    decimals: NDArray[np.int64],
    digits: NDArray[np.int64],
    texts: Texts,
    rows: NDArray[np.intp],
) -> bool:
    """Whether these are float32 numbers in their shortest printing: 7 to 9 digits, decimals that vary."""
    full = (decimals > 0) & (digits >= 7)
    if full.sum() < FEW or full.sum() < LONG_SHARE * (decimals > 0).sum() or digits[full].max() > 9:
        return False
    if np.unique(decimals[full]).size < 3 or (decimals[decimals > 0] == decimals.max()).mean() > SHORT_SHARE:
        return False
    for cell in np.flatnonzero(full)[:200]:
        shortest = np.format_float_positional(np.float32(values[cell]), unique=True, trim="0")
        if float(shortest) != values[cell]:
            return False
    return True


def _significant(
    values: NDArray[np.float64], decimals: NDArray[np.int64], digits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Significant digits without the zeros at the end of whole numbers and of padded decimals."""
    found = digits.copy()
    at_end = np.maximum(decimals, 0)
    scaled = np.abs(values) * 10.0**at_end
    for _ in range(15):
        zero = (found > 1) & (np.round(scaled / 10) * 10 == np.round(scaled)) & (scaled > 0) & (scaled < 1e15)
        if not zero.any():
            break
        found[zero] -= 1
        scaled[zero] /= 10
    return found


def _scientific(mantissa: NDArray[np.int32], decimals: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Cells whose own digits set their unit: '1.50E+03' was rounded to its mantissa, '1e-05' was not."""
    own = mantissa >= 1
    if not own.any() or np.unique(mantissa[mantissa >= 0]).size > 1 or own.sum() < 2:
        return None
    return own


def _column_decimals(decimals: NDArray[np.int64]) -> int:
    """The decimals of a column: the highest number that more than a stray cell has."""
    highest = int(decimals.max(initial=0))
    if highest <= 0:
        return 0
    broken = np.sort(decimals[decimals > 0])
    if broken.size < FEW:
        return highest
    strays = max(1, int(STRAY_SHARE * broken.size))
    return int(broken[broken.size - 1 - strays])


def _fixed_digits(
    values: NDArray[np.float64], stripped: NDArray[np.int64], decimals: NDArray[np.int64]
) -> int | None:
    """The number of significant digits to which a column was rounded, or None."""
    filled = values != 0
    if filled.sum() < FEW:
        return None
    if (steady := _steady_digits(np.abs(values[filled]), decimals[filled])) is not None:
        return steady
    most = int(stripped[filled].max())
    some = decimals[filled]
    if not 2 <= most <= 9 or np.unique(some).size < 3:
        return None
    # Rounding to digits leaves a zero at the end of one cell in ten; rounding to decimals leaves few such
    # cells short.
    full = (stripped[filled] == most).mean()
    short = (some < some.max()).mean()
    return most if full >= FULL_SHARE and short >= SHORT_SHARE else None


def _steady_digits(size: NDArray[np.float64], decimals: NDArray[np.int64]) -> int | None:
    """The significant digits of a column whose longest cells lose one decimal for each power of ten, or None.

    Small cells may stop at the column's highest number of decimals.
    """
    powers = np.floor(np.log10(size)).astype(np.int64)
    longest = {}
    for power in np.unique(powers):
        cells = np.sort(decimals[powers == power])
        if len(cells) >= DECADE_CELLS:
            # Not the longest cell of all, where there are many: it may be the noise of a float.
            longest[int(power)] = int(cells[-1 - (len(cells) >= FEW)])
    if len(longest) < 2:
        return None
    cap = max(longest.values())
    most = longest[max(longest)] + max(longest) + 1
    steady = all(places == min(cap, most - power - 1) for power, places in longest.items())
    return most if steady and most >= LEAST_STEADY and longest[max(longest)] < cap else None


def _round_zeros(size: NDArray[np.float64]) -> int:
    """The power of ten that divides every cell of a column of large whole numbers."""
    distinct = np.unique(size[size > 0])
    if distinct.size < ROUND_DISTINCT:
        return 0
    power = 0
    while power < 9 and (distinct % 10.0 ** (power + 1) == 0).all():
        power += 1
    # Fewer than two digits left would be a scale (5,000 and 10,000), not a rounding.
    while power and np.median(distinct) < 100 * 10.0**power:
        power -= 1
    return power
