"""Search: what a start is judged by, closed forms, and `learn` on small data."""

from dataclasses import replace

import numpy as np
import pytest

import inalu.engine.search as search_module
from inalu.engine.closed_form import closed_form
from inalu.engine.discrete import snap_network
from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Rows, TaskSource
from inalu.engine.recipe import PAPER, ROBUST, WARM, Search, Stage
from inalu.engine.result import Training
from inalu.engine.search import EXACT, Problem, _at_most, _Search, judge, learn, make_exact, solve
from inalu.errors import InvalidArgument, InvalidData
from inalu.tasks import parse_task

ONE, TWO = Network("inalu-independent", (3, 1)), Network("inalu-independent", (4, 2, 1))


def packed(network, **values):
    """Weights 0 with closed gates, but for what is given as {name: array} of the first layer."""
    theta = np.zeros(network.size)
    for layer in network.unpack(theta):
        for name, part in layer.items():
            part[:] = -9.0 if name[0] in "MG" else 0.0
    for name, value in values.items():
        network.unpack(theta)[0][name][:] = value
    return theta


def data(function, rows=500, seed=0, inputs=3):
    x = np.random.default_rng(seed).uniform(-3, 3, (rows, inputs))
    return Rows(x, function(x)[:, None])


def test_judge_is_bounded_and_without_unit():
    rows = data(lambda x: x[:, 0] + x[:, 1])
    theta = np.random.default_rng(1).normal(size=ONE.size)
    error = judge(ONE, theta, rows)
    assert 0 < error[0] < 1
    wild = Rows(rows.x, rows.y.copy())
    wild.y[0] = 1e300
    assert abs(judge(ONE, theta, wild)[0] - error[0]) <= 1 / len(rows.x) + 1e-12


def test_make_exact_rounds_and_opens_the_better_gate():
    rows = data(lambda x: x[:, 0] - x[:, 1])
    theta = packed(
        ONE, W_hat_a=[[2.0], [-2.0], [0.1]], M_hat_a=[[2.0], [2.0], [-2.0]], G=[-1.0],
    )  # fmt: skip
    exact = make_exact(ONE, theta, rows)
    assert exact.error <= EXACT
    assert exact.network.unpack(exact.parameters)[0]["G"] > 0


def test_relative_rounding_sees_what_only_the_ratio_shows():
    theta = packed(ONE, W_hat_a=[[0.4], [-0.4], [0.05]], M_hat_a=[[0.0], [0.0], [0.0]])
    nearest = snap_network(ONE, theta)[1]
    relative = snap_network(ONE, theta, rounding="relative")[1]
    assert not ONE.unpack(nearest)[0]["W_hat_a"].any()
    assert np.sign(ONE.unpack(relative)[0]["W_hat_a"]).ravel().tolist() == [1, -1, 0]


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("inputs", [2, 10])
def test_closed_forms_solve_the_paper_tasks_of_one_layer(operation, inputs):
    rows = TaskSource(parse_task(f"{operation}; inputs={inputs}; N(-4,2) -> N(8,10)"), 3, 2000).load()
    network = Network("inalu-independent", (inputs, 1))
    assert make_exact(network, closed_form(network, rows), rows).error <= EXACT


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_closed_forms_solve_the_paper_tasks_of_two_layers(operation):
    source = TaskSource(parse_task(f"{operation}; inputs=20; sums; U(-3,3) -> U(-5,-3)"), 3, 8000)
    network, rows = Network("inalu-independent", (20, 2, 1)), source.load()
    assert make_exact(network, closed_form(network, rows), rows).error <= EXACT


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (lambda x: x[:, 0] + x[:, 2], "x0 + x2"),
        (lambda x: x[:, 1] - x[:, 0], "x1 - x0"),
        (lambda x: x[:, 1] * x[:, 2], "x1 * x2"),
        (lambda x: x[:, 2] / x[:, 0], "x2 / x0"),
        (lambda x: 1 / x[:, 1], "1 / x1"),
    ],
)
def test_learn_finds_the_formula(function, formula):
    rows = data(function)
    result = learn(rows.x, rows.y, seed=1)
    assert str(result.expression()) == formula
    assert result.error <= EXACT
    far = np.random.default_rng(5).uniform(50, 90, (20, 3))
    np.testing.assert_allclose(result.predict(far)[:, 0], function(far), rtol=1e-6)


def test_learn_survives_noise_and_gross_errors():
    rows = data(lambda x: x[:, 0] / x[:, 1], rows=2000)
    rng = np.random.default_rng(3)
    y = rows.y + 0.01 * np.median(np.abs(rows.y)) * rng.normal(size=rows.y.shape)
    y[rng.random(len(y)) < 0.1] *= 30
    assert str(learn(rows.x, y, network=ONE).expression()) == "x0 / x1"


def test_a_search_does_not_depend_on_its_company():
    small = Stage(recipe=ROBUST.one_layer[0].recipe, rows=5000)
    search = Search(name="small", one_layer=(small, small), deeper=(small,))
    sources = [ArraySource(*data(lambda x: x[:, 0] * x[:, 1], seed=s)) for s in range(3)]
    problems = [Problem(network=ONE, source=s, seed=n) for n, s in enumerate(sources)]
    together = solve(problems, search)
    for problem, result in zip(problems, together, strict=True):
        alone = solve([problem], search)[0]
        np.testing.assert_array_equal(alone.parameters, result.parameters)
        assert (alone.rows, alone.starts) == (result.rows, result.starts)


def test_the_budget_is_the_paper_s_and_ten_times_that_for_deeper_networks():
    for search in (ROBUST, WARM):
        assert (search.one_layer_rows, search.deeper_rows) == (6_400_000, 64_000_000)


@pytest.mark.parametrize(
    ("network", "most"), [(ONE, 20_000), (Network("inalu-independent", (3, 2, 1)), 200_000)]
)
def test_the_waves_repeat_until_the_budget_is_spent(network, most):
    one = Stage(recipe=ROBUST.one_layer[0].recipe, rows=2000)
    two = replace(ROBUST.deeper[-1], starts=4, judged=2)
    search = Search(
        name="small", one_layer=(one,), deeper=(one, two), one_layer_rows=20_000, deeper_rows=200_000,
        agreement=1000,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    source, seen = ArraySource(rng.normal(size=(1000, 3)), rng.normal(size=1000)), []
    problem = Problem(network=network, source=source)
    result = solve([problem], search, progress=lambda done, total: seen.append((done, total)))[0]
    # The next wave might have passed it.
    assert most / 2 < result.rows <= most
    assert result.starts > 5 if network.depth > 1 else result.starts == 2
    assert seen == sorted(seen)
    assert max(done for done, _ in seen) <= most


def test_a_search_of_noise_ends_when_starts_agree():
    x = np.random.default_rng(0).uniform(1, 3, (400, 3))
    y = x[:, 0] / x[:, 1] + 0.02 * np.random.default_rng(1).normal(size=400)
    search = replace(ROBUST, deeper_rows=8_000_000)
    network = Network("inalu-independent", (3, 2, 1))
    result = solve([Problem(network=network, source=ArraySource(x, y))], search)[0]
    assert str(result.expression()) == "x0 / x1"
    assert result.rows < 4_000_000


def test_waves_of_second_order_are_left_out_where_a_cell_has_no_such_steps():
    source = ArraySource(*data(lambda x: x[:, 0] + x[:, 1]))
    for cell, some in (("nalu-vector", False), ("nac", True), ("inalu-shared", True)):
        search = _Search(Problem(network=Network(cell, (3, 2, 1)), source=source), ROBUST)
        assert any(stage.second_order for stage in search.waves) == some


@pytest.mark.parametrize("rows", [300, 5_000, 64_000, 250_000, 700_000, 2_000_000])
def test_the_budget_holds_for_any_number_of_rows(rows):
    source = ArraySource(*data(lambda x: x[:, 0] * x[:, 1], rows=rows))
    for network, most in ((ONE, 6_400_000), (Network("inalu-independent", (3, 2, 1)), 64_000_000)):
        search = _Search(Problem(network=network, source=source), ROBUST)
        assert most // 3 < search.rows_ahead() <= most
        # What new last layers would be put upon.
        search.base = np.zeros(network.size)
        for wave in range(len(search.waves)):
            search.wave = wave
            stage = search.stage()
            trained = [member.source.shape[0] for member in search.members(stage)]
            assert max(trained) <= (stage.rows or search.problem.network.size + 128)
            counted = search.wave_rows(stage) - 5 * len(search.judged.x) * (stage.judged or stage.starts)
            assert counted == stage.recipe.epochs * sum(trained)


def test_more_rows_than_a_start_may_use_are_taken_evenly():
    source = ArraySource(np.arange(10.0)[:, None], np.arange(10.0))
    assert _at_most(source, 10) is source
    few = _at_most(source, 4)
    assert few.load().x.ravel().tolist() == [0, 3, 6, 9]
    assert few.shape == (4, 1, 1)
    assert few.text == source.text


def test_robust_looks_at_nothing_but_the_training_rows():
    assert not ROBUST.closed_form
    assert WARM.closed_form
    for stage in (*ROBUST.one_layer, *ROBUST.deeper):
        assert stage.recipe.loss in ("paths", "sampson", "sampson-paths")
        assert stage.recipe.regularization is None
        assert stage.recipe.reinitialization is None


def test_a_plain_recipe_is_a_search_of_one_start():
    rows = data(lambda x: x[:, 0] + x[:, 1])
    result = learn(rows.x, rows.y, recipe=PAPER.but(name="short", epochs=2), network=ONE)
    assert (result.starts, result.steps) == (1, 16)


def test_results_stream_and_progress_ends_at_the_total():
    seen, steps = [], []
    rows = data(lambda x: x[:, 0] + x[:, 1])
    problems = [Problem(network=ONE, source=ArraySource(*rows), seed=s, tag=s) for s in range(2)]
    solve(problems, on_result=lambda r: seen.append(r.member.tag), progress=lambda d, t: steps.append((d, t)))
    assert sorted(seen) == [0, 1]
    assert all(done <= total for done, total in steps)


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        (np.ones((0, 3)), np.ones(0), InvalidData, "not empty"),
        (np.full((4, 3), np.nan), np.ones(4), InvalidData, "row 0"),
        (np.ones((4, 3)), np.ones(5), InvalidData, "4 and 5"),
        ([["a", "b"]], [1.0], InvalidData, "numbers"),
        (np.ones((4, 3)), None, InvalidArgument, "y must be given"),
    ],
)
def test_bad_data_is_one_sentence(x, y, error, message):
    with pytest.raises(error, match=message):
        learn(x, y)


def test_bad_names_are_one_sentence():
    with pytest.raises(InvalidArgument, match="Did you mean 'ROBUST'"):
        learn(np.ones((4, 2)), np.ones(4), recipe="ROBUSTE")
    with pytest.raises(InvalidArgument, match="closed-form"):
        closed_form(Network("nac", (2, 1)), Rows(np.ones((4, 2)), np.ones((4, 1))))


def test_ctrl_c_keeps_what_the_smaller_network_found(monkeypatch):
    rows = data(lambda x: np.sin(x[:, 0]))
    first = solve([Problem(network=ONE, source=ArraySource(*rows))], PAPER.but(name="short", epochs=1))
    answers = [Training(first.results), Training((), True), Training((), True)]
    monkeypatch.setattr(search_module, "solve", lambda *_, **__: answers.pop(0))
    assert learn(rows.x, rows.y) is first[0]
    with pytest.raises(KeyboardInterrupt):
        learn(rows.x, rows.y)
