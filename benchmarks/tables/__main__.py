"""What `inalu audit` finds, misses, finds falsely, and costs: every figure in docs/tables.md comes from here.

python -m benchmarks.tables corpus [--without]  the verified relations of real tables; each stage taken away
python -m benchmarks.tables read FOLDER         any tables: what is found, for a person to judge
python -m benchmarks.tables grid [--seed N]     made tables: every kind of formula under every condition
python -m benchmarks.tables made                made tables that tell a story, also of formulas beyond reach
python -m benchmarks.tables false               tables without relations
python -m benchmarks.tables breaks              broken rows planted in real tables
python -m benchmarks.tables speed [PART]        time and memory: small, rows, columns, same
python -m benchmarks.tables rivals              side by side with others

The files: ``made/`` has the made tables (``sheet.py`` how one is filled and damaged, ``grid.py`` and ``stories.py``
the cases, ``money.py``, ``world.py``, ``near.py`` the stories); ``luck.py`` the tables without relations;
``planted.py`` the broken rows; ``corpus.py`` the real tables; ``rivals.py`` the others; ``judge.py`` decides whether
a formula is true, with the counting of ``recount.py``, which is not the package's; ``trial.py`` judges many;
``work.py`` runs audits in processes.

`--external` is where ``tests/data/tables/collect.py`` put the tables that are not kept here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.tables import corpus, luck, planted, rivals, speed, trial
from benchmarks.tables.judge import judge, quoted, reported
from benchmarks.tables.made import grid, stories
from benchmarks.tables.made.sheet import Case
from benchmarks.tables.recount import TABLES
from benchmarks.tables.work import Answer, audit_file, log, spread

NOT_TABLES = {
    "index.csv",
    "breaks.csv",
    "external.csv",
    "external_breaks.csv",
    "external_sources.csv",
    "also_true.csv",
    "cells.csv",
}


def made(options: argparse.Namespace) -> int:
    """Made tables that tell a story: payrolls, loans, leagues, laboratories, and formulas beyond reach."""
    trial.run(chosen(options, stories.CASES), options)
    return 0


def run_grid(options: argparse.Namespace) -> int:
    """Every kind of formula under every condition, drawn anew for each seed."""
    cases = [case for seed in options.seed or [0] for case in grid.cases(seed)]
    verdicts = trial.run(chosen(options, cases), options)
    print("\n" + trial.by_kind(verdicts, list(grid.KINDS), first=True))
    print("\n" + trial.by_kind(verdicts, [one.name for one in grid.CONDITIONS], first=False))
    return 0


def chosen(options: argparse.Namespace, cases: list[Case]) -> list[Case]:
    """The cases that ``--only``, ``--part`` and ``--parts`` leave."""
    return [case for case in cases if options.only in case.name][options.part :: options.parts]


def read(options: argparse.Namespace) -> int:
    """Audit all CSV files of a folder and print what is found, for a person to judge."""
    sources = sorted(path for path in options.folder.rglob("*.csv") if options.only in path.name)
    for at, answer in spread(audit_file, [(path,) for path in sources], options.workers):
        log(options.log, sources[at].name, answer)
        print(f"{sources[at].name}: {answer['seconds']:.1f} s {answer.get('error', '')}", flush=True)
        for one in reported(answer):
            print(f"    {one}  [{one.found_by}, {one.holding} of {one.checked}]", flush=True)
    return 0


def run_corpus(options: argparse.Namespace) -> int:
    """The verified relations of real tables; with ``--without``, what each stage adds."""
    entries = {
        one.path.name: one for one in corpus.entries(options.external) if options.only in str(one.path)
    }
    answers: dict[str, Answer] = {}
    jobs = [(one.path,) for one in entries.values()]
    for at, answer in spread(audit_file, jobs, options.workers):
        name = list(entries)[at]
        answers[name] = answer
        log(options.log, name, answer)
    outcomes = [corpus.compare(entries[name], answer) for name, answer in answers.items()]
    for outcome in outcomes:
        for target, formula in outcome.missed:
            print(f"missed  {outcome.entry.path.name}: {quoted(target)} = {formula}")
        for one in outcome.beyond:
            print(
                f"beyond  {outcome.entry.path.name}: {one}  [{one.found_by}, {one.holding} of {one.checked}]"
            )
        if "error" in outcome.answer:
            print(f"ERROR   {outcome.entry.path.name}: {outcome.answer['error']}")
    print("\n" + corpus.summary(outcomes))
    first = corpus.stages(outcomes)
    print("\n| stage | relations it proposed first |\n| --- | ---: |")
    for stage, count in first.most_common():
        print(f"| {stage} | {count} |")
    if options.without is not None:
        without(options, entries, outcomes)
    return 0


def without(
    options: argparse.Namespace, entries: dict[str, corpus.Entry], outcomes: list[corpus.Outcome]
) -> None:
    """Run each table again without a stage that contributed to it, and count what is lost.

    A stage that contributed nothing to a table cannot be missed there, so those tables are not run again. Made tables
    count like real ones: what is demanded of them is known as well.
    """
    from inalu.tabular.pipeline import stage_names

    taken = stage_names(options.without.split(",") if options.without else None)
    cases = {case.name: case for case in stories.CASES if case.truths and case.decoys <= 10}
    lost: dict[str, list[str]] = defaultdict(list)
    tables: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{at}.csv" for at, name in enumerate(cases)}
        for name, path in paths.items():
            cases[name].write(path)
        made = {
            name: answer
            for name, (_, answer) in zip(
                paths, spread(audit_file, [(p,) for p in paths.values()], options.workers), strict=True
            )
        }
        answers = {outcome.entry.path.name: outcome.answer for outcome in outcomes}
        users = corpus.stage_users({**answers, **made})
        jobs = [
            (stage, name, paths[name] if name in paths else entries[name].path)
            for stage in taken
            for name in users.get(stage, [])
        ]
        before = {o.entry.path.name: {f"{t} = {f}" for t, f in o.missed} for o in outcomes}
        before |= {name: set(judge(cases[name], answer).missed) for name, answer in made.items()}
        others = {stage: [other for other in stage_names(None) if other != stage] for stage in taken}
        calls = [(path, {"stages": others[stage]}) for stage, _, path in jobs]
        for at, answer in spread(audit_file, calls, options.workers):
            stage, name, _ = jobs[at]
            if name in cases:
                missed = set(judge(cases[name], answer).missed)
            else:
                missed = {f"{t} = {f}" for t, f in corpus.compare(entries[name], answer).missed}
            for relation in sorted(missed - before[name]):
                lost[stage].append(f"{name}: {relation}")
                tables[stage].add(name)
    print(
        f"\n{len(answers) + len(made)} tables.\n\n| stage taken away | relations lost | in tables | for example |"
    )
    print("| --- | ---: | ---: | --- |")
    for stage in taken:
        example = lost[stage][0] if lost[stage] else ""
        print(f"| {stage} | {len(lost[stage])} | {len(tables[stage])} | {example} |")
    for stage in taken:
        for line in lost[stage]:
            print(f"lost without {stage}: {line}")


def false(options: argparse.Namespace) -> int:
    """Count findings in tables without relations."""
    folders = options.tables or [TABLES]
    sources = sorted(
        path for folder in folders for path in folder.glob("*.csv") if path.name not in NOT_TABLES
    )
    start = time.perf_counter()
    tables: Counter[str] = Counter()
    struck: Counter[str] = Counter()
    expected: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        jobs, kinds, names = [], [], []
        made = list(luck.tables(sources, options.count, options.made))
        for at, (kind, name, cells) in enumerate(made[options.part :: options.parts]):
            path = Path(folder) / f"{at}.csv"
            luck.save(cells, path)
            jobs.append((path,))
            kinds.append(kind)
            names.append(name)
        print(f"{len(jobs)} tables", flush=True)
        for at, answer in spread(audit_file, jobs, options.workers):
            log(options.log, f"{kinds[at]}|{names[at]}", answer)
            tables[kinds[at]] += 1
            struck[kinds[at]] += bool(answer["relations"])
            expected[kinds[at]] += answer["false_findings_expected"]
            if "error" in answer and "InvalidData" not in answer["error"]:
                print(f"{names[at]}: {answer['error']}", flush=True)
            for item in answer["relations"]:
                held = f"{item['rows_holding']} of {item['rows_checked']}"
                bits = item["evidence"]["bits"]
                print(
                    f"{names[at]}: {item['target']} = {item['formula']} [{item['found_by']}, {held}, {bits} bits]",
                    flush=True,
                )
            if at % 50 == 49:
                print(f"({at + 1} done, {time.perf_counter() - start:.0f} s)", flush=True)
    print("\n| tables | count | with a finding | printed estimate, summed |\n| --- | ---: | ---: | ---: |")
    for kind in tables:
        print(f"| {kind} | {tables[kind]} | {struck[kind]} | {expected[kind]:.2g} |")
    print(f"| all | {tables.total()} | {struck.total()} | {sum(expected.values()):.2g} |")
    return 0


def breaks(options: argparse.Namespace) -> int:
    """Plant broken rows in real tables and compare them with what is listed."""
    entries = planted.usable(corpus.entries(options.external))
    if options.only:
        entries = [one for one in entries if options.only in one.path.name]
    cases = [
        case
        for share in planted.SHARES
        for seed in range(options.seeds)
        for entry in entries
        if (case := planted.plant(entry, share, seed)) is not None and case.causes
    ]
    scores = {share: planted.Score() for share in planted.SHARES}
    with tempfile.TemporaryDirectory() as folder:
        paths = [planted.folder_of(Path(folder), case, at) for at, case in enumerate(cases)]
        for case, path in zip(cases, paths, strict=True):
            luck.save(case.cells, path)
        print(f"{len(cases)} tables spoiled", flush=True)
        for at, answer in spread(audit_file, [(path,) for path in paths], options.workers):
            planted.score(cases[at], answer, scores[cases[at].share])
            log(
                options.log,
                f"{cases[at].name} {cases[at].share} {cases[at].relation} {cases[at].causes}",
                answer,
            )
    for one in scores.values():
        for line in one.lost:
            print(f"not reported: {line}")
    print("\n" + planted.table(scores) + "\n\n" + planted.cause_table(list(scores.values())))
    return 0


def run_speed(options: argparse.Namespace) -> int:
    """Time and memory."""
    if options.part in ("small", "all"):
        speed.print_small()
    if options.part in ("rows", "all"):
        speed.print_sizes(
            "Rows",
            [(rows, 12) for rows in (10, 100, 1000, 10_000, 100_000, 1_000_000) if rows <= options.most_rows],
        )
    if options.part in ("columns", "all"):
        speed.print_sizes("Columns", [(500, columns) for columns in (2, 5, 10, 20, 40, 80)] + [(5000, 40)])
    if options.part in ("same", "all"):
        print(
            f"\nThe same answer every time, and for one and two jobs: {'yes' if speed.same_answers() else 'NO'}"
        )
    return 0


def run_rivals(options: argparse.Namespace) -> int:
    """Side by side on the same tables."""
    from inalu.tabular.pipeline import STAGES

    drawn = [case for seed in options.seed or [0] for case in grid.cases(seed)]
    cases = chosen(options, [case for case in drawn if rivals.fit_for_all(case)])
    tasks = rivals.tasks(cases)
    methods = [method for method in ["ours", *rivals.METHODS, *STAGES] if rivals.installed(method)]
    computed = sum(task.computed for task in tasks)
    print(
        f"{len(tasks)} targets, {computed} of them computed; {options.seconds:g} s for each rival\n",
        flush=True,
    )
    print(
        "| method | found | falsely found | median seconds | longest |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for method in methods:
        rows = [
            row
            for _, row in spread(
                rivals.run, [(task, method, options.seconds) for task in tasks], options.workers
            )
        ]
        times = sorted(row.seconds for row in rows)
        found, wrong = sum(row.found for row in rows), sum(row.false for row in rows)
        print(
            f"| {method} | {found} of {computed} | {wrong} | {times[len(times) // 2]:.1f} | {times[-1]:.1f} |",
            flush=True,
        )
        for row in rows:
            if row.false or (method == "ours" and row.task.computed and not row.found) or "Error" in row.said:
                said = row.said or ("only where it was fitted" if row.false else "nothing")
                print(f"    {method}, {row.task.case.name}, {row.task.target}: {said}", file=sys.stderr)
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(required=True)

    def part(name: str, work: Any) -> argparse.ArgumentParser:
        found = parts.add_parser(name, help=work.__doc__.splitlines()[0])
        found.set_defaults(work=work)
        found.add_argument("--workers", type=int, default=2, help="processes at once")
        found.add_argument("--log", type=Path, help="append all answers to a file of JSON lines")
        found.add_argument("--only", default="", help="only tables whose name has this text")
        return found

    for name, work in (("made", made), ("grid", run_grid), ("rivals", run_rivals)):
        one = part(name, work)
        one.add_argument("--part", type=int, default=0, help="of so many --parts, this one")
        one.add_argument("--parts", type=int, default=1)
        if name != "made":
            one.add_argument("--seed", type=int, action="append", help="draw formulas and numbers anew")
    one.add_argument("--seconds", type=float, default=5.0, help="for each rival and target")
    one = part("read", read)
    one.add_argument("folder", type=Path)
    one = part("corpus", run_corpus)
    one.add_argument("--external", type=Path)
    one.add_argument(
        "--without", nargs="?", const="", metavar="STAGES", help="take each stage away in turn, or only these"
    )
    one = part("false", false)
    one.add_argument("--tables", type=Path, action="append", help="folders of CSV files")
    one.add_argument("--count", type=int, default=1000)
    one.add_argument("--made", type=int, default=100)
    one.add_argument("--part", type=int, default=0, help="of so many --parts, this one")
    one.add_argument("--parts", type=int, default=1)
    one = part("breaks", breaks)
    one.add_argument("--external", type=Path)
    one.add_argument("--seeds", type=int, default=1)
    one = part("speed", run_speed)
    one.add_argument("part", choices=["small", "rows", "columns", "same", "all"], nargs="?", default="all")
    one.add_argument("--most-rows", type=int, default=1_000_000)
    options = parser.parse_args()
    return int(options.work(options))


if __name__ == "__main__":
    sys.exit(main())
