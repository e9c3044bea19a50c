"""Annotated copies: formulas, notes, and nothing that Excel would run by itself."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pytest

from inalu.errors import InvalidArgument, InvalidData
from inalu.expression import Expression
from inalu.tabular.annotate import annotate
from inalu.tabular.relation import Audit, Break, Evidence, Relation
from inalu.tabular.table import Table, read_table
from inalu.tabular.workbook import read as read_formula


def relation(target: str, text: str, breaking: tuple[Break, ...] = ()) -> Relation:
    formula = Expression.parse(text)
    evidence = Evidence(100.0, 1.0, 0.0, 10, formula.complexity)
    return Relation(target, formula, formula.columns, (), "stated", 4, 4 - len(breaking), breaking, evidence)


def audit(*relations: Relation) -> Audit:
    return Audit("t", 4, 0.1, 0.0, relations, (), None)


def example(path: Path) -> tuple[Audit, Table]:
    """A workbook with a title, a table that breaks in its third row, and a comment of its own."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "It's May"
    sheet.append(["Report"])
    sheet.append(["who", "net", "=tax", "gross"])
    for row in (["a", 1.25, 0.5, 1.75], ["b", 2.0, 0.25, 2.25], ["=c", 3.0, 1.0, 5.0], ["d", 4.0, None, 4.5]):
        sheet.append(row)
    sheet["C2"].data_type = "s"
    sheet["A5"].data_type = "s"
    sheet["D5"].comment = openpyxl.comments.Comment("mine", "me")
    book.save(path)
    broken = Break(2, 5.0, 4.0, 1.0, "digit_typed_wrong", "gross", 4.0)
    return audit(relation("gross", "net + `=tax`", (broken,))), read_table(path)


def test_a_workbook_keeps_its_sheets_and_gets_formulas_and_notes(tmp_path: Path) -> None:
    path, copy = tmp_path / "t.xlsx", tmp_path / "copy.xlsx"
    found, table = example(path)
    before = path.read_bytes()
    annotate(found, table, copy, source=path)
    assert path.read_bytes() == before
    book = openpyxl.load_workbook(copy)
    assert book.sheetnames == ["It's May", "inalu findings", "inalu formulas"]
    suspect = book["It's May"]["D5"]
    assert suspect.comment.text.startswith("mine\n")
    assert "digit typed wrong" in suspect.comment.text
    assert suspect.fill.start_color.rgb == "FFFFC7CE"
    assert book["It's May"]["D4"].comment is None
    cell = book["inalu formulas"]["B4"]
    assert cell.data_type == "f"
    assert "'It''s May'!B5" in cell.value
    inner = cell.value.split("IFERROR(")[1].split(',"")')[0].replace("'It''s May'!", "")
    assert str(read_formula(f"={inner}", row=5, names={1: "net", 2: "=tax"})) == "net + `=tax`"


def test_texts_that_begin_like_formulas_stay_texts(tmp_path: Path) -> None:
    copy = tmp_path / "copy.xlsx"
    columns = {
        "=cmd|' /C calc'!A0": [1.5, 2.5],
        "+who": ["=1+1", "@SUM(A1)"],
        "b": [3.0, 5.0],
        "c\x07": ["x\x00", "y"],
    }
    table = Table.from_columns(columns)
    annotate(audit(relation("b", "2 * `=cmd|' /C calc'!A0`")), table, copy)
    book = openpyxl.load_workbook(copy)
    for sheet in (book["data"], book["inalu findings"]):
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f", cell.value
    assert book["data"]["A1"].value == "=cmd|' /C calc'!A0"
    assert book["data"]["A1"].quotePrefix
    assert book["data"]["B2"].value == "=1+1"
    assert [cell.value for cell in book["data"][3]] == [2.5, "@SUM(A1)", 5, "y"]


def test_rows_without_a_row_before_have_no_formula(tmp_path: Path) -> None:
    copy = tmp_path / "copy.xlsx"
    table = Table.from_columns({"balance": [1, 3, 6], "paid": [1, 2, 3]})
    annotate(audit(relation("balance", "`balance[-1]` + paid")), table, copy)
    sheet = openpyxl.load_workbook(copy)["inalu formulas"]
    assert sheet["B2"].value is None
    assert "'data'!A2" in sheet["B3"].value


def test_an_audit_without_findings_says_so(tmp_path: Path) -> None:
    copy = tmp_path / "copy.xlsx"
    annotate(audit(), Table.from_columns({"a": [1, 2]}), copy)
    book = openpyxl.load_workbook(copy)
    assert book.sheetnames == ["data", "inalu findings"]
    assert book["inalu findings"]["A2"].value == "nothing found"


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    found, table = example(path)
    with pytest.raises(InvalidArgument, match="copy"):
        annotate(found, table, path, source=path)
    with pytest.raises(InvalidData, match="cannot be written"):
        annotate(found, table, tmp_path / "none" / "x.xlsx", source=path)


def test_a_table_from_a_stream_needs_no_file(tmp_path: Path) -> None:
    path, copy = tmp_path / "t.xlsx", tmp_path / "copy.xlsx"
    found, _ = example(path)
    table = read_table(io.BytesIO(path.read_bytes()))
    annotate(found, table, copy)
    assert openpyxl.load_workbook(copy)["data"]["D4"].comment is not None
