"""FormulaRegressor: scikit-learn's own checks, and what it adds to them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from inalu.tabular.regressor import FormulaRegressor

FAILED: dict[str, str] = {}


# Two stages are enough for what the checks ask, and keep a hundred small fits short.
@parametrize_with_checks(
    [FormulaRegressor(search=("pairs", "sums"))], expected_failed_checks=lambda estimator: FAILED
)
def test_sklearn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def data(rows: int = 80) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(4)
    X = np.round(rng.uniform(1, 200, (rows, 4)), 2)
    return X, np.round((X[:, 0] - X[:, 1]) / X[:, 1], 4)


def test_an_exact_formula_is_found_and_predicts() -> None:
    X, y = data()
    model = FormulaRegressor().fit(X, y)
    assert str(model.formula_) == "(x0 - x1) / x1"
    assert model.exact_
    np.testing.assert_allclose(model.predict(X), y, atol=0.6e-4)
    equations = model.equations_
    assert equations["chosen"].tolist() == [True] + [False] * (len(equations) - 1)
    assert equations.loc[0, "rows_holding"] == len(y)


def test_broken_rows_are_counted_and_missing_cells_stay_missing() -> None:
    X, y = data()
    y[[3, 50]] += 1
    X[7, 0] = np.nan
    model = FormulaRegressor().fit(X, y)
    assert str(model.formula_) == "(x0 - x1) / x1"
    assert not model.exact_
    chosen = model.equations_.iloc[0]
    assert (chosen["rows_checked"], chosen["rows_holding"]) == (79, 77)
    assert np.flatnonzero(np.isnan(model.predict(X))).tolist() == [7]


def test_names_of_a_frame_are_the_formulas_names() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["this year", "last year", "y", "y_"])
    model = FormulaRegressor().fit(frame, y)
    assert str(model.formula_) == "(`this year` - `last year`) / `last year`"
    assert model.target_name_ == "y__"
    assert model.formula_.pandas().startswith("((df['this year']")
    assert model.formula_.sql().startswith("ROUND(")
    assert model.formula_.excel().startswith("=ROUND(")
    assert r"\frac" in model.formula_.latex()
    np.testing.assert_array_equal(frame.eval(str(model.formula_)), model.predict(frame))


def test_the_sympy_form_has_the_same_values() -> None:
    pytest.importorskip("sympy")
    X, y = data()
    model = FormulaRegressor().fit(X, y)
    form = model.formula_.sympy()
    for row in X[:5]:
        values = {symbol: row[int(symbol.name[1:])] for symbol in form.free_symbols}
        assert float(form.subs(values)) == pytest.approx(model.predict(row[None])[0])


def test_without_a_formula_a_line_stands_in() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = 3 * X[:, 0] - X[:, 1] + 5 + 0.1 * rng.normal(size=60)
    model = FormulaRegressor().fit(X, y)
    assert not model.exact_
    assert model.equations_.loc[0, "found_by"] == "least squares"
    assert model.score(X, y) > 0.95
    assert model.formula_.decimals is None


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
def test_the_answer_depends_on_neither_jobs_nor_pickling_nor_cloning(n_jobs: int | None) -> None:
    X, y = data()
    model = FormulaRegressor(n_jobs=n_jobs).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), FormulaRegressor().fit(X, y).predict(X))
    assert str(clone(model).fit(X, y).formula_) == str(again.formula_)


def test_stages_are_named_by_search() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-20, 90, 50).astype(float)
    y = np.cumsum(x)
    assert "cumsum" not in str(FormulaRegressor().fit(x[:, None], y).formula_)
    model = FormulaRegressor(search=("sequences",)).fit(x[:, None], y)
    assert model.exact_
    np.testing.assert_allclose(model.predict(x[:, None]), y)
    with pytest.raises(ValueError, match="stages"):
        FormulaRegressor(search=("magic",)).fit(x[:, None], y)


def test_years_and_dates_as_numbers_are_quantities() -> None:
    X = np.array([[20240100.0 + day, 1.0 + day] for day in range(1, 29)])
    assert set(FormulaRegressor().fit(X, X[:, 0] - X[:, 1])._columns) == {"x0", "x1", "y"}
