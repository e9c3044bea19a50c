"""From entries to what is said of an experiment: counts a setting, ours beside the published ones, as data.

The report builds its tables on these values, and `inalu reproduce --json` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import Summary, Threshold, published_summary, summarise, threshold_for
from inalu.experiments.record import Entry, Setting

#: What an experiment measures besides counts: names to JSON values.
Measures = Mapping[str, Any]


@dataclass(frozen=True)
class SettingSummary:
    """The counts of one setting, ours and the published ones where there are any."""

    setting: Setting
    ours: Summary
    published: Summary | None

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``settings`` in the JSON answer."""
        s = self.setting
        start = s.initialisation
        means = ("mean_gate", "mean_m_hat", "mean_w_hat", "std")
        return {
            "model": s.model,
            "operation": s.operation,
            "train": s.train,
            "extrapolation": s.extrapolation,
            "initialisation": None if start is None else {name: getattr(start, name) for name in means},
            **_counts(self.ours),
            "published": None if self.published is None else _counts(self.published),
        }


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the text, and what our runs say of it.

    ``holds`` is None where our runs cannot tell; ``ours`` and ``published`` are numbers, texts or None.
    ``line`` is the line of the paper's TeX source; ``published_holds`` is what the published runs say of it,
    None where there are none.
    """

    experiment: str
    claim: str
    line: int
    holds: bool | None
    ours: float | str | None
    published: float | str | None
    published_holds: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``claims`` in the JSON answer."""
        return {
            name: getattr(self, name)
            for name in ("experiment", "claim", "line", "holds", "ours", "published")
        }


@dataclass(frozen=True)
class ExperimentSummary:
    """What is said of one experiment under one recipe."""

    experiment: str
    recipe: str
    entries: tuple[Entry, ...] = field(repr=False)
    settings: tuple[SettingSummary, ...]
    measures: Measures
    claims: tuple[JudgedClaim, ...]
    wall_s: float = 0.0

    @property
    def runs(self) -> int:
        """Runs shown; a record that two settings show counts twice."""
        return len(self.entries)

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``experiments`` in the JSON answer."""
        return {
            "experiment": self.experiment,
            "wall_s": round(self.wall_s, 3),
            "runs": self.runs,
            "settings": [setting.to_json() for setting in self.settings],
            "measures": dict(self.measures),
        }


@dataclass(frozen=True)
class Reproduction:
    """The answer of one ``inalu reproduce``."""

    recipe: str
    backend: str
    wall_s: float
    experiments: tuple[ExperimentSummary, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON answer; every number in it is finite or null."""
        return {
            "recipe": self.recipe,
            "backend": self.backend,
            "wall_s": round(self.wall_s, 3),
            "experiments": [experiment.to_json() for experiment in self.experiments],
            "claims": [claim.to_json() for e in self.experiments for claim in e.claims],
        }


def count(entries: Iterable[Entry], threshold: Threshold) -> Summary:
    """Count what is solved among entries, formulas included.

    ``exact_formula`` is None when no run has a formula to judge.
    """
    listed = list(entries)
    judged = [e.record.exact_formula for e in listed if e.record.exact_formula is not None]
    counts = summarise((entry.record.errors for entry in listed), threshold)
    return replace(counts, exact_formula=sum(judged) if judged else None)


def by_setting(entries: Iterable[Entry]) -> dict[Setting, list[Entry]]:
    """Group entries by setting, in the order in which settings first appear."""
    groups: dict[Setting, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.setting, []).append(entry)
    return groups


def summarise_settings(
    entries: Iterable[Entry], threshold: Threshold | None = None
) -> tuple[SettingSummary, ...]:
    """Count each setting, with the paper's threshold for its experiment unless another is given."""
    found = []
    for setting, runs in by_setting(entries).items():
        limit = threshold or threshold_for(setting.experiment)
        theirs = published_summary(setting, limit) if setting.experiment in PUBLISHED else None
        found.append(SettingSummary(setting, count(runs, limit), theirs))
    return tuple(found)


def summarise_experiments(
    recipe: str, entries: Mapping[str, Sequence[Entry]], *, wall_s: Mapping[str, float] | None = None
) -> tuple[ExperimentSummary, ...]:
    """Say all that there is to say of the entries of some experiments under one recipe.

    Parameters
    ----------
    recipe
        Its name.
    entries
        By experiment. Claims that compare two experiments can be judged when both are given.
    wall_s
        Seconds that each took, where that is known.

    Raises
    ------
    InvalidArgument
        When the entries come from several programs.
    """
    # The catalogue's experiments measure with this module, so they come late.
    from inalu.experiments.catalog import EXPERIMENTS
    from inalu.experiments.claims import judge
    from inalu.experiments.compare import comparison_measures
    from inalu.experiments.store import one_program

    times = wall_s or {}
    one_program([entry for listed in entries.values() for entry in listed])
    measures = {
        name: {**EXPERIMENTS[name].measures(listed), **comparison_measures(listed)}
        for name, listed in entries.items()
    }
    return tuple(
        ExperimentSummary(
            name,
            recipe,
            tuple(listed),
            summarise_settings(listed),
            measures[name],
            judge(name, entries, measures),
            times.get(name, 0.0),
        )
        for name, listed in entries.items()
    )


def summarise_experiment(
    name: str, recipe: str, entries: Sequence[Entry], *, wall_s: float = 0.0
) -> ExperimentSummary:
    """Say all that there is to say of one experiment alone; see `summarise_experiments`."""
    return summarise_experiments(recipe, {name: entries}, wall_s={name: wall_s})[0]


def _counts(summary: Summary) -> dict[str, Any]:
    names = (
        "runs", "solved_interpolation", "solved_extrapolation", "solved_both", "exact_formula",
        "median_mse_extrapolation", "max_mse_extrapolation",
    )  # fmt: skip
    return {name: getattr(summary, name) for name in names}
