"""What an audit must not take for a formula: luck that rows in order, whole numbers and copies have plenty of."""

from __future__ import annotations

import numpy as np
import pytest

import inalu
from inalu.tabular.pipeline import ON_REQUEST, stage_names
from inalu.tabular.search.networks import networks, rescaled
from inalu.tabular.search.view import View

ROWS = 240


def found(columns: dict[str, np.ndarray], **options: object) -> list[str]:
    return [str(relation) for relation in inalu.audit(columns, **options).relations]


def test_sorted_marks_are_no_growth_of_the_next_row() -> None:
    rng = np.random.default_rng(1)
    one = np.sort(rng.integers(0, 2, ROWS)).astype(float)
    assert found({"a": one, "b": np.round(rng.uniform(0, 9, ROWS), 2)}) == []


def test_two_running_numbers_that_drift_apart_are_no_formula() -> None:
    rank = np.arange(1.0, 501.0)
    other = rank + np.repeat([0.0, 1.0, 2.0], [180, 170, 150])
    assert not [one for one in found({"rank": rank, "other": other}) if "." in one]


def test_a_habit_is_no_rule() -> None:
    rng = np.random.default_rng(2)
    start = rng.integers(1850, 2000, 120).astype(float)
    end = start + (rng.random(120) < 0.1)
    assert found({"start": start, "end": end}) == []


def test_copies_of_marks_do_not_make_a_mean() -> None:
    rng = np.random.default_rng(3)
    mark = rng.integers(0, 2, ROWS).astype(float)
    assert not [one for one in found({"a": mark, "b": mark, "c": mark}) if "/ 2" in one]


def test_the_sum_of_rounded_parts_holds_in_all_rows() -> None:
    """Double rounding is the normal case: a third of the rows is a unit off."""
    rng = np.random.default_rng(4)
    parts = rng.uniform(0, 9, (3, ROWS))
    columns = {name: np.round(part, 2) for name, part in zip("abc", parts, strict=True)}
    audit = inalu.audit({**columns, "total": np.round(parts.sum(axis=0), 2)})
    assert [str(relation) for relation in audit.relations] == ["total = a + b + c"]
    assert audit.holds


def test_a_column_gets_one_formula_and_the_next_one_its_own() -> None:
    rng = np.random.default_rng(5)
    base, extra = (np.round(rng.uniform(10, 900, 80), 2) for _ in range(2))
    gross = np.round(base + extra, 2)
    tax = np.round(gross * rng.choice([0.1, 0.2, 0.3], 80), 2)
    named = {"base": base, "extra": extra, "gross": gross, "tax": tax, "net": np.round(gross - tax, 2)}
    assert found(named) == ["gross = base + extra", "net = gross - tax"]


def test_one_wrong_balance_is_one_wrong_cell() -> None:
    rng = np.random.default_rng(6)
    paid = np.round(rng.normal(0, 200, 60), 2)
    balance = np.round(1000 + np.cumsum(paid), 2)
    balance[30] += 9
    (relation,) = inalu.audit({"paid": paid, "balance": balance}).relations
    assert [(one.row, one.suspect) for one in relation.breaking] == [(30, "balance"), (31, "balance")]
    assert relation.breaking[0].proposal == pytest.approx(balance[30] - 9)
    assert relation.breaking[1].cause == "follows from the row before"


def breaking(share: float, error: str) -> dict[str, np.ndarray]:
    """total = a + b, wrong in a share of the rows."""
    rng = np.random.default_rng(8)
    a, b = (np.round(rng.uniform(10, 900, 400), 2) for _ in range(2))
    rows = rng.random(400) < share
    drawn = {
        "gross": rng.uniform(-500, 500, 400),
        "unit": 0.01 * rng.choice([-1, 1], 400),
        "noise": rng.laplace(0, 0.008, 400),
    }[error]
    return {"a": a, "b": b, "total": np.round(a + b + np.where(rows, drawn, 0.0), 2)}


@pytest.mark.parametrize(("share", "error"), [(0.2, "gross"), (0.15, "unit"), (0.0, "gross")])
def test_rows_that_break_grossly_or_by_a_unit_leave_a_formula(share: float, error: str) -> None:
    assert found(breaking(share, error)) == ["total = a + b"]


def test_errors_that_thin_out_beyond_the_window_refuse_it() -> None:
    """An approximation holds in most rows too; what it misses lies mostly next to the window."""
    assert found(breaking(1.0, "noise")) == []


def test_a_mean_is_not_taken_for_the_root_of_a_product() -> None:
    rng = np.random.default_rng(9)
    x = np.round(rng.uniform(4, 9, 500), 2)
    y = np.round(x * rng.normal(1, 0.01, 500), 2)
    depth = np.round(rng.normal(61.7, 1.4, 500), 1)
    table = {"depth": depth, "x": x, "y": y, "z": np.round(depth * (x + y) / 200, 2)}
    assert found(table) == ["z = 0.005 * depth * (x + y)"]


def test_a_year_near_the_mean_of_its_neighbours_is_no_formula() -> None:
    rng = np.random.default_rng(10)
    level, slope = rng.uniform(2, 15, 24), rng.normal(0, 0.2, 24)
    years = np.arange(12)
    values = level[:, None] + slope[:, None] * years + rng.normal(0, 0.08, (24, 12))
    assert found({f"y{1990 + at}": np.round(values[:, at], 1) for at in years}) == []


def test_a_term_that_is_mostly_zero_belongs_to_the_formula() -> None:
    rng = np.random.default_rng(11)
    net, freight = np.round(rng.uniform(10, 900, 200), 2), np.round(rng.uniform(1, 9, 200), 2)
    freight[rng.random(200) < 0.9] = 0.0
    assert found({"net": net, "freight": freight, "total": np.round(net + freight, 2)}) == [
        "total = net + freight"
    ]


def test_a_division_is_written_as_one() -> None:
    rng = np.random.default_rng(12)
    deaths = np.round(rng.uniform(200, 9000, 60))
    assert found({"deaths": deaths, "rate": deaths / 6.27082}) == ["rate = deaths / 6.27082"]


def test_a_code_of_pairs_is_no_product() -> None:
    """Eleven pairs of numbers and their codes, fifty rows: that most codes are half the product is luck."""
    codes = {(1, 2): 1, (1, 4): 2, (1, 6): 3, (2, 4): 4, (2, 5): 5, (2, 6): 6, (3, 6): 7, (4, 5): 8}
    rng = np.random.default_rng(13)
    pairs = [list(codes)[at] for at in rng.integers(0, len(codes), 58)]
    first, second = np.array(pairs, dtype=float).T
    assert found({"focal": first, "other": second, "dyad": np.array([float(codes[p]) for p in pairs])}) == []


def test_a_state_is_no_thousandth_of_its_county() -> None:
    state = np.repeat(np.arange(1.0, 15.0), 40)
    county = 1000 * state + 5 * np.tile(np.arange(40.0), 14) + 1
    assert found({"county": county, "state": state}) == []


def test_a_code_that_is_mostly_one_is_no_term() -> None:
    rng = np.random.default_rng(14)
    fare, tip = (np.round(rng.uniform(3, 90, 300), 2) for _ in range(2))
    code = np.where(rng.random(300) < 0.03, 5.0, 1.0)
    table = {"code": code, "fare": fare, "tip": tip, "total": np.round(fare + tip + 1, 2)}
    assert not [one for one in found(table) if "code" in one]


@pytest.mark.filterwarnings("error")
def test_columns_that_are_never_filled_together_are_no_formula() -> None:
    rng = np.random.default_rng(15)
    a, b, c = (np.round(rng.uniform(1, 9, 40), 2) for _ in range(3))
    a[20:], b[:20] = np.nan, np.nan
    assert found({"a": a, "b": b, "c": c}) == []


def test_row_numbers_are_no_quotient() -> None:
    rng = np.random.default_rng(16)
    beds = np.round(np.exp(np.linspace(0, 6, 60)) * rng.uniform(0.9, 1.1, 60), 3)
    table = {
        "row": np.arange(60.0),
        "beds": beds,
        "vents": np.round(beds / 3, 3),
        "day": np.arange(-3.0, 57.0),
    }
    assert not [one for one in found(table) if one.startswith(("row = beds", "day = beds"))]


def test_a_square_of_negative_numbers_is_found() -> None:
    rng = np.random.default_rng(7)
    a, b = (np.round(rng.uniform(-9, 9, ROWS), 2) for _ in range(2))
    assert found({"a": a, "b": b, "t": np.round(a / b**2, 6)}) == ["t = a / b ** 2"]


def test_nothing_is_asked_of_four_rows() -> None:
    assert found({name: np.arange(4.0) * at for at, name in enumerate("abcdef", 1)}) == []


def test_networks_run_on_request() -> None:
    assert ON_REQUEST.isdisjoint(stage_names(None))
    assert str(rescaled(inalu.Expression.parse("a - b"), 10.0)) == "a - b"
    rng = np.random.default_rng(3)
    a, b, c = (np.round(rng.uniform(1, 3, 120), 2) for _ in range(3))
    values = np.column_stack([a, b, c, (a + b) * c])
    view = View(("a", "b", "c", "y"), values, np.full(values.shape, 0.005))
    proposed = networks(view, [3]).candidates
    assert any(one.formula.equals(inalu.Expression.parse("(a + b) * c")) for one in proposed)
