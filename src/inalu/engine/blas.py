"""One thread for NumPy's matrix products while something else uses the cores.

OpenBLAS lets its threads wait for each other in a busy loop. While the engine trains on every core, that made
the evaluation of experiment 3 twelve times slower. NumPy has no function for it, so OpenBLAS's own is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

import numpy as np

# Names under which NumPy's wheels and distributions carry OpenBLAS.
_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "")
_lock = Lock()


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """OpenBLAS's getter and setter of its number of threads, where NumPy uses it."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (OSError, AttributeError):
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            try:
                getter = getattr(library, f"{prefix}get_num_threads{suffix}")
                setter = getattr(library, f"{prefix}set_num_threads{suffix}")
            except AttributeError:
                continue
            getter.argtypes, getter.restype = [], ctypes.c_int
            setter.argtypes, setter.restype = [ctypes.c_int], None
            return getter, setter
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one BLAS thread inside, where the library lets us; results do not depend on it."""
    functions = _functions()
    if functions is None:
        yield
        return
    get, put = functions
    with _lock:
        before = get()
        put(1)
        try:
            yield
        finally:
            put(before)
