"""Neural arithmetic: networks that learn exact formulas and stay right far outside their training range.

Every public name is imported when it is first used, so that ``import inalu`` costs neither torch nor numba.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("inalu")
except PackageNotFoundError:  # a checkout on PYTHONPATH, not installed
    __version__ = "0+unknown"

_PUBLIC = {
    "InaluError": "inalu.errors",
    "InvalidArgument": "inalu.errors",
    "InvalidData": "inalu.errors",
    "MissingExtra": "inalu.errors",
    "StoreError": "inalu.errors",
    "Expression": "inalu.expression",
    "NAC": "inalu.layers",
    "NALU": "inalu.layers",
    "INALU": "inalu.layers",
    "Law": "inalu.layers.laws",
    "Normal": "inalu.layers.laws",
    "Uniform": "inalu.layers.laws",
    "Discretize": "inalu.layers",
    "Reinitialize": "inalu.layers",
    "discreteness": "inalu.layers",
    "expression": "inalu.layers",
    "parameter_groups": "inalu.layers",
    "regularizer": "inalu.layers.regularizer",
    "snap": "inalu.layers.snap",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'inalu' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
