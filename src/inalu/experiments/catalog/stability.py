"""How deep a stack of 4 → 4 layers may be before it overflows, with each kind of clipping on and off."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from inalu.experiments.catalog.arithmetic import SEEDS
from inalu.experiments.catalog.model import Experiment, Ranges, Selection, Stated, Treatment
from inalu.experiments.job import Case, Training
from inalu.experiments.problems import Columns
from inalu.experiments.record import Entry, Record, Setting
from inalu.experiments.summary import by_setting

WIDTH = Stated(4, "text 260, 'four inputs, four outputs neurons each'")
DEPTHS = Stated(tuple(range(1, 9)), "text 260 speaks of four layers; up to twice as many")
EPOCHS = Stated(5, "ours: text 260, 'after the first training steps'")
#: A cell with its options, and what its label says of ω: the original NALU has no such bound to switch.
CELLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("nalu-matrix", {}, "no ω"),
    ("inalu-shared", {"omega": None}, "no ω"),
    ("inalu-shared", {}, "ω = 20"),
)
CLIPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gradients clipped", {}),
    ("gradients not clipped", {"clip": None}),
)


def _cases(experiment: Experiment, treatment: Treatment, selection: Selection) -> Iterator[Case]:
    width = WIDTH.value
    for ranges, seed, depth in itertools.product(
        experiment.chosen_ranges(selection), experiment.chosen_seeds(selection), DEPTHS.value
    ):
        problem = Columns("pair-sums", (ranges.train,) * width, (ranges.extrapolation,) * width)
        for (cell, options, bound), (clipping, changes) in itertools.product(CELLS, CLIPS):
            if cell not in experiment.chosen_models(selection):
                continue
            recipe = treatment.recipe_for(experiment.name, epochs=EPOCHS.value, **changes)
            network = treatment.network(cell, (width,) * (depth + 1), **options)
            layers = "1 layer" if depth == 1 else f"{depth} layers"
            setting = Setting(
                experiment.name, f"{cell}, {layers}, {bound}, {clipping}", problem.function, ranges.train,
                ranges.extrapolation,
            )  # fmt: skip
            job = Training(network=network, problem=problem, seed=seed, recipe=recipe, rows=selection.rows)
            yield Case(setting, treatment.name, job)


def became_non_finite(record: Record) -> bool:
    """Whether a parameter, a loss or an output of the trained network was NaN or infinite."""
    losses = any(loss != loss or abs(loss) == float("inf") for loss in record.loss)
    return record.status == "non_finite" or losses or record.mse_interpolation is None


def _measures(entries: Sequence[Entry]) -> dict[str, Any]:
    rows = []
    for setting, runs in by_setting(entries).items():
        cell, layers, bound, clipping = setting.model.split(", ")
        rows.append(
            {
                "model": cell, "layers": int(layers.split()[0]), "value_clipping": bound == "ω = 20",
                "gradient_clipping": clipping == "gradients clipped", "runs": len(runs),
                "non_finite": sum(became_non_finite(e.record) for e in runs),
                "stopped": sum(e.record.status == "non_finite" for e in runs),
            }
        )  # fmt: skip
    return {"non_finite": rows}


STABILITY = Experiment(
    name="stability",
    title="Stability: 1 to 8 layers of 4 → 4, clipped and not",
    lines=(258, 261),
    seeds=Stated(tuple(range(100, 120)), f"ours: twice as many as elsewhere ({SEEDS.source})"),
    models=Stated(("nalu-matrix", "inalu-shared"), "text 260 and 310"),
    operations=Stated(("add",), "text 260, 'a simple summation task': each output is the sum of two inputs"),
    ranges=Stated((Ranges("N(-3,3)", "N(3,4)"),), "ours: those of experiment 4"),
    cases=_cases,
    measures=_measures,
)
