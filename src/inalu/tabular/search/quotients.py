"""Stage d by enumeration: (a ± b) / (c ± d), also in percent, in tables of few rows, many columns or broken rows.

What the upper pair would have to be follows from the target and the lower pair. In one row the pairs, sorted, are
joined with what is asked for; a second and a third row leave almost none, and those are tried on all sampled rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inalu.expression import Expression
from inalu.tabular.search.pairs import LEAST_ROWS, ROWS, Atoms, Scored, best, families, plain_atoms, score
from inalu.tabular.search.triples import nearest, probes
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

# Columns that take part; in wider tables those nearest to the target in the file.
WIDEST = 72
# Rows that are joined, each on its own: one that breaks must not hide a formula. The others then have to agree.
JOINED, COMPARED, AGREE = 3, 8, 5
# Pairs of pairs that one row may leave, and formulas that are tried on all sampled rows.
MOST_JOINED, MOST_TRIED = 400_000, 2000
SCALES = (1, 100)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Columns and their sums and differences by twos, on the sampled rows."""

    values: Array
    radius: Array
    left: Rows
    right: Rows
    signs: Rows
    atoms: Atoms

    @classmethod
    def of(cls, atoms: Atoms) -> _Sums:
        plus, minus = families(atoms, len(atoms))[:2]
        own = np.arange(len(atoms))
        return cls(
            np.vstack([plus.values, minus.values, atoms.values]),
            np.vstack([plus.radius, minus.radius, atoms.halves]),
            np.concatenate([plus.left, minus.left, own]),
            np.concatenate([plus.right, minus.right, own]),
            np.repeat([1, -1, 0], [len(plus.left), len(minus.left), len(atoms)]).astype(np.intp),
            atoms,
        )

    def write(self, at: int, *, turned: bool = False) -> Expression:
        """A pair as an expression; ``turned`` writes b - a for a - b."""
        left, right = self.atoms.formulas[int(self.left[at])], self.atoms.formulas[int(self.right[at])]
        if not self.signs[at]:
            return left
        if self.signs[at] > 0:
            return left + right
        return right - left if turned else left - right


def quotients(view: View, targets: Sequence[int]) -> Found:
    """Sums or differences of two columns over such sums, for every target."""
    candidates: list[Candidate] = []
    tried = 0
    # Whole numbers as rounded ones would let in too much that only luck joins.
    counted = view.counted
    for target in targets:
        sample = view.sample(target, ROWS)
        y, hy = view.values[sample, target], view.halves[sample, target]
        if len(sample) < LEAST_ROWS or np.ptp(y) == 0:
            continue
        atoms = nearest(plain_atoms(counted, sample, without=target), target, WIDEST)
        if len(atoms) < 3:
            continue
        sums = _Sums.of(atoms)
        tried += len(SCALES) * len(sums.values) ** 2
        found: list[Scored] = []
        for scale in SCALES:
            upper, lower = _joined(sums, atoms, y / scale, hy / scale)
            if len(upper):
                found += _tried(sums, upper, lower, scale, y, hy)
        candidates += [Candidate(view.names[target], formula, "ratios") for formula in best(found)]
    return Found(candidates, tried)


def _joined(sums: _Sums, atoms: Atoms, y: Array, hy: Array) -> tuple[Rows, Rows]:
    """The upper and lower pairs whose quotient is the target in most of the rows compared."""
    rows = probes(atoms, y, hy, COMPARED)
    if len(rows) < LEAST_ROWS:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    least = min(AGREE, len(rows) - 1)
    uppers, lowers = [], []
    for row in rows[:JOINED]:
        upper, lower = _pairs_of(sums, float(y[row]), float(hy[row]), int(row))
        agreed = np.zeros(len(upper), dtype=np.intp)
        for other in rows:
            need = y[other] * sums.values[lower, other]
            room = hy[other] * np.abs(sums.values[lower, other]) + abs(y[other]) * sums.radius[lower, other]
            near = np.abs(np.abs(sums.values[upper, other]) - np.abs(need))
            agreed += near <= (room + sums.radius[upper, other]) * (1 + 1e-9)
        keep = agreed >= least
        uppers.append(upper[keep])
        lowers.append(lower[keep])
    pairs = np.unique(np.stack([np.concatenate(uppers), np.concatenate(lowers)]), axis=1)
    # So many are luck: then nothing can be told apart.
    if pairs.shape[1] > MOST_TRIED:
        pairs = pairs[:, :0]
    return pairs[0].astype(np.intp), pairs[1].astype(np.intp)


def _pairs_of(sums: _Sums, y: float, hy: float, row: int) -> tuple[Rows, Rows]:
    """The pairs of pairs whose quotient is the target in one row, whatever the sign."""
    size = np.abs(sums.values[:, row])
    order = np.argsort(size, kind="stable")
    order = order[np.isfinite(size[order])]
    # The widest pair sets the room for all: what it lets in too many goes in the next rows.
    room = sums.radius[:, row]
    need = abs(y) * size
    allowed = hy * size + abs(y) * room
    low = np.searchsorted(size[order], need - allowed - room, side="left")
    high = np.searchsorted(size[order], need + allowed + room, side="right")
    counts = np.where(np.isfinite(need) & (size > 0) & (need > 0), high - low, 0)
    total = int(counts.sum())
    if not total or total > MOST_JOINED:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    lower = np.repeat(np.arange(len(size)), counts)
    starts = np.repeat(low - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    upper = order[starts + np.arange(total)]
    # One column over itself, or a quotient of single columns, is found elsewhere.
    keep = (upper != lower) & ((sums.signs[upper] != 0) | (sums.signs[lower] != 0))
    return upper[keep], lower[keep]


def _tried(sums: _Sums, upper: Rows, lower: Rows, scale: int, y: Array, hy: Array) -> list[Scored]:
    """The quotients on all sampled rows, in the sign that the target asks for."""
    u, v = sums.values[upper], sums.values[lower]
    with np.errstate(all="ignore"):
        value = scale * u / v
        radius = scale * (sums.radius[upper] + np.abs(u / v) * sums.radius[lower])
        radius /= np.maximum(np.abs(v) - sums.radius[lower], 0)
        turned = np.nanmedian(np.sign(value * y), axis=1) < 0
    value = np.where(turned[:, None], -value, value)

    def describe(place: int) -> Expression:
        above, below = int(upper[place]), int(lower[place])
        flip = bool(turned[place])
        # The minus goes where a difference can be written the other way round.
        flip_above = flip and sums.signs[above] < 0
        quotient = sums.write(above, turned=flip_above) / sums.write(below, turned=flip and not flip_above)
        return quotient if scale == 1 else scale * quotient

    able = ~turned | (sums.signs[upper] < 0) | (sums.signs[lower] < 0)
    value = np.where(able[:, None], value, np.nan)
    return score(value, radius, describe, y, hy, scaled=False)
