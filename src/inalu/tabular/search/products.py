"""Stages b and e on the logarithms: products, quotients and powers of up to five columns, times a constant."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inalu.tabular.forms import Monomial
from inalu.tabular.search.linear import problems
from inalu.tabular.search.pairs import fit_constants
from inalu.tabular.search.regress import Fit, clean_rows, supports
from inalu.tabular.search.view import Array, Candidate, Found, Rows, View

MOST_OPERANDS = 5
FITS = 4
# A cell whose rounding is coarser than this share of it says nothing about its logarithm.
COARSEST = 0.3
# Whole numbers up to this size are counts: exact, though printed without decimals.
COUNT = 300.0
# Exponents are whole or half, up to this size; a weight further than this from one is no exponent.
LARGEST_EXPONENT = 3
_NEAR = 0.12
ROWS = 240


def products(view: View, targets: Sequence[int]) -> Found:
    """Products of powers that are exact in all rows looked at."""
    return _search(view, targets, robust=False)


def robust_products(view: View, targets: Sequence[int]) -> Found:
    """Products of powers that are exact in most rows."""
    return _search(view, targets, robust=True)


def logarithms(view: View) -> View:
    """The same table with every column as the logarithm of its size."""
    size = np.abs(view.values)
    with np.errstate(all="ignore"):
        counts = (view.halves == 0.5) & (_typical(size) <= COUNT)
        halves = np.where(counts, 1e-6, view.halves / size)
        values = np.where((size > 0) & (halves <= COARSEST), np.log(size), np.nan)
    return View(view.names, values, np.where(np.isfinite(values), halves, np.nan), view.seed)


def _typical(size: Array) -> Array:
    """The median of the non-zero cells of each column; 0 where there are none."""
    return np.array([np.median(cells[cells > 0]) if (cells > 0).any() else 0.0 for cells in size.T])


def _search(view: View, targets: Sequence[int], *, robust: bool) -> Found:
    logs = logarithms(view)
    found: dict[tuple[int, str], Candidate] = {}
    tried = 0
    for target in targets:
        for problem, columns in problems(logs, target, rows=ROWS):
            if robust:
                keep = clean_rows(problem)
                if keep is None or keep.all() or keep.sum() < problem.x.shape[1] + 3:
                    continue
                problem = problem.rows(keep)
            fits = supports(problem, most=FITS, longest=MOST_OPERANDS + 1)
            tried += 2 ** min(len(columns), 12)
            for fit in fits:
                for form in _monomials(view, target, columns, fit):
                    formula = form.expression({name: at for at, name in enumerate(view.names)})
                    stage = "robust" if robust else "products"
                    found.setdefault((target, str(formula)), Candidate(view.names[target], formula, stage))
    return Found(list(found.values()), tried)


def exponent(weight: float, error: float) -> Fraction | None:
    """The whole or half number that a weight stands for; None where it stands for none.

    Examples
    --------
    >>> exponent(-1.98, 0.01), exponent(0.52, 0.01), exponent(0.03, 0.01), exponent(0.7, 0.01)
    (Fraction(-2, 1), Fraction(1, 2), Fraction(0, 1), None)
    """
    near = Fraction(round(2 * weight), 2)
    if abs(weight - near) > max(_NEAR, 3 * min(error, 0.1)) or abs(near) > LARGEST_EXPONENT:
        return None
    return near


def _monomials(view: View, target: int, columns: Sequence[int], fit: Fit) -> list[Monomial]:
    exponents: dict[int, Fraction] = {}
    for place, weight, error in zip(fit.support, fit.weights, fit.errors, strict=True):
        if columns[place] < 0:
            continue
        power = exponent(float(weight), float(error))
        if power is None:
            return []
        if power:
            exponents[columns[place]] = power
    if not exponents or len(exponents) > MOST_OPERANDS:
        return []
    sample = view.sample(target, ROWS)
    values, radius = _evaluate(view, sample, exponents)
    named = {view.names[column]: power for column, power in exponents.items()}
    found = fit_constants(values, radius, view.values[sample, target], view.halves[sample, target])
    return [Monomial(named, constant) for constant in dict.fromkeys([Fraction(1), *found]) if constant]


def _evaluate(view: View, sample: Rows, exponents: dict[int, Fraction]) -> tuple[Array, Array]:
    value = np.ones(len(sample))
    relative = np.zeros(len(sample))
    with np.errstate(all="ignore"):
        for column, power in exponents.items():
            x = view.values[sample, column]
            value = value * x ** float(power)
            relative = relative + abs(float(power)) * view.halves[sample, column] / np.abs(x)
        value = np.where(np.isfinite(value), value, np.nan)
        return value, np.abs(value) * relative
