"""Runs, ours or the published, in one form that a claim can be measured on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import Threshold, published_runs, threshold_for
from inalu.experiments.record import SINGLE, SINGLE_INSIDE, Entry, Setting

NALU = ("nalu-matrix", "nalu-vector")
INALU = ("inalu-shared", "inalu-independent")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run as a claim sees it; errors that are not finite are infinite."""

    setting: Setting
    seed: int
    inside: float
    outside: float
    restarts: int | None
    status: str

    @property
    def solved(self) -> bool:
        """Whether the extrapolation error is within the paper's threshold for the experiment."""
        return threshold_for(self.setting.experiment).solved(self.outside)


@dataclass(frozen=True)
class Evidence:
    """The runs of every experiment that is at hand, and what else was measured."""

    outcomes: Mapping[str, Sequence[Outcome]]
    measures: Mapping[str, Mapping[str, Any]]

    def of(
        self,
        experiment: str,
        *,
        models: Sequence[str] | None = None,
        operation: str | None = None,
        where: Callable[[Setting], bool] = lambda setting: True,
    ) -> list[Outcome]:
        """Return the runs of an experiment that fit."""
        return [
            run
            for run in self.outcomes.get(experiment, ())
            if (models is None or run.setting.model in models)
            and (operation is None or run.setting.operation == operation)
            and where(run.setting)
        ]

    def enough(self, experiment: str, repetitions: int) -> bool:
        """Whether every setting of an experiment has its runs, repeated as often as the paper did."""
        seeds: dict[Setting, set[int]] = {}
        for run in self.outcomes.get(experiment, ()):
            seeds.setdefault(run.setting, set()).add(run.seed)
        return _complete(experiment, set(seeds)) and all(len(s) >= repetitions for s in seeds.values())


def _complete(experiment: str, settings: set[Setting]) -> bool:
    """Whether all default settings of an experiment are there."""
    if not settings:
        return False
    if experiment in PUBLISHED:
        return {run.setting for run in published_runs(experiment)} <= settings
    return True


def ours(
    entries: Mapping[str, Sequence[Entry]],
    measures: Mapping[str, Mapping[str, Any]],
    *,
    single: bool = False,
) -> Evidence:
    """Return our runs as evidence; ``single``: with their errors in float32, where they have them."""
    return Evidence(
        {
            name: [
                Outcome(
                    e.setting, e.record.seed, *_errors(e, single), e.record.reinitialisations, e.record.status
                )
                for e in listed
            ]
            for name, listed in entries.items()
        },
        measures,
    )


def _errors(entry: Entry, single: bool) -> tuple[float, float]:
    found = entry.record.measures
    if single and SINGLE in found:
        return _size(found[SINGLE_INSIDE]), _size(found[SINGLE])
    return _size(entry.record.mse_interpolation), _size(entry.record.mse_extrapolation)


def published() -> Evidence:
    """Return the published runs as evidence."""
    return Evidence(
        {
            name: [
                Outcome(
                    run.setting, run.seed, _size(run.mse_interpolation), _size(run.mse_extrapolation),
                    run.reinitialisations, "published",
                )
                for run in published_runs(name)
            ]
            for name in PUBLISHED
        },
        {},
    )  # fmt: skip


def count_text(runs: Sequence[Outcome], threshold: Threshold | None = None) -> str:
    """Write how many runs are solved: ``60 of 70``."""
    solved = sum(run.solved if threshold is None else threshold.solved(run.outside) for run in runs)
    return f"{solved} of {len(runs)}"


def share(runs: Sequence[Outcome]) -> float:
    """The share of runs that are solved; 0 of none."""
    return sum(run.solved for run in runs) / len(runs) if runs else 0.0


def _size(mse: float | None) -> float:
    return math.inf if mse is None or not math.isfinite(mse) else mse
