"""INALU: the improved neural arithmetic logic unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from inalu.errors import check_choice, invalid
from inalu.layers import functional as F
from inalu.layers.gated import Gate, GatedLayer, Path, Weights, check_epsilon
from inalu.layers.laws import Law

Sign = Callable[[Tensor, Tensor], Tensor]
_SIGNS: dict[bool | str, Sign | None] = {
    True: F.sign_vector, "published": F.published_sign_vector, False: None,
}  # fmt: skip


def _signed(x: Tensor, w: Tensor, *, magnitude: Path, sign: Sign) -> Tensor:
    return F.signed(magnitude(x, w), sign(x, w))


def _multiplicative_path(epsilon: float, omega: float | None, sign: bool | str) -> Path:
    """Return the function (x, W_m) → m · msv that these options stand for."""
    magnitude: Path
    if omega is None:
        magnitude = partial(F.multiplicative, epsilon=epsilon)
    else:
        magnitude = partial(F.clipped_multiplicative, epsilon=epsilon, omega=omega)
    vector = _SIGNS[sign]
    return magnitude if vector is None else partial(_signed, magnitude=magnitude, sign=vector)


class INALU(GatedLayer):
    """Sums or products of inputs of either sign, chosen by a gate, finite at any depth.

    ``y = g·a + (1 - g)·m·msv`` with ``a = x W_a``, ``m = exp(min(log(max(|x|, ε)) W_m, ω))`` and the sign
    vector ``msv_o = Π_i (sign(x_i)·|W_m,io| + 1 - |W_m,io|)``.

    Parameters
    ----------
    in_features, out_features
        I and O.
    weights
        ``"independent"``: W_a and W_m of their own. ``"shared"``: one W for both paths.
    gate
        ``"constant"``: g = σ(G), G [O], the same for every input. ``"vector"`` and ``"matrix"``: g = σ(x G),
        G [I, 1] or [I, O], as in NALU.
    epsilon, omega
        The bounds of the clipping; ``omega=None`` switches clipping off as a whole: log(|x| + ε), no bound.
    sign
        Whether to compute the sign vector. ``"published"`` computes it in the index order of the published
        code, which is wrong for several inputs and outputs, to reproduce its results.
    law
        The initial law, by name or as data.
    generator
        The source of the initial values; None is torch's own.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    W_hat_a, M_hat_a, W_hat_m, M_hat_m
        [I, O], with independent weights; W_hat and M_hat with shared ones.
    G
        [O], [I, 1] or [I, O].

    Raises
    ------
    InvalidArgument
        When a size, an option or the law is not valid.

    Examples
    --------
    >>> layer = INALU(2, 1)
    >>> layer
    INALU(2, 1, weights='independent', gate='constant')
    >>> layer(torch.ones(8, 5, 2)).shape
    torch.Size([8, 5, 1])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        weights: Weights = "independent",
        gate: Gate = "constant",
        epsilon: float = 1e-7,
        omega: float | None = 20.0,
        sign: bool | Literal["published"] = True,
        law: str | Law = "paper",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_choice("weights", weights, ("independent", "shared"))
        check_choice("gate", gate, ("constant", "vector", "matrix"))
        if not (isinstance(sign, bool) or sign == "published"):
            raise invalid("sign", "must be True, False or 'published'", sign)
        if omega is not None and not (isinstance(omega, int | float) and 0 < omega < math.inf):
            fix = "omega=20.0 is the paper's, omega=None switches clipping off"
            raise invalid("omega", "must be finite and positive, or None", omega, fix=fix)
        super().__init__(in_features, out_features, law=law)
        self.epsilon = check_epsilon(epsilon)
        self.omega = None if omega is None else float(omega)
        self.sign = sign
        self.multiply = _multiplicative_path(self.epsilon, self.omega, sign)
        self.make_paths(weights, gate, generator=generator, device=device, dtype=dtype)

    def with_constant_gate(self) -> GatedLayer:
        """Return a copy whose gate does not look at the input; its G [O] is still to be set."""
        layer = INALU(
            self.in_features, self.out_features, weights=self.weights, epsilon=self.epsilon, omega=self.omega,
            sign=self.sign, law=self.law, device=self.G.device, dtype=self.G.dtype,
        )  # fmt: skip
        layer.load_state_dict({**self.state_dict(), "G": layer.G})
        return layer.train(self.training)

    def sign_weights(self, w: Tensor) -> Tensor | None:
        """Return W_m, or W_m as the published code reads it; None without a sign vector."""
        if self.sign is False:
            return None
        return F.published_order(w) if self.sign == "published" else w

    def extra_repr(self) -> str:
        """Return the sizes and the options that differ from the defaults, as they would be typed."""
        text = f"{self.in_features}, {self.out_features}, weights={self.weights!r}, gate={self.gate!r}"
        for name, usual in (("epsilon", 1e-7), ("omega", 20.0), ("sign", True)):
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value!r}"
        return text
