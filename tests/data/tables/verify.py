"""Recount every line of index.csv (and external.csv) from the tables themselves.

The counting here is deliberately apart from the package: it shares no code with it, so that the package
cannot agree with its own mistakes. ``python tests/data/tables/verify.py`` compares the stored figures with a
fresh count; ``--folder DIR --index external.csv`` does the same for tables not kept in the repository.

A row is *checked* when target and formula are both finite. It is *exact* when the formula, computed from the
printed operands, lands within half a unit of the target's last printed place. It is *consistent* when it does
so once each operand may also move by half a unit of its own last place. The others break the relation.
"""

from __future__ import annotations

import argparse
import ast
import csv
import itertools
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
MISSING = {"", "na", "nan", "n/a", "null", "none", ".", "-", "nat"}
# Sixteen or more digits are a float64 printed in full, eight to fifteen after the point often a float32.
FLOAT64_DIGITS, FLOAT64_NOISE, FLOAT32_NOISE = 15, 4e-16, 1.2e-7


@dataclass(frozen=True)
class Column:
    """Numbers of one column with half a unit of the last place that carries meaning, cell by cell."""

    values: np.ndarray
    half: np.ndarray


@dataclass(frozen=True)
class Count:
    """What a recount finds: masks over the data rows, and the formula's values."""

    checked: np.ndarray
    exact: np.ndarray
    consistent: np.ndarray
    formula: np.ndarray


def read_columns(path: Path) -> dict[str, Column]:
    """Read a comma-separated file; cells that are no numbers become NaN."""
    with path.open(newline="", encoding="utf-8") as handle:
        header, *rows = list(csv.reader(handle))
    return {name: _column([row[i] for row in rows]) for i, name in enumerate(header)}


def _column(texts: list[str]) -> Column:
    values = np.full(len(texts), np.nan)
    decimals = np.zeros(len(texts), dtype=int)
    digits = np.zeros(len(texts), dtype=int)
    for row, raw in enumerate(texts):
        text = raw.strip().lower()
        if text in MISSING:
            continue
        try:
            values[row] = float(text)
        except ValueError:
            continue
        mantissa, _, exponent = text.lstrip("+-").partition("e")
        fraction = mantissa.partition(".")[2].rstrip("0")
        decimals[row] = max(0, len(fraction) - int(exponent or 0))
        if fraction:
            digits[row] = len(mantissa.replace(".", "").rstrip("0").lstrip("0"))
    # 165.85000000000002 among short cells is arithmetic noise: when all long cells turn short, drop it.
    long = np.flatnonzero(digits >= FLOAT64_DIGITS)
    short = [f"{values[row]:.12g}" for row in long]
    if all("e" not in text and len(text.lstrip("-0.").replace(".", "")) <= 11 for text in short):
        for row, text in zip(long, short, strict=True):
            fraction = text.partition(".")[2]
            decimals[row], digits[row] = len(fraction), len(text.lstrip("-0.").replace(".", ""))
    finite = np.isfinite(values)
    half = np.full(len(texts), np.nan)
    if finite.any():
        half[finite] = _half_units(values[finite], decimals[finite], digits[finite])
    return Column(values, half)


def _half_units(values: np.ndarray, decimals: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Half a unit of the last place that carries meaning."""
    size = np.abs(values)
    relative = 0.0
    if digits.max() >= FLOAT64_DIGITS:
        relative = FLOAT64_NOISE
    if digits.max() >= 8 and _is_float32(values):
        relative = FLOAT32_NOISE
    if relative:
        # 0.939999998 in a column of two decimals: the tail is storage or arithmetic on larger numbers.
        tail = 4 * relative * float(size.max())
        for places in range(10):
            if tail < 0.02 * 10.0**-places and np.all(np.abs(values - np.round(values, places)) <= tail):
                return np.full_like(values, 0.5 * 10.0**-places)
        return size * relative + 1e-300
    significant = _significant_digits(values, decimals)
    if significant:
        magnitude = np.floor(np.log10(np.where(size > 0, size, 1.0)))
        return np.asarray(0.5 * 10.0 ** (magnitude - significant + 1))
    return np.full_like(values, 0.5 * 10.0 ** -float(decimals.max()))


def _significant_digits(values: np.ndarray, decimals: np.ndarray) -> int:
    """The constant number of significant digits, when decimals shrink as magnitudes grow; else 0."""
    size = np.abs(values)
    magnitude = np.floor(np.log10(np.where(size > 0, size, np.nan)))
    decades = [m for m in np.unique(magnitude[np.isfinite(magnitude)]) if np.sum(magnitude == m) >= 3]
    longest = {int(decimals[magnitude == m].max() + m + 1) for m in decades}
    # Below six digits, short cells in one decade are luck rather than significant-digit rounding.
    return longest.pop() if len(decades) > 1 and len(longest) == 1 and min(longest) >= 6 else 0


def _is_float32(values: np.ndarray) -> bool:
    """Values that survive float32 although they print many digits were stored as float32."""
    narrow = values.astype(np.float32)
    printed = np.array([float(str(v)) for v in narrow])
    # R prints fifteen digits of a float32, so equality holds to 1e-14 only.
    close = np.abs(narrow.astype(float) - values) <= 1e-14 * np.abs(values)
    return bool(np.all(close | (printed == values)))


def _shift(column: Column) -> Column:
    return Column(
        np.concatenate([[np.nan], column.values[:-1]]), np.concatenate([[np.nan], column.half[:-1]])
    )


def _lookup(name: str, table: dict[str, Column]) -> Column:
    """A column, the row before (``x[-1]``) or the running sum (``cumsum(x)``)."""
    if name in table:
        return table[name]
    if name.endswith("[-1]"):
        return _shift(_lookup(name[:-4], table))
    running = re.fullmatch(r"cumsum\((.*)\)", name)
    if running:
        inner = _lookup(running.group(1), table)
        # Rounding errors of n independent rows add up like the square root of n; three times that is safe.
        rows = np.sqrt(np.arange(1.0, len(inner.values) + 1))
        return Column(np.nancumsum(inner.values), inner.half * np.minimum(rows**2, 2 * rows))
    raise KeyError(name)


def count(table: dict[str, Column], target: str, formula: str) -> Count:
    """Judge every data row of one relation."""
    names: list[str] = []

    def name_of(match: re.Match[str]) -> str:
        names.append(match.group(1))
        return f"q_{len(names) - 1}_"

    tree = ast.parse(re.sub(r"`([^`]*)`", name_of, formula), mode="eval").body
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    columns = {
        n: _lookup(names[int(n[2:-1])] if re.fullmatch(r"q_\d+_", n) else n, table) for n in sorted(used)
    }
    # One column may stand under two aliases; it moves as one.
    groups: dict[int, list[str]] = {}
    for alias, column in columns.items():
        groups.setdefault(_identity(column), []).append(alias)
    centre = {alias: column.values for alias, column in columns.items()}
    goal = table[target]
    with np.errstate(all="ignore"):
        value = _evaluate(tree, centre)
        slack = _slack(tree, centre, value, [(names, columns[names[0]].half) for names in groups.values()])
        checked = np.isfinite(value) & np.isfinite(goal.values)
        apart = np.abs(goal.values - value)
        # Ties round either way; the last bits of a double are nobody's fault.
        noise = 1e-9 * goal.half + 1e-13 * np.abs(value) + 1e-15 * np.abs(goal.values)
        exact = checked & (apart <= goal.half + noise)
        consistent = checked & ((apart <= goal.half + slack + noise) | ~np.isfinite(slack))
    return Count(checked, exact, consistent, value)


def _slack(
    tree: ast.expr,
    centre: dict[str, np.ndarray],
    value: np.ndarray,
    moves: list[tuple[list[str], np.ndarray]],
) -> np.ndarray:
    """How far the formula can move when every operand moves by half a unit of its last place."""
    if len(moves) <= 6:
        corners = [list(signs) for signs in itertools.product((-1.0, 1.0), repeat=len(moves))]
        far = np.zeros_like(value)
        for signs in corners:
            moved = dict(centre)
            for sign, (aliases, half) in zip(signs, moves, strict=True):
                moved.update({alias: centre[alias] + sign * half for alias in aliases})
            far = np.fmax(far, np.abs(_evaluate(tree, moved) - value))
        return far
    total = np.zeros_like(value)
    for aliases, half in moves:
        up = _evaluate(tree, {**centre, **{a: centre[a] + half for a in aliases}})
        down = _evaluate(tree, {**centre, **{a: centre[a] - half for a in aliases}})
        total = total + np.fmax(np.abs(up - value), np.abs(down - value))
    return total


def _identity(column: Column) -> int:
    return hash(column.values.tobytes())


def _evaluate(node: ast.expr, columns: dict[str, np.ndarray]) -> np.ndarray:
    if isinstance(node, ast.Constant):
        return np.asarray(float(node.value))  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return columns[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, columns)
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, columns), _evaluate(node.right, columns)
        operation = {
            ast.Add: np.add,
            ast.Sub: np.subtract,
            ast.Mult: np.multiply,
            ast.Div: np.divide,
            ast.Pow: np.power,
        }[type(node.op)]
        return np.asarray(operation(left, right))
    raise ValueError(f"not an arithmetic formula: {ast.dump(node)}")


def main() -> int:
    """Compare stored with fresh counts; exit 1 when one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--index", type=Path, default=FOLDER / "index.csv")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    wrong = relations = absent = 0
    with options.index.open(newline="", encoding="utf-8") as handle:
        for line in csv.DictReader(handle):
            if not (options.folder / line["file"]).exists():
                absent += 1
                continue
            found = count(read_columns(options.folder / line["file"]), line["target"], line["formula"])
            checked, consistent = int(found.checked.sum()), int(found.consistent.sum())
            stored = (int(line["rows_checked"]), int(line["n_rows_breaking"]))
            relations += 1
            if stored != (checked, checked - consistent):
                wrong += 1
                counted = (checked, checked - consistent)
                print(f"{line['file']} {line['target']}: stored {stored}, counted {counted}")
    print(f"{relations} relations, {wrong} differ" + (f", {absent} in tables not here" if absent else ""))
    return int(wrong > 0 or relations == 0)


if __name__ == "__main__":
    sys.exit(main())
