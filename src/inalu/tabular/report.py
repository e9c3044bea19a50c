"""From a chosen finding to the relation that is reported: all rows judged, breaks explained, evidence stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inalu.expression import Expression
from inalu.tabular import evidence
from inalu.tabular.causes import Array, carried, explain, standing
from inalu.tabular.common import in_common
from inalu.tabular.derived import base
from inalu.tabular.directions import directions
from inalu.tabular.evidence import Measure
from inalu.tabular.findings import Bench, Finding, constants_of, operands_of
from inalu.tabular.relation import Break, Evidence, NearestMiss, Relation
from inalu.tabular.selection import Chosen
from inalu.tabular.table import Table

# Breaking rows beyond this number are listed without a cause: nobody reads them one by one.
MOST_EXPLAINED = 20_000


def relations(
    table: Table, bench: Bench, chosen: Sequence[Chosen], order: Mapping[str, int]
) -> tuple[Relation, ...]:
    """The relations of chosen findings, weighed on the bench's rows; causes are judged by all of them together."""
    findings = [bench.weigh(one.finding.target, one.finding.formula, one.finding.found_by) for one in chosen]
    votes = standing([(f.columns, f.measure.checked, f.measure.holding) for f in findings], table.rows)
    return tuple(
        relation(table, bench, finding, order, equivalent=one.equivalent, votes=votes)
        for one, finding in zip(chosen, findings, strict=True)
    )


def relation(
    table: Table,
    bench: Bench,
    finding: Finding,
    order: Mapping[str, int],
    *,
    equivalent: Sequence[Expression] = (),
    votes: Mapping[str, Array] | None = None,
) -> Relation:
    """One relation."""
    result = finding.measure
    formula = finding.formula
    return Relation(
        target=finding.target,
        formula=formula,
        operands=operands_of(formula),
        constants=constants_of(formula),
        found_by=finding.found_by,
        rows_checked=int(result.checked.sum()),
        rows_holding=int(result.holding.sum()),
        breaking=_breaks(table, bench, finding, order, votes or {}),
        evidence=Evidence(
            result.bits,
            result.share_nontrivial,
            bench.shuffled(finding),
            result.rows_nontrivial,
            formula.complexity,
        ),
        equivalent=tuple(equivalent),
        exact_operands=result.rounded == "none",
        common=in_common(table, result.checked, result.checked & ~result.holding),
    )


def _breaks(
    table: Table, bench: Bench, finding: Finding, order: Mapping[str, int], votes: Mapping[str, Array]
) -> tuple[Break, ...]:
    result, values = finding.measure, bench.lookup(finding.target)[0]
    rows = np.flatnonzero(result.checked & ~result.holding)
    if not len(rows):
        return ()
    solved: dict[str, Expression] = {}
    for name, formula in directions(finding.target, finding.formula, order):
        solved.setdefault(name, formula)
    # The relation's own vote says nothing about which of its cells is wrong.
    own = np.where(result.holding, 1.0, np.where(result.checked, -1.0, 0.0))
    others = {base(name): votes.get(base(name), own) - own for name in finding.columns}
    verdicts = explain(finding.target, solved, bench.lookup, rows[:MOST_EXPLAINED], vouched=others)
    verdicts = carried(finding.target, finding.formula, bench.lookup, rows, result.residual, verdicts)
    found = []
    for at, row in enumerate(rows):
        verdict = verdicts[at] if at < len(verdicts) else None
        found.append(
            Break(
                row=table.number(int(row)),
                value=float(values[row]),
                expected=float(result.prediction.value[row]),
                difference=float(result.residual[row]),
                cause=verdict.cause if verdict else "unknown",
                suspect=verdict.suspect if verdict else finding.target,
                proposal=verdict.proposal if verdict else None,
            )
        )
    return tuple(found)


def nearest_miss(findings: Sequence[Finding]) -> NearestMiss | None:
    """The refused finding that came nearest: most rows held, by the bits they were worth."""
    refused = [finding for finding in findings if finding.reason and _worth(finding.measure) > 0]
    if not refused:
        return None
    best = max(
        refused, key=lambda f: (f.measure.share_nontrivial >= 0.5, _worth(f.measure), -f.length, str(f))
    )
    result = best.measure
    return NearestMiss(
        best.target, best.formula, int(result.checked.sum()), int(result.holding.sum()), best.reason
    )


def _worth(result: Measure) -> float:
    if result.rows_nontrivial < evidence.LEAST_ROWS:
        return 0.0
    return result.gross
