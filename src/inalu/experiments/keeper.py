"""A thread beside the training that evaluates results as they come and hands their records on to be stored.

A result must not wait: what it is evaluated on is made while there is nothing else to do, and no more results
are taken at once than can be evaluated in a fraction of a second.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Hashable, Sequence
from threading import Thread
from time import perf_counter

from inalu.engine.result import Result
from inalu.experiments.evaluate import Evaluator
from inalu.experiments.job import Job, Training
from inalu.experiments.record import Record

#: Results evaluated and committed at once, at most, and the seconds that this may take.
BATCH = 64
BATCH_SECONDS = 0.3
#: Groups of jobs with the same inputs whose sets are made before the first of them has ended.
AHEAD = 1


class Keeper:
    """Evaluates results in a thread of its own, in the order in which they come.

    Parameters
    ----------
    keep
        Called in that thread with records, each with its job.
    jobs
        What will be trained, in about this order.
    """

    def __init__(
        self, keep: Callable[[Sequence[tuple[Job, Record]]], None], jobs: Sequence[Training] = ()
    ) -> None:
        self.error: BaseException | None = None
        self._keep = keep
        self._waiting: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._evaluator = Evaluator()
        # One job of each group that shares its inputs, by the place of the group.
        groups: dict[Hashable, Training] = {}
        for job in jobs:
            groups.setdefault(_inputs_of(job), job)
        self._first = list(groups.values())
        self._places = {inputs: place for place, inputs in enumerate(groups)}
        self._prepared = 0
        self._reached = 0
        self._limit = BATCH
        self._thread = Thread(target=self._work, name="inalu-keeper", daemon=True)
        self._thread.start()

    def put(self, result: Result) -> None:
        """Hand over a result; an error of the thread ends the training here."""
        if self.error is not None:
            raise self.error
        self._waiting.put(result)

    def close(self) -> None:
        """Wait until everything is stored."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            ended = False
            while not ended:
                batch: list[Result] = []
                item = self._next()
                while item is not None:
                    batch.append(item)
                    if len(batch) >= self._limit:
                        break
                    try:
                        item = self._waiting.get_nowait()
                    except queue.Empty:
                        break
                ended = item is None
                if batch:
                    self._store(batch)
        except BaseException as error:
            self.error = error

    def _next(self) -> Result | None:
        """The next result; while none has come, what the coming ones need is made."""
        while True:
            try:
                return self._waiting.get_nowait()
            except queue.Empty:
                if self._prepared >= len(self._first) or self._prepared > self._reached + AHEAD:
                    return self._waiting.get()
                self._evaluator.prepare(self._first[self._prepared])
                self._prepared += 1

    def _store(self, batch: list[Result]) -> None:
        began = perf_counter()
        jobs = [_job(result) for result in batch]
        records = self._evaluator.evaluate(batch)
        self._keep(list(zip(jobs, records, strict=True)))
        each = (perf_counter() - began) / len(batch)
        self._limit = max(1, min(BATCH, int(BATCH_SECONDS / max(each, 1e-9))))
        self._reached = max(self._reached, *(self._places.get(_inputs_of(job), 0) for job in jobs))
        self._prepared = max(self._prepared, self._reached + 1)


def _inputs_of(job: Training) -> Hashable:
    return job.problem.x_key(job.seed, "interpolation", job.rows)


def _job(result: Result) -> Training:
    job = result.member.tag
    assert isinstance(job, Training)
    return job
