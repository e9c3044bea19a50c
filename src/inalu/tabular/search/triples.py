"""Stage c with three operands: (a op b) op c for every choice of columns and operators, with and without a constant.

What the inner pair would have to be follows from the target and the third column; a few rows are enough to leave
almost no pair, and those that are left are tried on all sampled rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from inalu.expression import Expression
from inalu.tabular.search.pairs import (
    LEAST_ROWS,
    ROWS,
    Atoms,
    Family,
    Scored,
    best,
    combine,
    families,
    plain_atoms,
    score,
    with_powers_and_rates,
)
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

# Columns that take part; in wider tables those nearest to the target in the file.
WIDEST = 48
# Rows that are compared first, and how many of them have to agree: broken rows must not hide a formula.
PROBES = 5
AGREE = 3
# Pairs of rows for ratios, in which a constant factor cancels.
AGREE_SCALED = 3
# Formulas left after the probes that are tried on all sampled rows, for one operator.
MOST_SURVIVORS = 4000
OPERATORS = ("+", "-", "r-", "*", "/", "r/")


@dataclass(frozen=True, eq=False)
class _Inner:
    """All pairs of atoms under all operators, with an operator's place for each."""

    families: list[Family]
    values: Array
    radius: Array
    starts: Rows
    atoms: Atoms

    @classmethod
    def of(cls, made: list[Family], atoms: Atoms) -> _Inner:
        starts = np.cumsum([0, *(len(family.left) for family in made)])
        return cls(
            made,
            np.vstack([f.values for f in made]),
            np.vstack([f.radius for f in made]),
            starts.astype(np.intp),
            atoms,
        )

    def describe(self, place: int) -> Expression:
        at = int(np.searchsorted(self.starts, place, side="right")) - 1
        family = self.families[at]
        left, right = family.left[place - self.starts[at]], family.right[place - self.starts[at]]
        return combine(family.operator, self.atoms.formulas[int(left)], self.atoms.formulas[int(right)])


def triples(view: View, targets: Sequence[int]) -> Found:
    """Formulas of three columns (or of two, one of them twice) for every target."""
    candidates: list[Candidate] = []
    tried = 0
    for target in targets:
        sample = view.sample(target, ROWS)
        y, hy = view.values[sample, target], view.halves[sample, target]
        if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
            continue
        atoms = nearest(plain_atoms(view, sample, without=target), target, WIDEST)
        if len(atoms) < 2:
            continue
        inner = _Inner.of(families(atoms, len(atoms)), atoms)
        # A discount or a rate is multiplied as 1 - x or 1 + x.
        thirds = with_powers_and_rates(atoms)
        tried += 12 * len(inner.values) * len(thirds)
        scored = [*_plain(inner, thirds, y, hy), *_scaled(inner, thirds, y, hy)]
        candidates += [Candidate(view.names[target], formula, "triples") for formula in best(scored)]
    return Found(candidates, tried)


def nearest(atoms: Atoms, target: int, count: int) -> Atoms:
    """The atoms of the columns that stand nearest to the target in the file."""
    keep = np.sort(np.argsort(np.abs(atoms.columns - target), kind="stable")[:count])
    return Atoms(
        atoms.values[keep], atoms.halves[keep], atoms.columns[keep], [atoms.formulas[int(at)] for at in keep]
    )


def probes(atoms: Atoms, y: Array, hy: Array, count: int) -> Rows:
    """Sampled rows to compare first: without missing cells or zeros, and with many digits."""
    with np.errstate(all="ignore"):
        digits = np.where(y != 0, np.log2(np.abs(y) / hy), -1.0)
    whole = np.isfinite(atoms.values).mean(axis=0) + 0.5 * (np.nan_to_num(atoms.values) != 0).mean(axis=0)
    order = np.lexsort((-digits, -np.round(whole, 1)))
    return order[:count]


@dataclass(eq=False)
class _Survivors:
    """Formulas that passed the probes under one operator: the inner pair, the third column, rows that agreed."""

    inner: list[Rows] = field(default_factory=list)
    third: list[Rows] = field(default_factory=list)
    agreed: list[Rows] = field(default_factory=list)

    def add(self, agreed: Rows, least: int, at: int) -> None:
        places = np.flatnonzero(agreed >= least)
        if len(places):
            self.inner.append(places)
            self.third.append(np.full(len(places), at, dtype=np.intp))
            self.agreed.append(agreed[places])

    def most(self) -> tuple[Rows, Rows]:
        """Inner pairs and third columns of the formulas that agreed in most rows."""
        if not self.inner:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        order = np.argsort(-np.concatenate(self.agreed), kind="stable")[:MOST_SURVIVORS]
        return np.concatenate(self.inner)[order], np.concatenate(self.third)[order]


def _plain(inner: _Inner, atoms: Atoms, y: Array, hy: Array) -> Iterator[Scored]:
    """Without a constant: the inner pair that each third column asks for."""
    rows = probes(atoms, y, hy, PROBES)
    u, ru = inner.values[:, rows], inner.radius[:, rows]
    y_rows, hy_rows = y[rows], hy[rows]
    passed = {operator: _Survivors() for operator in OPERATORS}
    least = min(AGREE, len(rows))
    with np.errstate(all="ignore"):
        for at in range(len(atoms)):
            x, hx = atoms.values[at, rows], atoms.halves[at, rows]
            quotient, turned = y_rows / x, x / y_rows
            asked = (
                ("+", y_rows - x, hy_rows + hx),
                ("-", y_rows + x, hy_rows + hx),
                ("r-", x - y_rows, hy_rows + hx),
                ("*", quotient, (hy_rows + np.abs(quotient) * hx) / np.abs(x)),
                ("/", y_rows * x, hy_rows * np.abs(x) + np.abs(y_rows) * hx),
                ("r/", turned, (hx + np.abs(turned) * hy_rows) / np.abs(y_rows)),
            )
            # Squares and rates are factors, not terms.
            for operator, need, room in asked if at < len(inner.atoms) else asked[3:]:
                passed[operator].add((np.abs(u - need) <= room + ru).sum(axis=1), least, at)
    for operator, survivors in passed.items():
        yield from _tried(inner, atoms, operator, survivors, y, hy, scaled=False)


def _scaled(inner: _Inner, atoms: Atoms, y: Array, hy: Array) -> Iterator[Scored]:
    """Times a constant: in the ratio of two rows it cancels."""
    rows = probes(atoms, y, hy, 2 * PROBES)
    count = len(rows) // 2
    if count < AGREE_SCALED:
        return
    first, second = rows[:count], rows[count : 2 * count]
    # Pairs under * and / are products of three columns, which the logarithms find.
    end = int(inner.starts[2])
    passed = {operator: _Survivors() for operator in ("*", "/", "r/")}
    with np.errstate(all="ignore"):
        u, ru = np.log(np.abs(inner.values[:end])), inner.radius[:end] / np.abs(inner.values[:end])
        du, rdu = u[:, first] - u[:, second], ru[:, first] + ru[:, second]
        ly, ry = np.log(np.abs(y)), hy / np.abs(y)
        dy, rdy = ly[first] - ly[second], ry[first] + ry[second]
        for at in range(len(atoms)):
            x, rx = np.log(np.abs(atoms.values[at])), atoms.halves[at] / np.abs(atoms.values[at])
            dx, room = x[first] - x[second], rx[first] + rx[second] + rdy
            for operator, need in (("*", dy - dx), ("/", dy + dx), ("r/", dx - dy)):
                passed[operator].add((np.abs(du - need) <= rdu + room).sum(axis=1), AGREE_SCALED, at)
    for operator, survivors in passed.items():
        yield from _tried(inner, atoms, operator, survivors, y, hy, scaled=True)


def _tried(
    inner: _Inner,
    atoms: Atoms,
    operator: str,
    survivors: _Survivors,
    y: Array,
    hy: Array,
    *,
    scaled: bool,
) -> list[Scored]:
    """The formulas that passed the probes, on all sampled rows."""
    places, thirds = survivors.most()
    if not len(places):
        return []
    values, radius = apply(
        operator, inner.values[places], inner.radius[places], atoms.values[thirds], atoms.halves[thirds]
    )

    def describe(place: int) -> Expression:
        left, right = inner.describe(int(places[place])), atoms.formulas[int(thirds[place])]
        if operator.startswith("r"):
            return combine(operator[1], right, left)
        return combine(operator, left, right)

    return score(values, radius, describe, y, hy, scaled=scaled)


def apply(operator: str, u: Array, ru: Array, x: Array, hx: Array) -> tuple[Array, Array]:
    """``u operator x`` (``x operator u`` for an operator that starts with r) and how far rounding carries it."""
    with np.errstate(all="ignore"):
        if operator == "+":
            return u + x, ru + hx
        if operator in ("-", "r-"):
            return (u - x if operator == "-" else x - u), ru + hx
        if operator == "*":
            return u * x, np.abs(u) * hx + np.abs(x) * ru
        if operator == "/":
            return u / x, (ru + np.abs(u / x) * hx) / np.maximum(np.abs(x) - hx, 0)
        return x / u, (hx + np.abs(x / u) * ru) / np.maximum(np.abs(u) - ru, 0)
