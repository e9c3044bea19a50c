"""Delimited text: which delimiter, where the header is, and the cells as they were printed."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inalu.errors import InvalidData, invalid
from inalu.tabular.header import find_header, titles_of
from inalu.tabular.numerals import Texts, join, pack
from inalu.tabular.table import Table, build

DELIMITERS = ("\t", ";", "|", ",")
NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma", " ": "space"}
SAMPLE_ROWS = 200
PART = 8192
MOST_COLUMNS = 4000
# One cell of many lines in the sample is what an unclosed quote looks like.
MOST_LINES = 60
_SPACED = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Dialect:
    """How lines are cut into cells."""

    delimiter: str
    quoted: bool = True

    def rows(self, stream: io.TextIOBase) -> Iterator[list[str]]:
        """The rows of a text; runs of blanks cut when the delimiter is a space."""
        if self.delimiter == " ":
            return (_SPACED.split(line.strip()) for line in stream)
        if not self.quoted:
            return csv.reader(stream, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(stream, delimiter=self.delimiter, skipinitialspace=False)


def read_text(name: str, data: bytes, encoding: str, *, delimiter: str | None, decimal: str | None) -> Table:
    """Read delimited text from bytes.

    Raises
    ------
    InvalidData
        When it cannot be decoded or holds no table.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise invalid("delimiter", "must be one character, no quote and no line break", delimiter)
    try:
        dialect = _find_dialect(_head(data, encoding), delimiter)
        grid = _read(name, data, encoding, dialect)
    except LookupError:
        raise invalid(
            "encoding", "must be one that Python knows", encoding, "utf-8, cp1252 and latin-1 are usual"
        ) from None
    except UnicodeError:
        raise InvalidData(f"{name} cannot be decoded as {encoding}: give another encoding.") from None
    except csv.Error as error:
        raise InvalidData(f"{name} cannot be cut into cells ({error}); a quote may be left open.") from None
    said = [f"Cells are separated by the {NAMES.get(dialect.delimiter, repr(dialect.delimiter))}."]
    if encoding not in ("utf-8", "utf-8-sig"):
        said.append(f"The text is read as {encoding}.")
    return build(
        grid.titles,
        grid.texts(),
        name=name,
        decimal=decimal,
        semicolons=dialect.delimiter == ";",
        notes=[*said, *grid.notes],
        labels=np.array(grid.labels, dtype=np.int64),
    )


def _open(data: bytes, encoding: str) -> io.TextIOWrapper:
    # No newline translation: the csv module itself knows \r, \n and \r\n, inside quotes and outside.
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")


def _head(data: bytes, encoding: str) -> str:
    return _open(data, encoding).read(1 << 18)


def _find_dialect(head: str, delimiter: str | None) -> Dialect:
    """The delimiter that cuts the first rows most evenly; the comma last, as it may be the decimal sign."""
    chosen = [delimiter] if delimiter is not None else DELIMITERS
    best, most = Dialect(delimiter or ","), -1.0
    for candidate in chosen:
        for quoted in (True, False):
            score, broken = _score(head, Dialect(candidate, quoted))
            if score > most + 1e-9:
                best, most = Dialect(candidate, quoted), score
            if not broken:
                break
    if delimiter is None and most < 1.0:
        lines = [line for line in head.splitlines()[:SAMPLE_ROWS] if line.strip()]
        widths = Counter(len(_SPACED.split(line.strip())) for line in lines)
        if (
            widths
            and (width := widths.most_common(1)[0])[0] >= 2
            and width[1] >= 0.9 * len(lines)
            and len(lines) > 1
        ):
            return Dialect(" ")
    return best


def _score(head: str, dialect: Dialect) -> tuple[float, bool]:
    """How evenly the sample is cut (0 for one column, at most 1.99), and whether quoting went wrong in it."""
    rows: list[list[str]] = []
    broken = False
    try:
        for row in itertools.islice(dialect.rows(io.StringIO(head, newline="")), SAMPLE_ROWS):
            broken = broken or any(cell.count("\n") > MOST_LINES for cell in row)
            if any(cell.strip() for cell in row):
                rows.append(row)
    except csv.Error:
        return -1.0, True
    widths = Counter(len(row) for row in rows)
    if not widths:
        return 0.0, broken
    # Among equally frequent widths the wider one: title rows are narrow.
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    if width < 2:
        wide = [row for row in rows if len(row) > 1]
        return 0.5 * len(wide) / len(rows), broken
    return (1.0 + 0.9 * count / len(rows) if count >= 0.5 * len(rows) else count / len(rows)) - broken, broken


@dataclass
class _Grid:
    """Rows in parts, as packed columns."""

    titles: list[str]
    labels: list[int] = field(default_factory=list)
    parts: list[list[NDArray[Any]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def texts(self) -> list[Texts]:
        """The columns, each joined from its parts."""
        if not self.parts:
            return [Texts.of([]) for _ in self.titles]
        return [Texts(join([part[at] for part in self.parts])) for at in range(len(self.titles))]


def _read(name: str, data: bytes, encoding: str, dialect: Dialect) -> _Grid:
    stream = _open(data, encoding)
    reader = dialect.rows(stream)
    numbered = _numbered(reader)
    first = list(itertools.islice(numbered, SAMPLE_ROWS))
    if not first:
        raise InvalidData(f"{name} holds no rows.")
    found = find_header([row for _, row in first])
    width = found.width
    if width > MOST_COLUMNS:
        raise InvalidData(f"{name} has {width} columns; the most that can be read is {MOST_COLUMNS}.")
    grid = _Grid(titles_of(found.titles, width), notes=list(found.notes))
    short = long = 0
    body = itertools.chain(first[found.start :], numbered)
    while part := list(itertools.islice(body, PART)):
        grid.labels.extend(line for line, _ in part)
        rows = [row for _, row in part]
        if set(map(len, rows)) != {width}:
            short += sum(len(row) < width for row in rows)
            long += sum(any(cell.strip() for cell in row[width:]) for row in rows)
            rows = [row[:width] + [""] * (width - len(row)) for row in rows]
        grid.parts.append([pack(column) for column in zip(*rows, strict=True)])
    if short:
        grid.notes.append(
            f"{short} {_rows(short)} shorter than the header; the cells behind count as missing."
        )
    if long:
        grid.notes.append(f"{long} {_rows(long)} longer than the header; the cells behind are left out.")
    return grid


def _rows(count: int) -> str:
    return "row is" if count == 1 else "rows are"


def _numbered(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, with their number among all records (from 1)."""
    for at, row in enumerate(reader, start=1):
        # Nearly every row has something in its first cell; the others are looked at whole.
        if row and (row[0].strip() or any(map(str.strip, row))):
            yield at, row
