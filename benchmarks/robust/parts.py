"""What each part of ROBUST gives: PAPER plus one part at a time, ROBUST minus one part at a time.

On the settings that the paper's recipe finds hardest; a single start stands beside the whole search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.robust.judging import PAPER_ROWS, run, wilson

from inalu import PAPER, ROBUST, Law, Recipe, Search, Stage, Task, parse_task
from inalu.engine.recipe import Adam, Decay, LevenbergMarquardt
from inalu.layers.laws import Signs

# Those with most failures in the published runs, and add as the easy one.
ONE_LAYER = [
    parse_task(text)
    for text in (
        "add; inputs=10; U(-1,1) -> U(-10,-5)",
        "mul; inputs=10; N(-4,2) -> N(8,10)",
        "div; inputs=10; N(-4,2) -> N(8,10)",
        "div; inputs=10; E(0.2) -> E(0.5)",
    )
]
TWO_LAYERS = [
    parse_task(text)
    for text in (
        "mul; inputs=100; sums; U(-3,3) -> U(-5,-3)",
        "div; inputs=100; sums; U(-3,3) -> U(-5,-3)",
        "div; inputs=100; sums; N(-3,3) -> N(3,4)",
        # Far from zero, where a quotient of sums hardly varies.
        "div; inputs=50; sums; U(4,8) -> U(8,12)",
    )
]
CELL = "inalu-independent"


def _one(name: str, recipe: Recipe, rows: int = 640_000) -> Search:
    """A search of a single start."""
    stage = Stage(recipe=recipe, rows=rows)
    # The budget is for that start and its judging: no second one fits.
    return Search(
        name=name,
        one_layer=(stage,),
        deeper=(stage,),
        one_layer_rows=rows + 20_000,
        deeper_rows=rows + 20_000,
    )


def _shallow(change: Callable[[Stage], Stage]) -> Search:
    """ROBUST's first-order waves of one layer, each changed; the last wave would hide what they lost."""
    return replace(
        ROBUST, one_layer=tuple(change(wave) for wave in ROBUST.one_layer if not wave.second_order)
    )


def _with(**changes: object) -> Search:
    return _shallow(lambda wave: replace(wave, recipe=wave.recipe.but(**changes)))


def _deeper(change: Callable[[Stage], Stage | None]) -> Search:
    """ROBUST for deeper networks, within the paper's own budget, each wave changed or left out."""
    waves = tuple(changed for wave in ROBUST.deeper if (changed := change(wave)) is not None)
    return replace(ROBUST, deeper=waves, deeper_rows=PAPER_ROWS)


def _second_order(**changes: object) -> Search:
    """ROBUST's second-order waves with their recipes changed."""
    return _deeper(lambda w: replace(w, recipe=w.recipe.but(**changes)) if w.second_order else w)


def _damped(**changes: float) -> Search:
    return _second_order(optimizer=LevenbergMarquardt(**{"damping": 1e-4, "largest_step": 4.0, **changes}))


def _whole(wave: Stage) -> Stage:
    return wave


def _of_law(law: Law) -> Search:
    return _deeper(lambda w: w if not w.second_order or w.recipe.law == law else None)


_LAWS = sorted({w.recipe.law for w in ROBUST.deeper if w.second_order}, key=str)
_LAW = PAPER.law
_FAST = PAPER.but(optimizer=Adam(learning_rate=1e-2), decay=Decay())
_FIRST = replace(ROBUST, one_layer=ROBUST.one_layer[:1], one_layer_rows=700_000)
# What a network of one layer, and a deeper one, is trained with; every line of two layers has PAPER's budget.
ONE_LAYER_VARIANTS: dict[str, Recipe | Search] = {
    "PAPER": PAPER,
    "PAPER, made exact": _one("exact", PAPER, 6_400_000),
    "PAPER + rate 0.01 that falls": _FAST,
    "PAPER + the loss `paths`": PAPER.but(loss="paths"),
    "PAPER + the scaled loss": PAPER.but(loss="scaled"),
    "PAPER + nine short starts, the best kept": replace(
        ROBUST, one_layer=(Stage(recipe=PAPER, rows=640_000),) * 9
    ),
    "ROBUST": ROBUST,
    "ROBUST, its first start alone": _FIRST,
    "ROBUST without its second-order wave": _shallow(_whole),
    "ROBUST, the scaled loss for `paths`": _with(loss="scaled", sharpness=1.0),
    "ROBUST, mean squares for `paths`": _with(loss="mse", sharpness=1.0),
    "ROBUST without the rate's fall": _with(decay=None),
    "ROBUST with the rate 0.001": _with(optimizer=Adam()),
    "ROBUST with the paper's law in every start": _with(law=_LAW),
}
TWO_LAYER_VARIANTS: dict[str, Recipe | Search] = {
    "PAPER": PAPER,
    "PAPER, made exact": _one("exact", PAPER, 6_400_000),
    "PAPER + rate 0.01 that falls": _FAST,
    "PAPER + the loss `sampson`": PAPER.but(loss="sampson"),
    "PAPER + nine short starts, the best kept": replace(
        ROBUST, deeper=(Stage(recipe=PAPER, rows=640_000),) * 9, deeper_rows=PAPER_ROWS
    ),
    "ROBUST": _deeper(_whole),
    "ROBUST without second-order steps": _deeper(lambda w: None if w.second_order else w),
    "ROBUST without Adam": _deeper(lambda w: w if w.second_order else None),
    "ROBUST without new last layers": _deeper(lambda w: None if w.draw == "last" else w),
    "ROBUST, gates drawn at σ(±3), not shut": _second_order(
        law=replace(_LAWS[-1], G=Signs(3, 0.1)),
    ),
    "ROBUST, only weights around the paper's means": _of_law(_LAWS[-1]),
    "ROBUST, only weights around zero": _of_law(_LAWS[0]),
    "ROBUST, all damping 0.04": _damped(damping=0.04),
    "ROBUST, all damping 1e-6": _damped(damping=1e-6, largest_step=2.0),
}


def parts(one: int, two: int, only: str | None) -> None:
    """Print a table for each depth; ``only`` takes the variants whose name contains it."""
    _table("one layer", ONE_LAYER, one, ONE_LAYER_VARIANTS, only)
    _table("two layers, the paper's own budget", TWO_LAYERS, two, TWO_LAYER_VARIANTS, only)


def _table(
    title: str, tasks: Sequence[Task], count: int, variants: dict[str, Recipe | Search], only: str | None
) -> None:
    if not count:
        return
    print(f"{title}: {', '.join(map(str, tasks))}, seeds 30000-{30000 + count - 1}")
    print("| recipe | runs that count | each task |\n| --- | ---: | --- |")
    for name, recipe in variants.items():
        if only is not None and only not in name:
            continue
        verdicts = run([(t, 30_000 + s) for t in tasks for s in range(count)], recipe, CELL)
        solved = sum(v.counts for v in verdicts)
        low, high = wilson(solved, len(verdicts))
        each = " / ".join(str(sum(v.counts for v in verdicts if v.task == t)) for t in tasks)
        share = f"{solved} of {len(verdicts)} ({100 * low:.0f}-{100 * high:.0f}%)"
        print(f"| {name} | {share} | {each} |", flush=True)
