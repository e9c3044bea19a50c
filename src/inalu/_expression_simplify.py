"""`Expression.simplify` and `Expression.equals`, from the normal form of ``_expression_algebra.py``."""

from __future__ import annotations

from fractions import Fraction

from . import _expression_polynomial as poly
from ._expression_algebra import DIVISION_BY_ZERO, Algebra, Normal, Undefined, signed_primitive
from ._expression_polynomial import Frozen, TooLarge
from .expression import Constant, Expression, Power, Product, Sum, add, multiply, power

UNDEFINED = multiply((Constant(0), DIVISION_BY_ZERO))
_MAX_STEPS = 8


def collected(expression: Expression) -> Expression:
    """Return the expression with simplified parts, like terms and factors collected, nothing expanded."""
    if isinstance(expression, Sum):
        total = add(term.simplify() for term in expression.terms)
        amounts: dict[Expression, Fraction] = {}
        for term in total.terms if isinstance(total, Sum) else (total,):
            amount, rest = _coefficient(term)
            amounts[rest] = amounts.get(rest, Fraction(0)) + amount
        parts = [multiply((Constant(amount), rest)) for rest, amount in amounts.items() if amount]
        return _ordered_sum(parts)
    if isinstance(expression, Product):
        product = multiply(_simple_factor(factor) for factor in expression.factors)
        exponents: dict[Expression, Fraction] = {}
        for factor in product.factors if isinstance(product, Product) else (product,):
            base, exponent = (
                (factor.base, factor.exponent) if isinstance(factor, Power) else (factor, Fraction(1))
            )
            exponents[base] = exponents.get(base, Fraction(0)) + exponent
        return multiply(sorted((power(b, e) for b, e in exponents.items()), key=_factor_order))
    if isinstance(expression, Power):
        return power(expression.base.simplify(), expression.exponent)
    return expression


def _simple_factor(factor: Expression) -> Expression:
    # 1 / (a + 1 / 3) alone would become 3 / (3 * a + 1), which makes a quotient longer.
    return power(factor.base.simplify(), factor.exponent) if isinstance(factor, Power) else factor.simplify()


def _coefficient(term: Expression) -> tuple[Fraction, Expression]:
    if isinstance(term, Constant):
        return term.value, Constant(1)
    if isinstance(term, Product) and isinstance(term.factors[0], Constant):
        return term.factors[0].value, multiply(term.factors[1:])
    return Fraction(1), term


def _factor_order(factor: Expression) -> tuple[object, ...]:
    base = factor.base if isinstance(factor, Power) else factor
    return not isinstance(factor, Constant), isinstance(base, Sum), str(factor)


def _ordered_sum(terms: list[Expression]) -> Expression:
    ordered = sorted(
        terms, key=lambda term: (isinstance(term, Constant), term.fraction().negative, str(term))
    )
    return add(ordered)


def settled(expression: Expression, *, rationalise: bool = False) -> tuple[Algebra, Normal]:
    """Return the normal form under all that the roots in it say about signs."""
    known: frozenset[Frozen] = frozenset()
    while True:
        algebra = Algebra(known, rationalise=rationalise)
        normal = algebra.unfolded(algebra.normal(expression))
        found = algebra.roots | {poly.freeze(signed_primitive(dict(kind.root))) for kind in normal}
        found = {p for p in found if p and any(monomial for monomial, _ in p)}
        # What is known to be positive matters only where an absolute value came up.
        if found <= known or not algebra.has_sizes:
            return algebra, normal
        known |= found


def simplify(expression: Expression) -> Expression:
    """Return the canonical tree; see `Expression.simplify`."""
    seen: list[Expression] = []
    simple = expression
    # One step settles all but roots within roots, of which some go round in a small circle.
    while simple not in seen and len(seen) < _MAX_STEPS:
        seen.append(simple)
        simple, final = _step(simple)
        if final:
            return simple
    circle = seen[seen.index(simple) :] if simple in seen else [simple]
    return min(circle, key=lambda way: (way.complexity, str(way)))


def _step(expression: Expression) -> tuple[Expression, bool]:
    """Return a simpler or canonical form, and whether it is known to be the last."""
    try:
        algebra, normal = settled(expression)
        canonical = algebra.expression(normal)
    except Undefined:
        return UNDEFINED, True
    except TooLarge:
        return collected(expression), False
    final = not algebra.roots and not algebra.atoms
    if canonical.complexity <= expression.complexity:
        return canonical, final
    # Expanding made it longer, as it does with a / b + c / (d + e): collecting like parts is then enough.
    tidy = collected(expression)
    return (canonical, final) if canonical.complexity <= tidy.complexity else (tidy, False)


def equals(a: Expression, b: Expression) -> bool:
    """Whether two expressions have one normal form; see `Expression.equals`."""
    return key(a) == key(b)


def key(expression: Expression) -> object:
    """Return what is the same for two expressions when they are equal up to algebra."""

    def compute() -> object:
        try:
            algebra, normal = settled(expression, rationalise=True)
            if algebra.roots or algebra.atoms:
                # What a root says about signs counts only as far as the canonical tree still holds the root.
                normal = settled(expression.simplify(), rationalise=True)[1]
        except Undefined:
            return None
        except TooLarge:
            return str(expression.simplify())
        return normal

    return expression.remember("key", compute)
