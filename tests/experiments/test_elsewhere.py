"""Networks judged elsewhere have the errors that they would have been recorded with there."""

from dataclasses import replace

import numpy as np
import pytest

from inalu.engine.forward import network_forward
from inalu.experiments.catalog import EXPERIMENTS, Selection
from inalu.experiments.elsewhere import judge_elsewhere
from inalu.experiments.record import SINGLE
from inalu.experiments.run import reproduce
from inalu.experiments.store import Store
from inalu.tasks import parse_distribution


def test_the_errors_are_those_of_the_other_set(tiny, store_path):
    few = Selection(seeds=(100,), rows=64_000, operations=("add",), models=("inalu-shared",))
    reproduce(["exp1"], tiny, replace(few, distributions=("U(-1,1)", "E(0.2)")), store=store_path)
    with Store.read(store_path) as store:
        entries = store.entries("exp1")
    (here,) = judge_elsewhere(entries[:1], tiny, entries[0].setting.extrapolation)
    assert here.record.mse_extrapolation == pytest.approx(entries[0].record.mse_extrapolation, rel=1e-12)
    # In float32 the order of a sum shows, and that depends on how many networks are evaluated together.
    assert here.record.measures[SINGLE] == pytest.approx(entries[0].record.measures[SINGLE], rel=1e-4)
    moved = judge_elsewhere(entries, tiny, "U(3,4)")
    assert [e.setting for e in moved] == [e.setting for e in entries]
    for before, after in zip(entries, moved, strict=True):
        assert before.record.mse_extrapolation != after.record.mse_extrapolation
        assert before.record.measures[SINGLE] != after.record.measures[SINGLE]
        assert before.record.mse_interpolation == after.record.mse_interpolation
        (case,) = (c for c in EXPERIMENTS["exp1"].runs(tiny, few) if c.setting == before.setting)
        task = replace(case.job.problem, extrapolation=parse_distribution("U(3,4)"))
        data = task.draw_set(100, "extrapolation", 64_000)
        predicted = network_forward(case.job.network, before.record.parameters, data.x.astype(np.float64))
        assert after.record.mse_extrapolation == pytest.approx(np.mean((predicted - data.y) ** 2), rel=1e-9)
