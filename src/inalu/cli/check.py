"""``inalu check``: does a table obey rules that were saved?"""

from __future__ import annotations

from typing import Any

import click

from inalu.cli.tables import Wanted, answer, options

EPILOG = """\b
Examples:
  inalu audit january.csv --save rules.json
  inalu check rules.json february.csv

Exit codes: 0 all rows hold; 1 rows break a rule; 2 the input cannot be used or lacks a column; 130 stopped with
Ctrl-C."""


@click.command(epilog=EPILOG)
@click.argument("rules", metavar="RULES")
@click.argument("table", metavar="TABLE")
@options()
def check(rules: str, table: str, **chosen: Any) -> int:
    """Check TABLE against RULES, a file that `inalu audit --save` wrote.

    Formulas are never executed as code: they are read as trees and evaluated. TABLE is a CSV file, an Excel
    workbook, or - for standard input.
    """
    wanted = Wanted(**chosen)
    wanted.check()
    from inalu.tabular.rules import load_rules

    loaded = load_rules(rules)
    read = wanted.read(table)
    from inalu.tabular.audit import check as verify

    return answer(verify(loaded, read), read, wanted, source=table, asked="check")
