"""The claims of the text, one by one, as data: where each stands, and how runs are asked whether it holds.

A claim is measured the same way on our runs and on the published ones. It is judged only when every setting
it speaks of has as many runs as in the paper; before that, and where it is no matter of runs at all, it
cannot be told. "All" means every run, "almost all" nine in ten, and a number of the text holds within a
factor of 10, since the errors that it averages span more than that; a claim to be precise holds for smaller
errors, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from inalu.experiments import evidence
from inalu.experiments.claims.experiments import CLAIMS as _OF_EXPERIMENTS
from inalu.experiments.claims.method import CLAIMS as _OF_THE_METHOD
from inalu.experiments.claims.model import Claim as Claim
from inalu.experiments.claims.model import Finding as Finding
from inalu.experiments.claims.model import figure
from inalu.experiments.evidence import Evidence
from inalu.experiments.record import Entry
from inalu.experiments.summary import JudgedClaim

CLAIMS: tuple[Claim, ...] = (*_OF_EXPERIMENTS, *_OF_THE_METHOD)


def judge(
    experiment: str, entries: Mapping[str, Sequence[Entry]], measures: Mapping[str, Mapping[str, Any]]
) -> tuple[JudgedClaim, ...]:
    """Judge the claims that belong to an experiment, with the runs of all experiments at hand."""
    mine, single = (evidence.ours(entries, measures, single=single) for single in (False, True))
    theirs = _published()
    judged = []
    for claim in CLAIMS:
        if claim.experiment != experiment:
            continue
        told = all(mine.enough(name, repetitions) for name, repetitions in claim.needs)
        found = _both_precisions(claim, mine, single) if told else Finding(None, None)
        known = claim.needs and all(name in theirs.outcomes for name, _ in claim.needs)
        files = claim.measure(theirs) if known else Finding(None, None)
        judged.append(
            JudgedClaim(
                claim.experiment, claim.text, claim.line, *found, _both(claim.stated, files.shown),
                files.holds,
            )
        )  # fmt: skip
    return tuple(judged)


def _both_precisions(claim: Claim, mine: Evidence, single: Evidence) -> Finding:
    """Judge in float64, and say so where the verdict in float32, as the authors saw it, is another."""
    found, again = claim.measure(mine), claim.measure(single)
    if again.holds is found.holds:
        return found
    verdict = "holds" if again.holds else "does not hold"
    return Finding(found.holds, f"{_text(found.shown)}; in float32 it {verdict}: {_text(again.shown)}")


@cache
def _published() -> Evidence:
    return evidence.published()


def _both(stated: str | None, files: float | str | None) -> float | str | None:
    if stated is None or files is None:
        return files if stated is None else stated
    return f"text: {stated}; published runs: {_text(files)}"


def _text(shown: float | str | None) -> str:
    return figure(shown) if isinstance(shown, float) else str(shown)
