"""A formula in other languages: Excel, SQL, pandas, LaTeX, SymPy.

One walk over the tree writes all texts; what differs (names, division, powers, functions) is a `Notation`.
Names are quoted by the rules of each language, so that a hostile header stays a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inalu.errors import require_extra
from inalu.expression import Column, Constant, Expression, Power, Sum
from inalu.tabular.derived import Place, place

HALF = Fraction(1, 2)

# How tightly the outermost operator of a text binds.
SUM, PRODUCT, POWER, ATOM = range(1, 5)
# In tolerances: the number of the row, counted from 1 (the running sum of nothing but rows).
ROW_NUMBER = "cumsum()"


@dataclass(frozen=True)
class Notation:
    """How one language writes the parts of a formula; each function is given texts that need no more
    parentheses.

    ``divide`` is given the numerator's text and the divisor's; ``power`` the base (an atom) and the exponent.
    """

    column: Callable[[str], str]
    divide: Callable[[str, str], str]
    power: Callable[[str, Fraction], str]
    root: Callable[[str], str]
    absolute: Callable[[str], str]
    # Where a minus sign binds more tightly than a power (Excel), a negated power needs parentheses.
    tight_minus: bool = False


def write(formula: Expression, notation: Notation) -> str:
    """The text of a formula in a notation."""
    return _write(formula, notation)[0]


def _write(formula: Expression, notation: Notation) -> tuple[str, int]:
    if isinstance(formula, Column):
        return notation.column(formula.name), ATOM
    if isinstance(formula, Sum):
        return _write_sum(formula, notation), SUM
    if isinstance(formula, Power) and formula.exponent > 0:
        return _write_power(formula, notation)
    negative, above, below = formula.fraction()
    if isinstance(formula, Constant) and not negative and not below:
        return str(formula), ATOM
    text, level = _factors(above, notation)
    if below:
        divisor, tightness = _factors(below, notation)
        top = text if level >= PRODUCT else f"({text})"
        text, level = notation.divide(top, divisor if tightness >= POWER else f"({divisor})"), PRODUCT
    if not negative:
        return text, level
    wrap = level == SUM or (notation.tight_minus and level == POWER)
    # A minus in front reads as a sum's, so that whoever multiplies it puts parentheses.
    return f"-({text})" if wrap else f"-{text}", SUM


def _factors(factors: tuple[Expression, ...], notation: Notation) -> tuple[str, int]:
    if len(factors) == 1:
        return _write(factors[0], notation)
    return " * ".join(_wrapped(factor, notation, POWER) for factor in factors), PRODUCT


def _wrapped(formula: Expression, notation: Notation, least: int) -> str:
    text, level = _write(formula, notation)
    return text if level >= least else f"({text})"


def _write_sum(formula: Sum, notation: Notation) -> str:
    text = ""
    for term in formula.terms:
        negative = term.fraction().negative
        part, level = _write(-term if negative else term, notation)
        if level < PRODUCT or (not text and negative and notation.tight_minus and level == POWER):
            part = f"({part})"
        if text:
            text += f" {'-' if negative else '+'} {part}"
        else:
            text = f"-{part}" if negative else part
    return text


def _write_power(formula: Power, notation: Notation) -> tuple[str, int]:
    base = formula.base
    if formula.exponent == HALF:
        if isinstance(base, Power) and base.exponent == 2:
            return notation.absolute(write(base.base, notation)), ATOM
        return notation.root(write(base, notation)), ATOM
    return notation.power(_wrapped(base, notation, ATOM), formula.exponent), POWER


def _exponent(exponent: Fraction) -> str:
    return str(exponent.numerator) if exponent.denominator == 1 else str(float(exponent))


# Excel


def structured(where: Place) -> str:
    """A reference to a column of an Excel table (Ctrl+T), in the row of the formula.

    Examples
    --------
    >>> print(structured(Place("Cost Total $")), structured(Place("a[b]")))
    [@[Cost Total $]] [@[a'[b']]]
    """
    name = re.sub(r"(['\[\]#@])", r"'\1", where.name)
    if where.running:
        return f"SUM(INDEX([{name}],1):[@[{name}]])"
    here = f"[@[{name}]]"
    return here if not where.shift else f"OFFSET({here},{where.shift},0)"


def excel(
    formula: Expression, *, decimals: int | None = None, reference: Callable[[Place], str] = structured
) -> str:
    """An Excel formula, rounded to ``decimals``; ``reference`` writes the cells (structured references by
    default).

    Examples
    --------
    >>> excel(Expression.parse("1000 * Marriages / Population"), decimals=1)
    '=ROUND(1000 * [@[Marriages]] / [@[Population]],1)'
    """
    notation = Notation(
        column=lambda name: reference(place(name)),
        divide=lambda above, below: f"{above} / {below}",
        power=lambda base, exponent: f"{base}^{_exponent(exponent)}",
        root=lambda inside: f"SQRT({inside})",
        absolute=lambda inside: f"ABS({inside})",
        tight_minus=True,
    )
    text = write(formula, notation)
    return f"=ROUND({text},{decimals})" if decimals is not None else f"={text}"


# SQL


def identifier(name: str) -> str:
    """A quoted SQL name: the quotes inside are doubled, as the standard says.

    Examples
    --------
    >>> identifier('a"; DROP TABLE x; --')
    '"a""; DROP TABLE x; --"'
    """
    # A NUL ends the statement in some databases; no file format lets it into a header on purpose.
    return '"' + name.replace("\0", "").replace('"', '""') + '"'


def sql(formula: Expression, *, decimals: int | None = None, order: str | None = None) -> str:
    """A SQL expression: names quoted, no division by zero, no integer division.

    ``order`` names the column that orders the rows, for formulas with previous rows and running sums;
    without it they are ordered by ``rowid``.

    Examples
    --------
    >>> print(sql(Expression.parse("a / b"), decimals=2))
    ROUND(CAST("a" AS DOUBLE PRECISION) / NULLIF("b", 0), 2)
    """
    over = "rowid" if order is None else identifier(order)

    def column(name: str) -> str:
        if name == ROW_NUMBER:
            return f"ROW_NUMBER() OVER (ORDER BY {over})"
        where = place(name)
        quoted = identifier(where.name)
        if where.running:
            return f"SUM({quoted}) OVER (ORDER BY {over} ROWS UNBOUNDED PRECEDING)"
        if where.shift:
            function, rows = ("LAG", -where.shift) if where.shift < 0 else ("LEAD", where.shift)
            return f"{function}({quoted}{f', {rows}' if rows != 1 else ''}) OVER (ORDER BY {over})"
        return quoted

    text = write(formula, Notation(column, _divide_sql, _power_sql, "SQRT({})".format, "ABS({})".format))
    return f"ROUND({text}, {decimals})" if decimals is not None else text


_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def _divide_sql(above: str, below: str) -> str:
    # One factor as a float makes the whole quotient one; the first, since SQL computes from the left.
    head = re.match(r'"(?:[^"]|"")*"(?= \*|$)', above)
    if head is not None:
        above = f"CAST({head[0]} AS DOUBLE PRECISION){above[head.end() :]}"
    elif (number := re.match(r"\d+(?= \*|$)", above)) is not None:
        above = f"{number[0]}.0{above[number.end() :]}"
    elif re.match(r"\d+\.\d|\d+e", above) is None:
        above = f"1.0 * {above}"
    return f"{above} / {below if re.fullmatch(_NUMBER, below) else f'NULLIF({_bare(below)}, 0)'}"


def _bare(text: str) -> str:
    """The text without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    quoted = False
    for at, sign in enumerate(text):
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if depth == 0 and at < len(text) - 1 and not quoted:
            return text
    return text[1:-1]


def _power_sql(base: str, exponent: Fraction) -> str:
    # Not every database has POWER, and every database multiplies.
    if exponent in (2, 3):
        return "(" + " * ".join([base] * int(exponent)) + ")"
    return f"POWER({base}, {_exponent(exponent)})"


# pandas


def pandas(formula: Expression, *, decimals: int | None = None, frame: str = "df") -> str:
    """A Python expression over the columns of a pandas frame.

    Examples
    --------
    >>> print(pandas(Expression.parse("`Cost Other` + `balance[-1]`"), decimals=2))
    (df['Cost Other'] + df['balance'].shift(1)).round(2)
    """

    def column(name: str) -> str:
        if name == ROW_NUMBER:
            return f"({frame}.reset_index().index + 1)"
        where = place(name)
        text = f"{frame}[{where.name!r}]"
        if where.running:
            return f"{text}.cumsum()"
        return text if not where.shift else f"{text}.shift({-where.shift})"

    notation = Notation(
        column,
        lambda above, below: f"{above} / {below}",
        lambda base, exponent: f"{base} ** {_exponent(exponent)}",
        lambda inside: f"(({inside}) ** 0.5)",
        "abs({})".format,
    )
    text = write(formula, notation)
    return f"({text}).round({decimals})" if decimals is not None else text


# LaTeX and SymPy

_LATEX = {sign: f"\\{sign}" for sign in "{}$&#_%"} | {
    "\\": r"\backslash{}",
    "^": r"\hat{}",
    "~": r"\sim{}",
    " ": r"\ ",
}


def latex(formula: Expression) -> str:
    """LaTeX for math mode.

    Examples
    --------
    >>> print(latex(Expression.parse("1000 * a_1 / `b c`")))
    \\frac{1000 \\cdot \\mathrm{a\\_1}}{\\mathrm{b\\ c}}
    """
    return _latex(formula)[0]


def _latex_name(name: str) -> str:
    where = place(name)
    text = "".join(_LATEX.get(sign, sign) for sign in where.name)
    quoted = rf"\mathrm{{{text}}}"
    if where.running:
        return rf"\sum_{{i \le t}} {quoted}_{{i}}"
    return quoted if not where.shift else rf"{quoted}_{{t{where.shift:+d}}}"


def _latex(formula: Expression) -> tuple[str, int]:
    if isinstance(formula, Column):
        return _latex_name(formula.name), ATOM
    if isinstance(formula, Sum):
        text = ""
        for term in formula.terms:
            negative = term.fraction().negative
            part, level = _latex(-term if negative else term)
            part = part if level >= PRODUCT else rf"\left({part}\right)"
            text += (f" {'-' if negative else '+'} " if text else "-" if negative else "") + part
        return text, SUM
    if isinstance(formula, Power) and formula.exponent > 0:
        base = formula.base
        if formula.exponent == HALF:
            if isinstance(base, Power) and base.exponent == 2:
                return rf"\left|{_latex(base.base)[0]}\right|", ATOM
            return rf"\sqrt{{{_latex(base)[0]}}}", ATOM
        return f"{_latex_wrapped(base, ATOM)}^{{{_exponent(formula.exponent)}}}", POWER
    negative, above, below = formula.fraction()
    if isinstance(formula, Constant) and not negative and not below:
        return str(formula), ATOM
    if below:
        text, level = rf"\frac{{{_latex_factors(above)[0]}}}{{{_latex_factors(below)[0]}}}", PRODUCT
    else:
        text, level = _latex_factors(above)
    text = rf"\left({text}\right)" if negative and level == SUM else text
    return (f"-{text}", SUM) if negative else (text, level)


def _latex_factors(factors: tuple[Expression, ...]) -> tuple[str, int]:
    if len(factors) == 1:
        return _latex(factors[0])
    return r" \cdot ".join(_latex_wrapped(factor, POWER) for factor in factors), PRODUCT


def _latex_wrapped(formula: Expression, least: int) -> str:
    text, level = _latex(formula)
    return text if level >= least else rf"\left({text}\right)"


def to_sympy(formula: Expression) -> Any:
    """The formula as a SymPy expression, built without reading any text; columns are real symbols.

    Raises
    ------
    MissingExtra
        When SymPy is not installed.

    Examples
    --------
    >>> to_sympy(Expression.parse("a / 3 + `N`"))
    N + a/3
    """
    sympy = require_extra("sympy", "export")

    def build(part: Expression) -> Any:
        if isinstance(part, Column):
            return sympy.Symbol(part.name, real=True)
        if isinstance(part, Constant):
            return sympy.Rational(part.value.numerator, part.value.denominator)
        if isinstance(part, Power):
            return build(part.base) ** sympy.Rational(part.exponent.numerator, part.exponent.denominator)
        join = sympy.Add if isinstance(part, Sum) else sympy.Mul
        return join(*(build(child) for child in part.children))

    return build(formula)
