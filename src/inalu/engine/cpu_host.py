"""The host of the ``cpu`` backend: plans into arrays, threads that take members from a queue, results out."""

from __future__ import annotations

import queue
from collections.abc import Callable
from threading import Event, Thread
from time import perf_counter

import numpy as np

from inalu.engine import cpu
from inalu.engine.plan import Plan
from inalu.engine.recipe import Adam
from inalu.engine.result import Outcome, status_of

ALGORITHM = 1


def options_of(network):
    o = network.options
    gates = {"constant": 0, "vector": 1, "matrix": 2}
    names = {s.name for s in network.slots}
    omega = o.get("omega")
    sign = o.get("sign", False)
    return cpu.Options(
        "G" in names, "W_hat" in names, gates[o.get("gate", "constant")], float(o.get("epsilon", 1e-7)),
        omega is not None, float(omega or 0), 2 if sign == "published" else int(bool(sign)),
    )


def rules_of(recipe):
    opt, reg, rei = recipe.optimizer, recipe.regularization, recipe.reinitialization
    adam = isinstance(opt, Adam)
    alt, dec = recipe.alternation, recipe.decay
    return cpu.Rules(
        recipe.batch, recipe.epochs, adam, opt.learning_rate,
        opt.beta1 if adam else 0.0, opt.beta2 if adam else opt.decay, opt.epsilon,
        (not adam) and opt.form == "tensorflow",
        dec is not None, dec.final if dec else 0.0, dec.hold if dec else 0.0,
        np.inf if recipe.clip is None else recipe.clip,
        alt.period if alt else 0, alt.weights if alt else 0,
        reg.after_epochs if reg else -1, reg.below if reg else 0.0, reg.threshold if reg else 1.0,
        bool(reg and reg.apart),
        rei.every if rei else 0, rei.window if rei else 0, bool(rei and rei.history == "all"),
        bool(rei and rei.each_step), rei.tolerance if rei else 0.0, rei.above if rei else 0.0,
        bool(rei is None or rei.keep_optimizer),
    )  # fmt: skip


def load(plan, source):
    x, y = source.load()
    weight = np.ones(y.shape)
    if plan.recipe.loss == "scaled":
        values = y.astype(np.float64)
        scale = np.median(np.abs(values), axis=0) ** 2 + values**2
        weight = 1.0 / np.where(scale > 0, scale, 1.0)
    return tuple(np.array(a, dtype=plan.dtype, order="C") for a in (x, y, weight))


def pull_of(plan, network):
    reg = plan.recipe.regularization
    pull = np.zeros(network.size, plan.dtype)
    kinds = np.zeros(network.size, np.int64)
    for slot in network.slots:
        part = slice(slot.start, slot.stop)
        kinds[part] = slot.kind == "gate"
        if reg is not None:
            pull[part] = reg.weight / reg.threshold / (slot.stop - slot.start if reg.aggregate == "mean" else 1)
    return pull, kinds


def first_step(plan: Plan, index: int):
    network = plan.members[index].network
    x, y, weight = load(plan, plan.members[index].source)
    n = plan.recipe.batch
    opt, rules = options_of(network), rules_of(plan.recipe)
    theta = plan.starts(index)[0].copy()
    widths = np.array(network.widths)
    shape = (network.depth + 1, min(n, len(x)), max(widths))
    buffers = [np.empty(shape, plan.dtype) for _ in range(7)]
    grad = np.empty_like(theta)
    loss = cpu.gradients(theta, widths, opt, x[:n], y[:n], weight[:n], *buffers, grad)
    outputs = buffers[0][-1][:, : widths[-1]].astype(np.float64)
    if rules.pull_after == 0 and loss < rules.pull_below and not rules.pull_apart:
        cpu.add_pull(theta, grad, pull_of(plan, network)[0], rules)
    return outputs, grad.astype(np.float64)


def run(
    plan: Plan,
    indices: tuple[int, ...],
    *,
    emit: Callable[[int, Outcome], None],
    advance: Callable[[int], None],
    stop: Event,
    threads: int,
) -> None:
    jobs: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in indices:
        jobs.put(i)
    errors: list[BaseException] = []

    def work():
        try:
            while not stop.is_set() and not errors:
                try:
                    index = jobs.get_nowait()
                except queue.Empty:
                    return
                train_member(plan, index, emit, advance, stop)
        except BaseException as error:
            errors.append(error)

    workers = [Thread(target=work, daemon=True) for _ in range(min(threads, len(indices)))]
    for w in workers:
        w.start()
    try:
        for w in workers:
            while w.is_alive():
                w.join(0.1)
    except BaseException:
        stop.set()
        for w in workers:
            w.join()
        raise
    if errors:
        raise errors[0]


def train_member(plan, index, emit, advance, stop):
    began = perf_counter()
    member = plan.members[index]
    x, y, weight = load(plan, member.source)
    rules, opt = rules_of(plan.recipe), options_of(member.network)
    starts = plan.starts(index)
    theta = starts[0].copy()
    first = np.zeros_like(theta)
    second = np.full_like(theta, 1.0 if rules.tensorflow else 0.0)
    pull, kinds = pull_of(plan, member.network)
    state = np.zeros(6, np.int64)
    history = np.empty(plan.steps(member))
    restarts = np.zeros(len(starts), np.int64)
    losses = []
    for e in range(plan.recipe.epochs):
        if stop.is_set():
            return
        before = state[0]
        losses.append(cpu.train_epoch(
            e, theta, starts, np.array(member.network.widths), opt, rules, x, y, weight, kinds, pull, first,
            second, state, history, restarts))  # fmt: skip
        advance(int(state[0] - before))
        if np.isnan(theta).any():
            break
    loss = np.array(losses)
    emit(index, Outcome(theta, loss, tuple(int(r) for r in restarts[: state[2]]), int(state[0]),
                        status_of(theta, loss, int(state[5])), perf_counter() - began))  # fmt: skip
