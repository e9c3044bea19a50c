"""Many members of one network evaluated together, in float64: `inalu.engine.forward` with one more axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import effective, sigmoid
from inalu.engine.network import Network
from inalu.experiments.sets import TestSet

Floats = NDArray[Any]


class _Signs(NamedTuple):
    """The factors sign(x)·|W| + 1 - |W| of a sign vector, for a negative and for a zero input, [M, I, O]."""

    negative: _Factor
    zero: _Factor


class _Factor(NamedTuple):
    """A factor as what a matrix product can add up: log of its size, whether it is below zero or zero."""

    logs: Floats
    odd: Floats
    vanishing: Floats
    any_vanishing: bool


class _Layer(NamedTuple):
    """One layer of all members: effective weights [M, I, O], gate, and the sign vector's factors."""

    w_a: Floats
    w_m: Floats
    gate: Floats | None
    signs: _Signs | None


class Population:
    """M members of one network with packed float64 parameters [M, K]."""

    def __init__(self, network: Network, packed: Floats) -> None:
        self.network = network
        self.packed = packed
        self._known = network.kind.parameters is not None
        self._layers = [self._layer(n) for n in range(network.depth)] if self._known else []

    def forward(self, inputs: TestSet, rows: slice) -> Floats:
        """Return the outputs [M, B, O] for a slice of rows of a set."""
        x: Floats = inputs.x[rows].astype(np.float64)
        if not self._known:
            return np.stack([_by_module(self.network, p, x) for p in self.packed])
        options = self.network.options
        logs = None
        if self._layers[0].gate is not None:
            logs = inputs.logs(_number(options["epsilon"]), options.get("omega") is not None)[rows]
        y = self._apply(self._layers[0], x, logs, inputs.zeros)
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
        sign = options.get("sign", False)
        return _Layer(w_a, w_m, p.get("G"), _signs(w_m, sign) if sign else None)

    def _apply(self, layer: _Layer, x: Floats, logs: Floats | None, zeros: bool) -> Floats:
        a = _product(x, layer.w_a)
        if layer.gate is None:
            return a
        options = self.network.options
        epsilon, omega = _number(options["epsilon"]), options.get("omega")
        if logs is None:
            logs = np.log(np.maximum(np.abs(x), epsilon) if omega is not None else np.abs(x) + epsilon)
        m = _product(logs, layer.w_m)
        if omega is not None:
            np.minimum(m, omega, out=m)
        np.exp(m, out=m)
        if layer.signs is not None:
            _multiply_signs(m, x, layer.signs, zeros)
        constant = options.get("gate") == "constant"
        g = sigmoid(layer.gate[:, None, :] if constant else _product(x, layer.gate))
        a *= g
        m *= 1.0 - g
        a += m
        return a


def _number(option: Any) -> float:
    return float(option)


def _product(x: Floats, w: Floats) -> Floats:
    """[B, I] or [M, B, I] times [M, I, O] → [M, B, O]; shared inputs are multiplied once for all members."""
    if x.ndim == 3:
        batched: Floats = np.matmul(x, w)
        return batched
    members, inputs, outputs = w.shape
    wide = x @ w.transpose(1, 0, 2).reshape(inputs, members * outputs)
    return np.ascontiguousarray(wide.reshape(len(x), members, outputs).transpose(1, 0, 2))


def _signs(w: Floats, sign: Any) -> _Signs:
    a = np.abs(w)
    if sign == "published":
        # |W| written input by input and read output by output, as the published code does.
        a = a.reshape(len(a), a.shape[2], a.shape[1]).transpose(0, 2, 1)
    return _Signs(_factor(1.0 - 2.0 * a), _factor(1.0 - a))


def _factor(factor: Floats) -> _Factor:
    size = np.abs(factor)
    vanishing = size < np.finfo(np.float64).tiny
    return _Factor(
        np.log(np.where(vanishing, 1.0, size)),
        (factor < 0).astype(np.float64),
        vanishing.astype(np.float64),
        bool(vanishing.any()),
    )


def _multiply_signs(m: Floats, x: Floats, signs: _Signs, zeros: bool) -> None:
    """Multiply m [M, B, O] by the sign vector, in place."""
    pairs = [(x < 0, signs.negative)]
    if zeros and (nothing := x == 0).any():
        pairs.append((nothing, signs.zero))
    for mask, factor in pairs:
        rows = mask.astype(np.float64)
        if factor.logs.any():
            m *= np.exp(_product(rows, factor.logs))
        if factor.odd.any():
            odd = np.rint(_product(rows, factor.odd)) % 2
            m *= 1.0 - 2.0 * odd
        if factor.any_vanishing:
            m *= _product(rows, factor.vanishing) == 0


def _by_module(network: Network, parameters: Floats, x: Floats) -> Floats:
    """A cell that is none of the paper's computes by its module."""
    import torch

    with torch.no_grad():
        module = network.build(parameters.astype(np.float64)).double()
        outputs: Floats = module(torch.from_numpy(x)).numpy()
    return outputs
