"""Losses of inalu.layers.losses: their formulas, their units, and what they teach."""

import pytest
import torch

from inalu.errors import InvalidArgument
from inalu.layers import INALU, NAC, NALU
from inalu.layers.losses import NetworkLoss, paths_loss, sampson_loss, target_weights, weighted_loss


def rows(outputs=1, count=50, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    y = torch.randn(count, outputs, generator=generator, dtype=torch.float64) * 5
    return x, y


def layer(outputs=1, **options):
    return INALU(3, outputs, generator=torch.Generator().manual_seed(1), dtype=torch.float64, **options)


def test_target_weights_take_the_median_of_each_output():
    y = torch.tensor([[1.0, 10.0], [-3.0, 0.0], [2.0, -20.0]])
    expected = 1 / (torch.tensor([2.0, 10.0]) ** 2 + y**2)
    torch.testing.assert_close(target_weights(y), expected)


def test_an_output_that_is_mostly_zero_has_a_weight():
    y = torch.tensor([[0.0], [0.0], [4.0]])
    assert target_weights(y).isfinite().all()


@pytest.mark.parametrize("loss", [weighted_loss, paths_loss])
def test_a_loss_trains_the_layer_and_what_lies_below(loss):
    x, y = rows()
    h = x.clone().requires_grad_()
    cell = layer()
    loss(cell, h, y, target_weights(y)).backward()
    assert h.grad.abs().sum() > 0
    assert all(p.grad.abs().sum() > 0 for p in cell.parameters())


def test_sampson_divides_by_the_sensitivity_of_the_prediction():
    x, y = rows(outputs=2)
    cell, weight = layer(2), target_weights(y)
    step = 1e-6
    slopes = []
    for i in range(3):
        shift = torch.zeros(3, dtype=torch.float64)
        shift[i] = step
        slopes.append((cell(x + shift) - cell(x - shift)) / (2 * step))
    sensitivity = sum(s**2 for s in slopes) * (x**2).mean(dim=1, keepdim=True)
    expected = ((cell(x) - y) ** 2 / (1 / weight + sensitivity)).mean()
    torch.testing.assert_close(sampson_loss(cell, x, y, weight), expected, rtol=1e-6, atol=0)


def test_the_sampson_denominator_counts_as_a_constant():
    x, y = rows()
    cell, weight = layer(), target_weights(y)
    prediction = cell(x)
    fixed = (sampson_loss(cell, x, y, weight) / ((prediction - y) ** 2).mean()).detach()
    # With one row the ratio of loss and squared error is that row's constant.
    one = slice(0, 1)
    loss = sampson_loss(cell, x[one], y[one], weight[one])
    factor = (loss / (cell(x[one]) - y[one]) ** 2).detach()
    gradient = torch.autograd.grad(loss, list(cell.parameters()))
    plain = torch.autograd.grad((factor * (cell(x[one]) - y[one]) ** 2).mean(), list(cell.parameters()))
    for g, p in zip(gradient, plain, strict=True):
        torch.testing.assert_close(g, p)
    assert fixed > 0


@pytest.mark.parametrize("options", [{}, {"weights": "shared"}, {"gate": "matrix"}, {"omega": None}])
def test_paths_loss_is_the_formula_of_its_docstring(options):
    x, y = rows()
    cell, weight = layer(**options), target_weights(y)
    paths = cell.paths()
    logs = torch.log(x.abs().clamp(min=1e-7)) if cell.omega else torch.log(x.abs() + 1e-7)
    a, z = x @ paths[0], logs @ paths[-1]
    g = torch.sigmoid(cell.G) if cell.gate == "constant" else torch.sigmoid(x @ cell.G)
    u_a = weight * (a - y) ** 2
    u_m = weight * y**2 * (z - y.abs().log()) ** 2
    expected = (g * (1 + u_a).log() + (1 - g) * (1 + u_m).log()).mean()
    torch.testing.assert_close(paths_loss(cell, x, y, weight), expected)


@pytest.mark.parametrize("cell", [NAC(3, 1), NALU(3, 1), INALU(3, 1)], ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("loss", ["scaled", "sampson", "paths", "sampson-paths"])
def test_every_cell_of_the_paper_has_every_loss(cell, loss):
    x, y = (part.float() for part in rows())
    assert NetworkLoss(torch.nn.Sequential(cell), loss)(x, y, target_weights(y)).isfinite()


def test_paths_needs_a_cell_of_the_paper():
    x, y = rows()
    with pytest.raises(InvalidArgument, match="Linear"):
        paths_loss(torch.nn.Linear(3, 1).double(), x, y, target_weights(y))


@pytest.mark.parametrize("loss", [sampson_loss, weighted_loss])
def test_the_unit_of_an_additive_target_cancels(loss):
    """Scaling x and y together leaves the loss of a sum as it was."""
    x, y = rows()
    cell = NAC(3, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    before = loss(cell, x, y, target_weights(y))
    after = loss(cell, 1000 * x, 1000 * y, target_weights(1000 * y))
    torch.testing.assert_close(before, after)
