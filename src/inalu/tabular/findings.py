"""From candidates to findings: weigh each one, drop operands that it does not need, and refuse what luck explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inalu.expression import Column, Constant, Expression, Product, Sum
from inalu.tabular import constants, evidence
from inalu.tabular.bounds import predict
from inalu.tabular.derived import Lookup, Place, base, place
from inalu.tabular.directions import directions
from inalu.tabular.evidence import Measure, Target
from inalu.tabular.fitted import regression
from inalu.tabular.forms import Linear, Monomial, factored, linear, monomial
from inalu.tabular.orientation import exact_share, spread, takes_root
from inalu.tabular.search.pairs import fit_constants

# A formula that gives up an operand must lose this many bits, or the operand was not needed.
LEAST_LOSS = 6.0
# With the operands' rows shuffled, so much of the share that holds must be gone.
MOST_SHUFFLED = 0.5
# Solved for any of its operands a formula must still save this many bits.
LEAST_BACKWARDS = 12.0
# The share of rows in which a sharp formula holds with its operands as printed.
SHARP = 0.9
# The bits by which a formula that is not sharp counts as longer.
INEXACT_BITS = 10.0
# Columns beyond three count for so many bits, also where they stand side by side.
WIDE_BITS = 1.5
# A root is written seldom enough to be asked for this share of the rows.
NEARLY_ALL = 0.995
BEYOND = "it says too little beyond"
NEAR = "it is near the values without being their formula"
# An operand is near the target when it differs by this share of its size, in the middle.
MOST_APART = 0.5
# The share of rows in which a column has to be another one: less is a habit, and no formula.
SURELY = 0.97
# A formula that holds in a smaller share of rows needs this many bits.
BROKEN, BROKEN_BITS = 0.9, 20.0
# A column is nearly always the same when this share of its rows is.
MOSTLY_ONE = 0.9
# Two columns are nearly the same when this share of their rows is.
MOST_ALIKE = 0.7
# Rows that are looked at first, and how many of them must be filled for the look to count.
GLANCE, LEAST_GLANCE = 300, 40


@dataclass(frozen=True, eq=False)
class Finding:
    """A candidate that was weighed."""

    target: str
    formula: Expression
    found_by: str
    measure: Measure
    exact: float
    spread: float
    length: float
    reason: str = ""

    @property
    def columns(self) -> frozenset[str]:
        """Target and operands, as the formula names them."""
        return frozenset((self.target, *self.formula.columns))

    def __str__(self) -> str:
        return f"{self.target} = {self.formula}"


@dataclass(eq=False)
class Bench:
    """Where candidates are weighed: the cells by name, prepared targets, and how many candidates were looked at.

    Attributes
    ----------
    lookup : Lookup
        Cells by name.
    places : mapping
        The columns that formulas choose from, and where they stand in the table.
    tried : float
        Candidates looked at so far; each audit counts its own.
    """

    lookup: Lookup
    places: Mapping[str, int]
    tried: float = 1.0
    _targets: dict[str, Target] = field(default_factory=dict)
    _weighed: dict[tuple[str, Expression, str | None], Finding] = field(default_factory=dict)

    def target(self, name: str) -> Target:
        """A prepared target column."""
        if name not in self._targets:
            self._targets[name] = Target.of(*self.lookup(name))
        return self._targets[name]

    def glance(self, target: str, formula: Expression) -> bool:
        """Whether a formula holds on half of a few rows, so that weighing it on all of them is worth the time."""
        values, halves = self.lookup(target)
        rows = self._rows(len(values))
        cells = {name: self.lookup(name) for name in formula.columns}
        part = Lookup(
            {name: (pair[0][rows], pair[1][rows]) for name, pair in cells.items()},
            {name: self.lookup.whole(name) for name in cells},
        )
        prediction = predict(formula, part)
        difference = np.abs(values[rows] - prediction.value)
        asked = np.isfinite(difference)
        if asked.sum() < LEAST_GLANCE:
            return True
        allowed = halves[rows] * (1 + 1e-9) + prediction.radius + prediction.noise
        return bool((difference <= allowed)[asked].mean() >= 0.5)

    def _rows(self, count: int) -> NDArray[np.intp]:
        """Rows to glance at: some, or all where they are few."""
        if count <= GLANCE:
            return np.arange(count)
        return np.linspace(0, count - 1, GLANCE).round().astype(np.intp)

    def weigh(
        self, target: str, formula: Expression, found_by: str, *, rounded: str | None = None
    ) -> Finding:
        """Measure a formula on all rows and say what, if anything, speaks against it."""
        if rounded is None:
            rounded = self._reading(target, formula)
        key = (target, formula, rounded)
        if key not in self._weighed:
            finding = self._weigh(target, formula, found_by, rounded)
            if finding.reason and finding.measure.rounded != "all" and rounded is None:
                # What breaks by a hair with exact operands may hold throughout with rounded ones.
                wider = self._weigh(target, formula, found_by, "all")
                finding = finding if wider.reason else wider
            self._weighed[key] = finding
        return self._weighed[key]

    def _reading(self, target: str, formula: Expression) -> str | None:
        """How the operands have to be read, where not all readings make sense."""
        # Two roundings of one number agree.
        if copy(formula):
            return "none"
        form = linear(formula)
        # Whole numbers may be rounded parts of a rounded total; weighed ones that need that are near only.
        weighed = evidence.constant_bits(formula) > evidence.SIMPLE_BITS
        if form is not None and any(abs(weight) != 1 for weight in form.weights.values()):
            weighed |= len({abs(weight) for weight in form.weights.values()}) > 1 or len(form.weights) == 1
        if weighed and all(self.lookup.whole(name) for name in (target, *formula.columns)):
            return "fractions"
        return None

    def _weigh(self, target: str, formula: Expression, found_by: str, rounded: str | None) -> Finding:
        prepared = self.target(target)
        result = evidence.measure(
            prepared, formula, self.lookup, places=self.places, tried=self.tried, rounded=rounded
        )
        asked = result.checked & ~result.trivial
        good = asked & result.holding
        exact = exact_share(result.residual, prepared.halves, result.prediction.noise, good)
        apart = spread(
            np.maximum(np.abs(result.residual) - result.prediction.noise, 0), prepared.halves, good
        )
        length = evidence.formula_bits(formula, self.places)
        return Finding(
            target, formula, found_by, result, exact, apart, length, self._objection(target, result, formula)
        )

    def _objection(self, target: str, result: Measure, formula: Expression) -> str:
        """The first test that fails, in words; empty where all pass."""
        if result.rows_nontrivial < evidence.LEAST_ROWS:
            return "too few rows say anything about it"
        if result.share < evidence.LEAST_SHARE or result.share_nontrivial < evidence.LEAST_SHARE:
            return "too many rows break it"
        if result.bits < evidence.THRESHOLD:
            return "luck explains it as well"
        if result.gross < evidence.LEAST_BITS_PER_ROW * result.rows_nontrivial * result.weight:
            return "it allows almost any value"
        if evidence.approximate(result) or evidence.continuous(result):
            return NEAR
        if evidence.loose(result, self.target(target)):
            return NEAR
        if evidence.structured(result, formula, self.target(target)) or evidence.biased(
            result, most=evidence.MOST_CUT if self._code(target, formula) else evidence.MOST_ONE_SIDED
        ):
            return NEAR
        if result.share < NEARLY_ALL and takes_root(formula):
            return NEAR
        form = linear(formula)
        if (
            form is not None
            and form.constant
            and abs(form.constant) < np.median(result.tolerance[result.checked])
        ):
            return "rounding hides its constant term"
        if form is None and self.target(target).numbered:
            return "rows that are numbered are not computed"
        if self._regression(result, formula):
            return "its constants are fitted, and as long as the rows allow"
        if result.share < BROKEN and result.bits < BROKEN_BITS:
            return "luck explains it as well"
        habit = copy(formula) or self.target(target).few
        if (result.share < SURELY and habit) or self._cancels(result, formula):
            return "the columns agree often, but not as a rule"
        return ""

    def _code(self, target: str, formula: Expression) -> bool:
        """Whether a formula makes a whole number of one other, a part of it or a multiple."""
        form = linear(formula)
        if (
            form is None
            or len(form.weights) != 1
            or all(abs(weight) == 1 for weight in form.weights.values())
        ):
            return False
        return all(self.lookup.whole(name) for name in (target, *form.weights))

    def _cancels(self, result: Measure, formula: Expression) -> bool:
        """Whether a column is taken from one that mostly holds the same, or divides it: what is left is a habit."""
        form, product = linear(formula), monomial(formula)
        signs = form.weights if form is not None else product.exponents if product is not None else {}
        if result.share >= 1:
            return False
        cells = {name: self.lookup(name)[0][result.checked] for name in signs}
        for plus in (name for name, sign in signs.items() if sign > 0):
            for minus in (name for name, sign in signs.items() if sign < 0):
                told = (cells[plus] != 0) | (cells[minus] != 0)
                if told.any() and (cells[plus] == cells[minus])[told].mean() > MOST_ALIKE:
                    return True
        return False

    def _regression(self, result: Measure, formula: Expression) -> bool:
        rows = np.flatnonzero(result.holding & ~result.trivial)
        cells = {name: self.lookup(name)[0][rows] for name in formula.columns}
        row_bits = result.gross / max(result.weight * result.rows_nontrivial, 1.0)
        broken = result.share < SURELY
        return regression(formula, cells, result.tolerance[rows], row_bits, broken=broken)

    def with_constants(self, target: str, formula: Expression, found_by: str) -> list[Finding]:
        """A formula weighed as it is, and with the constant factors that suit its rows better."""
        found = [self.weigh(target, formula, found_by)]
        factor, rest = factored(formula)
        if factor != 1:
            found += [self.weigh(target, other, found_by) for other in self._refitted(found[0], rest)]
        plainer = self._plainer(found[0])
        if plainer is None:
            return found
        simple = self.weigh(target, plainer, found_by)
        # As many rows with simpler numbers: nobody would have typed the others.
        as_many = simple.measure.holding.sum() >= found[0].measure.holding.sum()
        return [simple] if as_many and not simple.reason else [*found, simple]

    def _plainer(self, finding: Finding) -> Expression | None:
        """A weighted sum with each weight and the constant term as simple as the others and the rows allow."""
        form, result = linear(finding.formula), finding.measure
        if (
            form is None
            or max(map(constants.bits, (*form.weights.values(), form.constant))) <= evidence.PLAIN_BITS
        ):
            return None
        rows = result.holding
        cells = {name: self.lookup(name)[0][rows] for name in form.weights} | {"": np.ones(int(rows.sum()))}
        weights = {**form.weights, "": form.constant}
        left, tolerance = result.residual[rows].copy(), result.tolerance[rows]
        for name in sorted(weights, key=lambda one: -constants.bits(weights[one])):
            if constants.bits(weights[name]) <= evidence.PLAIN_BITS:
                continue
            x, told = cells[name], cells[name] != 0
            middle = float(weights[name]) + left[told] / x[told]
            room = tolerance[told] / np.abs(x[told])
            simple = constants.choose(middle - room, middle + room)
            if simple and constants.bits(simple) < constants.bits(weights[name]):
                left = left - float(simple - weights[name]) * x
                weights[name] = simple
        plain = Linear({name: weight for name, weight in weights.items() if name}, weights[""])
        return None if plain == form else plain.expression()

    def needed(self, finding: Finding, order: Mapping[str, int]) -> str:
        """What speaks against a formula as a whole: luck in shuffled rows, or an operand that it can do without."""
        step = stepwise(finding.target, finding.formula)
        if step is not None and self.weigh(finding.target, step, finding.found_by).reason:
            return "it does not hold from one row to the next"
        if not self._changes(finding.target, step or finding.formula):
            return "it says too little about the change from row to row"
        if (near := self._tells_apart(finding)) is not None:
            return f"{BEYOND} {near}"
        if self.shuffled(finding) > MOST_SHUFFLED * finding.measure.share_nontrivial:
            return "shuffled rows fit almost as well"
        for name in finding.formula.columns:
            for simpler in without(finding.formula, name):
                scaled = [] if isinstance(simpler, Sum) else self._refitted(finding, simpler)
                for option in [simpler, *scaled]:
                    if finding.target in option.columns:
                        continue
                    other = self.weigh(finding.target, option, finding.found_by)
                    if _worth(other, finding) > finding.measure.bits - LEAST_LOSS:
                        return f"it holds as well without {name}"
            if self._as_a_number(finding, name):
                return f"it holds as well with a number in place of {name}"
        return self._backwards(finding, order)

    def _as_a_number(self, finding: Finding, name: str) -> bool:
        """Whether an operand that is nearly always the same could be that number: a code of one, a fee."""
        cells = self.lookup(name)[0][finding.measure.checked]
        seen, counts = np.unique(cells, return_counts=True)
        if len(seen) < 2 or counts.max() < MOSTLY_ONE * len(cells) or not seen[counts.argmax()]:
            return False
        usual = Fraction(repr(float(seen[counts.argmax()])))
        simpler = finding.formula.substitute({name: Expression.constant(usual)}).simplify()
        if not simpler.columns or finding.target in simpler.columns:
            return False
        other = self.weigh(finding.target, simpler, finding.found_by).measure
        return bool(other.gross > finding.measure.gross - LEAST_LOSS)

    def _changes(self, target: str, formula: Expression) -> bool:
        """Whether a formula that starts from the row before explains the change, and not only the slow growth.

        A counter agrees with its own row before plus anything small.
        """
        form = linear(formula)
        own = next((name for name in formula.columns if base(name) == target), None)
        if form is None or own is None or form.weights.get(own) != 1:
            return True
        rest = {name: weight for name, weight in form.weights.items() if name != own}
        if not rest:
            return False
        (now, half), (before, half_before) = self.lookup(target), self.lookup(own)
        change = Target.of(now - before, half + half_before)
        result = evidence.measure(
            change,
            Linear(rest, form.constant).expression(),
            self.lookup,
            places=self.places,
            tried=self.tried,
        )
        return not self._objection(target, result, formula)

    def _tells_apart(self, finding: Finding) -> str | None:
        """The operand that is so near the target that the others say nothing beyond it; None where there is none.

        In a table of years each year is near the one before, and near the mean of its neighbours. What a formula
        says is evidence only as far as it tells the target from the operand that is nearest to it: that has to save
        the bits of the formula once more.
        """
        result, target = finding.measure, self.target(finding.target)
        # Another column as it is, a row away or summed says nothing beyond itself, and is judged by other means.
        form = linear(finding.formula)
        if form is not None and [abs(weight) for weight in form.weights.values()] == [1]:
            return None
        for name in finding.formula.columns:
            near, half = self.lookup(name)
            # Operands that are far from the target tell nothing of its last digits.
            apart = target.values - near
            usual = np.median(np.abs(target.values[result.checked]))
            if base(name) == finding.target or np.median(np.abs(apart[result.checked])) > MOST_APART * usual:
                continue
            beyond = Target.of(apart, target.halves + (0 if result.rounded == "none" else half))
            if result.gross - self._saved_less(result, beyond, near) < finding.length:
                return name
        return None

    def _saved_less(self, result: Measure, beyond: Target, near: NDArray[np.float64]) -> float:
        """The bits that rows save less when one operand is known to be near the target."""
        rows = result.checked
        known = beyond.chance(result.prediction.value[rows] - near[rows], result.tolerance[rows])
        blind = result.chance[rows]
        lost = np.where(result.holding[rows], np.log2(np.maximum(known, blind) / blind), 0.0)
        return float(result.weight * lost.sum())

    def _backwards(self, finding: Finding, order: Mapping[str, int]) -> str:
        """Whether every operand could be computed back from the others.

        A formula that is only near the truth uses some columns to correct small errors. Solved for such a
        column it allows nearly any value.
        """
        form = linear(finding.formula)
        if form is not None and all(abs(weight) == 1 for weight in form.weights.values()):
            # A part of a total may be nearly nothing; no weight was fitted to it.
            return ""
        product = monomial(finding.formula)
        for name, formula in directions(finding.target, finding.formula, order, derived=True):
            if name == finding.target:
                continue
            # A square says nothing about the sign.
            if product is not None and product.exponents.get(name, 1) % 2 == 0 and self._two_signs(name):
                continue
            if not self._told(name, formula, finding.found_by):
                return f"it says too little about {name}"
        return ""

    def _told(self, name: str, formula: Expression, found_by: str) -> bool:
        """Whether a formula solved for an operand fixes it; the column that was computed is rounded there."""
        for reading in (None, "all"):
            result = self.weigh(name, formula, found_by, rounded=reading).measure
            if result.gross >= LEAST_BACKWARDS and result.share_nontrivial >= evidence.LEAST_SHARE:
                return True
        return False

    def _two_signs(self, name: str) -> bool:
        values = self.lookup(name)[0]
        return bool((values < 0).any() and (values > 0).any())

    def _refitted(self, finding: Finding, simpler: Expression) -> list[Expression]:
        """The simpler formula times the constants that suit it best."""
        values, halves = self.lookup(finding.target)
        prediction = predict(simpler, self.lookup)
        found = fit_constants(prediction.value, prediction.radius, values, halves, finding.measure.holding)
        return [Expression.constant(constant) * simpler for constant in found if constant not in (0, 1)]

    def shuffled(self, finding: Finding, *, seed: int = 0) -> float:
        """The share of non-trivial rows that hold once the operands' rows are shuffled."""
        result, target = finding.measure, self.target(finding.target)
        rows = np.flatnonzero(result.checked)
        asked = ~result.trivial[rows]
        if not asked.any():
            return 1.0
        order = np.random.default_rng([seed, len(rows)]).permutation(len(rows))
        predicted = result.prediction
        difference = np.abs(target.values[rows] - predicted.value[rows][order])
        allowed = target.halves[rows] + (result.tolerance - target.halves)[rows][order]
        return float((difference <= allowed)[asked].mean())


def copy(formula: Expression) -> bool:
    """Whether a formula is another column of the same row, as it is or shifted by a number.

    Examples
    --------
    >>> [copy(Expression.parse(text)) for text in ("a", "a + 1", "2 * a", "`a[-1]`")]
    [True, True, False, False]
    """
    form = linear(formula)
    if form is None or len(form.weights) != 1:
        return False
    name, weight = next(iter(form.weights.items()))
    return abs(weight) == 1 and place(name) == Place(name)


def _worth(shorter: Finding, longer: Finding) -> float:
    """The bits of a shorter formula if its rows counted for as much as those of the longer one.

    Few different cells in one column say little, and no more when a copy of the column stands beside it.
    """
    own = shorter.measure
    return max(own.bits, own.gross * longer.measure.weight / max(own.weight, 1e-12) - (own.gross - own.bits))


def stepwise(target: str, formula: Expression) -> Expression | None:
    """What a running sum says about one row and the row before; None where a formula has no running sum.

    A column that grows slowly agrees with many running sums, because all of them grow; only the true one grows
    by the right amount in every row.

    Examples
    --------
    >>> print(stepwise("total", Expression.parse("2 * `cumsum(paid)`")))
    `total[-1]` + 2 * paid
    """
    form = linear(formula)
    if form is None or not all(place(name).running for name in form.columns):
        return None
    steps = Linear({base(name): weight for name, weight in form.weights.items()})
    return Expression.column(f"{target}[-1]") + steps.expression()


def without(formula: Expression, name: str) -> list[Expression]:
    """The formulas that are left when a column goes: as a term or as a factor.

    Examples
    --------
    >>> [str(simpler) for simpler in without(Expression.parse("a + b * c"), "c")]
    ['a', 'a + b']
    """
    sum_form, product_form = linear(formula), monomial(formula)
    if sum_form is not None:
        left = {column: weight for column, weight in sum_form.weights.items() if column != name}
        return [Linear(left, sum_form.constant).expression()] if left else []
    if product_form is not None:
        powers = {column: power for column, power in product_form.exponents.items() if column != name}
        return [Monomial(powers, product_form.constant).expression()] if powers else []
    options = []
    for value in (0, 1):
        try:
            simpler = formula.substitute({name: Expression.constant(value)}).simplify()
        except (ZeroDivisionError, ArithmeticError, ValueError):
            continue
        if simpler.columns and simpler not in options:
            options.append(simpler)
    return options


def constants_of(formula: Expression) -> tuple[Fraction, ...]:
    """The numbers in a formula, other than 1, -1 and 0, in order of appearance and without repetition."""
    found: list[Fraction] = []

    def walk(node: Expression) -> None:
        if isinstance(node, Constant):
            if abs(node.value) not in (0, 1) and node.value not in found:
                found.append(node.value)
        elif isinstance(node, Sum):
            for term in node.terms:
                walk(term)
        elif isinstance(node, Product):
            for factor in node.factors:
                walk(factor)
        elif not isinstance(node, Column):
            walk(getattr(node, "base"))  # noqa: B009

    walk(formula)
    return tuple(found)


def operands_of(formula: Expression) -> tuple[str, ...]:
    """The columns of the table behind the names of a formula."""
    return tuple(dict.fromkeys(base(name) for name in formula.columns))


def best_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings from the shortest to the longest: what follows from short formulas need not be said at length.

    What holds only where operands are rounded may follow from what holds with operands as printed, and comes later.
    """

    def place(one: Finding) -> tuple[float, int, float, str]:
        length = one.length + (INEXACT_BITS if one.exact < SHARP else 0.0)
        length += WIDE_BITS * max(len(one.columns) - 3, 0)
        return (round(length, 3), len(one.columns), -one.measure.bits, str(one))

    return sorted(findings, key=place)


def common_rows(names: Iterable[str], lookup: Lookup, count: int) -> dict[str, np.ndarray]:
    """A few rows in which most of the named columns have values; missing cells hold what is usual in their column.

    The rows are where the search for points on several relations starts, so they need not be rows of the table.
    """
    cells = {name: lookup(name)[0] for name in names}
    filled = np.sum([np.isfinite(values) & (values != 0) for values in cells.values()], axis=0)
    rows = np.flatnonzero(filled == filled.max())
    rows = rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]
    return {name: _filled_in(values, rows) for name, values in cells.items()}


def _filled_in(values: np.ndarray, rows: NDArray[np.intp]) -> np.ndarray:
    usual = values[np.isfinite(values) & (values != 0)]
    middle = float(np.median(usual)) if len(usual) else 1.0
    return np.where(np.isfinite(values[rows]), values[rows], middle)
