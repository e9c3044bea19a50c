"""One step at a time in eager PyTorch on one thread, as a training script writes it; and ``stacked``."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from inalu.engine.benchmark.cases import Case
from inalu.engine.recipe import PAPER, Adam
from inalu.engine.reference import one_thread
from inalu.engine.stacked import WIDEST, WIDEST_COMPILED, Chunk

ROUNDS = 5


class Literal(nn.Module):
    """The equations as they stand in the paper, without this package's care for huge numbers."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        for name, parameter in layer.named_parameters():
            self.register_parameter(name, nn.Parameter(parameter.detach().clone()))
        self.own = dict(self.named_parameters())

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs [B, O] of equation 14 or 6."""
        p = self.own
        if "W_hat" in p:
            w = torch.tanh(p["W_hat"]) * torch.sigmoid(p["M_hat"])
            m = torch.exp(torch.log(x.abs() + 1e-7) @ w)
            g = torch.sigmoid(x @ p["G"])
            return g * (x @ w) + (1 - g) * m
        w_a = torch.tanh(p["W_hat_a"]) * torch.sigmoid(p["M_hat_a"])
        w_m = torch.tanh(p["W_hat_m"]) * torch.sigmoid(p["M_hat_m"])
        m = torch.exp((torch.log(x.abs().clamp(min=1e-7)) @ w_m).clamp(max=20.0))
        size = w_m.abs()
        sign = (torch.sign(x)[:, :, None] * size + 1 - size).prod(dim=1)
        g = torch.sigmoid(p["G"])
        return g * (x @ w_a) + (1 - g) * m * sign


def eager_steps(case: Case, target: float = 0.5) -> dict[str, float]:
    """Return the seconds of a step by module and kind of Adam: ``layer, foreach`` and so on."""
    with one_thread():
        steps = {}
        for name in ("layer", "literal"):
            for kind in ("foreach", "fused"):
                torch.manual_seed(0)
                module: nn.Module = case.network.build(case.plan(1).starts(0)[0])
                if name == "literal":
                    module = nn.Sequential(*(Literal(layer) for layer in module.children()))
                steps[f"{name}, {kind}"] = _step(module, case, kind)
        return {name: _best(step, target) for name, step in steps.items()}


def _step(module: nn.Module, case: Case, kind: str) -> Callable[[], None]:
    recipe = PAPER
    assert isinstance(recipe.optimizer, Adam)
    assert recipe.clip is not None
    rate, clip, number = recipe.optimizer.learning_rate, recipe.clip, 0
    parameters = list(module.parameters())
    options: dict[str, Any] = {kind: True}
    adam = torch.optim.Adam(parameters, lr=rate, eps=recipe.optimizer.epsilon, **options)
    rows = case.source.load()
    parts = [slice(n, n + recipe.batch) for n in range(0, len(rows.x), recipe.batch)]
    x, y = ([torch.tensor(values[part], dtype=torch.float32) for part in parts] for values in rows)

    def step() -> None:
        nonlocal number
        adam.zero_grad()
        torch.autograd.backward(functional.mse_loss(module(x[number]), y[number]))
        nn.utils.clip_grad_value_(parameters, clip)
        adam.step()
        number = (number + 1) % len(x)

    return step


def stacked_step(case: Case, *, compile: bool, target: float = 0.5) -> float:
    """Return the seconds of a step of one member of a stacked population on one thread."""
    members = min(case.members, WIDEST_COMPILED if compile else WIDEST)
    with one_thread(), torch.no_grad():
        chunk = Chunk(case.plan(members), tuple(range(members)), compile=compile)
        number = 0

        def step() -> None:
            nonlocal number
            chunk.advance(0, number)
            chunk.pending.clear()
            number = (number + 1) % chunk.batches

        return _best(step, target) / members


def _best(step: Callable[[], None], target: float) -> float:
    """The least mean time of several rounds, after a few steps that warm up."""
    for _ in range(3):
        step()
    began = perf_counter()
    step()
    count = max(1, int(target / (perf_counter() - began)))
    times = []
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(count):
            step()
        times.append((perf_counter() - began) / count)
    return min(times)
