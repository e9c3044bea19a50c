"""Three questions to a table: which columns are computed (audit), by which formula (fit), do rules hold (check)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from inalu.errors import InvalidData
from inalu.tabular import report
from inalu.tabular.decoys import expected, shuffled_search
from inalu.tabular.derived import Lookup, base
from inalu.tabular.directions import directions
from inalu.tabular.evidence import LEAST_ROWS
from inalu.tabular.findings import Bench, Finding, best_first
from inalu.tabular.fitted import FITTED_BITS, longest_constant
from inalu.tabular.pipeline import Search, stage_names
from inalu.tabular.relation import Audit, NearestMiss, Relation
from inalu.tabular.selection import Chosen, chained, select
from inalu.tabular.table import Table, read_table
from inalu.tabular.totals import total_rows

if TYPE_CHECKING:
    from inalu.tabular.rules import Rule

OnRelation = Callable[[Relation], None]
Progress = Callable[[str, float], None]

# Formulas that `fit` lists for one column.
MOST_RIVALS = 20


# Cells may be of any size; what overflows is no formula.
@np.errstate(all="ignore")
def audit(
    source: Any,
    *,
    stages: Sequence[str] | None = None,
    seed: int = 0,
    on_relation: OnRelation | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Audit:
    """Find which columns of a table are computed from which others, and the rows that break the formulas.

    Parameters
    ----------
    source : path, file, frame, dict of columns, or Table
        What `inalu.tabular.table.read_table` takes; ``reading`` are its options.
    stages : sequence of str, optional
        The stages of the search to run (`inalu.tabular.pipeline.STAGES`); all that are on by default.
    seed : int
        Of the choice of rows; the same seed gives the same answer.
    on_relation, progress : callables, optional
        Told of relations as soon as they are found (some may not stay), and of (stage, share done).

    Returns
    -------
    Audit
        What was found, also after Ctrl-C (then ``interrupted`` is true).

    Raises
    ------
    InvalidData, InvalidArgument
        When the source cannot be read or an option is wrong.

    Examples
    --------
    >>> net = [10.0, 12.5, 8.25, 31.0, 7.75, 19.5, 42.25, 3.5, 16.75, 27.0, 9.25, 5.75]
    >>> tax = [1.9, 2.1, 0.4, 3.3, 1.15, 0.2, 5.05, 0.65, 2.2, 1.35, 0.8, 0.95]
    >>> found = audit({"net": net, "tax": tax, "gross": [a + b for a, b in zip(net, tax)]})
    >>> [str(relation) for relation in found.relations]
    ['gross = net + tax']
    """
    start = time.perf_counter()
    table = read_table(source, **reading)
    totals = total_rows(table)
    data = table.without([total.row for total in totals])
    run = _Run.of(data, stages, seed, None, on_relation, progress)
    run.search_all()
    relations, misses = run.relations(), report.nearest_miss(run.search.findings)
    used = {name for relation in relations for name in (relation.target, *relation.operands)}
    return Audit(
        table=table.name,
        rows=table.rows,
        seconds=time.perf_counter() - start,
        false_findings_expected=run.luck,
        relations=relations,
        unexplained=tuple(name for name in table.names if name not in used),
        nearest_miss=None if relations else misses,
        interrupted=run.interrupted,
        notes=table.notes,
        total_rows=totals,
    )


# Cells may be of any size; what overflows is no formula.
@np.errstate(all="ignore")
def fit(
    source: Any,
    *,
    target: str,
    stages: Sequence[str] | None = None,
    seed: int = 0,
    on_relation: OnRelation | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Audit:
    """Find the formula of one column; the relations of the answer are the best formula and its rivals.

    The parameters are those of `audit`.

    Raises
    ------
    InvalidArgument
        When ``target`` is no numeric column of the table.
    """
    start = time.perf_counter()
    table = read_table(source, **reading)
    table.column(target)
    totals = total_rows(table)
    data = table.without([total.row for total in totals])
    run = _Run.of(data, stages, seed, [target], on_relation, progress)
    run.search_all()
    rivals = run.rivals(target)
    if not rivals and not run.interrupted:
        # Some formulas are easier to see from another column's side.
        run = _Run.of(data, stages, seed, None, on_relation, progress)
        run.search_all()
        rivals = run.rivals(target)
    found = tuple(report.relation(data, run.full, one, run.order) for one in rivals)
    miss: NearestMiss | None = None if found else report.nearest_miss(run.search.findings)
    return Audit(
        table=table.name,
        rows=table.rows,
        seconds=time.perf_counter() - start,
        false_findings_expected=run.luck,
        relations=found,
        unexplained=() if found else (target,),
        nearest_miss=miss,
        interrupted=run.interrupted,
        notes=table.notes,
        rivals=True,
        total_rows=totals,
    )


# Cells may be of any size; what overflows is no formula.
@np.errstate(all="ignore")
def check(rules: Any, source: Any, **reading: Any) -> Audit:
    """Verify saved rules on a table: every rule is judged on every row, none is searched for.

    Parameters
    ----------
    rules : path, file, dict or Rules
        What `inalu.tabular.rules.load_rules` takes.
    source : path, file, frame, dict of columns, or Table
        The table.

    Raises
    ------
    InvalidData
        When the rules cannot be read or the table lacks a column that they name.
    """
    from inalu.tabular.rules import load_rules

    start = time.perf_counter()
    loaded = load_rules(rules)
    table = read_table(source, **reading)
    totals = total_rows(table)
    data = table.without([total.row for total in totals])
    lookup = lookup_of(data)
    order = {name: at for at, name in enumerate(table.names)}
    bench = Bench(lookup, order)
    chosen = []
    for number, rule in enumerate(loaded.rules, start=1):
        _has_columns(rule, number, table)
        reading_of = "none" if rule.exact_operands else None
        finding = bench.weigh(rule.target, rule.formula, rule.found_by, rounded=reading_of)
        chosen.append(Chosen(finding))
    found = report.relations(data, bench, chosen, order)
    return Audit(
        table=table.name,
        rows=table.rows,
        seconds=time.perf_counter() - start,
        false_findings_expected=0.0,
        relations=found,
        unexplained=(),
        nearest_miss=None,
        notes=table.notes,
        total_rows=totals,
    )


def lookup_of(table: Table) -> Lookup:
    """The cells of a table by the names that formulas use."""
    return Lookup({column.name: (column.values, column.half_unit) for column in table.columns})


def _has_columns(rule: Rule, number: int, table: Table) -> None:
    for name in dict.fromkeys([rule.target, *(base(name) for name in rule.formula.columns)]):
        if name not in table.names:
            there = (
                "is no numeric column" if any(name == other.name for other in table.others) else "is missing"
            )
            raise InvalidData(f"{table.name}: column {name!r}, which rule {number} needs, {there}.")


@dataclass(eq=False)
class _Run:
    """One question on its way: the search, what it said so far, and whether it was stopped."""

    table: Table
    search: Search
    full: Bench
    order: dict[str, int]
    stages: list[str]
    seed: int
    on_relation: OnRelation | None
    progress: Progress | None
    luck: float = 0.0
    interrupted: bool = False
    told: set[frozenset[str]] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        table: Table,
        stages: Sequence[str] | None,
        seed: int,
        targets: Iterable[str] | None,
        on_relation: OnRelation | None,
        progress: Progress | None,
    ) -> _Run:
        names = stage_names(stages)
        lookup = lookup_of(table)
        search = Search.over(table.names, lookup, seed=seed, targets=targets)
        # A table that is searched as a whole is also weighed only once.
        full = search.bench if search.view.rows == table.rows else Bench(lookup, search.bench.places)
        order = {name: at for at, name in enumerate(table.names)}
        return cls(table, search, full, order, names, seed, on_relation, progress)

    def search_all(self) -> None:
        """Run all stages, then the decoys; Ctrl-C ends the search and keeps what was found."""
        try:
            # Too few rows say nothing about any formula, however long the search.
            if self.table.rows < LEAST_ROWS:
                return
            for at, stage in enumerate(self.stages):
                self._tell(stage, at / (len(self.stages) + 1))
                self.search.run(stage)
                if self.on_relation is not None:
                    self._announce(self.on_relation)
            self._tell("decoys", len(self.stages) / (len(self.stages) + 1))
            if self.search.view.width:
                decoys = shuffled_search(self.search, self.stages, seed=self.seed)
                self.luck = expected(decoys)
            self._tell("rows", 1.0)
        except KeyboardInterrupt:
            self.interrupted = True

    def _tell(self, stage: str, share: float) -> None:
        if self.progress is not None:
            self.progress(stage, share)

    def _announce(self, on_relation: OnRelation) -> None:
        """Tell of relations that were not told of before."""
        for one in select(self.search.bench, self.search.findings, self.order):
            if one.finding.columns not in self.told:
                self.told.add(one.finding.columns)
                finding = self._weighed(one.finding)
                on_relation(report.relation(self.table, self.full, finding, self.order))

    def _weighed(self, finding: Finding) -> Finding:
        """The finding on all rows of the table."""
        self.full.tried = self.search.bench.tried
        return self.full.weigh(finding.target, finding.formula, finding.found_by)

    def relations(self) -> tuple[Relation, ...]:
        """What is reported, in the order of computation.

        Ctrl-C in this last step, where the search did not hear it, is answered with what was found all the same:
        the step starts again and knows what it has weighed. A second Ctrl-C ends it.
        """
        try:
            return self._relations()
        except KeyboardInterrupt:
            if self.interrupted:
                raise
            self.interrupted = True
            return self._relations()

    def _relations(self) -> tuple[Relation, ...]:
        chosen = chained(select(self.search.bench, self.search.findings, self.order), self.order)
        kept = [
            Chosen(finding, one.equivalent)
            for one in chosen
            if not (finding := self._weighed(one.finding)).reason
        ]
        return report.relations(self.table, self.full, kept, self.order)

    def rivals(self, target: str) -> list[Finding]:
        """The formulas for one column, the best first, one for each set of columns."""
        found: dict[frozenset[str], Finding] = {}
        for finding in best_first(self._solved(target)):
            if finding.columns not in found and not self.search.bench.needed(finding, self.order):
                weighed = self._weighed(finding)
                if not weighed.reason:
                    found[finding.columns] = weighed
        rivals = list(found.values())
        # Beside 1.19 * net nobody asks for tax / 0.1596639.
        plain = [one for one in rivals if longest_constant(one.formula) <= FITTED_BITS]
        return (plain or rivals)[:MOST_RIVALS]

    def _solved(self, target: str) -> list[Finding]:
        """The findings that name a column, solved for it."""
        found = []
        for finding in self.search.findings:
            if finding.reason or target not in finding.columns:
                continue
            if finding.target == target:
                found.append(finding)
                continue
            for name, formula in directions(finding.target, finding.formula, self.order):
                if name == target:
                    found += self.search.bench.with_constants(name, formula, finding.found_by)
        return [one for one in found if not one.reason]
