"""What one core makes at most: vectors of arithmetic a second, and bytes fetched a second; measured."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from inalu.engine.cpu import Memory, Record, fma, sqrt, store, vector, vector_of, vector_size
from inalu.engine.cpu_host import aligned

_ROUNDS, _COUNT, _LANES = 5, 500_000, 16


class Rates(NamedTuple):
    """What one core makes in a second: vectors of each kind, products and sums mixed, and bytes fetched."""

    products: float
    mixed: float
    divisions: float
    roots: float
    bytes: float


class _Numbers(NamedTuple):
    numbers: Any


def measure_rates() -> Rates:
    """Measure one core, in float32."""
    products = _rate(_products, 8)
    return Rates(
        products=products, mixed=max(products, _rate(_mixed, 16)), divisions=_rate(_divisions, 8),
        roots=_rate(_roots, 8), bytes=_bandwidth(),
    )  # fmt: skip


def _rate(kernel: Callable[..., None], chains: int) -> float:
    """Vectors a second of a kernel that works on so many independent chains."""
    numbers = aligned(np.empty(16 * _LANES, np.float32))
    record, times = Record(_Numbers(Memory(numbers))), []
    kernel(record, 1)
    for _ in range(_ROUNDS):
        numbers[:] = np.linspace(0.5, 2.0, len(numbers))
        began = perf_counter()
        kernel(record, _COUNT)
        times.append(perf_counter() - began)
    return _COUNT * chains / min(times)


def _bandwidth() -> float:
    """Bytes a second from beyond the caches."""
    numbers, times = np.ones(1 << 26, np.float32), []
    for _ in range(_ROUNDS):
        began = perf_counter()
        numbers.max()
        times.append(perf_counter() - began)
    return numbers.nbytes / min(times)


# Each kernel carries chains that do not wait for each other; eight cover what an instruction takes to finish.
# They begin at different numbers, or LLVM would make one chain of them.


@njit(forceinline=True, error_model="numpy")
def starts(a, n):
    """Eight vectors, from the n-th on."""
    size = vector_size(a)
    return (
        vector(a, n * size), vector(a, (n + 1) * size), vector(a, (n + 2) * size), vector(a, (n + 3) * size),
        vector(a, (n + 4) * size), vector(a, (n + 5) * size), vector(a, (n + 6) * size), vector(a, (n + 7) * size),
    )  # fmt: skip


@njit(nogil=True, error_model="numpy")
def _products(record, count):
    a = record.numbers
    z = vector_of(a, 0.5)
    s, t, u, v, w, x, y, q = starts(a, 0)
    for _ in range(count):
        s, t, u, v = fma(s, z, z), fma(t, z, z), fma(u, z, z), fma(v, z, z)
        w, x, y, q = fma(w, z, z), fma(x, z, z), fma(y, z, z), fma(q, z, z)
    store(a, 0, s + t + u + v + w + x + y + q)


@njit(nogil=True, error_model="numpy")
def _mixed(record, count):
    a = record.numbers
    z = vector_of(a, 0.5)
    s, t, u, v, w, x, y, q = starts(a, 0)
    b, c, d, e, f, g, h, i = starts(a, 8)
    for _ in range(count):
        s, t, u, v = fma(s, z, z), fma(t, z, z), fma(u, z, z), fma(v, z, z)
        b, c, d, e = b + z, c + z, d + z, e + z
        w, x, y, q = fma(w, z, z), fma(x, z, z), fma(y, z, z), fma(q, z, z)
        f, g, h, i = f + z, g + z, h + z, i + z
    store(a, 0, s + t + u + v + w + x + y + q + b + c + d + e + f + g + h + i)


@njit(nogil=True, error_model="numpy")
def _divisions(record, count):
    a = record.numbers
    z = vector_of(a, 0.5)
    s, t, u, v, w, x, y, q = starts(a, 0)
    for _ in range(count):
        s, t, u, v, w, x, y, q = z / s, z / t, z / u, z / v, z / w, z / x, z / y, z / q
    store(a, 0, s + t + u + v + w + x + y + q)


@njit(nogil=True, error_model="numpy")
def _roots(record, count):
    a = record.numbers
    s, t, u, v, w, x, y, q = starts(a, 0)
    for _ in range(count):
        s, t, u, v, w, x, y, q = sqrt(s), sqrt(t), sqrt(u), sqrt(v), sqrt(w), sqrt(x), sqrt(y), sqrt(q)
    store(a, 0, s + t + u + v + w + x + y + q)
