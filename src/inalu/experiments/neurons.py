"""The neurons that the paper's introduction speaks of, as cells: a linear neuron, and a small MLP."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

#: Hidden units of the MLP; the paper gives none.
HIDDEN = 32


class LinearNeuron(nn.Module):
    """output = x·w + b, the paper's first equation with the identity as its activation."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as PyTorch's linear layer does."""
        _uniform(self.weight, self.bias, generator)

    def forward(self, x: Tensor) -> Tensor:
        """[B, I] → [B, O]."""
        return x @ self.weight + self.bias


class SmallMLP(nn.Module):
    """One hidden layer of rectified units, then linear neurons."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.hidden_weight = nn.Parameter(torch.empty(in_features, HIDDEN))
        self.hidden_bias = nn.Parameter(torch.empty(HIDDEN))
        self.weight = nn.Parameter(torch.empty(HIDDEN, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as PyTorch's linear layers do."""
        _uniform(self.hidden_weight, self.hidden_bias, generator)
        _uniform(self.weight, self.bias, generator)

    def forward(self, x: Tensor) -> Tensor:
        """[B, I] → [B, O]."""
        hidden = torch.relu(x @ self.hidden_weight + self.hidden_bias)
        return hidden @ self.weight + self.bias


@torch.no_grad()
def _uniform(weight: Tensor, bias: Tensor, generator: torch.Generator | None) -> None:
    bound = 1 / math.sqrt(weight.shape[0])
    for parameter in (weight, bias):
        parameter.uniform_(-bound, bound, generator=generator)
