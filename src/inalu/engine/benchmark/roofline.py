"""What the arithmetic and the memory of one core allow a step at best; docs/math.md explains the count.

A step's arithmetic is counted in vector instructions: products (with or without a sum), sums, divisions and
roots. How many of each a core makes in a nanosecond is measured. No step can be faster than its slowest
kind, nor than the bytes that it must fetch.
"""

from __future__ import annotations

from dataclasses import dataclass

from inalu.engine import cpu
from inalu.engine.benchmark.cases import Case
from inalu.engine.benchmark.peak import Rates
from inalu.engine.cpu_host import Layout
from inalu.engine.recipe import PAPER

# Members that the cpu backend lets walk the same rows together.
CREW = 32


@dataclass(frozen=True)
class Work:
    """Arithmetic, in lanes: products, sums, divisions, square roots."""

    products: float = 0.0
    sums: float = 0.0
    divisions: float = 0.0
    roots: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.products + other.products,
            self.sums + other.sums,
            self.divisions + other.divisions,
            self.roots + other.roots,
        )

    def __mul__(self, times: float) -> Work:
        return Work(self.products * times, self.sums * times, self.divisions * times, self.roots * times)


# Of the functions in float32, as inalu.engine.cpu computes them: bit operations, comparisons and choices are
# not counted, since a core makes them beside the rest.
EXP = Work(products=10, sums=2)
LOG = Work(products=14, sums=2)
TANH_SIGMOID = Work(products=2 * 10 + 7, sums=7, divisions=1)
SIGMOID = EXP + Work(sums=1, divisions=1)
# Gradients of W_hat and M_hat or of G are two or three products each; clipping is none.
ADAM = Work(products=6, sums=3, divisions=1, roots=1)


def work_of(case: Case) -> Work:
    """Count one step of one member on one mini-batch: per row, per parameter, and nothing else."""
    layout = Layout(case.network)
    widths = case.network.widths
    rows = PAPER.batch
    total = Work()
    for layer in range(len(widths) - 1):
        inputs, outputs, first = widths[layer], widths[layer + 1], layer == 0
        pairs = inputs * outputs
        # The paths forward (a, z) and their weights' gradients back: a product and sum each.
        each = Work(products=4) if layout.gated else Work(products=2)
        if layout.sign:
            each += Work(products=1, sums=1)
        if layout.gate == 2:
            each += Work(products=2)
        if not first:
            # dL/dx: through a, through z and, with such a gate, through it.
            each += Work(products=(3 if layout.gate == 2 else 2) if layout.gated else 1)
        total += each * (pairs * rows)
        if layout.gated:
            # The first layer's logarithms are those of the whole crew.
            total += LOG * (inputs * rows / (CREW if first else 1))
            total += (EXP + Work(products=8, sums=3)) * (outputs * rows)
        if layout.gate:
            total += SIGMOID * (outputs * rows)
        if not first and layout.gated:
            total += Work(sums=1, divisions=1) * (inputs * rows)
    total += Work(products=2, sums=2) * (widths[-1] * rows)
    weights = TANH_SIGMOID + Work(products=1 + 6) + ADAM * 2
    if layout.sign:
        weights += Work(products=2, divisions=1)
    gates = ADAM + (Work() if layout.gate else SIGMOID + Work(products=2, sums=1))
    return total + weights * layout.pairs + gates * layout.gates


def bytes_of(case: Case) -> float:
    """Bytes that one step of one member must fetch: its share of the crew's x and y; its state stays in the cache."""
    return PAPER.batch * 4 * (case.widths[0] + case.widths[-1]) / CREW


def least_seconds(case: Case, rates: Rates) -> float:
    """Return the time below which no step of one member can be on one core, in float32."""
    work = work_of(case) * (1 / cpu.lanes("float32"))
    return max(
        work.products / rates.products,
        (work.products + work.sums) / rates.mixed,
        work.divisions / rates.divisions + work.roots / rates.roots,
        bytes_of(case) / rates.bytes,
    )
