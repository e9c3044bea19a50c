"""The benchmark's rivals compute the same step, and its count is the one docs/math.md explains."""

import numpy as np
import pytest
import torch
from torch import nn

from inalu.engine.benchmark.cases import Case, timed_steps
from inalu.engine.benchmark.eager import Literal
from inalu.engine.benchmark.peak import measure_rates
from inalu.engine.benchmark.roofline import ADAM, EXP, LOG, TANH_SIGMOID, Work, least_seconds, work_of
from inalu.engine.train import train

CASES = [
    Case(c, w, members=3, rows=640) for c in ("inalu-independent", "nalu-matrix") for w in ((2, 1), (5, 2, 1))
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_literal_rival_computes_the_same(case):
    module = case.network.build(case.plan().starts(0)[0]).double()
    literal = nn.Sequential(*(Literal(layer) for layer in module.children()))
    x = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, (20, case.widths[0])))
    torch.testing.assert_close(literal(x), module(x))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_jax_rival_trains_the_same(case):
    jax = pytest.importorskip("jax")
    from inalu.engine.benchmark.jax_rival import _training

    plan = case.plan()
    rows = case.source.load()
    theta = jax.numpy.asarray(plan.starts(0)[0])
    zeros = jax.numpy.zeros_like(theta)
    x, y = (jax.numpy.asarray(v.astype(np.float32).reshape(10, 64, -1)) for v in rows)
    ours = train(plan.__class__(members=plan.members[:1], recipe=plan.recipe.but(epochs=1)), backend="cpu")[0]
    trained, losses = _training(case)((theta, zeros, zeros, 1.0), x, y)
    np.testing.assert_allclose(np.asarray(trained), ours.parameters, rtol=1e-3, atol=1e-4)
    assert float(losses.mean()) == pytest.approx(ours.loss[0], rel=1e-3)


def test_the_count_of_a_small_network():
    # Two inputs, one output, 64 rows, independent weights, a constant gate: see docs/math.md.
    rows = Work(products=4, sums=0) * 2 + Work(products=1, sums=1) * 2 + LOG * (2 / 32) + EXP
    rows += Work(products=8, sums=3) + Work(products=2, sums=2)
    weights = TANH_SIGMOID + Work(products=7) + ADAM * 2 + Work(products=2, divisions=1)
    gate = ADAM + EXP + Work(sums=1, divisions=1) + Work(products=2, sums=1)
    expected = rows * 64 + weights * 4 + gate
    found = work_of(Case("inalu-independent", (2, 1)))
    for name in ("products", "sums", "divisions", "roots"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name


def test_more_work_takes_longer_at_least():
    rates = measure_rates()
    assert all(rate > 1e7 for rate in rates)
    assert rates.mixed >= rates.products
    times = [least_seconds(Case("inalu-independent", w), rates) for w in ((2, 1), (10, 1), (100, 2, 1))]
    assert 0 < times[0] < times[1] < times[2]


def test_only_steps_that_are_alike_are_timed():
    plan = CASES[0].plan()
    assert timed_steps(plan) == 90
    assert timed_steps(plan) < plan.recipe.regularization.after_epochs * 10
