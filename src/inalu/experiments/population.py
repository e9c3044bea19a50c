"""Many members of one network evaluated together: `inalu.engine.forward` with one more axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import effective, sigmoid
from inalu.engine.network import Network
from inalu.experiments.sets import TestSet

Floats = NDArray[Any]


class _Factor(NamedTuple):
    """Factors of a sign vector as what a matrix product can add up: [M, O, I] each."""

    logs: Floats
    odd: Floats
    vanishing: Floats | None


class _Layer(NamedTuple):
    """One layer of all members: effective weights [M, O, I], gate, and the sign vector's factors.

    ``signs`` are the factors sign(x)·|W| + 1 - |W| for a negative and for a zero input.
    """

    w_a: Floats
    w_m: Floats
    gate: Floats | None
    signs: tuple[_Factor, _Factor] | None


class Population:
    """M members of one network with packed parameters [M, K], whose precision is that of the computation.

    Rows are the last axis of what is computed, so that every elementwise step runs along them.
    """

    def __init__(self, network: Network, packed: Floats) -> None:
        self.network = network
        self.packed = packed
        self._dtype = packed.dtype
        self._known = network.kind.parameters is not None
        self._layers = [self._layer(n) for n in range(network.depth)] if self._known else []

    def forward(self, inputs: TestSet, rows: slice) -> Floats:
        """Return the outputs [M, O, B] for a slice of rows of a set."""
        if not self._known:
            x: Floats = inputs.x[rows].astype(self._dtype)
            return np.stack([_by_module(self.network, p, x).T for p in self.packed])
        options = self.network.options
        logs = None
        if self._layers[0].gate is not None:
            clipped = options.get("omega") is not None
            logs = inputs.logs(_number(options["epsilon"]), clipped)[rows].T.astype(self._dtype, copy=False)
        y = self._apply(self._layers[0], inputs.x[rows].astype(self._dtype).T, logs, inputs.zeros)
        for layer in self._layers[1:]:
            y = self._apply(layer, y, None, True)
        return y

    def _layer(self, n: int) -> _Layer:
        options = self.network.options
        p = {
            slot.name: self.packed[:, slot.start : slot.stop].reshape(-1, *slot.shape)
            for slot in self.network.slots
            if slot.layer == n
        }
        shared = "W_hat" in p
        w_a = effective(p["W_hat" if shared else "W_hat_a"], p["M_hat" if shared else "M_hat_a"])
        w_m = w_a if shared else effective(p["W_hat_m"], p["M_hat_m"])
        gate = p.get("G")
        if gate is not None and gate.ndim == 3:
            gate = gate.transpose(0, 2, 1)
        sign = options.get("sign", False)
        signs = _signs(w_m, sign) if sign else None
        return _Layer(w_a.transpose(0, 2, 1), w_m.transpose(0, 2, 1), gate, signs)

    def _apply(self, layer: _Layer, x: Floats, logs: Floats | None, zeros: bool) -> Floats:
        a = _product(layer.w_a, x)
        if layer.gate is None:
            return a
        options = self.network.options
        epsilon, omega = _number(options["epsilon"]), options.get("omega")
        if logs is None:
            logs = np.log(np.maximum(np.abs(x), epsilon) if omega is not None else np.abs(x) + epsilon)
        m = _product(layer.w_m, logs)
        if omega is not None:
            np.minimum(m, omega, out=m)
        np.exp(m, out=m)
        if layer.signs is not None:
            _multiply_signs(m, x, layer.signs, zeros)
        constant = options.get("gate") == "constant"
        g = sigmoid(layer.gate[:, :, None] if constant else _product(layer.gate, x))
        a *= g
        m *= 1.0 - g
        a += m
        return a


def _number(option: Any) -> float:
    return float(option)


def _product(w: Floats, x: Floats) -> Floats:
    """[M, O, I] times [I, B] or [M, I, B] → [M, O, B]; shared inputs are multiplied once for all members."""
    if x.ndim == 2:
        members, outputs, inputs = w.shape
        shared: Floats = (w.reshape(members * outputs, inputs) @ x).reshape(members, outputs, -1)
        return shared
    if w.shape[2] > 8:
        batched: Floats = np.matmul(w, x)
        return batched
    # For so few inputs a batch of matrix products costs more than it computes.
    total = w[:, :, 0, None] * x[:, None, 0]
    for i in range(1, w.shape[2]):
        total += w[:, :, i, None] * x[:, None, i]
    return total


def _signs(w: Floats, sign: Any) -> tuple[_Factor, _Factor]:
    a = np.abs(w)
    if sign == "published":
        # |W| written input by input and read output by output, as the published code does.
        a = a.reshape(len(a), a.shape[2], a.shape[1])
    else:
        a = a.transpose(0, 2, 1)
    return _factor(1.0 - 2.0 * a), _factor(1.0 - a)


def _factor(factor: Floats) -> _Factor:
    size = np.abs(factor)
    vanishing = size < np.finfo(factor.dtype).tiny
    return _Factor(
        np.log(np.where(vanishing, 1.0, size)).astype(factor.dtype),
        (factor < 0).astype(factor.dtype),
        vanishing.astype(factor.dtype) if vanishing.any() else None,
    )


def _multiply_signs(m: Floats, x: Floats, signs: tuple[_Factor, _Factor], zeros: bool) -> None:
    """Multiply m [M, O, B] by the sign vector, in place."""
    negative, zero = signs
    pairs = [(x < 0, negative)]
    if zeros and (nothing := x == 0).any():
        pairs.append((nothing, zero))
    for mask, factor in pairs:
        rows = mask.astype(m.dtype)
        if factor.logs.any():
            m *= np.exp(_product(factor.logs, rows))
        if factor.odd.any():
            odd = np.rint(_product(factor.odd, rows)) % 2
            m *= 1.0 - 2.0 * odd
        if factor.vanishing is not None:
            m *= _product(factor.vanishing, rows) == 0


def _by_module(network: Network, parameters: Floats, x: Floats) -> Floats:
    """A cell that is none of the paper's computes by its module."""
    import torch

    with torch.no_grad():
        module = network.build(parameters.astype(np.float64)).double()
        if x.dtype == np.float32:
            module = module.float()
        outputs: Floats = module(torch.from_numpy(x)).numpy()
    return outputs
