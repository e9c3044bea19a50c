"""Many made tables audited and judged: a line each, and the sums."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables.judge import Verdict, check_cases, judge
from benchmarks.tables.made.sheet import Case
from benchmarks.tables.work import Answer, audit_file, log, spread


def run(cases: list[Case], options: argparse.Namespace) -> list[Verdict]:
    """Audit and judge; print what is missed, what is false, and the sums."""
    for line in check_cases(cases):
        print(line)
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{at}.csv" for at in range(len(cases))]
        for case, path in zip(cases, paths, strict=True):
            case.write(path)
        for at, answer in spread(audit_file, [(path,) for path in paths], options.workers):
            log(options.log, cases[at].name, answer)
            verdicts.append(judge(cases[at], answer))
            tell(cases[at], answer, verdicts[-1])
    print("\n| tables | demanded | found | reported | true | of these follow | false | seconds |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print(
        f"| {len(verdicts)} | {_demanded(verdicts)} | {_found(verdicts)} | {_true(verdicts) + _false(verdicts)} "
        f"| {_true(verdicts)} | {sum(len(v.redundant) for v in verdicts)} | {_false(verdicts)} "
        f"| {sum(v.seconds for v in verdicts):.0f} |"
    )
    return verdicts


def tell(case: Case, answer: Answer, verdict: Verdict) -> None:
    """One table."""
    wanted = len(verdict.demanded)
    print(
        f"{verdict.name}: {wanted - len(verdict.missed)} of {wanted}, {len(verdict.true)} true "
        f"({len(verdict.redundant)} follow), {len(verdict.false)} false, {verdict.seconds:.1f} s"
        + (f", also {len(verdict.welcome)} of {len(case.welcome)}" if case.welcome else "")
        + (f"  ERROR {answer['error']}" if "error" in answer else ""),
        flush=True,
    )
    for truth in verdict.missed:
        print(f"    missed   {truth}")
    for label, group in (("FALSE", verdict.false), ("follows", verdict.redundant)):
        for one in group:
            print(f"    {label:<8} {one}  [{one.found_by}, {one.holding} of {one.checked}]", flush=True)


def by_kind(verdicts: Sequence[Verdict], kinds: Sequence[str], *, first: bool) -> str:
    """Markdown: one line for each first or second part of the names ``kind / condition``."""
    lines = ["| | tables | found | reported | false |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in kinds:
        some = [v for v in verdicts if v.name.split(" / ")[0 if first else 1] == kind]
        if some:
            counts = f"{_found(some)} of {_demanded(some)} | {_true(some) + _false(some)} | {_false(some)}"
            lines.append(f"| {kind} | {len(some)} | {counts} |")
    return "\n".join(lines)


def _demanded(verdicts: Sequence[Verdict]) -> int:
    return sum(len(v.demanded) for v in verdicts)


def _found(verdicts: Sequence[Verdict]) -> int:
    return _demanded(verdicts) - sum(len(v.missed) for v in verdicts)


def _true(verdicts: Sequence[Verdict]) -> int:
    return sum(len(v.true) for v in verdicts)


def _false(verdicts: Sequence[Verdict]) -> int:
    return sum(len(v.false) for v in verdicts)
