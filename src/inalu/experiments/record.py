"""The record of a run: what determined it, what came of it, and the key that both go by.

A `Specification` says what was computed, in texts alone; its key is a hash of them. A `Record` adds what came
of it. A `Setting` is one model × operation × distribution (× initialisation) of an experiment; the published
runs use the same value, so that ours and theirs meet where the texts are equal. An `Entry` is a record as one
run of a setting: two settings may show the same record, as the two gates of a NALU with one output do.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from inalu.experiments.published import TEXT, PublishedSetting, Threshold
from inalu.experiments.published import Initialisation as Initialisation

Setting: TypeAlias = PublishedSetting

#: The measures that hold the errors in float32, in which the published runs were evaluated.
SINGLE_INSIDE, SINGLE = "mse_interpolation_float32", "mse_extrapolation_float32"

#: The version of `inalu.experiments.evaluate`: records of another version are not mixed with these.
EVALUATION = 1


@dataclass(frozen=True, kw_only=True)
class Specification:
    """All that determines a run.

    Attributes
    ----------
    network, task
        Their text forms: ``inalu-independent 2-1``, ``div; inputs=2; U(-1,1) -> U(-10,-5)``.
    seed, rows
        Of the data and the weights; rows of each set.
    recipe
        Its name, which the key leaves out, since a name changes nothing.
    decisions
        Every decision of the recipe, as canonical JSON.
    law
        The law of the initial weights where it is not the recipe's, else None.
    dtype, backend, algorithm, evaluation
        Arithmetic of the training, who trained, in which version, and the version of the evaluation.

    Examples
    --------
    >>> run = Specification(
    ...     network="inalu-shared 2-1", task="add; inputs=2; U(-1,1) -> U(-10,-5)", seed=100, rows=64000,
    ...     recipe="PAPER", decisions="{}", law=None, dtype="float32", backend="cpu", algorithm=1)
    >>> len(run.key)
    32
    """

    network: str
    task: str
    seed: int
    rows: int
    recipe: str
    decisions: str
    law: str | None
    dtype: str
    backend: str
    algorithm: int
    evaluation: int = EVALUATION

    @property
    def canonical(self) -> str:
        """The text that the key is a hash of."""
        tree = asdict(self)
        del tree["recipe"]
        return json.dumps(tree, sort_keys=True, separators=(",", ":"))

    @property
    def key(self) -> str:
        """The name of the run in a store: 128 bits of BLAKE2b over the canonical text."""
        return hashlib.blake2b(self.canonical.encode(), digest_size=16, person=b"inalu.run.1").hexdigest()


def canonical_decisions(tree: Mapping[str, Any]) -> str:
    """Write a recipe's tree of decisions so that equal recipes have equal texts, whatever their names."""
    return json.dumps({k: v for k, v in tree.items() if k != "name"}, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """What a run left. An error that is not finite, or that does not apply, is None.

    Attributes
    ----------
    specification
        What was run.
    status
        Name of the engine's status in lower case: ``finished``, ``diverged``, ``non_finite``.
    mse_interpolation, mse_extrapolation
        Mean squared errors over all rows in float64, with the soft weights as trained.
    within_interpolation, within_extrapolation
        Share of rows whose relative error is at most 1e-5, soft weights.
    snapped_…
        The same four with weights snapped to -1, 0, 1 and gates to 0, 1.
    formula, exact_formula
        The snapped network's formula, and whether it equals the target by algebra.
    discreteness
        Largest distance of an effective weight or constant gate from where snapping puts it.
    restarts
        After how many epochs the weights were drawn anew.
    loss
        Mean mini-batch loss of each epoch.
    parameters
        Packed weights as trained; empty when they were not kept or not read.
    steps, seconds, threads, versions
        Data steps made, time of the training, threads and library versions.
    measures
        What is measured besides, by name: the errors of the soft weights in float32, and an experiment's own.
    """

    specification: Specification
    status: str
    mse_interpolation: float | None = None
    mse_extrapolation: float | None = None
    within_interpolation: float | None = None
    within_extrapolation: float | None = None
    snapped_mse_interpolation: float | None = None
    snapped_mse_extrapolation: float | None = None
    snapped_within_interpolation: float | None = None
    snapped_within_extrapolation: float | None = None
    formula: str | None = None
    exact_formula: bool | None = None
    discreteness: float | None = None
    restarts: tuple[int, ...] = ()
    loss: tuple[float, ...] = ()
    parameters: NDArray[np.floating[Any]] = field(default_factory=lambda: np.empty(0, np.float32), repr=False)
    steps: int = 0
    seconds: float = 0.0
    threads: int = 1
    versions: tuple[tuple[str, str], ...] = ()
    measures: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The specification's key."""
        return self.specification.key

    @property
    def seed(self) -> int:
        """The specification's seed."""
        return self.specification.seed

    @property
    def reinitialisations(self) -> int:
        """How often the weights were drawn anew."""
        return len(self.restarts)

    @property
    def errors(self) -> tuple[float | None, float | None]:
        """The errors that success is judged by: soft weights, interpolation and extrapolation."""
        return self.mse_interpolation, self.mse_extrapolation

    def solved(self, threshold: Threshold = TEXT, *, single: bool = False) -> bool:
        """Whether the extrapolation error is small enough; ``single``: as float32 sees it."""
        error = self.measures.get(SINGLE) if single else self.mse_extrapolation
        return error is not None and threshold.solved(error)

    def solved_epoch(self, threshold: Threshold = TEXT) -> int | None:
        """Return after how many epochs the training loss was first small enough, since the last start."""
        first = self.restarts[-1] if self.restarts else 0
        for epoch, loss in enumerate(self.loss[first:], start=first + 1):
            if math.isfinite(loss) and threshold.solved(loss):
                return epoch
        return None


@dataclass(frozen=True, eq=False)
class Entry:
    """A record as one run of a setting under a recipe; ``recipe`` is the name that was asked for."""

    setting: Setting
    recipe: str
    record: Record
