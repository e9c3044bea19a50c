"""Cells as people print them: known answers, and printing undone by reading (properties)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inalu.tabular.numerals import (
    CONTINENTAL,
    ENGLISH,
    INFINITE,
    MISSING,
    NUMBER,
    TEXT,
    Texts,
    find_styles,
    parse_cell,
    parse_column,
)

NUMBERS = [
    ("12", 12.0, 0),
    ("-12.50", -12.5, 2),
    ("+3.", 3.0, 0),
    (".5", 0.5, 1),
    ("1,234.56", 1234.56, 2),
    ("1 234.56", 1234.56, 2),
    ("1\u00a0234\u202f567.8", 1234567.8, 1),
    ("1'234'567", 1234567.0, 0),
    ("1’234", 1234.0, 0),
    ("12,34,567.89", 1234567.89, 2),
    ("(1,234.50)", -1234.5, 2),
    ("−5.0", -5.0, 1),
    ("–5", -5.0, 0),
    ("5-", -5.0, 0),
    ("$1,200", 1200.0, 0),
    ("-$5.25", -5.25, 2),
    ("$-5.25", -5.25, 2),
    ("($5.25)", -5.25, 2),
    ("€ 12", 12.0, 0),
    ("12.50 EUR", 12.5, 2),
    ("CHF 12.50", 12.5, 2),
    ("R$ 7", 7.0, 0),
    ("12.5%", 0.125, 3),
    ("12.5 %", 0.125, 3),
    ("(3%)", -0.03, 2),
    ("1e-05", 1e-5, 5),
    ("1.50E+03", 1500.0, -1),
    ("  7\t", 7.0, 0),
]


@pytest.mark.parametrize(("text", "value", "decimals"), NUMBERS)
def test_numbers(text: str, value: float, decimals: int) -> None:
    cell = parse_cell(text, ENGLISH)
    assert (cell.kind, cell.value, cell.decimals) == (NUMBER, value, decimals)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234,56", 1234.56),
        ("12,5 %", 0.125),
        ("1.234.567", 1234567.0),
        ("-0,5", -0.5),
        ("1 234,5 €", 1234.5),
    ],
)
def test_continental_numbers(text: str, value: float) -> None:
    assert parse_cell(text, CONTINENTAL).value == value


TEXTS = ["2020-01-31", "31.12.2020", "12:30", "1,2,3", "1.2.3", "12 kg", "x1", "1-2", "--5", "((5))", "(-5)"]
TEXTS += ["12,34", "1,2345", "5%%", "0x1F", "1e", "e5", "1_000", "٣", "²", "１", "$", "%", "$5€x", "9" * 70]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_no_numbers(text: str) -> None:
    assert parse_cell(text, ENGLISH).kind == TEXT


@pytest.mark.parametrize(
    "text", ["", " ", "NA", "n/a", "-", "—", "NULL", "NaN", "#DIV/0!", "?", "...", "\u00a0"]
)
def test_missing(text: str) -> None:
    assert parse_cell(text, ENGLISH).kind == MISSING


@pytest.mark.parametrize("text", ["inf", "-Infinity", "∞", "1e999", "-1e400"])
def test_infinite(text: str) -> None:
    assert parse_cell(text, ENGLISH).kind == INFINITE


def test_a_lone_sign_in_a_column_of_single_characters_is_read() -> None:
    read = parse_column(Texts.of(["5", "+", "-", "0"]), ENGLISH)
    np.testing.assert_array_equal(read.values, [5, np.nan, np.nan, 0])


@pytest.mark.parametrize("style", [ENGLISH, CONTINENTAL])
def test_the_fast_path_reads_as_the_slow_one(style: object) -> None:
    texts = (
        [text for text, _, _ in NUMBERS]
        + TEXTS
        + ["", "NA", "0", "000", "007", "-0", "0.00", "-.5", "1.", "."]
    )
    texts += ["12,5", "1.234,5", "-7,25", ",5", "+0,10", "1e5", "1e400", "10000000000000000000000"]
    plain = parse_column(Texts.of([text for text in texts if text.isascii()]), style)  # type: ignore[arg-type]
    whole = np.empty(len(plain.kind), dtype=object)
    whole[:] = [text for text in texts if text.isascii()]
    slow = parse_column(Texts(whole), style)  # type: ignore[arg-type]
    for field in ("kind", "values", "decimals", "digits", "mantissa", "padded"):
        np.testing.assert_array_equal(getattr(plain, field), getattr(slow, field), err_msg=field)


@settings(max_examples=150, derandomize=True)
@given(
    st.integers(-(10**12), 10**12),
    st.integers(0, 6),
    st.sampled_from([(",", "."), (".", ","), (" ", "."), ("'", "."), ("\u00a0", ","), ("", ".")]),
    st.sampled_from(["{}", "${}", "{} €", " {} "]),
)
def test_printing_is_undone_by_reading(whole: int, decimals: int, signs: tuple[str, str], shape: str) -> None:
    group, decimal = signs
    value = whole / 10**decimals
    text = f"{abs(whole) / 10**decimals:,.{decimals}f}".translate(str.maketrans({",": group, ".": decimal}))
    text = shape.format(f"-{text}" if whole < 0 else text)
    cell = parse_cell(text, CONTINENTAL if decimal == "," else ENGLISH)
    assert cell.kind == NUMBER
    assert cell.value == pytest.approx(value, rel=1e-15)
    assert cell.decimals == decimals


@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=30))
def test_any_text_is_read_without_an_error(text: str) -> None:
    read = parse_column(Texts.of([text, "1"]), ENGLISH)
    assert read.kind[1] == NUMBER
    assert np.isfinite(read.values[0]) == (read.kind[0] == NUMBER)


@pytest.mark.parametrize(
    ("columns", "semicolons", "decimal"),
    [
        ([["1.5", "2"]], False, "."),
        ([["1,5", "2"]], False, ","),
        ([["1.234,50"]], False, ","),
        ([["1,234.50"]], False, "."),
        ([["1,234", "567"]], False, "."),
        ([["1,234", "12,500"]], True, ","),
        ([["1,234", "567"]], True, "."),
        ([["1.234.567", "12"]], False, ","),
        ([["1.234", "5.678"]], False, "."),
        ([["1.234", "5.678", "12.500", "345", "7"]], False, ","),
        ([["0.125", "1.250"]], False, "."),
        ([["1,234"], ["7.5"]], True, "."),
        ([["2020-01-01", "x"], []], False, "."),
    ],
)
def test_the_decimal_sign_is_found(columns: list[list[str]], semicolons: bool, decimal: str) -> None:
    assert find_styles(columns, semicolons=semicolons)[0].decimal == decimal


def test_texts_survive_packing() -> None:
    cells = ["a", "", "ü", "x\0", "long" * 20]
    assert list(Texts.of(cells)) == cells
    assert list(Texts.of(["a\0"])) == ["a\0"]
