"""From findings to relations: each stated once, in the direction a person would write, and none that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from inalu.expression import Column, Expression
from inalu.tabular.derived import Place, base, place
from inalu.tabular.directions import directions
from inalu.tabular.findings import BEYOND, SHARP, SURELY, Bench, Finding, best_first, common_rows, stepwise
from inalu.tabular.fitted import FITTED_BITS, longest_constant
from inalu.tabular.independence import POINTS, Equation, follows, imprecision, remainders
from inalu.tabular.orientation import AGAIN, FROM_THE_LEFT, Way, additive, rank

MOST_EQUIVALENT = 6
# Bits by which a formula must beat a shorter one for the same column to come before it.
MARGIN = 6.0
# One that explains more bits, but in fewer rows than this share, is no rival.
SHARE_OF_ROWS = 0.9
# A rival must hold in so much more of the rows to be named instead of a formula.
LEAST_BETTER = 0.02
# Bits by which an equivalent may be longer than the formula that it is listed with.
MUCH_LONGER = 20.0
# Cells that lie so near to a formula, in half units, are met exactly.
EXACTLY = 0.01
# Breaking rows that show what a formula lacks, and the share of them that it has to explain.
LEAST_LACKING, MOSTLY_LACKING = 3, 0.8
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
    negative = negatives(bench, order)
    groups: dict[frozenset[str], list[Finding]] = {}
    for finding in findings:
        if not finding.reason:
            groups.setdefault(tied(finding.columns), []).append(finding)
    leaders = []
    for members in groups.values():
        best = _direct(bench, members, order, negative)
        if best is not None:
            leaders.append(best)
    leaders = [_completed(bench, one, order) for one in leaders]
    leaders = [one for one in leaders if not any(_repairs(bench, other, one) for other in leaders)]
    chosen: list[Chosen] = []
    for leader in in_order(leaders):
        _place(bench, leader, chosen, order)
    chosen = _independent(bench, chosen)
    for one in chosen:
        turned = _not_taken(bench, one.finding, [other for other in chosen if other is not one], order)
        if turned.target != one.finding.target:
            one.finding, one.equivalent = turned, []
        one.equivalent = [formula for formula in one.equivalent if formula != one.finding.formula]
    return chosen


def _direct(
    bench: Bench,
    members: Sequence[Finding],
    order: Mapping[str, int],
    negative: Mapping[str, bool],
    taken: Mapping[str, float] = MappingProxyType({}),
) -> Finding | None:
    """The best direction of one relation, from all ways in which it was found or can be solved for."""
    options: dict[str, Finding] = {}
    for finding in sorted(members, key=_key)[:6]:
        for target, formula in directions(finding.target, finding.formula, order):
            if target not in order:
                continue
            # A constant that suits one direction may be too coarse for another.
            for weighed in bench.with_constants(target, formula, finding.found_by):
                known = options.get(target)
                if not weighed.reason and (known is None or _key(weighed) < _key(known)):
                    options[target] = weighed
    listed = _agreeing(bench, options, order)
    if not listed:
        return None
    ways = [
        Way(f.target, f.formula, f.exact, f.spread, f.length, bench.target(f.target).unrounded)
        for f in listed
    ]
    ranked = rank(ways, order, negative, lambda name: np.isfinite(bench.lookup(name)[0]), taken)
    best = listed[ranked[0]]
    reason = bench.needed(best, order)
    if reason.startswith(BEYOND):
        # What one column says beyond another is said by the relation, whichever way it is written.
        reason = "" if any(not bench.needed(listed[at], order) for at in ranked[1:]) else reason
    return None if reason else best


def _agreeing(bench: Bench, options: Mapping[str, Finding], order: Mapping[str, int]) -> list[Finding]:
    """The directions of one relation with one constant: the one that is known best.

    Whole deaths are 6.271 times a rate within rounding; the rate, printed in full, is deaths / 6.27082.
    """
    fitted = [one for one in options.values() if longest_constant(one.formula) > FITTED_BITS]
    if not fitted or len(options) < 2:
        return list(options.values())
    finest = max(fitted, key=lambda one: (one.measure.gross, str(one)))
    solved = dict(directions(finest.target, finest.formula, order))
    found = []
    for target, one in options.items():
        if target == finest.target or target not in solved or one.formula == solved[target]:
            found.append(one)
            continue
        same = bench.weigh(target, solved[target], one.found_by)
        if not same.reason and same.measure.share >= one.measure.share - LEAST_BETTER:
            found.append(same)
    return found


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
            and other.measure.holding.sum() >= SHARE_OF_ROWS * one.measure.holding.sum()
            and len(one.columns & other.columns) > len(one.columns) / 2
            and not one.columns < other.columns
        ]
        waits.append((max([at, *beaten_by]), bool(beaten_by), at))
    return [first[at] for *_, at in sorted(waits)]


def tied(names: frozenset[str]) -> frozenset[str]:
    """The columns of a relation, counted in rows from the latest one: a = b[1] ties the same cells as b = a[-1].

    Examples
    --------
    >>> tied(frozenset({"a", "b[1]"})) == tied(frozenset({"b", "a[-1]"}))
    True
    """
    places = [place(name) for name in names]
    latest = max(one.shift for one in places)
    if not latest:
        return names
    return frozenset(_named(one.name, one.shift - latest) for one in places if not one.running)


def _named(name: str, shift: int) -> str:
    return f"{name}[{shift}]" if shift else name


def _completed(bench: Bench, finding: Finding, order: Mapping[str, int]) -> Finding:
    """The finding with the term that its breaking rows lack: a column that is zero in all others.

    total = net holds wherever the tax is zero, and where it breaks it breaks by the tax.
    """
    result = finding.measure
    breaks = result.checked & ~result.holding
    if breaks.sum() < LEAST_LACKING:
        return finding
    for name in order:
        if name == finding.target or name in finding.columns:
            continue
        cells = bench.lookup(name)[0]
        lacking = breaks & (np.abs(cells) > result.tolerance)
        if lacking.sum() < MOSTLY_LACKING * breaks.sum():
            continue
        for sign in (1, -1):
            met = np.abs(result.residual - sign * cells) <= result.tolerance
            if met[breaks].mean() < MOSTLY_LACKING or met[result.holding].mean() < SURELY:
                continue
            term = Expression.column(name)
            longer = bench.weigh(
                finding.target, finding.formula + (term if sign > 0 else -term), finding.found_by
            )
            if not longer.reason:
                return longer
    return finding


def _repairs(bench: Bench, longer: Finding, shorter: Finding) -> bool:
    """Whether a finding is another with an operand more, and holds where the other fails.

    The other may fail only where its operands are taken as printed: wins = 161.5 * share holds within rounding,
    share = wins / (wins + losses) holds exactly.
    """
    if _outdone(shorter, longer):
        return True
    if not shorter.columns < longer.columns:
        return False
    broken = shorter.measure.checked & ~shorter.measure.holding & longer.measure.checked
    if bool(broken.any()) and float(longer.measure.holding[broken].mean()) > 0.5:
        return True
    if (shorter.exact >= SHARP and shorter.target == longer.target) or longer.exact < SHARP:
        return False
    if len(longer.columns) > len(shorter.columns) + 1:
        return False
    for target, formula in directions(shorter.target, shorter.formula, bench.places):
        if target == longer.target:
            rivals = bench.with_constants(target, formula, shorter.found_by)
            best = min(rivals, key=_key)
            return best.exact < SHARP and best.measure.bits < longer.measure.bits - MARGIN
    return False


def _outdone(finding: Finding, other: Finding) -> bool:
    """Whether another formula for the same column, no longer, also holds where this one often fails."""
    if finding.target != other.target or other.length > finding.length + MARGIN:
        return False
    first, second = finding.measure, other.measure
    broken = first.checked & ~first.holding & second.checked
    if second.share < first.share + LEAST_BETTER or not broken.any():
        return False
    return float(second.holding[broken].mean()) > 0.5


def _key(finding: Finding) -> tuple[float, float, str]:
    """The formula that saves most bits first: its own length is paid for in them."""
    return (-round(finding.measure.bits, 3), round(finding.length, 3), str(finding.formula))


def _equation(finding: Finding, copies: Mapping[str, Place]) -> Equation:
    """The relation over the columns behind lagged copies, its cells counted from the latest row as `tied` does."""
    step = stepwise(finding.target, finding.formula)
    if step is not None:
        return Equation(finding.target, step)
    if any(place(name).running for name in finding.columns):
        return Equation(finding.target, finding.formula)
    behind = {name: _behind(place(name), copies) for name in finding.columns}
    latest = max(one.shift for one in behind.values())
    moved = {name: _named(one.name, one.shift - latest) for name, one in behind.items()}
    formula = finding.formula.substitute(
        {old: Expression.column(moved[old]) for old in finding.formula.columns if moved[old] != old}
    )
    return Equation(moved[finding.target], formula)


def _earlier(equations: Sequence[Equation]) -> list[Equation]:
    """What the equations say about the row before; nothing where none of them looks at it."""
    if not any(place(name).shift for each in equations for name in each.columns):
        return [equations[-1]]
    found = []
    for each in equations:
        moved = {
            name: _named(place(name).name, place(name).shift - 1)
            for name in each.columns
            if not place(name).running
        }
        formula = each.formula.substitute({old: Expression.column(new) for old, new in moved.items()})
        found.append(Equation(moved.get(each.target, each.target), formula))
    return found


def _behind(where: Place, copies: Mapping[str, Place]) -> Place:
    while where.name in copies:
        source = copies[where.name]
        where = Place(source.name, source.shift + where.shift)
    return where


def _copies(chosen: Sequence[Chosen]) -> dict[str, Place]:
    """The columns that are others, some rows away, and which."""
    found: dict[str, Place] = {}
    for one in chosen:
        formula = one.finding.formula
        if isinstance(formula, Column) and not place(formula.name).running:
            source = _behind(place(formula.name), found)
            if source.name != one.finding.target:
                found[one.finding.target] = source
    return found


def _place(bench: Bench, finding: Finding, chosen: list[Chosen], order: Mapping[str, int]) -> None:
    """Add a finding unless it follows from those already chosen; then it is an equivalent at most."""
    copies = _copies(chosen)
    equation = _equation(finding, copies)
    # The copies themselves are seen through by now.
    accepted = [
        one for one in (_equation(each.finding, copies) for each in chosen) if str(one.formula) != one.target
    ]
    accepted += _earlier([*accepted, equation])[:-1]
    names = {name for each in [*accepted, equation] for name in each.columns}
    # A column that is computed from its own copy is told of by the copy.
    known = equation.target in equation.formula.columns
    if known or (accepted and follows(equation, accepted, common_rows(names, bench.lookup, POINTS))):
        _also(finding, chosen)
        return
    rests = remainders(equation, accepted)
    # The same but for a constant is the accepted relation once more, less exactly.
    if any(set(rest.columns) == set(each.columns) for rest in rests for each in accepted):
        return
    if any(_empty(bench, rest, order, finding.found_by) for rest in rests):
        return
    shorter = _shorter(bench, finding, rests, order)
    vague = finding.exact < SHARP or finding.spread > EXACTLY
    if shorter is None and vague and any(len(rest.columns) == 2 < len(finding.columns) for rest in rests):
        # An accepted relation and something that is no relation: together they hold by rounding only.
        return
    if shorter is None:
        chosen.append(Chosen(finding))
    elif not any(_repairs(bench, one.finding, shorter) for one in chosen):
        _place(bench, shorter, chosen, order)


def _independent(bench: Bench, chosen: list[Chosen]) -> list[Chosen]:
    """Without those that follow from the others, the longest looked at first.

    What came early may follow from what came later.
    """
    left = list(chosen)
    for one in reversed(in_order([each.finding for each in chosen])):
        others = [each for each in left if each.finding is not one]
        copies = _copies(others)
        equations = [_equation(each.finding, copies) for each in others]
        equation = _equation(one, copies)
        if not equations or str(equation.formula) == equation.target:
            continue
        names = {name for each in [*equations, equation] for name in each.columns}
        if follows(equation, equations, common_rows(names, bench.lookup, POINTS)):
            left = others
            _also(one, left)
    return left


def _also(finding: Finding, chosen: Sequence[Chosen]) -> None:
    """Say a formula that follows as another way to write its target's own, where it is as sure and as simple."""
    for one in chosen:
        if one.finding.target == finding.target and len(one.equivalent) < MOST_EQUIVALENT:
            asked = finding.measure.checked & one.finding.measure.checked
            as_sure = not (one.finding.measure.holding & ~finding.measure.holding & asked).any()
            short = finding.length <= one.finding.length + MUCH_LONGER
            if as_sure and short and imprecision(finding.formula) == imprecision(one.finding.formula):
                one.equivalent.append(finding.formula)
            return


def _not_taken(bench: Bench, finding: Finding, chosen: Sequence[Chosen], order: Mapping[str, int]) -> Finding:
    """The direction that a person would write when some columns have their formulas already."""
    taken: dict[str, float] = {}
    for one in chosen:
        target, operands = one.finding.target, one.finding.formula.columns
        left = additive(one.finding.formula) and all(order[base(n)] < order[target] for n in operands)
        taken[target] = max(taken.get(target, 0.0), FROM_THE_LEFT if left else AGAIN)
    if finding.target not in taken:
        return finding
    return _direct(bench, [finding], order, negatives(bench, order), taken) or finding


def _empty(bench: Bench, rest: Equation, order: Mapping[str, int], found_by: str) -> bool:
    """Whether what is left of a relation without an accepted one says nothing.

    total = a + b + c with a column that goes along with the others gives total = 1.1 * a + 0.9 * b + c within
    rounding. The accepted relation taken from it leaves 0 = 0.1 * a - 0.1 * b, which fixes no column.
    """
    sides = directions(rest.target, rest.formula, order, derived=True)
    weighed = [one for target, formula in sides for one in bench.with_constants(target, formula, found_by)]
    return all(one.measure.bits < LEAST_REST for one in weighed)


def _shorter(
    bench: Bench, finding: Finding, rests: Sequence[Equation], order: Mapping[str, int]
) -> Finding | None:
    """The relation without an accepted one, where that is a relation of its own, and shorter."""
    negative = negatives(bench, order)
    found = []
    for rest in rests:
        if len(rest.columns) < len(finding.columns):
            weighed = [
                one
                for target, formula in directions(rest.target, rest.formula, order, derived=True)
                if target in order
                for one in bench.with_constants(target, formula, finding.found_by)
            ]
            best = _direct(bench, [one for one in weighed if not one.reason], order, negative)
            if best is not None and best.length < finding.length - MARGIN:
                found.append(best)
    return min(found, key=lambda one: (one.length, str(one)), default=None)


def negatives(bench: Bench, order: Mapping[str, int]) -> dict[str, bool]:
    """Whether a column has negative cells."""
    return {name: bool((bench.lookup(name)[0] < 0).any()) for name in order}


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
