"""train(plan) → results, streamed as members end; the one door to all backends."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event, Lock
from types import MappingProxyType
from typing import Protocol

from inalu.engine.memory import require_memory
from inalu.engine.plan import Plan
from inalu.engine.recipe import LevenbergMarquardt
from inalu.engine.result import Outcome, Provenance, Result, Training, library_versions
from inalu.errors import InvalidArgument, MissingExtra, check_choice, invalid

Emit = Callable[[int, Outcome], None]


class Run(Protocol):
    """What a backend's module offers as ``run``: train the plan's members with these indices.

    ``emit(index, outcome)`` is called once a member, as it ends, from any thread. When ``stop`` is set, the
    backend returns soon, without the members that have not ended. ``advance(steps)`` reports data steps made.
    Outcomes do not depend on ``threads``, on the order, or on the company of a member.
    """

    def __call__(
        self,
        plan: Plan,
        indices: tuple[int, ...],
        *,
        emit: Emit,
        advance: Callable[[int], None],
        stop: Event,
        threads: int,
    ) -> None: ...


@dataclass(frozen=True)
class Backend:
    """A way to train: its module has ``run`` (see `Run`) and an integer ``ALGORITHM``, its version."""

    name: str
    module: str
    needs: str
    extra: str | None
    every_cell: bool

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return find_spec(self.needs) is not None


BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        "cpu": Backend("cpu", "inalu.engine.cpu_host", "numba", None, False),
        "stacked": Backend("stacked", "inalu.engine.stacked", "torch", "torch", True),
        "reference": Backend("reference", "inalu.engine.reference", "torch", "torch", True),
    }
)


def train(
    plan: Plan,
    *,
    backend: str = "auto",
    threads: int | None = None,
    on_result: Callable[[Result], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Training:
    """Train a population and return its results in the order of the plan's members.

    Parameters
    ----------
    plan
        What to train.
    backend
        ``auto`` takes ``cpu`` where every cell has a fast path for it, else ``stacked``. A backend named here
        runs or raises; it never gives way to another.
    threads
        Threads to use; all cores by default. The results do not depend on it.
    on_result
        Called with each result as its member ends, one call at a time.
    progress
        Called with (data steps made, data steps in all) now and then.

    Returns
    -------
    Training
        After Ctrl-C: what had ended, with ``interrupted=True``.

    Raises
    ------
    InvalidArgument
        When the backend is unknown or has no path for a cell of the plan, threads < 1, or memory does not
        suffice.
    MissingExtra
        When the backend needs a package that is not installed.

    Examples
    --------
    >>> from inalu import PAPER, Member, Network, Plan, TaskSource, parse_task, train
    >>> task = parse_task("add; inputs=2; U(-1,1) -> U(-10,-5)")
    >>> network = Network("inalu-independent", (2, 1))
    >>> members = [Member(network=network, source=TaskSource(task, seed), seed=seed) for seed in range(4)]
    >>> results = train(Plan(members=members, recipe=PAPER.but(name="short", epochs=12)))
    >>> [str(result.expression(["a", "b"])) for result in results]
    ['a + b', 'a + b', 'a + b', 'a + b']
    """
    chosen = choose_backend(plan, backend)
    workers = (os.cpu_count() or 1) if threads is None else threads
    if workers < 1:
        raise invalid("threads", "must be at least 1", threads)
    require_memory(plan, chosen.name, workers)
    module = importlib.import_module(chosen.module)
    run: Run = module.run
    provenance = Provenance(
        chosen.name, module.ALGORITHM, workers, plan.dtype, plan.recipe.name, library_versions()
    )
    results: dict[int, Result] = {}
    lock, stop = Lock(), Event()
    total, done = sum(plan.steps(m) for m in plan.members), 0

    def emit(index: int, outcome: Outcome) -> None:
        outcome.parameters.flags.writeable = False
        outcome.loss.flags.writeable = False
        result = Result(member=plan.members[index], provenance=provenance, **outcome._asdict())
        with lock:
            results[index] = result
            if on_result is not None:
                on_result(result)

    def advance(steps: int) -> None:
        nonlocal done
        with lock:
            done += steps
            if progress is not None:
                progress(done, total)

    interrupted = False
    try:
        run(plan, tuple(range(len(plan.members))), emit=emit, advance=advance, stop=stop, threads=workers)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        stop.set()
    return Training(tuple(results[i] for i in sorted(results)), interrupted)


def choose_backend(plan: Plan, backend: str = "auto") -> Backend:
    """Return the backend that ``train`` would take, or raise as it would."""
    check_choice("backend", backend, ("auto", *BACKENDS))
    kinds = {m.network.cell: m.network.kind for m in plan.members}
    if backend == "auto":
        everywhere = all("cpu" in kind.fast for kind in kinds.values())
        backend = "cpu" if everywhere and BACKENDS["cpu"].available else "stacked"
    chosen = BACKENDS[backend]
    if not chosen.available:
        hint = f"pip install 'inalu[{chosen.extra}]'" if chosen.extra else f"pip install {chosen.needs}"
        raise MissingExtra(f"the {backend} backend needs {chosen.needs}: {hint}", name=chosen.needs)
    if isinstance(plan.recipe.optimizer, LevenbergMarquardt) and chosen.name == "stacked":
        raise InvalidArgument(
            "the stacked backend makes no steps of LevenbergMarquardt; use backend='cpu' or 'reference'."
        )
    slow = [name for name, kind in kinds.items() if not chosen.every_cell and chosen.name not in kind.fast]
    if slow:
        raise InvalidArgument(
            f"the {backend} backend has no path for the cell {slow[0]!r}; "
            "use backend='stacked', which trains any cell."
        )
    return chosen
