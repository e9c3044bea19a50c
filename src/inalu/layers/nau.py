"""NAU: the neural addition unit of Madsen and Johansen (2020), sums with linear weights."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from inalu.layers.stable import bounded
from inalu.layers.summative import SummativeLayer


class NAU(SummativeLayer):
    """Sums and differences of inputs: ``y = x W`` with ``W = clamp(W_hat, -1, 1)``, W_hat [I, O].

    Its regulariser, for `inalu.regularizer` and the recipes, is the article's: min(|W|, |1 - |W||). The
    initial values, from ``generator``, are its own: uniform on ±min(½, √(6 / (I + O))).

    Raises
    ------
    InvalidArgument
        When a size is not a positive integer.

    Examples
    --------
    >>> NAU(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    W_hat: Tensor

    def __init__(
        self, in_features: int, out_features: int, *, generator: torch.Generator | None = None,
        device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features)
        self.make_parameters(
            W_hat=(in_features, out_features), generator=generator, device=device, dtype=dtype
        )

    @torch.no_grad()
    def reset_parameters(self, *, generator: torch.Generator | None = None, law: object = None) -> Self:
        """Draw W_hat anew; it has a law of its own, and ``law`` changes nothing."""
        bound = min(0.5, (6 / (self.in_features + self.out_features)) ** 0.5)
        self.W_hat.uniform_(-bound, bound, generator=generator)
        return self

    def effective_weights(self) -> dict[str, Tensor]:
        """Return W."""
        return {"W": bounded(self.W_hat, -1.0, 1.0)}

    def discretization(self, t: float) -> list[Tensor]:
        """Return the distance of each weight from the nearest of -1, 0 and 1; the threshold has no part in it."""
        w = self.W_hat.abs()
        return [torch.minimum(w, (1 - w).abs())]

    def make_exact(self) -> None:
        """Make W its nearest of -1, 0 and 1."""
        self.W_hat.copy_(self.effective_weights()["W"].round())
