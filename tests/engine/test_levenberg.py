"""Levenberg's and Marquardt's steps: the reference by autograd, company, gates, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Member, Plan
from inalu.engine.recipe import PAPER, ROBUST, LevenbergMarquardt, Recipe, Stage
from inalu.engine.train import train
from inalu.errors import InvalidArgument
from inalu.layers.laws import Law, Normal, Signs

SHUT, OPEN = Signs(1000, 0), Normal(0, 1)
RECIPE = Recipe(
    name="second order", loss="sampson-paths", optimizer=LevenbergMarquardt(), batch=1000, epochs=9, clip=None,
    regularization=None, reinitialization=None, law=Law(G=SHUT, M_hat=Normal(-1, 1), W_hat=Normal(1, 1)),
)  # fmt: skip
NETWORKS = [
    Network("nac", (3, 2)),
    Network("inalu-independent", (3, 1)),
    Network("inalu-independent", (5, 2, 1)),
    Network("inalu-shared", (5, 2, 1)),
    Network("inalu-independent", (3, 3, 2, 1)),
    Network("inalu-independent", (3, 2, 2), sign=False),
    Network("inalu-shared", (3, 2, 2), omega=None),
    Network("inalu-shared", (3, 2, 1), omega=0.5, epsilon=1e-3),
]


def source(network, rows=70, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, network.widths[0])), rng.normal(size=(rows, network.widths[-1]))
    # Where the sign of zero, the cut of log|x| and log|y| decide.
    x[3:9, 0], x[5, 1:], y[7] = 0.0, 1e-9, 0.0
    return ArraySource(x, y)


def plan(network, recipe=RECIPE, seeds=range(5), data=None):
    rows = data or source(network)
    members = [Member(network=network, source=rows, seed=seed) for seed in seeds]
    return Plan(members=members, recipe=recipe, dtype="float64")


@pytest.mark.parametrize("gates", [SHUT, OPEN], ids=["shut", "open"])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_steps_are_those_of_autograd(network, gates):
    # Few steps, since rounding grows in an ill-conditioned system.
    recipe = RECIPE.but(law=replace(RECIPE.law, G=gates), epochs=5)
    fast, truth = (train(plan(network, recipe), backend=name) for name in ("cpu", "reference"))
    for one, other in zip(fast, truth, strict=True):
        assert one.steps == other.steps
        np.testing.assert_allclose(one.loss, other.loss, rtol=1e-8)
        np.testing.assert_allclose(one.parameters, other.parameters, rtol=1e-6, atol=1e-6)


def test_a_member_does_not_depend_on_its_company_or_on_threads():
    network = Network("inalu-independent", (5, 2, 1))
    rows = [source(network, seed=n) for n in range(2)]
    members = [Member(network=network, source=rows[s % 2], seed=s) for s in range(24)]
    recipe = RECIPE.but(epochs=30)
    together = train(Plan(members=members, recipe=recipe), threads=2)
    for member, result in list(zip(members, together, strict=True))[::5]:
        alone = train(Plan(members=[member], recipe=recipe), threads=1)[0]
        np.testing.assert_array_equal(alone.parameters, result.parameters)
        np.testing.assert_array_equal(alone.loss, result.loss)


def test_gates_stay_and_the_loss_never_rises():
    network = Network("inalu-independent", (4, 2, 1))
    chosen = plan(network, RECIPE.but(epochs=40))
    for index, result in enumerate(train(chosen)):
        for before, after in zip(
            network.unpack(chosen.starts(index)[0]), network.unpack(result.parameters), strict=True
        ):
            np.testing.assert_array_equal(before["G"], after["G"])
        assert (np.diff(result.loss) <= 0).all()


def test_a_quotient_of_sums_is_learned_from_drawn_weights():
    x = np.random.default_rng(1).uniform(1, 4, (200, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1]).astype(np.float64) / (x[:, 2] + x[:, 4] + x[:, 5])
    network = Network("inalu-independent", (6, 2, 1))
    members = []
    for seed in range(12):
        member = Member(network=network, source=ArraySource(x, y), seed=seed)
        start = Plan(members=[member], recipe=RECIPE).starts(0)[0].copy()
        network.unpack(start)[0]["G"][:], network.unpack(start)[1]["G"][:] = 1000.0, -1000.0
        members.append(replace(member, initial=start))
    results = train(Plan(members=members, recipe=RECIPE.but(epochs=80), dtype="float64"))
    assert sum(result.loss[-1] < 1e-12 for result in results) >= 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "mse"}, "must be 'sampson-paths' with LevenbergMarquardt"),
        ({"clip": 0.1}, "Recipe.clip must be None with LevenbergMarquardt"),
        ({"optimizer": PAPER.optimizer}, "can be 'sampson-paths' only with LevenbergMarquardt"),
    ],
)
def test_a_recipe_refuses_what_would_do_nothing(change, message):
    with pytest.raises(InvalidArgument, match=message):
        RECIPE.but(**change)


def test_the_constants_of_the_steps_have_rules():
    with pytest.raises(InvalidArgument, match="fall <= 1 <= rise"):
        LevenbergMarquardt(fall=2.0)
    with pytest.raises(InvalidArgument, match="damping must be finite and positive"):
        LevenbergMarquardt(damping=0.0)


def test_a_plan_refuses_networks_and_batches_that_it_cannot_step():
    network = Network("inalu-independent", (5, 2, 1))
    with pytest.raises(InvalidArgument, match="at least the 70 rows"):
        plan(network, RECIPE.but(batch=64))
    for other in (Network("nalu-vector", (5, 2, 1)), Network("inalu-shared", (5, 2, 1), sign="published")):
        with pytest.raises(InvalidArgument, match="constant gates and a sign as in the text"):
            plan(other)
    with pytest.raises(InvalidArgument, match="'sampson-paths' needs a cell of the paper"):
        plan(Network("nau", (5, 1)))
    with pytest.raises(InvalidArgument, match="stacked backend makes no steps"):
        train(plan(network), backend="stacked")


def test_a_stage_has_rows_exactly_where_its_recipe_takes_mini_batches():
    with pytest.raises(InvalidArgument, match="rows must be given but for LevenbergMarquardt"):
        Stage(recipe=RECIPE, rows=100)
    with pytest.raises(InvalidArgument, match="rows must be given but for LevenbergMarquardt"):
        Stage(recipe=ROBUST.one_layer[0].recipe)
