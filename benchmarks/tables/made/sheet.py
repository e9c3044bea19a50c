"""Tables made to order: columns with exact values and printed digits, then damaged as real tables are.

A `Sheet` is filled column by column; `put` returns the numbers *as printed*, so that a generator chooses whether a
formula works on printed operands (a till) or on the numbers behind them (a survey published in thousands). `Case`
names a generator with the formulas that are true of it and what is done to the printed table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Texts = dict[str, list[str]]

# Ways in which a cell goes wrong, as `breaks` plants them and `Case.broken` uses them.
CAUSES = ("sign flipped", "times 1000", "digit typed wrong", "copied neighbour", "one unit of rounding")


class Sheet:
    """A table under construction: ``rng`` and ``rows`` for the generator, text cells for the reader.

    ``plain`` holds the cells as any reader understands them (point, no thousands, percent as a fraction), ``fancy``
    as the table shows them.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows = rows
        self.plain: Texts = {}
        self.fancy: Texts = {}

    def put(
        self, name: str, values: Array | Sequence[float], decimals: int | str = 0, *, form: str = ""
    ) -> Array:
        """Add a column and return it as printed.

        Parameters
        ----------
        decimals : int or str
            Decimals; or "full" (all digits of a double), "single" (float32, shortest), "single15" (float32 in fifteen
            digits), "4g" (four significant digits).
        form : str
            How the cells look: "%", "$" (with thousands and brackets for negatives), "," (thousands), "€" (after the
            number), "DIV" (an error text where there is no number).
        """
        numbers = np.asarray(values, dtype=np.float64)
        places = decimals + 2 if form == "%" and isinstance(decimals, int) else decimals
        shown = [_text(value, decimals) for value in numbers]
        if form == "%":
            self.plain[name] = [_text(float(text) / 100, places) if text else "" for text in shown]
        else:
            self.plain[name] = shown
        self.fancy[name] = [_dressed(text, form) for text in shown]
        return np.array([float(text) if text else np.nan for text in shown])

    def text(self, name: str, cells: Sequence[str]) -> None:
        """Add a column that holds no numbers."""
        self.plain[name] = self.fancy[name] = list(cells)

    # What generators draw again and again.
    def prices(self, low: float = 1.0, high: float = 100.0, decimals: int = 2) -> Array:
        """Numbers spread evenly on a logarithmic scale."""
        drawn = np.exp(self.rng.uniform(np.log(low), np.log(high), self.rows))
        return np.round(drawn, decimals)

    def counts(self, low: int, high: int) -> Array:
        """Whole numbers, both ends included."""
        return self.rng.integers(low, high + 1, self.rows).astype(np.float64)

    def walk(self, start: float, step: float, drift: float = 0.0) -> Array:
        """A series that goes its way, in shares of its own size."""
        moves = self.rng.normal(drift, step, self.rows)
        return start * np.exp(np.cumsum(moves))


def _text(value: float, decimals: int | str) -> str:
    if not np.isfinite(value):
        return ""
    if decimals == "full":
        return repr(float(value))
    if decimals == "single":
        return str(np.float32(value))
    if decimals == "single15":
        return f"{float(np.float32(value)):.15g}"
    if isinstance(decimals, str):
        digits = int(decimals[:-1])
        return np.format_float_positional(float(f"{value:.{digits}g}"), trim="-")
    text = f"{value:.{decimals}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _dressed(text: str, form: str) -> str:
    if not text:
        return "#DIV/0!" if form == "DIV" else ""
    if form == "%":
        return text + "%"
    if form in {"$", ",", "€"}:
        grouped = f"{Decimal(text):,f}"
        if form == "$":
            return f"(${grouped[1:]})" if grouped.startswith("-") else f"${grouped}"
        return f"{grouped} €" if form == "€" else grouped
    return text


Generator = Callable[[Sheet], None]


@dataclass(frozen=True)
class Case:
    """A generator, what is true of it, and what is done to its table.

    Attributes
    ----------
    truths : tuple of str
        Formulas that must be found, ``target = formula``.
    welcome : tuple of str
        Formulas that are true and beyond what is promised.
    missing : float
        The share of cells emptied in the columns of the formulas.
    broken : float
        The share of rows in which one cell of a formula is spoiled.
    decoys : int
        Columns added that have nothing to do with the others.
    fresh : int
        Rows of the fresh tables by which formulas are judged (a loan ends).
    style : str
        "plain", or "european": semicolons, decimal comma, points between thousands.
    """

    name: str
    make: Generator
    truths: tuple[str, ...] = ()
    welcome: tuple[str, ...] = ()
    rows: int = 200
    missing: float = 0.0
    broken: float = 0.0
    decoys: int = 0
    style: str = "plain"
    seed: int = 0
    fresh: int = 600

    def clean(self, *, rows: int, seed: int) -> Texts:
        """A fresh table without damage, for judging formulas."""
        sheet = Sheet(rows, seed)
        self.make(sheet)
        return sheet.plain

    def table(self) -> Texts:
        """The table that is to be audited."""
        sheet = Sheet(self.rows, 1000 + self.seed)
        self.make(sheet)
        cells = {name: list(column) for name, column in sheet.fancy.items()}
        rng = np.random.default_rng([self.seed, self.rows, len(self.name)])
        used = sorted({name for truth in self.truths for name in columns_of(truth) if name in cells})
        if self.missing:
            for name in used:
                for row in np.flatnonzero(rng.random(self.rows) < self.missing):
                    cells[name][row] = ""
        if self.broken:
            for row in rng.choice(self.rows, int(self.broken * self.rows), replace=False):
                spoil(cells[used[rng.integers(len(used))]], int(row), str(rng.choice(CAUSES[:4])), rng)
        return _among(cells, add_decoys(self.rows, self.decoys, rng), rng)

    def write(self, path: Path) -> None:
        """Write the table as CSV."""
        cells = self.table()
        european = self.style == "european"
        if european:
            cells = {name: [_european(text) for text in column] for name, column in cells.items()}
        with path.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, delimiter=";" if european else ",", lineterminator="\n")
            writer.writerow(name.partition("\0")[0] for name in cells)
            writer.writerows(zip(*cells.values(), strict=True))


def _european(text: str) -> str:
    if not any(sign.isdigit() for sign in text) or text.count("-") > 1:
        return text
    return text.replace(",", "\0").replace(".", ",").replace("\0", ".")


def _among(cells: Texts, decoys: Texts, rng: np.random.Generator) -> Texts:
    """The decoys strewn between the columns, whose own order stays."""
    if not decoys:
        return cells
    places = np.sort(rng.integers(0, len(cells) + 1, len(decoys)))
    own, extra, out = list(cells), list(decoys), {}
    for at in range(len(own) + 1):
        for name, place in zip(extra, places, strict=True):
            if place == at:
                out[name] = decoys[name]
        if at < len(own):
            out[own[at]] = cells[own[at]]
    return out


def add_decoys(rows: int, count: int, rng: np.random.Generator) -> Texts:
    """Columns that have nothing to do with anything: prices, counts, codes, shares, trends, mostly zeros."""
    out: Texts = {}
    for at in range(count):
        kind = at % 8
        base = rng.normal(size=rows)
        if kind == 0:
            made = [f"{v:.2f}" for v in np.exp(3 + base)]
        elif kind == 1:
            made = [str(v) for v in rng.integers(0, 1000, rows)]
        elif kind == 2:
            made = [str(v) for v in rng.integers(1, 6, rows)]
        elif kind == 3:
            made = [f"{v:.3f}" for v in rng.random(rows)]
        elif kind == 4:
            made = [f"{v:.1f}" for v in 100 + np.cumsum(base)]
        elif kind == 5:
            made = [str(int(v)) if v > 0 else "0" for v in 20 * (base - 1)]
        elif kind == 6:
            made = [repr(float(v)) for v in base]
        else:
            made = [f"{v:.0f}" for v in np.exp(12 + base)]
        out[f"other_{at + 1}"] = made
    return out


def columns_of(relation: str) -> list[str]:
    """The column names in ``target = formula``; ``x[-1]`` and ``cumsum(x)`` count as ``x``."""
    import re

    quoted = re.findall(r"`([^`]*)`", relation)
    plain = re.findall(r"[^\W\d]\w*", re.sub(r"`[^`]*`", " ", relation))
    names = []
    for name in [*quoted, *plain]:
        inner = re.fullmatch(r"cumsum\((.*)\)", name)
        names.append((inner.group(1) if inner else name).removesuffix("[-1]").removesuffix("[1]"))
    return list(dict.fromkeys(names))


def spoil(column: list[str], row: int, cause: str, rng: np.random.Generator) -> bool:
    """Make one cell wrong in the way that ``cause`` names; False where that would leave it as it is."""
    text = column[row]
    core = text.strip("%$€ ()").replace(",", "")
    try:
        value = Decimal(core)
    except ArithmeticError:
        return False
    if cause == "sign flipped":
        new = text[1:] if text.startswith("-") else "-" + text
        changed = value != 0
    elif cause == "times 1000":
        new, changed = text.replace(core, f"{value * 1000:f}"), value != 0
    elif cause == "digit typed wrong":
        places = [at for at, sign in enumerate(core) if sign.isdigit()]
        # A zero set before the number would be no number that a person types.
        places = [at for at in places if len(places) == 1 or at != places[0]] or places
        at = places[int(rng.integers(len(places)))]
        digit = str((int(core[at]) + int(rng.integers(1, 10))) % 10)
        new = text.replace(core, core[:at] + digit + core[at + 1 :])
        changed = True
    elif cause == "copied neighbour":
        new = column[row - 1] if row else column[row + 1]
        changed = bool(new) and new != text
    else:
        unit = Decimal(1).scaleb(value.as_tuple().exponent)  # type: ignore[arg-type]
        new = text.replace(core, f"{value + (unit if rng.random() < 0.5 else -unit):f}")
        changed = True
    if changed and new != text:
        column[row] = new
        return True
    return False
