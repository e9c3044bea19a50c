"""The piecewise-linear term that pushes weights and gates to exact values, equation (reg)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from inalu.errors import InvalidArgument, check_choice, invalid
from inalu.layers import functional as F
from inalu.layers.base import cells


def regularizer(
    target: nn.Module | Tensor | Iterable[Tensor],
    *,
    t: float = 20.0,
    aggregate: Literal["mean", "sum"] = "mean",
) -> Tensor:
    """Return the sum over parameters of max(min(-w, w) + t, 0) / t, to be added to a loss.

    It is 0 once every |w| has reached t, where tanh and σ are exact to 1e-8.

    Parameters
    ----------
    target
        A module, of which every cell's parameters count (W_hat, M_hat and G) and nothing else; or tensors.
    t
        The threshold.
    aggregate
        Each parameter enters by the ``"mean"`` or the ``"sum"`` over its elements; the paper leaves it open.

    Returns
    -------
    Tensor
        Without dimensions.

    Raises
    ------
    InvalidArgument
        When t is not positive and finite, or there is nothing to act on.

    Examples
    --------
    >>> float(regularizer(torch.tensor([0.0, 10.0, -20.0, 30.0]), aggregate="sum"))
    1.5
    """
    check_choice("aggregate", aggregate, ("mean", "sum"))
    if not (isinstance(t, int | float) and 0 < t < math.inf):
        raise invalid("t", "must be finite and positive", t, fix="t=20.0 is the paper's")
    if isinstance(target, nn.Module):
        terms = [term for cell in cells(target) for term in cell.discretization(t)]
    else:
        tensors = [target] if isinstance(target, Tensor) else list(target)
        terms = [F.regularization(w, t) for w in tensors]
    if not terms:
        raise InvalidArgument("target must hold at least one parameter; got none.")
    return torch.stack([term.mean() if aggregate == "mean" else term.sum() for term in terms]).sum()
