"""The factorial goes from PAPER to AUTHORS_CODE, and says what each departure does."""

from dataclasses import replace

import pytest

from inalu.errors import InvalidArgument
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.catalog.departures import DEPARTURES, combinations, origin, treatment_with
from inalu.experiments.published import errors_of, published_settings, runs_of
from inalu.experiments.record import SINGLE, Setting

EVERY = tuple(d.label for d in DEPARTURES)


def keys(name, recipe):
    cases = EXPERIMENTS[name].runs(treatments()[recipe], Selection(seeds=(100,)))
    return {case.job.specification("cpu", 1).key for case in cases}


@pytest.mark.parametrize(("base", "number"), [("exp1", 16), ("exp2", 16), ("exp4", 32)])
def test_every_combination_from_the_text_to_the_code(base, number):
    assert len({frozenset(found) for found in combinations(base)}) == number
    cases = EXPERIMENTS[f"departures-{base}"].runs(treatments()["PAPER"], Selection(seeds=(100,)))
    ends = {"": set(), "every": set()}
    for case in cases:
        setting, departures = origin(case.setting)
        assert setting in published_settings(base)
        if len(departures) in (0, len(EVERY) if base == "exp4" else 4):
            ends["every" if departures else ""].add(case.job.specification("cpu", 1).key)
    # The ends are the runs of the two recipes, so none is made twice.
    assert ends[""] == keys(base, "PAPER")
    assert ends["every"] == keys(base, "AUTHORS_CODE")


def test_experiment_3_is_crossed_on_a_declared_part_of_it():
    cases = EXPERIMENTS["departures-exp3"].runs(treatments()["PAPER"], Selection(seeds=(100,)))
    assert len(list(combinations("exp3"))) == 32
    assert len(cases) == 32 * 5 * 3
    found = treatments()
    for case in cases:
        setting, departures = origin(case.setting)
        # The settings keep their names, so that they meet the published ones.
        assert runs_of(setting)
        task, recipe = case.job.problem, case.job.recipe
        assert (str(task.train), str(task.extrapolation)) == ("normal(0,1) within ±2", "N(-30,30)")
        assert recipe.epochs == 201
        if not departures:
            assert recipe == found["PAPER"].recipe.but(epochs=201)
        if departures == set(EVERY):
            (planner,) = (
                c.job for c in EXPERIMENTS["exp3"].runs(found["AUTHORS_CODE_PLANNER"], Selection(
                    seeds=(100,), operations=(setting.operation,)))
                if c.setting == setting
            )  # fmt: skip
            assert planner.network == case.job.network
            assert planner.recipe.but(name="PAPER") == recipe
            assert (planner.law, planner.problem.train) == (case.job.law, task.train)


@pytest.mark.parametrize("recipe", ["AUTHORS_CODE", "ROBUST"])
def test_it_starts_from_the_text(recipe):
    with pytest.raises(InvalidArgument, match="leave --recipe out"):
        treatment_with(treatments()[recipe], ())


def test_what_a_departure_does_is_measured_over_all_others(make_entry):
    """Runs that are solved exactly where RMSProp is used: the measure must name it, and it alone."""
    entries = []
    for found in combinations("exp1"):
        labels = [d.label for d in found]
        for seed in (100, 101, 102):
            error = 1e-9 if "RMSProp" in labels else 1.0
            entry = make_entry(seed, operation="div", mse_extrapolation=error)
            model = f"inalu-shared; {', '.join(labels) or 'as PAPER'}"
            setting = Setting("departures-exp1", model, "div", "U(-1,1)", "U(-10,-5)")
            entries.append(replace(entry, setting=setting))
    measures = EXPERIMENTS["departures-exp1"].measures(entries)
    effects = {row["departure"]: row for row in measures["effects"]}
    assert set(effects) == set(EVERY) - {"published sign"}
    assert (effects["RMSProp"]["share_without"], effects["RMSProp"]["share_with"]) == (0, 1)
    assert (effects["RMSProp"]["low"], effects["RMSProp"]["high"]) == (1, 1)
    assert effects["alternation"]["share_with"] == effects["alternation"]["share_without"] == 0.5
    assert effects["alternation"]["low"] == effects["alternation"]["high"] == 0
    assert "effects_float32" not in measures
    in_float32 = [
        replace(e, record=replace(e.record, measures={SINGLE: 1e-9 if "altern" in e.setting.model else 1.0}))
        for e in entries
    ]
    again = EXPERIMENTS["departures-exp1"].measures(in_float32)
    assert again["effects"] == measures["effects"]
    effects = {row["departure"]: row for row in again["effects_float32"]}
    assert (effects["RMSProp"]["share_with"], effects["alternation"]["share_with"]) == (0.5, 1)


def test_a_combination_that_gives_the_published_runs_differs_nowhere(make_entry):
    entries = []
    for setting in published_settings("exp1"):
        if setting.model == "nalu-vector":
            continue
        for run, (inside, outside) in zip(runs_of(setting), errors_of(runs_of(setting)), strict=True):
            errors = {"mse_interpolation": inside, "mse_extrapolation": outside}
            entry = make_entry(run.seed, model=setting.model, operation=setting.operation, **errors)
            for label in ("as PAPER", "RMSProp"):
                wrong = {} if label == "as PAPER" else {"mse_extrapolation": None}
                named = replace(setting, experiment="departures-exp1", model=f"{setting.model}; {label}")
                entries.append(replace(entry, setting=named, record=replace(entry.record, **wrong)))
    rows = EXPERIMENTS["departures-exp1"].measures(entries)["combinations"]
    assert [(row["RMSProp"], row["settings"], row["differ"] > 0) for row in rows] == [
        (False, rows[0]["settings"], False), (True, rows[0]["settings"], True),
    ]  # fmt: skip
    assert rows[0]["mean_distance"] == 0 < rows[0]["distance_by_chance"] < rows[1]["mean_distance"]
    # These entries have no errors in float32.
    assert rows[0]["mean_distance_float32"] is None
