"""NAU: its equation, its bounds, its regulariser and its formula."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import inalu
from inalu import NAU, InvalidArgument


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def layer_with(*rows: list[float]) -> NAU:
    layer = NAU(len(rows), len(rows[0]), dtype=torch.float64)
    with torch.no_grad():
        layer.W_hat.copy_(torch.tensor(rows, dtype=torch.float64))
    return layer


def test_by_hand():
    layer = layer_with([1.0, -0.5], [3.0, 0.25], [0.0, -7.0])
    x = torch.tensor([[2.0, 3.0, 5.0], [-1.0, 0.0, 4.0]], dtype=torch.float64)
    # Weights beyond 1 count as 1.
    assert layer(x).tolist() == [[5.0, -5.25], [-1.0, -3.5]]


def test_equals_its_equation_in_value_and_gradient():
    layer = NAU(5, 3, generator=seeded(0), dtype=torch.float64)
    x = torch.randn(4, 2, 5, generator=seeded(1), dtype=torch.float64).requires_grad_()
    w = layer.W_hat.detach().clone().requires_grad_()
    expected = x @ w.clamp(-1, 1)
    c = torch.randn(expected.shape, generator=seeded(2), dtype=torch.float64)
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(
        torch.autograd.grad(layer(x), [x, layer.W_hat], c), torch.autograd.grad(expected, [x, w], c)
    )

    def call(x, w):
        return torch.func.functional_call(layer, {"W_hat": w}, (x,))

    assert torch.autograd.gradcheck(call, (x, w))
    assert torch.autograd.gradgradcheck(call, (x, w))


def test_a_weight_beyond_its_bound_is_pulled_back_and_not_pushed_on():
    layer = layer_with([1.5], [-1.5], [1.0])
    for slope, expected in ((1.0, [1.0, 0.0, 1.0]), (-1.0, [0.0, -1.0, -1.0])):
        (gradient,) = torch.autograd.grad(slope * layer(torch.ones(1, 3).double()).sum(), layer.W_hat)
        assert gradient.flatten().tolist() == expected


def test_initial_values():
    layer = NAU(2, 1, generator=seeded(0))
    assert torch.equal(layer.W_hat, copy.deepcopy(layer).reset_parameters(generator=seeded(0)).W_hat)
    # The article's law, cut at one half.
    for sizes, bound in (((2, 1), 0.5), ((100, 50), 0.2)):
        largest = NAU(*sizes, generator=seeded(0)).reset_parameters(generator=seeded(1)).W_hat.abs().max()
        assert largest <= bound
    assert largest > 0.19
    restarted = nn.Sequential(layer)
    assert inalu.Reinitialize(every=2, window=2).due(9.0) is False
    rule = inalu.Reinitialize(every=2, window=2)
    assert [rule(restarted, 9.0, generator=seeded(5)) for _ in range(2)] == [False, True]
    assert torch.equal(layer.W_hat, NAU(2, 1, generator=seeded(5)).W_hat)


def test_regulariser_is_the_distance_from_the_nearest_exact_weight():
    assert inalu.regularizer(layer_with([0.0, 1.0], [-1.0, 0.25], [-0.75, 1.5])).item() == pytest.approx(
        1 / 6
    )
    assert inalu.regularizer(layer_with([0.0, 1.0, -1.0])).item() == 0.0


def test_snaps_and_says_its_formula():
    network = nn.Sequential(layer_with([0.9, 0.2], [-1.4, 0.6]), inalu.INALU(2, 1, dtype=torch.float64))
    with torch.no_grad():
        for name, p in network[1].named_parameters():
            p.fill_(-9.0 if name == "G" else 9.0)
    exact = inalu.snap(network)
    assert exact[0].W_hat.tolist() == [[1.0, 0.0], [-1.0, 1.0]]
    assert inalu.discreteness(exact) == 0.0
    assert inalu.discreteness(network[0]) == pytest.approx(0.4)
    assert inalu.expression(exact, ["a", "b"]).equals(inalu.Expression.parse("(a - b) * b"))


def test_its_own_regulariser_acts_in_the_engine_and_a_plain_neuron_has_none():
    from inalu.engine.recipe import Regularization
    from inalu.engine.reference import Training

    rule = Regularization(after_epochs=0, below=9.0)
    recipe = inalu.PAPER.but(
        name="pull", epochs=4, batch=4, clip=None, regularization=rule, reinitialization=None
    )
    x = torch.randn(8, 3, generator=seeded(0)).numpy()
    source = inalu.ArraySource(x, x[:, 0] - x[:, 2])
    members = [inalu.Member(network=inalu.Network("nau", (3, 1)), source=source, seed=n) for n in range(2)]
    plan = inalu.Plan(members=members, recipe=recipe, dtype="float64")
    one, other = (inalu.train(plan, backend=name) for name in ("reference", "stacked"))
    for a, b in zip(one, other, strict=True):
        assert a.parameters == pytest.approx(b.parameters, rel=1e-9)
    without = inalu.train(
        inalu.Plan(members=members, recipe=recipe.but(regularization=None), dtype="float64"),
        backend="stacked",
    )
    assert not (abs(without[0].parameters - one[0].parameters) < 1e-9).any()
    assert Training(plan, 0).regularized(0, 1.0)
    inalu.register(inalu.Cell(name="test plain neuron", module=nn.Linear))
    plain = inalu.Member(
        network=inalu.Network("test plain neuron", (3, 1)), source=source, initial=torch.zeros(4).numpy()
    )
    assert not Training(inalu.Plan(members=[plain], recipe=recipe), 0).regularized(0, 1.0)


def test_results_of_an_added_cell_snap_and_predict():
    task = inalu.parse_task("sub; inputs=2; U(-5,5) -> U(-10,-5)")
    member = inalu.Member(network=inalu.Network("nau", (2, 1)), source=inalu.TaskSource(task, 0, rows=640))
    recipe = inalu.PAPER.but(
        name="short", epochs=40, regularization=None, optimizer=inalu.Adam(learning_rate=0.02)
    )
    (result,) = inalu.train(inalu.Plan(members=[member], recipe=recipe))
    assert str(result.expression(["a", "b"])) == "a - b"
    assert result.snap().parameters.tolist() == [1.0, -1.0]
    assert result.snap().predict([[7.0, 2.0]]).tolist() == [[5.0]]


def test_sizes_are_checked():
    with pytest.raises(InvalidArgument, match="out_features must be a positive integer; got 0"):
        NAU(2, 0)
