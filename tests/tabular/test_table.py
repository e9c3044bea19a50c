"""Tables: which columns are numeric, what their names become, and what the reader says about them."""

from __future__ import annotations

import numpy as np
import pytest

from inalu.errors import InvalidArgument, InvalidData
from inalu.tabular.table import Table, read_table, unique_names


def test_columns_keep_their_order_and_place() -> None:
    table = Table.from_columns({"a": [1, 2], "who": ["x", "y"], "b": [0.5, 1.5]})
    assert table.names == ("a", "b")
    assert [column.position for column in table] == [0, 2]
    assert [other.name for other in table.others] == ["who"]
    assert table.column("b").text(1) == "1.5"


def test_a_column_with_a_few_texts_stays_numeric_and_says_so() -> None:
    table = Table.from_columns({"x": [str(value) for value in range(20)] + ["see note", "n/a", "inf"]})
    column = table.column("x")
    assert np.isnan(column.values[20:]).all()
    assert any("see note" in note for note in table.notes)
    assert any("infinite" in note for note in table.notes)


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-01", "2021-05-31"],
        ["20240131", "20231224"],
        ["00123", "00045"],
        ["01", "12", "07"],
        ["12:30", "13:45"],
        ["True", "False"],
        ["x", "y"],
        ["", ""],
        ["1", "a", "b", "2", "c"],
        ["9780306406157123456", "9780306406157123457"],
    ],
)
def test_dates_identifiers_and_words_are_no_quantities(cells: list[str]) -> None:
    assert Table.from_columns({"x": cells, "y": range(len(cells))}).names == ("y",)


def test_months_are_dates_only_under_a_header_that_says_so() -> None:
    months = ["202301", "202302", "202303"]
    assert Table.from_columns({"month": months, "n": [1, 2, 3]}).names == ("n",)
    assert Table.from_columns({"amount": months}).names == ("amount",)


def test_names_become_unique_as_pandas_makes_them() -> None:
    pandas = pytest.importorskip("pandas")
    import io

    titles = ["a", "", "a", "b", "a.1", "", " b"]
    frame = pandas.read_csv(io.StringIO(",".join(titles) + "\n" + ",".join("1234567") + "\n"))
    names, notes = unique_names(titles)
    assert names == list(frame.columns)
    assert notes


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("balance[-1]", "balance[-1] (column)"),
        ("cumsum(x)", "cumsum(x) (column)"),
        ("x[1]", "x[1]"),
        ("a\nb", "a b"),
        ("a`b", "a'b"),
        ("\x1b[31mred", " [31mred"),
        ("=1+1", "=1+1"),
        ("x" * 900, "x" * 500),
    ],
)
def test_hostile_headers_become_quotable(title: str, name: str) -> None:
    assert unique_names([title])[0] == [name]


def test_names_are_found_without_their_spaces_and_near_ones_suggested() -> None:
    table = Table.from_columns({" price ": [1, 2], "who": ["a", "b"]})
    assert table.column("price").name == " price "
    with pytest.raises(InvalidArgument, match="Did you mean ' price '"):
        table.column("prise")
    with pytest.raises(InvalidArgument, match="must hold numbers"):
        table.column("who")


@pytest.mark.parametrize("columns", [{}, {"a": []}, {"a": [1, 2], "b": [1]}, {"a": np.zeros((2, 2))}])
def test_what_is_no_table_is_refused(columns: dict[str, object]) -> None:
    with pytest.raises(InvalidData):
        Table.from_columns(columns)  # type: ignore[arg-type]


def test_a_source_that_is_no_table_is_refused() -> None:
    with pytest.raises(InvalidData, match="no file"):
        read_table("no such file.csv")
    with pytest.raises(InvalidData, match="int"):
        read_table(7)
    with pytest.raises(InvalidArgument, match="decimal"):
        read_table({"a": [1]}, decimal=";")
    table = Table.from_columns({"a": [1]})
    assert read_table(table) is table
