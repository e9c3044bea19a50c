"""``inalu fit``: the formula of one column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inalu.cli.tables import SEARCHING, Wanted, answer, following, options, stage_names

EPILOG = """\b
Examples:
  inalu fit sales.csv --target total
  inalu fit patients.csv --target bmi --export excel

Exit codes: 0 all rows hold, or no formula was found; 1 rows break it; 2 the input cannot be used; 130 stopped with
Ctrl-C, after printing what had been found."""


@click.command(epilog=EPILOG)
@click.argument("table", metavar="TABLE")
@click.option("-t", "--target", required=True, metavar="COLUMN", help="The column whose formula is wanted.")
@options(*SEARCHING)
def fit(table: str, target: str, save: Path | None, stages: str | None, seed: int, **chosen: Any) -> int:
    """Find the formula of one column of TABLE, the best one and its rivals.

    TABLE is a CSV file, an Excel workbook, or - for standard input.
    """
    wanted = Wanted(**chosen)
    wanted.check()
    read = wanted.read(table)
    name = read.column(target).name
    from inalu.tabular.audit import fit as search

    with following(wanted) as (progress, on_relation):
        found = search(
            read,
            target=name,
            stages=stage_names(stages),
            seed=seed,
            progress=progress,
            on_relation=on_relation,
        )
    return answer(found, read, wanted, source=table, save=save, asked="fit")
