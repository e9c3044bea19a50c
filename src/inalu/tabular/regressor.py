"""FormulaRegressor: the search for one column's formula as a scikit-learn estimator (extra ``sklearn``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from inalu.expression import Column, Constant, Expression, add, multiply
from inalu.tabular import render
from inalu.tabular.audit import fit as search_formula
from inalu.tabular.derived import Lookup
from inalu.tabular.pipeline import stage_names
from inalu.tabular.relation import Relation
from inalu.tabular.table import Table

if TYPE_CHECKING:
    import pandas

# Rows of a training set have no order, so the stage for previous rows and running sums runs only when it is
# named.
ORDERED = ("sequences",)
# The digits of the constants of the least-squares formula, which stands in where no exact formula is found.
DIGITS = 6
LEAST_SQUARES, MEAN = "least squares", "mean"


@dataclass(frozen=True)
class Formula:
    """A formula and its texts in other languages.

    Attributes
    ----------
    expression : Expression
        The formula as a tree.
    decimals : int or None
        The decimals to which the target is rounded; None where it is not.

    Examples
    --------
    >>> formula = Formula(Expression.parse("100 * a / b"), 1)
    >>> print(formula, "|", formula.excel(), "|", formula.sql())
    100 * a / b | =ROUND(100 * [@[a]] / [@[b]],1) | ROUND(100.0 * "a" / NULLIF("b", 0), 1)
    """

    expression: Expression
    decimals: int | None = None

    def __str__(self) -> str:
        return str(self.expression)

    def sympy(self) -> Any:
        """The formula as a SymPy expression (extra ``export``)."""
        return render.to_sympy(self.expression)

    def latex(self) -> str:
        """LaTeX for math mode."""
        return render.latex(self.expression)

    def excel(self) -> str:
        """An Excel formula over the columns of a table."""
        return render.excel(self.expression, decimals=self.decimals)

    def sql(self, *, order: str | None = None) -> str:
        """A SQL expression."""
        return render.sql(self.expression, decimals=self.decimals, order=order)

    def pandas(self, frame: str = "df") -> str:
        """A Python expression over the columns of a pandas frame of that name."""
        return render.pandas(self.expression, decimals=self.decimals, frame=frame)


@dataclass(frozen=True)
class _Candidate:
    formula: Expression
    rows_checked: int
    rows_holding: int
    found_by: str


class FormulaRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find the formula that computes a target from features, exactly where there is one.

    The formula is searched for as `inalu.fit` does: by what the printed digits of each number allow, with
    up to a fifth of the rows broken, and reported only where luck cannot explain it. Where no such formula
    exists, a linear one fitted by least squares stands in, and ``exact_`` is False.

    Parameters
    ----------
    search : sequence of str, optional
        The stages of the search (see ``docs/tables.md``); by default all that do not need the rows in
        order.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of rows in large data; the same seed gives the same formula.
    n_jobs : int or None, default=None
        For compatibility with tools that set it. The search runs in one thread; the answer never depends on
        it.

    Attributes
    ----------
    formula_ : Formula
        The best formula, with ``str()``, ``sympy()``, ``latex()``, ``excel()``, ``sql()`` and ``pandas()``.
    equations_ : pandas.DataFrame
        All candidates: formula, complexity, rows checked and holding, how it was found; ``chosen`` marks one.
    exact_ : bool
        Whether the chosen formula holds, within rounding, in every row where all its cells are filled.
    target_name_ : str
        What the target is called in messages and exports.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where ``X`` has names.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.round(rng.uniform(1, 100, (60, 3)), 2)
    >>> model = FormulaRegressor().fit(X, np.round(100 * X[:, 0] / X[:, 2], 1))
    >>> print(model.formula_, model.exact_)
    100 * x0 / x2 True
    """

    def __init__(
        self,
        *,
        search: Sequence[str] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # On data without a formula a straight line is all there is.
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> FormulaRegressor:
        """Search for the formula of ``y``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The features; NaN where a cell is missing.
        y : array-like of shape (n_samples,)
            The target.

        Returns
        -------
        FormulaRegressor
            The fitted estimator itself.
        """
        checked: tuple[Any, Any] = validate_data(
            self, X, y, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan", y_numeric=True
        )
        features, values = checked
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        names = _feature_names(self)
        self.target_name_ = _free("y", names)
        columns = {name: features[:, at] for at, name in enumerate(names)}
        table = Table.from_columns({**columns, self.target_name_: values}, quantities=True)
        relations: tuple[Relation, ...] = ()
        if any(column.name == self.target_name_ for column in table.columns):
            stages = [
                name for name in stage_names(self.search) if self.search is not None or name not in ORDERED
            ]
            relations = search_formula(table, target=self.target_name_, stages=stages, seed=seed).relations
        self._set(relations, table, features, values, names)
        return self

    def _set(
        self,
        relations: Sequence[Relation],
        table: Table,
        X: NDArray[np.floating[Any]],
        y: NDArray[np.floating[Any]],
        names: Sequence[str],
    ) -> None:
        # The table may have changed a name that no formula can quote; formulas know the changed one.
        self._columns = {column.name: column.position for column in table.columns}
        found = [
            _Candidate(one.formula, one.rows_checked, one.rows_holding, one.found_by) for one in relations
        ]
        known = [names[at] for at in range(X.shape[1]) if names[at] in self._columns]
        stand_ins = [_least_squares(X, y, names, known), _mean(y)]
        candidates = [*found, *(one for one in stand_ins if one is not None)]
        self._candidates = candidates
        chosen = candidates[0]
        self.exact_ = bool(found) and chosen.rows_holding == chosen.rows_checked
        target = next((column for column in table.columns if column.name == self.target_name_), None)
        rounded = bool(found) and target is not None and not target.relative
        self.formula_ = Formula(chosen.formula, target.decimals if rounded and target is not None else None)

    @property
    def equations_(self) -> pandas.DataFrame:
        """All candidates, the best first."""
        check_is_fitted(self, "formula_")
        import pandas

        rows = [
            {
                "formula": str(one.formula),
                "complexity": one.formula.complexity,
                "rows_checked": one.rows_checked,
                "rows_holding": one.rows_holding,
                "found_by": one.found_by,
                "chosen": at == 0,
            }
            for at, one in enumerate(self._candidates)
        ]
        return pandas.DataFrame(rows)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The formula's values for new rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples,)
            NaN where a cell that the formula needs is missing.
        """
        check_is_fitted(self, "formula_")
        features: Any = validate_data(
            self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan"
        )
        nothing = np.zeros(len(features))
        places = {name: at for name, at in self._columns.items() if at < features.shape[1]}
        lookup = Lookup({name: (features[:, at].astype(np.float64), nothing) for name, at in places.items()})
        formula = self.formula_.expression
        if not formula.columns:
            return np.full(len(features), float(formula.evaluate({})))
        return formula.evaluate({name: lookup(name)[0] for name in formula.columns})


def _feature_names(model: FormulaRegressor) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return [f"x{at}" for at in range(model.n_features_in_)]


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _mean(y: NDArray[np.floating[Any]]) -> _Candidate:
    value = float(f"{np.mean(y, dtype=np.float64):.{DIGITS}g}")
    return _Candidate(Constant(value), len(y), int((y == value).sum()), MEAN)


def _least_squares(
    X: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]], names: Sequence[str], known: Sequence[str]
) -> _Candidate | None:
    """The straight line through all complete rows, its constants shortened; None for too few rows."""
    columns = [at for at, name in enumerate(names) if name in known]
    filled = np.isfinite(X[:, columns]).all(axis=1)
    if not columns or filled.sum() < 2:
        return None
    inputs, target = X[filled][:, columns].astype(np.float64), y[filled].astype(np.float64)
    middle, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale[scale == 0] = 1.0
    design = np.column_stack([np.ones(len(inputs)), (inputs - middle) / scale])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    slopes = solution[1:] / scale
    # A constant that is small beside its column's share of the target is kept: a short formula is not the
    # aim here.
    terms: list[Expression] = [
        multiply((Constant(slope), Column(names[at])))
        for at, slope in zip(columns, (float(f"{value:.{DIGITS}g}") for value in slopes), strict=True)
        if slope
    ]
    constant = float(f"{solution[0] - slopes @ middle:.{DIGITS + 2}g}")
    formula = add([*terms, Constant(constant)])
    holding = np.isclose(design @ solution, target, rtol=1e-9, atol=0.0)
    return _Candidate(formula, int(filled.sum()), int(holding.sum()), LEAST_SQUARES)
