"""Tables of what experiments measure besides counts: stability, departures, and whatever else there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inalu.page import Cell
from inalu.report.tables import Grid
from inalu.report.words import NOTHING, in_order, model_name, operation_name, plain


def stability(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return how many runs became non-finite: a row for each way of clipping, a column for each depth."""
    depths = sorted({row["layers"] for row in rows})
    found: dict[tuple[str, str, str], dict[int, str]] = {}
    for row in rows:
        bound = "yes" if row["value_clipping"] else "no"
        gradients = "yes" if row["gradient_clipping"] else "no"
        cells = found.setdefault((model_name(row["model"]), bound, gradients), {})
        cells[row["layers"]] = f"{row['non_finite']}/{row['runs']}"
    return Grid(
        ("model", "ω clips", "gradients clipped", *(_layers(d) for d in depths)),
        tuple((*place, *(cells.get(d, NOTHING) for d in depths)) for place, cells in found.items()),
        "Runs that became non-finite",
        "A run counts when a parameter, a loss or an output was NaN or infinite.",
    )


def combinations(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return how near each combination of the code's departures comes to the published counts, nearest first."""
    labels = [name for name, value in rows[0].items() if isinstance(value, bool)]
    # Where the precision of the evaluation decides, both are shown, and float32 is what compares like with like.
    single = any(row["mean_distance_float32"] not in (None, row["mean_distance"]) for row in rows)
    sides = ("", "_float32") if single else ("",)
    nearest = f"mean_distance{sides[-1]}"
    ordered = sorted(rows, key=lambda row: (row[nearest] is None, row[nearest] or 0.0))
    titles = [f"{what}{', float32' if side else ''}" for side in sides
              for what in ("settings that differ", "mean distance", "by chance")]  # fmt: skip
    return Grid(
        (*labels, *titles),
        tuple(
            (
                *("✓" if row[label] else NOTHING for label in labels),
                *(cell for side in sides for cell in _apart(row, side)),
            )
            for row in ordered
        ),
        "Combinations of departures, the nearest to the published counts first",
        "✓: as in the published code; the row without any is PAPER, that with all of them AUTHORS_CODE. A "
        "setting differs by Fisher's test, corrected by Holm's method; the distance is that of the shares "
        "solved, ours and the published, over all settings, and beside it what it would be in the mean if ours "
        "and theirs were two samples of the same runs.",
    )


def _apart(row: Mapping[str, Any], side: str) -> tuple[str, str, str]:
    count, distance = row[f"differ{side}"], row[f"mean_distance{side}"]
    if count is None:
        return NOTHING, NOTHING, NOTHING
    return f"{count} of {row['settings']}", plain(distance), plain(row[f"distance_by_chance{side}"])


def effects_float32(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the same with our errors in float32."""
    grid = effects(rows)
    return replace(grid, caption=f"{grid.caption}, with our errors in float32")


def effects(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return what each departure does to the share solved, over all combinations of the others."""
    labels = in_order((row["departure"] for row in rows), ())
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        place = operation_name(row["operation"]), model_name(row["model"])
        found.setdefault(place, {})[row["departure"]] = _effect(row)
    return Grid(
        ("operation", "model", *labels),
        tuple((*place, *(cells.get(label, NOTHING) for label in labels)) for place, cells in found.items()),
        "What each departure does to the share solved, in percentage points",
        "With it less without it, over all combinations of the others; in brackets the 95 % interval by seed.",
    )


def _effect(row: Mapping[str, Any]) -> str:
    change = 100 * (row["share_with"] - row["share_without"])
    if change == 0 or row["low"] is None:
        return f"{change:+.0f}" if change else "0"
    return f"{change:+.0f} ({100 * row['low']:+.0f} to {100 * row['high']:+.0f})"


def _layers(depth: int) -> str:
    return "1 layer" if depth == 1 else f"{depth} layers"


def measure(name: str, value: Any) -> Grid:
    """Return anything that an experiment measures as a table: rows of named values, or one row."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    records = [item if isinstance(item, Mapping) else {"value": item} for item in listed]
    columns = in_order((key for record in records for key in record), ())
    rows = tuple(tuple(_measured(column, record.get(column)) for column in columns) for record in records)
    return Grid(
        tuple(c.replace("_", " ").replace("mse", "MSE") for c in columns),
        rows,
        name.replace("_", " ").capitalize(),
    )


def filled(grid: Grid) -> Grid:
    """Return a table without the columns in which no row says anything."""
    kept = [i for i in range(len(grid.head)) if any(row[i] not in (NOTHING, "") for row in grid.rows)]
    rows = tuple(tuple(row[i] for i in kept) for row in grid.rows)
    return Grid(tuple(grid.head[i] for i in kept), rows, grid.caption, grid.note)


def _measured(column: str, value: Any) -> Cell:
    if value is None and "mse" in column:
        return "not finite"
    return model_name(value) if column == "model" and isinstance(value, str) else plain(value)
