"""``inalu runs``: the stored runs, listed or as CSV."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import click

from inalu.experiments.store import DEFAULT, Store

EPILOG = """\b
Examples:
  inalu runs
  inalu runs --where "experiment = 'exp1' AND operation = 'div' AND exact_formula"
  inalu runs --where "mse_extrapolation > 1e-4" --csv > failed.csv
  inalu runs --where "json_extract(measures, '$.mse_extrapolation_float32') > 1e-4"
  inalu runs --store all.sqlite --take monday.sqlite --take from-elsewhere.sqlite

In Python: pandas.read_sql("SELECT * FROM results", sqlite3.connect("inalu-runs.sqlite")), or
inalu.experiments.store.read_frame()."""

#: What the list shows where a run has it; --csv has every column.
COLUMNS = (
    "experiment", "recipe", "model", "operation", "train", "mean_gate", "mean_m_hat", "mean_w_hat", "std",
    "seed", "mse_interpolation", "mse_extrapolation", "formula", "exact_formula", "reinitialisations", "status",
)  # fmt: skip
PIPE_WIDTH = 200
LIMIT = 50


@click.command(epilog=EPILOG)
@click.option(
    "--store",
    default=DEFAULT,
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the runs are kept.",
)
@click.option(
    "--take",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="First add what this other store holds; may be given several times.",
)
@click.option("--where", metavar="SQL", help="Only runs that fulfil this condition on the columns.")
@click.option("--csv", "as_csv", is_flag=True, help="Print every column of every run as CSV.")
@click.option("--all", "everything", is_flag=True, help=f"List all runs, not the first {LIMIT}.")
def runs(store: Path, take: tuple[Path, ...], where: str | None, as_csv: bool, everything: bool) -> int:
    """List the stored runs, and what the store holds."""
    if take:
        _take(store, take)
    with Store.read(store) as opened:
        names, rows = opened.results(where)
        holdings = opened.holdings()
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
        return 0
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    if where is None:
        for h in holdings:
            console.print(
                Text(
                    f"{h.experiment}, {h.recipe}: {h.runs:,} runs by {h.backend} {h.algorithm}, {h.dtype}, "
                    f"{h.rows:,} rows",
                    style="bold",
                )
            )
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    shown = rows if everything else rows[:LIMIT]
    columns = [c for c in COLUMNS if any(row[names.index(c)] is not None for row in shown)]
    for column in columns:
        grid.add_column(column.replace("_", " "), overflow="ellipsis", no_wrap=True, max_width=32)
    for row in shown:
        grid.add_row(*(_text(column, row[names.index(column)]) for column in columns))
    console.print(grid if rows else Text("No run fulfils that." if where else "The store has no runs."))
    if len(shown) < len(rows):
        console.print(Text(f"… and {len(rows) - len(shown):,} more (--all, or --csv)", style="dim"))
    return 0


def _take(store: Path, others: tuple[Path, ...]) -> None:
    for other in others:
        # Look at the other before a store is made for it.
        Store.read(other).close()
    with Store.write(store) as opened:
        for other in others:
            click.echo(f"{opened.take(other):,} new runs from {other}", err=True)


def _text(column: str, value: object) -> str:
    if value is None:
        return "–"
    if column == "exact_formula":
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
