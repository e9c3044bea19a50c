"""From the normal form back to the tree that a person would write; see ``_expression_algebra.py``.

Where a formula can be written in several ways, as one fraction or as a sum of fractions, expanded or in
factors, the one with the fewest names, numbers and operators is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce

from . import _expression_polynomial as poly
from ._expression_algebra import (
    COLUMN,
    PLAIN,
    WHOLE,
    Class,
    Normal,
    Ratio,
    multiply_ratios,
    ratio,
    signed_primitive,
)
from ._expression_numbers import HALF
from ._expression_polynomial import Monomial, Polynomial, TooLarge
from .expression import Column, Constant, Expression, Power, Product, add, multiply, power

_ONE = Fraction(1)


class Canonical:
    """Writes normal forms as trees; ``atoms`` says what the variables that are no columns stand for."""

    def __init__(self, atoms: Mapping[str, Expression]) -> None:
        self.atoms = atoms

    def expression(self, normal: Normal) -> Expression:
        """Return the tree of a normal form."""
        parts = sorted(normal.items(), key=lambda item: (item[0] != PLAIN, item[0]))
        ways = [_sum(self._class(kind, value) for kind, value in parts)]
        if len(parts) > 1:
            ways.append(self._with_common_factor(parts))
        return _shortest(ways)

    def _with_common_factor(self, parts: list[tuple[Class, Ratio]]) -> Expression:
        above = reduce(poly.gcd, (value.above for _, value in parts))
        below = reduce(poly.least_common_multiple, (value.below for _, value in parts))
        inverse = ratio(below, above)
        rest = [self._class(kind, multiply_ratios(value, inverse)) for kind, value in parts]
        return multiply((self.rational(ratio(above, below)), _sum(rest)))

    def _class(self, kind: Class, value: Ratio) -> Expression:
        """Return value · |A| · sqrt(R)."""
        if kind == PLAIN:
            return self.rational(value)
        absolute, root = dict(kind.absolute), dict(kind.root)
        size, inside = poly.content(root), signed_primitive(root)
        above, below = value
        factors: list[Expression] = []
        radicand = Ratio(root, poly.ONE)
        if absolute != poly.ONE:
            rest = poly.divide(below, poly.multiply(absolute, absolute))
            under = None if rest is None else poly.divide(inside, absolute)
            if rest is None:
                factors.append(power(power(self.polynomial(absolute), 2), HALF))
            elif under is None:
                # |A| / A² is 1 / |A|.
                below = rest
                factors.append(power(power(self.polynomial(absolute), 2), -HALF))
            else:
                # sqrt(A·B) / |A| is sqrt(B / A).
                below, radicand = rest, ratio(poly.scale(under, size), absolute)
        if radicand.below == poly.ONE and set(inside) != {()}:
            above, below, exponent = _gathered(above, below, inside, whole=size == 1)
            if exponent < 0:
                radicand = ratio({(): size}, inside)
            elif exponent > HALF:
                factors.append(power(self.polynomial(inside), exponent))
                radicand = WHOLE
        return self._with_root(ratio(above, below), factors, radicand)

    def _with_root(self, value: Ratio, factors: list[Expression], radicand: Ratio) -> Expression:
        """Return value · factors · sqrt(radicand), a number inside the root where that is shorter."""
        if radicand == WHOLE:
            return multiply((self.rational(value), *factors))
        if radicand.above == poly.ONE:
            root = power(self.rational(Ratio(radicand.below, poly.ONE)), -HALF)
        else:
            root = power(self.rational(radicand), HALF)
        ways = [multiply((self.rational(value), *factors, root))]
        if poly.content(radicand.above) != 1:
            over, under = poly.primitive(value.above)[0], poly.primitive(value.below)[0]
            bare = Ratio(*(poly.primitive(p)[1] for p in value))
            square = ratio({(): over * over}, {(): under * under})
            within = power(self.rational(multiply_ratios(radicand, square)), HALF)
            ways.append(multiply((self.rational(bare), Constant(1 if over > 0 else -1), *factors, within)))
        return _shortest(ways)

    def rational(self, value: Ratio) -> Expression:
        """Return the shortest of the ways to write a rational function."""
        if not value.above:
            return Constant(0)
        upper = _pieces(poly.primitive(value.above)[1])
        if poly.is_number(value.below) and len(upper) == 1 and upper[0][1] == 1:
            return self._linear(value)
        factored = self._factored(value, upper)
        if len(value.above) == 1:
            return factored
        expanded = self._expanded(value)
        if len(value.below) > 1:
            return _shortest([factored, expanded, *self._divided(value)])
        # Of two equally long ones, a·(b + 1) is plainer than a·b + a.
        first = () not in value.below or (isinstance(factored, Product) and _has_column_factor(factored))
        return _shortest([factored, expanded] if first else [expanded, factored])

    def _linear(self, value: Ratio) -> Expression:
        """Return a polynomial that has no factors, over a number."""
        expanded = self.polynomial(value.above, Fraction(1, value.below[()]))
        size, rest = poly.primitive(value.above)
        if len(rest) == 1 or abs(size) == value.below[()]:
            return expanded
        # Of two equally long ones, 0.1·a + 0.2·b is plainer than 0.1·(a + 2·b).
        return _shortest(
            [expanded, multiply((Constant(Fraction(size, value.below[()])), self.polynomial(rest)))]
        )

    def _expanded(self, value: Ratio) -> Expression:
        """Return the sum of the terms above, each over what is below."""
        if poly.is_number(value.below):
            return self.polynomial(value.above, Fraction(1, value.below[()]))
        if len(value.below) > 1:
            size, below = poly.primitive(value.below)
            return multiply(
                (self.polynomial(value.above, Fraction(1, size)), power(self.polynomial(below), -1))
            )
        terms = [ratio({m: value.above[m]}, value.below) for m in sorted(value.above, key=_monomial_order)]
        if all(poly.is_number(term.above) for term in terms):
            # 1/a + 1/b + 1/c, which above one line is b·c + a·c + a·b.
            terms.sort(key=lambda term: _monomial_order(next(iter(term.below))))
        return _sum(self._term(term) for term in terms)

    def _term(self, value: Ratio) -> Expression:
        return self._factored(value, _pieces(poly.primitive(value.above)[1]))

    def _divided(self, value: Ratio) -> list[Expression]:
        """Return the polynomial that the fraction contains, plus the rest, if there is such a polynomial."""
        try:
            quotient, rest = poly.divide_with_rest(value.above, value.below)
        except TooLarge:
            return []
        if not quotient or not rest:
            return []
        return [_sum((self.rational(Ratio(quotient, poly.ONE)), self._term(ratio(rest, value.below))))]

    def _factored(self, value: Ratio, upper: list[tuple[Polynomial, int]]) -> Expression:
        """Return number · factors above / factors below."""
        under, below = poly.primitive(value.below)
        size = Fraction(poly.primitive(value.above)[0], under)
        divisors = [power(self.polynomial(p), -m) for p, m in _pieces(below)]
        ways = [multiply((Constant(size), *(power(self.polynomial(p), m) for p, m in upper), *divisors))]
        # 0.5·(2·a + b) is shorter as a + 0.5·b.
        for index, (piece, multiplicity) in enumerate(upper):
            if len(piece) > 1 and multiplicity == 1 and size != 1:
                inside = [power(self.polynomial(p), m) for p, m in upper]
                inside[index] = self.polynomial(piece, size)
                ways.append(multiply((*inside, *divisors)))
                break
        return _shortest(ways)

    def polynomial(self, p: Polynomial, factor: Fraction = _ONE) -> Expression:
        """Return factor · p as a sum of terms."""
        return _sum(self._monomial(m, p[m] * factor) for m in sorted(p, key=_monomial_order))

    def _monomial(self, monomial: Monomial, coefficient: Fraction) -> Expression:
        if monomial and monomial[-1][0][0] == COLUMN:
            # Columns only: the general product has nothing to collect.
            factors: list[Expression] = [
                Column(n[1:]) if e == 1 else Power(Column(n[1:]), e) for n, e in monomial
            ]
            factors = factors if coefficient == 1 else [Constant(coefficient), *factors]
            return factors[0] if len(factors) == 1 else Product(factors)
        powers = [power(self._variable(name), exponent) for name, exponent in monomial]
        return multiply((Constant(coefficient), *powers))

    def _variable(self, name: str) -> Expression:
        return Column(name[1:]) if name[0] == COLUMN else self.atoms[name]


def _gathered(
    above: Polynomial, below: Polynomial, inside: Polynomial, *, whole: bool
) -> tuple[Polynomial, Polynomial, Fraction]:
    """Return above and below without the factors that join sqrt(inside), and the exponent it gets by them."""
    rest = poly.divide(below, inside)
    if rest is not None:
        return above, rest, -HALF
    exponent = HALF
    while whole and (rest := poly.divide(above, inside)) is not None:
        above, exponent = rest, exponent + 1
    return above, below, exponent


def _pieces(p: Polynomial) -> list[tuple[Polynomial, int]]:
    try:
        pieces = poly.square_free(p)
    except TooLarge:
        pieces = [(p, 1)]
    return sorted(pieces, key=lambda piece: (len(piece[0]), *(_monomial_order(m) for m in sorted(piece[0]))))


def _monomial_order(monomial: Monomial) -> tuple[object, ...]:
    return (-sum(exponent for _, exponent in monomial), [(name, -exponent) for name, exponent in monomial])


def _has_column_factor(product: Product) -> bool:
    return sum(not isinstance(factor, Constant) for factor in product.factors) > 1


def _shortest(ways: list[Expression]) -> Expression:
    return min(ways, key=lambda way: way.complexity)


def _sum(terms: Iterable[Expression]) -> Expression:
    """Return the sum with a positive term in front, where there is one."""
    parts = list(terms)
    first = next((i for i, term in enumerate(parts) if not term.fraction().negative), 0)
    if first:
        parts.insert(0, parts.pop(first))
    return add(parts)
