"""Formulas recalculated by LibreOffice and SQL run in SQLite agree with ours, on tables of the corpus."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from inalu.tabular import render
from inalu.tabular.annotate import annotate
from inalu.tabular.audit import audit, lookup_of
from inalu.tabular.exports import export
from inalu.tabular.relation import Audit
from inalu.tabular.rules import rules_of
from inalu.tabular.table import Table, read_table

TABLES = Path(__file__).parents[1] / "data" / "tables"
NAMES = ("macrodata.csv", "us_marriages.csv", "us_employment.csv", "election.csv")


def made() -> Table:
    """A table with a relation of every kind that formulas are written for, two broken rows and missing cells."""
    rng = np.random.default_rng(9)
    rows = 120
    net = np.round(rng.uniform(5, 900, rows), 2)
    tax = np.round(rng.uniform(1, 90, rows), 2)
    gross = np.round(net + tax, 2)
    people = rng.integers(1, 400, rows).astype(float)
    each = np.round(1000 * gross / people, 1)
    paid = rng.integers(-500, 900, rows).astype(float)
    balance = 5000 + np.cumsum(paid)
    gross[[10, 40]] += 0.37
    net[[20, 60]] = np.nan
    columns = {"net": net, "tax 'n": tax, 'gross "x"': gross, "=people": people, "each": each}
    return Table.from_columns(columns | {"paid": paid, "balance": balance}, name="made")


def tables() -> list[Table]:
    return [made(), *(read_table(TABLES / name) for name in NAMES)]


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


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_sql_agrees_in_values_and_in_breaking_rows(table: Table) -> None:
    found = audit(table)
    connection = database(table)
    for relation in found.relations:
        wanted = expected(found, table)[str(relation)]
        values = [row[0] for row in connection.execute(f"SELECT {render.sql(relation.formula)} FROM data")]
        filled = np.isfinite(wanted)
        np.testing.assert_allclose(
            [value for value, there in zip(values, filled, strict=True) if there], wanted[filled], rtol=1e-12
        )
    # Breaking rows as SQL sees them, by their rowid.
    rules = rules_of(found.relations, table)
    for relation, statement in zip(
        found.relations, export(rules, "sql", table="data").split(";\n"), strict=False
    ):
        numbered = statement.replace("SELECT *, ", "SELECT rowid AS inalu_row, *, ", 1)
        rows = {
            row[0] - 1
            for row in connection.execute(numbered.replace("SELECT * FROM (", "SELECT inalu_row FROM (", 1))
        }
        assert rows == {broken.row for broken in relation.breaking}, str(relation)
    connection.close()


@pytest.mark.system
def test_libreoffice_recalculates_the_same_values(tmp_path: Path) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.fail("LibreOffice is missing: apt-get install libreoffice-calc (Debian, Ubuntu)")
    for at, table in enumerate(tables()):
        found = audit(table)
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
