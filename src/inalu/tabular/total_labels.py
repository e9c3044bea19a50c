"""The words by which people name rows of totals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from inalu.tabular.numerals import Texts

if TYPE_CHECKING:
    from inalu.tabular.table import Table

_STEMS = (
    "tot",
    "sum",
    "som",
    "gesamt",
    "razem",
    "celkem",
    "toplam",
    "итого",
    "всего",
    "合计",
    "小计",
    "合計",
    "小計",
)
_WORD = re.compile(
    r"(?<!\w)(?:(?:sub|sous|zwischen|gesamt)?[ -]?(?:totals?|totales?|totali|totaux|totaal|totalt|summen?|sums?"
    r"|sommes?|somma|sumas?|summa)|(?:ins)?gesamt|razem|celkem|toplam|итого|всего|合计|小计|合計|小計)(?!\w)",
    re.IGNORECASE,
)


def labels_of(table: Table) -> dict[int, str]:
    """The rows in which a text has a word for totals, with that text."""
    found: dict[int, str] = {}
    for other in table.others:
        for row in _with_stem(other.texts):
            text = other.text(row)
            if _WORD.search(text):
                found.setdefault(row, text.strip())
    for column in table.columns:
        empty = np.flatnonzero(np.isnan(column.values))
        for row in empty[_with_stem(column.texts.take(empty))] if len(column.texts) else ():
            if _WORD.search(column.text(row)):
                found.setdefault(int(row), column.text(row).strip())
    return found


def _with_stem(texts: Texts) -> list[int]:
    """The rows that may have a word for totals: a million short names are searched as one text."""
    if texts.cells.dtype.kind != "S":
        return [row for row, text in enumerate(texts) if any(stem in text.casefold() for stem in _STEMS)]
    width, rows = texts.cells.dtype.itemsize, set()
    together = np.ascontiguousarray(texts.cells).tobytes().lower()
    for stem in (stem.encode() for stem in _STEMS if stem.isascii()):
        at = together.find(stem)
        while at >= 0:
            rows.add(at // width)
            at = together.find(stem, at + 1)
    return sorted(rows)
