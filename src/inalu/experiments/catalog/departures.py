"""Where the published code departs from the text: every combination, to see which departure makes a difference.

A full factorial on experiments 1, 2 and 4. It holds PAPER (no departure), AUTHORS_CODE (all of them), what
each departure does alone to PAPER, and what the code does without it. The order of the sign vector can only
matter where a layer has several inputs and outputs, so it is crossed in experiment 4 alone.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inalu.engine.recipe import AUTHORS_CODE, Recipe
from inalu.errors import InvalidArgument
from inalu.experiments.catalog.arithmetic import EXP1, EXP2, MODELS, OPERATIONS_OF_THE_PAPER, SEEDS
from inalu.experiments.catalog.functions import EXP4
from inalu.experiments.catalog.model import Experiment, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.record import Entry, Setting, threshold_for
from inalu.experiments.statistics import student_quantile


@dataclass(frozen=True)
class Departure:
    """One departure: what it is called, what the code does there, and where peers found it.

    ``field`` is the recipe's decision that changes; None is the order of the sign vector.
    """

    label: str
    about: str
    field: str | None
    source: str


DEPARTURES = (
    Departure(
        "RMSProp", "RMSProp 0.01 in TensorFlow's form, not Adam 0.001", "optimizer",
        "code nalu_syn_simple_arith.py 151, nalu_syn_simple_func.py 244",
    ),
    Departure(
        "alternation", "8 steps of 10 train weights alone, 2 gates alone", "alternation",
        "code nalu_syn_simple_arith.py 203-206, nalu_syn_simple_func.py 297-300",
    ),
    Departure(
        "regulariser apart", "optimizer steps of its own, from the twelfth epoch", "regularization",
        "code nalu_syn_simple_arith.py 208-211",
    ),
    Departure(
        "restarts at every step", "looked at before every step, on all losses since the last start",
        "reinitialization", "code nalu_syn_simple_arith.py 214, nalu_syn_simple_func.py 307",
    ),
    Departure(
        "published sign", "the sign vector's weights read in another order", None,
        "code nalu_architectures.py 225-231, 261-267",
    ),
)  # fmt: skip
_BASES = (EXP1, EXP2, EXP4)
_NONE = "as PAPER"


def combinations(base: str) -> Iterator[tuple[Departure, ...]]:
    """Every set of departures that can matter in an experiment, from none to all."""
    known = [d for d in DEPARTURES if d.field is not None or base == "exp4"]
    for number in range(len(known) + 1):
        yield from itertools.combinations(known, number)


def treatment_with(treatment: Treatment, departures: Sequence[Departure]) -> Treatment:
    """Return a treatment with some departures.

    Raises
    ------
    InvalidArgument
        When the treatment is a search, or has a departure already.
    """
    recipe = treatment.recipe
    fields = [d.field for d in DEPARTURES if d.field is not None]
    if not isinstance(recipe, Recipe) or any(getattr(recipe, f) == getattr(AUTHORS_CODE, f) for f in fields):
        raise InvalidArgument(
            f"departures go from PAPER to AUTHORS_CODE; {treatment.name} is no place to start from: "
            "leave --recipe out."
        )
    changes = {d.field: getattr(AUTHORS_CODE, d.field) for d in departures if d.field is not None}
    return replace(
        treatment,
        recipe=recipe.but(**changes) if changes else recipe,
        published_sign=any(d.field is None for d in departures),
    )


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    for base in _BASES:
        for departures in combinations(base.name):
            changed = treatment_with(treatment, departures)
            label = ", ".join(d.label for d in departures) or _NONE
            for case in base.runs(changed, _of_base(experiment, base, selection)):
                assert isinstance(case.job, Training)
                setting = replace(
                    case.setting,
                    experiment=experiment.name,
                    model=f"{base.name} {case.setting.model}; {label}",
                )
                yield Case(setting, treatment.name, case.job)


def _of_base(experiment: Experiment, base: Experiment, selection: Selection) -> Selection:
    """A selection without what would be computed twice: with one output the NALU's gates are one model."""
    models = experiment.chosen_models(selection)
    if base is not EXP4 and "nalu-matrix" in models:
        models = tuple(m for m in models if m != "nalu-vector")
    return replace(selection, models=models)


def origin(setting: Setting) -> tuple[Setting, frozenset[str]]:
    """Return the setting of experiment 1, 2 or 4 that a setting repeats, and the labels of its departures."""
    named, _, departures = setting.model.partition("; ")
    base, _, model = named.partition(" ")
    found = frozenset() if departures == _NONE else frozenset(departures.split(", "))
    return replace(setting, experiment=base, model=model), found


def _measures(entries: Sequence[Entry]) -> dict[str, Any]:
    return {"combinations": _combinations(entries), "effects": _effects(entries)}


def _combinations(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """For each combination: how many settings differ from the published counts, and by how much."""
    # What compares ours to theirs needs the catalogue's thresholds.
    from inalu.experiments.compare import compare

    groups: dict[tuple[str, frozenset[str]], list[Entry]] = {}
    for entry in entries:
        setting, departures = origin(entry.setting)
        groups.setdefault((setting.experiment, departures), []).append(replace(entry, setting=setting))
    rows = []
    for (base, departures), runs in groups.items():
        tests = compare(runs)
        apart = [abs(t.ours[0] / t.ours[1] - t.published[0] / t.published[1]) for t in tests]
        rows.append(
            {
                "task": base, **{d.label: d.label in departures for d in DEPARTURES},
                "runs": len(runs), "settings": len(tests), "differ": sum(not t.plausible for t in tests),
                "mean_distance": statistics.fmean(apart) if apart else None,
            }
        )  # fmt: skip
    return rows


def _effects(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """What each departure does to the share solved, over all combinations of the others."""
    groups: dict[tuple[str, str, str], list[tuple[frozenset[str], int, bool]]] = {}
    for entry in entries:
        setting, departures = origin(entry.setting)
        solved = entry.record.solved(threshold_for(setting.experiment))
        case = setting.experiment, setting.operation, setting.model
        groups.setdefault(case, []).append((departures, entry.record.seed, solved))
    rows = []
    for (base, operation, model), runs in groups.items():
        for departure in DEPARTURES:
            on = [(seed, solved) for labels, seed, solved in runs if departure.label in labels]
            off = [(seed, solved) for labels, seed, solved in runs if departure.label not in labels]
            if not on or not off:
                continue
            low, high = _paired_interval(on, off)
            rows.append(
                {
                    "task": base, "operation": operation, "model": model, "departure": departure.label,
                    "share_without": _share(off), "share_with": _share(on), "low": low, "high": high,
                }
            )  # fmt: skip
    return rows


def _share(runs: Sequence[tuple[int, bool]]) -> float:
    return sum(solved for _, solved in runs) / len(runs)


def _paired_interval(
    on: Sequence[tuple[int, bool]], off: Sequence[tuple[int, bool]]
) -> tuple[float | None, float | None]:
    """Student's 95 % interval of the difference of shares; a seed is one observation."""
    seeds = {seed for seed, _ in on} & {seed for seed, _ in off}
    if len(seeds) < 2:
        return None, None
    differences = [
        _share([r for r in on if r[0] == seed]) - _share([r for r in off if r[0] == seed]) for seed in seeds
    ]
    middle = statistics.fmean(differences)
    half = student_quantile(0.975, len(seeds) - 1) * statistics.stdev(differences) / math.sqrt(len(seeds))
    return middle - half, middle + half


EXPERIMENT = Experiment(
    name="departures",
    title="Departures: every combination of what the published code does differently from the text",
    lines=(357, 388),
    seeds=SEEDS,
    models=MODELS,
    operations=OPERATIONS_OF_THE_PAPER,
    ranges=Stated(
        (*EXP1.ranges.value, *(r for r in EXP4.ranges.value if r not in EXP1.ranges.value)),
        "those of experiments 1, 2 and 4",
    ),
    planned=EXP1.planned,
    cases=_cases,
    measures=_measures,
    asked_for=True,
)
