"""Soft → exact: snapping a trained network, how discrete it is, and the formula that it spells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from inalu.errors import InvalidArgument, invalid
from inalu.expression import Expression
from inalu.layers.base import ArithmeticLayer, Snapped, cells
from inalu.layers.formulas import check_inputs, signed_sum


@torch.no_grad()
def snap(module: nn.Module, x: Tensor | None = None) -> nn.Module:
    """Return a copy whose effective weights are exactly -1, 0 or 1 and whose gates are exactly 0 or 1.

    A weight goes to the nearest of the three. A gate that looks at its input becomes its majority over the
    rows that reach it first when the copy, exact up to there, is called with ``x``; such a cell turns into
    one with a constant gate. Parts that are not cells stay as they are.

    Parameters
    ----------
    module
        A cell or a network of cells and other modules; it is not changed.
    x
        An input of ``module``; needed only for gates that look at their input.

    Returns
    -------
    torch.nn.Module
        Its attribute ``minority_share`` is the largest share of rows on which a gate was overruled, 0.0 when
        all rows agreed.

    Raises
    ------
    InvalidArgument
        When there is no cell, or a gate needs x and x is not given.

    Examples
    --------
    >>> from inalu.layers import INALU
    >>> layer = INALU(2, 1, generator=torch.Generator().manual_seed(0), law="signs")
    >>> snap(layer).effective_weights()["W_m"].abs().tolist()
    [[1.0], [1.0]]
    """
    copy = deepcopy(module)
    # Snapped from the original, whose copies do not carry the hook along.
    source = dict(zip(cells(copy), cells(module), strict=True))
    found: dict[ArithmeticLayer, Snapped] = {}

    def exact(cell: ArithmeticLayer, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        if cell not in found:
            found[cell] = source[cell].snapped(inputs[0].reshape(-1, cell.in_features))
        result: Tensor = found[cell].layer(inputs[0])
        return result

    if x is not None:
        _call(copy, x, list(source), exact)
    for cell, original in source.items():
        if cell not in found:
            found[cell] = original.snapped()
    for part in list(copy.modules()):
        # Not named_children(): it names a child that stands in two places only once.
        for name, child in list(part._modules.items()):
            if isinstance(child, ArithmeticLayer):
                setattr(part, name, found[child].layer)
    result: nn.Module = found[copy].layer if isinstance(copy, ArithmeticLayer) else copy
    result.minority_share = max(snapped.minority for snapped in found.values())  # type: ignore[assignment]
    return result


@torch.no_grad()
def discreteness(module: nn.Module, x: Tensor | None = None) -> float:
    """Return the sparsity error of Madsen and Johansen, gates included: 0 is exact, 0.5 the worst.

    It is the largest distance of an effective weight from the nearest of -1, 0 and 1, and of a gate from the
    nearest of 0 and 1.

    Parameters
    ----------
    module
        A cell or a network with cells.
    x
        An input of ``module``. Without it gates that look at their input cannot be judged and are left out.

    Raises
    ------
    InvalidArgument
        When there is no cell.

    Examples
    --------
    >>> from inalu.layers import INALU
    >>> discreteness(snap(INALU(3, 2)))
    0.0
    """
    distances: list[Tensor] = []
    for cell in cells(module):
        weights = [w.abs() for w in cell.effective_weights().values()]
        distances += [torch.minimum(w, (1 - w).abs()) for w in weights]
        if x is None and (gate := cell.gate_values()) is not None:
            distances.append(torch.minimum(gate, 1 - gate))

    def look(cell: ArithmeticLayer, inputs: tuple[Tensor], output: Tensor) -> None:
        gate = cell.gate_values(inputs[0].reshape(-1, cell.in_features))
        if gate is not None:
            distances.append(torch.minimum(gate, 1 - gate))

    if x is not None:
        _call(module, x, cells(module), look)
    return max((float(d.max()) for d in distances if d.numel()), default=0.0)


def expressions(network: nn.Module, names: Sequence[str]) -> tuple[Expression, ...]:
    """Return the formulas of all outputs of a snapped network, simplified; see `expression`."""
    if isinstance(names, str):
        raise invalid("names", "must be a sequence of column names", names, fix=f"[{names!r}]")
    inputs = [Expression.column(name) for name in names]
    return tuple(formula.simplify() for formula in _formulas(network, inputs))


def expression(network: nn.Module, names: Sequence[str], *, output: int | None = None) -> Expression:
    """Return the formula of a snapped network over named inputs.

    The network may be a cell, ``torch.nn.Sequential`` of any depth, and ``torch.nn.Linear``, ``Identity``,
    ``Dropout`` and ``Flatten`` between cells, or any module with a method ``formulas(inputs)``. The formula
    has no ε and no ω: where |x| > ε and sums in log-space are below ω it is what the network computes.

    Parameters
    ----------
    network
        What `snap` returned.
    names
        One name an input, in order.
    output
        Which output; may be left out when there is only one.

    Raises
    ------
    InvalidArgument
        When the network is not exact, has a part without a formula, or ``names`` or ``output`` does not fit.

    Examples
    --------
    >>> from inalu.layers import INALU
    >>> layer = INALU(2, 1).requires_grad_(False)
    >>> _ = layer.M_hat_m.fill_(20), layer.W_hat_m.copy_(torch.tensor([[20], [-20]])), layer.G.fill_(-20)
    >>> print(expression(snap(layer), ["price", "units"]))
    price / units
    """
    formulas = expressions(network, names)
    if output is None and len(formulas) > 1:
        fix = "expressions() returns all"
        raise invalid("output", f"must be given for a network with {len(formulas)} outputs", output, fix=fix)
    if output is not None and not -len(formulas) <= output < len(formulas):
        raise invalid("output", f"must be below the {len(formulas)} outputs of the network", output)
    return formulas[output or 0]


def _formulas(module: nn.Module, inputs: Sequence[Expression]) -> list[Expression]:
    if isinstance(module, ArithmeticLayer | nn.Linear):
        check_inputs(inputs, module.in_features)
    if isinstance(module, nn.Sequential):
        for part in module:
            inputs = _formulas(part, inputs)
        return list(inputs)
    if isinstance(module, nn.Identity | nn.Dropout | nn.Flatten):
        return list(inputs)
    if isinstance(module, nn.Linear):
        return _linear(module, inputs)
    formulas: Callable[[Sequence[Expression]], list[Expression]] | None = getattr(module, "formulas", None)
    if formulas is None:
        name = type(module).__name__
        raise InvalidArgument(
            f"network must be made of cells, Sequential and Linear; got {name}. "
            f"Give {name} a method formulas(inputs), or snap and read its parts one by one."
        )
    return formulas(inputs)


def _linear(module: nn.Linear, inputs: Sequence[Expression]) -> list[Expression]:
    def decimal(value: np.floating[Any]) -> Expression:
        # The shortest decimal that is this number in its own precision, not in float64.
        return Expression.constant(float(str(value)))

    weight = module.weight.detach().cpu().numpy()
    outputs = []
    for o, row in enumerate(weight):
        terms = [decimal(w) * column for w, column in zip(row, inputs, strict=True) if w]
        if module.bias is not None:
            terms.append(decimal(module.bias.detach().cpu().numpy()[o]))
        outputs.append(signed_sum(terms, [1] * len(terms)))
    return outputs


def _call(
    module: nn.Module, x: Tensor, parts: Sequence[nn.Module], hook: Callable[..., Tensor | None]
) -> None:
    """Call a network in evaluation mode with a hook on these parts, and leave its modes as they were."""
    modes = {part: part.training for part in module.modules()}
    handles = [part.register_forward_hook(hook) for part in parts]
    try:
        module.eval()(x)
    finally:
        for handle in handles:
            handle.remove()
        for part, mode in modes.items():
            part.training = mode
