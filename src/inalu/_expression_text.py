"""How a formula is written, read and counted. Public through `inalu.Expression`; see ``expression.py``.

The grammar is Python's, cut down, so that ``pandas.DataFrame.eval`` gives the same values:

    sum = product (("+" | "-") product)* · product = unary (("*" | "/") unary)* · unary = ("-" | "+") unary | power
    power = atom ["**" unary] · atom = number | name | `name` | "(" sum ")" | ("sqrt" | "abs") "(" sum ")"
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from .errors import InvalidArgument, invalid
from .expression import HALF, MAX_DEPTH, Column, Constant, Expression, Power, Product, Sum, add
from .expression import is_short_decimal, multiply, power

MAX_TEXT = 200_000
FUNCTIONS = ("sqrt", "abs")

# Words that pandas.eval gives a meaning of its own.
_PANDAS_WORDS = frozenset(
    "sin cos tan exp log expm1 log1p sqrt sinh cosh tanh arcsin arccos arctan arccosh arcsinh arctanh abs log10 "
    "floor ceil arctan2 index columns inf Inf nan NaN list tuple datetime Timestamp".split()
)

# How tightly the outermost operator of a text binds.
_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(1, 6)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:[^`]|``)*)`|(?P<operator>\*\*|[-+*/()])|(?P<end>$)|(?P<other>.))",
    re.DOTALL,
)
_HINTS = {
    "^": "write ** for a power",
    "×": "write * for a product",
    "·": "write * for a product",
    "÷": "write / for a quotient",
    "−": "write the plain minus -",
    ",": "write decimals with a point",
    "=": "write only the right-hand side",
    "`": "close the backtick; a backtick inside a name is written twice",
}


def write(expression: Expression) -> str:
    """Return the text of an expression, as short as a person writes it."""
    return _write(expression)[0]


def quote(name: str) -> str:
    """Return a column's name as it stands in a formula: in backticks unless it is a plain word.

    Examples
    --------
    >>> quote("price"), quote("Cost (net)"), quote("class")
    ('price', '`Cost (net)`', '`class`')
    """
    plain = name.isidentifier() and not keyword.iskeyword(name) and name not in _PANDAS_WORDS
    # Python reads an identifier in its composed form; in backticks we read it letter by letter.
    if plain and unicodedata.normalize("NFKC", name) == name:
        return name
    return "`" + name.replace("`", "``") + "`"


def complexity(expression: Expression) -> int:
    """Return the number of names, numbers and operators in the written formula."""
    if isinstance(expression, Sum):
        signs = sum(term.fraction().negative for term in expression.terms[:1])
        sizes = [(-term if term.fraction().negative else term).complexity for term in expression.terms]
        return sum(sizes) + len(sizes) - 1 + signs
    if isinstance(expression, Power) and expression.exponent > 0:
        base = expression.base
        if expression.exponent == HALF:
            is_abs = isinstance(base, Power) and base.exponent == 2
            return 1 + (base.base.complexity if isinstance(base, Power) and is_abs else base.complexity)
        return base.complexity + 2
    negative, above, below = expression.fraction()
    if (not negative and not below and len(above) == 1) and above[0] == expression:
        return 1
    parts = (*above, *below)
    return sum(part.complexity for part in parts) + len(parts) - 1 + negative


def number_text(value: Fraction) -> str:
    """Return a non-negative short decimal, or whole number, as text that Python reads as one number."""
    if value.denominator == 1:
        digits = str(value.numerator)
        zeros = len(digits) - len(digits.rstrip("0"))
        if len(digits) > 15 and zeros > 5:
            return f"{digits[: len(digits) - zeros]}e{zeros}"
        # pandas keeps a whole number beyond 64 bits as an object; as a float it computes like the rest.
        return digits if value < 2**63 else digits + ".0"
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str((value * 10**places).numerator)
    if places - len(digits) >= 5:
        return f"{digits}e-{places}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _write(expression: Expression) -> tuple[str, int]:
    if isinstance(expression, Column):
        return quote(expression.name), _ATOM
    if isinstance(expression, Sum):
        return _write_sum(expression), _SUM
    if isinstance(expression, Power) and expression.exponent > 0:
        return _write_power(expression.base, expression.exponent)
    negative, above, below = expression.fraction()
    if isinstance(expression, Constant) and not negative and not below:
        return number_text(expression.value), _ATOM
    text, level = _write_factors(above)
    if below:
        divisor, tightness = _write_factors(below)
        text = f"{text} / {divisor if tightness >= _POWER else f'({divisor})'}"
        level = _PRODUCT
    return (f"-{text}", _UNARY) if negative else (text, level)


def _write_factors(factors: tuple[Expression, ...]) -> tuple[str, int]:
    if len(factors) == 1:
        text, level = _write(factors[0])
        # A lone sum keeps its level, so that whoever divides or negates it puts the parentheses.
        return (text, level) if level >= _POWER else (f"({text})", _ATOM)
    return " * ".join(_wrapped(factor, _POWER) for factor in factors), _PRODUCT


def _wrapped(expression: Expression, least: int) -> str:
    text, level = _write(expression)
    return text if level >= least else f"({text})"


def _write_sum(expression: Sum) -> str:
    parts: list[str] = []
    for term in expression.terms:
        negative = term.fraction().negative
        text = _wrapped(-term if negative else term, _PRODUCT)
        if parts:
            parts.append(f" {'-' if negative else '+'} {text}")
        else:
            parts.append(f"-{text}" if negative else text)
    return "".join(parts)


def _write_power(base: Expression, exponent: Fraction) -> tuple[str, int]:
    if exponent == HALF:
        if isinstance(base, Power) and base.exponent == 2:
            return f"abs({write(base.base)})", _ATOM
        return f"sqrt({write(base)})", _ATOM
    number = exponent.numerator if exponent.denominator == 1 else float(exponent)
    return f"{_wrapped(base, _ATOM)} ** {number}", _POWER


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def parse(text: str) -> Expression:
    """Read a formula; see `Expression.parse`."""
    if not isinstance(text, str):
        raise invalid("formula", "must be text", text)
    if len(text) > MAX_TEXT:
        raise InvalidArgument(f"formula must have at most {MAX_TEXT} characters; got {len(text)}.")
    parser = _Parser(text)
    try:
        result = parser.sum(0)
    except InvalidArgument as error:
        # Limits are checked where the tree is built, which does not know where in the text that is.
        if str(error).startswith("formula"):
            raise
        raise InvalidArgument(f"formula, column {parser.token.column}: {error}") from None
    parser.expect("end", "", "an operator or the end")
    return result


class _Parser:
    """Recursive descent over tokens; ``depth`` counts open parentheses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.token = self._next()

    def _next(self) -> _Token:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        self.position = match.end()
        column = match.start(kind) + 1
        if kind == "quoted":
            return _Token("column", match[kind].replace("``", "`"), column)
        return _Token(kind, match[kind], column)

    def advance(self) -> _Token:
        token, self.token = self.token, self._next()
        return token

    def fail(self, wanted: str) -> InvalidArgument:
        kind, text, column = self.token
        found = "the end" if kind == "end" else repr(text)
        hint = _HINTS.get(text, "") if kind == "other" else ""
        if kind == "name" and keyword.iskeyword(text):
            hint = f"a column of this name is written `{text}`"
        tail = f"; {hint}" if hint else ""
        return InvalidArgument(f"formula, column {column}: expected {wanted}, found {found}{tail}.")

    def expect(self, kind: str, text: str, wanted: str) -> None:
        if self.token.kind != kind or (text and self.token.text != text):
            raise self.fail(wanted)
        if kind != "end":
            self.advance()

    def accept(self, *operators: str) -> str:
        if self.token.kind == "operator" and self.token.text in operators:
            return self.advance().text
        return ""

    def sum(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise InvalidArgument(
                f"formula, column {self.token.column}: parentheses may be nested at most {MAX_DEPTH} deep."
            )
        terms = [self.product(depth)]
        while sign := self.accept("+", "-"):
            term = self.product(depth)
            terms.append(-term if sign == "-" else term)
        return add(terms) if len(terms) > 1 else terms[0]

    def product(self, depth: int) -> Expression:
        factors = [self.unary(depth)]
        while operator := self.accept("*", "/"):
            factor = self.unary(depth)
            factors.append(power(factor, -1) if operator == "/" else factor)
        return multiply(factors) if len(factors) > 1 else factors[0]

    def unary(self, depth: int) -> Expression:
        negative = False
        while sign := self.accept("+", "-"):
            negative ^= sign == "-"
        result = self.power(depth)
        return -result if negative else result

    def power(self, depth: int) -> Expression:
        base = self.atom(depth)
        start = self.token.column
        if not self.accept("**"):
            return base
        exponent = self.unary(depth + 1)
        if not isinstance(exponent, Constant):
            raise InvalidArgument(
                f"formula, column {start}: the exponent must be a number, such as 2 or 0.5."
            )
        return power(base, exponent.value)

    def atom(self, depth: int) -> Expression:
        token = self.token
        if token.kind == "number":
            return Constant(self.advance().text)
        if token.kind == "column":
            return Column(self.advance().text)
        if token.kind == "name" and not keyword.iskeyword(token.text):
            self.advance()
            return self._call(token, depth) if self.accept("(") else Column(token.text)
        if self.accept("("):
            inside = self.sum(depth + 1)
            self.expect("operator", ")", "an operator or a closing parenthesis")
            return inside
        raise self.fail("a number, a column or an opening parenthesis")

    def _call(self, name: _Token, depth: int) -> Expression:
        if name.text not in FUNCTIONS:
            raise InvalidArgument(
                f"formula, column {name.column}: unknown function {name.text!r}; only sqrt and abs can be called."
            )
        inside = self.sum(depth + 1)
        self.expect("operator", ")", "an operator or a closing parenthesis")
        return power(power(inside, 2), HALF) if name.text == "abs" else power(inside, HALF)
