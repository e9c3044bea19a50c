"""Every kind of formula under every condition, drawn anew for each seed, with column names that tell nothing.

`KINDS` are the formulas that must be found, `CONDITIONS` what is done to the table. The operands' sizes, the
constants, the signs and the number of terms are drawn; the formula's text is evaluated by the code of ``verify.py``,
which is not the package's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.tables.made.sheet import Array, Case, Sheet
from benchmarks.tables.recount import verify

TARGET = "t"
# Constants as people write them.
FACTORS = ("1.08", "0.19", "100", "1000", "12", "0.001", "2.54", "0.5", "1.5", "12000")
WEIGHTS = ("0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.75", "1.5", "2", "3")


@dataclass(frozen=True)
class Condition:
    """What is done to a table.

    Attributes
    ----------
    look : str
        How operands are drawn: "plain", "negative", "zeros", "wide" (1e-3 to 1e9), "single" (float32).
    digits : int
        About how many digits of the target are printed.
    hidden : bool
        Whether the formula was computed before its operands were rounded.
    """

    name: str
    rows: int = 200
    missing: float = 0.0
    broken: float = 0.0
    decoys: int = 4
    look: str = "plain"
    digits: int = 5
    hidden: bool = False


CONDITIONS = (
    Condition("plain"),
    Condition("10% of cells missing", missing=0.1, rows=300),
    Condition("negative values", look="negative"),
    Condition("zeros among operands", look="zeros"),
    Condition("target in 3 digits", digits=3),
    Condition("operands rounded afterwards", hidden=True),
    Condition("float32", look="single", digits=7),
    Condition("20% of rows broken", broken=0.2, rows=300),
    Condition("60 other columns", decoys=60),
    Condition("1e-3 to 1e9", look="wide"),
    Condition("10 rows", rows=10, decoys=2),
    Condition("5,000 rows", rows=5000),
)


@dataclass(frozen=True)
class Formula:
    """A formula over columns ``x1 … xn``; `walk` where the first of them is a series that goes its way."""

    text: str
    operands: int
    walk: bool = False


Drawn = Callable[[np.random.Generator, int], Formula]


def names(count: int) -> list[str]:
    """The operands' names."""
    return [f"x{at + 1}" for at in range(count)]


def sums(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 13 if rows > 50 else 5))
    signs = [" + "] + [str(rng.choice([" + ", " + ", " - "])) for _ in range(count - 1)]
    text = "".join(sign + name for sign, name in zip(signs, names(count), strict=True))
    return Formula(text.removeprefix(" + "), count)


def products(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 6 if rows > 50 else 4))
    return Formula(" * ".join(names(count)), count)


def ratios(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 6 if rows > 50 else 4))
    above = int(rng.integers(1, count))
    over, under = names(count)[:above], names(count)[above:]
    below = " * ".join(under)
    return Formula(" * ".join(over) + " / " + (f"({below})" if len(under) > 1 else below), count)


def scaled(rng: np.random.Generator, rows: int) -> Formula:
    made = (ratios if rng.random() < 0.6 else products)(rng, rows)
    return replace(made, text=f"{rng.choice(FACTORS)} * {made.text}")


def multiples(rng: np.random.Generator, rows: int) -> Formula:
    return Formula(f"{rng.choice(FACTORS)} * x1", 1)


def weighted(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 6 if rows > 50 else 4))
    weights = rng.choice(WEIGHTS, count, replace=False)
    return Formula(" + ".join(f"{w} * {name}" for w, name in zip(weights, names(count), strict=True)), count)


def shares(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 6 if rows > 50 else 4))
    factor = "100 * " if rng.random() < 0.5 else ""
    return Formula(f"{factor}x1 / ({' + '.join(names(count))})", count)


def growth(rng: np.random.Generator, rows: int) -> Formula:
    return Formula("100 * (x2 - x1) / x1" if rng.random() < 0.5 else "(x2 - x1) / x1", 2)


def ratios_of_sums(rng: np.random.Generator, rows: int) -> Formula:
    text = str(rng.choice(["(x1 + x2) / (x3 + x4)", "(x1 - x2) / (x3 + x4)", "(x1 + x2) / (x3 - x4)"]))
    return Formula(text, 4)


def means(rng: np.random.Generator, rows: int) -> Formula:
    count = int(rng.integers(2, 8 if rows > 50 else 5))
    return Formula(f"({' + '.join(names(count))}) / {count}", count)


def squares(rng: np.random.Generator, rows: int) -> Formula:
    text = str(rng.choice(["x1 / x2 ** 2", "10000 * x1 / x2 ** 2", "x1 ** 2 / x2", "0.5 * x1 * x2 ** 2"]))
    return Formula(text, 2)


def balances(rng: np.random.Generator, rows: int) -> Formula:
    return Formula(f"`{TARGET}[-1]` + x1 - x2", 2)


def running(rng: np.random.Generator, rows: int) -> Formula:
    return Formula("`cumsum(x1)`", 1)


def changes(rng: np.random.Generator, rows: int) -> Formula:
    text = "x1 - `x1[-1]`" if rng.random() < 0.5 else "100 * (x1 - `x1[-1]`) / `x1[-1]`"
    return Formula(text, 1, walk=True)


KINDS: dict[str, Drawn] = {
    "sum or difference of 2 to 12": sums,
    "product of 2 to 5": products,
    "ratio of 2 to 5": ratios,
    "product or ratio times a constant": scaled,
    "constant multiple": multiples,
    "weighted sum": weighted,
    "share of total": shares,
    "growth rate": growth,
    "ratio of sums": ratios_of_sums,
    "mean of columns": means,
    "square in a ratio": squares,
    "running balance": balances,
    "running sum": running,
    "change to the row before": changes,
}
# Where a condition says nothing about a kind, or takes the sense from it.
SENSELESS = {
    ("growth rate", "negative values"),
    ("share of total", "negative values"),
    ("running sum", "float32"),
    ("running balance", "float32"),
}


class Maker:
    """Fills sheets of one formula under one condition: a seed fixes the formula, each sheet has its own numbers."""

    def __init__(self, kind: str, condition: Condition, seed: int) -> None:
        rng = np.random.default_rng([seed, list(KINDS).index(kind), CONDITIONS.index(condition)])
        self.formula = KINDS[kind](rng, condition.rows)
        self.condition = condition
        self.sizes = self._sizes(rng)
        self.decimals: int | str = "single" if condition.look == "single" else self._places()

    def _sizes(self, rng: np.random.Generator) -> Array:
        """The operands' orders of magnitude."""
        low, high = (-3, 9) if self.condition.look == "wide" else (0, 3)
        while True:
            sizes = rng.uniform(low, high, self.formula.operands)
            if any(sign in self.formula.text for sign in "+-"):
                # Addends of unlike size would vanish in each other: they share theirs.
                return np.full(self.formula.operands, sizes[0])
            if self.formula.text.startswith("`"):
                return sizes
            value = self._value(
                {name: np.asarray(10.0**size) for name, size in zip(names(9), sizes, strict=False)}
            )
            if 1e-3 <= abs(float(value)) <= 1e9:
                return sizes

    def _value(self, columns: dict[str, Array]) -> Array:
        with np.errstate(all="ignore"):
            tree = ast.parse(self.formula.text, mode="eval").body
            return np.asarray(verify._evaluate(tree, columns))

    def _places(self) -> int:
        probe = Sheet(200, 1)
        values = self.target(self.operands(probe))
        size = np.median(np.abs(values[np.isfinite(values) & (values != 0)]))
        return int(np.clip(self.condition.digits - 1 - np.floor(np.log10(size)), 0, 12))

    def operands(self, sheet: Sheet) -> dict[str, Array]:
        """Put the operands; returns what the formula is computed from."""
        look, used = self.condition.look, {}
        for name, size in zip(names(self.formula.operands), self.sizes, strict=True):
            scale, places = 10.0**size, int(max(0, 3 - np.floor(size)))
            spread = sheet.rng.normal(0, 0.6, sheet.rows)
            values = sheet.walk(scale, 0.05) if self.formula.walk else scale * np.exp(spread)
            if look == "negative" and not self.formula.walk:
                values = values * sheet.rng.choice([-1.0, 1.0], sheet.rows)
            if look == "zeros":
                values = np.where(sheet.rng.random(sheet.rows) < 0.06, 0.0, values)
            printed = sheet.put(name, values, "single" if look == "single" else places)
            used[name] = values if self.condition.hidden else printed
        return used

    def target(self, used: dict[str, Array]) -> Array:
        """The formula's values before rounding."""
        text = self.formula.text
        first = used["x1"]
        if text.startswith("`cumsum"):
            return np.cumsum(first)
        if "`t[-1]`" in text:
            return 10 * float(np.max(first)) + np.cumsum(first - used["x2"])
        if "`x1[-1]`" in text:
            before = np.concatenate([[np.nan], first[:-1]])
            with np.errstate(all="ignore"):
                change = first - before
                return np.asarray(100 * change / before if text.startswith("100") else change)
        return self._value(used)

    def __call__(self, sheet: Sheet) -> None:
        """Fill a sheet."""
        values = self.target(self.operands(sheet))
        sheet.put(TARGET, values, self.decimals, form="DIV" if self.condition.look == "zeros" else "")


def cases(seed: int) -> list[Case]:
    """One case for each kind and condition."""
    out = []
    for kind in KINDS:
        for condition in CONDITIONS:
            if (kind, condition.name) in SENSELESS:
                continue
            maker = Maker(kind, condition, seed)
            # A wrong cell of a running column breaks two rows.
            broken = condition.broken / 2 if "[-1]" in maker.formula.text else condition.broken
            case = Case(f"{kind} / {condition.name}", maker, (f"{TARGET} = {maker.formula.text}",))
            damage = {"missing": condition.missing, "broken": broken, "decoys": condition.decoys}
            out.append(replace(case, rows=condition.rows, seed=seed, **damage))
    return out
