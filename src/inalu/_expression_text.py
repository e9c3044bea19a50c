"""How a formula is written, read and counted. Public through `inalu.Expression`; see ``expression.py``.

The grammar is Python's, cut down, so that ``pandas.DataFrame.eval`` gives the same values:

    sum     = product (("+" | "-") product)*
    product = unary (("*" | "/") unary)*
    unary   = ("-" | "+") unary | atom ["**" unary]
    atom    = number | name | `name` | "(" sum ")" | ("sqrt" | "abs") "(" sum ")"
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from ._expression_numbers import HALF, MAX_DEPTH, MAX_SIZE, decimal_text
from .errors import InvalidArgument, InvalidData, invalid
from .expression import (
    Column,
    Constant,
    Expression,
    Power,
    Product,
    Sum,
    absolute_value,
    add,
    multiply,
    power,
    split_coefficient,
)

MAX_TEXT = 200_000
FUNCTIONS = ("sqrt", "abs")

# Words that mean something to pandas.eval besides a column: its functions and infinity.
_PANDAS_WORDS = frozenset(
    [
        *(
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "arctan2",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log10",
        ),
        *(
            "sinh",
            "cosh",
            "tanh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "sqrt",
            "abs",
            "floor",
            "ceil",
            "inf",
            "Inf",
        ),
    ]
)

# How tightly the outermost operator of a text binds.
_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(1, 6)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:[^`]|``)*)`|(?P<operator>\*\*|[-+*/()])|(?P<end>$)|(?P<other>.))",
    re.DOTALL,
)
_WORD = re.compile(r"\w+")
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
    plain = _is_word(name) and not keyword.iskeyword(name) and name not in _PANDAS_WORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def pandas_can_name(name: str) -> bool:
    """Whether ``DataFrame.eval`` can refer to a column of this name; if not, rename the column first.

    pandas (2.2 and 3.0) cannot name, even in backticks: a name with a control character or a line break; a
    word with a letter that Python composes or replaces (``µ``, ``ﬁ``, a letter with a combining accent);
    ``inf`` and ``Inf``; a word that begins with ``__pd_eval_local_``. pandas 2.2 also fails on backticks,
    backslashes, a ``#`` among quotes, and most signs beyond ASCII, which 3.0 reads. Two columns of one frame
    that differ only in a sign that pandas replaces (``a b!`` and ``a_b!``) are one to it.

    Examples
    --------
    >>> pandas_can_name("Cost `net` (50 %)"), pandas_can_name("cost\\nnet"), pandas_can_name("µ")
    (True, False, False)
    """
    if name.isidentifier():
        return _is_word(name) and name not in ("inf", "Inf") and not name.startswith("__pd_eval_local_")
    return not any(ord(letter) < 32 or letter in "\x7f\x85\u2028\u2029" for letter in name)


def _is_word(name: str) -> bool:
    # Python composes the letters of an identifier, and its tokenizer knows no combining marks.
    return name.isidentifier() and bool(_WORD.fullmatch(name)) and unicodedata.normalize("NFKC", name) == name


def complexity(expression: Expression) -> int:
    """Return the number of names, numbers and operators in the written formula."""
    if isinstance(expression, Sum):
        # A term that is subtracted has its sign from the operator before it; only the first shows its own.
        signs = sum(map(_is_negative, expression.terms[1:]))
        return sum(term.complexity for term in expression.terms) + len(expression.terms) - 1 - signs
    if isinstance(expression, Power) and expression.exponent > 0:
        return _power_complexity(expression.base, expression.exponent)
    coefficient = Fraction(1)
    above: list[Expression] = []
    count = size = 0
    for factor in expression.factors if isinstance(expression, Product) else (expression,):
        if isinstance(factor, Constant):
            coefficient = factor.value if coefficient == 1 else coefficient * factor.value
        elif isinstance(factor, Power) and factor.exponent < 0:
            count, size = count + 1, size + _power_complexity(factor.base, -factor.exponent)
        else:
            above.append(factor)
            count, size = count + 1, size + (1 if isinstance(factor, Column) else factor.complexity)
    upper, lower = split_coefficient(abs(coefficient), above)
    numbers = (upper is not None) + (lower is not None)
    return size + numbers + (count + numbers - 1) + (coefficient < 0)


def _power_complexity(base: Expression, exponent: Fraction) -> int:
    if exponent.denominator == 2 and isinstance(base, Power) and base.exponent == 2:
        return base.base.complexity + (1 if exponent == HALF else 3)
    return base.complexity + (0 if exponent == 1 else 1 if exponent == HALF else 2)


def _is_negative(term: Expression) -> bool:
    if isinstance(term, Product):
        return sum(isinstance(factor, Constant) and factor.value < 0 for factor in term.factors) % 2 == 1
    return isinstance(term, Constant) and term.value < 0


def _write(expression: Expression) -> tuple[str, int]:
    if isinstance(expression, Column):
        return quote(expression.name), _ATOM
    if isinstance(expression, Sum):
        return _write_sum(expression), _SUM
    if isinstance(expression, Power) and expression.exponent > 0:
        return _write_power(expression)
    negative, above, below = expression.fraction()
    if isinstance(expression, Constant) and not negative and not below:
        return decimal_text(expression.value), _ATOM
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
        negative = _is_negative(term)
        text = _wrapped(-term if negative else term, _PRODUCT)
        if parts:
            parts.append(f" {'-' if negative else '+'} {text}")
        else:
            parts.append(f"-{text}" if negative else text)
    return "".join(parts)


def _write_power(expression: Power) -> tuple[str, int]:
    base, exponent = expression.base, expression.exponent
    inside = absolute_value(expression)
    if inside is not None:
        text = f"abs({write(inside)})"
        return (text, _ATOM) if exponent == HALF else (f"{text} ** {2 * exponent}", _POWER)
    if exponent == HALF:
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
        raise InvalidArgument(f"formula, column {parser.last}: {error}") from None
    parser.expect("end", "", "an operator or the end")
    return result


class _Parser:
    """Recursive descent over tokens; ``depth`` counts open parentheses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.last = 1
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
        self.last = token.column
        return token

    def fail(self, wanted: str) -> InvalidArgument:
        kind, text, column = self.token
        found = "the end" if kind == "end" else repr(quote(text) if kind == "column" else text)
        hint = _HINTS.get(text, "") if kind == "other" else ""
        if kind == "name" and quote(text) != text:
            hint = f"a column of this name is written {quote(text)}"
        elif kind in ("name", "column") and wanted.startswith("an operator"):
            hint = "a name with spaces or signs is written in `backticks`"
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
        if depth > MAX_DEPTH:
            column = self.token.column
            raise InvalidArgument(f"formula, column {column}: it may be nested at most {MAX_DEPTH} deep.")
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
        if token.kind == "name" and token.text.isidentifier() and not keyword.iskeyword(token.text):
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
                f"formula, column {name.column}: unknown function {name.text!r}; only sqrt and abs exist."
            )
        inside = self.sum(depth + 1)
        self.expect("operator", ")", "an operator or a closing parenthesis")
        return power(power(inside, 2), HALF) if name.text == "abs" else power(inside, HALF)


def from_json(tree: object) -> Expression:
    """Build an expression from a tree of `Expression.to_json`; see `Expression.from_json`."""
    return _from_json(tree, 0, [0])


def _from_json(tree: object, depth: int, count: list[int]) -> Expression:
    count[0] += 1
    if depth > MAX_DEPTH or count[0] > MAX_SIZE:
        raise InvalidData(
            f"a formula tree may be {MAX_DEPTH} deep and have {MAX_SIZE} parts; this one exceeds it."
        )
    if not isinstance(tree, dict) or len(tree) != 1:
        raise InvalidData(f"a formula tree must be an object with one key; got {_brief(tree)}.")
    ((kind, body),) = tree.items()
    try:
        if kind == "column" and isinstance(body, str):
            return Column(body)
        if kind == "constant" and isinstance(body, str):
            return Constant(body)
        if kind in ("sum", "product") and isinstance(body, list):
            parts = [_from_json(part, depth + 1, count) for part in body]
            return Sum(parts) if kind == "sum" else Product(parts)
        if kind == "power" and isinstance(body, list) and len(body) == 2 and isinstance(body[1], str):
            return Power(_from_json(body[0], depth + 1, count), Constant(body[1]).value)
    except InvalidArgument as error:
        raise InvalidData(f"a formula tree has a bad {kind}: {error}") from None
    rule = (
        "'column' or 'constant' with text, 'sum' or 'product' with a list, 'power' with [base, exponent text]"
    )
    raise InvalidData(f"a formula tree must be made of {rule}; got {_brief(tree)}.")


def _brief(value: object) -> str:
    # The whole text of a hostile tree could be huge, or too deep to print.
    if isinstance(value, dict):
        text = "an object with the keys " + ", ".join(repr(key)[:40] for key in list(value)[:3])
    else:
        text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 120 else text[:117] + "..."
