"""What makes the cells train inside a loop of one's own: when to discretise, when to start again, two groups.

Nothing here knows a framework; a loop of plain PyTorch looks like this (examples/train_a_layer.py)::

    optimizer = torch.optim.Adam(parameter_groups(network, gates={"lr": 1e-2}), lr=1e-3)
    discretize, reinitialize = Discretize(after=2000), Reinitialize(every=1000, window=1000)
    for step, (x, y) in enumerate(batches):
        loss = torch.nn.functional.mse_loss(network(x), y)
        optimizer.zero_grad()
        (loss + discretize(network, step, loss)).backward()
        optimizer.step()
        reinitialize(network, loss)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from inalu.errors import check_choice, invalid
from inalu.layers.base import ArithmeticLayer, cells
from inalu.layers.laws import Law, resolve_law
from inalu.layers.regularizer import regularizer


@dataclass(frozen=True, kw_only=True)
class Discretize:
    """When and how strongly the regulariser acts: from a step on, while the loss is small.

    The paper waits 10 epochs of 1,000 steps and then acts in every step whose training loss is below 1.

    Attributes
    ----------
    after
        The first step, counted from 0, in which it may act.
    below
        It acts only in steps whose loss is below this.
    weight
        The factor of the term.
    ramp
        Over how many steps after ``after`` the factor grows from 0 to ``weight``; 0 is at once.
    t, aggregate
        As for `regularizer`.

    Raises
    ------
    InvalidArgument
        When a number is negative or not finite, or ``aggregate`` is unknown.

    Examples
    --------
    >>> rule = Discretize(after=100, ramp=50, weight=0.2)
    >>> [round(rule.strength(step, 0.5), 3) for step in (99, 100, 125, 150, 1000)], rule.strength(1000, 2.0)
    ([0.0, 0.0, 0.1, 0.2, 0.2], 0.0)
    """

    after: int = 10_000
    below: float = 1.0
    weight: float = 1.0
    ramp: int = 0
    t: float = 20.0
    aggregate: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        for name in ("after", "weight", "ramp"):
            _check(self, name, 0 <= getattr(self, name) < math.inf, "must be finite and not negative")
        _check(self, "below", self.below > 0, "must be positive")
        _check(self, "t", 0 < self.t < math.inf, "must be finite and positive")
        check_choice("Discretize.aggregate", self.aggregate, ("mean", "sum"))

    def strength(self, step: int, loss: float) -> float:
        """Return the factor of the term in this step, for this loss without the term."""
        # Written so that a loss that is NaN switches it off.
        if step < self.after or not loss < self.below:
            return 0.0
        return self.weight * min(1.0, (step - self.after) / self.ramp) if self.ramp else self.weight

    def __call__(self, module: nn.Module, step: int, loss: float | Tensor) -> Tensor | float:
        """Return the term to add to the loss, 0.0 where it does not act."""
        strength = self.strength(step, _number(loss))
        return strength * regularizer(module, t=self.t, aggregate=self.aggregate) if strength else 0.0


@dataclass(kw_only=True)
class Reinitialize:
    """The paper's restart rule: draw all weights anew when the loss is high and no longer falls.

    Every ``every`` steps it looks at the last ``window`` losses, in two halves. The loss has not improved
    when ``mean(first) <= mean(second) + tolerance * std(second)``; it is high when ``mean(second) > above``.
    A look needs ``window`` losses since the last start. It counts steps itself: call it once a step.

    Attributes
    ----------
    every, window
        In steps.
    tolerance
        How many standard deviations count as no improvement.
    above
        No restart while the mean loss is at or below this.
    law
        From what the cells' weights are drawn; None takes each cell's own law.
    limit
        The most restarts that it makes.

    Raises
    ------
    InvalidArgument
        When a number breaks its rule or the law is unknown.

    Examples
    --------
    >>> rule = Reinitialize(every=4, window=4)
    >>> [rule.due(loss) for loss in (5.0, 5.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.5)]
    [False, False, False, True, False, False, False, False]
    >>> rule.restarts
    1
    """

    every: int = 10_000
    window: int = 10_000
    tolerance: float = 1.0
    above: float = 1.0
    law: str | Law | None = "uniform2"
    limit: int | None = None
    steps: int = field(default=0, init=False)
    restarts: int = field(default=0, init=False)
    history: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("every", 1), ("window", 2)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            _check(self, name, whole and value >= least, f"must be an integer, at least {least}")
        for name in ("tolerance", "above"):
            _check(self, name, 0 <= getattr(self, name) < math.inf, "must be finite and not negative")
        _check(self, "limit", self.limit is None or self.limit >= 0, "must be None or not negative")
        if self.law is not None:
            resolve_law(self.law)
        self.history = deque(maxlen=self.window)

    def due(self, loss: float) -> bool:
        """Record the loss of a step and return whether to start again now."""
        self.history.append(loss)
        self.steps += 1
        if self.steps % self.every or len(self.history) < self.window or self.restarts == self.limit:
            return False
        first, second = np.split(np.array(self.history), [self.window // 2])
        # Written so that losses that are NaN ask for a restart: nothing else brings them back.
        improved = first.mean() > second.mean() + self.tolerance * second.std()
        if improved or second.mean() <= self.above:
            return False
        self.history.clear()
        self.restarts += 1
        return True

    def __call__(
        self, module: nn.Module, loss: float | Tensor, *, generator: torch.Generator | None = None
    ) -> bool:
        """Record the loss of a step; draw the weights anew if it is time, and return whether that was so.

        Cells draw from ``law``; every other part that has ``reset_parameters`` draws as it always does. The
        optimizer's state is left alone, as in the published code.
        """
        if not self.due(_number(loss)):
            return False
        cells(module)
        for part in module.modules():
            if isinstance(part, ArithmeticLayer):
                part.reset_parameters(generator=generator, law=self.law)
            elif callable(reset := getattr(part, "reset_parameters", None)):
                reset()
        return True


def parameter_groups(
    module: nn.Module,
    *,
    weights: Mapping[str, Any] | None = None,
    gates: Mapping[str, Any] | None = None,
    others: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return a network's parameters in groups for an optimizer: the cells' weights, their gates, the rest.

    Parameters
    ----------
    module
        A network with at least one cell.
    weights, gates, others
        Options of the optimizer for that group, such as ``{"lr": 0.01}``.

    Returns
    -------
    list of dict
        For ``torch.optim``: each with ``"params"``, ``"name"`` and the options. Empty groups are left out.

    Raises
    ------
    InvalidArgument
        When there is no cell.

    Examples
    --------
    >>> from inalu.layers import INALU
    >>> network = nn.Sequential(nn.Linear(3, 2), INALU(2, 1))
    >>> [(group["name"], len(group["params"])) for group in parameter_groups(network, gates={"lr": 0.1})]
    [('weights', 4), ('gates', 1), ('others', 2)]
    """
    kinds = {id(p): kind for cell in cells(module) for p, kind in _kinds(cell)}
    groups: dict[str, dict[str, Any]] = {
        name: {"params": [], "name": name, **(options or {})}
        for name, options in (("weights", weights), ("gates", gates), ("others", others))
    }
    for parameter in module.parameters():
        groups[kinds.get(id(parameter), "others")]["params"].append(parameter)
    return [group for group in groups.values() if group["params"]]


def _kinds(cell: ArithmeticLayer) -> list[tuple[nn.Parameter, str]]:
    """Return each parameter with its kind: names that start with G are gates, as in the engine's registry."""
    return [(p, "gates" if name.startswith("G") else "weights") for name, p in cell.named_parameters()]


def _number(loss: float | Tensor) -> float:
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def _check(owner: object, name: str, holds: bool, rule: str) -> None:
    if not holds:
        raise invalid(f"{type(owner).__name__}.{name}", rule, getattr(owner, name))
