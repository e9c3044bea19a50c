"""`inalu check`: last month's rules on this month's table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from inalu.cli.main import inalu


def table(path: Path, seed: int, broken: tuple[int, ...] = ()) -> Path:
    rng = np.random.default_rng(seed)
    price, pieces = rng.integers(100, 9999, 40) / 100, rng.integers(1, 90, 40)
    total = np.round(price * pieces, 2)
    total[list(broken)] += 1
    lines = [f"{a};{b};{c:.2f}".replace(".", ",") for a, b, c in zip(price, pieces, total, strict=True)]
    path.write_text("Preis;Stück;Summe\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(inalu, [str(argument) for argument in arguments])


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.json"
    assert run("audit", table(tmp_path / "january.csv", 1), "--save", path).exit_code == 0
    return path


def test_a_table_that_obeys(rules: Path, tmp_path: Path) -> None:
    result = run("check", rules, table(tmp_path / "february.csv", 2))
    assert result.exit_code == 0, result.output
    assert "all 40 rows" in result.output


def test_a_table_that_breaks(rules: Path, tmp_path: Path) -> None:
    path = table(tmp_path / "february.csv", 2, (4, 11))
    result = run("check", rules, path)
    assert result.exit_code == 1
    assert "38 of 40 rows" in result.output
    found = json.loads(run("check", rules, path, "--json").output)
    assert [broken["row"] for broken in found["relations"][0]["breaking"]] == [4, 11]


def test_a_missing_column_is_named(rules: Path, tmp_path: Path) -> None:
    path = table(tmp_path / "february.csv", 2)
    path.write_text(path.read_text().replace("Preis", "Price"))
    result = run("check", rules, path)
    assert result.exit_code == 2
    assert "'Preis'" in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_what_is_no_rules_file_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", 1)
    assert run("check", path, path).exit_code == 2
    result = run("check", tmp_path / "none.json", path)
    assert result.exit_code == 2
    assert "no file" in result.output


def test_no_rules_hold_in_any_table(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"format": "inalu-rules", "version": 1, "rules": []}')
    result = run("check", path, table(tmp_path / "t.csv", 1))
    assert result.exit_code == 0
    assert "no rules" in result.output
