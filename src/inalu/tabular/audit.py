"""The three questions to a table: audit (which columns are computed from which), fit (this column), check (saved rules)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inalu.errors import check_choice
from inalu.tabular.derived import Lookup
from inalu.tabular.findings import Bench, constants_of, operands_of
from inalu.tabular.relation import Audit, Break, Evidence, Relation
from inalu.tabular.search import linear, pairs, products, ranges, ratios, sequence, triples
from inalu.tabular.search.view import Stage, View
from inalu.tabular.selection import Chosen, chained, select
from inalu.tabular.table import read_table

STAGES: dict[str, Stage] = {
    "pairs": pairs.pairs,
    "sums": linear.sums,
    "products": products.products,
    "ranges": ranges.ranges,
    "robust": linear.robust_sums,
    "robust products": products.robust_products,
    "triples": triples.triples,
    "ratios": ratios.ratios,
    "robust ratios": ratios.robust_ratios,
    "sequences": sequence.sequences,
}


def audit(
    source: Any,
    *,
    stages: Sequence[str] | None = None,
    seed: int = 0,
    on_relation: Callable[[Relation], None] | None = None,
    progress: Callable[[str, float], None] | None = None,
    **reading: Any,
) -> Audit:
    """Find which columns of a table are computed from which others, and the rows that break the formulas."""
    start = time.perf_counter()
    table = read_table(source, **reading)
    names = list(STAGES if stages is None else stages)
    for name in names:
        check_choice("stages", name, STAGES)
    lookup = Lookup({column.name: (column.values, column.half_unit) for column in table.columns})
    order = {name: at for at, name in enumerate(table.names)}
    bench = Bench(lookup, max(len(table.columns), 2))
    view = View(
        table.names,
        np.column_stack([column.values for column in table.columns]),
        np.column_stack([column.half_unit for column in table.columns]),
        seed,
    )
    found = []
    for name in names:
        result = STAGES[name](view, range(view.width))
        bench.tried += result.tried
        found += result.candidates
    findings = [bench.weigh(one.target, one.formula, one.found_by) for one in found]
    chosen = chained(select(bench, findings, order), order)
    relations = tuple(_relation(bench, one) for one in chosen)
    used = {name for relation in relations for name in (relation.target, *relation.operands)}
    return Audit(
        table.name, table.rows, time.perf_counter() - start, 0.0, relations,
        tuple(name for name in table.names if name not in used), None, notes=table.notes,
    )


def _relation(bench: Bench, one: Chosen) -> Relation:
    finding = one.finding
    result = finding.measure
    rows = np.flatnonzero(result.checked & ~result.holding)
    target = bench.target(finding.target)
    breaking = tuple(
        Break(int(row), float(target.values[row]), float(result.prediction.value[row]), float(result.residual[row]), "unknown", finding.target)
        for row in rows
    )
    evidence = Evidence(result.bits, result.share_nontrivial, bench.shuffled(finding), result.rows_nontrivial, finding.formula.complexity)
    return Relation(
        finding.target, finding.formula, operands_of(finding.formula), constants_of(finding.formula), finding.found_by,
        int(result.checked.sum()), int(result.holding.sum()), breaking, evidence, tuple(one.equivalent),
    )
