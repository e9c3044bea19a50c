"""The sets that members are evaluated on, made once for all members that share them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from inalu.experiments.job import Training

Floats = NDArray[np.float64]


class TestSet:
    """Inputs x [B, I], and what the first layers need of them, made when it is first asked for."""

    # pytest must not take it for a test.
    __test__ = False

    def __init__(self, x: NDArray[np.float32]) -> None:
        self.x = x
        self.zeros = bool((x == 0).any())
        self._logs: dict[tuple[float, bool], Floats] = {}

    def logs(self, epsilon: float, clipped: bool) -> Floats:
        """log(max(|x|, ε)) where the path is clipped, log(|x| + ε) where it is not, [B, I]."""
        known = self._logs.get((epsilon, clipped))
        if known is None:
            size = np.abs(self.x, dtype=np.float64)
            known = np.log(np.maximum(size, epsilon) if clipped else size + epsilon)
            self._logs[epsilon, clipped] = known
        return known

    @property
    def bytes(self) -> int:
        """What it takes now."""
        return self.x.nbytes + sum(logs.nbytes for logs in self._logs.values())


class SetCache:
    """The sets and targets used last, as many as fit the memory given in bytes."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._sets: OrderedDict[Hashable, TestSet] = OrderedDict()
        self._targets: OrderedDict[Hashable, Floats] = OrderedDict()

    def get(self, training: Training, name: str) -> TestSet:
        """Return the inputs of a set."""
        key = training.problem.x_key(training.seed, name, training.rows)
        if key not in self._sets:
            self._sets[key] = TestSet(training.problem.draw_x(training.seed, name, training.rows))
            self._shrink()
        self._sets.move_to_end(key)
        return self._sets[key]

    def targets(self, training: Training, name: str) -> Floats:
        """Return the outputs [B, O] of a set."""
        key = (training.problem, training.seed, name, training.rows)
        if key not in self._targets:
            self._targets[key] = training.problem.compute_y(self.get(training, name).x, training.seed)
            self._shrink()
        self._targets.move_to_end(key)
        return self._targets[key]

    def _shrink(self) -> None:
        while len(self._sets) > 1 and sum(s.bytes for s in self._sets.values()) > self._memory:
            self._sets.popitem(last=False)
        while len(self._targets) > 1 and sum(y.nbytes for y in self._targets.values()) > self._memory // 8:
            self._targets.popitem(last=False)
