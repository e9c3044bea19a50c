"""The host of the ``cpu`` backend: plans into crews, threads that take crews from a queue, results out.

Read `run` first, then `Training`. The kernels are in `inalu.engine.cpu`.
"""

from __future__ import annotations

import gc
import queue
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from math import ceil
from threading import Event, Thread
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from inalu.engine import cpu, levenberg
from inalu.engine.blas import one_blas_thread
from inalu.engine.network import Network
from inalu.engine.plan import Array, Plan, Source
from inalu.engine.recipe import Adam, LevenbergMarquardt, Recipe
from inalu.engine.result import Outcome, status_of

ALGORITHM = 1

# Networks with more pairs of parameters than this have a member's own parameters in the lanes of a vector.
_NARROW = 64
_MOST_MEMBERS = 32
_LINE = 64
# How long a kernel may run before it looks whether it should stop, in seconds.
_PATIENCE = 0.1

# The arrays of a crew with a number for each pair and for each gate.
_OF_PAIRS = (
    "w_hat", "w_first", "w_second", "m_hat", "m_first", "m_second", "tanh", "sigma", "weights", "factor",
    "factor_slope", "d_weights",
)  # fmt: skip
_OF_GATES = ("g_hat", "g_first", "g_second", "gates", "d_gates")

LOSSES = {"sampson": cpu.SAMPSON, "paths": cpu.PATHS}
# mypy takes a compiled function for one without arguments.
_train: Callable[..., bool] = cpu.train


def run(
    plan: Plan,
    indices: tuple[int, ...],
    *,
    emit: Callable[[int, Outcome], None],
    advance: Callable[[int], None],
    stop: Event,
    threads: int,
) -> None:
    """Train these members; see `inalu.engine.train.Run`."""
    if isinstance(plan.recipe.optimizer, LevenbergMarquardt):
        crews = levenberg.divide(plan, indices)
        with one_blas_thread():
            _work(
                partial(levenberg.Training, plan),
                crews,
                emit=emit,
                advance=advance,
                stop=stop,
                threads=threads,
            )
        return
    crews = divide(plan, indices, threads)
    _work(partial(Training, plan), crews, emit=emit, advance=advance, stop=stop, threads=threads)


class _Crew(Protocol):
    """Some members under way, by one of the two kinds of steps."""

    def finish(self, advance: Callable[[int], None], stop: Event) -> bool: ...

    def outcomes(self) -> Iterator[tuple[int, Outcome]]: ...


def _work(
    begin: Callable[[tuple[int, ...]], _Crew],
    divided: list[tuple[int, ...]],
    *,
    emit: Callable[[int, Outcome], None],
    advance: Callable[[int], None],
    stop: Event,
    threads: int,
) -> None:
    """Let threads take crews from a queue until it is empty."""
    crews: queue.SimpleQueue[tuple[int, ...]] = queue.SimpleQueue()
    for crew in divided:
        crews.put(crew)
    errors: list[BaseException] = []

    def work() -> None:
        while not stop.is_set() and not errors:
            try:
                crew = crews.get_nowait()
            except queue.Empty:
                return
            try:
                training = begin(crew)
                if training.finish(advance, stop):
                    for index, outcome in training.outcomes():
                        emit(index, outcome)
            except BaseException as error:
                errors.append(error)

    workers = [Thread(target=work, daemon=True) for _ in range(min(threads, crews.qsize()))]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except BaseException:
        stop.set()
        for worker in workers:
            worker.join()
        raise
    if errors:
        raise errors[0]


def first_step(plan: Plan, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a member's outputs [B, O] on its first mini-batch and the unclipped gradient [K] of that step."""
    return Training(plan, (index,), probe=True).first_step()


def divide(plan: Plan, indices: tuple[int, ...], threads: int) -> list[tuple[int, ...]]:
    """Divide members into crews: same network and number of rows, members with the same x together."""
    kinds: dict[tuple[Network, int], dict[Hashable, list[int]]] = {}
    for index in indices:
        member = plan.members[index]
        same_x = kinds.setdefault((member.network, member.source.shape[0]), {})
        same_x.setdefault(member.source.x_key, []).append(index)
    most = max(1, min(_MOST_MEMBERS, ceil(len(indices) / threads)))
    crews = []
    for (network, _), same_x in kinds.items():
        sets = list(same_x.values())
        # Wide networks take so long a step that members with other data would only push x out of the cache.
        pools = sets if is_wide(network) else [[index for members in sets for index in members]]
        for pool in pools:
            crews += [tuple(pool[n : n + most]) for n in range(0, len(pool), most)]
    return crews


def is_wide(network: Network) -> bool:
    """Whether the lanes are a member's own parameters; see `inalu.engine.cpu`."""
    layout = Layout(network)
    return layout.pairs > _NARROW and layout.sign != 2


class Layout:
    """Where the parameters of a network lie in a member's state, and its options as the kernel has them."""

    def __init__(self, network: Network) -> None:
        options = network.options
        names = {slot.name for slot in network.slots}
        self.network = network
        self.gated, self.shared = "G" in names, "W_hat" in names
        self.gate = ("constant", "vector", "matrix").index(str(options.get("gate", "constant")))
        omega, sign = options.get("omega"), options.get("sign", False)
        self.bounded = omega is not None
        self.omega = float(omega) if omega is not None else np.inf
        several = any(outputs > 1 for outputs in network.widths[1:])
        # With one output per layer the published order of weights is the right one.
        self.sign = (2 if several else 1) if sign == "published" else int(bool(sign))
        self.epsilon = float(options.get("epsilon") or 0.0)
        self.rows: list[list[int]] = []
        self.w_index, self.m_index, self.g_index = self._indices()
        self.pairs, self.gates = len(self.w_index), len(self.g_index)

    def _indices(self) -> tuple[NDArray[np.int64], ...]:
        """Packed indices of the pairs' W_hat and M_hat and of the gates, in the order of the state."""
        found: dict[str, list[NDArray[np.int64]]] = {"W_hat": [], "M_hat": [], "G": []}
        pairs = gates = 0
        widths = self.network.widths
        for layer in range(self.network.depth):
            inputs, outputs = widths[layer], widths[layer + 1]
            slots = {s.name: s for s in self.network.slots if s.layer == layer}
            for slot in slots.values():
                order = np.arange(slot.start, slot.stop).reshape(slot.shape)
                found[slot.name.rsplit("_", 1)[0] if slot.name[-2:] in ("_a", "_m") else slot.name].append(
                    np.ascontiguousarray(order.T).ravel()
                )
            multiplicative = pairs if self.shared else pairs + inputs * outputs
            self.rows.append([inputs, outputs, pairs, multiplicative, gates])
            pairs = multiplicative + inputs * outputs
            gates += slots["G"].stop - slots["G"].start if self.gated else 0
        return tuple(np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in found.values())

    def net(self, size: int, members: int, loss: str) -> tuple[cpu.Net, int]:
        """Return the kernel's value, with the layers' places in a scratch of the second number of numbers."""
        at, rows = 0, []
        for layer, (inputs, outputs, *rest) in enumerate(self.rows):
            x, log_x, dx = at, at + inputs * size, at + 2 * inputs * size
            step = 4 * inputs * size if layer else 0
            saved, saved_step = at + 4 * inputs * size * (members if layer else 1), 4 * outputs * size
            rows.append([inputs, outputs, *rest, x, log_x, dx, saved, step, saved_step])
            at = saved + saved_step * members
        layout = np.array(rows, dtype=np.int64)
        pairs_0 = int(layout[1, cpu.ADDITIVE]) if len(rows) > 1 else self.pairs
        gates_0 = int(layout[1, cpu.GATE]) if len(rows) > 1 else self.gates
        net = cpu.Net(
            depth=len(rows), gated=self.gated, gate=self.gate, loss=LOSSES.get(loss, cpu.SQUARED),
            sign=self.sign, bounded=self.bounded, epsilon=self.epsilon, omega=self.omega, pairs=self.pairs,
            gates=self.gates, pairs_0=pairs_0, gates_0=gates_0, layout=cpu.Memory(layout),
        )  # fmt: skip
        return net, at


def rules_of(recipe: Recipe, batches: int, dtype: str, *, probe: bool) -> cpu.Rules:
    """Return the recipe as the kernel has it."""
    optimizer, decay, turn = recipe.first_order, recipe.decay, recipe.alternation
    pull, look = recipe.regularization, recipe.reinitialization
    adam = isinstance(optimizer, Adam)
    # Beside an epsilon like this a moment below the least normal number moves no parameter.
    floor = float(np.finfo(dtype).tiny) if optimizer.epsilon >= 1e-12 else 0.0
    return cpu.Rules(
        epochs=recipe.epochs, batches=batches, adam=adam,
        tensorflow=not isinstance(optimizer, Adam) and optimizer.form == "tensorflow",
        rate=float(optimizer.learning_rate), epsilon=float(optimizer.epsilon), floor=floor,
        beta1=float(optimizer.beta1) if isinstance(optimizer, Adam) else 0.0,
        beta2=float(optimizer.beta2 if isinstance(optimizer, Adam) else optimizer.decay),
        decays=decay is not None, decay_final=float(decay.final) if decay else 1.0,
        decay_hold=float(decay.hold) if decay else 1.0,
        clip=np.inf if recipe.clip is None else float(recipe.clip),
        period=turn.period if turn else 0, turn=turn.weights if turn else 0,
        pull_after=int(pull.after_epochs) if pull else -1, pull_below=float(pull.below) if pull else 0.0,
        pull_reach=float(pull.threshold) if pull else 0.0, pull_apart=bool(pull and pull.apart),
        look_every=int(look.every) if look else 0, look_window=int(look.window) if look else 0,
        look_all=bool(look and look.history == "all"), look_each=bool(look and look.each_step),
        look_tolerance=float(look.tolerance) if look else 0.0, look_above=float(look.above) if look else 0.0,
        keep_optimizer=bool(look and look.keep_optimizer), probe=probe, starts=recipe.starts,
    )  # fmt: skip


class Tiles(NamedTuple):
    """How rows are cut: into batches, and these into blocks of 4L rows, the last filled up."""

    rows: int
    batch: int
    size: int

    @property
    def batches(self) -> int:
        return ceil(self.rows / self.batch)

    @property
    def row_blocks(self) -> int:
        return ceil(min(self.batch, self.rows) / self.size)

    def cut(self, values: Array, filling: float, dtype: str) -> Array:
        """[B, N] → [batches · blocks, N, 4L]."""
        batch = min(self.batch, self.rows)
        width = values.shape[1]
        tiles = np.full((self.batches, self.row_blocks * self.size, width), filling, dtype=dtype)
        whole = self.rows // batch * batch
        tiles[: whole // batch, :batch] = values[:whole].reshape(-1, batch, width)
        if whole < self.rows:
            tiles[-1, : self.rows - whole] = values[whole:]
        cut: Array = np.ascontiguousarray(tiles.reshape(-1, self.size, width).transpose(0, 2, 1))
        return cut


def loss_weights(recipe: Recipe, y: Array) -> Array:
    """The weight of each term of the losses that have one, [B, O], in float64."""
    values = y.astype(np.float64)
    scale = np.median(np.abs(values), axis=0) ** 2 + values**2
    # An output that is zero in most rows has no unit where it is zero.
    return recipe.sharpness / np.where(scale > 0, scale, 1.0)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that begins with a line of the cache: a vector that lies across two is read twice."""
    if array.ctypes.data % _LINE == 0:
        return array
    memory = np.empty(array.nbytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def compile_first(records: tuple[cpu.Record, ...]) -> None:
    """Compile the kernel for these records where that has not happened.

    The compiler makes millions of objects that stay; looking through them for garbage is a seventh of its time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        _train(*records, 0, 0)
    finally:
        if collects:
            gc.enable()


class Training:
    """A crew under way."""

    def __init__(self, plan: Plan, indices: tuple[int, ...], *, probe: bool = False) -> None:
        self.began = perf_counter()
        self.plan, self.indices = plan, indices
        members = [plan.members[index] for index in indices]
        self.network = members[0].network
        self.layout = Layout(self.network)
        self.lanes = cpu.lanes(plan.dtype)
        self.tiles = Tiles(members[0].source.shape[0], plan.recipe.batch, 4 * self.lanes)
        self.rules = rules_of(plan.recipe, self.tiles.batches, plan.dtype, probe=probe)
        self.net, scratch = self.layout.net(4 * self.lanes, len(members), plan.recipe.loss)
        self.steps, self.probe = plan.steps(members[0]), probe
        state = self._state()
        values = {
            **state, **self._data([m.source for m in members]), **self._optimizer(), **self._record(),
            "scratch": self._zeros(scratch),
        }  # fmt: skip
        self.arrays = {
            name: aligned(value) for name, value in values.items() if isinstance(value, np.ndarray)
        }
        fields: dict[str, Any] = values | {name: cpu.Memory(value) for name, value in self.arrays.items()}
        self.crew = cpu.Crew(**fields)
        self.records = tuple(cpu.Record(v) for v in (self.net, self.crew, self.rules))
        self._start()

    def _zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.plan.dtype)

    def _state(self) -> dict[str, Any]:
        """The parameters and what belongs to them."""
        members, pairs, gates, size = len(self.indices), self.layout.pairs, self.layout.gates, self.lanes
        wide = is_wide(self.network)
        blocks = members if wide else ceil(members / size)
        pair_vectors, gate_vectors = (ceil(pairs / size), ceil(gates / size)) if wide else (pairs, gates)
        p = np.arange(members)
        if wide:
            first_pair, first_gate = p * pair_vectors * size, p * gate_vectors * size
            rows = members * (pairs - self.net.pairs_0 + gates) + 3 * cpu.SLAB + size
        else:
            first_pair, first_gate = (p // size * n * size + p % size for n in (pairs, gates))
            rows = blocks * (pairs + gates) * size
        # A vector may be read beyond the last number.
        pair_count, gate_count = (blocks * n * size + size for n in (pair_vectors, gate_vectors))
        arrays = {
            **{name: self._zeros(pair_count) for name in _OF_PAIRS},
            **{name: self._zeros(gate_count) for name in _OF_GATES},
        }
        if self.rules.tensorflow:
            for name in ("w_second", "m_second", "g_second"):
                arrays[name][:] = 1
        pair_pull, gate_pull = self._pulls(pair_vectors, gate_vectors, wide)
        padded = ceil(members / size) * size
        return dict(
            arrays, wide=wide, members=members, blocks=blocks, pair_vectors=pair_vectors,
            gate_vectors=gate_vectors, stride=1 if wide else size, first_pair=first_pair, first_gate=first_gate,
            partial=self._zeros(rows * size), loss=self._zeros(padded), loss_partial=self._zeros(padded * size),
            hidden_zeros=np.zeros(members, np.int64),
            pair_pull=pair_pull, gate_pull=gate_pull,
            **{name: self._zeros(blocks * size) for name in
               ("weight_rate", "weight_bias", "gate_rate", "gate_bias", "acting")},
        )  # fmt: skip

    def _pulls(self, pair_vectors: int, gate_vectors: int, wide: bool) -> tuple[Array, Array]:
        """The regulariser's gradient of each pair and gate, over one block of state."""
        rule = self.plan.recipe.regularization
        packed = np.zeros(self.network.size)
        if rule is not None:
            for slot in self.network.slots:
                count = slot.stop - slot.start if rule.aggregate == "mean" else 1
                packed[slot.start : slot.stop] = rule.weight / rule.threshold / count
        pulls = []
        for index, vectors in ((self.layout.w_index, pair_vectors), (self.layout.g_index, gate_vectors)):
            pull = self._zeros(vectors * self.lanes)
            values = packed[index] if wide else np.repeat(packed[index], self.lanes)
            pull[: len(values)] = values
            pulls.append(pull)
        return pulls[0], pulls[1]

    def _data(self, sources: list[Source]) -> dict[str, Any]:
        """The rows: each x once, each target once."""
        recipe, dtype, tiles = self.plan.recipe, self.plan.dtype, self.tiles
        xs: dict[Hashable, Array] = {}
        targets: dict[Source, int] = {}
        ys: list[Array] = []
        weights: list[Array] = []
        sets, target = [0], []
        scaled = recipe.loss != "mse"
        for n, source in enumerate(sources):
            if source not in targets:
                rows = source.load()
                targets[source] = len(ys)
                ys.append(tiles.cut(rows.y, 0.0, dtype))
                if scaled:
                    weights.append(tiles.cut(loss_weights(recipe, rows.y), 0.0, dtype))
                if source.x_key not in xs:
                    # Adding zero turns -0.0 into 0.0.
                    xs[source.x_key] = tiles.cut(rows.x, 1.0, dtype) + np.dtype(dtype).type(0)
                    if n:
                        sets.append(n)
            target.append(targets[source])
        sets.append(len(sources))
        x = np.concatenate(list(xs.values()))
        if not scaled:
            batch = min(tiles.batch, tiles.rows)
            counts = np.array([batch, tiles.rows - (tiles.batches - 1) * batch])
            weights = [(np.arange(tiles.row_blocks * tiles.size) < counts[:, None]).astype(dtype)]
        outputs = len(ys[0]) * self.network.widths[-1] * tiles.size if self.probe else 0
        return {
            "x": x.reshape(-1), "y": np.concatenate(ys).reshape(-1), "weight": np.concatenate(weights).reshape(-1),
            "scaled": scaled, "zeros": (x == 0).any(axis=(1, 2)), "sets": np.array(sets), "target": np.array(target),
            "rows": tiles.rows, "batch": min(tiles.batch, tiles.rows), "row_blocks": tiles.row_blocks,
            "outputs": self._zeros(outputs), "keeps_outputs": self.probe, "data_sets": len(sets) - 1,
        }  # fmt: skip

    def _optimizer(self) -> dict[str, Any]:
        """Adam's bias corrections by step, as long as they differ from 1."""
        steps = np.arange(1, 3 * self.steps + 1, dtype=np.float64)
        rules = self.rules
        if not rules.adam:
            return {"correction1": np.ones(1), "correction2": np.ones(1), "corrections": 1}
        slowest = max(rules.beta1, rules.beta2)
        enough = ceil(np.log(1e-17) / np.log(slowest)) if slowest > 0 else 1
        steps = steps[: max(enough, 1)]
        return {
            "correction1": 1.0 / (1.0 - rules.beta1**steps), "correction2": 1.0 / np.sqrt(1.0 - rules.beta2**steps),
            "corrections": len(steps),
        }  # fmt: skip

    def _record(self) -> dict[str, Any]:
        """The clocks and the history."""
        members, rules = len(self.indices), self.rules
        columns = ceil(members / self.lanes) * self.lanes
        kept = 1
        if rules.look_every and rules.epochs > rules.look_every:
            kept = self.steps if rules.look_all else min(self.steps, rules.look_window + 1)
        starts = np.stack([self.plan.starts(index) for index in self.indices])
        return {
            "clock": np.zeros((members, 6), np.int64), "alive": np.ones(members, np.bool_),
            "history": self._zeros(kept, columns), "history_steps": kept, "columns": columns,
            "moments": np.zeros((members, 5)), "marks": np.full((members, 3), -2, np.int64),
            "epoch_sum": np.zeros(members), "epoch_loss": np.zeros((members, rules.epochs)),
            "restarts": np.zeros((members, starts.shape[1]), np.int64), "starts": starts,
            "w_index": self.layout.w_index, "m_index": self.layout.m_index, "g_index": self.layout.g_index,
        }  # fmt: skip

    def _places(self, p: int) -> Iterator[tuple[NDArray[np.int64], Array, NDArray[np.int64]]]:
        """For W_hat, M_hat and G of member p: packed indices, the array of the state, indices in it."""
        arrays, stride = self.arrays, self.crew.stride
        pairs = arrays["first_pair"][p] + np.arange(self.layout.pairs) * stride
        gates = arrays["first_gate"][p] + np.arange(self.layout.gates) * stride
        yield arrays["w_index"], arrays["w_hat"], pairs
        yield arrays["m_index"], arrays["m_hat"], pairs
        yield arrays["g_index"], arrays["g_hat"], gates

    def _start(self) -> None:
        for p in range(len(self.indices)):
            for packed, values, places in self._places(p):
                values[places] = self.arrays["starts"][p, 0, packed]

    def parameters(self, p: int) -> Array:
        """Member p's packed parameters."""
        values = self._zeros(self.network.size)
        for packed, state, places in self._places(p):
            values[packed] = state[places]
        return values

    def finish(self, advance: Callable[[int], None], stop: Event) -> bool:
        """Make all steps, or return False when ``stop`` is set before that."""
        compile_first(self.records)
        step, pace, going = 0, 200, True
        while step < self.steps and going:
            if stop.is_set():
                return False
            began, upto = perf_counter(), min(step + pace, self.steps)
            going = _train(*self.records, step, upto)
            advance((upto - step) * len(self.indices))
            seconds = max(perf_counter() - began, 1e-6)
            pace = max(1, min(4 * pace, int((upto - step) * _PATIENCE / seconds)))
            step = upto
        return True

    def first_step(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        _train(*self.records, 0, 1)
        gradient = np.zeros(self.network.size)
        moments = [self.arrays[name] for name in ("w_first", "m_first", "g_first")]
        for (packed, _, places), moment in zip(self._places(0), moments, strict=True):
            gradient[packed] = moment[places]
        size, outputs = self.tiles.size, self.network.widths[-1]
        tiles = self.arrays["outputs"].reshape(-1, outputs, size)[: self.tiles.row_blocks]
        y = tiles.transpose(0, 2, 1).reshape(-1, outputs)[: self.crew.batch]
        return y.astype(np.float64), gradient

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """What the members leave."""
        share = (perf_counter() - self.began) / len(self.indices)
        arrays = self.arrays
        for p, index in enumerate(self.indices):
            parameters = self.parameters(p)
            restarts, first, steps = (
                int(arrays["clock"][p, n]) for n in (cpu.RESTARTS, cpu.FIRST_EPOCH, cpu.STEPS)
            )
            loss = arrays["epoch_loss"][p, : steps // self.rules.batches].copy()
            yield index, Outcome(
                parameters, loss, tuple(int(e) for e in arrays["restarts"][p, :restarts]), steps,
                status_of(parameters, loss, first), share,
            )  # fmt: skip
