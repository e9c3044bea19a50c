"""Plan: networks × recipe × data × seeds, validated and packed; nothing after this tests user input."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from inalu.engine.network import Network
from inalu.engine.recipe import LevenbergMarquardt, Recipe
from inalu.errors import InvalidData, check_choice, invalid
from inalu.layers.laws import Law
from inalu.tasks import random
from inalu.tasks.task import Task

DType = Literal["float32", "float64"]
Array = NDArray[np.floating[Any]]


class Rows(NamedTuple):
    """Training rows: ``x`` [B, I] and ``y`` [B, O], row-major and read-only."""

    x: Array
    y: Array


class Source(Protocol):
    """Where training rows come from; loaded by the backend that needs them, and not kept."""

    @property
    def text(self) -> str:
        """What initial weights are drawn for: the same text gives the same weights."""

    @property
    def x_key(self) -> Hashable:
        """Equal exactly when two sources have the same x, so that a backend may load it once."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows B, inputs I, outputs O."""

    def load(self) -> Rows:
        """Return the rows."""


@dataclass(frozen=True)
class TaskSource:
    """The training set of a task for one seed."""

    task: Task
    seed: int
    rows: int = 64_000

    @property
    def text(self) -> str:
        return str(self.task)

    @property
    def x_key(self) -> Hashable:
        return self.task.x_key(self.seed, "train", self.rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.rows, self.task.inputs, 1

    def load(self) -> Rows:
        data = self.task.draw_set(self.seed, "train", self.rows)
        return Rows(data.x, data.y)


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows that the caller has.

    Parameters
    ----------
    x, y
        [B, I] and [B] or [B, O]; finite, not empty. They are not copied where they are arrays already.
    name
        Stands for the data where initial weights are drawn.

    Raises
    ------
    InvalidData
        When the arrays are empty, ragged, of different length or not finite.
    """

    x: Array
    y: Array
    name: str = "array"

    def __post_init__(self) -> None:
        x, y = _matrix("X", self.x), _matrix("y", self.y)
        if len(x) != len(y):
            raise InvalidData(f"X and y must have the same number of rows; got {len(x)} and {len(y)}.")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    @property
    def text(self) -> str:
        return self.name

    @property
    def x_key(self) -> Hashable:
        return id(self.x)

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.x), self.x.shape[1], self.y.shape[1]

    def load(self) -> Rows:
        return Rows(self.x, self.y)


def _matrix(name: str, values: object) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidData(
            f"{name} must be a table of numbers; it holds other things or ragged rows."
        ) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidData(f"{name} must be [rows, columns] and not empty; got shape {array.shape}.")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidData(
            f"{name} must be finite; {int(bad.sum())} of {len(array)} rows hold NaN or infinity, "
            f"the first is row {row}. Drop them or fill them in."
        )
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    """One network of a population.

    Attributes
    ----------
    network, source
        What is trained, on what.
    seed
        Of the initial weights.
    start
        k: the number of the start for the same task and seed; each k has weights of its own.
    law
        Of the initial weights; None takes the recipe's.
    initial
        Packed initial weights [K] instead of drawn ones.
    tag
        Anything the caller wants to find again in the result.
    """

    network: Network
    source: Source
    seed: int = 0
    start: int = 0
    law: Law | None = None
    initial: Array | None = None
    tag: Hashable = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A population to be trained under one recipe.

    Raises
    ------
    InvalidArgument, InvalidData
        When there is no member, widths do not fit the data, or initial weights have the wrong shape.

    Examples
    --------
    >>> from inalu.engine.recipe import PAPER
    >>> from inalu.tasks import parse_task
    >>> task = parse_task("add; inputs=2; U(-1,1) -> U(-10,-5)")
    >>> member = Member(network=Network("inalu-independent", (2, 1)), source=TaskSource(task, 100), seed=100)
    >>> Plan(members=[member], recipe=PAPER).steps(member)
    100000
    """

    members: Sequence[Member]
    recipe: Recipe
    dtype: DType = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if not self.members:
            raise invalid("members", "must hold at least one member", 0)
        for member in self.members:
            _check_member(member)
            if self.recipe.loss in ("paths", "sampson-paths") and not member.network.kind.law:
                raise invalid(
                    "recipe",
                    f"with the loss {self.recipe.loss!r} needs a cell of the paper, not {member.network.cell!r}",
                    self.recipe.name,
                    fix="recipe=PAPER trains any cell",
                )
            if isinstance(self.recipe.optimizer, LevenbergMarquardt):
                _check_second_order(member, self.recipe)

    def steps(self, member: Member) -> int:
        """S, the number of data steps of a member's training."""
        rows = member.source.shape[0]
        return self.recipe.epochs * -(-rows // self.recipe.batch)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of members that share x and network, in order: what a backend may walk together."""
        groups: dict[Hashable, list[int]] = {}
        for index, member in enumerate(self.members):
            groups.setdefault((member.source.x_key, member.network), []).append(index)
        return tuple(tuple(g) for g in groups.values())

    def starts(self, index: int) -> Array:
        """Draw the weights [R, K] of one member: row 0 its first start, the others for restarts."""
        member, recipe = self.members[index], self.recipe
        law = member.law or recipe.law
        starts = np.empty((recipe.starts, member.network.size), dtype=self.dtype)
        if member.initial is not None:
            starts[0] = member.initial
        else:
            starts[0] = draw_weights(member, law, member.start)[0]
        if recipe.reinitialization is not None and recipe.starts > 1:
            rule = recipe.reinitialization
            starts[1:] = draw_weights(member, rule.law, f"{member.start} restarts", recipe.starts - 1)
        return starts


def _check_member(member: Member) -> None:
    rows, inputs, outputs = member.source.shape
    widths = member.network.widths
    if rows < 1:
        raise InvalidData("the training data has no rows.")
    if (inputs, outputs) != (widths[0], widths[-1]):
        raise invalid(
            "widths",
            f"must begin with the data's {inputs} inputs and end with its {outputs} outputs",
            widths,
        )
    if member.initial is not None and np.shape(member.initial) != (member.network.size,):
        raise invalid("initial", f"must have shape ({member.network.size},)", np.shape(member.initial))


def _check_second_order(member: Member, recipe: Recipe) -> None:
    rows, _, _ = member.source.shape
    if recipe.batch < rows:
        raise invalid(
            "Recipe.batch", f"must be at least the {rows} rows with LevenbergMarquardt: a step takes them all",
            recipe.batch,
        )  # fmt: skip
    if not second_order(member.network):
        raise invalid(
            "recipe", f"with LevenbergMarquardt needs constant gates and a sign as in the text, not {member.network}",
            recipe.name, fix="recipe=PAPER trains any cell",
        )  # fmt: skip


def second_order(network: Network) -> bool:
    """Whether `LevenbergMarquardt` trains this network: a cell of the paper whose gates do not see the input."""
    options = network.options
    gate = options.get("gate", "constant")
    return network.kind.law and gate == "constant" and options.get("sign", False) != "published"


def draw_weights(member: Member, law: Law, k: int | str, count: int = 1) -> Array:
    """Draw packed weights [count, K] that depend on (seed, task, network, law, k) and nothing else."""
    network = member.network
    key = random.key_of("weights", member.seed, member.source.text, str(network), str(law), k)
    if not network.kind.law:
        words = random.bits(key, 0, count) >> np.uint64(1)
        return np.stack([_own_weights(network, int(word)) for word in words])
    shape = (count, network.size)
    standard = random.normal(key, shape)
    unit = random.uniform(random.key_of(key, "uniform"), shape)
    values = np.empty(shape)
    for slot in network.slots:
        part = slice(slot.start, slot.stop)
        values[:, part] = law.of(slot.name).values(standard[:, part], unit[:, part])
    return values


def _own_weights(network: Network, seed: int) -> Array:
    """Weights from the modules' own reset_parameters, for cells outside the paper's families."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    module = network.build()
    for layer in module.children():
        layer.reset_parameters(generator=generator)  # type: ignore[operator]
    values: Iterable[Array] = (p.detach().double().numpy().ravel() for p in module.parameters())
    return np.concatenate(list(values))
