"""Strip plots: every run is in them, ours and the published can be told apart, and nothing else varies."""

import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from inalu.experiments.catalog import EXPERIMENTS, Selection
from inalu.experiments.published import TEXT
from inalu.experiments.record import SINGLE
from inalu.experiments.summary import ExperimentSummary
from inalu.report import figures, svg
from inalu.report.lanes import Lane, describe, panels, solved_of

pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"


def summary_of(entries):
    name = entries[0].setting.experiment
    return ExperimentSummary(name, "PAPER", tuple(entries), (), {}, ())


def draw(entries):
    experiment = EXPERIMENTS[entries[0].setting.experiment]
    return figures.draw(
        summary_of(entries), experiment.models.value, [r.train for r in experiment.ranges.value]
    )


@pytest.fixture(scope="module")
def addition(make_entries):
    return make_entries("exp4", selection=Selection(operations=("add",)))


@pytest.fixture(scope="module")
def picture(addition):
    return draw(addition)[0]


def marks(text):
    """Marks by their style: runs as well as ticks and legend."""
    tree = ElementTree.fromstring(text)
    return list(tree.iter(f"{SVG}use"))


def test_lanes_hold_every_run_of_ours_and_of_the_published(addition):
    lanes = panels(summary_of(addition), (), ())["add"]
    assert sum(len(lane.ours) for lane in lanes) == len(addition) == 80
    assert sum(len(lane.published) for lane in lanes) == 80
    # Both were made from the same runs.
    assert all(sorted(map(str, lane.ours)) == sorted(map(str, lane.published)) for lane in lanes)


def test_every_run_has_a_mark(picture):
    ticks_and_legend = 40
    assert 160 <= len(marks(picture.svg)) <= 160 + ticks_and_legend


def test_a_drawing_is_xml_with_title_and_description_and_refers_to_itself_alone(picture):
    tree = ElementTree.fromstring(picture.svg)
    assert tree.attrib["role"] == "img"
    assert tree.find(f"{SVG}title").text == "a + b: MSE over the extrapolation set"
    assert "iNALU (sw): 20 of 20 of ours" in tree.find(f"{SVG}desc").text
    ids = [e.attrib["id"] for e in tree.iter() if "id" in e.attrib]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', picture.svg)) <= set(ids)
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", picture.svg)
    assert "<style" not in picture.svg
    ElementTree.fromstring(svg.standalone(picture.svg))


def test_a_drawing_is_the_same_every_time(addition, picture):
    assert draw(addition)[0].svg == picture.svg


def test_words_keep_their_spaces(picture):
    texts = {e.text for e in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")}
    assert {
        "filled: ours",
        "hollow: published",
        "≤ 10⁻⁴",
        "solved",
        "mean squared error",
        "iNALU (iw)",
    } <= texts


def test_many_runs_are_drawn_by_their_quantiles():
    errors = tuple(10.0**-i for i in range(200))
    places = figures._places(errors, (-16, 4))
    assert len(places) == figures.MOST_POINTS
    assert places[0] == -16
    assert places[-1] == 0
    assert places == sorted(places)


def test_errors_lie_inside_the_axis_and_those_that_are_not_finite_beyond_it():
    places = figures._places((None, 0.0, 1e30, 1e-30, 1.0), (-16, 8))
    assert places[:4] == [-16, -16, 0, 8]
    assert places[4] > 8


def test_models_differ_by_marker_as_well_as_colour():
    styles = figures.STYLES.values()
    assert len({s.marker for s in styles}) == 4
    assert len({s.fill for s in styles}) == 3


def test_colours_can_be_told_apart_by_the_colour_blind():
    """Distances in the deuteranope's plane (Viénot, Brettel, Mollon 1999), between any two models."""
    to_lms = [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]

    def seen(colour):
        linear = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
        long, _, short = (sum(a * b for a, b in zip(row, linear, strict=True)) for row in to_lms)
        return long / 65.5, short / 1.68

    found = [seen(fill) for fill in {style.fill for style in figures.STYLES.values()}]
    for i, first in enumerate(found):
        for second in found[:i]:
            assert math.dist(first, second) > 0.15


def test_the_description_counts(make_entries):
    lane = Lane("inalu-shared", "U", (1e-9, None, 1e-3), ())
    said = describe([lane], TEXT)
    assert "1 of 3 of ours, median 0.001" in said
    assert "published" not in said


def test_every_lane_ends_with_its_counts(picture, addition):
    texts = [element.text for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]
    lanes = panels(summary_of(addition), (), ())["add"]
    counts = [solved_of(side, TEXT) for lane in lanes for side in (lane.ours, lane.published)]
    assert sorted(text for text in texts if re.fullmatch(r"\d+/\d+", text or "")) == sorted(counts)


def test_where_the_precision_decides_a_lane_has_a_line_in_float32(addition):
    """Ours of shared weights are right in float32 alone, on one of the distributions."""
    leaking = [
        replace(e, record=replace(e.record, mse_extrapolation=1.0, measures={SINGLE: 1e-9}))
        if (e.setting.model, e.setting.train) == ("inalu-shared", "U(-3,3)")
        else replace(e, record=replace(e.record, measures={SINGLE: e.record.mse_extrapolation}))
        for e in addition
    ]
    lanes = panels(summary_of(leaking), (), ())["add"]
    assert [(lane.model, lane.single) for lane in lanes if lane.single] == [("inalu-shared", (1e-9,) * 10)]
    (found,) = draw(leaking)
    texts = [element.text for element in ElementTree.fromstring(found.svg).iter(f"{SVG}text")]
    assert "half: ours in float32" in texts
    assert "10 of 20 of ours, median 0.5; 20 of 20 of ours in float32" in found.alternative
    assert "half" not in draw(addition)[0].svg
