"""A task: an operation, the inputs it hides among, and the distributions of its sets.

What depends on what, so that comparisons are paired where they can be:

==============  =====================================================================
x               seed, set, distribution, number of inputs: all operations share it
which inputs    seed, number of inputs: all distributions and operations share it
y               computed in float64 from x, which is float32
==============  =====================================================================

A set of fewer rows is the beginning of the longer one.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from inalu.errors import InvalidArgument, InvalidData, check_choice, invalid
from inalu.expression import Expression
from inalu.tasks import random
from inalu.tasks.distributions import Distribution, Inputs, parse_distribution
from inalu.tasks.operations import OPERATIONS, Operation
from inalu.tasks.random import Floats, key_of

#: Rows of a set in the paper: "Each dataset contains N = 64 000 samples."
ROWS = 64_000
#: The sets of a task: interpolation is drawn like training, extrapolation from a distribution of its own.
SETS = ("train", "interpolation", "extrapolation")
#: Equal when the arrays are equal; see `Task.x_key`.
XKey: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which inputs are summed to a, which to b; the others must be ignored.

    Attributes
    ----------
    inputs : int
        Number of inputs, I.
    a, b : tuple of int
        Rising indices of inputs; b is empty when the operation does not use it and nothing is summed.
    """

    inputs: int
    a: tuple[int, ...]
    b: tuple[int, ...]

    @property
    def ignored(self) -> tuple[int, ...]:
        """The inputs that belong to neither."""
        used = {*self.a, *self.b}
        return tuple(i for i in range(self.inputs) if i not in used)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Rows of one set: ``x`` float32 [B, I] and ``y`` float64 [B, 1], both read-only."""

    x: Inputs
    y: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The three sets of a task for one seed, and which inputs they use."""

    train: Data
    interpolation: Data
    extrapolation: Data
    assignment: Assignment


@dataclass(frozen=True, slots=True, init=False)
class Task:
    """Learn y = a ∘ b.

    Parameters
    ----------
    operation : Operation or str
        One of `OPERATIONS`, or its name.
    inputs : int
        Number of inputs, I.
    train, extrapolation : Distribution or str
        Distributions of x, or their text forms; the interpolation set is drawn from ``train``.
    sums : bool
        Whether a and b are sums over two disjoint random sets of inputs, drawn once per seed. Otherwise they
        are the inputs 0 and 1.

    Raises
    ------
    InvalidArgument
        When there are fewer inputs than operands, an unknown operation or distribution, or inputs on which
        the operation has no result (negative ones under a root).

    Examples
    --------
    >>> task = Task("div", 10, "U(-1,1)", "U(-10,-5)")
    >>> str(task)
    'div; inputs=10; U(-1,1) -> U(-10,-5)'
    >>> draw = task.draw(seed=0, rows=100)
    >>> draw.train.x.shape, draw.train.y.shape, str(task.target(seed=0))
    ((100, 10), (100, 1), 'x0 / x1')
    """

    operation: Operation
    inputs: int
    train: Distribution
    extrapolation: Distribution
    sums: bool

    def __init__(
        self,
        operation: Operation | str,
        inputs: int,
        train: Distribution | str,
        extrapolation: Distribution | str,
        sums: bool = False,
    ) -> None:
        if not isinstance(operation, Operation):
            check_choice("operation", operation, OPERATIONS)
            operation = OPERATIONS[operation]
        if isinstance(train, str):
            train = parse_distribution(train)
        if isinstance(extrapolation, str):
            extrapolation = parse_distribution(extrapolation)
        count = _whole("inputs", inputs, at_least=2 if sums else operation.arity)
        for name, part in (("train", train), ("extrapolation", extrapolation)):
            if not isinstance(part, Distribution):
                raise invalid(name, "must be a distribution or its text, such as 'U(-1,1)'", part)
            if operation.minimum is not None and part.bounds[0] < operation.minimum:
                raise invalid(name, f"must not go below {operation.minimum:g} for {operation}", str(part))
        values = (operation, count, train, extrapolation, bool(sums))
        for name, value in zip(
            ("operation", "inputs", "train", "extrapolation", "sums"), values, strict=True
        ):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        sums = "; sums" if self.sums else ""
        return f"{self.operation}; inputs={self.inputs}{sums}; {self.train} -> {self.extrapolation}"

    def draw(self, seed: int, rows: int = ROWS) -> Draw:
        """Draw the three sets, ``rows`` rows each, and the assignment.

        Raises
        ------
        InvalidData
            See `draw_set`.
        """
        train, interpolation, extrapolation = (self.draw_set(seed, name, rows) for name in SETS)
        return Draw(train, interpolation, extrapolation, self.assignment(seed))

    def draw_set(self, seed: int, name: str, rows: int = ROWS) -> Data:
        """Draw one of the sets ``train``, ``interpolation``, ``extrapolation``.

        Raises
        ------
        InvalidData
            When a row has no result: a division whose divisor is exactly 0. The chance is below 1e-12 a row
            for an input and of the order of 1e-10 for a sum of inputs. Such rows are not drawn again, because
            x is shared with the other operations; another seed will do.
        """
        x = self.draw_x(seed, name, rows)
        return Data(x, self._compute_y(x, seed, name))

    def draw_x(self, seed: int, name: str, rows: int = ROWS) -> Inputs:
        """Draw the inputs of one set alone: float32 [B, I], read-only, the same for every operation."""
        distribution = self._distribution(name)
        shape = (_whole("rows", rows, at_least=1), self.inputs)
        x = distribution.draw(key_of("x", name, str(distribution), self.inputs, _seed(seed)), shape)
        x.flags.writeable = False
        return x

    def x_key(self, seed: int, name: str, rows: int = ROWS) -> XKey:
        """Return a hashable that two tasks share exactly when `draw_x` gives them the same array.

        Examples
        --------
        >>> add, div = (Task(name, 2, "U(-1,1)", "U(-10,-5)") for name in ("add", "div"))
        >>> add.x_key(0, "train") == div.x_key(0, "train")
        True
        """
        key = key_of("x", name, str(self._distribution(name)), self.inputs, _seed(seed))
        return key.text, _whole("rows", rows, at_least=1)

    def compute_y(self, x: Inputs, seed: int) -> Floats:
        """Compute y, float64 [B, 1] and read-only, for inputs x [B, I] under the seed's assignment.

        Raises
        ------
        InvalidData
            When a row has no finite result.
        """
        return self._compute_y(x, seed, "x")

    def assignment(self, seed: int) -> Assignment:
        """Return which inputs make a and b; with ``sums`` drawn from (seed, inputs) alone."""
        if self.sums:
            return _draw_assignment(_seed(seed), self.inputs)
        return Assignment(self.inputs, (0,), (1,) if self.operation.arity == 2 else ())

    def target(self, seed: int) -> Expression:
        """Return the formula over the names x0, x1, … that a snapped network must equal.

        Examples
        --------
        >>> str(Task("sub", 3, "U(-1,1)", "U(2,3)").target(seed=0))
        'x0 - x1'
        """
        used = self.assignment(seed)
        a = _sum_names(used.a)
        return self.operation.expression(a, _sum_names(used.b) if self.operation.arity == 2 else None)

    def _compute_y(self, x: Inputs, seed: int, name: str) -> Floats:
        if x.ndim != 2 or x.shape[1] != self.inputs:
            raise invalid("x", f"must have the shape [rows, {self.inputs}]", x.shape)
        used = self.assignment(seed)
        a = _sum_columns(x, used.a)
        b = _sum_columns(x, used.b) if self.operation.arity == 2 else None
        with np.errstate(all="ignore"):
            y = self.operation.apply(a, b)
        if not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y))[0])
            operands = f"a = {a[row]:g}" if b is None else f"a = {a[row]:g} and b = {b[row]:g}"
            raise InvalidData(
                f"{self}, seed {seed}: row {row} of {name} has {operands}, whose {self.operation} is not "
                "finite; another seed draws other rows."
            )
        y = y.reshape(-1, 1)
        y.flags.writeable = False
        return y

    def _distribution(self, name: str) -> Distribution:
        check_choice("set", name, SETS)
        return self.extrapolation if name == "extrapolation" else self.train


def parse_task(text: str) -> Task:
    """Read a task from its text form; blanks do not matter.

    Raises
    ------
    InvalidArgument
        With one sentence that says what is wrong with the text.

    Examples
    --------
    >>> str(parse_task("add; inputs=100; sums; N(-3,3) -> N(3,4)"))
    'add; inputs=100; sums; N(-3,3) -> N(3,4)'
    """
    form = (
        "must have the form 'div; inputs=10; U(-1,1) -> U(-10,-5)', with '; sums' after the inputs for sums"
    )
    if not isinstance(text, str):
        raise invalid("a task", form, text)
    operation, *options, sets = (part.strip() for part in text.split(";")) if ";" in text else (text, "")
    ranges = sets.split("->")
    if len(ranges) != 2:
        raise invalid("a task", form, text)
    inputs = None
    sums = False
    for option in options:
        match = re.fullmatch(r"inputs\s*=\s*(\d+)", option)
        if match and inputs is None:
            inputs = int(match[1])
        elif option == "sums" and not sums:
            sums = True
        else:
            raise InvalidArgument(f"a task {form}; got {option!r} in {text!r}.")
    if inputs is None:
        raise invalid("a task", form, text)
    return Task(operation, inputs, ranges[0], ranges[1], sums)


def _draw_assignment(seed: int, inputs: int) -> Assignment:
    """Give each input to a, b or neither with chances 1/2, 1/4, 1/4, until none of the three is left empty.

    Two inputs cannot leave one to ignore.
    """
    key = key_of("assignment", inputs, seed)
    attempt = 0
    while True:
        quarter = random.bits(key, attempt * inputs, inputs) >> np.uint64(62)
        a, b = np.flatnonzero(quarter < 2), np.flatnonzero(quarter == 2)
        if a.size and b.size and (a.size + b.size < inputs or inputs == 2):
            return Assignment(inputs, tuple(a.tolist()), tuple(b.tolist()))
        attempt += 1


def _sum_columns(x: Inputs, columns: tuple[int, ...]) -> Floats:
    """Add columns one by one in float64: a matrix product's order of additions differs between machines."""
    total = x[:, columns[0]].astype(np.float64)
    for column in columns[1:]:
        total += x[:, column]
    return total


def _sum_names(columns: tuple[int, ...]) -> Expression:
    total: Expression = Expression.column(f"x{columns[0]}")
    for column in columns[1:]:
        total = total + Expression.column(f"x{column}")
    return total


def _seed(seed: int) -> int:
    return _whole("seed", seed, at_least=0)


def _whole(name: str, value: int, *, at_least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise invalid(name, "must be a whole number", value) from None
    if isinstance(value, bool) or number < at_least:
        raise invalid(name, f"must be a whole number from {at_least} on", value)
    return number
