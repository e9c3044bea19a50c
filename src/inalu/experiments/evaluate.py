"""From trained members to records: errors in float64 with soft and with snapped weights, and the formula.

The errors of the soft weights in float32, in which the published runs were evaluated, are kept as measures.

Members that share their inputs are evaluated together: a set's x and log|x| are made once, and one matrix
product serves the first layers of all of them. The equations are those of `inalu.engine.forward`, for many
members at a time; a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.engine.blas import one_blas_thread
from inalu.engine.discrete import network_expressions, snap_network
from inalu.engine.forward import effective
from inalu.engine.network import Network
from inalu.engine.result import Result
from inalu.errors import InaluError
from inalu.experiments.job import Training
from inalu.experiments.population import Population
from inalu.experiments.problems import Columns
from inalu.experiments.record import Record
from inalu.experiments.sets import SetCache, TestSet
from inalu.tasks import Task

#: A row counts as right when the prediction's relative error is at most this.
RELATIVE = 1e-5
#: Bytes that an evaluator's sets may take.
MEMORY = 768 << 20
#: Rows over which an input-dependent gate takes its majority when it is snapped.
MAJORITY_ROWS = 2048

_SETS = ("interpolation", "extrapolation")
# Rows walked at a time: as many as keep all members' intermediate results in the second-level cache.
_NUMBERS_AT_A_TIME = 1 << 17

Floats = NDArray[np.float64]


class Quality(NamedTuple):
    """Mean squared error over a set, None when it is not finite; share of rows within `RELATIVE`."""

    mse: float | None
    within: float


@dataclass(frozen=True)
class _Part:
    """What is evaluated: weights of a network on a problem's set. Equal parts are evaluated once.

    ``single``: in float32.
    """

    network: Network
    parameters: bytes
    training: Training
    single: bool = False

    @property
    def identity(self) -> Hashable:
        t = self.training
        return self.network, self.parameters, t.problem, t.seed, t.rows, self.single


class Evaluator:
    """Turns results into records; keeps the sets it used last, for the results that follow.

    Parameters
    ----------
    memory
        Bytes that kept sets may take.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._sets = SetCache(memory)
        self._formulas: dict[Hashable, tuple[str, bool | None]] = {}

    def prepare(self, training: Training) -> None:
        """Make the sets of a training before it has ended, and what its network needs of them."""
        options: Mapping[str, Any] = training.network.options
        for name in _SETS:
            inputs = self._sets.get(training, name)
            if training.network.kind.parameters is not None and "epsilon" in options:
                inputs.logs(float(options["epsilon"]), options.get("omega") is not None)

    def evaluate(self, results: Sequence[Result]) -> list[Record]:
        """Return the records of results whose members are tagged with their `Training`, in their order."""
        soft = [_Part(r.member.network, _packed(r.parameters), r.member.tag) for r in results]  # type: ignore[arg-type]
        single = [replace(part, single=True) for part in soft]
        snapped = [self._snap(result) for result in results]
        parts = {part.identity: part for part in (*soft, *single, *(p for p in snapped if p is not None))}
        qualities = {name: self._qualities(list(parts.values()), name) for name in _SETS}
        records = []
        for result, plain, rough, exact in zip(results, soft, single, snapped, strict=True):
            values: dict[str, Any] = {"measures": {}}
            for name in _SETS:
                found = qualities[name]
                values[f"mse_{name}"], values[f"within_{name}"] = found[plain.identity]
                values["measures"][f"mse_{name}_float32"] = found[rough.identity].mse
                if exact is not None:
                    mse, within = found[exact.identity]
                    values[f"snapped_mse_{name}"], values[f"snapped_within_{name}"] = mse, within
            if exact is not None:
                likely = values["snapped_within_interpolation"] > 0.5
                values["formula"], values["exact_formula"] = self._formula(exact, likely)
                values["discreteness"] = discreteness(result.member.network, result.parameters)
            records.append(_record(result, values))
        return records

    def errors_on(
        self, problem: Task | Columns, records: Sequence[tuple[Training, Record]]
    ) -> list[tuple[float | None, float | None]]:
        """Return the errors of trained networks on the extrapolation set of another problem, float64 and float32.

        What a network was judged on is no part of its training, so nothing is trained anew.
        """
        parts = [
            tuple(
                _Part(
                    training.network, _packed(record.parameters), replace(training, problem=problem), single
                )
                for single in (False, True)
            )
            for training, record in records
        ]
        found = self._qualities([part for pair in parts for part in pair], "extrapolation")
        return [(found[double.identity].mse, found[single.identity].mse) for double, single in parts]

    def _snap(self, result: Result) -> _Part | None:
        network = result.member.network
        training = result.member.tag
        assert isinstance(training, Training)
        x = None
        # What a cell that was added does with its rows only its module knows.
        if network.kind.parameters is None or network.options.get("gate", "constant") != "constant":
            x = self._sets.get(training, "interpolation").x[:MAJORITY_ROWS].astype(np.float64)
        try:
            exact, parameters = snap_network(network, result.parameters, x)
        except InaluError:
            # The network is of a kind that has no exact form.
            return None
        return _Part(exact, _packed(parameters), training)

    def _qualities(self, parts: list[_Part], name: str) -> dict[Hashable, Quality]:
        """Evaluate parts on one of the sets, those together that share inputs and network."""
        groups: dict[Hashable, list[_Part]] = {}
        for part in parts:
            t = part.training
            key = t.problem.x_key(t.seed, name, t.rows), part.network, part.single
            groups.setdefault(key, []).append(part)
        found: dict[Hashable, Quality] = {}
        for group in sorted(groups, key=lambda key: str(key[0])):  # type: ignore[index]
            members = groups[group]
            inputs = self._sets.get(members[0].training, name)
            targets = [self._sets.targets(part.training, name) for part in members]
            for part, quality in zip(members, _group_qualities(members, inputs, targets), strict=True):
                found[part.identity] = quality
        return found

    def _formula(self, part: _Part, likely: bool) -> tuple[str | None, bool | None]:
        """The snapped network's formula, and whether it is the target's; None with several outputs."""
        if part.network.widths[-1] != 1:
            return None, None
        known = self._formulas.get(part.identity)
        if known is None:
            names = [f"x{i}" for i in range(part.network.widths[0])]
            formula = network_expressions(part.network, np.frombuffer(part.parameters), names)[0]
            target = part.training.problem.target(part.training.seed)
            # Algebra over a hundred inputs is slow, and needless where the numbers differ already.
            exact = None if target is None else likely and formula.equals(target)
            if len(self._formulas) > 10_000:
                self._formulas.clear()
            known = self._formulas[part.identity] = str(formula), exact
        return known


def discreteness(network: Network, parameters: NDArray[np.floating[Any]]) -> float:
    """Return the largest distance of an effective weight or constant gate from -1, 0, 1 or 0, 1.

    Gates that depend on the input are left out. The same as `inalu.discreteness` without an input.
    """
    if network.kind.parameters is None:
        from inalu.layers import discreteness as of_module

        return float(of_module(network.build(parameters.astype(np.float64))))
    largest = 0.0
    for layer in network.unpack(parameters.astype(np.float64)):
        values = [
            np.abs(effective(layer[f"W_hat{path}"], layer[f"M_hat{path}"]))
            for path in ("", "_a", "_m")
            if f"W_hat{path}" in layer
        ]
        if "G" in layer and network.options.get("gate") == "constant":
            values.append(1.0 / (1.0 + np.exp(-np.clip(layer["G"], -700, 700))))
        for value in values:
            largest = max(largest, float(np.minimum(value, np.abs(1.0 - value)).max()))
    return largest


def _packed(parameters: NDArray[np.floating[Any]]) -> bytes:
    return np.ascontiguousarray(parameters, dtype=np.float64).tobytes()


def _group_qualities(members: list[_Part], inputs: TestSet, targets: list[Floats]) -> list[Quality]:
    network = members[0].network
    dtype = np.float32 if members[0].single else np.float64
    packed = np.array([np.frombuffer(part.parameters) for part in members]).astype(dtype)
    population = Population(network, packed)
    rows, widest = len(inputs.x), max(network.widths[1:])
    step = _NUMBERS_AT_A_TIME // (network.widths[0] + 4 * len(members) * widest)
    step = min(rows, max(256, step))
    squares = np.zeros(len(members))
    within = np.zeros(len(members))
    with np.errstate(all="ignore"), one_blas_thread():
        for first in range(0, rows, step):
            part = slice(first, first + step)
            predicted = population.forward(inputs, part)
            for index, target in enumerate(targets):
                y = target[part].T.astype(dtype, copy=False)
                # What was lost in float32 is lost; its squares are summed in float64.
                error = (predicted[index] - y).astype(np.float64, copy=False)
                squares[index] += np.einsum("ob,ob->", error, error)
                np.abs(error, out=error)
                within[index] += np.count_nonzero((error <= RELATIVE * np.abs(y)).all(axis=0))
    return [
        Quality(_finite(total / targets[index].size), float(within[index] / rows))
        for index, total in enumerate(squares)
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _record(result: Result, values: dict[str, Any]) -> Record:
    training = result.member.tag
    assert isinstance(training, Training)
    made = result.provenance
    return Record(
        specification=training.specification(made.backend, made.algorithm),
        status=result.status.name.lower(),
        restarts=result.restarts,
        loss=tuple(result.loss.tolist()),
        parameters=result.parameters,
        steps=result.steps,
        seconds=result.seconds,
        threads=made.threads,
        versions=made.versions,
        **values,
    )
