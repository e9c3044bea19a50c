"""The fast path on CPUs: Numba kernels with hand-derived gradients (docs/math.md, "Gradients").

All kernels are in this file, because Numba's disk cache does not notice an edit in another one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

_jit = njit(nogil=True, cache=True, error_model="numpy")


class Options(NamedTuple):
    """What the kernels need to know of a network."""

    has_gate: bool
    shared: bool
    gate: int
    epsilon: float
    bounded: bool
    omega: float
    sign: int


class Rules(NamedTuple):
    """What the kernels need to know of a recipe; numbers that switch a part off are given in `cpu_host`."""

    batch: int
    epochs: int
    adam: bool
    rate: float
    beta1: float
    beta2: float
    epsilon: float
    tensorflow: bool
    decays: bool
    decay_final: float
    decay_hold: float
    clip: float
    period: int
    weights: int
    pull_after: int
    pull_below: float
    pull_threshold: float
    pull_apart: bool
    look_every: int
    look_window: int
    look_all: bool
    look_each: bool
    look_tolerance: float
    look_above: float
    keep: bool


@_jit
def sigmoid(z):
    e = math.exp(-abs(z))
    return (1.0 if z >= 0 else e) / (1.0 + e)


@_jit
def layer_sizes(i, o, opt):
    pairs = i * o
    gates = 0
    if opt.has_gate:
        gates = o if opt.gate == 0 else (i if opt.gate == 1 else i * o)
    total = pairs * (2 if opt.shared else 4) + gates
    return pairs, gates, total


@_jit
def forward(theta, widths, opt, x, acts, a_, m_, s_, g_, z_):
    """Fill the activations of every layer for rows x [B, I]; acts[0] is x."""
    B = x.shape[0]
    one = theta.dtype.type(1)
    base = 0
    acts[0, :B, : widths[0]] = x
    for layer in range(len(widths) - 1):
        I, O = widths[layer], widths[layer + 1]
        n, ng, total = layer_sizes(I, O, opt)
        ma = base
        mm = base if opt.shared else base + 2 * n
        gb = base + total - ng
        for o in range(O):
            for b in range(B):
                a = theta.dtype.type(0)
                z = theta.dtype.type(0)
                s = one
                u = theta.dtype.type(0)
                for i in range(I):
                    v = acts[layer, b, i]
                    k = i * O + o
                    a += v * np.tanh(theta[ma + k]) * sigmoid(theta[ma + n + k])
                    if opt.has_gate:
                        w = np.tanh(theta[mm + k]) * sigmoid(theta[mm + n + k])
                        if opt.bounded:
                            z += math.log(max(abs(v), theta.dtype.type(opt.epsilon))) * w
                        else:
                            z += math.log(abs(v) + theta.dtype.type(opt.epsilon)) * w
                        if opt.sign:
                            ks = k if opt.sign == 1 else o * I + i
                            f = abs(np.tanh(theta[mm + ks]) * sigmoid(theta[mm + n + ks]))
                            s *= np.sign(v) * f + one - f
                        if opt.gate == 1:
                            u += v * theta[gb + i]
                        elif opt.gate == 2:
                            u += v * theta[gb + k]
                y = a
                if opt.has_gate:
                    if opt.gate == 0:
                        u = theta[gb + o]
                    zc = min(z, theta.dtype.type(opt.omega)) if opt.bounded else z
                    m = math.exp(zc)
                    g = sigmoid(u)
                    y = g * a + (one - g) * m * s
                    m_[layer, b, o] = m
                    s_[layer, b, o] = s
                    g_[layer, b, o] = g
                    z_[layer, b, o] = z
                a_[layer, b, o] = a
                acts[layer + 1, b, o] = y
        base += total


@_jit
def batch_loss(acts, depth, y, weight):
    B, O = y.shape
    loss = y.dtype.type(0)
    for b in range(B):
        for o in range(O):
            e = acts[depth, b, o] - y[b, o]
            loss += weight[b, o] * e * e
    return loss / y.dtype.type(B * O)


@_jit
def gradients(theta, widths, opt, x, y, weight, acts, a_, m_, s_, g_, z_, dacts, grad):
    """Fill the gradient [K] of the data loss and return the loss."""
    depth = len(widths) - 1
    forward(theta, widths, opt, x, acts, a_, m_, s_, g_, z_)
    B, outputs = y.shape
    T = theta.dtype.type
    one = T(1)
    for b in range(B):
        for o in range(outputs):
            dacts[depth, b, o] = T(2) * weight[b, o] * (acts[depth, b, o] - y[b, o]) / T(B * outputs)
    grad[:] = 0
    base = len(theta)
    for layer in range(depth - 1, -1, -1):
        I, O = widths[layer], widths[layer + 1]
        n, ng, total = layer_sizes(I, O, opt)
        base -= total
        ma = base
        mm = base if opt.shared else base + 2 * n
        gb = base + total - ng
        dacts[layer, :B, :I] = 0
        for o in range(O):
            for i in range(I):
                k = i * O + o
                ta, ga = np.tanh(theta[ma + k]), sigmoid(theta[ma + n + k])
                tm, gm = np.tanh(theta[mm + k]), sigmoid(theta[mm + n + k])
                wa, wm = ta * ga, tm * gm
                dwa = T(0)
                dwm = T(0)
                dws = T(0)
                dg = T(0)
                ks = k if opt.sign != 2 else o * I + i
                ts, gs = np.tanh(theta[mm + ks]), sigmoid(theta[mm + n + ks])
                for b in range(B):
                    v = acts[layer, b, i]
                    dy = dacts[layer + 1, b, o]
                    if not opt.has_gate:
                        dwa += dy * v
                        dacts[layer, b, i] += dy * wa
                        continue
                    g, a, m, s, z = (
                        g_[layer, b, o], a_[layer, b, o], m_[layer, b, o], s_[layer, b, o], z_[layer, b, o],
                    )
                    dwa += dy * g * v
                    dx = dy * g * wa
                    dz = dy * (one - g) * m * s
                    if opt.bounded and not z <= T(opt.omega):
                        dz = T(0)
                    size = abs(v)
                    if opt.bounded:
                        low = max(size, T(opt.epsilon))
                        dwm += dz * math.log(low)
                        if size >= T(opt.epsilon):
                            dx += dz * wm / v
                    else:
                        dwm += dz * math.log(size + T(opt.epsilon))
                        dx += dz * wm * np.sign(v) / (size + T(opt.epsilon))
                    du = dy * (a - m * s) * g * (one - g)
                    if opt.gate == 0:
                        if i == 0:
                            grad[gb + o] += du
                    elif opt.gate == 1:
                        grad[gb + i] += du * v
                        dx += du * theta[gb + i]
                    else:
                        dg += du * v
                        dx += du * theta[gb + k]
                    if opt.sign and v <= 0:
                        rest = one
                        for j in range(I):
                            if j != i:
                                kj = j * O + o if opt.sign == 1 else o * I + j
                                f = abs(np.tanh(theta[mm + kj]) * sigmoid(theta[mm + n + kj]))
                                rest *= np.sign(acts[layer, b, j]) * f + one - f
                        dws += dy * (one - g) * m * rest * (np.sign(v) - one)
                    dacts[layer, b, i] += dx
                if opt.has_gate and opt.gate == 2:
                    grad[gb + k] += dg
                grad[ma + k] += dwa * (one - ta * ta) * ga
                grad[ma + n + k] += dwa * ta * ga * (one - ga)
                if opt.has_gate:
                    grad[mm + k] += dwm * (one - tm * tm) * gm
                    grad[mm + n + k] += dwm * tm * gm * (one - gm)
                    if opt.sign:
                        dws *= np.sign(ts * gs)
                        grad[mm + ks] += dws * (one - ts * ts) * gs
                        grad[mm + n + ks] += dws * ts * gs * (one - gs)
                # The gate's own derivative where W has none.
        if opt.has_gate and opt.gate == 1:
            pass
    return batch_loss(acts, depth, y, weight)


@_jit
def add_pull(theta, grad, pull, rules):
    for k in range(len(theta)):
        if abs(theta[k]) < rules.pull_threshold:
            grad[k] -= np.sign(theta[k]) * pull[k]


@_jit
def update(theta, grad, first, second, kinds, kind, t, rate, rules):
    """One optimizer step on the parameters of one kind, in place."""
    T = theta.dtype.type
    c1 = 1.0 - rules.beta1**t
    c2 = math.sqrt(1.0 - rules.beta2**t)
    for k in range(len(theta)):
        if kinds[k] != kind:
            continue
        g = grad[k]
        if g > rules.clip:
            g = T(rules.clip)
        elif g < -rules.clip:
            g = T(-rules.clip)
        if rules.adam:
            first[k] = T(rules.beta1) * first[k] + T(1 - rules.beta1) * g
            second[k] = T(rules.beta2) * second[k] + T(1 - rules.beta2) * g * g
            theta[k] -= T(rate / c1) * first[k] / (math.sqrt(second[k]) / T(c2) + T(rules.epsilon))
        else:
            second[k] = T(rules.beta2) * second[k] + T(1 - rules.beta2) * g * g
            if rules.tensorflow:
                theta[k] -= T(rate) * g / math.sqrt(second[k] + T(rules.epsilon))
            else:
                theta[k] -= T(rate) * g / (math.sqrt(second[k]) + T(rules.epsilon))


@_jit
def wants_restart(history, n, rules):
    if n < rules.look_window:
        return False
    lo = 0 if rules.look_all else n - rules.look_window
    h = (n - lo) // 2
    if h == 0:
        return False
    second = history[lo + h : n].mean()
    if not second > rules.look_above:
        return False
    first = history[lo : lo + h].mean()
    return first <= second + rules.look_tolerance * history[lo + h : n].std()


@_jit
def decay_factor(rules, progress):
    if not rules.decays or progress <= rules.decay_hold:
        return 1.0
    u = (progress - rules.decay_hold) / (1.0 - rules.decay_hold)
    return rules.decay_final + (1.0 - rules.decay_final) * (1.0 + math.cos(math.pi * u)) / 2.0


@_jit
def train_epoch(e, theta, starts, widths, opt, rules, x, y, weight, kinds, pull, first, second, state,
                history, restarts):  # fmt: skip
    """One epoch of one member; state is [steps, history length, restarts, weight steps, gate steps, first]."""
    depth = len(widths) - 1
    widest = 0
    for w in widths:
        widest = max(widest, w)
    acts = np.empty((depth + 1, rules.batch, widest), theta.dtype)
    dacts = np.empty_like(acts)
    a_, m_, s_, g_, z_ = (np.empty_like(acts), np.empty_like(acts), np.empty_like(acts), np.empty_like(acts),
                          np.empty_like(acts))  # fmt: skip
    grad = np.empty_like(theta)
    B = len(x)
    batches = -(-B // rules.batch)
    total = 0.0
    ticks = np.zeros(2, np.int64)
    for number in range(batches):
        if e > 0 and rules.look_every > 0 and e % rules.look_every == 0 and (rules.look_each or number == 0):
            if state[2] + 1 < len(starts) and wants_restart(history, state[1], rules):
                restarts[state[2]] = e
                state[2] += 1
                state[1] = 0
                state[5] = e if number == 0 else e + 1
                theta[:] = starts[state[2]]
                if not rules.keep:
                    first[:] = 0
                    second[:] = 1 if rules.tensorflow and not rules.adam else 0
                    state[3:5] = 0
        lo, hi = number * rules.batch, min(B, (number + 1) * rules.batch)
        loss = gradients(theta, widths, opt, x[lo:hi], y[lo:hi], weight[lo:hi], acts, a_, m_, s_, g_, z_, dacts, grad)
        total += loss
        acting = rules.pull_after >= 0 and e >= rules.pull_after and loss < rules.pull_below
        if acting and not rules.pull_apart:
            add_pull(theta, grad, pull, rules)
        rate = rules.rate * decay_factor(rules, state[0] / (batches * rules.epochs))
        turn = rules.period == 0 or state[0] % rules.period < rules.weights
        for kind in range(2):
            if rules.period == 0 or (kind == 0) == turn:
                state[3 + kind] += 1
                update(theta, grad, first, second, kinds, kind, state[3 + kind], rate, rules)
        after = loss
        if acting and rules.pull_apart:
            for kind in range(2):
                grad[:] = 0
                add_pull(theta, grad, pull, rules)
                state[3 + kind] += 1
                update(theta, grad, first, second, kinds, kind, state[3 + kind], rate, rules)
            forward(theta, widths, opt, x[lo:hi], acts, a_, m_, s_, g_, z_)
            after = batch_loss(acts, depth, y[lo:hi], weight[lo:hi])
        history[state[1]] = after
        state[1] += 1
        state[0] += 1
    return total / batches
