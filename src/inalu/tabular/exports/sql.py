"""SQL: for every rule a SELECT of the rows that break it. Written for SQLite, PostgreSQL and DuckDB alike."""

from __future__ import annotations

from inalu.tabular import render
from inalu.tabular.exports.tolerance import SLACK, tolerance
from inalu.tabular.rules import Rule, Rules

EXPECTED, ALLOWED = "inalu_expected", "inalu_allowed"


def write(rules: Rules, table: str, order: str | None) -> str:
    """One statement for each rule; a row with an empty cell breaks no rule."""
    parts = []
    for rule in rules.rules:
        parts.append(f"-- {comment(rule)}\n{select(rule, render.identifier(table), order)};\n")
    return "\n".join(parts)


def select(rule: Rule, source: str, order: str | None) -> str:
    """The SELECT of the rows of ``source`` (quoted, or a subquery) that break the rule."""
    expected = render.sql(rule.formula, order=order)
    allowed = render.sql(tolerance(rule), order=order)
    inner = f"SELECT *, {expected} AS {EXPECTED},\n    {SLACK} * ({allowed}) AS {ALLOWED}\n  FROM {source}"
    target = render.identifier(rule.target)
    return f"SELECT * FROM (\n  {inner}\n) AS checked\nWHERE ABS({target} - {EXPECTED}) > {ALLOWED}"


def comment(rule: Rule) -> str:
    """The rule on one line: a line break in a name would end the comment."""
    text = f"{rule.target} = {rule.formula}"
    return "".join(sign if sign.isprintable() else " " for sign in text)[:500]
