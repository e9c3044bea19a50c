"""What the authors published: every run of their experiments 1 to 4, and the counts that follow from them.

The files in ``data`` are read as they are; their README says where they come from. Settings carry the text
forms of `inalu.tasks`, so that a published setting and one of ours are the same setting when their texts are.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from inalu.errors import check_choice
from inalu.tasks import Exponential, TruncatedNormal, Uniform

EXPERIMENTS = ("exp1", "exp2", "exp3", "exp4")

# The files of experiment 3 do not name its inputs. The text says standard normal and cuts normals at three
# standard deviations; the extrapolation set, mean 10 and standard deviation 1, is the published planner's.
_EXP3_MODEL = "inalu-shared"
_EXP3_TRAIN = str(TruncatedNormal(-3, 3))
_EXP3_EXTRAPOLATION = str(TruncatedNormal(7, 13))


@dataclass(frozen=True, slots=True, order=True)
class Initialisation:
    """A row of experiment 3: means of the initial gate, M̂ and Ŵ, and their common standard deviation."""

    mean_gate: float
    mean_m_hat: float
    mean_w_hat: float
    std: float

    @property
    def means(self) -> tuple[float, float, float]:
        """The triple that Table 1 of the paper goes by."""
        return self.mean_gate, self.mean_m_hat, self.mean_w_hat


@dataclass(frozen=True, slots=True)
class PublishedSetting:
    """One model × operation × distribution (× initialisation) of an experiment.

    Attributes
    ----------
    experiment : str
        One of `EXPERIMENTS`.
    model, operation : str
        Names as in the engine's registry and in `inalu.tasks.OPERATIONS`.
    train, extrapolation : str
        Text forms of `inalu.tasks`.
    initialisation : Initialisation or None
        For experiment 3 alone.
    """

    experiment: str
    model: str
    operation: str
    train: str
    extrapolation: str
    initialisation: Initialisation | None = None


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """The end of one run; errors may be infinite or not a number, as they were published.

    ``reinitialisations`` is None in experiment 3, whose files do not tell.
    """

    setting: PublishedSetting
    seed: int
    mse_interpolation: float
    mse_extrapolation: float
    reinitialisations: int | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """When a run counts as solved.

    Examples
    --------
    >>> TEXT.solved(1e-4), TABLE.solved(1e-3), TEXT.solved(float("nan"))
    (True, False, False)
    """

    limit: float
    inclusive: bool

    def solved(self, mse: float) -> bool:
        """Whether an error is small enough; one that is not finite never is."""
        return mse <= self.limit if self.inclusive else mse < self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.inclusive else '<'} {self.limit:g}"


#: "we understand a MSE ≤ 10^-4 as successful training": the text.
TEXT = Threshold(1e-4, inclusive=True)
#: What the published evaluation script counts, and the text for division in experiment 2 (6.4%).
CODE = Threshold(1e-5, inclusive=False)
#: Table 1: "Successful configurations (maximum loss < 0.001)".
TABLE = Threshold(1e-3, inclusive=False)
THRESHOLDS = (TEXT, CODE, TABLE)


def threshold_for(experiment: str) -> Threshold:
    """Return when a run of an experiment counts as solved: < 1e-3 in experiment 3, ≤ 1e-4 elsewhere."""
    return TABLE if experiment in ("exp3", "departures-exp3") else TEXT


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of one setting. A median or maximum that is not finite is None.

    ``exact_formula`` is None where no formulas are known, as in all that is published.
    """

    runs: int
    solved_interpolation: int
    solved_extrapolation: int
    solved_both: int
    median_mse_interpolation: float | None
    max_mse_interpolation: float | None
    median_mse_extrapolation: float | None
    max_mse_extrapolation: float | None
    exact_formula: int | None = None


def summarise(errors: Iterable[tuple[float | None, float | None]], threshold: Threshold) -> Summary:
    """Count what is solved among pairs of errors on the interpolation and the extrapolation set.

    An error of None, infinite or not a number is not solved and larger than every other.

    Examples
    --------
    >>> summarise([(1e-9, 1e-8), (1e-6, 2.0), (3.0, None)], TEXT).solved_both
    1
    """
    pairs = [(_size(inside), _size(outside)) for inside, outside in errors]
    inside, outside = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Summary(
        runs=len(pairs),
        solved_interpolation=sum(map(threshold.solved, inside)),
        solved_extrapolation=sum(map(threshold.solved, outside)),
        solved_both=sum(threshold.solved(max(pair)) for pair in pairs),
        median_mse_interpolation=_median(inside),
        max_mse_interpolation=_finite(max(inside, default=math.inf)),
        median_mse_extrapolation=_median(outside),
        max_mse_extrapolation=_finite(max(outside, default=math.inf)),
    )


@cache
def published_runs(experiment: str) -> tuple[PublishedRun, ...]:
    """Return every published run of an experiment, in the order of the files.

    Raises
    ------
    InvalidArgument
        When there is no such experiment.

    Examples
    --------
    >>> len(published_runs("exp1"))
    1120
    """
    check_choice("experiment", experiment, EXPERIMENTS)
    if experiment == "exp3":
        return tuple(map(_run_of_exp3, _rows("authors_runs_exp3.csv.gz")))
    rows = _rows("authors_runs_exp1_2_4.csv.gz")
    return tuple(_run(row) for row in rows if row["experiment"] == experiment)


@cache
def _by_setting(experiment: str) -> dict[PublishedSetting, tuple[PublishedRun, ...]]:
    groups: dict[PublishedSetting, list[PublishedRun]] = {}
    for run in published_runs(experiment):
        groups.setdefault(run.setting, []).append(run)
    return {setting: tuple(runs) for setting, runs in groups.items()}


def published_settings(experiment: str) -> tuple[PublishedSetting, ...]:
    """Return the settings of an experiment that have published runs, in the order of the files.

    Examples
    --------
    >>> published_settings("exp4")[0].train
    'N(-3,3)'
    """
    check_choice("experiment", experiment, EXPERIMENTS)
    return tuple(_by_setting(experiment))


def runs_of(setting: PublishedSetting) -> tuple[PublishedRun, ...]:
    """Return the published runs of a setting: none when it was not published."""
    check_choice("experiment", setting.experiment, EXPERIMENTS)
    return _by_setting(setting.experiment).get(setting, ())


def published_summary(setting: PublishedSetting, threshold: Threshold | None = None) -> Summary | None:
    """Return the counts of a setting, or None when it was not published.

    Parameters
    ----------
    threshold : Threshold or None
        None takes the paper's for the experiment.

    Examples
    --------
    >>> division = PublishedSetting("exp1", "inalu-independent", "div", "U(-1,1)", "U(-10,-5)")
    >>> published_summary(division).solved_extrapolation
    4
    """
    runs = runs_of(setting)
    return summarise(errors_of(runs), threshold or threshold_for(setting.experiment)) if runs else None


def table_1() -> dict[tuple[tuple[float, float, float], str], Summary]:
    """Return Table 1 of the paper: counts by triple of means and operation, over both standard deviations.

    Its cells are ``max_mse_extrapolation`` and the share ``solved_extrapolation / runs``.

    Examples
    --------
    >>> cell = table_1()[(0.0, -1.0, 1.0), "mul"]
    >>> cell.solved_extrapolation, cell.runs
    (19, 19)
    """
    cells: dict[tuple[tuple[float, float, float], str], list[PublishedRun]] = {}
    for run in published_runs("exp3"):
        if run.setting.initialisation is not None:
            cells.setdefault((run.setting.initialisation.means, run.setting.operation), []).append(run)
    return {cell: summarise(errors_of(cells[cell]), TABLE) for cell in sorted(cells)}


def errors_of(runs: Sequence[PublishedRun]) -> Iterator[tuple[float, float]]:
    """Yield the pairs of errors that `summarise` counts."""
    return ((run.mse_interpolation, run.mse_extrapolation) for run in runs)


def _rows(name: str) -> list[dict[str, str]]:
    packed = (resources.files("inalu.experiments") / "data" / name).read_bytes()
    return list(csv.DictReader(io.StringIO(gzip.decompress(packed).decode())))


def _run(row: dict[str, str]) -> PublishedRun:
    setting = PublishedSetting(
        experiment=row["experiment"],
        model=row["model"],
        operation=row["operation"],
        train=_text(row["distribution"], row["train_parameters"]),
        extrapolation=_text(row["distribution"], row["extrapolation_parameters"]),
    )
    errors = float(row["mse_interpolation"]), float(row["mse_extrapolation"])
    return PublishedRun(setting, int(row["seed"]), *errors, int(row["reinits"]))


def _run_of_exp3(row: dict[str, str]) -> PublishedRun:
    columns = ("mean_gate", "mean_m_hat", "mean_w_hat", "std")
    initialisation = Initialisation(*(float(row[column]) for column in columns))
    setting = PublishedSetting(
        experiment="exp3",
        model=_EXP3_MODEL,
        operation=row["operation"],
        train=_EXP3_TRAIN,
        extrapolation=_EXP3_EXTRAPOLATION,
        initialisation=initialisation,
    )
    return PublishedRun(
        setting, int(row["seed"]), float(row["mse_interpolation"]), float(row["mse_extrapolation"])
    )


def _text(family: str, parameters: str) -> str:
    """The text form of a distribution of the files, such as uniform with ``(-1, 1)``."""
    numbers = [float(number) for number in parameters.strip("()").split(",")]
    kinds = {"uniform": Uniform, "normal": TruncatedNormal, "exponential": Exponential}
    return str(kinds[family](*numbers))


def _size(mse: float | None) -> float:
    return math.inf if mse is None or not math.isfinite(mse) else mse


def _finite(mse: float) -> float | None:
    return mse if math.isfinite(mse) else None


def _median(errors: list[float]) -> float | None:
    if not errors:
        return None
    ordered = sorted(errors)
    return _finite((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
