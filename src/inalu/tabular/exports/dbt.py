"""dbt: a singular test. It fails with the rows that break a rule, and the number of the rule."""

from __future__ import annotations

from inalu.tabular import render
from inalu.tabular.exports.sql import ALLOWED, EXPECTED, comment
from inalu.tabular.exports.tolerance import SLACK, tolerance
from inalu.tabular.rules import Rule, Rules


def write(rules: Rules, table: str, order: str | None) -> str:
    """The file to save as ``tests/<name>.sql`` of a dbt project; ``table`` is the model."""
    source = "{{ ref(" + _python(table) + ") }}"
    head = "-- A dbt test (save it under tests/): it returns the rows that break a rule of this model.\n"
    if not rules.rules:
        return head + f"SELECT * FROM {source} WHERE 1 = 0\n"
    numbered = list(enumerate(rules.rules, start=1))
    said = "".join(f"-- rule {at}: {_literal(comment(rule))}\n" for at, rule in numbered)
    return head + said + "\nUNION ALL\n".join(_rule(at, rule, source, order) for at, rule in numbered) + "\n"


def _rule(at: int, rule: Rule, source: str, order: str | None) -> str:
    expected = _literal(render.sql(rule.formula, order=order))
    allowed = _literal(render.sql(tolerance(rule), order=order))
    target = _literal(render.identifier(rule.target))
    inner = f"SELECT {target} AS inalu_value, {expected} AS {EXPECTED}"
    inner = f"{inner},\n    {SLACK} * ({allowed}) AS {ALLOWED}"
    head = f"SELECT {at} AS inalu_rule, inalu_value, {EXPECTED}"
    tail = f"WHERE ABS(inalu_value - {EXPECTED}) > {ALLOWED}"
    return f"{head} FROM (\n  {inner}\n  FROM {source}\n) AS checked{at}\n{tail}"


def _literal(text: str) -> str:
    """The text as dbt's templates leave it: no brace of a column name may open one of theirs."""
    return text.replace("{", "{{ '{' }}")


def _python(text: str) -> str:
    # A quoted string inside a template must not close the template either.
    return repr(text).replace("}", r"\x7d").replace("{", r"\x7b").replace("%", r"\x25")
