"""Progress of long work on a terminal: one line that is written over; nothing where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TextIO

#: Seconds between two writings of the line.
PERIOD = 0.2


class Progress:
    """A line that says how much is done, how fast it goes, and how long it will take.

    Parameters
    ----------
    label, unit
        What the line begins with, and what is counted.
    total
        How many there are to do.
    stream
        Standard error by default. Nothing is written where it is no terminal.
    quiet
        Write nothing in any case.
    clock
        Seconds; for tests.

    Examples
    --------
    >>> with Progress("exp1", total=3, unit="runs", quiet=True) as progress:
    ...     progress.update(1)
    """

    def __init__(
        self,
        label: str,
        *,
        total: int,
        unit: str = "",
        stream: TextIO | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet or not self._stream.isatty()
        self._clock = clock
        self._began = self._written = clock()
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def update(self, done: int, share: float | None = None) -> None:
        """Say that ``done`` are done; ``share`` is the part of all work, where it is known better."""
        now = self._clock()
        if self._quiet or (now - self._written < PERIOD and done < self._total):
            return
        self._written = now
        self._show(self.line(done, share, now - self._began))

    def line(self, done: int, share: float | None, seconds: float) -> str:
        """Return the line for so much done in so many seconds."""
        part = done / max(self._total, 1) if share is None else share
        text = f"{self._label}  {done:,} of {self._total:,} {self._unit}".rstrip()
        if seconds > 0 and done:
            text += f"  {done / seconds:,.3g} a second"
        if seconds > 0 and 0 < part < 1:
            text += f"  {duration(seconds * (1 - part) / part)} left"
        return text

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._show("")
            self._stream.write("\r")
            self._stream.flush()
            self._width = 0

    def _show(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


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
