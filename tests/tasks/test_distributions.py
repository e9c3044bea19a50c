"""Distributions: their draws, their text forms, and what is refused."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from inalu.errors import InvalidArgument
from inalu.tasks import Exponential, TruncatedNormal, Uniform, Union, key_of, parse_distribution

CASES = {
    "U(-1,1)": (Uniform(-1, 1), stats.uniform(-1, 2)),
    "U(-10,-5)": (Uniform(-10, -5), stats.uniform(-10, 5)),
    "N(-3,3)": (TruncatedNormal(-3, 3), stats.truncnorm(-3, 3)),
    "N(8,10)": (TruncatedNormal(8.0, 10.0), stats.truncnorm(-3, 3, loc=9, scale=1 / 3)),
    "E(0.2)": (Exponential(0.2), stats.expon(scale=0.2)),
    "U(-6,-2)|U(2,6)": (Union((Uniform(-6, -2), Uniform(2, 6))), None),
}


@pytest.mark.parametrize("text", CASES)
def test_text_and_value_say_the_same(text):
    value, _ = CASES[text]
    assert str(value) == text
    assert parse_distribution(text) == value
    assert parse_distribution(f"  {text.replace(',', ' , ')} ") == value
    assert hash(parse_distribution(text)) == hash(value)
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("text", [text for text, (_, law) in CASES.items() if law])
def test_draws_follow_their_distribution(text):
    value, law = CASES[text]
    x = value.draw(key_of("law"), (500, 100))
    assert x.dtype == np.float32
    assert stats.kstest(x.ravel(), law.cdf).pvalue > 0.001
    low, high = value.bounds
    assert low <= x.min()
    assert x.max() <= high


def test_a_truncated_normal_has_its_bounds_at_three_standard_deviations():
    value = TruncatedNormal(-4, 2)
    assert (value.mean, value.std) == (-1.0, 1.0)
    assert value.mean - 3 * value.std == value.low
    assert value.mean + 3 * value.std == value.high


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("U(-6,-2)|U(2,6)", (0.5, 0.5)),
        ("U(0,1)|U(5,8)", (0.25, 0.75)),
        ("U(0,1)|N(5,8)", (0.5, 0.5)),
        ("E(1)|U(-9,-8)|U(-7,-4)", (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_parts_of_a_union_are_chosen_by_width_or_evenly(text, weights):
    value = parse_distribution(text)
    assert value.weights == pytest.approx(weights)
    x = value.draw(key_of("parts"), 60_000)
    counts = [((low <= x) & (x <= high)).sum() for low, high in (part.bounds for part in value.parts)]
    assert sum(counts) == x.size
    assert stats.chisquare(counts, np.array(weights) * x.size).pvalue > 0.001
    assert value.bounds == (min(p.bounds[0] for p in value.parts), max(p.bounds[1] for p in value.parts))


def test_within_a_part_of_a_union_numbers_follow_the_part():
    x = parse_distribution("U(0,1)|N(5,8)").draw(key_of("inside"), 60_000)
    assert stats.kstest(x[x <= 1], stats.uniform(0, 1).cdf).pvalue > 0.001
    assert stats.kstest(x[x >= 5], stats.truncnorm(-3, 3, loc=6.5, scale=0.5).cdf).pvalue > 0.001


@pytest.mark.parametrize("text", CASES)
def test_a_slice_is_the_slice_of_the_whole(text):
    value, _ = CASES[text]
    whole = value.draw(key_of("slice"), (2000, 7))
    np.testing.assert_array_equal(value.draw(key_of("slice"), (100, 7), start=700), whole[100:200])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("U(1,1)", "bounds must differ in float32.*U\\(1,1\\)"),
        ("U(1,1.00000000001)", "bounds must differ in float32"),
        ("U(1,-1)", "bounds must be in rising order; got 'U\\(1,-1\\)'. U\\(-1,1\\) has them in order"),
        ("N(4,-2)", "N\\(-2,4\\) has them in order"),
        ("N(nan,1)", "low of N must be finite; got nan"),
        ("U(0,inf)", "high of U must be finite; got inf"),
        ("U(0,1e39)", "high of U must lie within float32"),
        ("E(0)", "the scale of E must lie above 0"),
        ("E(-0.2)", "the scale of E must lie above 0"),
        ("E(1e38)", "the scale of E must lie above 0 and below"),
        ("E(nan)", "the scale of E must be finite"),
        ("u(0,1)", "must begin with one of U, N, E; got 'u\\(0,1\\)'. Did you mean U\\(low,high\\)\\?"),
        ("normal(0,1)", "Did you mean N\\(low,high\\)\\?"),
        ("G(1,2)", "must begin with one of U, N, E; got 'G\\(1,2\\)'.$"),
        ("U(1)", "must have the form U\\(low,high\\); got 'U\\(1\\)'"),
        ("E(1,2)", "must have the form E\\(scale\\)"),
        ("U(a,b)", "with numbers"),
        ("U(,)", "with numbers"),
        ("", "must be one of U\\(low,high\\), N\\(low,high\\), E\\(scale\\)"),
        ("U(0,1)|", "several joined by '|'"),
        ("U(0,1) U(2,3)", "must be one of"),
        ("U((0,1))", "must be one of"),
    ],
)
def test_bad_text_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        parse_distribution(text)


@pytest.mark.parametrize("value", ["1", None, True, 1j])
def test_bounds_must_be_numbers(value):
    with pytest.raises(InvalidArgument, match="low of U must be a number"):
        Uniform(value, 3)


def test_bad_unions_are_refused():
    with pytest.raises(InvalidArgument, match="two parts or more"):
        Union((Uniform(0, 1),))
    with pytest.raises(InvalidArgument, match="a part of a union must be Uniform"):
        Union((Uniform(0, 1), parse_distribution("U(0,1)|U(2,3)")))
    with pytest.raises(InvalidArgument, match="must be text"):
        parse_distribution(Uniform(0, 1))


def test_values_are_plain_floats_whatever_came_in():
    value = Uniform(np.float32(-0.0), np.int64(10**3))
    assert (type(value.low), type(value.high)) == (float, float)
    assert math.copysign(1, value.low) == 1
    assert str(value) == "U(0,1000)"
    with pytest.raises(InvalidArgument, match="high of U must be finite"):
        Uniform(0, 10**400)
