"""From cases to records: train what the store does not have, evaluate it, and keep it as it ends."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from inalu.engine.plan import Member, Plan
from inalu.engine.recipe import Recipe
from inalu.engine.result import Result
from inalu.engine.search import Problem, solve
from inalu.engine.train import choose_backend
from inalu.errors import InvalidArgument, MissingExtra
from inalu.experiments.catalog import Experiment, Selection, Treatment, choose
from inalu.experiments.evaluate import MEMORY
from inalu.experiments.job import Case, Classification, Job, Training
from inalu.experiments.keeper import Keeper
from inalu.experiments.record import Entry, Record
from inalu.experiments.store import Store
from inalu.experiments.summary import Reproduction, summarise_experiments

#: Bytes of training rows in one plan, and members in it: what bounds the memory of a sweep. Networks of a plan
#: follow each other on all of its rows, so the sets that these are evaluated on, which take ten times as much, must
#: fit the evaluator's memory: else they would be made anew for each network.
PLAN_BYTES = MEMORY // 10
PLAN_MEMBERS = 512

Note = Callable[[str], None]
#: ``(experiment, runs done, runs in all, share of the work done)``.
Report = Callable[[str, int, int, float], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a reproduction is run, beside what is run.

    Attributes
    ----------
    backend, threads
        As `inalu.train` takes them.
    progress, note
        Called as runs end, and with sentences for people.
    """

    backend: str = "auto"
    threads: int | None = None
    progress: Report = lambda experiment, done, total, share: None
    note: Note = lambda sentence: None


def reproduce(
    names: Iterable[str],
    treatment: Treatment,
    selection: Selection,
    *,
    store: str | Path,
    options: Options | None = None,
) -> Reproduction:
    """Run experiments, or what the store lacks of them, and return what there is to say of them.

    Raises
    ------
    InvalidArgument
        When a name is unknown or the selection leaves no run.
    StoreError
        See `Store.write`; what had been stored is kept.
    KeyboardInterrupt
        After Ctrl-C, when all results that had come are stored.
    """
    options = options or Options()
    wanted = list(names)
    began = perf_counter()
    planned = _plans(wanted, treatment, selection, options)
    entries: dict[str, list[Entry]] = {}
    times: dict[str, float] = {}
    with Store.write(store) as open_store:
        for experiment, cases in planned:
            started = perf_counter()
            entries[experiment.name] = run_experiment(experiment, cases, open_store, options)
            times[experiment.name] = perf_counter() - started
    summaries = summarise_experiments(treatment.name, entries, wall_s=times)
    programs = {e.record.specification.backend: None for listed in entries.values() for e in listed}
    return Reproduction(treatment.name, ", ".join(programs), perf_counter() - began, summaries)


def _plans(
    names: Sequence[str], treatment: Treatment, selection: Selection, options: Options
) -> list[tuple[Experiment, tuple[Case, ...]]]:
    """The cases of each experiment; under ``all`` one that cannot be run is left out with a word."""
    planned = []
    chosen = choose(names)
    for experiment in chosen:
        try:
            cases = experiment.runs(treatment, selection)
        except (InvalidArgument, MissingExtra) as error:
            if "all" not in names:
                raise
            options.note(f"{experiment.name} is left out: {error}")
            continue
        if cases:
            planned.append((experiment, cases))
        elif len(chosen) > 1:
            options.note(f"{experiment.name} has no run with these models, operations and distributions.")
    if not planned:
        trains = dict.fromkeys(r.train for e in chosen for r in (*e.ranges.value, *e.planned.value))
        raise InvalidArgument(
            "no run is left: the models, operations and distributions that were asked for do not meet in "
            f"these experiments, whose training distributions are {', '.join(trains) or 'none'}."
        )
    _require_asked(selection, planned)
    return planned


def _require_asked(selection: Selection, planned: Sequence[tuple[Experiment, Sequence[Case]]]) -> None:
    """Refuse an operation or a distribution that was asked for and that no run has."""
    for field, asked in (("operation", selection.operations), ("train", selection.distributions)):
        found = dict.fromkeys(getattr(case.setting, field) for _, cases in planned for case in cases)
        absent = [name for name in asked or () if name not in found]
        if absent:
            word = "operation" if field == "operation" else "training distribution"
            names = ", ".join(experiment.name for experiment, _ in planned)
            raise InvalidArgument(
                f"no run of {names} has the {word} {absent[0]!r}; of those asked for there are {', '.join(found)}."
            )


def run_experiment(
    experiment: Experiment, cases: Sequence[Case], store: Store, options: Options
) -> list[Entry]:
    """Run what the store lacks of one experiment's cases, and return the entries of all, in their order."""
    keys = _keys(cases, options.backend)
    have = store.keys()
    settings: dict[Job, list[Case]] = {}
    for case in cases:
        settings.setdefault(case.job, []).append(case)
    store.show((case.setting, case.recipe, keys[case.job]) for case in cases if keys[case.job] in have)
    missing = [job for job in settings if keys[job] not in have]
    done, share = len(settings) - len(missing), 0.0

    def keep(records: Sequence[tuple[Job, Record]]) -> None:
        nonlocal done
        store.add(Entry(c.setting, c.recipe, record) for job, record in records for c in settings[job])
        done += len(records)
        options.progress(experiment.name, done, len(settings), share)

    def advance(trained: float) -> None:
        nonlocal share
        share = trained
        options.progress(experiment.name, done, len(settings), share)

    _train_missing(missing, options, keep, advance)
    kept = store.entries(experiment.name, recipe=cases[0].recipe, keys=keys.values())
    found = {(entry.setting, entry.record.key): entry for entry in kept}
    return [found[case.setting, keys[case.job]] for case in cases]


def _keys(cases: Sequence[Case], backend: str) -> dict[Job, str]:
    """The key of each job under the backend that would train it."""
    programs: dict[Hashable, tuple[str, int]] = {}
    keys: dict[Job, str] = {}
    for case in cases:
        job = case.job
        if job not in keys:
            kind = job.network if isinstance(job, Training) else Classification
            if kind not in programs:
                programs[kind] = _program(job, backend)
            keys[job] = job.specification(*programs[kind]).key
    return keys


def _program(job: Job, backend: str) -> tuple[str, int]:
    if isinstance(job, Classification):
        from inalu.experiments import mnist

        return "torch", mnist.ALGORITHM
    recipe = job.recipe if isinstance(job.recipe, Recipe) else Recipe(name="any")
    chosen = choose_backend(Plan(members=[job.member()], recipe=recipe, dtype=job.dtype), backend)
    return chosen.name, int(importlib.import_module(chosen.module).ALGORITHM)


def _train_missing(
    jobs: Sequence[Job],
    options: Options,
    keep: Callable[[Sequence[tuple[Job, Record]]], None],
    advance: Callable[[float], None],
) -> None:
    classifications = [job for job in jobs if isinstance(job, Classification)]
    trainings = [job for job in jobs if isinstance(job, Training)]
    for number, job in enumerate(classifications):
        from inalu.experiments import mnist

        keep([(job, mnist.run(job))])
        advance((number + 1) / len(jobs))
    if not trainings:
        return
    keeper = Keeper(keep, [job for plan in chunks(trainings) for job in _by_network(plan)])
    try:
        interrupted = train_runs(trainings, options, keeper.put, advance)
    finally:
        keeper.close()
    if keeper.error is not None:
        raise keeper.error
    if interrupted:
        raise KeyboardInterrupt


def train_runs(
    jobs: Sequence[Training],
    options: Options,
    on_result: Callable[[Result], None],
    advance: Callable[[float], None],
) -> bool:
    """Train jobs in plans of bounded size, each result streamed; return whether Ctrl-C ended it early.

    This is the one place where the experiments train anything.
    """
    plans = list(chunks(jobs))
    works = [sum(_work(job) for job in plan) for plan in plans]
    total, before = sum(works), 0.0
    for plan, work in zip(plans, works, strict=True):

        def report(done: int, of: int, before: float = before, work: float = work) -> None:
            advance((before + work * done / max(of, 1)) / total)

        problems = [_problem(job.member()) for job in plan]
        training = solve(
            problems,
            plan[0].recipe,  # type: ignore[arg-type]
            backend=options.backend,
            threads=options.threads,
            dtype=plan[0].dtype,
            on_result=on_result,
            progress=report,
        )
        if training.interrupted:
            return True
        before += work
    return False


def _problem(member: Member) -> Problem:
    return Problem(
        network=member.network, source=member.source, seed=member.seed, law=member.law, tag=member.tag
    )


def chunks(jobs: Sequence[Training]) -> Iterator[list[Training]]:
    """Cut jobs into plans: one recipe and precision each, jobs with the same inputs together.

    A plan holds at most `PLAN_MEMBERS` members on at most `PLAN_BYTES` of inputs, but always those that
    share their inputs and recipe.
    """
    groups: dict[Hashable, list[Training]] = {}
    for job in jobs:
        source = job.member().source
        groups.setdefault((job.recipe, job.dtype, source.x_key), []).append(job)
    plan: list[Training] = []
    size = 0
    # Plans of one recipe follow each other, in the order in which recipes first appear.
    recipes = {(job.recipe, job.dtype): None for job in jobs}
    order = {recipe: number for number, recipe in enumerate(recipes)}
    for group in sorted(groups.values(), key=lambda g: order[g[0].recipe, g[0].dtype]):
        rows, inputs, _ = group[0].member().source.shape
        memory = 4 * rows * inputs
        same = plan and (plan[0].recipe, plan[0].dtype) == (group[0].recipe, group[0].dtype)
        if plan and (not same or size + memory > PLAN_BYTES or len(plan) + len(group) > PLAN_MEMBERS):
            yield plan
            plan, size = [], 0
        plan.extend(group)
        size += memory
    if plan:
        yield plan


def _by_network(plan: Sequence[Training]) -> list[Training]:
    """The order in which backends train a plan: one network on all rows, then the next."""
    order = {network: place for place, network in enumerate(dict.fromkeys(job.network for job in plan))}
    return sorted(plan, key=lambda job: order[job.network])


def _work(job: Training) -> float:
    """How much a training costs, roughly: rows through the network, times what a row costs."""
    epochs = job.recipe.epochs if isinstance(job.recipe, Recipe) else 100
    return float(job.rows * epochs * (10 + job.network.size))
