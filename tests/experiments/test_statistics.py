"""The statistics against SciPy, and by what they must do."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from inalu.errors import InvalidArgument
from inalu.experiments.statistics import (
    chance_distance,
    cluster_interval,
    fisher,
    holm,
    student_quantile,
    wilson,
)

counts = st.integers(0, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_wilson_is_scipys(pair):
    successes, runs = pair
    ours = wilson(successes, runs)
    theirs = stats.binomtest(successes, runs).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours.low <= ours.share <= ours.high <= 1


@given(counts, counts)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_fisher_is_scipys(first, second):
    (a, m), (b, n) = first, second
    assert fisher(first, second) == pytest.approx(
        stats.fisher_exact([[a, m - a], [b, n - b]])[1], rel=1e-9, abs=1e-12
    )
    assert fisher(first, second) == pytest.approx(fisher(second, first))


def test_the_distance_by_chance_is_that_of_shuffled_runs():
    rng = np.random.default_rng(0)
    runs = np.array([1] * 9 + [0] * 8)
    shuffled = rng.permuted(np.tile(runs, (20_000, 1)), axis=1)
    apart = np.abs(shuffled[:, :7].mean(axis=1) - shuffled[:, 7:].mean(axis=1))
    for a in (2, 7):
        assert chance_distance((a, 7), (9 - a, 10)) == pytest.approx(apart.mean(), abs=4 * apart.std() / 141)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 19, 60, 199])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.975, 0.9995])
def test_student_is_scipys(degrees, probability):
    assert student_quantile(probability, degrees) == pytest.approx(
        stats.t.ppf(probability, degrees), rel=1e-9
    )


def test_holm_by_hand_and_by_its_properties():
    assert holm([]) == []
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    p_values = [random.Random(0).random() ** 3 for _ in range(40)]
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    by_p = [c for _, c in sorted(zip(p_values, corrected, strict=True))]
    assert by_p == sorted(by_p)


def test_runs_that_repeat_count_once_and_runs_that_differ_count_all():
    # Seven copies of ten runs tell what ten runs tell, with Student's quantile for ten.
    copies = cluster_interval([(seed, seed < 3) for seed in range(10) for _ in range(7)])
    once = wilson(3, 9, quantile=student_quantile(0.975, 9))
    assert copies.high - copies.low > 0.9 * (once.high - once.low)
    # Where clusters tell nothing, all 700 runs count.
    rng = random.Random(1)
    loose = cluster_interval([(seed, rng.random() < 0.3) for seed in range(100) for _ in range(7)])
    plain = wilson(round(loose.share * 700), 700)
    assert loose.high - loose.low == pytest.approx(plain.high - plain.low, rel=0.25)


def test_where_all_runs_agree_each_seed_counts_as_one():
    interval = cluster_interval([(seed, True) for seed in range(10) for _ in range(7)])
    assert interval.share == interval.high == 1
    assert interval.low == pytest.approx(wilson(10, 10, quantile=student_quantile(0.975, 9)).low)


def test_the_cluster_interval_covers():
    # Ten seeds, seven runs each that share a seed's luck: 95% intervals must cover about 95%.
    rng = random.Random(2)
    covered = 0
    for _ in range(400):
        outcomes = []
        for seed in range(10):
            luck = rng.betavariate(0.8, 1.2)
            outcomes += [(seed, rng.random() < luck) for _ in range(7)]
        interval = cluster_interval(outcomes)
        covered += interval.low <= 0.4 <= interval.high
    assert covered / 400 > 0.92


def test_bad_counts_are_refused():
    for bad in ((5, 3), (-1, 3), (0, 0)):
        with pytest.raises(InvalidArgument):
            wilson(*bad)
    with pytest.raises(InvalidArgument):
        fisher((5, 3), (1, 1))
    with pytest.raises(InvalidArgument):
        cluster_interval([(1, True)])
    assert math.isclose(fisher((0, 0), (0, 0)), 1.0)
