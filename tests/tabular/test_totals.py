"""Subtotal and total rows: found by arithmetic, left out of formulas, judged cell by cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

from inalu.cli.main import inalu
from inalu.tabular.audit import audit, check, fit
from inalu.tabular.html import page_of
from inalu.tabular.rules import rules_of
from inalu.tabular.table import Table, read_table
from inalu.tabular.totals import sentence, total_rows

HEAD = ["item", "qty", "price", "net", "tax", "gross"]
SUMMED = ("qty", "net", "tax", "gross")
Row = list[Any]


def items(count: int = 14, seed: int = 4) -> list[Row]:
    """Invoice lines; whole cents, so that sums are exact."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(count):
        quantity, price = int(rng.integers(1, 40)), int(rng.integers(120, 9900))
        net = quantity * price
        tax = round(net * 0.19)
        rows.append([f"p{at}", quantity, price, net, tax, net + tax])
    return rows


def total(label: str, rows: list[Row], price: int | None = None) -> Row:
    sums = [sum(row[at] for row in rows) for at in (1, 3, 4, 5)]
    return [label, sums[0], price, *sums[1:]]


def grouped(
    groups: tuple[int, ...] = (7, 5, 2), label: str = "Subtotal", end: str | None = "Grand total"
) -> list[Row]:
    rows, out, at = items(sum(groups)), [], 0
    for size in groups:
        out += [*rows[at : at + size], total(label, rows[at : at + size])]
        at += size
    return [*out, total(end, rows)] if end else out


def money(cents: int | None, decimal: str = ".") -> str:
    return "" if cents is None else f"{cents / 100:.2f}".replace(".", decimal)


def written(path: Path, rows: list[Row], *, decimal: str = ".", delimiter: str = ",") -> Path:
    lines = [delimiter.join(HEAD)]
    for name, quantity, *cents in rows:
        lines.append(delimiter.join([name, str(quantity), *(money(cell, decimal) for cell in cents)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def found(path: Path, rows: list[Row], **how: str) -> list[tuple[int, str | None, int, int, tuple[str, ...]]]:
    read = total_rows(read_table(written(path, rows, **how)))
    return [(one.row, one.label, one.first, one.last, one.columns) for one in read]


def test_a_labelled_total_is_found_and_breaks_no_formula(tmp_path: Path) -> None:
    rows = items()
    table = read_table(written(tmp_path / "t.csv", [*rows, total("Total", rows)]))
    answer = audit(table)
    (one,) = answer.total_rows
    assert (one.row, one.label, one.first, one.last, one.columns) == (14, "Total", 0, 13, SUMMED)
    assert not one.breaking
    assert {str(relation) for relation in answer.relations} >= {"net = qty * price", "gross = net + tax"}
    assert all(relation.rows_checked == 14 for relation in answer.relations)
    assert answer.holds
    assert answer.rows == 15
    assert sentence(one, table) == "line 16 is the total of lines 2–15: qty, net, tax, gross"


def test_subtotals_and_a_grand_total_each_sum_their_own_rows(tmp_path: Path) -> None:
    spans = [one[:4] for one in found(tmp_path / "t.csv", grouped())]
    assert spans == [
        (7, "Subtotal", 0, 6),
        (13, "Subtotal", 8, 12),
        (16, "Subtotal", 14, 15),
        (17, "Grand total", 0, 15),
    ]


def test_a_group_of_one_row_and_totals_of_totals(tmp_path: Path) -> None:
    region = [*grouped((3, 1, 4), end="Region total")]
    other = [*grouped((2, 3), end="Region total")]
    plain = [row for row in (*region, *other) if row[0].startswith("p")]
    everything = [*region, *other, total("Grand total", plain)]
    spans = [one[:4] for one in found(tmp_path / "t.csv", everything)]
    assert [span[0] for span in spans] == [
        at for at, row in enumerate(everything) if not row[0].startswith("p")
    ]
    assert spans[1][2:] == (4, 4)
    assert spans[3][2:] == (0, 9)
    assert spans[6][2:] == (12, 17)
    assert spans[7][2:] == (0, 17)


def test_rows_keep_their_numbers_below_a_subtotal(tmp_path: Path) -> None:
    rows = grouped((9, 9, 9))
    rows[14][5] += 5000
    answer = audit(written(tmp_path / "t.csv", rows))
    (gross,) = (relation for relation in answer.relations if relation.target == "gross")
    assert [broken.row for broken in gross.breaking] == [14]
    assert gross.rows_checked == 27
    # The totals were of the right cells: the subtotal below and the grand total break in this column too.
    wrong = [(one.row, [cell.column for cell in one.breaking]) for one in answer.total_rows if one.breaking]
    assert wrong == [(19, ["gross"]), (30, ["gross"])]


def test_a_column_that_is_no_sum_is_named_and_breaks_nothing(tmp_path: Path) -> None:
    rows = items()
    mean = sum(row[2] for row in rows) // len(rows)
    answer = audit(written(tmp_path / "t.csv", [*rows, total("Total", rows, price=mean)]))
    (one,) = answer.total_rows
    assert one.unsummed == ("price",)
    assert not one.breaking
    assert answer.holds


@pytest.mark.parametrize("wrong", [1000, -300, 40_000])
def test_a_wrong_cell_of_a_total_breaks(tmp_path: Path, wrong: int) -> None:
    rows = items()
    last = total("Total", rows)
    last[4] += wrong
    path = written(tmp_path / "t.csv", [*rows, last])
    result = CliRunner().invoke(inalu, ["audit", str(path), "--json"])
    assert result.exit_code == 1
    (one,) = json.loads(result.stdout)["total_rows"]
    assert one["columns"] == ["qty", "net", "gross"]
    (cell,) = one["breaking"]
    assert cell["column"] == "tax"
    assert cell["difference"] == pytest.approx(wrong / 100)
    assert cell["expected"] == pytest.approx(sum(row[4] for row in rows) / 100)
    shown = CliRunner().invoke(inalu, ["audit", str(path)])
    assert shown.exit_code == 1
    assert "1 total row does not add up" in shown.output


def test_where_most_labels_are_totals_one_more_is_a_wrong_total() -> None:
    rng = np.random.default_rng(3)
    names, amounts = [], []
    for group in range(6):
        block = rng.integers(1000, 90_000, 5).tolist()
        names += [*(f"g{group}r{at}" for at in range(5)), "Sum"]
        amounts += [*block, sum(block) + (4321 if group == 2 else 0)]
    read = total_rows(Table.from_columns({"name": names, "amount": amounts}))
    assert [one.row for one in read] == [5, 11, 17, 23, 29, 35]
    assert [one.row for one in read if one.breaking] == [17]
    assert read[2].breaking[0].difference == 4321


def test_a_last_row_without_a_label_needs_several_columns(tmp_path: Path) -> None:
    rows = items()
    assert [one[:2] for one in found(tmp_path / "t.csv", [*rows, total("", rows)])] == [(14, None)]
    short = {"a": [3, 4, 5, 12], "b": [1, 2, 3, 6]}
    assert total_rows(Table.from_columns(short)) == ()
    alone = {"a": [31_234, 45_112, 59_876, 136_222], "b": [17, 20, 30, 11]}
    assert total_rows(Table.from_columns(alone)) == ()


def test_total_as_a_product_is_a_row_like_any_other(tmp_path: Path) -> None:
    rows = items(20)
    for at in (3, 9, 19):
        rows[at][0] = f"Total Care {at}"
    assert found(tmp_path / "t.csv", rows) == []
    # Also among subtotals, and beside a total that is one.
    many = grouped((4, 4, 4, 4, 4, 4))
    many[12][0] = "Total Care"
    assert 12 not in [one[0] for one in found(tmp_path / "t.csv", many)]
    assert [one[0] for one in found(tmp_path / "t.csv", [*rows, total("Total", rows)])] == [20]


def test_german_labels_and_decimal_commas(tmp_path: Path) -> None:
    rows = grouped((6, 6), label="Zwischensumme", end="Gesamt")
    read = found(tmp_path / "t.csv", rows, decimal=",", delimiter=";")
    assert [one[:2] for one in read] == [(6, "Zwischensumme"), (13, "Zwischensumme"), (14, "Gesamt")]
    assert all(one[4] == SUMMED for one in read)


def test_missing_cells_count_for_nothing() -> None:
    net: list[float | None] = [12.5, None, 40.25, 7.75, 19.0, None, 79.5]
    tax: list[float | None] = [None, 3.1, 4.4, None, 2.05, 1.2, 10.75]
    names = ["a", "b", "c", "d", "e", "f", "Totale"]
    read = total_rows(
        Table.from_columns({"name": names, "net": net, "tax": tax, "empty": [None] * 6 + [5.0]})
    )
    assert [(one.row, one.columns, one.unsummed) for one in read] == [(6, ("net", "tax"), ())]


def test_rounded_cells_sum_within_their_rounding() -> None:
    rng = np.random.default_rng(9)
    exact = rng.uniform(10, 900, (40, 3))
    cells = np.round(np.vstack([exact, exact.sum(axis=0)]), 1)
    names = [f"r{at}" for at in range(40)] + ["Summe"]
    table = Table.from_columns({"name": names, **{f"c{at}": cells[:, at] for at in range(3)}})
    assert [one.columns for one in total_rows(table)] == [("c0", "c1", "c2")]


def test_the_label_may_stand_in_a_column_of_numbers() -> None:
    years = [*map(str, range(2001, 2013)), "Total"]
    cells = [int(cell) for cell in np.random.default_rng(1).integers(1000, 9999, 12)]
    read = total_rows(Table.from_columns({"year": years, "sold": [*cells, sum(cells)]}))
    assert [(one.row, one.label) for one in read] == [(12, "Total")]


def test_tables_of_luck_have_no_totals() -> None:
    names = [f"total {at}" if at % 5 == 4 else f"r{at}" for at in range(40)]
    for seed in range(300):
        rng = np.random.default_rng(seed)
        cells = rng.poisson(3.0, (40, 8)) * (rng.random((40, 8)) < 0.5)
        table = Table.from_columns({"name": names, **{f"c{at}": cells[:, at] for at in range(8)}})
        assert total_rows(table) == (), seed


def test_check_and_fit_leave_totals_out_too(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", grouped((9, 6)))
    rules = rules_of(audit(path).relations, read_table(path))
    answer = check(rules, path)
    assert answer.holds
    assert len(answer.total_rows) == 3
    assert {relation.rows_checked for relation in answer.relations} == {15}
    assert str(fit(path, target="gross").relations[0]) == "gross = net + tax"


def test_page_and_workbook_tell_of_totals(tmp_path: Path) -> None:
    rows = grouped((9, 6))
    rows[-1][0] = "<i>Total</i>"
    rows[-1][4] += 1000
    path = written(tmp_path / "t.csv", rows)
    table = read_table(path)
    page = page_of(audit(table), table)
    assert "&lt;i&gt;Total" in page
    assert "<i>Total" not in page
    assert "1 total row does not add up" in page
    copy = tmp_path / "copy.xlsx"
    assert CliRunner().invoke(inalu, ["audit", str(path), "--annotate", str(copy)]).exit_code == 1
    book = openpyxl.load_workbook(copy)
    sheet = book.worksheets[0]
    assert sheet.cell(19, 5).comment is not None
    numbers = [cell.value for cell in book.worksheets[2]["A"]][1:]
    assert numbers == [row for row in range(2, 19) if row not in (11, 18)]
