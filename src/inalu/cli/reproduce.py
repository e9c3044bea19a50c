"""``inalu reproduce``: the paper's experiments, run and set beside the published runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from inalu.engine.cells import CELLS
from inalu.engine.train import BACKENDS
from inalu.errors import InvalidArgument, MissingExtra, check_choice
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.catalog.model import parse_seeds, split_list
from inalu.experiments.store import DEFAULT
from inalu.experiments.summary import Reproduction

_WIDTH = max(map(len, EXPERIMENTS))
EPILOG = (
    "\b\nExperiments:\n"
    + "\n".join(f"  {name:<{_WIDTH}}  {e.title}" for name, e in EXPERIMENTS.items())
    + f"\n  {'all':<{_WIDTH}}  all of these but departures-*, which run only by name\n\n"
    + """\b
Examples:
  inalu reproduce exp1
  inalu reproduce exp2 --recipe AUTHORS_CODE --operations div
  inalu reproduce exp1 --all-distributions --seeds 100-299 --json > exp1.json
  inalu reproduce all --output page

LIST is separated by commas. Every run is stored as it ends; the same command again does only what is missing.
The seeds of the paper are 100 to 109, and 100 to 119 in experiment 3."""
)


@click.command(epilog=EPILOG)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--recipe",
    default="PAPER",
    show_default=True,
    metavar="NAME",
    help=f"How networks are trained: {', '.join(treatments())}.",
)
@click.option("--models", metavar="LIST", help=f"Only these cells, of {', '.join(CELLS)}.")
@click.option(
    "--operations", metavar="LIST", help="Only these, of add, sub, mul, div; also identity, square, sqrt."
)
@click.option(
    "--distributions", metavar="LIST", help="Only these training distributions, such as U(-1,1),E(0.2)."
)
@click.option("--all-distributions", is_flag=True, help="Also those that were planned and not published.")
@click.option("--seeds", metavar="LIST", help="Such as 100-109 or 100,105. [default: the experiment's]")
@click.option(
    "--backend",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"What trains: auto, {', '.join(BACKENDS)}.",
)
@click.option("--threads", type=click.IntRange(1), help="Threads. [default: all cores]")
@click.option("--data", metavar="FOLDER", help="Where the IDX files of MNIST lie, for mnist.")
@click.option(
    "--store",
    default=DEFAULT,
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where runs are kept.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Also write the report's page there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes.")
def reproduce(
    names: tuple[str, ...],
    recipe: str,
    models: str | None,
    operations: str | None,
    distributions: str | None,
    all_distributions: bool,
    seeds: str | None,
    backend: str,
    threads: int | None,
    data: str | None,
    store: Path,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:  # fmt: skip
    """Run experiments of the paper, NAME or several, and show them beside the authors' own runs."""
    check_choice("--recipe", recipe, treatments())
    check_choice("--backend", backend, ("auto", *BACKENDS))
    selection = Selection(
        models=_items("--models", models),
        operations=_items("--operations", operations),
        distributions=_items("--distributions", distributions),
        all_distributions=all_distributions,
        seeds=None if seeds is None else parse_seeds(seeds),
        folder=data,
    )

    def note(sentence: str) -> None:
        if not quiet:
            click.echo(sentence, err=True)

    answer = _run(names, recipe, selection, store, backend, threads, note=note, quiet=quiet)
    if as_json:
        click.echo(json.dumps(answer.to_json(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from inalu.cli.reproduction import show

        show(answer, store)
    if output is not None:
        _write_page(store, output, recipe, note=lambda sentence: click.echo(sentence, err=True))
    return 0


def _items(option: str, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    items = split_list(text)
    if not items:
        raise InvalidArgument(f"{option} must name at least one; got {text!r}.")
    return tuple(dict.fromkeys(items))


def _run(
    names: tuple[str, ...],
    recipe: str,
    selection: Selection,
    store: Path,
    backend: str,
    threads: int | None,
    *,
    note: Callable[[str], None],
    quiet: bool,
) -> Reproduction:
    from inalu.experiments.run import Options
    from inalu.experiments.run import reproduce as run
    from inalu.progress import Progress

    bars: dict[str, Progress] = {}

    def progress(experiment: str, done: int, total: int, share: float) -> None:
        if experiment not in bars:
            for bar in bars.values():
                bar.clear()
            bars[experiment] = Progress(experiment, total=total, unit="runs", done=done, quiet=quiet)
        bars[experiment].update(done, share)

    options = Options(backend=backend, threads=threads, progress=progress, note=note)
    try:
        return run(names, treatments()[recipe], selection, store=store, options=options)
    except KeyboardInterrupt:
        note(f"\nWhat had ended is kept in {str(store)!r}; the same command goes on from there.")
        raise
    finally:
        for bar in bars.values():
            bar.clear()


def _write_page(store: Path, folder: Path, recipe: str, *, note: Callable[[str], None]) -> None:
    """Write the report's page, where what it needs is installed."""
    try:
        from inalu.report import write_report
    except MissingExtra as error:
        note(f"The page was not written: {error}")
        return
    note(f"The page is {write_report(store, folder, recipe=recipe)}.")
