"""From weights with errors to exact ones: the surest is fixed at the simplest number, the others are refitted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from inalu.tabular import constants
from inalu.tabular.search.regress import EXCESS, Problem
from inalu.tabular.search.view import Array

# Rounding errors of a few repeated numbers do not average out: the wider interval allows for that.
SIGMAS = (3.5, 12.0)
# Float arithmetic leaves this relative error in a weight that is otherwise exact.
_LEAST_ERROR = 1e-9


def snaps(problem: Problem) -> list[list[Fraction]]:
    """The exact weights that narrow and wide intervals suggest."""
    found = [snap(problem, sigmas) for sigmas in SIGMAS]
    return found[:1] if found[0] == found[1] else found


def snap(problem: Problem, sigmas: float) -> list[Fraction]:
    """Exact weights for the columns of a problem, one after the other; 0 where a column does not matter."""
    weight = np.clip(np.median(problem.hy) / np.maximum(problem.hy, 1e-300), 1e-3, 1e3)
    shared = _shared(problem, weight, sigmas)
    if shared is not None:
        return shared
    left = list(range(problem.x.shape[1]))
    exact = [Fraction(0)] * len(left)
    y = problem.y.copy()
    while left:
        x = problem.x[:, left]
        w, errors = _least_squares(x * weight[:, None], y * weight, problem, left)
        options = [
            constants.simplest(value - sigmas * error, value + sigmas * error)
            for value, error in zip(w, errors, strict=True)
        ]
        # Sure means: few bits, far fewer than the precision at hand would allow.
        cost = [
            constants.bits(option) - _precision(value, error)
            for option, value, error in zip(options, w, errors, strict=True)
        ]
        best = int(np.argmin(cost))
        exact[left[best]] = options[best]
        y = y - float(options[best]) * problem.x[:, left[best]]
        left.pop(best)
    return exact


def _shared(problem: Problem, weight: Array, sigmas: float) -> list[Fraction] | None:
    """One weight up to the sign for all columns (a sum, a difference, a mean), where the rows allow it."""
    columns = list(range(problem.x.shape[1]))
    if len(columns) < 2:
        return None
    w, _ = _least_squares(problem.x * weight[:, None], problem.y * weight, problem, columns)
    signs = np.sign(w)
    if (signs == 0).any():
        return None
    total = Problem(
        (problem.x @ signs)[:, None], np.abs(problem.hx).sum(axis=1)[:, None], problem.y, problem.hy
    )
    one, error = _least_squares(total.x * weight[:, None], total.y * weight, total, [0])
    near = constants.simplest(float(one[0] - sigmas * error[0]), float(one[0] + sigmas * error[0]))
    residual = (problem.y - float(near) * total.x[:, 0]) * weight
    noise = (
        np.mean((problem.hy * weight) ** 2) / 3
        + float(near) ** 2 * np.mean((problem.hx * weight[:, None]) ** 2, axis=0).sum() / 3
    )
    if float(residual @ residual) > EXCESS * len(residual) * (
        noise + 1e-24 * float(np.mean((problem.y * weight) ** 2))
    ):
        return None
    return [near * int(sign) for sign in signs]


def _precision(value: float, error: float) -> float:
    """How many bits of a weight are known."""
    return float(np.log2(max(abs(value), 1e-12) / error))


def _least_squares(x: Array, y: Array, problem: Problem, left: list[int]) -> tuple[Array, Array]:
    scale = np.sqrt(np.mean(x * x, axis=0)) + 1e-300
    xs = x / scale
    w, *_ = np.linalg.lstsq(xs, y, rcond=1e-13)
    gram = xs.T @ xs
    gram[np.diag_indices_from(gram)] += 1e-13 * len(y)
    residual = y - xs @ w
    rounding = float(np.mean(problem.hy**2)) + float(
        np.mean(problem.hx[:, left] ** 2, axis=0) @ (w / scale) ** 2
    )
    variance = max(float(residual @ residual) / max(len(y) - len(left), 1), rounding / 3)
    errors = np.sqrt(np.maximum(np.diag(np.linalg.inv(gram)), 0.0) * variance) / scale
    w = w / scale
    return w, np.maximum(errors, _LEAST_ERROR * np.abs(w) + 1e-15)
