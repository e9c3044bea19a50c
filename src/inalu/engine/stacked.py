"""Any registered PyTorch module as a population: stacked parameters, `torch.func`, optional compilation.

A chunk of members of the same network and data shape is one tensor [P, K] of packed parameters; `Step` is one
training step of all of them, `Chunk` the loop around it with what each member decides for itself.

A member must not feel its company. torch computes each matrix of a batch alike, but elementwise kernels treat
the last elements of a tensor apart from the others when vectors do not divide it, and threads move that seam.
So a chunk is filled up to a multiple of ``LANES`` members and runs on one thread; chunks run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, vmap

from inalu.engine.network import Network
from inalu.engine.plan import Array, Plan, Source
from inalu.engine.recipe import Adam, Recipe, Regularization, RMSProp
from inalu.engine.reference import (
    TrainingRows,
    decay_factor,
    one_thread,
    rule_looks,
    trained_kinds,
    training_rows,
    wants_restart,
)
from inalu.engine.result import Outcome, status_of
from inalu.layers.base import ArithmeticLayer
from inalu.layers.losses import NetworkLoss
from inalu.layers.regularizer import regularizer

ALGORITHM = 1

# Two vectors of 16 float32, the widest that torch's kernels unroll.
LANES = 32
# Beyond this many members the cost of a call is spread thin already, compiled or not.
WIDEST, WIDEST_COMPILED = 256, 1024

KINDS = ("weight", "gate")


def run(
    plan: Plan,
    indices: tuple[int, ...],
    *,
    emit: Callable[[int, Outcome], None],
    advance: Callable[[int], None],
    stop: Event,
    threads: int,
    compile: bool = False,
    device: str = "cpu",
) -> None:
    """Train these members, chunk by chunk; see `inalu.engine.train.Run`.

    ``compile`` sends the step through `torch.compile`: minutes of waiting for the first step of each shape,
    then several times the speed, and agreement to rounding instead of to the bit.
    """

    def work(part: tuple[int, ...]) -> None:
        with torch.no_grad():
            Chunk(plan, part, device=device, compile=compile).finish(emit, advance, stop)

    with one_thread(), ThreadPoolExecutor(threads) as pool:
        widest = WIDEST_COMPILED if compile else WIDEST
        futures = [pool.submit(work, part) for part in chunks(plan, indices, threads, widest)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            # Ctrl-C arrives here; the chunks under way must see it before the pool waits for them.
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def first_step(plan: Plan, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a member's outputs [B, O] on its first mini-batch and that step's unclipped gradient [K]."""
    with one_thread():
        chunk = Chunk(plan, (index,))
        batch = chunk.batch(0)
        outputs = vmap(chunk.step.outputs)(chunk.theta, batch[0])[0]
        gradient = chunk.step.gradient(chunk.theta, *batch, chunk.step.regularizes(0))[0][0]
    return outputs.detach().double().numpy(), gradient.detach().double().numpy()


def chunks(
    plan: Plan, indices: tuple[int, ...], threads: int, widest: int = WIDEST
) -> Iterator[tuple[int, ...]]:
    """Cut the members into chunks of one network and data shape, members that share x side by side."""
    groups: dict[Hashable, list[int]] = {}
    wanted = set(indices)
    for group in plan.groups:
        for index in group:
            if index in wanted:
                member = plan.members[index]
                groups.setdefault((member.network, member.source.shape), []).append(index)
    for members in groups.values():
        width = min(widest, LANES * -(-len(members) // (LANES * threads)))
        for start in range(0, len(members), width):
            yield tuple(members[start : start + width])


class State(NamedTuple):
    """The optimizer's memory: moving means [P, K], and beta1^t, beta2^t of each member and kind [P, 2]."""

    mean: Tensor
    square: Tensor
    power1: Tensor
    power2: Tensor

    @classmethod
    def fresh(cls, recipe: Recipe, theta: Tensor) -> State:
        """Return the state before the first step."""
        kind = recipe.optimizer
        ones = isinstance(kind, RMSProp) and kind.form == "tensorflow"
        square = torch.ones_like(theta) if ones else torch.zeros_like(theta)
        power = torch.ones(len(theta), len(KINDS), dtype=torch.float64, device=theta.device)
        return cls(torch.zeros_like(theta), square, power, power.clone())


class Penalty(nn.Module):
    """A recipe's regulariser of a network as a module without inputs, so that it takes other parameters."""

    def __init__(self, network: nn.Module, rule: Regularization) -> None:
        super().__init__()
        self.network, self.rule = network, rule

    def forward(self) -> Tensor:
        """Return the term, with the recipe's weight and aggregate."""
        rule = self.rule
        return rule.weight * regularizer(self.network, t=rule.threshold, aggregate=rule.aggregate)


class Step:
    """One training step of P members: their gradients, the regulariser, the clipping and the optimizer."""

    def __init__(
        self,
        network: Network,
        recipe: Recipe,
        dtype: torch.dtype,
        device: str,
        mapped: tuple[int | None, ...] = (0, 0, 0),
    ) -> None:
        # Over which axis of x, y and the weights members are stacked; None: all members share one array.
        self.recipe, self.mapped = recipe, (0, *mapped)
        self.module = network.build().to(device, dtype).requires_grad_(False)
        self.objective = NetworkLoss(self.module, recipe.loss)
        self.names = [f"{slot.layer}.{slot.name}" for slot in network.slots]
        self.shapes = [slot.shape for slot in network.slots]
        self.sizes = [slot.stop - slot.start for slot in network.slots]
        kinds = [KINDS.index(slot.kind) for slot in network.slots]
        sizes = torch.tensor(self.sizes)
        self.kinds = torch.tensor(kinds).repeat_interleave(sizes).to(device)
        self.cells = [part for part in self.module.modules() if isinstance(part, ArithmeticLayer)]
        rule = recipe.regularization
        if rule is not None:
            share = 1.0 / sizes if rule.aggregate == "mean" else torch.ones(len(sizes))
            slope = rule.weight * share.double() / rule.threshold
            self.slope = slope.repeat_interleave(sizes).to(device, dtype)
            # The paper's regulariser has a gradient that needs no graph.
            own = any(
                type(layer).discretization is not ArithmeticLayer.discretization for layer in self.cells
            )
            self.penalty = Penalty(self.module, rule) if own else None

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        """Return the outputs [B, O] of one member with packed parameters [K]."""
        outputs: Tensor = functional_call(self.module, self.named(theta), (x,))
        return outputs

    def named(self, theta: Tensor, prefix: str = "") -> dict[str, Tensor]:
        """Return the parameters of one member by their names in the module."""
        parts = zip(self.names, torch.split(theta, self.sizes), self.shapes, strict=True)
        return {prefix + name: part.view(shape) for name, part, shape in parts}

    def loss(self, theta: Tensor, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Return the data loss of one member."""
        loss: Tensor = functional_call(self.objective, self.named(theta, "network."), (x, y, weight))
        return loss

    def regularizes(self, epoch: int) -> bool:
        """Whether the regulariser may act in this epoch."""
        rule = self.recipe.regularization
        return rule is not None and epoch >= rule.after_epochs and bool(self.cells)

    def pull(self, theta: Tensor) -> Tensor:
        """Return the gradient of the regulariser, [P, K]."""
        rule = self.recipe.regularization
        assert rule is not None
        if self.penalty is not None:
            own: Tensor = vmap(grad(self._own_penalty))(theta)
            return own
        return torch.where(theta.abs() <= rule.threshold, -self.slope * theta.sign(), 0.0)

    def _own_penalty(self, theta: Tensor) -> Tensor:
        """Return the regulariser of one member [K] whose cells have one of their own."""
        assert self.penalty is not None
        term: Tensor = functional_call(self.penalty, self.named(theta, "network."), ())
        return term

    def gradient(
        self, theta: Tensor, x: Tensor, y: Tensor, weight: Tensor, regularizing: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients [P, K], the data losses [P] and for whom the regulariser acts [P]."""
        gradient, loss = vmap(grad_and_value(self.loss), in_dims=self.mapped)(theta, x, y, weight)
        rule = self.recipe.regularization
        if rule is None or not regularizing:
            return gradient, loss, torch.zeros_like(loss, dtype=torch.bool)
        acts = loss < rule.below
        if not rule.apart:
            gradient = gradient + torch.where(acts[:, None], self.pull(theta), 0.0)
        return gradient, loss, acts

    def __call__(
        self,
        theta: Tensor,
        state: State,
        batch: tuple[Tensor, Tensor, Tensor],
        rate: Tensor,
        trained: tuple[bool, bool],
        regularizing: bool,
    ) -> tuple[Tensor, State, Tensor, Tensor]:
        """Return parameters and state after the step, the data losses [P], and those for the history [P]."""
        gradient, loss, acts = self.gradient(theta, *batch, regularizing)
        who = None if all(trained) else torch.tensor([trained], device=theta.device)
        theta, state = self.update(theta, state, gradient, rate, who)
        rule = self.recipe.regularization
        if rule is None or not rule.apart or not regularizing:
            return theta, state, loss, loss
        for number in range(len(KINDS)):
            turn = torch.arange(len(KINDS), device=theta.device) == number
            theta, state = self.update(theta, state, self.pull(theta), rate, acts[:, None] & turn)
        after = torch.where(acts, vmap(self.loss, in_dims=self.mapped)(theta, *batch), loss)
        return theta, state, loss, after

    def update(
        self, theta: Tensor, state: State, gradient: Tensor, rate: Tensor, who: Tensor | None
    ) -> tuple[Tensor, State]:
        """Make an optimizer step for the members and kinds in ``who``, [P or 1, 2]; None is all."""
        clip = self.recipe.clip
        g = gradient if clip is None else gradient.clamp(-clip, clip)
        kind = self.recipe.first_order
        mean, power1, power2 = state.mean, state.power1, state.power2
        if isinstance(kind, Adam):
            power1, power2 = _next_power(power1, kind.beta1), _next_power(power2, kind.beta2)
            mean = mean + (1 - kind.beta1) * (g - mean)
            square = kind.beta2 * state.square + (1 - kind.beta2) * g * g
            size = (rate / (1 - power1)).to(g.dtype)[:, self.kinds]
            root = (1 - power2).sqrt().to(g.dtype)[:, self.kinds]
            moved = theta - size * mean / (square.sqrt() / root + kind.epsilon)
        else:
            square = kind.decay * state.square + (1 - kind.decay) * g * g
            inside = kind.form == "tensorflow"
            root = (square + kind.epsilon).sqrt() if inside else square.sqrt() + kind.epsilon
            moved = theta - rate.to(g.dtype) * g / root
        after = State(mean, square, power1, power2)
        if who is None:
            return moved, after
        each = who[:, self.kinds]
        masks = State(each, each, who, who)
        kept = State(*(torch.where(m, new, old) for m, new, old in zip(masks, after, state, strict=True)))
        return torch.where(each, moved, theta), kept


def _next_power(power: Tensor, beta: float) -> Tensor:
    # Subnormal numbers are slow, and 1 - power is 1 long before.
    return torch.where(power > 1e-30, power * beta, 0.0)


class Chunk:
    """Members that are trained in one tensor, and what each of them has on its own: restarts and its end."""

    def __init__(
        self, plan: Plan, indices: tuple[int, ...], *, device: str = "cpu", compile: bool = False
    ) -> None:
        self.began, self.plan, self.recipe, self.indices = perf_counter(), plan, plan.recipe, indices
        members = [plan.members[i] for i in indices]
        self.dtype, self.device = getattr(torch, plan.dtype), device
        self.starts = [plan.starts(i) for i in indices]
        # The members that fill the chunk up repeat its last one.
        padding = -len(indices) % LANES
        lanes = [*range(len(indices)), *[len(indices) - 1] * padding]
        self.theta = self._tensor(np.stack([self.starts[n][0] for n in lanes]))
        self.state = State.fresh(self.recipe, self.theta)
        self._load(lanes)
        # One x for all makes wider products; their order of summing would show in an exact run.
        one_x, one_y = compile and len(self.x) == 1, compile and len(self.y) == 1
        mapped = (None if one_x else 0, *[None if one_y else 0] * 2)
        self.step = Step(members[0].network, plan.recipe, self.dtype, device, mapped)
        self.call = torch.compile(self.step, fullgraph=True, dynamic=False) if compile else self.step
        self.batches = -(-len(self.x[0]) // self.recipe.batch)
        self.total_steps, self.steps = plan.steps(members[0]), 0
        count = len(indices)
        self.alive = np.ones(count, dtype=bool)
        self.loss: list[NDArray[np.float64]] = []
        self.pending: list[tuple[Tensor, Tensor]] = []
        self.epoch_losses: list[NDArray[np.float64]] = []
        # Mini-batch losses [P, S]; those since the last start of member p begin at column since[p].
        kept = self.total_steps if self.recipe.reinitialization else 0
        self.history = np.empty((count, kept), dtype=plan.dtype)
        self.since = np.zeros(count, dtype=np.int64)
        self.restarts: list[list[int]] = [[] for _ in indices]
        self.first_epoch = np.zeros(count, dtype=np.int64)

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    def _load(self, lanes: list[int]) -> None:
        """Load the rows; members with the same x keep one copy of it, those with the same source one of y."""
        sources = [self.plan.members[i].source for i in self.indices]
        x: dict[Hashable, tuple[int, Array]] = {}
        y: dict[Source, tuple[int, TrainingRows]] = {}
        for source in sources:
            if source in y:
                continue
            rows = training_rows(self.recipe, source, self.plan.dtype)
            y[source] = len(y), rows
            x.setdefault(source.x_key, (len(x), rows.x))
        self.x = self._tensor(np.stack([rows for _, rows in x.values()]))
        self.y = self._tensor(np.stack([rows.y for _, rows in y.values()]))
        self.weight = self._tensor(np.stack([rows.weight for _, rows in y.values()]))
        self.x_of = self._tensor(np.array([x[sources[n].x_key][0] for n in lanes]))
        self.y_of = self._tensor(np.array([y[sources[n]][0] for n in lanes]))

    def batch(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return x [P, B, I], y and the weights [P, B, O] of a mini-batch, without P where all share one."""
        part = slice(number * self.recipe.batch, (number + 1) * self.recipe.batch)
        _, axis_x, axis_y, _ = self.step.mapped
        which_x = 0 if axis_x is None else self.x_of
        which_y = 0 if axis_y is None else self.y_of
        return self.x[which_x, part], self.y[which_y, part], self.weight[which_y, part]

    def finish(
        self, emit: Callable[[int, Outcome], None], advance: Callable[[int], None], stop: Event
    ) -> None:
        """Make all epochs and hand each member out as it ends; return at once when ``stop`` is set."""
        for epoch in range(self.recipe.epochs):
            for number in range(self.batches):
                if stop.is_set():
                    return
                self.look(epoch, number)
                self.advance(epoch, number)
            self.flush()
            # Member by member: over an axis, NumPy's order of summing depends on the number of members.
            columns = np.concatenate(self.epoch_losses).T
            self.loss.append(np.array([np.mean(column.copy()) for column in columns]))
            self.epoch_losses.clear()
            advance(self.batches * int(self.alive.sum()))
            broken = self.alive & self.theta[: len(self.indices)].isnan().any(dim=1).cpu().numpy()
            self.hand_out(broken, emit)
            if not self.alive.any():
                return
        self.hand_out(self.alive.copy(), emit)

    def advance(self, epoch: int, number: int) -> None:
        """Make one data step."""
        factor = decay_factor(self.recipe.decay, self.steps / self.total_steps)
        rate = torch.tensor(
            factor * self.recipe.first_order.learning_rate, dtype=torch.float64, device=self.device
        )
        kinds = trained_kinds(self.recipe, self.steps)
        trained = ("weight" in kinds, "gate" in kinds)
        self.theta, self.state, loss, after = self.call(
            self.theta, self.state, self.batch(number), rate, trained, self.step.regularizes(epoch)
        )
        self.pending.append((loss, after))
        self.steps += 1

    def flush(self) -> None:
        """Bring the losses of the last steps to the host, once an epoch or a look."""
        if not self.pending:
            return
        count = len(self.indices)
        before, after = (
            torch.stack(part)[:, :count].cpu().numpy() for part in zip(*self.pending, strict=True)
        )
        self.pending.clear()
        self.epoch_losses.append(before.astype(np.float64))
        if self.history.size:
            self.history[:, self.steps - len(after) : self.steps] = after.T

    def look(self, epoch: int, number: int) -> None:
        """Before batch ``number`` of an epoch: draw weights anew for the members that the rule names."""
        rule = self.recipe.reinitialization
        if rule is None or not rule_looks(rule, epoch, number):
            return
        self.flush()
        for p in np.flatnonzero(self.alive):
            used = len(self.restarts[p])
            seen = self.history[p, self.since[p] : self.steps]
            if used + 1 == len(self.starts[p]) or len(seen) < rule.window:
                continue
            if not wants_restart(seen.astype(np.float64), rule):
                continue
            self.theta[p] = self._tensor(self.starts[p][used + 1])
            if not rule.keep_optimizer:
                for kept, fresh in zip(
                    self.state, State.fresh(self.recipe, self.theta[p : p + 1]), strict=True
                ):
                    kept[p] = fresh[0]
            self.restarts[p].append(epoch)
            self.since[p] = self.steps
            self.first_epoch[p] = epoch if number == 0 else epoch + 1

    def hand_out(self, ended: NDArray[np.bool_], emit: Callable[[int, Outcome], None]) -> None:
        """Emit the outcomes of the members that ended."""
        theta, loss = self.theta.cpu().numpy(), np.stack(self.loss)
        seconds = (perf_counter() - self.began) / len(self.indices)
        for p in np.flatnonzero(ended):
            packed, history = theta[p].copy(), loss[:, p].copy()
            status = status_of(packed, history, int(self.first_epoch[p]))
            restarts = tuple(self.restarts[p])
            emit(self.indices[p], Outcome(packed, history, restarts, self.steps, status, seconds))
        self.alive &= ~ended
