"""Records: the key follows what determines a run, and nothing else."""

from dataclasses import fields, replace

import pytest

from inalu.experiments.published import TABLE, TEXT
from inalu.experiments.record import Specification, canonical_decisions


def other(value):
    if value is None:
        return "G=normal(0,0.1)"
    return value + 1 if isinstance(value, int) else value + "x"


@pytest.mark.parametrize("name", [field.name for field in fields(Specification)])
def test_the_key_changes_with_everything_but_the_recipes_name(make_entry, name):
    specification = make_entry().record.specification
    changed = replace(specification, **{name: other(getattr(specification, name))})
    assert (changed.key == specification.key) == (name == "recipe")


def test_decisions_are_canonical():
    assert canonical_decisions({"b": 1, "a": 2, "name": "x"}) == canonical_decisions({"a": 2, "b": 1})
    assert canonical_decisions({"a": 1}) != canonical_decisions({"a": 1.5})


def test_solved_epoch_counts_from_the_last_start(make_entry):
    record = make_entry(restarts=(2,), loss=(1e-9, 5.0, 1.0, 1e-5, 1e-6)).record
    assert record.solved_epoch() == 4
    assert make_entry(restarts=(), loss=(1e-9, 5.0)).record.solved_epoch() == 1
    assert make_entry(restarts=(), loss=(float("nan"), 5.0)).record.solved_epoch() is None
    assert make_entry(restarts=(), loss=(1.0, 5e-4)).record.solved_epoch(TABLE) == 2


def test_an_error_that_is_not_finite_is_not_solved(make_entry):
    assert make_entry().record.solved(TEXT)
    assert not make_entry(mse_extrapolation=None).record.solved(TEXT)
