"""The HTML shell: complete, harmless whatever it is given, and no wider than the window."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inalu.errors import InvalidArgument
from inalu.page import Html, badge, escape, figure, page, table

VOID = {"meta", "link", "br", "img", "hr"}
HOSTILE = "<script>alert(1)</script> & \"x\" 'y' \x00\x1b[31m \u202egnp.exe \ud800"
SVG = '<svg width="90pt" height="60pt" viewBox="0 0 90 60"><circle r="9"/></svg>'


class Document(HTMLParser):
    """Collects tags, attributes and text; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def sample() -> str:
    found = table(
        ["formula", "rows", "share"],
        [[HOSTILE, 12345, 0.5], [Html("<code>a + b</code>"), -3, None], ["x" * 300, 0, 1e-9]],
        caption=HOSTILE,
    )
    wide = table(["setting"] + [f"seed {i}" for i in range(40)], [["add"] + [float(i) for i in range(40)]])
    bare = "<table><tr><td>1</td></tr></table>"
    drawing = figure(SVG, title=HOSTILE, description="A circle.", caption=HOSTILE, least_width=700)
    code = f"<pre><code>{'inalu audit ' * 40}</code></pre><p>{'Donaudampfschifffahrt' * 30}</p>"
    sections = [(HOSTILE, found), ("Wide", wide), ("Bare", bare), ("Drawing", drawing), ("Code", code)]
    return page(HOSTILE, sections, lead=HOSTILE, foot=Html("<b>inalu</b>"))


def test_a_page_is_one_complete_document_that_nests() -> None:
    text = sample()
    document = Document(text)
    assert text.startswith("<!DOCTYPE html>")
    assert document.all("html") == [{"lang": "en"}]
    assert len(document.all("h1")) == 1
    assert len(document.all("h2")) == len(document.all("section")) == 5
    names = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(names) == len(set(names))
    targets = {attributes["href"] for attributes in document.all("a")}
    assert targets == {f"#section-{number}" for number in range(1, 6)}
    labels = [
        attributes["aria-labelledby"] for _, attributes in document.tags if "aria-labelledby" in attributes
    ]
    assert {name for label in labels if label for name in label.split()} <= set(names)


def test_nothing_is_fetched_and_nothing_runs() -> None:
    document = Document(sample())
    assert not document.all("script")
    assert not any(name.startswith("on") for _, attributes in document.tags for name in attributes)
    policies = [meta["content"] for meta in document.all("meta") if meta.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    fetched = [
        a[name] for _, a in document.tags for name in ("src", "href", "xlink:href", "data") if name in a
    ]
    assert all(str(value).startswith(("#", "data:")) for value in fetched)
    assert not re.search(r"url\((?!#)|@import|https?://", sample())


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    text = sample()
    document = Document(text)
    assert "<script>alert(1)</script>" in document.text
    assert not re.search("[\x00-\x08\x0e-\x1f\u202e\ud800]", text)
    assert text.encode("utf-8")
    assert escape("\u202ea\ud800") == "\ufffda\ufffd"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_stays_text(heading: str, cell: str) -> None:
    document = Document(page(heading, [(heading, table([heading], [[cell]]) + badge(cell))]))
    expected = Document(page("a", [("a", table(["a"], [["a"]]) + badge("a"))]))
    assert [tag for tag, _ in document.tags] == [tag for tag, _ in expected.tags]
    quoted = Document(f'<p title="{escape(cell)}">{escape(cell)}</p>')
    assert quoted.all("p")[0]["title"] == quoted.text


def test_tables_scroll_in_their_box_and_can_be_reached() -> None:
    document = Document(page("t", [("A & B", "<table><tr><td>1</td></tr></table>" + table(["a"], [[1]]))]))
    boxes = [attributes for attributes in document.all("div") if "box" in str(attributes.get("class"))]
    assert len(boxes) == len(document.all("table")) == 2
    assert all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-label"] for box in boxes)
    assert boxes[0]["aria-label"] == "A & B"


def test_numbers_stand_to_the_right_and_missing_ones_are_dashes() -> None:
    text = table(["name", "n", "x"], [["a", 1234567, 1e-9], ["b", -5, None], ["c", 0, 12345.6]])
    cells = re.findall(r'<td class="number">([^<]*)</td>', text)
    assert cells == ["1,234,567", "1e-9", "−5", "–", "0", "12,346"]
    assert text.count('<th scope="col" class="number">') == 2
    # A column with words is no column of numbers.
    assert '<th scope="col" class="number">' not in table(["x"], [[1], ["one"]])
    assert table(["x"], []).count("<td") == 0


def test_rows_must_fit_the_head() -> None:
    with pytest.raises(InvalidArgument, match="rows must have 2 cells"):
        table(["a", "b"], [[1, 2], [1]])


def test_badges_say_it_in_words_and_not_by_colour_alone() -> None:
    for tone, sign in (("good", "✓"), ("bad", "✗"), ("unsure", "?")):
        assert sign in badge("holds", tone)
        assert "holds" in badge("holds", tone)
    with pytest.raises(InvalidArgument, match="tone must be one of good, bad, unsure, plain"):
        badge("x", "green")


def test_figures_have_text_alternatives() -> None:
    document = Document(figure(SVG, title="Errors", description="All below 1e-4.", caption="Runs."))
    (drawing,) = document.all("svg")
    titles = {name: attributes["id"] for name, attributes in document.tags if name in ("title", "desc")}
    assert drawing["role"] == "img"
    assert drawing["aria-labelledby"] == f"{titles['title']} {titles['desc']}"
    assert document.text == "ErrorsAll below 1e-4.Runs."
    for title, description in (("", "x"), ("x", " ")):
        with pytest.raises(InvalidArgument, match="title and description must say"):
            figure(SVG, title=title, description=description)
    with pytest.raises(InvalidArgument, match="svg must hold"):
        figure("<p>no</p>", title="t", description="d")


def test_figures_lose_what_acts_or_fetches() -> None:
    hostile = (
        '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "a" "http://www.w3.org/x.dtd"><svg viewBox="0 0 9 9" '
        'onload="alert(1)"><metadata><a href="http://x"/></metadata><script>alert(1)</script><!-- c -->'
        '<script href="http://x"/><foreignObject><p>x</p></foreignObject><title>old</title>'
        '<g id="a" onclick="alert(1)"><use href="#a"/><image href="http://x/y.png"/>'
        '<image href="data:image/png;b"/>'
        "<a xlink:href='javascript:alert(1)'><path clip-path=\"url(#a)\"/></a></g></svg>"
    )
    text = figure(hostile, title="t", description="d")
    document = Document(text)
    assert not re.search(r"script|metadata|foreignObject|http|javascript|onload|onclick|<!|<\?|old", text)
    (name,) = [attributes["id"] for attributes in document.all("g")]
    assert name != "a"
    assert document.all("use")[0]["href"] == f"#{name}"
    assert document.all("path")[0]["clip-path"] == f"url(#{name})"
    assert document.all("image")[1]["href"] == "data:image/png;b"


def test_figures_on_one_page_share_no_names() -> None:
    pyplot = pytest.importorskip("matplotlib.figure")
    drawn = []
    for number in range(2):
        drawing = pyplot.Figure(figsize=(3, 2))
        drawing.subplots().plot([1, 2 + number])
        stream = io.StringIO()
        drawing.savefig(stream, format="svg")
        drawn.append(figure(stream.getvalue(), title=f"Figure {number}", description="A line."))
    document = Document(page("t", [("Figures", "".join(drawn))]))
    names = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(names) == len(set(names))
    links = [
        a[key] for _, a in document.tags for key in ("href", "xlink:href") if key in a and a[key] != "data:,"
    ]
    assert {str(link)[1:] for link in links} <= set(names)


def chromium() -> str:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


@pytest.mark.system
@pytest.mark.skipif(
    not chromium(), reason="needs chromium: apt-get install chromium; run by make test-system"
)
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_shows_nothing_wider_than_the_window(width: int, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(sample(), encoding="utf-8")
    (tmp_path / "frame.html").write_text(
        f'<iframe src="page.html" style="border:0;width:{width}px;height:9000px"></iframe>'
        '<p id="found"></p><script>'
        "onload = () => {const e = frames[0].document.documentElement; found.textContent = "
        "'width ' + e.scrollWidth + ' boxes ' + [...e.querySelectorAll('.box')].filter("
        "box => box.scrollWidth > box.clientWidth).length + '.'}</script>",
        encoding="utf-8",
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    command = [
        chromium(),
        *flags,
        f"--user-data-dir={tmp_path / 'profile'}",
        (tmp_path / "frame.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"width (\d+) boxes (\d+)\.", done.stdout)
    assert found is not None
    assert int(found[1]) == width
    # The table of forty columns scrolls inside its box.
    assert int(found[2]) >= 1
