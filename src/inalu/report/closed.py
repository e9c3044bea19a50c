"""What least squares reaches without a network, shown beside recipes that search.

On the paper's tasks a formula can be computed at once from the training rows. A count of a search says little
unless the reader sees this one beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from inalu.engine.closed_form import closed_form
from inalu.engine.discrete import snap_network
from inalu.engine.forward import network_forward
from inalu.engine.network import Network
from inalu.engine.plan import Rows
from inalu.errors import InaluError
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.job import Training
from inalu.experiments.published import Threshold
from inalu.experiments.record import Setting
from inalu.tasks import Task

#: Rows that it sees and is judged on; seeds for each task, since seeds hardly differ.
ROWS, SEEDS = 8192, 3
_MODEL = "inalu-independent"

#: Operation, training and extrapolation distribution: models and initialisations do not matter here.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class ClosedForms:
    """The extrapolation errors of closed forms by experiment and place."""

    errors: Mapping[tuple[str, Place], tuple[float, ...]]

    def count(self, settings: Iterable[Setting], threshold: Threshold) -> tuple[int, int] | None:
        """Return how many are solved in the tasks of settings, each task once; None where none is known."""
        places = dict.fromkeys((s.experiment, place_of(s)) for s in settings)
        found = [e for place in places for e in self.errors.get(place, ())]
        return (sum(map(threshold.solved, found)), len(found)) if found else None


def place_of(setting: Setting) -> Place:
    """Return what a closed form depends on."""
    return setting.operation, setting.train, setting.extrapolation


def closed_forms(settings: Iterable[Setting]) -> ClosedForms:
    """Compute the closed forms for the tasks of settings of experiments 1 to 4."""
    wanted: dict[str, set[Place]] = {}
    for setting in settings:
        wanted.setdefault(setting.experiment, set()).add(place_of(setting))
    errors: dict[tuple[str, Place], tuple[float, ...]] = {}
    for name, places in wanted.items():
        for place, jobs in _jobs(name, places).items():
            errors[name, place] = tuple(_error(job) for job in jobs)
    return ClosedForms(errors)


def _jobs(name: str, places: set[Place]) -> dict[Place, list[Training]]:
    """The catalogue's tasks at these places, one job a seed."""
    experiment = EXPERIMENTS[name]
    selection = Selection(
        models=(_MODEL,),
        operations=tuple(sorted({operation for operation, _, _ in places})),
        distributions=tuple(sorted({train for _, train, _ in places})),
        seeds=experiment.seeds.value[:SEEDS],
        rows=ROWS,
    )
    found: dict[Place, dict[int, Training]] = {}
    for case in experiment.runs(treatments()["PAPER"], selection):
        if isinstance(case.job, Training) and place_of(case.setting) in places:
            found.setdefault(place_of(case.setting), {}).setdefault(case.job.seed, case.job)
    return {place: list(jobs.values()) for place, jobs in found.items()}


def _error(job: Training) -> float:
    """Extrapolation error of the exact closed form; infinite where there is none."""
    task = job.problem
    assert isinstance(task, Task)
    train, outside = (task.draw_set(job.seed, part, job.rows) for part in ("train", "extrapolation"))
    network: Network = job.network
    try:
        exact, weights = snap_network(network, closed_form(network, Rows(train.x, train.y)))
    except InaluError:
        return float("inf")
    with np.errstate(all="ignore"):
        predicted = network_forward(exact, weights, outside.x.astype(np.float64))
        return float(np.mean((predicted - outside.y) ** 2))
