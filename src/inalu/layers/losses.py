"""Losses that do not depend on the target's unit, and that make products and quotients learnable.

All take the last layer, its inputs h [B, I], the targets y [B, O] and the row weights of `target_weights`,
and return the mean over rows and outputs. They train the layer and, through h, whatever lies below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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


class _Paths(NamedTuple):
    """The last layer's paths: their outputs [B, O], a and z (in log space), their weights [I, O], the gate g."""

    a: Tensor
    w_a: Tensor
    z: Tensor
    w_m: Tensor
    gate: Tensor


def _paths(layer: GatedLayer, h: Tensor) -> _Paths:
    weights = layer.paths()
    logs = stable.log_magnitude(h, layer.epsilon) if _clipped(layer) else torch.log(h.abs() + layer.epsilon)
    gate = layer.gate_values(h)
    assert gate is not None
    a, z = F.summative(h, weights[0]), stable.matmul(logs, weights[-1])
    return _Paths(a, weights[0], z, weights[-1], gate)


def _clipped(layer: nn.Module) -> bool:
    return isinstance(layer, INALU) and layer.omega is not None


def _log_target(layer: GatedLayer, y: Tensor) -> Tensor:
    return torch.log(y.abs().clamp(min=layer.epsilon))


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
    paths = _paths(layer, h)
    sums = torch.log1p(weight * (paths.a - y) ** 2)
    products = torch.log1p(weight * y**2 * (paths.z - _log_target(layer, y)) ** 2)
    return (paths.gate * sums + (1.0 - paths.gate) * products).mean()


class PathErrors(NamedTuple):
    """Errors of one path of the last layer, [B, O]; its share and the weights count as constants."""

    share: Tensor
    error: Tensor
    weight: Tensor

    @property
    def loss(self) -> Tensor:
        """The mean of share · log(1 + weight·error²)."""
        return (self.share * torch.log1p(self.weight * self.error**2)).mean()


def sampson_path_errors(layer: nn.Module, h: Tensor, y: Tensor, weight: Tensor) -> list[PathErrors]:
    """Return the errors a - y of the summative path, and z - log max(|y|, ε) of the multiplicative one.

    With s = Σ_i h_i²/I and the row weights v, their weights are v / (1 + v·s·Σ_i(∂a/∂h_i)²) and
    v·y² / (1 + v·y²·s·Σ_i(∂z/∂h_i)²).

    Raises
    ------
    InvalidArgument
        When the layer is none of the paper's.
    """
    size = (h**2).mean(dim=1, keepdim=True)
    if isinstance(layer, NAC):
        w = layer.effective_weights()["W"]
        divided = weight / (1.0 + weight * size * (w**2).sum(dim=0))
        return [PathErrors(torch.ones_like(y), layer(h) - y, divided.detach())]
    if not isinstance(layer, GatedLayer):
        rule = "must be a NAC, NALU or INALU for the loss 'sampson-paths'"
        raise invalid("layer", rule, type(layer).__name__)
    paths = _paths(layer, h)
    gate = paths.gate.detach().expand_as(y)
    magnitude = h.abs()
    slopes = torch.where(magnitude > layer.epsilon, 1.0 / magnitude.clamp(min=layer.epsilon), 0.0)
    if not _clipped(layer):
        slopes = 1.0 / (magnitude + layer.epsilon)
    relative = weight * y**2
    sums = weight / (1.0 + weight * size * (paths.w_a**2).sum(dim=0))
    products = relative / (1.0 + relative * size * (slopes**2 @ paths.w_m**2))
    return [
        PathErrors(gate, paths.a - y, sums.detach()),
        PathErrors(1.0 - gate, paths.z - _log_target(layer, y), products.detach()),
    ]


def sampson_paths_loss(layer: nn.Module, h: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of g·log(1 + u_a) + (1 - g)·log(1 + u_m), the errors those of `sampson_path_errors`.

    It joins `paths_loss`, for which a pole is only a logarithm, with `sampson_loss`, in which rows next to a
    pole cannot rule. The gate and the weights count as constants in the gradient.
    """
    return torch.stack([part.loss for part in sampson_path_errors(layer, h, y, weight)]).sum()


Loss = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]
LOSSES: dict[str, Loss] = {
    "mse": weighted_loss,
    "scaled": weighted_loss,
    "sampson": sampson_loss,
    "paths": paths_loss,
    "sampson-paths": sampson_paths_loss,
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
