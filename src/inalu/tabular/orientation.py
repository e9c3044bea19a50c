"""Which way round a person would write a relation: total = price * quantity, and not price = total / quantity.

Rounding tells most: the computed column is the one whose own last digit explains the differences. Where all
directions are exact, headers and the form of the formula decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from inalu.expression import Constant, Expression, Power, Product, Sum
from inalu.tabular.derived import base

# Words in headers of computed columns.
_HINTS = frozenset(
    [
        "total",
        "sum",
        "subtotal",
        "rate",
        "ratio",
        "share",
        "pct",
        "percent",
        "percentage",
        "density",
        "mean",
        "average",
        "avg",
        "per",
        "index",
        "change",
        "growth",
        "diff",
        "difference",
        "delta",
        "net",
        "gross",
        "balance",
        "bmi",
        "profit",
        "margin",
        "amount",
        "score",
        "speed",
        "error",
        "residual",
        "cumulative",
        "running",
        "result",
        "variance",
        "deviation",
        "gap",
        "surplus",
        "deficit",
        "earnings",
        "ytd",
        "proportion",
        "fraction",
        "yield",
        "efficiency",
        "lag",
        "all",
        # The same in tables of other countries.
        "summe",
        "gesamt",
        "anteil",
        "brutto",
        "netto",
        "saldo",
        "quote",
        "durchschnitt",
        "somme",
        "solde",
        "moyenne",
        "taux",
        "totale",
        "media",
        "promedio",
        "importe",
    ]
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|%|\d+")
_PERCENT = re.compile(r"pct|perc(?!h|ei|ol|us)", re.IGNORECASE)
# A target whose cells lie so much nearer to its formula than in another direction was not the one that was rounded.
UNROUNDED, LEAST_SPREAD = 0.1, 0.1
# A second formula for a column is unusual, and more so where the first is made of columns to its left. A total may
# have several.
AGAIN, FROM_THE_LEFT = 2.0, 4.5
# Directions whose exactness differs by less than this are taken to be equally exact.
SAME, TELLING = 0.02, 0.9


def hint(name: str) -> bool:
    """Whether a header reads like that of a computed column.

    Examples
    --------
    >>> hint("Cost Total $"), hint("populationDensity"), hint("tbilrate"), hint("% change")
    (True, True, False, True)
    """
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(words & _HINTS) or "%" in words or _PERCENT.match(name) is not None


def additive(formula: Expression) -> bool:
    """Whether a formula only adds and multiplies: no minus sign, no division by a column."""
    if isinstance(formula, Constant):
        return formula.value > 0
    if isinstance(formula, Power):
        return formula.exponent > 0 and additive(formula.base)
    if isinstance(formula, Sum):
        return all(additive(term) for term in formula.terms)
    if isinstance(formula, Product):
        return all(additive(factor) for factor in formula.factors)
    return True


class Way(NamedTuple):
    """One direction of a relation.

    Attributes
    ----------
    target, formula : str, Expression
        The direction.
    exact : float
        The share of rows that hold when operands are taken as exact.
    spread : float
        How far the target's cells lie from the formula, in half units: a half where it was rounded, zero where not.
    length : float
        The formula's bits.
    unrounded : bool
        Whether the target has all digits of a double: nobody types those.
    """

    target: str
    formula: Expression
    exact: float
    spread: float
    length: float
    unrounded: bool = False


def rank(
    directions: Sequence[Way],
    order: Mapping[str, int],
    negative: Mapping[str, bool],
    filled: Callable[[str], np.ndarray],
    taken: Mapping[str, float] = MappingProxyType({}),
) -> list[int]:
    """Sort the directions of one relation, the one a person would write first.

    Parameters
    ----------
    directions : sequence of Way
        The relation solved for its columns.
    order : mapping
        The place of each column in the table.
    negative : mapping
        Whether a column has negative cells.
    filled : callable
        The rows in which a column has a value, by its name in formulas.
    taken : mapping
        Columns that other formulas give already, and how much that counts against them.
    """
    best = max(way.exact for way in directions)
    # Where no direction is exact, all operands are rounded, and none of them tells.
    same = SAME if best >= TELLING else 1.0
    widest = max(way.spread for way in directions if way.exact >= best - same)
    scores = []
    for at, (target, formula, exact, spread, length, unrounded) in enumerate(directions):
        columns = [base(name) for name in formula.columns]
        score = 3.0 * hint(target) - 0.05 * length
        # Only the column that was computed was rounded; solved for another one the formula is better than it need be.
        if unrounded:
            score += 3.0
        elif spread < UNROUNDED * widest and widest > LEAST_SPREAD:
            score -= 6.0
        if additive(formula) and not any(negative.get(name, False) for name in columns):
            score += 2.0
        places = [order[name] for name in columns if name in order]
        if places and order[target] > max(places):
            score += 1.5
        elif places and order[target] < min(places):
            score += 0.5
        if takes_root(formula):
            score -= 3.0
        penalty = taken.get(target, 0.0)
        if places and order[target] < max(places) and (penalty > AGAIN or not additive(formula)):
            score -= penalty
        # A balance is computed from the row before, unless what is added to it looks computed.
        if any(base(name) == target for name in formula.columns):
            score += -4.0 if _change(target, formula, filled) else 4.0
        scores.append((exact < best - same, -round(score, 6), at))
    return [at for _, _, at in sorted(scores)]


def _change(target: str, formula: Expression, filled: Callable[[str], np.ndarray]) -> bool:
    """Whether the column that is added to the row before is empty wherever there is no row before: a difference."""
    others = [name for name in formula.columns if base(name) != target]
    own = [name for name in formula.columns if base(name) == target]
    if len(others) != 1:
        return False
    without = filled(target) & ~np.logical_and.reduce([filled(name) for name in own])
    return bool(without.any()) and not bool((without & filled(others[0])).any())


def exact_share(residual: np.ndarray, halves: np.ndarray, noise: np.ndarray, asked: np.ndarray) -> float:
    """The share of rows that hold when only the target is rounded."""
    if not asked.any():
        return 0.0
    return float((np.abs(residual[asked]) <= (halves + noise)[asked] * (1 + 1e-9)).mean())


def spread(residual: np.ndarray, halves: np.ndarray, asked: np.ndarray) -> float:
    """How far cells lie from a formula, in half units of theirs: the median of the rows asked."""
    return float(np.median(np.abs(residual[asked]) / halves[asked])) if asked.any() else 0.0


def takes_root(formula: Expression) -> bool:
    """Whether a formula takes a root: people write the square."""
    if isinstance(formula, Power) and formula.exponent.denominator != 1:
        return True
    return any(takes_root(child) for child in formula.children)
