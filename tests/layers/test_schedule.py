"""The regulariser, when it acts, when to start again, and the parameter groups."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from inalu import INALU, NALU, Discretize, InvalidArgument, Reinitialize, parameter_groups, regularizer


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def literal(w, t=20.0):
    return np.maximum(np.minimum(-w, w) + t, 0) / t


def test_regularizer_is_the_equation():
    w = np.linspace(-40, 40, 161)
    p = torch.from_numpy(w.copy()).requires_grad_()
    term = regularizer(p, aggregate="sum")
    assert term.item() == pytest.approx(literal(w).sum())
    term.backward()
    inside = (np.abs(w) < 20) & (w != 0)
    assert (p.grad.numpy()[inside] == -np.sign(w[inside]) / 20).all()
    assert (p.grad.numpy()[np.abs(w) > 20] == 0).all()
    assert p.grad.numpy()[w == 0] == 0
    assert regularizer([torch.zeros(3), torch.full((2,), 5.0)], t=10).item() == pytest.approx(1.5)


def test_regularizer_of_a_module_counts_the_cells_alone():
    layer = INALU(3, 2, law="uniform2", generator=seeded(0))
    network = nn.Sequential(nn.Linear(3, 3), layer)
    means = sum(literal(p.detach().numpy()).mean() for p in layer.parameters())
    sums = sum(literal(p.detach().numpy()).sum() for p in layer.parameters())
    assert regularizer(network).item() == pytest.approx(means, rel=1e-6)
    assert regularizer(network, aggregate="sum").item() == pytest.approx(sums, rel=1e-6)
    with pytest.raises(InvalidArgument, match="must contain a cell"):
        regularizer(nn.Linear(2, 1))
    with pytest.raises(InvalidArgument, match="at least one parameter"):
        regularizer([])
    with pytest.raises(InvalidArgument, match="t must be finite and positive"):
        regularizer(network, t=0)


def test_discretize_acts_after_a_step_and_below_a_loss():
    network = nn.Sequential(INALU(2, 1), NALU(1, 1))
    rule = Discretize(after=10, below=1.0, weight=0.5)
    assert rule(network, 9, 0.1) == 0.0
    assert rule(network, 10, 1.0) == 0.0
    assert rule(network, 10, float("nan")) == 0.0
    assert torch.equal(rule(network, 10, torch.tensor(0.9, requires_grad=True)), 0.5 * regularizer(network))
    with pytest.raises(InvalidArgument, match=r"Discretize\.weight must be finite and not negative"):
        Discretize(weight=-1.0)
    with pytest.raises(InvalidArgument, match="aggregate"):
        Discretize(aggregate="median")


def test_reinitialize_follows_the_rule():
    def looks(losses, **options):
        rule = Reinitialize(every=10, window=10, **options)
        return [n + 1 for n, loss in enumerate(losses) if rule.due(loss)]

    flat, falling = [5.0] * 40, list(np.linspace(40, 2, 40))
    assert looks(flat) == [10, 20, 30, 40]
    assert looks(falling) == []
    assert looks(flat, limit=1) == [10]
    assert looks([0.5] * 40) == []
    assert looks([float("nan")] * 10) == [10]
    # An improvement by less than the second half's standard deviation is none.
    noisy = [6.0] * 5 + [3.0, 7.0, 3.0, 7.0, 3.0]
    assert looks(noisy) == [10]
    assert looks(noisy, tolerance=0.0) == []
    # A look needs a full window since the last start.
    rule = Reinitialize(every=10, window=15)
    assert [n + 1 for n in range(60) if rule.due(5.0)] == [20, 40, 60]


def test_reinitialize_draws_every_weight_anew():
    network = nn.Sequential(nn.Linear(2, 2), INALU(2, 1))
    before = [p.clone() for p in network.parameters()]
    rule = Reinitialize(every=2, window=2, law="uniform2")
    assert not rule(network, 5.0)
    assert rule(network, torch.tensor(5.0, requires_grad=True), generator=seeded(0))
    assert not any(torch.equal(p, old) for p, old in zip(network.parameters(), before, strict=True))
    expected = INALU(2, 1, law="uniform2", generator=seeded(0))
    assert torch.equal(network[1].G, expected.G)
    for wrong in ({"every": 0}, {"window": 1}, {"tolerance": -1.0}, {"law": "papper"}, {"limit": -1}):
        with pytest.raises(InvalidArgument):
            Reinitialize(**wrong)


def test_parameter_groups_hold_each_parameter_once():
    network = nn.Sequential(nn.Linear(3, 2), INALU(2, 2), NALU(2, 1))
    groups = parameter_groups(network, gates={"lr": 0.5}, others={"weight_decay": 0.1})
    assert [group["name"] for group in groups] == ["weights", "gates", "others"]
    assert [len(group["params"]) for group in groups] == [6, 2, 2]
    assert {id(p) for group in groups for p in group["params"]} == {id(p) for p in network.parameters()}
    optimizer = torch.optim.Adam(groups, lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 0.1]
    assert [group["name"] for group in parameter_groups(INALU(1, 1))] == ["weights", "gates"]
