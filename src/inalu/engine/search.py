"""Several starts for one task: build plans, train, keep the best by the training rows alone.

`learn` is for one task, `solve` for many at once. Both take a plain recipe, which is a search of one start,
or a `Search` such as ``ROBUST``. A start is judged after it is made exact: every weight rounded, the gates of
the last layer to the side that fits the training rows better. The first exact network without error ends the
search; `_Search.ended` has the other rules.
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
from inalu.engine.plan import (
    Array,
    ArraySource,
    DType,
    Member,
    Plan,
    Rows,
    Source,
    TaskSource,
    draw_weights,
    second_order,
)
from inalu.engine.recipe import RECIPES, ROBUST, LevenbergMarquardt, Recipe, Search, Stage
from inalu.engine.result import Result, Training
from inalu.engine.train import train
from inalu.errors import check_choice, invalid
from inalu.layers.laws import Law
from inalu.tasks.task import Task

# A mean bounded error below this is rounding of the arithmetic, not of the formula.
EXACT = 1e-12
# An exact network is preferred to the soft one it came from unless its error is this many times larger.
WORSE = 1.25
# Two exact networks whose errors differ by less, as a share, are one.
SAME = 1e-9


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
    total, done, shown = sum(s.rows_ahead() for s in searches), 0, 0
    active = list(searches)

    def show(rows: int) -> None:
        # Starts that end early leave a wave with fewer rows than it was shown to have.
        nonlocal shown
        shown = max(shown, rows)
        if progress is not None:
            progress(shown, total)

    while active:
        for stage, group in _by_stage(active).items():
            members = [member for search in group for member in search.members(stage)]
            plan = Plan(members=members, recipe=stage.recipe, dtype=dtype)

            wave = sum(search.wave_rows(stage) for search in group)

            def report(steps: int, of: int, base: int = done, wave: int = wave) -> None:
                show(base + wave * steps // of)

            training = train(plan, backend=backend, threads=threads, progress=report)
            if training.interrupted:
                return False
            ahead = sum(search.rows_ahead() for search in group)
            dealt = _dealt(training.results, stage.starts)
            with one_blas_thread():
                list(pool.map(_Search.consider, group, repeat(stage), dealt))
            done += ahead - sum(search.rows_ahead() for search in group)
            show(done)
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


# Fewer rows than this say too little of a formula, however few its weights.
_FEWEST = 128
# Passes of the judged rows through a network: the soft one, and two roundings with two sides of the gate.
_JUDGE_PASSES = 5


class _Search:
    """One problem under way: which wave is next, the best start so far, and the rows used."""

    def __init__(self, problem: Problem, search: Search) -> None:
        self.problem, self.search = problem, search
        self.deep = problem.network.depth > 1
        waves = search.deeper if self.deep else search.one_layer
        self.budget = search.deeper_rows if self.deep else search.one_layer_rows
        self.waves = [w for w in waves if not w.second_order or second_order(problem.network)]
        self.wave, self.rows, self.starts = 0, 0, 0
        self.steps, self.seconds = 0, 0.0
        self.best: Result | None = None
        self.score, self.exact, self.agreeing = math.inf, False, 0
        self.few: dict[int, Source] = {}
        self.base: Array | None = None
        source = problem.source
        # Copies, so that the whole training set is not kept.
        self.judged = Rows(*(_spread(part, search.judge_rows).copy() for part in source.load()))
        # Checked here, so that a wrong problem raises before any work is done.
        stage = self.stage()
        Plan(members=[self._member(0, self._source(stage))], recipe=stage.recipe)

    @property
    def ended(self) -> bool:
        if self.best is None:
            return False
        right = self.best.error <= EXACT
        if right and self.exact:
            return True
        # Weights that are no formula may fit as well; and where there is noise nothing ever fits so well.
        settled = right or (self.deep and self.agreeing >= self.search.agreement)
        if settled and 8 * self.rows > self.budget:
            return True
        return self.rows + self.wave_rows(self.stage()) > self.budget

    def rows_ahead(self) -> int:
        """Rows that the waves to come may use at most."""
        return 0 if self.ended else self.budget - self.rows

    def wave_rows(self, stage: Stage) -> int:
        """Rows that a wave uses at most."""
        trained = stage.starts * stage.recipe.epochs * self._source(stage).shape[0]
        return trained + (stage.judged or stage.starts) * self._judge_rows

    @property
    def _judge_rows(self) -> int:
        return _JUDGE_PASSES * len(self.judged.x)

    def stage(self) -> Stage:
        """The next wave, with its recipe fitted to this problem's rows."""
        stage = self.waves[self.wave % len(self.waves)]
        rows = self._source(stage).shape[0]
        if stage.rows is None:
            return replace(stage, recipe=stage.recipe.but(batch=rows))
        # Never more rows than the stage has, since what it may use is a part of a budget.
        return replace(stage, recipe=stage.recipe.but(epochs=max(1, stage.rows // rows)))

    def _source(self, stage: Stage) -> Source:
        """The rows that a start of a wave is trained on."""
        rule = stage.recipe.optimizer
        if isinstance(rule, LevenbergMarquardt):
            return self._few(max(_FEWEST, rule.rows_per_parameter * self.problem.network.size))
        assert stage.rows is not None
        return _at_most(self.problem.source, stage.rows)

    def _few(self, rows: int) -> Source:
        """Some rows, kept: to draw all rows of a task anew for each crew would take longer than to train it."""
        if rows not in self.few:
            x, y = (part.copy() for part in _at_most(self.problem.source, rows).load())
            self.few[rows] = ArraySource(x, y, self.problem.source.text)
        return self.few[rows]

    def _member(self, start: int, source: Source, **changes: Any) -> Member:
        problem = self.problem
        return Member(
            network=problem.network, source=source, seed=problem.seed, start=start, tag=problem.tag, **changes
        )

    def members(self, stage: Stage) -> list[Member]:
        """Return the members of the next wave."""
        source = self._source(stage)
        numbers = range(self.starts, self.starts + stage.starts)
        if stage.draw == "last":
            return [self._member(k, source, initial=self._redrawn(stage, k)) for k in numbers]
        members = [self._member(k, source) for k in numbers]
        if self.starts == 0:
            initial = None
            if self.search.closed_form:
                from inalu.engine.closed_form import closed_form

                initial = closed_form(self.problem.network, self.problem.source.load())
            members[0] = self._member(0, source, law=self.problem.law, initial=initial)
        return members

    def _redrawn(self, stage: Stage, k: int) -> Array:
        """The latest whole start of mini-batches with its last layer drawn anew."""
        network = self.problem.network
        assert self.base is not None
        weights = np.array(self.base)
        last = min(slot.start for slot in network.slots if slot.layer == network.depth - 1)
        member = self._member(k, self.problem.source)
        weights[last:] = draw_weights(member, stage.recipe.law, k)[0, last:]
        return weights

    def consider(self, stage: Stage, results: Sequence[Result]) -> None:
        """Judge the ended starts of a wave."""
        rows = self._source(stage).shape[0]
        for result in results:
            self.steps += result.steps
            self.seconds += result.seconds
            self.rows += len(result.loss) * rows
            if stage.draw == "all" and not stage.second_order:
                self.base = result.parameters
        for result in sorted(results, key=_last_loss)[: stage.judged]:
            self.rows += self._judge_rows
            self._weigh(*self._judged(result))
        self.starts += stage.starts
        self.wave += 1

    def _weigh(self, score: float, judged: Result) -> None:
        exact = judged.error == score
        if exact and abs(score - self.score) <= SAME * score:
            self.agreeing += 1
        if self.best is None or score < self.score * (1 - SAME):
            self.best, self.score, self.exact, self.agreeing = judged, score, exact, int(exact)

    def _judged(self, result: Result) -> tuple[float, Result]:
        """A start as it would be returned, exact where that is hardly worse than soft, and what ranks it."""
        network, soft = self.problem.network, result.parameters
        error = float(judge(network, soft, self.judged).mean())
        exact = make_exact(network, soft, self.judged)
        if exact.error > WORSE * error + EXACT:
            return WORSE * error + EXACT, replace(result, error=error)
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


def _last_loss(result: Result) -> float:
    """The last epoch's loss; what diverged comes last."""
    loss = float(result.loss[-1]) if len(result.loss) else math.inf
    return math.inf if math.isnan(loss) else loss


def _by_stage(searches: Sequence[_Search]) -> dict[Stage, list[_Search]]:
    groups: dict[Stage, list[_Search]] = {}
    for search in searches:
        groups.setdefault(search.stage(), []).append(search)
    return groups


def _dealt(results: Sequence[Result], count: int) -> list[Sequence[Result]]:
    return [results[n : n + count] for n in range(0, len(results), count)]
