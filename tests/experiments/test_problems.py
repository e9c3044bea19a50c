"""Problems with a distribution for each input."""

import numpy as np
import pytest

from inalu.errors import InvalidArgument
from inalu.experiments.problems import Columns, ColumnsSource, source_of
from inalu.tasks import Task


def test_each_input_has_its_own_distribution():
    problem = Columns("mul", ("U(1,2)", "U(-2,-1)"), ("U(2,6)", "U(-6,-2)"))
    x = problem.draw_x(7, "train", 1000)
    assert x.dtype == np.float32
    assert x[:, 0].min() >= 1
    assert x[:, 1].max() <= -1
    assert (problem.compute_y(x, 7) < 0).all()
    assert problem.draw_x(7, "extrapolation", 100)[:, 0].min() >= 2
    assert (problem.draw_x(7, "train", 100) == x[:100]).all()
    assert not (problem.draw_x(7, "interpolation", 1000) == x).any()
    assert not (problem.draw_x(8, "train", 1000) == x).any()


def test_columns_with_one_distribution_differ():
    x = Columns("pair-sums", ("U(0,1)",) * 4, ("U(0,1)",) * 4).draw_x(1, "train", 50)
    assert len(np.unique(x)) == 200


def test_the_functions():
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)
    switch = Columns("switch", ("U(0,9)",) * 3, ("U(0,9)",) * 3)
    assert switch.compute_y(x, 0).ravel().tolist() == [3.0, 20.0]
    assert switch.target(0) is None
    product = Columns("mul", ("U(0,9)",) * 2, ("U(0,9)",) * 2)
    assert str(product.target(0)) == "x0 * x1"
    sums = Columns("pair-sums", ("U(0,9)",) * 4, ("U(0,9)",) * 4)
    assert sums.compute_y(np.array([[1, 2, 3, 4]], np.float32), 0).tolist() == [[3, 5, 7, 5]]


def test_sources_fit_their_problem():
    problem = Columns("pair-sums", ("U(0,9)",) * 4, ("U(0,9)",) * 4)
    source = source_of(problem, 3, 20)
    assert isinstance(source, ColumnsSource)
    rows = source.load()
    assert source.shape == (20, 4, 4)
    assert (rows.x.shape, rows.y.shape) == ((20, 4), (20, 4))
    task = Task("add", 2, "U(-1,1)", "U(-10,-5)")
    assert source_of(task, 3, 20).shape == (20, 2, 1)


def test_bad_problems_are_refused():
    with pytest.raises(InvalidArgument):
        Columns("plus", ("U(0,1)",), ("U(0,1)",))
    with pytest.raises(InvalidArgument):
        Columns("mul", ("U(0,1)",), ("U(0,1)", "U(0,1)"))
