"""Formulas: how they are written, read, evaluated, compared and solved."""

from __future__ import annotations

import pytest

from inalu.expression import Expression

parse = Expression.parse


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("a + b - a + 2 * b", "3 * b"),
        ("a / b - 1", "(a - b) / b"),
        ("x * x / x", "x"),
        ("sqrt(x ** 2)", "abs(x)"),
        ("sqrt(x) ** 2", "x"),
        ("sqrt(x * y) * sqrt(x * z)", "abs(x) * sqrt(y * z)"),
        ("sqrt(8 * x ** 3 / y)", "sqrt(8 * x ** 3 / y)"),
        ("(x ** 2 - y ** 2) / (x - y)", "x + y"),
        ("(a - b) * (a - b)", "(a - b) ** 2"),
        ("a * c - a * d - b * c + b * d", "(a - b) * (c - d)"),
        ("0.5 * a + 0.5 * b", "(a + b) / 2"),
        ("a / b + c / d", "a / b + c / d"),
    ],
)
def test_simplify_gives_the_form_that_people_write(text: str, simple: str) -> None:
    canonical = parse(text).simplify()
    assert str(canonical) == simple
    assert parse(simple) == canonical
    assert canonical.simplify() == canonical
