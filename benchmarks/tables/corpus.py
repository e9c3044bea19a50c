"""The corpus: is each verified relation found, by which stage, and what is lost when a stage is taken away.

A relation counts as found when it is reported, or follows from what is reported: where all reported relations of the
table keep holding, the wanted one must keep holding too (`judge.implied`).
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.tables.judge import Reported, atoms, implied, reported
from benchmarks.tables.recount import TABLES, verify
from benchmarks.tables.work import Answer


@dataclass
class Entry:
    """One table with what is known of it."""

    path: Path
    kept: bool
    wanted: list[tuple[str, str]] = field(default_factory=list)
    also: list[tuple[str, str]] = field(default_factory=list)


def entries(external: Path | None) -> list[Entry]:
    """The kept tables, and those of external.csv that were collected into a folder."""
    found: dict[str, Entry] = {}
    for index, folder in (("index.csv", TABLES), ("external.csv", external), ("also_true.csv", None)):
        with (TABLES / index).open(newline="", encoding="utf-8") as handle:
            for line in csv.DictReader(handle):
                name = line["file"]
                if folder is not None and (folder / name).exists():
                    found.setdefault(name, Entry(folder / name, folder == TABLES))
                if name in found:
                    known = found[name].also if index == "also_true.csv" else found[name].wanted
                    known.append((line["target"], line["formula"]))
    return list(found.values())


@dataclass
class Outcome:
    """What an audit gave on one table."""

    entry: Entry
    answer: Answer
    missed: list[tuple[str, str]] = field(default_factory=list)
    stage_of: dict[tuple[str, str], str] = field(default_factory=dict)
    beyond: list[Reported] = field(default_factory=list)


def compare(entry: Entry, answer: Answer) -> Outcome:
    """Which wanted relations are found, and what is reported beyond all that is known."""
    outcome = Outcome(entry, answer)
    found = reported(answer)
    known = [(one.target, one.formula) for one in found]
    table = verify.read_columns(entry.path)
    for wanted in entry.wanted:
        same = [one for one in found if set(atoms(one.target, one.formula)) == set(atoms(*wanted))]
        if same:
            outcome.stage_of[wanted] = same[0].found_by
        elif implied(table, wanted, known):
            near = [one for one in found if set(atoms(one.target, one.formula)) & set(atoms(*wanted))]
            outcome.stage_of[wanted] = near[-1].found_by if near else "?"
        else:
            outcome.missed.append(wanted)
    for one in found:
        own = (one.target, one.formula)
        sets = [set(atoms(*relation)) for relation in (*entry.wanted, *entry.also)]
        if set(atoms(*own)) not in sets and not implied(table, own, [*entry.wanted, *entry.also]):
            outcome.beyond.append(one)
    return outcome


def summary(outcomes: Sequence[Outcome]) -> str:
    """Markdown: found shares, and relations by the stage that found them."""
    lines = ["| tables | count | relations | found | share |", "| --- | ---: | ---: | ---: | ---: |"]
    for label, chosen in (
        ("kept in the repository", [o for o in outcomes if o.entry.kept]),
        ("from packages", [o for o in outcomes if not o.entry.kept]),
        ("all", list(outcomes)),
    ):
        wanted = sum(len(o.entry.wanted) for o in chosen)
        missed = sum(len(o.missed) for o in chosen)
        share = (wanted - missed) / wanted if wanted else 0.0
        lines.append(f"| {label} | {len(chosen)} | {wanted} | {wanted - missed} | {share:.1%} |")
    return "\n".join(lines)


def stages(outcomes: Sequence[Outcome]) -> Counter[str]:
    """How many wanted relations each stage proposed first."""
    return Counter(stage for outcome in outcomes for stage in outcome.stage_of.values())


def stage_users(answers: dict[str, Answer]) -> dict[str, list[str]]:
    """For each stage the tables in which a reported relation came from it."""
    users: dict[str, list[str]] = defaultdict(list)
    for name, answer in answers.items():
        for stage in {one.found_by for one in reported(answer)}:
            users[stage].append(name)
    return users
