"""Formulas in other languages have the same values there."""

from __future__ import annotations

import math
import re
import sqlite3
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inalu.expression import Expression
from inalu.tabular import render
from inalu.tabular.derived import Lookup, Place
from inalu.tabular.workbook import read as read_excel

NAMES = ["a", "b c", 'q"uote', "d'[x]#@", "net %", "=1+1"]
ROWS = {name: np.round(np.random.default_rng(at).uniform(-9, 9, 12), 2) for at, name in enumerate(NAMES)}

leaves = st.one_of(
    st.sampled_from(NAMES).map(Expression.column),
    st.sampled_from(["1", "2", "0.5", "100", "1/3", "-3", "1.08"]).map(Expression.constant),
)


def _combine(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    two = st.tuples(parts, parts)
    return st.one_of(
        two.map(lambda pair: pair[0] + pair[1]),
        two.map(lambda pair: pair[0] - pair[1]),
        two.map(lambda pair: pair[0] * pair[1]),
        two.map(lambda pair: pair[0] / (pair[1] + Expression.column("a") * 7)),
        parts.map(lambda part: -part),
        parts.map(lambda part: part**2),
        parts.map(lambda part: (part**2) ** 0.5),
    )


formulas = st.recursive(leaves, _combine, max_leaves=6)


def expected(formula: Expression) -> Any:
    values = formula.evaluate(ROWS)
    return values if values.ndim else np.full(12, float(values))


@settings(max_examples=120, derandomize=True, deadline=None)
@given(formulas)
def test_sql_has_the_same_values_in_sqlite(formula: Expression) -> None:
    connection = sqlite3.connect(":memory:")
    quoted = ", ".join(render.identifier(name) for name in NAMES)
    connection.execute(f"CREATE TABLE t ({quoted})")
    connection.executemany(
        f"INSERT INTO t VALUES ({', '.join('?' * len(NAMES))})",
        [[float(ROWS[name][row]) for name in NAMES] for row in range(12)],
    )
    found = [row[0] for row in connection.execute(f"SELECT {render.sql(formula)} FROM t")]
    connection.close()
    for value, wanted in zip(found, expected(formula), strict=True):
        if math.isfinite(wanted):
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        else:
            assert value is None


@settings(max_examples=120, derandomize=True, deadline=None)
@given(formulas)
def test_pandas_text_has_the_same_values(formula: Expression) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    with np.errstate(all="ignore"):
        found = np.broadcast_to(eval(render.pandas(formula), {"df": frame, "abs": abs}), 12)
    np.testing.assert_allclose(found, expected(formula), rtol=1e-9, atol=1e-9)


@settings(max_examples=120, derandomize=True, deadline=None)
@given(formulas)
def test_excel_text_reads_back_as_the_same_formula(formula: Expression) -> None:
    letters = dict(enumerate(NAMES))
    text = render.excel(formula, reference=lambda where: f"{'ABCDEF'[NAMES.index(where.name)]}5")
    back = read_excel(text, row=5, names=letters)
    if formula.columns and back is not None:
        np.testing.assert_allclose(back.evaluate(ROWS), expected(formula), rtol=1e-9, atol=1e-9)
    structured = read_excel(render.excel(formula), row=5, names=letters)
    if formula.columns and back is not None:
        assert structured == back


@settings(max_examples=40, derandomize=True, deadline=None)
@given(formulas)
def test_sympy_form_has_the_same_values(formula: Expression) -> None:
    pytest.importorskip("sympy")
    form = render.to_sympy(formula)
    for row in range(3):
        values = {symbol: float(ROWS[symbol.name][row]) for symbol in form.free_symbols}
        wanted = expected(formula)[row]
        if math.isfinite(wanted):
            assert float(form.subs(values)) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(formulas)
def test_latex_is_balanced(formula: Expression) -> None:
    text = re.sub(r"\\[{}]", "", render.latex(formula))
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


def test_whole_numbers_divide_as_fractions_in_sql() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
    connection.execute("INSERT INTO t VALUES (1, 2), (3, 0)")
    for text in ("a / b", "(a + 0) / b", "100 * a / b", "(a + b) / b - 1", "1 / b", "-a / b", "a * a / b"):
        formula = Expression.parse(text)
        found = [row[0] for row in connection.execute(f"SELECT {render.sql(formula)} FROM t")]
        assert found == [pytest.approx(float(formula.evaluate({"a": 1.0, "b": 2.0}))), None]
    connection.close()


def test_rows_before_and_running_sums() -> None:
    formula = Expression.column("balance[-1]") + Expression.column("cumsum(paid in)")
    values = {"balance": np.array([5.0, 7.0, 11.0]), "paid in": np.array([1.0, 2.0, 4.0])}
    lookup = Lookup({name: (cells, np.zeros(3)) for name, cells in values.items()})
    wanted = formula.evaluate({name: lookup(name)[0] for name in formula.columns})
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t (balance, "paid in")')
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)", zip(*(cells.tolist() for cells in values.values()), strict=True)
    )
    found = [row[0] for row in connection.execute(f"SELECT {render.sql(formula)} FROM t")]
    connection.close()
    assert found == [None, *wanted[1:]]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(values)
    np.testing.assert_array_equal(eval(render.pandas(formula), {"df": frame}), wanted)
    assert render.excel(formula) == "=OFFSET([@[balance]],-1,0) + SUM(INDEX([paid in],1):[@[paid in]])"
    assert render.excel(formula, reference=lambda where: f"{where.name[0]}{3 + where.shift}") == "=b2 + p3"


def test_rounding_is_to_the_targets_digits() -> None:
    formula = Expression.parse("a / b")
    assert render.excel(formula, decimals=2) == "=ROUND([@[a]] / [@[b]],2)"
    assert render.sql(formula, decimals=0).startswith("ROUND(")
    assert render.pandas(formula, decimals=1).endswith(".round(1)")


def test_a_minus_before_a_power_is_safe_in_excel() -> None:
    # Excel reads -2^2 as 4.
    text = render.excel(-(Expression.column("a") ** 2))
    assert text == "=-([@[a]]^2)"
    assert render.excel(-(Expression.column("a") ** 2) + 1) == "=-([@[a]]^2) + 1"


def test_names_are_escaped_by_the_rules_of_structured_references() -> None:
    assert render.structured(Place("a[1]#'@")) == "[@[a'[1']'#'''@]]"
