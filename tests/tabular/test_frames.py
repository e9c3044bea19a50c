"""Frames and arrays read as the files they would be printed to."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from inalu.errors import InvalidData
from inalu.tabular.table import Table, read_table


def columns() -> dict[str, Any]:
    return {
        "x": np.array([1.25, np.nan, -3.0, 1e-7]),
        "n": np.array([1, 2, 3, 4]),
        "f": np.array([0.1, 0.2, 0.3, 7.25], np.float32),
        "s": ["a", "b", "c", "d"],
    }


def same(one: Table, other: Table) -> None:
    assert one.names == other.names
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left.values, right.values)
        np.testing.assert_array_equal(left.half_unit, right.half_unit)
        assert (left.decimals, left.integer) == (right.decimals, right.integer)


def test_a_pandas_frame_reads_as_its_columns_and_as_its_file() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns())
    before = frame.copy()
    same(read_table(frame), Table.from_columns(columns()))
    same(read_table(frame), read_table(io.BytesIO(frame.to_csv(index=False).encode())))
    pandas.testing.assert_frame_equal(frame, before)


def test_a_polars_frame_reads_as_its_columns() -> None:
    polars = pytest.importorskip("polars")
    same(read_table(polars.DataFrame(columns())), Table.from_columns(columns()))
    nulls = polars.DataFrame({"f": polars.Series([0.1, None, 2.0], dtype=polars.Float32), "n": [1, None, 3]})
    table = read_table(nulls)
    np.testing.assert_array_equal(table.column("f").values, [0.1, np.nan, 2.0])
    np.testing.assert_array_equal(table.column("n").values, [1.0, np.nan, 3.0])


def test_nullable_and_odd_pandas_columns() -> None:
    pandas = pytest.importorskip("pandas")
    from decimal import Decimal
    from fractions import Fraction

    frame = pandas.DataFrame(
        {
            "i": pandas.array([1, None, 3], dtype="Int64"),
            "d": [Decimal("1.50"), Decimal("2.25"), None],
            "when": pandas.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "yes": [True, False, True],
            "half": [Fraction(1, 2), Fraction(1, 3), None],
            "kind": pandas.Categorical(["u", "v", "u"]),
        }
    )
    table = read_table(frame)
    assert table.names == ("i", "d")
    np.testing.assert_allclose(table.column("d").half_unit[:2], 0.005)


def test_repeated_and_composite_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, 3]], columns=["a", "a", 7])
    assert read_table(frame).names == ("a", "a.1", "7")
    frame.columns = pandas.MultiIndex.from_tuples([("x", "1"), ("x", "2"), ("y", "1")])
    assert read_table(frame).names == ("x 1", "x 2", "y 1")


@pytest.mark.parametrize("source", [np.zeros(3), [1, 2], None, object()])
def test_other_objects_are_refused(source: object) -> None:
    with pytest.raises(InvalidData, match="a table must be"):
        read_table(source)
