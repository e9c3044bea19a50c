"""Where the published code departs from the text: every combination, to see which departure makes a difference.

A full factorial on each of experiments 1, 2 and 4. It holds PAPER (no departure), AUTHORS_CODE (all of them), what
each departure does alone to PAPER, and what the code does without it. The order of the sign vector can only
matter where a layer has several inputs and outputs, so it is crossed in experiments 3 and 4 alone.

That of experiment 3 is on a part of it, since all of it would be 34,560 runs for ten seeds, and on the inputs that
the published errors tell of, under which alone their products can be right (docs/reproduction.md).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from inalu.engine.recipe import AUTHORS_CODE, Recipe
from inalu.errors import InvalidArgument
from inalu.experiments.catalog.arithmetic import EXP1, EXP2, MODELS
from inalu.experiments.catalog.functions import EXP3, EXP4, cases_from
from inalu.experiments.catalog.model import Experiment, Selection, Stated, Treatment
from inalu.experiments.catalog.treatments import PLANNED_INPUTS, PUBLISHED_EPOCHS
from inalu.experiments.job import Case
from inalu.experiments.published import threshold_for
from inalu.experiments.record import SINGLE, Entry, Initialisation, Setting
from inalu.experiments.statistics import chance_distance, student_quantile
from inalu.tasks import Distribution, parse_distribution

if TYPE_CHECKING:
    from inalu.experiments.compare import Comparison


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
_NONE = "as PAPER"
_TWO_LAYERS = ("exp3", "exp4")

# Declared before a run of the factorial of experiment 3 was counted.
STARTS_OF_3 = Stated(
    tuple(
        Initialisation(0.0, m_hat, w_hat, 0.1)
        for m_hat, w_hat in ((-1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (-1.0, -1.0))
    ),
    "ours: the triple (0, -1, 1) that text 447 calls most stable and four others with its gate; σ = 0.1, since "
    "text 447 finds no difference",
)
OPERATIONS_OF_3 = Stated(("add", "sub", "mul"), "ours: of text 369 without division, 0 of 546 published runs")
OUTSIDE_OF_3: Stated[Mapping[str, Distribution]] = Stated(
    MappingProxyType({"exp3": parse_distribution("N(-30,30)")}),
    "the published files: networks that put out 0 have there the errors of inputs with mean 0 and deviation 10",
)
_PREFIX = "departures-"


def combinations(base: str) -> Iterator[tuple[Departure, ...]]:
    """Every set of departures that can matter in an experiment, from none to all."""
    known = _known(base)
    for number in range(len(known) + 1):
        yield from itertools.combinations(known, number)


def _known(base: str) -> tuple[Departure, ...]:
    return tuple(d for d in DEPARTURES if d.field is not None or base in _TWO_LAYERS)


def treatment_with(treatment: Treatment, departures: Sequence[Departure]) -> Treatment:
    """Return a treatment with some departures; experiment 3 has its epochs and inputs as published in all of them.

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
        epochs=PUBLISHED_EPOCHS,
        inputs=PLANNED_INPUTS,
        outside=OUTSIDE_OF_3.value,
    )


def _cases(base: Experiment) -> Callable[[Experiment, Treatment, Selection], Iterator[Case]]:
    def cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
        chosen = replace(selection, models=experiment.chosen_models(selection))
        for departures in combinations(base.name):
            label = ", ".join(d.label for d in departures) or _NONE
            for case in base.runs(treatment_with(treatment, departures), chosen):
                model = f"{case.setting.model}; {label}"
                setting = replace(case.setting, experiment=experiment.name, model=model)
                yield Case(setting, treatment.name, case.job)

    return cases


def origin(setting: Setting) -> tuple[Setting, frozenset[str]]:
    """Return the setting of experiment 1 to 4 that a setting repeats, and the labels of its departures."""
    model, _, departures = setting.model.partition("; ")
    found = frozenset[str]() if departures == _NONE else frozenset(departures.split(", "))
    return replace(setting, experiment=setting.experiment.removeprefix(_PREFIX), model=model), found


def _measures(entries: Sequence[Entry]) -> dict[str, Any]:
    found = {"combinations": _combinations(entries), "effects": _effects(entries, single=False)}
    if all(SINGLE in entry.record.measures for entry in entries):
        # Where the precision of the evaluation decides, only this compares with the published runs.
        again = _effects(entries, single=True)
        if again != found["effects"]:
            found["effects_float32"] = again
    return found


def _combinations(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """For each combination: how many settings differ from the published counts, and by how much."""
    # What compares ours to theirs needs the catalogue's thresholds.
    from inalu.experiments.compare import compare

    groups: dict[frozenset[str], list[Entry]] = {}
    for entry in entries:
        setting, departures = origin(entry.setting)
        groups.setdefault(departures, []).append(replace(entry, setting=setting))
    rows = []
    for departures, runs in groups.items():
        tests, single = compare(runs), compare(runs, single=True)
        rows.append(
            {
                **{d.label: d.label in departures for d in _known(runs[0].setting.experiment)},
                "runs": len(runs), "settings": len(tests), "differ": sum(not t.plausible for t in tests),
                "mean_distance": _distance(tests), "distance_by_chance": _by_chance(tests),
                "differ_float32": sum(not t.plausible for t in single) if single else None,
                "mean_distance_float32": _distance(single), "distance_by_chance_float32": _by_chance(single),
            }
        )  # fmt: skip
    return rows


def _distance(tests: Sequence[Comparison]) -> float | None:
    """The mean over settings of the difference between the shares solved."""
    apart = [abs(t.ours[0] / t.ours[1] - t.published[0] / t.published[1]) for t in tests]
    return statistics.fmean(apart) if apart else None


def _by_chance(tests: Sequence[Comparison]) -> float | None:
    """What that would be if in each setting ours and theirs were two samples of the same runs."""
    return statistics.fmean(chance_distance(t.ours, t.published) for t in tests) if tests else None


def _effects(entries: Sequence[Entry], *, single: bool) -> list[dict[str, Any]]:
    """What each departure does to the share solved, over all combinations of the others."""
    groups: dict[tuple[str, str], list[tuple[frozenset[str], int, bool]]] = {}
    for entry in entries:
        setting, departures = origin(entry.setting)
        solved = entry.record.solved(threshold_for(setting.experiment), single=single)
        groups.setdefault((setting.operation, setting.model), []).append(
            (departures, entry.record.seed, solved)
        )
    rows = []
    for (operation, model), runs in groups.items():
        for departure in DEPARTURES:
            on = [(seed, solved) for labels, seed, solved in runs if departure.label in labels]
            off = [(seed, solved) for labels, seed, solved in runs if departure.label not in labels]
            if not on or not off:
                continue
            low, high = _paired_interval(on, off)
            rows.append(
                {
                    "operation": operation, "model": model, "departure": departure.label,
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


def _experiment(base: Experiment, models: tuple[str, ...], title: str) -> Experiment:
    return Experiment(
        name=_PREFIX + base.name,
        title=title,
        lines=base.lines,
        seeds=base.seeds,
        models=Stated(models, base.models.source),
        operations=base.operations,
        ranges=base.ranges,
        planned=base.planned,
        cases=_cases(base),
        measures=_measures,
        asked_for=True,
    )


# With one output the NALU's gates are one model.
_ONE_OUTPUT = tuple(m for m in MODELS.value if m != "nalu-vector")
DEPARTURES_1 = _experiment(EXP1, _ONE_OUTPUT, "Experiment 1 with each combination of code departures")
DEPARTURES_2 = _experiment(EXP2, _ONE_OUTPUT, "Experiment 2 with each combination of code departures")
DEPARTURES_3 = _experiment(
    replace(EXP3, operations=OPERATIONS_OF_3, cases=cases_from(STARTS_OF_3.value)),
    EXP3.models.value,
    "Part of experiment 3, on inferred inputs: each combination",
)
DEPARTURES_4 = _experiment(EXP4, MODELS.value, "Experiment 4 with each combination of code departures")
