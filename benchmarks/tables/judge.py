"""Whether a reported formula is true: asked of fresh tables from the same generator, by code of another hand.

The interval arithmetic is that of ``tests/data/tables/verify.py``. A formula is *true* when it holds within rounding
in 99% of the rows of two fresh clean tables with other seeds, and does not hold there once its target is shuffled. A
demanded formula is *found* when it is reported, or follows from what is reported and true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.tables.made.sheet import Array, Case, Texts, columns_of
from benchmarks.tables.recount import verify

LEAST_TRUE = 0.99
MOST_SHUFFLED = 0.6


@dataclass(frozen=True)
class Reported:
    """A formula as ``audit --json`` reports it."""

    target: str
    formula: str
    found_by: str
    holding: int
    checked: int
    equivalent: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{quoted(self.target)} = {self.formula}"


@dataclass
class Verdict:
    """What became of one table."""

    name: str
    seconds: float
    expected_false: float
    demanded: tuple[str, ...]
    missed: list[str] = field(default_factory=list)
    welcome: list[str] = field(default_factory=list)
    false: list[Reported] = field(default_factory=list)
    true: list[Reported] = field(default_factory=list)
    redundant: list[Reported] = field(default_factory=list)


def quoted(name: str) -> str:
    """A column as formulas name it."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def split(relation: str) -> tuple[str, str]:
    """Target and formula of ``target = formula``."""
    target, _, formula = relation.partition(" = ")
    return target.strip("`"), formula


def columns_from(cells: Texts) -> dict[str, Any]:
    """Text cells as `verify.py` reads them."""
    return {name: verify._column(list(texts)) for name, texts in cells.items()}


def share(table: dict[str, Any], target: str, formula: str, *, shuffled: bool = False) -> float:
    """The share of rows holding; NaN where a name is unknown or nothing is checked."""
    if shuffled:
        rng = np.random.default_rng(5)
        values = table[target].values
        order = rng.permutation(len(values))
        table = {**table, target: verify.Column(values[order], table[target].half[order])}
    try:
        result = verify.count(with_next_rows(table, formula), target, formula)
    except (KeyError, ValueError, SyntaxError):
        return float("nan")
    asked = result.checked
    if shuffled:
        # Where most cells are zero, most of them stay zero in any order.
        cells = table[target].values
        shown, counts = np.unique(cells[np.isfinite(cells)], return_counts=True)
        usual = shown[counts.argmax()] if counts.max() > 0.3 * counts.sum() else np.nan
        asked = asked & (cells != usual)
    checked = int(asked.sum())
    return float((result.consistent & asked).sum()) / checked if checked else float("nan")


def with_next_rows(table: dict[str, Any], formula: str) -> dict[str, Any]:
    """The table with the columns ``x[1]`` (the row after) of a formula; `verify.py` knows only the row before."""
    found = dict(table)
    for name in re.findall(r"`([^`]*)\[1\]`", formula):
        values, half = table[name].values, table[name].half
        found[f"{name}[1]"] = verify.Column(np.append(values[1:], np.nan), np.append(half[1:], np.nan))
    return found


def is_true(case: Case, target: str, formula: str) -> bool:
    """Whether a formula holds on two fresh tables, and is not vague there."""
    for seed in (11, 12):
        table = columns_from(case.clean(rows=case.fresh, seed=seed))
        least = LEAST_TRUE
        for truth in (*case.truths, *case.welcome):
            # A balance that starts again in every account breaks there by its nature.
            if set(atoms(*split(truth))) == set(atoms(target, formula)):
                least = min(least, share(table, *split(truth)) - 0.02)
        if not share(table, target, formula) >= least:
            return False
        if share(table, target, formula, shuffled=True) > MOST_SHUFFLED:
            return False
    return True


def gradients(table: dict[str, Any], relations: Sequence[tuple[str, str]], rows: Array) -> list[Array]:
    """The slopes of ``target - formula`` by every column and its shifted twins, one matrix a row."""
    names = sorted({name for target, formula in relations for name in atoms(target, formula)})
    out = []
    for row in rows:
        at = {name: float(verify._lookup(name, table).values[int(row)]) for name in names}
        lines = []
        for target, formula in relations:
            slopes = []
            for name in names:
                step = 1e-6 * max(abs(at[name]), 1e-3)
                up, down = {**at, name: at[name] + step}, {**at, name: at[name] - step}
                slopes.append(
                    (residual(target, formula, up) - residual(target, formula, down))
                    / (2 * step)
                    * max(abs(at[name]), 1e-3)
                )
            line = np.array(slopes)
            lines.append(line / (np.linalg.norm(line) or 1.0))
        out.append(np.array(lines))
    return out


def atoms(target: str, formula: str) -> list[str]:
    """The names in a relation, shifted ones as their own; a running sum is the row before plus a column."""
    if running := re.fullmatch(r"`cumsum\((.*)\)`", formula):
        return [target, f"{target}[-1]", running.group(1)]
    names = re.findall(r"`([^`]*)`", formula)
    # Quoted names and the e of numbers such as 2e-06 are no plain names.
    return [target, *names, *re.findall(r"\b[^\W\d]\w*", re.sub(r"`[^`]*`", " ", formula))]


def residual(target: str, formula: str, at: dict[str, float]) -> float:
    """Target minus formula at one point."""
    import ast

    aliases = {f"q_{number}_": name for number, name in enumerate(at)}
    text = formula
    for alias, name in aliases.items():
        text = text.replace(f"`{name}`", alias)
    columns = {alias: np.asarray(at[name]) for alias, name in aliases.items()}
    columns |= {name: np.asarray(value) for name, value in at.items()}
    with np.errstate(all="ignore"):
        return float(at[target] - verify._evaluate(ast.parse(text, mode="eval").body, columns))


def rootless(formula: str) -> str:
    """The formula with roots as powers, which is all that `verify.py` knows."""
    return re.sub(r"sqrt\(([^()]*)\)", r"(\1) ** 0.5", formula)


def reported(answer: dict[str, Any]) -> list[Reported]:
    """The relations of an answer in the shape of ``audit --json``."""
    return [
        Reported(
            item["target"],
            rootless(item["formula"]),
            item["found_by"],
            item["rows_holding"],
            item["rows_checked"],
            tuple(rootless(formula) for formula in item["equivalent"]),
        )
        for item in answer["relations"]
    ]


def follows(case: Case, wanted: str, known: Sequence[tuple[str, str]]) -> bool:
    """Whether ``wanted`` is among the known relations, or follows from them on a fresh table."""
    relation = split(wanted)
    if any(set(atoms(*one)) == set(atoms(*relation)) for one in known):
        return True
    return implied(columns_from(case.clean(rows=60, seed=13)), relation, known)


def implied(table: dict[str, Any], wanted: tuple[str, str], known: Sequence[tuple[str, str]]) -> bool:
    """Whether the slopes of ``wanted`` lie in the span of those of the known relations, at several rows."""
    connected, left = set(atoms(*wanted)), list(known)
    near: list[tuple[str, str]] = []
    while step := [one for one in left if connected & set(atoms(*one))]:
        near += step
        left = [one for one in left if one not in step]
        connected |= {name for one in step for name in atoms(*one)}
    if not near or not set(atoms(*wanted)) <= {name for one in near for name in atoms(*one)}:
        return False
    relations = [*near, wanted]
    for _, used in relations:
        table = with_next_rows(table, used)
    columns = [
        verify._lookup(name, table).values for name in {name for one in relations for name in atoms(*one)}
    ]
    rows = np.flatnonzero(np.logical_and.reduce([np.isfinite(c) & (c != 0) for c in columns]))
    if not len(rows):
        rows = np.flatnonzero(np.logical_and.reduce([np.isfinite(c) for c in columns]))
    if not len(rows):
        return False
    rows = rows[np.linspace(0, len(rows) - 1, 3).astype(int)]
    for matrix in gradients(table, relations, rows):
        if not np.isfinite(matrix).all():
            return False
        solution = np.linalg.lstsq(matrix[:-1].T, matrix[-1], rcond=1e-6)[0]
        # Points lie on the relations only to rounding, so slopes agree to some digits.
        if not np.linalg.norm(matrix[:-1].T @ solution - matrix[-1]) < 0.02:
            return False
    return True


def redundant(case: Case, found: Sequence[Reported]) -> list[Reported]:
    """The relations that follow, to rounding, from the others: the longest first."""
    table = columns_from(case.clean(rows=60, seed=13))
    left = list(found)
    for one in sorted(found, key=lambda one: -len(one.formula)):
        others = [(other.target, other.formula) for other in left if other is not one]
        if implied(table, (one.target, one.formula), others):
            left.remove(one)
    return [one for one in found if one not in left]


def judge(case: Case, found: dict[str, Any]) -> Verdict:
    """Judge an answer in the shape of ``audit --json``."""
    verdict = Verdict(
        case.name, float(found["seconds"]), float(found["false_findings_expected"]), case.truths
    )
    known: list[tuple[str, str]] = []
    for one in reported(found):
        good = is_true(case, one.target, one.formula)
        (verdict.true if good else verdict.false).append(one)
        if good:
            known.append((one.target, one.formula))
        for other in one.equivalent:
            if not is_true(case, one.target, other):
                verdict.false.append(Reported(one.target, other, "equivalent", 0, 0))
    verdict.redundant = redundant(case, verdict.true)
    verdict.missed = [truth for truth in case.truths if not follows(case, truth, known)]
    verdict.welcome = [truth for truth in case.welcome if follows(case, truth, known)]
    return verdict


def check_cases(cases: Sequence[Case]) -> list[str]:
    """What is claimed of the generators and does not hold on a fresh table."""
    wrong = []
    for case in cases:
        table = columns_from(case.clean(rows=case.fresh, seed=11))
        for truth in (*case.truths, *case.welcome):
            target, formula = split(truth)
            held = share(table, target, formula)
            if not held >= 0.9:
                wrong.append(
                    f"{case.name}: {truth} holds in {held:.1%} of a fresh table; columns {columns_of(truth)}"
                )
            elif held < LEAST_TRUE:
                wrong.append(f"(note) {case.name}: {truth} holds in {held:.1%}")
    return wrong
