"""What each part of ROBUST gives: PAPER plus one part at a time, ROBUST minus one part at a time.

On the settings that the paper's recipe finds hardest; a single start stands beside the whole search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.robust.judging import run, wilson

from inalu import PAPER, ROBUST, Recipe, Search, Stage, parse_task
from inalu.engine.recipe import Adam, Decay

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
    )
]
CELL = "inalu-independent"


def _one(name: str, recipe: Recipe, rows: int = 640_000) -> Search:
    """A search of a single start."""
    stage = Stage(recipe=recipe, rows=rows)
    return Search(name=name, one_layer=(stage,), deeper=(stage,))


def _every(change: Callable[[Stage], Stage | None]) -> Search:
    """ROBUST with each wave changed, or left out."""
    parts = {}
    for depth in ("one_layer", "deeper"):
        waves: tuple[Stage, ...] = getattr(ROBUST, depth)
        parts[depth] = tuple(changed for wave in waves if (changed := change(wave)) is not None)
    return replace(ROBUST, **parts)


def _with(**changes: object) -> Search:
    return _every(lambda wave: replace(wave, recipe=wave.recipe.but(**changes)))


def _loss(loss: str) -> Search:
    return _with(loss=loss, sharpness=1.0)


# A tenth of the deeper waves: the paper's own budget, for every line of the table alike.
_CYCLE = 5
_LAW = PAPER.law
_FAST = PAPER.but(optimizer=Adam(learning_rate=1e-2), decay=Decay())
# What a network of one layer, and a deeper one, is trained with.
VARIANTS: dict[str, tuple[Recipe | Search, Recipe | Search]] = {
    "PAPER": (PAPER, PAPER),
    "PAPER, made exact": (_one("exact", PAPER, 6_400_000),) * 2,
    "PAPER + rate 0.01 that falls": (_FAST, _FAST),
    "PAPER + the loss of ROBUST": (PAPER.but(loss="paths"), PAPER.but(loss="sampson")),
    "PAPER + the scaled loss": (PAPER.but(loss="scaled"),) * 2,
    "PAPER + nine short starts, the best kept": (
        replace(ROBUST, one_layer=(Stage(recipe=PAPER, rows=640_000),) * 9),
        replace(ROBUST, deeper=(Stage(recipe=PAPER, rows=640_000),) * 9),
    ),
    "ROBUST": (ROBUST, ROBUST),
    "ROBUST, its first start alone": (
        replace(ROBUST, one_layer=ROBUST.one_layer[:1]), replace(ROBUST, deeper=ROBUST.deeper[:1]),
    ),
    "ROBUST - its losses (scaled)": (_loss("scaled"),) * 2,
    "ROBUST - its losses (mse)": (_loss("mse"),) * 2,
    "ROBUST - the rate's fall": (_with(decay=None),) * 2,
    "ROBUST - the larger rate (0.001)": (_with(optimizer=Adam()),) * 2,
    "ROBUST - its laws (the paper's)": (_with(law=_LAW),) * 2,
    "ROBUST - the redrawn last layer": (
        ROBUST, _every(lambda wave: None if wave.draw == "last" else wave),
    ),
}  # fmt: skip


def parts(one: int, two: int, only: str | None) -> None:
    """Print the table; ``only`` takes the variants whose name contains it."""
    print(f"one layer: {', '.join(map(str, ONE_LAYER))}, seeds 30000-{30000 + one - 1}")
    print(f"two layers: {', '.join(map(str, TWO_LAYERS))}, seeds 30000-{30000 + two - 1}")
    print("| recipe | one layer | | two layers | |\n| --- | ---: | --- | ---: | --- |")
    for name, (shallow, deep) in VARIANTS.items():
        if only is not None and only not in name:
            continue
        cells = []
        for tasks, count, recipe in ((ONE_LAYER, one, shallow), (TWO_LAYERS, two, _a_tenth(name, deep))):
            if not count:
                cells.append("- | ")
                continue
            verdicts = run([(t, 30_000 + s) for t in tasks for s in range(count)], recipe, CELL)
            solved = sum(v.counts for v in verdicts)
            low, high = wilson(solved, len(verdicts))
            each = " / ".join(str(sum(v.counts for v in verdicts if v.task == t)) for t in tasks)
            cells.append(f"{solved} of {len(verdicts)} ({100 * low:.0f}-{100 * high:.0f}%) | {each}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def _a_tenth(name: str, recipe: Recipe | Search) -> Recipe | Search:
    if not isinstance(recipe, Search) or not name.startswith("ROBUST"):
        return recipe
    whole = sum(wave.rows * wave.starts for wave in ROBUST.deeper[:_CYCLE])
    waves: list[Stage] = []
    for wave in recipe.deeper:
        if sum(w.rows * w.starts for w in waves) + wave.rows * wave.starts > whole:
            break
        waves.append(wave)
    return replace(recipe, deeper=tuple(waves))
