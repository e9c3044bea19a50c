"""What is timed: networks of the paper, in populations that share one set of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from inalu.engine.network import Network
from inalu.engine.parity import Case as ParityCase
from inalu.engine.parity import long_cases, step_cases
from inalu.engine.plan import ArraySource, Member, Plan
from inalu.engine.recipe import PAPER
from inalu.tasks import parse_task

CELLS = ("inalu-independent", "nalu-matrix")
WIDTHS = ((2, 1), (10, 1), (100, 2, 1))
MEMBERS = 1024
ROWS = 64_000

# The axes of the cost. Each starts at the 2-1 network of the first cell.
AXES: dict[str, tuple[int, ...]] = {
    "members": (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096),
    "inputs": (2, 4, 8, 16, 32, 64, 128, 256, 512),
}


@dataclass(frozen=True)
class Case:
    """A population of one network; all members train on the same rows, from weights of their own."""

    cell: str
    widths: tuple[int, ...]
    members: int = MEMBERS
    rows: int = ROWS

    @property
    def name(self) -> str:
        """What people call it: ``inalu-independent 2-1``."""
        return f"{self.cell} {'-'.join(map(str, self.widths))}"

    @cached_property
    def network(self) -> Network:
        """The network of every member."""
        return Network(self.cell, self.widths)

    @cached_property
    def source(self) -> ArraySource:
        """The rows; with several inputs and two layers a product of two sums, as in experiment 4."""
        sums = " sums;" if len(self.widths) > 2 else ""
        task = parse_task(f"mul; inputs={self.widths[0]};{sums} U(-2,2) -> U(-10,-5)")
        data = task.draw_set(0, "train", self.rows)
        return ArraySource(data.x, data.y, name="benchmark")

    def plan(self, members: int | None = None) -> Plan:
        """Return the plan under PAPER, for all members or another number of them."""
        count = self.members if members is None else members
        return Plan(
            members=[Member(network=self.network, source=self.source, seed=seed) for seed in range(count)],
            recipe=PAPER,
        )


def timed_steps(plan: Plan) -> int:
    """How many steps from the beginning are alike: those before the regulariser and the restart rule look."""
    return min(9, plan.recipe.epochs) * plan.steps(plan.members[0]) // plan.recipe.epochs


def parity_cases() -> Iterator[ParityCase]:
    """Yield the cases on which a backend must agree with the reference before its speed is told."""
    for case in (*step_cases(), *long_cases()):
        if case.network.cell in CELLS:
            yield case
