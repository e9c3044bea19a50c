"""Trained networks judged on another extrapolation set than the one they were recorded with.

What a network is judged on is no part of its training, so a store's networks can be asked again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from inalu.experiments.catalog import EXPERIMENTS, Selection, Treatment
from inalu.experiments.evaluate import Evaluator
from inalu.experiments.job import Training
from inalu.experiments.record import SINGLE, Entry, Setting
from inalu.tasks import Task, parse_distribution

#: Networks evaluated at once: as many as keep memory small.
_AT_ONCE = 54


def judge_elsewhere(entries: Sequence[Entry], treatment: Treatment, outside: str) -> list[Entry]:
    """Return entries of one experiment with the extrapolation errors that they have on another set.

    Parameters
    ----------
    entries
        Runs of an experiment of the catalogue, all under one treatment.
    treatment
        How they were trained.
    outside
        The distribution of the other set's inputs, in its text form.

    Examples
    --------
    How many of the published counts of experiment 3 are plausible when it is judged on inputs with mean 0 and
    deviation 10:

    >>> from inalu.experiments.catalog import treatments
    >>> from inalu.experiments.compare import compare
    >>> from inalu.experiments.store import Store
    >>> with Store.read("runs.sqlite") as store:                         # doctest: +SKIP
    ...     runs = store.entries("exp3", recipe="AUTHORS_CODE")
    >>> again = judge_elsewhere(runs, treatments()["AUTHORS_CODE"], "N(-30,30)")   # doctest: +SKIP
    >>> sum(test.plausible for test in compare(again, single=True))      # doctest: +SKIP
    """
    there = parse_distribution(outside)
    selection = Selection(seeds=tuple(sorted({entry.record.seed for entry in entries})))
    jobs: dict[tuple[Setting, int], Training] = {}
    for case in EXPERIMENTS[entries[0].setting.experiment].runs(treatment, selection):
        if isinstance(case.job, Training):
            jobs[case.setting, case.job.seed] = case.job
    groups: dict[Hashable, list[int]] = {}
    for place, entry in enumerate(entries):
        job = jobs[entry.setting, entry.record.seed]
        groups.setdefault((job.problem, job.seed), []).append(place)
    evaluator, found = Evaluator(), list(entries)
    for group in groups.values():
        for part in (group[n : n + _AT_ONCE] for n in range(0, len(group), _AT_ONCE)):
            trained = [(jobs[entries[i].setting, entries[i].record.seed], entries[i].record) for i in part]
            problem = trained[0][0].problem
            assert isinstance(problem, Task)
            errors = evaluator.errors_on(replace(problem, extrapolation=there), trained)
            for i, (double, single) in zip(part, errors, strict=True):
                record = entries[i].record
                measures = {**record.measures, SINGLE: single}
                found[i] = replace(
                    entries[i], record=replace(record, mse_extrapolation=double, measures=measures)
                )
    return found
