"""What NALU and INALU share: two paths and a gate between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor

from inalu.errors import invalid
from inalu.expression import Expression
from inalu.layers import functional as F
from inalu.layers.base import FAR, ArithmeticLayer, Snapped, majority, snap_weights
from inalu.layers.formulas import exact_columns, signed_product, signed_sum

Path = Callable[[Tensor, Tensor], Tensor]
Weights = Literal["independent", "shared"]
Gate = Literal["constant", "vector", "matrix"]


def _constant_gate(x: Tensor, g: Tensor) -> Tensor:
    return F.constant_gate(g)


def check_epsilon(epsilon: float) -> float:
    """Return ε, or raise InvalidArgument when it is not a finite positive number."""
    if not (isinstance(epsilon, int | float) and 0 < epsilon < math.inf):
        raise invalid("epsilon", "must be finite and positive", epsilon, fix="epsilon=1e-7 is the paper's")
    return float(epsilon)


class GatedLayer(ArithmeticLayer):
    """``y = g·a + (1 - g)·m``: a summative path, a multiplicative path and a gate.

    A subclass sets ``epsilon`` and ``multiply``, and calls `make_paths`.
    """

    weights: Weights
    gate: Gate
    multiply: Path
    epsilon: float
    G: Tensor

    def make_paths(
        self,
        weights: Weights,
        gate: Gate,
        *,
        generator: torch.Generator | None,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        """Create the parameters for these options and draw their values."""
        self.weights, self.gate = weights, gate
        paths = ("",) if weights == "shared" else ("_a", "_m")
        self._pairs = [(f"W_hat{path}", f"M_hat{path}") for path in paths]
        self._gate: Path = _constant_gate if gate == "constant" else F.input_gate
        size = (self.in_features, self.out_features)
        shapes: dict[str, tuple[int, ...]] = {name: size for pair in self._pairs for name in pair}
        shapes["G"] = {"constant": size[1:], "vector": (size[0], 1), "matrix": size}[gate]
        self.make_parameters(**shapes, generator=generator, device=device, dtype=dtype)

    def paths(self) -> list[Tensor]:
        """Return the weights of the summative and of the multiplicative path, one tensor if shared."""
        return [F.weights(getattr(self, w_hat), getattr(self, m_hat)) for w_hat, m_hat in self._pairs]

    def compute(self, x: Tensor) -> Tensor:
        """Return the gated sum of both paths."""
        paths = self.paths()
        a = F.summative(x, paths[0])
        m = self.multiply(x, paths[-1])
        return F.mix(self._gate(x, self.G), a, m)

    def effective_weights(self) -> dict[str, Tensor]:
        """Return W, or W_a and W_m."""
        paths = self.paths()
        return dict(zip(("W",) if len(paths) == 1 else ("W_a", "W_m"), paths, strict=True))

    def gate_values(self, x: Tensor | None = None) -> Tensor | None:
        """Return σ(G), or σ(x G) if x is given."""
        if self.gate == "constant":
            return F.constant_gate(self.G)
        return None if x is None else F.input_gate(x, self.G)

    def with_constant_gate(self) -> GatedLayer:
        """Return a copy whose gate does not look at the input; its G [O] is still to be set."""
        raise NotImplementedError

    @torch.no_grad()
    def snapped(self, x: Tensor | None = None) -> Snapped:
        """Return an exact copy; a gate that looks at the input becomes its majority over x [B, I].

        Raises
        ------
        InvalidArgument
            When the gate looks at the input and x is not given.
        """
        gate = self.gate_values(x)
        if gate is None or gate.shape[0] == 0:
            rule = f"must hold rows, since gate={self.gate!r} depends on the input"
            raise invalid("x", rule, x, fix="inalu.snap(network, x) takes the majority over them")
        if self.gate == "constant":
            layer, is_open, minority = deepcopy(self), gate > 0.5, 0.0
        else:
            layer = self.with_constant_gate()
            is_open, minority = majority(gate)
        for w_hat, m_hat in layer._pairs:
            snap_weights(getattr(layer, w_hat), getattr(layer, m_hat))
        layer.G.copy_(FAR * (2.0 * is_open.to(layer.G.dtype) - 1.0))
        return Snapped(layer, minority)

    def sign_weights(self, w: Tensor) -> Tensor | None:
        """Return the weights that the sign vector is computed with; None without a sign vector."""
        return None

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return the sum or product that each output is."""
        gate = self.gate_values()
        if gate is None:
            rule = "must have gates that do not depend on the input"
            raise invalid("network", rule, self, fix="Snap it first: inalu.snap(network, x)")
        (is_open,) = exact_columns([[g] for g in gate.tolist()])
        paths = self.paths()
        sums, products = (exact_columns(w.tolist()) for w in (paths[0], paths[-1]))
        signing = self.sign_weights(paths[-1])
        signs = [None] * self.out_features if signing is None else exact_columns(signing.tolist())
        return [
            signed_sum(inputs, sums[o]) if is_open[o] else signed_product(inputs, products[o], signs[o])
            for o in range(self.out_features)
        ]
