"""`inalu audit` on real files: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
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


def test_a_search_cut_off_before_it_found_anything_does_not_say_that_nothing_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("inalu.tabular.pipeline.Search.run", stop)
    path, page = csv_file(tmp_path / "t.csv"), tmp_path / "page.html"
    result = run("audit", path, "--html", page)
    assert result.exit_code == 130
    assert "no formula had been found yet" in result.output
    assert "No formula found" not in result.output + page.read_text(encoding="utf-8")
    printed = json.loads(run("audit", path, "--json").output)
    assert printed["relations"] == []
    assert printed["unexplained"] == ["<b>net", "tax", "=gross"]


def test_ctrl_c_in_the_last_step_still_prints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weigh, pressed = room._Run._weighed, []

    def stopped(self: Any, finding: Any) -> Any:
        if not pressed and not self.told:
            pressed.append(finding)
            raise KeyboardInterrupt
        return weigh(self, finding)

    monkeypatch.setattr(room._Run, "_announce", lambda *arguments: None)
    monkeypatch.setattr(room._Run, "_weighed", stopped)
    result = run("audit", csv_file(tmp_path / "t.csv"))
    assert pressed
    assert result.exit_code == 130
    assert "all 60 rows" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="a console of its own is needed there")
def test_ctrl_c_prints_what_is_found_as_json(tmp_path: Path) -> None:
    """A real process and a real signal, sent while the slow stage runs."""
    rng = np.random.default_rng(4)
    table = {f"c{at}": rng.integers(0, 10**6, 300) for at in range(6)}
    table["sum"] = table["c0"] + table["c1"]
    path = tmp_path / "t.csv"
    lines = [",".join(table), *(",".join(map(str, row)) for row in np.column_stack(list(table.values())))]
    path.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-c", SLOW_DECOYS, "audit", str(path), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stderr is not None
        # The decoys say so on standard error when all stages are done.
        assert process.stderr.readline() == "decoys\n"
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - start < 20
    assert [(one["target"], one["formula"]) for one in json.loads(out)["relations"]] == [("sum", "c0 + c1")]


# What runs in the background of a shell script inherits a SIGINT that is ignored.
SLOW_DECOYS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from inalu.cli.main import main
from inalu.tabular import audit
def slow(*arguments, **options):
    print("decoys", file=sys.stderr, flush=True)
    time.sleep(60)
audit.shuffled_search = slow
main()
"""


def test_the_help_names_every_exit_code_and_stage() -> None:
    from inalu.tabular.pipeline import STAGES

    for verb, codes in (("audit", (0, 1, 2, 130)), ("fit", (0, 1, 2, 130)), ("check", (0, 1, 2, 130))):
        said = " ".join(run(verb, "--help").output.split())
        assert all(f" {code} " in said.partition("Exit codes:")[2] for code in codes), said
        if verb != "check":
            assert all(stage in said for stage in STAGES)


RELATION_KEYS = [
    *("target", "formula", "operands", "constants", "found_by", "rows_checked", "rows_holding", "breaking"),
    *("evidence", "equivalent", "excel", "sql"),
]
KEYS = [
    *(
        "table",
        "rows",
        "seconds",
        "false_findings_expected",
        "relations",
        "unexplained",
        "nearest_miss",
        "total_rows",
    ),
]


def has_all_keys(printed: dict[str, Any]) -> None:
    """The object that all three verbs print, key by key."""
    assert list(printed) == KEYS
    for relation in printed["relations"]:
        assert list(relation) == RELATION_KEYS
        assert list(relation["evidence"]) == [
            "bits",
            "share",
            "share_shuffled",
            "rows_nontrivial",
            "complexity",
        ]
        for broken in relation["breaking"]:
            assert list(broken) == ["row", "value", "expected", "difference", "cause", "suspect"]
            assert 0 <= broken["row"] < printed["rows"]
        assert relation["rows_checked"] - relation["rows_holding"] == len(relation["breaking"])
    if (miss := printed["nearest_miss"]) is not None:
        assert list(miss) == ["target", "formula", "rows_checked", "rows_holding", "reason"]


def test_the_three_verbs_print_one_object(tmp_path: Path) -> None:
    path, rules = csv_file(tmp_path / "t.csv", (7, 31)), tmp_path / "rules.json"
    for arguments in (
        ("audit", path, "--save", rules),
        ("fit", path, "--target", "=gross"),
        ("check", rules, path),
    ):
        result = run(*arguments, "--json")
        assert result.exit_code == 1
        has_all_keys(json.loads(result.output))
        assert [row["row"] for row in json.loads(result.output)["relations"][0]["breaking"]] == [7, 31]


def test_where_nothing_is_found_the_nearest_miss_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 10**6, (40, 3))
    values[:24, 2] = values[:24, 0] + values[:24, 1]
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in values) + "\n")
    for arguments in (("audit", path), ("fit", path, "--target", "c")):
        result = run(*arguments, "--json")
        printed = json.loads(result.output)
        has_all_keys(printed)
        assert (result.exit_code, printed["relations"]) == (0, [])
        miss = printed["nearest_miss"]
        assert {miss["target"], miss["formula"]} & {"c", "a + b", "a", "c - b", "b", "c - a"}
        assert (miss["rows_checked"], miss["rows_holding"]) == (40, 24)
        assert "The nearest miss" in run(*arguments).output


def spread_out(path: Path) -> dict[str, Any]:
    """What an audit says of a file, without how long it took and what it is called."""
    result = run("audit", path, "--json")
    printed = json.loads(result.output)
    del printed["seconds"], printed["table"]
    return {"code": result.exit_code, **printed}


def test_every_way_to_print_a_table_gives_one_answer(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {
            "Net (CHF)": rng.integers(100000, 99999999, 60) / 100,
            "tax %": rng.integers(1000, 9999900, 60) / 100,
        }
    )
    frame["Gross"] = (frame["Net (CHF)"] + frame["tax %"]).round(2)
    frame.loc[17, "Gross"] *= -1
    plain = tmp_path / "plain.csv"
    frame.to_csv(plain, index=False)
    wanted = spread_out(plain)
    assert wanted["code"] == 1
    assert wanted["relations"][0]["formula"] == "`Net (CHF)` + `tax %`"
    german, swiss, grouped = (
        frame.map(lambda value, signs=signs: f"{value:,.2f}".translate(str.maketrans(",.", signs)))
        for signs in (".,", "'.", ",.")
    )
    for number, (one, options) in enumerate(
        [
            (frame, {"sep": ";", "decimal": ","}),
            (frame, {"sep": "\t"}),
            (frame, {"encoding": "utf-16"}),
            (german, {"sep": ";", "encoding": "latin-1"}),
            (swiss, {"sep": ";"}),
            (grouped, {}),
        ]
    ):
        path = tmp_path / f"{number}.csv"
        one.to_csv(path, index=False, **options)
        assert spread_out(path) == wanted, options
    for source in (frame, polars.DataFrame(frame.to_dict("list")), frame.to_dict("list")):
        printed = room.audit(source).to_json()
        assert {key: printed[key] for key in wanted if key != "code"} == {
            key: wanted[key] for key in wanted if key != "code"
        }


def tables_to_evaluate() -> list[dict[str, Any]]:
    rng = np.random.default_rng(9)
    cents = [rng.integers(100, 99999, 90) / 100 for _ in range(4)]
    people = rng.integers(10**5, 10**9, 90)
    weight, height = np.round(rng.uniform(45, 120, 90), 1), np.round(rng.uniform(1.5, 2.0, 90), 2)
    return [
        {"a b": cents[0], "class": cents[1], "it's": cents[2], "sum": np.round(sum(cents[:3]), 2)},
        {"people": people, "share (ppm)": np.round(2.136e-6 * people, 6)},
        {"weight": weight, "height": height, "bmi": np.round(weight / height**2, 1)},
        {"in": cents[0], "out": cents[1], "balance": np.round(1000 + np.cumsum(cents[0] - cents[1]), 2)},
        {"new": cents[0], "old": cents[1], "growth %": np.round(100 * (cents[0] / cents[1] - 1), 2)},
    ]


@pytest.mark.parametrize("columns", tables_to_evaluate(), ids=lambda columns: list(columns)[-1])
def test_every_formula_is_evaluated_by_a_frame(columns: dict[str, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    from inalu.tabular.derived import place

    frame = pandas.DataFrame(columns)
    found = room.audit(frame)
    relation = next(one for one in found.to_json()["relations"] if one["target"] == list(columns)[-1])
    for name in found.relations[0].formula.columns:
        if name not in frame:
            # Only the row before has a name of its own here.
            frame[name] = frame[place(name).name].shift(-place(name).shift)
    for text in (relation["formula"], *relation["equivalent"]):
        value = frame.eval(text)
        assert value.notna().sum() >= relation["rows_checked"]
        difference = (value - frame[relation["target"]]).abs().dropna()
        assert difference.max() <= 0.15, text
    assert "e-6" not in relation["formula"] or "2.136e-6" in relation["formula"]


@pytest.mark.parametrize("rows_of_table", [5000, 20_000, 200_000])
def test_one_wrong_row_of_a_large_table_is_found(rows_of_table: int) -> None:
    rng = np.random.default_rng(rows_of_table)
    net, fee = rng.integers(100, 99999, rows_of_table) / 100, rng.integers(100, 9999, rows_of_table) / 100
    gross = np.round(net + fee, 2)
    gross[4321] += 1000
    found = room.audit({"net": net, "fee": fee, "gross": gross})
    assert [(str(one), [broken.row for broken in one.breaking]) for one in found.relations] == [
        ("gross = net + fee", [4321])
    ]


def test_a_whole_number_that_is_the_nearest_already_is_not_suspected() -> None:
    rng = np.random.default_rng(3)
    price, pieces = rng.integers(10**7, 10**9, 60) / 100, rng.integers(1, 50, 60)
    line = np.round(price * pieces, 2)
    line[50] += 7
    (relation,) = room.audit({"price": price, "pieces": pieces, "line": line}).relations
    assert [one.row for one in relation.breaking] == [50]
    assert relation.breaking[0].suspect != "pieces"
