"""Great Expectations: a suite (version 1) with an UnexpectedRowsExpectation for every rule."""

from __future__ import annotations

import json

from inalu.tabular.exports.sql import comment, select
from inalu.tabular.rules import Rules


def write(rules: Rules, table: str, order: str | None) -> str:
    """The suite as JSON; ``table`` names it, since the batch supplies the table itself."""
    expectations = []
    for rule in rules.rules:
        # Great Expectations fills in {batch} by str.format: the braces of column names are doubled.
        query = select(rule, "\0", order).replace("{", "{{").replace("}", "}}").replace("\0", "{batch}")
        expectations.append(
            {
                "type": "unexpected_rows_expectation",
                "kwargs": {"unexpected_rows_query": query, "description": comment(rule)},
                "meta": {"rows_checked": rule.rows_checked, "rows_holding": rule.rows_holding},
            }
        )
    suite = {
        "name": f"{table} rules",
        "expectations": expectations,
        "meta": {"great_expectations_version": "1.0.0"},
    }
    return json.dumps(suite, indent=1, ensure_ascii=False) + "\n"
