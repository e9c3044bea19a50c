"""Broken rows planted in real tables: are they listed, are others listed, and is the cause right.

Cells of the kept tables' relations are spoiled in one of five ways. Which rows then break a relation is counted by
``verify.py``, so a change that rounding hides need not be listed. Rows that broke before are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.tables.corpus import Entry
from benchmarks.tables.judge import atoms, columns_from, implied, reported
from benchmarks.tables.luck import read
from benchmarks.tables.made.sheet import CAUSES, Texts, columns_of, spoil
from benchmarks.tables.recount import verify
from benchmarks.tables.work import Answer

SHARES = (0.001, 0.01, 0.05, 0.1, 0.2)


@dataclass
class Planted:
    """One spoiled table: which relation was aimed at, and what was done in which rows."""

    name: str
    share: float
    relation: tuple[str, str]
    cells: Texts
    causes: dict[int, tuple[str, str]] = field(default_factory=dict)
    # Rows that break each relation of the table after the planting, and rows that broke it before.
    breaking: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    before: dict[tuple[str, str], set[int]] = field(default_factory=dict)


@dataclass
class Score:
    """Counts over planted tables."""

    relations: int = 0
    lost: list[str] = field(default_factory=list)
    truly: int = 0
    listed: int = 0
    both: int = 0
    right: int = 0
    causes: Counter[tuple[str, bool]] = field(default_factory=Counter)
    named: Counter[tuple[str, str]] = field(default_factory=Counter)
    suspects: Counter[bool] = field(default_factory=Counter)


def plant(entry: Entry, share: float, seed: int) -> Planted | None:
    """Spoil one cell of one relation in a share of the rows, each row in one of the five ways."""
    rng = np.random.default_rng([seed, round(share * 1000), len(entry.path.name)])
    cells = read(entry.path, rows=100_000)
    choices = [
        relation for relation in entry.wanted if "[" not in relation[1] and "cumsum" not in relation[1]
    ]
    if not choices:
        return None
    aim = choices[int(rng.integers(len(choices)))]
    planted = Planted(entry.path.name, share, aim, cells)
    planted.before = {relation: broken(cells, relation) for relation in entry.wanted}
    names = columns_of(f"`{aim[0]}` = {aim[1]}")
    rows = len(next(iter(cells.values())))
    filled = [row for row in range(rows) if all(cells[name][row].strip() for name in names)]
    order = rng.permutation([row for row in filled if row not in planted.before[aim]])
    for row in order[: max(1, round(share * rows))]:
        cause = CAUSES[(len(planted.causes) + seed) % len(CAUSES)]
        name = names[int(rng.integers(len(names)))]
        if spoil(cells[name], int(row), cause, rng):
            planted.causes[int(row)] = (cause, name)
    planted.breaking = {relation: broken(cells, relation) for relation in entry.wanted}
    return planted


def broken(cells: Texts, relation: tuple[str, str]) -> set[int]:
    """The rows that break a relation, by the count that is not ours."""
    result = verify.count(columns_from(cells), *relation)
    return set(np.flatnonzero(result.checked & ~result.consistent).tolist())


def score(planted: Planted, answer: Answer, into: Score) -> None:
    """Compare the rows listed under the aimed relation with those that break it."""
    aim = planted.relation
    into.relations += 1
    same = [
        item
        for item, one in zip(answer["relations"], reported(answer), strict=True)
        if set(atoms(one.target, one.formula)) == set(atoms(*aim))
    ]
    if not same:
        table = columns_from(planted.cells)
        known = [(one.target, one.formula) for one in reported(answer)]
        way = "follows" if implied(table, aim, known) else "lost"
        into.lost.append(f"{planted.name} {aim[0]} at {planted.share:.1%}: {way}")
        return
    old = planted.before[aim]
    listed = {item["row"]: item for item in same[0]["breaking"] if item["row"] not in old}
    truly = planted.breaking[aim] - old
    into.truly += len(truly)
    into.listed += len(listed)
    into.both += len(truly & set(listed))
    # Half a unit of an hour times 100 hides a wrong minute; whoever lists the planted row is right nevertheless.
    into.right += len((truly | set(planted.causes)) & set(listed))
    for row in sorted(truly & set(listed) & set(planted.causes)):
        cause, name = planted.causes[row]
        into.causes[cause, listed[row]["cause"] == cause] += 1
        into.named[cause, listed[row]["cause"]] += 1
        into.suspects[listed[row]["suspect"] == name] += 1


def table(scores: dict[float, Score]) -> str:
    """Markdown: one line for each share of rows."""
    lines = [
        "| rows broken | relations | still found | breaking rows | listed | precision | recall "
        "| cause right | cell right |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for share, one in scores.items():
        right = sum(count for (_, good), count in one.causes.items() if good)
        all_causes = one.causes.total()
        lines.append(
            f"| {share:.1%} | {one.relations} | {one.relations - len(one.lost)} | {one.truly} | {one.listed} "
            f"| {ratio(one.right, one.listed)} | {ratio(one.both, one.truly)} | {ratio(right, all_causes)} "
            f"| {ratio(one.suspects[True], one.suspects.total())} |"
        )
    return "\n".join(lines)


def cause_table(scores: Sequence[Score]) -> str:
    """Markdown: one line for each cause."""
    lines = ["| planted | rows | named so | most often taken for |", "| --- | ---: | ---: | --- |"]
    for cause in CAUSES:
        named = Counter[str]()
        for one in scores:
            for (planted, said), count in one.named.items():
                if planted == cause:
                    named[said] += count
        right, total = named.pop(cause, 0), 0
        total = right + named.total()
        other = ", ".join(f"{said} ({count})" for said, count in named.most_common(2))
        lines.append(f"| {cause} | {total} | {ratio(right, total)} | {other} |")
    return "\n".join(lines)


def ratio(part: int, whole: int) -> str:
    """A share in percent, or a dash."""
    return f"{part / whole:.1%}" if whole else "–"


def usable(entries: Sequence[Entry], most_bytes: int = 45_000) -> list[Entry]:
    """Kept tables that are small enough to be audited many times."""
    return [one for one in entries if one.kept and one.path.stat().st_size < most_bytes]


def folder_of(root: Path, planted: Planted, number: int) -> Path:
    """Where a spoiled table is written."""
    return root / f"{number}-{planted.name}"
