"""Why a row breaks: which cell is probably wrong, and what happened to it.

The rule is solved for each of its columns, which says what every cell would have to hold if the others are right. A
cause is a way in which that number turns into the one that is there: its sign, a power of ten, one digit, two digits
swapped, the cell of a neighbouring row. Each fitting cause counts with the bits by which it is no coincidence; a cell
that other relations vouch for, or that lies within its column's usual values, is suspected less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Expression
from inalu.tabular.derived import Lookup, base, place
from inalu.tabular.evidence import Target
from inalu.tabular.findings import without
from inalu.tabular.forms import linear

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

UNKNOWN = "unknown"
SIGN = "sign flipped"
UNIT = "one unit of rounding"
DIGIT = "digit typed wrong"
SWAPPED = "digits transposed"
NEIGHBOUR = "copied neighbour"
DOUBLED = "doubled"
LEFT_OUT = "operand left out"
CARRIED = "follows from the row before"
POWERS = (1, 2, 3, 6, -1, -2, -3, -6)
TIMES = {
    power: f"times {10**power:,}".replace(",", "") if power > 0 else f"times {10.0**power:g}"
    for power in POWERS
}
CAUSES = (SIGN, UNIT, *TIMES.values(), DIGIT, SWAPPED, NEIGHBOUR, DOUBLED, LEFT_OUT, CARRIED, UNKNOWN)

# The computed cell is wrong more often than one that was typed or measured, all else being equal.
_TARGET_BITS = 1.5
# What it says about a cell when another relation that uses it holds, or breaks too, in the same row.
_VOUCHED_BITS = 8.0
_USUAL_BITS = 6.0
_LEAST_BITS = 3.0
_PLACES = 16


@dataclass(frozen=True, eq=False)
class Cell:
    """One column of a relation at its breaking rows.

    Attributes
    ----------
    name : str
        The column.
    there, needed : arrays of shape [rows]
        What the cells hold, and what they would have to hold for the rule to be right.
    half, room : arrays of shape [rows]
        Half a unit of the cells, and how far rounding leaves ``needed`` open.
    """

    name: str
    there: Array
    needed: Array
    half: Array
    room: Array


@dataclass(frozen=True)
class Verdict:
    """The likely cause for one breaking row."""

    cause: str
    suspect: str
    proposal: float | None


def explain(
    target: str,
    solved: Mapping[str, Expression],
    lookup: Lookup,
    rows: Rows,
    *,
    vouched: Mapping[str, Array] | None = None,
) -> list[Verdict]:
    """Name cause and suspect cell of every breaking row of a relation.

    Parameters
    ----------
    target : str
        The computed column.
    solved : mapping
        The rule solved for each column that allows it, the target among them.
    lookup : Lookup
        Cells by name.
    rows : array of row numbers
        The rows that break.
    vouched : mapping to arrays of shape [all rows]
        For each column, how many other relations that use it hold minus how many break, in each row.
    """
    if not len(rows):
        return []
    best = np.full(len(rows), -np.inf)
    cause = np.full(len(rows), UNKNOWN, dtype=object)
    suspect = np.full(len(rows), target, dtype=object)
    proposal = np.full(len(rows), np.nan)
    for name in solved:
        cell = _cell(name, solved[name], lookup, rows)
        prepared = Target.of(*lookup(name))
        standing = _usual(prepared, cell) + (_TARGET_BITS if name == target else 0.0)
        if vouched is not None and name in vouched:
            standing = standing - _VOUCHED_BITS * np.clip(vouched[name][rows], -2, 2)
        dropped = [simpler for operand in solved[name].columns for simpler in without(solved[name], operand)]
        # A whole number cannot be 41.00001: a cell that is the nearest to what is needed is not the wrong one.
        known = np.isfinite(cell.needed) & (np.abs(cell.there - cell.needed) > cell.half)
        options = [
            (UNKNOWN, np.where(known, 0.0, -20.0)),
            *_causes(cell, lookup, rows, dropped if name == target else ()),
        ]
        for label, bits in options:
            score = bits + standing
            better = score > best
            best = np.where(better, score, best)
            cause[better], suspect[better] = label, name
            proposal[better] = cell.needed[better]
    return [
        Verdict(str(why), str(which), float(value) if np.isfinite(value) else None)
        for why, which, value in zip(cause, suspect, proposal, strict=True)
    ]


def carried(
    target: str,
    formula: Expression,
    lookup: Lookup,
    rows: Rows,
    residual: Array,
    verdicts: Sequence[Verdict],
) -> list[Verdict]:
    """The verdicts where a column is carried on from row to row: one wrong cell then breaks two rows.

    A balance that is too high by 9 in one row, and too low by 9 in the next, has one wrong cell: the first one.
    """
    own = next((name for name in formula.columns if base(name) == target and place(name).shift), None)
    form = linear(formula)
    if own is None or form is None or form.weights.get(own) != 1:
        return list(verdicts)
    found = list(verdicts)
    step = -place(own).shift
    at = {int(row): number for number, row in enumerate(rows[: len(found)])}
    values, halves = lookup(target)
    told: set[int] = set()
    for row, number in at.items():
        after = at.get(row + step)
        if row in told or after is None:
            continue
        if (
            abs(residual[row] + residual[row + step]) > 4 * halves[row]
            or abs(residual[row]) <= 4 * halves[row]
        ):
            continue
        right = float(values[row] - residual[row])
        single = np.array([row])
        cell = _cell(target, formula, lookup, single)
        label, best = UNKNOWN, _LEAST_BITS
        for option, bits in _causes(cell, lookup, single, ()):
            if bits[0] > best:
                label, best = option, float(bits[0])
        found[number] = Verdict(label, target, right)
        # The next row is right once this cell is; it has no wrong cell of its own.
        found[after] = Verdict(CARRIED, target, None)
        told.add(row + step)
    return found


def _cell(name: str, formula: Expression, lookup: Lookup, rows: Rows) -> Cell:
    cells = {column: lookup(column) for column in formula.columns}
    values = {column: pair[0][rows] for column, pair in cells.items()}
    with np.errstate(all="ignore"):
        needed = np.asarray(formula.evaluate(values), dtype=np.float64)
        room = np.zeros(len(rows))
        for column, (_, halves) in cells.items():
            if lookup.whole(column):
                continue
            moved = formula.evaluate({**values, column: values[column] + halves[rows]})
            room += np.abs(np.asarray(moved) - needed)
    there, half = (part[rows] for part in lookup(name))
    needed = np.where(np.isfinite(needed), needed, np.nan)
    return Cell(name, there, needed, half, np.where(np.isfinite(room), room, np.inf) + 1e-12 * np.abs(needed))


def _usual(column: Target, cell: Cell) -> Array:
    """How much more usual the needed number is in its column than the one that is there, in bits."""
    window = np.maximum(cell.half, 0.05 * np.maximum(np.abs(cell.there), np.abs(cell.needed)))
    known = np.isfinite(cell.needed) & np.isfinite(cell.there)
    bits = np.zeros(len(cell.there))
    there = column.chance(cell.there[known], window[known])
    needed = column.chance(cell.needed[known], window[known])
    bits[known] = np.clip(np.log2(needed / there), -_USUAL_BITS, _USUAL_BITS)
    return bits


def _causes(
    cell: Cell, lookup: Lookup, rows: Rows, dropped: Iterable[Expression]
) -> Iterable[tuple[str, Array]]:
    """Every cause with the bits by which it fits, minus infinity where it does not."""
    v, e = cell.there, cell.needed
    tolerance = cell.room + cell.half * (1 + 1e-9)
    size = np.maximum(np.abs(v), np.abs(e))
    with np.errstate(all="ignore"):
        sharp = np.clip(np.log2(size / tolerance), 0, 30)

        def fits(guess: Array, alternatives: float, room: Array = tolerance) -> Array:
            good = (np.abs(guess - e) <= room) & (np.abs(v - e) > tolerance)
            return np.where(good, sharp - np.log2(alternatives), -np.inf)

        yield SIGN, fits(-v, 1.0)
        for power, label in TIMES.items():
            # A number that was multiplied shows its digits elsewhere: its rounding moves with them.
            scaled = cell.room + cell.half * max(1.0, 10.0**-power) * (1 + 1e-9)
            # Zero times a power of ten is zero.
            bits = fits(v * 10.0**-power, len(POWERS), scaled)
            yield label, np.where((np.abs(v) > cell.half) & (np.abs(e) > tolerance), bits, -np.inf)
        yield DOUBLED, fits(v / 2, 2.0)
        beside = (np.abs(v - e) > cell.half) & (np.abs(v - e) <= 3 * cell.half + cell.room)
        yield UNIT, np.where(beside, sharp - 1.0, -np.inf)
        yield from _digits(cell, tolerance, sharp)
        yield NEIGHBOUR, _copied(cell, lookup, rows, tolerance)
        for simpler in dropped:
            parts = {column: lookup(column)[0][rows] for column in simpler.columns}
            left = np.asarray(simpler.evaluate(parts), dtype=np.float64)
            good = (np.abs(left - v) <= tolerance) & (np.abs(v - e) > tolerance)
            yield LEFT_OUT, np.where(good, sharp - 2.0, -np.inf)


def _digits(cell: Cell, tolerance: Array, sharp: Array) -> Iterable[tuple[str, Array]]:
    """One digit typed wrong, or two neighbouring digits swapped."""
    unit = 2 * cell.half
    shown = np.round(np.abs(cell.there) / unit)
    same_sign = np.sign(cell.there) * np.sign(cell.needed) >= 0
    gap = np.where(same_sign, (np.abs(cell.needed) - np.abs(cell.there)) / unit, np.nan)
    room = tolerance / unit
    count = np.ceil(np.log10(np.maximum(shown, 1) + 1))
    wrong = np.full(len(shown), -np.inf)
    swapped = np.full(len(shown), -np.inf)
    for power in range(_PLACES):
        size = 10.0**power
        inside = (power < count) & (size > room)
        digit, above = np.floor(shown / size) % 10, np.floor(shown / size / 10) % 10
        change = np.round(gap / size)
        fits = inside & (np.abs(gap - change * size) <= room) & (np.abs(change) >= 1) & (np.abs(change) <= 9)
        fits &= (digit + change >= 0) & (digit + change <= 9)
        wrong = np.where(fits, np.maximum(wrong, sharp - np.log2(9 * count)), wrong)
        turned = (digit - above) * 9 * size
        fits = inside & (power + 1 < count) & (turned != 0) & (np.abs(gap - turned) <= room)
        swapped = np.where(fits, np.maximum(swapped, sharp - np.log2(count)), swapped)
    yield DIGIT, wrong
    yield SWAPPED, swapped


def _copied(cell: Cell, lookup: Lookup, rows: Rows, tolerance: Array) -> Array:
    """Whether the cell repeats the one above or below, in a column where that is rare."""
    values = lookup(cell.name)[0]
    above, below = np.concatenate([[np.nan], values[:-1]]), np.concatenate([values[1:], [np.nan]])
    usual = float(np.mean(values == above))
    same = ((cell.there == above[rows]) | (cell.there == below[rows])) & (
        np.abs(cell.there - cell.needed) > tolerance
    )
    # Small numbers repeat by chance; a copied long number is as telling as a flipped sign.
    telling = -np.log2(2 * max(usual, 0.5 / max(len(values), 2)))
    return np.where(same & (telling >= _LEAST_BITS), 4.0 + telling, -np.inf)


def standing(
    columns: Sequence[tuple[frozenset[str], NDArray[np.bool_], NDArray[np.bool_]]], rows: int
) -> dict[str, Array]:
    """For each column, how many relations that use it hold minus how many break, row by row.

    Each relation is given as its columns, the rows checked and the rows holding.
    """
    out: dict[str, Array] = {}
    for names, checked, holding in columns:
        votes = np.where(holding, 1.0, np.where(checked, -1.0, 0.0))
        for name in {base(name) for name in names}:
            out[name] = out.get(name, np.zeros(rows)) + votes
    return out
