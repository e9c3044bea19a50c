"""How often ROBUST learns the formula.

    python -m benchmarks.robust grid [--experiment 1] [--seeds 100-119] [--cell inalu-shared] [--recipe PAPER]
    python -m benchmarks.robust worst [--seeds 300]        every setting of experiment 2, the worst one named
    python -m benchmarks.robust final --hash COMMIT        drawn from the commit that froze the recipe; run once
    python -m benchmarks.robust noise [--seeds 5]
    python -m benchmarks.robust parts [--seeds 200] [--two 50]
    python -m benchmarks.robust warm [--seeds 200] [--two 50]
    python -m benchmarks.robust triples [--seeds 5] [--cell inalu-shared]
    python -m benchmarks.robust depth [--seeds 20] [--hash COMMIT]
    python -m benchmarks.robust images [--seeds 10]        needs torch and scikit-learn

A run counts when the network made exact is the target's formula, and the network as returned has at least
99.9% of rows within a relative error of 1e-5 on the interpolation and on the extrapolation set.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.robust.judging import by_operation, grid, run, show, wilson
from benchmarks.robust.tasks import final_tasks, tasks_of

from inalu import RECIPES, ROBUST


def _grid(arguments: argparse.Namespace, seeds: range) -> None:
    for experiment in arguments.experiment or [1, 2, 4]:
        verdicts = run(grid(list(tasks_of(experiment)), seeds), RECIPES[arguments.recipe], arguments.cell)
        show(f"experiment {experiment}, {arguments.cell}, {arguments.recipe}", verdicts)
        print("    " + by_operation(verdicts), flush=True)


def _worst(arguments: argparse.Namespace, seeds: range) -> None:
    for experiment in arguments.experiment or [1, 2, 4]:
        verdicts = run(grid(list(tasks_of(experiment)), seeds), ROBUST, arguments.cell)
        solved = {
            str(task): sum(v.counts for v in verdicts if v.task == task) for task in tasks_of(experiment)
        }
        worst = min(solved, key=lambda text: solved[text])
        low, _ = wilson(solved[worst], len(seeds))
        below = sum(count < len(seeds) for count in solved.values())
        print(
            f"experiment {experiment}, {arguments.cell}: worst of {len(solved)} settings is {worst} with "
            f"{solved[worst]} of {len(seeds)} (95% lower bound {100 * low:.1f}%); "
            f"{below} settings miss a run, {sum(solved.values())} of {len(verdicts)} in all"
        )
        show("    all of them", verdicts)


def _final(arguments: argparse.Namespace, seeds: range) -> None:
    drawn = list(final_tasks(arguments.hash, arguments.runs))
    for sums, name in ((False, "one layer"), (True, "two layers")):
        if arguments.only is not None and arguments.only not in name:
            continue
        verdicts = run([(t, s) for t, s in drawn if t.sums == sums], ROBUST, "inalu-independent")
        show(f"final test from {arguments.hash}, {name}", verdicts)
        print("    " + by_operation(verdicts), flush=True)


def _noise(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.noise import noise

    noise(seeds)


def _parts(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.parts import parts

    parts(len(seeds), arguments.two, arguments.only)


def _warm(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.starts import starts

    starts(len(seeds), arguments.two)


def _triples(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.triples import triples

    triples(seeds, arguments.cell)


def _depth(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.depth import depth

    depth(arguments.hash, seeds)


def _images(arguments: argparse.Namespace, seeds: range) -> None:
    from benchmarks.robust.images import images

    images(seeds, arguments.only)


COMMANDS = {
    "grid": (_grid, "100-119"), "worst": (_worst, "20000-20299"), "final": (_final, "1"), "noise": (_noise, "5"),
    "parts": (_parts, "200"), "warm": (_warm, "200"), "triples": (_triples, "5"), "depth": (_depth, "20"),
    "images": (_images, "10"),
}  # fmt: skip


def main() -> None:
    """Read the command and run it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.robust",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("--experiment", type=int, choices=[1, 2, 4], action="append")
    parser.add_argument("--seeds", help="first-last, or a count")
    parser.add_argument("--two", type=int, default=50, help="seeds of two-layer tasks in `parts` and `warm`")
    parser.add_argument("--cell", default="inalu-independent")
    parser.add_argument("--recipe", default="ROBUST", choices=sorted(RECIPES))
    parser.add_argument("--hash", help="the commit that froze the recipe")
    parser.add_argument("--runs", type=int, default=800)
    parser.add_argument("--only", help="of `parts`, `images`, `final`: what contains this")
    arguments = parser.parse_args()
    if arguments.what in ("final", "depth") and not arguments.hash:
        parser.error("--hash must be given: the commit that froze the recipe")
    command, usual = COMMANDS[arguments.what]
    low, _, high = (arguments.seeds or usual).partition("-")
    began = time.perf_counter()
    command(arguments, range(int(low), int(high) + 1) if high else range(int(low)))
    print(f"    {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
