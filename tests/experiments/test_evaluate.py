"""Evaluation: the same numbers as one member at a time, and formulas judged by algebra."""

import numpy as np
import pytest

import inalu
from inalu.engine.forward import network_forward
from inalu.engine.network import Network
from inalu.engine.result import Provenance, Result, Status
from inalu.experiments.evaluate import RELATIVE, Evaluator, discreteness
from inalu.experiments.job import Training
from inalu.experiments.population import Population
from inalu.experiments.problems import Columns
from inalu.experiments.record import SINGLE
from inalu.experiments.sets import SetCache, TestSet
from inalu.tasks import Task

ROWS = 500
NETWORKS = [
    ("nac", {}),
    ("nalu-vector", {}),
    ("nalu-matrix", {}),
    ("inalu-shared", {}),
    ("inalu-independent", {}),
    ("inalu-independent", {"sign": "published"}),
    ("inalu-independent", {"sign": False, "omega": None}),
    ("inalu-shared", {"gate": "matrix"}),
    ("inalu-shared", {"gate": "vector", "omega": None}),
]


def result_of(network, problem, parameters, seed=100):
    training = Training(network=network, problem=problem, seed=seed, recipe=inalu.PAPER, rows=ROWS)
    return Result(
        member=training.member(), parameters=np.asarray(parameters), loss=np.array([1.0, 0.5]), restarts=(1,),
        steps=20, status=Status.FINISHED, seconds=0.5,
        provenance=Provenance("cpu", 1, 2, "float32", "PAPER", (("python", "3"),)),
    )  # fmt: skip


def exact_parameters(network, *, weights, gate):
    """Weights and gates that stand at their bounds, from effective weights [I, O] for both paths."""
    packed = np.zeros(network.size)
    for slot in network.slots:
        values = packed[slot.start : slot.stop]
        w = np.asarray(weights, float).reshape(-1)
        if slot.kind == "gate":
            values[:] = gate
        elif slot.name.startswith("W_hat"):
            values[:] = 30 * w
        else:
            values[:] = np.where(w == 0, -30, 30)
    return packed


@pytest.mark.parametrize(("cell", "options"), NETWORKS, ids=str)
@pytest.mark.parametrize("widths", [(2, 1), (3, 2), (5, 3, 2), (12, 10, 1)], ids=str)
def test_together_as_one_by_one(cell, options, widths):
    rng = np.random.default_rng(0)
    network = Network(cell, widths, **options)
    packed = rng.normal(0, 2, (4, network.size))
    # One member with exact weights, whose factors of the sign vector are 0 and -1.
    packed[1] = np.sign(packed[1]) * 1000
    x = rng.normal(0, 2, (60, widths[0])).astype(np.float32)
    x[3, 0] = 0
    x[7] = 0
    with np.errstate(all="ignore"):
        together = Population(network, packed).forward(TestSet(x), slice(10, 60))
    start = Population(network, packed).forward(TestSet(x), slice(0, 10))
    for member in range(4):
        alone = network_forward(network, packed[member], x.astype(np.float64))
        np.testing.assert_allclose(together[member].T, alone[10:], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(start[member].T, alone[:10], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", ["inalu-independent", "nalu-matrix"])
@pytest.mark.parametrize(("inputs", "sums"), [(2, False), (20, True)])
def test_errors_are_those_of_the_definition(model, inputs, sums):
    rng = np.random.default_rng(1)
    widths = (inputs, 2, 1) if sums else (inputs, 1)
    network = Network(model, widths)
    task = Task("mul", inputs, "N(-3,3)", "N(3,4)", sums=sums)
    results = [result_of(network, task, rng.normal(0, 1, network.size).astype(np.float32)) for _ in range(3)]
    for result, record in zip(results, Evaluator().evaluate(results), strict=True):
        for name in ("interpolation", "extrapolation"):
            data = task.draw_set(100, name, ROWS)
            for prefix, trained in (("", result), ("snapped_", result.snap(data.x[:200]))):
                if prefix and model.startswith("nalu"):
                    # Its gate's majority is taken over the interpolation set.
                    trained = result.snap(task.draw_set(100, "interpolation", ROWS).x)
                error = trained.predict(data.x) - data.y
                assert getattr(record, f"{prefix}mse_{name}") == pytest.approx(np.mean(error**2), rel=1e-9)
                share = np.mean(np.abs(error) <= RELATIVE * np.abs(data.y))
                assert getattr(record, f"{prefix}within_{name}") == share


def test_a_learned_formula():
    task = Task("sub", 2, "U(-1,1)", "U(-10,-5)")
    network = Network("inalu-shared", (2, 1))
    right = exact_parameters(network, weights=[[1], [-1]], gate=30)
    wrong = exact_parameters(network, weights=[[1], [1]], gate=30)
    first, second = Evaluator().evaluate([result_of(network, task, p) for p in (right, wrong)])
    assert (first.formula, first.exact_formula) == ("x0 - x1", True)
    assert first.snapped_mse_extrapolation == 0
    assert first.snapped_within_extrapolation == 1
    assert first.mse_extrapolation < 1e-20
    assert first.discreteness < 1e-12
    assert (second.formula, second.exact_formula) == ("x0 + x1", False)
    assert first.reinitialisations == 1


def test_a_network_can_be_judged_elsewhere_without_training():
    """On its own problem that gives the record's errors, on another the errors of that one's record."""
    rng = np.random.default_rng(1)
    network = Network("inalu-shared", (3, 2, 1))
    here, there = (Task("mul", 3, "U(-1,1)", outside) for outside in ("U(2,3)", "U(-5,-4)"))
    weights = [rng.normal(0, 1, network.size).astype(np.float32) for _ in range(3)]
    records = {
        problem: Evaluator().evaluate(
            [result_of(network, problem, w, 100 + n) for n, w in enumerate(weights)]
        )
        for problem in (here, there)
    }
    trained = [
        (Training(network=network, problem=here, seed=100 + n, recipe=inalu.PAPER, rows=ROWS), record)
        for n, record in enumerate(records[here])
    ]
    for problem, found in records.items():
        assert Evaluator().errors_on(problem, trained) == [
            (record.mse_extrapolation, record.measures[SINGLE]) for record in found
        ]


def test_equal_numbers_are_no_equal_formula():
    # On positive inputs |x0|·|x1| is x0·x1, but it is not the same formula.
    task = Task("mul", 2, "U(1,2)", "U(2,6)")
    network = Network("nalu-matrix", (2, 1))
    (record,) = Evaluator().evaluate(
        [result_of(network, task, exact_parameters(network, weights=[[1], [1]], gate=-9))]
    )
    assert record.snapped_within_extrapolation == 1
    assert record.exact_formula is False


def test_huge_and_missing_numbers_are_none():
    task = Task("div", 2, "U(-1,1)", "U(-10,-5)")
    network = Network("inalu-shared", (2, 1), omega=None)
    broken = np.full(network.size, np.nan)
    with np.errstate(all="ignore"):
        (record,) = Evaluator().evaluate([result_of(network, task, broken)])
    assert record.mse_interpolation is None
    assert record.mse_extrapolation is None
    assert record.within_interpolation == 0


def test_several_outputs_and_columns_of_their_own():
    problem = Columns("pair-sums", ("U(-1,1)",) * 4, ("U(2,6)",) * 4)
    network = Network("inalu-independent", (4, 4))
    weights = np.zeros((4, 4))
    for o in range(4):
        weights[o, o] = weights[(o + 1) % 4, o] = 1
    (record,) = Evaluator().evaluate(
        [result_of(network, problem, exact_parameters(network, weights=weights, gate=30))]
    )
    assert record.mse_extrapolation < 1e-20
    assert record.within_extrapolation == 1
    assert record.formula is None
    assert record.exact_formula is None


def test_a_cell_that_is_none_of_ours():
    pytest.importorskip("torch")
    from inalu.experiments.catalog.challenges import register_neurons

    register_neurons()
    network = Network("linear", (2, 1))
    task = Task("add", 2, "U(-1,1)", "U(-10,-5)")
    result = result_of(network, task, np.array([1.0, 1.0, 0.5]))
    (record,) = Evaluator().evaluate([result])
    assert record.mse_extrapolation == pytest.approx(0.25)
    assert record.formula is None
    assert record.snapped_mse_extrapolation is None


def test_discreteness_is_that_of_the_layers():
    pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    for cell in ("inalu-shared", "inalu-independent", "nac"):
        network = Network(cell, (5, 3, 2))
        packed = rng.normal(0, 2, network.size)
        assert discreteness(network, packed) == pytest.approx(inalu.discreteness(network.build(packed)))


def test_members_share_their_sets_and_memory_is_bounded():
    cache = SetCache(memory=3 * ROWS * 2 * 4)
    task = Task("add", 2, "U(-1,1)", "U(-10,-5)")
    other = Task("div", 2, "U(-1,1)", "U(-10,-5)")
    network = Network("inalu-shared", (2, 1))

    def training(problem, seed):
        return Training(network=network, problem=problem, seed=seed, recipe=inalu.PAPER, rows=ROWS)

    first = cache.get(training(task, 1), "interpolation")
    assert cache.get(training(other, 1), "interpolation") is first
    for seed in range(2, 20):
        cache.get(training(task, seed), "interpolation")
    assert sum(s.bytes for s in cache._sets.values()) <= 4 * ROWS * 2 * 4
    assert cache.get(training(task, 1), "interpolation") is not first
