"""The mathematics, as PyTorch modules.

Every name is imported when it is first used: ``inalu.layers.laws`` costs no torch.
"""

from __future__ import annotations

from typing import Any

from inalu.errors import load

_PUBLIC = {
    "ArithmeticLayer": "inalu.layers.base",
    "NAC": "inalu.layers.nac",
    "NALU": "inalu.layers.nalu",
    "INALU": "inalu.layers.inalu",
    "NAU": "inalu.layers.nau",
    "discreteness": "inalu.layers.snap",
    "expression": "inalu.layers.snap",
    "expressions": "inalu.layers.snap",
    "Discretize": "inalu.layers.schedule",
    "Reinitialize": "inalu.layers.schedule",
    "parameter_groups": "inalu.layers.schedule",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'inalu.layers' has no attribute {name!r}")
    value = getattr(load(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
