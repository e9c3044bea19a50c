"""NAC: the neural accumulator, the summative path alone."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor

from inalu.expression import Expression
from inalu.layers import functional as F
from inalu.layers.base import ArithmeticLayer, Snapped, empty, snap_weights
from inalu.layers.formulas import exact_columns, signed_sum
from inalu.layers.laws import Law


class NAC(ArithmeticLayer):
    """Sums and differences of inputs: ``y = x W`` with ``W = tanh(W_hat) ⊙ σ(M_hat)``.

    Parameters
    ----------
    in_features, out_features
        I and O.
    law
        The initial law, by name or as data.
    generator
        The source of the initial values; None is torch's own.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    W_hat, M_hat
        [I, O].

    Raises
    ------
    InvalidArgument
        When a size or the law is not valid.

    Examples
    --------
    >>> import torch
    >>> NAC(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        law: str | Law = "paper",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, law=law)
        self.W_hat = empty(in_features, out_features, device=device, dtype=dtype)
        self.M_hat = empty(in_features, out_features, device=device, dtype=dtype)
        self.reset_parameters(generator=generator)

    def compute(self, x: Tensor) -> Tensor:
        """Return x W."""
        return F.summative(x, F.weights(self.W_hat, self.M_hat))

    def effective_weights(self) -> dict[str, Tensor]:
        """Return W."""
        return {"W": F.weights(self.W_hat, self.M_hat)}

    def snapped(self, x: Tensor | None = None) -> Snapped:
        """Return a copy whose weights are exactly -1, 0 or 1."""
        layer = deepcopy(self)
        snap_weights(layer.W_hat, layer.M_hat)
        return Snapped(layer, 0.0)

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return the sums that the outputs are."""
        return [
            signed_sum(inputs, column) for column in exact_columns(self.effective_weights()["W"].tolist())
        ]
