"""The truth: the layers, autograd and torch.optim, one member at a time.

Written to be read. Every other backend must agree with this file; `inalu.engine.parity` holds them to it.
Read `Training.step` first: it is one step of one member, in the order in which things happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Optimizer

from inalu.engine import reference_levenberg
from inalu.engine.plan import Array, Plan, Source
from inalu.engine.recipe import Adam, Decay, LevenbergMarquardt, Recipe, Reinitialization, RMSProp
from inalu.engine.result import Outcome, status_of
from inalu.layers.base import ArithmeticLayer
from inalu.layers.losses import NetworkLoss
from inalu.layers.regularizer import regularizer

ALGORITHM = 1

History = NDArray[np.float64]


class TrainingRows(NamedTuple):
    """Training rows in the dtype of the plan: x [B, I], y [B, O] and the weight of each term [B, O]."""

    x: Array
    y: Array
    weight: Array


def run(
    plan: Plan,
    indices: tuple[int, ...],
    *,
    emit: Callable[[int, Outcome], None],
    advance: Callable[[int], None],
    stop: Event,
    threads: int,
) -> None:
    """Train these members one after another; see `inalu.engine.train.Run`. ``threads`` is of no use here."""
    second_order = isinstance(plan.recipe.optimizer, LevenbergMarquardt)
    with one_thread():
        for index in indices:
            training = reference_levenberg.Training(plan, index) if second_order else Training(plan, index)
            if not training.finish(advance, stop):
                return
            emit(index, training.outcome())


def first_step(plan: Plan, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a member's outputs [B, O] on its first mini-batch and that step's unclipped gradient [K]."""
    with one_thread():
        training = Training(plan, index)
        batch = training.batch(0)
        outputs = training.module(batch[0]).detach()
        loss = training.data_loss(*batch)
        if training.regularized(0, loss.item()) and not training.apart:
            loss = loss + training.penalty()
        gradients = torch.autograd.grad(loss, training.parameters, materialize_grads=True)
    return outputs.double().numpy(), torch.cat([g.ravel() for g in gradients]).double().numpy()


class Training:
    """One member under way: its network, its optimizers and its history."""

    def __init__(self, plan: Plan, index: int) -> None:
        member, self.recipe = plan.members[index], plan.recipe
        self.began = perf_counter()
        self.rows = training_rows(plan.recipe, member.source, plan.dtype)
        self.starts = plan.starts(index)
        self.module, self.slots = member.network.build(self.starts[0]), member.network.slots
        self.objective = NetworkLoss(self.module, plan.recipe.loss)
        # A cell says what its regulariser is; a plain neuron has none.
        self.has_cells = any(isinstance(part, ArithmeticLayer) for part in self.module.modules())
        named = dict(self.module.named_parameters())
        self.parameters = [named[f"{slot.layer}.{slot.name}"] for slot in self.slots]
        self.total_steps, self.steps = plan.steps(member), 0
        # The mini-batch losses since the last start are history[:seen].
        self.history, self.seen = np.empty(self.total_steps), 0
        self.loss: list[float] = []
        self.restarts: list[int] = []
        self.first_epoch = 0
        rule = plan.recipe.regularization
        self.apart = rule is not None and rule.apart
        self.reset_optimizers()

    def finish(self, advance: Callable[[int], None], stop: Event) -> bool:
        """Make all epochs, or return False when ``stop`` is set before that."""
        for epoch in range(self.recipe.epochs):
            losses: list[float] = []
            for number in range(-(-len(self.rows.x) // self.recipe.batch)):
                if stop.is_set():
                    return False
                self.look(epoch, number)
                losses.append(self.step(epoch, *self.batch(number)))
            self.loss.append(float(np.mean(losses)))
            advance(len(losses))
            if any(p.isnan().any() for p in self.parameters):
                break
        return True

    def step(self, epoch: int, x: Tensor, y: Tensor, weight: Tensor) -> float:
        """Make one data step, and the regulariser's own steps where the recipe has them; return the loss."""
        loss = self.data_loss(x, y, weight)
        before = after = loss.item()
        rate = self.recipe.first_order.learning_rate * decay_factor(
            self.recipe.decay, self.steps / self.total_steps
        )
        regularized = self.regularized(epoch, before)
        total = loss + self.penalty() if regularized and not self.apart else loss
        self.update(total, trained_kinds(self.recipe, self.steps), rate)
        if regularized and self.apart:
            self.update(self.penalty(), ("weight",), rate)
            self.update(self.penalty(), ("gate",), rate)
            after = self.data_loss(x, y, weight).item()
        self.history[self.seen] = after
        self.seen += 1
        self.steps += 1
        return before

    def update(self, loss: Tensor, kinds: Iterable[str], rate: float) -> None:
        """Make one optimizer step on the parameters of these kinds, with the clipped gradient of ``loss``."""
        gradients = torch.autograd.grad(loss, self.parameters, materialize_grads=True)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            clip = self.recipe.clip
            parameter.grad = gradient if clip is None else gradient.clamp(-clip, clip)
        for kind in kinds:
            if kind in self.optimizers:
                self.optimizers[kind].param_groups[0]["lr"] = rate
                self.optimizers[kind].step()

    def look(self, epoch: int, number: int) -> None:
        """Before batch ``number`` of an epoch: draw the weights anew where the restart rule says so."""
        rule, used = self.recipe.reinitialization, len(self.restarts)
        if rule is None or not rule_looks(rule, epoch, number) or used + 1 == len(self.starts):
            return
        if not wants_restart(self.history[: self.seen], rule):
            return
        with torch.no_grad():
            for parameter, slot in zip(self.parameters, self.slots, strict=True):
                values = self.starts[used + 1, slot.start : slot.stop].reshape(slot.shape)
                parameter.copy_(torch.from_numpy(values))
        self.seen = 0
        self.restarts.append(epoch)
        self.first_epoch = epoch if number == 0 else epoch + 1
        if not rule.keep_optimizer:
            self.reset_optimizers()

    def reset_optimizers(self) -> None:
        """Forget the optimizers' state; weights and gates have one each, and so count their own steps."""
        kinds: dict[str, list[Tensor]] = {}
        for parameter, slot in zip(self.parameters, self.slots, strict=True):
            kinds.setdefault(slot.kind, []).append(parameter)
        self.optimizers = {kind: optimizer(self.recipe, p) for kind, p in kinds.items()}

    def batch(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return x, y and the weights of a mini-batch; the last of an epoch may be smaller."""
        part = slice(number * self.recipe.batch, (number + 1) * self.recipe.batch)
        x, y, weight = (torch.from_numpy(rows[part]) for rows in self.rows)
        return x, y, weight

    def data_loss(self, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """The loss of the recipe; see `inalu.layers.losses`."""
        loss: Tensor = self.objective(x, y, weight)
        return loss

    def regularized(self, epoch: int, loss: float) -> bool:
        """Whether the regulariser acts in a step with this data loss."""
        rule = self.recipe.regularization
        return self.has_cells and rule is not None and epoch >= rule.after_epochs and loss < rule.below

    def penalty(self) -> Tensor:
        """Equation (reg), or the cell's own, with the recipe's weight and aggregate."""
        rule = self.recipe.regularization
        assert rule is not None
        return rule.weight * regularizer(self.module, t=rule.threshold, aggregate=rule.aggregate)

    def outcome(self) -> Outcome:
        """Return what the member leaves."""
        packed = torch.cat([p.detach().ravel() for p in self.parameters]).numpy().copy()
        loss = np.array(self.loss)
        return Outcome(
            packed,
            loss,
            tuple(self.restarts),
            self.steps,
            status_of(packed, loss, self.first_epoch),
            perf_counter() - self.began,
        )


class TensorflowRMSProp(Optimizer):
    """RMSProp as TensorFlow 1 has it: the mean square starts at 1, epsilon is inside the root."""

    def __init__(self, parameters: Sequence[Tensor], *, lr: float, decay: float, eps: float) -> None:
        super().__init__(parameters, {"lr": lr, "decay": decay, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update the parameters from their gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                square = self.state[parameter].setdefault("square", torch.ones_like(parameter))
                square.mul_(group["decay"]).add_((1 - group["decay"]) * parameter.grad**2)
                parameter -= group["lr"] * parameter.grad / (square + group["eps"]).sqrt()


def optimizer(recipe: Recipe, parameters: list[Tensor]) -> Optimizer:
    """Return a fresh optimizer of the recipe for these parameters."""
    kind = recipe.first_order
    match kind:
        case Adam():
            return torch.optim.Adam(
                parameters, lr=kind.learning_rate, betas=(kind.beta1, kind.beta2), eps=kind.epsilon
            )
        case RMSProp(form="pytorch"):
            return torch.optim.RMSprop(parameters, lr=kind.learning_rate, alpha=kind.decay, eps=kind.epsilon)
        case RMSProp():
            return TensorflowRMSProp(parameters, lr=kind.learning_rate, decay=kind.decay, eps=kind.epsilon)


def training_rows(recipe: Recipe, source: Source, dtype: str) -> TrainingRows:
    """Load a source and cast it; the weights of the scaled losses are made in float64 from all its rows."""
    x, y = source.load()
    weight = np.ones(y.shape)
    if recipe.loss != "mse":
        values = y.astype(np.float64)
        scale = np.median(np.abs(values), axis=0) ** 2 + values**2
        # An output that is zero in most rows has no unit where it is zero.
        weight = recipe.sharpness / np.where(scale > 0, scale, 1.0)
    return TrainingRows(*(np.array(rows, dtype=dtype, order="C") for rows in (x, y, weight)))


def trained_kinds(recipe: Recipe, step: int) -> tuple[str, ...]:
    """Return the kinds of parameters that the data step with this number (from 0) updates."""
    turn = recipe.alternation
    if turn is None:
        return ("weight", "gate")
    return ("weight",) if step % turn.period < turn.weights else ("gate",)


def decay_factor(decay: Decay | None, progress: float) -> float:
    """Return the share of the learning rate at step/steps = ``progress``."""
    if decay is None or progress <= decay.hold:
        return 1.0
    u = (progress - decay.hold) / (1.0 - decay.hold)
    return decay.final + (1.0 - decay.final) * (1.0 + math.cos(math.pi * u)) / 2.0


def rule_looks(rule: Reinitialization, epoch: int, number: int) -> bool:
    """Whether the restart rule looks at the history before batch ``number`` of an epoch."""
    return epoch > 0 and epoch % rule.every == 0 and (rule.each_step or number == 0)


def wants_restart(history: History, rule: Reinitialization) -> bool:
    """Whether a history of mini-batch losses since the last start has not improved; see Reinitialization."""
    if len(history) < rule.window:
        return False
    seen = history[-rule.window :] if rule.history == "window" else history
    first, second = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    with np.errstate(all="ignore"):
        level = second.mean()
        # Asked first because most networks are long below it, and a standard deviation costs more.
        if len(first) == 0 or not level > rule.above:
            return False
        return bool(first.mean() <= level + rule.tolerance * second.std())


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread inside: how it splits a sum over threads would show in the last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
