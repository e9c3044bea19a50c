"""Problems beyond `inalu.tasks.Task`: inputs with distributions of their own, several outputs, a choice.

A problem is anything with what `Problem` names; a `Task` has it too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from inalu.engine.plan import Rows, Source, TaskSource
from inalu.errors import check_choice, invalid
from inalu.expression import Expression
from inalu.tasks import Distribution, Task, key_of, parse_distribution

Floats = NDArray[np.float64]
Inputs = NDArray[np.float32]


class Problem(Protocol):
    """What is to be learned: its text form, its sets, and the formula behind them."""

    @property
    def inputs(self) -> int:
        """I."""

    def x_key(self, seed: int, name: str, rows: int) -> Hashable:
        """Equal exactly when the inputs are."""

    def draw_x(self, seed: int, name: str, rows: int) -> Inputs:
        """Draw the inputs of a set, [B, I]."""

    def compute_y(self, x: Inputs, seed: int) -> Floats:
        """Compute the outputs, [B, O]."""

    def target(self, seed: int) -> Expression | None:
        """Return the formula of the one output, or None where there is no single one."""


class Function(NamedTuple):
    """Outputs from columns: how many come out, and the formula where there is one."""

    outputs: int
    compute: Callable[[Floats], Floats]
    formula: Callable[[], Expression | None]


def _product(x: Floats) -> Floats:
    return x[:, :1] * x[:, 1:2]


def _switch(x: Floats) -> Floats:
    a, b, c = x[:, :1], x[:, 1:2], x[:, 2:3]
    return np.where(c > 0, a + b, a * b)


def _pair_sums(x: Floats) -> Floats:
    return x + np.roll(x, -1, axis=1)


FUNCTIONS = MappingProxyType(
    {
        # a·b with a sign for each input.
        "mul": Function(1, _product, lambda: Expression.column("x0") * Expression.column("x1")),
        # a + b where the third input is positive, a·b where it is not.
        "switch": Function(1, _switch, lambda: None),
        # Each of four outputs is the sum of an input and the next.
        "pair-sums": Function(4, _pair_sums, lambda: None),
    }
)


@dataclass(frozen=True, init=False)
class Columns:
    """A function of inputs that each have a distribution of their own.

    Parameters
    ----------
    function
        A name of `FUNCTIONS`.
    train, extrapolation
        A distribution, or its text form, for each input.

    Raises
    ------
    InvalidArgument
        When the function is unknown or the numbers of inputs differ.

    Examples
    --------
    >>> str(Columns("mul", ("U(1,2)", "U(-2,-1)"), ("U(2,6)", "U(-6,-2)")))
    'mul; U(1,2) & U(-2,-1) -> U(2,6) & U(-6,-2)'
    """

    function: str
    train: tuple[Distribution, ...]
    extrapolation: tuple[Distribution, ...]

    def __init__(
        self,
        function: str,
        train: tuple[Distribution | str, ...],
        extrapolation: tuple[Distribution | str, ...],
    ) -> None:
        check_choice("function", function, FUNCTIONS)
        if len(train) != len(extrapolation) or not train:
            raise invalid("train and extrapolation", "must have the same inputs", (train, extrapolation))
        object.__setattr__(self, "function", function)
        for name, parts in (("train", train), ("extrapolation", extrapolation)):
            read = tuple(parse_distribution(part) if isinstance(part, str) else part for part in parts)
            object.__setattr__(self, name, read)

    @property
    def inputs(self) -> int:
        """I."""
        return len(self.train)

    def __str__(self) -> str:
        return f"{self.function}; {self.text_of('train')} -> {self.text_of('extrapolation')}"

    def text_of(self, name: str) -> str:
        """The distributions of ``train`` or ``extrapolation`` as a text."""
        return " & ".join(map(str, getattr(self, name)))

    def x_key(self, seed: int, name: str, rows: int) -> Hashable:
        """Equal exactly when the inputs are."""
        return ("columns", name, self.text_of(self._of(name)), seed, rows)

    def draw_x(self, seed: int, name: str, rows: int) -> Inputs:
        """Draw the inputs of a set, float32 [B, I]."""
        columns = [
            part.draw(key_of("column", name, str(part), column, seed), (rows,))
            for column, part in enumerate(getattr(self, self._of(name)))
        ]
        return np.stack(columns, axis=1)

    def compute_y(self, x: Inputs, seed: int) -> Floats:
        """Compute the outputs in float64, [B, O]."""
        return FUNCTIONS[self.function].compute(x.astype(np.float64))

    def target(self, seed: int) -> Expression | None:
        """Return the formula of the one output."""
        return FUNCTIONS[self.function].formula()

    @staticmethod
    def _of(name: str) -> str:
        return "extrapolation" if name == "extrapolation" else "train"


@dataclass(frozen=True)
class ColumnsSource:
    """The training set of `Columns` for one seed."""

    problem: Columns
    seed: int
    rows: int

    @property
    def text(self) -> str:
        return str(self.problem)

    @property
    def x_key(self) -> Hashable:
        return self.problem.x_key(self.seed, "train", self.rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.rows, self.problem.inputs, FUNCTIONS[self.problem.function].outputs

    def load(self) -> Rows:
        x = self.problem.draw_x(self.seed, "train", self.rows)
        y: Any = self.problem.compute_y(x, self.seed)
        return Rows(x, y)


def source_of(problem: Task | Columns, seed: int, rows: int) -> Source:
    """Return the training rows of a problem for one seed."""
    if isinstance(problem, Task):
        return TaskSource(problem, seed, rows)
    return ColumnsSource(problem, seed, rows)
