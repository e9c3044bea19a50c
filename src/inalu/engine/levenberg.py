"""Damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963) for many members at once, in NumPy and float64.

A population of first-order steps is Numba's work (`inalu.engine.cpu`). Here one step costs a linear system of
all weights, so that NumPy's matrix products take most of the time. `inalu.engine.reference` has the same
steps by autograd, one member at a time; docs/math.md derives the Jacobian.

Read `Training.finish` first: it is the loop. Axes are those of the package: P members, B rows, I inputs, O
outputs. K here counts *pairs*: a weight W = tanh(W_hat)·σ(M_hat) is one number to the network, so the system
is solved along the direction in which it changes most, which gives the step of the system in W_hat and M_hat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from threading import Event
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import sigmoid
from inalu.engine.network import Network
from inalu.engine.plan import Plan, Source
from inalu.engine.recipe import LevenbergMarquardt
from inalu.engine.result import Outcome, status_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Beside 1 this is nothing, but a factor of the sign product must not be zero: its slope divides by it.
_TINY = 2.0**-60
# A loss below this is the rounding of the arithmetic.
_SOLVED = 1e-16
# Numbers in the Jacobians of the members that are stepped together.
_MOST_NUMBERS = 2_000_000
# Damping beyond which no step would move a weight, and below which rounding might make a system singular.
_MOST_DAMPING, _LEAST_DAMPING = 1e6, 1e-12
_TINIEST = 1e-300


def divide(plan: Plan, indices: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Divide members into those that are stepped together: one network, one shape of data, the same gates shut."""
    kinds: dict[tuple[Network, tuple[int, int, int], bytes], list[int]] = {}
    for index in indices:
        member = plan.members[index]
        gates = _gates(member.network, plan.starts(index)[0].astype(np.float64))
        shut = b"".join((g == side).tobytes() for g in gates if g is not None for side in (0.0, 1.0))
        kinds.setdefault((member.network, member.source.shape, shut), []).append(index)
    crews = []
    for (network, (rows, _, _), _), members in kinds.items():
        most = max(1, _MOST_NUMBERS // (rows * max(1, network.size // 2)))
        crews += [tuple(members[n : n + most]) for n in range(0, len(members), most)]
    return crews


def _gates(network: Network, packed: Floats) -> list[Floats | None]:
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
        gates = [_gates(network, row) for row in packed]
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


class State(NamedTuple):
    """Where some members are, and the normal equations there along each pair's direction of change."""

    w_hat: Floats
    m_hat: Floats
    loss: Floats
    gram: Floats
    gradient: Floats
    to_w: Floats
    to_m: Floats

    def put(self, who: Indices, other: State, these: NDArray[np.bool_]) -> None:
        """Take over some members of another state, in place."""
        for mine, theirs in zip(self, other, strict=True):
            mine[who] = theirs[these]


class Training:
    """Some members under way."""

    def __init__(self, plan: Plan, indices: tuple[int, ...]) -> None:
        self.began = perf_counter()
        self.plan, self.indices = plan, indices
        rule = plan.recipe.optimizer
        assert isinstance(rule, LevenbergMarquardt)
        self.rule, self.epochs = rule, plan.recipe.epochs
        self.packed = np.stack([plan.starts(index)[0] for index in indices]).astype(np.float64)
        members = [plan.members[index] for index in indices]
        self.structure = Structure(members[0].network, self.packed)
        self._load([member.source for member in members])
        self.history = np.full((self.epochs, len(indices)), np.inf)
        self.steps = np.zeros(len(indices), np.int64)

    def _load(self, sources: list[Source]) -> None:
        """Each source once; ``which`` [P] says whose is whose."""
        kept = {source: n for n, source in enumerate(dict.fromkeys(sources))}
        self.which = np.array([kept[source] for source in sources])
        rows = [source.load() for source in kept]
        self.x, self.y = (np.stack([part[n].astype(np.float64) for part in rows]) for n in range(2))
        scale = np.median(np.abs(self.y), axis=1, keepdims=True) ** 2 + self.y**2
        self.scale = 1.0 / np.where(scale > 0, scale, 1.0)

    def finish(self, advance: Callable[[int], None], stop: Event) -> bool:
        """Make all steps, or return False when ``stop`` is set before that."""
        who = np.arange(len(self.indices))
        self.state = self._measure(
            who, self.packed[:, self.structure.w_place], self.packed[:, self.structure.m_place]
        )
        self._count(who)
        damping = np.full(len(who), self.rule.damping)
        # The loss that a member has to fall below by a tenth, and since when.
        mark, since = self.state.loss.copy(), np.zeros(len(who), np.int64)
        for step in range(1, self.epochs):
            going = (self.state.loss > _SOLVED) & np.isfinite(self.state.loss) & (damping < _MOST_DAMPING)
            who = np.flatnonzero(going & (step - since <= self.rule.patience))
            if stop.is_set():
                return False
            if not len(who):
                break
            trial = self._measure(who, *self._stepped(who, damping[who]))
            better = trial.loss < self.state.loss[who]
            self.state.put(who[better], trial, better)
            factor = np.where(better, self.rule.fall, self.rule.rise)
            damping[who] = np.maximum(damping[who] * factor, _LEAST_DAMPING)
            fallen = self.state.loss < 0.9 * mark
            mark, since = np.where(fallen, self.state.loss, mark), np.where(fallen, step, since)
            self._count(who)
            advance(len(who))
        advance(self.epochs * len(self.indices) - int(self.steps.sum()) + len(self.indices))
        return True

    def _count(self, who: Indices) -> None:
        self.history[self.steps[who], who] = self.state.loss[who]
        self.steps[who] += 1

    def _measure(self, who: Indices, w_hat: Floats, m_hat: Floats) -> State:
        """Measure some members at these parameters."""
        tanh, sigma = np.tanh(w_hat), sigmoid(m_hat)
        by_w, by_m = sigma * (1.0 - tanh**2), tanh * sigma * (1.0 - sigma)
        slope = np.hypot(by_w, by_m)
        at = self.which[who]
        with np.errstate(all="ignore"):
            normal = normal_equations(
                self.structure.of(who), tanh * sigma, self.x[at], self.y[at], self.scale[at]
            )
        unit = np.where(slope > 0, slope, 1.0)
        return State(
            w_hat, m_hat, normal.loss, normal.gram * slope[:, :, None] * slope[:, None],
            normal.gradient * slope, by_w / unit, by_m / unit,
        )  # fmt: skip

    def _stepped(self, who: Indices, damping: Floats) -> tuple[Floats, Floats]:
        """The parameters after a damped step, cut where a parameter would move too far."""
        at = State(*(part[who] for part in self.state))
        system = at.gram.copy()
        diagonal = np.arange(self.structure.size)
        trace = np.trace(at.gram, axis1=1, axis2=2)
        network = self.plan.members[self.indices[0]].network
        system[:, diagonal, diagonal] += np.maximum(damping * trace / network.size, _TINIEST)[:, None]
        step = -np.linalg.solve(system, at.gradient[..., None])[..., 0]
        w_step, m_step = at.to_w * step, at.to_m * step
        most = np.maximum(np.abs(w_step), np.abs(m_step)).max(axis=1, keepdims=True)
        cut = np.minimum(1.0, self.rule.largest_step / np.maximum(most, _TINIEST))
        return at.w_hat + cut * w_step, at.m_hat + cut * m_step

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """What the members leave."""
        share = (perf_counter() - self.began) / len(self.indices)
        for p, index in enumerate(self.indices):
            parameters = self.packed[p].copy()
            parameters[self.structure.w_place] = self.state.w_hat[p]
            parameters[self.structure.m_place] = self.state.m_hat[p]
            parameters = parameters.astype(self.plan.dtype)
            loss, steps = self.history[: self.steps[p], p].copy(), int(self.steps[p])
            yield index, Outcome(parameters, loss, (), steps, status_of(parameters, loss, 0), share)
