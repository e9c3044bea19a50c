"""What a closed form does to all this: alone, as a start without and with training, permuted; and ROBUST.

Where the closed form is right at once, a formula that is found from it says nothing of the network's training:
the number of snapped weights that change between the start and the end shows how much the training did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from benchmarks.robust.judging import in_threads, widths_of
from benchmarks.robust.parts import ONE_LAYER, TWO_LAYERS

from inalu import (
    ROBUST,
    WARM,
    Member,
    Network,
    Plan,
    Problem,
    Result,
    Stage,
    Task,
    TaskSource,
    solve,
    train,
)
from inalu.engine.closed_form import closed_form
from inalu.engine.discrete import network_expressions, snap_network
from inalu.engine.plan import Array, Rows, draw_weights
from inalu.engine.search import make_exact

CELL = "inalu-independent"


@dataclass(frozen=True)
class Case:
    """One task with its closed form."""

    task: Task
    seed: int

    @property
    def network(self) -> Network:
        return Network(CELL, widths_of(self.task))

    def judged(self) -> Rows:
        return Rows(*(part[: ROBUST.judge_rows] for part in TaskSource(self.task, self.seed).load()))

    def weights(self) -> Array:
        return closed_form(self.network, TaskSource(self.task, self.seed).load())

    def permuted(self) -> Array:
        """The closed form's weights with the inputs of each layer in another order, each input moved."""
        packed = self.weights().copy()
        rng = np.random.default_rng(self.seed)
        for layer in self.network.unpack(packed):
            # A cycle through all inputs in a drawn order: none keeps its place.
            cycle = rng.permutation(len(layer["W_hat_a"]))
            order = np.empty_like(cycle)
            order[cycle] = np.roll(cycle, 1)
            for name, part in layer.items():
                if name != "G":
                    part[:] = part[order]
        return packed


class Outcome(NamedTuple):
    """Whether the formula is right, and how many snapped weights and gates differ from the start's."""

    right: bool
    changed: int


def starts(one: int, two: int) -> None:
    """Print the table for the hard settings of one layer and of two."""
    print("| layers | way | formula | snapped weights that changed |\n| --- | --- | ---: | ---: |")
    for layers, tasks, count in (("one", ONE_LAYER, one), ("two", TWO_LAYERS, two)):
        cases = [Case(task, 50_000 + seed) for task in tasks for seed in range(count)]
        if not cases:
            continue
        for name, way in WAYS.items():
            found = way(cases)
            changed = np.mean([o.changed for o in found])
            print(
                f"| {layers} | {name} | {sum(o.right for o in found)} of {len(found)} | {changed:.2f} |",
                flush=True,
            )


def _alone(cases: Sequence[Case]) -> list[Outcome]:
    return in_threads(lambda case: _outcome(case, case.weights(), case.weights()), cases)


def _trained(begin: Callable[[Case], Array]) -> Callable[[Sequence[Case]], list[Outcome]]:
    """One training from given weights, by the search's first stage."""

    def way(cases: Sequence[Case]) -> list[Outcome]:
        found: list[Outcome] = []
        for part in range(0, len(cases), 400):
            chosen = cases[part : part + 400]
            initial = in_threads(begin, chosen)
            members = [
                Member(
                    network=c.network, source=TaskSource(c.task, c.seed), seed=c.seed, initial=w.astype(np.float32)
                )
                for c, w in zip(chosen, initial, strict=True)
            ]  # fmt: skip
            stage = _waves(members[0].network)[0]
            assert stage.rows is not None
            epochs = stage.rows // members[0].source.shape[0]
            results = train(Plan(members=members, recipe=stage.recipe.but(epochs=epochs)))
            triples = zip(chosen, results, initial, strict=True)
            found += in_threads(lambda t: _outcome(t[0], t[1].parameters, t[2]), triples)
        return found

    return way


def _waves(network: Network) -> tuple[Stage, ...]:
    return ROBUST.one_layer if network.depth == 1 else ROBUST.deeper


def _search(name: str) -> Callable[[Sequence[Case]], list[Outcome]]:
    """A whole search; the start is what its best start began from, where that is known."""

    def way(cases: Sequence[Case]) -> list[Outcome]:
        recipe = {"ROBUST": ROBUST, "WARM": WARM}[name]
        found: list[Outcome] = []
        for part in range(0, len(cases), 400):
            problems = [
                Problem(network=c.network, source=TaskSource(c.task, c.seed), seed=c.seed, tag=c)
                for c in cases[part : part + 400]
            ]
            found += in_threads(_searched, solve(problems, recipe))
        return found

    return way


def _searched(result: Result) -> Outcome:
    """The weights that the winning start began from are drawn again, where it was not given them."""
    case: Case = result.member.tag
    begin = result.member.initial
    if begin is None:
        number = result.member.start
        stages = [stage for stage in _waves(case.network) for _ in range(stage.starts)]
        member = Member(
            network=case.network, source=TaskSource(case.task, case.seed), seed=case.seed, start=number
        )
        # The waves repeat.
        begin = draw_weights(member, stages[number % len(stages)].recipe.law, number)[0]
    return _outcome(case, result.parameters, begin)


def _outcome(case: Case, parameters: Array, begin: Array) -> Outcome:
    """Round both; the weights of a path that the gate leaves out do not count."""
    rows = case.judged()
    end = make_exact(case.network, np.asarray(parameters, dtype=np.float64), rows)
    start = snap_network(case.network, np.asarray(begin, dtype=np.float64))[1]
    return Outcome(_right(case, end.network, end.parameters), _changed(case.network, start, end.parameters))


def _right(case: Case, network: Network, parameters: Array) -> bool:
    names = [f"x{i}" for i in range(network.widths[0])]
    return network_expressions(network, parameters, names)[0].equals(case.task.target(case.seed))


def _changed(network: Network, start: Array, end: Array) -> int:
    """How many gates differ, and how many weights of the paths that are taken in the end."""
    count = 0
    for before, after in zip(network.unpack(start), network.unpack(end), strict=True):
        is_sum = after["G"] > 0
        count += int((is_sum != (before["G"] > 0)).sum())
        for path, taken in (("_a", is_sum), ("_m", ~is_sum)):
            differs = before[f"W_hat{path}"] != after[f"W_hat{path}"]
            count += int(differs[:, taken].sum())
    return count


WAYS: dict[str, Callable[[Sequence[Case]], list[Outcome]]] = {
    "closed form, no network": _alone,
    "one training from the closed form": _trained(Case.weights),
    "one training from the closed form, permuted over the inputs": _trained(Case.permuted),
    "WARM": _search("WARM"),
    "ROBUST": _search("ROBUST"),
}
