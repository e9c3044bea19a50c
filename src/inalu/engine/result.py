"""What a training leaves: the parameters of each member, its history, and what can be done with them."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inalu.engine.forward import network_forward
from inalu.engine.plan import Member
from inalu.errors import InvalidArgument, invalid

if TYPE_CHECKING:
    from torch import nn

    from inalu.expression import Expression

Array = NDArray[np.floating[Any]]


class Status(Enum):
    """How a member ended; the value is the sentence for people."""

    FINISHED = "finished: all steps were made"
    DIVERGED = "diverged: the last epoch's loss is not finite or above the first epoch's after the last start"
    NON_FINITE = "non-finite: a parameter became NaN, and training stopped"


class Outcome(NamedTuple):
    """What a backend hands back for one member.

    ``loss`` is the mean mini-batch loss of each finished epoch; ``restarts`` the number of finished epochs at
    each restart, in order; ``steps`` the data steps made.
    """

    parameters: Array
    loss: NDArray[np.float64]
    restarts: tuple[int, ...]
    steps: int
    status: Status
    seconds: float


@dataclass(frozen=True)
class Provenance:
    """Which program made a result."""

    backend: str
    algorithm: int
    threads: int
    dtype: str
    recipe: str
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """One trained member.

    Attributes
    ----------
    member
        What was trained, with its tag.
    parameters
        Packed, [K], read-only.
    loss
        Mean mini-batch loss of each finished epoch, [epochs].
    restarts
        After how many epochs the weights were drawn anew.
    steps, status, seconds
        Data steps made, how it ended, and the time it took.
    provenance
        Backend, algorithm version, threads, recipe and library versions.
    starts, rows, error
        Of a search: how many starts it made, how many rows passed through networks, and the mean bounded
        error on training rows that the best was chosen by (`inalu.engine.search.judge`); NaN without one.
    """

    member: Member
    parameters: Array
    loss: NDArray[np.float64]
    restarts: tuple[int, ...]
    steps: int
    status: Status
    seconds: float
    provenance: Provenance
    starts: int = 1
    rows: int = 0
    error: float = math.nan

    def predict(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the member's outputs [B, O] for rows x [B, I], computed in float64.

        Raises
        ------
        InvalidArgument
            When x is not [B, I].
        """
        rows = np.asarray(x, dtype=np.float64)
        inputs = self.member.network.widths[0]
        if rows.ndim != 2 or rows.shape[1] != inputs:
            raise invalid("x", f"must have shape [rows, {inputs}]", np.shape(x))
        return np.asarray(network_forward(self.member.network, self.parameters, rows), dtype=np.float64)

    def to_module(self) -> nn.Module:
        """Return the trained network as ``torch.nn.Sequential`` of this package's layers."""
        return self.member.network.build(self.parameters)

    def snap(self, x: ArrayLike | None = None) -> Result:
        """Return this result with exact weights: -1, 0 or 1, and gates 0 or 1.

        See `inalu.snap`: an input-dependent gate needs rows ``x`` [B, I] to take its majority over.
        """
        from inalu.engine.discrete import snap_network

        rows = None if x is None else np.asarray(x, dtype=np.float64)
        network, snapped = snap_network(self.member.network, self.parameters, rows)
        return replace(self, member=replace(self.member, network=network), parameters=snapped)

    def expression(self, names: Sequence[str] | None = None, x: ArrayLike | None = None) -> Expression:
        """Return the formula of the snapped network over input names (x0, x1, … by default).

        Raises
        ------
        InvalidArgument
            When the network has several outputs, or the number of names is wrong.
        """
        from inalu.engine.discrete import network_expressions

        network = self.member.network
        labels = [f"x{i}" for i in range(network.widths[0])] if names is None else list(names)
        if len(labels) != network.widths[0]:
            raise invalid("names", f"must name the {network.widths[0]} inputs", names)
        if network.widths[-1] != 1:
            raise InvalidArgument(
                "expression() needs a network with one output; use expressions() of to_module()"
            )
        rows = None if x is None else np.asarray(x, dtype=np.float64)
        return network_expressions(network, self.parameters, labels, rows)[0]


@dataclass(frozen=True)
class Training:
    """The results of a plan, in the order of its members; those that did not end are missing."""

    results: tuple[Result, ...]
    interrupted: bool = False

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]


@cache
def library_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions that a result names: python, inalu, numpy, numba and torch where installed."""
    found = [("python", platform.python_version())]
    for name in ("inalu", "numpy", "numba", "torch"):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def status_of(parameters: Array, loss: NDArray[np.float64], first: int) -> Status:
    """Judge an ended member; ``first`` is the index of the first epoch after its last start."""
    if np.isnan(parameters).any():
        return Status.NON_FINITE
    # A run whose last restart came after its last full epoch has nothing to compare.
    if len(loss) and (not np.isfinite(loss[-1]) or loss[-1] > loss[min(first, len(loss) - 1)]):
        return Status.DIVERGED
    return Status.FINISHED
