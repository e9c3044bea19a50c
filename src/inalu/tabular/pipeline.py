"""The stages one after the other on one table: propose, weigh, and leave alone what is explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from inalu.errors import check_choice
from inalu.expression import Expression
from inalu.tabular import evidence, forms
from inalu.tabular.derived import Lookup
from inalu.tabular.findings import Bench, Finding
from inalu.tabular.fitted import distinct
from inalu.tabular.search import (
    linear,
    networks,
    pairs,
    products,
    quotients,
    ranges,
    ratios,
    sequence,
    triples,
)
from inalu.tabular.search.view import Candidate, Stage, View

# In the order in which they run. Each stage may be several searches.
STAGES: dict[str, tuple[Stage, ...]] = {
    "pairs": (pairs.pairs,),
    "sums": (linear.sums,),
    "ranges": (ranges.ranges,),
    "products": (products.products,),
    "robust": (linear.robust_sums, products.robust_products, ratios.robust_ratios),
    "ratios": (ratios.ratios, ratios.shares, quotients.quotients),
    "triples": (triples.triples,),
    "sequences": (sequence.neighbours, sequence.balances, sequence.sums_so_far),
    "networks": (networks.networks,),
}
# Run only when they are named: what they find that no other stage does is not worth their time (docs/tables.md).
ON_REQUEST = frozenset({"networks"})
# Searched for all columns; the others only for columns that nothing explains yet.
FOR_ALL: frozenset[Stage] = frozenset({pairs.pairs, linear.sums, ranges.ranges, sequence.neighbours})
# A column with a formula that holds in this share of rows needs no further search.
EXPLAINED = 0.97
# The share of rows in which a formula with constants has to hold with its operands as printed.
SURELY_EXACT = 0.9
# Larger tables are searched on some of their rows; every finding is then verified on all of them.
SEARCHED_ROWS = 6000

Tick = Callable[[str, float], None]


def stage_names(stages: Sequence[str] | None) -> list[str]:
    """The stages to run, in their order; by default all but those on request.

    Raises
    ------
    InvalidArgument
        When there is no stage of that name.
    """
    if stages is None:
        return [name for name in STAGES if name not in ON_REQUEST]
    for name in stages:
        check_choice("stages", name, STAGES)
    return [name for name in STAGES if name in set(stages)]


@dataclass(eq=False)
class Search:
    """One search: the columns, the bench on which candidates are weighed, and what was found.

    Attributes
    ----------
    view : View
        The columns as matrices, in the table's order of rows.
    bench : Bench
        Where candidates are weighed.
    targets : list of int
        The columns for which formulas are wanted.
    findings : list of Finding
        Everything that was weighed, with the objections to it.
    """

    view: View
    bench: Bench
    targets: list[int]
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def over(
        cls, names: Sequence[str], lookup: Lookup, *, seed: int, targets: Iterable[str] | None = None
    ) -> Search:
        """A search over named columns; over a sample of their rows when there are many."""
        values = np.column_stack([lookup(name)[0] for name in names]) if names else np.empty((0, 0))
        halves = np.column_stack([lookup(name)[1] for name in names]) if names else np.empty((0, 0))
        if len(values) > SEARCHED_ROWS:
            rows = sampled_rows(len(values), seed)
            values, halves = values[rows], halves[rows]
            lookup = Lookup({name: (values[:, at], halves[:, at]) for at, name in enumerate(names)})
        view = View(tuple(names), values, halves, seed)
        wanted = set(names if targets is None else targets)
        chosen = [at for at, name in enumerate(names) if name in wanted]
        return cls(view, Bench(lookup, {name: at for at, name in enumerate(names)}), chosen)

    def run(self, stage: str) -> None:
        """Run one stage and weigh what it proposes."""
        done = self.explained()
        left = [at for at in self.targets if self.view.names[at] not in done]
        candidates: list[Candidate] = []
        for search in STAGES[stage]:
            found = search(self.view, self.targets if search in FOR_ALL else left)
            candidates += found.candidates
            self.bench.tried += found.tried
        known = self.known()
        for candidate in dict.fromkeys(map(tidy, candidates)):
            if _empty(candidate.formula):
                continue
            columns = frozenset((candidate.target, *candidate.formula.columns))
            length = evidence.formula_bits(candidate.formula, self.bench.places)
            # What is known in fewer columns and fewer bits needs no longer formula.
            if any(smaller < columns and bits <= length for smaller, bits in known):
                continue
            if self.bench.glance(candidate.target, candidate.formula):
                self.findings.append(self.bench.weigh(candidate.target, candidate.formula, stage))

    def explained(self) -> set[str]:
        """The columns that a sure formula gives in nearly all rows."""
        return {
            finding.target
            for finding in self.findings
            if sure(finding) and finding.measure.share >= EXPLAINED
        }

    def known(self) -> list[tuple[frozenset[str], float]]:
        """The sets of columns that a sure formula ties together in all rows, with the formula's length."""
        return [
            (finding.columns, finding.length)
            for finding in self.findings
            if sure(finding) and bool(finding.measure.holding[finding.measure.checked].all())
        ]


def sure(finding: Finding) -> bool:
    """Whether a credible formula needs no better one.

    A formula with a fitted constant that holds only because the operands may be rounded may be near the
    truth only: the search goes on.
    """
    return not finding.reason and (finding.exact >= SURELY_EXACT or not distinct(finding.formula))


def tidy(candidate: Candidate) -> Candidate:
    """The candidate without columns that cancel in its formula."""
    candidate = replace(candidate, formula=forms.upright(candidate.formula))
    form = forms.linear(candidate.formula) or forms.monomial(candidate.formula)
    if form is None or set(form.columns) == set(candidate.formula.columns) or not form.columns:
        return candidate
    return replace(candidate, formula=form.expression())


def _empty(formula: Expression) -> bool:
    """Whether no column is left of a formula: x / x is one where x is not zero."""
    return len(formula.columns) < 2 and not formula.simplify().columns


def sampled_rows(rows: int, seed: int) -> NDArray[np.intp]:
    """Blocks of neighbouring rows, spread over the table: formulas may look at the row before."""
    block = 50
    count = SEARCHED_ROWS // block
    starts = np.sort(
        np.random.default_rng([seed, rows]).choice(
            rows // block, size=min(count, rows // block), replace=False
        )
    )
    return (starts[:, None] * block + np.arange(block)).ravel().astype(np.intp)
