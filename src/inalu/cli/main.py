"""The command ``inalu``: it registers the verbs, and turns our errors into one sentence and an exit code.

A verb's file is imported when the verb is called, so that ``inalu --help`` stays fast. Exit codes: 0 and 1
are the verb's answer, 2 is a usage error or unreadable input, 130 an interruption.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any, NoReturn

import click

from inalu.errors import InaluError

VERBS = {
    "audit": "Find which columns of a table are computed from which, and the rows that break it.",
    "fit": "Find the formula of one column.",
    "check": "Check a table against rules that audit or fit saved.",
    "reproduce": "Run the paper's experiments.",
    "report": "Turn the results of experiments into tables, figures and one page.",
    "runs": "List and inspect the stored runs.",
    "benchmark": "Time the training backends on this machine.",
}
INTERRUPTED = 130


class Verbs(click.Group):
    """A group whose commands live in modules of their own, imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs whose file is there, in the order of VERBS."""
        return [verb for verb in VERBS if importlib.util.find_spec(f"inalu.cli.{verb}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's file and return its command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"inalu.cli.{cmd_name}")
        command = getattr(module, "command", None) or getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the nearest verb suggested for an unknown one."""
        name = args[0] if args else ""
        if not name.startswith("-") and name not in self.list_commands(ctx):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            ctx.fail(f"there is no verb {name!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from VERBS, without importing any."""
        verbs = [(verb, VERBS[verb]) for verb in self.list_commands(ctx)]
        if verbs:
            with formatter.section("Verbs"):
                formatter.write_dl(verbs)

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a verb and leave the program with its exit code."""
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            sys.exit(INTERRUPTED)
        except InaluError as error:
            click.echo(_sentence(error), err=True)
            sys.exit(2)
        except BrokenPipeError:
            # The reader of our output left (as `| head` does); what is buffered has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except MemoryError:
            click.echo("inalu: the memory does not suffice for this input.", err=True)
            sys.exit(2)
        except Exception as error:
            if os.environ.get("INALU_DEBUG"):
                raise
            said = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
            click.echo(f"inalu: an error of inalu's own ({said}); INALU_DEBUG=1 shows where.", err=True)
            sys.exit(2)
        sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: InaluError) -> str:
    """The message on one line, without what a terminal would obey."""
    text = " ".join(str(error).split())
    return "inalu: " + "".join(sign if sign.isprintable() else "?" for sign in text)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda c, p, on: _show_version(c, on),
    help="Show the version and exit.",
)  # fmt: skip
def inalu() -> None:
    """Find the formulas behind a table, and the rows that break them; reproduce the paper on neural arithmetic.

    \b
      inalu audit sales.csv              which columns are computed from which?
      inalu fit sales.csv -t total       what is the formula of one column?
      inalu check rules.json next.csv    does next month's table obey the rules?
      inalu reproduce exp1               the paper's first experiment, then: inalu report
    """


def _show_version(context: click.Context, asked: bool) -> None:
    # Looking the version up costs a third of the start, so it waits until it is asked for.
    if asked:
        from inalu import __version__

        click.echo(f"inalu, version {__version__}")
        context.exit()


def main() -> NoReturn:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a sign shows "?" in its place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    inalu.main(prog_name="inalu")
