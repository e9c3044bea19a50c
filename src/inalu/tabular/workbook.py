"""Formulas that a workbook already holds, and the cells of a formula column that someone overwrote.

An Excel formula is read by a small tokenizer and recursive descent, never executed. What is no arithmetic
over cells of one row (or of rows nearby) is left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inalu.errors import InvalidArgument
from inalu.expression import Column as Name
from inalu.expression import Constant, Expression, add, multiply, power
from inalu.tabular.table import Column, Table

# A column counts as computed when so many of its cells hold the same formula.
FORMULA_SHARE = 0.7
LEAST_FORMULAS = 3
LONGEST = 1000
DEEPEST = 30
FARTHEST_ROW = 20

_TABLE = r"[A-Za-z_][\w.]*"
_BRACKETED = r"\[(?:[^\]']|'.)+\]"
_REFERENCE = r"\$?[A-Z]{1,3}\$?\d{1,7}"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|(?P<structured>{_TABLE}\[\[#This Row\],{_BRACKETED}\]|(?:{_TABLE})?\[@(?:{_BRACKETED}|[^\]\[@']+)\])"
    rf"|(?P<range>{_REFERENCE}:{_REFERENCE})|(?P<function>[A-Za-z][A-Za-z.]*)\(|(?P<cell>{_REFERENCE})"
    r"|(?P<operator>[-+*/^(),%])|(?P<end>$)|(?P<other>.))"
)
# The column of a structured reference: [@[a b]], Table1[[#This Row],[a b]] or [@a].
_COLUMN = re.compile(r"\[@\[(.*)\]\]$|\[#This Row\],\[(.*)\]\]$|\[@(.*)\]$")
_CELL = re.compile(r"(\$?)([A-Z]{1,3})(\$?)(\d{1,7})")
_FUNCTIONS = {"SUM", "AVERAGE", "PRODUCT", "ROUND", "SQRT", "ABS", "IFERROR", "ROUNDUP", "ROUNDDOWN", "POWER"}


@dataclass(frozen=True)
class Written:
    """A column of formulas in a workbook.

    Attributes
    ----------
    target : str
        The column.
    text : str
        The formula of its first cell that has the common one.
    formula : Expression or None
        The common formula over column names; None where it is not arithmetic on rows.
    overwritten : tuple of int
        Data rows whose cell is a number where the others compute.
    different : tuple of int
        Data rows whose cell computes by another formula.
    """

    target: str
    text: str
    formula: Expression | None
    overwritten: tuple[int, ...]
    different: tuple[int, ...]


def written(table: Table) -> tuple[Written, ...]:
    """The formula columns of a table that was read from a workbook."""
    if table.labels is None or table.sheet is None:
        return ()
    names = {column.position: column.name for column in table.columns}
    found = (_column(column, table, names) for column in table.columns if column.formulas is not None)
    return tuple(one for one in found if one is not None)


def notes(table: Table) -> tuple[str, ...]:
    """One sentence for every column in which a formula was overwritten or changed."""
    said = []
    for one in written(table):
        for rows, what in ((one.overwritten, "hold a typed number"), (one.different, "hold another formula")):
            if rows:
                listed = ", ".join(str(table.row_label(row)) for row in rows[:8]) + (
                    " …" if len(rows) > 8 else ""
                )
                where = f"sheet row {listed}" if len(rows) == 1 else f"sheet rows {listed}"
                verb = what.replace("hold", "holds", 1) if len(rows) == 1 else what
                said.append(f"Column {one.target!r} is computed ({one.text[:80]}), but {where} {verb}.")
    return tuple(said)


def _column(column: Column, table: Table, names: Mapping[int, str]) -> Written | None:
    texts = column.formulas or ()
    assert table.labels is not None
    labels = table.labels.tolist()
    relative = [
        _relative(text, labels[row], column.position) if text else None for row, text in enumerate(texts)
    ]
    counts = Counter(text for text in relative if text is not None)
    if not counts:
        return None
    common, count = counts.most_common(1)[0]
    filled = int(np.isfinite(column.values).sum())
    if count < LEAST_FORMULAS or count < FORMULA_SHARE * filled:
        return None
    first = relative.index(common)
    typed = tuple(
        row for row, text in enumerate(relative) if text is None and np.isfinite(column.values[row])
    )
    other = tuple(row for row, text in enumerate(relative) if text is not None and text != common)
    text = texts[first] or ""
    return Written(
        column.name, text, read(text, row=labels[first], names=names, first=labels[0]), typed, other
    )


def _relative(text: str, row: int, column: int) -> str:
    """The formula with its references written as distances, as they are the same down a column."""

    def distance(match: re.Match[str]) -> str:
        fixed_column, letters, fixed_row, number = match.groups()
        across = letters if fixed_column else f"C[{number_of(letters) - column}]"
        down = number if fixed_row else f"R[{int(number) - row}]"
        return f"{down}{across}"

    return _CELL.sub(distance, text)


def number_of(letters: str) -> int:
    """The number of a column, from 0.

    Examples
    --------
    >>> number_of("A"), number_of("AA")
    (0, 26)
    """
    total = 0
    for letter in letters:
        total = 26 * total + ord(letter) - 64
    return total - 1


def read(text: str, *, row: int, names: Mapping[int, str], first: int | None = None) -> Expression | None:
    """Read an Excel formula as ours, or return None.

    ``row`` is the sheet row of the formula's cell, ``first`` the sheet row of the first data row (a sum
    from there down to the formula is a running sum), ``names`` the columns by their number.

    Examples
    --------
    >>> print(read("=ROUND(B7*C7+D6,2)", row=7, names={1: "price", 2: "pieces", 3: "balance"}))
    price * pieces + `balance[-1]`
    """
    if len(text) > LONGEST or not text.startswith("="):
        return None
    try:
        reader = _Reader(text[1:], row, names, first)
        formula = reader.sum(0)
        return formula if reader.kind == "end" and formula.columns else None
    except (_NoFormula, InvalidArgument):
        return None


class _NoFormula(Exception):
    """The text is no arithmetic on rows."""


class _Reader:
    """Recursive descent over the tokens of an Excel formula."""

    def __init__(self, text: str, row: int, names: Mapping[int, str], top: int | None) -> None:
        self.text, self.row, self.names, self.top = text, row, names, top
        self.at = 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> str:
        last = self.token
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup is None:
            raise _NoFormula
        self.at, self.kind, self.token = match.end(), match.lastgroup, match[match.lastgroup]
        return last

    def accept(self, *operators: str) -> str:
        return self.advance() if self.kind == "operator" and self.token in operators else ""

    def expect(self, operator: str) -> None:
        if not self.accept(operator):
            raise _NoFormula

    def sum(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise _NoFormula
        terms = [self.product(depth)]
        while sign := self.accept("+", "-"):
            term = self.product(depth)
            terms.append(-term if sign == "-" else term)
        return add(terms)

    def product(self, depth: int) -> Expression:
        factors = [self.raised(depth)]
        while sign := self.accept("*", "/"):
            factor = self.raised(depth)
            factors.append(power(factor, -1) if sign == "/" else factor)
        return multiply(factors)

    def raised(self, depth: int) -> Expression:
        # Excel computes powers from the left, and a minus in front before them.
        base = self.unary(depth)
        while self.accept("^"):
            exponent = self.unary(depth)
            if not isinstance(exponent, Constant):
                raise _NoFormula
            base = power(base, exponent.value)
        return base

    def unary(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise _NoFormula
        if self.accept("-"):
            return -self.unary(depth + 1)
        if self.accept("+"):
            return self.unary(depth + 1)
        value = self.atom(depth)
        while self.accept("%"):
            value = multiply((value, Constant(Fraction(1, 100))))
        return value

    def atom(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise _NoFormula
        kind = self.kind
        if kind == "number":
            return Constant(self.advance())
        if kind == "cell":
            return self.cell(self.advance())
        if kind == "structured":
            return self.structured(self.advance())
        if kind == "function":
            return self.call(self.advance().upper(), depth + 1)
        self.expect("(")
        inside = self.sum(depth + 1)
        self.expect(")")
        return inside

    def cell(self, text: str) -> Expression:
        match = _CELL.fullmatch(text)
        assert match is not None
        name = self.names.get(number_of(match[2]))
        away = int(match[4]) - self.row
        if name is None or match[3] or abs(away) > FARTHEST_ROW:
            raise _NoFormula
        return Name(f"{name}[{away:+d}]" if away else name)

    def structured(self, text: str) -> Expression:
        inner = _COLUMN.search(text)
        assert inner is not None
        name = re.sub(r"'(.)", r"\1", next(part for part in inner.groups() if part is not None))
        if name not in self.names.values():
            raise _NoFormula
        return Name(name)

    def range(self, text: str) -> Sequence[Expression]:
        start, _, end = text.partition(":")
        first, last = _CELL.fullmatch(start), _CELL.fullmatch(end)
        assert first is not None
        assert last is not None
        if first[3] and first[2] == last[2] and int(first[4]) == self.top and int(last[4]) == self.row:
            name = self.names.get(number_of(first[2]))
            if name is None or last[3]:
                raise _NoFormula
            return [Name(f"cumsum({name})")]
        if first[3] or last[3] or first[4] != last[4] or number_of(last[2]) - number_of(first[2]) > 100:
            raise _NoFormula
        columns = range(number_of(first[2]), number_of(last[2]) + 1)
        away = int(first[4]) - self.row
        cells = [self.names[at] for at in columns if at in self.names]
        if not cells or abs(away) > FARTHEST_ROW:
            raise _NoFormula
        return [Name(f"{name}[{away:+d}]" if away else name) for name in cells]

    def call(self, name: str, depth: int) -> Expression:
        if name not in _FUNCTIONS:
            raise _NoFormula
        arguments: list[Expression] = []
        while not self.accept(")"):
            if arguments:
                self.expect(",")
            if self.kind == "range":
                arguments += self.range(self.advance())
            elif name == "IFERROR" and arguments:
                self.skip()
                return arguments[0]
            else:
                arguments.append(self.sum(depth))
        if not arguments:
            raise _NoFormula
        return _apply(name, arguments)

    def skip(self) -> None:
        """Pass over the second argument of IFERROR, whatever it is."""
        depth = 0
        while self.kind != "end":
            if self.kind == "function" or self.token == "(":
                depth += 1
            elif self.token == ")":
                depth -= 1
            self.advance()
            if depth < 0:
                return
        raise _NoFormula


def _apply(name: str, arguments: Sequence[Expression]) -> Expression:
    if name in ("SUM", "AVERAGE"):
        total = add(arguments)
        return total if name == "SUM" else multiply((total, power(Constant(len(arguments)), -1)))
    if name == "PRODUCT":
        return multiply(arguments)
    first = arguments[0]
    if name == "SQRT":
        return power(first, Fraction(1, 2))
    if name == "ABS":
        return power(power(first, 2), Fraction(1, 2))
    if name == "POWER":
        if len(arguments) != 2 or not isinstance(arguments[1], Constant):
            raise _NoFormula
        return power(first, arguments[1].value)
    # Rounding is what the printed digits say anyway.
    return first
