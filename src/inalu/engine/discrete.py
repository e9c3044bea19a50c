"""Soft → exact for packed parameters, in NumPy: snapped weights and the formula that they spell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inalu.engine.forward import effective, layer_forward, sigmoid
from inalu.engine.network import Network
from inalu.errors import InvalidArgument, require_extra
from inalu.expression import Expression

Array = NDArray[np.floating[Any]]

# tanh and the logistic function are exactly 1 in float64 beyond this, and σ(-FAR) is exactly 0.
FAR = 1000.0
# An output whose weights are all below this has none to speak of.
NOISE = 0.05


Rounding = Literal["nearest", "relative"]


def snap_network(
    network: Network, parameters: Array, x: Array | None = None, *, rounding: Rounding = "nearest"
) -> tuple[Network, NDArray[np.float64]]:
    """Return a network and packed parameters with weights exactly -1, 0 or 1 and gates exactly 0 or 1.

    A gate that depends on the input becomes constant, so the network may be another one than was given.

    Parameters
    ----------
    network, parameters
        The member, packed [K].
    x
        Rows [B, I], needed where a gate depends on the input: it becomes the majority of its value over them.
    rounding
        ``nearest``: each weight by itself. ``relative``: a weight becomes ±1 where it is more than half of
        the largest of its output, else 0, which is meant where only the ratio of two outputs is determined.
        Cells that were added have ``nearest``, their own.

    Raises
    ------
    InvalidArgument
        When a gate depends on the input and x is missing, or the cell has no exact form.
    """
    if network.kind.parameters is None:
        return network, _snap_module(network, parameters, x)
    exact = _with_constant_gate(network)
    snapped = np.empty(exact.size)
    rows = x
    for soft, hard in zip(network.unpack(parameters.astype(np.float64)), exact.unpack(snapped), strict=True):
        _snap_weights(soft, hard, rounding)
        if "G" in soft:
            hard["G"][:] = np.where(_open_gate(soft["G"], network, rows), FAR, -FAR)
        if rows is not None:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                rows = layer_forward(rows, hard, exact.options)
    return exact, snapped


def network_expressions(
    network: Network, parameters: Array, names: Sequence[str], x: Array | None = None
) -> tuple[Expression, ...]:
    """Return one formula an output, simplified, of the network snapped over input names."""
    exact, snapped = snap_network(network, parameters, x)
    if exact.kind.parameters is None:
        from inalu.layers.snap import expressions

        return expressions(exact.build(snapped), names)
    columns = [Expression.column(name) for name in names]
    for layer in exact.unpack(snapped):
        columns = _layer_expressions(layer, exact, columns)
    return tuple(column.simplify() for column in columns)


def _snap_module(network: Network, parameters: Array, x: Array | None) -> NDArray[np.float64]:
    """Ask the module, for a cell whose equations are in no other place."""
    torch = require_extra("torch", "torch")
    from inalu.layers.snap import snap

    rows = None if x is None else torch.from_numpy(np.array(x, dtype=np.float64))
    exact = snap(network.build(parameters.astype(np.float64)), rows)
    snapped: NDArray[np.float64] = np.concatenate([p.detach().numpy().ravel() for p in exact.parameters()])
    if snapped.shape != (network.size,):
        raise InvalidArgument(
            f"the exact form of the cell {network.cell!r} has other parameters than the cell; "
            "use to_module() and inalu.snap on the network."
        )
    return snapped


def _with_constant_gate(network: Network) -> Network:
    options = network.options
    if options.get("gate", "constant") == "constant":
        return network
    if "weights" in options:
        return Network(network.cell, network.widths, **{**dict(network.overrides), "gate": "constant"})
    # The original NALU is the shared iNALU without clipping and sign vector.
    return Network(
        "inalu-shared", network.widths, omega=None, sign=False, epsilon=options["epsilon"], gate="constant"
    )


def _snap_weights(soft: dict[str, Array], hard: dict[str, Array], rounding: Rounding) -> None:
    for path in ("", "_a", "_m"):
        if f"W_hat{path}" not in soft:
            continue
        weight = effective(soft[f"W_hat{path}"], soft[f"M_hat{path}"])
        if rounding == "relative":
            largest = np.abs(weight).max(axis=0)
            weight = np.sign(weight) * ((np.abs(weight) > 0.5 * largest) & (largest > NOISE))
        weight = np.rint(weight)
        hard[f"W_hat{path}"][:] = FAR * weight
        hard[f"M_hat{path}"][:] = np.where(weight == 0, -FAR, FAR)


def _open_gate(gate: Array, network: Network, rows: Array | None) -> NDArray[np.bool_]:
    """Whether each output's gate is nearer to the summative path."""
    if network.options.get("gate") == "constant":
        return np.asarray(gate > 0)
    if rows is None:
        raise InvalidArgument(
            "x must be given, since the gate of this cell depends on the input; "
            "pass rows to take its majority over."
        )
    return np.asarray((rows @ gate > 0).mean(axis=0) > 0.5)


def _layer_expressions(
    layer: dict[str, Array], network: Network, inputs: list[Expression]
) -> list[Expression]:
    shared = "W_hat" in layer
    w_a = effective(layer["W_hat" if shared else "W_hat_a"], layer["M_hat" if shared else "M_hat_a"])
    w_m = w_a if shared else effective(layer["W_hat_m"], layer["M_hat_m"])
    signed = bool(network.options.get("sign", False))
    gate = sigmoid(np.broadcast_to(layer["G"], (w_a.shape[1],))) if "G" in layer else np.ones(w_a.shape[1])
    outputs = []
    for o in range(w_a.shape[1]):
        if gate[o] > 0.5:
            outputs.append(_sum(inputs, w_a[:, o]))
        else:
            outputs.append(_product(inputs, w_m[:, o], signed))
    return outputs


def _sum(inputs: list[Expression], weights: Array) -> Expression:
    total = Expression.constant(0)
    for column, weight in zip(inputs, weights, strict=True):
        if weight:
            total = total + column if weight > 0 else total - column
    return total


def _product(inputs: list[Expression], weights: Array, signed: bool) -> Expression:
    product = Expression.constant(1)
    for column, weight in zip(inputs, weights, strict=True):
        if weight:
            # Without the sign vector the path sees |x|.
            factor = column if signed else (column**2) ** Fraction(1, 2)
            product = product * factor if weight > 0 else product / factor
    return product
