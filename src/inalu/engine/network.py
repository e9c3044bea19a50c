"""Network: a stack of cells as a value, and the packed layout of one member's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.cells import CELLS, Cell, Option
from inalu.errors import InvalidArgument, check_choice, invalid, require_extra

if TYPE_CHECKING:
    from torch import nn


class Slot(NamedTuple):
    """Where one parameter of one layer lies in a member's packed vector of K numbers."""

    layer: int
    name: str
    shape: tuple[int, ...]
    kind: str
    start: int
    stop: int


@dataclass(frozen=True, init=False)
class Network:
    """A stack of layers of one cell.

    Parameters
    ----------
    cell
        A name of the registry: ``nac``, ``nalu-vector``, ``nalu-matrix``, ``inalu-shared``,
        ``inalu-independent`` or one that was registered.
    widths
        Inputs, hidden widths, outputs: ``(100, 2, 1)`` is two layers.
    **options
        Options of the cell that differ from its preset: ``omega=None``, ``sign=False``, ``gate="matrix"`` …

    Raises
    ------
    InvalidArgument
        When the cell, a width or an option is unknown.

    Examples
    --------
    >>> network = Network("inalu-independent", (2, 1), sign=False)
    >>> str(network), network.size
    ('inalu-independent 2-1 sign=False', 9)
    """

    cell: str
    widths: tuple[int, ...]
    overrides: tuple[tuple[str, Option], ...]

    def __init__(self, cell: str, widths: tuple[int, ...], **options: Option) -> None:
        check_choice("cell", cell, CELLS)
        sizes = tuple(widths)
        if len(sizes) < 2 or not all(isinstance(w, int | np.integer) and w >= 1 for w in sizes):
            raise invalid(
                "widths", "must be two or more positive integers", widths, fix="(2, 1) is one layer"
            )
        preset = CELLS[cell].preset
        if CELLS[cell].parameters is not None:
            for name in options:
                check_choice(f"option of {cell}", name, preset)
        changed = {n: v for n, v in options.items() if n not in preset or preset[n] != v}
        object.__setattr__(self, "cell", cell)
        object.__setattr__(self, "widths", tuple(int(w) for w in sizes))
        object.__setattr__(self, "overrides", tuple(sorted(changed.items())))
        self.slots  # noqa: B018  a wrong option value must raise here, not in a thread

    def __str__(self) -> str:
        options = "".join(f" {name}={value}" for name, value in self.overrides)
        return f"{self.cell} {'-'.join(map(str, self.widths))}{options}"

    @property
    def kind(self) -> Cell:
        """The registry's entry of the cell."""
        return CELLS[self.cell]

    @cached_property
    def options(self) -> dict[str, Option]:
        """The cell's options in full: the preset with this network's own on top."""
        return {**self.kind.preset, **dict(self.overrides)}

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.widths) - 1

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The packed layout: layer by layer, each parameter in row-major order."""
        slots: list[Slot] = []
        start = 0
        for layer in range(self.depth):
            for p in self.kind.layout(self.widths[layer], self.widths[layer + 1], self.options):
                stop = start + int(np.prod(p.shape))
                slots.append(Slot(layer, p.name, p.shape, p.kind, start, stop))
                start = stop
        return tuple(slots)

    @property
    def size(self) -> int:
        """K, the number of parameters of one member."""
        return self.slots[-1].stop if self.slots else 0

    def unpack(self, parameters: NDArray[np.floating]) -> list[dict[str, NDArray[np.floating]]]:
        """Return views of a packed [K] vector: one dict of named arrays a layer."""
        if parameters.shape != (self.size,):
            raise invalid("parameters", f"must have shape ({self.size},) for {self}", parameters.shape)
        layers: list[dict[str, NDArray[np.floating]]] = [{} for _ in range(self.depth)]
        for slot in self.slots:
            layers[slot.layer][slot.name] = parameters[slot.start : slot.stop].reshape(slot.shape)
        return layers

    def build(self, parameters: NDArray[np.floating] | None = None) -> nn.Sequential:
        """Return the network as ``torch.nn.Sequential``, with these packed parameters if given."""
        torch = require_extra("torch", "torch")
        layers = [
            self.kind.build(self.widths[n], self.widths[n + 1], self.options) for n in range(self.depth)
        ]
        module: nn.Sequential = torch.nn.Sequential(*layers)
        if parameters is not None:
            # An empty array: torch warns of read-only ones, and a result's parameters are.
            module.to(torch.from_numpy(np.empty(0, np.asarray(parameters).dtype)).dtype)
            for layer, values in zip(layers, self.unpack(parameters), strict=True):
                named = dict(layer.named_parameters())
                if set(named) != set(values):
                    raise InvalidArgument(f"the registry's layout of {self.cell} does not match its module")
                for name, value in values.items():
                    named[name].data.copy_(torch.from_numpy(value.copy()))
        return module
