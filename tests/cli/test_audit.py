"""`inalu audit` on real files: what it prints, writes and returns."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner, Result

from inalu.cli.main import inalu
from inalu.tabular import audit as room
from inalu.tabular.relation import Audit

HEADERS = ["<b>net", "tax", "=gross", "who"]


def rows(broken: tuple[int, ...] = ()) -> list[list[Any]]:
    rng = np.random.default_rng(2)
    net, tax = rng.integers(100, 99999, 60) / 100, rng.integers(1, 9999, 60) / 100
    gross = np.round(net + tax, 2)
    gross[list(broken)] *= 1000
    return [
        [a, b, round(c, 2), f"w{at % 3}"]
        for at, (a, b, c) in enumerate(zip(net.tolist(), tax.tolist(), gross.tolist(), strict=True))
    ]


def csv_file(path: Path, broken: tuple[int, ...] = ()) -> Path:
    lines = [",".join(HEADERS), *(",".join(map(str, row)) for row in rows(broken))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(inalu, [str(argument) for argument in arguments], input=text)


def test_a_sound_table_exits_with_0(tmp_path: Path) -> None:
    result = run("audit", csv_file(tmp_path / "t.csv"))
    assert result.exit_code == 0, result.output
    assert "=gross = `<b>net` + tax" in result.output or "`=gross`" in result.output
    assert "all 60 rows" in result.output


def test_breaking_rows_exit_with_1_and_are_listed(tmp_path: Path) -> None:
    result = run("audit", csv_file(tmp_path / "t.csv", (7, 31)))
    assert result.exit_code == 1
    assert "58 of 60 rows" in result.output
    lines = [line.split() for line in result.output.splitlines()]
    # Data row 7 is line 9 of the file.
    assert any(line[:2] == ["7", "9"] for line in lines)
    assert any(line[:2] == ["31", "33"] for line in lines)
    few = run("audit", tmp_path / "t.csv", "--rows", "1")
    assert "and 1 more row" in few.output


def test_json_is_the_object_of_the_library(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv", (7,))
    result = run("audit", path, "--json")
    printed = json.loads(result.output)
    wanted = room.audit(path).to_json()
    for found in (printed, wanted):
        found.pop("seconds")
    assert printed == wanted
    assert result.exit_code == 1
    relation = printed["relations"][0]
    assert relation["breaking"][0]["row"] == 7
    assert relation["excel"].startswith("=")
    assert '"<b>net" + "tax"' in relation["sql"]


def test_standard_input(tmp_path: Path) -> None:
    text = csv_file(tmp_path / "t.csv").read_text()
    result = run("audit", "-", "--json", text=text)
    assert json.loads(result.output)["table"] == "standard input"
    assert result.exit_code == 0


def test_nothing_found_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    values = np.random.default_rng(0).integers(0, 10**6, (40, 3))
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in values) + "\n")
    result = run("audit", path)
    assert result.exit_code == 0
    assert "No formula found" in result.output


def test_all_outputs_at_once(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv", (7,))
    targets = {name: tmp_path / name for name in ("rules.json", "copy.xlsx", "page.html", "out.json")}
    result = run(
        *("audit", path, "--json", "-o", targets["out.json"], "--save", targets["rules.json"]),
        *("--annotate", targets["copy.xlsx"], "--html", targets["page.html"]),
    )
    assert result.exit_code == 1, result.output
    assert result.output == ""
    assert json.loads(targets["out.json"].read_text())["rows"] == 60
    assert json.loads(targets["rules.json"].read_text())["format"] == "inalu-rules"
    assert "inalu findings" in openpyxl.load_workbook(targets["copy.xlsx"]).sheetnames
    page = targets["page.html"].read_text(encoding="utf-8")
    assert "<b>net" not in page
    assert "&lt;b&gt;net" in page


@pytest.mark.parametrize("kind", ["pandera", "great-expectations", "dbt", "sql", "excel"])
def test_exports_print_only_the_artefact(kind: str, tmp_path: Path) -> None:
    result = run("audit", csv_file(tmp_path / "t.csv"), "--export", kind)
    assert result.exit_code == 0, result.output
    assert "numeric columns" not in result.output
    assert "tax" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "--export", "sql"], "choose one"),
        (["--annotate", "copy.csv"], ".xlsx"),
        (["--order", "day"], "--export"),
        (["--name", "t"], "--export"),
        (["--html", "no/such/folder/p.html"], "folder"),
        (["--stages", "magic"], "stages"),
        (["--sheet"], "requires an argument"),
    ],
)
def test_wrong_usage_is_one_sentence_and_2(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = run("audit", csv_file(tmp_path / "t.csv"), *arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04rubbish", b"\x00\x01\x02" * 99, b"%PDF-1.7"])
def test_unreadable_input_is_one_sentence_and_2(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    result = run("audit", path)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    missing = run("audit", tmp_path / "none.csv")
    assert missing.exit_code == 2


def with_values(path: Path, values: dict[str, float]) -> None:
    """Give the formulas of a workbook the values that a spreadsheet program would store with them."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    for cell, value in values.items():
        sheet, count = re.subn(rf'(<c r="{cell}"[^>]*><f>[^<]*</f>)<v ?/>', rf"\g<1><v>{value}</v>", sheet)
        assert count == 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else part)


def test_a_number_typed_over_a_formula_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    rng = np.random.default_rng(8)
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "total"])
    values = {}
    for row in range(2, 32):
        one, other = (int(value) for value in rng.integers(1, 9999, 2))
        book.active.append([one, other, f"=A{row}+B{row}"])
        values[f"C{row}"] = one + other
    book.active["C9"] = 12345
    del values["C9"]
    book.save(path)
    with_values(path, values)
    result = run("audit", path)
    assert result.exit_code == 1
    assert "(=A2+B2), but sheet row 9 holds a typed number" in result.output
    assert "29 of 30 rows" in result.output
    assert "formula overwritten, in total" in result.output


def test_a_formula_of_a_short_workbook_needs_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for row in range(2, 7):
        book.active.append([row, row * row, f"=A{row}+B{row}"])
    book.active["C4"] = 1
    book.save(path)
    with_values(path, {f"C{row}": row + row * row for row in (2, 3, 5, 6)})
    result = run("audit", path, "--json")
    found = json.loads(result.output)["relations"]
    assert [(one["target"], one["formula"], one["found_by"]) for one in found] == [("c", "a + b", "workbook")]
    assert [(row["row"], row["cause"], row["suspect"]) for row in found[0]["breaking"]] == [
        (2, "formula overwritten", "c")
    ]
    assert result.exit_code == 1


def test_an_interrupted_search_prints_what_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv")
    found = room.audit(path)

    def stopped(*arguments: object, **options: object) -> Audit:
        from dataclasses import replace

        return replace(found, interrupted=True)

    monkeypatch.setattr(room, "audit", stopped)
    result = run("audit", path)
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert "all 60 rows" in result.output
