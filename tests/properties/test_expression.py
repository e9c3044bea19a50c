"""What holds for every formula: text, values and algebra agree with one another and with exact arithmetic."""

from __future__ import annotations

import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from inalu._expression_simplify import collected
from inalu._expression_text import pandas_can_name
from inalu.errors import InvalidArgument, InvalidData
from inalu.expression import Column, Constant, Expression, Power, Product, Sum

parse = Expression.parse
few = settings(max_examples=40, deadline=None, derandomize=True)
many = settings(max_examples=100, deadline=None, derandomize=True)

NAMES = ["a", "b", "c", "net sales"]
NUMBERS = [Fraction(n) for n in ("1", "2", "3", "-1", "1/2", "1/3", "-5/7", "12", "0.1", "100")]
leaves = st.one_of(
    st.sampled_from(NAMES).map(Expression.column),
    st.sampled_from(NAMES).map(Expression.column),
    st.sampled_from(NUMBERS).map(Expression.constant),
)


def formulas(exponents: list[Fraction]) -> st.SearchStrategy[Expression]:
    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pairs = st.tuples(inner, inner)
        powers = st.tuples(inner, st.sampled_from(exponents)).map(lambda p: p[0] ** p[1])
        sums = [pairs.map(lambda p: p[0] + p[1]), pairs.map(lambda p: p[0] - p[1])]
        return st.one_of(*sums, pairs.map(lambda p: p[0] * p[1]), pairs.map(lambda p: p[0] / p[1]), powers)

    return st.recursive(leaves, grown, max_leaves=7)


WHOLE = [Fraction(n) for n in (2, 3, -1, -2)]
rational = formulas(WHOLE)
general = formulas([*WHOLE, *(Fraction(n, 2) for n in (1, 1, 1, -1, 3, -3))])
seeds = st.integers(0, 2**32)


class NoValue(Exception):
    """A division by zero or a root of a negative number."""


def exact(formula: Expression, point: dict[str, Fraction]) -> Fraction:
    """The value by the definition of the tree, in exact arithmetic; for whole exponents."""
    if isinstance(formula, Column):
        return point[formula.name]
    if isinstance(formula, Constant):
        return formula.value
    if isinstance(formula, Sum):
        return sum((exact(term, point) for term in formula.terms), Fraction(0))
    if isinstance(formula, Product):
        result = Fraction(1)
        for factor in formula.factors:
            result *= exact(factor, point)
        return result
    assert isinstance(formula, Power)
    base = exact(formula.base, point)
    if base == 0 and formula.exponent < 0:
        raise NoValue
    return base ** int(formula.exponent)


def precise(formula: Expression, point: dict[str, Fraction]) -> Decimal:
    """The value by the definition of the tree, to 120 digits."""
    if isinstance(formula, Column | Constant):
        value = exact(formula, point)
        return Decimal(value.numerator) / value.denominator
    if isinstance(formula, Sum):
        return sum((precise(term, point) for term in formula.terms), Decimal(0))
    if isinstance(formula, Product):
        result = Decimal(1)
        for factor in formula.factors:
            result *= precise(factor, point)
        return result
    assert isinstance(formula, Power)
    base = precise(formula.base, point)
    # What is left of two equal numbers after 120 digits is zero.
    base = Decimal(0) if abs(base) < Decimal("1e-90") else base
    whole = formula.exponent.denominator == 1
    if (base == 0 and formula.exponent < 0) or (base < 0 and not whole):
        raise NoValue
    if whole:
        return base ** int(formula.exponent)
    root = base.sqrt() ** abs(formula.exponent.numerator)
    return root if formula.exponent > 0 else 1 / root


def points(seed: int, count: int = 4) -> list[dict[str, Fraction]]:
    """Random fractions of both signs, too odd to make a sum vanish by chance."""
    draw = random.Random(seed)

    def number() -> Fraction:
        return draw.choice([1, 1, -1]) * Fraction(draw.randint(1, 10**6), draw.randint(1, 999))

    return [{name: number() for name in NAMES} for _ in range(count)]


def same_values(one: Expression, other: Expression, seed: int, *, everywhere: bool) -> None:
    """Assert equality where both have a value; ``everywhere``: the other has one where the first has."""
    with localcontext(Context(prec=120, Emax=10**6, Emin=-(10**6))):
        for point in points(seed):
            try:
                first = precise(one, point)
            except NoValue:
                continue
            try:
                second = precise(other, point)
            except NoValue:
                assert not everywhere, f"{other} has no value at {point}, {one} has"
                continue
            assert abs(first - second) <= Decimal("1e-40") * max(abs(first), 1), (
                f"{one} != {other} at {point}"
            )


@many
@given(general)
def test_text_and_json_give_the_formula_back(formula: Expression) -> None:
    assert parse(str(formula)) == formula
    assert Expression.from_json(formula.to_json()) == formula


@many
@given(general)
def test_the_canonical_form_is_final_and_reads_back(formula: Expression) -> None:
    simple = formula.simplify()
    assert parse(str(simple)) == simple
    assert parse(str(simple)).simplify() == simple
    assert simple.equals(formula)
    # Collecting like terms may itself take a number more: c / 3 - c is -2 * c / 3.
    assert simple.complexity <= max(formula.complexity, collected(formula).complexity, 3)


@many
@given(general, seeds)
def test_simplify_keeps_every_value(formula: Expression, seed: int) -> None:
    same_values(formula, formula.simplify(), seed, everywhere=True)


@many
@given(rational, rational, seeds)
def test_equals_agrees_with_exact_evaluation(one: Expression, other: Expression, seed: int) -> None:
    def signature(formula: Expression) -> list[Fraction] | None:
        try:
            return [exact(formula, point) for point in points(seed)]
        except NoValue:
            return None

    first, second = signature(one), signature(other)
    assert one.equals(other) == (first == second)
    assert one.equals(other) == other.equals(one)


REWRITES = [
    lambda e, f: e + f - f,
    lambda e, f: 3 * e / 3,
    lambda e, f: (e + f) ** 2 - 2 * e * f - f**2 - e**2 + e,
    lambda e, f: -(f - e) + f,
    lambda e, f: (e * f + e) / (f + 1),
    lambda e, f: 1 / (1 / (e + f)) - f,
    lambda e, f: (e**2 - f**2) / (e + f) + f,
]


@few
@given(rational, rational, st.sampled_from(REWRITES))
def test_equals_sees_through_rewriting(one: Expression, other: Expression, rewrite: object) -> None:
    undefined = parse("1 / 0")
    try:
        rewritten = rewrite(one, other)  # type: ignore[operator]
    except InvalidArgument:
        assume(False)
    assume(not rewritten.equals(undefined))
    assert rewritten.equals(one)
    assert rewritten.simplify().equals(one)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(general, general, general, seeds)
def test_equals_is_an_equivalence_and_sound(a: Expression, b: Expression, c: Expression, seed: int) -> None:
    for one in (a, b, a * b, a / c + b):
        assert one.equals(parse(str(one)))
        for other in (b, c, b * a, b + a / c):
            assert one.equals(other) == other.equals(one)
            if one.equals(other):
                assert one.equals(c) == other.equals(c)
                same_values(one, other, seed, everywhere=False)


@few
@given(general, seeds)
@example(parse("abs(a) ** 3 - sqrt(2) * b / (3 * c) + 1e20"), 1)
@example(parse("-a - -3 * b ** -1.5"), 2)
def test_frames_evaluate_the_text_to_the_same_bits(formula: Expression, seed: int) -> None:
    assume(formula.columns)
    # pandas computes a part without columns in Python, which raises where arrays give inf or nan.
    assume(not has_bare_power(formula))
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({name: draw.normal(size=9) * 10.0 ** draw.integers(-3, 9) for name in NAMES})
    expected = formula.evaluate(frame)
    with np.errstate(all="ignore"):
        found = np.asarray(frame.eval(str(formula)), dtype=float)
    np.testing.assert_array_equal(found, expected)


def has_bare_power(formula: Expression) -> bool:
    bare = not formula.columns and not isinstance(formula, Constant)
    return bare or any(has_bare_power(child) for child in formula.children)


@few
@given(st.text(max_size=8), st.text(max_size=8))
def test_any_name_is_read_back(first: str, second: str) -> None:
    formula = Expression.column(first) - 2 * Expression.column(second)
    assert parse(str(formula)) == formula
    assert parse(str(formula.simplify())) == formula.simplify()


@few
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6))
def test_pandas_names_what_we_say_it_can(name: str) -> None:
    frame = pd.DataFrame({name: [1.0, 2.0]})
    try:
        found = frame.eval(str(2 * Expression.column(name))).tolist() == [2.0, 4.0]
    except Exception:
        found = False
    # pandas 2 names some columns that pandas 3 cannot and the other way round; see pandas_can_name.
    assert found == pandas_can_name(name) or int(pd.__version__.split(".")[0]) < 3


@many
@given(st.text(st.sampled_from("ab1.e+-*/()`  \n^,√"), max_size=14))
def test_any_text_is_a_formula_or_one_sentence(text: str) -> None:
    try:
        formula = parse(text)
    except InvalidArgument as error:
        message = str(error)
    else:
        message = "formula"
        assert parse(str(formula)) == formula
    assert message.startswith("formula")


trees = st.recursive(
    st.one_of(
        st.none(), st.text(max_size=3), st.integers(), st.just({"column": "a"}), st.just({"constant": "1/2"})
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["column", "constant", "sum", "product", "power", "x"]), inner, max_size=2
        ),
        st.builds(
            lambda parts, kind: {kind: parts},
            st.lists(inner, max_size=3),
            st.sampled_from(["sum", "product"]),
        ),
        st.builds(
            lambda base, text: {"power": [base, text]}, inner, st.sampled_from(["2", "1/2", "0.3", "x"])
        ),
    ),
    max_leaves=6,
)


@many
@given(trees)
def test_any_tree_is_a_formula_or_one_sentence(tree: object) -> None:
    try:
        formula = Expression.from_json(tree)
    except InvalidData as error:
        message = str(error)
    else:
        message = "a formula tree"
        # A tree by hand may be nested as the operators never leave one; its text still means the same.
        assert parse(str(formula)).equals(formula)
    assert "formula tree" in message


@few
@given(rational, st.sampled_from(NAMES), seeds)
def test_a_solution_solves(formula: Expression, name: str, seed: int) -> None:
    assume(name in formula.columns)
    solution = formula.solve_for(name)
    if solution is None:
        return
    for point in points(seed):
        positive = {key: abs(value) for key, value in point.items()}
        with localcontext(Context(prec=120, Emax=10**6, Emin=-(10**6))):
            try:
                target = precise(formula, positive)
                found = precise(solution, positive | {"y": Fraction(target)})
                again = precise(formula, positive | {name: Fraction(found)})
            except NoValue:
                continue
            assert abs(again - target) <= Decimal("1e-30") * max(abs(target), 1)
