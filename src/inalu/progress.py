"""Progress of long work: a bar on a terminal, a plain line now and then for a log, otherwise nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from .errors import invalid

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Seconds between two pictures of the bar, and between two lines of a log.
PERIOD = 0.2
LOG_PERIOD = 10.0


class Progress:
    """Says how much is done, how fast it goes, and how long it will take.

    It writes to standard error, so that results can be piped, and may be told of progress from any thread.

    Parameters
    ----------
    label, unit
        What the line begins with, and what is counted.
    total
        How many there are to do; None where nobody knows.
    done
        How many were done before, by an earlier run; they count as done but not towards the rate.
    log
        Write a plain line every ten seconds, and one at the end, where there is no terminal.
    quiet
        Write nothing in any case.
    stream
        Standard error by default.
    clock
        Seconds; for tests.

    Examples
    --------
    >>> with Progress("training", total=3, unit="runs", log=True) as progress:
    ...     for seed in range(3):
    ...         progress.advance(note=f"seed {seed}")
    """

    def __init__(
        self,
        label: str,
        *,
        total: int | None,
        unit: str = "",
        done: int = 0,
        log: bool = False,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if total is not None and total < 0:
            raise invalid("total", "must not be negative", total, fix="None says that nobody knows")
        self._label, self._unit = plain(label), plain(unit)
        self._total, self._before, self._done = total, done, done
        self._share: float | None = None
        self._note = ""
        self._stream = sys.stderr if stream is None else stream
        self._mode = _mode(self._stream, log=log, quiet=quiet)
        self._clock = clock
        self._began = self._written = clock()
        self._lock = Lock()
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
        if self._mode == "log":
            self._stream.write(self._line() + (f"  stopped by {kind.__name__}" if kind else "") + "\n")
            self._stream.flush()

    def advance(self, count: int = 1, *, note: str | None = None) -> None:
        """Say that ``count`` more are done; ``note`` is a word on the latest."""
        with self._lock:
            self._tell(self._done + count, None, note)

    def update(self, done: int, share: float | None = None, *, note: str | None = None) -> None:
        """Say that ``done`` are done; ``share`` is the part of all work, where it is known better."""
        with self._lock:
            self._tell(done, share, note)

    def clear(self) -> None:
        """Take the bar away; the next word brings it back."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _tell(self, done: int, share: float | None, note: str | None) -> None:
        self._done, self._share = done, share
        self._note = self._note if note is None else plain(note)
        now = self._clock()
        period = LOG_PERIOD if self._mode == "log" else PERIOD
        last = self._mode == "bar" and done == self._total
        if not self._mode or (now - self._written < period and not last):
            return
        self._written = now
        if self._mode == "log":
            self._stream.write(self._line() + "\n")
            self._stream.flush()
        else:
            self._show()

    def _line(self) -> str:
        return f"{self._label}  {self._facts()}"

    def _facts(self) -> str:
        """Return how many, how fast, how long, and the note."""
        seconds = self._clock() - self._began
        done, fresh, total = self._done, self._done - self._before, self._total
        facts = [f"{done:,} of {total:,} {self._unit}" if total is not None else f"{done:,} {self._unit}"]
        if seconds > 0 and fresh > 0:
            facts.append(f"{_rounded(fresh / seconds)} a second")
        part, left = self._part(), None
        if part is not None and seconds > 0:
            first = self._before / total if total and self._share is None else 0.0
            if first < part < 1:
                left = seconds * (1 - part) / (part - first)
        facts.append(f"{duration(left)} left" if left is not None else "")
        return "  ".join(fact.strip() for fact in (*facts, self._note) if fact.strip())

    def _part(self) -> float | None:
        if self._share is not None or not self._total:
            return self._share
        return self._done / self._total

    def _show(self) -> None:
        part = self._part()
        if self._bar is None:
            self._bar = _bar(self._stream)
            self._bar.add_task(self._label, total=None if part is None else 1.0, facts="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=part or 0.0, facts=self._facts())
        self._bar.refresh()


def _mode(stream: TextIO | None, *, log: bool, quiet: bool) -> str:
    """Return "bar", "log" or, for silence, ""."""
    if quiet or stream is None or stream.closed:
        return ""
    return "bar" if stream.isatty() else "log" if log else ""


def _bar(stream: TextIO) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    one_line = Column(no_wrap=True, overflow="ellipsis")
    facts = TextColumn("{task.fields[facts]}", markup=False, table_column=one_line)
    # No thread of its own: it is drawn when there is something to say.
    console = Console(file=stream, highlight=False)
    label = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
    return Bar(label, BarColumn(bar_width=24), facts, console=console, transient=True, auto_refresh=False)


def duration(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> duration(8), duration(95), duration(7260)
    ('8 s', '1 min 35 s', '2 h 1 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def plain(text: str) -> str:
    """Return a text without signs that a terminal would obey.

    Examples
    --------
    >>> plain("a\\x1b[31mb")
    'a?[31mb'
    """
    return "".join(sign if sign.isprintable() else "?" for sign in text)
