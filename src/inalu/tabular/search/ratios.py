"""Stage d: a ratio of two sums, y = Σ u·x / Σ v·x, as the null vector of the matrix [x, -y·x].

Columns that are sums of others are left out first; otherwise y·total = y·a + y·b would be found in place of a formula
for y.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inalu.expression import Expression
from inalu.tabular.forms import Linear
from inalu.tabular.search.linear import usable
from inalu.tabular.search.regress import EXCESS, Problem, clean_rows, nonzero, supports
from inalu.tabular.search.snap import snaps
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

MOST_COLUMNS = 30
MOST_OPERANDS = 12
# Anchors (columns whose weight in the divisor is one) that are followed up for one target.
ANCHORS = 4
ROWS = 240
# Columns that are tried as the part of which a target is the share; half units that a target has to be away from 0.
MOST_PARTS, COARSE = 3, 5.0
# Columns of a divisor, and rows that it needs beyond their number.
MOST_DIVISORS, SPARE_ROWS = 72, 4


def ratios(view: View, targets: Sequence[int]) -> Found:
    """Ratios of sums that are exact in all rows looked at, with whole numbers as rounded and as exact."""
    found = _search(view, targets, robust=False)
    if view.counted is view:
        return found
    more = _search(view.counted, targets, robust=False)
    return Found([*found.candidates, *more.candidates], found.tried + more.tried)


def shares(view: View, targets: Sequence[int]) -> Found:
    """A column over a sum, where the target is printed too coarsely for `ratios`: column / target is that sum."""
    found: dict[tuple[int, Expression], Candidate] = {}
    tried = 0
    for target in targets:
        made = _columns(view, target, most=MOST_DIVISORS, shared=1)
        if made is None:
            continue
        rows, pool = made
        order = {name: at for at, name in enumerate(view.names)}
        for column in _likest(view, target, rows, pool):
            problem = _divisor(view, target, column, rows, pool)
            tried += 2 ** min(len(pool), 12)
            if problem is None:
                continue
            for fit in supports(problem, most=2, runs=3, longest=MOST_OPERANDS):
                part = problem.columns(np.array(fit.support, dtype=np.intp))
                for weights in snaps(part):
                    bottom = Linear(
                        {
                            view.names[int(pool[at])]: w
                            for at, w in zip(fit.support, weights, strict=True)
                            if w
                        }
                    )
                    if len(bottom.weights) < 2:
                        continue
                    formula = reduced(Linear({view.names[column]: Fraction(1)}), bottom, order)
                    found.setdefault((target, formula), Candidate(view.names[target], formula, "ratios"))
    return Found(list(found.values()), tried)


def _likest(view: View, target: int, rows: Rows, pool: Rows) -> list[int]:
    """The columns whose ranks go with the target's most: a share grows with its own part."""
    ranks = (
        view.values[np.ix_(rows, np.append(target, pool))].argsort(axis=0).argsort(axis=0).astype(np.float64)
    )
    ranks -= ranks.mean(axis=0)
    alike = np.abs(ranks[:, 1:].T @ ranks[:, 0])
    return [int(pool[at]) for at in np.argsort(-alike, kind="stable")[:MOST_PARTS]]


def _divisor(view: View, target: int, column: int, rows: Rows, pool: Rows) -> Problem | None:
    """column / target as a weighted sum of the columns, on the rows where the target is known well enough."""
    y, hy = view.values[rows, target], view.halves[rows, target]
    keep = np.abs(y) > COARSE * hy
    rows, y, hy = rows[keep], y[keep], hy[keep]
    if len(rows) < len(pool) + 3:
        return None
    x, hx = view.values[np.ix_(rows, pool)], view.halves[np.ix_(rows, pool)]
    part, half = view.values[rows, column], view.halves[rows, column]
    needed = part / y
    return Problem(x, hx, needed, (half + np.abs(needed) * hy) / np.abs(y))


def robust_ratios(view: View, targets: Sequence[int]) -> Found:
    """Ratios of sums that are exact in most rows."""
    return _search(view, targets, robust=True)


def _search(view: View, targets: Sequence[int], *, robust: bool) -> Found:
    found: dict[tuple[int, Expression], Candidate] = {}
    tried = 0
    for target in targets:
        made = _columns(view, target)
        if made is None:
            continue
        rows, pool = made
        x, hx = view.values[np.ix_(rows, pool)], view.halves[np.ix_(rows, pool)]
        y, hy = view.values[rows, target], view.halves[rows, target]
        tried += len(pool) * 2 ** min(len(pool), 10)
        anchors = _robust_anchors(x, y) if robust else _anchors(x, hx, y, hy)
        for anchor in anchors:
            problem = _anchored(x, hx, y, hy, anchor)
            if robust:
                keep = clean_rows(problem)
                if keep is None or keep.all() or keep.sum() < problem.x.shape[1] + 3:
                    continue
                problem = problem.rows(keep)
            for fit in supports(problem, most=2, runs=3, longest=MOST_OPERANDS + 1):
                for weights in snaps(problem.columns(np.array(fit.support, dtype=np.intp))):
                    formula = _formula(view, pool, anchor, fit.support, weights)
                    if formula is not None:
                        stage = "robust" if robust else "ratios"
                        found.setdefault((target, formula), Candidate(view.names[target], formula, stage))
    return Found(list(found.values()), tried)


def _columns(
    view: View, target: int, *, most: int = MOST_COLUMNS, shared: int = 2
) -> tuple[Rows, Rows] | None:
    """Complete rows, and the columns near the target that are no sums of others; each has ``shared`` weights."""
    sample = view.sample(target, ROWS)
    others = [j for j in range(view.width) if j != target and usable(view, j, sample)]
    near = sorted(sorted(others, key=lambda j: (abs(j - target), j))[:most])
    present = np.isfinite(view.values[sample][:, near])
    near = [j for j, share in zip(near, present.mean(axis=0), strict=True) if share >= 0.7]
    if len(near) < 2:
        return None
    rows = sample[np.isfinite(view.values[sample][:, near]).all(axis=1)]
    room = (len(rows) - (SPARE_ROWS if shared == 1 else 6)) // shared
    if room < 3 or np.ptp(view.values[rows, target]) == 0:
        return None
    near = sorted(sorted(near, key=lambda j: (abs(j - target), j))[:room])
    pool = _independent(view, rows, near)
    return (rows, pool) if len(pool) > 1 else None


def _independent(view: View, rows: Rows, columns: Sequence[int]) -> Rows:
    """The columns that no weighted sum of those before them equals up to rounding."""
    kept: list[int] = []
    basis = np.empty((len(rows), 0))
    for column in columns:
        x = view.values[rows, column]
        rest = x - basis @ (basis.T @ x)
        rest = rest - basis @ (basis.T @ rest)
        rounding = float(np.mean(view.halves[rows, column] ** 2))
        size = float(rest @ rest)
        if size > 4 * len(rows) * rounding and size > 1e-20 * float(x @ x):
            kept.append(column)
            basis = np.column_stack([basis, rest / np.sqrt(size)])
    return np.array(kept, dtype=np.intp)


def _anchored(x: Array, hx: Array, y: Array, hy: Array, anchor: int) -> Problem:
    """y · x_anchor as a weighted sum of the columns and of y times the other columns."""
    rest = np.arange(x.shape[1]) != anchor
    products, rounding = y[:, None] * x, np.abs(y)[:, None] * hx + hy[:, None] * np.abs(x)
    return Problem(
        np.column_stack([x, products[:, rest]]),
        np.column_stack([hx, rounding[:, rest]]),
        products[:, anchor],
        rounding[:, anchor],
    )


def _anchors(x: Array, hx: Array, y: Array, hy: Array) -> list[int]:
    """The columns whose product with y is a weighted sum of the rest, within rounding: all at once by one inverse."""
    products, rounding = y[:, None] * x, np.abs(y)[:, None] * hx + hy[:, None] * np.abs(x)
    z, hz = np.column_stack([x, products]), np.column_stack([hx, rounding])
    weight = 1.0 / np.maximum(np.sqrt(np.mean((hz / nonzero(np.mean(np.abs(z), axis=0))) ** 2, axis=1)), 1e-9)
    z, hz = z * weight[:, None], hz * weight[:, None]
    scale = nonzero(np.sqrt(np.mean(z * z, axis=0)))
    z, noise2 = z / scale, np.mean((hz / scale) ** 2, axis=0) / 3
    shake = np.sqrt(len(y) * (noise2 + 1e-15))
    r = np.linalg.qr(np.vstack([z, np.diag(shake)]), mode="r")
    try:
        inverse = np.linalg.inv(r)
    except np.linalg.LinAlgError:
        return []
    p = inverse @ inverse.T
    pivot = np.diag(p)[x.shape[1] :]
    weights2 = (p[:, x.shape[1] :] / pivot) ** 2
    expected = noise2 @ weights2
    freedom = max(len(y) - z.shape[1] + 1, 1)
    fits = np.flatnonzero(1.0 / pivot / freedom <= 2 * EXCESS * expected + 1e-24)
    # The residual counts for more where the expected noise is small.
    return [int(k) for k in fits[np.argsort(expected[fits], kind="stable")][:ANCHORS]]


def _robust_anchors(x: Array, y: Array) -> list[int]:
    """The columns that weigh most in the divisor of the vector that most rows of [x, -y·x] annihilate."""
    z = np.column_stack([x, y[:, None] * x])
    scale = np.median(np.abs(z), axis=0)
    z = z / np.where(scale > 0, scale, nonzero(np.mean(np.abs(z), axis=0)))
    z = z / np.maximum(np.max(np.abs(z), axis=1), 1e-300)[:, None]
    weight = np.ones(len(y))
    vector = np.zeros(z.shape[1])
    for step in range(20):
        _, vectors = np.linalg.eigh(z.T @ (z * weight[:, None]))
        vector = vectors[:, 0]
        residual = np.abs(z @ vector)
        weight = 1.0 / np.maximum(residual, max(float(np.median(residual)) * 0.6**step, 1e-13))
    divisor = np.abs(vector[x.shape[1] :])
    return [int(k) for k in np.argsort(-divisor, kind="stable")[:2] if divisor[k] > 1e-3]


def _formula(
    view: View, pool: Rows, anchor: int, support: Sequence[int], weights: Sequence[Fraction]
) -> Expression | None:
    """The fraction as an expression; None where nothing is divided by more than rounding would allow."""
    count = len(pool)
    others = [int(pool[j]) for j in range(count) if j != anchor]
    top: dict[str, Fraction] = {}
    bottom: dict[str, Fraction] = {view.names[int(pool[anchor])]: Fraction(1)}
    for place, weight in zip(support, weights, strict=True):
        if weight and place < count:
            top[view.names[int(pool[place])]] = weight
        elif weight:
            bottom[view.names[others[place - count]]] = -weight
    if not top or len({*top, *bottom}) > MOST_OPERANDS:
        return None
    order = {name: at for at, name in enumerate(view.names)}
    return reduced(Linear(top), Linear(bottom), order)


def reduced(top: Linear, bottom: Linear, order: dict[str, int]) -> Expression:
    """A quotient of two sums with the constant in front: 100 * (a - b) / b."""
    sizes = [max(abs(weight) for weight in form.weights.values()) for form in (top, bottom)]
    numerator = Linear({name: weight / sizes[0] for name, weight in top.weights.items()})
    divisor = Linear({name: weight / sizes[1] for name, weight in bottom.weights.items()})
    factor = sizes[0] / sizes[1]
    above = numerator.expression(order)
    if factor != 1:
        above = Expression.constant(factor) * above
    return above / divisor.expression(order)
