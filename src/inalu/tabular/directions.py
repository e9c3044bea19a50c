"""A relation solved for each of its columns."""

from __future__ import annotations

from collections.abc import Mapping

from inalu.expression import Column, Expression, Power
from inalu.tabular.derived import base
from inalu.tabular.forms import linear, monomial, upright


def directions(
    target: str, formula: Expression, order: Mapping[str, int], *, derived: bool = False
) -> list[tuple[str, Expression]]:
    """The relation solved for each of its columns that allows it, the given direction first.

    Columns of the row before and running sums are solved for only where ``derived`` asks for it.

    Examples
    --------
    >>> found = directions("y", Expression.parse("2 * a / b"), {"a": 0, "b": 1})
    >>> [f"{name} = {solved}" for name, solved in found]
    ['y = 2 * a / b', 'b = 2 * a / y', 'a = 0.5 * b * y']
    """
    form = linear(formula) or monomial(formula)
    if form is not None:
        found = [(target, form.expression(order))]
        # What cancels in the form is no column of it, though the formula names it.
        for name in form.columns:
            solved = form.solved(target, name) if derived or base(name) == name else None
            if solved is not None:
                found.append((name, solved.expression(order)))
        return found
    found = [(target, shorter(formula))]
    for name in formula.columns:
        other = formula.solve_for(name, target=target) if derived or base(name) == name else None
        if other is not None and name not in other.columns and not rooted(other):
            found.append((name, shorter(other)))
    return found


def shorter(formula: Expression) -> Expression:
    """The formula as it is or simplified, whichever is shorter, without a sign that a swap removes."""
    simple = formula.simplify()
    return upright(simple if simple.complexity < formula.complexity else formula)


def rooted(formula: Expression) -> bool:
    """Whether a formula takes the root of a sum, which nobody writes.

    Examples
    --------
    >>> rooted(Expression.parse("sqrt(a * (b + c))")), rooted(Expression.parse("sqrt(a * b)"))
    (True, False)
    """
    if isinstance(formula, Power) and formula.exponent.denominator != 1 and linear(formula.base) is None:
        return monomial(formula) is None
    if isinstance(formula, Power) and formula.exponent.denominator != 1:
        return not isinstance(formula.base, Column)
    return any(rooted(child) for child in formula.children)
