"""Delimited text: the same cells, however they were written down."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

import numpy as np
import pytest

from inalu.errors import InvalidArgument, InvalidData
from inalu.tabular.table import Table, read_table

ROWS = [["Zürich", "12", "1.5", "1234.25"], ["Genf, Süd", "7", "", "-0.5"], ['"x"', "0", "22.75", "99999.99"]]
TITLES = ["Stadt", "n", "Preis €", "total"]


def read(text: str | bytes, **options: str) -> Table:
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)  # type: ignore[arg-type]


def written(delimiter: str, decimal: str, encoding: str, newline: str) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=newline)
    writer.writerow(TITLES)
    writer.writerows([row[0], *(cell.replace(".", decimal) for cell in row[1:])] for row in ROWS)
    return stream.getvalue().encode(encoding)


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-16-le"]
FORMS = list(itertools.product([",", ";", "\t", "|"], [".", ","], ENCODINGS, ["\n", "\r\n", "\r"]))


@pytest.mark.parametrize(("delimiter", "decimal", "encoding", "newline"), FORMS)
def test_the_form_is_found_out(delimiter: str, decimal: str, encoding: str, newline: str) -> None:
    table = read(written(delimiter, decimal, encoding, newline))
    assert table.names == ("n", "Preis €", "total")
    np.testing.assert_array_equal(table.column("total").values, [1234.25, -0.5, 99999.99])
    np.testing.assert_array_equal(table.column("Preis €").values, [1.5, np.nan, 22.75])
    assert table.others[0].text(1) == "Genf, Süd"
    assert table.labels is not None
    assert table.labels.tolist() == [2, 3, 4]


def test_options_override_what_would_be_found() -> None:
    table = read("a;b\n1,234;2\n3,456;4\n", decimal=".")
    assert table.column("a").values.tolist() == [1234.0, 3456.0]
    assert read("a.b\n1.2\n", delimiter=".").names == ("a", "b")
    with pytest.raises(InvalidArgument, match="encoding"):
        read("a,b\n1,2\n", encoding="klingon")
    with pytest.raises(InvalidData, match="decoded"):
        read("ä,b\n1,2\n".encode("cp1252"), encoding="utf-8")
    with pytest.raises(InvalidArgument, match="delimiter"):
        read("a,b\n1,2\n", delimiter="ab")


def test_grouped_numbers_in_quotes() -> None:
    table = read('name,amount\na,"1,234.50"\nb,"(2,000.00)"\nc,"$3.25"\n')
    assert table.column("amount").values.tolist() == [1234.5, -2000.0, 3.25]


def test_titles_above_the_header_are_left_out() -> None:
    table = read("Report of May\n\nregion,net,tax\nN,1,2\nS,3,4\n")
    assert table.names == ("net", "tax")
    assert table.labels is not None
    assert table.labels.tolist()[0] == 4
    assert any("above the header" in note for note in table.notes)


def test_a_table_without_header_is_numbered() -> None:
    table = read("1,2.5\n3,4.5\n5,6.5\n")
    assert table.names == ("column 0", "column 1")
    assert table.rows == 3


def test_years_may_be_headers() -> None:
    assert read("country,1996,2001\nA,12,15\nB,7,9\n").names == ("1996", "2001")
    assert read("1996,2001,2006\n12,15,3\n7,9,4\n").names == ("1996", "2001", "2006")
    assert read("2001,5\n2002,7\n2003,9\n").names == ("column 0", "column 1")


def test_ragged_rows_are_read_and_named() -> None:
    table = read("a,b,c\n1,2,3\n4,5\n6,7,8,9\n\n10,11,12\n")
    assert table.rows == 4
    assert np.isnan(table.column("c").values[1])
    assert sum("header" in note for note in table.notes) == 2
    assert table.row_label(3) == 6


def test_row_names_without_a_header_as_r_writes_them() -> None:
    table = read('"a","b"\n"r1",1,2\n"r2",3,4\n"r3",5,6\n')
    assert table.names == ("a", "b")
    assert table.column("a").values.tolist() == [1.0, 3.0, 5.0]


def test_a_delimiter_at_the_end_of_every_line() -> None:
    table = read("a;b;\n1;2;\n3;4;\n")
    assert table.names == ("a", "b")
    assert table.others == ()


def test_blanks_as_delimiter() -> None:
    table = read("  x   y\n 1.5   2\n 3.25  4\n10.00 12\n")
    assert table.column("x").values.tolist() == [1.5, 3.25, 10.0]


def test_a_stray_quote_swallows_no_rows() -> None:
    lines = ["name,n"] + [f"a{at},{at}" for at in range(300)]
    lines[3] = '"6 inch,2'
    assert read("\n".join(lines)).rows == 300


def test_total_rows_stay_rows() -> None:
    table = read("item,n\na,1\nb,2\nTotal,3\n")
    assert table.column("n").values.tolist() == [1.0, 2.0, 3.0]


def test_one_column_is_a_table() -> None:
    assert read("x\n1\n2\n").names == ("x",)


def test_paths_open_files_and_text_files_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with path.open("rb") as binary, path.open() as text:
        tables = [read_table(path), read_table(str(path)), read_table(binary), read_table(text)]
    assert {table.name for table in tables} == {"t.csv"}
    assert all(table.column("b").values.tolist() == [2.0, 4.0] for table in tables)
