"""Whether the constants of a formula were written by somebody or fitted to the rows.

The rows leave every constant an error: so far it can move, the others following, before rows break. A constant that
somebody wrote is much simpler than any other number of that precision would have to be (0.3, known to a millionth);
a fitted one is as long as its precision allows (0.31 plus or minus 0.01). A regression over many columns fits
anything that changes slowly, so a formula may have few constants of the second kind, and only where rows tell much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Constant, Expression, Power, Product, Sum, add, multiply, power
from inalu.tabular import constants
from inalu.tabular.forms import factored, linear

Array = NDArray[np.float64]

# Bits by which a constant must be simpler than the rows allow.
_SIMPLER = 3.0
_STEP = 1e-4
_MOST_ROWS = 2000
# Constants that may be no simpler than the rows allow: one, and a second one where a row tells so many bits.
_SECOND_BITS = 6.0
_COARSE_BITS, _VAGUE_BITS = 4.0, 2.5
# Where rows break a formula, or a constant is no factor of the whole, and rows tell less, none may be fitted.
_FIRST_BITS, _INSIDE_BITS = 8.0, 12.0
# Constants of more bits than this were hardly written by a person.
FITTED_BITS = 20.0
# Bits to which a constant has to be known before it is said: it may be off by two percent.
_KNOWN = 5.0


def regression(
    formula: Expression,
    cells: Mapping[str, Array],
    tolerance: Array,
    row_bits: float,
    *,
    broken: bool = False,
) -> bool:
    """Whether a formula has more fitted constants than its rows can vouch for.

    Parameters
    ----------
    formula : Expression
        The formula.
    cells : mapping to arrays of shape [rows]
        Its columns on the rows that hold.
    tolerance : array of shape [rows]
        How far rounding lets the target be from the formula.
    row_bits : float
        What one row tells, in bits.
    broken : bool
        Whether rows break the formula: less is forgiven then.
    """
    allowed = 1 + (row_bits >= _SECOND_BITS and not broken)
    inside = len(formula.columns) > 1 and factored(formula)[0] == 1
    if (broken and row_bits < _FIRST_BITS) or (inside and row_bits < _INSIDE_BITS):
        allowed = 0
    # Where rows are coarse, several columns and a constant of their own fit nearly anything.
    if len(formula.columns) > 1 and row_bits < _COARSE_BITS:
        allowed = 0
    if not distinct(formula):
        return False
    # Two columns that go along with each other meet some simple line in four of five coarse rows.
    if broken and row_bits < _VAGUE_BITS:
        return True
    told = surprises(formula, cells, tolerance)
    # Of a constant that the rows leave open as far as this not even the fitted one is known.
    if any(surprise < _SIMPLER and known < _KNOWN for surprise, known in told):
        return True
    return sum(surprise < _SIMPLER for surprise, _ in told) > allowed


def distinct(formula: Expression) -> list[Fraction]:
    """The sizes of the constants in a formula, other than 0 and 1, each once."""
    found: dict[Fraction, None] = {}

    def walk(node: Expression) -> None:
        if isinstance(node, Constant) and abs(node.value) not in (0, 1):
            found[abs(node.value)] = None
        for child in node.children:
            walk(child)

    walk(formula)
    return list(found)


def longest_constant(formula: Expression) -> float:
    """The bits of the longest constant in a formula; 0.0 where it has none.

    Examples
    --------
    >>> [longest_constant(Expression.parse(text)) > FITTED_BITS for text in ("0.19 * a", "a / 0.1597")]
    [False, True]
    """
    return max(map(constants.bits, distinct(formula)), default=0.0)


def surprises(formula: Expression, cells: Mapping[str, Array], tolerance: Array) -> list[tuple[float, float]]:
    """For each constant, by how many bits it is simpler than a fitted one would be, and to how many it is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cells = {"a": rng.uniform(0, 9, 50), "b": rng.uniform(0, 9, 50)}
    >>> [bits > 3 for bits, known in surprises(Expression.parse("0.3 * a + 0.2137 * b"), cells, np.full(50, 0.05))]
    [True, False]
    """
    found = distinct(formula)
    # Rows that repeat others leave the constants as open as one of them does.
    rows = np.unique(np.column_stack(list(cells.values())), axis=0, return_index=True)[1]
    rows = np.sort(rows)[:: max(1, len(rows) // _MOST_ROWS)]
    cells = {name: values[rows] for name, values in cells.items()}
    weight = math.sqrt(3.0) / tolerance[rows]
    middle = formula.evaluate(cells)
    slopes = []
    for value in found:
        moved = _moved(formula, value, value * Fraction(1 + _STEP)).evaluate(cells)
        slopes.append((moved - middle) / _STEP * weight)
    form = linear(formula)
    if form is not None:
        # Columns without a weight of their own could have one, too.
        plain = [np.sign(float(w)) * cells[name] for name, w in form.weights.items() if abs(w) == 1]
        slopes += [np.sum(plain, axis=0) * weight] if plain else []
    errors = _errors(np.array(slopes).T)
    known = [-math.log2(2 * error) for error in errors[: len(found)]]
    return [(bits - _length(value), bits) for value, bits in zip(found, known, strict=True)]


def _errors(slopes: Array) -> Array:
    """The relative standard errors of parameters, all of them free."""
    keep = np.isfinite(slopes).all(axis=1)
    scale = np.sqrt((slopes[keep] ** 2).sum(axis=0)) + 1e-300
    # By singular values: where columns depend on each other up to rounding, constants are as open as it leaves them.
    sizes, turns = np.linalg.svd(slopes[keep] / scale, full_matrices=False)[1:]
    inverse = turns.T / np.maximum(sizes, 1e-15)
    errors: Array = np.sqrt((inverse**2).sum(axis=1)) / scale
    return np.maximum(errors, 2.0**-50)


def _length(value: Fraction) -> float:
    """The bits of a constant as a number among all of its length or shorter: 1000 is as short as 1."""
    if constants.named(value):
        return constants.bits(value) / 2
    options = [math.log2(value.numerator) + math.log2(value.denominator)]
    # Divided by 6.27082 is one bit longer than multiplied by it.
    for turned, more in ((value, 0.0), (1 / value, 1.0)):
        mantissa = constants.mantissa(turned)
        if mantissa is not None:
            options.append(math.log2(mantissa) + more)
    return min(options)


def _moved(node: Expression, old: Fraction, new: Fraction) -> Expression:
    """The formula with a constant, whatever its sign, replaced."""
    if isinstance(node, Constant):
        if abs(node.value) != old:
            return node
        return Constant(new if node.value > 0 else -new)
    if isinstance(node, Sum):
        return add([_moved(term, old, new) for term in node.terms])
    if isinstance(node, Product):
        return multiply([_moved(factor, old, new) for factor in node.factors])
    if isinstance(node, Power):
        return power(_moved(node.base, old, new), node.exponent)
    return node
