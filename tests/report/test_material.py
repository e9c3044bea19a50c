"""What is read from a store: nothing is mixed silently, and what is missing is known."""

import dataclasses

import pytest

from inalu.errors import InvalidArgument, StoreError
from inalu.experiments.catalog import Selection
from inalu.experiments.record import Entry
from inalu.report import gather, write_report
from inalu.report.sections import claims_of, missing

FEW = Selection(operations=("add",), distributions=("U(-1,1)",), seeds=(100, 101))


def test_counts_are_those_of_the_experiments(published_store):
    material = gather(published_store)
    assert [s.experiment for s in material.experiments] == ["exp1", "exp4", "regularization"]
    assert material.runs == len(material.records) == 280 + 40 + 24
    # The same runs on both sides: every published count is plausible under ours.
    assert all(c.plausible for found in material.comparisons.values() for c in found)
    assert all(c.ours == c.published for found in material.comparisons.values() for c in found)


def test_what_is_missing_is_said_with_the_command_that_adds_it(published_store):
    said = missing(gather(published_store))
    assert "exp1: 280 of 1,120 runs; inalu reproduce exp1 adds them." in said
    assert "exp3: no runs; inalu reproduce exp3 adds them." in said
    assert "mnist: no runs; inalu reproduce mnist --data FOLDER adds them." in said


def test_every_claim_is_listed_also_without_runs(published_store):
    claims = claims_of(gather(published_store))
    assert {"exp1", "exp2", "exp3", "exp4"} <= {c.experiment for c in claims}
    assert all(c.holds is None for c in claims if c.experiment == "exp2")


@pytest.mark.parametrize("other", [{"backend": "gpu"}, {"algorithm": 2}])
def test_programs_are_not_mixed_until_one_is_chosen(make_store, make_entries, other):
    store = make_store(
        make_entries("exp1", selection=FEW), make_entries("exp1", selection=FEW, error=1.0, **other)
    )
    with pytest.raises(InvalidArgument, match=r"several programs .*--backend or --algorithm"):
        gather(store)
    material = gather(store, **other)
    assert {e.record.mse_extrapolation for s in material.experiments for e in s.entries} == {1.0}
    assert len(material.records) == 2 * material.runs


def test_unknown_choices_name_what_there_is(make_store, make_entries):
    store = make_store(make_entries("exp1", selection=FEW))
    for name, value in (("recipe", "PAPR"), ("backend", "gpu"), ("algorithm", 9)):
        with pytest.raises(InvalidArgument, match=f"{name} must be one of"):
            gather(store, **{name: value})


def test_two_runs_of_one_seed_are_refused(make_store, make_entries):
    first = make_entries("exp1", selection=FEW)
    changed = [
        Entry(
            e.setting,
            e.recipe,
            dataclasses.replace(
                e.record, specification=dataclasses.replace(e.record.specification, decisions="{}")
            ),
        )
        for e in first
    ]
    with pytest.raises(InvalidArgument, match="two runs of seed 100"):
        gather(make_store(first, changed))


def test_an_empty_store_and_a_missing_one_are_one_sentence(make_store, tmp_path):
    with pytest.raises(InvalidArgument, match="holds no run"):
        gather(make_store([]))
    with pytest.raises(StoreError, match="there is no store"):
        gather(tmp_path / "none.sqlite")


def test_paper_is_shown_first_and_another_on_request(make_store, make_entries):
    store = make_store(
        make_entries("exp1", selection=FEW), make_entries("exp1", selection=FEW, recipe="AUTHORS_CODE")
    )
    assert gather(store).recipe == "PAPER"
    asked = gather(store, recipe="AUTHORS_CODE")
    assert asked.recipe == "AUTHORS_CODE"
    assert [name for name, _ in asked.others] == ["PAPER"]


def test_settings_that_were_not_published_have_a_page_too(make_store, make_entries, tmp_path):
    roots = make_entries("exp1", selection=Selection(operations=("sqrt",), seeds=(100, 101)))
    store = make_store(roots)
    assert gather(store).comparisons == {}
    page = write_report(store, tmp_path).read_text(encoding="utf-8")
    assert "sqrt" in page
    assert "Where ours differ" not in page
