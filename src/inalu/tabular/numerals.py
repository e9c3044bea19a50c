"""Numbers as people print them: from the text of a cell to a value, its decimals and its significant digits.

One column is read at a time. Cells that hold plain ASCII numbers (nearly all of them) are taken apart as a
matrix of bytes; the others (grouped digits, currency, brackets for negatives) go one by one through a
regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING, NUMBER, TEXT, INFINITE = 0, 1, 2, 3

# Wider cells are kept as Python strings: a fixed-width array would reserve the widest cell for every row.
WIDEST_PACKED = 40
LONGEST_NUMBER = 64

_MISSING_WORDS = """
    na n/a n.a. n.a #n/a #na <na> nan -nan nat null none nil missing (blank) k.a. n/d nd err
    #div/0! #value! #ref! #num! #name? #null! #error! - -- --- – — . .. ... … ? * : \\n
"""
MISSING_MARKERS = frozenset(["", *_MISSING_WORDS.split()])
INFINITE_MARKERS = frozenset(
    ["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "∞", "+∞", "-∞", "1.#inf", "-1.#inf"]
)

_MINUS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "﹣": "-", "－": "-", "’": "'"})
_SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u202f\u200b\ufeff]+")
_CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|RMB|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|SGD|HKD|TRY|RUB"
    "|kr|zł|Kč|Rs"
)
_CURRENCY = rf"(?:(?:US|CA|C|AU|A|NZ|HK|S|R)?\$|[€£¥₹₽₩₺₴₦฿₫₪₱¢¤]|(?:{_CODES})\.?)"
_SHELL = re.compile(
    rf"(?P<open>\()?\s?(?P<sign>[+-])?\s?(?:{_CURRENCY}\s?)?(?P<sign2>[+-])?"
    rf"(?P<body>[0-9.,' ]*[0-9][0-9.,' ]*(?:[eE][+-]?[0-9]{{1,4}})?)"
    rf"\s?(?:{_CURRENCY})?\s?(?P<percent>%)?\s?(?P<close>\))?\s?(?P<after>-)?\s?(?P<percent2>%)?"
)


@dataclass(frozen=True)
class Style:
    """How numbers are written in one column: the decimal sign, and whether the other sign groups thousands.

    Spaces and apostrophes between digits always group; ``group`` is "," or "." or "" (neither groups).
    """

    decimal: str = "."
    group: str = ","

    def body(self) -> re.Pattern[str]:
        """The pattern of a number without sign and currency: whole digits, decimals, exponent."""
        group, decimal = f"[{re.escape(self.group)} ']", re.escape(self.decimal)
        return re.compile(
            rf"(?:(?P<whole>[0-9]{{1,3}}(?P<by>{group})[0-9]{{2,3}}(?:(?P=by)[0-9]{{2,3}})*|[0-9]+)"
            rf"(?:{decimal}(?P<decimals>[0-9]*))?|{decimal}(?P<only>[0-9]+))(?:[eE](?P<exponent>[+-]?[0-9]{{1,4}}))?"
        )


class Texts:
    """The printed texts of one column: packed bytes where all are short ASCII, else Python strings.

    Examples
    --------
    >>> texts = Texts.of(["1.50", "n/a"])
    >>> len(texts), texts[0]
    (2, '1.50')
    """

    __slots__ = ("cells",)

    def __init__(self, cells: NDArray[Any]) -> None:
        self.cells = cells

    @classmethod
    def of(cls, cells: Sequence[str]) -> Texts:
        """Pack a list of strings."""
        return cls(pack(cells))

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, row: int) -> str:
        cell = self.cells[row]
        return cell.decode("ascii") if isinstance(cell, bytes) else str(cell)

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self.cells)))

    def take(self, rows: NDArray[np.intp]) -> Texts:
        """The texts of some rows."""
        return Texts(self.cells[rows])


def pack(cells: Sequence[str]) -> NDArray[Any]:
    """Strings as one NumPy array: ``S`` where every cell is short ASCII, ``object`` otherwise."""
    if max(map(len, cells), default=0) <= WIDEST_PACKED:
        together = "".join(cells)
        # An S array drops NUL bytes at the end of a cell; the text must survive.
        if together.isascii() and "\0" not in together:
            return np.array(cells, dtype="S")
    whole = np.empty(len(cells), dtype=object)
    whole[:] = cells
    return whole


def join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate packed parts of one column; strings win over bytes."""
    if all(part.dtype.kind == "S" for part in parts):
        return np.concatenate(parts)
    plain = [
        part.astype(f"U{part.dtype.itemsize}").astype(object) if part.dtype.kind == "S" else part
        for part in parts
    ]
    return np.concatenate(plain)


class Cell(NamedTuple):
    """One cell read: kind, value, decimals (minus when an exponent hides digits), significant digits."""

    kind: int
    value: float = np.nan
    decimals: int = 0
    digits: int = 0
    # The number of digits after the point in a cell with an exponent ('1.50E+03' has 2), else -1.
    mantissa: int = -1
    padded: bool = False


def parse_cell(text: str, style: Style, body: re.Pattern[str] | None = None) -> Cell:
    """Read one cell.

    Examples
    --------
    >>> parse_cell("(1,234.50)", Style()).value
    -1234.5
    >>> parse_cell("12,5 %", Style(",", ".")).value
    0.125
    >>> parse_cell("2020-01-31", Style()).kind == TEXT
    True
    """
    # A long cell is prose or an attack on the patterns below, never a number.
    if len(text) > LONGEST_NUMBER:
        return Cell(TEXT)
    short = _SPACES.sub(" ", text).strip()
    lower = short.lower()
    if lower in MISSING_MARKERS:
        return Cell(MISSING)
    if lower in INFINITE_MARKERS:
        return Cell(INFINITE)
    shell = _SHELL.fullmatch(short.translate(_MINUS))
    if shell is None:
        return Cell(TEXT)
    signs = [shell["sign"], shell["sign2"], shell["after"]]
    if (
        sum(map(bool, signs)) > 1
        or bool(shell["open"]) != bool(shell["close"])
        or (shell["open"] and any(signs))
    ):
        return Cell(TEXT)
    number = (body or style.body()).fullmatch(shell["body"].strip())
    if number is None or (number["by"] and len(re.split(r"[,.' ]", number["whole"])[-1]) != 3):
        return Cell(TEXT)
    if shell["percent"] and shell["percent2"]:
        return Cell(TEXT)
    percent = 2 if shell["percent"] or shell["percent2"] else 0
    return _number(number, "-" in signs or bool(shell["open"]), percent)


def _number(match: re.Match[str], negative: bool, percent: int) -> Cell:
    whole = re.sub(r"[,.' ]", "", match["whole"] or "0")
    decimals = match["decimals"] or match["only"] or ""
    exponent = int(match["exponent"] or 0)
    value = float(f"{'-' if negative else ''}{whole}.{decimals or '0'}e{exponent - percent}")
    if not np.isfinite(value):
        return Cell(INFINITE)
    digits = len((whole + decimals).lstrip("0"))
    padded = len(whole) > 1 and whole[0] == "0" and not decimals and match["exponent"] is None
    mantissa = len(decimals) if match["exponent"] is not None else -1
    return Cell(NUMBER, value, len(decimals) - exponent + percent, digits, mantissa, padded)


@dataclass(frozen=True, eq=False)
class Numerals:
    """One column read: arrays of shape [rows]."""

    kind: NDArray[np.int8]
    values: NDArray[np.float64]
    decimals: NDArray[np.int32]
    digits: NDArray[np.int32]
    mantissa: NDArray[np.int32]
    padded: NDArray[np.bool_]

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Where a cell is a number."""
        return np.asarray(self.kind == NUMBER)


def parse_column(texts: Texts, style: Style) -> Numerals:
    """Read all cells of a column in one style.

    Examples
    --------
    >>> parse_column(Texts.of(["1.50", "", "$ 3"]), Style()).values
    array([1.5, nan, 3. ])
    """
    rows = len(texts)
    read = Numerals(
        np.full(rows, TEXT, np.int8),
        np.full(rows, np.nan),
        np.zeros(rows, np.int32),
        np.zeros(rows, np.int32),
        np.full(rows, -1, np.int32),
        np.zeros(rows, np.bool_),
    )
    plain = (
        _plain_cells(texts.cells, style, read) if texts.cells.dtype.kind == "S" else np.zeros(rows, np.bool_)
    )
    body, seen = style.body(), dict[str, Cell]()
    for row in np.flatnonzero(~plain).tolist():
        text = texts[row]
        cell = seen.get(text)
        if cell is None:
            cell = seen[text] = parse_cell(text, style, body)
        read.kind[row], read.values[row], read.decimals[row], read.digits[row] = cell[:4]
        read.mantissa[row], read.padded[row] = cell[4:]
    return read


def _plain_cells(cells: NDArray[np.bytes_], style: Style, read: Numerals) -> NDArray[np.bool_]:
    """Read cells such as ``-12.50`` into ``read`` (modified in place); return which cells these were."""
    rows, width = len(cells), cells.dtype.itemsize
    if rows == 0 or width == 0:
        return np.zeros(rows, np.bool_)
    codes = np.ascontiguousarray(cells).view(np.uint8).reshape(rows, width)
    digit = (codes >= 48) & (codes <= 57)
    point = codes == ord(style.decimal)
    length = (codes != 0).sum(axis=1)
    signed = (codes[:, 0] == ord("-")) | (codes[:, 0] == ord("+"))
    digits, points = digit.sum(axis=1), point.sum(axis=1)
    plain = (digits > 0) & (points <= 1) & (digits + points + signed == length)
    at = np.where(points > 0, point.argmax(axis=1), length)
    leading = np.where(plain, (digit & (codes != 48)).argmax(axis=1), 0)
    zero = plain & ~(digit & (codes != 48)).any(axis=1)
    significant = length - leading - ((points > 0) & (at > leading))
    pointed = np.where(point, np.uint8(ord(".")), codes).view(cells.dtype).reshape(rows)
    read.kind[plain] = NUMBER
    read.values[plain] = pointed[plain].astype(np.float64)
    read.decimals[plain] = np.where(points > 0, length - at - 1, 0)[plain]
    read.digits[plain] = np.where(zero, 0, significant)[plain]
    # A column of single characters may hold a lone sign: there is nothing behind it.
    first = codes[np.arange(rows), np.minimum(signed, width - 1)]
    read.padded[plain] = ((points == 0) & (first == 48) & (digits > 1))[plain]
    # A number too large for a float is no number here.
    huge = plain & ~np.isfinite(read.values)
    read.kind[huge], read.values[huge] = INFINITE, np.nan
    return np.asarray(plain)


_SIGNS = re.compile(r"[0-9][.,][0-9]|^-?[.,][0-9]")
ENGLISH, CONTINENTAL = Style(".", ","), Style(",", ".")


def find_styles(columns: Sequence[Iterable[str]], *, semicolons: bool = False) -> list[Style]:
    """Find each column's decimal sign from samples of its texts.

    A sign used with other than three digits behind it, or behind the other sign, is the decimal sign; a
    sign that repeats inside a number groups thousands. A file keeps one style, so silent columns follow the
    others. "1,234" alone says little: it groups, unless the file's own delimiter is the semicolon (which is
    what writers use when the comma is the decimal sign) and no whole number below 1000 stands beside it;
    "1.234" alone is a decimal number unless such whole numbers do stand beside it.

    Examples
    --------
    >>> find_styles([["1.234,50", "12"], ["7"]])
    [Style(decimal=',', group='.'), Style(decimal=',', group='.')]
    >>> find_styles([["1,234", "567"]])
    [Style(decimal='.', group=',')]
    """
    tallies = [_tally(cells) for cells in columns]
    points, commas = sum(tally.points for tally in tallies), sum(tally.commas for tally in tallies)
    if points or commas:
        common = CONTINENTAL if commas > points else ENGLISH
    elif any(tally.small and tally.unclear_points >= 3 for tally in tallies):
        common = CONTINENTAL
    else:
        unclear = [tally for tally in tallies if tally.unclear_commas]
        common = (
            CONTINENTAL if semicolons and unclear and not any(tally.small for tally in unclear) else ENGLISH
        )
    return [_own(tally, common) for tally in tallies]


@dataclass
class _Tally:
    points: int = 0
    commas: int = 0
    unclear_points: int = 0
    unclear_commas: int = 0
    small: int = 0


def _own(tally: _Tally, common: Style) -> Style:
    if tally.points == tally.commas:
        return common
    return ENGLISH if tally.points > tally.commas else CONTINENTAL


def _tally(cells: Iterable[str]) -> _Tally:
    tally = _Tally()
    for text in cells:
        vote, sure = _vote(text)
        if vote == ".":
            tally.points += sure
            tally.unclear_points += not sure
        elif vote == ",":
            tally.commas += sure
            tally.unclear_commas += not sure
        elif len(text) <= 3 and text.isdigit():
            tally.small += 1
    return tally


def _vote(text: str) -> tuple[str, bool]:
    """The decimal sign that one cell speaks for, and whether it is sure; ("", False) when it is silent."""
    if len(text) > LONGEST_NUMBER or not _SIGNS.search(text):
        return "", False
    shell = _SHELL.fullmatch(_SPACES.sub(" ", text).strip().translate(_MINUS))
    if shell is None:
        return "", False
    body = re.split("[eE]", shell["body"].strip().replace(" ", "").replace("'", ""))[0]
    commas, points = body.count(","), body.count(".")
    if commas and points:
        if commas > 1 and points > 1:
            return "", False
        last = "," if body.rfind(",") > body.rfind(".") else "."
        return (last, True) if body.count(last) == 1 else ("", False)
    sign = "," if commas else "."
    other = "." if commas else ","
    head, _, tail = body.partition(sign)
    if commas + points > 1:
        return (other, True) if all(len(part) == 3 for part in body.split(sign)[1:]) else ("", False)
    if len(tail) == 3 and 1 <= len(head) <= 3 and not head.startswith("0"):
        return sign, False
    return (sign, True) if tail else ("", False)
