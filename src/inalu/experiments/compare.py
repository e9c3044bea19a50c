"""Ours beside the published counts: a test for each setting, and shares pooled over distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import Threshold, runs_of, threshold_for
from inalu.experiments.record import SINGLE, Entry, Setting
from inalu.experiments.statistics import Interval, cluster_interval, fisher, holm, wilson
from inalu.experiments.summary import by_setting

#: Settings whose corrected p-value is below this are called different.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """One setting's solved extrapolations, ours and the published, and Fisher's test that they are equal.

    ``p`` is two-sided; ``corrected`` is Holm's within the experiment; ``interval`` is Wilson's of ours.
    """

    setting: Setting
    ours: tuple[int, int]
    published: tuple[int, int]
    interval: Interval
    p: float
    corrected: float

    @property
    def plausible(self) -> bool:
        """Whether the published count is plausible under ours."""
        return self.corrected >= SIGNIFICANT


@dataclass(frozen=True)
class Pooled:
    """Solved extrapolations of one model and operation over all distributions.

    ``interval`` treats runs with the same seed as one cluster; ``naive`` is Wilson's, as if all runs were
    independent. ``published`` are the same of the published runs of the same settings. ``single`` counts our
    runs by their errors in float32, where all have them.
    """

    model: str
    operation: str
    counts: tuple[int, int]
    interval: Interval | None
    naive: Interval
    published_counts: tuple[int, int] | None
    published_interval: Interval | None
    single: int | None = None


def compare(
    entries: Sequence[Entry], threshold: Threshold | None = None, *, single: bool = False
) -> tuple[Comparison, ...]:
    """Test each setting that has published runs; a setting that repeats another's runs is left out.

    ``single`` judges our runs by their errors in float32, in which the published runs were evaluated; settings
    with a run that lacks them are left out then.
    """
    seen: set[tuple[str, ...]] = set()
    found: list[tuple[Setting, tuple[int, int], tuple[int, int]]] = []
    for setting, runs in by_setting(entries).items():
        theirs = runs_of(setting) if setting.experiment in PUBLISHED else ()
        keys = tuple(sorted(entry.record.key for entry in runs))
        if not theirs or keys in seen or (single and not all(SINGLE in e.record.measures for e in runs)):
            continue
        seen.add(keys)
        limit = threshold or threshold_for(setting.experiment)
        ours = sum(entry.record.solved(limit, single=single) for entry in runs), len(runs)
        published = sum(limit.solved(run.mse_extrapolation) for run in theirs), len(theirs)
        found.append((setting, ours, published))
    p_values = [fisher(ours, published) for _, ours, published in found]
    return tuple(
        Comparison(setting, ours, published, wilson(*ours), p, corrected)
        for (setting, ours, published), p, corrected in zip(found, p_values, holm(p_values), strict=True)
    )


def pool(entries: Sequence[Entry], threshold: Threshold | None = None) -> tuple[Pooled, ...]:
    """Pool the settings of each model and operation."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.setting.model, entry.setting.operation), []).append(entry)
    pooled = []
    for (model, operation), runs in groups.items():
        limit = threshold or threshold_for(runs[0].setting.experiment)
        ours = [(entry.record.seed, entry.record.solved(limit)) for entry in runs]
        theirs = [
            (run.seed, limit.solved(run.mse_extrapolation))
            for setting in by_setting(runs)
            if setting.experiment in PUBLISHED
            for run in runs_of(setting)
        ]
        counts = sum(solved for _, solved in ours), len(ours)
        pooled.append(
            Pooled(
                model, operation, counts, _interval(ours), wilson(*counts),
                (sum(solved for _, solved in theirs), len(theirs)) if theirs else None, _interval(theirs),
                _single(runs, limit),
            )
        )  # fmt: skip
    return tuple(pooled)


def comparison_measures(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return what `compare` and `pool` find, as JSON values."""
    if not entries or entries[0].setting.experiment not in PUBLISHED:
        return {}
    return {
        "against_published": _tests(compare(entries)),
        "against_published_float32": _tests(compare(entries, single=True)),
        "pooled": _shares(pool(entries)),
    }


def _tests(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    return [
        {
            "model": c.setting.model, "operation": c.setting.operation, "train": c.setting.train,
            "initialisation": None if c.setting.initialisation is None else str(c.setting.initialisation),
            "ours": list(c.ours), "published": list(c.published), "low": c.interval.low,
            "high": c.interval.high, "p": c.p, "p_holm": c.corrected, "plausible": c.plausible,
        }
        for c in comparisons
    ]  # fmt: skip


def _shares(pooled: Sequence[Pooled]) -> list[dict[str, Any]]:
    return [
        {
            "model": p.model, "operation": p.operation, "ours": list(p.counts),
            "interval": _bounds(p.interval), "naive_interval": _bounds(p.naive),
            "published": None if p.published_counts is None else list(p.published_counts),
            "published_interval": _bounds(p.published_interval), "ours_float32": p.single,
        }
        for p in pooled
    ]  # fmt: skip


def _single(runs: Sequence[Entry], limit: Threshold) -> int | None:
    if not all(SINGLE in entry.record.measures for entry in runs):
        return None
    return sum(entry.record.solved(limit, single=True) for entry in runs)


def _interval(outcomes: list[tuple[int, bool]]) -> Interval | None:
    return cluster_interval(outcomes) if len({seed for seed, _ in outcomes}) > 1 else None


def _bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
