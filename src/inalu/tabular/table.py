"""A table as the search sees it: numeric columns with the precision of every cell, others as texts."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inalu.errors import InvalidArgument, InvalidData, invalid
from inalu.tabular.numerals import (
    CONTINENTAL,
    ENGLISH,
    INFINITE,
    MISSING,
    TEXT,
    Numerals,
    Style,
    Texts,
    find_styles,
    parse_column,
)
from inalu.tabular.precision import units

# A column with fewer numbers among its filled cells is text; the stray texts of a numeric column are named
# in the notes.
NUMERIC_SHARE = 0.8
SAMPLE = 400
LONGEST_NAME = 500
# Names that formulas use for the row before and for running sums; a header of this form gets a mark.
RESERVED = re.compile(r".+\[[+-]\d+\]|cumsum\(.*\)", re.DOTALL)
_DATE_WORDS = re.compile(r"date|month|period|time|day", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Column:
    """One numeric column.

    Attributes
    ----------
    name : str
        The header, made unique.
    values : array of shape [rows]
        NaN where the cell is missing or no number; read-only.
    half_unit : array of shape [rows]
        Half a unit of the last place that carries meaning; NaN where values is; read-only.
    decimals : int
        The column's decimals, for rounding what is printed.
    integer : bool
        Whether all values are whole.
    formulas : tuple of str or None
        Excel: the formula of each cell that has one.
    relative : float
        0.0, or the relative precision of a column whose last digits are float noise.
    texts : Texts
        The cells as they were printed.
    position : int
        The number of the column in the file, from 0.
    """

    name: str
    values: NDArray[np.float64]
    half_unit: NDArray[np.float64]
    decimals: int
    integer: bool
    formulas: tuple[str | None, ...] | None = None
    relative: float = 0.0
    texts: Texts = field(default_factory=lambda: Texts.of([]), repr=False)
    position: int = -1

    def text(self, row: int) -> str:
        """The printed text of one cell."""
        return self.texts[row]


@dataclass(frozen=True, eq=False)
class OtherColumn:
    """A column that holds no numbers: words, dates, identifiers, yes and no."""

    name: str
    texts: Texts

    def text(self, row: int) -> str:
        """The printed text of one cell."""
        return self.texts[row]


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read.

    Attributes
    ----------
    name : str
        The file's name, or what the caller called it.
    rows : int
        The number of data rows.
    columns : tuple of Column
        The numeric columns in the order of the file.
    others : tuple of OtherColumn
        All other columns.
    notes : tuple of str
        What the reader decided and what it left out, one sentence each.
    labels : array of shape [rows] or None
        The row number of each data row in the file; None when there is no file.
    sheet : str or None
        The Excel sheet.
    kept : array of shape [rows] or None
        Of a table made by `without`: the number that each row had before.

    Examples
    --------
    >>> table = Table.from_columns({"net": [1.25, 2.5], "city": ["Bern", "Basel"]})
    >>> table.names, table.column("net").half_unit
    (('net',), array([0.005, 0.005]))
    """

    name: str
    rows: int
    columns: tuple[Column, ...]
    others: tuple[OtherColumn, ...] = ()
    notes: tuple[str, ...] = ()
    labels: NDArray[np.int64] | None = None
    sheet: str | None = None
    kept: NDArray[np.intp] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numeric columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The numeric column of that name.

        Raises
        ------
        InvalidArgument
            When there is no such numeric column; the nearest name is suggested.
        """
        for column in self.columns:
            if column.name == name:
                return column
        alike = [column for column in self.columns if column.name.strip() == name.strip()]
        if len(alike) == 1:
            return alike[0]
        if any(other.name == name for other in self.others):
            raise invalid("column", "must hold numbers", name)
        near = difflib.get_close_matches(name, self.names, n=1)
        fix = (
            f"Did you mean {near[0]!r}?" if near else f"The numeric columns are {', '.join(self.names[:12])}."
        )
        raise InvalidArgument(f"column must be one of the table's; got {name!r}. {fix}")

    def row_label(self, row: int) -> int:
        """The row number in the file (counted from 1, header included) of a data row (counted from 0)."""
        return int(self.labels[row]) if self.labels is not None else row

    def number(self, row: int) -> int:
        """The number of a row in the table as it was read, counted from 0."""
        return int(self.kept[row]) if self.kept is not None else int(row)

    def without(self, rows: Sequence[int]) -> Table:
        """The table without some of its rows."""
        if not rows:
            return self
        kept = np.delete(np.arange(self.rows), rows)
        columns = tuple(
            replace(
                column,
                values=column.values[kept],
                half_unit=column.half_unit[kept],
                formulas=column.formulas and tuple(column.formulas[row] for row in kept),
                texts=column.texts.take(kept),
            )
            for column in self.columns
        )
        others = tuple(OtherColumn(other.name, other.texts.take(kept)) for other in self.others)
        labels = self.labels[kept] if self.labels is not None else None
        return replace(self, rows=len(kept), columns=columns, others=others, labels=labels, kept=kept)

    def shown(self, value: float, name: str) -> str:
        """A number as a person reads it in that column: with its decimals, or as many digits as floats keep.

        Examples
        --------
        >>> Table.from_columns({"price": [1.25, 3.5]}).shown(2.0 / 3.0, "price")
        '0.67'
        """
        column = next((column for column in self.columns if column.name == name), None)
        if column is None or column.relative or not np.isfinite(value):
            return f"{value:.12g}"
        # Of a number that is small beside the column's digits, two more are worth seeing.
        small = 0 < abs(value) < 10.0 ** (1 - column.decimals)
        return f"{value:.{column.decimals + 2 * small}f}"

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, ArrayLike | Sequence[object]],
        *,
        name: str = "table",
        quantities: bool = False,
    ) -> Table:
        """Build a table from arrays or lists.

        ``quantities`` says that every column of numbers is a quantity, also one that looks like dates or
        identifiers.

        Raises
        ------
        InvalidData
            When the columns differ in length or there is none.
        """
        from inalu.tabular.frames import texts_of

        cells = [texts_of(values, title=str(title)) for title, values in columns.items()]
        lengths = {len(column.texts) for column in cells}
        if len(lengths) > 1:
            raise InvalidData(f"all columns must have the same number of rows; got {sorted(lengths)}.")
        return build(
            [str(title) for title in columns],
            [column.texts for column in cells],
            name=name,
            plain=[column.plain for column in cells],
            single=[column.single for column in cells],
            quantities=quantities,
        )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)


def read_table(
    source: Any,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table from a path, "-" (standard input), a binary or text file, a pandas or polars frame, or a
    dict.

    Delimiter, decimal sign and encoding of text files are found out unless they are given; ``sheet`` names
    the sheet of an Excel workbook (by default the one with the most numbers).

    Raises
    ------
    InvalidData
        When the source holds no table: the message says why.
    InvalidArgument
        When an option cannot be used with this source.
    """
    if decimal not in (None, ".", ","):
        raise invalid("decimal", "must be '.' or ','", decimal)
    if isinstance(source, Table):
        return source
    if isinstance(source, Mapping):
        return Table.from_columns(source)
    if isinstance(source, (str, Path)) or hasattr(source, "read"):
        from inalu.tabular.files import read_file

        return read_file(source, sheet=sheet, delimiter=delimiter, decimal=decimal, encoding=encoding)
    from inalu.tabular.frames import from_frame

    return from_frame(source)


def build(
    titles: Sequence[str],
    texts: Sequence[Texts],
    *,
    name: str,
    plain: Sequence[bool] | None = None,
    decimal: str | None = None,
    semicolons: bool = False,
    single: Sequence[bool] | None = None,
    formulas: Sequence[tuple[str | None, ...] | None] | None = None,
    notes: Sequence[str] = (),
    labels: NDArray[np.int64] | None = None,
    sheet: str | None = None,
    quantities: bool = False,
) -> Table:
    """Sort the columns of a grid of texts into numeric ones and others.

    ``plain`` marks columns whose texts come from numbers in memory, ``single`` those that were float32.

    Raises
    ------
    InvalidData
        When there are no columns or no rows.
    """
    if not titles:
        raise InvalidData(f"{name} holds no columns.")
    rows = len(texts[0])
    if rows == 0:
        raise InvalidData(f"{name} holds no rows below its header.")
    names, said = unique_names(titles)
    said = [*notes, *said]
    styles = _styles(texts, decimal, semicolons, plain or [False] * len(texts))
    if any(style.decimal == "," for style in styles):
        said.append("The comma is read as the decimal sign.")
    columns: list[Column] = []
    others: list[OtherColumn] = []
    for at, (title, cells) in enumerate(zip(names, texts, strict=True)):
        column = _numeric(
            title, cells, styles[at], said, single=bool(single and single[at]), quantities=quantities
        )
        if column is not None:
            formula = formulas[at] if formulas is not None else None
            columns.append(
                replace(column, position=at, formulas=formula if formula and any(formula) else None)
            )
        elif titles[at].strip() or any(map(str.strip, cells)):
            others.append(OtherColumn(title, cells))
    return Table(name, rows, tuple(columns), tuple(others), tuple(said), labels, sheet)


def _styles(
    texts: Sequence[Texts], decimal: str | None, semicolons: bool, plain: Sequence[bool]
) -> list[Style]:
    if decimal is not None:
        return [ENGLISH if decimal == "." else CONTINENTAL] * len(texts)
    samples = []
    for cells, known in zip(texts, plain, strict=True):
        step = max(1, len(cells) // SAMPLE)
        samples.append([] if known else [cells[row] for row in range(0, len(cells), step)])
    found = find_styles(samples, semicolons=semicolons)
    return [ENGLISH if known else style for style, known in zip(found, plain, strict=True)]


def _numeric(
    name: str, texts: Texts, style: Style, notes: list[str], *, single: bool, quantities: bool
) -> Column | None:
    """The column as numbers, or None when it is not one of numbers; what was left out goes to ``notes``."""
    if not _worth_parsing(texts, style):
        return None
    read = parse_column(texts, style)
    numbers = read.numbers
    count, filled = int(numbers.sum()), int((read.kind != MISSING).sum())
    if count == 0 or count < NUMERIC_SHARE * filled or (not quantities and _identifiers(name, texts, read)):
        return None
    infinite, strange = int((read.kind == INFINITE).sum()), np.flatnonzero(read.kind == TEXT)
    if infinite:
        notes.append(f"Column {name!r}: {infinite} infinite {_cells(infinite)} left out.")
    if strange.size:
        left = f"{strange.size} {_cells(strange.size)} left out, no number"
        notes.append(f"Column {name!r}: {left} (such as {texts[int(strange[0])][:40]!r}).")
    found = units(read, texts, single=single)
    values = read.values
    values[~numbers] = np.nan
    values.setflags(write=False)
    found.half.setflags(write=False)
    integer = bool((values[numbers] == np.round(values[numbers])).all())
    return Column(name, values, found.half, found.decimals, integer, None, found.relative, texts)


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"


def _worth_parsing(texts: Texts, style: Style) -> bool:
    """Look at a sample first: a million names need not be read as numbers one by one."""
    step = max(1, len(texts) // SAMPLE)
    sample = Texts(texts.cells[::step])
    read = parse_column(sample, style)
    filled = int((read.kind != MISSING).sum())
    return filled < 20 or int(read.numbers.sum()) >= 0.5 * filled


def _identifiers(name: str, texts: Texts, read: Numerals) -> bool:
    """Whether whole numbers are names or dates rather than quantities."""
    where = read.numbers
    if (read.decimals[where] != 0).any():
        return False
    if read.padded.any():
        widths = {len(texts[int(row)].strip()) for row in np.flatnonzero(where)[:SAMPLE]}
        padded = int(read.padded.sum())
        if len(widths) == 1 or padded >= (1 - NUMERIC_SHARE) * where.sum():
            return True
    values = np.abs(read.values[where])
    if (values > 2.0**53).mean() > 1 - NUMERIC_SHARE:
        return True
    return _dates(name, values)


def _dates(name: str, values: NDArray[np.float64]) -> bool:
    """Whether all numbers read as 20240131, or as 202401 under a header that speaks of time."""
    if (values >= 18000101).all() and (values <= 21001231).all():
        month, day = values // 100 % 100, values % 100
        return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
    if _DATE_WORDS.search(name) and (values >= 180001).all() and (values <= 210012).all():
        return bool(((values % 100 >= 1) & (values % 100 <= 12)).all())
    return False


def unique_names(titles: Sequence[str]) -> tuple[list[str], list[str]]:
    """Make headers usable as names, as pandas does it: ``Unamed: 3`` for an empty one, ``price.1`` for a
    second ``price``.

    Returns the names and the notes about what was changed.
    """
    names: list[str] = []
    notes: list[str] = []
    taken = {clean for title in titles if (clean := _clean(title))}
    used: set[str] = set()
    for at, title in enumerate(titles):
        name = _clean(title) or f"Unnamed: {at}"
        if name in used:
            again = 1
            while f"{name}.{again}" in used or f"{name}.{again}" in taken:
                again += 1
            notes.append(f"The header {name!r} occurs again: its column {at} is called {name}.{again}.")
            name = f"{name}.{again}"
        used.add(name)
        names.append(name)
    return names, notes


def _clean(title: str) -> str:
    """A header without what no formula can quote: control characters, line breaks, backticks.

    Spaces around it stay, since the same column in pandas has them too.
    """
    name = "".join(
        sign if sign.isprintable() or unicodedata.category(sign) == "Zs" else " " for sign in title
    )
    name = name.replace("`", "'")[:LONGEST_NAME]
    if not name.strip():
        return ""
    return f"{name} (column)" if RESERVED.fullmatch(name.strip()) else name
