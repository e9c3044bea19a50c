"""Formulas on arrays, computed in the order in which they are written; see `Expression.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._expression_numbers import HALF
from .errors import InvalidArgument, invalid
from .expression import Column, Constant, Expression, Power, Sum, absolute_value

_Columns = Mapping[str, NDArray[np.float64]]


def evaluate(expression: Expression, columns: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Return the values of an expression, one per row."""
    used = {name: _array(columns, name) for name in expression.columns}
    shapes = {array.shape for array in used.values() if array.ndim}
    if len(shapes) > 1:
        raise invalid("columns", "must all have one shape", sorted(shapes))
    with np.errstate(all="ignore"):
        result = np.asarray(_value(expression, used), dtype=np.float64)
    if not used:
        # A constant formula answers for every row it was asked about.
        shape = next((np.shape(columns[name]) for name in columns), ())
        return np.full(shape, result)
    # A formula that is one column must not hand out the caller's own array.
    return result.copy() if isinstance(expression, Column) else result


def _array(columns: Mapping[str, ArrayLike], name: str) -> NDArray[np.float64]:
    if name not in columns:
        given = ", ".join(repr(str(key)) for key in list(columns)[:10])
        raise InvalidArgument(f"columns must hold {name!r}, which the formula uses; got {given or 'none'}.")
    try:
        return np.asarray(columns[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"columns[{name!r}] must be numbers; it cannot be read as float64.") from None


def _value(expression: Expression, columns: _Columns) -> Any:
    # The same operations in the same order as DataFrame.eval on the text, so that both give the same bits.
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Sum):
        return _sum(expression, columns)
    if isinstance(expression, Power) and expression.exponent > 0:
        return _power(expression, columns)
    negative, above, below = expression.fraction()
    if isinstance(expression, Constant) and not below:
        return _float(expression.value)
    value = _product(above, columns)
    value = value / _product(below, columns) if below else value
    return -value if negative else value


def _sum(expression: Sum, columns: _Columns) -> Any:
    total: Any = None
    for term in expression.terms:
        negative = term.fraction().negative
        value = _value(-term if negative else term, columns)
        if total is None:
            total = -value if negative else value
        else:
            total = total - value if negative else total + value
    return total


def _product(factors: tuple[Expression, ...], columns: _Columns) -> Any:
    value = _value(factors[0], columns)
    for factor in factors[1:]:
        value = value * _value(factor, columns)
    return value


def _power(expression: Power, columns: _Columns) -> Any:
    base, exponent = expression.base, expression.exponent
    inside = absolute_value(expression)
    if inside is not None:
        # The square that abs is made of would overflow long before abs does.
        size = np.abs(_value(inside, columns))
        return size if exponent == HALF else size ** int(2 * exponent)
    if exponent == HALF:
        return np.sqrt(_value(base, columns))
    return _value(base, columns) ** (int(exponent) if exponent.denominator == 1 else float(exponent))


def _float(value: Fraction) -> np.float64:
    try:
        return np.float64(value.numerator / value.denominator)
    except OverflowError:
        return np.float64("inf") if value > 0 else np.float64("-inf")
