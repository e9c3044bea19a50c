"""Workbooks: cells, sheets, titles, formulas; and what is refused before it is opened."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import openpyxl
import pytest

from inalu.errors import InvalidArgument, InvalidData
from inalu.tabular import excel_reader
from inalu.tabular.table import Table, read_table


def saved(fill: Callable[[Any], None]) -> bytes:
    book = openpyxl.Workbook()
    fill(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def read(data: bytes, **options: str) -> Table:
    return read_table(io.BytesIO(data), **options)  # type: ignore[arg-type]


def small(book: Any) -> None:
    sheet = book.active
    sheet.title = "Sales"
    sheet["B1"] = "Sales of May"
    for across, title in enumerate(["item", "n", "price", "day", "paid", "none"], start=2):
        sheet.cell(3, across, title)
    for row in range(5):
        day = datetime.datetime(2024, 5, row + 1)
        for across, value in enumerate([f"i{row}", row, row * 1.25, day, row % 2 == 0], start=2):
            sheet.cell(row + 4, across, value)
    sheet["D9"] = "n/a"
    sheet["C9"] = 7
    notes = book.create_sheet("Notes")
    notes.append(["see", "also"])
    notes.append([1, 2])


def test_the_sheet_with_the_most_numbers_is_read() -> None:
    table = read(saved(small))
    assert table.sheet == "Sales"
    assert table.names == ("n", "price")
    assert table.column("n").integer
    assert table.labels is not None
    assert table.labels.tolist() == [4, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(table.column("price").values, [0, 1.25, 2.5, 3.75, 5, np.nan])
    others = {other.name: other.text(0) for other in table.others}
    assert others["day"] == "2024-05-01T00:00:00"
    assert others["paid"] == "TRUE"


def test_a_sheet_can_be_named() -> None:
    assert read(saved(small), sheet="Notes").names == ("see", "also")
    with pytest.raises(InvalidArgument, match="'Sales', 'Notes'"):
        read(saved(small), sheet="Nowhere")


def test_stored_values_count_not_what_a_format_shows() -> None:
    def fill(book: Any) -> None:
        book.active.append(["x", "y"])
        for value in (1 / 3, 2 / 7, 5.5, 0.1 + 0.2, 1e9 / 7):
            book.active.append([value, 0.125])
            book.active.cell(book.active.max_row, 1).number_format = "0.00"
            book.active.cell(book.active.max_row, 2).number_format = "0%"

    table = read(saved(fill))
    assert table.column("x").values[0] == 1 / 3
    assert table.column("x").half_unit.max() < 1e-5
    assert table.column("x").relative > 0
    assert table.column("y").values[0] == 0.125


def test_floats_with_three_decimals_beside_whole_numbers_stay_decimals() -> None:
    def fill(book: Any) -> None:
        book.active.append(["x"])
        for value in (1.234, 5.678, 12.5, 345, 7, 2.125, 3.375):
            book.active.append([value])

    assert read(saved(fill)).column("x").values[0] == 1.234


def test_formulas_without_values_are_named() -> None:
    def fill(book: Any) -> None:
        book.active.append(["a", "b"])
        for row in range(2, 6):
            book.active.append([row, f"=A{row}*2"])

    table = read(saved(fill))
    assert table.names == ("a",)
    assert any("formulas without values" in note for note in table.notes)

    def only(book: Any) -> None:
        book.active.append(["a"])
        book.active.append(["=1+1"])

    with pytest.raises(InvalidData, match="formulas without values"):
        read(saved(only))


def repacked(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The archive with some parts changed or left out."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = change(name, old.read(name))
            if part is not None:
                new.writestr(name, part)
    return stream.getvalue()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def swell(name: str, part: bytes) -> bytes:
        return part + b" " * 30_000_000 if name.endswith("sheet1.xml") else part

    monkeypatch.setattr(excel_reader, "_open", lambda *args, **options: pytest.fail("it was opened"))
    with pytest.raises(InvalidData, match="unpacks more than"):
        read(repacked(saved(small), swell))
    monkeypatch.setattr(excel_reader, "MOST_UNPACKED", 1000)
    with pytest.raises(InvalidData, match="unpacks to"):
        read(saved(small))


def test_entities_are_refused() -> None:
    def attack(name: str, part: bytes) -> bytes:
        bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'
        return bomb if name.endswith("sheet1.xml") else part

    with pytest.raises(InvalidData, match="entities"):
        read(repacked(saved(small), attack))


def test_a_sheet_of_endless_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel_reader, "MOST_CELLS", 10)
    with pytest.raises(InvalidData, match="more than 10 cells"):
        read(saved(small))


def test_a_far_away_cell_costs_nothing() -> None:
    def fill(book: Any) -> None:
        book.active.append(["a", "b"])
        book.active.append([1, 2])
        book.active["C900000"] = 5

    assert read(saved(fill)).rows == 2


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["mimetype", "content.xml"], "OpenDocument"),
        (["xl/workbook.bin"], "xlsb"),
        (["a.txt"], "without a workbook"),
    ],
)
def test_other_archives_are_named(names: list[str], message: str) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    with pytest.raises(InvalidData, match=message):
        read(stream.getvalue())


def test_an_old_or_protected_workbook_is_named() -> None:
    with pytest.raises(InvalidData, match="password"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
