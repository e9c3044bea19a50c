"""Weighted sums and monomials as plain tables of exact numbers: the two kinds of formula that most relations are.

Solving them, leaving out a column, or telling whether one follows from others is then a matter of a few fractions,
where general algebra on trees takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from inalu.expression import Column, Constant, Expression, Power, Product, Sum, multiply
from inalu.tabular.constants import mantissa

ONE, HALF = Fraction(1), Fraction(1, 2)
# Nobody divides by a longer number.
_LONGEST = 10**12
# Two thirds are not written as a division by 1.5.
_SHORT = 100


@dataclass(frozen=True)
class Linear:
    """``constant + Σ weight · column``; no weight is zero."""

    weights: Mapping[str, Fraction]
    constant: Fraction = Fraction(0)

    def expression(self, order: Mapping[str, int] | None = None) -> Expression:
        """The sum as a person writes it: added columns first, a factor that all terms share taken out.

        Examples
        --------
        >>> third = Fraction(1, 3)
        >>> print(Linear({"a": third, "b": third, "c": third}).expression())
        (a + b + c) / 3
        """
        items = sorted(self.weights.items(), key=lambda item: (item[1] < 0, _place(order, item[0])))
        sizes = {abs(weight) for _, weight in items}
        shared = sizes.pop() if len(sizes) == 1 and len(items) > 1 and not self.constant else ONE
        terms = [_term(weight / shared, Column(name)) for name, weight in items]
        if self.constant:
            # A sum starts with a column where one is added, and with the constant where none is.
            at = sum(weight > 0 for _, weight in items)
            terms.insert(at if self.constant > 0 else len(terms), Constant(self.constant))
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return _scaled(shared, total)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with a weight."""
        return tuple(self.weights)

    def solved(self, target: str, name: str) -> Linear:
        """The sum for ``name`` from ``target = self``."""
        weight = self.weights[name]
        others = {column: -value / weight for column, value in self.weights.items() if column != name}
        return Linear({**others, target: 1 / weight}, -self.constant / weight)


@dataclass(frozen=True)
class Monomial:
    """``constant · Π column ** exponent``; no exponent is zero."""

    exponents: Mapping[str, Fraction]
    constant: Fraction = ONE

    def expression(self, order: Mapping[str, int] | None = None) -> Expression:
        """The product as a person writes it.

        Examples
        --------
        >>> print(Monomial({"height": Fraction(-2), "weight": Fraction(1)}, Fraction(703)).expression())
        703 * weight / height ** 2
        """
        items = sorted(self.exponents.items(), key=lambda item: (item[1] < 0, _place(order, item[0])))
        factors = [Column(name) ** exponent if exponent != 1 else Column(name) for name, exponent in items]
        product: Expression = factors[0]
        for factor in factors[1:]:
            product = product * factor
        return _scaled(self.constant, product)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with an exponent."""
        return tuple(self.exponents)

    def solved(self, target: str, name: str) -> Monomial | None:
        """The monomial for ``name`` from ``target = self``; None where that needs a root of the constant."""
        exponent = self.exponents[name]
        power = -1 / exponent
        if power.denominator != 1 and self.constant != 1:
            return None
        others = {column: value * power for column, value in self.exponents.items() if column != name}
        others[target] = -power
        if any((2 * value).denominator != 1 for value in others.values()):
            return None
        return Monomial(others, self.constant ** int(power) if self.constant != 1 else ONE)


def _place(order: Mapping[str, int] | None, name: str) -> tuple[int, str]:
    if order is None:
        return 0, name
    return order.get(name, len(order)), name


def _term(weight: Fraction, column: Expression) -> Expression:
    return column if weight == 1 else -column if weight == -1 else _scaled(weight, column)


def _scaled(factor: Fraction, formula: Expression) -> Expression:
    """A formula times a constant: written as a division where the constant is one over a whole number."""
    if factor == 1:
        return formula
    if factor == -1:
        return -formula
    # A tenth is written 0.1; a twelfth is not written 0.08333.
    denominator = factor.denominator
    if denominator > _SHORT and mantissa(factor) is None and mantissa(1 / factor) is not None:
        # Nor is division by 2.54 multiplication by 50 / 127.
        return formula / Constant(1 / factor)
    if denominator > _LONGEST:
        # Nor is one over pi a fraction of two long numbers.
        return Constant(Fraction(repr(float(factor)))) * formula
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator == 1:
        return Constant(factor) * formula
    scaled = formula if factor.numerator == 1 else Constant(factor.numerator) * formula
    return scaled / factor.denominator


def linear(formula: Expression) -> Linear | None:
    """The formula as a weighted sum, or None where it is none.

    Examples
    --------
    >>> found = linear(Expression.parse("(a - b) / 2 + 3"))
    >>> dict(found.weights), found.constant
    ({'a': Fraction(1, 2), 'b': Fraction(-1, 2)}, Fraction(3, 1))
    """
    weights: dict[str, Fraction] = {}
    constant = _collect(formula, ONE, weights)
    if constant is None:
        return None
    return Linear({name: weight for name, weight in weights.items() if weight}, constant)


def _collect(formula: Expression, factor: Fraction, weights: dict[str, Fraction]) -> Fraction | None:
    """Add ``factor`` times a formula to the weights; the constant part is returned, None where it is not linear."""
    if isinstance(formula, Constant):
        return factor * formula.value
    if isinstance(formula, Column):
        weights[formula.name] = weights.get(formula.name, Fraction(0)) + factor
        return Fraction(0)
    if isinstance(formula, Sum):
        parts = [_collect(term, factor, weights) for term in formula.terms]
        known = [part for part in parts if part is not None]
        return sum(known, Fraction(0)) if len(known) == len(parts) else None
    if isinstance(formula, Product):
        rest: list[Expression] = []
        for part in formula.factors:
            value = constant_value(part)
            if value is None:
                rest.append(part)
            else:
                factor *= value
        return _collect(rest[0], factor, weights) if len(rest) == 1 else None
    return None


def constant_value(formula: Expression) -> Fraction | None:
    """The value of a constant or of a whole power of one."""
    if isinstance(formula, Constant):
        return formula.value
    if (
        isinstance(formula, Power)
        and isinstance(formula.base, Constant)
        and formula.exponent.denominator == 1
    ):
        return formula.base.value ** int(formula.exponent) if formula.base.value else None
    return None


def monomial(formula: Expression) -> Monomial | None:
    """The formula as a monomial, or None where it is none.

    Examples
    --------
    >>> found = monomial(Expression.parse("1000 * a / b ** 2"))
    >>> sorted(found.exponents.items()), found.constant
    ([('a', Fraction(1, 1)), ('b', Fraction(-2, 1))], Fraction(1000, 1))
    """
    exponents: dict[str, Fraction] = {}
    constant = ONE
    stack: list[tuple[Expression, Fraction]] = [(formula, ONE)]
    while stack:
        node, power = stack.pop()
        value = constant_value(node)
        if value is not None:
            if power.denominator != 1 or not value:
                return None
            constant *= value ** int(power)
        elif isinstance(node, Column):
            exponents[node.name] = exponents.get(node.name, Fraction(0)) + power
        elif isinstance(node, Product):
            stack += [(factor, power) for factor in node.factors]
        elif isinstance(node, Power):
            stack.append((node.base, power * node.exponent))
        else:
            return None
    kept = {name: exponent for name, exponent in exponents.items() if exponent}
    return Monomial(kept, constant) if kept else None


def factored(formula: Expression) -> tuple[Fraction, Expression]:
    """The constant factor of a formula, and the rest.

    Examples
    --------
    >>> factor, rest = factored(Expression.parse("100 * (a - b) / b"))
    >>> print(factor, "|", rest)
    100 | (a - b) / b
    """
    if isinstance(formula, Product):
        values = [constant_value(part) for part in formula.factors]
        factor = ONE
        for value in values:
            factor *= ONE if value is None else value
        rest = [part for part, value in zip(formula.factors, values, strict=True) if value is None]
        return factor, multiply(rest) if rest else Constant(ONE)
    form = linear(formula)
    if form is None or form.constant or len({abs(weight) for weight in form.weights.values()}) != 1:
        return ONE, formula
    shared = abs(next(iter(form.weights.values())))
    rest_form = Linear({name: weight / shared for name, weight in form.weights.items()})
    return shared, rest_form.expression()


def implied(new: Sequence[Fraction], known: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a vector is a combination of others, exactly."""
    rows = [list(row) for row in known]
    left = list(new)
    for at in range(len(left)):
        pivot = next((row for row in rows if row[at]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        for row in [*rows, left]:
            if row[at]:
                factor = row[at] / pivot[at]
                for place in range(at, len(row)):
                    row[place] -= factor * pivot[place]
    return not any(left)


def upright(formula: Expression) -> Expression:
    """A formula without a minus sign that a swap removes.

    Examples
    --------
    >>> print(upright(Expression.parse("-100 * (a - b) / c")), "|", upright(Expression.parse("-2 * a / (b - 9)")))
    100 * (b - a) / c | 2 * a / (9 - b)
    """
    if not isinstance(formula, Product):
        return formula
    factors = list(formula.factors)
    negative = [at for at, part in enumerate(factors) if (constant_value(part) or 0) < 0]
    if len(negative) != 1:
        return formula
    for at, part in enumerate(factors):
        turned = part.base if isinstance(part, Power) and part.exponent == -1 else part
        form = linear(turned) if isinstance(turned, Sum) else None
        if form is None or not (any(w < 0 for w in form.weights.values()) or form.constant < 0):
            continue
        swapped = Linear({name: -w for name, w in form.weights.items()}, -form.constant).expression()
        factors[at] = swapped if turned is part else swapped**-1
        value = constant_value(factors[negative[0]])
        assert value is not None
        factors[negative[0]] = Constant(-value)
        return multiply([part for part in factors if part != Constant(ONE)])
    return formula
