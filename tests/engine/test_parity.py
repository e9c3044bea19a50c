"""Backends against the reference: one step, every decision of a recipe, 200 steps; and that this can fail."""

import sys
import types
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from inalu.engine import cpu, cpu_host, parity, stacked
from inalu.engine.parity import Case, answer, disagreements

FAST = ("cpu", "stacked")


@cache
def truth(case: Case):
    return answer(case, "reference")


def check(case: Case, backend: str) -> None:
    assert disagreements(case, truth(case), answer(case, backend)) == []


def named(cases):
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named(parity.step_cases()))
@pytest.mark.parametrize("backend", FAST)
def test_one_step_of_every_cell_option_and_depth(case, backend):
    check(case, backend)


@pytest.mark.parametrize("case", named(parity.step_cases("float32")))
def test_one_step_in_float32(case):
    check(case, "cpu")


@pytest.mark.parametrize("case", named(list(parity.step_cases("float32"))[::7]))
def test_one_stacked_step_in_float32(case):
    check(case, "stacked")


@pytest.mark.parametrize(
    "case",
    named([*parity.recipe_cases(["inalu-independent"]), *parity.recipe_cases(["nalu-matrix"], (2, 1))]),
)
def test_every_decision_of_a_recipe(case):
    check(case, "cpu")


# Recipes are carried out alike for all cells of this backend, and its cheapest one with a gate will do.
@pytest.mark.parametrize("case", named(parity.recipe_cases(["nalu-vector"], (2, 1))))
def test_every_decision_of_a_recipe_stacked(case):
    check(case, "stacked")


@pytest.mark.parametrize("case", named(parity.long_cases()))
def test_two_hundred_steps(case):
    check(case, "cpu")


@pytest.mark.parametrize("case", named(c for c in parity.long_cases() if c.network.widths == (2, 1)))
def test_two_hundred_steps_stacked(case):
    check(case, "stacked")


def test_recipe_cases_do_what_their_names_say():
    cases = {c.name.partition(" 2-1 ")[2]: c for c in parity.recipe_cases(["nalu-vector"], (2, 1))}
    for name, case in cases.items():
        if "restarts" in name:
            assert truth(case).result.restarts, name
    for name in set(cases) - {"bare", "restarts when not improving"}:
        assert not np.array_equal(
            truth(cases[name]).result.parameters, truth(cases["bare"]).result.parameters
        )


class TestPlantedErrors:
    """A wrong sign anywhere must be seen; planted in the backend where planting is easy."""

    case = next(iter(parity.step_cases()))

    @pytest.mark.parametrize("element", range(4))
    def test_in_one_element_of_the_gradient(self, monkeypatch, element):
        honest = stacked.Step.gradient

        def wrong(self, *args):
            gradient, *rest = honest(self, *args)
            gradient[:, element] *= -1
            return gradient, *rest

        monkeypatch.setattr(stacked.Step, "gradient", wrong)
        found = parity.failures("stacked", [self.case])
        assert any("gradient of 0." in sentence for sentence in found)
        assert any("parameters" in sentence for sentence in found)

    def test_in_the_kernel(self, monkeypatch):
        source = Path(cpu.__file__).read_text(encoding="utf-8")
        right = "to_m = fold_product(dz, block(scratch, log_x + i * size))"
        assert source.count(right) == 1
        planted = types.ModuleType("planted")
        monkeypatch.setitem(sys.modules, "planted", planted)
        wrong = source.replace(right, f"{right} * -1.0").replace("cache=True, ", "")
        exec(compile(wrong, "planted", "exec"), planted.__dict__)
        monkeypatch.setattr(cpu_host, "cpu", planted)
        monkeypatch.setattr(cpu_host, "_train", planted.train)
        case = next(c for c in parity.step_cases() if c.network.cell == "inalu-independent")
        found = parity.failures("cpu", [case])
        assert any("gradient of 0.W_hat_m" in sentence for sentence in found)
        assert not any("gradient of 0.W_hat_a" in sentence for sentence in found)

    def test_in_the_regulariser(self, monkeypatch):
        honest = stacked.Step.pull
        monkeypatch.setattr(stacked.Step, "pull", lambda self, theta: -honest(self, theta))
        cases = [c for c in parity.recipe_cases(["nac"], (2, 1)) if "regulariser" in c.name]
        silent = [c.name for c in cases if not parity.failures("stacked", [c])]
        assert [name for name in silent if "below" not in name] == []

    def test_in_the_restart_rule(self, monkeypatch):
        monkeypatch.setattr(stacked, "wants_restart", lambda history, rule: False)
        cases = [c for c in parity.recipe_cases(["nac"], (2, 1)) if c.name.endswith(" restarts")]
        assert any("restarts is ()" in sentence for sentence in parity.failures("stacked", cases))


class TestDeviation:
    def test_is_relative_to_the_largest(self):
        assert parity.deviation(np.array([10.0, 0.0]), np.array([10.0, 1e-3])) == 1e-4

    def test_shapes_differ(self):
        assert parity.deviation(np.ones(2), np.ones(3)) == np.inf

    @pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
    def test_numbers_that_are_not_finite_must_be_the_same(self, value):
        same = np.array([1.0, value])
        assert parity.deviation(same, same.copy()) == 0.0
        assert not parity.deviation(same, np.array([1.0, 2.0])) <= 1.0
        assert not parity.deviation(np.array([1.0, 2.0]), same) <= 1.0
