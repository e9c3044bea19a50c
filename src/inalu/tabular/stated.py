"""What a workbook's own formulas add to an audit: relations its author stated, and cells typed over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inalu.tabular.derived import base
from inalu.tabular.relation import Audit, Break, Relation
from inalu.tabular.rules import Rule, Rules
from inalu.tabular.table import Table
from inalu.tabular.workbook import FORMULA_SHARE, Written, written

FOUND_BY = "workbook"
OVERWRITTEN = "formula overwritten"


def with_stated(audit: Audit, table: Table) -> Audit:
    """The audit with the relations that the workbook's formulas state, and overwritten cells named as such.

    A stated relation needs no evidence that it is no luck: its author wrote it down. One that was found
    anyway stays as it was found. A table that is no workbook, or has no formulas, changes nothing.
    """
    stated = written(table)
    if not stated:
        return audit
    known = {_columns(relation) for relation in audit.relations}
    new = [one for one in stated if one.formula is not None and _names(one) not in known]
    relations = [*audit.relations, *_judged(new, table)]
    typed = {(one.target, row) for one in stated for row in one.overwritten}
    named = tuple(_named(relation, typed) for relation in relations)
    used = {base(name) for relation in named for name in _columns(relation)}
    return replace(
        audit,
        relations=named,
        unexplained=tuple(name for name in audit.unexplained if name not in used),
        nearest_miss=None if named else audit.nearest_miss,
    )


def _names(one: Written) -> frozenset[str]:
    return frozenset((one.target, *(one.formula.columns if one.formula is not None else ())))


def _columns(relation: Relation) -> frozenset[str]:
    return frozenset((relation.target, *relation.formula.columns))


def _judged(new: Sequence[Written], table: Table) -> list[Relation]:
    """The relations of new formulas that hold in most rows (a formula that is read wrongly holds in none)."""
    from inalu.tabular.audit import check

    usable = [one for one in new if one.formula is not None and one.target not in one.formula.columns]
    rules = tuple(
        Rule(one.target, one.formula, found_by=FOUND_BY) for one in usable if one.formula is not None
    )
    found = check(Rules(table.name, rules), table).relations if rules else ()
    return [one for one in found if one.rows_holding >= FORMULA_SHARE * max(1, one.rows_checked)]


def _named(relation: Relation, typed: set[tuple[str, int]]) -> Relation:
    """The relation with the cause of each break that is a cell typed over its formula."""

    def named(broken: Break) -> Break:
        cells = [name for name in sorted(_columns(relation)) if (name, broken.row) in typed]
        if not cells:
            return broken
        suspect = relation.target if relation.target in cells else cells[0]
        proposal = broken.expected if suspect == relation.target else broken.proposal
        return replace(broken, cause=OVERWRITTEN, suspect=suspect, proposal=proposal)

    if not relation.breaking:
        return relation
    return replace(relation, breaking=tuple(map(named, relation.breaking)))
