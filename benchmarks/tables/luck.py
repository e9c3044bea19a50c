"""Tables without relations: real ones with every column shuffled on its own, and four kinds that are made up.

Of a real table some rows (10 to 200, few more often than many: luck is likeliest there) and up to 12 columns are
drawn.
Whatever is reported of them is false. The share of tables with a finding is held against the promise (1 in 200), and
the sum of the printed estimates against the count.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.tables.made.sheet import Texts

KINDS = ("random", "correlated", "small integers", "zero-inflated")
MOST_ROWS = 200
MOST_COLUMNS = 12


def read(path: Path, rows: int = MOST_ROWS) -> Texts:
    """A comma-separated file as text columns, ragged lines left out."""
    with path.open(newline="", encoding="utf-8", errors="replace") as handle:
        lines = [line for line in csv.reader(handle) if line]
    header, body = lines[0], [line for line in lines[1:] if len(line) == len(lines[0])]
    return {name or f"column_{at}": [line[at] for line in body[:rows]] for at, name in enumerate(header)}


def shuffled(cells: Texts, rng: np.random.Generator) -> Texts:
    """Every column in an order of its own."""
    return {name: [column[row] for row in rng.permutation(len(column))] for name, column in cells.items()}


def made_up(kind: str, rng: np.random.Generator) -> Texts:
    """A table without relations of one of `KINDS`."""
    rows, columns = round(MOST_ROWS * 0.05 ** rng.random()), int(rng.integers(4, 13))
    common = rng.normal(size=rows)
    out: Texts = {}
    for at in range(columns):
        own = rng.normal(size=rows)
        if kind == "random":
            decimals = int(rng.integers(0, 4))
            made = [f"{v:.{decimals}f}" for v in np.exp(rng.uniform(0, 6) + own)]
        elif kind == "correlated":
            decimals = int(rng.integers(0, 3))
            made = [
                f"{v:.{decimals}f}"
                for v in 100 + rng.uniform(2, 30) * (common + rng.uniform(0.02, 0.6) * own)
            ]
        elif kind == "small integers":
            made = [str(v) for v in rng.integers(0, int(rng.integers(2, 12)), rows)]
        else:
            filled = rng.random(rows) < rng.uniform(0.02, 0.3)
            made = [
                str(int(v)) if there else "0"
                for v, there in zip(rng.gamma(1, 40, rows) + 1, filled, strict=True)
            ]
        out[f"c{at}"] = made
    return out


def save(cells: Texts, path: Path) -> None:
    """Write text columns as CSV."""
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(cells)
        writer.writerows(zip(*cells.values(), strict=True))


def tables(sources: list[Path], count: int, made: int) -> Iterator[tuple[str, str, Texts]]:
    """(kind, name, cells): `count` shuffles of real tables in turn, and `made` tables of each made-up kind."""
    usable = [path for path in sources if path.stat().st_size < 3_000_000]
    done = turn = 0
    while usable and done < count:
        for path in list(usable):
            rng = np.random.default_rng([turn, zlib.crc32(path.name.encode())])
            cells = read(path, round(MOST_ROWS * 0.05 ** rng.random()))
            if len(cells) > MOST_COLUMNS:
                keep = rng.choice(len(cells), MOST_COLUMNS, replace=False)
                cells = {name: cells[name] for at, name in enumerate(cells) if at in set(keep)}
            if len(next(iter(cells.values()))) < 8 or len(cells) < 3:
                usable.remove(path)
                continue
            yield "real, shuffled", f"{path.name} #{turn}", shuffled(cells, rng)
            done += 1
            if done == count:
                break
        turn += 1
    for kind in KINDS:
        for number in range(made):
            yield kind, f"{kind} #{number}", made_up(kind, np.random.default_rng([KINDS.index(kind), number]))
