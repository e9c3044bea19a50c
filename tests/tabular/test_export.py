"""Exports run in their tools, or in what those tools run on, and find exactly the breaking rows."""

from __future__ import annotations

import json
import sqlite3
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from inalu.errors import InvalidArgument
from inalu.expression import Expression
from inalu.tabular import render
from inalu.tabular.exports import export
from inalu.tabular.exports.tolerance import derivative, tolerance
from inalu.tabular.rules import Rule, Rules, rules_of
from inalu.tabular.table import Table

SMOOTH = ["a + 2 * b", "a * b / c", "100 * (a - b) / b", "a / b ** 2", "sqrt(a * b)", "abs(a - b)"]
HOSTILE = "co\"st); DROP TABLE sales; -- {{ 1/0 }} {x} '`%"


@dataclass(frozen=True)
class Stated:
    """A relation as far as rules need it."""

    target: str
    formula: Expression
    found_by: str = "stated"
    rows_checked: int = 0
    rows_holding: int = 0
    exact_operands: bool = False


def sales(rows: int = 60) -> tuple[Table, dict[str, Any], Rules, dict[str, set[int]]]:
    """A table with one rule of each kind and a few rows that break each; two cells are missing."""
    rng = np.random.default_rng(5)
    net = np.round(rng.uniform(10, 900, rows), 2)
    tax = np.round(0.081 * net, 2)
    gross = np.round(net + tax, 2)
    pieces = rng.integers(1, 40, rows).astype(float)
    each = np.round(gross / pieces, 2)
    paid = rng.integers(-50, 90, rows).astype(float)
    balance = 1000 + np.cumsum(paid)
    so_far = np.cumsum(paid)
    broken = {"gross": {3, 17}, "each": {5}, "balance": {20, 21}, "so far": {30}}
    for row in broken["gross"]:
        gross[row] += 0.5
        each[row] = np.round(gross[row] / pieces[row], 2)
    each[5] *= 10
    balance[20] += 7
    so_far[30] -= 30
    net[40] = np.nan
    columns = {HOSTILE: net, "tax": tax, "gross": gross, "pieces": pieces, "each": each}
    columns |= {"paid": paid, "balance": balance, "so far": so_far}
    table = Table.from_columns(columns, name="sales.csv")
    net_column = Expression.column(HOSTILE)
    stated = [
        Stated("gross", net_column + Expression.column("tax")),
        Stated("each", Expression.parse("gross / pieces")),
        Stated("balance", Expression.column("balance[-1]") + Expression.column("paid")),
        Stated("so far", Expression.column("cumsum(paid)")),
    ]
    return table, columns, rules_of(stated, table), broken


@pytest.fixture
def database() -> Any:
    table, columns, _, _ = sales()
    connection = sqlite3.connect(":memory:")
    names = [*columns, "row"]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    connection.execute(f"CREATE TABLE sales ({quoted})")
    for row in range(table.rows):
        cells = [None if np.isnan(values[row]) else float(values[row]) for values in columns.values()]
        connection.execute(f"INSERT INTO sales VALUES ({', '.join('?' * len(names))})", [*cells, row])
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


def test_sql_finds_the_breaking_rows(database: Any) -> None:
    _, _, rules, broken = sales()
    statements = [part for part in export(rules, "sql").split(";\n") if part.strip()]
    assert len(statements) == len(rules.rules)
    for rule, statement in zip(rules.rules, statements, strict=True):
        assert {row["row"] for row in database.execute(statement)} == broken[rule.target]
    assert database.execute("SELECT count(*) FROM sales").fetchone()[0] == 60


def test_sql_can_be_ordered_by_a_column(database: Any) -> None:
    _, _, rules, broken = sales()
    database.execute("CREATE TABLE mixed AS SELECT * FROM sales ORDER BY abs(row - 31.3)")
    text = export(Rules("x", rules.rules[2:3]), "sql", table="mixed", order="row")
    assert {row["row"] for row in database.execute(text)} == broken["balance"]


def test_dbt_test_finds_the_breaking_rows(database: Any) -> None:
    jinja2 = pytest.importorskip("jinja2")
    _, _, rules, broken = sales()
    text = jinja2.Template(export(rules, "dbt")).render(ref=lambda name: f'"{name}"')
    found = list(database.execute(text))
    counts = {at: sum(row["inalu_rule"] == at for row in found) for at in range(1, 5)}
    assert counts == {at: len(broken[rule.target]) for at, rule in enumerate(rules.rules, start=1)}


def test_dbt_without_rules_returns_no_row(database: Any) -> None:
    jinja2 = pytest.importorskip("jinja2")
    text = jinja2.Template(export(Rules("sales", ()), "dbt")).render(ref=lambda name: name)
    assert list(database.execute(text)) == []


def test_great_expectations_queries_find_the_breaking_rows(database: Any) -> None:
    _, _, rules, broken = sales()
    suite = json.loads(export(rules, "great-expectations"))
    for rule, expectation in zip(rules.rules, suite["expectations"], strict=True):
        query = expectation["kwargs"]["unexpected_rows_query"].format(batch="sales")
        assert {row["row"] for row in database.execute(query)} == broken[rule.target]


def test_pandera_checks_fail_in_the_breaking_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    _, columns, rules, broken = sales()
    stub: Any = types.ModuleType("pandera.pandas")
    stub.Column = lambda kind, **options: (kind, options)
    stub.Check = lambda check, **options: check
    stub.DataFrameSchema = lambda **options: options
    monkeypatch.setitem(sys.modules, "pandera", types.ModuleType("pandera"))
    monkeypatch.setitem(sys.modules, "pandera.pandas", stub)
    space: dict[str, Any] = {}
    exec(export(rules, "pandera"), space)
    assert set(space["schema"]["columns"]) == set(columns)
    frame = pandas.DataFrame(columns)
    for rule, check in zip(rules.rules, space["schema"]["checks"], strict=True):
        assert set(np.flatnonzero(~check(frame))) == broken[rule.target]


def test_excel_lines_are_one_a_rule() -> None:
    rule = Rule("=cmd|' /C calc'!A0", Expression.column("a\nb") + Expression.column("c"), 2)
    text = export(Rules("t", (rule,)), "excel")
    assert text.count("\n") == 1
    assert text.startswith("'=cmd")


@pytest.mark.parametrize("kind", ["sql", "dbt", "great-expectations"])
def test_a_line_break_in_a_name_never_leaves_a_comment(kind: str, database: Any) -> None:
    name = 'a\n"; DROP TABLE sales; --\n'
    rule = Rule(name, Expression.column("row") + 1)
    database.execute(f"ALTER TABLE sales ADD COLUMN {render.identifier(name)}")
    text = export(Rules("sales", (rule,)), kind)
    if kind == "dbt":
        text = pytest.importorskip("jinja2").Template(text).render(ref=lambda name: name)
    if kind == "great-expectations":
        text = json.loads(text)["expectations"][0]["kwargs"]["unexpected_rows_query"].format(batch="sales")
    database.executescript(text)
    assert database.execute("SELECT count(*) FROM sales").fetchone()[0] == 60


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="Did you mean"):
        export(Rules("t", ()), "pandra")


@pytest.mark.parametrize("text", SMOOTH)
def test_derivative_agrees_with_differences(text: str) -> None:
    formula = Expression.parse(text)
    at = {"a": 3.0, "b": 2.0, "c": 0.7}
    for name in formula.columns:
        up, down = ({**at, name: at[name] + step} for step in (1e-6, -1e-6))
        expected = (formula.evaluate(up) - formula.evaluate(down)) / 2e-6
        assert derivative(formula, name).evaluate(at) == pytest.approx(float(expected), rel=1e-6)


def test_exact_operands_leave_only_the_targets_rounding() -> None:
    _, _, rules, _ = sales()
    rule = rules.rules[1]
    exact = Rule(rule.target, rule.formula, rule.decimals, rule.precision, exact_operands=True)
    assert str(tolerance(exact)) == "0.005"
    assert tolerance(rule).columns
