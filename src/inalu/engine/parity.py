"""The cases on which all backends must agree with `inalu.engine.reference`; for tests and benchmark alike.

Three lists, from one step to long trainings: `step_cases` (every cell, option and depth, at awkward sizes
and on nasty values), `recipe_cases` (every decision of a recipe, over some epochs) and `long_cases`
(200 steps). Whole trainings are compared by benchmarks/parity.py, since rounding sets them apart in time.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, DType, Member, Plan
from inalu.engine.recipe import (
    AUTHORS_CODE,
    PAPER,
    Adam,
    Alternation,
    Decay,
    Recipe,
    Regularization,
    Reinitialization,
    RMSProp,
)
from inalu.engine.result import Result
from inalu.engine.train import BACKENDS, train
from inalu.layers.laws import LAWS
from inalu.tasks import random

Floats = NDArray[np.floating[Any]]

# The largest deviation, relative to the largest number of the same array, in one step. Sums over a batch
# cancel, so a few thousand roundings: 2e-16 and 1e-7 each.
ONE_STEP = {"float64": 1e-11, "float32": 5e-4}
# Over some dozens and over 200 steps of float64 rounding grows with each step.
SOME_STEPS, MANY_STEPS = 1e-9, 1e-7

SHAPES = ((2, 1), (1, 1), (3, 5), (10, 1), (2, 3, 1), (100, 2, 1), (7, 4, 5), (2, 2, 2, 2))
ROWS = (64, 1, 13, 70)

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nac", {}),
    ("nalu-vector", {}),
    ("nalu-matrix", {}),
    ("inalu-shared", {}),
    ("inalu-independent", {}),
    ("inalu-independent", {"gate": "vector"}),
    ("inalu-shared", {"gate": "matrix"}),
    ("inalu-independent", {"sign": False}),
    ("inalu-independent", {"sign": "published"}),
    ("inalu-shared", {"sign": "published"}),
    ("inalu-independent", {"omega": None}),
    ("inalu-shared", {"omega": 0.5, "epsilon": 1e-3}),
    ("inalu-shared", {"omega": None, "sign": False, "gate": "matrix"}),
)

# What is switched on one at a time. Weights are drawn wide, so that signs and roundings of all kinds occur.
_BARE = Recipe(
    name="bare", batch=16, epochs=6, regularization=None, reinitialization=None, law=LAWS["uniform2"]
)
_ALWAYS = Reinitialization(every=2, window=6, above=0.0, tolerance=1e6)
_PULL = Regularization(after_epochs=2, below=1e9)
OPTIONS: dict[str, Recipe] = {
    "bare": _BARE,
    "no clipping": _BARE.but(clip=None),
    "narrow clipping": _BARE.but(clip=1e-3),
    "adam constants": _BARE.but(optimizer=Adam(learning_rate=0.02, beta1=0.7, beta2=0.8, epsilon=1e-4)),
    "rmsprop tensorflow": _BARE.but(optimizer=RMSProp()),
    "rmsprop pytorch": _BARE.but(optimizer=RMSProp(form="pytorch", decay=0.5, epsilon=1e-5)),
    "decay": _BARE.but(decay=Decay(final=0.1)),
    "decay held": _BARE.but(decay=Decay(final=0.0, hold=0.4)),
    "scaled loss": _BARE.but(loss="scaled"),
    "sampson loss": _BARE.but(loss="sampson"),
    "paths loss": _BARE.but(loss="paths"),
    "sharp paths loss": _BARE.but(loss="paths", sharpness=30.0),
    "alternation": _BARE.but(alternation=Alternation(period=5, weights=3)),
    "regulariser": _BARE.but(regularization=_PULL),
    "regulariser from the start": _BARE.but(regularization=Regularization(after_epochs=0, below=1e9)),
    "regulariser below a loss": _BARE.but(regularization=Regularization(after_epochs=1, below=0.3)),
    "regulariser summed": _BARE.but(
        regularization=Regularization(after_epochs=1, below=1e9, threshold=1.5, weight=0.3, aggregate="sum")
    ),
    "regulariser apart": _BARE.but(regularization=Regularization(after_epochs=1, below=1e9, apart=True)),
    "regulariser apart, alternation": _BARE.but(
        regularization=Regularization(after_epochs=1, below=0.5, apart=True),
        alternation=Alternation(period=4, weights=3),
        optimizer=RMSProp(),
    ),
    "restarts": _BARE.but(reinitialization=_ALWAYS),
    "restarts when not improving": _BARE.but(reinitialization=Reinitialization(every=1, window=6, above=0.2)),
    "restarts at each step": _BARE.but(
        reinitialization=Reinitialization(every=2, window=3, above=0.0, each_step=True, history="all"),
    ),
    "restarts forgetting": _BARE.but(
        reinitialization=Reinitialization(every=2, window=6, above=0.0, tolerance=1e6, keep_optimizer=False),
        regularization=_PULL,
    ),
    "paper": PAPER.but(epochs=6, batch=16, regularization=_PULL, reinitialization=_ALWAYS),
    "authors": AUTHORS_CODE.but(
        epochs=6,
        batch=16,
        regularization=Regularization(after_epochs=2, below=1e9, apart=True),
        reinitialization=Reinitialization(every=2, window=7, history="all", each_step=True, above=0.1),
    ),
    "one row a step": _BARE.but(batch=1, epochs=1),
    "one step an epoch": _BARE.but(batch=1000),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One member and how far from the reference it may be."""

    name: str
    network: Network
    recipe: Recipe
    tolerance: float
    rows: int = 37
    nasty: bool = False
    exact: bool = False
    dtype: DType = "float64"

    def plan(self) -> Plan:
        """Return the plan of the one member."""
        source = case_rows(self.network, self.rows, nasty=self.nasty)
        initial = exact_weights(self.network) if self.exact else None
        member = Member(network=self.network, source=source, seed=len(self.name), initial=initial)
        return Plan(members=[member], recipe=self.recipe, dtype=self.dtype)


class Answer(NamedTuple):
    """What a backend says to a case."""

    outputs: NDArray[np.float64]
    gradient: NDArray[np.float64]
    result: Result


def case_rows(network: Network, rows: int, *, nasty: bool) -> ArraySource:
    """Return rows with zeros and both signs; nasty ones have tiny and huge numbers as well."""
    inputs, outputs = network.widths[0], network.widths[-1]
    x = random.uniform(random.key_of("parity x", inputs), (rows, inputs), -2.0, 2.0)
    y = random.uniform(random.key_of("parity y", outputs), (rows, outputs), -1.0, 1.0)
    x.ravel()[3::7] = 0.0
    if nasty:
        for start, value in ((1, 1e-12), (2, -1e-12), (5, 3e4), (6, -3e4), (8, -0.0), (9, 1e-30)):
            x.ravel()[start::31] = value
    return ArraySource(x, y, name="parity")


def exact_weights(network: Network) -> Floats:
    """Return parameters whose effective weights are 0, ±1/2 and ±1: there the factors of a sign vanish."""
    count = network.size
    values = random.uniform(random.key_of("parity weights", str(network)), (count,), -2.0, 2.0)
    for slot in network.slots:
        part, turn = slice(slot.start, slot.stop), np.arange(slot.stop - slot.start)
        if slot.name.startswith("W_hat"):
            values[part] = np.array([40.0, -40.0, 0.0, 40.0, -40.0])[turn % 5]
        elif slot.name.startswith("M_hat"):
            values[part] = np.array([40.0, 40.0, 1.0, 0.0, 0.0])[turn % 5]
    return values


def step_cases(dtype: DType = "float64") -> Iterator[Case]:
    """Yield a step of every cell, option and depth."""
    rows = cycle(ROWS)
    recipe = PAPER.but(epochs=1, law=LAWS["uniform2"], reinitialization=None)
    for cell, options in VARIANTS:
        for widths in SHAPES if not options else SHAPES[2:5]:
            network = Network(cell, widths, **options)
            yield Case(
                name=f"{network} {dtype}",
                network=network,
                recipe=recipe,
                tolerance=ONE_STEP[dtype],
                rows=next(rows),
                nasty=True,
                dtype=dtype,
            )
        network = Network(cell, (4, 3), **options)
        yield Case(
            name=f"{network} {dtype} exact weights",
            network=network,
            recipe=recipe,
            tolerance=ONE_STEP[dtype],
            exact=True,
            dtype=dtype,
        )


def recipe_cases(cells: Iterable[str], widths: tuple[int, ...] = (3, 2, 1)) -> Iterator[Case]:
    """Yield every decision of a recipe for these cells."""
    for cell in cells:
        for name, recipe in OPTIONS.items():
            network = Network(cell, widths)
            yield Case(name=f"{network} {name}", network=network, recipe=recipe, tolerance=SOME_STEPS)


def long_cases() -> Iterator[Case]:
    """Yield trainings of 200 steps."""
    # One restart at most, early: it would set back what rounding has grown to.
    restart = Reinitialization(every=26, window=41, above=0.0, tolerance=1e6)
    recipe = PAPER.but(epochs=50, batch=10, law=LAWS["uniform2"], regularization=_PULL, reinitialization=None)
    authors = AUTHORS_CODE.but(
        epochs=50,
        batch=10,
        regularization=Regularization(after_epochs=20, below=1e9, apart=True),
        reinitialization=restart,
    )
    for cell, widths, chosen in (
        ("nac", (2, 1), recipe),
        ("nalu-vector", (2, 1), recipe),
        ("nalu-matrix", (10, 1), authors),
        ("inalu-shared", (2, 1), authors),
        ("inalu-independent", (2, 1), recipe),
        ("inalu-independent", (10, 2, 1), recipe),
    ):
        network = Network(cell, widths)
        name = f"{network} 200 steps of {chosen.name}"
        yield Case(name=name, network=network, recipe=chosen, tolerance=MANY_STEPS)


def answer(case: Case, backend: str) -> Answer:
    """Ask a backend."""
    plan = case.plan()
    outputs, gradient = importlib.import_module(BACKENDS[backend].module).first_step(plan, 0)
    return Answer(outputs, gradient, train(plan, backend=backend, threads=1)[0])


def disagreements(case: Case, truth: Answer, other: Answer) -> list[str]:
    """Return a sentence for each quantity in which two answers differ by more than the case allows."""
    found = []
    for name in ("restarts", "steps", "status"):
        expected, got = getattr(truth.result, name), getattr(other.result, name)
        if expected != got:
            found.append(f"{case.name}: {name} is {got}, not {expected}")
    pairs = {
        "outputs": (truth.outputs, other.outputs),
        "loss": (truth.result.loss, other.result.loss),
        "parameters": (truth.result.parameters, other.result.parameters),
    }
    for slot in case.network.slots:
        # Where weights and gates take turns, weights come first, and a backend may skip the gates' gradient.
        if case.recipe.alternation is not None and slot.kind == "gate":
            continue
        part = slice(slot.start, slot.stop)
        pairs[f"gradient of {slot.layer}.{slot.name}"] = (truth.gradient[part], other.gradient[part])
    # A saturated gate's gradient is 0 or next to it: then what counts is the rounding of the whole gradient.
    floor = float(np.finfo(case.dtype).eps * np.abs(truth.gradient).max(initial=0.0))
    for name, (expected, got) in pairs.items():
        size = deviation(expected, got, floor=floor if name.startswith("gradient") else 0.0)
        if not size <= case.tolerance:
            found.append(f"{case.name}: {name} off by {size:.1e}, more than {case.tolerance:.0e}")
    return found


def deviation(expected: Floats, got: Floats, *, floor: float = 0.0) -> float:
    """Return the largest difference relative to the largest expected number, or to ``floor`` if that is larger.

    It is infinite where shapes differ or where only one number is finite.

    Examples
    --------
    >>> deviation(np.array([1.0, -4.0]), np.array([1.0, -4.2]))
    0.05
    """
    if expected.shape != got.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        same = (expected == got) | (np.isnan(expected) & np.isnan(got))
        difference = np.where(same, 0.0, np.abs(got - expected, dtype=np.float64))
        size = np.abs(expected[np.isfinite(expected)], dtype=np.float64).max(initial=0.0)
    if not difference.any():
        return 0.0
    return round(float(difference.max() / max(size, floor, np.finfo(np.float32).tiny)), 15)


def failures(backend: str, cases: Iterable[Case]) -> list[str]:
    """Return what a backend gets wrong on these cases, as sentences; none is a pass."""
    found = []
    for case in cases:
        found += disagreements(case, answer(case, "reference"), answer(case, backend))
    return found
