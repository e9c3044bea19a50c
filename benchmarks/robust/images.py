"""An iNALU behind a small encoder, trained end to end: what two or three images of digits make together.

The images are scikit-learn's digits (8 x 8, 1,797 of them), the encoder three Linear layers that turn each image
into one number, the same for every image of a row. Only the result is shown in training, never a digit. The
layer has learned the operation when it is exactly the formula; the images of the test rows were never seen.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from benchmarks.robust.judging import wilson
from torch import Tensor, nn

from inalu import (
    INALU,
    PAPER,
    ROBUST,
    Discretize,
    Law,
    Reinitialize,
    expression,
    parameter_groups,
)  # fmt: skip
from inalu.engine.discrete import FAR
from inalu.expression import Expression
from inalu.layers.losses import NetworkLoss, target_weights

# Starts of a search, rows of a mini-batch, training rows.
STARTS, BATCH, ROWS = 4, 256, 20_000


@dataclass(frozen=True)
class Question:
    """What the images of a row make together."""

    name: str
    images: int
    formula: str

    @property
    def target(self) -> Expression:
        return Expression.parse(self.formula)


QUESTIONS = (
    Question("sum of two", 2, "a + b"),
    Question("sum of three", 3, "a + b + c"),
    Question("product of two", 2, "a * b"),
    Question("product of three", 3, "a * b * c"),
    Question("quotient of two", 2, "a / b"),
    Question("quotient of three", 3, "a * b / c"),
)


class Encoder(nn.Module):
    """Images [B, N, 64] → numbers [B, N], every image by the same three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Softplus()
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return one positive number for each image."""
        numbers: Tensor = self.layers(images).squeeze(-1)
        return numbers


@dataclass(frozen=True)
class Data:
    """Rows of images [B, N, 64] and what they make, [B, 1]."""

    x: Tensor
    y: Tensor


def draw(question: Question, seed: int, *, test: bool) -> Data:
    """Rows of random images of 1 to 9; test rows are made of images that training rows never hold."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    split = np.random.default_rng(0).permutation(len(digits.target)) < 1400
    # No zero: it can be no divisor, and any number of images makes the same product with it.
    pool = np.flatnonzero((digits.target > 0) & (split != test))
    chosen = np.random.default_rng([seed, test]).choice(pool, (ROWS // (10 if test else 1), question.images))
    numbers = digits.target[chosen].astype(np.float64)
    y = question.target.evaluate({name: numbers[:, n] for n, name in enumerate("abc"[: question.images])})
    x = (digits.data[chosen] - 5) / 6
    return Data(torch.from_numpy(x).float(), torch.from_numpy(np.asarray(y)[:, None]).float())


def build(question: Question, seed: int, law: Law) -> nn.Sequential:
    """A fresh network."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = Encoder()
    return nn.Sequential(encoder, INALU(question.images, 1, generator=generator, law=law))


def robust(question: Question, seed: int, data: Data) -> tuple[nn.Sequential, int]:
    """The first waves of ROBUST, encoder and all; the one that fits the training rows best once exact.

    Half of a start's rows train both; then the layer is made exact, and the others train a fresh encoder
    behind it: the layer's weights are determined but for one factor, or power, which the encoder takes up.
    """
    weight = target_weights(data.y)
    best: tuple[float, nn.Sequential] | None = None
    for number, stage in enumerate(ROBUST.one_layer[:STARTS]):
        network = build(question, 1000 * seed + number, stage.recipe.law)
        steps, sharp = stage.rows // BATCH // 2, stage.recipe.sharpness * weight
        optimizer = torch.optim.Adam(parameter_groups(network, others={"lr": 3e-3}), lr=1e-2)
        _descend(network, optimizer, data, sharp, np.random.default_rng([seed, number]), steps)
        exact = nn.Sequential(build(question, 1000 * seed + 500 + number, PAPER.law)[0], rounded(network[1]))
        optimizer = torch.optim.Adam(exact[0].parameters(), lr=3e-3)
        _descend(exact, optimizer, data, sharp, np.random.default_rng([seed, number, 1]), steps)
        error = _misfit(exact, data, weight)
        if best is None or error < best[0]:
            best = error, exact
    assert best is not None
    return best[1], STARTS


def _descend(
    network: nn.Sequential, optimizer: torch.optim.Optimizer, data: Data, weight: Tensor,
    rng: np.random.Generator, steps: int,
) -> None:  # fmt: skip
    """Minimise the loss of ROBUST's single layers, with the rate that falls."""
    objective = NetworkLoss(network, "paths")
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=1e-4)
    for _ in range(steps):
        part = rng.integers(0, ROWS, BATCH)
        _step(network, optimizer, objective(data.x[part], data.y[part], weight[part]))
        falling.step()


def paper(question: Question, seed: int, data: Data) -> tuple[nn.Sequential, int]:
    """The paper's schedules in a loop of plain PyTorch, for as many rows as all starts of `robust` together."""
    network = build(question, 1000 * seed, PAPER.law)
    # The encoder's rate is that of `robust`: it is no part of the paper's recipe.
    optimizer = torch.optim.Adam(parameter_groups(network, others={"lr": 3e-3}), lr=1e-3)
    steps = sum(stage.rows for stage in ROBUST.one_layer[:STARTS]) // BATCH
    # The paper acts after a tenth of its steps, and looks every tenth.
    discretize = Discretize(after=steps // 10)
    reinitialize = Reinitialize(every=steps // 10, window=steps // 10)
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    for step in range(steps):
        part = rng.integers(0, ROWS, BATCH)
        loss = nn.functional.mse_loss(network(data.x[part]), data.y[part])
        _step(network, optimizer, loss + discretize(network, step, loss))
        reinitialize(network[1], loss, generator=generator)
    return nn.Sequential(network[0], rounded(network[1])), 1 + reinitialize.restarts


def _step(network: nn.Sequential, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_value_(network[1].parameters(), 0.1)
    optimizer.step()


def rounded(layer: nn.Module) -> nn.Module:
    """The layer made exact: a weight is ±1 where it is more than half of the largest, else 0."""
    exact = copy.deepcopy(layer)
    with torch.no_grad():
        for path in ("_a", "_m"):
            w_hat, m_hat = (getattr(exact, f"{name}{path}") for name in ("W_hat", "M_hat"))
            weight = torch.tanh(w_hat) * torch.sigmoid(m_hat)
            kept = weight.abs() > 0.5 * weight.abs().max()
            w_hat.copy_(weight.sign())
            m_hat.copy_(torch.where(kept, 1.0, -1.0))
            w_hat.mul_(FAR), m_hat.mul_(FAR)
        exact.G.copy_(FAR * exact.G.sign())
    return exact


def _misfit(network: nn.Sequential, data: Data, weight: Tensor) -> float:
    """The mean bounded error, as a search judges by."""
    with torch.no_grad():
        square = weight[:2048] * (network(data.x[:2048]) - data.y[:2048]) ** 2
    return float((square / (1 + square)).nan_to_num(1.0).mean())


def right(question: Question, network: nn.Sequential) -> bool:
    """Whether the layer is the formula; of products also its inverse, for an encoder that says 1/d for d."""
    found, target = expression(network[1], list("abc"[: question.images])), question.target
    inverse = (Expression.constant(1) / target).simplify()
    return found.equals(target) or ("+" not in question.formula and found.equals(inverse))


def near(network: nn.Sequential, data: Data) -> float:
    """The share of unseen rows that come within a tenth of the right result."""
    with torch.no_grad():
        error = (network(data.x) - data.y).abs()
    return float((error <= 0.1 * data.y.abs()).float().mean())


def images(seeds: Sequence[int], only: str | None) -> None:
    """Print how often the operation is learned, by ROBUST's waves and by the paper's schedules."""
    torch.set_num_threads(1)
    print(f"digits, seeds {min(seeds)}-{max(seeds)}: the exact operation, and unseen rows within 10%")
    print("| images make | ROBUST | | PAPER | |\n| --- | ---: | ---: | ---: | ---: |")
    for question in QUESTIONS:
        if only is not None and only not in question.name:
            continue
        cells = []
        for way in (robust, paper):
            found = [way(question, seed, draw(question, seed, test=False))[0] for seed in seeds]
            counts = sum(right(question, network) for network in found)
            share = np.mean(
                [near(n, draw(question, s, test=True)) for n, s in zip(found, seeds, strict=True)]
            )
            cells.append(f"{counts} of {len(found)} | {share:.0%}")
        print(f"| {question.name}, `{question.formula}` | " + " | ".join(cells) + " |", flush=True)
    total = sum(stage.rows for stage in ROBUST.one_layer[:STARTS])
    low, _ = wilson(len(seeds), len(seeds))
    print(
        f"    {total:,} rows for each; {len(seeds)} of {len(seeds)} has the 95% lower bound {100 * low:.0f}%"
    )
