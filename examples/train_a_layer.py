"""Train an INALU inside a larger network, in plain PyTorch, and read what it found.

The total of an order is to be predicted from four columns: 1.19 · price · quantity + 0.5 · weight + 4.9, and the
customer's rating, which plays no part. An INALU looks at the columns, and a Linear layer at what it says and at the
columns themselves. Beside it a network of Linear layers with sixteen times its parameters is trained on the same
rows. Both fit; then prices and quantities become a hundred times larger.

    python examples/train_a_layer.py [SEED]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from inalu import (
    INALU,
    Discretize,
    Expression,
    Reinitialize,
    discreteness,
    expression,
    parameter_groups,
    snap,
)

NAMES = ["price", "quantity", "weight", "rating"]
STEPS = 2000
RATE = 0.02


class Beside(nn.Module):
    """What a cell computes, followed by what it was given."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, O + I] of x [B, I]."""
        return torch.cat([self.cell(x), x], dim=-1)

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return the same in formulas, which is how `inalu.expression` reads a module of one's own."""
        return [*self.cell.formulas(inputs), *inputs]


def orders(rows: int, largest: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return columns [B, 4] and totals [B, 1]; price and quantity are at most ``largest``."""
    low = torch.tensor([0.05 * largest, 0.05 * largest, 0.5, 1.0])
    high = torch.tensor([largest, largest, 5.0, 9.0])
    x = low + (high - low) * torch.rand(rows, 4, generator=generator)
    return x, (1.19 * x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 4.9)[:, None]


def train(network: nn.Module, x: Tensor, y: Tensor, *, cells: bool, generator: torch.Generator) -> None:
    """Minimise the squared error; with ``cells``, make them discrete, and start again where that is stuck."""
    groups = parameter_groups(network, gates={"lr": RATE}) if cells else network.parameters()
    optimizer = torch.optim.Adam(groups, lr=RATE)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 3 * (1 - step / STEPS)))
    # Losses are shares of the target's variance, so that thresholds do not depend on its unit.
    discretize = Discretize(after=600, ramp=700, below=0.01)
    reinitialize = Reinitialize(every=300, window=300, above=0.01, law="paper", limit=2)
    for step in range(STEPS):
        batch = torch.randint(len(x), (128,), generator=generator)
        loss = nn.functional.mse_loss(network(x[batch]), y[batch]) / y.var()
        optimizer.zero_grad()
        (loss + discretize(network, step, loss) if cells else loss).backward()
        nn.utils.clip_grad_value_(network.parameters(), 1.0)
        optimizer.step()
        falling.step()
        if cells:
            reinitialize(network, loss, generator=generator)


def polish(network: nn.Module, x: Tensor, y: Tensor) -> None:
    """Fit everything that is no cell once more, now that the cells are exact."""
    (rest,) = (group["params"] for group in parameter_groups(network) if group["name"] == "others")
    optimizer = torch.optim.LBFGS(rest, max_iter=500, tolerance_change=0.0, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(x), y) / y.var()
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        for parameter in rest:
            parameter.copy_(parameter.round(decimals=3))


def error(network: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the mean absolute error as a share of the mean total."""
    with torch.no_grad():
        return float((network(x) - y).abs().mean() / y.mean())


def main(seed: int) -> dict[str, tuple[float, float]]:
    """Train both networks on small orders; return their errors there, and where all is a hundred times larger."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    near, far = orders(2000, 10.0, generator), orders(2000, 1000.0, generator)
    arithmetic = nn.Sequential(Beside(INALU(4, 1, generator=generator)), nn.Linear(5, 1))
    linear = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    train(arithmetic, *near, cells=True, generator=generator)
    train(linear, *near, cells=False, generator=generator)
    print(f"discreteness: {discreteness(arithmetic):.3f}")
    exact = snap(arithmetic).double()
    polish(exact, *(part.double() for part in near))
    exact.float()
    print("formula:     ", expression(exact, NAMES))
    errors = {}
    for name, network in (("INALU and Linear", exact), ("Linear and ReLU", linear)):
        errors[name] = error(network, *near), error(network, *far)
        print(f"{name}: error {errors[name][0]:.1e} near, {errors[name][1]:.1e} far")
    return errors


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
