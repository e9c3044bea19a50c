"""Formulas in workbooks: read as ours, and cells that someone typed over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inalu.tabular.table import Table
from inalu.tabular.workbook import notes, read, written

NAMES = {0: "a", 1: "b", 2: "c d", 3: "e"}


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("=A2+B2", "a + b"),
        ("=$A2-B2*2", "a - 2 * b"),
        ("=SUM(A2:D2)", "a + b + `c d` + e"),
        ("=SUM(A2,B2:C2)-D2", "a + b + `c d` - e"),
        ("=AVERAGE(A2:B2)", "(a + b) / 2"),
        ("=ROUND(A2/B2*100,1)", "100 * a / b"),
        ("=IFERROR(A2/B2,IF(A2>1,0,1))", "a / b"),
        ("=-A2^2", "a ** 2"),
        ("=2^A2", None),
        ("=A2^0.5+SQRT(B2)", "sqrt(a) + sqrt(b)"),
        ("=ABS(A2-B2)", "abs(a - b)"),
        ("=POWER(A2,2)", "a ** 2"),
        ("=A2*8.1%", "0.081 * a"),
        ("=A1+B2", "`a[-1]` + b"),
        ("=[@[c d]]*2", "2 * `c d`"),
        ("=Table1[[#This Row],[a]]+1", "a + 1"),
        ("=T[@a]*[@e]", "a * e"),
        ("=A$2*2", None),
        ("=SUM(A$2:A2)", None),
        ("=IF(A2>1,1,2)", None),
        ("=Sheet2!A2", None),
        ("=VLOOKUP(A2,B:C,1)", None),
        ("=Z2+1", None),
        ("=1+1", None),
        ('=A2&"x"', None),
        ("=A2+", None),
        ("=" + "(" * 500, None),
        ("=" + "-" * 900 + "A2", None),
        ("=A2*" + "9" * 2000, None),
    ],
)
def test_formulas_are_read(text: str, formula: str | None) -> None:
    found = read(text, row=2, names=NAMES)
    assert (str(found) if found is not None else None) == formula


def test_a_sum_from_the_first_row_down_is_a_running_sum() -> None:
    assert str(read("=SUM(A$2:A7)", row=7, names=NAMES, first=2)) == "`cumsum(a)`"
    assert read("=SUM(A$3:A7)", row=7, names=NAMES, first=2) is None


def table(formulas: list[str | None]) -> Table:
    rows = len(formulas)
    plain = Table.from_columns({"a": range(rows), "b": range(1, rows + 1), "total": range(2, rows + 2)})
    columns = (*plain.columns[:2], replace(plain.columns[2], formulas=tuple(formulas)))
    return replace(plain, columns=columns, labels=np.arange(2, rows + 2), sheet="S")


def test_a_number_typed_over_a_formula_is_found() -> None:
    formulas: list[str | None] = [f"=A{row}+B{row}" for row in range(2, 12)]
    formulas[4] = None
    formulas[7] = "=A9-B9"
    found = written(table(formulas))
    assert [(one.target, str(one.formula)) for one in found] == [("total", "a + b")]
    assert found[0].overwritten == (4,)
    assert found[0].different == (7,)
    said = notes(table(formulas))
    assert any("sheet row 6 holds a typed number" in note for note in said)
    assert any("sheet row 9 holds another formula" in note for note in said)


def test_a_column_of_numbers_with_one_formula_is_no_formula_column() -> None:
    assert written(table(["=A2+B2", *[None] * 9])) == ()


def test_a_table_without_a_workbook_has_none() -> None:
    assert written(Table.from_columns({"a": [1, 2]})) == ()
