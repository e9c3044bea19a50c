"""A copy of a table as a workbook: formulas on a sheet of their own, notes on the cells that break them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inalu.errors import InvalidArgument, InvalidData, require_extra
from inalu.tabular import render
from inalu.tabular.derived import Place, place
from inalu.tabular.relation import Audit, Break, Relation
from inalu.tabular.table import Table
from inalu.tabular.totals import sentence

SUMMARY, FORMULAS, DATA = "inalu findings", "inalu formulas", "data"
MOST_FORMULAS = 1_000_000
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
LONGEST_CELL = 32_767
LONGEST_FORMULA = 8192
SUSPECT_FILL = "FFFFC7CE"
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def annotate(audit: Audit, table: Table, path: Path, *, source: str | Path | None = None) -> None:
    """Write a workbook with the table, its formulas and its breaking cells.

    ``source`` is the workbook that the table was read from: its sheets are kept. Without it, or when it is no
    workbook, the cells are written to a new one. The source itself is never changed.

    Raises
    ------
    InvalidArgument
        When the copy would overwrite its source.
    InvalidData
        When the table is too large for a sheet, or the copy cannot be written.
    """
    if source is not None and Path(source).exists() and path.exists() and path.samefile(source):
        raise InvalidArgument(f"annotate writes a copy: {str(path)!r} is the table itself.")
    count = len(audit.relations)
    if table.rows + 2 > MOST_ROWS or count * table.rows > MOST_FORMULAS:
        raise InvalidData(f"{table.rows:,} rows and {count} formulas are too many for a workbook.")
    book, sheet = _copy(table, source)
    first = _first_row(table, sheet.title != DATA)
    rows = [first(row) for row in range(table.rows)]
    _write_findings(book.create_sheet(_free(book, SUMMARY)), audit, table, rows)
    if count:
        _write_formulas(book.create_sheet(_free(book, FORMULAS)), audit, table, sheet, rows)
    _mark(sheet, audit, table, rows)
    try:
        book.save(path)
    except OSError as error:
        raise InvalidData(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _copy(table: Table, source: str | Path | None) -> tuple[Any, Any]:
    """The workbook that the copy starts from, and the sheet with the table."""
    openpyxl = require_extra("openpyxl", "all")
    if source is not None and table.sheet is not None and Path(source).is_file():
        with warnings.catch_warnings():
            # What openpyxl cannot keep (some drawings) is not what the copy is for.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(Path(source).read_bytes()))
        return book, book[table.sheet]
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = DATA
    columns: dict[int, tuple[str, Callable[[int], Any]]] = {}
    for column in table.columns:
        columns[column.position] = (column.name, column.values.__getitem__)
    free = (at for at in range(MOST_COLUMNS) if at not in columns)
    for other in table.others:
        columns[next(free)] = (other.name, other.text)
    for at, (name, cell) in columns.items():
        put(sheet.cell(1, at + 1), name)
        for row in range(table.rows):
            put(sheet.cell(row + 2, at + 1), cell(row))
    sheet.freeze_panes = "A2"
    return book, sheet


def _first_row(table: Table, from_workbook: bool) -> Callable[[int], int]:
    """The sheet row (from 1) of a data row (from 0)."""
    if from_workbook:
        return table.row_label
    return lambda row: row + 2


def _free(book: Any, title: str) -> str:
    titles = {sheet.title.lower() for sheet in book.worksheets}
    found = title
    while found.lower() in titles:
        found += "+"
    return found


def put(cell: Any, value: Any) -> None:
    """Write a value; a text stays a text, whatever sign it begins with."""
    if isinstance(value, str):
        text = _ILLEGAL.sub("?", value)[:LONGEST_CELL]
        cell.value = text
        if text[:1] in ("=", "+", "-", "@", "\t"):
            # openpyxl would take "=1+1" for a formula; the mark keeps Excel from doing so when it is edited.
            cell.data_type = "s"
            cell.quotePrefix = True
    elif value is None or not np.isfinite(value):
        cell.value = None
    else:
        number = float(value)
        cell.value = int(number) if number.is_integer() and abs(number) < 2**53 else number


def _write_findings(sheet: Any, audit: Audit, table: Table, rows: Sequence[int]) -> None:
    styles = require_extra("openpyxl.styles", "all")
    bold = styles.Font(bold=True)
    lines: list[tuple[Any, ...]] = [("column", "formula", "rows checked", "rows holding", "found by")]
    for relation in audit.relations:
        formula = str(relation.formula)
        lines.append(
            (relation.target, formula, relation.rows_checked, relation.rows_holding, relation.found_by)
        )
    if not audit.relations:
        lines.append(("nothing found",))
    if audit.total_rows:
        lines += [(), ("total rows",)]
        lines += [(sentence(total, table, audit.total_rows),) for total in audit.total_rows]
    breaks = [(relation, broken) for relation in audit.relations for broken in relation.breaking]
    heads = [1]
    if breaks:
        heads.append(len(lines) + 2)
        lines += [(), ("row", "column", "value", "expected", "difference", "likely cause", "suspect")]
        for relation, broken in breaks:
            numbers = (broken.value, broken.expected, broken.difference)
            cause = broken.cause.replace("_", " ")
            lines.append((rows[broken.row], relation.target, *numbers, cause, broken.suspect))
    for at, line in enumerate(lines, start=1):
        for across, value in enumerate(line, start=1):
            put(sheet.cell(at, across), value)
            if at in heads:
                sheet.cell(at, across).font = bold
    for letter, width in zip("ABCDEFG", (24, 48, 14, 14, 14, 24, 24), strict=True):
        sheet.column_dimensions[letter].width = width


def _write_formulas(sheet: Any, audit: Audit, table: Table, data: Any, rows: Sequence[int]) -> None:
    """For every relation a column of formulas over the cells of the data sheet, and one of differences.

    Total rows have no formulas.
    """
    totals = [rows[total.row] for total in audit.total_rows]
    skipped = frozenset(totals)
    rows = [row for row in rows if row not in skipped] if totals else rows
    utils = require_extra("openpyxl.utils", "all")
    letters = {column.name: utils.get_column_letter(column.position + 1) for column in table.columns}
    decimals = {column.name: None if column.relative else column.decimals for column in table.columns}
    title = data.title.replace("'", "''")
    put(sheet.cell(1, 1), "row")
    for row in range(len(rows)):
        put(sheet.cell(row + 2, 1), rows[row])
    for at, relation in enumerate(audit.relations):
        column = 2 + 2 * at
        put(sheet.cell(1, column), f"{relation.target}, computed")
        put(sheet.cell(1, column + 1), f"{relation.target}, difference")
        here = utils.get_column_letter(column)
        for row in range(len(rows)):
            text = _cell_formula(
                relation, letters, f"'{title}'", rows, row, decimals.get(relation.target), totals
            )
            if text is None:
                continue
            sheet.cell(row + 2, column).value = text
            own = f"'{title}'!{letters[relation.target]}{rows[row]}"
            guard = f"AND(ISNUMBER({own}),ISNUMBER({here}{row + 2}))"
            sheet.cell(row + 2, column + 1).value = f'=IF({guard},{own}-{here}{row + 2},"")'
    sheet.freeze_panes = "B2"


def _cell_formula(
    relation: Relation,
    letters: dict[str, str],
    title: str,
    rows: Sequence[int],
    row: int,
    decimals: int | None,
    totals: Sequence[int],
) -> str | None:
    """The formula of one row over cells: empty where an operand is, None where it needs a row that is not."""
    if any(not 0 <= row + place(name).shift < len(rows) for name in relation.formula.columns):
        return None

    def reference(where: Place) -> str:
        letter = letters[where.name]
        if where.running:
            text = f"SUM({title}!{letter}${rows[0]}:{letter}{rows[row]})"
            # Totals between the rows would be counted again.
            again = [f"{title}!{letter}{total}" for total in totals if rows[0] < total < rows[row]]
            return f"({text}-{'-'.join(again)})" if again else text
        return f"{title}!{letter}{rows[row + where.shift]}"

    formula = render.excel(relation.formula, decimals=decimals, reference=reference)[1:]
    cells = [reference(place(name)) for name in relation.formula.columns]
    if not cells:
        return f"={formula}"
    text = f'=IF(COUNT({",".join(cells)})={len(cells)},IFERROR({formula},""),"")'
    return text if len(text) <= LONGEST_FORMULA else None


def _mark(sheet: Any, audit: Audit, table: Table, rows: Sequence[int]) -> None:
    """Colour the suspect cells and say why in a note."""
    comments = require_extra("openpyxl.comments", "all")
    styles = require_extra("openpyxl.styles", "all")
    fill = styles.PatternFill("solid", start_color=SUSPECT_FILL, end_color=SUSPECT_FILL)
    positions = {column.name: column.position + 1 for column in table.columns}
    said: dict[tuple[int, int], list[str]] = {}
    for relation in audit.relations:
        for broken in relation.breaking:
            column = positions.get(broken.suspect, positions.get(relation.target))
            if column is not None:
                said.setdefault((rows[broken.row], column), []).append(note(relation, broken))
    for total in audit.total_rows:
        for wrong in total.breaking:
            text = f"The sum of the rows above is {wrong.expected:.12g}, the cell holds {wrong.value:.12g}."
            said.setdefault((rows[total.row], positions[wrong.column]), []).append(text)
    for (row, column), lines in said.items():
        cell = sheet.cell(row, column)
        # The covered cells of a merged range are read-only.
        if type(cell).__name__ == "MergedCell":
            continue
        text = "\n".join(lines)
        if cell.comment is not None:
            text = f"{cell.comment.text}\n{text}"
        cell.comment = comments.Comment(
            _ILLEGAL.sub("?", text)[:LONGEST_CELL], "inalu", width=360, height=120
        )
        cell.fill = fill


def note(relation: Relation, broken: Break) -> str:
    """What the note on a suspect cell says."""
    text = (
        f"{relation} gives {broken.expected:.12g}, the cell of {relation.target} holds {broken.value:.12g}."
    )
    if broken.cause != "unknown":
        text += f" Likely cause: {broken.cause.replace('_', ' ')}."
    if broken.proposal is not None:
        text += f" {broken.suspect} should be {broken.proposal:.12g}."
    return text
