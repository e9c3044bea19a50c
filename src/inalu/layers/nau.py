"""NAU: the neural addition unit of Madsen and Johansen (2020), sums with linear weights."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import torch
from torch import Tensor

from inalu.expression import Expression
from inalu.layers import functional as F
from inalu.layers.base import ArithmeticLayer, Snapped, empty
from inalu.layers.formulas import exact_columns, signed_sum
from inalu.layers.laws import Law
from inalu.layers.stable import Formula, apply


class _Bounded(Formula):
    """clamp(w, -1, 1), with the gradient 0 only where a step against it would lead further out.

    The article cuts the weights back after each step. For an optimizer that we do not own this is the same,
    but for what its momentum carries beyond 1 meanwhile.
    """

    @staticmethod
    def forward(w: Tensor) -> Tensor:
        return w.clamp(-1, 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> Tensor:
        (w,) = ctx.saved_tensors
        gradient: Tensor = d * ~((w.abs() > 1) & (w * d < 0))
        return gradient


class NAU(ArithmeticLayer):
    """Sums and differences of inputs: ``y = x W`` with ``W = clamp(W_hat, -1, 1)``.

    Its regulariser, for `inalu.regularizer` and the recipes, is the article's: min(|W|, |1 - |W||).

    Parameters
    ----------
    in_features, out_features
        I and O.
    generator
        The source of the initial values, uniform on ±min(½, √(6 / (I + O))); None is torch's own.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    W_hat
        [I, O].

    Raises
    ------
    InvalidArgument
        When a size is not valid.

    Examples
    --------
    >>> NAU(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.W_hat = empty(in_features, out_features, device=device, dtype=dtype)
        self.reset_parameters(generator=generator)

    @torch.no_grad()
    def reset_parameters(
        self, *, generator: torch.Generator | None = None, law: str | Law | None = None
    ) -> Self:
        """Draw W_hat anew; it has a law of its own, and ``law`` changes nothing."""
        bound = min(0.5, (6 / (self.in_features + self.out_features)) ** 0.5)
        self.W_hat.uniform_(-bound, bound, generator=generator)
        return self

    def compute(self, x: Tensor) -> Tensor:
        """Return x W."""
        return F.summative(x, apply(_Bounded, self.W_hat))

    def effective_weights(self) -> dict[str, Tensor]:
        """Return W."""
        return {"W": apply(_Bounded, self.W_hat)}

    def discretization(self, t: float) -> list[Tensor]:
        """Return the distance of each weight from the nearest of -1, 0 and 1; the threshold has no part in it."""
        w = self.W_hat.abs()
        return [torch.minimum(w, (1 - w).abs())]

    @torch.no_grad()
    def snapped(self, x: Tensor | None = None) -> Snapped:
        """Return a copy whose weights are exactly -1, 0 or 1."""
        layer = deepcopy(self)
        layer.W_hat.copy_(self.effective_weights()["W"].round())
        return Snapped(layer, 0.0)

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return the sums that the outputs are."""
        return [
            signed_sum(inputs, column) for column in exact_columns(self.effective_weights()["W"].tolist())
        ]
