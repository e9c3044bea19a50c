"""pandera: a Python module with a schema whose checks name the rows that break a rule."""

from __future__ import annotations

from inalu.tabular import render
from inalu.tabular.derived import place
from inalu.tabular.exports.sql import comment
from inalu.tabular.exports.tolerance import SLACK, tolerance
from inalu.tabular.rules import Rule, Rules

_HEAD = '''"""Rules of a table as a pandera schema: ``schema.validate(frame, lazy=True)`` names breaking rows.

Save the file as a module, or paste it. Rows with an empty cell break no rule.
"""

import pandera.pandas as pa


def within(value, expected, allowed):
    """Where a value is as near to the expected one as rounding allows, or one of the two is missing."""
    difference = (value - expected).abs()
    return ~(difference > {slack} * allowed)


schema = pa.DataFrameSchema(
    columns={{
{columns}    }},
    checks=[
{checks}    ],
    strict=False,
)
'''


def write(rules: Rules, table: str, order: str | None) -> str:
    """The module's text; names appear only as Python string literals."""
    names: dict[str, None] = {}
    for rule in rules.rules:
        for name in (rule.target, *rule.formula.columns):
            names.setdefault(place(name).name)
    columns = "".join(f"        {name!r}: pa.Column(float, nullable=True, coerce=True),\n" for name in names)
    checks = "".join(_check(rule, order) for rule in rules.rules)
    return _HEAD.format(slack=SLACK, columns=columns, checks=checks)


def _check(rule: Rule, order: str | None) -> str:
    frame = "df"
    expected = render.pandas(rule.formula, frame=frame)
    allowed = render.pandas(tolerance(rule), frame=frame)
    test = f"within({frame}[{rule.target!r}], {expected}, {allowed})"
    return (
        "        pa.Check(\n"
        f"            lambda {frame}: {test},\n"
        f"            name={comment(rule)!r},\n"
        f"            error={comment(rule)!r},\n"
        "        ),\n"
    )
