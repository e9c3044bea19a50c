"""Properties of tasks over random specifications."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inalu.tasks import (
    OPERATIONS,
    SETS,
    Exponential,
    Task,
    TruncatedNormal,
    Uniform,
    Union,
    parse_distribution,
    parse_task,
    random,
)
from inalu.tasks.distributions import number_text

finite = st.floats(-1e30, 1e30, allow_subnormal=False)
bounds = st.tuples(finite, finite).map(sorted).filter(lambda pair: np.float32(pair[0]) < np.float32(pair[1]))
simple = st.one_of(
    bounds.map(lambda pair: Uniform(*pair)),
    bounds.map(lambda pair: TruncatedNormal(*pair)),
    st.floats(1e-20, 1e30).map(Exponential),
)
distributions = st.one_of(
    simple, st.lists(simple, min_size=2, max_size=4).map(lambda parts: Union(tuple(parts)))
)
seeds = st.integers(0, 2**64)

cases = settings(derandomize=True, max_examples=60, deadline=None)


@cases
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_exactly(value):
    assert float(number_text(value)) == value


@cases
@given(distributions)
def test_distributions_read_back(value):
    again = parse_distribution(str(value))
    assert again == value
    assert str(again) == str(value)


@cases
@given(distributions, seeds)
def test_draws_stay_within_their_bounds(value, seed):
    x = value.draw(random.key_of("property", seed), 100)
    low, high = (np.float32(bound) for bound in value.bounds)
    assert np.isfinite(x).all()
    assert (low <= x).all()
    assert (x <= high).all()


@cases
@given(st.sampled_from(sorted(OPERATIONS)), st.integers(2, 200), distributions, distributions, st.booleans())
def test_tasks_read_back(operation, inputs, train, extrapolation, sums):
    if operation == "sqrt":
        train = extrapolation = Exponential(2)
    task = Task(operation, inputs, train, extrapolation, sums)
    assert parse_task(str(task)) == task


@cases
@given(
    seeds, st.integers(2, 40), st.integers(1, 60), st.integers(1, 60), st.sampled_from(SETS), st.booleans()
)
def test_fewer_rows_are_the_beginning_of_more(seed, inputs, rows, more, name, sums):
    task = Task("sub", inputs, "U(-6,-2)|U(2,6)", "N(-3,3)", sums)
    short, long = task.draw_set(seed, name, rows), task.draw_set(seed, name, rows + more)
    np.testing.assert_array_equal(short.x, long.x[:rows])
    np.testing.assert_array_equal(short.y, long.y[:rows])


@cases
@given(seeds, st.integers(0, 10**12), st.integers(0, 50), st.integers(0, 50))
def test_words_of_a_stream_do_not_depend_on_the_cut(seed, start, left, right):
    key = random.key_of(seed)
    whole = random.bits(key, start, left + right)
    parts = random.bits(key, start, left), random.bits(key, start + left, right)
    np.testing.assert_array_equal(whole, np.concatenate(parts))
