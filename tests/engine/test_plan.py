"""Plans and their sources: what is refused, what shares inputs, what weights depend on."""

import numpy as np
import pytest

import inalu
from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Member, Plan, TaskSource
from inalu.engine.recipe import PAPER, ROBUST
from inalu.errors import InvalidArgument
from inalu.tasks import parse_task

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
NETWORK = Network("inalu-independent", (2, 1))
TASK = parse_task("add; inputs=2; U(-1,1) -> U(-10,-5)")


def with_bad(array, value):
    array = array.copy()
    array[3] = value
    return array


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (np.zeros((0, 2)), np.zeros(0), "X must be .* not empty; got shape"),
        (X, Y[:4], "same number of rows; got 6 and 4"),
        (with_bad(X, np.nan), Y, "X must be finite; 1 of 6 rows hold NaN or infinity, the first is row 3"),
        (X, with_bad(Y, np.inf), "y must be finite; .* the first is row 3"),
        (
            [[1.0, 2.0], [3.0]],
            [1.0, 2.0],
            "X must be a table of numbers; it holds other things or ragged rows",
        ),
        ([["a", "b"]], [1.0], "X must be a table of numbers"),
        (np.zeros((2, 2, 2)), np.zeros(2), "X must be .*; got shape"),
    ],
    ids=["empty", "lengths", "nan", "infinity", "ragged", "text", "three dimensions"],
)
def test_bad_data_is_refused_in_one_sentence(x, y, sentence):
    with pytest.raises(inalu.InvalidData, match=sentence):
        ArraySource(x, y)


@pytest.mark.parametrize(
    ("network", "fix"),
    [(Network("nac", (3, 1)), "2 inputs"), (Network("nac", (2, 2)), "1 outputs")],
    ids=str,
)
def test_widths_must_fit_the_data(network, fix):
    with pytest.raises(inalu.InvalidArgument, match=f"widths must begin with .*{fix}"):
        Plan(members=[Member(network=network, source=ArraySource(X, Y))], recipe=PAPER)


def test_a_plan_has_members():
    with pytest.raises(inalu.InvalidArgument, match="members must hold at least one member"):
        Plan(members=[], recipe=PAPER)


def test_initial_weights_have_the_network_s_size():
    member = Member(network=NETWORK, source=ArraySource(X, Y), initial=np.zeros(4))
    with pytest.raises(inalu.InvalidArgument, match=r"initial must have shape \(9,\)"):
        Plan(members=[member], recipe=PAPER)


def test_the_loss_of_paths_needs_a_cell_with_paths():
    recipe = ROBUST.one_layer[0].recipe
    with pytest.raises(inalu.InvalidArgument, match="'paths' needs a cell of the paper"):
        Plan(members=[Member(network=Network("nau", (2, 1)), source=ArraySource(X, Y))], recipe=recipe)


def test_data_is_not_copied_where_it_is_an_array():
    x = X.astype(np.float32)
    assert ArraySource(x, Y).load().x is x


def test_operations_share_their_inputs_and_seeds_do_not():
    other = parse_task("div; inputs=2; U(-1,1) -> U(-10,-5)")
    assert TaskSource(TASK, 1).x_key == TaskSource(other, 1).x_key
    assert TaskSource(TASK, 1).x_key != TaskSource(TASK, 2).x_key


def test_no_two_tasks_share_their_starts():
    starts = [
        Plan(members=[Member(network=NETWORK, source=TaskSource(t, 5), seed=5)], recipe=PAPER).starts(0)
        for t in (TASK, parse_task("add; inputs=2; U(-5,5) -> U(-10,-5)"))
    ]
    assert starts[0].shape == (PAPER.starts, NETWORK.size)
    assert not np.isclose(*starts).any()
    # The paper's means (0, -1, 1) for the first, U(-2, 2) for the others.
    assert abs(starts[0][0][:2].mean() - 1) < 0.5
    assert np.abs(starts[0][1:]).max() <= 2
    assert np.abs(starts[0][1:]).max() > 1.5


def test_steps_count_the_smaller_last_batch():
    member = Member(network=NETWORK, source=ArraySource(np.ones((130, 2)), np.ones(130)))
    assert Plan(members=[member], recipe=PAPER.but(epochs=3, batch=64)).steps(member) == 9


def test_sharpness_belongs_to_the_loss_of_paths_and_leaves_old_keys_alone():
    with pytest.raises(InvalidArgument, match="sharpness must be 1 but for the loss 'paths'"):
        PAPER.but(sharpness=2.0)
    with pytest.raises(InvalidArgument, match="sharpness must be finite and positive"):
        PAPER.but(loss="paths", sharpness=0.0)
    assert "sharpness" not in PAPER.to_json()
    assert PAPER.but(loss="paths", sharpness=2.0).to_json()["sharpness"] == 2.0
