"""Whether a training fits into memory, asked before it starts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from inalu.engine.plan import Member, Plan
from inalu.errors import InvalidArgument

# How many arrays of a batch's activations a step holds at once, forward and backward.
_ACTIVATIONS = {"cpu": 8, "reference": 40, "stacked": 40}
# Members that one thread trains side by side.
_WIDTH = {"cpu": 16, "reference": 1, "stacked": 256}


def require_memory(plan: Plan, backend: str, threads: int) -> None:
    """Raise unless an estimate of what the training holds at once is below the memory that is free.

    Raises
    ------
    InvalidArgument
        With what is needed, what is free, and what takes most of it.
    """
    free = available_memory()
    if free is None:
        return
    parts = needed_memory(plan, backend, threads)
    need = sum(parts.values())
    if need > free:
        largest = max(parts, key=lambda name: parts[name])
        raise InvalidArgument(
            f"this training needs about {_text(need)} of memory, most of it for {largest}; "
            f"{_text(free)} are free. Train fewer members at a time, on fewer rows or with a smaller network."
        )


def needed_memory(plan: Plan, backend: str, threads: int) -> dict[str, int]:
    """Estimate the bytes that a training holds at once, by what they are for.

    Examples
    --------
    >>> import numpy as np
    >>> from inalu import PAPER, ArraySource, Member, Network, Plan
    >>> source = ArraySource(np.ones((1000, 2)), np.ones(1000))
    >>> plan = Plan(members=[Member(network=Network("nac", (2, 1)), source=source)], recipe=PAPER)
    >>> needed_memory(plan, "cpu", 1)["training rows"]
    16000
    """
    size = np.dtype(plan.dtype).itemsize
    results = sum(m.network.size * size + plan.recipe.epochs * 8 for m in plan.members)
    workers = min(threads if backend != "reference" else 1, len(plan.members))
    rows = max(_rows(m) for m in plan.members) * size
    # Members of a chunk may each have data of their own.
    at_once = min(workers * _WIDTH[backend], len(plan.members))
    sources = len({m.source for m in plan.members})
    weights = max(m.network.size for m in plan.members) * size * (plan.recipe.starts + 8)
    step = max(min(plan.recipe.batch, m.source.shape[0]) * sum(m.network.widths) for m in plan.members) * size
    restart = 0 if plan.recipe.reinitialization is None else max(plan.steps(m) for m in plan.members) * 8
    return {
        "results": results,
        "training rows": rows * min(at_once, sources),
        "weights and restarts": weights * at_once,
        "a step": step * _ACTIVATIONS[backend] * at_once,
        "loss histories": restart * at_once,
    }


def _rows(member: Member) -> int:
    """Numbers in a member's x, y and the weights of its loss."""
    rows, inputs, outputs = member.source.shape
    return rows * (inputs + 2 * outputs)


def available_memory() -> int | None:
    """Return the bytes that this process may still take, or None where the system does not say."""
    found = [_system_memory(), _control_group_memory()]
    known = [n for n in found if n is not None]
    return min(known) if known else None


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _control_group_memory() -> int | None:
    """What a container leaves (control groups, version 2)."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    # File pages that nobody waits for are counted as used, and given up on demand.
    used -= int(counts.get("inactive_file", 0))
    return None if limit == "max" else max(int(limit) - used, 0)


def _text(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB"
