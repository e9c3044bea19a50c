"""How far a row may be from its rule, as a formula, for tools that see numbers without their printed digits.

Half a unit of the target, and for each operand its half unit times how steeply the formula moves with it.
"""

from __future__ import annotations

from inalu.expression import Column, Constant, Expression, Power, Product, Sum, add, multiply, power
from inalu.tabular.derived import place
from inalu.tabular.render import HALF, ROW_NUMBER
from inalu.tabular.rules import Precision, Rule

# Ties and the float arithmetic of the tool itself lie just outside the exact bound.
SLACK = "1.001"
# The relative error that any tool's float arithmetic may add to a column of floats.
LEAST_RELATIVE = 1e-12


def tolerance(rule: Rule) -> Expression:
    """The largest difference between target and formula that rounding explains.

    Examples
    --------
    >>> cents = Precision(0.005, 0.0)
    >>> precision = {"total": cents, "net": cents, "tax": cents}
    >>> rule = Rule("total", Expression.parse("net + 2 * tax"), 2, precision)
    >>> str(tolerance(rule))
    '0.02'
    """
    parts = [_half(rule, rule.target)]
    for name in rule.formula.columns if not rule.exact_operands else ():
        slope = derivative(rule.formula, name).simplify()
        half = _half(rule, name)
        if place(name).running:
            # The errors of many cells partly cancel: three standard deviations of their sum, and a cell more.
            rows = power(Column(ROW_NUMBER), HALF)
            half = multiply((half, add((multiply((Constant("1.74"), rows)), Constant(1)))))
        parts.append(multiply((_absolute(slope), half)))
    return add(parts)


def _half(rule: Rule, name: str) -> Expression:
    """The half unit of a column's cell."""
    where = place(name)
    absolute, relative = rule.precision.get(where.name, Precision())
    # Half of 1e-5 may be 4.9999999999999996e-06 to a float; nobody wants to read that.
    absolute = float(f"{absolute:.12g}")
    size = _absolute(Column(name))
    if not relative:
        return Constant(absolute)
    # The larger of the two would need a maximum; their sum covers it.
    return add((Constant(absolute), multiply((Constant(max(relative, LEAST_RELATIVE)), size))))


def _absolute(formula: Expression) -> Expression:
    """The absolute value, taken of the single factors, as people and databases read it more easily."""
    if isinstance(formula, Constant):
        return Constant(abs(formula.value))
    if isinstance(formula, Product):
        return multiply(_absolute(factor) for factor in formula.factors)
    if isinstance(formula, Power):
        # Even powers and roots are never negative.
        whole = formula.exponent.denominator == 1
        return power(_absolute(formula.base), formula.exponent) if whole and formula.exponent % 2 else formula
    return power(power(formula, 2), HALF)


def derivative(formula: Expression, name: str) -> Expression:
    """The derivative of a formula by one of its columns.

    Examples
    --------
    >>> str(derivative(Expression.parse("100 * a / b"), "b").simplify())
    '-100 * a / b ** 2'
    """
    if name not in formula.columns:
        return Constant(0)
    if isinstance(formula, Sum):
        return add(derivative(term, name) for term in formula.terms)
    if isinstance(formula, Product):
        factors = formula.factors
        others = [(*factors[:at], *factors[at + 1 :]) for at in range(len(factors))]
        return add(
            multiply((derivative(factor, name), *rest)) for factor, rest in zip(factors, others, strict=True)
        )
    if isinstance(formula, Power):
        outer = multiply((Constant(formula.exponent), power(formula.base, formula.exponent - 1)))
        return multiply((outer, derivative(formula.base, name)))
    return Constant(1)
