"""The paper's equations, literally: float64, one tensor [B, I, O] for the sign, gradients by autograd.

`Literal` is one layer with the parameters of a layer under test. Beside every quantity it has the bound on
its error: the tolerance times the same quantity computed with the absolute values of its terms, where a sum
in log-space may be off by 8·eps·Σ|W·log|x||, whatever it is raised to or multiplied with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

# float32 and float64: what issue and paper ask of an error, relative to the absolute values of the terms.
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def literal_sign(x: Tensor, w: Tensor) -> Tensor:
    """Equations (msm) and (msv), [B, I, O] and all."""
    msm = torch.sign(x)[:, :, None] * w.abs() + 1 - w.abs()
    return msm.prod(1)


def published_sign(x: Tensor, w: Tensor) -> Tensor:
    """The published code's lines, with its names, from TensorFlow to torch word by word."""
    flat = w.reshape(-1).abs()
    tiled = torch.cat([x] * w.shape[1], dim=1).reshape(-1, w.shape[0] * w.shape[1])
    sgn = torch.sign(tiled) * flat + (1 - flat)
    return sgn.reshape(-1, w.shape[1], w.shape[0]).prod(2)


class Literal:
    """One layer in float64, its outputs, its gradients, and the bounds on the error of each."""

    def __init__(self, layer: Any, x: Tensor, cotangent: Tensor) -> None:
        self.layer, self.tolerance = layer, TOLERANCE[x.dtype]
        self.eps, self.tiny = torch.finfo(x.dtype).eps, torch.finfo(x.dtype).tiny
        self.p = {name: p.detach().double().requires_grad_() for name, p in layer.named_parameters()}
        self.x = x.detach().double().requires_grad_()
        self.c = cotangent.double()
        self.omega, self.sign = getattr(layer, "omega", None), getattr(layer, "sign", False)
        self.y = self.forward()
        leaves = {"x": self.x, **self.p}
        found = torch.autograd.grad(self.y, list(leaves.values()), self.c, materialize_grads=True)
        self.gradients = dict(zip(leaves, found, strict=True))

    def forward(self) -> Tensor:
        p, x = self.p, self.x
        paths = ("", "") if "W_hat" in p else ("_a", "_m")
        w_a, w_m = (torch.tanh(p["W_hat" + n]) * torch.sigmoid(p["M_hat" + n]) for n in paths)
        self.w_a, self.w_m, self.a = w_a, w_m, x @ w_a
        if "G" not in p:
            return self.a
        epsilon = self.layer.epsilon
        if self.omega is None:
            self.size = x.abs() + epsilon
        else:
            self.size = torch.maximum(x.abs(), torch.full_like(x, epsilon))
        self.z = self.size.log() @ w_m
        self.m = self.z.exp() if self.omega is None else self.z.clamp(max=self.omega).exp()
        signs = {False: lambda x, w: 1.0, True: literal_sign, "published": published_sign}
        self.s = signs[self.sign](x, w_m)
        constant = getattr(self.layer, "gate", "vector") == "constant"
        self.g = torch.sigmoid(p["G"] if constant else x @ p["G"])
        return self.g * self.a + (1 - self.g) * self.m * self.s

    @torch.no_grad()
    def bounds(self) -> dict[str, Tensor]:
        """Return the largest error that y and each gradient may have."""
        x, c, p, tol = self.x.abs(), self.c.abs(), self.p, self.tolerance
        a = x @ self.w_a.abs()
        bound = {"y": tol * a}
        toward_a, toward_w_m = c, torch.zeros_like(self.w_m)
        toward_x = torch.zeros_like(x)
        if "G" in p:
            g = self.g
            log = self.size.log().abs()
            # The tolerance of a sum in log-space is a relative one of m; the product of the sign vector's
            # terms, (1 - |W|) + |W|, is 1.
            m = self.m * (tol + 8 * self.eps * (log @ self.w_m.abs()))
            gate = tol * torch.ones_like(g)
            if g.ndim == 2:
                gate = gate + (g * (1 - g)) * tol * (x @ p["G"].abs())
            bound["y"] = g * tol * a + (1 + g) * m + gate * (a + self.m)
            toward_a = c * (g + gate / tol)
            toward_m = c * ((1 + g) * m + gate * self.m)
            toward_w_m = log.T @ toward_m
            if self.sign is not False:
                signing = 2 * (torch.ones_like(x).T @ toward_m)
                toward_w_m += signing.T.reshape(signing.shape) if self.sign == "published" else signing
            slope = c * (tol * a + m + gate / tol * (tol * a + m))
            if g.ndim == 1:
                bound["G"] = slope.sum(0) * g * (1 + g)
            else:
                slope = slope.sum(1, keepdim=True) if g.shape[1] < c.shape[1] else slope
                bound["G"] = x.T @ (slope * g * (1 + g))
                toward_x += (slope * g * (1 + g)) @ p["G"].abs().T
            toward_x += toward_m @ self.w_m.abs().T / self.size
        toward_x += tol * toward_a @ self.w_a.abs().T
        toward_w_a = tol * x.T @ toward_a
        bound["x"] = toward_x
        if "W_hat" in p:
            toward = {"": toward_w_a + toward_w_m}
        else:
            toward = {"_a": toward_w_a, "_m": toward_w_m}
        for path, d in toward.items():
            t, s = torch.tanh(p["W_hat" + path]).abs(), torch.sigmoid(p["M_hat" + path])
            bound["W_hat" + path] = d * s * (1 + t * t)
            bound["M_hat" + path] = d * t * s * (1 + s)
        return {name: b + self.tiny for name, b in bound.items()}

    def worst(self, y: Tensor, gradients: dict[str, Tensor]) -> dict[str, float]:
        """Return for y and each gradient of the layer under test the largest error, in units of its bound."""
        bounds, truth = self.bounds(), {"y": self.y.detach(), **self.gradients}
        found = {"y": y, **gradients}
        assert set(found) == set(truth) == set(bounds)
        # Not max(): it would drop a NaN.
        return {n: float(((found[n].double() - truth[n]).abs() / bounds[n]).max()) for n in truth}


def worst_errors(layer: Any, x: Tensor, cotangent: Tensor) -> dict[str, float] | None:
    """Return the errors in units of what is allowed; None where the truth is beyond the dtype."""
    x = x.detach().requires_grad_()
    y = layer(x)
    leaves = {"x": x, **dict(layer.named_parameters())}
    found = torch.autograd.grad(y, list(leaves.values()), cotangent, materialize_grads=True)
    gradients = dict(zip(leaves, (f.detach() for f in found), strict=True))
    truth = Literal(layer, x, cotangent)
    # Only a path without bound gets there: the original NALU, and omega=None.
    if truth.omega is None and "G" in truth.p and truth.m.max() > torch.finfo(x.dtype).max / 1e6:
        return None
    return truth.worst(y.detach(), gradients)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors on several threads only wait for each other, and tests run side by side."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def errors() -> Callable[[Any, Tensor, Tensor], dict[str, float] | None]:
    """Return a function: layer, x, cotangent → errors in units of what is allowed."""
    return worst_errors


@pytest.fixture(scope="session")
def signs() -> tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]:
    """Return the literal sign vector and the published code's."""
    return literal_sign, published_sign
