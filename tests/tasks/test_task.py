"""Tasks: what the sets hold, what they share, what they are a function of."""

import math
import pickle

import numpy as np
import pytest

from inalu.errors import InvalidArgument, InvalidData
from inalu.tasks import OPERATIONS, SETS, Task, Uniform, parse_task

SUMS = Task("sub", 100, "N(-3,3)", "N(3,4)", sums=True)


def positive(name):
    return Task(name, 5, "U(1,2)", "U(3,4)")


@pytest.mark.parametrize("name", OPERATIONS)
def test_y_is_the_operation_on_the_first_inputs_in_float64(name):
    data = positive(name).draw_set(7, "train", rows=200)
    assert (data.x.dtype, data.x.shape) == (np.float32, (200, 5))
    assert (data.y.dtype, data.y.shape) == (np.float64, (200, 1))
    a, b = (data.x[:, i].astype(np.float64) for i in (0, 1))
    np.testing.assert_array_equal(data.y[:, 0], OPERATIONS[name].apply(a, b))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("sums", [False, True])
def test_the_target_formula_evaluates_to_y(name, sums):
    task = Task(name, 6, "U(1,2)", "U(3,4)", sums=sums)
    data = task.draw_set(3, "extrapolation", rows=500)
    columns = {f"x{i}": data.x[:, i].astype(np.float64) for i in range(6)}
    found = task.target(3).evaluate(columns)
    if sums:
        # A formula may add its terms in an order of its own.
        np.testing.assert_allclose(found, data.y[:, 0], rtol=1e-14)
    else:
        np.testing.assert_array_equal(found, data.y[:, 0])


def test_the_target_names_exactly_the_inputs_that_count():
    used = SUMS.assignment(5)
    assert set(SUMS.target(5).columns) == {f"x{i}" for i in (*used.a, *used.b)}


def test_sums_add_the_assigned_inputs():
    draw = SUMS.draw(seed=9, rows=50)
    used = draw.assignment
    for data in (draw.train, draw.interpolation, draw.extrapolation):
        rows = data.x.tolist()
        expected = [math.fsum(row[i] for i in used.a) - math.fsum(row[i] for i in used.b) for row in rows]
        np.testing.assert_allclose(data.y[:, 0], expected, rtol=0, atol=1e-12)


def test_changing_an_ignored_input_changes_nothing():
    data = SUMS.draw_set(9, "train", rows=50)
    changed = data.x.copy()
    changed[:, list(SUMS.assignment(9).ignored)] = 1e6
    np.testing.assert_array_equal(SUMS.compute_y(changed, 9), data.y)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("inputs", [2, 3, 10, 100])
def test_assignments_are_disjoint_and_leave_none_of_the_three_empty(inputs, seed):
    used = Task("add", inputs, "U(0,1)", "U(1,2)", sums=True).assignment(seed)
    assert sorted((*used.a, *used.b, *used.ignored)) == list(range(inputs))
    assert used.a
    assert used.b
    assert used.ignored or inputs == 2


def test_assignments_have_the_shares_one_half_one_quarter_one_quarter():
    all_used = [SUMS.assignment(seed) for seed in range(400)]
    shares = np.array([[len(used.a), len(used.b), len(used.ignored)] for used in all_used]).mean(axis=0) / 100
    # Four standard errors of a share of 40,000 entries.
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.01)


def test_assignments_depend_on_seed_and_inputs_alone():
    other = Task("div", 100, "U(1,2)", "E(0.5)", sums=True)
    assert SUMS.assignment(4) == other.assignment(4)
    assert SUMS.assignment(4) != SUMS.assignment(5)


def test_without_sums_the_operands_are_the_first_inputs():
    used = Task("mul", 4, "U(0,1)", "U(1,2)").assignment(0)
    assert (used.a, used.b, used.ignored) == ((0,), (1,), (2, 3))
    used = Task("square", 4, "U(0,1)", "U(1,2)").assignment(0)
    assert (used.a, used.b, used.ignored) == ((0,), (), (1, 2, 3))


def test_operations_share_x_and_its_key():
    tasks = [positive(name) for name in OPERATIONS]
    for name in SETS:
        first, *others = (task.draw_x(1, name, 300) for task in tasks)
        for x in others:
            np.testing.assert_array_equal(x, first)
        assert len({task.x_key(1, name, 300) for task in tasks}) == 1


def test_the_key_is_equal_exactly_when_x_is():
    keyed = {}
    for inputs in (2, 4):
        for train, extrapolation in (("U(-1,1)", "U(1,2)"), ("N(-1,1)", "U(1,2)"), ("U(1,2)", "U(-1,1)")):
            task = Task("add", inputs, train, extrapolation)
            for seed in (0, 1):
                for name in SETS:
                    for rows in (4, 8):
                        x = task.draw_x(seed, name, rows)
                        content = (x.shape, x.tobytes())
                        assert keyed.setdefault(task.x_key(seed, name, rows), content) == content
    assert len(set(keyed.values())) == len(keyed)


def test_interpolation_is_drawn_like_training_and_extrapolation_is_not():
    draw = Task("add", 3, "U(-1,1)", "U(-10,-5)").draw(2, rows=1000)
    for data in (draw.train, draw.interpolation):
        assert -1 <= data.x.min() < -0.99
        assert 0.99 < data.x.max() <= 1
    assert -10 <= draw.extrapolation.x.min() < -9.9
    assert -5.1 < draw.extrapolation.x.max() <= -5


def test_seeds_sets_and_distributions_are_independent():
    task = Task("add", 10, "U(-1,1)", "N(-1,1)")
    samples = [task.draw_x(seed, name, 5000).ravel() for seed in (0, 1) for name in SETS]
    correlations = np.corrcoef(samples)[np.triu_indices(6, 1)]
    assert (abs(correlations) < 5 / 50_000**0.5).all()


@pytest.mark.parametrize("task", [positive("div"), SUMS])
def test_fewer_rows_are_the_beginning_of_more(task):
    short, long = task.draw(3, rows=77), task.draw(3, rows=1000)
    for name in SETS:
        np.testing.assert_array_equal(getattr(short, name).x, getattr(long, name).x[:77])
        np.testing.assert_array_equal(getattr(short, name).y, getattr(long, name).y[:77])


def test_the_default_is_the_papers_number_of_rows():
    draw = Task("add", 2, "U(-1,1)", "U(-10,-5)").draw(0)
    assert [getattr(draw, name).x.shape for name in SETS] == [(64_000, 2)] * 3


def test_draws_repeat_and_cannot_be_changed():
    first, second = SUMS.draw(1, rows=10), SUMS.draw(1, rows=10)
    np.testing.assert_array_equal(first.train.x, second.train.x)
    for array in (first.train.x, first.train.y, first.extrapolation.x):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


class Fixed:
    """A distribution whose numbers are given; what it takes to meet a zero."""

    bounds = (-1.0, 1.0)

    def __init__(self, *numbers):
        self.numbers = np.array(numbers, np.float32)

    def draw(self, key, shape, *, start=0):
        return self.numbers.reshape(shape)

    def __str__(self):
        return "fixed"


def test_a_zero_divisor_is_one_clear_error():
    task = Task("div", 2, Fixed(1, 2, 3, 0), Uniform(1, 2))
    with pytest.raises(InvalidData, match=r"seed 8: row 1 of train .*a = 3 and b = 0.*another seed"):
        task.draw(8, rows=2)
    with pytest.raises(InvalidData, match="row 0 of x has a = 0 and b = 0"):
        task.compute_y(np.zeros((1, 2), np.float32), 8)
    with pytest.raises(InvalidData, match="row 0 of x has a = -1, whose sqrt"):
        positive("sqrt").compute_y(np.full((1, 5), -1, np.float32), 0)


TEXTS = [
    "div; inputs=10; U(-1,1) -> U(-10,-5)",
    "add; inputs=100; sums; N(-3,3) -> N(3,4)",
    "sqrt; inputs=1; E(1) -> E(0.5)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_value_say_the_same(text):
    task = parse_task(text)
    assert str(task) == text
    assert parse_task(f" {text.replace(';', ' ; ').replace('->', '  ->')} ") == task
    assert parse_task(text.replace(" ", "")) == task
    assert hash(parse_task(text)) == hash(task)
    assert pickle.loads(pickle.dumps(task)) == task


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dif; inputs=2; U(0,1) -> U(1,2)", "operation must be one of .* Did you mean 'div'"),
        ("div; inputs=1; U(0,1) -> U(1,2)", "inputs must be a whole number from 2 on; got 1"),
        ("identity; inputs=1; sums; U(0,1) -> U(1,2)", "inputs must be a whole number from 2 on; got 1"),
        ("div; U(0,1) -> U(1,2)", "must have the form"),
        ("div; inputs=2; U(0,1)", "must have the form"),
        ("div; inputs=2; U(0,1) -> U(1,2) -> U(2,3)", "must have the form"),
        ("div; inputs=2; inputs=3; U(0,1) -> U(1,2)", "got 'inputs=3' in"),
        ("div; inputs=2; sum; U(0,1) -> U(1,2)", "got 'sum' in"),
        ("div; inputs=-2; U(0,1) -> U(1,2)", "got 'inputs=-2' in"),
        ("div; inputs=2; V(0,1) -> U(1,2)", "must begin with one of U, N, E"),
        ("sqrt; inputs=2; U(-1,1) -> U(1,2)", "train must not go below 0 for sqrt; got 'U\\(-1,1\\)'"),
        ("sqrt; inputs=2; U(0,1) -> U(-2,-1)", "extrapolation must not go below 0 for sqrt"),
        ("", "must have the form"),
    ],
)
def test_bad_text_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        parse_task(text)


def test_bad_arguments_are_refused():
    task = positive("add")
    with pytest.raises(InvalidArgument, match="seed must be a whole number from 0 on; got -1"):
        task.draw(-1)
    with pytest.raises(InvalidArgument, match=r"seed must be a whole number; got 1\.5"):
        task.draw(1.5)
    with pytest.raises(InvalidArgument, match="rows must be a whole number from 1 on; got 0"):
        task.draw(0, rows=0)
    with pytest.raises(InvalidArgument, match="set must be one of 'train'"):
        task.draw_set(0, "test")
    with pytest.raises(InvalidArgument, match=r"x must have the shape \[rows, 5\]"):
        task.compute_y(np.ones((3, 4), np.float32), 0)
    with pytest.raises(InvalidArgument, match=r"train must be a distribution or its text.* got 5"):
        Task("add", 2, 5, "U(0,1)")
    with pytest.raises(InvalidArgument, match="a task must have the form"):
        parse_task(task)
