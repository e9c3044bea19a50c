"""NAC: the neural accumulator, the summative path alone."""

from __future__ import annotations

import torch
from torch import Tensor

from inalu.layers import functional as F
from inalu.layers.base import snap_weights
from inalu.layers.laws import Law
from inalu.layers.summative import SummativeLayer


class NAC(SummativeLayer):
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

    W_hat: Tensor
    M_hat: Tensor

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
        size = (in_features, out_features)
        self.make_parameters(W_hat=size, M_hat=size, generator=generator, device=device, dtype=dtype)

    def effective_weights(self) -> dict[str, Tensor]:
        """Return W."""
        return {"W": F.weights(self.W_hat, self.M_hat)}

    def make_exact(self) -> None:
        """Make W its nearest of -1, 0 and 1."""
        snap_weights(self.W_hat, self.M_hat)
