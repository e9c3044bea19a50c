"""What a store holds for one page: one recipe in full, the others for comparison, and what is missing.

Runs of different backends or algorithm versions are never put together: where a store holds several, one
must be chosen.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inalu.engine.recipe import Search
from inalu.errors import InaluError, InvalidArgument, check_choice
from inalu.experiments.catalog import EXPERIMENTS, treatments
from inalu.experiments.compare import Comparison, compare
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.record import Entry
from inalu.experiments.store import Store
from inalu.experiments.summary import ExperimentSummary, summarise_experiments


@dataclass(frozen=True)
class Gap:
    """Runs that the catalogue has by default and the store has not; ``have`` of ``wanted`` are there."""

    experiment: str
    have: int
    wanted: int | None


@dataclass(frozen=True)
class Material:
    """All that a page is made from.

    Attributes
    ----------
    recipe
        The one that is shown in full.
    experiments
        What there is under it, in the order of the catalogue.
    others
        Experiments 1 to 4 under the other recipes of the store, by recipe.
    comparisons
        For each experiment that was published, the tests of ours against the published counts.
    comparisons_single
        The same with our errors in float32, in which the published runs were evaluated, where all have them.
    gaps
        What is missing under the recipe.
    columns, records
        Every run of a setting in the store, as the CSV has it.
    """

    recipe: str
    experiments: tuple[ExperimentSummary, ...]
    others: tuple[tuple[str, tuple[ExperimentSummary, ...]], ...]
    comparisons: dict[str, tuple[Comparison, ...]]
    comparisons_single: dict[str, tuple[Comparison, ...]]
    gaps: tuple[Gap, ...]
    columns: tuple[str, ...]
    records: list[tuple[Any, ...]]

    @property
    def runs(self) -> int:
        """Runs shown in full."""
        return sum(experiment.runs for experiment in self.experiments)


def gather(
    path: str | os.PathLike[str],
    *,
    recipe: str | None = None,
    backend: str | None = None,
    algorithm: int | None = None,
) -> Material:
    """Read a store.

    Parameters
    ----------
    path
        The store.
    recipe
        Which is shown in full; None takes PAPER where the store has it, else the first it has.
    backend, algorithm
        Which runs to take where the store holds those of several.

    Raises
    ------
    StoreError
        When there is no such store.
    InvalidArgument
        When it holds no run of what is asked for, or runs that must not be mixed.
    """
    with Store.read(path) as store:
        holdings = store.holdings()
        if not holdings:
            raise InvalidArgument(
                f"the store {Path(path).name!r} holds no run; `inalu reproduce exp1` adds some."
            )
        if backend is not None:
            check_choice("backend", backend, sorted({h.backend for h in holdings}))
        if algorithm is not None:
            check_choice("algorithm", str(algorithm), sorted({str(h.algorithm) for h in holdings}))
        held = _recipes({h.recipe for h in holdings})
        if recipe is None:
            recipe = held[0]
        check_choice("recipe", recipe, held)

        def summaries(name: str, experiments: Sequence[str]) -> tuple[ExperimentSummary, ...]:
            asked = set(experiments)
            found = [e for e in store.entries(recipe=name) if e.setting.experiment in asked]
            kept = one_choice(found, backend, algorithm)
            _no_repeats(kept)
            groups = {e: [x for x in kept if x.setting.experiment == e] for e in experiments}
            return summarise_experiments(name, {e: runs for e, runs in groups.items() if runs})

        main = summaries(recipe, tuple(EXPERIMENTS))
        others = tuple((name, summaries(name, PUBLISHED)) for name in held if name != recipe)
        columns, records = store.results()
    if not main:
        raise InvalidArgument(f"the store {Path(path).name!r} holds no run of {recipe} that can be shown.")
    return Material(
        recipe=recipe,
        experiments=main,
        others=tuple((name, found) for name, found in others if found),
        comparisons=_comparisons(main, single=False),
        comparisons_single=_comparisons(main, single=True),
        gaps=_gaps(recipe, main),
        columns=columns,
        records=[tuple(record) for record in records],
    )


def _comparisons(
    summaries: Sequence[ExperimentSummary], *, single: bool
) -> dict[str, tuple[Comparison, ...]]:
    tested = [s for s in summaries if s.experiment in PUBLISHED]
    return {s.experiment: found for s in tested if (found := compare(s.entries, single=single))}


def one_choice(entries: Sequence[Entry], backend: str | None, algorithm: int | None) -> list[Entry]:
    """Return entries of one program for each kind of cell.

    What was asked for decides where there are several programs; a cell that only another trained is kept,
    and the page names its program.

    Raises
    ------
    InvalidArgument
        When several remain.
    """
    by_cell: dict[str, list[Entry]] = {}
    for entry in entries:
        by_cell.setdefault(entry.record.specification.network.partition(" ")[0], []).append(entry)
    kept: set[int] = set()
    for cell, runs in by_cell.items():
        for name, wanted in (("backend", backend), ("algorithm", algorithm)):
            chosen = [e for e in runs if getattr(e.record.specification, name) == wanted]
            runs = chosen or runs
        programs = sorted({program_of(e) for e in runs})
        if len(programs) > 1:
            names = ", ".join(f"{b} {a}" for b, a in programs)
            raise InvalidArgument(
                f"the runs of {cell} under {runs[0].recipe} come from several programs (backend and "
                f"algorithm version): {names}. Choose one with --backend or --algorithm."
            )
        kept.update(map(id, runs))
    return [entry for entry in entries if id(entry) in kept]


def program_of(entry: Entry) -> tuple[str, int]:
    """Return backend and algorithm version of a run."""
    s = entry.record.specification
    return s.backend, s.algorithm


def is_search(recipe: str) -> bool:
    """Whether a recipe is a search over several starts, as ROBUST is."""
    known = treatments().get(recipe)
    return known is not None and isinstance(known.recipe, Search)


def _recipes(held: set[str]) -> list[str]:
    """Recipes in the order of the registry, which begins with PAPER."""
    return [name for name in treatments() if name in held] + sorted(held - set(treatments()))


def _no_repeats(entries: Sequence[Entry]) -> None:
    """Refuse two runs of one seed in one setting: the recipe was changed between them."""
    seen: dict[Any, str] = {}
    for entry in entries:
        case = entry.setting, entry.record.seed
        if seen.setdefault(case, entry.record.key) != entry.record.key:
            s = entry.setting
            raise InvalidArgument(
                f"the store holds two runs of seed {entry.record.seed} of {s.experiment} {s.model} "
                f"{s.operation} {s.train} under {entry.recipe}, which was changed between them; "
                "keep them in stores of their own."
            )


def _gaps(recipe: str, summaries: Sequence[ExperimentSummary]) -> tuple[Gap, ...]:
    have = {s.experiment: {(e.setting, e.record.seed) for e in s.entries} for s in summaries}
    treatment = treatments().get(recipe)
    found = []
    for name, experiment in EXPERIMENTS.items():
        if experiment.asked_for and name not in have:
            continue
        wanted: int | None = None
        present = len(have.get(name, ()))
        if treatment is not None and experiment.needs is None:
            try:
                cases = {(case.setting, case.job.seed) for case in experiment.runs(treatment)}
            except InaluError:
                # A recipe that has no such parts: the experiment does not exist under it.
                continue
            wanted, present = len(cases), len(cases & have.get(name, set()))
        if not present or (wanted is not None and present < wanted):
            found.append(Gap(name, present, wanted))
    return tuple(found)
