"""The answer of ``inalu reproduce`` in a terminal: counts beside the published ones, and claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from inalu.experiments.catalog import EXPERIMENTS
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import Summary, table_1, threshold_for
from inalu.experiments.summary import ExperimentSummary, JudgedClaim, Reproduction, SettingSummary
from inalu.progress import duration
from inalu.tasks import OPERATIONS

# Piped output is not cut to a terminal's width.
PIPE_WIDTH = 160
_UNLIKE = (
    "≠ where the published count is not plausible under ours (Fisher's test, corrected by Holm's method)."
)
_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def show(answer: Reproduction, store: Path) -> None:
    """Print the answer to standard output."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    for experiment in answer.experiments:
        console.print(Text(f"\n{EXPERIMENTS[experiment.experiment].title}", style="bold"))
        console.print(Text(_caption(experiment, answer), style="dim"))
        if experiment.experiment == "exp3":
            console.print(_table_1(experiment))
        elif experiment.experiment in _MEASURED:
            for measure in _MEASURED[experiment.experiment]:
                if measure in experiment.measures:
                    console.print(Text(measure.replace("_", " "), style="dim"))
                    console.print(_measured(experiment.measures[measure]))
        else:
            console.print(_counts(experiment))
            if _unlike(experiment):
                console.print(Text(_UNLIKE, style="dim"))
            if single := _in_float32(experiment):
                console.print(Text(single, style="dim"))
        if _one_model_twice(experiment):
            console.print(
                Text("With one output nalu-matrix and nalu-vector are one model: trained once, shown twice.",
                     style="dim")
            )  # fmt: skip
        for claim in experiment.claims:
            if claim.holds is not None:
                for part in _claim(claim):
                    console.print(part)
        untold = sum(claim.holds is None for claim in experiment.claims)
        if untold:
            console.print(_untold(untold))
    runs = sum(experiment.runs for experiment in answer.experiments)
    console.print(Text(f"\n{runs:,} runs in {duration(answer.wall_s)}, kept in {store}.", style="dim"))


def _caption(experiment: ExperimentSummary, answer: Reproduction) -> str:
    threshold = threshold_for(experiment.experiment)
    of = _published_runs(experiment)
    brackets = ""
    if any(s.published is not None for s in experiment.settings):
        brackets = f"; in brackets the published counts{f', each of {of}' if of else ''}"
    return (
        f"{experiment.recipe}, {answer.backend}, {experiment.runs:,} runs. "
        f"Solved: extrapolation MSE {threshold}{brackets}."
    )


def _in_float32(experiment: ExperimentSummary) -> str:
    """What changes when our errors are taken in float32, as the published ones were; empty when nothing does."""
    pooled = [p for p in experiment.measures.get("pooled", ()) if p["ours_float32"] is not None]
    if all(p["ours_float32"] == p["ours"][0] for p in pooled):
        return ""
    mine, single = (sum(t) for t in zip(*((p["ours"][0], p["ours_float32"]) for p in pooled), strict=True))
    tests = experiment.measures.get("against_published_float32", ())
    plausible = sum(test["plausible"] for test in tests)
    return (
        f"The published runs were evaluated in float32: there {single:,} of ours are solved, not {mine:,}, and the "
        f"published count is plausible in {plausible} of {len(tests)} settings."
    )


def _published_runs(experiment: ExperimentSummary) -> int | None:
    """How many published runs each setting has, where it is the same for all."""
    found = {s.published.runs for s in experiment.settings if s.published is not None}
    return found.pop() if len(found) == 1 else None


def _unlike(experiment: ExperimentSummary) -> set[tuple[str, str, str]]:
    """The settings whose published count is not plausible under ours."""
    tests = [t for t in experiment.measures.get("against_published", ()) if not t["plausible"]]
    found = {(t["model"], t["operation"], t["train"]) for t in tests}
    if _one_model_twice(experiment):
        # It is tested once.
        found |= {("nalu-vector", *place) for model, *place in found if model == "nalu-matrix"}
    return found


def _counts(experiment: ExperimentSummary) -> Grid:
    """Solved runs: a part for each model, a row for each distribution, a column for each operation."""
    operations = [
        name for name in OPERATIONS if any(s.setting.operation == name for s in experiment.settings)
    ]
    operations += sorted({s.setting.operation for s in experiment.settings} - set(operations))
    # So narrow that four operations fit a terminal of 80 columns.
    grid = Grid(box=None, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    grid.add_column("train → extrapolation", overflow="fold")
    for operation in operations:
        grid.add_column(operation, justify="right")
    shown, of, unlike = None, _published_runs(experiment), _unlike(experiment)
    for (model, ranges), cells in _rows(experiment.settings):
        if model != shown:
            grid.add_row(Text(model, style="bold"))
            shown = model
        grid.add_row(ranges, *(_cell(cells.get(operation), of, unlike) for operation in operations))
    return grid


def _rows(
    settings: tuple[SettingSummary, ...],
) -> Iterator[tuple[tuple[str, str], dict[str, SettingSummary]]]:
    rows: dict[tuple[str, str], dict[str, SettingSummary]] = {}
    for summary in settings:
        s = summary.setting
        rows.setdefault((s.model, f"{s.train} → {s.extrapolation}"), {})[s.operation] = summary
    yield from rows.items()


def _cell(summary: SettingSummary | None, of: int | None, unlike: set[tuple[str, str, str]]) -> Text:
    if summary is None:
        return Text("–", style="dim")
    text = Text(_share(summary.ours))
    theirs = summary.published
    if theirs is not None:
        text.append(f" ({theirs.solved_extrapolation if of else _share(theirs)})", style="dim")
        s = summary.setting
        text.append("≠" if (s.model, s.operation, s.train) in unlike else " ", style="yellow")
    return text


def _share(summary: Summary) -> str:
    return f"{summary.solved_extrapolation}/{summary.runs}"


def _table_1(experiment: ExperimentSummary) -> Grid:
    """Table 1 of the paper: largest error and share solved of each triple of means, ours and theirs."""
    operations = [
        name for name in OPERATIONS if any(s.setting.operation == name for s in experiment.settings)
    ]
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for title in ("G", "M̂", "Ŵ"):
        grid.add_column(title, justify="right")
    for operation in operations:
        grid.add_column(f"{operation}: max MSE, solved", justify="right")
    published = table_1()
    cells: dict[tuple[float, float, float], dict[str, Text]] = {}
    for row in experiment.measures["table_1"]:
        means = (row["mean_gate"], row["mean_m_hat"], row["mean_w_hat"])
        theirs = published.get((means, row["operation"]))
        good = row["solved_extrapolation"] == row["runs"]
        text = Text(
            f"{_error(row['max_mse_extrapolation'])} {row['solved_extrapolation'] / row['runs']:.0%}",
            style="bold" if good else "",
        )
        if theirs is not None:
            share = theirs.solved_extrapolation / theirs.runs
            text.append(f" ({_error(theirs.max_mse_extrapolation)} {share:.0%})", style="dim")
        cells.setdefault(means, {})[row["operation"]] = text
    for means, columns in sorted(cells.items()):
        grid.add_row(*(f"{mean:g}" for mean in means), *(columns.get(o, Text("–")) for o in operations))
    return grid


def _error(mse: float | None) -> str:
    return "∞" if mse is None else f"{mse:.1e}"


#: Experiments whose answer is what they measure rather than what they solve.
_MEASURED = {
    "regularization": ("stages",),
    "stability": ("non_finite",),
    "mnist": ("accuracies",),
    **{f"departures-{base}": ("combinations", "effects", "effects_float32") for base in PUBLISHED},
}


def _measured(rows: Sequence[Mapping[str, object]]) -> Grid:
    names = list(dict.fromkeys(name for row in rows for name in row))
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for name in names:
        text = any(isinstance(row.get(name), str) for row in rows)
        grid.add_column(name.replace("_", " "), justify="left" if text else "right")
    for row in rows:
        grid.add_row(*(_value(row.get(name)) for name in names))
    return grid


def _value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _one_model_twice(experiment: ExperimentSummary) -> bool:
    shown: dict[str, set[str]] = {}
    for entry in experiment.entries:
        shown.setdefault(entry.record.key, set()).add(entry.setting.model)
    return any({"nalu-matrix", "nalu-vector"} <= models for models in shown.values())


def _claim(claim: JudgedClaim) -> Iterator[RenderableType]:
    mark, style = _MARKS[claim.holds]
    yield _indented(Text(mark, style=style), Text(f"{claim.claim} (line {claim.line})"), width=1)
    for name, value in (("ours", claim.ours), ("published", claim.published)):
        if value is not None:
            yield _indented(Text(f"  {name}", style="dim"), Text(_figure(value), style="dim"), width=11)


def _indented(first: Text, text: Text, *, width: int) -> Grid:
    """A word and a text beside it, whose further lines begin where its first does."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=width)
    grid.add_column()
    grid.add_row(first, text)
    return grid


def _untold(count: int) -> Grid:
    mark, style = _MARKS[None]
    claims = "1 claim" if count == 1 else f"{count} claims"
    said = (
        f"{claims} of the text cannot be told from these runs: that takes every setting, as often as in the "
        "paper. The page lists them."
    )
    return _indented(Text(mark, style=style), Text(said, style="dim"), width=1)


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")
