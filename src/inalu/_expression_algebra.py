"""The algebra behind `Expression.simplify` and `equals`: one exact normal form for every formula.

A formula becomes a sum of classes, each a rational function times |A| · sqrt(R), with A and R square-free
polynomials. A product of two roots is again one root, sqrt(R) · sqrt(S) = |G| · sqrt(R·S / G²) with the
common divisor G of R and S, so that each class is written in one way only. A root that occurs says that its
radicand is not negative; where the radicand divides an A, the absolute value is dropped.

What has no such form (a root of a sum of roots, a division by one, an expansion of hundreds of terms) becomes
an atom: a variable of its own, named by its canonical text.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import gcd as whole_gcd
from math import isqrt, lcm
from typing import NamedTuple

from . import _expression_polynomial as poly
from ._expression_numbers import HALF
from ._expression_polynomial import Frozen, Polynomial, TooLarge
from .expression import Column, Constant, Expression, Power, Product, Sum

UNIT: Frozen = poly.freeze(poly.ONE)
# Factoring longer radicands takes longer than it is worth.
_MAX_RADICAND_TERMS = 60
# The first letter of a variable says what it is.
COLUMN, ATOM = "c", "o"


class Ratio(NamedTuple):
    """A rational function in lowest terms; the leading coefficient below is positive."""

    above: Polynomial
    below: Polynomial


class Class(NamedTuple):
    """What stands beside a rational function: |absolute| · sqrt(root)."""

    absolute: Frozen
    root: Frozen


Normal = dict[Class, Ratio]
PLAIN = Class(UNIT, UNIT)
WHOLE = Ratio(poly.ONE, poly.ONE)
ONE: Normal = {PLAIN: WHOLE}


DIVISION_BY_ZERO = Power(Constant(0), -1)


class Undefined(Exception):
    """A division by zero or a root of a negative number, whatever the columns hold."""


def ratio(above: Polynomial, below: Polynomial) -> Ratio:
    """Return above / below in lowest terms."""
    if not above:
        return Ratio({}, poly.ONE)
    if below == poly.ONE:
        return Ratio(above, below)
    if poly.is_number(below):
        # By far the most common case: decimal weights.
        size = below[()]
        common_size = whole_gcd(size, *above.values()) * (1 if size > 0 else -1)
        return Ratio(poly.divide_by_number(above, common_size), {(): size // common_size})
    common = poly.gcd(above, below)
    if common != poly.ONE:
        above, below = poly.exact_quotient(above, common), poly.exact_quotient(below, common)
    if below[poly.leading(below)] < 0:
        above, below = poly.scale(above, -1), poly.scale(below, -1)
    return Ratio(above, below)


def add_ratios(a: Ratio, b: Ratio) -> Ratio:
    """Return a + b."""
    if a.below == b.below:
        return ratio(poly.add(a.above, b.above), a.below)
    if poly.is_number(a.below) and poly.is_number(b.below):
        size = lcm(a.below[()], b.below[()])
        above = poly.scale(a.above, size // a.below[()])
        return ratio(poly.add(above, b.above, size // b.below[()]), {(): size})
    common = poly.gcd(a.below, b.below)
    left, right = poly.exact_quotient(b.below, common), poly.exact_quotient(a.below, common)
    above = poly.add(poly.multiply(a.above, left), poly.multiply(b.above, right))
    return ratio(above, poly.multiply(a.below, left))


def multiply_ratios(a: Ratio, b: Ratio) -> Ratio:
    """Return a · b."""
    if a.below == poly.ONE and b.below == poly.ONE:
        return Ratio(poly.multiply(a.above, b.above), poly.ONE)
    # Cancelling crosswise first keeps the products small.
    first, second = ratio(a.above, b.below), ratio(b.above, a.below)
    return Ratio(poly.multiply(first.above, second.above), poly.multiply(first.below, second.below))


class Algebra:
    """Brings expressions to normal form, knowing that some polynomials are not negative.

    Parameters
    ----------
    nonnegative
        Radicands that hold for granted: |A| becomes A where one of them divides A.
    rationalise
        Whether to clear roots from below the line: needed to compare, but x = 1 then has no value in
        1 / (1 + sqrt(x)), so `simplify` does not.

    Attributes
    ----------
    roots
        The radicands met so far.
    atoms
        What the variables that are no columns stand for.
    has_sizes
        Whether the absolute value of anything but a number came up.
    """

    def __init__(self, nonnegative: frozenset[Frozen] = frozenset(), *, rationalise: bool = False) -> None:
        # The longest first: what a product of columns decides is not decided again by its parts.
        degree = {p: sum(e for monomial, _ in p for _, e in monomial) for p in nonnegative}
        self.nonnegative = [dict(p) for p in sorted(nonnegative, key=lambda p: (-len(p), -degree[p], p))]
        self.rationalise = rationalise
        self.roots: set[Frozen] = set()
        self.atoms: dict[str, Expression] = {}
        self.has_sizes = False

    def normal(self, expression: Expression) -> Normal:
        """Return the normal form; what is too large to expand becomes an atom."""
        try:
            return self._normal(expression)
        except TooLarge:
            from ._expression_simplify import collected

            return self.atom(collected(expression))

    def _normal(self, expression: Expression) -> Normal:
        if isinstance(expression, Column):
            return {PLAIN: Ratio(poly.variable(COLUMN + expression.name), poly.ONE)}
        if isinstance(expression, Constant):
            return _constant(expression.value)
        if isinstance(expression, Sum):
            return self.total([self.normal(term) for term in expression.terms])
        if isinstance(expression, Product):
            return self._product(expression)
        assert isinstance(expression, Power)
        base = self.normal(expression.base)
        if expression.exponent.denominator == 1:
            return self._raised(base, int(expression.exponent))
        # x ** -1.5 is 1 / (x · sqrt(x)).
        whole = self._raised(base, int(abs(expression.exponent) - HALF))
        result = self.multiply(whole, self.root(base))
        return result if expression.exponent > 0 else self.inverse(result)

    def _product(self, expression: Product) -> Normal:
        # Equal factors meet before anything is expanded: they cancel even where they are sums of roots.
        powers: dict[Expression, int] = {}
        for factor in expression.factors:
            if factor == DIVISION_BY_ZERO:
                raise Undefined
            if isinstance(factor, Power) and factor.exponent.denominator == 1:
                powers[factor.base] = powers.get(factor.base, 0) + int(factor.exponent)
            else:
                powers[factor] = powers.get(factor, 0) + 1
        factors = [self._raised(self.normal(base), exponent) for base, exponent in powers.items()]
        try:
            return reduce(self.multiply, factors, ONE)
        except TooLarge:
            return reduce(self.multiply, map(self._folded, factors), ONE)

    def _raised(self, base: Normal, exponent: int) -> Normal:
        try:
            return self.raise_to(base, exponent)
        except TooLarge:
            return self.raise_to(self._folded(base), exponent)

    def _folded(self, normal: Normal) -> Normal:
        """Return a normal form whose polynomials of several terms are atoms: no product of it is expanded."""
        if not set(normal) <= {PLAIN}:
            return self.atom(self.expression(normal))
        result = ONE
        for p, exponent in ((normal[PLAIN].above, 1), (normal[PLAIN].below, -1)) if normal else ():
            size, positive = poly.primitive(p)
            part = self.multiply(_constant(Fraction(size)), self._atom_of(positive))
            result = self.multiply(result, self.raise_to(part, exponent))
        return result if normal else {}

    def _atom_of(self, p: Polynomial) -> Normal:
        plain: Normal = {PLAIN: Ratio(p, poly.ONE)}
        return plain if len(p) == 1 else self.atom(self.expression(plain))

    def total(self, parts: list[Normal]) -> Normal:
        """Return the sum of normal forms."""
        whole: dict[Class, Polynomial] = {}
        result: Normal = {}
        for part in parts:
            for kind, value in part.items():
                if value.below == poly.ONE:
                    poly.add_to(whole.setdefault(kind, {}), value.above)
                else:
                    result[kind] = add_ratios(result[kind], value) if kind in result else value
        for kind, above in whole.items():
            if len(above) > poly.MAX_TERMS:
                raise TooLarge
            value = Ratio(above, poly.ONE)
            result[kind] = add_ratios(result[kind], value) if kind in result else value
        return {kind: value for kind, value in result.items() if value.above}

    def atom(self, expression: Expression) -> Normal:
        """Return a variable that stands for a whole expression."""
        name = ATOM + str(expression)
        self.atoms[name] = expression
        return {PLAIN: Ratio(poly.variable(name), poly.ONE)}

    def multiply(self, a: Normal, b: Normal) -> Normal:
        """Return a · b."""
        result: Normal = {}
        for first, f in a.items():
            for second, g in b.items():
                value = multiply_ratios(f, g)
                if first == PLAIN or second == PLAIN:
                    kind = second if first == PLAIN else first
                else:
                    kind, factor = self._combined(first, second)
                    value = multiply_ratios(value, Ratio(factor, poly.ONE))
                result[kind] = add_ratios(result[kind], value) if kind in result else value
        return {kind: value for kind, value in result.items() if value.above}

    def _combined(self, a: Class, b: Class) -> tuple[Class, Polynomial]:
        """Return the class of a product of classes, and the polynomial that comes out of it."""
        # |A|·|B| = G²·|AB/G²|
        absolute, common = _merged(dict(a.absolute), dict(b.absolute))
        # sqrt(R)·sqrt(S) = |G|·sqrt(RS/G²), and |G| joins the absolute value.
        root, shared = _merged(dict(a.root), dict(b.root))
        absolute, square = _merged(absolute, shared)
        factor = poly.multiply(common, square)
        kind, outside = self._size(absolute)
        return Class(kind.absolute, poly.freeze(root)), poly.multiply(poly.multiply(factor, factor), outside)

    def _size(self, p: Polynomial) -> tuple[Class, Polynomial]:
        """Return |p|, for a square-free p, as a class and a factor, by what is known not to be negative."""
        size, p = poly.primitive(p)
        factor: Polynomial = {(): abs(size)}
        self.has_sizes |= p != poly.ONE
        for known in self.nonnegative if p != poly.ONE else ():
            quotient = poly.divide(p, known)
            if quotient is not None:
                size, p = poly.primitive(quotient)
                factor = poly.scale(poly.multiply(factor, known), abs(size))
        return Class(poly.freeze(p), UNIT), factor

    def raise_to(self, base: Normal, exponent: int) -> Normal:
        """Return base ** exponent for a whole exponent."""
        if exponent < 0:
            return self.raise_to(self.inverse(base), -exponent)
        if len(base) == 1 and PLAIN in base:
            above, below = base[PLAIN]
            return {PLAIN: Ratio(poly.raise_to(above, exponent), poly.raise_to(below, exponent))}
        if exponent > poly.MAX_DEGREE:
            raise TooLarge
        result = ONE
        while exponent:
            if exponent & 1:
                result = self.multiply(result, base)
            exponent >>= 1
            if exponent:
                base = self.multiply(base, base)
        return result

    def inverse(self, base: Normal) -> Normal:
        """Return 1 / base."""
        if not base:
            raise Undefined
        if len(base) > 1:
            return self._inverse_of_sum(base)
        ((kind, (above, below)),) = base.items()
        plain: Normal = {PLAIN: ratio(below, above)}
        if kind == PLAIN:
            return plain
        # 1 / (|A|·sqrt(R)) = |A|·sqrt(R) / (A²·|R|), and 1 / |R| = |R| / R².
        absolute, root = dict(kind.absolute), dict(kind.root)
        result = self.multiply(plain, {kind: Ratio(poly.ONE, poly.multiply(absolute, absolute))})
        if root == poly.ONE:
            return result
        size, factor = self._size(root)
        return self.multiply(result, {size: ratio(factor, poly.multiply(root, root))})

    def _inverse_of_sum(self, base: Normal) -> Normal:
        if self.rationalise and len(base) <= 3:
            # (u + w) · (u - w) = u² - w² has fewer roots.
            last = max(base)
            conjugate = {
                k: Ratio(poly.scale(v.above, -1), v.below) if k == last else v for k, v in base.items()
            }
            norm = self.multiply(base, conjugate)
            if norm and len(norm) < len(base):
                return self.multiply(conjugate, self.inverse(norm))
        return self.inverse(self._sum_as_atom(base))

    def _sum_as_atom(self, base: Normal) -> Normal:
        """Return a sum of classes as its common factor times an atom, so that multiples share the atom."""
        above = reduce(poly.gcd, (value.above for value in base.values()))
        below = reduce(poly.least_common_multiple, (value.below for value in base.values()))
        first = base[min(base)].above
        if first[poly.leading(first)] < 0:
            above = poly.scale(above, -1)
        rest = self.multiply(base, {PLAIN: ratio(below, above)})
        return self.multiply({PLAIN: ratio(above, below)}, self.atom(self.expression(rest)))

    def root(self, base: Normal) -> Normal:
        """Return the square root."""
        if not base:
            return {}
        if len(base) > 1:
            base = self._sum_as_atom(base)
        elif PLAIN not in base:
            # |A| · sqrt(R) is not negative, so under the root it may stand as one variable.
            ((kind, value),) = base.items()
            base = self.multiply({PLAIN: value}, self.atom(self.expression({kind: WHOLE})))
        above, below = base[PLAIN]
        if len(above) > _MAX_RADICAND_TERMS or len(below) > _MAX_RADICAND_TERMS:
            raise TooLarge
        # sqrt(N / D) = sqrt(N·D) / |D|: the radicand is a polynomial, its pairs of factors go outside.
        (first, positive), (second, _) = poly.primitive(above), poly.primitive(below)
        if first < 0 and positive == poly.ONE and below == {(): second}:
            raise Undefined
        outside, inside = _square_part(abs(first) * second)
        radicand: Polynomial = {(): inside if first > 0 else -inside}
        result: Normal = {PLAIN: ratio({(): outside}, {(): second})}
        pieces = [(p, m, m // 2) for p, m in poly.square_free(positive)]
        pieces += [(p, m, -((m + 1) // 2)) for p, m in poly.square_free(below)]
        for piece, multiplicity, exponent in pieces:
            if multiplicity % 2:
                radicand = poly.multiply(radicand, piece)
            result = self.multiply(result, self._size_power(piece, exponent))
        self.roots.add(poly.freeze(signed_primitive(radicand)))
        return self.multiply(result, {Class(UNIT, poly.freeze(radicand)): WHOLE})

    def _size_power(self, piece: Polynomial, exponent: int) -> Normal:
        """Return |piece| ** exponent for a square-free polynomial."""
        # An odd power keeps one |piece|; below the line it stands over one factor more.
        odd = exponent % 2
        even = poly.raise_to(piece, abs(exponent - odd))
        plain: Normal = {PLAIN: Ratio(even, poly.ONE) if exponent >= 0 else ratio(poly.ONE, even)}
        if not odd:
            return plain
        kind, factor = self._size(piece)
        return self.multiply(plain, {kind: Ratio(factor, poly.ONE)})

    def expression(self, normal: Normal) -> Expression:
        """Return the canonical tree of a normal form."""
        from ._expression_canonical import Canonical

        return Canonical(self.atoms).expression(normal)

    def unfolded(self, normal: Normal) -> Normal:
        """Return a normal form without atoms above the line, as far as they can be expanded."""
        try:
            for _ in range(4):
                if not any(_atoms_of(value.above) for value in normal.values()):
                    break
                unfolded = self.total([self._unfolded(kind, value) for kind, value in normal.items()])
                if unfolded == normal:
                    break
                normal = unfolded
        except TooLarge:
            pass
        return normal

    def _unfolded(self, kind: Class, value: Ratio) -> Normal:
        parts = []
        for monomial, coefficient in value.above.items():
            columns = tuple(pair for pair in monomial if pair[0] not in self.atoms)
            part: Normal = {kind: ratio({columns: coefficient}, value.below)}
            for name, exponent in monomial:
                if name in self.atoms:
                    part = self.multiply(part, self.raise_to(self.normal(self.atoms[name]), exponent))
            parts.append(part)
        return self.total(parts)


def _atoms_of(p: Polynomial) -> bool:
    return any(name[0] == ATOM for monomial in p for name, _ in monomial)


def _constant(value: Fraction) -> Normal:
    return {PLAIN: Ratio({(): value.numerator}, {(): value.denominator})} if value else {}


def signed_primitive(p: Polynomial) -> Polynomial:
    """Return p without its numerical factor, but with its sign."""
    return poly.divide_by_number(p, poly.content(p))


def _merged(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return (a·b / g², g) with g the greatest common divisor."""
    if a == poly.ONE or b == poly.ONE:
        return (b if a == poly.ONE else a), poly.ONE
    common = poly.gcd(a, b)
    return poly.multiply(poly.exact_quotient(a, common), poly.exact_quotient(b, common)), common


def _square_part(number: int) -> tuple[int, int]:
    """Return (s, r) with number = s² · r, r free of the squares of small primes."""
    outside, rest = 1, number
    for prime in range(2, 1000):
        while rest % (prime * prime) == 0:
            rest //= prime * prime
            outside *= prime
    root = isqrt(rest)
    return (outside * root, 1) if root * root == rest else (outside, rest)
