"""The algebra behind `Expression.simplify`, `equals` and `solve_for`: one exact normal form.

An expression becomes a sum of classes: rational function · |A| · sqrt(R), with A and R square-free polynomials.
A product of two roots is one root again, sqrt(R) · sqrt(S) = |G| · sqrt(R·S / G²) with G = gcd(R, S), so that each
class is written in one way only. A root that occurs says that its radicand is not negative; where the radicand
divides an A, the absolute value is dropped. What cannot be brought to this form (a root of a root, one divided by
a sum of roots, an expansion of thousands of terms) becomes a variable of its own, named by its canonical text.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from . import _expression_polynomial as poly
from ._expression_polynomial import Frozen, Polynomial, TooLarge
from .errors import invalid
from .expression import HALF, Column, Constant, Expression, Power, Product, Sum, add, multiply, power

UNIT: Frozen = poly.freeze(poly.ONE)
_MAX_RADICAND_TERMS = 60


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
ONE: Normal = {PLAIN: Ratio(poly.ONE, poly.ONE)}


class Undefined(Exception):
    """A division by zero, whatever the columns hold."""


def ratio(above: Polynomial, below: Polynomial) -> Ratio:
    """Return above / below in lowest terms."""
    if not above:
        return Ratio({}, poly.ONE)
    if below == poly.ONE:
        return Ratio(above, below)
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

    Attributes
    ----------
    nonnegative
        Radicands of roots, which hold for granted: |A| becomes A where one divides A.
    roots
        The radicands met so far.
    atoms
        What the variables that are no columns stand for.
    """

    def __init__(self, nonnegative: frozenset[Frozen] = frozenset()) -> None:
        # The longest first: what a product of columns decides is not decided again by its parts.
        self.nonnegative = [dict(p) for p in sorted(nonnegative, key=lambda p: (-len(p), p))]
        self.roots: set[Frozen] = set()
        self.atoms: dict[str, Expression] = {}

    def normal(self, expression: Expression) -> Normal:
        """Return the normal form; a part that is too large to expand becomes an atom."""
        try:
            return self._normal(expression)
        except TooLarge:
            return self.atom(_rebuilt(expression))

    def _normal(self, expression: Expression) -> Normal:
        if isinstance(expression, Column):
            return {PLAIN: Ratio(poly.variable("c" + expression.name), poly.ONE)}
        if isinstance(expression, Constant):
            return _constant(expression.value)
        if isinstance(expression, Sum):
            return self._sum(expression)
        if isinstance(expression, Product):
            result = ONE
            for factor in expression.factors:
                result = self.multiply(result, self.normal(factor))
            return result
        assert isinstance(expression, Power)
        base = self.normal(expression.base)
        exponent = expression.exponent
        if exponent.denominator == 1:
            return self.raise_to(base, int(exponent))
        whole = (exponent - HALF) if exponent > 0 else (exponent + HALF)
        root = self.root(base)
        root = root if exponent > 0 else self.inverse(root)
        return self.multiply(self.raise_to(base, int(whole)), root)

    def _sum(self, expression: Sum) -> Normal:
        result: Normal = {}
        for term in expression.terms:
            for kind, value in self.normal(term).items():
                total = add_ratios(result[kind], value) if kind in result else value
                if total.above:
                    result[kind] = total
                else:
                    result.pop(kind, None)
        return result

    def atom(self, expression: Expression) -> Normal:
        """Return a variable that stands for an expression as a whole."""
        name = "o" + str(expression)
        self.atoms[name] = expression
        return {PLAIN: Ratio(poly.variable(name), poly.ONE)}

    def multiply(self, a: Normal, b: Normal) -> Normal:
        """Return a · b."""
        result: Normal = {}
        for first, f in a.items():
            for second, g in b.items():
                kind, factor = self._combine(first, second)
                value = multiply_ratios(f, g)
                if factor is not None:
                    value = multiply_ratios(value, Ratio(factor, poly.ONE))
                if kind in result:
                    value = add_ratios(result[kind], value)
                result[kind] = value
        return {kind: value for kind, value in result.items() if value.above}

    def _combine(self, a: Class, b: Class) -> tuple[Class, Polynomial | None]:
        """Return the class of a product of classes, and what comes out of it as a polynomial."""
        if a == PLAIN or b == PLAIN:
            return (b if a == PLAIN else a), None
        # |A|·|B| = G²·|AB/G²|
        absolute, factor = _merge(dict(a.absolute), dict(b.absolute))
        factor = poly.multiply(factor, factor)
        # sqrt(R)·sqrt(S) = |G|·sqrt(RS/G²), and |G| joins the absolute value.
        root, common = _merge(dict(a.root), dict(b.root))
        absolute, square = _merge(absolute, common)
        factor = poly.multiply(factor, poly.multiply(square, square))
        return self._class(absolute, root, factor)

    def _class(self, absolute: Polynomial, root: Polynomial, factor: Polynomial) -> tuple[Class, Polynomial]:
        """Return |absolute| · sqrt(root) as a class and a polynomial factor, using what is not negative."""
        size, absolute = poly.primitive(absolute)
        factor = poly.scale(factor, abs(size))
        for known in self.nonnegative if len(absolute) > 1 or absolute != poly.ONE else ():
            quotient = poly.divide(absolute, known)
            if quotient is not None:
                size, absolute = poly.primitive(quotient)
                factor = poly.scale(poly.multiply(factor, known), abs(size))
        return Class(poly.freeze(absolute), poly.freeze(root)), factor

    def raise_to(self, base: Normal, exponent: int) -> Normal:
        """Return base ** exponent."""
        if exponent < 0:
            return self.raise_to(self.inverse(base), -exponent)
        if len(base) == 1 and PLAIN in base:
            above, below = base[PLAIN]
            return {PLAIN: Ratio(poly.raise_to(above, exponent), poly.raise_to(below, exponent))}
        result = ONE
        while exponent:
            if exponent & 1:
                result = self.multiply(result, base)
            exponent >>= 1
            if exponent:
                base = self.multiply(base, base)
        return result

    def inverse(self, base: Normal) -> Normal:
        """Return 1 / base; a sum that holds roots is divided by as a whole."""
        if not base:
            raise Undefined
        if len(base) > 1:
            return self.inverse(self.atom(self.expression(base)))
        ((kind, (above, below)),) = base.items()
        plain: Normal = {PLAIN: ratio(below, above)}
        if kind == PLAIN:
            return plain
        # 1 / (|A|·sqrt(R)) = |A|·sqrt(R) / (A²·|R|), and 1 / |R| = |R| / R².
        absolute, root = dict(kind.absolute), dict(kind.root)
        square = poly.multiply(absolute, absolute)
        result = self.multiply(plain, {kind: ratio(poly.ONE, square)})
        if root != poly.ONE:
            beside, factor = self._class(root, poly.ONE, poly.ONE)
            below_root = ratio(factor, poly.multiply(root, root))
            result = self.multiply(result, {beside: below_root})
        return result

    def root(self, base: Normal) -> Normal:
        """Return the square root of a normal form."""
        if not base:
            return {}
        if len(base) > 1 or PLAIN not in base:
            base = self.atom(self.expression(base))
        above, below = base[PLAIN]
        if len(above) > _MAX_RADICAND_TERMS or len(below) > _MAX_RADICAND_TERMS:
            raise TooLarge
        # sqrt(N / D) = sqrt(N·D) / |D|: the radicand is a polynomial, its pairs of factors go outside.
        (first, positive), (second, _) = poly.primitive(above), poly.primitive(below)
        outside, inside = _square_part(abs(first) * second)
        radicand = {(): inside if first > 0 else -inside}
        result: Normal = {PLAIN: ratio({(): outside}, {(): second})}
        pieces = [(p, m, m // 2) for p, m in poly.square_free(positive)]
        pieces += [(p, m, -((m + 1) // 2)) for p, m in poly.square_free(below)]
        for piece, multiplicity, exponent in pieces:
            if multiplicity % 2:
                radicand = poly.multiply(radicand, piece)
            result = self.multiply(result, self._absolute_power(piece, exponent))
        self.roots.add(poly.freeze(_signed_primitive(radicand)))
        return self.multiply(result, {Class(UNIT, poly.freeze(radicand)): Ratio(poly.ONE, poly.ONE)})

    def _absolute_power(self, piece: Polynomial, exponent: int) -> Normal:
        """Return |piece| ** exponent for a square-free polynomial."""
        # An odd power keeps one |piece|, over one more factor where it divides.
        odd = exponent % 2
        even = poly.raise_to(piece, abs(exponent - odd))
        plain: Normal = {PLAIN: Ratio(even, poly.ONE) if exponent >= 0 else ratio(poly.ONE, even)}
        if not odd:
            return plain
        kind, factor = self._class(piece, poly.ONE, poly.ONE)
        return self.multiply(plain, {kind: Ratio(factor, poly.ONE)})

    # Back to a tree

    def expression(self, normal: Normal) -> Expression:
        """Return the canonical tree of a normal form."""
        parts = [self._class_expression(kind, value) for kind, value in sorted(normal.items(), key=_order)]
        return _ordered_sum(parts)

    def _class_expression(self, kind: Class, value: Ratio) -> Expression:
        above, below = value
        extra: list[Expression] = []
        absolute, root = dict(kind.absolute), dict(kind.root)
        inverse: list[Expression] = []
        if absolute != poly.ONE:
            # |A| / A² is 1 / |A|.
            rest = poly.divide(below, poly.multiply(absolute, absolute))
            size = power(power(self._polynomial(absolute), 2), HALF)
            if rest is None:
                extra.append(size)
            else:
                below = rest
                divided = poly.divide(root, absolute)
                inner = None if divided is None else ratio(divided, absolute)
                if inner is None:
                    inverse.append(power(size, -1))
                else:
                    # sqrt(A·B) / |A| is sqrt(B / A).
                    extra.append(power(self._rational(inner), HALF))
                    root = poly.ONE
        if root != poly.ONE:
            outer, inner_root = HALF, _signed_primitive(root)
            rest = poly.divide(below, root)
            if rest is not None:
                below, outer = rest, -HALF
            while len(root) == 1 and outer > 0 and (more := poly.divide(above, inner_root)) is not None:
                if inner_root != root or len(inner_root) != 1 or inner_root == poly.ONE or () in inner_root:
                    break
                above, outer = more, outer + 1
            (inverse if outer < 0 else extra).append(power(self._polynomial(root), outer))
        rational = self._rational(Ratio(above, below))
        upper = rational.factors if isinstance(rational, Product) else (rational,)
        lower = [factor for factor in upper if isinstance(factor, Power) and factor.exponent < 0]
        return multiply((*(factor for factor in upper if factor not in lower), *extra, *lower, *inverse))

    def _rational(self, value: Ratio) -> Expression:
        """Return the shortest of the ways to write a rational function."""
        expanded = self._expanded(value)
        factored = self._factored(value)
        ways = [expanded, factored] if len(value.below) == 1 and () in value.below else [factored, expanded]
        return min(ways, key=lambda way: way.complexity)

    def _expanded(self, value: Ratio) -> Expression:
        """Return the sum of the terms above, each over what is below."""
        if len(value.below) > 1:
            ((size, below),) = (poly.primitive(value.below),)
            return multiply(
                (self._polynomial(value.above, Fraction(1, size)), power(self._polynomial(below), -1))
            )
        terms = (ratio({m: value.above[m]}, value.below) for m in sorted(value.above, key=_monomial_order))
        return _ordered_sum([self._factored(term) for term in terms])

    def _factored(self, value: Ratio) -> Expression:
        """Return number · factors above / factors below."""
        over, above = poly.primitive(value.above)
        under, below = poly.primitive(value.below)
        size = Fraction(over, under)
        upper = [(p, m) for p, m in poly.square_free(above)]
        lower = [power(self._polynomial(p), -m) for p, m in sorted(poly.square_free(below), key=_piece_order)]
        upper.sort(key=_piece_order)
        ways = [[Constant(size)] + [power(self._polynomial(p), m) for p, m in upper]]
        # 0.5·(2a + b) may be shorter as a + 0.5·b.
        for index, (piece, multiplicity) in enumerate(upper):
            if len(piece) > 1 and multiplicity == 1:
                inside = [power(self._polynomial(p), m) for p, m in upper]
                inside[index] = self._polynomial(piece, size)
                ways.append(inside)
                break
        return min((multiply((*way, *lower)) for way in ways), key=lambda way: way.complexity)

    def _polynomial(self, p: Polynomial, factor: Fraction = Fraction(1)) -> Expression:
        return _ordered_sum([self._monomial(m, p[m] * factor) for m in sorted(p, key=_monomial_order)])

    def _monomial(self, monomial: poly.Monomial, coefficient: Fraction) -> Expression:
        powers = [power(self._variable(name), exponent) for name, exponent in monomial]
        return multiply((Constant(coefficient), *powers))

    def _variable(self, name: str) -> Expression:
        return Column(name[1:]) if name[0] == "c" else self.atoms[name]


def _monomial_order(monomial: poly.Monomial) -> tuple[object, ...]:
    return (-sum(exponent for _, exponent in monomial), [(name, -exponent) for name, exponent in monomial])


def _piece_order(piece: tuple[Polynomial, int]) -> tuple[object, ...]:
    return (len(piece[0]), [_monomial_order(m) for m in sorted(piece[0], key=_monomial_order)], piece[1])


def _order(item: tuple[Class, Ratio]) -> tuple[object, ...]:
    return (item[0] != PLAIN, item[0])


def _ordered_sum(terms: list[Expression]) -> Expression:
    """Return the sum with a positive term in front, where there is one."""
    first = next((i for i, term in enumerate(terms) if not term.fraction().negative), 0)
    if first:
        terms.insert(0, terms.pop(first))
    return add(terms) if len(terms) != 1 else terms[0]


def _constant(value: Fraction) -> Normal:
    return {PLAIN: Ratio({(): value.numerator}, {(): value.denominator})} if value else {}


def _signed_primitive(p: Polynomial) -> Polynomial:
    size = poly.content(p)
    return p if size == 1 else {monomial: coefficient // size for monomial, coefficient in p.items()}


def _merge(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return (a·b / g², g) with g the greatest common divisor."""
    if a == poly.ONE or b == poly.ONE:
        return (b if a == poly.ONE else a), poly.ONE
    common = poly.gcd(a, b)
    return poly.multiply(poly.exact_quotient(a, common), poly.exact_quotient(b, common)), common


def _square_part(number: int) -> tuple[int, int]:
    """Return (s, r) with number = s² · r, r free of the squares of small primes."""
    outside, inside = 1, 1
    for prime in range(2, 1000):
        if prime * prime > number:
            break
        while number % (prime * prime) == 0:
            number //= prime * prime
            outside *= prime
    root = isqrt(number)
    return (outside * root, inside) if root * root == number else (outside, number)


def _rebuilt(expression: Expression) -> Expression:
    """Return the expression with its parts simplified, where the whole is too large to expand."""
    if isinstance(expression, Sum):
        return add(sorted((term.simplify() for term in expression.terms), key=str))
    if isinstance(expression, Product):
        return multiply(sorted((factor.simplify() for factor in expression.factors), key=str))
    if isinstance(expression, Power):
        return power(expression.base.simplify(), expression.exponent)
    return expression


def _settled(expression: Expression) -> tuple[Algebra, Normal]:
    """Return the normal form under all that the roots in it say about signs."""
    known: frozenset[Frozen] = frozenset()
    while True:
        algebra = Algebra(known)
        normal = algebra.normal(expression)
        found = algebra.roots | {poly.freeze(_signed_primitive(dict(kind.root))) for kind in normal}
        found.discard(UNIT)
        if found <= known:
            return algebra, normal
        known |= found


def simplify(expression: Expression) -> Expression:
    """Return the canonical tree; see `Expression.simplify`."""
    try:
        algebra, normal = _settled(expression)
    except Undefined:
        return Power(Constant(0), -1)
    return algebra.expression(normal)


def equals(a: Expression, b: Expression) -> bool:
    """Whether two expressions have one normal form; see `Expression.equals`."""
    return _key(a) == _key(b)


def _key(expression: Expression) -> object:
    def compute() -> object:
        try:
            return _settled(expression)[1]
        except Undefined:
            return None

    return expression._remember("normal", compute)


def solve_for(expression: Expression, name: str, target: str) -> Expression | None:
    """Return the column from ``target = expression``; see `Expression.solve_for`."""
    if name not in expression.columns:
        raise invalid("name", f"must be a column of the formula {expression}", name)
    if target in expression.columns:
        raise invalid("target", "must not be a column of the formula", target)
    return _linear(expression, name, Column(target)) or _inverted(expression, name, Column(target))


def _linear(expression: Expression, name: str, target: Expression) -> Expression | None:
    """Solve N / D = target where N - target · D is linear in the column."""
    return None


def _inverted(expression: Expression, name: str, target: Expression) -> Expression | None:
    return None
