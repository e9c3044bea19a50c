"""A job: what a run computes, in the values that the engine takes. A case: a job as a run of a setting."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from inalu.engine.network import Network
from inalu.engine.plan import DType, Member
from inalu.experiments.problems import Columns, source_of
from inalu.experiments.record import Setting, Specification, canonical_decisions
from inalu.layers.laws import Law
from inalu.tasks import ROWS, Task


class Decisions(Hashable, Protocol):
    """A recipe, or a search that is made of several trainings."""

    @property
    def name(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Training:
    """Train a network on a problem.

    Attributes
    ----------
    network, problem, seed, rows, dtype
        What is trained on what; the seed is the data's and the weights'.
    recipe
        How: a recipe of the engine, or a search.
    law
        Of the initial weights; None takes the recipe's.
    """

    network: Network
    problem: Task | Columns
    seed: int
    recipe: Decisions
    law: Law | None = None
    rows: int = ROWS
    dtype: DType = "float32"

    def member(self) -> Member:
        """Return it as a member of a population, tagged with itself."""
        source = source_of(self.problem, self.seed, self.rows)
        return Member(network=self.network, source=source, seed=self.seed, law=self.law, tag=self)

    def specification(self, backend: str, algorithm: int) -> Specification:
        """Return what determines the run when this version of this backend trains it."""
        return Specification(
            network=str(self.network),
            task=str(self.problem),
            seed=self.seed,
            rows=self.rows,
            recipe=self.recipe.name,
            decisions=_decisions(self.recipe),
            law=None if self.law is None else str(self.law),
            dtype=self.dtype,
            backend=backend,
            algorithm=algorithm,
        )


@cache
def _decisions(recipe: Decisions) -> str:
    return canonical_decisions(recipe.to_json())


@dataclass(frozen=True, kw_only=True)
class Classification:
    """Train a classifier of images: the downstream task of the paper's section on clipping.

    Attributes
    ----------
    model
        The cell of its layers.
    widths
        Pixels, hidden layers, classes.
    data
        The name of the images and a checksum of their bytes.
    folder
        Where they lie; the key leaves it out.
    """

    model: str
    widths: tuple[int, ...]
    seed: int
    recipe: Decisions
    steps: int
    data: str
    folder: str

    def specification(self, backend: str, algorithm: int) -> Specification:
        """Return what determines the run."""
        return Specification(
            network=f"{self.model} {'-'.join(map(str, self.widths))}",
            task=f"classification; {self.data}; {self.steps} steps",
            seed=self.seed,
            rows=0,
            recipe=self.recipe.name,
            decisions=_decisions(self.recipe),
            law=None,
            dtype="float32",
            backend=backend,
            algorithm=algorithm,
        )


Job = Training | Classification


@dataclass(frozen=True)
class Case:
    """One run of a setting: the setting, the recipe's name as it was asked for, and the job."""

    setting: Setting
    recipe: str
    job: Job
