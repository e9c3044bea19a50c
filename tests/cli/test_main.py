"""The command itself: verbs listed and imported late, errors as one sentence, exit codes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import click
import pytest
from click.testing import CliRunner

from inalu.cli import main
from inalu.errors import InvalidData


def raising(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a command of the test's own behind the verb `audit`."""

    def put(command: click.Command) -> None:
        monkeypatch.setattr(main.Verbs, "get_command", lambda self, ctx, name: command)

    return put


def test_help_lists_the_verbs_that_are_there() -> None:
    result = CliRunner().invoke(main.inalu, ["--help"])
    assert result.exit_code == 0
    for name in ("audit", "fit", "check"):
        assert main.VERBS[name].split(".")[0][:40] in result.output


def test_help_imports_no_verb_and_nothing_heavy() -> None:
    program = (
        "import sys\nfrom inalu.cli.main import inalu\n"
        "try: inalu.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'torch', 'numba', 'pandas', 'sklearn', 'openpyxl', 'rich', 'inalu.tabular'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "inalu", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("inalu, version")


def test_an_unknown_verb_suggests_the_nearest() -> None:
    result = CliRunner().invoke(main.inalu, ["adit", "x.csv"])
    assert result.exit_code == 2
    assert "Did you mean 'audit'?" in result.output


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InvalidData("t.csv is\nempty \x1b[2J."), 2, "inalu: t.csv is empty ?[2J."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (MemoryError(), 2, "memory"),
        (RuntimeError("odd"), 2, "RuntimeError: odd"),
    ],
)
def test_errors_are_one_line(error: BaseException, code: int, said: str, verb: Any) -> None:
    verb(raising(error))
    result = CliRunner().invoke(main.inalu, ["audit"])
    assert result.exit_code == code
    assert said in result.output
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_debug_shows_where(verb: Any) -> None:
    verb(raising(RuntimeError("odd")))
    result = CliRunner().invoke(main.inalu, ["audit"], env={"INALU_DEBUG": "1"})
    assert isinstance(result.exception, RuntimeError)


def test_a_verbs_number_is_the_exit_code(verb: Any) -> None:
    verb(click.Command("audit", callback=lambda: 1))
    assert CliRunner().invoke(main.inalu, ["audit"]).exit_code == 1
