"""Operations that are finite, forward and backward, wherever their inputs are.

The equations of the paper multiply, divide by and exponentiate numbers of any size, layer upon layer. In
float32 a sum of a few huge terms may be ``inf - inf``, and an infinite gradient times a vanished factor is
NaN. Here every result beyond the largest number becomes that number, and every gradient beyond an eighth of
it becomes that eighth, so that the gradients of a tensor used up to eight times still have a finite sum.

All work under autograd to any order, ``torch.func``, ``torch.compile`` and export; see docs/math.md.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function


class Formula(Function):
    """A formula with a gradient of its own: ``forward`` without a context, ``setup_context`` and ``backward``."""

    generate_vmap_rule = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # torch asks for it in every call, and working it out takes longer than a small matrix product.
        cls.forward.__signature__ = inspect.signature(cls.forward)  # type: ignore[attr-defined]


def apply(function: type[Formula], *inputs: Any) -> Tensor:
    """Return ``function.apply(*inputs)``, or its bare formula where PyTorch cannot map a custom gradient.

    Up to 2.13 it cannot in a compiled ``vmap`` (pytorch issue 129845). There autograd differentiates the
    formula: the same gradient, but not saturated.
    """
    result: Tensor
    if torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        result = function.forward(*inputs)
    else:
        result = function.apply(*inputs)  # type: ignore[no-untyped-call]
    return result


def occurs(t: Tensor) -> bool:
    """Return whether ``t``, a tensor of one truth value, holds; True where that cannot be known.

    It decides whether a rare case may be skipped. It cannot be known while a program is traced or mapped, and
    on an accelerator asking would wait for the device: there the rare case is always computed.
    """
    tracing = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if tracing or torch.compiler.is_compiling() or t.device.type != "cpu":
        return True
    try:
        return bool(t)
    except RuntimeError:  # vmap, and tensors without data
        return True


def all_finite(t: Tensor) -> bool:
    """Return whether every element is finite; False where that is not certain."""
    tracing = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if tracing or torch.compiler.is_compiling() or t.device.type != "cpu":
        return False
    try:
        # One pass: the sum is finite only if every element is.
        return math.isfinite(t.sum().item())
    except RuntimeError:  # vmap, and tensors without data
        return False


def no_autocast(t: Tensor) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which matrix products keep the dtype of their inputs."""
    device = t.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.autocast(device, enabled=False)
    return contextlib.nullcontext()


def saturate(t: Tensor) -> Tensor:
    """Return ``t`` with infinities replaced by the largest number."""
    largest = torch.finfo(t.dtype).max
    return t.clamp(-largest, largest)


def saturate_gradient(t: Tensor) -> Tensor:
    """Return ``t`` with everything beyond an eighth of the largest number replaced by that eighth."""
    most = torch.finfo(t.dtype).max / 8
    return t.clamp(-most, most)


def saturate_gradient_(t: Tensor) -> Tensor:
    """Do so in place, for a tensor that nothing else has seen: memory is what a large layer waits for."""
    most = torch.finfo(t.dtype).max / 8
    return nn.functional.hardtanh_(t, -most, most)


def exp(z: Tensor, bound: float = math.inf) -> Tensor:
    """Return exp(min(z, bound)), with 0 for results below e times the smallest normal number.

    On a CPU exp takes thirty times as long where its result is subnormal.
    """
    least = math.log(torch.finfo(z.dtype).tiny) + 1
    raised = z.clamp(least, bound).exp()
    return nn.functional.threshold(raised, 1.001 * math.exp(least), 0.0)


def _scaled_product(a: Tensor, b: Tensor) -> Tensor:
    """Return ``a @ b``, of which rows and columns that might overflow are scaled down meanwhile.

    The scale is a power of two. What that can lose is below 1e-35 of max|a|·max|b|, a product out of range.
    """
    info = torch.finfo(a.dtype)
    exponent = math.log2(info.max)
    large, shrink = 2.0 ** int(0.4 * exponent), 2.0 ** -int(0.6 * exponent)
    most = info.max / (4 * a.shape[-1])
    row, column = a.abs().amax(-1, keepdim=True), b.abs().amax(-2, keepdim=True)
    one = torch.ones_like(row[..., :1, :1])
    row_scale = torch.where((row > large) & (row > most / column.amax(-1, keepdim=True)), shrink * one, one)
    column_scale = torch.where(
        (column > large) & (column > most / row.amax(-2, keepdim=True)), shrink * one, one
    )
    product = (a * row_scale) @ (b * column_scale) / row_scale / column_scale
    # An input that is not finite is not ours to repair.
    return torch.where(torch.isfinite(row) & torch.isfinite(column), saturate(product), product)


class _Matmul(Formula):
    """a [B, I] @ b [I, O], with gradients that are the same kind of product."""

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        with no_autocast(a):
            if 0 in (*a.shape, b.shape[-1]):
                return a @ b
            if torch.compiler.is_compiling():
                return _scaled_product(a, b)
            plain = a @ b
            if all_finite(plain):
                return plain
            return torch.where(torch.isfinite(plain), plain, _scaled_product(a, b))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        grad_a = saturate_gradient_(matmul(d, b.mT)) if ctx.needs_input_grad[0] else None
        grad_b = saturate_gradient_(matmul(a.mT, d)) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


class _LogMagnitude(Formula):
    """log(max(|x|, epsilon)); the gradient is 0 where |x| <= epsilon."""

    @staticmethod
    def forward(x: Tensor, epsilon: float) -> Tensor:
        return x.abs().clamp_min_(epsilon).log_()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.epsilon = inputs[1]

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        inside = torch.ops.aten.hardshrink_backward(d, x.detach(), ctx.epsilon)
        return saturate_gradient_(inside / x.abs().clamp_min_(ctx.epsilon).copysign_(x)), None


class _ExpBelow(Formula):
    """exp(min(z, omega)); the gradient is 0 where z >= omega."""

    @staticmethod
    def forward(z: Tensor, omega: float) -> Tensor:
        return exp(z, omega)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.omega = inputs[1]

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, None]:
        z, m = ctx.saved_tensors
        inside = torch.ops.aten.hardtanh_backward(d, z.detach(), -math.inf, ctx.omega)
        return saturate_gradient_(inside * m), None


class _Mix(Formula):
    """g * a + (1 - g) * m for a gate g of shape [O], [B, 1] or [B, O]."""

    @staticmethod
    def forward(g: Tensor, a: Tensor, m: Tensor) -> Tensor:
        return g * a + (1 - g) * m

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g, a, m = ctx.saved_tensors
        d = saturate_gradient(d)
        toward_a = d * g
        slope = saturate_gradient_((a - m) * d)
        # Sums over the broadcast dimension as matrix products, which cannot overflow.
        if g.ndim < a.ndim:
            slope = matmul(torch.ones_like(a[:, :1]).mT, slope)[0]
        elif g.shape[-1] < a.shape[-1]:
            slope = matmul(slope, torch.ones_like(a[:1]).mT)
        return saturate_gradient(slope), toward_a, d - toward_a


class _Product(Formula):
    """m * s, element by element."""

    @staticmethod
    def forward(m: Tensor, s: Tensor) -> Tensor:
        return m * s

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, Tensor]:
        m, s = ctx.saved_tensors
        return saturate_gradient_(d * s), saturate_gradient_(d * m)


class _Bounded(Formula):
    """clamp(w, low, high); the gradient is 0 only where a step against it would lead further out."""

    @staticmethod
    def forward(w: Tensor, low: float, high: float) -> Tensor:
        return w.clamp(low, high)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.bounds = inputs[1:]

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, None, None]:
        (w,), (low, high) = ctx.saved_tensors, ctx.bounds
        outward = ((w > high) & (d < 0)) | ((w < low) & (d > 0))
        return d * ~outward, None, None


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return ``a @ b`` for a [B, I] and b [I, O], never NaN for finite inputs, in full precision."""
    return apply(_Matmul, a, b)


def log_magnitude(x: Tensor, epsilon: float) -> Tensor:
    """Return log(max(|x|, epsilon)), whose gradient is 0 where |x| <= epsilon."""
    return apply(_LogMagnitude, x, epsilon)


def exp_below(z: Tensor, omega: float) -> Tensor:
    """Return exp(min(z, omega)), whose gradient is 0 where z >= omega."""
    # Not beyond what the dtype can hold: float16 ends at exp(11).
    bound = min(omega, math.log(torch.finfo(z.dtype).max) - 0.01)
    return apply(_ExpBelow, z, bound)


def mix(g: Tensor, a: Tensor, m: Tensor) -> Tensor:
    """Return g * a + (1 - g) * m for a and m [B, O] and g [O], [B, 1] or [B, O]."""
    return apply(_Mix, g, a, m)


def product(m: Tensor, s: Tensor) -> Tensor:
    """Return m * s, both [B, O]."""
    return apply(_Product, m, s)


def bounded(w: Tensor, low: float, high: float) -> Tensor:
    """Return clamp(w, low, high) for weights that may be pulled back from beyond a bound, and not pushed on.

    Articles with linear weights cut them back after each step. For an optimizer that is not ours this is the
    same, but for what its momentum carries beyond the bound meanwhile.
    """
    return apply(_Bounded, w, low, high)
