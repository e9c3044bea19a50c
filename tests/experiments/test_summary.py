"""The answer: its shape, its counts, and numbers that JSON can hold."""

import json

import pytest

from inalu.errors import InvalidArgument
from inalu.experiments.compare import compare, pool
from inalu.experiments.published import CODE, TEXT, published_runs
from inalu.experiments.record import Entry
from inalu.experiments.summary import (
    Reproduction,
    count,
    summarise_experiment,
    summarise_experiments,
    summarise_settings,
)

SETTING = {
    "model", "operation", "train", "extrapolation", "initialisation", "runs", "solved_interpolation",
    "solved_extrapolation", "solved_both", "exact_formula", "median_mse_extrapolation",
    "max_mse_extrapolation", "published",
}  # fmt: skip
COUNTS = SETTING - {"model", "operation", "train", "extrapolation", "initialisation", "published"}


@pytest.fixture(scope="session")
def as_entries(make_entry):
    """Return a function that turns the published runs of an experiment into entries of ours."""

    def turn(name):
        entries = []
        for run in published_runs(name):
            made = make_entry(
                run.seed, run.setting.model, run.setting.operation, mse_interpolation=run.mse_interpolation,
                mse_extrapolation=run.mse_extrapolation, restarts=tuple(range(run.reinitialisations or 0)),
                exact_formula=None,
            ).record  # fmt: skip
            specification = type(made.specification)(
                **{**made.specification.__dict__, "task": str(run.setting)}
            )
            finite = {
                name: value if value is not None and value == value and abs(value) != float("inf") else None
                for name in ("mse_interpolation", "mse_extrapolation")
                for value in (getattr(made, name),)
            }
            values = {**made.__dict__, **finite, "specification": specification}
            entries.append(Entry(run.setting, "PAPER", type(made)(**values)))
        return entries

    return turn


def test_the_shape_of_the_json(make_entry):
    entries = [make_entry(100), make_entry(101, mse_extrapolation=None, exact_formula=False)]
    summary = summarise_experiment("exp1", "PAPER", entries, wall_s=1.5)
    tree = Reproduction("PAPER", "cpu", 2.0, (summary,)).to_json()
    text = json.dumps(tree, allow_nan=False)
    assert json.loads(text) == tree
    assert set(tree) == {"recipe", "backend", "wall_s", "experiments", "claims"}
    (experiment,) = tree["experiments"]
    assert set(experiment) == {"experiment", "wall_s", "runs", "settings", "measures"}
    (setting,) = experiment["settings"]
    assert set(setting) == SETTING
    assert set(setting["published"]) == COUNTS
    assert setting["runs"] == 2
    assert setting["solved_extrapolation"] == 1
    assert setting["solved_interpolation"] == 2
    assert setting["exact_formula"] == 1
    assert setting["max_mse_extrapolation"] is None
    for claim in tree["claims"]:
        assert set(claim) == {"experiment", "claim", "line", "holds", "ours", "published"}


def test_settings_meet_their_published_ones(as_entries):
    entries = as_entries("exp1")
    for summary in summarise_settings(entries):
        assert summary.published is not None
        ours, theirs = summary.ours, summary.published
        assert (ours.runs, ours.solved_extrapolation, ours.solved_both) == (
            theirs.runs, theirs.solved_extrapolation, theirs.solved_both,
        )  # fmt: skip
    assert sum(s.ours.solved_extrapolation for s in summarise_settings(entries, CODE)) < sum(
        s.ours.solved_extrapolation for s in summarise_settings(entries, TEXT)
    )


def test_table_1_is_the_papers(as_entries):
    rows = summarise_experiment("exp3", "PAPER", as_entries("exp3")).measures["table_1"]
    assert len(rows) == 27 * 4
    best = [r for r in rows if (r["mean_gate"], r["mean_m_hat"], r["mean_w_hat"]) == (0, -1, 1)]
    assert {r["operation"]: (r["solved_extrapolation"], r["runs"]) for r in best} == {
        "add": (23, 23), "sub": (15, 15), "mul": (19, 19), "div": (0, 23),
    }  # fmt: skip


def test_the_published_runs_are_plausible_under_themselves(as_entries):
    entries = as_entries("exp2")
    compared = compare(entries)
    # Each has its published twin, and the two gates of the NALU are tested once.
    assert len(compared) == 112
    assert all(c.plausible and c.p == pytest.approx(1) for c in compared)


def test_a_wrong_count_is_not_plausible(as_entries):
    entries = as_entries("exp1")
    changed = [
        Entry(e.setting, e.recipe, type(e.record)(**{**e.record.__dict__, "mse_extrapolation": 1.0}))
        if e.setting.model == "inalu-independent" and e.setting.operation == "add"
        else e
        for e in entries
    ]
    rejected = [c for c in compare(changed) if not c.plausible]
    assert len(rejected) == 7
    assert {c.setting.operation for c in rejected} == {"add"}
    assert all(c.ours == (0, 10) and c.published == (10, 10) for c in rejected)


def test_pooled_shares_have_cluster_intervals(as_entries):
    pooled = {(p.model, p.operation): p for p in pool(as_entries("exp1"))}
    division = pooled["inalu-independent", "div"]
    assert division.counts == division.published_counts == (25, 70)
    # The published restarts repeat over distributions, so the honest interval is the wider one.
    assert division.interval.high - division.interval.low > 1.3 * (division.naive.high - division.naive.low)
    assert pooled["inalu-independent", "add"].interval.high == 1


def test_formulas_are_counted_where_there_are_any(make_entry):
    assert count([make_entry(exact_formula=None)], TEXT).exact_formula is None
    entries = [make_entry(exact_formula=True), make_entry(exact_formula=None)]
    assert count(entries, TEXT).exact_formula == 1


def test_programs_are_not_mixed(make_entry):
    first, second = make_entry(100), make_entry(101)
    specification = type(first.record.specification)(
        **{**first.record.specification.__dict__, "backend": "stacked"}
    )
    other = Entry(
        second.setting,
        "PAPER",
        type(second.record)(**{**second.record.__dict__, "specification": specification}),
    )
    with pytest.raises(InvalidArgument, match="several programs"):
        summarise_experiments("PAPER", {"exp1": [first, other]})
