"""The truth of `LevenbergMarquardt`: the layers, autograd and one linear system, one member at a time.

Written to be read; `inalu.engine.levenberg` must agree with it. Read `Training.finish` first.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from inalu.engine.plan import Plan
from inalu.engine.recipe import LevenbergMarquardt
from inalu.engine.result import Outcome, status_of
from inalu.layers.losses import PathErrors, sampson_path_errors

# As in `inalu.engine.levenberg`.
SOLVED, MOST_DAMPING, LEAST_DAMPING, LEAST = 1e-16, 1e6, 1e-12, 1e-300


class Point(NamedTuple):
    """Packed parameters [K] with their loss, JᵀJ [K, K] and Jᵀr [K]."""

    parameters: Tensor
    loss: float
    gram: Tensor
    gradient: Tensor


class Objective(nn.Module):
    """(x, y, weight) → the errors of the last layer's paths."""

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, y: Tensor, weight: Tensor) -> list[PathErrors]:
        """Return what `sampson_path_errors` says of the last layer."""
        *below, last = self.network.children()
        h = x
        for layer in below:
            h = layer(h)
        return sampson_path_errors(last, h, y, weight)


class Training:
    """One member under way."""

    def __init__(self, plan: Plan, index: int) -> None:
        member, rule = plan.members[index], plan.recipe.optimizer
        assert isinstance(rule, LevenbergMarquardt)
        self.began = perf_counter()
        self.plan, self.rule, self.epochs = plan, rule, plan.recipe.epochs
        self.x, self.y = (torch.from_numpy(part.astype(np.float64)) for part in member.source.load())
        # In NumPy, whose median of an even number of rows is the mean of two.
        scale = np.median(np.abs(self.y.numpy()), axis=0) ** 2 + self.y.numpy() ** 2
        self.weight = torch.from_numpy(1.0 / np.where(scale > 0, scale, 1.0))
        self.start = torch.from_numpy(plan.starts(index)[0].astype(np.float64))
        self.objective, self.slots = Objective(member.network.build(self.start.numpy())), member.network.slots
        self.loss: list[float] = []

    def finish(self, advance: Callable[[int], None], stop: Event) -> bool:
        """Make all steps, or return False when ``stop`` is set before that."""
        at, damping = self.measure(self.start), self.rule.damping
        self.loss.append(at.loss)
        mark, since = at.loss, 0
        for step in range(1, self.epochs):
            if stop.is_set():
                return False
            if not SOLVED < at.loss < np.inf or damping >= MOST_DAMPING or step - since > self.rule.patience:
                break
            trial = self.measure(self.stepped(at, damping))
            better = trial.loss < at.loss
            at = trial if better else at
            damping = max(damping * (self.rule.fall if better else self.rule.rise), LEAST_DAMPING)
            if at.loss < 0.9 * mark:
                mark, since = at.loss, step
            self.loss.append(at.loss)
        self.end = at.parameters
        advance(self.epochs)
        return True

    def stepped(self, at: Point, damping: float) -> Tensor:
        """The parameters after a damped step, cut where one would move too far."""
        scale = max(damping * float(at.gram.trace()) / len(at.gram), LEAST)
        step = -torch.linalg.solve(
            at.gram + scale * torch.eye(len(at.gram), dtype=torch.float64), at.gradient
        )
        cut = min(1.0, self.rule.largest_step / max(float(step.abs().max()), LEAST))
        moved: Tensor = at.parameters + cut * step
        return moved

    def measure(self, parameters: Tensor) -> Point:
        """The loss, and the normal equations of all parameters but the gates."""
        jacobians = jacrev(lambda p: [part.error for part in self.errors(p)])(parameters)
        gram, gradient = torch.zeros(len(parameters), len(parameters)).double(), torch.zeros_like(parameters)
        moved = torch.ones_like(parameters)
        for slot in self.slots:
            if slot.kind == "gate":
                moved[slot.start : slot.stop] = 0.0
        errors = self.errors(parameters)
        for part, slopes in zip(errors, jacobians, strict=True):
            j = (slopes * moved).flatten(0, 1)
            weight = part.share * part.weight / (1.0 + part.weight * part.error**2) / part.error.numel()
            gram += j.mT @ (weight.reshape(-1, 1) * j)
            gradient += j.mT @ (weight * part.error).ravel()
        loss = sum(part.loss.item() for part in errors)
        finite = np.isfinite(loss) and bool(gram.isfinite().all()) and bool(gradient.isfinite().all())
        return Point(parameters, loss if finite else np.inf, gram, gradient)

    def errors(self, parameters: Tensor) -> list[PathErrors]:
        """The errors of the last layer's paths, as a function of the packed parameters."""
        named = {
            f"network.{s.layer}.{s.name}": parameters[s.start : s.stop].reshape(s.shape) for s in self.slots
        }
        found: list[PathErrors] = functional_call(self.objective, named, (self.x, self.y, self.weight))
        return found

    def outcome(self) -> Outcome:
        """Return what the member leaves."""
        parameters, loss = self.end.numpy().astype(self.plan.dtype), np.array(self.loss)
        seconds = perf_counter() - self.began
        return Outcome(parameters, loss, (), len(loss), status_of(parameters, loss, 0), seconds)
