"""Rules as text for other tools: one file a tool."""

from __future__ import annotations

import importlib

from inalu.errors import check_choice
from inalu.tabular.rules import Rules

# What --export accepts, and the module that writes it.
KINDS = {
    "pandera": "pandera",
    "great-expectations": "great_expectations",
    "dbt": "dbt",
    "sql": "sql",
    "excel": "excel",
}


def export(rules: Rules, kind: str, *, table: str | None = None, order: str | None = None) -> str:
    """Write rules for another tool.

    Parameters
    ----------
    rules : Rules
        What to write.
    kind : str
        One of "pandera" (a Python module with a schema), "great-expectations" (a suite in JSON), "dbt" (a
        singular test), "sql" (a SELECT of the breaking rows for each rule), "excel" (formulas to paste).
    table : str, optional
        The name of the database table; by default that of the file, without its ending.
    order : str, optional
        The column that orders the rows, for rules with previous rows; by default ``rowid``.

    Raises
    ------
    InvalidArgument
        When there is no such kind.

    Examples
    --------
    >>> from inalu import Expression
    >>> from inalu.tabular.rules import Rule
    >>> rules = Rules("sales.csv", (Rule("total", Expression.parse("net + tax"), 2),))
    >>> export(rules, "excel").split()[1:]
    ['=ROUND([@[net]]', '+', '[@[tax]],2)']
    """
    check_choice("export", kind, KINDS)
    module = importlib.import_module(f"inalu.tabular.exports.{KINDS[kind]}")
    name = table if table is not None else (rules.table.rsplit("/", 1)[-1].split(".")[0] or "data")
    text: str = module.write(rules, name, order)
    return text
