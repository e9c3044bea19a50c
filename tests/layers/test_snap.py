"""Snapping, discreteness and formulas."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from inalu import INALU, NAC, NALU, Expression, InvalidArgument, discreteness, expression, snap
from inalu.layers import expressions


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(1), dtype=torch.float64)


def make(cell, i, o, seed=0, **options):
    return cell(i, o, law="uniform2", generator=seeded(seed), dtype=torch.float64, **options)


VARIANTS = [
    (NAC, {}),
    (NALU, {}),
    (NALU, {"gate": "matrix", "epsilon": 1e-9}),
    (INALU, {}),
    (INALU, {"weights": "shared"}),
    (INALU, {"gate": "vector"}),
    (INALU, {"gate": "matrix", "weights": "shared", "sign": False}),
    (INALU, {"sign": "published", "omega": None}),
]
each = pytest.mark.parametrize(("cell", "options"), VARIANTS, ids=lambda v: getattr(v, "__name__", str(v)))


def write(layer, w_a, w_m, gate):
    with torch.no_grad():
        for path, w in (("a", w_a), ("m", w_m)):
            layer.get_parameter(f"W_hat_{path}").copy_(5 * torch.tensor(w))
            layer.get_parameter(f"M_hat_{path}").fill_(5)
        layer.G.copy_(5 * (2 * torch.tensor(gate) - 1))
    return layer


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@each
def test_snapped_weights_and_gates_are_exact(cell, options, dtype):
    layer, x = make(cell, 4, 5, **options).to(dtype), rows(30, 4).to(dtype)
    before = {name: p.clone() for name, p in layer.named_parameters()}
    exact = snap(layer, x)
    for name, w in exact.effective_weights().items():
        assert torch.equal(w, torch.round(layer.effective_weights()[name]))
        assert torch.isin(w, torch.tensor([-1.0, 0.0, 1.0], dtype=dtype)).all()
    gate = exact.gate_values()
    assert gate is None or torch.isin(gate, torch.tensor([0.0, 1.0], dtype=dtype)).all()
    assert discreteness(exact) == 0.0
    assert discreteness(layer) > 0.1
    assert all(torch.equal(p, before[name]) for name, p in layer.named_parameters())


def test_a_gate_becomes_its_majority_and_the_minority_is_reported():
    layer = make(INALU, 1, 2, gate="matrix")
    with torch.no_grad():
        layer.G.copy_(torch.tensor([[1.0, -1.0]]))
    x = torch.tensor([[1.0], [2.0], [-1.0], [3.0]], dtype=torch.float64)
    exact = snap(layer, x)
    assert exact.gate_values().tolist() == [1.0, 0.0]
    assert exact.minority_share == 0.25
    assert snap(make(INALU, 1, 2)).minority_share == 0.0
    for cell, options in ((NALU, {}), (INALU, {"gate": "vector"})):
        with pytest.raises(InvalidArgument, match="x must hold rows, since gate='vector' depends"):
            snap(make(cell, 1, 2, **options))


def test_later_gates_see_what_the_exact_layers_before_them_compute():
    first = write(INALU(1, 1, dtype=torch.float64), [[0.6]], [[0.0]], [1.0])
    second = make(INALU, 1, 1, gate="vector")
    network = nn.Sequential(first, second)
    with torch.no_grad():
        first.M_hat_a.fill_(-4)  # W_a is near 0 and becomes exactly 0
        second.G.fill_(1)
    exact = snap(network, torch.ones(3, 1, dtype=torch.float64))
    # The soft second gate is open for x·W_a > 0; after snapping its input is 0 and no longer opens it.
    assert exact[0].effective_weights()["W_a"].item() == 0.0
    assert exact[1].gate_values().item() == 0.0


def test_networks_keep_everything_else():
    shared = make(INALU, 3, 3)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.again = shared, shared
            self.drop, self.linear = nn.Dropout(0.9), nn.Linear(3, 2, dtype=torch.float64)

        def forward(self, x):
            return self.linear(self.drop(self.again(self.inner(x))))

    network = Twice()
    for x in (None, rows(5, 3)):
        exact = snap(network, x)
        assert exact.inner is exact.again is not shared
        assert torch.equal(exact.linear.weight, network.linear.weight)
        assert exact.training
        assert exact.drop.training
        assert not any(part._forward_hooks for part in (*exact.modules(), *network.modules()))
        assert discreteness(exact) == 0.0
    with pytest.raises(InvalidArgument, match="must contain a cell"):
        snap(nn.Linear(2, 1))


def test_discreteness_is_the_farthest_weight_or_gate():
    layer = INALU(1, 1, dtype=torch.float64)
    for name, value, expected in (
        ("M_hat_a", 0.0, 0.5),
        ("M_hat_m", 2.0, 1 - 1 / (1 + torch.e**-2)),
        ("G", 1.0, 1 / (1 + torch.e)),
    ):
        with torch.no_grad():
            for p in layer.parameters():
                p.fill_(1000.0)
            layer.get_parameter(name).fill_(value)
        assert discreteness(layer) == pytest.approx(expected)
    nalu = snap(make(NALU, 2, 1), rows(5, 2))
    assert discreteness(nalu) == 0.0
    soft = make(NALU, 2, 1)
    with torch.no_grad():
        soft.W_hat.fill_(1000)
        soft.M_hat.fill_(1000)
        soft.G.fill_(0)
    assert discreteness(soft) == 0.0
    assert discreteness(soft, rows(5, 2)) == 0.5


def test_formula_by_hand():
    first = write(INALU(3, 2), [[0, 1], [0, -1], [0, 0]], [[1, 0], [-1, 0], [0, 0]], [0.0, 1.0])
    second = write(INALU(2, 1), [[1], [1]], [[1], [1]], [0.0])
    network = nn.Sequential(nn.Sequential(first, nn.Identity()), second)
    found = expression(snap(network), ["a", "b", "unused column"])
    assert found.equals(Expression.parse("a / b * (a - b)"))
    two = snap(first)
    assert [str(f) for f in expressions(two, ["abc"][0:1] * 0 or ["a", "b", "c"])] == ["a / b", "a - b"]
    assert str(expression(two, ["a", "b", "c"], output=1)) == "a - b"
    with pytest.raises(InvalidArgument, match="output must be given for a network with 2 outputs"):
        expression(two, ["a", "b", "c"])
    with pytest.raises(InvalidArgument, match="each of the 3 inputs; got 2"):
        expression(two, ["a", "b"], output=0)
    with pytest.raises(InvalidArgument, match="Snap it first"):
        expression(INALU(2, 1), ["a", "b"])
    with pytest.raises(InvalidArgument, match="got Tanh"):
        expression(nn.Sequential(nn.Tanh(), INALU(1, 1)), ["a"])
    with pytest.raises(InvalidArgument, match="names must be a sequence"):
        expression(snap(INALU(1, 1)), "a")


def test_a_formula_has_the_published_signs_too():
    w = [[1, 0], [-1, 0], [0, 1]]
    layer = write(INALU(3, 2, sign="published", dtype=torch.float64), w, w, [0.0, 0.0])
    exact, x = snap(layer), rows(40, 3)
    values = dict(zip("abc", x.T.numpy(), strict=True))
    formulas = expressions(exact, ["a", "b", "c"])
    for o, formula in enumerate(formulas):
        torch.testing.assert_close(torch.from_numpy(formula.evaluate(values)), exact(x)[:, o].detach())
    # |a / b|, with the sign of c: its magnitude does not have it.
    assert set(formulas[0].columns) == {"a", "b", "c"}


@pytest.mark.parametrize("depth", [1, 2, 3])
@each
def test_a_formula_computes_what_the_network_does(cell, options, depth):
    compared = 0
    for seed in range(8):
        generator, widths = seeded(seed), [3, 2, 3, 2][: depth + 1]
        # Most weights ±1, gates of both kinds.
        layers = [
            cell(i, o, law="signs", generator=generator, dtype=torch.float64, **options)
            for i, o in pairwise(widths)
        ]
        x = 0.5 + torch.rand(20, 3, generator=generator, dtype=torch.float64)
        x = x * torch.randn(20, 3, generator=generator).sign()
        exact = snap(nn.Sequential(*layers, nn.Linear(widths[-1], 1, dtype=torch.float64)), x)
        values = dict(zip("abc", x.T.numpy(), strict=True))
        formula = torch.from_numpy(expression(exact, ["a", "b", "c"]).evaluate(values)).broadcast_to(20)
        expected = exact(x)[:, 0].detach()
        # Beyond that ε and ω have bounded a quotient of something near 0.
        sound = (expected.abs() < 1e6) & formula.isfinite()
        compared += int(sound.sum())
        torch.testing.assert_close(formula[sound], expected[sound], rtol=1e-5, atol=1e-5)
    assert compared > 80
