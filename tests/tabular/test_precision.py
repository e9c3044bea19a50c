"""Half units: the truth lies within them, however a column was printed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from inalu.tabular.table import Table

ROWS = 200


def truth(low: float = 1.0, high: float = 1000.0) -> NDArray[np.float64]:
    """Values spread over the magnitudes between low and high."""
    rng = np.random.default_rng(11)
    return np.exp(rng.uniform(np.log(low), np.log(high), ROWS)) * rng.choice([-1, 1], ROWS)


def half_units(texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    column = Table.from_columns({"x": texts}).column("x")
    return column.values, column.half_unit


@pytest.mark.parametrize("decimals", [0, 1, 2, 4])
@pytest.mark.parametrize("strip", [False, True])
def test_decimals_belong_to_the_column(decimals: int, strip: bool) -> None:
    texts = [f"{value:.{decimals}f}" for value in truth()]
    if strip and decimals:
        texts = [text.rstrip("0").rstrip(".") for text in texts]
    values, half = half_units(texts)
    np.testing.assert_allclose(half, 0.5 * 10.0**-decimals)
    assert (np.abs(values - truth()) <= half * (1 + 1e-9)).all()


def test_whole_floats_as_pandas_prints_them_are_integers() -> None:
    column = Table.from_columns({"x": ["1959.0", "1960.0", "", "12.0"]}).column("x")
    assert column.integer
    assert column.decimals == 0
    assert column.half_unit[0] == 0.5
    cents = Table.from_columns({"x": ["5.00", "7.00"]}).column("x")
    assert cents.half_unit[0] == 0.005


def test_zeros_as_pandas_prints_them_do_not_outvote_decimals() -> None:
    _, half = half_units(["0.0"] * 200 + ["1.25", "7.5", "0.33", "12.75"])
    np.testing.assert_allclose(half, 0.005)


@pytest.mark.parametrize("digits", [2, 3, 5])
def test_significant_digits_have_a_unit_by_cell(digits: int) -> None:
    exact = truth(1e-3, 1e5)
    texts = [np.format_float_positional(float(f"{value:.{digits - 1}e}"), trim="-") for value in exact]
    values, half = half_units(texts)
    assert (np.abs(values - exact) <= half * (1 + 1e-9)).all()
    assert (half <= 0.5 * 10.0 ** (1 - digits) * np.abs(values) * 1.01).all()


@pytest.mark.parametrize("form", ["{:.2e}", "{:.3E}"])
def test_scientific_cells_have_their_own_unit(form: str) -> None:
    exact = truth(1e-6, 1e9)
    values, half = half_units([form.format(value) for value in exact])
    assert (np.abs(values - exact) <= half * (1 + 1e-9)).all()


def test_an_exponent_that_only_shortens_takes_the_columns_unit() -> None:
    _, half = half_units(["0.00001", "1e-05", "0.0012", "3e-05", "0.5"])
    assert half[1] == pytest.approx(0.5e-5)


def test_float32_expansions_are_known_to_float32() -> None:
    exact = truth()
    texts = [repr(float(np.float32(value))) for value in exact]
    values, half = half_units(texts)
    assert (np.abs(values - exact) <= half).all()
    assert np.median(half / np.abs(values)) == pytest.approx(1e-7, rel=0.01)


def test_shortest_float32_texts_are_known_to_float32() -> None:
    exact = truth(1e-2, 1e5)
    values, half = half_units([str(np.float32(value)) for value in exact])
    assert (np.abs(values - exact) <= half * 1.0001).all()
    assert np.median(half / np.abs(values)) < 1e-6


def test_float32_arrays_read_as_printed() -> None:
    column = Table.from_columns({"x": np.array([0.1, 0.25, 12.3], np.float32)}).column("x")
    np.testing.assert_array_equal(column.values, [0.1, 0.25, 12.3])
    np.testing.assert_allclose(column.half_unit, 0.005)


def test_noise_of_float_sums_is_not_precision() -> None:
    _, half = half_units([repr(0.1 + 0.2), "1.5", "2.25", "7", "8.75", "1.1", repr(1.1 + 2.2), "0.5", "0.4"])
    np.testing.assert_allclose(half, 0.005)


def test_full_doubles_are_known_to_the_last_digits() -> None:
    exact = truth()
    values, half = half_units([repr(float(value)) for value in exact])
    np.testing.assert_array_equal(values, exact)
    assert (half < 1e-11).all()
    assert (half > 0).all()


def test_fifteen_digits_are_a_rounding() -> None:
    exact = truth()
    values, half = half_units([f"{value:.15g}" for value in exact])
    assert (np.abs(values - exact) <= half).all()


def test_whole_numbers_rounded_to_thousands() -> None:
    rng = np.random.default_rng(3)
    exact = rng.uniform(1e5, 9e6, ROWS)
    values, half = half_units([f"{round(value, -3):.0f}" for value in exact])
    assert (np.abs(values - exact) <= half).all()
    np.testing.assert_allclose(half, 500)


def test_a_few_round_amounts_are_exact() -> None:
    _, half = half_units(["1000", "2000", "5000", "1000", "3000"])
    np.testing.assert_allclose(half, 0.5)


def test_a_stray_cell_does_not_change_the_columns_unit() -> None:
    texts = [f"{value:.2f}" for value in truth()]
    texts[7] = "3.14159265"
    _, half = half_units(texts)
    assert half[7] == pytest.approx(0.5e-8)
    np.testing.assert_allclose(np.delete(half, 7), 0.005)


def test_half_units_are_positive_where_values_are_finite() -> None:
    column = Table.from_columns({"x": ["0", "", "0.0", "-0", "1e-300", "5"]}).column("x")
    assert ((column.half_unit > 0) == np.isfinite(column.values)).all()
    assert not column.half_unit.flags.writeable
    assert not column.values.flags.writeable
