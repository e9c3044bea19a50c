"""Excel workbooks: the archive is weighed before it is opened; then the sheet with most numbers is read."""

from __future__ import annotations

import datetime
import io
import itertools
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from inalu.errors import InaluError, InvalidArgument, InvalidData, require_extra
from inalu.tabular.frames import texts_of
from inalu.tabular.header import find_header, titles_of
from inalu.tabular.numerals import Texts
from inalu.tabular.table import Table, build
from inalu.tabular.workbook import notes as changed_formulas

# An honest sheet packs 5 to 60 times; 25 bytes of XML are the least that a cell takes.
MOST_UNPACKED = 256 * 1024**2
MOST_RATIO = 150
FREE_SIZE = 4 * 1024**2
MOST_MEMBERS = 10_000
MOST_CELLS = 12_000_000
SAMPLE_ROWS = 200

Row = tuple[Any, ...]


class Sheet(NamedTuple):
    """The filled rows of one sheet and their row numbers in it (from 1)."""

    name: str
    rows: list[Row]
    labels: list[int]

    def numbers(self) -> int:
        """How many cells hold numbers."""
        return sum(isinstance(cell, (int, float)) for row in self.rows for cell in row)


def read_workbook(name: str, data: bytes, *, sheet: str | None) -> Table:
    """Read one sheet of a workbook: the named one, or the one with the most numbers.

    Raises
    ------
    InvalidData
        When the archive is too large unpacked, damaged, or holds no table.
    InvalidArgument
        When there is no sheet of that name.
    """
    weigh(name, data)
    try:
        chosen, notes = _choose(name, data, sheet)
        formulas = _formulas(data, chosen)
    except InaluError:
        raise
    # openpyxl meets damaged files with any exception there is: KeyError, zlib.error, ParseError ...
    except Exception as error:
        raise InvalidData(f"{name} is a damaged workbook ({type(error).__name__}): save it anew.") from None
    return _table(name, chosen, formulas, notes)


def weigh(name: str, data: bytes) -> None:
    """Refuse an archive that is no workbook or would unpack to more than a workbook may.

    Raises
    ------
    InvalidData
        Saying what is wrong; nothing was unpacked before.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise InvalidData(f"{name} is a damaged workbook or zip archive: {error}.") from None
    unpacked = sum(member.file_size for member in members)
    if len(members) > MOST_MEMBERS or unpacked > MOST_UNPACKED:
        most = MOST_UNPACKED // 1024**2
        size = f"{unpacked / 1024**2:.0f} MiB in {len(members)} parts"
        raise InvalidData(f"{name} unpacks to {size}; the most is {most} MiB: save the sheet as CSV.")
    for member in members:
        if member.file_size > FREE_SIZE and member.file_size > MOST_RATIO * max(1, member.compress_size):
            raise InvalidData(
                f"{name} holds a part that unpacks more than {MOST_RATIO} times: it is not read."
            )
    names = {member.filename for member in members}
    if "mimetype" in names:
        raise InvalidData(f"{name} is an OpenDocument file: save it as .xlsx or CSV.")
    if "xl/workbook.xml" not in names and not any(part.endswith("workbook.xml") for part in names):
        kind = (
            "a binary workbook (.xlsb)" if "xl/workbook.bin" in names else "a zip archive without a workbook"
        )
        raise InvalidData(f"{name} is {kind}: save the table as .xlsx or CSV.")
    _refuse_entities(name, archive, members)


def _refuse_entities(name: str, archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> None:
    """No workbook declares XML entities; an attack does."""
    for member in members:
        if not member.filename.endswith((".xml", ".rels")):
            continue
        try:
            with archive.open(member) as part:
                head = part.read(4096)
        # A wrong method, a password, a broken stream: openpyxl would fail in the same place.
        except Exception as error:
            raise InvalidData(
                f"{name} is a damaged workbook ({type(error).__name__}): save it anew."
            ) from None
        if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
            raise InvalidData(f"{name} declares XML entities, as no workbook does: it is not read.")


def _open(data: bytes, *, values: bool) -> Any:
    openpyxl = require_extra("openpyxl", "all")
    with warnings.catch_warnings():
        # Notes about drawings and validations that are of no concern to a reader of cells.
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=values, keep_links=False)


def _choose(name: str, data: bytes, sheet: str | None) -> tuple[Sheet, list[str]]:
    book = _open(data, values=True)
    titles = [page.title for page in book.worksheets]
    if not titles:
        raise InvalidData(f"{name} holds no sheets with cells.")
    if sheet is not None and sheet not in titles:
        raise InvalidArgument(f"sheet must be one of {', '.join(map(repr, titles[:20]))}; got {sheet!r}.")
    wanted = [page for page in book.worksheets if sheet is None or page.title == sheet]
    budget = MOST_CELLS
    pages: list[Sheet] = []
    for page in wanted:
        read = _rows(name, page, budget)
        budget -= sum(map(len, read.rows))
        pages.append(read)
    book.close()
    best = max(pages, key=lambda page: page.numbers())
    if not best.rows:
        raise InvalidData(f"{name} holds no filled cells.")
    others = [page.name for page in pages if page is not best and page.rows]
    notes = [f"Sheet {best.name!r} is read."] if others else []
    return best, notes


def _rows(name: str, page: Any, budget: int) -> Sheet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The size that a sheet claims may be wrong; the cells themselves say it.
        page.reset_dimensions()
        rows: list[Row] = []
        labels: list[int] = []
        for at, row in enumerate(page.iter_rows(values_only=True), start=1):
            if any(cell is not None for cell in row):
                budget -= len(row)
                if budget < 0:
                    raise InvalidData(f"{name} has more than {MOST_CELLS:,} cells: save the sheet as CSV.")
                rows.append(row)
                labels.append(at)
    return Sheet(page.title, rows, labels)


def _formulas(data: bytes, chosen: Sheet) -> dict[tuple[int, int], str]:
    """The formula texts by row number (from 1) and column (from 0)."""
    book = _open(data, values=False)
    page = book[chosen.name]
    page.reset_dimensions()
    found: dict[tuple[int, int], str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at, row in enumerate(page.iter_rows(values_only=True), start=1):
            for column, cell in enumerate(row):
                text = getattr(cell, "text", cell)
                if isinstance(text, str) and text[:1] == "=" and len(text) > 1:
                    found[at, column] = text
    book.close()
    return found


def _table(name: str, sheet: Sheet, formulas: dict[tuple[int, int], str], notes: list[str]) -> Table:
    head = [[_text(cell) for cell in row] for row in sheet.rows[:SAMPLE_ROWS]]
    found = find_header(head)
    width = max(map(len, sheet.rows))
    labels, body = sheet.labels[found.start :], sheet.rows[found.start :]
    if formulas and not any(isinstance(cell, (int, float)) for row in body for cell in row):
        raise InvalidData(
            f"{name} holds formulas without values: open it in Excel or LibreOffice, save it, and retry."
        )
    even = [row if len(row) == width else row + (None,) * (width - len(row)) for row in body]
    texts: list[Texts] = []
    plain: list[bool] = []
    for column in zip(*even, strict=True) if even else [()] * width:
        numbers = sum(isinstance(cell, (int, float)) for cell in column)
        plain.append(numbers > 0.5 * sum(cell is not None for cell in column))
        texts.append(texts_of([_value(cell) for cell in column]).texts)
    titles = titles_of(found.titles, width)
    by_column: list[tuple[str | None, ...] | None] = [None] * width
    for at in range(width) if formulas else ():
        by_column[at] = column_formulas = tuple(formulas.get((row, at)) for row in labels)
        if any(column_formulas) and not any(texts[at]):
            notes = [
                *notes,
                f"Column {titles[at]!r} holds formulas without values: save the workbook in Excel first.",
            ]
    table = build(
        titles,
        texts,
        name=name,
        plain=plain,
        formulas=by_column,
        notes=[*notes, *found.notes],
        labels=np.array(labels, dtype=np.int64),
        sheet=sheet.name,
    )
    return replace(table, notes=(*table.notes, *changed_formulas(table))) if formulas else table


def _value(cell: Any) -> Any:
    """What the text of a cell is made from: dates in ISO form, yes and no as Excel prints them."""
    if isinstance(cell, bool):
        return str(cell).upper()
    return cell.isoformat() if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)) else cell


def _text(cell: Any) -> str:
    return next(iter(itertools.islice(texts_of([_value(cell)]).texts, 1)))
