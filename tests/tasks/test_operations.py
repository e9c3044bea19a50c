"""Operations: their numbers, and that their formulas say the same."""

import math
import pickle

import numpy as np
import pytest

from inalu.expression import Expression
from inalu.tasks import OPERATIONS

A, B = np.array([3.0, -0.5, 1e-3]), np.array([-2.0, 8.0, 0.7])
EXPECTED = {
    "add": [a + b for a, b in zip(A, B, strict=True)],
    "sub": [a - b for a, b in zip(A, B, strict=True)],
    "mul": [a * b for a, b in zip(A, B, strict=True)],
    "div": [a / b for a, b in zip(A, B, strict=True)],
    "identity": list(A),
    "square": [a * a for a in A],
}


def test_every_operation_is_named_as_it_is_listed():
    assert list(OPERATIONS) == ["add", "sub", "mul", "div", "identity", "square", "sqrt"]
    assert all(name == str(operation) == operation.name for name, operation in OPERATIONS.items())
    assert len({operation.symbol for operation in OPERATIONS.values()}) == len(OPERATIONS)
    with pytest.raises(TypeError):
        OPERATIONS["mod"] = OPERATIONS["div"]


@pytest.mark.parametrize("name", EXPECTED)
def test_apply(name):
    operation = OPERATIONS[name]
    result = operation.apply(A, B) if operation.arity == 2 else operation.apply(A)
    assert result.dtype == np.float64
    assert result.tolist() == EXPECTED[name]


def test_the_root_is_exactly_rounded():
    x = abs(A)
    assert OPERATIONS["sqrt"].apply(x).tolist() == [math.sqrt(value) for value in x]


def test_apply_computes_float32_operands_in_float64():
    tenth = np.array([0.1], np.float32)
    assert OPERATIONS["mul"].apply(tenth, tenth)[0] == float(tenth[0]) ** 2


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_formula_evaluates_to_the_numbers(name):
    operation = OPERATIONS[name]
    operands = (abs(A), B)[: operation.arity]
    formula = operation.expression(*(Expression.column(column) for column in "ab"[: operation.arity]))
    np.testing.assert_array_equal(
        formula.evaluate(dict(zip("ab", operands, strict=False))), operation.apply(*operands)
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_travel_between_processes(name):
    copy = pickle.loads(pickle.dumps(OPERATIONS[name]))
    assert copy == OPERATIONS[name]
    np.testing.assert_array_equal(copy.apply(abs(A), B), OPERATIONS[name].apply(abs(A), B))
