"""What an experiment of the catalogue is: values with their sources, and how its runs follow from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from inalu.engine.cells import CELLS
from inalu.engine.network import Network
from inalu.engine.recipe import Recipe
from inalu.errors import InvalidArgument, check_choice
from inalu.experiments.job import Case, Decisions
from inalu.experiments.record import Entry
from inalu.tasks import OPERATIONS, ROWS, Distribution, parse_distribution

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Stated(Generic[T]):
    """A value and where it comes from.

    ``source`` names a line of the paper's TeX source ("text 378"), a file of the published code at commit
    e41d80d ("code experiment_runs/exp3/experimentplanner.py"), the published files, or says that it is ours.
    """

    value: T
    source: str


@dataclass(frozen=True)
class Ranges:
    """Where inputs come from: text forms of the training and the extrapolation distribution."""

    train: str
    extrapolation: str

    def __post_init__(self) -> None:
        for name in ("train", "extrapolation"):
            object.__setattr__(self, name, str(parse_distribution(getattr(self, name))))


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which part of an experiment is asked for; None is the experiment's own default.

    Attributes
    ----------
    models, operations, distributions, seeds
        Cells, operations, training distributions (text forms), seeds.
    all_distributions
        Also what was planned and not published.
    rows
        Of each set.
    folder
        Where the images of ``mnist`` lie.
    """

    models: tuple[str, ...] | None = None
    operations: tuple[str, ...] | None = None
    distributions: tuple[str, ...] | None = None
    all_distributions: bool = False
    seeds: tuple[int, ...] | None = None
    rows: int = ROWS
    folder: str | None = None

    def __post_init__(self) -> None:
        for model in self.models or ():
            check_choice("model", model, CELLS)
        for operation in self.operations or ():
            check_choice("operation", operation, OPERATIONS)
        if self.distributions is not None:
            texts = tuple(str(parse_distribution(text)) for text in self.distributions)
            object.__setattr__(self, "distributions", texts)


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """A recipe by name, with what else goes with it: how an experiment is run.

    Attributes
    ----------
    name, about
        What ``--recipe`` calls it; one line for people.
    recipe
        The engine's.
    published_sign
        Whether networks of several layers get the sign vector in the index order of the published code.
    epochs
        Where an experiment has others than the recipe.
    inputs, outside
        Where an experiment trains on other inputs than the text says, or is judged on others outside; its
        settings keep their names.
    """

    name: str
    about: str
    recipe: Decisions
    published_sign: bool = False
    epochs: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Distribution] = field(default_factory=dict)
    outside: Mapping[str, Distribution] = field(default_factory=dict)

    def recipe_for(self, experiment: str, **changes: Any) -> Decisions:
        """Return the recipe of an experiment, with some of its decisions changed."""
        if experiment in self.epochs:
            changes = {"epochs": self.epochs[experiment], **changes}
        if not changes:
            return self.recipe
        if not isinstance(self.recipe, Recipe):
            raise InvalidArgument(
                f"{experiment} changes parts of a recipe, and {self.name} has no such parts; "
                "use PAPER or AUTHORS_CODE."
            )
        return self.recipe.but(**changes)

    def network(self, cell: str, widths: tuple[int, ...], **options: Any) -> Network:
        """Return a network as this treatment has it.

        With one output a matrix gate and a vector gate are the same model, which goes by one name here.
        """
        kind = CELLS[cell]
        if self.published_sign and len(widths) > 2 and "sign" in kind.preset:
            options = {"sign": "published", **options}
        if widths[1:] == (1,) and cell == "nalu-vector":
            cell = "nalu-matrix"
        return Network(cell, widths, **options)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the catalogue.

    Attributes
    ----------
    name, title
        What the command line calls it, and a line for people.
    seeds, models, operations, ranges
        Its defaults, each with its source.
    planned
        Ranges that were planned and not published, in no default.
    cases
        ``(experiment, treatment, selection)`` → its runs.
    measures
        Entries → what it measures besides counts.
    needs
        What must be there besides the core: ``torch`` or ``data``.
    asked_for
        Whether it runs only when it is named: ``all`` leaves it out.
    lines
        First and last line of the paper's TeX source that describe it.
    """

    name: str
    title: str
    lines: tuple[int, int]
    seeds: Stated[tuple[int, ...]]
    models: Stated[tuple[str, ...]]
    operations: Stated[tuple[str, ...]]
    ranges: Stated[tuple[Ranges, ...]]
    planned: Stated[tuple[Ranges, ...]] = field(default_factory=lambda: Stated((), "none"))
    cases: Callable[[Experiment, Treatment, Selection], Iterator[Case]]
    measures: Callable[[Sequence[Entry]], dict[str, Any]] = field(default=lambda entries: {})
    needs: str | None = None
    asked_for: bool = False

    def runs(self, treatment: Treatment, selection: Selection | None = None) -> tuple[Case, ...]:
        """Return the runs of this experiment under a treatment, or of a part of it."""
        return tuple(self.cases(self, treatment, selection or Selection()))

    def chosen_seeds(self, selection: Selection) -> tuple[int, ...]:
        """The seeds of a selection."""
        return self.seeds.value if selection.seeds is None else selection.seeds

    def chosen_models(self, selection: Selection) -> tuple[str, ...]:
        """The models of a selection: any cell of the registry may be asked for."""
        return self.models.value if selection.models is None else selection.models

    def chosen_operations(self, selection: Selection) -> tuple[str, ...]:
        """The operations of a selection."""
        return self.operations.value if selection.operations is None else selection.operations

    def chosen_ranges(self, selection: Selection, more: Sequence[Ranges] = ()) -> tuple[Ranges, ...]:
        """The ranges of a selection; those asked for by name may be planned ones, or ``more``."""
        known = {r.train: r for r in (*more, *self.planned.value, *self.ranges.value)}
        if selection.distributions is not None:
            return tuple(known[text] for text in selection.distributions if text in known)
        return (*self.ranges.value, *(self.planned.value if selection.all_distributions else ()))


def split_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated list whose items may hold commas in brackets.

    Examples
    --------
    >>> split_list("U(-1,1), E(0.2)")
    ('U(-1,1)', 'E(0.2)')
    """
    return tuple(part.strip() for part in re.findall(r"(?:[^,(]|\([^)]*\))+", text) if part.strip())


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read seeds: whole numbers and ranges, separated by commas.

    Raises
    ------
    InvalidArgument
        When the text is not that.

    Examples
    --------
    >>> parse_seeds("100-103, 7")
    (100, 101, 102, 103, 7)
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= 100_000:
            raise InvalidArgument(
                f"seeds must be whole numbers or rising ranges such as 100-109,7; got {text!r}."
            )
        seeds.extend(range(first, last + 1))
    return tuple(dict.fromkeys(seeds))
