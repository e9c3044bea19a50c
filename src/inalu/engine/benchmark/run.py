"""Measure: parity first, then each case beside its rivals, then how the cost grows."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inalu.engine.benchmark.cases import AXES, CELLS, WIDTHS, Case, parity_cases
from inalu.engine.benchmark.ours import seconds_a_step
from inalu.engine.benchmark.peak import Rates, measure_rates
from inalu.engine.benchmark.roofline import least_seconds
from inalu.engine.parity import failures
from inalu.engine.recipe import PAPER

Tree = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What is measured and how long.

    Attributes
    ----------
    cells, widths
        The cases: every cell with every network.
    members, rows
        Of each case's population and of its training set.
    seconds
        How long one of several rounds of a timing takes, about.
    compiled
        Whether the compiled stacked population is measured; its compilation takes a minute a case.
    scaling
        Whether the cost against members, inputs and cores is measured.
    """

    cells: tuple[str, ...] = CELLS
    widths: tuple[tuple[int, ...], ...] = WIDTHS
    members: int = 1024
    rows: int = 64_000
    seconds: float = 0.3
    compiled: bool = True
    scaling: bool = True


def disagreements() -> list[str]:
    """Return what the backends get wrong on the parity cases of the benchmark's cells; none is a pass."""
    backends = ["cpu", "stacked"] if find_spec("torch") else []
    return [sentence for backend in backends for sentence in failures(backend, parity_cases())]


def measure(scope: Scope, say: Say = lambda _: None) -> Tree:
    """Return all figures as the tree that ``--json`` prints; ``say`` is told what is being measured."""
    say("what one core makes at most")
    rates = measure_rates()
    cases = [Case(c, w, members=scope.members, rows=scope.rows) for c in scope.cells for w in scope.widths]
    return {
        "machine": machine(rates),
        "versions": versions(),
        "cases": [_case(case, scope, rates, say) for case in cases],
        "scaling": _scaling(scope, say) if scope.scaling else [],
    }


def _case(case: Case, scope: Scope, rates: Rates, say: Say) -> Tree:
    say(f"{case.name}: the cpu backend")
    plan, cores = case.plan(), os.cpu_count() or 1
    one = seconds_a_step(plan, 1, scope.seconds)
    every = seconds_a_step(plan, cores, scope.seconds)
    eager: dict[str, float] = {}
    stacked: float | None = None
    compiled: float | None = None
    if find_spec("torch"):
        from inalu.engine.benchmark.eager import eager_steps, stacked_step

        say(f"{case.name}: eager PyTorch, one step at a time")
        eager = eager_steps(case, scope.seconds)
        say(f"{case.name}: stacked")
        stacked = stacked_step(case, compile=False, target=scope.seconds)
        if scope.compiled:
            say(f"{case.name}: stacked, compiled (a minute of compilation)")
            compiled = stacked_step(case, compile=True, target=scope.seconds)
    jax: float | None = None
    if find_spec("jax"):
        from inalu.engine.benchmark.jax_rival import jax_step

        say(f"{case.name}: JAX")
        jax = jax_step(case, scope.seconds)
    fastest = min(eager.values(), default=None)
    rival = min((s for s in (stacked, compiled) if s is not None), default=None)
    return {
        "network": list(case.widths), "cell": case.cell, "recipe": PAPER.name, "backend": "cpu",
        "members": case.members, "ns_step_one_core": _ns(one), "ns_step_all_cores": _ns(every),
        "eager_ns_step": _ns(fastest), "ratio_eager": _ratio(fastest, one),
        "stacked_ns_step": _ns(rival), "ratio_stacked": _ratio(rival, one),
        "jax_ns_step": _ns(jax), "ratio_jax": _ratio(jax, every),
        "roofline_share": float(f"{least_seconds(case, rates) / one:.3g}"),
        "eager": {name: _ns(seconds) for name, seconds in eager.items()},
        "stacked_eager_ns_step": _ns(stacked), "stacked_compiled_ns_step": _ns(compiled),
    }  # fmt: skip


def _scaling(scope: Scope, say: Say) -> list[Tree]:
    """The cost of a step of one member on one core against members and inputs, and on more cores."""
    first, cores = scope.cells[0], os.cpu_count() or 1
    base = Case(first, (2, 1), rows=min(scope.rows, 6_400))
    found = []

    def note(axis: str, value: int, case: Case, threads: int) -> None:
        say(f"{axis}: {value}")
        seconds = seconds_a_step(case.plan(), threads, scope.seconds)
        found.append(
            {"axis": axis, "value": value, "cell": case.cell, "network": list(case.widths), "ns_step": _ns(seconds)}
        )  # fmt: skip

    for members in AXES["members"]:
        note("members", members, replace(base, members=members), 1)
    for inputs in AXES["inputs"]:
        note("inputs", inputs, replace(base, members=min(scope.members, 64), widths=(inputs, 1)), 1)
    for widths in scope.widths:
        case = Case(first, widths, members=scope.members, rows=scope.rows)
        for threads in _counts(cores):
            note("cores", threads, case, threads)
    return found


def _counts(cores: int) -> Iterable[int]:
    """1, 2, 4 … and all cores."""
    return sorted({*(2**n for n in range(cores.bit_length()) if 2**n <= cores), cores})


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds * 1e9:.4g}")


def _ratio(rival: float | None, own: float) -> float | None:
    return None if rival is None else float(f"{rival / own:.4g}")


def machine(rates: Rates) -> Tree:
    """What the figures were measured on."""
    return {
        "processor": _processor(), "cores": os.cpu_count(), "system": platform.platform(terse=True),
        "vectors_per_ns": {
            "products": round(rates.products * 1e-9, 2), "products_and_sums": round(rates.mixed * 1e-9, 2),
            "divisions": round(rates.divisions * 1e-9, 2), "roots": round(rates.roots * 1e-9, 2),
        },
        "bytes_per_ns": round(rates.bytes * 1e-9, 1),
    }  # fmt: skip


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    """What the figures were measured with."""
    found = {"python": platform.python_version()}
    for name in ("inalu", "numpy", "numba", "llvmlite", "torch", "jax", "jaxlib"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
