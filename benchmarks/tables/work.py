"""Audits in processes of their own, so that one table's memory, time or failure is no other's."""

from __future__ import annotations

import json
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

Answer = dict[str, Any]


def audit_file(path: Path, options: dict[str, Any] | None = None) -> Answer:
    """The answer of ``inalu audit --json`` as a dict; what went wrong under "error"."""
    from inalu.tabular.audit import audit

    start = time.perf_counter()
    try:
        return audit(path, **(options or {})).to_json()
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc(),
            "relations": [],
            "seconds": time.perf_counter() - start,
            "false_findings_expected": 0.0,
        }


def spread(
    work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int = 2
) -> Iterator[tuple[int, Any]]:
    """Run jobs in spawned processes; (number of the job, result) in the order of the jobs."""
    if workers == 1:
        yield from ((at, work(*job)) for at, job in enumerate(jobs))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = [pool.submit(work, *job) for job in jobs]
        for at, one in enumerate(waiting):
            yield at, one.result()


def log(path: Path | None, name: str, answer: Answer) -> None:
    """Keep an answer for later reading."""
    if path is not None:
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"case": name, "answer": answer}) + "\n")
