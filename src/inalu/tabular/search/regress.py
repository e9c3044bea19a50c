"""Sparse exact regression: the few columns whose weighted sum equals a target up to rounding.

The full regression is solved once; then columns leave one by one, each time the one that the fit misses least, as
long as the residual stays within what rounding explains. Leaving costs a rank-one update of the inverse, so a path
over forty columns takes about a millisecond. Broken rows are found first, by least absolute deviations, where they
carry no weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# The mean square of the residual may exceed what rounding predicts by this factor (few rows, skewed errors).
EXCESS = 1.7
# A fit whose noise is this share of the target's variance says nothing about single columns.
MOST_NOISE = 0.25
# A column may leave when the squared error rises by no more than this many times the noise of one row.
SIGNIFICANT = 12.0
# Longest sums that are tried as a whole.
MOST_SHARED = 14
_RIDGE = 1e-14
_ITERATIONS = 30


@dataclass(frozen=True)
class Problem:
    """A target, the columns that may explain it, and their rounding.

    Attributes
    ----------
    x, hx : arrays of shape [R, k]
        Columns and half units.
    y, hy : arrays of shape [R]
        Target and half units.
    """

    x: Array
    hx: Array
    y: Array
    hy: Array

    def rows(self, keep: NDArray[np.bool_] | Index) -> Problem:
        """The same problem on some of the rows."""
        return Problem(self.x[keep], self.hx[keep], self.y[keep], self.hy[keep])

    def columns(self, keep: Index) -> Problem:
        """The same problem with some of the columns."""
        return Problem(self.x[:, keep], self.hx[:, keep], self.y, self.hy)


@dataclass(frozen=True)
class Fit:
    """A sparse fit: the columns that stayed, and their weights with standard errors."""

    support: tuple[int, ...]
    weights: Array
    errors: Array


def nonzero(scale: Array) -> Array:
    """Scales to divide by: one where a column is all zero."""
    return np.where(scale > 0, scale, 1.0)


class _Path:
    """The state of one elimination: which columns are left, their weights, and the inverse of the normal matrix."""

    def __init__(self, problem: Problem, banned: frozenset[int]) -> None:
        self.problem = problem
        # Rows with coarse cells (significant digits, logarithms of small numbers) weigh less.
        rounding = np.sqrt(problem.hy**2 + 1e-300)
        self.weight = np.clip(np.median(rounding) / rounding, 1e-3, 1e3)
        self.scale = nonzero(np.sqrt(np.mean((problem.x * self.weight[:, None]) ** 2, axis=0)))
        self.x = problem.x * self.weight[:, None] / self.scale
        self.y = problem.y * self.weight
        self.hx2 = np.mean((problem.hx * self.weight[:, None] / self.scale) ** 2, axis=0) / 3
        self.hy2 = float(np.mean((problem.hy * self.weight) ** 2)) / 3
        self.float2 = 1e-24 * float(np.mean(self.y**2))
        self.spread2 = float(np.var(self.y)) + 1e-300
        self.shared: list[Fit] = []
        self.left = np.array([j for j in range(problem.x.shape[1]) if j not in banned], dtype=np.intp)
        self.w, self.inverse = self.solve(self.left)

    def solve(self, left: Index) -> tuple[Array, Array]:
        """Weights and inverse normal matrix of some columns, each column shaken by its own rounding."""
        shake = np.sqrt(len(self.y) * (self.hx2[left] + _RIDGE))
        # By way of the triangular factor, because the normal matrix itself would lose half of the digits.
        q, r = np.linalg.qr(np.vstack([self.x[:, left], np.diag(shake)]))
        inverse = np.linalg.inv(r)
        return inverse @ (q[: len(self.y)].T @ self.y), inverse @ inverse.T

    def noise(self, w: Array, left: Index) -> float:
        return self.hy2 + float(w * w @ self.hx2[left]) + self.float2

    def exact(self, w: Array, left: Index) -> bool:
        residual = self.y - self.x[:, left] @ w
        freedom = max(len(self.y) - len(left), 1)
        return float(residual @ residual) / freedom <= EXCESS * self.noise(w, left)

    def without(self, place: int) -> tuple[Array, Index, Array]:
        """Weights, columns and inverse once the column at ``place`` has left."""
        column = self.inverse[:, place]
        pivot = column[place]
        keep = np.arange(len(self.left)) != place
        w = (self.w - column * (self.w[place] / pivot))[keep]
        inverse = (self.inverse - np.outer(column, column / pivot))[np.ix_(keep, keep)]
        return w, self.left[keep], inverse

    def note_shared(self) -> None:
        """Remember the columns left when one weight, up to the sign, does for all: a sum or a mean.

        Single weights may be uncertain, where columns go along with each other; that they are all alike is
        then the better explanation.
        """
        if not 2 <= len(self.left) <= MOST_SHARED:
            return
        signs = np.sign(self.w) * self.scale[self.left]
        total = self.x[:, self.left] @ signs
        size = float(total @ total)
        if size <= 0:
            return
        weight = float(total @ self.y) / size
        residual = self.y - weight * total
        noise = self.noise(weight * signs, self.left)
        if weight > 0 and float(residual @ residual) <= EXCESS * noise * (len(self.y) - 1):
            error = np.full(len(self.left), np.sqrt(noise / size))
            places = tuple(int(j) for j in self.left)
            self.shared.append(Fit(places, weight * np.sign(self.w), error))

    def run(self, patience: int = 2) -> bool:
        """Let columns leave until none can; whether an exact and sharp fit is left."""
        if not self.exact(self.w, self.left):
            return False
        while len(self.left) > 1:
            self.note_shared()
            diagonal = np.diag(self.inverse)
            if not (diagonal > 0).all():
                self.w, self.inverse = self.solve(self.left)
                diagonal = np.diag(self.inverse)
            cost = self.w**2 / diagonal
            # A column that lowers the squared error by more than chance would stays, however small its part is.
            most = SIGNIFICANT * self.noise(self.w, self.left)
            for place in np.argsort(cost, kind="stable")[:patience]:
                w, left, inverse = self.without(int(place))
                if cost[place] <= most and self.exact(w, left):
                    self.w, self.left, self.inverse = w, left, inverse
                    break
            else:
                break
        # Rank-one updates lose digits; the weights that are reported come from a fresh solution.
        x = self.x[:, self.left]
        self.w, *_ = np.linalg.lstsq(x, self.y, rcond=None)
        return self.exact(self.w, self.left) and self.noise(self.w, self.left) <= MOST_NOISE * self.spread2

    def fit(self) -> Fit:
        x = self.x[:, self.left]
        gram = x.T @ x
        gram[np.diag_indices_from(gram)] += 1e-12 * len(self.y)
        variance = np.maximum(np.diag(np.linalg.inv(gram)), 0.0) * self.noise(self.w, self.left)
        scale = self.scale[self.left]
        return Fit(tuple(int(j) for j in self.left), self.w / scale, np.sqrt(variance) / scale)


def supports(problem: Problem, *, most: int, runs: int = 8, longest: int = 13) -> list[Fit]:
    """The sparse exact fits of a problem: the first found, then those that do without one of its columns.

    Parameters
    ----------
    problem : Problem
        Complete rows only (no NaN).
    most : int
        How many fits to return at most.
    runs : int
        How many eliminations to run at most.
    longest : int
        Fits with more columns than this are left out.
    """
    found: dict[tuple[int, ...], Fit] = {}
    queue: list[frozenset[int]] = [frozenset()]
    seen: set[frozenset[int]] = set(queue)
    count = problem.x.shape[1]
    while queue and runs > 0 and len(found) < most:
        banned = queue.pop(0)
        if count - len(banned) < 1:
            continue
        runs -= 1
        path = _Path(problem, banned)
        whole = path.run()
        for alike in path.shared[-2:]:
            found.setdefault(alike.support, alike)
        if not whole:
            continue
        fit = path.fit()
        if len(fit.support) > longest or fit.support in found:
            continue
        found[fit.support] = fit
        for column in fit.support:
            option = banned | {column}
            if option not in seen:
                seen.add(option)
                queue.append(option)
    return list(found.values())


def clean_rows(problem: Problem, *, least: float = 0.55) -> NDArray[np.bool_] | None:
    """The rows on which one weighted sum is exact, found by least absolute deviations; None where there is none.

    Rows are first brought to a common size, so that a cell times 1000 has no more pull than any other.
    """
    x, hx, y, hy = problem.x, problem.hx, problem.y, problem.hy
    scale = np.median(np.abs(x), axis=0)
    scale = np.where(scale > 0, scale, nonzero(np.mean(np.abs(x), axis=0)))
    size = np.max(np.abs(x) / scale, axis=1)
    base = 1.0 / np.maximum(size / max(3 * float(np.median(size)), 1e-300), 1.0)
    # Rows whose target is coarser than usual weigh less.
    base = base / np.maximum(hy / max(float(np.median(hy)), 1e-300), 1.0)
    xs = x / scale
    ridge = _RIDGE * len(y)
    noise2 = (hx / scale) ** 2
    weight = base
    w = np.zeros(x.shape[1])
    for step in range(_ITERATIONS):
        xw = xs * weight[:, None]
        gram = xw.T @ xs
        gram[np.diag_indices_from(gram)] += weight @ noise2 / 3 + ridge
        try:
            w = np.linalg.solve(gram, xw.T @ y)
        except np.linalg.LinAlgError:
            return None
        residual = np.abs(y - xs @ w)
        floor = np.sqrt(hy**2 + noise2 @ (w * w)) / 3 + 1e-13 * np.abs(y)
        # The floor comes down slowly: early on every row is off, and the weights must not settle on a few.
        floor = np.maximum(floor, np.median(residual) * 0.7**step) + 1e-300
        weight = base / np.maximum(residual, floor)
    allowed = 3.0 * np.sqrt((hy**2 + noise2 @ (w * w)) / 3) + 1e-11 * np.abs(y)
    keep = np.abs(y - xs @ w) <= allowed
    return keep if keep.mean() >= least else None
