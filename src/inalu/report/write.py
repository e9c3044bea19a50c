"""Make the page, the drawings and the CSV from a store, and put them into a folder."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

from inalu.errors import InvalidData, require_extra
from inalu.experiments.catalog import EXPERIMENTS
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.record import Setting
from inalu.experiments.summary import ExperimentSummary
from inalu.page import page
from inalu.report import svg
from inalu.report.closed import closed_forms
from inalu.report.figures import draw
from inalu.report.material import Material, gather, is_search
from inalu.report.sections import DRAWINGS, RECORDS, Drawn, sections
from inalu.report.words import FIGURES

PAGE = "report.html"
TITLE = "iNALU, reproduced"


@dataclass(frozen=True)
class Written:
    """What was written where."""

    page: Path
    drawings: tuple[Path, ...]
    records: Path


def write_report(
    store: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    recipe: str | None = None,
    backend: str | None = None,
    algorithm: int | None = None,
) -> Path:
    """Write the page of a store into a folder, with its drawings and records beside it, and return its path.

    Parameters
    ----------
    store
        The results store.
    output
        The folder; it is made when there is none.
    recipe, backend, algorithm
        See `inalu.report.gather`.

    Raises
    ------
    MissingExtra
        Without matplotlib.
    StoreError, InvalidArgument
        See `inalu.report.gather`.
    InvalidData
        When the folder cannot be written.
    """
    require_extra("matplotlib", "report")
    material = gather(store, recipe=recipe, backend=backend, algorithm=algorithm)
    return write(material, output).page


def write(material: Material, output: str | os.PathLike[str]) -> Written:
    """Write a page from what `gather` read.

    Raises
    ------
    MissingExtra, InvalidData
        See `write_report`.
    """
    require_extra("matplotlib", "report")
    drawn = _drawn(material)
    lead = (
        "Every experiment, table, figure and claim of the paper that this store holds runs of, beside the "
        f"runs that its authors published: {material.runs:,} runs under the recipe {material.recipe}."
    )
    text = page(TITLE, sections(material, drawn), lead=lead)
    folder = Path(output)
    pictures = [p for found in drawn.pictures.values() for p in found]
    drawings = tuple(folder / DRAWINGS / f"{p.name}.svg" for p in pictures)
    try:
        (folder / DRAWINGS).mkdir(parents=True, exist_ok=True)
        for path, picture in zip(drawings, pictures, strict=True):
            path.write_text(svg.standalone(picture.svg), encoding="utf-8")
        with (folder / RECORDS).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(material.columns)
            writer.writerows(material.records)
        (folder / PAGE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidData(f"the report cannot be written to {str(folder)!r}: {error.strerror}.") from None
    return Written(folder / PAGE, drawings, folder / RECORDS)


def _drawn(material: Material) -> Drawn:
    pictures = {}
    for summary in material.experiments:
        if summary.experiment in FIGURES:
            experiment = EXPERIMENTS[summary.experiment]
            trains = [r.train for r in (*experiment.ranges.value, *experiment.planned.value)]
            pictures[summary.experiment] = draw(summary, experiment.models.value, trains)
    main = list(material.experiments) if is_search(material.recipe) else []
    searches = [s for name, found in material.others if is_search(name) for s in found]
    if not (searches or main):
        return Drawn(pictures)
    closed = closed_forms(_settings(searches + main))
    return Drawn(pictures, closed, closed if main else None)


def _settings(summaries: list[ExperimentSummary]) -> list[Setting]:
    return list(dict.fromkeys(e.setting for s in summaries if s.experiment in PUBLISHED for e in s.entries))
