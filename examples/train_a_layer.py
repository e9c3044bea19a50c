"""Train an INALU inside a larger network, in plain PyTorch, and read what it found.

The total of an order is to be predicted from four columns: 1.19 · price · quantity + 0.5 · weight + 4.9, and the
customer's age, which plays no part. An INALU finds the product, a Linear behind it the tax, the postage and the
fee. Beside it, a network of Linear layers with twenty times its parameters is trained on the same rows. Both
fit; then prices and quantities become a hundred times larger.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from inalu import INALU, Discretize, Reinitialize, discreteness, expression, parameter_groups, snap

NAMES = ["price", "quantity", "weight", "age"]
STEPS = 4000


def orders(rows: int, largest: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return columns [B, 4] and totals [B, 1]; price and quantity lie between a tenth of ``largest`` and it."""
    x = torch.rand(rows, 4, generator=generator)
    low, high = torch.tensor([0.05 * largest] * 2 + [0.5, 1.8]), torch.tensor([largest] * 2 + [5.0, 9.0])
    x = low + (high - low) * x
    return x, (1.19 * x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 4.9)[:, None]


def train(network: nn.Module, x: Tensor, y: Tensor, *, cells: bool, generator: torch.Generator) -> None:
    """Minimise the mean squared error; with ``cells``, discretise them and start again where they are stuck."""
    groups = parameter_groups(network, others={"lr": 1e-2}) if cells else network.parameters()
    optimizer = torch.optim.Adam(groups, lr=2e-2)
    decay = torch.optim.lr_scheduler.OneCycleLR(optimizer, [2e-2] * len(optimizer.param_groups), STEPS)
    discretize = Discretize(after=700, ramp=1500, weight=0.1, below=1.0)
    reinitialize = Reinitialize(every=500, window=500, limit=4)
    for step in range(STEPS):
        chosen = torch.randint(len(x), (128,), generator=generator)
        loss = nn.functional.mse_loss(network(x[chosen]), y[chosen])
        optimizer.zero_grad()
        total = loss + discretize(network, step, loss) if cells else loss
        total.backward()
        nn.utils.clip_grad_value_(network.parameters(), 1.0)
        optimizer.step()
        decay.step()
        if cells:
            reinitialize(network, loss, generator=generator)


def error(network: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the mean absolute error as a share of the mean total."""
    with torch.no_grad():
        return float((network(x) - y).abs().mean() / y.mean())


def main(seed: int) -> None:
    """Train both networks on small orders and compare them on orders a hundred times larger."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    x, y = orders(2000, 10.0, generator)
    far_x, far_y = orders(2000, 1000.0, generator)
    arithmetic = nn.Sequential(INALU(4, 2, generator=generator, law="uniform2"), nn.Linear(2, 1))
    linear = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    train(arithmetic, x, y, cells=True, generator=generator)
    train(linear, x, y, cells=False, generator=generator)
    exact = snap(arithmetic)
    print("discreteness:", discreteness(arithmetic))
    print("formula:     ", expression(exact, NAMES))
    for name, network in (("INALU and Linear", exact), ("Linear and ReLU", linear)):
        print(f"{name}: error {error(network, x, y):.2e} near, {error(network, far_x, far_y):.2e} far")


if __name__ == "__main__":
    main(seed=0)
