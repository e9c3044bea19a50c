"""A thread beside the training that evaluates results as they come and hands their records on to be stored.

A result must not wait: what it is evaluated on is made while there is nothing else to do, no more results are
taken at once than can be evaluated in a fraction of a second, and where training is faster than evaluation it
waits, since the whole takes as long either way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from threading import Condition, Thread
from time import thread_time

from inalu.engine.result import Result
from inalu.experiments.evaluate import Evaluator
from inalu.experiments.job import Job, Training
from inalu.experiments.record import Record

#: Results evaluated and committed at once: at first, at most, and the seconds of processor time that this may
#: take. Not of the clock: on a machine with other work smaller batches would only make it more work.
FIRST_BATCH, BATCH = 8, 64
BATCH_SECONDS = 0.3
#: Groups of jobs that need the same whose sets are made before the first of them has ended.
AHEAD = 1


class Keeper:
    """Evaluates results in a thread of its own, in the order in which they come.

    Parameters
    ----------
    keep
        Called in that thread with records, each with its job.
    jobs
        What will be trained, in about the order in which they will end.
    """

    def __init__(
        self, keep: Callable[[Sequence[tuple[Job, Record]]], None], jobs: Sequence[Training] = ()
    ) -> None:
        self.error: BaseException | None = None
        self._keep = keep
        self._changed = Condition()
        # Both are guarded by the condition.
        self._waiting: deque[Result] = deque()
        self._closed = False
        self._evaluator = Evaluator()
        # One job of each group that needs the same, by the place of the group.
        groups: dict[Hashable, Training] = {}
        for job in jobs:
            groups.setdefault(_needs_of(job), job)
        self._first = list(groups.values())
        self._places = {needs: place for place, needs in enumerate(groups)}
        self._prepared = 0
        self._reached = 0
        self._limit = min(FIRST_BATCH, BATCH)
        self._thread = Thread(target=self._work, name="inalu-keeper", daemon=True)
        self._thread.start()

    def put(self, result: Result) -> None:
        """Hand over a result, once fewer wait than are taken at once.

        An error of the thread is raised here, which ends the training.
        """
        with self._changed:
            try:
                self._changed.wait_for(lambda: self.error is not None or len(self._waiting) < self._limit)
            finally:
                # After Ctrl-C, too, what has come is stored.
                if self.error is None:
                    self._waiting.append(result)
                    self._changed.notify_all()
            if self.error is not None:
                raise self.error

    def close(self) -> None:
        """Wait until everything is stored."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        try:
            while batch := self._next():
                self._store(batch)
        except BaseException as error:
            with self._changed:
                self.error = error
                self._changed.notify_all()

    def _next(self) -> list[Result]:
        """The next results, none at the end; while none has come, what the coming ones need is made."""
        while True:
            with self._changed:
                ahead = self._prepared < len(self._first) and self._prepared <= self._reached + AHEAD
                if not ahead:
                    self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._waiting or self._closed:
                    batch = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
                    self._changed.notify_all()
                    return batch
            self._evaluator.prepare(self._first[self._prepared])
            self._prepared += 1

    def _store(self, batch: list[Result]) -> None:
        began = thread_time()
        jobs = [_job(result) for result in batch]
        records = self._evaluator.evaluate(batch)
        self._keep(list(zip(jobs, records, strict=True)))
        each = (thread_time() - began) / len(batch)
        with self._changed:
            self._limit = max(1, min(BATCH, int(BATCH_SECONDS / max(each, 1e-9))))
            self._changed.notify_all()
        self._reached = max(self._reached, *(self._places.get(_needs_of(job), 0) for job in jobs))
        self._prepared = max(self._prepared, self._reached + 1)


def _needs_of(job: Training) -> Hashable:
    """What must be there before a result can be evaluated: its inputs, and their logarithms of one kind."""
    options = job.network.options
    return (
        job.problem.x_key(job.seed, "interpolation", job.rows), options.get("epsilon"),
        options.get("omega") is None,
    )  # fmt: skip


def _job(result: Result) -> Training:
    job = result.member.tag
    assert isinstance(job, Training)
    return job
