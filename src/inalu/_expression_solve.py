"""Formulas turned around; see `Expression.solve_for`."""

from __future__ import annotations

from fractions import Fraction

from . import _expression_polynomial as poly
from ._expression_algebra import COLUMN, PLAIN, Algebra, Undefined
from ._expression_canonical import Canonical
from ._expression_numbers import HALF
from ._expression_polynomial import Polynomial, TooLarge
from ._expression_simplify import settled
from .errors import invalid
from .expression import Column, Expression, Power, Product, Sum, add, multiply, power


def solve_for(expression: Expression, name: str, target: str) -> Expression | None:
    """Return the column from ``target = expression``, or None."""
    if name not in expression.columns:
        raise invalid("name", f"must be a column of the formula {expression}", name)
    if target in expression.columns:
        raise invalid("target", f"must not be a column of the formula {expression}", target)
    try:
        solution = _solved(expression.simplify(), name, Column(target))
        return None if solution is None else solution.simplify()
    except (Undefined, TooLarge):
        return None


def _solved(expression: Expression, name: str, value: Expression) -> Expression | None:
    """Return the column from ``expression = value``, where the value does not hold it."""
    if isinstance(expression, Column):
        return value
    if name not in expression.columns:
        return None
    return _linear(expression, name, value) or _peeled(expression, name, value)


def _linear(expression: Expression, name: str, value: Expression) -> Expression | None:
    """Solve N / D + W = value, where N and D are linear in the column and W is free of it."""
    algebra, normal = settled(expression)
    others = {kind: part for kind, part in normal.items() if kind != PLAIN}
    variable = COLUMN + name
    mentioned = {
        v
        for kind in others
        for p in (*kind, *map(poly.freeze, others[kind]))
        for v in poly.variables(dict(p))
    }
    used = mentioned | {v for p in normal.get(PLAIN, ()) for v in poly.variables(p)}
    if (
        variable in mentioned
        or PLAIN not in normal
        or any(name in _columns(v, algebra) for v in used - {variable})
    ):
        return None
    above, below = (poly.in_powers_of(p, variable) for p in normal[PLAIN])
    if max(*above, *below) > 1:
        return None
    tree = Canonical(algebra.atoms)

    def part(powers: dict[int, Polynomial], exponent: int) -> Expression:
        return tree.polynomial(powers.get(exponent, {}))

    rest = value - tree.expression(others) if others else value
    slope = (part(above, 1) - rest * part(below, 1)).simplify()
    return multiply((rest * part(below, 0) - part(above, 0), power(slope, -1)))


def _columns(variable: str, algebra: Algebra) -> tuple[str, ...]:
    return algebra.atoms[variable].columns if variable in algebra.atoms else ()


def _peeled(expression: Expression, name: str, value: Expression) -> Expression | None:
    """Undo the outermost operation where the column occurs in one operand only."""
    inside = [child for child in expression.children if name in child.columns]
    if len(inside) != 1:
        return None
    others = [child for child in expression.children if child is not inside[0]]
    if isinstance(expression, Sum):
        return _solved(inside[0], name, value - add(others))
    if isinstance(expression, Product):
        return _solved(inside[0], name, multiply((value, power(multiply(others), -1))))
    assert isinstance(expression, Power)
    undone = _rooted(value, expression.exponent)
    return None if undone is None else _solved(expression.base, name, undone)


def _rooted(value: Expression, exponent: Fraction) -> Expression | None:
    """Return value ** (1 / exponent), by square roots, or None where that takes another root."""
    if exponent < 0:
        value, exponent = power(value, -1), -exponent
    if exponent == HALF:
        return power(value, 2)
    while exponent > 1 and exponent.numerator % 2 == 0:
        value, exponent = power(value, HALF), exponent / 2
    return value if exponent == 1 else None
