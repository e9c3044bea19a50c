"""The challenges that the paper names before it meets them, each as a task of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inalu.engine.cells import CELLS, Cell, register
from inalu.engine.network import Network
from inalu.errors import require_extra
from inalu.experiments.catalog.arithmetic import OPERATIONS_OF_THE_PAPER, SEEDS
from inalu.experiments.catalog.model import Experiment, Ranges, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.problems import Columns
from inalu.experiments.published import TEXT
from inalu.experiments.record import Entry, Setting
from inalu.experiments.summary import by_setting, count
from inalu.tasks import Task

#: Epochs of the linear neuron and the MLP: ours, since both are where they will stay after a few.
NEURON_EPOCHS = 20


@dataclass(frozen=True)
class Challenge:
    """One comparison: a task, and the cells that are tried on it.

    Attributes
    ----------
    name
        What measures call it.
    source
        Where the paper speaks of it.
    problem
        The task.
    models
        Label, cell and options of each network.
    """

    name: str
    source: str
    problem: Task | Columns
    models: tuple[tuple[str, str, dict[str, Any]], ...] = field(hash=False)


_Models = tuple[tuple[str, str, dict[str, Any]], ...]

_CELLS = {"linear": "LinearNeuron", "mlp": "SmallMLP"}
_NEURONS: _Models = (("linear neuron", "linear", {}), ("MLP of 32", "mlp", {}))
_BOTH_GATES: _Models = (("nalu-matrix", "nalu-matrix", {}), ("inalu-independent", "inalu-independent", {}))
_BOTH_WEIGHTS: _Models = (
    ("inalu-shared", "inalu-shared", {}),
    ("inalu-independent", "inalu-independent", {}),
)
_GATES: _Models = tuple(
    (f"inalu-independent, {gate} gate", "inalu-independent", {"gate": gate})
    for gate in ("constant", "vector", "matrix")
)

CHALLENGES = (
    *(
        Challenge(
            f"neurons, {operation}", "text 133-135, figure 1",
            Task(operation, 2, "U(-1,1)", "U(-10,-5)"), _NEURONS,
        )
        for operation in OPERATIONS_OF_THE_PAPER.value
    ),
    Challenge("mixed signs, mul", "text 266", Task("mul", 2, "U(-2,2)", "U(-6,-2)|U(2,6)"), _BOTH_GATES),
    Challenge("mixed signs, div", "text 266", Task("div", 2, "U(-2,2)", "U(-6,-2)|U(2,6)"), _BOTH_GATES),
    Challenge(
        "negative product", "text 266",
        Columns("mul", ("U(1,2)", "U(-2,-1)"), ("U(2,6)", "U(-6,-2)")), _BOTH_GATES,
    ),
    # "a, b < -1 with the operation a × b": the summative path needs -1 where the product needs 1.
    Challenge("a·b, a and b below -1", "text 290", Task("mul", 2, "U(-5,-1)", "U(-10,-5)"), _BOTH_WEIGHTS),
    # "a, b, c > 0 with the desired result a + b": a third input near 0 reaches the sum through the gate.
    Challenge("a + b beside c", "text 296", Task("add", 3, "U(0,5)", "U(5,10)"), _BOTH_WEIGHTS),
    Challenge(
        "a + b or a·b by the sign of c", "text 250 and 272",
        Columns("switch", ("U(-2,2)", "U(-2,2)", "U(-1,1)"), ("U(2,6)", "U(2,6)", "U(-1,1)")), _GATES,
    ),
    Challenge(
        "division near zero", "text 534", Task("div", 2, "U(-1,1)", "U(-10,-5)"), (_BOTH_GATES[1],)
    ),
    Challenge(
        "division away from zero", "text 534", Task("div", 2, "U(-1,-0.1)|U(0.1,1)", "U(-10,-5)"),
        (_BOTH_GATES[1],),
    ),
)  # fmt: skip


def register_neurons() -> None:
    """Add the linear neuron and the MLP to the registry of cells."""
    for name, module in _CELLS.items():
        if name not in CELLS:
            register(Cell(name=name, module=f"inalu.experiments.neurons:{module}"))


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    require_extra("torch", "torch")
    register_neurons()
    recipe = treatment.recipe_for(experiment.name)
    # The paper's extensions belong to its own cells.
    plain = treatment.recipe_for(
        experiment.name, epochs=NEURON_EPOCHS, regularization=None, reinitialization=None
    )
    wanted = selection.models
    for challenge in CHALLENGES:
        problem = challenge.problem
        operation = problem.operation.name if isinstance(problem, Task) else problem.function
        train = str(problem.train) if isinstance(problem, Task) else problem.text_of("train")
        outside = (
            str(problem.extrapolation) if isinstance(problem, Task) else problem.text_of("extrapolation")
        )
        if selection.operations is not None and operation not in selection.operations:
            continue
        for label, cell, options in challenge.models:
            if wanted is not None and cell not in wanted:
                continue
            neuron = cell in _CELLS
            network = (
                Network(cell, (problem.inputs, 1)) if neuron
                else treatment.network(cell, (problem.inputs, 1), **options)
            )  # fmt: skip
            setting = Setting(experiment.name, label, operation, train, outside)
            for seed in experiment.chosen_seeds(selection):
                job = Training(
                    network=network, problem=problem, seed=seed, recipe=plain if neuron else recipe,
                    rows=selection.rows,
                )  # fmt: skip
                yield Case(setting, treatment.name, job)


def leaky_gate(weight: float = -1e-5, epsilon: float = 1e-7, gate: float = 20.0) -> dict[str, float]:
    """Work out the paper's example of a + b beside c: how far a small weight of c reaches the result.

    The multiplicative path multiplies by max(|c|, ε)^weight, which is largest at c = 0; the gate σ(20) lets
    through the share 1 - σ(20).
    """
    factor = float(np.exp(weight * np.log(epsilon)))
    return {"weight": weight, "factor_at_zero": factor, "share_through_gate": float(1 / (1 + np.exp(gate)))}


def _measures(entries: Sequence[Entry]) -> dict[str, Any]:
    rows = []
    for challenge in CHALLENGES:
        problem = str(challenge.problem)
        mine = [e for e in entries if e.record.specification.task == problem]
        labels = {label for label, _, _ in challenge.models}
        for setting, runs in by_setting(e for e in mine if e.setting.model in labels).items():
            counts = count(runs, TEXT)
            rows.append(
                {
                    "challenge": challenge.name, "model": setting.model, "runs": counts.runs,
                    "solved_interpolation": counts.solved_interpolation,
                    "solved_extrapolation": counts.solved_extrapolation,
                    "median_mse_interpolation": counts.median_mse_interpolation,
                    "median_mse_extrapolation": counts.median_mse_extrapolation,
                    "exact_formula": counts.exact_formula,
                }
            )  # fmt: skip
    return {"challenges": rows, "leaky_gate": leaky_gate()}


EXPERIMENT = Experiment(
    name="challenges",
    title="Challenges: neurons, signs, shared weights, gates, division",
    lines=(133, 303),
    seeds=SEEDS,
    models=Stated(
        ("linear", "mlp", "nalu-matrix", "inalu-shared", "inalu-independent"), "text 133-303, see CHALLENGES"
    ),
    operations=Stated((*OPERATIONS_OF_THE_PAPER.value, "switch"), "see CHALLENGES"),
    ranges=Stated((Ranges("U(-1,1)", "U(-10,-5)"),), "see CHALLENGES"),
    cases=_cases,
    measures=_measures,
    needs="torch",
)
