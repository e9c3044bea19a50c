"""Rules saved to a file and read back: versioned JSON trees, checked strictly, never executed.

The published schema is ``rules.schema.json`` in this folder; `load_rules` enforces the same without any
library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from inalu.errors import InvalidArgument, InvalidData
from inalu.expression import Expression
from inalu.tabular.derived import place
from inalu.tabular.table import Table

FORMAT = "inalu-rules"
VERSION = 1
LARGEST_FILE = 16 * 1024**2
MOST_RULES = 10_000
LONGEST_NAME = 1000
LONGEST_WORD = 200
MOST_DECIMALS = 30

_FILE_KEYS = {"format", "version", "made_by", "table", "rules"}
_RULE_KEYS = {
    *("target", "formula", "text", "decimals", "precision"),
    *("found_by", "rows_checked", "rows_holding", "exact_operands"),
}


class Precision(NamedTuple):
    """How far a cell may be from its number: the larger of ``absolute`` and ``relative`` times its size."""

    absolute: float = 0.0
    relative: float = 0.0


class Found(Protocol):
    """What a relation must offer to become a rule."""

    @property
    def target(self) -> str: ...
    @property
    def formula(self) -> Expression: ...
    @property
    def found_by(self) -> str: ...
    @property
    def rows_checked(self) -> int: ...
    @property
    def rows_holding(self) -> int: ...
    @property
    def exact_operands(self) -> bool: ...


@dataclass(frozen=True)
class Rule:
    """One rule: ``target = formula`` in every row where all cells are filled.

    Attributes
    ----------
    target : str
        The column that the formula gives.
    formula : Expression
        The formula; previous rows and running sums are columns of a reserved name (``balance[-1]``,
        ``cumsum(x)``).
    decimals : int or None
        The target's decimals, None where its digits are those of a float.
    precision : mapping of str to Precision
        The precision of each column when the rule was found, for exports to tools that cannot see printed
        digits.
    found_by : str
        The stage of the search that found it.
    rows_checked, rows_holding : int
        On how many rows of the table it was checked and held.
    exact_operands : bool
        Whether the operands' cells are exact numbers, not rounded ones, when rows are judged.
    """

    target: str
    formula: Expression
    decimals: int | None = None
    precision: Mapping[str, Precision] = field(default_factory=dict)
    found_by: str = ""
    rows_checked: int = 0
    rows_holding: int = 0
    exact_operands: bool = False

    def to_json(self) -> dict[str, Any]:
        """The rule as the schema has it."""
        return {
            "target": self.target,
            "formula": self.formula.to_json(),
            "text": str(self.formula),
            "decimals": self.decimals,
            "precision": {name: value._asdict() for name, value in self.precision.items()},
            "found_by": self.found_by,
            "rows_checked": self.rows_checked,
            "rows_holding": self.rows_holding,
            "exact_operands": self.exact_operands,
        }


@dataclass(frozen=True)
class Rules:
    """The rules of one table.

    Examples
    --------
    >>> rules = Rules("sales.csv", (Rule("total", Expression.parse("net + tax")),))
    >>> load_rules(rules.to_json()).rules[0].formula
    Expression('net + tax')
    """

    table: str
    rules: tuple[Rule, ...]

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        from inalu import __version__

        return {
            "format": FORMAT,
            "version": VERSION,
            "made_by": f"inalu {__version__}",
            "table": self.table,
            "rules": [rule.to_json() for rule in self.rules],
        }

    def save(self, path: str | Path) -> None:
        """Write the rules to a file.

        Raises
        ------
        InvalidData
            When the file cannot be written.
        """
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InvalidData(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def schema() -> dict[str, Any]:
    """The published JSON schema of a rules file."""
    text = resources.files("inalu.tabular").joinpath("rules.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def rules_of(relations: Iterable[Found], table: Table) -> Rules:
    """Make rules of the relations that were found in a table."""
    rules = []
    for relation in relations:
        names = {relation.target, *(place(name).name for name in relation.formula.columns)}
        columns = {column.name: column for column in table.columns if column.name in names}
        target = columns.get(relation.target)
        rules.append(
            Rule(
                target=relation.target,
                formula=relation.formula,
                decimals=target.decimals if target is not None and not target.relative else None,
                precision={
                    name: precision_of(column.values, column.half_unit) for name, column in columns.items()
                },
                found_by=relation.found_by,
                rows_checked=relation.rows_checked,
                rows_holding=relation.rows_holding,
                exact_operands=relation.exact_operands,
            )
        )
    return Rules(table.name, tuple(rules))


def precision_of(values: Any, half_unit: Any) -> Precision:
    """Two numbers that cover the half units of a column.

    Examples
    --------
    >>> precision_of(np.array([1.25, 7.5]), np.array([0.005, 0.005]))
    Precision(absolute=0.005, relative=0.0)
    """
    there = np.isfinite(values) & np.isfinite(half_unit)
    if not there.any():
        return Precision()
    sizes, halves = np.abs(values[there]), half_unit[there]
    # A few stray cells with more digits do not make the column finer.
    usual = float(np.median(halves))
    if (np.abs(halves - usual) <= 1e-9 * usual).mean() >= 0.95:
        return Precision(usual, 0.0)
    filled = sizes > 0
    relative = float((halves[filled] / sizes[filled]).max()) if filled.any() else 0.0
    return Precision(float(halves.min()), relative)


def load_rules(source: Any) -> Rules:
    """Read rules from a path, an open file, or what `Rules.to_json` gave.

    Raises
    ------
    InvalidData
        When the source is not a rules file of this version; the message says where.
    """
    if isinstance(source, Rules):
        return source
    if isinstance(source, Rule):
        return Rules("rules", (source,))
    name = "rules"
    if not isinstance(source, Mapping):
        from inalu.tabular.files import load

        name, data = load(source)
        source = _parse(name, data)
    if not isinstance(source, Mapping) or source.get("format") != FORMAT:
        raise InvalidData(f'{name} is no rules file: it must be an object with "format": "{FORMAT}".')
    if source.get("version") != VERSION or isinstance(source.get("version"), bool):
        version = str(source.get("version"))[:20]
        raise InvalidData(f"{name} has version {version!r}; this program reads version {VERSION}.")
    _only(name, source, _FILE_KEYS)
    listed = source.get("rules")
    if not isinstance(listed, list) or len(listed) > MOST_RULES:
        raise InvalidData(f'{name}: "rules" must be a list of at most {MOST_RULES} rules.')
    title = source.get("table", "")
    table = title if isinstance(title, str) else ""
    return Rules(table, tuple(_rule(f"{name}, rule {at}", rule) for at, rule in enumerate(listed)))


def _parse(name: str, data: bytes) -> Any:
    if len(data) > LARGEST_FILE:
        raise InvalidData(f"{name} has more than {LARGEST_FILE // 1024**2} MiB, too much for a rules file.")
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise InvalidData(f"{name} is nested too deep for a rules file.") from None
    except ValueError as error:
        raise InvalidData(f"{name} is no JSON file ({error}).") from None


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def _only(where: str, found: Mapping[str, Any], known: set[str]) -> None:
    strange = [str(key)[:40] for key in found if key not in known]
    if strange:
        raise InvalidData(f"{where}: unknown key {strange[0]!r}; known are {', '.join(sorted(known))}.")


def _rule(where: str, rule: Any) -> Rule:
    if not isinstance(rule, Mapping):
        raise InvalidData(f"{where} must be an object; got {type(rule).__name__}.")
    _only(where, rule, _RULE_KEYS)
    target = rule.get("target")
    if not isinstance(target, str) or not 0 < len(target) <= LONGEST_NAME:
        raise InvalidData(f'{where}: "target" must be the name of a column.')
    try:
        formula = Expression.from_json(rule.get("formula"))
    except (InvalidData, InvalidArgument) as error:
        raise InvalidData(f"{where}: {error}") from None
    if target in formula.columns:
        raise InvalidData(f"{where}: the formula of {target!r} holds {target!r} itself.")
    decimals = rule.get("decimals")
    if decimals is not None and not _whole(decimals, MOST_DECIMALS):
        raise InvalidData(f'{where}: "decimals" must be null or a whole number up to {MOST_DECIMALS}.')
    counts = [rule.get(key, 0) for key in ("rows_checked", "rows_holding")]
    if not all(_whole(count, 10**12) for count in counts):
        raise InvalidData(f'{where}: "rows_checked" and "rows_holding" must be whole numbers.')
    found_by = rule.get("found_by", "")
    if not isinstance(found_by, str) or len(found_by) > LONGEST_WORD:
        raise InvalidData(f'{where}: "found_by" must be a short text.')
    exact = rule.get("exact_operands", False)
    if not isinstance(exact, bool):
        raise InvalidData(f'{where}: "exact_operands" must be true or false.')
    precision = _precisions(where, rule.get("precision", {}))
    return Rule(target, formula, decimals, precision, found_by, counts[0], counts[1], exact)


def _precisions(where: str, found: Any) -> dict[str, Precision]:
    if not isinstance(found, Mapping):
        raise InvalidData(f'{where}: "precision" must be an object.')
    out = {}
    for name, value in found.items():
        if not isinstance(value, Mapping) or set(value) != {"absolute", "relative"}:
            raise InvalidData(f'{where}: the precision of {name[:40]!r} must have "absolute" and "relative".')
        if not all(_positive(number) for number in value.values()):
            raise InvalidData(f"{where}: the precision of {name[:40]!r} must be finite and not negative.")
        out[name] = Precision(float(value["absolute"]), float(value["relative"]))
    return out


def _whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _positive(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # A whole number too long for a float would raise where a float is inf.
    return 0 <= value < 1e300 and math.isfinite(value)
