"""``inalu audit``: which columns of a table are computed from which, and which rows break it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inalu.cli.tables import SEARCHING, Wanted, answer, following, options, stage_names

EPILOG = """\b
Examples:
  inalu audit sales.csv
  inalu audit sales.xlsx --sheet May --annotate checked.xlsx
  inalu audit sales.csv --save rules.json --json > found.json
  cat sales.csv | inalu audit -

Exit codes: 0 all rows hold, or nothing was found; 1 rows break a formula; 2 the input cannot be used; 130 stopped
with Ctrl-C, after printing what had been found."""


@click.command(epilog=EPILOG)
@click.argument("table", metavar="TABLE")
@options(*SEARCHING)
def audit(table: str, save: Path | None, stages: str | None, seed: int, **chosen: Any) -> int:
    """Find which columns of TABLE are computed from which, and the rows that break it.

    TABLE is a CSV file (delimiter, decimal sign and encoding are found out), an Excel workbook, or - for
    standard input. No target needs to be named. A formula is reported only when luck cannot explain it; every
    row is judged by the digits that were printed.
    """
    wanted = Wanted(**chosen)
    wanted.check()
    read = wanted.read(table)
    from inalu.tabular.audit import audit as search

    with following(wanted) as (progress, on_relation):
        found = search(
            read, stages=stage_names(stages), seed=seed, progress=progress, on_relation=on_relation
        )
    from inalu.tabular.stated import with_stated

    found = with_stated(found, read)
    return answer(found, read, wanted, source=table, save=save)
