"""``inalu report``: the results of experiments as one page, and a short table."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EPILOG = """\b
Examples:
  inalu report
  inalu report --store runs.sqlite --output report --recipe AUTHORS_CODE

Exit codes: 0 the page is written; 2 there is nothing to show, or it cannot be written."""

# As inalu.experiments.store has it, which costs NumPy to import.
DEFAULT_STORE = "inalu-runs.sqlite"


@click.command(epilog=EPILOG)
@click.option("--store", type=click.Path(path_type=Path), default=DEFAULT_STORE, show_default=True,
              metavar="FILE", help="The results that `inalu reproduce` stored.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), default="inalu-report", show_default=True,
              metavar="FOLDER", help="Where the page goes, with its figures and records.")  # fmt: skip
@click.option(
    "--recipe",
    metavar="NAME",
    help="The recipe that is shown in full.  [default: PAPER where the store has it]",
)
@click.option("--backend", metavar="NAME", help="Which runs to take where several backends made some.")
@click.option(
    "--algorithm", type=int, metavar="VERSION", help="Which runs to take where several versions made some."
)
def report(store: Path, output: Path, recipe: str | None, backend: str | None, algorithm: int | None) -> int:
    """Turn stored results into one page of figures, tables and judged claims.

    The page needs nothing else; its figures lie beside it as SVG files, the records as records.csv.
    """
    from inalu.errors import require_extra

    require_extra("matplotlib", "report")
    from inalu.report import gather, write

    material = gather(store, recipe=recipe, backend=backend, algorithm=algorithm)
    written = write(material, output)
    _show(material, written.page)
    return 0


def _show(material: object, page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from inalu.report import Material
    from inalu.report.sections import claims_of, missing, verdicts
    from inalu.report.tables import overview

    assert isinstance(material, Material)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    grid = overview(material.experiments)
    if grid.rows:
        console.print(f"{material.recipe}: {grid.caption}. {grid.note}", soft_wrap=True)
        shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for number, title in enumerate(grid.head):
            shown.add_column(title, justify="left" if number == 0 else "right")
        for cells in grid.rows:
            shown.add_row(*map(str, cells))
        console.print(shown)
    claims = claims_of(material)
    console.print(f"\nClaims of the text: {verdicts(claims)}.")
    gaps = missing(material)
    if gaps:
        console.print(f"Not all is there: {len(gaps)} experiments lack runs; the page says which.")
    console.print(f"The page: {page}", soft_wrap=True)
