"""The registry of cells: what a cell must offer, and which backends have a fast path for it.

A cell is a PyTorch module with ``(in_features, out_features, **options)``; adding one is a line at the end
of this file, or a call of `register` from anywhere. It then trains on ``reference`` and ``stacked``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from inalu.errors import InvalidArgument, check_choice, require_extra

if TYPE_CHECKING:
    from torch import nn

Option = str | float | bool | None
Options = Mapping[str, Option]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a cell: its name, its shape, and whether it is a weight or a gate."""

    name: str
    shape: tuple[int, ...]
    kind: Literal["weight", "gate"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A kind of layer, by name.

    Attributes
    ----------
    name
        What ``Network`` and the command line call it.
    module
        The class, or ``"package.module:Class"`` to be imported when it is first needed.
    preset
        The module's options that this name stands for; ``Network`` may override each.
    parameters
        ``(I, O, options)`` → the parameters, in the module's order; None asks the module itself.
    law
        Whether the parameters follow the paper's families G, M_hat and W_hat, so that a recipe's law applies.
        A cell without draws its initial values with its own ``reset_parameters(generator=...)``.
    fast
        The backends that have a path of their own for it.
    """

    name: str
    module: str | Callable[..., nn.Module]
    preset: Options = field(default_factory=dict)
    parameters: Callable[[int, int, Options], tuple[Parameter, ...]] | None = None
    law: bool = False
    fast: tuple[str, ...] = ()

    def build(self, in_features: int, out_features: int, options: Options) -> nn.Module:
        """Return one layer of this cell as a PyTorch module.

        Raises
        ------
        MissingExtra
            When torch is not installed.
        """
        require_extra("torch", "torch")
        module = self.module
        if isinstance(module, str):
            path, _, name = module.partition(":")
            module = getattr(importlib.import_module(path), name)
        layer: nn.Module = module(in_features, out_features, **options)
        return layer

    def layout(self, in_features: int, out_features: int, options: Options) -> tuple[Parameter, ...]:
        """Return the parameters of one layer, in packed order."""
        if self.parameters is not None:
            return self.parameters(in_features, out_features, options)
        layer = self.build(in_features, out_features, options)
        return tuple(
            Parameter(name, tuple(p.shape), "gate" if name.rpartition(".")[2].startswith("G") else "weight")
            for name, p in layer.named_parameters()
        )


def _gate(kind: Option, i: int, o: int) -> Parameter:
    shapes = {"constant": (o,), "vector": (i, 1), "matrix": (i, o)}
    check_choice("gate", kind, shapes)
    return Parameter("G", shapes[str(kind)], "gate")


def _nac(i: int, o: int, options: Options) -> tuple[Parameter, ...]:
    return Parameter("W_hat", (i, o), "weight"), Parameter("M_hat", (i, o), "weight")


def _nalu(i: int, o: int, options: Options) -> tuple[Parameter, ...]:
    return (*_nac(i, o, options), _gate(options["gate"], i, o))


def _inalu(i: int, o: int, options: Options) -> tuple[Parameter, ...]:
    check_choice("weights", options["weights"], ("independent", "shared"))
    if options["weights"] == "shared":
        return _nalu(i, o, options)
    names = ("W_hat_a", "M_hat_a", "W_hat_m", "M_hat_m")
    return (*(Parameter(name, (i, o), "weight") for name in names), _gate(options["gate"], i, o))


_CELLS: dict[str, Cell] = {}
CELLS: Mapping[str, Cell] = MappingProxyType(_CELLS)


def register(cell: Cell) -> Cell:
    """Add a cell to the registry, under its name.

    Raises
    ------
    InvalidArgument
        When the name is taken by another cell.
    """
    if _CELLS.get(cell.name, cell) != cell:
        raise InvalidArgument(f"cell {cell.name!r} is registered already. Choose another name.")
    _CELLS[cell.name] = cell
    return cell


_INALU: Options = MappingProxyType(
    {"weights": "independent", "gate": "constant", "epsilon": 1e-7, "omega": 20.0, "sign": True}
)

register(Cell(name="nac", module="inalu.layers:NAC", parameters=_nac, law=True, fast=("cpu",)))
register(
    Cell(name="nalu-vector", module="inalu.layers:NALU", preset={"gate": "vector", "epsilon": 1e-7},
         parameters=_nalu, law=True, fast=("cpu",))
)  # fmt: skip
register(
    Cell(name="nalu-matrix", module="inalu.layers:NALU", preset={"gate": "matrix", "epsilon": 1e-7},
         parameters=_nalu, law=True, fast=("cpu",))
)  # fmt: skip
register(
    Cell(name="inalu-shared", module="inalu.layers:INALU", preset={**_INALU, "weights": "shared"},
         parameters=_inalu, law=True, fast=("cpu",))
)  # fmt: skip
register(
    Cell(name="inalu-independent", module="inalu.layers:INALU", preset=_INALU,
         parameters=_inalu, law=True, fast=("cpu",))
)  # fmt: skip
register(Cell(name="nau", module="inalu.layers:NAU"))
