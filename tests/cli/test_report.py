"""`inalu report`: a short table on the terminal, the page in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from inalu.cli.main import inalu
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.record import Entry, Record
from inalu.experiments.store import DEFAULT, Store

pytest.importorskip("matplotlib")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(inalu, ["report", *arguments])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    few = Selection(operations=("mul",), distributions=("U(-5,5)",), seeds=(100, 101))
    with Store.write(path) as open_store:
        for case in EXPERIMENTS["exp1"].runs(treatments()["PAPER"], few):
            for backend, error in (("cpu", 1e-9), ("gpu", 2.0)):
                made = Record(
                    specification=case.job.specification(backend, 1), status="finished",
                    mse_interpolation=error, mse_extrapolation=error,
                )  # fmt: skip
                open_store.add([Entry(case.setting, "PAPER", made)])
    return path


def test_it_prints_a_short_table_and_names_the_page(store: Path, tmp_path: Path) -> None:
    done = run("--store", str(store), "--output", str(tmp_path / "out"), "--backend", "cpu")
    assert done.exit_code == 0, done.output
    page = tmp_path / "out" / "report.html"
    assert page.exists()
    assert str(page) in done.stdout.replace("\n", "")
    assert "exp1, a × b" in done.stdout
    assert "2/2 (" in done.stdout
    assert "Claims of the text:" in done.stdout
    assert len(done.stdout.splitlines()) < 12


def test_mixed_backends_are_refused_in_one_sentence(store: Path, tmp_path: Path) -> None:
    done = run("--store", str(store), "--output", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "cpu 1, gpu 1" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_store_is_one_sentence(tmp_path: Path) -> None:
    done = run("--store", str(tmp_path / "none.sqlite"))
    assert done.exit_code == 2
    assert "there is no store" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_default_store_is_that_of_reproduce() -> None:
    from inalu.cli.report import DEFAULT_STORE

    assert DEFAULT_STORE == DEFAULT
