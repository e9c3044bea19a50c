"""Experiments 3 and 4: two layers learn an operation on two sums of inputs; the text on regularisation."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inalu.experiments.catalog.arithmetic import MODELS, OPERATIONS_OF_THE_PAPER, SEEDS
from inalu.experiments.catalog.model import Experiment, Ranges, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.published import TABLE
from inalu.experiments.record import Entry, Initialisation, Setting
from inalu.experiments.summary import by_setting, count
from inalu.layers.laws import Law
from inalu.tasks import Distribution, Task

WIDTHS = Stated((100, 2, 1), "text 441, 'summing up 100 input vector entries'; code nalu_syn_simple_func.py")
MEANS = Stated((-1.0, 0.0, 1.0), "text 443")
STANDARD_DEVIATIONS = Stated((0.1, 0.5), "text 443; one for all three: code exp3/experimentplanner.py 22")
SEEDS_OF_3 = Stated(tuple(range(100, 120)), "text 444, '20 times'; code exp3/experimentplanner.py 12")
# "(0, 1)" is standard normal, which text 370 cuts off at three standard deviations; the text does not say
# from what the extrapolation set comes.
RANGES_OF_3 = Stated(
    (Ranges("N(-3,3)", "N(7,13)"),),
    "text 443; extrapolation mean 10, standard deviation 1: code exp3/experimentplanner.py 53-55",
)
RANGES_OF_4 = Stated(
    (Ranges("U(-3,3)", "U(-5,-3)"), Ranges("N(-3,3)", "N(3,4)")),
    "text 455; which interval goes with which family: the published files",
)


def initialisations() -> Iterator[Initialisation]:
    """Every triple of means with every standard deviation, in the order of Table 1."""
    for means in itertools.product(MEANS.value, repeat=3):
        for std in STANDARD_DEVIATIONS.value:
            yield Initialisation(means[0], means[1], means[2], std)


def cases_from(
    starts: Sequence[Initialisation],
) -> Callable[[Experiment, Treatment, Selection], Iterator[Case]]:
    """Return the cases of experiment 3 from some of its initialisations."""

    def cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
        recipe = treatment.recipe_for("exp3")
        # Runs of one seed follow each other: they share their inputs.
        for seed, ranges in itertools.product(
            experiment.chosen_seeds(selection), experiment.chosen_ranges(selection)
        ):
            inputs: Distribution | str = treatment.inputs.get("exp3", ranges.train)
            outside: Distribution | str = treatment.outside.get("exp3", ranges.extrapolation)
            for operation in experiment.chosen_operations(selection):
                task = Task(operation, WIDTHS.value[0], inputs, outside, sums=True)
                for model in experiment.chosen_models(selection):
                    network = treatment.network(model, WIDTHS.value)
                    for start in starts:
                        setting = Setting("exp3", model, operation, ranges.train, ranges.extrapolation, start)
                        job = Training(
                            network=network, problem=task, seed=seed, recipe=recipe, rows=selection.rows,
                            law=Law.around(*start.means, std=start.std),
                        )  # fmt: skip
                        yield Case(setting, treatment.name, job)

    return cases


def _measures_of_3(entries: Sequence[Entry]) -> dict[str, Any]:
    """Table 1: the largest error of a triple of means, over both deviations, and how many are solved."""
    cells: dict[tuple[tuple[float, float, float], str], list[Entry]] = {}
    for entry in entries:
        if entry.setting.initialisation is not None:
            cells.setdefault((entry.setting.initialisation.means, entry.setting.operation), []).append(entry)
    rows = []
    for (means, operation), runs in sorted(cells.items(), key=lambda cell: cell[0]):
        counts = count(runs, TABLE)
        rows.append(
            {
                "mean_gate": means[0], "mean_m_hat": means[1], "mean_w_hat": means[2], "operation": operation,
                "runs": counts.runs, "solved_extrapolation": counts.solved_extrapolation,
                "max_mse_extrapolation": counts.max_mse_extrapolation,
            }
        )  # fmt: skip
    return {"table_1": rows}


def _cases_of_4(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    recipe = treatment.recipe_for("exp4")
    for seed, ranges, model, operation in itertools.product(
        experiment.chosen_seeds(selection), experiment.chosen_ranges(selection),
        experiment.chosen_models(selection), experiment.chosen_operations(selection),
    ):  # fmt: skip
        task = Task(operation, WIDTHS.value[0], ranges.train, ranges.extrapolation, sums=True)
        setting = Setting("exp4", model, operation, ranges.train, ranges.extrapolation)
        network = treatment.network(model, WIDTHS.value)
        job = Training(network=network, problem=task, seed=seed, recipe=recipe, rows=selection.rows)
        yield Case(setting, treatment.name, job)


#: The trainings that text 340 compares: a label, the epochs, and whether the regulariser acts.
STAGES = Stated(
    (("after 10 epochs", 10, True), ("after 15 epochs", 15, True), ("after 15 epochs, without", 15, False)),
    "text 340",
)


def _cases_of_regularization(
    experiment: Experiment, treatment: Treatment, selection: Selection
) -> Iterator[Case]:
    for seed, ranges, model, operation, (label, epochs, regularized) in itertools.product(
        experiment.chosen_seeds(selection), experiment.chosen_ranges(selection),
        experiment.chosen_models(selection), experiment.chosen_operations(selection), STAGES.value,
    ):  # fmt: skip
        changes: dict[str, Any] = {"epochs": epochs}
        if not regularized:
            changes["regularization"] = None
        recipe = treatment.recipe_for(experiment.name, **changes)
        task = Task(operation, WIDTHS.value[0], ranges.train, ranges.extrapolation, sums=True)
        setting = Setting(experiment.name, f"{model}, {label}", operation, ranges.train, ranges.extrapolation)
        network = treatment.network(model, WIDTHS.value)
        job = Training(network=network, problem=task, seed=seed, recipe=recipe, rows=selection.rows)
        yield Case(setting, treatment.name, job)


def _measures_of_regularization(entries: Sequence[Entry]) -> dict[str, Any]:
    """Median errors of each stage, since a mean would be the worst run's."""
    rows = []
    for setting, runs in by_setting(entries).items():
        model, _, stage = setting.model.partition(", ")
        row: dict[str, Any] = {"model": model, "stage": stage, "train": setting.train, "runs": len(runs)}
        for name in ("mse_interpolation", "mse_extrapolation"):
            known = [value for e in runs if (value := getattr(e.record, name)) is not None]
            row[f"median_{name}"] = statistics.median(known) if known else None
        rows.append(row)
    return {"stages": rows}


EXP3 = Experiment(
    name="exp3",
    title="Experiment 3: influence of initialisation, 100 → 2 → 1",
    lines=(434, 449),
    seeds=SEEDS_OF_3,
    models=Stated(("inalu-shared",), "text 443, 'our iNALU model with shared weights'"),
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=RANGES_OF_3,
    cases=cases_from(tuple(initialisations())),
    measures=_measures_of_3,
)
EXP4 = Experiment(
    name="exp4",
    title="Experiment 4: simple function learning task, 100 → 2 → 1",
    lines=(451, 464),
    seeds=SEEDS,
    models=MODELS,
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=RANGES_OF_4,
    cases=_cases_of_4,
)
REGULARIZATION = Experiment(
    name="regularization",
    title="What the regulariser does to a sum (section Regularization)",
    lines=(331, 340),
    seeds=SEEDS,
    models=Stated(("inalu-shared", "inalu-independent"), "text 340 does not say which: both"),
    operations=Stated(("add",), "text 340, 'a summation task'"),
    ranges=RANGES_OF_4,
    cases=_cases_of_regularization,
    measures=_measures_of_regularization,
)
