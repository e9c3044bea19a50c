"""The arithmetic that a network has to learn: y = a ∘ b, as frozen values in the dict `OPERATIONS`.

The four of the paper's experiments, and the three of the NALU paper that it leaves out as special cases:
identity, square and square root, which do not use b.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from inalu.tasks.random import Floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inalu.expression import Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; use those in `OPERATIONS`.

    Attributes
    ----------
    name, symbol : str
        ``div`` and ``÷``.
    arity : int
        2 when b is used, else 1.
    minimum : float or None
        The smallest operand that has a result, where there is one: 0 for the square root.

    Examples
    --------
    >>> import numpy as np
    >>> OPERATIONS["sub"].apply(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    name: str
    symbol: str
    arity: int
    minimum: float | None = None
    _numbers: Callable[[Any, Any], Any] = field(default=operator.add, repr=False, compare=False)
    _formula: Callable[[Any, Any], Any] = field(default=operator.add, repr=False, compare=False)

    def apply(self, a: Floats, b: Floats | None = None) -> Floats:
        """Compute y in float64; ``b`` may be left out when the arity is 1."""
        a = np.asarray(a, np.float64)
        result: Floats = self._numbers(a, None if b is None else np.asarray(b, np.float64))
        return result

    def expression(self, a: Expression, b: Expression | None = None) -> Expression:
        """Return the formula a ∘ b of two formulas; ``b`` may be left out when the arity is 1."""
        result: Expression = self._formula(a, b)
        return result

    def __str__(self) -> str:
        return self.name


def _identity(a: Any, b: Any) -> Any:
    return a


def _square(a: Any, b: Any) -> Any:
    return a * a


def _sqrt(a: Any, b: Any) -> Any:
    return np.sqrt(a)


def _power_two(a: Any, b: Any) -> Any:
    return a**2


def _power_half(a: Any, b: Any) -> Any:
    return a**0.5


_ALL = (
    Operation("add", "+", 2, None, operator.add, operator.add),
    Operation("sub", "−", 2, None, operator.sub, operator.sub),
    Operation("mul", "×", 2, None, operator.mul, operator.mul),
    Operation("div", "÷", 2, None, operator.truediv, operator.truediv),
    Operation("identity", "=", 1, None, _identity, _identity),
    Operation("square", "²", 1, None, _square, _power_two),
    Operation("sqrt", "√", 1, 0.0, _sqrt, _power_half),
)

#: Every operation by name; read only.
OPERATIONS: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _ALL})
