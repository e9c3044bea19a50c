"""Side by side: formulas for named targets, by ours and by others, on the same tables with the same seconds.

Rivals are told the target, which an audit is not. A rival's answer counts as *found* when its predictions hold within
rounding in 99% of the rows of a fresh table of the same kind, and as *falsely found* when it holds in 95% of the rows
it has seen and not on the fresh table, or for a column that nothing computes. What is not installed is left out with
one line.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.tables.judge import columns_from, is_true, split
from benchmarks.tables.made.sheet import Array, Case, Texts

from inalu.tabular.pipeline import STAGES

Predict = Callable[[Array], Array]
CLAIM, TRUE = 0.95, 0.99
CONDITIONS = ("plain", "10% of cells missing", "operands rounded afterwards", "20% of rows broken")


@dataclass(frozen=True)
class Task:
    """One target of one table."""

    case: Case
    target: str
    computed: bool

    def inputs(self) -> list[str]:
        """The columns that rivals see: those of numbers, less the ones that are mostly empty."""
        table = columns_from(self.case.table())
        return [n for n in table if n != self.target and np.isfinite(table[n].values).mean() > 0.5]

    def data(self, cells: Texts, names: list[str]) -> tuple[Array, Array, Array]:
        """Inputs, target and half units, without rows that miss a cell."""
        table = columns_from(cells)
        inputs = np.column_stack([table[n].values for n in names])
        goal, half = table[self.target].values, table[self.target].half
        keep = np.isfinite(inputs).all(axis=1) & np.isfinite(goal)
        return inputs[keep], goal[keep], half[keep]


@dataclass(frozen=True)
class Row:
    """What one method made of one task."""

    method: str
    task: Task
    found: bool
    false: bool
    seconds: float
    said: str


def fit_for_all(case: Case) -> bool:
    """Whether a case of the grid is one that rivals can be asked: no row before, and a condition they may meet."""
    text = case.truths[0]
    return case.name.split(" / ")[1] in CONDITIONS and "[-1]" not in text and "cumsum" not in text


def tasks(cases: list[Case]) -> list[Task]:
    """The computed column of each table, and in every third table one that nothing computes."""
    found = [Task(case, split(case.truths[0])[0], True) for case in cases]
    return found + [Task(case, "other_1", False) for case in cases[::3]]


def ours(task: Task, stages: list[str] | None) -> Iterator[tuple[bool, str]]:
    """Our answer for a named target: (whether a formula was claimed and true, its text)."""
    from inalu.tabular.audit import fit

    answer = fit(dict_of(task.case.table()), target=task.target, stages=stages)
    for relation in answer.relations[:1]:
        yield task.computed and is_true(task.case, relation.target, str(relation.formula)), str(relation)


def dict_of(cells: Texts) -> Any:
    """Text cells as a table of ours, read as a file would be."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    from inalu.tabular.table import read_table

    return read_table(io.BytesIO(text.getvalue().encode()))


def brute_pairs(x: Array, y: Array, seconds: float) -> Predict:
    """The best of all pairs under + - × ÷, times the constant that fits best."""
    best, answer = np.inf, None
    for i in range(x.shape[1]):
        for j in range(x.shape[1]):
            if i == j:
                continue
            for name in "+-*/" if i < j else "-/":
                with np.errstate(all="ignore"):
                    value = _pair(name, x[:, i], x[:, j])
                    if not np.isfinite(value).all():
                        continue
                    factor = float(value @ y / max(value @ value, 1e-300))
                    error = float(np.median(np.abs(factor * value - y)))
                if error < best:
                    best, answer = error, (name, i, j, float(f"{factor:.6g}"))
    assert answer is not None
    name, i, j, factor = answer
    return lambda new: factor * _pair(name, new[:, i], new[:, j])


def _pair(name: str, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return a + b if name == "+" else a - b if name == "-" else a * b if name == "*" else a / b


def least_squares(x: Array, y: Array, seconds: float) -> Predict:
    """A straight line whose coefficients are rounded to three digits, small ones dropped."""
    design = np.column_stack([x, np.ones(len(x))])
    solution = np.linalg.lstsq(design / (scale := np.abs(design).max(axis=0) + 1e-300), y, rcond=None)[0]
    solution = np.where(np.abs(solution) < 1e-3 * np.abs(y).max(), 0.0, solution) / scale
    rounded = np.array([float(f"{value:.3g}") for value in solution])
    return lambda new: np.column_stack([new, np.ones(len(new))]) @ rounded


def gplearn(x: Array, y: Array, seconds: float) -> Predict:
    """gplearn, as many generations as the seconds allow."""
    from gplearn.genetic import SymbolicRegressor

    # A first parsimonious setting of its own documentation; generations are added until the time is used.
    model = SymbolicRegressor(
        population_size=1000,
        generations=1,
        parsimony_coefficient=0.001,
        random_state=0,
        warm_start=True,
        n_jobs=1,
    )
    start, generations = time.process_time(), 0
    while time.process_time() - start < seconds:
        generations += 2
        model.set_params(generations=generations)
        model.fit(x, y)
    return lambda new: np.asarray(model.predict(new))


def pyoperon(x: Array, y: Array, seconds: float) -> Predict:
    """pyoperon, stopped by its clock."""
    from pyoperon.sklearn import SymbolicRegressor

    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,constant,variable",
        max_time=max(1, int(seconds)),
        max_evaluations=10**9,
        generations=10**6,
        n_threads=1,
        random_state=0,
        optimizer_iterations=5,
    )
    model.fit(x.copy(), y.copy())
    return lambda new: np.asarray(model.predict(new.copy()))


METHODS: dict[str, Callable[[Array, Array, float], Predict]] = {
    "pairs by brute force": brute_pairs,
    "least squares, rounded": least_squares,
    "gplearn": gplearn,
    "pyoperon": pyoperon,
}


def installed(method: str) -> bool:
    """Whether a rival can be imported; says so in one line where not."""
    from importlib.util import find_spec

    if method in {"gplearn", "pyoperon"} and find_spec(method) is None:
        print(f"{method} is not installed: left out.")
        return False
    return True


def run(task: Task, method: str, seconds: float) -> Row:
    """One method on one task."""
    start = time.perf_counter()
    if method == "ours" or method in STAGES:
        answers = list(ours(task, None if method == "ours" else [method]))
        found = any(good for good, _ in answers)
        said = answers[0][1] if answers else ""
        return Row(method, task, found, bool(answers) and not found, time.perf_counter() - start, said)
    names = task.inputs()
    x, y, half = task.data(task.case.table(), names)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predict = METHODS[method](x, y, seconds)
        taken = time.perf_counter() - start
        claimed = _held(predict(x), y, half) >= CLAIM
        found = task.computed and _fresh(task, names, predict) >= TRUE
    except Exception as error:
        return Row(
            method, task, False, False, time.perf_counter() - start, f"{type(error).__name__}: {error}"[:100]
        )
    return Row(method, task, found, claimed and not found, taken, "")


def _held(predicted: Array, y: Array, half: Array) -> float:
    # Rivals know nothing of operands' rounding; two units instead of half of one are granted for it.
    return float((np.abs(predicted - y) <= 4 * half + 1e-9 * np.abs(y)).mean())


def _fresh(task: Task, names: list[str], predict: Predict) -> float:
    cells = task.case.clean(rows=task.case.fresh, seed=11)
    order = np.random.default_rng(2)
    for name in (*names, task.target):
        # A column that has nothing to do with the others: any numbers will do.
        cells.setdefault(name, [f"{v:.2f}" for v in order.lognormal(3, 1, task.case.fresh)])
    x, y, half = task.data(cells, names)
    return _held(predict(x), y, half)
