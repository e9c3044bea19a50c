"""NALU: the original neural arithmetic logic unit, the paper's baseline."""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor

from inalu.errors import check_choice
from inalu.layers import functional as F
from inalu.layers.gated import GatedLayer, check_epsilon
from inalu.layers.laws import Law


class NALU(GatedLayer):
    """Sums or products of inputs, chosen by a gate that looks at the input; no bound and no sign.

    ``y = g·a + (1 - g)·m`` with ``a = x W``, ``m = exp(log(|x| + ε) W)`` and ``g = σ(x G)``.

    Parameters
    ----------
    in_features, out_features
        I and O.
    gate
        ``"vector"``: G [I, 1], one gate for all outputs. ``"matrix"``: G [I, O], a gate for each.
    epsilon
        ε inside the logarithm.
    law
        The initial law, by name or as data.
    generator
        The source of the initial values; None is torch's own.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    W_hat, M_hat, G
        [I, O], [I, O] and [I, 1] or [I, O].

    Raises
    ------
    InvalidArgument
        When a size, an option or the law is not valid.

    Examples
    --------
    >>> layer = NALU(3, 2, gate="matrix")
    >>> layer
    NALU(3, 2, gate='matrix')
    >>> layer(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    W_hat: Tensor
    M_hat: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        gate: Literal["vector", "matrix"] = "vector",
        epsilon: float = 1e-7,
        law: str | Law = "paper",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_choice("gate", gate, ("vector", "matrix"))
        self.epsilon = check_epsilon(epsilon)
        super().__init__(in_features, out_features, law=law)
        self.multiply = partial(F.multiplicative, epsilon=self.epsilon)
        self.make_paths("shared", gate, generator=generator, device=device, dtype=dtype)

    def with_constant_gate(self) -> GatedLayer:
        """Return an INALU without its improvements: NALU with a constant gate."""
        # INALU does not need NALU, so the import is one way.
        from inalu.layers.inalu import INALU

        layer = INALU(
            self.in_features, self.out_features, weights="shared", epsilon=self.epsilon,
            omega=None, sign=False, law=self.law, device=self.G.device, dtype=self.G.dtype,
        )  # fmt: skip
        layer.load_state_dict({"W_hat": self.W_hat, "M_hat": self.M_hat, "G": layer.G})
        return layer.train(self.training)

    def extra_repr(self) -> str:
        """Return the sizes and options, as they would be typed."""
        epsilon = "" if self.epsilon == 1e-7 else f", epsilon={self.epsilon:g}"
        return f"{self.in_features}, {self.out_features}, gate={self.gate!r}{epsilon}"
