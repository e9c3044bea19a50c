"""Several starts for one task: build plans, train, keep the best by the training rows alone.

`learn` is for one task, `solve` for many at once. Both take a plain recipe, which is a search of one start,
or a `Search` such as ``ROBUST``. A start is judged after it is made exact: every weight rounded, the gates of
the last layer to the side that fits the training rows better. The first exact answer ends the search.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inalu.engine.blas import one_blas_thread
from inalu.engine.discrete import Rounding, snap_network
from inalu.engine.forward import network_forward
from inalu.engine.network import Network
from inalu.engine.plan import Array, ArraySource, DType, Member, Plan, Rows, Source, TaskSource
from inalu.engine.plan import draw_weights as draw
from inalu.engine.recipe import RECIPES, ROBUST, Recipe, Search, Stage
from inalu.engine.result import Result, Training
from inalu.engine.train import train
from inalu.errors import check_choice, invalid
from inalu.layers.laws import Law
from inalu.tasks.task import Task

# A mean bounded error below this is rounding of the arithmetic, not of the formula.
EXACT = 1e-12
# An exact network is preferred to the soft one it came from unless its error is this many times larger.
WORSE = 1.25


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """One task to be solved: a network, its training rows, a seed.

    ``law`` replaces the recipe's law of the very first start; ``tag`` comes back with the result.
    """

    network: Network
    source: Source
    seed: int = 0
    law: Law | None = None
    tag: Hashable = None


def learn(
    data: ArrayLike | Task,
    y: ArrayLike | None = None,
    *,
    seed: int = 0,
    recipe: str | Recipe | Search = ROBUST,
    network: Network | None = None,
    backend: str = "auto",
    threads: int | None = None,
    dtype: DType = "float32",
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Learn the formula from rows, or from the training set of a task.

    Parameters
    ----------
    data, y
        X [B, I] and y [B] or [B, O]; or a `Task` alone.
    seed
        Of the initial weights, and of a task's rows.
    recipe
        A recipe, a search, or the name of one; ``ROBUST`` by default.
    network
        What is trained. By default one layer of ``inalu-independent``; where that does not fit (or a task has
        ``sums``) two layers with two units between.
    backend, threads, dtype, progress
        As in `inalu.train`.

    Returns
    -------
    Result
        The best start: ``predict``, ``expression``, ``snap``, ``to_module``; ``error`` is its mean bounded
        error on training rows, ``rows`` how many rows passed through networks to find it.

    Raises
    ------
    InvalidArgument, InvalidData
        When an argument breaks a rule, or the data is empty, ragged or not finite.
    KeyboardInterrupt
        After Ctrl-C, when no network was done.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(-2, 2, (1000, 3))
    >>> found = learn(x, x[:, 2] / x[:, 0])
    >>> str(found.expression(["price", "tax", "amount"]))
    'amount / price'
    """
    if isinstance(data, Task):
        if y is not None:
            raise invalid("y", "must be left out when a task is given", "an array")
        source: Source = TaskSource(data, seed)
        deep = data.sums
    else:
        if y is None:
            raise invalid("y", "must be given with X", None)
        source, deep = ArraySource(np.asarray(data), np.asarray(y)), False
    _, inputs, outputs = source.shape
    if network is not None:
        tries = [network]
    else:
        tries = [Network("inalu-independent", (inputs, 2 * outputs, outputs))]
        if not deep:
            tries.insert(0, Network("inalu-independent", (inputs, outputs)))
    best: Result | None = None
    for attempt in tries:
        problem = Problem(network=attempt, source=source, seed=seed)
        training = solve([problem], recipe, backend=backend, threads=threads, dtype=dtype, progress=progress)
        if not training.results:
            # Interrupted: what the smaller network found is kept, where there was one.
            if best is None:
                raise KeyboardInterrupt
            break
        result = training[0]
        # A deeper network must earn its depth.
        if best is None or result.error < best.error / 2:
            best = result
        if training.interrupted or best.error <= EXACT:
            break
    assert best is not None
    return best


def resolve_recipe(recipe: str | Recipe | Search) -> Recipe | Search:
    """Return a recipe or a search, given by name or as itself."""
    if isinstance(recipe, str):
        check_choice("recipe", recipe, RECIPES)
        return RECIPES[recipe]
    return recipe


def solve(
    problems: Sequence[Problem],
    recipe: str | Recipe | Search = ROBUST,
    *,
    backend: str = "auto",
    threads: int | None = None,
    dtype: DType = "float32",
    on_result: Callable[[Result], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Training:
    """Solve many problems at once and return their results in order; each is independent of its company.

    A plain recipe trains each problem once. A search goes through its waves with the problems that have no
    exact answer yet. After Ctrl-C the results are those of the problems that were done.
    """
    chosen = resolve_recipe(recipe)
    if isinstance(chosen, Recipe):
        members = [
            Member(network=p.network, source=p.source, seed=p.seed, law=p.law, tag=p.tag) for p in problems
        ]
        plan = Plan(members=members, recipe=chosen, dtype=dtype)
        return train(plan, backend=backend, threads=threads, on_result=on_result, progress=progress)
    with ThreadPoolExecutor(_workers(threads)) as pool:
        searches = list(pool.map(lambda problem: _Search(problem, chosen), problems))
        interrupted = not searches
        try:
            interrupted = not _search(searches, pool, backend, threads, dtype, on_result, progress)
        except KeyboardInterrupt:
            interrupted = True
    return Training(tuple(s.result() for s in searches if s.ended), interrupted)


def _workers(threads: int | None) -> int:
    if threads is not None and threads < 1:
        raise invalid("threads", "must be at least 1", threads)
    return threads or os.cpu_count() or 1


def _search(
    searches: Sequence[_Search],
    pool: ThreadPoolExecutor,
    backend: str,
    threads: int | None,
    dtype: DType,
    on_result: Callable[[Result], None] | None,
    progress: Callable[[int, int], None] | None,
) -> bool:
    """Go through the waves until every search has ended; return whether none was interrupted."""
    total, done = sum(s.rows_ahead() for s in searches), 0
    active = list(searches)
    while active:
        for stage, group in _by_stage(active).items():
            members = [member for search in group for member in search.members(stage)]
            plan = Plan(members=members, recipe=stage.recipe, dtype=dtype)

            wave = sum(search.wave_rows(stage) for search in group)

            def report(steps: int, of: int, base: int = done, wave: int = wave) -> None:
                if progress is not None:
                    progress(base + wave * steps // of, total)

            training = train(plan, backend=backend, threads=threads, progress=report)
            if training.interrupted:
                return False
            ahead = sum(search.rows_ahead() for search in group)
            dealt = _dealt(training.results, stage.starts)
            with one_blas_thread():
                list(pool.map(_Search.consider, group, repeat(stage), dealt))
            done += ahead - sum(search.rows_ahead() for search in group)
            if progress is not None:
                progress(done, total)
            for search in group:
                if search.ended and on_result is not None:
                    on_result(search.result())
        active = [search for search in active if not search.ended]
    return True


def judge(network: Network, parameters: Array, rows: Rows) -> NDArray[np.float64]:
    """Return the mean bounded error of each output, [O]: the mean over rows of r² / (median|y|² + y² + r²).

    It lies in [0, 1], does not depend on y's unit, and a wild row counts no more than 1/B.
    """
    x, y = rows.x.astype(np.float64), rows.y.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        square = (network_forward(network, parameters, x) - y) ** 2
        scale = np.median(np.abs(y), axis=0) ** 2 + y**2
        share = square / (np.where(scale > 0, scale, 1.0) + square)
    return np.asarray(np.where(np.isfinite(share), share, 1.0).mean(axis=0))


@dataclass(frozen=True)
class Exact:
    """A network made exact: weights -1, 0 or 1, gates 0 or 1, and its judged error."""

    network: Network
    parameters: NDArray[np.float64]
    error: float


def make_exact(network: Network, parameters: Array, rows: Rows) -> Exact:
    """Round a trained network, both ways, each last gate to its better side; return the better one."""
    kinds: tuple[Rounding, ...] = ("nearest", "relative")
    found = [_best_gates(network, parameters, rows, kind) for kind in kinds]
    return min(found, key=lambda exact: exact.error)


def _best_gates(network: Network, parameters: Array, rows: Rows, rounding: Rounding) -> Exact:
    exact, snapped = snap_network(network, parameters, rows.x.astype(np.float64), rounding=rounding)
    errors = judge(exact, snapped, rows)
    layer = exact.unpack(snapped)[-1]
    if "G" in layer:
        gate = layer["G"].copy()
        layer["G"][:] = -gate
        flipped = judge(exact, snapped, rows)
        layer["G"][:] = np.where(flipped < errors, -gate, gate)
        errors = np.minimum(errors, flipped)
    return Exact(exact, snapped, float(errors.mean()))


def _spread(values: Array, count: int) -> Array:
    """At most ``count`` rows, evenly spread: the first ones of a sorted table are not like the others."""
    return values[:: max(1, len(values) // count)][:count]


@dataclass(frozen=True)
class _Every:
    """Every n-th row of a source."""

    source: Source
    step: int

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def x_key(self) -> Hashable:
        return self.source.x_key, self.step

    @property
    def shape(self) -> tuple[int, int, int]:
        rows, inputs, outputs = self.source.shape
        return -(-rows // self.step), inputs, outputs

    def load(self) -> Rows:
        return Rows(*(part[:: self.step] for part in self.source.load()))


def _at_most(source: Source, rows: int) -> Source:
    """The source, or so many of its rows that one pass over them is within ``rows``."""
    return source if source.shape[0] <= rows else _Every(source, -(-source.shape[0] // rows))


# Passes of the judged rows through a network: the soft one, and two roundings with two sides of the gate.
_JUDGE_PASSES = 5


class _Search:
    """One problem under way: which wave is next, the best start so far, and the rows used."""

    def __init__(self, problem: Problem, search: Search) -> None:
        self.problem, self.search = problem, search
        self.stages = search.stages(problem.network.depth)
        self.wave, self.rows, self.starts = 0, 0, 0
        self.steps, self.seconds = 0, 0.0
        self.best: Result | None = None
        self.score = math.inf
        self.base: Array | None = None
        source = problem.source
        # Copies, so that the whole training set is not kept.
        self.judged = Rows(*(_spread(part, search.judge_rows).copy() for part in source.load()))
        # Checked here, so that a wrong problem raises before any work is done.
        Plan(members=[self._member(0)], recipe=self._fitted(self.stages[0]).recipe)

    @property
    def ended(self) -> bool:
        exact = self.best is not None and self.best.error <= EXACT
        return exact or self.wave == len(self.stages)

    def rows_ahead(self) -> int:
        """Rows that the waves to come may use at most."""
        if self.ended:
            return 0
        return sum(self.wave_rows(self._fitted(stage)) for stage in self.stages[self.wave :])

    def wave_rows(self, stage: Stage) -> int:
        """Rows that the starts of one wave use."""
        return stage.starts * self._passed(stage)

    def stage(self) -> Stage:
        """The next wave, with its epochs set for this problem's rows."""
        return self._fitted(self.stages[self.wave])

    def _fitted(self, stage: Stage) -> Stage:
        # Never more rows than the stage has, since what it may use is a part of a budget.
        epochs = max(1, stage.rows // self.problem.source.shape[0])
        return replace(stage, recipe=stage.recipe.but(epochs=epochs))

    def _passed(self, stage: Stage) -> int:
        source = _at_most(self.problem.source, stage.rows)
        return stage.recipe.epochs * source.shape[0] + _JUDGE_PASSES * len(self.judged.x)

    def _member(self, start: int, rows: int | None = None, **changes: Any) -> Member:
        problem = self.problem
        source = problem.source if rows is None else _at_most(problem.source, rows)
        return Member(
            network=problem.network, source=source, seed=problem.seed, start=start, tag=problem.tag, **changes
        )

    def members(self, stage: Stage) -> list[Member]:
        """Return the members of the next wave."""
        numbers, rows = range(self.starts, self.starts + stage.starts), stage.rows
        if stage.draw == "last":
            return [self._member(k, rows, initial=self._redrawn(stage, k)) for k in numbers]
        law = self.problem.law if self.starts == 0 else None
        if self.search.closed_form and self.starts == 0:
            from inalu.engine.closed_form import closed_form

            weights = closed_form(self.problem.network, self.problem.source.load())
            return [self._member(k, rows, initial=weights if k == 0 else None) for k in numbers]
        return [self._member(k, rows, law=law if k == 0 else None) for k in numbers]

    def _redrawn(self, stage: Stage, k: int) -> Array:
        """The latest whole start with its last layer drawn anew."""
        assert self.base is not None
        weights = np.array(self.base)
        last = min(s.start for s in self.problem.network.slots if s.layer == self.problem.network.depth - 1)
        weights[last:] = draw(self._member(k), stage.recipe.law, k)[0, last:]
        return weights

    def consider(self, stage: Stage, results: Sequence[Result]) -> None:
        """Judge the ended starts of a wave."""
        for result in results:
            self.steps += result.steps
            self.seconds += result.seconds
            self.rows += self._passed(stage)
            if stage.draw == "all":
                self.base = result.parameters
            score, judged = self._judged(result)
            if self.best is None or score < self.score:
                self.best, self.score = judged, score
        self.starts += stage.starts
        self.wave += 1

    def _judged(self, result: Result) -> tuple[float, Result]:
        """A start as it would be returned, exact where that is hardly worse than soft, and what ranks it."""
        network, soft = self.problem.network, result.parameters
        error = float(judge(network, soft, self.judged).mean())
        exact = make_exact(network, soft, self.judged)
        if exact.error > WORSE * error + EXACT:
            return WORSE * error, replace(result, error=error)
        member = replace(result.member, network=exact.network)
        return exact.error, replace(result, member=member, parameters=exact.parameters, error=exact.error)

    def result(self) -> Result:
        """Return the best start, with the cost of the whole search."""
        assert self.best is not None
        provenance = replace(self.best.provenance, recipe=self.search.name)
        return replace(
            self.best, provenance=provenance, rows=self.rows, starts=self.starts, steps=self.steps,
            seconds=self.seconds,
        )  # fmt: skip


def _by_stage(searches: Sequence[_Search]) -> dict[Stage, list[_Search]]:
    groups: dict[Stage, list[_Search]] = {}
    for search in searches:
        groups.setdefault(search.stage(), []).append(search)
    return groups


def _dealt(results: Sequence[Result], count: int) -> list[Sequence[Result]]:
    return [results[n : n + count] for n in range(0, len(results), count)]
