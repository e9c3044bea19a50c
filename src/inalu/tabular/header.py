"""Where the header of a grid of texts is: below titles, above numbers, or nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from inalu.tabular.numerals import CONTINENTAL, ENGLISH, MISSING, NUMBER, Cell, parse_cell


class Header(NamedTuple):
    """The header's texts (None when there is none), the first row below it, and the table's width."""

    titles: Sequence[str] | None
    start: int
    width: int
    notes: tuple[str, ...] = ()


def find_header(rows: Sequence[Sequence[str]]) -> Header:
    """Find the header in the first rows of a grid (empty rows left out).

    Rows above it that fill less than half of the table's width are titles.

    Examples
    --------
    >>> find_header([["Report 2024"], ["a", "b"], ["1", "2"], ["3", "4"]])[:3]
    (['a', 'b'], 2, 2)
    >>> find_header([["1", "2"], ["3", "4"]])[:3]
    (None, 0, 2)
    """
    widths = Counter(_filled(row) for row in rows)
    usual = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    at = 0
    while (
        at + 1 < len(rows)
        and _filled(rows[at]) <= 0.5 * usual
        and _filled(rows[at]) < 0.5 * _filled(rows[at + 1]) + 1
    ):
        at += 1
    if _filled(rows[at]) <= 0.5 * usual:
        at = 0
    notes = [f"{at} {'row' if at == 1 else 'rows'} above the header left out."] if at else []
    top, below = rows[at], rows[at + 1 :]
    titled = _is_header(top, below)
    lengths = Counter(len(row) for row in below) or Counter([len(top)])
    length = max(lengths.items(), key=lambda item: (item[1], item[0]))[0]
    if not titled:
        return Header(
            None, at, max(length, len(top)), (*notes, "The table has no header; its columns are numbered.")
        )
    width = _last(top)
    # write.table of R leaves the header of the row names out.
    if (
        len(top) == length - 1
        and lengths[length] >= 0.9 * len(below)
        and any(row[-1:] != [""] for row in below)
    ):
        return Header(["", *top], at + 1, length, tuple(notes))
    if all(_last(row) <= width for row in below):
        return Header(list(top[:width]), at + 1, width, tuple(notes))
    common = Counter(_last(row) for row in below).most_common(1)[0][0]
    return Header(list(top), at + 1, max(width, common), tuple(notes))


def titles_of(titles: Sequence[str] | None, width: int) -> list[str]:
    """Headers for every column: the ones found, or numbers."""
    if titles is None:
        return [f"column {at}" for at in range(width)]
    return [titles[at] if at < len(titles) else "" for at in range(width)]


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _last(row: Sequence[str]) -> int:
    """The width of a row without empty cells at its end."""
    width = len(row)
    while width and not row[width - 1].strip():
        width -= 1
    return width


def _read(cell: str) -> Cell:
    """A number in either style; here it only matters that it is one."""
    read = parse_cell(cell, ENGLISH)
    return read if read.kind in (NUMBER, MISSING) else parse_cell(cell, CONTINENTAL)


def _is_header(top: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: it holds a text above numbers, or no number at all."""
    cells = [_read(cell) for cell in top]
    numbers = [cell.value for cell in cells if cell.kind == NUMBER]
    if not numbers:
        return True
    filled = sum(bool(cell.strip()) for cell in top)
    # 2019, 2020, 2021 above other numbers are years that name columns.
    years = all(1800 <= value <= 2100 and value == int(value) for value in numbers)
    if years and len(set(numbers)) == len(numbers) and len(numbers) > 1:
        under = [_read(row[at]).value for row in below[:20] for at in range(len(row)) if at < len(cells)]
        known = [value for value in under if value == value]
        if sum(1800 <= value <= 2100 for value in known) < 0.5 * max(1, len(known)):
            return True
    texts = [at for at, cell in enumerate(cells) if cell.kind not in (NUMBER, MISSING)]
    over = sum(any(_read(row[at]).kind == NUMBER for row in below[:20] if at < len(row)) for at in texts)
    return over > len(numbers) or (len(texts) > 0.5 * filled and over > 0)
