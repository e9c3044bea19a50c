"""The answer to a table as a person reads it in a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from inalu.cli.tables import plain
from inalu.errors import InvalidData
from inalu.tabular.relation import Audit, Break, Relation
from inalu.tabular.totals import sentence

if TYPE_CHECKING:
    from inalu.tabular.table import Table

# Piped output is not cut to a terminal's width.
PIPE_WIDTH = 200


def show(
    audit: Audit, table: Table, *, rows: int, notes: bool, asked: str, output: Path | None = None
) -> None:
    """Print the answer to standard output or to a file."""
    if output is None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
        console.print(report(audit, table, rows=rows, notes=notes, asked=asked))
        return
    try:
        with output.open("w", encoding="utf-8") as stream:
            console = Console(file=stream, highlight=False, width=PIPE_WIDTH)
            console.print(report(audit, table, rows=rows, notes=notes, asked=asked))
    except OSError as error:
        raise InvalidData(f"{str(output)!r} cannot be written: {error.strerror}.") from None


def report(audit: Audit, table: Table, *, rows: int, notes: bool, asked: str) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = [_head(audit, table)]
    if notes:
        parts += [Text(plain(note), style="dim") for note in audit.notes or table.notes]
    parts.append(Text())
    best = audit.relations[:1] if asked == "fit" else audit.relations
    parts += [_relation(relation, table, rows) for relation in best]
    if rivals := audit.relations[len(best) :]:
        parts.append(Text(f"Other formulas for {plain(rivals[0].target)}:", style="dim"))
        parts += [Text(f"    {plain(str(one.formula))}    {_held(one)}", style="dim") for one in rivals]
    if audit.total_rows:
        parts.append(_totals(audit, table, rows))
    if not audit.relations:
        parts.append(_nothing(audit, asked))
    if audit.relations:
        parts.append(_closing(audit, asked))
    if audit.interrupted and audit.relations:
        parts.append(Text("Interrupted: this is what had been found.", style="bold yellow"))
    return Group(*parts)


def _head(audit: Audit, table: Table) -> Text:
    count = len(table.columns)
    text = Text(plain(audit.table), style="bold")
    text.append(
        f"  {audit.rows:,} {_plural('row', audit.rows)}, {count} numeric {_plural('column', count)}", style=""
    )
    return text.append(f", {audit.seconds:.1f} s", style="dim")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _held(relation: Relation) -> str:
    if relation.rows_holding == relation.rows_checked:
        return f"all {relation.rows_checked:,} rows"
    return f"{relation.rows_holding:,} of {relation.rows_checked:,} rows"


def _relation(relation: Relation, table: Table, rows: int) -> RenderableType:
    broken = relation.rows_checked - relation.rows_holding
    line = Text("✗ " if broken else "✓ ", style="bold red" if broken else "bold green")
    line.append(f"{plain(relation.target)} = {plain(str(relation.formula))}", style="bold")
    parts: list[RenderableType] = [line, Text(f"    {_held(relation)}", style="red" if broken else "dim")]
    for equivalent in relation.equivalent[:3]:
        parts.append(Text(f"    also {plain(relation.target)} = {plain(str(equivalent))}", style="dim"))
    if relation.breaking:
        parts.append(Padding(_breaking(relation, table, rows), (0, 0, 0, 4), expand=False))
        left = len(relation.breaking) - rows
        if left > 0:
            more = f"{left:,} more {_plural('row', left)} (--rows {len(relation.breaking)} or --json)"
            parts.append(Text(f"    … and {more}", style="dim"))
        parts += [Text(f"    {plain(sentence)}", style="yellow") for sentence in relation.common]
    return Group(*parts)


def _breaking(relation: Relation, table: Table, rows: int) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    grid.add_column("row", justify="right")
    if table.labels is not None:
        grid.add_column("line" if table.sheet is None else "row in sheet", justify="right")
    for title in (plain(relation.target), "expected", "difference"):
        grid.add_column(Text(title, overflow="ellipsis", no_wrap=True), justify="right", max_width=32)
    grid.add_column("likely cause")
    for broken in relation.breaking[:rows]:
        cells = [str(broken.row), *([str(table.row_label(broken.row))] if table.labels is not None else [])]
        numbers = (broken.value, broken.expected, broken.difference)
        cells += [table.shown(number, relation.target) for number in numbers]
        grid.add_row(*cells, Text(_cause(broken, relation, table)))
    return grid


def _cause(broken: Break, relation: Relation, table: Table) -> str:
    cause = broken.cause.replace("_", " ")
    words = "" if cause == "unknown" else cause
    if broken.suspect and (broken.suspect != relation.target or words):
        words = f"{words}, in {plain(broken.suspect)}" if words else f"look at {plain(broken.suspect)}"
    if broken.proposal is not None and words:
        words += f" ({table.shown(broken.proposal, broken.suspect)} would be right)"
    return words


def _totals(audit: Audit, table: Table, rows: int) -> RenderableType:
    """The total rows, those that do not add up first and in full."""
    ordered = sorted(audit.total_rows, key=lambda total: not total.breaking)
    wrong = sum(bool(total.breaking) for total in ordered)
    lines: list[RenderableType] = []
    for total in ordered[: max(rows, wrong)]:
        line = Text("✗ " if total.breaking else "✓ ", style="bold red" if total.breaking else "bold green")
        lines.append(line.append(plain(sentence(total, table, audit.total_rows)), style="not bold"))
    if left := len(ordered) - len(lines):
        lines.append(Text(f"    … and {left:,} more total {_plural('row', left)} (--json)", style="dim"))
    return Group(*lines)


def _nothing(audit: Audit, asked: str) -> Text:
    if asked == "check":
        return Text("The rules file holds no rules.")
    if audit.interrupted:
        # A search that was cut off cannot say that there is nothing.
        return Text("Interrupted: no formula had been found yet.", style="bold yellow")
    text = Text("No formula found: no column follows from others clearly enough to tell it from luck.")
    if audit.nearest_miss is not None:
        text.append(f"\nThe nearest miss: {plain(str(audit.nearest_miss))}.")
    return text


def _closing(audit: Audit, asked: str) -> Text:
    asked_of = audit.relations[:1] if asked == "fit" else audit.relations
    broken = {broken.row for relation in asked_of for broken in relation.breaking}
    text = Text("\n")
    count = len(audit.relations)
    word = "rule" if asked == "check" else "formula"
    if broken:
        verb = "breaks" if len(broken) == 1 else "break"
        text.append(f"{len(broken):,} {_plural('row', len(broken))} {verb} a {word}", style="bold red")
        text.append(f"; {count} {_plural(word, count)} {'was' if count == 1 else 'were'} ")
        text.append("checked." if asked == "check" else "found.")
    else:
        wrong = sum(bool(total.breaking) for total in audit.total_rows)
        if wrong:
            said = f"{wrong:,} total {_plural('row', wrong)} {'does' if wrong == 1 else 'do'} not add up. "
            text.append(said, style="bold red")
        rows = "All other rows" if wrong else "All rows"
        text.append(f"{rows} hold, {count} {_plural(word, count)}.", style="bold green")
    if asked != "check":
        text.append(f" Expected by luck alone: {audit.false_findings_expected:.2g} of {count}.", style="dim")
    if audit.unexplained and asked == "audit":
        names = [plain(name) for name in audit.unexplained]
        listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        text.append(f"\nNot computed from other columns: {listed}.", style="dim")
    return text
