"""A network's Jacobian by its weights W, for many members at once, in NumPy; docs/math.md derives it.

Axes are those of the package: P members, B rows, I inputs, O outputs. K here counts *pairs*: a weight
W = tanh(W_hat)·σ(M_hat) is one number to the network. A path that a gate shuts is left out.

Read `forward`, `jacobian` and `normal_equations`, in this order.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import sigmoid
from inalu.engine.network import Network

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Beside 1 this is nothing, but a factor of the sign product must not be zero: its slope divides by it.
_TINY = 2.0**-60


def gate_values(network: Network, packed: Floats) -> list[Floats | None]:
    """g of each layer, [O], or None where a cell has no gate."""
    layers = network.unpack(packed)
    return [np.asarray(sigmoid(p["G"]), np.float64) if "G" in p else None for p in layers]


class Block(NamedTuple):
    """One path of one layer: which outputs take it, and where its weights lie.

    ``outputs`` [N] are those whose gate is not shut to this path, ``share`` [P, 1, N] what the gate lets through,
    ``columns`` [I, N] the columns of the Jacobian.
    """

    outputs: Indices
    share: Floats
    columns: Indices


@dataclass(frozen=True)
class Layer:
    """The two paths of a layer; either may be closed for all its outputs."""

    inputs: int
    outputs: int
    a: Block
    m: Block


class Structure:
    """How the weights of some members with the same gates shut become the columns of a Jacobian."""

    def __init__(self, network: Network, packed: Floats) -> None:
        self.network, options = network, network.options
        omega = options.get("omega")
        self.omega = np.inf if omega is None else float(omega)
        self.bounded, self.epsilon = omega is not None, float(options.get("epsilon") or 0.0)
        self.signed = bool(options.get("sign", False))
        self.w_index: list[int] = []
        self.m_index: list[int] = []
        gates = [gate_values(network, row) for row in packed]
        self.layers = [self._layer(n, [g[n] for g in gates]) for n in range(network.depth)]
        self.w_place, self.m_place = np.array(self.w_index), np.array(self.m_index)
        self.size = len(self.w_place)

    def of(self, who: Indices) -> Structure:
        """Return this structure for some of the members alone."""
        chosen = copy(self)
        chosen.layers = [
            replace(
                layer,
                a=layer.a._replace(share=layer.a.share[who]),
                m=layer.m._replace(share=layer.m.share[who]),
            )
            for layer in self.layers
        ]
        return chosen

    def _layer(self, number: int, gates: list[Floats | None]) -> Layer:
        inputs, outputs = self.network.widths[number], self.network.widths[number + 1]
        slots = {slot.name: slot for slot in self.network.slots if slot.layer == number}
        if "G" not in slots:
            g = np.ones((len(gates), 1, outputs))
        else:
            g = np.stack([np.broadcast_to(gate, (1, outputs)) for gate in gates if gate is not None])
        summed, multiplied = np.flatnonzero((g > 0).any((0, 1))), np.flatnonzero((g < 1).any((0, 1)))
        shared = "W_hat" in slots
        places: dict[tuple[str, int, int], int] = {}

        def columns(path: str, chosen: Indices) -> Indices:
            found = np.empty((inputs, len(chosen)), np.int64)
            w, m = slots[f"W_hat{path}"].start, slots[f"M_hat{path}"].start
            for i in range(inputs):
                for n, o in enumerate(chosen):
                    key = (path, i, int(o))
                    if key not in places:
                        places[key] = len(self.w_index)
                        self.w_index.append(w + i * outputs + int(o))
                        self.m_index.append(m + i * outputs + int(o))
                    found[i, n] = places[key]
            return found

        return Layer(
            inputs,
            outputs,
            Block(summed, g[:, :, summed], columns("" if shared else "_a", summed)),
            Block(multiplied, 1.0 - g[:, :, multiplied], columns("" if shared else "_m", multiplied)),
        )


class Saved(NamedTuple):
    """What a layer's forward pass leaves for the backward one; N outputs take the multiplicative path."""

    h: Floats  # [P, B, I]
    w_a: Floats  # [P, I, N]
    a: Floats  # [P, B, N]
    w_m: Floats  # [P, I, N]
    log: Floats  # [P, B, I]: log max(|h|, ε)
    slope: Floats  # [P, B, I]: its derivative
    z: Floats  # [P, B, N]: the sum of the multiplicative path in log space
    m: Floats  # [P, B, N]: with bound and sign
    negative: Floats  # [P, B, I]: 1 where h < 0
    zero: Floats  # [P, B, I]: 1 where h = 0
    by_weight: tuple[Floats, ...]  # [P, 1, I, N]: d log|sign product| / dW where h < 0, and where h = 0


def forward(structure: Structure, weights: Floats, x: Floats) -> tuple[Floats, list[Saved]]:
    """Return the outputs [P, B, O] for weights [P, K] and x [P, B, I], and what each layer leaves."""
    h, saved = x, []
    for layer in structure.layers:
        # Contiguous, so that sums are added up in the same order in any company.
        w_a, w_m = (np.ascontiguousarray(weights[:, block.columns]) for block in (layer.a, layer.m))
        part = _paths(structure, h, w_a, w_m)
        h = np.zeros((*h.shape[:2], layer.outputs))
        h[:, :, layer.a.outputs] += layer.a.share * part.a
        h[:, :, layer.m.outputs] += layer.m.share * part.m
        saved.append(part)
    return h, saved


def _paths(structure: Structure, h: Floats, w_a: Floats, w_m: Floats) -> Saved:
    """Both paths of a layer, where their outputs are open: equations (summation), (clipping) and (msv)."""
    if not w_m.shape[-1]:
        nothing = np.zeros((*h.shape[:2], 0))
        return Saved(h, w_a, h @ w_a, w_m, h, h, nothing, nothing, nothing, nothing, ())
    size = np.abs(h)
    if structure.bounded:
        log, inside = np.log(np.maximum(size, structure.epsilon)), size > structure.epsilon
        slope = np.where(inside, 1.0 / np.where(inside, h, 1.0), 0.0)
    else:
        log, slope = np.log(size + structure.epsilon), np.sign(h) / (size + structure.epsilon)
    z = log @ w_m
    m = np.exp(np.minimum(z, structure.omega))
    negative, zero = (h < 0).astype(np.float64), (h == 0).astype(np.float64)
    by_weight = []
    if structure.signed:
        for mask, step in ((negative, 2.0), (zero, 1.0)):
            factor = 1.0 - step * np.abs(w_m)
            factor = np.where(factor == 0.0, _TINY, factor)
            by_weight.append((-step * np.sign(w_m) / factor)[:, None])
            odd = np.rint(mask @ (factor < 0).astype(np.float64)) % 2
            m = m * np.exp(mask @ np.log(np.abs(factor))) * (1.0 - 2.0 * odd)
    return Saved(h, w_a, h @ w_a, w_m, log, slope, z, m, negative, zero, tuple(by_weight))


class Pull(NamedTuple):
    """What is differentiated, at one layer: cotangents [P, B, N] of a, of z, and of log|sign product|."""

    a: Floats
    z: Floats
    sign: Floats


def jacobian(structure: Structure, saved: list[Saved], pull: Pull) -> Floats:
    """Return the derivatives [P, B, K] of what ``pull`` chooses in the last layer by the weights W."""
    found = np.zeros((*pull.a.shape[:2], structure.size))
    for number in reversed(range(len(saved))):
        layer, part = structure.layers[number], saved[number]
        if len(layer.a.outputs):
            _add(found, layer.a, part.h[..., None] * pull.a[:, :, None])
        if len(layer.m.outputs):
            slopes = part.log[..., None] * pull.z[:, :, None]
            # Empty where the cell has no sign vector.
            for mask, by_weight in zip((part.negative, part.zero), part.by_weight, strict=False):
                if mask.any():
                    slopes += mask[..., None] * by_weight * pull.sign[:, :, None]
            _add(found, layer.m, slopes)
        if number:
            down = pull.a @ part.w_a.transpose(0, 2, 1)
            if len(layer.m.outputs):
                down += (pull.z @ part.w_m.transpose(0, 2, 1)) * part.slope
            pull = _through(structure, number - 1, saved, down)
    return found


def _add(found: Floats, block: Block, slopes: Floats) -> None:
    """Add slopes [P, B, I, N] to the columns of a block; with shared weights two paths have the same."""
    found[:, :, block.columns.ravel()] += slopes.reshape(*slopes.shape[:2], -1)


def _through(structure: Structure, number: int, saved: list[Saved], d: Floats) -> Pull:
    """Turn cotangents [P, B, O] of a layer's outputs into those of its paths."""
    layer, part = structure.layers[number], saved[number]
    through_m = d[:, :, layer.m.outputs] * layer.m.share * part.m
    inside = part.z < structure.omega
    return Pull(d[:, :, layer.a.outputs] * layer.a.share, through_m * inside, through_m)


class Normal(NamedTuple):
    """The normal equations of some members in their weights W: loss [P], JᵀJ [P, K, K] and Jᵀr [P, K]."""

    loss: Floats
    gram: Floats
    gradient: Floats


def normal_equations(structure: Structure, weights: Floats, x: Floats, y: Floats, scale: Floats) -> Normal:
    """Measure the loss ``sampson-paths`` of weights [P, K] on x [P, B, I], y and scale [P, B, O].

    ``scale`` is 1 / (median|y|² + y²); see `inalu.layers.losses.sampson_paths_loss`.
    """
    _, saved = forward(structure, weights, x)
    last, part = structure.layers[-1], saved[-1]
    members, rows, outputs = y.shape
    loss = np.zeros(members)
    gram, gradient = np.zeros((members, structure.size, structure.size)), np.zeros((members, structure.size))
    size = (part.h**2).mean(axis=2, keepdims=True)
    nothing = Pull(np.zeros_like(part.a), np.zeros_like(part.z), np.zeros_like(part.z))
    for path, block in (("a", last.a), ("z", last.m)):
        chosen = y[:, :, block.outputs]
        if path == "a":
            error, weight = part.a - chosen, scale[:, :, block.outputs]
            sensitivity = size * (part.w_a**2).sum(axis=1)[:, None]
        else:
            error = part.z - np.log(np.maximum(np.abs(chosen), structure.epsilon))
            weight = scale[:, :, block.outputs] * chosen**2
            sensitivity = size * (part.slope**2 @ part.w_m**2)
        weight = weight / (1.0 + weight * sensitivity)
        square = weight * error**2
        terms = np.ascontiguousarray((block.share * np.log1p(square)).transpose(0, 2, 1))
        loss += terms.mean(axis=2).sum(axis=1) / outputs
        weight = block.share * weight / (1.0 + square) / (rows * outputs)
        for n in range(len(block.outputs)):
            pull = np.zeros_like(getattr(part, path))
            pull[:, :, n] = 1.0
            slopes = jacobian(structure, saved, nothing._replace(**{path: pull}))
            turned = slopes.transpose(0, 2, 1) * weight[:, None, :, n]
            gram += turned @ slopes
            gradient += (turned @ error[:, :, n, None])[..., 0]
    finite = np.isfinite(loss) & np.isfinite(gradient).all(axis=1) & np.isfinite(gram).all(axis=(1, 2))
    return Normal(np.where(finite, loss, np.inf), gram, gradient)
