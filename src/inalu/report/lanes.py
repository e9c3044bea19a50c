"""What a strip plot shows: the errors of a model on a distribution, ours and the published, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inalu.experiments.published import Threshold, runs_of, threshold_for
from inalu.experiments.record import SINGLE, Entry, Setting
from inalu.experiments.summary import ExperimentSummary, by_setting
from inalu.report.words import MODELS, in_order, limit_name, model_name, number


@dataclass(frozen=True)
class Lane:
    """The errors of one model on one distribution; None is not finite.

    ``single`` are ours in float32, in which the published were taken, where another number of them is solved.
    """

    model: str
    distribution: str
    ours: tuple[float | None, ...]
    published: tuple[float | None, ...]
    single: tuple[float | None, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines of marks it has."""
        return 3 if self.single else 2


def panels(summary: ExperimentSummary, models: Sequence[str], trains: Sequence[str]) -> dict[str, list[Lane]]:
    """Return the lanes of each operation, in the orders given and then as they come."""
    groups = by_setting(summary.entries)
    lanes: dict[str, list[Lane]] = {}
    for operation in in_order((s.operation for s in groups), ("add", "sub", "mul", "div")):
        mine = [s for s in groups if s.operation == operation]
        for train in in_order((s.train for s in mine), trains):
            for model in in_order((s.model for s in mine if s.train == train), models):
                for setting in mine:
                    if (setting.train, setting.model) == (train, model):
                        lanes.setdefault(operation, []).append(_lane(setting, groups[setting]))
    return lanes


def describe(lanes: Sequence[Lane], threshold: Threshold) -> str:
    """Say in words what a panel shows.

    Examples
    --------
    >>> from inalu.experiments.published import TEXT
    >>> describe([Lane("inalu-shared", "U(-1,1)", (1e-9, 2.0), (1e-5,))], TEXT)
    'Runs with an error ≤ 10⁻⁴. iNALU (sw): 1 of 2 of ours, median 1; 1 of 1 published, median 1.00e-5.'
    """
    parts = []
    for model in in_order((lane.model for lane in lanes), tuple(MODELS)):
        said = []
        mine = [lane for lane in lanes if lane.model == model]
        sides = {"of ours": [e for lane in mine for e in lane.ours]}
        if any(lane.single for lane in mine):
            sides["of ours in float32"] = [e for lane in mine for e in (lane.single or lane.ours)]
        sides["published"] = [e for lane in mine for e in lane.published]
        for whose, errors in sides.items():
            if errors:
                solved = solved_of(errors, threshold).replace("/", " of ")
                said.append(f"{solved} {whose}, median {number(_median(errors))}")
        parts.append(f"{model_name(model)}: {'; '.join(said)}.")
    return f"Runs with an error {limit_name(threshold)}. {' '.join(parts)}"


def _lane(setting: Setting, runs: Sequence[Entry]) -> Lane:
    ours = tuple(_finite(run.record.mse_extrapolation) for run in runs)
    theirs = tuple(_finite(run.mse_extrapolation) for run in runs_of(setting))
    single: tuple[float | None, ...] = ()
    if all(SINGLE in run.record.measures for run in runs):
        single = tuple(_finite(run.record.measures[SINGLE]) for run in runs)
        threshold = threshold_for(setting.experiment)
        if solved_of(single, threshold) == solved_of(ours, threshold):
            single = ()
    label = f"{setting.train}\n→ {setting.extrapolation}"
    return Lane(setting.model, label, ours, theirs, single)


def _finite(error: float | None) -> float | None:
    return error if error is not None and math.isfinite(error) else None


def solved_of(errors: Sequence[float | None], threshold: Threshold) -> str:
    """Write how many errors are small enough: ``3/10``."""
    return f"{sum(e is not None and threshold.solved(e) for e in errors)}/{len(errors)}"


def _median(errors: Sequence[float | None]) -> float | None:
    ordered = sorted(math.inf if e is None else e for e in errors)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return _finite(middle)
