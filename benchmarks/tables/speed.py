"""Time and memory of whole commands, from the start of the process; and the same answer twice.

Every measurement is a process of its own; its peak memory is what the system says it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.tables.recount import TABLES

# What the made tables hold: in every ten columns a sum, a ratio and a product; the others are inputs.
RELATIONS_IN_TEN = 3
SMALL = ("election.csv", "us_marriages.csv", "nightingale.csv", "jevons.csv")


@dataclass(frozen=True)
class Run:
    """One process."""

    seconds: float
    mebibytes: float
    code: int
    answer: dict[str, object]


def make(path: Path, rows: int, columns: int, seed: int = 0) -> None:
    """A table of prices, counts and rates with formulas among them; the last column of each ten is free text."""
    rng = np.random.default_rng([seed, rows, columns])
    made: dict[str, np.ndarray] = {}
    formats: list[str] = []
    while len(made) < columns:
        at = len(made)
        kind = at % 10
        if kind == 3:
            made[f"c{at}"] = made[f"c{at - 3}"] + made[f"c{at - 2}"]
        elif kind == 6:
            made[f"c{at}"] = 100 * made[f"c{at - 2}"] / made[f"c{at - 6}"]
        elif kind == 9:
            made[f"c{at}"] = made[f"c{at - 1}"] * made[f"c{at - 2}"]
        elif kind in (7, 8):
            made[f"c{at}"] = rng.integers(1, 400, rows).astype(float)
        else:
            made[f"c{at}"] = np.round(rng.lognormal(4, 1, rows) + 0.01, 2)
        formats.append("%.0f" if kind in (7, 8, 9) else "%.2f")
    with path.open("w", encoding="utf-8") as handle:
        handle.write(",".join(made) + "\n")
        np.savetxt(handle, np.column_stack(list(made.values())), fmt=formats, delimiter=",")


def command(path: Path, *options: str) -> Run:
    """``inalu audit PATH --json`` as a process."""
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "inalu", "audit", str(path), "--json", *options],
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    return Run(seconds, usage.ru_maxrss / 1024, process.returncode, json.loads(text) if text else {})


def first_answer(path: Path) -> tuple[float, float]:
    """Seconds from process start to the first relation, and to the end."""
    script = (
        "import sys, time\nfrom inalu.tabular.audit import audit\n"
        "def told(relation):\n    print(time.time(), flush=True)\n"
        "audit(sys.argv[1], on_relation=told)\nprint(time.time(), flush=True)\n"
    )
    start = time.time()
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    lines = [float(line) for line in done.stdout.split()]
    return lines[0] - start, lines[-1] - start


def relations(run: Run) -> int:
    """How many relations a run found."""
    return len(run.answer.get("relations", []))  # type: ignore[arg-type]


def print_sizes(title: str, sizes: list[tuple[int, int]]) -> None:
    """Time and memory for tables of some sizes."""
    print(f"\n{title}\n\n| rows | columns | formulas in it | found | seconds | peak MiB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns in sizes:
            path = Path(folder) / f"{rows}x{columns}.csv"
            make(path, rows, columns)
            run = command(path)
            there = sum(1 for at in range(columns) if at % 10 in (3, 6, 9))
            print(
                f"| {rows:,} | {columns} | {there} | {relations(run)} | {run.seconds:.1f} | {run.mebibytes:.0f} |",
                flush=True,
            )
            path.unlink()


def print_small() -> None:
    """Small files, from the start of the process."""
    print("\n| small file | first relation, s | whole command, s | peak MiB |\n| --- | ---: | ---: | ---: |")
    for name in SMALL:
        first, _ = first_answer(TABLES / name)
        run = command(TABLES / name)
        print(f"| {name} | {first:.2f} | {run.seconds:.2f} | {run.mebibytes:.0f} |", flush=True)


def same_answers() -> bool:
    """Whether two runs, and `FormulaRegressor` with one and two jobs, give the same answer."""
    for name in SMALL:
        answers = [command(TABLES / name).answer for _ in range(2)]
        for answer in answers:
            answer.pop("seconds", None)
        if answers[0] != answers[1]:
            return False
    from inalu.tabular.regressor import FormulaRegressor

    rng = np.random.default_rng(0)
    x = np.round(rng.uniform(1, 100, (500, 6)), 2)
    y = np.round(100 * x[:, 0] / (x[:, 2] + x[:, 3]), 1)
    texts = {str(FormulaRegressor(n_jobs=jobs).fit(x, y).equations_.to_csv()) for jobs in (None, 1, 2)}
    return len(texts) == 1
