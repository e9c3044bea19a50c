"""From findings to relations: each stated once, in the direction a person would write, and none that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inalu.expression import Expression
from inalu.tabular.derived import base
from inalu.tabular.directions import directions
from inalu.tabular.findings import Bench, Finding, best_first, common_rows
from inalu.tabular.independence import POINTS, Equation, follows, remainders
from inalu.tabular.orientation import rank

MOST_EQUIVALENT = 6
# Bits by which a formula must beat a shorter one for the same column to come before it.
MARGIN = 6.0
# Bits that a relation must save once the accepted ones are taken from it.
LEAST_REST = 0.0


@dataclass(eq=False)
class Chosen:
    """A finding that is reported, and formulas for the same target that follow from what is reported."""

    finding: Finding
    equivalent: list[Expression] = field(default_factory=list)


def select(bench: Bench, findings: Sequence[Finding], order: Mapping[str, int]) -> list[Chosen]:
    """Choose what to report: minimal, independent findings, each in its best direction.

    Parameters
    ----------
    bench : Bench
        Where directions are weighed.
    findings : sequence of Finding
        All candidates that were weighed; those with an objection are left out.
    order : mapping
        The place of each column in the table.
    """
    negative = {name: bool((bench.lookup(name)[0] < 0).any()) for name in order}
    groups: dict[frozenset[str], list[Finding]] = {}
    for finding in findings:
        if not finding.reason:
            groups.setdefault(finding.columns, []).append(finding)
    leaders = []
    for members in groups.values():
        best = _direct(bench, members, order, negative)
        if best is not None:
            leaders.append(best)
    leaders = [one for one in leaders if not any(_repairs(other, one) for other in leaders)]
    chosen: list[Chosen] = []
    for leader in in_order(leaders):
        _place(bench, leader, chosen, order)
    return chosen


def _direct(
    bench: Bench, members: Sequence[Finding], order: Mapping[str, int], negative: Mapping[str, bool]
) -> Finding | None:
    """The best direction of one relation, from all ways in which it was found or can be solved for."""
    options: dict[str, Finding] = {}
    for finding in sorted(members, key=lambda f: (f.length, -f.measure.bits, str(f)))[:6]:
        for target, formula in directions(finding.target, finding.formula, order):
            if target not in order:
                continue
            weighed = bench.weigh(target, formula, finding.found_by)
            known = options.get(target)
            if not weighed.reason and (known is None or _key(weighed) < _key(known)):
                options[target] = weighed
    listed = list(options.values())
    if not listed:
        return None
    ranked = rank([(f.target, f.formula, f.exact, f.length) for f in listed], order, negative)
    for place in ranked:
        if not bench.needed(listed[place], order):
            return listed[place]
        return None
    return None


def in_order(leaders: Sequence[Finding]) -> list[Finding]:
    """Short formulas first, but a rival for the same column that explains more bits before one that it beats."""
    first = best_first(leaders)
    waits = []
    for at, one in enumerate(first):
        beaten_by = [
            place
            for place, other in enumerate(first)
            if other.target == one.target
            and other.measure.bits > one.measure.bits + MARGIN
            and len(one.columns & other.columns) > len(one.columns) / 2
        ]
        waits.append((max([at, *beaten_by]), bool(beaten_by), at))
    return [first[at] for *_, at in sorted(waits)]


def _repairs(longer: Finding, shorter: Finding) -> bool:
    """Whether one finding is another with an operand more, and holds where the other fails."""
    if not shorter.columns < longer.columns:
        return False
    broken = shorter.measure.checked & ~shorter.measure.holding & longer.measure.checked
    return bool(broken.any()) and float(longer.measure.holding[broken].mean()) > 0.5


def _key(finding: Finding) -> tuple[float, float, str]:
    return (round(finding.length, 3), -round(finding.measure.bits, 3), str(finding.formula))


def _place(bench: Bench, finding: Finding, chosen: list[Chosen], order: Mapping[str, int]) -> None:
    """Add a finding unless it follows from those already chosen; then it is an equivalent at most."""
    equation = Equation(finding.target, finding.formula)
    accepted = [Equation(one.finding.target, one.finding.formula) for one in chosen]
    names = {name for each in [*accepted, equation] for name in each.columns}
    rows = common_rows(names, bench.lookup, POINTS) if accepted else None
    if rows is None and accepted:
        # Columns that are never filled together: look only at those that matter to the new relation.
        near = {
            name for each in accepted if set(each.columns) & set(equation.columns) for name in each.columns
        }
        accepted = [each for each in accepted if set(each.columns) <= near | set(equation.columns)]
        rows = common_rows(near | set(equation.columns), bench.lookup, POINTS) if accepted else None
    if rows is not None and follows(equation, accepted, dict(rows)):
        for one in chosen:
            if one.finding.target == finding.target and len(one.equivalent) < MOST_EQUIVALENT:
                one.equivalent.append(finding.formula)
                break
    elif not _echo(bench, equation, accepted, order):
        chosen.append(Chosen(finding))


def _echo(bench: Bench, new: Equation, accepted: Sequence[Equation], order: Mapping[str, int]) -> bool:
    """Whether a relation is an accepted one again, bent a little: what is left without it says nothing.

    total = a + b + c with a column that goes along with the others gives total = 1.1 * a + 0.9 * b + c within
    rounding. The accepted relation taken from it leaves 0 = 0.1 * a - 0.1 * b, which fixes no column.
    """
    for rest in remainders(new, accepted):
        sides = directions(rest.target, rest.formula, order, derived=True)
        if all(bench.weigh(target, formula, "echo").measure.bits < LEAST_REST for target, formula in sides):
            return True
    return False


def chained(chosen: Sequence[Chosen], order: Mapping[str, int]) -> list[Chosen]:
    """Relations in the order in which a person would compute them: what uses other results comes after them."""
    left = sorted(chosen, key=lambda one: (order[one.finding.target], str(one.finding)))
    done: list[Chosen] = []
    while left:
        waiting = {one.finding.target for one in left}
        ready = [
            one
            for one in left
            if not any(
                base(name) in waiting and base(name) != one.finding.target
                for name in one.finding.formula.columns
            )
        ]
        # In a circle (each of two columns computed from the other) the first in the table goes first.
        step = ready[:1] or left[:1]
        done += step
        left = [one for one in left if one is not step[0]]
    return done
