"""What every registered cell keeps, on every backend that trains it. A cell added to the registry is held by it."""

import pickle

import numpy as np
import pytest
import torch

import inalu
from inalu.engine.cells import CELLS
from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Member, Plan, draw_weights
from inalu.engine.recipe import PAPER
from inalu.engine.result import Status
from inalu.engine.train import BACKENDS, train
from inalu.expression import Expression
from inalu.layers.base import ArithmeticLayer

WIDTHS = (3, 2, 1)
# Every part of a recipe in a few dozen steps; the loss that every cell can be trained by.
RECIPE = PAPER.but(name="contract", epochs=4, batch=16, law=inalu.LAWS["wide"], reinitialization=None)


def rows_of(inputs, outputs=1, rows=48, seed=0):
    x = np.random.default_rng(seed).uniform(-2, 2, (rows, inputs))
    return ArraySource(x, np.repeat(x[:, :1] - x[:, 1:2], outputs, axis=1), name="contract")


def member(cell, seed=0, widths=WIDTHS, **changes):
    return Member(network=Network(cell, widths), source=rows_of(widths[0], widths[-1]), seed=seed, **changes)


def trained(members, backend, recipe=RECIPE, **options):
    return train(Plan(members=members, recipe=recipe, dtype="float64"), backend=backend, **options)


EVERY_CELL = pytest.mark.parametrize("cell", CELLS)
EVERY_PATH = pytest.mark.parametrize(
    ("cell", "backend"),
    [(c, b) for c in CELLS for b, made in BACKENDS.items() if made.every_cell or b in CELLS[c].fast],
)


@EVERY_CELL
class TestLayout:
    def test_is_that_of_the_module(self, cell):
        network = Network(cell, WIDTHS)
        named = [(f"{n}", tuple(p.shape)) for n, p in network.build().named_parameters()]
        assert [(f"{s.layer}.{s.name}", s.shape) for s in network.slots] == named
        assert [s.start for s in network.slots[1:]] == [s.stop for s in network.slots[:-1]]
        assert network.size == sum(p.numel() for p in network.build().parameters())

    def test_packing_and_unpacking_are_inverse(self, cell):
        network = Network(cell, WIDTHS)
        packed = np.random.default_rng(1).normal(size=network.size)
        module = network.build(packed)
        back = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
        np.testing.assert_array_equal(back, packed)
        parts = [v.ravel() for layer in network.unpack(packed) for v in layer.values()]
        np.testing.assert_array_equal(np.concatenate(parts), packed)

    def test_weights_are_drawn_by_seed_task_and_start_alone(self, cell):
        law = RECIPE.law
        first = draw_weights(member(cell), law, 0)
        np.testing.assert_array_equal(first, draw_weights(member(cell), law, 0))
        for other in (draw_weights(member(cell, seed=1), law, 0), draw_weights(member(cell), law, 1)):
            assert not np.isclose(first, other).any()

    def test_the_name_with_a_typing_error_is_refused(self, cell):
        with pytest.raises(inalu.InvalidArgument, match=f"cell must be .*{cell}"):
            Network(cell + "x", (2, 1))


@EVERY_PATH
class TestTraining:
    def test_lowers_the_loss_and_reports_every_epoch(self, cell, backend):
        recipe = PAPER.but(name="quick", epochs=12, batch=16, optimizer=inalu.Adam(learning_rate=0.02))
        (result,) = trained([member(cell, widths=(3, 1))], backend, recipe)
        assert result.status is Status.FINISHED
        assert result.loss.shape == (12,)
        assert result.steps == 36
        assert result.loss[-1] < result.loss[0]
        assert result.provenance.backend == backend
        assert result.provenance.dtype == "float64"

    def test_does_not_feel_its_company(self, cell, backend):
        alone = trained([member(cell, seed=3)], backend)[0]
        crowd = trained([member(cell, seed=s) for s in (5, 3, 4)], backend, threads=2)[1]
        np.testing.assert_array_equal(crowd.parameters, alone.parameters)
        np.testing.assert_array_equal(crowd.loss, alone.loss)

    def test_predicts_what_its_module_computes(self, cell, backend):
        (result,) = trained([member(cell)], backend)
        x = np.random.default_rng(2).uniform(-3, 3, (20, 3))
        expected = result.to_module().double()(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(result.predict(x), expected, rtol=1e-12, atol=1e-12)

    def test_a_result_is_read_only_and_survives_pickle(self, cell, backend):
        (result,) = trained([member(cell)], backend)
        with pytest.raises(ValueError, match="read-only"):
            result.parameters[0] = 1
        again = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(again.predict(np.ones((2, 3))), result.predict(np.ones((2, 3))))


@pytest.mark.parametrize(
    "cell", [c for c in CELLS if issubclass(type(Network(c, (2, 1)).build()[0]), ArithmeticLayer)]
)
class TestFormula:
    """A cell of this package can be made exact, and then says what it computes."""

    def test_the_exact_network_computes_its_formula(self, cell):
        (result,) = trained([member(cell, seed=7)], "stacked")
        x = np.random.default_rng(3).uniform(0.5, 2, (64, 3)) * [1, -1, 1]
        exact = result.snap(x)
        formula = result.expression(["a", "b", "c"], x)
        assert isinstance(formula, Expression)
        values = formula.evaluate(dict(zip("abc", x.T, strict=True)))
        np.testing.assert_allclose(
            exact.predict(x)[:, 0], np.broadcast_to(values, len(x)), rtol=1e-9, atol=1e-9
        )

    def test_names_must_be_as_many_as_inputs(self, cell):
        (result,) = trained([member(cell)], "stacked")
        with pytest.raises(inalu.InvalidArgument, match="names must name the 3 inputs"):
            result.expression(["a"])
