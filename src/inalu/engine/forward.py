"""The cells' equations in NumPy: what a trained member computes, without torch.

Numbers of the equations are those of the paper. The PyTorch layers are the same equations with gradients;
a test holds the two together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inalu.engine.network import Network
from inalu.errors import require_extra

Array = NDArray[np.floating[Any]]


def sigmoid(z: Array) -> Array:
    """The logistic function, without overflow."""
    e = np.exp(-np.abs(z))
    small: Array = np.where(z >= 0, 1.0, e) / (1.0 + e)
    return small


def effective(w_hat: Array, m_hat: Array) -> Array:
    """Equation (weigthmatrix): W = tanh(W_hat) ⊙ σ(M_hat)."""
    weights: Array = np.tanh(w_hat) * sigmoid(m_hat)
    return weights


def sign_product(x: Array, w: Array) -> Array:
    """Equations (msm), (msv): Π_i(sign(x_i)|W_io| + 1 - |W_io|), [B, I] × [I, O] → [B, O].

    As matrix products: a factor depends on the row only through the sign of x.
    """
    a = np.abs(w)
    product = np.ones((len(x), w.shape[1]), dtype=x.dtype)
    for mask, factor in (((x < 0), 1.0 - 2.0 * a), ((x == 0), 1.0 - a)):
        if not mask.any():
            continue
        rows = mask.astype(x.dtype)
        size = np.abs(factor)
        vanishing = size < np.finfo(x.dtype).tiny
        logs = rows @ np.log(np.where(vanishing, 1.0, size)).astype(x.dtype)
        odd = np.rint(rows @ (factor < 0).astype(x.dtype)) % 2
        none = rows @ vanishing.astype(x.dtype) == 0
        product *= np.where(none, np.exp(logs) * (1.0 - 2.0 * odd), 0.0)
    return product


def published_sign(x: Array, w: Array) -> Array:
    """The sign vector in the index order of the published code, wrong for several inputs and outputs.

    There |W| is flattened input by input while x is tiled output by output.
    """
    inputs, outputs = w.shape
    a = np.abs(w).reshape(-1)
    product = np.ones((len(x), outputs), dtype=x.dtype)
    for o in range(outputs):
        for i in range(inputs):
            weight = a[o * inputs + i]
            product[:, o] *= np.sign(x[:, i]) * weight + 1.0 - weight
    return product


def layer_forward(x: Array, p: dict[str, Array], options: dict[str, Any]) -> Array:
    """Return the output [B, O] of one layer of a built-in cell for x [B, I]."""
    shared = "W_hat" in p
    w_a = effective(p["W_hat" if shared else "W_hat_a"], p["M_hat" if shared else "M_hat_a"])
    a = x @ w_a
    if "G" not in p:
        return a
    w_m = w_a if shared else effective(p["W_hat_m"], p["M_hat_m"])
    m = _multiplicative(x, w_m, float(options["epsilon"]), options.get("omega"))
    sign = options.get("sign", False)
    if sign:
        m = m * (published_sign(x, w_m) if sign == "published" else sign_product(x, w_m))
    g = sigmoid(p["G"] if options.get("gate") == "constant" else x @ p["G"])
    y: Array = g * a + (1.0 - g) * m
    return y


def _multiplicative(x: Array, w: Array, epsilon: float, omega: float | None) -> Array:
    """Equation (clipping), or equation (multiplication) where omega is None."""
    if omega is None:
        return np.exp(np.log(np.abs(x) + epsilon) @ w)
    return np.exp(np.minimum(np.log(np.maximum(np.abs(x), epsilon)) @ w, omega))


def network_forward(network: Network, parameters: Array, x: Array) -> Array:
    """Return the outputs [B, O] of a member with packed parameters [K], in the dtype of x."""
    if network.kind.parameters is None:
        return _by_module(network, parameters.astype(x.dtype), x)
    y = x
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for layer in network.unpack(parameters.astype(x.dtype)):
            y = layer_forward(y, layer, network.options)
    return y


def _by_module(network: Network, parameters: Array, x: Array) -> Array:
    """Ask the module, for a cell whose equations are in no other place."""
    torch = require_extra("torch", "torch")
    with torch.no_grad():
        y: Array = network.build(parameters)(torch.from_numpy(np.array(x))).numpy()
    return y
