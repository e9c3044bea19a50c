"""The downstream task of the paper's section on clipping: three layers that classify handwritten digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inalu.errors import InvalidArgument, require_extra
from inalu.experiments.catalog.model import Experiment, Selection, Stated, Treatment
from inalu.experiments.job import Case, Classification
from inalu.experiments.record import Entry, Setting

WIDTHS = Stated((784, 64, 64, 10), "three layers: text 310; the widths are ours, since the paper gives none")
STEPS = Stated(64_000, "text 310, footnote: 'after 64000 steps'")


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    if selection.folder is None:
        raise InvalidArgument("mnist needs --data FOLDER with the IDX files of MNIST.")
    require_extra("torch", "torch")
    from inalu.experiments.mnist import load

    data = load(selection.folder)
    # Text 310 is about clipping alone; what reinitialises and regularises is for formulas.
    recipe = treatment.recipe_for(experiment.name, regularization=None, reinitialization=None)
    for model in experiment.chosen_models(selection):
        for seed in experiment.chosen_seeds(selection):
            job = Classification(
                model=model, widths=WIDTHS.value, seed=seed, recipe=recipe, steps=STEPS.value,
                data=data.name, folder=selection.folder,
            )  # fmt: skip
            yield Case(Setting(experiment.name, model, "classify", data.name, data.name), treatment.name, job)


def _measures(entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "accuracies": [
            {"model": e.setting.model, "seed": e.record.seed, "status": e.record.status, **e.record.measures}
            for e in entries
        ]
    }


MNIST = Experiment(
    name="mnist",
    title="MNIST by three layers: an illustration, needs --data",
    lines=(310, 310),
    seeds=Stated((100,), "ours: one run of each model, for an illustration"),
    models=Stated(("nalu-matrix", "inalu-independent"), "text 310"),
    operations=Stated((), "none"),
    ranges=Stated((), "none"),
    cases=_cases,
    measures=_measures,
    needs="data",
)
