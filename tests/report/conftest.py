"""Stores of made-up records: no training, as many runs as a test needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import runs_of
from inalu.experiments.record import Entry, Record
from inalu.experiments.store import Store

Maker = Callable[..., Path]


def entries(
    name: str,
    *,
    recipe: str = "PAPER",
    backend: str = "cpu",
    algorithm: int = 1,
    selection: Selection | None = None,
    error: float | None = None,
) -> list[Entry]:
    """One entry for each case of the catalogue; its errors are the published ones unless one is given."""
    found = []
    for number, case in enumerate(EXPERIMENTS[name].runs(treatments()[recipe], selection)):
        theirs = [r for r in runs_of(case.setting) if r.seed == case.job.seed] if name in PUBLISHED else []
        inside, outside = (
            (theirs[0].mse_interpolation, theirs[0].mse_extrapolation) if theirs else (1e-9, 1e-7)
        )
        if error is not None:
            inside = outside = error
        values = [e if math.isfinite(e) else None for e in (inside, outside)]
        record = Record(
            specification=case.job.specification(backend, algorithm), status="finished",
            mse_interpolation=values[0], mse_extrapolation=values[1], formula="x0 + x1",
            exact_formula=values[1] is not None and values[1] < 1e-9, restarts=(10,) * (number % 3),
            loss=(1.0, 1e-6), versions=(("inalu", "0.1.0"), ("numpy", "2.4.0")),
        )  # fmt: skip
        found.append(Entry(case.setting, recipe, record))
    return found


@pytest.fixture(scope="session")
def make_store(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Return a function that writes entries into a new store."""

    def make(*lists: Sequence[Entry]) -> Path:
        path = tmp_path_factory.mktemp("store") / "runs.sqlite"
        with Store.write(path) as store:
            for listed in lists:
                store.add(listed)
        return path

    return make


@pytest.fixture(scope="session")
def make_entries() -> Callable[..., list[Entry]]:
    """Return `entries`."""
    return entries


@pytest.fixture(scope="session")
def published_store(make_store: Maker) -> Path:
    """Experiments 1 and 4 with the published errors, one operation each, and the regularization trainings."""
    addition = Selection(operations=("add",))
    division = Selection(operations=("div",), distributions=("N(-3,3)",))
    few = Selection(seeds=(100, 101))
    return make_store(
        entries("exp1", selection=addition), entries("exp4", selection=division),
        entries("regularization", selection=few),
    )  # fmt: skip
