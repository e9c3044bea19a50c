"""Neural arithmetic: networks that learn exact formulas and stay right far outside their training range.

Every public name is imported when it is first used, so that ``import inalu`` costs neither torch nor numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

# Imported here and not when first used: importing a submodule sets the attribute of the same name, which must
# have happened before the function `expression` takes that name. It costs neither numpy nor torch.
from inalu.expression import Expression as Expression

if TYPE_CHECKING:
    from torch import nn

_PUBLIC = {
    "InaluError": "inalu.errors",
    "InvalidArgument": "inalu.errors",
    "InvalidData": "inalu.errors",
    "MissingExtra": "inalu.errors",
    "StoreError": "inalu.errors",
    "LAWS": "inalu.layers.laws",
    "Law": "inalu.layers.laws",
    "Normal": "inalu.layers.laws",
    "Signs": "inalu.layers.laws",
    "Uniform": "inalu.layers.laws",
    "INALU": "inalu.layers",
    "NAC": "inalu.layers",
    "NALU": "inalu.layers",
    "NAU": "inalu.layers",
    "Discretize": "inalu.layers",
    "Reinitialize": "inalu.layers",
    "discreteness": "inalu.layers",
    "parameter_groups": "inalu.layers",
    # From their own modules: in inalu.layers these two names are the modules.
    "regularizer": "inalu.layers.regularizer",
    "snap": "inalu.layers.snap",
    "Task": "inalu.tasks",
    "parse_distribution": "inalu.tasks",
    "parse_task": "inalu.tasks",
    "CELLS": "inalu.engine.cells",
    "Cell": "inalu.engine.cells",
    "Parameter": "inalu.engine.cells",
    "register": "inalu.engine.cells",
    "Network": "inalu.engine.network",
    "ArraySource": "inalu.engine.plan",
    "Member": "inalu.engine.plan",
    "Plan": "inalu.engine.plan",
    "TaskSource": "inalu.engine.plan",
    "AUTHORS_CODE": "inalu.engine.recipe",
    "PAPER": "inalu.engine.recipe",
    "RECIPES": "inalu.engine.recipe",
    "ROBUST": "inalu.engine.recipe",
    "WARM": "inalu.engine.recipe",
    "Adam": "inalu.engine.recipe",
    "LevenbergMarquardt": "inalu.engine.recipe",
    "RMSProp": "inalu.engine.recipe",
    "Recipe": "inalu.engine.recipe",
    "Search": "inalu.engine.recipe",
    "Stage": "inalu.engine.recipe",
    "Result": "inalu.engine.result",
    "Status": "inalu.engine.result",
    "Training": "inalu.engine.result",
    "Problem": "inalu.engine.search",
    "learn": "inalu.engine.search",
    "solve": "inalu.engine.search",
    "BACKENDS": "inalu.engine.train",
    "train": "inalu.engine.train",
    "audit": "inalu.tabular.audit",
    "check": "inalu.tabular.audit",
    "fit": "inalu.tabular.audit",
    "FormulaRegressor": "inalu.tabular.regressor",
    "Table": "inalu.tabular.table",
    "read_table": "inalu.tabular.table",
    "load_rules": "inalu.tabular.rules",
}

__all__ = sorted([*_PUBLIC, "Expression", "expression"])


def expression(network: nn.Module, names: Sequence[str], *, output: int | None = None) -> Expression:
    """Return the formula of a snapped network over named inputs; see `inalu.layers.snap.expression`."""
    from inalu.layers import expression as formula_of

    formula: Expression = formula_of(network, names, output=output)
    return formula


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _PUBLIC:
        raise AttributeError(f"module 'inalu' has no attribute {name!r}")
    from inalu.errors import load

    value = getattr(load(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("inalu")
    except PackageNotFoundError:
        # A checkout on PYTHONPATH that was never installed.
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
