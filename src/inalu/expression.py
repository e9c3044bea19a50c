"""Formulas over named columns: an immutable tree of columns, constants, sums, products and powers.

Everything that says a formula says it through this module. The tree is exact (constants are fractions,
exponents whole or half), its text reads back and is what ``pandas.DataFrame.eval`` evaluates, and nothing is
ever executed.

    Column(name) · Constant(value) · Sum(terms) · Product(factors) · Power(base, exponent)

A difference is a sum with a factor -1 and a quotient a product with a power -1; `Expression.fraction` gives
the numerator and the denominator that a person would write. The operators flatten nested sums and products
and fold constants; everything else waits for `Expression.simplify`.

Beside this module: ``_expression_text`` reads and writes, ``_expression_evaluate`` computes,
``_expression_simplify`` simplifies and compares, by the normal form of ``_expression_algebra`` (on
``_expression_polynomial``) and the form a person would write of ``_expression_canonical``;
``_expression_solve`` turns formulas around, ``_expression_numbers`` has the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from ._expression_numbers import HALF as HALF
from ._expression_numbers import MAX_BITS, MAX_DEPTH, MAX_SIZE, Number, bits, exact, is_short_decimal
from ._expression_numbers import exponent as exact_exponent
from .errors import InvalidArgument, invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Fractions with a larger divisor than this are written as a division by one decimal, where that is short.
_SMALL = 100


class Fractional(NamedTuple):
    """An expression as a person writes it: sign, factors above the line, factors below it.

    ``numerator`` is never empty; ``denominator`` is empty where nothing is divided.
    """

    negative: bool
    numerator: tuple[Expression, ...]
    denominator: tuple[Expression, ...]


class Expression:
    """The base of Column, Constant, Sum, Product and Power; made by ``column``, ``constant`` and ``parse``.

    Examples
    --------
    >>> price, quantity = Expression.column("price"), Expression.column("quantity")
    >>> total = price * quantity + Expression.column("shipping cost")
    >>> print(total)
    price * quantity + `shipping cost`
    >>> total.evaluate({"price": [2.0, 3.0], "quantity": [10, 10], "shipping cost": [1, 0]})
    array([21., 30.])
    >>> total.equals(Expression.parse("`shipping cost` + quantity * price"))
    True
    """

    __slots__ = ("_cache", "_depth", "_hash", "_key", "_size")
    # A NumPy number on the left leaves the operation to us.
    __array_ufunc__ = None
    _cache: dict[str, Any]
    _depth: int
    _hash: int
    _key: tuple[Any, ...]
    _size: int

    def _settle(self, key: tuple[Any, ...], children: tuple[Expression, ...]) -> None:
        """Fill the hidden fields of a new node; refuse a tree that is too deep or too large."""
        depth = size = 1
        for child in children:
            depth = max(depth, child._depth + 1)
            size += child._size
        if depth > MAX_DEPTH:
            raise InvalidArgument(f"a formula may be nested at most {MAX_DEPTH} deep; this one is deeper.")
        if size > MAX_SIZE:
            raise InvalidArgument(f"a formula may have at most {MAX_SIZE} parts; this one has more.")
        put = object.__setattr__
        put(self, "_key", key)
        put(self, "_depth", depth)
        put(self, "_size", size)
        put(self, "_hash", hash((type(self).__name__, key)))
        put(self, "_cache", {})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new expression instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new expression instead")

    def __eq__(self, other: object) -> bool:
        """Same tree; `equals` compares up to algebra."""
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented if not isinstance(other, Expression) else False
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: object) -> Expression:
        return self

    def __repr__(self) -> str:
        return f"Expression({str(self)!r})"

    def __str__(self) -> str:
        """Text that `parse` reads back and ``DataFrame.eval`` evaluates."""
        from ._expression_text import write

        return cast(str, self.remember("text", lambda: write(self)))

    def remember(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return what was computed under this name before, or compute it; for the modules beside this one."""
        if what not in self._cache:
            self._cache[what] = compute()
        return self._cache[what]

    # Building

    @staticmethod
    def column(name: str) -> Expression:
        """Return the expression that is one column."""
        return Column(name)

    @staticmethod
    def constant(value: Number | str) -> Expression:
        """Return an exact constant; a float is taken by its shortest decimal text, so 0.1 is 1/10."""
        return Constant(value)

    @staticmethod
    def parse(text: str) -> Expression:
        """Read a formula: names, `` `quoted names` ``, numbers, + - * / ** ( ), sqrt() and abs().

        Raises
        ------
        InvalidArgument
            With the position of the first thing that is no formula, and what to write instead.

        Examples
        --------
        >>> Expression.parse("100 * (`net sales` - cost) / cost").columns
        ('net sales', 'cost')
        """
        from ._expression_text import parse

        return parse(text)

    @staticmethod
    def from_json(tree: object) -> Expression:
        """Build an expression from `to_json`'s tree; refuse anything else.

        Raises
        ------
        InvalidData
            When the tree is malformed, too deep or too large.
        """
        from ._expression_text import from_json

        return from_json(tree)

    def __add__(self, other: Expression | Number) -> Expression:
        return NotImplemented if not _operand(other) else add((self, _lift(other)))

    def __radd__(self, other: Number) -> Expression:
        return NotImplemented if not _operand(other) else add((_lift(other), self))

    def __sub__(self, other: Expression | Number) -> Expression:
        return NotImplemented if not _operand(other) else add((self, -_lift(other)))

    def __rsub__(self, other: Number) -> Expression:
        return NotImplemented if not _operand(other) else add((_lift(other), -self))

    def __mul__(self, other: Expression | Number) -> Expression:
        return NotImplemented if not _operand(other) else multiply((self, _lift(other)))

    def __rmul__(self, other: Number) -> Expression:
        return NotImplemented if not _operand(other) else multiply((_lift(other), self))

    def __truediv__(self, other: Expression | Number) -> Expression:
        return NotImplemented if not _operand(other) else multiply((self, power(_lift(other), -1)))

    def __rtruediv__(self, other: Number) -> Expression:
        return NotImplemented if not _operand(other) else multiply((_lift(other), power(self, -1)))

    def __pow__(self, exponent: Expression | Number) -> Expression:
        if isinstance(exponent, Constant):
            exponent = exponent.value
        return power(self, exponent) if isinstance(exponent, Real) else NotImplemented

    def __neg__(self) -> Expression:
        return multiply((Constant(-1), self))

    def __pos__(self) -> Expression:
        return self

    # Reading

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions that this one is made of, directly."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of their first appearance."""

        def gather() -> tuple[str, ...]:
            if isinstance(self, Column):
                return (self.name,)
            return tuple(dict.fromkeys(name for child in self.children for name in child.columns))

        return cast("tuple[str, ...]", self.remember("columns", gather))

    @property
    def complexity(self) -> int:
        """The number of names, numbers and operators in the formula as it is written.

        Examples
        --------
        >>> Expression.parse("a - b").complexity, Expression.parse("sqrt(a) / 3").complexity
        (3, 4)
        """
        from ._expression_text import complexity

        return cast(int, self.remember("complexity", lambda: complexity(self)))

    def fraction(self) -> Fractional:
        """Return sign, numerator and denominator, as a person writes them (for renderers).

        Examples
        --------
        >>> Expression.parse("-2 * a / (3 * b ** 2)").fraction().denominator
        (Expression('3'), Expression('b ** 2'))
        """
        return cast(Fractional, self.remember("fraction", lambda: _fraction(self)))

    def evaluate(self, columns: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the values for arrays of equal shape, in float64, one per row [B].

        A division by zero, a root of a negative number or an overflow gives inf or nan, without a warning.

        Raises
        ------
        InvalidArgument
            When a column is missing, is not made of numbers, or the shapes differ.
        """
        from ._expression_evaluate import evaluate

        return evaluate(self, columns)

    def substitute(self, replacements: Mapping[str, Expression | Number]) -> Expression:
        """Return the expression with columns replaced, all at once.

        Examples
        --------
        >>> print(Expression.parse("total / n").substitute({"total": Expression.parse("a + b")}))
        (a + b) / n
        """
        if isinstance(self, Column):
            return _lift(replacements[self.name]) if self.name in replacements else self
        if isinstance(self, Sum):
            return add(term.substitute(replacements) for term in self.terms)
        if isinstance(self, Product):
            return multiply(factor.substitute(replacements) for factor in self.factors)
        if isinstance(self, Power):
            return power(self.base.substitute(replacements), self.exponent)
        return self

    def to_json(self) -> dict[str, Any]:
        """Return a tree of dicts, lists and strings, ready for JSON; constants as ``"p/q"``."""
        if isinstance(self, Column):
            return {"column": self.name}
        if isinstance(self, Constant):
            return {"constant": str(self.value)}
        if isinstance(self, Power):
            return {"power": [self.base.to_json(), str(self.exponent)]}
        name = "sum" if isinstance(self, Sum) else "product"
        return {name: [child.to_json() for child in self.children]}

    # Algebra

    def simplify(self) -> Expression:
        """Return the canonical form: like terms and factors collected, constants folded, in a fixed order.

        The value stays the same wherever the given expression has one. As in algebra on rational functions,
        x / x is 1 and sqrt(x) ** 2 is x; sqrt(x ** 2) is and stays abs(x). Where multiplying out would make the
        formula longer, (a + b) ** 3 - (a - b) ** 3 say, only like parts are collected: whether two formulas
        are the same is for `equals`, which does not go by the form.

        Examples
        --------
        >>> print(Expression.parse("a + b - a + 2 * b").simplify())
        3 * b
        >>> print(Expression.parse("a / b - 1").simplify())
        (a - b) / b
        """
        from ._expression_simplify import simplify

        return cast(Expression, self.remember("simple", lambda: simplify(self)))

    def equals(self, other: Expression) -> bool:
        """Whether both are the same formula up to algebra: the same value wherever both have one.

        Exact for rational functions; roots compare after their radicands are brought to one form.

        Examples
        --------
        >>> Expression.parse("(a - b) / b").equals(Expression.parse("a / b - 1"))
        True
        >>> Expression.parse("sqrt(a ** 2)").equals(Expression.parse("a"))
        False
        """
        from ._expression_simplify import equals

        return self == other or equals(self, other)

    def solve_for(self, name: str, *, target: str = "y") -> Expression | None:
        """Return ``name`` from ``target = self``, or None where no unique formula says it.

        Even powers take their non-negative root.

        Examples
        --------
        >>> print(Expression.parse("100 * (a - b) / b").solve_for("b", target="growth"))
        100 * a / (growth + 100)
        """
        from ._expression_solve import solve_for

        return solve_for(self, name, target)


class Column(Expression):
    """A column, by its name."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise invalid("name", "must be text", name, fix="str(name) makes it so")
        object.__setattr__(self, "name", name)
        self._settle((name,), ())


class Constant(Expression):
    """An exact number; ``value`` is a Fraction."""

    __slots__ = ("value",)
    value: Fraction

    def __init__(self, value: Number | str) -> None:
        object.__setattr__(self, "value", exact(value))
        self._settle((self.value,), ())


class Sum(Expression):
    """Two or more terms; `fraction` of a term says whether it is subtracted."""

    __slots__ = ("terms",)
    terms: tuple[Expression, ...]

    def __init__(self, terms: Iterable[Expression]) -> None:
        object.__setattr__(self, "terms", _several("terms", terms))
        self._settle((self.terms,), self.terms)

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.terms


class Product(Expression):
    """Two or more factors; those with a negative power stand below the line."""

    __slots__ = ("factors",)
    factors: tuple[Expression, ...]

    def __init__(self, factors: Iterable[Expression]) -> None:
        object.__setattr__(self, "factors", _several("factors", factors))
        self._settle((self.factors,), self.factors)

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.factors


class Power(Expression):
    """A base raised to a whole or half exponent (a Fraction)."""

    __slots__ = ("base", "exponent")
    base: Expression
    exponent: Fraction

    def __init__(self, base: Expression, exponent: Number) -> None:
        if not isinstance(base, Expression):
            raise invalid("base", "must be an Expression", base)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "exponent", exact_exponent(exponent))
        self._settle((base, self.exponent), (base,))

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.base,)


def add(terms: Iterable[Expression]) -> Expression:
    """Return the sum of the terms: nested sums flattened, constants folded where the first one stood."""
    flat: list[Expression] = []
    constant, place = Fraction(0), -1
    for term in terms:
        for part in term.terms if isinstance(term, Sum) else (term,):
            if isinstance(part, Constant):
                constant += part.value
                place = len(flat) if place < 0 else place
            else:
                flat.append(part)
    if constant or not flat:
        flat.insert(max(place, 0), Constant(constant))
    return flat[0] if len(flat) == 1 else Sum(flat)


def multiply(factors: Iterable[Expression]) -> Expression:
    """Return the product of the factors: nested products flattened, a constant first, divisors last."""
    flat: list[Expression] = []
    constant = Fraction(1)
    for factor in factors:
        for part in factor.factors if isinstance(factor, Product) else (factor,):
            if isinstance(part, Constant):
                constant = part.value if constant == 1 else constant * part.value
            else:
                flat.append(part)
    below = [part for part in flat if isinstance(part, Power) and part.exponent < 0]
    if any(part.base == _ZERO for part in below if isinstance(part, Power)):
        # Divided by zero, whatever else it is divided by; only the sign of the constant matters.
        below = [Power(_ZERO, -1)]
        constant = Fraction((constant > 0) - (constant < 0))
    elif constant == 0:
        return Constant(0)
    above = [part for part in flat if not (isinstance(part, Power) and part.exponent < 0)]
    ordered = [*above, *below] if constant == 1 else [Constant(constant), *above, *below]
    if len(ordered) < 2:
        return ordered[0] if ordered else Constant(1)
    return Product(ordered)


def power(base: Expression, exponent: Number) -> Expression:
    """Return the base raised to a whole or half exponent; only steps that keep every value are taken."""
    number = exact_exponent(exponent)
    if number == 1:
        return base
    if number == 0:
        return Constant(1)
    if number < 0 and base == _ZERO:
        # All divisions by zero are one.
        return Power(base, -1)
    whole = number.denominator == 1
    if whole and isinstance(base, Constant) and (base.value or number > 0):
        if bits(base.value) * abs(number) <= MAX_BITS:
            return Constant(base.value ** int(number))
    elif whole and isinstance(base, Product):
        return multiply(power(factor, number) for factor in base.factors)
    elif whole and isinstance(base, Power) and (base.exponent.denominator == 1 or number.numerator % 2):
        # (x ** 0.5) ** 2 stays as it is: x alone would have a value where the root has none.
        return power(base.base, base.exponent * number)
    return Power(base, number)


_ZERO = Constant(0)


def absolute_value(power: Power) -> Expression | None:
    """Return x where the power is (x ** 2) to a positive half exponent, which is abs(x) to a whole one."""
    base = power.base
    is_absolute = isinstance(base, Power) and base.exponent == 2 and power.exponent.denominator == 2
    return base.base if isinstance(base, Power) and is_absolute and power.exponent > 0 else None


def _operand(value: object) -> bool:
    return isinstance(value, Expression | Real) and not isinstance(value, bool)


def _lift(value: Expression | Number) -> Expression:
    return value if isinstance(value, Expression) else Constant(value)


def _several(argument: str, parts: Iterable[Expression]) -> tuple[Expression, ...]:
    children = tuple(parts)
    if len(children) < 2:
        raise invalid(argument, "must be at least two expressions", children)
    for child in children:
        if not isinstance(child, Expression):
            raise invalid(argument, "must be expressions", child, fix="Constant(…) makes one of a number")
    return children


def _fraction(expression: Expression) -> Fractional:
    if isinstance(expression, Column | Sum) or (isinstance(expression, Power) and expression.exponent > 0):
        return Fractional(False, (expression,), ())
    coefficient = Fraction(1)
    above: list[Expression] = []
    below: list[Expression] = []
    for factor in expression.factors if isinstance(expression, Product) else (expression,):
        if isinstance(factor, Constant):
            coefficient = factor.value if coefficient == 1 else coefficient * factor.value
        elif isinstance(factor, Power) and factor.exponent < 0:
            below.append(factor.base if factor.exponent == -1 else Power(factor.base, -factor.exponent))
        else:
            above.append(factor)
    upper, lower = split_coefficient(abs(coefficient), above)
    if lower is not None:
        below.insert(0, Constant(lower))
    if upper is not None:
        above.insert(0, Constant(upper))
    return Fractional(coefficient < 0, tuple(above), tuple(below))


def split_coefficient(
    size: Fraction, above: list[Expression]
) -> tuple[Fraction | None, Fraction | int | None]:
    """Return the numbers above and below the line beside the factors above; None where there is none."""
    terms = len(above[0].terms) if len(above) == 1 and isinstance(above[0], Sum) else 0
    lower: Fraction | int | None = None
    # A mean is divided by its number of terms; 0.2 of a price stays 0.2.
    if size.denominator != 1 and (size * terms == 1 or not is_short_decimal(size)):
        if size.denominator > _SMALL and is_short_decimal(1 / size):
            # Division by 2.54 is not written as 50 / 127.
            size, lower = Fraction(1), 1 / size
        else:
            size, lower = Fraction(size.numerator), size.denominator
    return (None if size == 1 and above else size), lower
