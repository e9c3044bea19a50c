"""What audit, fit and check share: their options, their progress, and where their answers go."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from inalu.errors import InvalidArgument, InvalidData

if TYPE_CHECKING:
    from inalu.tabular.relation import Audit, Relation
    from inalu.tabular.table import Table

Command = TypeVar("Command", bound=Callable[..., Any])

# The matrices of a search are small: threads inside the linear algebra wait for each other more than they compute.
for _library in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_library, "1")

KINDS = ("pandera", "great-expectations", "dbt", "sql", "excel")
INTERRUPTED = 130

_READING = (
    click.option("--sheet", help="The sheet of a workbook. [default: the one with the most numbers]"),
    click.option("--delimiter", help="The sign between cells, such as ; or \\t. [default: found out]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal sign. [default: found out]"),
    click.option("--encoding", help="The encoding of a text file. [default: found out]"),
)
_WRITING = (
    click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON."),
    click.option(
        "--rows", default=10, show_default=True, type=click.IntRange(0), help="Breaking rows to print."
    ),
    click.option(
        "--html", type=click.Path(path_type=Path), metavar="PAGE", help="Write the answer as a page."
    ),
    click.option(
        "--export", "kind", type=click.Choice(KINDS), help="Print the rules for another tool instead."
    ),
    click.option(
        "--name", metavar="TABLE", help="With --export: the database table. [default: the file's name]"
    ),
    click.option("--order", metavar="COLUMN", help="With --export: the column that orders the rows."),
    click.option(
        "--annotate",
        type=click.Path(path_type=Path),
        metavar="COPY.xlsx",
        help="Write a workbook with formulas and marked cells.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write what would be printed to a file.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no notes."),
)
SEARCHING = (
    click.option(
        "--save",
        type=click.Path(path_type=Path),
        metavar="RULES",
        help="Save the rules found, for `inalu check`.",
    ),
    click.option(
        "--stages",
        metavar="NAMES",
        help="Search only with these, separated by commas: pairs, sums, ranges, products, robust, ratios, triples, "
        "sequences, networks. [default: all but networks]",
    ),
    click.option(
        "--seed", default=0, show_default=True, type=click.IntRange(0), help="The seed of all random choices."
    ),
)


@dataclass(frozen=True)
class Wanted:
    """The options that all three verbs have."""

    sheet: str | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    as_json: bool
    rows: int
    html: Path | None
    kind: str | None
    name: str | None
    order: str | None
    annotate: Path | None
    output: Path | None
    quiet: bool

    def check(self) -> None:
        """Refuse options that contradict each other, before any work is done.

        Raises
        ------
        InvalidArgument
            Naming the two.
        """
        if self.as_json and self.kind:
            raise InvalidArgument("--json and --export both say what is printed: choose one.")
        if self.annotate is not None and self.annotate.suffix.lower() != ".xlsx":
            raise InvalidArgument(f"--annotate writes a workbook: {str(self.annotate)!r} must end in .xlsx.")
        for option, value in (("--order", self.order), ("--name", self.name)):
            if value is not None and self.kind is None:
                raise InvalidArgument(f"{option} belongs to --export.")
        for path in (self.html, self.annotate, self.output):
            if path is not None and not path.parent.is_dir():
                raise InvalidArgument(f"there is no folder {str(path.parent)!r} for {path.name!r}.")

    def read(self, source: str) -> Table:
        """Read the table."""
        from inalu.tabular.table import read_table

        delimiter = "\t" if self.delimiter in ("\\t", "tab") else self.delimiter
        return read_table(
            source, sheet=self.sheet, delimiter=delimiter, decimal=self.decimal, encoding=self.encoding
        )


def options(*groups: Any) -> Callable[[Command], Command]:
    """Give a command the options that all three verbs have, and more."""

    def add(command: Command) -> Command:
        for option in reversed((*groups, *_READING, *_WRITING)):
            command = option(command)
        return command

    return add


def stage_names(stages: str | None) -> tuple[str, ...] | None:
    """The stages of ``--stages``."""
    return tuple(part.strip() for part in stages.split(",") if part.strip()) if stages is not None else None


@contextmanager
def following(wanted: Wanted) -> Iterator[tuple[Callable[[str, float], None], Callable[[Relation], None]]]:
    """Show how far the search is and what it has found, on standard error, where that is a terminal."""
    if wanted.quiet or not sys.stderr.isatty():
        yield lambda stage, share: None, lambda relation: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading", total=1.0)

        def step(stage: str, share: float) -> None:
            progress.update(task, description=stage, completed=share)

        def found(relation: Relation) -> None:
            progress.console.print(Text(f"found  {plain(str(relation))}", overflow="ellipsis", no_wrap=True))

        yield step, found


def plain(text: str) -> str:
    """A text without signs that a terminal would obey."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def answer(
    audit: Audit, table: Table, wanted: Wanted, *, source: str, save: Path | None = None, asked: str = "audit"
) -> int:
    """Write the answer where it was wanted; the exit code: 0 all rows hold, 1 rows break, 130 interrupted."""
    from inalu.tabular.rules import rules_of

    if save is not None:
        rules_of(audit.relations, table).save(save)
    if wanted.html is not None:
        from inalu.tabular.html import page_of

        write(wanted.html, page_of(audit, table))
    if wanted.annotate is not None:
        from inalu.tabular.annotate import annotate

        annotate(audit, table, wanted.annotate, source=None if source == "-" else source)
    if wanted.as_json:
        text = json.dumps(audit.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    elif wanted.kind is not None:
        from inalu.tabular.exports import export

        text = export(rules_of(audit.relations, table), wanted.kind, table=wanted.name, order=wanted.order)
    else:
        text = ""
    if text:
        if wanted.output is not None:
            write(wanted.output, text)
        else:
            click.echo(text, nl=False)
    else:
        from inalu.cli.terminal import show

        show(audit, table, rows=wanted.rows, notes=not wanted.quiet, asked=asked, output=wanted.output)
    if audit.interrupted:
        return INTERRUPTED
    return 0 if audit.holds else 1


def write(path: Path, text: str) -> None:
    """Write a text file.

    Raises
    ------
    InvalidData
        When it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidData(f"{str(path)!r} cannot be written: {error.strerror}.") from None
