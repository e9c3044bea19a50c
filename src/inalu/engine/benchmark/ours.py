"""The ``cpu`` backend's time for a step: the kernel on crews, as the backend makes them."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter

from inalu.engine import cpu
from inalu.engine.benchmark.cases import timed_steps
from inalu.engine.cpu_host import Training, divide
from inalu.engine.plan import Plan

ROUNDS = 5
_train: Callable[..., bool] = cpu.train


class Crews:
    """The crews of a plan, ready to make steps."""

    def __init__(self, plan: Plan, threads: int) -> None:
        indices = tuple(range(len(plan.members)))
        self.threads, self.most, self.members = threads, timed_steps(plan), len(indices)
        self.crews = [Training(plan, crew).records for crew in divide(plan, indices, threads)]
        self.steps = 1
        # The first call compiles the kernel or fetches it from the disk.
        self.seconds()

    def seconds(self) -> float:
        """Let every crew make its steps, by threads that take crews from a queue, and return the wall time."""
        crews: SimpleQueue[tuple[cpu.Record, ...]] = SimpleQueue()
        for records in self.crews:
            crews.put(records)

        def work() -> None:
            while True:
                try:
                    records = crews.get_nowait()
                except Empty:
                    return
                _train(*records, 0, self.steps)

        threads = [Thread(target=work) for _ in range(self.threads)]
        began = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return perf_counter() - began

    def step(self, target: float) -> float:
        """Return the seconds that one step of one member takes, from rounds of about ``target`` seconds."""
        self.steps = min(20, self.most)
        each = self.seconds() / self.steps
        self.steps = max(1, min(self.most, int(target / each)))
        return min(self.seconds() for _ in range(ROUNDS)) / self.steps / self.members


def seconds_a_step(plan: Plan, threads: int, target: float = 0.3) -> float:
    """Return the seconds that a step of one member of a plan takes on this many threads."""
    return Crews(plan, threads).step(target)
