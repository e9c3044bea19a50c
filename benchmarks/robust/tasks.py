"""What is to be learned: the paper's grids, a final test drawn from a hash, noisy rows, and compositions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inalu import ArraySource, Task, TaskSource, parse_task
from inalu.expression import Expression

OPERATIONS = ("add", "sub", "mul", "div")
UNIFORM = ("U(-1,1)", "U(-5,5)", "U(0,1)", "U(-1,0)", "U(0,5)", "U(-5,0)", "U(2,3)", "U(-3,-2)")
NORMAL = ("N(-3,3)", "N(-2,4)", "N(-4,2)", "N(2,8)", "N(-8,-2)")
EXPONENTIAL = ("E(0.2)", "E(0.8)", "E(0.4)", "E(0.6)", "E(1)")
# Every published and every planned distribution of experiments 1 and 2, with its extrapolation.
RANGES = [
    *((d, "U(-10,-5)") for d in UNIFORM),
    *((d, "N(8,10)") for d in NORMAL),
    *((d, "E(0.5)") for d in EXPONENTIAL),
]
SUMS = [("N(-3,3)", "N(3,4)"), ("U(-3,3)", "U(-5,-3)")]
INPUTS = {1: 2, 2: 10, 4: 100}


def tasks_of(experiment: int) -> Iterator[Task]:
    """Yield the tasks of experiment 1, 2 or 4; those of one distribution follow each other."""
    sums = "; sums" if experiment == 4 else ""
    for train, far in SUMS if experiment == 4 else RANGES:
        for operation in OPERATIONS:
            yield parse_task(f"{operation}; inputs={INPUTS[experiment]}{sums}; {train} -> {far}")


def final_tasks(digest: str, runs: int) -> Iterator[tuple[Task, int]]:
    """Draw operations, ranges, inputs and seeds from a hash; every fifth task has two layers."""
    rng = _generator(digest)
    for n in range(runs):
        kind = rng.choice(["U", "U", "N", "E"])
        train, far = (_ranges(rng, kind), _ranges(rng, kind))
        operation = OPERATIONS[n % 4]
        if n % 5 == 4:
            inputs, sums = int(rng.integers(20, 101)), "sums; "
        else:
            inputs, sums = int(rng.integers(2, 21)), ""
        yield parse_task(f"{operation}; inputs={inputs}; {sums}{train} -> {far}"), int(rng.integers(10**6))


def _generator(digest: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(digest.encode()).digest()[:8], "big"))


def _ranges(rng: np.random.Generator, kind: str) -> str:
    if kind == "E":
        return f"E({float(f'{10 ** rng.uniform(-1, 1):.2g}'):g})"
    low = float(f"{rng.uniform(-10, 8):.2g}")
    width = float(f"{10 ** rng.uniform(-0.3, 1.2):.2g}")
    return f"{kind}({low:g},{round(low + width, 6):g})"


def noisy(task: Task, seed: int, rows: int, *, noise: float, wild: float) -> ArraySource:
    """Noise in shares of the target's spread (interquartile range / 1.349), gross errors of ten spreads."""
    x, clean = TaskSource(task, seed, rows).load()
    rng = np.random.default_rng([seed, rows])
    low, high = np.quantile(clean, [0.25, 0.75])
    spread = (high - low) / 1.349
    y = clean + noise * spread * rng.normal(size=clean.shape)
    hit = rng.random(len(y)) < wild
    y[hit] += 10 * spread * rng.normal(size=(int(hit.sum()), 1))
    return ArraySource(x, y, str(task))


@dataclass(frozen=True)
class Composition:
    """Three operations on four columns, each used once, and the ranges that x is drawn from."""

    text: str
    low: float
    high: float

    @property
    def target(self) -> Expression:
        return Expression.parse(self.text)

    def draw(
        self, seed: int, rows: int, *, far: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return x [B, 4] and y [B, 1]; far rows lie between once and twice the largest value."""
        rng = np.random.default_rng([seed, far, sum(map(ord, self.text))])
        low, high = (self.high, 2 * self.high) if far else (self.low, self.high)
        x = rng.uniform(low, high, (rows, 4)).astype(np.float32)
        y = self.target.evaluate({name: x[:, i].astype(np.float64) for i, name in enumerate("abcd")})
        return x, np.asarray(y)[:, None]

    def source(self, seed: int, rows: int = 64_000) -> ArraySource:
        x, y = self.draw(seed, rows)
        return ArraySource(x, y, self.text)


def compositions(digest: str, count: int = 10) -> list[Composition]:
    """Draw different formulas that need three operations in a row or two beside one, division in each."""
    rng, found = _generator(digest), {}
    while len(found) < count:
        a, b, c, d = rng.permutation(list("abcd"))
        one, two, three = rng.choice(list("+-*/"), 3)
        chain = f"(({a} {one} {b}) {two} {c}) {three} {d}"
        pair = f"({a} {one} {b}) {two} ({c} {three} {d})"
        under = f"{d} {three} (({a} {one} {b}) {two} {c})"
        text = str(rng.choice([chain, pair, under]))
        low, high = ((-3.0, 3.0), (0.5, 4.0))[int(rng.integers(2))]
        kinds = {operation in "+-" for operation in (one, two, three)}
        key = str(Expression.parse(text).simplify())
        if "/" in (one, two, three) and len(kinds) == 2:
            found.setdefault(key, Composition(text, low, high))
    return list(found.values())
