"""What each part of the iNALU gives: experiments 1 and 4 with one part taken away at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from inalu.engine.cells import CELLS
from inalu.experiments.catalog.arithmetic import EXP1, OPERATIONS_OF_THE_PAPER, SEEDS, widths_of
from inalu.experiments.catalog.functions import EXP4, WIDTHS
from inalu.experiments.catalog.model import Experiment, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.record import Setting
from inalu.tasks import Task

_NONE: MappingProxyType[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Part:
    """A part that is taken away: what changes in the network, or in the recipe.

    Attributes
    ----------
    label
        "without …".
    options, decisions
        Changes of the network's options and of the recipe.
    cell
        Another cell, where the part is one.
    source
        Where the text describes the part.
    """

    label: str
    source: str
    options: MappingProxyType[str, Any] = field(default_factory=lambda: _NONE)
    decisions: MappingProxyType[str, Any] = field(default_factory=lambda: _NONE)
    cell: str | None = None


def _off(**changes: Any) -> MappingProxyType[str, Any]:
    return MappingProxyType(changes)


PARTS = (
    Part("complete", "text 283"),
    Part("without clipping", "text 310, equation 11", options=_off(omega=None)),
    Part("without sign", "text 319, equations 12 and 13", options=_off(sign=False)),
    Part("without independent weights", "text 287", cell="inalu-shared"),
    Part("without constant gate", "text 345, the gate of equation 5 instead", options=_off(gate="vector")),
    Part("without regulariser", "text 331", decisions=_off(regularization=None)),
    Part("without reinitialisation", "text 342", decisions=_off(reinitialization=None)),
    Part("without gradient clipping", "text 316", decisions=_off(clip=None)),
)


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    for model, part in itertools.product(experiment.chosen_models(selection), PARTS):
        if not _has(model, part):
            continue
        recipe = treatment.recipe_for(experiment.name, **part.decisions)
        for operation, base in itertools.product(experiment.chosen_operations(selection), (EXP1, EXP4)):
            sums = base is EXP4
            widths = WIDTHS.value if sums else widths_of(operation, 2)
            network = treatment.network(part.cell or model, widths, **part.options)
            for ranges in base.chosen_ranges(selection):
                task = Task(operation, widths[0], ranges.train, ranges.extrapolation, sums=sums)
                setting = Setting(
                    experiment.name, f"{model} {'-'.join(map(str, widths))}, {part.label}", operation,
                    ranges.train, ranges.extrapolation,
                )  # fmt: skip
                for seed in experiment.chosen_seeds(selection):
                    job = Training(
                        network=network, problem=task, seed=seed, recipe=recipe, rows=selection.rows
                    )
                    yield Case(setting, treatment.name, job)


def _has(model: str, part: Part) -> bool:
    """Whether a cell has the part at all: another than an iNALU lacks most of them."""
    preset = CELLS[model].preset
    return part.options.keys() <= preset.keys() and (
        part.cell is None or preset.get("weights") == "independent"
    )


ABLATION = Experiment(
    name="ablation",
    title="Ablation: experiments 1 and 4 without one part at a time",
    lines=(283, 357),
    seeds=SEEDS,
    models=Stated(("inalu-independent",), "text 457, the 'most promising' model"),
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=Stated((*EXP1.ranges.value, *EXP4.ranges.value), "those of experiments 1 and 4"),
    planned=EXP1.planned,
    cases=_cases,
)
