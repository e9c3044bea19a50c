"""The claims on the method: the regulariser, the challenges, clipping."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from inalu.experiments.catalog.challenges import leaky_gate
from inalu.experiments.claims.model import Claim, Finding, figure, near
from inalu.experiments.evidence import Evidence, Outcome, count_text, share
from inalu.experiments.statistics import fisher

Row = dict[str, Any]


def _sigmoid(e: Evidence) -> Finding:
    value = 1 / (1 + math.exp(20))
    return Finding(value < 1e-9, value)


def _stage(stage: str, where: str, stated: float | None = None) -> Callable[[Evidence], Finding]:
    def measure(e: Evidence) -> Finding:
        runs = e.of("regularization", where=lambda s: s.model.endswith(f", {stage}"))
        values = [getattr(run, where) for run in runs]
        middle = statistics.median(values) if values else math.inf
        holds = None if stated is None else near(middle, stated)
        return Finding(holds, middle if math.isfinite(middle) else None)

    return measure


def _regularised_extrapolates(e: Evidence) -> Finding:
    def solved(stage: str) -> list[Outcome]:
        return e.of("regularization", where=lambda s: s.model.endswith(f", {stage}"))

    with_it, without = solved("after 15 epochs"), solved("after 15 epochs, without")
    return Finding(
        share(with_it) > share(without), f"with {count_text(with_it)}, without {count_text(without)}"
    )


def _challenge(
    name: str, measure: Callable[[dict[str, dict[str, Any]]], Finding]
) -> Callable[[Evidence], Finding]:
    """A claim on one challenge, by the model's label."""

    def asked(e: Evidence) -> Finding:
        rows = e.measures.get("challenges", {}).get("challenges", ())
        found = {row["model"]: row for row in rows if row["challenge"] == name}
        return measure(found) if found else Finding(None, None)

    return asked


def _extrapolated(row: dict[str, Any]) -> str:
    return f"{row['solved_extrapolation']} of {row['runs']}"


def _nalu_fails(rows: dict[str, dict[str, Any]]) -> Finding:
    old, new = rows["nalu-matrix"], rows["inalu-independent"]
    holds = old["solved_extrapolation"] == 0 < new["solved_extrapolation"]
    return Finding(holds, f"NALU {_extrapolated(old)}, iNALU {_extrapolated(new)}")


def _shared_suffers(rows: dict[str, dict[str, Any]]) -> Finding:
    shared, own = rows["inalu-shared"], rows["inalu-independent"]
    holds = shared["solved_extrapolation"] < own["solved_extrapolation"]
    return Finding(holds, f"shared {_extrapolated(shared)}, independent {_extrapolated(own)}")


def _neurons(operations: Sequence[str], possible: bool) -> Callable[[Evidence], Finding]:
    def measure(e: Evidence) -> Finding:
        rows = e.measures.get("challenges", {}).get("challenges", ())
        mine = [r for r in rows if r["challenge"] in {f"neurons, {o}" for o in operations}]
        mine = [r for r in mine if r["model"] == "linear neuron" or not possible]
        solved = sum(r["solved_extrapolation"] for r in mine)
        runs = sum(r["runs"] for r in mine)
        return Finding((solved == runs) if possible else solved == 0, f"{solved} of {runs}")

    return measure


def _gates(rows: dict[str, dict[str, Any]]) -> Finding:
    shown = "; ".join(f"{label.split(', ')[1]} {_extrapolated(row)}" for label, row in rows.items())
    constant = rows["inalu-independent, constant gate"]["solved_extrapolation"]
    others = max(row["solved_extrapolation"] for row in rows.values())
    return Finding(others > constant, shown)


def _near_zero(e: Evidence) -> Finding:
    rows = {r["challenge"]: r for r in e.measures.get("challenges", {}).get("challenges", ())}
    near, away = rows["division near zero"], rows["division away from zero"]
    p = fisher((near["solved_extrapolation"], near["runs"]), (away["solved_extrapolation"], away["runs"]))
    holds = away["solved_extrapolation"] > near["solved_extrapolation"] and p < 0.05
    return Finding(holds, f"near {_extrapolated(near)}, away {_extrapolated(away)}")


def _leak(e: Evidence) -> Finding:
    factor = leaky_gate()["factor_at_zero"]
    return Finding(factor >= 10, f"{factor:.4f}")


def _overflow(e: Evidence) -> Finding:
    rows = e.measures.get("stability", {}).get("non_finite", ())
    shares = {
        clipped: sum(r["non_finite"] for r in rows if r["value_clipping"] is clipped and r["layers"] >= 3)
        for clipped in (True, False)
    }
    runs = {
        c: sum(r["runs"] for r in rows if r["value_clipping"] is c and r["layers"] >= 3)
        for c in (True, False)
    }
    holds = shares[True] * runs[False] < shares[False] * runs[True]
    return Finding(holds, f"with {shares[True]} of {runs[True]}, without {shares[False]} of {runs[False]}")


def _accuracy(e: Evidence) -> Finding:
    rows = e.measures.get("mnist", {}).get("accuracies", ())
    found = [r["accuracy"] for r in rows if r["model"].startswith("inalu") and r.get("accuracy") is not None]
    # The paper gives no widths, so that nothing can be told from this.
    return Finding(None, max(found) if found else None)


def _nalu_on_images(e: Evidence) -> Finding:
    rows = e.measures.get("mnist", {}).get("accuracies", ())
    shown = [
        f"seed {r['seed']}: {r['status'].replace('_', ' ')}" for r in rows if r["model"].startswith("nalu")
    ]
    return Finding(None, ", ".join(shown) or None)


_REGULARIZATION = (("regularization", 10),)
_CHALLENGES = (("challenges", 10),)
_STABILITY = (("stability", 10),)

CLAIMS: tuple[Claim, ...] = (
    Claim("regularization", "σ(-20) < 1e-9", 331, _sigmoid, (), "< 1e-9"),
    Claim(
        "regularization",
        "regularised sums extrapolate, others do not",
        340,
        _regularised_extrapolates,
        _REGULARIZATION,
    ),
    *(
        Claim(
            "regularization",
            f"{label}, {place} error",
            340,
            _stage(stage, where, stated),
            _REGULARIZATION,
            figure(stated),
        )
        for stage, label, inside, outside in (
            ("after 10 epochs", "after 10 epochs", 5.95e-4, 4.46e11),
            ("after 15 epochs", "5 epochs later with regularisation", 2.2e-13, 2.2e-11),
            ("after 15 epochs, without", "5 epochs later without", 8.30e-5, 8.76e14),
        )
        for where, place, stated in (
            ("inside", "interpolation", inside),
            ("outside", "extrapolation", outside),
        )
    ),
    Claim(
        "challenges",
        "linear neurons learn to add and subtract",
        133,
        _neurons(("add", "sub"), True),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "neurons do not learn to multiply and divide outside the training range",
        135,
        _neurons(("mul", "div"), False),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "NALU fails on products of mixed signs",
        266,
        _challenge("mixed signs, mul", _nalu_fails),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "NALU fails on negative products",
        266,
        _challenge("negative product", _nalu_fails),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "a·b with a, b < -1: shared weights are forced apart",
        290,
        _challenge("a·b, a and b below -1", _shared_suffers),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "a weight of -1e-5 divides by so small numbers that the result is large: the factor",
        298,
        _leak,
        (),
    ),
    Claim(
        "challenges",
        "a + b beside c: shared weights suffer",
        296,
        _challenge("a + b beside c", _shared_suffers),
        _CHALLENGES,
    ),
    Claim(
        "challenges",
        "where the operation depends on the input, a gate that sees it helps",
        251,
        _challenge("a + b or a·b by the sign of c", _gates),
        _CHALLENGES,
    ),
    Claim("challenges", "division is hard because of divisors near zero", 534, _near_zero, _CHALLENGES),
    Claim("stability", "clipping keeps stacks of three and more layers finite", 310, _overflow, _STABILITY),
    Claim("mnist", "three layers of NALU fail after the first steps", 261, _nalu_on_images, (), "NaN"),
    Claim("mnist", "accuracy with clipping after 64,000 steps", 310, _accuracy, (), "0.94"),
)
