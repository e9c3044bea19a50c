"""The claims on experiments 1 to 4."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from inalu.experiments.claims.model import (
    ALMOST_ALL,
    OPERATIONS,
    SIGNS,
    Claim,
    Finding,
    counts,
    mean_of,
)
from inalu.experiments.evidence import INALU, NALU, Evidence, Outcome, count_text, share
from inalu.experiments.published import CODE
from inalu.experiments.record import Setting
from inalu.experiments.statistics import fisher


def _beat(name: str, operations: Sequence[str]) -> Callable[[Evidence], Finding]:
    """Both iNALUs, with shared and with independent weights, solve more runs than the NALU, on each operation."""

    def measure(e: Evidence) -> Finding:
        texts, holds = [], True
        for operation in operations:
            old = e.of(name, models=NALU[:1], operation=operation)
            new = [e.of(name, models=(model,), operation=operation) for model in INALU]
            holds &= all(share(runs) > share(old) for runs in new)
            counts = " and ".join(count_text(runs) for runs in new)
            texts.append(f"{SIGNS[operation]} {counts} against {count_text(old)}")
        return Finding(holds, "; ".join(texts))

    return measure


def _other_than(*trains: str) -> Callable[[Setting], bool]:
    return lambda setting: setting.train not in trains


def _sums(e: Evidence) -> Finding:
    runs = {o: e.of("exp1", models=INALU, operation=o, where=_other_than("E(0.2)")) for o in ("add", "sub")}
    holds = share(runs["add"]) == 1 and share(runs["sub"]) >= ALMOST_ALL
    return Finding(holds, counts(runs.__getitem__, ("add", "sub")))


def _independent_products(e: Evidence) -> Finding:
    best = e.of("exp1", models=("inalu-independent",), operation="mul")
    others = [e.of("exp1", models=(m,), operation="mul") for m in ("inalu-shared", "nalu-matrix")]
    usual = [run for run in best if _other_than("E(0.2)", "N(-4,2)")(run.setting)]
    rest = [run for run in best if not _other_than("E(0.2)", "N(-4,2)")(run.setting)]
    holds = all(share(best) > share(o) for o in others) and share(usual) >= ALMOST_ALL > share(rest)
    return Finding(holds, f"{count_text(usual)}; on E(0.2) and N(-4,2) {count_text(rest)}")


def _division_is_worst(name: str) -> Callable[[Evidence], Finding]:
    def measure(e: Evidence) -> Finding:
        holds = all(
            share(e.of(name, models=(model,), operation="div"))
            < min(share(e.of(name, models=(model,), operation=o)) for o in OPERATIONS[:3])
            for model in INALU
        )
        return Finding(holds, counts(lambda o: e.of(name, models=INALU, operation=o)))

    return measure


def _no_setting_of_nalu(e: Evidence) -> Finding:
    groups: dict[Setting, list[Outcome]] = {}
    for run in e.of("exp1", models=NALU[:1]):
        groups.setdefault(run.setting, []).append(run)
    good = sum(share(runs) >= 0.5 for runs in groups.values())
    return Finding(good == 0, f"{good} of {len(groups)} settings have half of their runs solved")


def _restarts(e: Evidence) -> Finding:
    runs = e.of("exp1", models=INALU)
    after = sorted({run.restarts for run in runs if run.solved and run.restarts})
    shown = f"solved after {', '.join(map(str, after))}" if after else "none solved after a restart"
    return Finding(bool(after) and max(after) <= 6, shown)


def _failed_after_nine(e: Evidence) -> Finding:
    failed = sum(run.restarts == 9 and not run.solved for run in e.of("exp1", models=INALU))
    return Finding(failed > 0, f"{failed} runs")


def _exponential_improves(e: Evidence) -> Finding:
    def runs(name: str, operation: str) -> list[Outcome]:
        return e.of(name, models=NALU[:1], operation=operation, where=lambda s: s.train.startswith("E"))

    operations = ("add", "mul")
    holds = all(share(runs("exp2", o)) > share(runs("exp1", o)) for o in operations)
    texts = [f"{SIGNS[o]} {count_text(runs('exp1', o))} → {count_text(runs('exp2', o))}" for o in operations]
    return Finding(holds, ", ".join(texts))


def _depends_on_inputs(e: Evidence) -> Finding:
    """On some operation the NALU solves almost all runs of one distribution and none of another."""
    texts = []
    for operation in OPERATIONS:
        groups: dict[str, list[Outcome]] = {}
        for run in e.of("exp1", models=NALU[:1], operation=operation):
            groups.setdefault(run.setting.train, []).append(run)
        best = max(groups, key=lambda train: share(groups[train]))
        worst = min(groups, key=lambda train: share(groups[train]))
        if share(groups[best]) >= ALMOST_ALL and share(groups[worst]) == 0:
            texts.append(
                f"{SIGNS[operation]} {best} {count_text(groups[best])}, {worst} {count_text(groups[worst])}"
            )
    return Finding(bool(texts), "; ".join(texts) or "no operation")


def _unstable(
    name: str, models: Sequence[str], operations: Sequence[str], family: str = ""
) -> Callable[[Evidence], Finding]:
    """On each operation some runs succeed and others fail."""

    def measure(e: Evidence) -> Finding:
        def runs(operation: str) -> list[Outcome]:
            return e.of(name, models=models, operation=operation, where=lambda s: s.train.startswith(family))

        return Finding(all(0 < share(runs(o)) < 1 for o in operations), counts(runs, operations))

    return measure


def _exponential_products(e: Evidence) -> Finding:
    before, after = (
        e.of(name, models=INALU, operation="mul", where=lambda s: s.train == "E(0.2)")
        for name in ("exp1", "exp2")
    )
    return Finding(share(after) > share(before), f"{count_text(before)} → {count_text(after)}")


def _all_solved(
    name: str, operation: str, train: str | None, models: Sequence[str]
) -> Callable[[Evidence], Finding]:
    def measure(e: Evidence) -> Finding:
        runs = e.of(name, models=models, operation=operation, where=lambda s: train in (None, s.train))
        return Finding(share(runs) == 1, count_text(runs))

    return measure


def _none_solved(
    name: str, operation: str | None, models: Sequence[str] | None
) -> Callable[[Evidence], Finding]:
    def measure(e: Evidence) -> Finding:
        runs = e.of(name, models=models, operation=operation)
        return Finding(share(runs) == 0, count_text(runs))

    return measure


def _few_divisions(e: Evidence) -> Finding:
    runs = e.of("exp2", models=INALU, operation="div")
    solved = sum(CODE.solved(run.outside) for run in runs)
    # 9 of 140 are the text's 6.4%.
    return Finding(fisher((solved, len(runs)), (9, 140)) >= 0.05, f"{solved / max(len(runs), 1):.1%}")


def _subtraction(e: Evidence) -> Finding:
    shared, independent = (e.of("exp2", models=(m,), operation="sub") for m in INALU)
    holds = share(independent) >= ALMOST_ALL and share(shared) < share(independent)
    return Finding(holds, f"shared {count_text(shared)}, independent {count_text(independent)}")


def _triples(e: Evidence, operation: str) -> dict[tuple[float, float, float], list[Outcome]]:
    groups: dict[tuple[float, float, float], list[Outcome]] = {}
    for run in e.of("exp3", operation=operation):
        if run.setting.initialisation is not None:
            groups.setdefault(run.setting.initialisation.means, []).append(run)
    return groups


def _stable_triples(e: Evidence) -> Finding:
    found = {o: sum(share(r) == 1 for r in _triples(e, o).values()) for o in OPERATIONS[:3]}
    shown = ", ".join(f"{SIGNS[o]} {n} of 27" for o, n in found.items())
    return Finding(all(found.values()), f"triples that always solve: {shown}")


def _best_triple(e: Evidence) -> Finding:
    solved: dict[tuple[float, float, float], float] = {}
    for operation in OPERATIONS[:3]:
        for means, runs in _triples(e, operation).items():
            solved[means] = solved.get(means, 0.0) + share(runs) / 3
    paper = (0.0, -1.0, 1.0)
    best = max(solved, key=solved.__getitem__)
    rank = sorted(solved.values(), reverse=True).index(solved.get(paper, 0.0)) + 1
    text = ", ".join(f"{mean:g}" for mean in best)
    shown = f"best ({text}) {solved[best]:.0%}; (0, -1, 1) {solved.get(paper, 0.0):.0%}, rank {rank}"
    return Finding(rank == 1, shown)


def _deviations_alike(e: Evidence) -> Finding:
    def of(std: float) -> tuple[int, int]:
        runs = [r for r in e.of("exp3") if r.setting.initialisation and r.setting.initialisation.std == std]
        return sum(run.solved for run in runs), len(runs)

    small, large = of(0.1), of(0.5)
    shown = f"σ = 0.1: {small[0]} of {small[1]}; σ = 0.5: {large[0]} of {large[1]}"
    return Finding(fisher(small, large) >= 0.05, shown)


def _most_promising(e: Evidence) -> Finding:
    operations = OPERATIONS[:3]
    runs = [r for o in operations for r in e.of("exp4", models=("inalu-independent",), operation=o)]
    shown = counts(lambda o: e.of("exp4", models=("inalu-independent",), operation=o), operations)
    return Finding(share(runs) >= ALMOST_ALL, shown)


def _inside_is_better(e: Evidence) -> Finding:
    groups: dict[Setting, list[Outcome]] = {}
    for name in ("exp1", "exp2", "exp4"):
        for run in e.of(name, models=INALU):
            groups.setdefault(run.setting, []).append(run)
    better = sum(
        statistics.median(r.inside for r in runs) <= statistics.median(r.outside for r in runs)
        for runs in groups.values()
    )
    return Finding(better >= ALMOST_ALL * len(groups), f"{better} of {len(groups)} settings")


def _sum_error(where: str) -> Callable[[Evidence], Finding]:
    stated = 6.14e-15 if where == "inside" else 5.45e-13

    def measure(e: Evidence) -> Finding:
        runs = e.of("exp1", models=("inalu-independent",), operation="add")
        return mean_of(stated, [getattr(run, where) for run in runs], at_most=True)

    return measure


_EXP1, _EXP2, _EXP3, _EXP4 = (("exp1", 10),), (("exp2", 10),), (("exp3", 20),), (("exp4", 10),)

CLAIMS: tuple[Claim, ...] = (
    Claim("exp1", "iNALU does better than NALU on all operations", 413, _beat("exp1", OPERATIONS), _EXP1),
    Claim("exp1", "but for E(0.2) all iNALUs learn to add and almost all to subtract", 413, _sums, _EXP1),
    Claim(
        "exp1",
        "multiplication: independent weights are best, and precise but for E(0.2) and N(-4,2)",
        413,
        _independent_products,
        _EXP1,
    ),
    Claim("exp1", "all models do worse on division", 413, _division_is_worst("exp1"), _EXP1),
    Claim("exp1", "no setting leads NALU to acceptable errors", 414, _no_setting_of_nalu, _EXP1),
    Claim(
        "exp1",
        "NALU's average extrapolation error",
        414,
        lambda e: mean_of(4.36e4, [r.outside for r in e.of("exp1", models=NALU)]),
        _EXP1,
        "4.36e4",
    ),
    Claim(
        "exp1", "some runs are solved after one to six reinitialisations", 415, _restarts, _EXP1, "one to six"
    ),
    Claim("exp1", "others fail after nine reinitialisations", 415, _failed_after_nine, _EXP1),
    Claim(
        "exp1",
        "subtraction and division are unstable: some iNALUs solve them, others do not",
        435,
        _unstable("exp1", INALU, ("sub", "div")),
        _EXP1,
    ),
    Claim(
        "exp1",
        "the NALU depends heavily on the distribution of the inputs",
        523,
        _depends_on_inputs,
        _EXP1,
    ),
    Claim(
        "exp1",
        "average interpolation error of sums, independent weights",
        531,
        _sum_error("inside"),
        _EXP1,
        "6.14e-15",
    ),
    Claim(
        "exp1",
        "average extrapolation error of sums, independent weights",
        531,
        _sum_error("outside"),
        _EXP1,
        "5.45e-13",
    ),
    Claim(
        "exp2",
        "NALU improves on exponential inputs in summation and multiplication",
        427,
        _exponential_improves,
        _EXP1 + _EXP2,
    ),
    Claim(
        "exp2",
        "NALU's sums of exponential inputs are unstable: some runs succeed, others fail",
        428,
        _unstable("exp2", NALU[:1], ("add",), "E"),
        _EXP2,
    ),
    Claim("exp2", "iNALU learns to add on E(0.2)", 429, _all_solved("exp2", "add", "E(0.2)", INALU), _EXP2),
    Claim(
        "exp2",
        "iNALU's products on E(0.2) are better than in experiment 1",
        429,
        _exponential_products,
        _EXP1 + _EXP2,
    ),
    Claim("exp2", "share of iNALU divisions with an error < 1e-5", 430, _few_divisions, _EXP2, "6.4%"),
    Claim("exp2", "NALU never learns to divide", 431, _none_solved("exp2", "div", NALU), _EXP2),
    Claim(
        "exp2",
        "subtraction: shared weights are less stable, independent ones stable",
        432,
        _subtraction,
        _EXP2,
    ),
    Claim("exp2", "iNALU does better than NALU on all operations", 526, _beat("exp2", OPERATIONS), _EXP2),
    Claim("exp3", "division is never solved", 447, _none_solved("exp3", "div", None), _EXP3),
    Claim("exp3", "σ = 0.1 and σ = 0.5 give similar results", 447, _deviations_alike, _EXP3),
    Claim("exp3", "the other operations have triples that always solve", 448, _stable_triples, _EXP3),
    Claim("exp3", "(0, -1, 1) is the most stable triple", 449, _best_triple, _EXP3),
    Claim(
        "exp4",
        "iNALU outperforms NALU in sums, differences and products",
        457,
        _beat("exp4", OPERATIONS[:3]),
        _EXP4,
    ),
    Claim(
        "exp4", "independent weights: almost all runs succeed, but for division", 457, _most_promising, _EXP4
    ),
    Claim("exp4", "all models fail to learn division", 457, _none_solved("exp4", "div", None), _EXP4),
    Claim("exp4", "NALU fails on all four operations", 528, _none_solved("exp4", None, NALU), _EXP4),
    Claim(
        "exp4",
        "interpolation is more precise than extrapolation",
        531,
        _inside_is_better,
        _EXP1 + _EXP2 + _EXP4,
    ),
)
