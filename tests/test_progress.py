"""Progress: a bar on a terminal, lines for a log, otherwise silence."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from inalu.errors import InvalidArgument
from inalu.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def seen(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.getvalue())


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_terminal_sees_counts_rate_time_left_and_the_note() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("training", total=400, unit="runs", stream=terminal, clock=clock) as progress:
        clock.now = 10.0
        progress.advance(100, note="seed 3")
        assert "training" in terminal.seen
        assert "100 of 400 runs  10 a second  30 s left  seed 3" in terminal.seen
        clock.now = 20.0
        progress.advance(100)
        assert "200 of 400 runs  10 a second  20 s left  seed 3" in terminal.seen
    # Nothing of it stays, and the cursor is shown again.
    assert terminal.getvalue().rstrip("\r\n").endswith("\x1b[2K")
    assert terminal.getvalue().rfind("\x1b[?25h") > terminal.getvalue().rfind("\x1b[?25l")


def test_the_bar_is_drawn_at_most_five_times_a_second() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("x", total=10_000, stream=terminal, clock=clock) as progress:
        for step in range(10_000):
            clock.now = step / 10_000
            progress.advance()
        drawn = re.findall(r"[\d,]+ of 10,000", terminal.seen)
    assert len(set(drawn)) <= 7
    assert "10,000 of 10,000" in drawn


def test_a_share_says_better_than_the_count_how_long_it_takes() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("x", total=10, stream=terminal, clock=clock) as progress:
        clock.now = 30.0
        progress.update(0, 0.75)
        assert "0 of 10  10 s left" in terminal.seen


def test_what_was_done_before_does_not_count_towards_the_rate() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("x", total=1000, done=900, stream=terminal, clock=clock) as progress:
        clock.now = 10.0
        progress.update(950)
        assert "950 of 1,000  5 a second  10 s left" in terminal.seen


def test_a_total_that_nobody_knows_is_left_out() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("reading", total=None, unit="rows", stream=terminal, clock=clock) as progress:
        clock.now = 2.0
        progress.advance(5000)
        assert "5,000 rows  2,500 a second" in terminal.seen


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end() -> None:
    log, clock = io.StringIO(), Clock()
    with Progress("training", total=100, unit="runs", stream=log, log=True, clock=clock) as progress:
        for second in range(1, 26):
            clock.now = float(second)
            progress.advance(4)
    lines = log.getvalue().splitlines()
    assert lines == [
        "training  40 of 100 runs  4 a second  15 s left",
        "training  80 of 100 runs  4 a second  5 s left",
        "training  100 of 100 runs  4 a second",
    ]


def test_a_log_says_that_the_work_was_stopped() -> None:
    log = io.StringIO()

    def stopped() -> None:
        with Progress("x", total=2, stream=log, log=True, clock=Clock()) as progress:
            progress.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert log.getvalue() == "x  1 of 2  stopped by KeyboardInterrupt\n"


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_otherwise_it_is_silent(stream: io.StringIO, quiet: bool) -> None:
    clock = Clock()
    with Progress("x", total=1, stream=stream, quiet=quiet, clock=clock) as progress:
        clock.now = 100.0
        progress.advance(1)
    assert stream.getvalue() == ""


def test_a_closed_stream_is_no_reason_to_fail() -> None:
    stream = io.StringIO()
    stream.close()
    with Progress("x", total=1, stream=stream, log=True) as progress:
        progress.advance()


def test_hostile_notes_cannot_steer_the_terminal() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress("[red]x\x1b[2J", total=2, stream=terminal, clock=clock) as progress:
        clock.now = 1.0
        progress.advance(note="[/bold]\x1b]0;title\x07\n[link=http://x]")
    assert "\x1b[2J" not in terminal.getvalue()
    assert "\x1b]0" not in terminal.getvalue()
    assert "[red]x?" in terminal.seen
    assert "[/bold]?]0;title??" in terminal.seen


def test_every_thread_may_tell() -> None:
    log, clock = io.StringIO(), Clock()
    progress = Progress("x", total=4000, stream=log, log=True, clock=clock)
    with progress, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: progress.advance(), range(4000)))
    assert log.getvalue() == "x  4,000 of 4,000\n"


def test_the_total_must_not_be_negative() -> None:
    with pytest.raises(InvalidArgument, match="total must not be negative"):
        Progress("x", total=-1)


def test_times_are_written_as_people_say_them() -> None:
    assert [duration(s) for s in (-1, 0.4, 59.6, 3599, 86_400)] == [
        "0 s",
        "0 s",
        "1 min 0 s",
        "59 min 59 s",
        "24 h 0 min",
    ]


def test_rich_is_loaded_only_for_a_bar() -> None:
    program = (
        "import io, sys; from inalu.progress import Progress\n"
        "with Progress('x', total=1, stream=io.StringIO(), log=True) as p: p.advance()\n"
        "assert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
