"""Numbers as the page writes them."""

import doctest

import pytest

from inalu.report import figures, sections, words


@pytest.mark.parametrize("module", [words, figures, sections])
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("value", [4.36e4, 6.14e-15, 5.45e-13, 1e-4, 9.996e3, 0.25, 1.0, 0.0, 3e38, 1e-3])
def test_a_number_reads_back_with_three_digits(value):
    assert float(words.number(value)) == pytest.approx(value, rel=5.01e-3)


def test_an_error_that_is_not_finite_is_a_word():
    assert words.number(None) == "not finite"
    assert words.plain(None) == words.NOTHING
