"""Closed-form answers: least squares on values and on logarithms, and the ratio of two sums.

No network is trained. They are what ``WARM`` starts from and what reports show as "closed form, no network".
On the paper's tasks they are right at once, so that a formula found says nothing of a network begun there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inalu.engine.network import Network
from inalu.engine.plan import Rows
from inalu.errors import InvalidArgument

Array = NDArray[np.floating[Any]]

# Where a start is put: W = ±0.98 or 0.02, a gate at 0.98; not so far that training could not leave.
_NEAR = 4.0
_ROWS = 8192


def closed_form(network: Network, rows: Rows) -> NDArray[np.float64]:
    """Return packed weights [K] near the best closed-form answer for one output.

    One layer: weights by least squares on the values and on the logarithms. Deeper: the first layer takes two
    sums (the ratio of sums by the smallest singular vector, else least squares), the others one operation.

    Raises
    ------
    InvalidArgument
        When the cell is not an iNALU with a constant gate, the network has several outputs, or more than two
        layers.
    """
    options = network.options
    if options.get("gate") != "constant" or network.widths[-1] != 1 or network.depth > 2:
        raise InvalidArgument(
            "closed-form starts are for iNALUs of one or two layers, a constant gate and one output; "
            f"got {network}."
        )
    from inalu.engine.search import judge

    x, y = rows.x[:_ROWS].astype(np.float64), rows.y[:_ROWS].astype(np.float64)
    candidates = _one_layer(x, y[:, 0]) if network.depth == 1 else _two_layers(x, y[:, 0])
    packed = [_pack(network, layers) for layers in candidates]
    errors = [judge(network, _saturated(network, p), Rows(x, y)).mean() for p in packed]
    return packed[int(np.argmin(errors))]


def _saturated(network: Network, packed: Array) -> Array:
    return packed * (1000.0 / _NEAR)


# A layer as integers: weights [I, O] and whether each output is a sum.
_Layer = tuple[NDArray[np.float64], NDArray[np.bool_]]


def _one_layer(x: Array, y: Array) -> list[list[_Layer]]:
    values, logs = _least_squares(x, y), _least_squares(_log(x), _log(y))
    return [
        [(np.clip(np.rint(values), -1, 1)[:, None], np.array([True]))],
        [(np.clip(np.rint(logs), -1, 1)[:, None], np.array([False]))],
    ]


def _two_layers(x: Array, y: Array) -> list[list[_Layer]]:
    top, bottom = _ratio_of_sums(x, y)
    left, right = _product_of_sums(x, y)
    linear = np.clip(np.rint(_least_squares(x, y)), -1, 1)
    sums = np.array([True, True])
    zero = np.zeros_like(linear)
    return [
        [(np.stack([top, bottom], 1), sums), (np.array([[1.0], [-1.0]]), np.array([False]))],
        [(np.stack([left, right], 1), sums), (np.array([[1.0], [1.0]]), np.array([False]))],
        [(np.stack([linear, zero], 1), sums), (np.array([[1.0], [0.0]]), np.array([True]))],
    ]


def _log(values: Array) -> Array:
    return np.asarray(np.log(np.maximum(np.abs(values), 1e-7)))


def _least_squares(x: Array, y: Array) -> Array:
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def _signs(vector: Array) -> Array:
    """Entries above half of the largest, as ±1."""
    size = np.abs(vector)
    return np.asarray(np.sign(vector) * (size > 0.5 * size.max()))


def _ratio_of_sums(x: Array, y: Array) -> tuple[Array, Array]:
    """(u, v) with x·u ≈ y (x·v): the smallest singular vector of [X, -diag(y) X], rows scaled."""
    system = np.hstack([x, -y[:, None] * x]) / np.sqrt(1.0 + y[:, None] ** 2)
    # By the small Gram matrix: half of the digits are enough to round, and it is a hundred times faster.
    vector = np.linalg.eigh(system.T @ system)[1][:, 0]
    return _signs(vector[: x.shape[1]]), _signs(vector[x.shape[1] :])


def _product_of_sums(x: Array, y: Array) -> tuple[Array, Array]:
    """(u, v) with y ≈ (x·u)(x·v): E[y x xᵀ] of centred inputs has the eigenvectors u ± v."""
    moment = (x * y[:, None]).T @ x / len(x)
    values, vectors = np.linalg.eigh(moment - np.diag(np.diag(moment)))
    plus = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    minus = vectors[:, 0] * np.sqrt(max(-values[0], 0.0))
    return _signs(plus + minus), _signs(plus - minus)


def _pack(network: Network, layers: list[_Layer]) -> NDArray[np.float64]:
    packed = np.empty(network.size)
    for parts, (weights, is_sum) in zip(network.unpack(packed), layers, strict=True):
        for name, part in parts.items():
            if name == "G":
                part[:] = np.where(is_sum, _NEAR, -_NEAR)
                continue
            # The path that is not taken keeps weights 0.
            taken = is_sum if name.endswith("_a") else ~is_sum if name.endswith("_m") else True
            w = np.where(taken, weights, 0.0)
            part[:] = _NEAR * w if name.startswith("W") else np.where(w == 0, -_NEAR, _NEAR)
    return packed
