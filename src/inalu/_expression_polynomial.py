"""Sparse polynomials over the whole numbers, in any number of variables, for the algebra of formulas.

A polynomial is a dict {monomial: coefficient}; a monomial is a tuple of (variable, exponent) pairs sorted by
variable, () being 1. Coefficients are never zero, so the zero polynomial is {} and equality is ``==``.
"""

from __future__ import annotations

from math import gcd as whole_gcd

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, int]
Frozen = tuple[tuple[Monomial, int], ...]

ONE: Polynomial = {(): 1}

# Beyond these an expansion is no formula any more, and its algebra would take seconds; the caller keeps the
# product as it is. The degree counts for polynomials of several terms.
MAX_TERMS = 500
MAX_WORK = 30_000
MAX_DEGREE = 40
MAX_EXPONENT = 1000
MAX_COEFFICIENT_BITS = 2048

# A prime, and a step between the points at which polynomials are compared, for `_degree_bounds`.
_PRIME = 2**61 - 1
_STEP = 0x9E3779B97F4A7C15 % _PRIME


class TooLarge(Exception):
    """An expansion would exceed the limits; never leaves the algebra of expressions."""


def variable(name: str) -> Polynomial:
    """Return the polynomial that is one variable."""
    return {((name, 1),): 1}


def freeze(p: Polynomial) -> Frozen:
    """Return a hashable form of a polynomial, the same for equal polynomials."""
    return tuple(sorted(p.items()))


def is_number(p: Polynomial) -> bool:
    """Whether a polynomial is a number other than zero."""
    return len(p) == 1 and () in p


def divide_by_number(p: Polynomial, number: int) -> Polynomial:
    """Return p divided by a number that divides every coefficient."""
    return p if number == 1 else {monomial: coefficient // number for monomial, coefficient in p.items()}


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
    add_to(result, q, factor)
    return result


def add_to(p: Polynomial, q: Polynomial, factor: int = 1) -> None:
    """Add factor · q to p, modified in place."""
    for monomial, coefficient in q.items():
        value = p.get(monomial, 0) + factor * coefficient
        if value:
            p[monomial] = value
        else:
            p.pop(monomial, None)


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
    if len(p) * len(q) > MAX_WORK:
        raise TooLarge
    result: Polynomial = {}
    for a, first in p.items():
        for b, second in q.items():
            monomial = multiply_monomials(a, b)
            result[monomial] = result.get(monomial, 0) + first * second
    result = {monomial: coefficient for monomial, coefficient in result.items() if coefficient}
    _check(result)
    return result


def _check(p: Polynomial) -> None:
    highest = max((sum(exponent for _, exponent in monomial) for monomial in p), default=0)
    longest = max((coefficient.bit_length() for coefficient in p.values()), default=0)
    limit = MAX_EXPONENT if len(p) == 1 else MAX_DEGREE
    if len(p) > MAX_TERMS or highest > limit or longest > MAX_COEFFICIENT_BITS:
        raise TooLarge


def raise_to(p: Polynomial, exponent: int) -> Polynomial:
    """Return p ** exponent for a whole exponent of at least 0; raise TooLarge beyond the limits."""
    if exponent == 1:
        return p
    if len(p) == 1:
        ((monomial, coefficient),) = p.items()
        if coefficient.bit_length() * exponent > MAX_COEFFICIENT_BITS:
            raise TooLarge
        result = {
            tuple((name, e * exponent) for name, e in monomial) if exponent else (): coefficient**exponent
        }
        _check(result)
        return result
    if exponent > MAX_DEGREE:
        raise TooLarge
    result = ONE
    while exponent:
        if exponent & 1:
            result = multiply(result, p)
        exponent >>= 1
        if exponent:
            p = multiply(p, p)
    return result


def degree(p: Polynomial, name: str) -> int:
    """Return the highest exponent of a variable."""
    return max(exponent for monomial in p for n, exponent in (*monomial, (name, 0)) if n == name)


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
    return divisor, divide_by_number(p, divisor)


def divide(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Return p / q where it is a polynomial with whole coefficients, else None."""
    if len(q) == 1:
        return _divide_by_term(p, q)
    quotient, rest = _divide(p, q, exact=True)
    return None if rest else quotient


def divide_with_rest(p: Polynomial, q: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return (a, r) with p = a·q + r, no term of r a multiple of the leading term of q."""
    return _divide(p, q, exact=False)


def _divide_by_term(p: Polynomial, q: Polynomial) -> Polynomial | None:
    ((monomial, coefficient),) = q.items()
    result: Polynomial = {}
    for m, c in p.items():
        quotient = divide_monomials(m, monomial)
        if quotient is None or c % coefficient:
            return None
        result[quotient] = c // coefficient
    return result


def _divide(p: Polynomial, q: Polynomial, *, exact: bool) -> tuple[Polynomial, Polynomial]:
    head = leading(q)
    quotient: Polynomial = {}
    rest: Polynomial = {}
    p = dict(p)
    for _ in range(2 * MAX_TERMS):
        if not p:
            return quotient, rest
        top = leading(p)
        monomial = divide_monomials(top, head)
        if monomial is None or p[top] % q[head]:
            if exact:
                return {}, p
            rest[top] = p.pop(top)
        else:
            step = quotient[monomial] = p[top] // q[head]
            add_to(p, {multiply_monomials(monomial, m): c for m, c in q.items()}, -step)
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
    result: Polynomial = {}
    for part in sorted(in_powers_of(p, name).values(), key=len):
        result = gcd(result, part)
        if result == ONE:
            break
    return result


def gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the greatest common divisor, its leading coefficient positive."""
    if not p or not q:
        rest = p or q
        return scale(rest, -1) if rest and rest[leading(rest)] < 0 else rest
    factor = whole_gcd(content(p), content(q))
    first, second = monomial_content(p), monomial_content(q)
    powers = dict(second)
    monomial = tuple((name, min(e, powers[name])) for name, e in first if name in powers)
    if len(p) == 1 or len(q) == 1:
        return {monomial: factor}
    rest = _gcd_primitive(primitive(strip_monomial(p, first))[1], primitive(strip_monomial(q, second))[1])
    return {multiply_monomials(monomial, m): factor * c for m, c in rest.items()}


def _gcd_primitive(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the gcd of two primitive polynomials without a monomial factor."""
    if p == q:
        return p
    bounds = _degree_bounds(p, q)
    for name in sorted(variables(p) | variables(q)):
        # What the gcd does not depend on, it divides the coefficients of.
        if not bounds.get(name):
            p, q = content_in(p, name), content_in(q, name)
            if p == ONE or q == ONE:
                return ONE
    if p == q:
        return p
    common = variables(p) & variables(q)
    if not common:
        return ONE
    name = min(sorted(common), key=lambda n: max(degree(p, n), degree(q, n)))
    inner_p, inner_q = content_in(p, name), content_in(q, name)
    shared = gcd(inner_p, inner_q)
    rest = _euclid(exact_quotient(p, inner_p), exact_quotient(q, inner_q), name)
    return primitive(multiply(shared, rest))[1]


def _degree_bounds(p: Polynomial, q: Polynomial) -> dict[str, int]:
    """Return, for each common variable, a degree that the gcd does not exceed in it.

    All other variables are set to numbers modulo a prime; unless a leading coefficient vanishes there, the
    gcd of what is left has at least the true degree. Nearly always it shows that nothing is shared.
    """
    common = variables(p) & variables(q)
    points = {name: pow(_STEP, k + 2, _PRIME) for k, name in enumerate(sorted(variables(p) | variables(q)))}
    bounds = {}
    for name in common:
        a, b = _image(p, name, points), _image(q, name, points)
        vanished = not a[-1] or not b[-1]
        bounds[name] = min(len(a), len(b)) - 1 if vanished else _image_gcd_degree(a, b)
    return bounds


def _image(p: Polynomial, name: str, points: dict[str, int]) -> list[int]:
    image = [0] * (degree(p, name) + 1)
    for monomial, coefficient in p.items():
        value, place = coefficient, 0
        for n, exponent in monomial:
            if n == name:
                place = exponent
            else:
                value = value * pow(points[n], exponent, _PRIME) % _PRIME
        image[place] = (image[place] + value) % _PRIME
    return image


def _image_gcd_degree(a: list[int], b: list[int]) -> int:
    while b:
        inverse = pow(b[-1], -1, _PRIME)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % _PRIME, len(a) - len(b)
            for i, value in enumerate(b):
                a[shift + i] = (a[shift + i] - factor * value) % _PRIME
            while a and not a[-1]:
                a.pop()
        a, b = b, a
    return len(a) - 1


def _euclid(p: Polynomial, q: Polynomial, name: str) -> Polynomial:
    """Return the gcd of two polynomials that are primitive in one variable, by primitive remainders."""
    if degree(p, name) < degree(q, name):
        p, q = q, p
    while q:
        if degree(q, name) == 0:
            return ONE
        p, q = q, _pseudo_remainder(p, q, name)
        if q:
            q = primitive(exact_quotient(q, content_in(q, name)))[1]
    return p


def _pseudo_remainder(p: Polynomial, q: Polynomial, name: str) -> Polynomial:
    parts = in_powers_of(q, name)
    lowest = max(parts)
    head = parts[lowest]
    while p:
        powers = in_powers_of(p, name)
        top = max(powers)
        if top < lowest:
            break
        shift: Polynomial = {((name, top - lowest),) if top > lowest else (): 1}
        p = add(multiply(head, p), multiply(multiply(powers[top], shift), q), -1)
    return p


def exact_quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p / q where q is known to divide p."""
    result = divide(p, q)
    if result is None:
        raise ArithmeticError("a divisor of a polynomial does not divide it")
    return result


def least_common_multiple(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the least common multiple."""
    return multiply(p, exact_quotient(q, gcd(p, q)))


def derivative(p: Polynomial, name: str) -> Polynomial:
    """Return the partial derivative."""
    result: Polynomial = {}
    for degree, part in in_powers_of(p, name).items():
        if degree:
            step: Polynomial = {((name, degree - 1),) if degree > 1 else (): degree}
            result = add(result, multiply(part, step))
    return result


def square_free(p: Polynomial) -> list[tuple[Polynomial, int]]:
    """Return coprime factors with multiplicities, p = ± content · Π factor ** multiplicity, in a fixed order.

    Single variables are split off, and so is what does not depend on a variable; a factor that is linear in
    one of its variables is therefore irreducible, while others may still be a product.
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
    if all(len(monomial) == 0 or (len(monomial) == 1 and monomial[0][1] == 1) for monomial in p):
        factors.append((p, 1))
        return
    for name in sorted(variables(p)):
        inner = content_in(p, name)
        if inner != ONE:
            _split(inner, factors)
            _split(primitive(exact_quotient(p, inner))[1], factors)
            return
    # p is primitive in every variable; repeated factors are those it shares with a derivative.
    name = min(sorted(variables(p)), key=lambda n: degree(p, n))
    if degree(p, name) == 1:
        factors.append((p, 1))
        return
    repeated = gcd(p, derivative(p, name))
    if len(repeated) == 1:
        factors.append((p, 1))
        return
    once = exact_quotient(p, repeated)
    multiplicity = 1
    while len(once) > 1:
        both = primitive(gcd(once, repeated))[1]
        alone = primitive(exact_quotient(once, both))[1]
        if len(alone) > 1:
            factors.append((alone, multiplicity))
        once, repeated = both, primitive(exact_quotient(repeated, both))[1]
        multiplicity += 1
