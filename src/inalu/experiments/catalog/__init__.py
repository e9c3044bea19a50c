"""The catalogue: every experiment as data, by name, each value with its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from inalu.errors import InvalidArgument, check_choice
from inalu.experiments.catalog.ablation import ABLATION
from inalu.experiments.catalog.arithmetic import EXP1, EXP2
from inalu.experiments.catalog.challenges import EXPERIMENT as CHALLENGES
from inalu.experiments.catalog.departures import DEPARTURES_1, DEPARTURES_2, DEPARTURES_3, DEPARTURES_4
from inalu.experiments.catalog.functions import EXP3, EXP4, REGULARIZATION
from inalu.experiments.catalog.images import MNIST
from inalu.experiments.catalog.model import Experiment as Experiment
from inalu.experiments.catalog.model import Ranges as Ranges
from inalu.experiments.catalog.model import Selection as Selection
from inalu.experiments.catalog.model import Stated as Stated
from inalu.experiments.catalog.model import Treatment as Treatment
from inalu.experiments.catalog.stability import STABILITY
from inalu.experiments.catalog.treatments import treatments as treatments

_ALL = (
    *(EXP1, EXP2, EXP3, EXP4, REGULARIZATION, CHALLENGES, ABLATION),
    *(DEPARTURES_1, DEPARTURES_2, DEPARTURES_3, DEPARTURES_4, STABILITY, MNIST),
)
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({experiment.name: experiment for experiment in _ALL})


def choose(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return experiments by name, in the order of the catalogue.

    ``all`` is every one but those that must be asked for by name.

    Raises
    ------
    InvalidArgument
        When there is no such experiment, or none is named.
    """
    wanted = list(names)
    if not wanted:
        raise InvalidArgument(f"name an experiment: {', '.join(EXPERIMENTS)}, or all.")
    for name in wanted:
        check_choice("experiment", name, (*EXPERIMENTS, "all"))
    return tuple(e for e in EXPERIMENTS.values() if e.name in wanted or ("all" in wanted and not e.asked_for))
