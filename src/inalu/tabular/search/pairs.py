"""Stage c: every pair of columns under + - × ÷, times a constant or not, in sparse and in broken tables alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from inalu.expression import Expression
from inalu.tabular import constants
from inalu.tabular.search.view import Array, Candidate, Found, Mask, Rows, View

ROWS = 48
# Of the sampled rows this share has to hold, and at least so many rows.
LEAST_SHARE = 0.6
LEAST_ROWS = 5
# Bits that a row has to give on average.
LEAST_GAIN = 0.4
# Candidates kept for one target, by the bits that the sampled rows give.
KEEP = 12
# Columns that all lie within these bounds may be percentages or rates: 1 + x, 1 - x, 1 + x / 100, 1 - x / 100.
RATE_BOUND = 2.0
PERCENT_BOUND = 250.0


@dataclass(frozen=True, eq=False)
class Atoms:
    """The building blocks of products: columns, their squares, and what rates are multiplied as.

    Attributes
    ----------
    values, halves : arrays of shape [atoms, R]
        On the sampled rows.
    columns : array of shape [atoms]
        The column behind each atom.
    formulas : list of Expression
        The atom itself.
    """

    values: Array
    halves: Array
    columns: Rows
    formulas: list[Expression]

    def __len__(self) -> int:
        return len(self.formulas)


def plain_atoms(view: View, sample: Rows, *, without: int) -> Atoms:
    """The columns that vary on the sampled rows."""
    values, halves = view.values[sample].T, view.halves[sample].T
    keep = np.array([j for j in range(view.width) if j != without and _varies(values[j])], dtype=np.intp)
    return Atoms(values[keep], halves[keep], keep, [view.column(int(j)) for j in keep])


def _varies(values: Array) -> bool:
    filled = values[np.isfinite(values)]
    return len(filled) >= LEAST_ROWS and bool(filled.max() > filled.min())


def with_powers_and_rates(atoms: Atoms) -> Atoms:
    """Add squares, and 1 ± x and 1 ± x / 100 of columns that may be rates."""
    values, halves = [*atoms.values], [*atoms.halves]
    columns, formulas = [int(j) for j in atoms.columns], list(atoms.formulas)

    def add(at: int, value: Array, half: Array, formula: Expression) -> None:
        values.append(value)
        halves.append(half)
        columns.append(int(atoms.columns[at]))
        formulas.append(formula)

    for at in range(len(atoms)):
        x, h, name = atoms.values[at], atoms.halves[at], atoms.formulas[at]
        largest = np.nanmax(np.abs(x))
        add(at, x * x, 2 * np.abs(x) * h, name**2)
        if largest <= RATE_BOUND:
            add(at, 1 + x, h, 1 + name)
            add(at, 1 - x, h, 1 - name)
        elif largest <= PERCENT_BOUND:
            add(at, 1 + x / 100, h / 100, 1 + name / 100)
            add(at, 1 - x / 100, h / 100, 1 - name / 100)
    return Atoms(np.array(values), np.array(halves), np.array(columns, dtype=np.intp), formulas)


@dataclass(frozen=True, eq=False)
class Family:
    """All pairs under one operator, on the sampled rows."""

    operator: str
    left: Rows
    right: Rows
    values: Array
    radius: Array


def families(atoms: Atoms, plain: int) -> list[Family]:
    """Sums, differences, products and quotients; sums and differences use the first ``plain`` atoms only."""
    x, h, size = atoms.values, atoms.halves, np.abs(atoms.values)
    i, j = np.triu_indices(plain, 1)
    made = [
        Family("+", i, j, x[i] + x[j], h[i] + h[j]),
        Family("-", i, j, x[i] - x[j], h[i] + h[j]),
    ]
    # A column may be multiplied by itself (a square) but an atom does not meet another atom of the same column.
    i, j = np.triu_indices(len(atoms), 1)
    keep = (atoms.columns[i] != atoms.columns[j]) & (i < plain)
    i, j = i[keep], j[keep]
    made.append(Family("*", i, j, x[i] * x[j], size[i] * h[j] + size[j] * h[i] + h[i] * h[j]))
    with np.errstate(all="ignore"):
        for top, bottom in ((i, j), (j, i)):
            quotient = x[top] / x[bottom]
            radius = (h[top] + np.abs(quotient) * h[bottom]) / np.maximum(size[bottom] - h[bottom], 0)
            made.append(Family("/", top, bottom, quotient, radius))
    return made


def combine(operator: str, left: Expression, right: Expression) -> Expression:
    """Two expressions under one of + - * /."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left / right


@dataclass(frozen=True, eq=False)
class Scored:
    """A formula that holds on enough sampled rows, not yet written down.

    Attributes
    ----------
    gain : float
        The bits that the sampled rows give it.
    place : int
        Which of a block of formulas it is.
    make : callable
        Writes the formula: as it is, or times each constant that suits the rows.
    """

    gain: float
    place: int
    make: Callable[[], list[Expression]]


def best(scored: Sequence[Scored], keep: int = KEEP) -> list[Expression]:
    """The formulas with the most bits, each once, in a fixed order; only these are written down."""
    # Sums of three columns come in several orders of the same gain: look at more than are kept.
    ordered = sorted(scored, key=lambda item: -round(item.gain, 6))[: 3 * keep]
    made: dict[Expression, None] = {}
    for item in ordered:
        if len(made) < keep:
            made.update(dict.fromkeys(item.make()))
    return list(made)


def pairs(view: View, targets: Sequence[int]) -> Found:
    """Every pair of columns, and every single column, as a formula for every target; also times a fitted constant."""
    candidates: list[Candidate] = []
    tried = 0
    for target in targets:
        sample = view.sample(target, ROWS)
        y, hy = view.values[sample, target], view.halves[sample, target]
        if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
            continue
        plain = plain_atoms(view, sample, without=target)
        if not len(plain):
            continue
        atoms = with_powers_and_rates(plain)
        single = np.arange(len(atoms))
        options = [Family("", single, single, atoms.values, atoms.halves), *families(atoms, len(plain))]
        scored: list[Scored] = []
        for family in options:
            tried += 2 * len(family.left)
            scored += score(family.values, family.radius, partial(_formula, family, atoms), y, hy)
            if family.operator == "/":
                scored += _growth(family, atoms, y, hy)
                scored += _shares(family, atoms, y, hy)
        candidates += [Candidate(view.names[target], formula, "pairs") for formula in best(scored)]
    return Found(candidates, tried)


def _growth(family: Family, atoms: Atoms, y: Array, hy: Array) -> list[Scored]:
    """Quotients less one, and one less quotients, also in percent: the change from one column to another."""
    found: list[Scored] = []
    for scale in (1, 100):
        for sign in (1, -1):

            def change(place: int, scale: int = scale, sign: int = sign) -> Expression:
                left = atoms.formulas[int(family.left[place])]
                right = atoms.formulas[int(family.right[place])]
                ratio = ((left - right) if sign > 0 else (right - left)) / right
                return ratio if scale == 1 else scale * ratio

            found += score(
                family.values, family.radius, change, 1 + sign * y / scale, hy / scale, scaled=False
            )
    return found


def _shares(family: Family, atoms: Atoms, y: Array, hy: Array) -> list[Scored]:
    """A column over its sum with another, also in percent: their quotient is the share's reciprocal less one."""
    found: list[Scored] = []
    for scale in (1, 100):

        def share(place: int, scale: int = scale) -> Expression:
            other = atoms.formulas[int(family.left[place])]
            part = atoms.formulas[int(family.right[place])]
            ratio = part / (part + other)
            return ratio if scale == 1 else scale * ratio

        with np.errstate(all="ignore"):
            turned, room = scale / y - 1, scale * hy / (y * y)
        found += score(family.values, family.radius, share, turned, room, scaled=False)
    return found


def score(
    values: Array,
    radius: Array,
    describe: Callable[[int], Expression],
    y: Array,
    hy: Array,
    *,
    scaled: bool = True,
) -> list[Scored]:
    """The formulas that hold on enough rows, as they are and times a fitted constant.

    Parameters
    ----------
    values, radius : arrays of shape [formulas, R]
        Every formula on the sampled rows, and how far the rounding of operands carries it.
    describe : callable
        The formula at a place.
    y, hy : arrays of shape [R]
        The target and half units.
    scaled : bool
        Whether constant factors are tried.
    """
    out = []
    for factors in (None, _factors(values, y)) if scaled else (None,):
        places, holding, tolerance = holding_rows(values, radius, y, hy, factors)
        for place, gained, held in _promising(places, holding, tolerance, y, hy, values, factors):
            if factors is None:
                make = partial(_as_it_is, describe, place)
            else:
                make = partial(_scaled, describe, place, values[place], radius[place], y, hy, held)
            out.append(Scored(gained, place, make))
    return out


def _as_it_is(describe: Callable[[int], Expression], place: int) -> list[Expression]:
    return [describe(place)]


def _scaled(
    describe: Callable[[int], Expression],
    place: int,
    values: Array,
    radius: Array,
    y: Array,
    hy: Array,
    held: Mask,
) -> list[Expression]:
    """The formula times the constants that its rows allow."""
    formula = describe(place)
    found = fit_constants(values, radius, y, hy, held)
    return [Expression.constant(constant) * formula for constant in found if constant not in (0, 1)]


def _promising(
    places: Rows, holding: Mask, tolerance: Array, y: Array, hy: Array, values: Array, factors: Array | None
) -> list[tuple[int, float, Mask]]:
    """The best few formulas by the bits of the rows that hold, with operands taken as rounded or as exact.

    Each comes as its place, its bits, and the rows that hold.
    """
    if not len(places):
        return []
    spread = _spread(y)
    with np.errstate(all="ignore"):
        bits = np.where(holding & (y != 0), np.log2(np.maximum(spread / tolerance, 1.0)), 0.0).sum(axis=1)
        shown = values[places] * (1.0 if factors is None else factors[places, None])
        slack = 1.0 if factors is None else 2.0
        tight = np.abs(shown - y) <= slack * hy + 1e-13 * np.abs(y)
        narrow = np.where(tight & (y != 0), np.log2(np.maximum(spread / hy, 1.0)), 0.0).sum(axis=1)
    gained = np.maximum(bits, narrow)
    # Windows so wide that a row says next to nothing would be refused later, at more cost.
    worth = gained >= LEAST_GAIN * (holding & (y != 0)).sum(axis=1)
    order = np.argsort(-gained, kind="stable")[:KEEP]
    return [(int(places[at]), float(gained[at]), holding[at]) for at in order if worth[at]]


def _formula(family: Family, atoms: Atoms, place: int) -> Expression:
    left = atoms.formulas[int(family.left[place])]
    if not family.operator:
        return left
    return combine(family.operator, left, atoms.formulas[int(family.right[place])])


def _factors(values: Array, y: Array) -> Array:
    """The median of target / formula for each formula."""
    with np.errstate(all="ignore"):
        ratios = y / values
    ratios = np.where(np.isfinite(ratios) & (y != 0), ratios, np.nan)
    ratios.sort(axis=1)
    count = np.isfinite(ratios).sum(axis=1)
    middle = np.maximum(count - 1, 0) // 2
    return np.where(count >= LEAST_ROWS, ratios[np.arange(len(ratios)), middle], np.nan)


def holding_rows(
    values: Array, radius: Array, y: Array, hy: Array, factors: Array | None
) -> tuple[Rows, Mask, Array]:
    """The formulas that hold on enough rows: their places, where they hold, and the tolerances there."""
    if factors is not None:
        known = np.isfinite(factors) & (factors != 0)
        places = np.flatnonzero(known)
        scale = factors[places, None]
        values, radius = values[places] * scale, radius[places] * np.abs(scale)
        # The median is itself uncertain by a row's rounding.
        slack = 2.0
    else:
        places, slack = np.arange(len(values)), 1.0
    with np.errstate(all="ignore"):
        tolerance = (hy + radius) * slack + 1e-13 * np.abs(y)
        difference = np.abs(y - values)
    known = np.isfinite(difference) & np.isfinite(tolerance)
    holds = known & (difference <= tolerance)
    # Rows in which both sides are zero hold under any constant and are no support.
    support = (holds & (y != 0)).sum(axis=1)
    enough = (holds.sum(axis=1) >= LEAST_SHARE * known.sum(axis=1)) & (support >= LEAST_ROWS)
    chosen = np.flatnonzero(enough)
    return places[chosen], holds[chosen], tolerance[chosen]


def _spread(y: Array) -> float:
    return float(np.subtract(*np.percentile(y, [95, 5]))) or float(np.ptp(y)) or 1.0


def fit_constants(
    values: Array, radius: Array, y: Array, hy: Array, held: Mask | None = None
) -> list[Fraction]:
    """The simplest constant factors that most rows allow, with the operands taken as exact and as rounded."""
    where = np.isfinite(values) & np.isfinite(y) & np.isfinite(radius) & (values != 0)
    if held is not None:
        where &= held
    if where.sum() < 3:
        return []
    v, r, y, hy = np.abs(values[where]), radius[where], y[where] * np.sign(values[where]), hy[where]
    low, high = y - hy - 1e-12 * np.abs(y), y + hy + 1e-12 * np.abs(y)
    found: list[Fraction] = []
    for room in (np.zeros_like(r), r):
        with np.errstate(all="ignore"):
            # The ends of (y ± h) / (v ± r), whatever the sign of y; rows whose divisor may be zero say nothing.
            least = np.where(low >= 0, low / (v + room), low / (v - room))
            most = np.where(high >= 0, high / (v - room), high / (v + room))
        sure = v > room
        constant = constants.choose(least[sure], most[sure])
        if constant is not None and constant not in found:
            found.append(constant)
    return found
