"""Recipe: every training decision that is not the cell's, as one frozen value.

``PAPER`` follows the text of the paper; where the text is silent it follows the published code, and
docs/choices.md gives the argument for each. ``AUTHORS_CODE`` follows the code where the two differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from inalu.errors import check_choice, invalid
from inalu.layers.laws import LAWS, Law, Normal, Signs


def _positive(owner: str, value: object, *names: str, zero: bool = False) -> None:
    for name in names:
        number = getattr(value, name)
        if not (math.isfinite(number) and (number > 0 or (zero and number == 0))):
            rule = "must be finite and not negative" if zero else "must be finite and positive"
            raise invalid(f"{owner}.{name}", rule, number)


Loss = Literal["mse", "scaled", "sampson", "paths", "sampson-paths"]


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Kingma and Ba's Adam, with their constants; the step counts from 1."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _positive("Adam", self, "learning_rate", "epsilon")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise invalid(f"Adam.{name}", "must be in [0, 1)", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class RMSProp:
    """RMSProp without momentum, in one of two forms that differ.

    ``tensorflow``: the mean square starts at 1, the step is lr·g / sqrt(ms + epsilon).
    ``pytorch``: the mean square starts at 0, the step is lr·g / (sqrt(ms) + epsilon).
    """

    learning_rate: float = 1e-2
    decay: float = 0.9
    epsilon: float = 1e-10
    form: Literal["tensorflow", "pytorch"] = "tensorflow"

    def __post_init__(self) -> None:
        _positive("RMSProp", self, "learning_rate", "epsilon")
        if not 0 <= self.decay < 1:
            raise invalid("RMSProp.decay", "must be in [0, 1)", self.decay)
        check_choice("RMSProp.form", self.form, ("tensorflow", "pytorch"))


@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt:
    """Damped Gauss-Newton steps on all training rows at once, in float64.

    A step solves (JᵀJ + λ·s·I) d = -Jᵀr for the parameters W_hat and M_hat, where J holds the derivatives of
    the weighted errors r, and s is the trace of JᵀJ over the number of parameters. It is taken where it lowers
    the loss, and tried again with more damping where it does not; either way the rows pass once. Gates stay
    where they were drawn.

    Attributes
    ----------
    damping, fall, rise
        λ at first, and its factors after a step that was taken and one that was not.
    largest_step
        The step is shortened so that no parameter moves further.
    patience
        A member ends when its loss has not fallen by a tenth for so many steps.
    rows_per_parameter
        How many training rows a `Search` gives a member for each of its parameters.
    """

    damping: float = 0.04
    fall: float = 1 / 3
    rise: float = 4.0
    largest_step: float = 2.0
    patience: int = 15
    rows_per_parameter: int = 1

    def __post_init__(self) -> None:
        _positive("LevenbergMarquardt", self, "damping", "fall", "rise", "largest_step")
        _positive("LevenbergMarquardt", self, "patience", "rows_per_parameter")
        if not self.fall <= 1 <= self.rise:
            raise invalid("LevenbergMarquardt", "needs fall <= 1 <= rise", (self.fall, self.rise))


@dataclass(frozen=True, kw_only=True)
class Decay:
    """The learning rate over the training: held, then falling along half a cosine to a share of itself.

    At step s of S the rate is ``lr`` while s/S <= hold, and after that
    ``lr * (final + (1 - final) * (1 + cos(pi * u)) / 2)`` with u running from 0 to 1.
    """

    final: float = 0.01
    hold: float = 0.0

    def __post_init__(self) -> None:
        for name in ("final", "hold"):
            if not 0 <= getattr(self, name) <= 1:
                raise invalid(f"Decay.{name}", "must be in [0, 1]", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Alternation:
    """Of every ``period`` steps the first ``weights`` update only weights, the others only gates."""

    period: int = 10
    weights: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.weights < self.period:
            raise invalid("Alternation", "needs 0 < weights < period", (self.weights, self.period))


@dataclass(frozen=True, kw_only=True)
class Regularization:
    """When and how the piecewise-linear term of equation (reg) acts on W_hat, M_hat and G.

    Attributes
    ----------
    after_epochs
        It acts from the epoch with this index (counted from 0) on.
    below
        It acts in a step only when the mini-batch loss of that step is below this.
    threshold
        t of the equation: the term of a parameter is max(t - |w|, 0) / t.
    weight
        The factor of the whole term.
    aggregate
        ``mean``: the sum over parameter arrays of the mean over their elements; ``sum``: over all elements.
    apart
        False adds the term to the loss. True makes optimizer steps of their own after the data step, with the
        same optimizer state: one for the weights, then one for the gates.
    """

    after_epochs: int = 10
    below: float = 1.0
    threshold: float = 20.0
    weight: float = 1.0
    aggregate: Literal["mean", "sum"] = "mean"
    apart: bool = False

    def __post_init__(self) -> None:
        _positive("Regularization", self, "threshold")
        _positive("Regularization", self, "weight", "after_epochs", zero=True)
        check_choice("Regularization.aggregate", self.aggregate, ("mean", "sum"))


@dataclass(frozen=True, kw_only=True)
class Reinitialization:
    """The restart rule: when the loss history is looked at, by what test, and what is drawn anew.

    The history holds the mini-batch loss of each step. A look needs at least ``window`` steps since the last
    start, splits its history in two halves (the first has floor(n/2) steps) and restarts when
    ``mean(first) <= mean(second) + tolerance * std(second)`` and ``mean(second) > above``.

    Attributes
    ----------
    every
        Looks happen at epochs every, 2·every, … (counted in finished epochs), never after the last epoch.
    window
        The least number of steps since the last start.
    history
        ``window``: the last ``window`` steps. ``all``: all steps since the last start.
    each_step
        False looks once, before the first step of those epochs; True before every step of them.
    tolerance
        How many standard deviations of the second half count as no improvement.
    above
        The second half's mean loss must be above this.
    law
        From what the new weights are drawn.
    keep_optimizer
        Whether the optimizer's state survives.
    """

    every: int = 10
    window: int = 10_000
    history: Literal["window", "all"] = "window"
    each_step: bool = False
    tolerance: float = 1.0
    above: float = 1.0
    law: Law = LAWS["uniform2"]
    keep_optimizer: bool = True

    def __post_init__(self) -> None:
        _positive("Reinitialization", self, "every", "window")
        _positive("Reinitialization", self, "tolerance", "above", zero=True)
        check_choice("Reinitialization.history", self.history, ("window", "all"))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained.

    Attributes
    ----------
    name
        What results and the command line call it.
    loss
        ``mse``: the mean over rows and outputs of (prediction - y)². ``scaled``: each term times
        1 / (median|y|² + y²), the median over the training rows of that output, so that y's unit cancels.
        ``sampson``: as scaled, with 1 / (median|y|² + y² + Σ_i (∂prediction/∂h_i)²·Σ_i h_i²/I) where h
        are the I inputs of the last layer; the weight counts as a constant in the gradient. A row on which
        the prediction is very sensitive, as next to a pole, cannot rule.
        ``paths``: each path of the last layer is fitted for itself, weighted by its gate:
        g·log(1 + u_a) + (1 - g)·log(1 + u_m) with u_a = (a - y)² / (median|y|² + y²) and
        u_m = (z - log max(|y|, ε))²·y² / (median|y|² + y²), z the sum in log space, without bound or sign.
        ``sampson-paths``: as ``paths``, each path's error divided by how sensitive that path is, as in
        ``sampson``; see `inalu.layers.losses`. The loss of `LevenbergMarquardt`, and of no other optimizer.
    sharpness
        Of the loss ``paths``: the factor of u_a and u_m. Where it is large, a row far off weighs little, so
        that gross errors cannot pull weights from where most rows want them.
    optimizer, decay
        The optimizer with its constants; the learning rate over time (None: constant).
    batch, epochs
        Rows of a mini-batch; passes over the training rows, in their order, without shuffling. The last
        batch of an epoch is smaller when ``batch`` does not divide the rows.
    clip
        Each element of the gradient is cut to [-clip, clip] before the optimizer sees it; None: not at all.
    alternation, regularization, reinitialization
        See the classes; None switches the part off.
    law
        Of the initial weights.
    """

    name: str
    loss: Loss = "mse"
    sharpness: float = 1.0
    optimizer: Adam | RMSProp | LevenbergMarquardt = Adam()
    decay: Decay | None = None
    batch: int = 64
    epochs: int = 100
    clip: float | None = 0.1
    alternation: Alternation | None = None
    regularization: Regularization | None = Regularization()
    reinitialization: Reinitialization | None = Reinitialization()
    law: Law = LAWS["paper"]

    def __post_init__(self) -> None:
        check_choice("Recipe.loss", self.loss, get_args(Loss))
        for name in ("batch", "epochs"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise invalid(f"Recipe.{name}", "must be a positive integer", value)
        if self.clip is not None and not self.clip > 0:
            raise invalid("Recipe.clip", "must be positive or None", self.clip)
        _positive("Recipe", self, "sharpness")
        if self.sharpness != 1 and self.loss != "paths":
            raise invalid("Recipe.sharpness", "must be 1 but for the loss 'paths'", self.sharpness)
        if isinstance(self.optimizer, LevenbergMarquardt):
            self._check_second_order()
        elif self.loss == "sampson-paths":
            raise invalid(
                "Recipe.loss", "can be 'sampson-paths' only with LevenbergMarquardt", self.optimizer
            )

    def _check_second_order(self) -> None:
        """What belongs to first-order steps would do nothing, and so is refused."""
        if self.loss != "sampson-paths":
            raise invalid("Recipe.loss", "must be 'sampson-paths' with LevenbergMarquardt", self.loss)
        for name in ("decay", "clip", "alternation", "regularization", "reinitialization"):
            if getattr(self, name) is not None:
                raise invalid(f"Recipe.{name}", "must be None with LevenbergMarquardt", getattr(self, name))

    def but(self, **changes: Any) -> Recipe:
        """Return this recipe with some fields changed.

        Raises
        ------
        InvalidArgument
            When a field does not exist or its value breaks a rule.

        Examples
        --------
        >>> PAPER.but(name="short", epochs=10).epochs
        10
        """
        for name in changes:
            check_choice("field of Recipe", name, [f.name for f in fields(self)])
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return every decision as a plain tree, for records and their keys."""
        tree = asdict(self)
        tree["optimizer"] = {"kind": type(self.optimizer).__name__, **tree["optimizer"]}
        tree["law"] = str(self.law)
        if self.sharpness == 1:
            # So that records made before there was any other keep their keys.
            del tree["sharpness"]
        if self.reinitialization is not None:
            tree["reinitialization"]["law"] = str(self.reinitialization.law)
        return tree

    @property
    def first_order(self) -> Adam | RMSProp:
        """The optimizer of a recipe that descends along gradients of mini-batches."""
        assert not isinstance(self.optimizer, LevenbergMarquardt)
        return self.optimizer

    @property
    def starts(self) -> int:
        """How many sets of weights one member may need: its own and one for each possible restart."""
        if self.reinitialization is None:
            return 1
        return 1 + (self.epochs - 1) // self.reinitialization.every


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One wave of starts of a search.

    Attributes
    ----------
    recipe
        How each start is trained.
    rows
        Training rows that pass through the network in each start: the recipe's epochs are set by it. With
        `LevenbergMarquardt` the recipe's epochs hold, and this must be None.
    starts
        Starts of the wave; all are trained.
    judged
        How many of them are made exact and judged, those of the least training loss; None: all.
    draw
        ``all``: every weight is drawn from the recipe's law. ``last``: the last layer's are, and the layers
        below go on from the latest start of mini-batches that was drawn whole.
    """

    recipe: Recipe
    rows: int | None = None
    starts: int = 1
    judged: int | None = None
    draw: Literal["all", "last"] = "all"

    def __post_init__(self) -> None:
        for name in ("rows", "starts", "judged"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise invalid(f"Stage.{name}", "must be a positive integer", value)
        check_choice("Stage.draw", self.draw, ("all", "last"))
        if (self.rows is None) != self.second_order:
            raise invalid("Stage.rows", "must be given but for LevenbergMarquardt, and not there", self.rows)

    @property
    def second_order(self) -> bool:
        """Whether its starts are trained by `LevenbergMarquardt`."""
        return isinstance(self.recipe.optimizer, LevenbergMarquardt)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A recipe of several starts, of which the best on the training rows is kept; see `inalu.engine.search`.

    The waves follow each other, and after the last the first again, until an answer is exact or the next wave
    might pass the budget.

    Attributes
    ----------
    name
        What results and the command line call it.
    one_layer, deeper
        The waves for networks of one layer, and for deeper ones. Waves of `LevenbergMarquardt` are left out
        for cells that it does not train.
    one_layer_rows, deeper_rows
        The budget: rows that may pass through networks, those for judging included.
    judge_rows
        Training rows on which a start is judged after it is made exact.
    agreement
        A deeper network's search ends, too, when an eighth of its budget is used and so many starts led to the
        best network, exact and hardly worse than before it was rounded: noise leaves no answer without error.
    closed_form
        Whether the first start of all begins at a closed-form solution. ``WARM`` has it, ``ROBUST`` never.
    """

    name: str
    one_layer: tuple[Stage, ...]
    deeper: tuple[Stage, ...]
    one_layer_rows: int = 6_400_000
    deeper_rows: int = 64_000_000
    judge_rows: int = 2048
    agreement: int = 3
    closed_form: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return every decision as a plain tree, for records and their keys."""
        tree = {f.name: getattr(self, f.name) for f in fields(self)}
        for part in ("one_layer", "deeper"):
            tree[part] = [{**asdict(s), "recipe": s.recipe.to_json()} for s in tree[part]]
        return tree


PAPER = Recipe(name="PAPER")

AUTHORS_CODE = Recipe(
    name="AUTHORS_CODE",
    optimizer=RMSProp(),
    alternation=Alternation(),
    regularization=Regularization(after_epochs=11, apart=True),
    reinitialization=Reinitialization(window=10_001, history="all", each_step=True),
)

_PATHS = Recipe(
    name="ROBUST paths",
    loss="paths",
    optimizer=Adam(learning_rate=1e-2),
    decay=Decay(),
    regularization=None,
    reinitialization=None,
)
_SAMPSON = _PATHS.but(name="ROBUST sampson", loss="sampson", optimizer=Adam(learning_rate=3e-3))


def _leaning(gate: float, weights: Normal, m_hat: Normal, sharpness: float = 1.0) -> Stage:
    """A start of one layer whose gate leans to the sum (positive) or the product."""
    law = Law(G=Normal(gate, 0.1), M_hat=m_hat, W_hat=weights)
    return Stage(recipe=_PATHS.but(law=law, sharpness=sharpness), rows=640_000)


_NARROW, _WIDE = (Normal(1, 0.1), Normal(-1, 0.1)), (Normal(0, 1), Normal(-1, 1))

_LONG = Stage(recipe=_SAMPSON, rows=640_000)
_REDRAWN = Stage(recipe=_SAMPSON.but(law=LAWS["signs"]), rows=320_000, starts=4, draw="last")


def _second_order(
    weights: Normal, m_hat: Normal, *, damping: float, largest_step: float, starts: int = 32
) -> Stage:
    """Many short starts whose gates are shut, each to a side of its own: so no gate can mix its paths."""
    recipe = Recipe(
        name="ROBUST second order",
        loss="sampson-paths",
        optimizer=LevenbergMarquardt(damping=damping, largest_step=largest_step),
        epochs=80,
        clip=None,
        regularization=None,
        reinitialization=None,
        law=Law(G=Signs(1000, 0), M_hat=m_hat, W_hat=weights),
    )
    return Stage(recipe=recipe, starts=starts, judged=4)


_AROUND_PAPER, _CENTRED = (Normal(1, 1), Normal(-1, 1)), (Normal(0, 1), Normal(0, 1))

ROBUST = Search(
    name="ROBUST",
    one_layer=(
        _leaning(2, *_NARROW),
        _leaning(-2, *_NARROW),
        # Far to one side, since shared weights cannot serve both paths at once.
        _leaning(6, *_WIDE),
        _leaning(-6, *_WIDE),
        # Sharper from here, for rows with gross errors.
        _leaning(6, *_WIDE, sharpness=10),
        _leaning(-6, *_WIDE, sharpness=10),
        _leaning(6, *_WIDE, sharpness=100),
        _leaning(-6, *_WIDE, sharpness=100),
        _leaning(6, *_WIDE, sharpness=10),
        # Columns that hardly vary, as N(-9.7,-9): what is left where no gradient descent came through.
        _second_order(*_AROUND_PAPER, damping=1e-6, largest_step=2.0, starts=16),
    ),
    deeper=(
        # Adam learns sums of many inputs around zero, where poles are everywhere: a long start, and new last
        # layers on what it learned below. Other cells have nothing else.
        _LONG,
        _REDRAWN,
        _REDRAWN,
        _second_order(*_AROUND_PAPER, damping=1e-4, largest_step=4.0),
        _second_order(*_CENTRED, damping=1e-4, largest_step=4.0),
        # Sums of inputs far from zero hardly vary: what tells the weights apart is a millionth of the rest.
        _second_order(*_AROUND_PAPER, damping=1e-6, largest_step=2.0),
    ),
)

WARM = replace(ROBUST, name="WARM", closed_form=True)

RECIPES: Mapping[str, Recipe | Search] = MappingProxyType(
    {r.name: r for r in (PAPER, AUTHORS_CODE, ROBUST, WARM)}
)
