"""Excel: a list of formulas to paste into a table (Ctrl+T) that has the same headers."""

from __future__ import annotations

from inalu.expression import Expression
from inalu.tabular import render
from inalu.tabular.rules import Rules


def write(rules: Rules, table: str, order: str | None) -> str:
    """One line for each rule: the column, a tab, its formula."""
    return "".join(f"{safe(rule.target)}\t{formula(rule.formula, rule.decimals)}\n" for rule in rules.rules)


def formula(expression: Expression, decimals: int | None) -> str:
    """The formula on one line, as a line break in a name would end it."""
    text = render.excel(expression, decimals=decimals)
    return "".join(sign if sign.isprintable() else " " for sign in text)


def safe(text: str) -> str:
    """A text that Excel takes for text when it is pasted or opened.

    Examples
    --------
    >>> safe("=1+1"), safe("price")
    ("'=1+1", 'price')
    """
    clean = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"'{clean}" if clean.lstrip()[:1] in ("=", "+", "-", "@") else clean
