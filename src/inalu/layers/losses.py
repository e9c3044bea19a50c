"""Losses that do not depend on the target's unit, and that make products and quotients learnable.

All take the last layer, its inputs h [B, I], the targets y [B, O] and the row weights of `target_weights`,
and return the mean over rows and outputs. They train the layer and, through h, whatever lies below it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from inalu.errors import check_choice, invalid
from inalu.layers import functional as F
from inalu.layers import stable
from inalu.layers.gated import GatedLayer
from inalu.layers.inalu import INALU
from inalu.layers.nac import NAC


def target_weights(y: Tensor) -> Tensor:
    """Return 1 / (median|y|² + y²) for targets [B, O], the median over all training rows of an output.

    Examples
    --------
    >>> target_weights(torch.tensor([[1.0], [2.0], [2.0]]))
    tensor([[0.2000],
            [0.1250],
            [0.1250]])
    """
    scale = y.abs().median(dim=0).values ** 2 + y**2
    return 1.0 / torch.where(scale > 0, scale, torch.ones_like(scale))


def weighted_loss(layer: nn.Module, h: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of weight · (prediction - y)²."""
    error: Tensor = layer(h) - y
    return (weight * error * error).mean()


def sampson_loss(layer: nn.Module, h: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of (prediction - y)² / (1/weight + Σ_i (∂prediction/∂h_i)² · Σ_i h_i² / I).

    It is the squared distance, to first order, to what h would have to be (Sampson, 1982); the denominator
    counts as a constant in the gradient. Rows next to a pole of the prediction cannot rule the others.
    """
    inputs = h.detach()
    prediction: Tensor = layer(h)
    with torch.no_grad():
        size = (inputs**2).mean(dim=1, keepdim=True)
        columns = [_slopes(layer, inputs, o, prediction) for o in range(y.shape[-1])]
        slopes = torch.stack([(slope**2).sum(dim=1) for slope in columns], dim=1)
    error = prediction - y
    return (weight * error * error / (1.0 + weight * slopes * size)).mean()


def _slopes(layer: nn.Module, inputs: Tensor, output: int, like: Tensor) -> Tensor:
    """Return ∂prediction_o/∂h, [B, I]."""
    chosen = torch.zeros_like(like.detach())
    chosen[:, output] = 1.0
    pull = torch.func.vjp(layer, inputs)[1]
    slopes: Tensor = pull(chosen)[0]
    return slopes.detach()


def paths_loss(layer: nn.Module, h: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of g·log(1 + u_a) + (1 - g)·log(1 + u_m): each path is fitted for itself.

    u_a = weight·(a - y)² and u_m = weight·y²·(z - log max(|y|, ε))², where z is the sum of the multiplicative
    path in log space, without bound and sign: to first order u_m is what u_a is, and it is convex in W_m.

    Raises
    ------
    InvalidArgument
        When the layer is none of the paper's.
    """
    if isinstance(layer, NAC):
        error: Tensor = layer(h) - y
        return torch.log1p(weight * error**2).mean()
    if not isinstance(layer, GatedLayer):
        raise invalid("layer", "must be a NAC, NALU or INALU for the loss 'paths'", type(layer).__name__)
    weights = layer.paths()
    clipped = isinstance(layer, INALU) and layer.omega is not None
    logs = stable.log_magnitude(h, layer.epsilon) if clipped else torch.log(h.abs() + layer.epsilon)
    a, z = F.summative(h, weights[0]), stable.matmul(logs, weights[-1])
    gate = layer.gate_values(h)
    assert gate is not None
    sums = torch.log1p(weight * (a - y) ** 2)
    target = torch.log(y.abs().clamp(min=layer.epsilon))
    products = torch.log1p(weight * y**2 * (z - target) ** 2)
    return (gate * sums + (1.0 - gate) * products).mean()


Loss = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]
LOSSES: dict[str, Loss] = {
    "mse": weighted_loss,
    "scaled": weighted_loss,
    "sampson": sampson_loss,
    "paths": paths_loss,
}


class NetworkLoss(nn.Module):
    """A loss by name over a sequence of layers, as a module: (x, y, weight) → the mean loss.

    ``mse`` expects weights of 1, the others those of `target_weights`.
    """

    def __init__(self, network: nn.Sequential, loss: str) -> None:
        super().__init__()
        check_choice("loss", loss, LOSSES)
        self.network = network
        self._loss = LOSSES[loss]

    def forward(self, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Return the mean loss over rows and outputs."""
        h = x
        layers = list(self.network.children())
        for layer in layers[:-1]:
            h = layer(h)
        return self._loss(layers[-1], h, y, weight)
