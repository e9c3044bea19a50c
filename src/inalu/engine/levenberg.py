"""Damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963) for many members at once, in NumPy and float64.

A population of first-order steps is Numba's work (`inalu.engine.cpu`). Here one step costs a linear system of
all weights (`inalu.engine.jacobian`), so that NumPy's matrix products take most of the time.
`inalu.engine.reference_levenberg` has the same steps by autograd, one member at a time.

Read `Training.finish` first: it is the loop. A weight W = tanh(W_hat)·σ(M_hat) is one number to the network, so
the system is solved along the direction in which it changes most: that gives the step of the whole system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import sigmoid
from inalu.engine.jacobian import Floats, Indices, Structure, gate_values, normal_equations
from inalu.engine.network import Network
from inalu.engine.plan import Plan, Source
from inalu.engine.recipe import LevenbergMarquardt
from inalu.engine.result import Outcome, status_of

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
        gates = gate_values(member.network, plan.starts(index)[0].astype(np.float64))
        shut = b"".join((g == side).tobytes() for g in gates if g is not None for side in (0.0, 1.0))
        kinds.setdefault((member.network, member.source.shape, shut), []).append(index)
    crews = []
    for (network, (rows, _, _), _), members in kinds.items():
        most = max(1, _MOST_NUMBERS // (rows * max(1, network.size // 2)))
        crews += [tuple(members[n : n + most]) for n in range(0, len(members), most)]
    return crews


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
