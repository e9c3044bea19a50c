"""The equations of the paper, one pure function each: the page to read first.

Equations carry their number and, in brackets, the label in the paper's source; x is [B, I], weights are
[I, O], results [B, O]. What is done beyond the equations is only what keeps huge numbers finite (``stable``)
and the sign vector small (``sign``).
"""

from __future__ import annotations

import torch
from torch import Tensor

from inalu.layers import stable
from inalu.layers.sign import sign_product


def weights(w_hat: Tensor, m_hat: Tensor) -> Tensor:
    """Equation 2 (weigthmatrix): W = tanh(W_hat) ⊙ σ(M_hat), in [-1, 1].

    Also W_a and W_m of the equations 7 and 8 for independent weights.
    """
    return torch.tanh(w_hat) * torch.sigmoid(m_hat)


def summative(x: Tensor, w: Tensor) -> Tensor:
    """Equation 3 (summation): a = x W."""
    return stable.matmul(x, w)


def multiplicative(x: Tensor, w: Tensor, epsilon: float) -> Tensor:
    """Equation 4 (multiplication): m = exp(log(|x| + ε) W), without any bound."""
    return torch.exp(stable.matmul(torch.log(x.abs() + epsilon), w))


def input_gate(x: Tensor, g: Tensor) -> Tensor:
    """Equation 5 (gate): g = σ(x G), [B, 1] for G [I, 1] and [B, O] for G [I, O]."""
    return torch.sigmoid(stable.matmul(x, g))


def mix(g: Tensor, a: Tensor, m: Tensor) -> Tensor:
    """Equation 6 (origNalu): y = g · a + (1 - g) · m."""
    return stable.mix(g, a, m)


def clipped_multiplicative(x: Tensor, w: Tensor, epsilon: float, omega: float) -> Tensor:
    """Equation 11 (clipping): m = exp(min(log(max(|x|, ε)) W, ω))."""
    return stable.exp_below(stable.matmul(stable.log_magnitude(x, epsilon), w), omega)


def sign_vector(x: Tensor, w: Tensor) -> Tensor:
    """Equations 12 and 13 (msm, msv): msv_o = Π_i (sign(x_i)·|W_io| + 1 - |W_io|)."""
    return sign_product(x, w)


def signed(m: Tensor, msv: Tensor) -> Tensor:
    """Return m · msv, the multiplicative path of equation 14."""
    return stable.product(m, msv)


def published_sign_vector(x: Tensor, w: Tensor) -> Tensor:
    """Equations 12 and 13 in the index order of the published code, wrong for several inputs and outputs."""
    return sign_product(x, published_order(w))


def published_order(w: Tensor) -> Tensor:
    """Return W as the published code's sign vector reads it: written input by input, read output by output.

    For one input or one output that is W (daschloer/inalu, commit 0da333d, nalu_architectures.py).
    """
    inputs, outputs = w.shape
    return w.reshape(outputs, inputs).mT


def constant_gate(g: Tensor) -> Tensor:
    """Equation 16 (indgate): g = σ(G), [O], the same for every input."""
    return torch.sigmoid(g)


def regularization(w: Tensor, t: float) -> Tensor:
    """Equation 15 (reg): max(min(-w, w) + t, 0) / t, element by element."""
    return (t - w.abs()).clamp(min=0) / t
