"""Sparse polynomials over the whole numbers in any number of variables: what the algebra of formulas counts with.

A polynomial is a dict {monomial: coefficient}; a monomial is a tuple of (variable, exponent) pairs sorted by
variable, () being 1. Coefficients are never zero, so the zero polynomial is {} and equality is ``==``.
"""

from __future__ import annotations

from functools import reduce
from math import gcd as whole_gcd

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, int]
Frozen = tuple[tuple[Monomial, int], ...]

ONE: Polynomial = {(): 1}

# Beyond this an expansion is no formula any more; the caller keeps the product unexpanded.
MAX_TERMS = 3000
MAX_COEFFICIENT_BITS = 4096


class TooLarge(Exception):
    """An expansion would exceed the limits; never leaves the algebra of expressions."""


def variable(name: str) -> Polynomial:
    """Return the polynomial that is one variable."""
    return {((name, 1),): 1}


def freeze(p: Polynomial) -> Frozen:
    """Return a hashable form of a polynomial, the same for equal polynomials."""
    return tuple(sorted(p.items()))


def variables(p: Polynomial) -> set[str]:
    """Return the variables that occur."""
    return {name for monomial in p for name, _ in monomial}


def multiply_monomials(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not a or not b:
        return a or b
    if a[-1][0] < b[0][0]:
        return a + b
    if b[-1][0] < a[0][0]:
        return b + a
    powers = dict(a)
    for name, exponent in b:
        powers[name] = powers.get(name, 0) + exponent
    return tuple(sorted(powers.items()))


def divide_monomials(a: Monomial, b: Monomial) -> Monomial | None:
    """Return a / b, or None where b does not divide a."""
    if not b:
        return a
    powers = dict(a)
    for name, exponent in b:
        left = powers.get(name, 0) - exponent
        if left < 0:
            return None
        if left:
            powers[name] = left
        else:
            del powers[name]
    return tuple(sorted(powers.items()))


def add(p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
    """Return p + factor · q."""
    result = dict(p)
    for monomial, coefficient in q.items():
        value = result.get(monomial, 0) + factor * coefficient
        if value:
            result[monomial] = value
        else:
            result.pop(monomial, None)
    return result


def scale(p: Polynomial, factor: int) -> Polynomial:
    """Return factor · p."""
    return (
        p
        if factor == 1
        else {monomial: factor * coefficient for monomial, coefficient in p.items() if factor}
    )


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p · q; raise TooLarge beyond the limits."""
    if p == ONE or not q:
        return q
    if q == ONE or not p:
        return p
    if len(p) * len(q) > 30 * MAX_TERMS:
        raise TooLarge
    result: Polynomial = {}
    for a, first in p.items():
        for b, second in q.items():
            monomial = multiply_monomials(a, b)
            result[monomial] = result.get(monomial, 0) + first * second
    if len(result) > MAX_TERMS or max(map(abs, result.values())).bit_length() > MAX_COEFFICIENT_BITS:
        raise TooLarge
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def raise_to(p: Polynomial, exponent: int) -> Polynomial:
    """Return p ** exponent for a whole exponent of at least 0."""
    if len(p) == 1:
        ((monomial, coefficient),) = p.items()
        if coefficient.bit_length() * exponent > MAX_COEFFICIENT_BITS:
            raise TooLarge
        return {
            tuple((name, e * exponent) for name, e in monomial) if exponent else (): coefficient**exponent
        }
    result = ONE
    while exponent:
        if exponent & 1:
            result = multiply(result, p)
        exponent >>= 1
        if exponent:
            p = multiply(p, p)
    return result


def leading(p: Polynomial) -> Monomial:
    """Return the leading monomial in the lexicographic order of the variables' names."""
    # "~" follows every variable's first letter, so a missing variable counts as exponent 0.
    return min(p, key=lambda monomial: (*((name, -exponent) for name, exponent in monomial), ("~", 0)))


def content(p: Polynomial) -> int:
    """Return the greatest common divisor of the coefficients, positive; 0 for the zero polynomial."""
    return whole_gcd(*p.values())


def monomial_content(p: Polynomial) -> Monomial:
    """Return the greatest monomial that divides every term."""
    common = dict(next(iter(p)))
    for monomial in p:
        if not common:
            break
        powers = dict(monomial)
        common = {name: min(e, powers[name]) for name, e in common.items() if name in powers}
    return tuple(sorted(common.items()))


def strip_monomial(p: Polynomial, monomial: Monomial) -> Polynomial:
    """Return p divided by a monomial that divides every term."""
    if not monomial:
        return p
    return {divide_monomials(m, monomial) or (): coefficient for m, coefficient in p.items()}


def primitive(p: Polynomial) -> tuple[int, Polynomial]:
    """Return (c, q) with p = c · q, the coefficients of q coprime and its leading one positive."""
    divisor = content(p)
    if len(p) == 1:
        divisor = next(iter(p.values()))
    elif p[leading(p)] < 0:
        divisor = -divisor
    return divisor, p if divisor == 1 else {monomial: c // divisor for monomial, c in p.items()}


def divide(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Return p / q where it is a polynomial with whole coefficients, else None."""
    if q == ONE:
        return p
    if len(q) == 1:
        ((monomial, coefficient),) = q.items()
        result: Polynomial = {}
        for m, c in p.items():
            quotient = divide_monomials(m, monomial)
            if quotient is None or c % coefficient:
                return None
            result[quotient] = c // coefficient
        return result
    head = leading(q)
    result = {}
    for _ in range(MAX_TERMS):
        if not p:
            return result
        top = leading(p)
        quotient = divide_monomials(top, head)
        if quotient is None or p[top] % q[head]:
            return None
        step = p[top] // q[head]
        result[quotient] = step
        p = add(p, {multiply_monomials(quotient, m): c for m, c in q.items()}, -step)
    raise TooLarge


def in_powers_of(p: Polynomial, name: str) -> dict[int, Polynomial]:
    """Return p as {exponent of the variable: coefficient polynomial in the others}."""
    result: dict[int, Polynomial] = {}
    for monomial, coefficient in p.items():
        degree = next((e for n, e in monomial if n == name), 0)
        rest = tuple(pair for pair in monomial if pair[0] != name)
        result.setdefault(degree, {})[rest] = coefficient
    return result


def content_in(p: Polynomial, name: str) -> Polynomial:
    """Return the gcd of the coefficients of p as a polynomial in one variable."""
    return reduce(gcd, sorted(in_powers_of(p, name).values(), key=len))


def gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the greatest common divisor, its leading coefficient positive."""
    if not p or not q:
        return primitive_up_to_sign(p or q)
    if len(p) > 1 and len(q) > 1:
        common = variables(p) & variables(q)
        if common:
            return _gcd_general(p, q, common)
    monomial = _common_monomial(monomial_content(p), monomial_content(q))
    return {monomial: whole_gcd(content(p), content(q))}


def primitive_up_to_sign(p: Polynomial) -> Polynomial:
    """Return p or -p, whichever has a positive leading coefficient."""
    return scale(p, -1) if p and p[leading(p)] < 0 else p


def _common_monomial(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(b)
    return tuple((name, min(e, powers[name])) for name, e in a if name in powers)


def _gcd_general(p: Polynomial, q: Polynomial, common: set[str]) -> Polynomial:
    factor = whole_gcd(content(p), content(q))
    first, second = monomial_content(p), monomial_content(q)
    monomial = _common_monomial(first, second)
    p = primitive(strip_monomial(p, first))[1]
    q = primitive(strip_monomial(q, second))[1]
    rest = p if p == q else _gcd_primitive(p, q)
    return {multiply_monomials(monomial, m): factor * c for m, c in rest.items()}


def _gcd_primitive(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the gcd of two primitive polynomials without a monomial factor."""
    if p == q:
        return p
    first, second = variables(p), variables(q)
    for name in sorted(first - second):
        p = content_in(p, name)
        if p == ONE:
            return ONE
    first = variables(p)
    for name in sorted(second - first):
        q = content_in(q, name)
        if q == ONE:
            return ONE
    second = variables(q)
    common = first & second
    if not common:
        return ONE
    if first != second:
        return _gcd_primitive(p, q)
    name = min(sorted(common), key=lambda n: max(max(in_powers_of(p, n)), max(in_powers_of(q, n))))
    inner_p, inner_q = content_in(p, name), content_in(q, name)
    p, q = _exact(p, inner_p), _exact(q, inner_q)
    shared = gcd(inner_p, inner_q)
    return primitive(multiply(shared, _euclid(p, q, name)))[1]


def _euclid(p: Polynomial, q: Polynomial, name: str) -> Polynomial:
    """Return the gcd of two polynomials that are primitive in one variable, by primitive remainders."""
    degree_p, degree_q = max(in_powers_of(p, name)), max(in_powers_of(q, name))
    if degree_p < degree_q:
        p, q = q, p
    while q:
        if max(in_powers_of(q, name)) == 0:
            return ONE
        p, q = q, _pseudo_remainder(p, q, name)
        if q:
            q = _exact(q, content_in(q, name))
    return p


def _pseudo_remainder(p: Polynomial, q: Polynomial, name: str) -> Polynomial:
    parts = in_powers_of(q, name)
    degree = max(parts)
    head = parts[degree]
    while p:
        powers = in_powers_of(p, name)
        top = max(powers)
        if top < degree:
            break
        shift = {((name, top - degree),) if top > degree else (): 1}
        p = add(multiply(head, p), multiply(multiply(powers[top], shift), q), -1)
    return p


def _exact(p: Polynomial, q: Polynomial) -> Polynomial:
    result = divide(p, q)
    if result is None:
        raise ArithmeticError("a divisor of a polynomial does not divide it")
    return result


def exact_quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p / q where q is known to divide p."""
    return _exact(p, q)


def derivative(p: Polynomial, name: str) -> Polynomial:
    """Return the partial derivative."""
    result: Polynomial = {}
    for degree, part in in_powers_of(p, name).items():
        if degree:
            step = {((name, degree - 1),) if degree > 1 else (): degree}
            result = add(result, multiply(part, step))
    return result


def square_free(p: Polynomial) -> list[tuple[Polynomial, int]]:
    """Return coprime factors with multiplicities, p = ± content · Π factor ** multiplicity, in a fixed order.

    Single variables are split off, and so is what does not depend on a variable; a factor that is linear in one
    of its variables is therefore irreducible, while others may still be a product.
    """
    monomial = monomial_content(p)
    factors = [(variable(name), exponent) for name, exponent in monomial]
    _split(primitive(strip_monomial(p, monomial))[1], factors)
    merged: dict[Frozen, int] = {}
    for factor, multiplicity in factors:
        merged[freeze(factor)] = merged.get(freeze(factor), 0) + multiplicity
    return [(dict(factor), multiplicity) for factor, multiplicity in sorted(merged.items())]


def _split(p: Polynomial, factors: list[tuple[Polynomial, int]]) -> None:
    if len(p) == 1:
        return
    for name in sorted(variables(p)):
        inner = content_in(p, name)
        if inner != ONE:
            _split(inner, factors)
            _split(primitive(_exact(p, inner))[1], factors)
            return
    # p is primitive in every variable; repeated factors are those it shares with a derivative.
    name = min(sorted(variables(p)), key=lambda n: max(in_powers_of(p, n)))
    if max(in_powers_of(p, name)) == 1:
        factors.append((p, 1))
        return
    repeated = gcd(p, derivative(p, name))
    if len(repeated) == 1:
        factors.append((p, 1))
        return
    once = _exact(p, repeated)
    multiplicity = 1
    while len(once) > 1:
        both = primitive(gcd(once, repeated))[1]
        alone = primitive(_exact(once, both))[1]
        if len(alone) > 1:
            factors.append((alone, multiplicity))
        once, repeated = both, primitive(_exact(repeated, both))[1]
        multiplicity += 1
