"""What an audit returns: relations with their evidence and the rows that break them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inalu.expression import Expression


@dataclass(frozen=True)
class Break:
    """One row that breaks a relation.

    Attributes
    ----------
    row : int
        The data row, counted from 0.
    value, expected, difference : float
        The target's cell, what the formula gives, and value minus expected.
    cause : str
        The likely cause (`inalu.tabular.causes.CAUSES`), or "unknown".
    suspect : str
        The column whose cell most likely is wrong.
    proposal : float or None
        What that cell would have to hold for the row to be right; None where it cannot be solved for.
    """

    row: int
    value: float
    expected: float
    difference: float
    cause: str
    suspect: str
    proposal: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints for one row."""
        return {
            "row": self.row,
            "value": number(self.value),
            "expected": number(self.expected),
            "difference": number(self.difference),
            "cause": self.cause,
            "suspect": self.suspect,
        }


@dataclass(frozen=True)
class WrongTotal:
    """A cell of a total row that is not the sum of its column's cells."""

    column: str
    value: float
    expected: float
    difference: float

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints."""
        numbers = {"value": self.value, "expected": self.expected, "difference": self.difference}
        return {"column": self.column, **{name: number(value) for name, value in numbers.items()}}


@dataclass(frozen=True)
class TotalRow:
    """A row that is the sum of rows above it; no formula is held against it.

    Attributes
    ----------
    row : int
        The data row, counted from 0.
    label : str or None
        The text that names it, such as "Total".
    first, last : int
        The first and last of the rows that it sums; total rows between them are left out.
    columns : tuple of str
        The columns that it sums.
    breaking : tuple of WrongTotal
        Its cells that should be sums and are not.
    unsummed : tuple of str
        Columns with a number that is no sum, such as a price or a percentage.
    """

    row: int
    label: str | None
    first: int
    last: int
    columns: tuple[str, ...]
    breaking: tuple[WrongTotal, ...] = ()
    unsummed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints."""
        return {
            "row": self.row,
            "label": self.label,
            "first": self.first,
            "last": self.last,
            "columns": list(self.columns),
            "breaking": [wrong.to_json() for wrong in self.breaking],
        }


@dataclass(frozen=True)
class Evidence:
    """Why a relation is believed.

    Attributes
    ----------
    bits : float
        Bits saved on the target's cells, less those of breaks, formula and search.
    share : float
        The share of rows that hold, of those where the answer is not trivial.
    share_shuffled : float
        The same share after the operands' rows were shuffled: what luck alone gives.
    rows_nontrivial : int
        How many rows are not trivial.
    complexity : int
        Leaves and operators of the formula.
    """

    bits: float
    share: float
    share_shuffled: float
    rows_nontrivial: int
    complexity: int

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints."""
        return {
            "bits": round(self.bits, 1),
            "share": round(self.share, 6),
            "share_shuffled": round(self.share_shuffled, 6),
            "rows_nontrivial": self.rows_nontrivial,
            "complexity": self.complexity,
        }


@dataclass(frozen=True)
class Relation:
    """A column that is computed from others.

    Attributes
    ----------
    target : str
        The computed column.
    formula : Expression
        How; names such as ``balance[-1]`` and ``cumsum(amount)`` stand for the row before and running sums.
    operands : tuple of str
        The columns of the table that the formula uses.
    constants : tuple of Fraction
        The numbers in the formula, as a person would write them.
    found_by : str
        The stage of the search that found it first.
    rows_checked, rows_holding : int
        Rows where all cells are filled, and those of them that hold within rounding.
    breaking : tuple of Break
        The rows that do not, in the order of the table.
    evidence : Evidence
        Why it is believed.
    equivalent : tuple of Expression
        Other formulas for the same target that follow from the relations of the audit.
    exact_operands : bool
        Whether the operands' cells are taken as exact numbers, not as rounded ones, when rows are judged.
    common : tuple of str
        What the breaking rows have in common, one sentence each.
    """

    target: str
    formula: Expression
    operands: tuple[str, ...]
    constants: tuple[Fraction, ...]
    found_by: str
    rows_checked: int
    rows_holding: int
    breaking: tuple[Break, ...]
    evidence: Evidence
    equivalent: tuple[Expression, ...] = ()
    exact_operands: bool = False
    common: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.target} = {self.formula}"

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints, without the texts for Excel and SQL (see `Audit.to_json`)."""
        return {
            "target": self.target,
            "formula": str(self.formula),
            "operands": list(self.operands),
            "constants": [number(float(constant)) for constant in self.constants],
            "found_by": self.found_by,
            "rows_checked": self.rows_checked,
            "rows_holding": self.rows_holding,
            "breaking": [row.to_json() for row in self.breaking],
            "evidence": self.evidence.to_json(),
            "equivalent": [str(formula) for formula in self.equivalent],
        }


@dataclass(frozen=True)
class NearestMiss:
    """The best formula that was not good enough to report, and why.

    Attributes
    ----------
    target : str
        The column.
    formula : Expression
        The formula that came nearest.
    rows_checked, rows_holding : int
        On how many rows.
    reason : str
        The test that it failed, in words.
    """

    target: str
    formula: Expression
    rows_checked: int
    rows_holding: int
    reason: str

    def __str__(self) -> str:
        rows = f"{self.rows_holding} of {self.rows_checked} rows"
        return f"{self.target} = {self.formula} holds in {rows}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """The object that ``audit --json`` prints."""
        return {
            "target": self.target,
            "formula": str(self.formula),
            "rows_checked": self.rows_checked,
            "rows_holding": self.rows_holding,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Audit:
    """The answer of `inalu.audit`, `inalu.fit` and `inalu.check`.

    Attributes
    ----------
    table : str
        The table's name.
    rows : int
        Its data rows.
    seconds : float
        How long it took.
    false_findings_expected : float
        How many of the relations are expected to be luck, estimated on row-shuffled copies of the columns.
    relations : tuple of Relation
        In the order in which a person would compute them.
    unexplained : tuple of str
        Numeric columns that no relation uses.
    nearest_miss : NearestMiss or None
        Where nothing was found: how near the best formula came.
    interrupted : bool
        Whether Ctrl-C stopped the search before its end.
    notes : tuple of str
        What the reader and the audit have to say about the table, one sentence each.
    rivals : bool
        Whether the relations are formulas for one and the same column, the best first, as `inalu.fit` gives them.
    total_rows : tuple of TotalRow
        Rows that are sums of rows above; no formula is held against them.

    Examples
    --------
    >>> Audit("table.csv", 10, 0.1, 0.0, (), ("price",), None).to_json()["unexplained"]
    ['price']
    """

    table: str
    rows: int
    seconds: float
    false_findings_expected: float
    relations: tuple[Relation, ...]
    unexplained: tuple[str, ...]
    nearest_miss: NearestMiss | None
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    rivals: bool = False
    total_rows: tuple[TotalRow, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no row breaks any relation and every total adds up.

        Of rivals for one column only the best is asked, and of totals only that column.
        """
        asked = self.relations[:1] if self.rivals else self.relations
        wrong = {cell.column for total in self.total_rows for cell in total.breaking}
        if self.rivals:
            wrong &= {*self.unexplained, *(relation.target for relation in asked)}
        return not wrong and all(not relation.breaking for relation in asked)

    def to_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints: plain dicts, lists, texts and finite numbers."""
        from inalu.tabular import render

        relations = []
        for relation in self.relations:
            item = relation.to_json()
            item["excel"] = render.excel(relation.formula)
            item["sql"] = render.sql(relation.formula)
            relations.append(item)
        return {
            "table": self.table,
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
            "false_findings_expected": float(f"{self.false_findings_expected:.3g}"),
            "relations": relations,
            "unexplained": list(self.unexplained),
            "nearest_miss": self.nearest_miss.to_json() if self.nearest_miss else None,
            "total_rows": [total.to_json() for total in self.total_rows],
        }


def number(value: float) -> float | int | None:
    """A number as JSON has it: whole numbers without a point, and None for what JSON cannot say.

    Examples
    --------
    >>> number(3.0), number(0.1 + 0.2), number(float("inf"))
    (3, 0.3, None)
    """
    if not math.isfinite(value):
        return None
    # Fifteen digits are what a double holds; 0.30000000000000004 is 0.3.
    short = float(f"{value:.15g}")
    return int(short) if short == int(short) and abs(short) < 2**53 else short
