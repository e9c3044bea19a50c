"""The sign vector of the multiplicative path as matrix products.

A factor of ``Π_i (sign(x_i)·|W_io| + 1 - |W_io|)`` depends on the row only through the sign of x_i: it is
``1 - 2|W_io|`` for a negative input, ``1 - |W_io|`` for a zero and 1 otherwise. With 0/1 masks of the inputs
the product over i is a matrix product of logarithms and a count of the factors below zero. No [B, I, O]
tensor exists, forward or backward.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from inalu.layers.stable import (
    Formula,
    apply,
    exp,
    matmul,
    no_autocast,
    occurs,
    saturate_gradient_,
)


class _Factor(Formula):
    """1 - share * |w|, for a negative input (2) or a zero (1)."""

    @staticmethod
    def forward(w: Tensor, share: float) -> Tensor:
        return w.abs().mul_(-share).add_(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.share = inputs[1]

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, None]:
        (w,) = ctx.saved_tensors
        return d * w.detach().sign().mul_(-ctx.share), None


class _MaskedProduct(Formula):
    """Π_k factors_ko over the k with mask_bk = 1, for factors without zeros.

    With P the product and d its gradient, the gradient of a factor is Σ_b mask_bk d_bo P_bo / factors_ko.
    """

    @staticmethod
    def forward(mask: Tensor, factors: Tensor) -> Tensor:
        with no_autocast(mask):
            size = exp(mask @ factors.abs().log_())
            below_zero = mask @ factors.detach().neg().sign_().relu_()
        odd = below_zero.to(torch.int32).bitwise_and_(1)
        return size * torch.rsub(odd, 1, alpha=2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[None, Tensor]:
        mask, factors, product = ctx.saved_tensors
        total = matmul(mask.mT, d * product)
        return None, saturate_gradient_(total.div_(factors))


def masked_product(mask: Tensor, factors: Tensor) -> Tensor:
    """Return Π_k factors_ko over the k with mask_bk = 1, exact also where factors are 0.

    Parameters
    ----------
    mask
        [B, K], zeros and ones.
    factors
        [K, O].

    Returns
    -------
    Tensor
        [B, O].

    Examples
    --------
    >>> mask = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    >>> masked_product(mask, torch.tensor([[-2.0], [3.0]])).tolist()
    [[-6.0], [-2.0]]
    """
    if not occurs(~factors.detach().all()):
        return apply(_MaskedProduct, mask, factors)
    zero = factors.detach() == 0
    rest = apply(_MaskedProduct, mask, factors.masked_fill(zero, 1.0))
    with no_autocast(mask):
        zeros = mask @ zero.to(mask.dtype)
    # Their sum is 0 in value. A product with one zero factor has the slope `rest` in that factor and 0 in the
    # others; with more zero factors it is flat.
    vanishing = matmul(mask, factors * zero)
    return rest * ((zeros == 0) + (zeros == 1) * vanishing)


def sign_product(x: Tensor, w: Tensor) -> Tensor:
    """Return Π_i (sign(x_i)·|W_io| + 1 - |W_io|), equations (msm) and (msv), with sign(0) = 0.

    Parameters
    ----------
    x
        [B, I].
    w
        Weights in [-1, 1], [I, O].

    Returns
    -------
    Tensor
        [B, O], in [-1, 1].

    Examples
    --------
    >>> x = torch.tensor([[-2.0, 3.0], [-2.0, -3.0]])
    >>> sign_product(x, torch.tensor([[1.0, 1.0], [0.0, -1.0]])).tolist()
    [[-1.0, -1.0], [-1.0, 1.0]]
    """
    signs = x.detach().sign()
    # Half precision counts exactly only to 256 or 2048.
    exact = torch.promote_types(x.dtype, torch.float32)
    signs, w = signs.to(exact), w.to(exact)
    mask, factors = signs.neg().relu_(), apply(_Factor, w, 2.0)
    if occurs(~signs.all()):
        mask = torch.cat([mask, 1 - signs.abs()], dim=-1)
        factors = torch.cat([factors, apply(_Factor, w, 1.0)], dim=-2)
    return masked_product(mask, factors).to(x.dtype)
