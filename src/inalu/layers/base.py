"""What every cell shares: the shape of inputs, initial values, and what snapping and schedules ask of it.

A new cell subclasses `ArithmeticLayer`; docs/extending.md goes through one step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from inalu.errors import InvalidArgument, invalid
from inalu.expression import Expression
from inalu.layers import functional as F
from inalu.layers.laws import Law, resolve_law
from inalu.layers.stable import no_autocast

# tanh and the logistic function of FAR are exactly 1 and σ(-FAR) is exactly 0, in every dtype.
FAR = 1000.0


class Snapped(NamedTuple):
    """A layer with exact weights, and the largest share of rows on which a gate was overruled."""

    layer: ArithmeticLayer
    minority: float


class ArithmeticLayer(nn.Module):
    """The base of all cells: ``[..., in_features]`` → ``[..., out_features]``.

    A cell calls `make_parameters` and defines `compute` and `effective_weights`; and `make_exact` and
    `formulas` if it can be made exact.

    Raises
    ------
    InvalidArgument
        When a size is not a positive integer; when an input's last dimension or dtype does not fit.
    """

    in_features: int
    out_features: int
    law: Law

    def __init__(self, in_features: int, out_features: int, *, law: str | Law = "paper") -> None:
        super().__init__()
        for name, size in (("in_features", in_features), ("out_features", out_features)):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise invalid(name, "must be a positive integer", size)
        self.in_features = in_features
        self.out_features = out_features
        self.law = resolve_law(law)

    def make_parameters(
        self,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **shapes: tuple[int, ...],
    ) -> None:
        """Register parameters of these shapes under their names, in this order, and draw their values."""
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(torch.empty(shape, device=device, dtype=dtype)))
        self.reset_parameters(generator=generator)

    def compute(self, x: Tensor) -> Tensor:
        """Return the outputs [B, O] of rows x [B, I]."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs [..., O] of inputs x [..., I], in the dtype of the parameters."""
        dtype = next(self.parameters()).dtype
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            rule = f"must have in_features={self.in_features} as its last dimension"
            raise invalid("x", rule, tuple(x.shape))
        # A layer that ran in half precision hands on half precision; arithmetic is done in full.
        if x.dtype != dtype and torch.is_autocast_enabled(x.device.type):
            x = x.to(dtype)
        if x.dtype != dtype:
            fix = f"Convert one: x.to({dtype}) or layer.to({x.dtype})"
            raise invalid("x", f"must have the dtype of the layer, {dtype}", x.dtype, fix=fix)
        with no_autocast(x):
            y = self.compute(x.reshape(-1, self.in_features))
        return y.reshape(*x.shape[:-1], self.out_features)

    @torch.no_grad()
    def reset_parameters(
        self, *, generator: torch.Generator | None = None, law: str | Law | None = None
    ) -> Self:
        """Draw every parameter anew from ``law``, by default the law that the layer was made with.

        Returns
        -------
        ArithmeticLayer
            The layer itself.

        Examples
        --------
        >>> from inalu.layers import INALU
        >>> layer = INALU(2, 1).reset_parameters(generator=torch.Generator().manual_seed(0), law="uniform2")
        >>> bool(layer.W_hat_a.abs().max() < 2)
        True
        """
        chosen = self.law if law is None else resolve_law(law)
        for name, parameter in self.named_parameters():
            standard = torch.empty_like(parameter).normal_(generator=generator)
            unit = torch.empty_like(parameter).uniform_(generator=generator)
            parameter.copy_(chosen.of(name).values(standard, unit))
        return self

    def effective_weights(self) -> dict[str, Tensor]:
        """Return the weights that act, by name, each [I, O]; exact ones are -1, 0 or 1."""
        raise NotImplementedError

    def gate_values(self, x: Tensor | None = None) -> Tensor | None:
        """Return the gate, [O] or [B, 1] or [B, O]; None without a gate or without the x that it needs."""
        return None

    def discretization(self, t: float) -> list[Tensor]:
        """Return the regulariser's terms, one tensor a parameter; they are 0 where a weight is exact."""
        return [F.regularization(parameter, t) for parameter in self.parameters()]

    def make_exact(self) -> None:
        """Move the parameters to where the effective weights are exactly their nearest of -1, 0 and 1."""
        raise InvalidArgument(f"{type(self).__name__} cannot be snapped: it has no method make_exact().")

    @torch.no_grad()
    def snapped(self, x: Tensor | None = None) -> Snapped:
        """Return an exact copy; rows x [B, I] are for a gate that looks at its input."""
        layer = deepcopy(self)
        layer.make_exact()
        return Snapped(layer, 0.0)

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return one expression an output, of a layer that is exact."""
        raise InvalidArgument(f"{type(self).__name__} has no formula: it has no method formulas().")

    def extra_repr(self) -> str:
        """Return the sizes and options, as they would be typed."""
        return f"{self.in_features}, {self.out_features}"


@torch.no_grad()
def snap_weights(w_hat: Tensor, m_hat: Tensor) -> None:
    """Move a pair of parameters to where tanh(W_hat)·σ(M_hat) is exactly its nearest of -1, 0 and 1."""
    nearest = torch.round(torch.tanh(w_hat) * torch.sigmoid(m_hat))
    w_hat.copy_(FAR * nearest)
    m_hat.copy_(FAR * (2 * nearest.abs() - 1))


@torch.no_grad()
def majority(gate: Tensor) -> tuple[Tensor, float]:
    """Return, for gates [B, 1] or [B, O], where more than half are open, and the largest share overruled."""
    share = (gate > 0.5).to(torch.float64).mean(0)
    return share > 0.5, float(torch.minimum(share, 1 - share).max())


def cells(module: nn.Module) -> list[ArithmeticLayer]:
    """Return the cells of a network, each once, in the order in which they were registered.

    Raises
    ------
    InvalidArgument
        When there is none.
    """
    found = [part for part in module.modules() if isinstance(part, ArithmeticLayer)]
    if not found:
        raise invalid("module", "must contain a cell such as inalu.INALU", type(module).__name__)
    return found
