"""What an exact path spells: sums and products of expressions with weights -1, 0 and 1. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from inalu.errors import InvalidArgument
from inalu.expression import Expression

HALF = Fraction(1, 2)


def exact_columns(weights: Sequence[Sequence[float]]) -> list[list[int]]:
    """Return weights [I][O] as columns [O][I] of -1, 0 and 1.

    Raises
    ------
    InvalidArgument
        When a weight is anything else.
    """
    for row in weights:
        for weight in row:
            if weight not in (-1, 0, 1):
                raise InvalidArgument(
                    f"network must have weights that are exactly -1, 0 or 1; got {weight!r}. "
                    "Snap it first: inalu.snap(network)."
                )
    return [[int(weight) for weight in column] for column in zip(*weights, strict=True)]


def signed_sum(inputs: Sequence[Expression], weights: Sequence[int]) -> Expression:
    """Return the sum of the inputs with weight 1 less those with weight -1."""
    total: Expression = Expression.constant(0)
    for term, weight in zip(inputs, weights, strict=True):
        if weight:
            total = total + term if weight > 0 else total - term
    return total


def signed_product(
    inputs: Sequence[Expression], weights: Sequence[int], signs: Sequence[int] | None
) -> Expression:
    """Return the product of |input| ** weight, times the signs of the inputs where ``signs`` is not 0.

    Where both are set the factor is the input itself. Without ``signs`` there are none.
    """
    product: Expression = Expression.constant(1)
    for factor, weight, sign in zip(inputs, weights, signs or [0] * len(weights), strict=True):
        magnitude = factor if weight and sign else (factor**2) ** HALF
        if weight:
            product = product * magnitude if weight > 0 else product / magnitude
        elif sign:
            product = product * factor / magnitude
    return product


def check_inputs(inputs: Sequence[Expression], count: int) -> None:
    """Raise InvalidArgument unless there are ``count`` input formulas."""
    if len(inputs) != count:
        text = f"names must have one entry for each of the {count} inputs; got {len(inputs)}."
        raise InvalidArgument(text)
