"""What a formula predicts for every row, and how far the rounding of its operands can carry the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Expression
from inalu.tabular.derived import Lookup
from inalu.tabular.forms import Linear, linear

Array = NDArray[np.float64]

# Float arithmetic of a few terms is off by a few units in the last place; this many times 2.2e-16.
FLOAT_NOISE = 16 * 2.220446049250313e-16


@dataclass(frozen=True)
class Prediction:
    """A formula's values and what rounding allows.

    Attributes
    ----------
    value : array of shape [rows]
        The formula evaluated; NaN where an operand is missing or a divisor is zero.
    radius : array of shape [rows]
        How far the value moves when every operand moves by half a unit, but for those that count a few things.
    radius_counts : array of shape [rows]
        The same with whole numbers taken as exact, as counts are.
    noise : array of shape [rows]
        What float arithmetic itself may be off.
    square, square_counts : arrays of shape [rows]
        The sums of the squared moves behind the two radii: what rounding is expected to do, and not its worst case.
    """

    value: Array
    radius: Array
    radius_counts: Array
    noise: Array
    square: Array
    square_counts: Array


def predict(formula: Expression, lookup: Lookup) -> Prediction:
    """Evaluate a formula and move each operand by half a unit, up and down.

    Examples
    --------
    >>> lookup = Lookup({"a": (np.array([1.2]), np.array([0.05])), "b": (np.array([3000.0]), np.array([0.5]))})
    >>> found = predict(Expression.parse("a + b"), lookup)
    >>> found.radius.round(3), found.radius_counts.round(3)
    (array([0.55]), array([0.05]))
    """
    cells = {name: lookup(name) for name in formula.columns}
    form = linear(formula)
    if form is not None:
        return _weighted(form, cells, lookup)
    values = {name: pair[0] for name, pair in cells.items()}
    value = np.asarray(formula.evaluate(values), dtype=np.float64)
    value = np.where(np.isfinite(value), value, np.nan)
    size = np.abs(value)
    radius, counts, square, square_counts = (np.zeros_like(value) for _ in range(4))
    with np.errstate(all="ignore"):
        for name, (middle, half) in cells.items():
            up = np.abs(np.asarray(formula.evaluate({**values, name: middle + half})) - value)
            down = np.abs(np.asarray(formula.evaluate({**values, name: middle - half})) - value)
            move = np.fmax(up, down)
            move = np.where(np.isfinite(move), move, np.inf)
            if not lookup.few(name):
                radius += move
                square += move * move
            if not lookup.whole(name):
                counts += move
                square_counts += move * move
            # The size of a column's part in the result: its moves are proportional to it where it matters.
            part = np.abs(move / half * middle)
            size += np.where(np.isfinite(part), part, 0.0)
    return Prediction(value, radius, counts, FLOAT_NOISE * size, square, square_counts)


def _weighted(form: Linear, cells: dict[str, tuple[Array, Array]], lookup: Lookup) -> Prediction:
    """The same for a weighted sum, which most candidates are: no operand needs to be moved."""
    rows = len(next(iter(cells.values()))[0])
    value, size = np.full(rows, float(form.constant)), np.zeros(rows)
    radius, counts, square, square_counts = (np.zeros(rows) for _ in range(4))
    with np.errstate(all="ignore"):
        for name, weight in form.weights.items():
            middle, half = cells[name]
            part = float(weight) * middle
            value = value + part
            size += np.where(np.isfinite(part), np.abs(part), 0.0)
            move = abs(float(weight)) * half
            move = np.where(np.isfinite(move), move, np.inf)
            if not lookup.few(name):
                radius += move
                square += move * move
            if not lookup.whole(name):
                counts += move
                square_counts += move * move
    value = np.where(np.isfinite(value), value, np.nan)
    noise = FLOAT_NOISE * (size + np.abs(np.nan_to_num(value)))
    return Prediction(value, radius, counts, noise, square, square_counts)
