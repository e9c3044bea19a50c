"""``inalu benchmark``: what a step of training costs on this machine, beside what else could do it."""

from __future__ import annotations

import json
from typing import Any

import click

EPILOG = """\b
Examples:
  inalu benchmark engine
  inalu benchmark engine --network 2-1 --no-compiled
  inalu benchmark engine --json > engine.json

The whole takes about ten minutes, most of it the compilation of the stacked rival. Timings need an idle machine."""


def _widths(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[Any, ...]:
    """2-1 → (2, 1)."""
    try:
        networks = tuple(tuple(int(width) for width in value.split("-")) for value in values)
    except ValueError:
        raise click.BadParameter("must be widths such as 100-2-1.") from None
    if not all(
        len(widths) > 1 and min(widths) > 0 and widths[0] > 1 and widths[-1] == 1 for widths in networks
    ):
        raise click.BadParameter(
            "must begin with two or more inputs and end with one output, as 100-2-1 does."
        )
    return networks


@click.group()
def benchmark() -> None:
    """Time the training backends on this machine."""


@benchmark.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--cell", "cells", multiple=True, metavar="NAME", help="Only this cell; may be given several times."
)
@click.option(
    "--network", "networks", multiple=True, metavar="2-1", callback=_widths,
    help="Only this network; may be given several times.",
)  # fmt: skip
@click.option(
    "--members", type=click.IntRange(1), default=1024, show_default=True, help="Networks in a population."
)
@click.option("--rows", type=click.IntRange(64), default=64_000, show_default=True, help="Training rows.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=0.3, show_default=True,
    help="How long one of several rounds of a timing takes.",
)  # fmt: skip
@click.option("--no-compiled", is_flag=True, help="Leave out the compiled stacked population.")
@click.option("--no-scaling", is_flag=True, help="Leave out the cost against members, inputs and cores.")
def engine(
    as_json: bool, cells: tuple[str, ...], networks: tuple[tuple[int, ...], ...], members: int, rows: int,
    seconds: float, no_compiled: bool, no_scaling: bool,
) -> int:  # fmt: skip
    """Time one training step of the cpu backend beside PyTorch, stacked and JAX.

    Nothing is timed before the backends have agreed with the reference.
    """
    from inalu.engine.benchmark import measure, render
    from inalu.engine.benchmark.cases import CELLS, WIDTHS
    from inalu.engine.benchmark.run import Scope, disagreements
    from inalu.errors import check_choice

    for cell in cells:
        check_choice("--cell", cell, CELLS)
    scope = Scope(
        cells=cells or CELLS, widths=networks or WIDTHS, members=members, rows=rows, seconds=seconds,
        compiled=not no_compiled, scaling=not no_scaling,
    )  # fmt: skip

    def say(text: str) -> None:
        click.echo(f"… {text}", err=True)

    say("whether the backends agree with the reference")
    wrong = disagreements()
    for sentence in wrong:
        click.echo(sentence, err=True)
    if wrong:
        click.echo("The backends do not agree with the reference, so no speed is told.", err=True)
        return 1
    figures = measure(scope, say)
    click.echo(json.dumps(figures, indent=2) if as_json else render(figures))
    return 0
