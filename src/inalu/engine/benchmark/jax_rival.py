"""The same step in JAX: `vmap` over the members, `scan` over the steps, one `jit` around both; all cores."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from inalu.engine.benchmark.cases import Case
from inalu.engine.recipe import PAPER, Adam

ROUNDS = 5


def jax_step(case: Case, target: float = 0.5) -> float:
    """Return the seconds of a step of one member of a population."""
    import jax

    members, recipe = case.members, PAPER
    plan = case.plan()
    theta = jax.numpy.asarray(np.stack([plan.starts(p)[0] for p in range(members)]))
    rows = case.source.load()
    x = jax.numpy.asarray(rows.x.astype(np.float32).reshape(-1, recipe.batch, case.widths[0]))
    y = jax.numpy.asarray(rows.y.astype(np.float32).reshape(-1, recipe.batch, case.widths[-1]))
    zeros = jax.numpy.zeros_like(theta)
    state = (theta, zeros, zeros, jax.numpy.ones(members))
    population = jax.jit(jax.vmap(_training(case), in_axes=((0, 0, 0, 0), None, None)))

    def seconds(steps: int) -> float:
        batches = x[:steps], y[:steps]
        jax.block_until_ready(population(state, *batches))
        times = []
        for _ in range(ROUNDS):
            began = perf_counter()
            jax.block_until_ready(population(state, *batches))
            times.append((perf_counter() - began) / steps)
        return min(times)

    steps = max(10, min(len(x), int(target / seconds(10))))
    return seconds(steps) / members


def _training(case: Case) -> Any:
    """One member: (theta, mean, square, step), x [S, B, I], y [S, B, O] → (theta, losses [S])."""
    import jax
    from jax import numpy as jnp

    kind, clip = PAPER.optimizer, PAPER.clip
    assert isinstance(kind, Adam)
    assert clip is not None
    network = case.network

    def forward(theta: Any, h: Any) -> Any:
        for layer in range(network.depth):
            p = {s.name: theta[s.start : s.stop].reshape(s.shape) for s in network.slots if s.layer == layer}
            if "W_hat" in p:
                w = jnp.tanh(p["W_hat"]) * jax.nn.sigmoid(p["M_hat"])
                g = jax.nn.sigmoid(h @ p["G"])
                h = g * (h @ w) + (1 - g) * jnp.exp(jnp.log(jnp.abs(h) + 1e-7) @ w)
                continue
            w_a = jnp.tanh(p["W_hat_a"]) * jax.nn.sigmoid(p["M_hat_a"])
            w_m = jnp.tanh(p["W_hat_m"]) * jax.nn.sigmoid(p["M_hat_m"])
            m = jnp.exp(jnp.minimum(jnp.log(jnp.maximum(jnp.abs(h), 1e-7)) @ w_m, 20.0))
            size = jnp.abs(w_m)
            sign = jnp.prod(jnp.sign(h)[:, :, None] * size + 1 - size, axis=1)
            g = jax.nn.sigmoid(p["G"])
            h = g * (h @ w_a) + (1 - g) * m * sign
        return h

    def step(state: Any, batch: Any) -> Any:
        theta, mean, square, number = state
        loss, gradient = jax.value_and_grad(lambda t: jnp.mean((forward(t, batch[0]) - batch[1]) ** 2))(theta)
        g = jnp.clip(gradient, -clip, clip)
        mean = kind.beta1 * mean + (1 - kind.beta1) * g
        square = kind.beta2 * square + (1 - kind.beta2) * g * g
        size = kind.learning_rate / (1 - kind.beta1**number)
        root = jnp.sqrt(square / (1 - kind.beta2**number))
        return (theta - size * mean / (root + kind.epsilon), mean, square, number + 1), loss

    def training(state: Any, x: Any, y: Any) -> Any:
        (theta, *_), losses = jax.lax.scan(step, state, (x, y))
        return theta, losses

    return training
