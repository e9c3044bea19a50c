"""Inverse distribution functions, against SciPy, and the promise that makes them the same everywhere."""

import ast
import inspect

import numpy as np
import pytest
from scipy import special

from inalu.tasks import random, transforms
from inalu.tasks.random import key_of

TAILS = 2.0 ** -np.arange(2, 54)


def numbers():
    """A plain sample, both tails down to the smallest number of a stream, and the borders of the branches.

    All are multiples of 2**-53, as those of a stream are: only then is their distance from 1/2 exact.
    """
    borders = np.round(np.array([0.075, 0.925, np.exp(-25.0)]) * 2**53)
    near = np.add.outer([-1, 0, 1], borders).ravel() * 2.0**-53
    return np.concatenate([random.uniform(key_of("u"), 200_000), TAILS, 1 - TAILS, near])


def test_normal_quantile_is_right_to_a_few_units_in_the_last_place():
    u = numbers()
    np.testing.assert_allclose(transforms.normal_quantile(u), special.ndtri(u), rtol=3e-15)


def test_normal_quantile_is_odd_about_one_half():
    np.testing.assert_array_equal(transforms.normal_quantile(TAILS), -transforms.normal_quantile(1 - TAILS))


def test_log_is_right_to_one_unit_in_the_last_place():
    x = np.concatenate([numbers(), 1 / TAILS, [2**0.5, 0.5**0.5, 1.0, 2.0, 1e300, 1e-300]])
    ours, truth = transforms.log(x), np.log(x.astype(np.longdouble)).astype(np.float64)
    assert (abs(ours - truth) <= np.spacing(abs(truth))).all()
    assert transforms.log(np.array([1.0])) == 0.0


def test_truncated_normal_quantile_fills_its_bounds():
    u = np.sort(numbers())
    x = transforms.truncated_normal_quantile(u, -2.0, 4.0)
    below = special.ndtr(-3.0)
    np.testing.assert_allclose(x, 1 + special.ndtri(below + u * (1 - 2 * below)), rtol=1e-12, atol=1e-13)
    assert x.min() >= -2.0
    assert x.max() <= 4.0
    assert (np.diff(x) >= 0).all()


def test_exponential_quantile_is_positive_at_both_ends():
    x = transforms.exponential_quantile(np.array([2.0**-53, 1 - 2.0**-53]), 2.0)
    np.testing.assert_allclose(x, [106 * np.log(2), 2 * 2.0**-53], rtol=1e-15)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (-1e30, 1e30), (1.0, np.nextafter(1.0, 2.0))])
def test_uniform_quantile_never_leaves_its_bounds(low, high):
    x = transforms.uniform_quantile(numbers(), low, high)
    assert x.min() >= low
    assert x.max() <= high


def test_only_exactly_rounded_operations_are_used():
    """Equal numbers on every machine rest on this list: np.log or ** would pass every other test here."""
    allowed = {"abs", "clip", "flatnonzero", "float64", "int64", "ndarray", "sqrt", "where"}
    tree = ast.parse(inspect.getsource(transforms))
    nodes = list(ast.walk(tree))
    used = {n.attr for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "np"}
    assert used <= allowed
    exact = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift)
    operators = [n.op for n in nodes if isinstance(n, ast.BinOp | ast.AugAssign)]
    assert operators
    assert all(isinstance(op, exact) for op in operators)
