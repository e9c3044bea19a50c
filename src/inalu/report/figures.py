"""Strip plots of the extrapolation errors: figures 3, 4 and 5 of the paper, a panel for each operation.

In each lane the filled markers above are our runs, the hollow ones below the published runs, and half filled ones
between them ours in float32, where that decides; how many of each are solved stands at the end of the lane, since
equal errors lie on each other. Colour and marker tell the models apart, so that neither is needed alone.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inalu.errors import require_extra
from inalu.experiments.published import Threshold, threshold_for
from inalu.experiments.summary import ExperimentSummary
from inalu.report import svg
from inalu.report.lanes import Lane, describe, panels, solved_of
from inalu.report.words import (
    FIGURES,
    in_order,
    limit_name,
    model_name,
    operation_name,
    power_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Powers of ten between which errors are drawn; those beyond lie on the border.
LOWEST, HIGHEST = -16, 16
#: Of more runs than these in a lane, as many quantiles are drawn.
MOST_POINTS = 40

_LANE = 0.115
_WIDTH = 4.4
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.95, 0.52, 0.86, 0.54
# From the end of the axis to where errors lie that are not finite, in powers of ten.
_APART = 2.8
_HALF: dict[str, Any] = {"fillstyle": "left", "markerfacecoloralt": "white"}
_INK, _SOFT, _BAND, _GROUND = "#1b1b1b", "#5f5f5f", "#f1f1f1", "#ffffff"


@dataclass(frozen=True)
class Picture:
    """A drawing with its file's name, a title, and a text that says what it shows."""

    name: str
    svg: str
    title: str
    alternative: str


@dataclass(frozen=True)
class Style:
    """How a model's markers look."""

    marker: str
    fill: str
    edge: str


STYLES = {
    "nalu-matrix": Style("v", "#cc79a7", "#a2447a"),
    "nalu-vector": Style("^", "#cc79a7", "#a2447a"),
    "inalu-shared": Style("s", "#e69f00", "#946200"),
    "inalu-independent": Style("o", "#0072b2", "#004f7c"),
}
_OTHERS = tuple(Style(marker, "#009e73", "#006b4e") for marker in "DPX*<>")


def draw(summary: ExperimentSummary, models: Sequence[str], trains: Sequence[str]) -> tuple[Picture, ...]:
    """Draw the panels of an experiment, one an operation, on one scale.

    Raises
    ------
    MissingExtra
        Without matplotlib.
    """
    require_extra("matplotlib", "report")
    threshold = threshold_for(summary.experiment)
    found = panels(summary, models, trains)
    shown = in_order((lane.model for lanes in found.values() for lane in lanes), models)
    limits = _limits([lane for lanes in found.values() for lane in lanes])
    pictures = []
    for operation, lanes in found.items():
        name = f"figure-{FIGURES[summary.experiment]}-{operation}"
        title = f"{operation_name(operation)}: MSE over the extrapolation set"
        alternative = describe(lanes, threshold)
        drawn = _panel(name, title, lanes, shown, limits, threshold)
        finished = svg.finish(drawn, name=name, title=title, alternative=alternative)
        pictures.append(Picture(name, finished, title, alternative))
    return tuple(pictures)


def _panel(
    name: str,
    title: str,
    lanes: Sequence[Lane],
    models: Sequence[str],
    limits: tuple[int, int],
    threshold: Threshold,
) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    groups = in_order((lane.distribution for lane in lanes), ())
    # A group ends with a gap.
    units = sum(lane.lines for lane in lanes) + len(groups)
    height = _TOP + _BOTTOM + _LANE * units
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9,
                "font.family": "DejaVu Sans",
                "text.color": _INK, "axes.edgecolor": _SOFT, "path.simplify": False}  # fmt: skip
    with rc_context(settings):
        figure = Figure(figsize=(_WIDTH, height), facecolor=_GROUND)
        axes = figure.add_axes(
            (_LEFT / _WIDTH, _BOTTOM / height, 1 - (_LEFT + _RIGHT) / _WIDTH, _LANE * units / height)
        )
        _fill(axes, lanes, groups, limits, threshold)
        _scale(axes, limits, units, threshold)
        figure.text(0.1 / _WIDTH, 1 - 0.16 / height, title, fontsize=10, weight="bold", va="center")
        _legend(figure, models, height, single=any(lane.single for lane in lanes))
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, facecolor=_GROUND)
    return stream.getvalue()


def _fill(
    axes: Axes,
    lanes: Sequence[Lane],
    groups: Sequence[str],
    limits: tuple[int, int],
    threshold: Threshold,
) -> None:
    y, ticks = 0.0, []
    for index, group in enumerate(groups):
        top = y
        y += 0.5
        for lane in (lane for lane in lanes if lane.distribution == group):
            style = style_of(lane.model)
            for errors, look, ink in (
                (lane.ours, {"markersize": 4.4, "markerfacecolor": style.fill, "alpha": 0.8}, _INK),
                (lane.single, {"markersize": 4.4, "markerfacecolor": style.fill, **_HALF}, _INK),
                (lane.published, {"markersize": 3.6, "markerfacecolor": "none"}, _SOFT),
            ):
                if not errors and errors is not lane.published:
                    continue
                axes.plot(_places(errors, limits), [y + 0.5] * min(len(errors), MOST_POINTS), linestyle="none",
                          marker=style.marker, clip_on=False, markeredgecolor=style.edge,
                          markeredgewidth=0.7 if ink == _SOFT else 0.4, **look)  # fmt: skip
                if errors:
                    axes.text(1.02, y + 0.5, solved_of(errors, threshold), color=ink, fontsize=6.5, va="center",
                              transform=axes.get_yaxis_transform())  # fmt: skip
                y += 1
        y += 0.5
        ticks.append((top + y) / 2)
        if index % 2 == 0:
            axes.axhspan(top, y, color=_BAND, zorder=0, linewidth=0)
    axes.set_yticks(ticks, groups, fontsize=8)
    axes.tick_params(axis="y", length=0, labelcolor=_INK)


def _scale(axes: Axes, limits: tuple[int, int], units: float, threshold: Threshold) -> None:
    low, high = limits
    axes.set_xlim(low - 0.6, high + 4.2)
    axes.set_ylim(units, 0)
    step = 4 if high - low > 12 else 2
    # The last power must leave room for the words beside it.
    powers = [p for p in range(low, high) if p % step == 0]
    labels = [power_name(p) for p in powers]
    axes.set_xticks([*powers, high + _APART], [*labels, "not\nfinite"], fontsize=8)
    axes.tick_params(axis="x", color=_SOFT, labelcolor=_INK, length=3)
    axes.axvline(high + _APART / 2, color=_SOFT, linewidth=0.6)
    line = math.log10(threshold.limit)
    axes.axvline(line, color=_INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    axes.text(line, -0.35, limit_name(threshold), fontsize=8, ha="center", va="bottom")
    axes.text(1.02, -0.35, "solved", fontsize=8, va="bottom", transform=axes.get_yaxis_transform())
    axes.set_xlabel("mean squared error", fontsize=8.5, labelpad=2)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_facecolor("none")


def _legend(figure: Any, models: Sequence[str], height: float, *, single: bool) -> None:
    """Two lines: what marker is which model, and which marks are whose."""
    from matplotlib.lines import Line2D

    def handle(label: str, marker: str, fill: str, edge: str, **look: Any) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=marker, markersize=5, label=label, markerfacecolor=fill,
            markeredgecolor=edge, markeredgewidth=0.7, **look,
        )  # fmt: skip

    styles = [(model_name(model), style_of(model)) for model in models]
    lines = (
        [handle(label, style.marker, style.fill, style.edge) for label, style in styles],
        [
            handle("filled: ours", "o", _SOFT, _SOFT),
            *([handle("half: ours in float32", "o", _SOFT, _SOFT, **_HALF)] if single else []),
            handle("hollow: published", "o", "none", _SOFT),
        ],
    )
    for handles, below in zip(lines, (0.37, 0.54), strict=True):
        figure.legend(
            handles=handles, loc="center left", bbox_to_anchor=(0.0, 1 - below / height), ncols=len(handles),
            frameon=False, fontsize=8, handletextpad=0.0, columnspacing=0.5, borderpad=0, borderaxespad=0.3,
        )  # fmt: skip


def style_of(model: str) -> Style:
    """Return a model's style; models that are not the paper's take turns."""
    return STYLES.get(model) or _OTHERS[sum(map(ord, model)) % len(_OTHERS)]


def _places(errors: Sequence[float | None], limits: tuple[int, int]) -> list[float]:
    """Where errors lie on the axis: powers of ten, at most `MOST_POINTS` of them."""
    low, high = limits
    ordered = sorted(math.inf if e is None else e for e in errors)
    if len(ordered) > MOST_POINTS:
        last = len(ordered) - 1
        ordered = [ordered[round(i * last / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]
    return [
        high + _APART if not math.isfinite(e) else min(max(math.log10(e) if e > 0 else low, low), high)
        for e in ordered
    ]


def _limits(lanes: Sequence[Lane]) -> tuple[int, int]:
    found = (e for lane in lanes for e in (*lane.ours, *lane.single, *lane.published))
    errors = [e for e in found if e is not None and e > 0]
    powers = [math.log10(e) for e in errors] or [0.0]
    low = min(-8, math.floor(min(powers)))
    high = max(0, math.ceil(max(powers)))
    return max(LOWEST, low), min(HIGHEST, high)
