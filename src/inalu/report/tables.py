"""Tables of counts: a head and rows of texts, which the page and the terminal show alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inalu.experiments.catalog import EXPERIMENTS
from inalu.experiments.compare import Comparison, Pooled, pool
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import TABLE, TEXT, THRESHOLDS, Summary, Threshold, table_1, threshold_for
from inalu.experiments.record import Setting
from inalu.experiments.statistics import wilson
from inalu.experiments.summary import ExperimentSummary, by_setting, summarise_settings
from inalu.page import Cell, badge
from inalu.report.closed import ClosedForms
from inalu.report.words import (
    NOTHING,
    in_order,
    limit_name,
    model_name,
    number,
    operation_name,
    probability,
    share,
)

CLOSED = "closed form, no network"
SINGLE_NOTE = "The published runs were evaluated in float32, ours in float64; ours in float32 stand beside."


@dataclass(frozen=True)
class Grid:
    """A table: titles of its columns, rows of cells, what it shows, and how to read it."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    note: str = ""


def overview(summaries: Sequence[ExperimentSummary], closed: ClosedForms | None = None) -> Grid:
    """Return solved runs by experiment, operation and model: ours, and the published in brackets."""
    shown = [s for s in summaries if s.experiment in PUBLISHED]
    models = in_order((e.setting.model for s in shown for e in s.entries), EXPERIMENTS["exp1"].models.value)
    rows = []
    for summary in shown:
        shares = {(p.operation, p.model): p for p in pool(summary.entries)}
        for operation in _operations(summary, {operation for operation, _ in shares}):
            cells = [_brief(shares.get((operation, model))) for model in models]
            if closed is not None:
                cells.append(_closed(closed, summary, operation, threshold_for(summary.experiment)))
            rows.append((f"{summary.experiment}, {operation_name(operation)}", *cells))
    head = ("task", *map(model_name, models), *([CLOSED] if closed else []))
    return Grid(
        head,
        tuple(rows),
        "Solved runs, ours and (published)",
        f"Solved: extrapolation MSE {limit_name(TEXT)}, in exp3 {limit_name(TABLE)}. "
        "The published runs were evaluated in float32: f32 are ours in float32, where they differ.",
    )


def pooled(
    summary: ExperimentSummary, thresholds: Sequence[Threshold], closed: ClosedForms | None = None
) -> Grid:
    """Return shares pooled over distributions, with intervals that take runs of one seed as one cluster."""
    found = [{(p.operation, p.model): p for p in pool(summary.entries, t)} for t in thresholds]
    # Where the precision of the evaluation decides, both are shown.
    single = any(p.single not in (None, p.counts[0]) for shares in found for p in shares.values())
    rows = []
    for operation in _operations(summary, {operation for operation, _ in found[0]}):
        for model in _models(summary, {m for o, m in found[0] if o == operation}):
            cells: list[str] = []
            for limit, shares in zip(thresholds, found, strict=True):
                cells += _sides(shares[operation, model])
                if single:
                    one = shares[operation, model]
                    cells.append(NOTHING if one.single is None else f"{one.single}/{one.counts[1]}")
                if closed is not None:
                    cells.append(_closed(closed, summary, operation, limit))
            rows.append((operation_name(operation), model_name(model), *cells))
    return Grid(
        _head(("operation", "model"), thresholds, closed, single=single),
        tuple(rows),
        "Solved runs over all distributions",
        "Count · share (95 % interval). Runs of one seed count as one "
        "cluster, since restarts repeat from one distribution to the next."
        + (f" {SINGLE_NOTE}" if single else ""),
    )


def settings(
    summary: ExperimentSummary,
    comparisons: Sequence[Comparison],
    closed: ClosedForms | None = None,
    single: Sequence[Comparison] = (),
) -> Grid:
    """Return each setting's counts at every threshold in use, its medians, and the test against theirs.

    ``single`` are the tests with our errors in float32; they are shown where one of them comes out otherwise.
    """
    by_threshold = [
        {found.setting: found for found in summarise_settings(summary.entries, limit)} for limit in THRESHOLDS
    ]
    tests, again = ({c.setting: c for c in found} for found in (comparisons, single))
    decides = any(c.plausible != tests[setting].plausible for setting, c in again.items() if setting in tests)
    rows = []
    for setting in _settings(summary):
        cells: list[Cell] = [
            operation_name(setting.operation), model_name(setting.model), *_place_of(setting),
            *_verdict(setting, tests), *(_verdict(setting, again) if decides else ()),
        ]  # fmt: skip
        for limit, found in zip(THRESHOLDS, by_threshold, strict=True):
            cells += [_counted(found[setting].ours), _counted(found[setting].published)]
            if closed is not None:
                cells.append(_fraction(closed.count([setting], limit)))
        ours, theirs = by_threshold[0][setting].ours, by_threshold[0][setting].published
        cells.append(number(ours.median_mse_extrapolation))
        cells.append(NOTHING if theirs is None else number(theirs.median_mse_extrapolation))
        cells.append(NOTHING if ours.exact_formula is None else f"{ours.exact_formula}/{ours.runs}")
        rows.append(tuple(cells))
    starts = all(setting.initialisation is not None for setting in by_threshold[0])
    place = ("start (G, M̂, Ŵ; σ)",) if starts else ("trained on", "judged on")
    verdicts = [f"{title}{side}" for side in (("", ", float32") if decides else ("",))
                for title in ("published count", "p (Holm)")]  # fmt: skip
    return Grid(
        (
            *_head(("operation", "model", *place, *verdicts), THRESHOLDS, closed),
            "median MSE, ours", "median MSE, published", "exact formula",
        ),
        tuple(rows),
        "Solved runs in each setting",
        "Count · share (95 % interval of Wilson). p is Fisher's two-sided test of ours against "
        "the published at the paper's threshold, corrected by Holm's method within the experiment.",
    )  # fmt: skip


def crossed(summary: ExperimentSummary) -> Grid:
    """Return shares pooled over distributions, a row for each model and a column for each operation."""
    shares = {(p.model, p.operation): p for p in pool(summary.entries)}
    operations = _operations(summary, {operation for _, operation in shares})
    rows = tuple(
        (model_name(model), *(_share_of(shares.get((model, operation))) for operation in operations))
        for model in _models(summary, {model for model, _ in shares})
    )
    limit = limit_name(threshold_for(summary.experiment))
    return Grid(
        ("model", *map(operation_name, operations)),
        rows,
        f"Solved runs over all distributions, MSE {limit}",
        "Count · share (95 % interval by seed).",
    )


def first_table(summary: ExperimentSummary) -> Grid:
    """Return Table 1 of the paper: for each triple of means the largest error and the share solved."""
    ours = {
        ((row["mean_gate"], row["mean_m_hat"], row["mean_w_hat"]), row["operation"]): (
            row["max_mse_extrapolation"], row["solved_extrapolation"], row["runs"],
        )
        for row in summary.measures.get("table_1", ())
    }  # fmt: skip
    theirs = {
        cell: (s.max_mse_extrapolation, s.solved_extrapolation, s.runs) for cell, s in table_1().items()
    }
    operations = _operations(summary, {operation for _, operation in ours})
    rows = []
    for means in sorted({means for means, _ in theirs} | {means for means, _ in ours}):
        cells: list[Cell] = [", ".join(f"{m:g}" for m in means)]
        for operation in operations:
            cells += [_maximum(ours.get((means, operation))), _maximum(theirs.get((means, operation)))]
        rows.append(tuple(cells))
    sides = [f"{operation_name(o)}, {side}" for o in operations for side in ("ours", "published")]
    return Grid(
        ("E[G], E[M̂], E[Ŵ]", *sides),
        tuple(rows),
        "Table 1: largest MSE (share solved)",
        "The largest MSE over both standard deviations and all seeds, ours in float64, and the share of runs "
        "that are solved (< 0.001). A tick marks a triple whose runs are all solved, as bold does in the paper; "
        "∞ is not finite.",
    )


def different(
    comparisons: Mapping[str, Sequence[Comparison]], single: Mapping[str, Sequence[Comparison]]
) -> Grid:
    """Return the settings in which ours and the published counts are not plausible under each other.

    ``single`` are the tests with our errors in float32; a setting is shown when either test calls it different.
    """
    in_float32 = {c.setting: c for found in single.values() for c in found}
    rows: list[tuple[Cell, ...]] = []
    for name, found in comparisons.items():
        for c in found:
            other = in_float32.get(c.setting, c)
            if c.plausible and other.plausible:
                continue
            direction = [
                "ours solve more" if _more(t) else "ours solve fewer" for t in (c, other) if not t.plausible
            ]
            rows.append((
                name, operation_name(c.setting.operation), model_name(c.setting.model),
                ", ".join(_place_of(c.setting)), _fraction(c.published), _fraction(c.ours),
                probability(c.corrected), *_again(c.setting, in_float32), direction[-1],
            ))  # fmt: skip
    head = (
        "experiment", "operation", "model", "setting", "published", "ours", "p (Holm)", "ours in float32",
        "p (Holm) in float32", "direction",
    )  # fmt: skip
    return Grid(head, tuple(rows), "Settings that differ")


def _again(setting: Setting, tests: Mapping[Setting, Comparison]) -> tuple[str, str]:
    test = tests.get(setting)
    return (NOTHING, NOTHING) if test is None else (_fraction(test.ours), probability(test.corrected))


def recipes(
    shown: Sequence[tuple[str, Sequence[ExperimentSummary]]], closed: ClosedForms | None = None
) -> Grid:
    """Return solved runs by experiment, operation and model under each recipe, and the published."""
    by_recipe = [
        {(s.experiment, p.operation, p.model): p for s in found for p in pool(s.entries)}
        for _, found in shown
    ]
    cases = in_order((case for shares in by_recipe for case in shares), ())
    models = EXPERIMENTS["exp1"].models.value
    operations = EXPERIMENTS["exp1"].operations.value
    cases.sort(key=lambda c: (c[0], _rank(c[1], operations), _rank(c[2], models)))
    rows = []
    for case in cases:
        published = next((s[case].published_counts for s in by_recipe if case in s), None)
        cells = [_share_of(shares.get(case)) for shares in by_recipe]
        if closed is not None:
            settings = {
                e.setting for _, found in shown for s in found for e in s.entries
                if (e.setting.experiment, e.setting.operation) == case[:2]
            }  # fmt: skip
            cells.append(_fraction(closed.count(settings, threshold_for(case[0]))))
        rows.append((case[0], operation_name(case[1]), model_name(case[2]), *cells, _fraction(published)))
    closing = [CLOSED] if closed is not None else []
    return Grid(
        ("experiment", "operation", "model", *(name for name, _ in shown), *closing, "published"),
        tuple(rows),
        "Solved runs over all distributions",
        "Count · share (95 % interval by seed).",
    )


def _head(
    first: Sequence[str],
    thresholds: Sequence[Threshold],
    closed: ClosedForms | None,
    *,
    single: bool = False,
) -> tuple[str, ...]:
    sides = (
        "ours", "published", *(["ours in float32"] if single else []), *([CLOSED] if closed is not None else [])
    )  # fmt: skip
    return (*first, *(f"{side}, {limit_name(limit)}" for limit in thresholds for side in sides))


def _sides(shares: Pooled) -> list[str]:
    ours = share(*shares.counts, shares.interval or shares.naive)
    if shares.published_counts is None:
        return [ours, NOTHING]
    return [ours, share(*shares.published_counts, shares.published_interval)]


def _share_of(shares: Pooled | None) -> str:
    return NOTHING if shares is None else share(*shares.counts, shares.interval or shares.naive)


def _brief(shares: Pooled | None) -> str:
    if shares is None:
        return NOTHING
    single = "" if shares.single in (None, shares.counts[0]) else f", f32 {shares.single}"
    return f"{_fraction(shares.counts)}{single} ({_fraction(shares.published_counts)})"


def _fraction(counts: tuple[int, int] | None) -> str:
    return NOTHING if counts is None else f"{counts[0]}/{counts[1]}"


def _closed(closed: ClosedForms, summary: ExperimentSummary, operation: str, limit: Threshold) -> str:
    mine = (e.setting for e in summary.entries if e.setting.operation == operation)
    return _fraction(closed.count(mine, limit))


def _counted(found: Summary | None) -> str:
    if found is None:
        return NOTHING
    return share(found.solved_extrapolation, found.runs, wilson(found.solved_extrapolation, found.runs))


def _maximum(cell: tuple[float | None, int, int] | None) -> Cell:
    if cell is None:
        return NOTHING
    largest, solved, runs = cell
    text = f"{number(largest, '∞')} ({100 * solved / runs:.0f} %)"
    return badge(text, "good") if solved == runs else text


def _verdict(setting: Setting, tests: Mapping[Setting, Comparison]) -> tuple[Cell, Cell]:
    test = tests.get(setting)
    if test is None:
        return NOTHING, NOTHING
    word = badge("plausible", "good") if test.plausible else badge("not plausible", "bad")
    return word, probability(test.corrected)


def _more(test: Comparison) -> bool:
    (ours, runs), (theirs, published) = test.ours, test.published
    return ours * published > theirs * runs


def _place_of(setting: Setting) -> tuple[str, ...]:
    start = setting.initialisation
    if start is None:
        return setting.train, setting.extrapolation
    return (f"{start.mean_gate:g}, {start.mean_m_hat:g}, {start.mean_w_hat:g}; {start.std:g}",)


def _settings(summary: ExperimentSummary) -> list[Setting]:
    """Settings in the order of the catalogue."""
    experiment = EXPERIMENTS[summary.experiment]
    trains = [r.train for r in (*experiment.ranges.value, *experiment.planned.value)]
    found = list(by_setting(summary.entries))
    return sorted(
        found,
        key=lambda s: (
            _rank(s.operation, experiment.operations.value), _rank(s.model, experiment.models.value),
            _rank(s.train, trains),
        ),
    )  # fmt: skip


def _operations(summary: ExperimentSummary, found: Iterable[str]) -> list[str]:
    return in_order(sorted(found), EXPERIMENTS[summary.experiment].operations.value)


def _models(summary: ExperimentSummary, found: Iterable[str]) -> list[str]:
    return in_order(sorted(found), EXPERIMENTS[summary.experiment].models.value)


def _rank(value: str, preferred: Sequence[str]) -> tuple[int, str]:
    return (preferred.index(value), "") if value in preferred else (len(preferred), value)
