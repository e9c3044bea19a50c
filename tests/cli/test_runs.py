"""``inalu runs`` by its command line."""

import csv
import io
from dataclasses import replace

import pytest
from click.testing import CliRunner

from inalu.cli.runs import runs
from inalu.errors import InvalidArgument, StoreError
from inalu.experiments.record import Entry, Initialisation, Record, Setting, Specification
from inalu.experiments.store import Store


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.sqlite"
    entries = []
    for seed in range(100, 160):
        specification = Specification(
            network="inalu-shared 2-1", task="t", seed=seed, rows=64_000, recipe="PAPER", decisions="{}",
            law=None,
            dtype="float32", backend="cpu", algorithm=1,
        )  # fmt: skip
        record = Record(
            specification=specification, status="finished", mse_extrapolation=10.0 ** -(seed % 10),
            formula="x0 + x1", exact_formula=seed % 2 == 0,
        )  # fmt: skip
        entries.append(Entry(Setting("exp1", "inalu-shared", "add", "U(-1,1)", "U(-10,-5)"), "PAPER", record))
    with Store.write(path) as opened:
        opened.add(entries)
    return path


def call(*arguments):
    return CliRunner().invoke(runs, [str(a) for a in arguments], catch_exceptions=False)


def test_the_list_says_what_there_is_and_what_it_leaves_out(store):
    text = call("--store", store).stdout
    assert "exp1, PAPER: 60 runs by cpu 1, float32, 64,000 rows" in text
    assert "x0 + x1" in text
    assert "and 10 more" in text
    assert "more" not in call("--store", store, "--all").stdout


def test_the_list_has_the_columns_that_its_runs_have(store):
    text = call("--store", store).stdout
    assert "mean gate" not in text
    assert "mse interpolation" not in text
    assert " yes " in text
    assert " no " in text
    with Store.write(store) as opened:
        (first, *_) = opened.entries()
        start = Initialisation(0.0, -1.0, 1.0, 0.5)
        opened.add([replace(first, setting=replace(first.setting, experiment="exp3", initialisation=start))])
    assert "mean gate  mean m hat  mean w hat" in call("--store", store, "--where", "std = 0.5").stdout


def test_a_condition_chooses(store):
    text = call("--store", store, "--where", "exact_formula AND seed < 104").stdout
    assert text.count("x0 + x1") == 2
    assert "No run fulfils that" in call("--store", store, "--where", "seed < 0").stdout
    with pytest.raises(InvalidArgument, match="The columns are"):
        call("--store", store, "--where", "sead = 1")


def test_csv_has_every_run_and_column(store):
    rows = list(csv.DictReader(io.StringIO(call("--store", store, "--csv").stdout)))
    assert len(rows) == 60
    assert rows[0]["train"] == "U(-1,1)"
    assert float(rows[3]["mse_extrapolation"]) == 1e-3
    assert {"key", "backend", "algorithm", "versions", "discreteness"} <= set(rows[0])


def test_stores_of_several_machines_are_put_together(store, tmp_path):
    whole = tmp_path / "whole.sqlite"
    done = call("--store", whole, "--take", store, "--take", store)
    assert "60 new runs" in done.stderr
    assert "0 new runs" in done.stderr
    assert "60 runs by cpu 1" in done.stdout
    with pytest.raises(StoreError, match="there is no store"):
        call("--store", tmp_path / "other.sqlite", "--take", tmp_path / "none.sqlite")
    assert not (tmp_path / "other.sqlite").exists()


def test_no_store_is_one_sentence(tmp_path):
    with pytest.raises(StoreError, match="inalu reproduce exp1"):
        call("--store", tmp_path / "none.sqlite")
