"""Tables say what the records say."""

from dataclasses import replace

import pytest

from inalu.experiments.catalog import Selection
from inalu.experiments.compare import compare
from inalu.experiments.published import table_1
from inalu.experiments.record import SINGLE, SINGLE_INSIDE, Setting
from inalu.experiments.summary import summarise_experiments
from inalu.report import tables
from inalu.report.closed import closed_forms

TASKS = [("exp1", "U(-1,1)", "U(-10,-5)"), ("exp4", "N(-3,3)", "N(3,4)")]


def summary(entries):
    return summarise_experiments("PAPER", {entries[0].setting.experiment: entries})[0]


def column(grid, title):
    at = grid.head.index(title)
    return [row[at] for row in grid.rows]


def test_published_errors_give_the_published_counts(make_entries):
    made = summary(make_entries("exp1", selection=Selection(operations=("add", "div"))))
    grid = tables.overview([made])
    assert grid.rows[1][0] == "exp1, a ÷ b"
    for row in grid.rows:
        for cell in row[1:]:
            ours, theirs = cell.rstrip(")").split(" (")
            assert ours == theirs
    pooled = tables.pooled(made, [tables.TEXT])
    assert column(pooled, "ours, ≤ 10⁻⁴") == column(pooled, "published, ≤ 10⁻⁴")
    settings = tables.settings(made, ())
    assert column(settings, "ours, < 10⁻⁵") == column(settings, "published, < 10⁻⁵")
    assert len(settings.rows) == 2 * 4 * 7


def test_table_1_has_both_sides_and_marks_what_is_always_solved(make_entries):
    made = summary(
        make_entries("exp3", selection=Selection(operations=("mul",), seeds=(100, 101)), error=1e-8)
    )
    grid = tables.first_table(made)
    assert len(grid.rows) == 27
    assert all("badge good" in cell for cell in column(grid, "a × b, ours"))
    at = [row[0] for row in grid.rows].index("0, -1, 1")
    best = table_1()[(0.0, -1.0, 1.0), "mul"]
    assert "100 %" in column(grid, "a × b, published")[at]
    assert tables.number(best.max_mse_extrapolation) in column(grid, "a × b, published")[at]


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_closed_forms_solve_the_papers_tasks(operation):
    settings = [Setting(name, "inalu-shared", operation, *ranges) for name, *ranges in TASKS[:1]]
    found = closed_forms(settings)
    assert found.count(settings, tables.TEXT) == (3, 3)
    assert found.count([Setting("exp2", "inalu-shared", operation, "a", "b")], tables.TEXT) is None


def test_a_search_has_the_closed_form_beside_it(make_entries):
    made = summary(make_entries("exp1", selection=Selection(operations=("add",), seeds=(100, 101))))
    closed = closed_forms([e.setting for e in made.entries])
    assert set(column(tables.overview([made], closed), tables.CLOSED)) == {"21/21"}
    assert set(column(tables.settings(made, (), closed), f"{tables.CLOSED}, ≤ 10⁻⁴")) == {"3/3"}


def in_float32(error):
    return {SINGLE: error, SINGLE_INSIDE: error}


def test_a_setting_that_differs_in_either_precision_is_shown(make_entries):
    """Ours are exact in float64 and wrong in float32, where the published sums were right."""
    selection = Selection(models=("inalu-shared",), operations=("add", "div"))
    made = [
        replace(
            e, record=replace(e.record, measures=in_float32(1.0 if e.setting.operation == "add" else 1e-9))
        )
        for e in make_entries("exp4", selection=selection, error=1e-9)
    ]
    both = [{"exp4": compare(made, single=single)} for single in (False, True)]
    grid = tables.different(*both)
    assert {row[1] for row in grid.rows} == {"a + b", "a ÷ b"}
    for row in grid.rows:
        solved = "0/10" if row[1] == "a + b" else "10/10"
        assert (column(grid, "ours in float32")[grid.rows.index(row)], row[5]) == (solved, "10/10")
        assert row[-1] == ("ours solve fewer" if row[1] == "a + b" else "ours solve more")
    cells = [cell for row in tables.overview([summary(made)]).rows for cell in row]
    assert "20/20, f32 0 (20/20)" in cells
    every = tables.settings(summary(made), both[0]["exp4"], None, both[1]["exp4"])
    for title, wrong in (("published count", {"a ÷ b"}), ("published count, float32", {"a + b", "a ÷ b"})):
        assert {row[0] for row in every.rows if "not plausible" in row[every.head.index(title)]} == wrong
