"""Formulas recalculated by LibreOffice and SQL run in SQLite agree with ours, on tables of the corpus."""

from __future__ import annotations

import csv
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from inalu.expression import Expression
from inalu.tabular import render
from inalu.tabular.annotate import annotate
from inalu.tabular.audit import check, lookup_of
from inalu.tabular.exports import export
from inalu.tabular.relation import Audit
from inalu.tabular.rules import Rule, Rules, rules_of
from inalu.tabular.table import Table, read_table

TABLES = Path(__file__).parents[1] / "data" / "tables"
NAMES = (
    "macrodata.csv",
    "us_marriages.csv",
    "us_employment.csv",
    "election.csv",
    "towny.csv",
    "arbuthnot.csv",
    "cells.csv",
)
STATED = {
    'gross "x"': "net + `tax 'n`",
    "each": '1000 * `gross "x"` / `=people`',
    "balance": "`balance[-1]` + paid",
    "so far": "`cumsum(paid)`",
    "weight": "`=people` / (`tax 'n` / 100) ** 2",
    "growth": "100 * (paid - `paid[-1]`) / `paid[-1]`",
    "net": '`gross "x"` - `tax \'n`',
}


def made() -> Table:
    """A table with a relation of every kind, two broken rows, missing cells and zero divisors."""
    rng = np.random.default_rng(9)
    rows = 120
    net = np.round(rng.uniform(5, 900, rows), 2)
    tax = np.round(rng.uniform(1, 90, rows), 2)
    gross = np.round(net + tax, 2)
    people = rng.integers(1, 400, rows).astype(float)
    people[[7, 70]] = 0
    with np.errstate(divide="ignore"):
        each = np.where(people > 0, np.round(1000 * gross / people, 1), np.nan)
    weight = np.round(people / (tax / 100) ** 2, 1)
    paid = rng.integers(-500, 900, rows).astype(float)
    paid[30] = 0
    before = np.concatenate([[np.nan], paid[:-1]])
    growth = np.round(100 * (paid - before) / np.where(before == 0, np.nan, before), 2)
    balance = 5000 + np.cumsum(paid)
    gross[[10, 40]] += 0.37
    net[[20, 60]] = np.nan
    columns = {"net": net, "tax 'n": tax, 'gross "x"': gross, "=people": people, "each": each}
    columns |= {
        "paid": paid,
        "balance": balance,
        "so far": np.cumsum(paid),
        "weight": weight,
        "growth": growth,
    }
    return Table.from_columns(columns, name="made")


def cases() -> list[tuple[Table, Audit]]:
    """Tables with relations that are known to be true, judged row by row."""
    out = [(made(), STATED)]
    for name in NAMES:
        with (TABLES / "index.csv").open(encoding="utf-8", newline="") as stream:
            known = {
                line["target"]: line["formula"] for line in csv.DictReader(stream) if line["file"] == name
            }
        out.append((read_table(TABLES / name), known))
    return [(table, check(rules(known), table)) for table, known in out]


def rules(known: dict[str, str]) -> Rules:
    return Rules("known", tuple(Rule(target, Expression.parse(text)) for target, text in known.items()))


def expected(found: Audit, table: Table) -> dict[str, Any]:
    lookup = lookup_of(table)
    return {
        str(relation): relation.formula.evaluate({name: lookup(name)[0] for name in relation.formula.columns})
        for relation in found.relations
    }


def database(table: Table) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    names = ", ".join(render.identifier(column.name) for column in table)
    connection.execute(f"CREATE TABLE data ({names})")
    cells = np.column_stack([column.values for column in table])
    rows = [[None if np.isnan(cell) else float(cell) for cell in row] for row in cells]
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(table.columns))})", rows)
    return connection


@pytest.mark.parametrize(("table", "found"), cases(), ids=lambda case: getattr(case, "name", ""))
def test_sql_agrees_in_values_and_in_breaking_rows(table: Table, found: Audit) -> None:
    connection = database(table)
    for relation in found.relations:
        wanted = expected(found, table)[str(relation)]
        values = [row[0] for row in connection.execute(f"SELECT {render.sql(relation.formula)} FROM data")]
        filled = np.isfinite(wanted)
        np.testing.assert_allclose(
            [value for value, there in zip(values, filled, strict=True) if there], wanted[filled], rtol=1e-12
        )
    statements = export(rules_of(found.relations, table), "sql", table="data").split(";\n")
    for relation, statement in zip(found.relations, statements, strict=False):
        numbered = statement.replace("SELECT * FROM (", "SELECT inalu_row FROM (", 1)
        numbered = numbered.replace("SELECT *, ", "SELECT rowid AS inalu_row, *, ", 1)
        rows = {row[0] - 1 for row in connection.execute(numbered)}
        assert rows == {broken.row for broken in relation.breaking}, str(relation)
    connection.close()


@pytest.mark.system
def test_libreoffice_recalculates_the_same_values(tmp_path: Path) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is missing: apt-get install libreoffice-calc (Debian, Ubuntu)")
    for at, (table, found) in enumerate(cases()):
        path = tmp_path / f"copy{at}.xlsx"
        annotate(found, table, path)
        out = tmp_path / "out"
        command = [
            office,
            "--headless",
            f"-env:UserInstallation=file://{tmp_path}/profile",
            "--convert-to",
            "xlsx",
        ]
        subprocess.run([*command, "--outdir", out, path], check=True, capture_output=True, timeout=180)
        sheet = openpyxl.load_workbook(out / path.name, data_only=True)["inalu formulas"]
        for number, relation in enumerate(found.relations):
            wanted = expected(found, table)[str(relation)]
            column = table.column(relation.target)
            half = 0.0 if column.relative else 0.5 * 10.0**-column.decimals
            for row in range(table.rows):
                value = sheet.cell(row + 2, 2 + 2 * number).value
                if np.isfinite(wanted[row]):
                    assert value == pytest.approx(wanted[row], abs=half * 1.001 + 1e-12, rel=1e-12), (
                        relation,
                        row,
                    )
                else:
                    assert value in (None, ""), (relation, row)
