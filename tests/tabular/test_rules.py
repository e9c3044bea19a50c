"""Rules files: what is saved is what is read, and nothing else is."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inalu.errors import InvalidData
from inalu.expression import Expression
from inalu.tabular.rules import Precision, Rule, Rules, load_rules, precision_of, schema

CENTS = Precision(0.005, 0.0)
RULES = Rules(
    "sales.csv",
    (
        Rule(
            "total",
            Expression.parse("net + `tax %` * 2 / 3"),
            2,
            {"total": CENTS, "net": CENTS},
            "sums",
            10,
            9,
        ),
        Rule(
            "balance",
            Expression.column("balance[-1]") - Expression.column("cumsum(out)"),
            None,
            exact_operands=True,
        ),
    ),
)


def tree() -> Any:
    return copy.deepcopy(RULES.to_json())


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    RULES.save(path)
    assert load_rules(path) == RULES
    assert load_rules(str(path)) == RULES
    assert load_rules(io.BytesIO(path.read_bytes())) == RULES
    assert load_rules(RULES) is RULES
    assert load_rules(tree()) == RULES


def test_the_text_beside_a_tree_is_never_read() -> None:
    changed = tree()
    changed["rules"][0]["text"] = "__import__('os').system('true')"
    assert load_rules(changed) == RULES


def spoiled() -> list[tuple[str, Any]]:
    """Rules files with one thing wrong each, and a word of the message."""

    def with_rule(**changes: Any) -> Any:
        out = tree()
        out["rules"][0].update(changes)
        return out

    deep: Any = {"column": "a"}
    for _ in range(150):
        deep = {"power": [deep, "2"]}
    wide = {"sum": [{"column": "a"}] * 30_000}
    return [
        ("object", []),
        ("object", {**tree(), "format": "other"}),
        ("version", {**tree(), "version": 2}),
        ("version", {**tree(), "version": True}),
        ("unknown key", {**tree(), "code": "x"}),
        ("list", {**tree(), "rules": {}}),
        ("must be an object", {**tree(), "rules": ["a + b"]}),
        ("unknown key", with_rule(eval="x")),
        ("target", with_rule(target="")),
        ("target", with_rule(target=7)),
        ("formula", with_rule(formula="a + b")),
        ("formula", with_rule(formula={"call": ["os.system"]})),
        ("deep|nested", with_rule(formula=deep)),
        ("parts", with_rule(formula=wide)),
        ("itself", with_rule(formula={"column": "total"})),
        ("decimals", with_rule(decimals=-1)),
        ("decimals", with_rule(decimals=True)),
        ("decimals", with_rule(decimals=2.5)),
        ("whole", with_rule(rows_checked=-1)),
        ("whole", with_rule(rows_holding="9")),
        ("found_by", with_rule(found_by="x" * 500)),
        ("true or false", with_rule(exact_operands=1)),
        ("object", with_rule(precision=[1])),
        ("absolute", with_rule(precision={"net": {"absolute": 1}})),
        ("finite", with_rule(precision={"net": {"absolute": -1, "relative": 0}})),
        ("finite", with_rule(precision={"net": {"absolute": 10**400, "relative": 0}})),
    ]


@pytest.mark.parametrize(("word", "source"), spoiled())
def test_anything_else_is_refused_in_one_sentence(word: str, source: Any) -> None:
    with pytest.raises(InvalidData, match=word) as caught:
        load_rules(source if isinstance(source, dict) else io.BytesIO(json.dumps(source).encode()))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"NaN",
        b'{"format": "inalu-rules", "version": 1e999}',
    ],
)
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidData):
        load_rules(io.BytesIO(data))


def validates(tree: Any, rule: Any, root: Any) -> bool:
    """A small validator for the words that the published schema uses."""
    if "$ref" in rule:
        return validates(tree, root["$defs"][rule["$ref"].rsplit("/", 1)[1]], root)
    if "oneOf" in rule:
        return sum(validates(tree, option, root) for option in rule["oneOf"]) == 1
    if "const" in rule:
        return bool(tree == rule["const"] and not isinstance(tree, bool))
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    plain = not isinstance(tree, bool) and any(
        isinstance(tree, types[kind]) for kind in kinds if kind != "boolean"
    )
    if not (plain or ("boolean" in kinds and isinstance(tree, bool))):
        return False
    if isinstance(tree, dict):
        extra = rule.get("additionalProperties", True)
        known = rule.get("properties", {})
        for key, value in tree.items():
            option = known.get(key, extra)
            if option is False or (isinstance(option, dict) and not validates(value, option, root)):
                return False
        return all(key in tree for key in rule.get("required", []))
    if isinstance(tree, list):
        options = rule.get("prefixItems", [rule.get("items", {"type": "object"})] * len(tree))
        fits = all(validates(value, option, root) for value, option in zip(tree, options, strict=True))
        return fits and len(tree) >= rule.get("minItems", 0)
    if isinstance(tree, str):
        return rule.get("minLength", 0) <= len(tree) <= rule.get("maxLength", 10**9)
    return (
        tree is None
        or isinstance(tree, bool)
        or rule.get("minimum", tree) <= tree <= rule.get("maximum", tree)
    )


def test_the_published_schema_accepts_what_is_saved_and_agrees_on_what_is_not() -> None:
    published = schema()
    assert validates(tree(), published, published)
    # What the schema cannot say: limits of a tree, and that a target does not occur in its own formula.
    beyond = ("nested", "parts", "itself", "whole", "found_by", "finite")
    for word, source in spoiled():
        if not any(part in word for part in beyond):
            assert not validates(source, published, published), (word, source)


def test_the_schema_names_the_keys_that_are_saved() -> None:
    published = schema()
    assert set(published["properties"]) == set(tree())
    assert set(published["$defs"]["rule"]["properties"]) == set(tree()["rules"][0])


def test_precision_covers_the_cells() -> None:
    values = np.array([1.0, 100.0, np.nan, 0.0])
    halves = np.array([1e-7, 1e-5, np.nan, 1e-9])
    absolute, relative = precision_of(values, halves)
    there = np.isfinite(values)
    assert (np.maximum(absolute, relative * np.abs(values[there])) >= halves[there] * 0.999).all()
    assert precision_of(np.array([np.nan]), np.array([np.nan])) == Precision()
