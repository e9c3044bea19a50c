"""How often ROBUST learns the formula: the paper's grids, a final test from a hash, noise, and its parts.

    python benchmarks/robust.py grid [--experiment 1] [--seeds 100-119] [--cell inalu-shared] [--recipe PAPER]
    python benchmarks/robust.py final --hash COMMIT
    python benchmarks/robust.py noise
    python benchmarks/robust.py parts [--seeds 200]
    python benchmarks/robust.py warm [--seeds 200]

A run counts when the network made exact is the target's formula, and the network as returned has at least
99.9% of rows within a relative error of 1e-5 on the interpolation and on the extrapolation set.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inalu import (
    PAPER,
    RECIPES,
    ROBUST,
    ArraySource,
    Network,
    Problem,
    Result,
    Search,
    Task,
    TaskSource,
    parse_task,
    solve,
)
from inalu.engine.closed_form import closed_form
from inalu.engine.plan import Rows
from inalu.engine.recipe import Recipe, Stage
from inalu.engine.search import make_exact
from inalu.layers.laws import LAWS

OPERATIONS = ("add", "sub", "mul", "div")
UNIFORM = ("U(-1,1)", "U(-5,5)", "U(0,1)", "U(-1,0)", "U(0,5)", "U(-5,0)", "U(2,3)", "U(-3,-2)")
NORMAL = ("N(-3,3)", "N(-2,4)", "N(-4,2)", "N(2,8)", "N(-8,-2)")
EXPONENTIAL = ("E(0.2)", "E(0.8)", "E(0.4)", "E(0.6)", "E(1)")
SETTINGS = [
    *((d, "U(-10,-5)") for d in UNIFORM),
    *((d, "N(8,10)") for d in NORMAL),
    *((d, "E(0.5)") for d in EXPONENTIAL),
]
SUMS = [("N(-3,3)", "N(3,4)"), ("U(-3,3)", "U(-5,-3)")]
PAPER_ROWS = 6_400_000


@dataclass(frozen=True)
class Verdict:
    """What became of one run."""

    task: Task
    seed: int
    formula: bool
    soft: bool
    mse: float
    rows: int
    starts: int
    found: str

    @property
    def counts(self) -> bool:
        return self.formula and self.soft


def tasks_of(experiment: int) -> Iterator[Task]:
    inputs = {1: 2, 2: 10, 4: 100}[experiment]
    for train, far in SUMS if experiment == 4 else SETTINGS:
        for operation in OPERATIONS:
            yield parse_task(f"{operation}; inputs={inputs}; {'sums; ' * (experiment == 4)}{train} -> {far}")


def widths_of(task: Task) -> tuple[int, ...]:
    return (task.inputs, 2, 1) if task.sums else (task.inputs, 1)


def verdict(result: Result) -> Verdict:
    """Judge a result on 16,000 rows of each test set, in float64."""
    task, seed = result.member.tag
    formula = result.expression().equals(task.target(seed))
    shares, mse = [], math.nan
    for name in ("interpolation", "extrapolation"):
        data = task.draw_set(seed, name, 16_000)
        y = result.predict(data.x)
        shares.append(float(np.mean(np.abs(y - data.y) <= 1e-5 * np.abs(data.y))))
        mse = float(np.mean((y - data.y) ** 2))
    found = str(result.expression())
    return Verdict(task, seed, formula, min(shares) >= 0.999, mse, result.rows, result.starts, found)


def run(tasks: Sequence[Task], seeds: Sequence[int], recipe: Recipe | Search, cell: str) -> list[Verdict]:
    """Solve every task for every seed, one distribution at a time so that memory stays small."""
    by_x: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_x[f"{task.inputs} {task.train} {task.sums}"].append(task)
    verdicts = []
    for group in by_x.values():
        for part in range(0, len(seeds), 10):
            problems = [
                Problem(network=Network(cell, widths_of(t)), source=TaskSource(t, s), seed=s, tag=(t, s))
                for s in seeds[part : part + 10]
                for t in group
            ]
            verdicts += [verdict(result) for result in solve(problems, recipe)]
    return verdicts


def wilson(solved: int, runs: int) -> tuple[float, float]:
    z, share = 1.959963984540054, solved / runs
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


def show(title: str, verdicts: Sequence[Verdict], *, detail: bool = True) -> None:
    solved = sum(v.counts for v in verdicts)
    low, _ = wilson(solved, len(verdicts))
    rows = np.array([v.rows for v in verdicts]) / PAPER_ROWS
    print(
        f"{title}: {solved} of {len(verdicts)} (95% lower bound {100 * low:.1f}%), of the paper's budget "
        f"{rows.mean():.2f} on average, {rows.max():.2f} at most; "
        f"MSE <= 1e-4 on the extrapolation set: {sum(v.mse <= 1e-4 for v in verdicts)}"
    )
    for v in [v for v in verdicts if not v.counts][: 20 * detail]:
        print(f"    {v.task}, seed {v.seed}: {v.found[:60]}, starts {v.starts}, soft rows right: {v.soft}")
    sys.stdout.flush()


def by_operation(verdicts: Sequence[Verdict]) -> str:
    return "  ".join(
        f"{o} {sum(v.counts for v in verdicts if v.task.operation.name == o)}" for o in OPERATIONS
    )


def final_tasks(digest: str, runs: int) -> Iterator[tuple[Task, int]]:
    """Draw operations, ranges, inputs and seeds from a hash; every fifth task has two layers."""
    seed = int.from_bytes(hashlib.sha256(digest.encode()).digest()[:8], "big")
    rng = np.random.default_rng(seed)
    for n in range(runs):
        kind = rng.choice(["U", "U", "N", "E"])
        train, far = (_ranges(rng, kind), _ranges(rng, kind))
        operation = OPERATIONS[n % 4]
        if n % 5 == 4:
            inputs, sums = int(rng.integers(20, 101)), "sums; "
        else:
            inputs, sums = int(rng.integers(2, 21)), ""
        yield parse_task(f"{operation}; inputs={inputs}; {sums}{train} -> {far}"), int(rng.integers(10**6))


def _ranges(rng: np.random.Generator, kind: str) -> str:
    if kind == "E":
        return f"E({float(f'{10 ** rng.uniform(-1, 1):.2g}'):g})"
    low = float(f"{rng.uniform(-10, 8):.2g}")
    width = float(f"{10 ** rng.uniform(-0.3, 1.2):.2g}")
    return f"{kind}({low:g},{round(low + width, 6):g})"


def final(digest: str, runs: int) -> None:
    verdicts = []
    for n, (task, seed) in enumerate(final_tasks(digest, runs)):
        verdicts += run([task], [seed], ROBUST, "inalu-independent")
        if n % 50 == 49:
            print(
                f"    {n + 1} of {runs}: {sum(v.counts for v in verdicts)} right", file=sys.stderr, flush=True
            )
    show(f"final test from {digest}, all", verdicts)
    show("    one layer", [v for v in verdicts if not v.task.sums], detail=False)
    show("    two layers", [v for v in verdicts if v.task.sums], detail=False)


def noisy(task: Task, seed: int, rows: int, noise: float, outliers: float) -> ArraySource:
    """Noise in shares of the target's spread (interquartile range / 1.349), gross errors of ten spreads."""
    x, clean = TaskSource(task, seed, rows).load()
    rng = np.random.default_rng([seed, rows])
    low, high = np.quantile(clean, [0.25, 0.75])
    spread = (high - low) / 1.349
    y = clean + noise * spread * rng.normal(size=clean.shape)
    hit = rng.random(len(y)) < outliers
    y[hit] += 10 * spread * rng.normal(size=(hit.sum(), 1))
    return ArraySource(x, y, str(task))


def noise(seeds: Sequence[int]) -> None:
    print("formula right, of runs; 18 distributions, four operations, one layer")
    print("| noise | gross errors | rows | irrelevant inputs | right | of | add sub mul div |")
    for rows in (500, 5000):
        for extra in (0, 8, 50):
            for level, wild in ((0.0, 0.0), (0.01, 0.0), (0.05, 0.0), (0.0, 0.02), (0.0, 0.2)):
                right: dict[str, int] = defaultdict(int)
                problems = []
                for train, far in SETTINGS:
                    for operation in OPERATIONS:
                        task = parse_task(f"{operation}; inputs={2 + extra}; {train} -> {far}")
                        network = Network("inalu-independent", widths_of(task))
                        for seed in seeds:
                            source = noisy(task, seed, rows, level, wild)
                            problems.append(
                                Problem(network=network, source=source, seed=seed, tag=(task, seed))
                            )
                for result in solve(problems, ROBUST):
                    task, seed = result.member.tag
                    right[task.operation.name] += result.expression().equals(task.target(seed))
                each = " ".join(str(right[o]) for o in OPERATIONS)
                all_right = sum(right.values())
                print(
                    f"| {level:g} | {wild:g} | {rows} | {extra} | {all_right} | {len(problems)} | {each} |",
                    flush=True,
                )


def variants() -> dict[str, Recipe | Search]:
    """PAPER plus one part at a time, ROBUST minus one part at a time, and single starts."""
    paths, sampson = ROBUST.one_layer[0].recipe, ROBUST.deeper[0].recipe
    last = ROBUST.deeper[1]

    def only(name: str, recipe: Recipe, **search: object) -> Search:
        one = Stage(recipe=recipe, rows=640_000)
        again = Stage(recipe=recipe.but(law=LAWS["signs"]), rows=320_000, starts=4, draw="last")
        return Search(name=name, one_layer=(one,) * 9, deeper=(one, again, again, again, again) * 2)

    def single(name: str, one: Recipe, two: Recipe) -> Search:
        return Search(
            name=name, one_layer=(Stage(recipe=one, rows=640_000),), deeper=(Stage(recipe=two, rows=640_000),)
        )

    short = PAPER.but(reinitialization=None, regularization=None)
    return {
        "PAPER": PAPER,
        "PAPER, loss scaled": PAPER.but(loss="scaled"),
        "PAPER, loss sampson": PAPER.but(loss="sampson"),
        "PAPER, loss paths": PAPER.but(loss="paths"),
        "PAPER, rate and decay of ROBUST": PAPER.but(optimizer=paths.optimizer, decay=paths.decay),
        "PAPER, nine starts of ten epochs": only("starts", short),
        "ROBUST, first start alone": single("single", paths, sampson),
        "ROBUST, loss scaled": only("scaled", paths.but(loss="scaled")),
        "ROBUST, losses swapped": only("swapped", paths.but(loss="sampson")),
        "ROBUST, constant rate": replace(
            ROBUST,
            one_layer=tuple(replace(s, recipe=s.recipe.but(decay=None)) for s in ROBUST.one_layer),
            deeper=tuple(replace(s, recipe=s.recipe.but(decay=None)) for s in ROBUST.deeper[:10]),
        ),
        "ROBUST, no last layers drawn anew": replace(
            ROBUST, deeper=tuple(replace(s, starts=1, draw="all") for s in ROBUST.deeper[:10])
        ),
        "ROBUST, last layers drawn from the paper's law": replace(
            ROBUST,
            deeper=tuple(
                replace(s, recipe=s.recipe.but(law=LAWS["paper"])) if s.draw == last.draw else s
                for s in ROBUST.deeper[:10]
            ),
        ),
        "ROBUST, one round of redraws": replace(ROBUST, deeper=ROBUST.deeper[:5]),
        "ROBUST": ROBUST,
    }


def parts(one: int, two: int) -> None:
    """Right answers per operation, of ``one`` runs (10 inputs) and ``two`` (two layers, 40 inputs)."""
    shallow = [parse_task(f"{o}; inputs=10; N(-4,2) -> N(8,10)") for o in OPERATIONS]
    deep = [parse_task(f"{o}; inputs=40; sums; N(-3,3) -> N(3,4)") for o in OPERATIONS]
    for name, recipe in variants().items():
        began = time.perf_counter()
        first = run(shallow, range(5000, 5000 + one), recipe, "inalu-independent")
        second = run(deep, range(5000, 5000 + two), recipe, "inalu-independent")
        seconds = time.perf_counter() - began
        print(f"| {name} | {by_operation(first)} | {by_operation(second)} | {seconds:.0f} s |", flush=True)


def warm(count: int) -> None:
    """The closed form alone, WARM and ROBUST, beside each other."""
    for task in (t for e in (1, 2) for t in tasks_of(e) if str(t.train) in ("U(-1,1)", "N(-4,2)", "E(0.2)")):
        network = Network("inalu-independent", widths_of(task))
        alone = 0
        for seed in range(6000, 6000 + count):
            rows = TaskSource(task, seed, 8192).load()
            exact = make_exact(network, closed_form(network, rows), Rows(*rows))
            alone += exact.error <= 1e-12
        robust = sum(v.counts for v in run([task], range(6000, 6000 + count), ROBUST, network.cell))
        trained = sum(v.counts for v in run([task], range(6000, 6000 + count), RECIPES["WARM"], network.cell))
        print(f"| {task} | closed form {alone} | WARM {trained} | ROBUST {robust} | of {count} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["grid", "final", "noise", "parts", "warm"])
    parser.add_argument("--experiment", type=int, choices=[1, 2, 4], action="append")
    parser.add_argument("--seeds", default="100-119", help="first-last, or a count")
    parser.add_argument("--two", type=int, default=50, help="seeds of two-layer tasks in `parts`")
    parser.add_argument("--cell", default="inalu-independent")
    parser.add_argument("--recipe", default="ROBUST", choices=sorted(RECIPES))
    parser.add_argument("--hash", help="the commit that froze the recipe")
    parser.add_argument("--runs", type=int, default=800)
    arguments = parser.parse_args()
    low, _, high = arguments.seeds.partition("-")
    seeds = range(int(low), int(high) + 1) if high else range(int(low))
    if arguments.what == "grid":
        for experiment in arguments.experiment or [1, 2, 4]:
            verdicts = run(list(tasks_of(experiment)), seeds, RECIPES[arguments.recipe], arguments.cell)
            show(f"experiment {experiment}, {arguments.cell}, {arguments.recipe}", verdicts)
            print("    " + by_operation(verdicts), flush=True)
    elif arguments.what == "final":
        if not arguments.hash:
            parser.error("--hash must be given: the commit that froze the recipe")
        final(arguments.hash, arguments.runs)
    elif arguments.what == "noise":
        noise(seeds)
    elif arguments.what == "parts":
        parts(len(seeds), arguments.two)
    else:
        warm(len(seeds))


if __name__ == "__main__":
    main()
