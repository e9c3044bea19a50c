"""Experiments 1 and 2: one layer learns one operation, from two inputs or from two among ten."""

from __future__ import annotations

from collections.abc import Iterator

from inalu.experiments.catalog.model import Experiment, Ranges, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.record import Setting
from inalu.tasks import OPERATIONS, Task, parse_distribution

MODELS = Stated(
    ("nalu-matrix", "nalu-vector", "inalu-shared", "inalu-independent"),
    "text 251 (both gates), 288 (weights), 402 (caption of figure 3)",
)
OPERATIONS_OF_THE_PAPER = Stated(("add", "sub", "mul", "div"), "text 369")
SEEDS = Stated(
    tuple(range(100, 110)), "text 381, 'ten times with different random seeds'; the published files"
)

# Text 370: a normal is cut off at μ ± 3σ, which are its two parameters. The exponential's parameter is its
# scale: code nalu_syn_simple_arith.py line 73.
PUBLISHED_RANGES = Stated(
    tuple(
        Ranges(train, extrapolation)
        for train, extrapolation in (
            ("U(-1,1)", "U(-10,-5)"),
            ("U(-5,5)", "U(-10,-5)"),
            ("N(-3,3)", "N(8,10)"),
            ("N(-2,4)", "N(8,10)"),
            ("N(-4,2)", "N(8,10)"),
            ("E(0.2)", "E(0.5)"),
            ("E(0.8)", "E(0.5)"),
        )
    ),
    "the published files of experiments 1 and 2",
)
PLANNED_RANGES = Stated(
    tuple(
        Ranges(train, extrapolation)
        for train, extrapolation in (
            ("U(0,1)", "U(-10,-5)"),
            ("U(-1,0)", "U(-10,-5)"),
            ("U(0,5)", "U(-10,-5)"),
            ("U(-5,0)", "U(-10,-5)"),
            ("U(2,3)", "U(-10,-5)"),
            ("U(-3,-2)", "U(-10,-5)"),
            ("N(2,8)", "N(8,10)"),
            ("N(-8,-2)", "N(8,10)"),
            ("E(0.4)", "E(0.5)"),
            ("E(0.6)", "E(0.5)"),
            ("E(1)", "E(0.5)"),
        )
    ),
    "code experiment_runs/exp1/experimentplanner.py; the extrapolation is their family's",
)
# A root has no negative operand, so the uniform's extrapolation is mirrored.
ROOT_RANGES = Stated(
    tuple(
        Ranges(train, extrapolation)
        for train, extrapolation in (
            ("U(0,1)", "U(5,10)"),
            ("U(0,5)", "U(5,10)"),
            ("U(2,3)", "U(5,10)"),
            ("N(2,8)", "N(8,10)"),
            ("E(0.2)", "E(0.5)"),
            ("E(0.8)", "E(0.5)"),
        )
    ),
    "ours: the ranges above without negative numbers",
)


def widths_of(operation: str, inputs: int) -> tuple[int, ...]:
    """Return the layers that an operation needs: a² is a product of two sums, so it takes two."""
    return (inputs, 2, 1) if operation == "square" else (inputs, 1)


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    inputs = _INPUTS[experiment.name].value
    recipe = treatment.recipe_for(experiment.name)
    for model in experiment.chosen_models(selection):
        for operation in experiment.chosen_operations(selection):
            network = treatment.network(model, widths_of(operation, inputs))
            for ranges in _ranges(experiment, selection, operation):
                task = Task(operation, inputs, ranges.train, ranges.extrapolation)
                setting = Setting(experiment.name, model, operation, ranges.train, ranges.extrapolation)
                for seed in experiment.chosen_seeds(selection):
                    job = Training(
                        network=network, problem=task, seed=seed, recipe=recipe, rows=selection.rows
                    )
                    yield Case(setting, treatment.name, job)


def _ranges(experiment: Experiment, selection: Selection, operation: str) -> tuple[Ranges, ...]:
    minimum = OPERATIONS[operation].minimum
    if minimum is None:
        return experiment.chosen_ranges(selection)
    wanted = selection.distributions
    return tuple(
        r
        for r in ROOT_RANGES.value
        if parse_distribution(r.train).bounds[0] >= minimum and (wanted is None or r.train in wanted)
    )


# exp2: "ten inputs and one output", the operands being two of them.
_INPUTS = {"exp1": Stated(2, "text 393"), "exp2": Stated(10, "text 422")}

EXP1 = Experiment(
    name="exp1",
    title="Experiment 1: minimal arithmetic task, 2 → 1",
    lines=(390, 415),
    seeds=SEEDS,
    models=MODELS,
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=PUBLISHED_RANGES,
    planned=PLANNED_RANGES,
    cases=_cases,
)
EXP2 = Experiment(
    name="exp2",
    title="Experiment 2: simple arithmetic task, 10 → 1",
    lines=(417, 432),
    seeds=SEEDS,
    models=MODELS,
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=PUBLISHED_RANGES,
    planned=PLANNED_RANGES,
    cases=_cases,
)
