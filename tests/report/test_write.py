"""The page as a whole: it needs nothing, says everything, and looks as it should."""

import csv
import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from inalu.errors import InvalidData, MissingExtra
from inalu.experiments.catalog import EXPERIMENTS, Selection
from inalu.report import write_report
from inalu.report.words import HEADINGS, NOTES

pytest.importorskip("matplotlib")

MOST_BYTES = 2_000_000


class Outline(HTMLParser):
    """Headings, ids, what is loaded from elsewhere, and whether tags close."""

    EMPTY = frozenset(["meta", "link", "br", "path", "use", "rect", "stop"])

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.loads, self.figures = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.loads += [v for k, v in values.items() if k in ("src", "href", "xlink:href") and v]
        self.figures += tag == "figure"
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(published_store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return write_report(published_store, folder)


def outline(page):
    parser = Outline()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def test_the_page_is_whole_and_needs_nothing_from_elsewhere(written):
    found = outline(written)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    own = {"records.csv", "figures/figure-3-add.svg", "figures/figure-5-div.svg", "data:,"}
    assert {load for load in found.loads if not load.startswith("#")} == own
    assert all(load[1:] in found.ids for load in found.loads if load.startswith("#"))
    assert written.stat().st_size < MOST_BYTES


def test_drawings_and_records_lie_beside_it(written):
    folder = written.parent
    assert sorted(p.name for p in (folder / "figures").iterdir()) == ["figure-3-add.svg", "figure-5-div.svg"]
    rows = list(csv.DictReader((folder / "records.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 280 + 40 + 24
    assert {row["experiment"] for row in rows} == {"exp1", "exp4", "regularization"}


def test_it_says_what_it_must(written):
    text = re.sub("<[^>]*>", " ", written.read_text(encoding="utf-8"))
    for words in (
        "Experiment 1: minimal arithmetic, 2 → 1", "Figure 3 of the paper", "Figure 5 of the paper",
        "cannot be told", "σ(-20)", "2.06e-9", "6.4%", "one to six", "Wilson", "one cluster", "Holm",
        "Not all of the catalogue is in this store", "algorithm version 1", "backend cpu", "recipe PAPER",
        "the same model: its runs are computed once",
    ):  # fmt: skip
        assert words in text, words
    assert "closed form" not in text


def test_claims_say_what_the_published_runs_say_of_them(written):
    text = re.sub("<[^>]*>", " ", written.read_text(encoding="utf-8"))
    assert "7 of 28 settings have half of their runs solved  (does not hold there)" in text
    assert re.search(r"Of the \d+ that the authors.+ published runs can be asked about, \d+ hold there", text)


def test_every_experiment_has_a_heading_that_the_contents_can_show():
    assert set(HEADINGS) == set(EXPERIMENTS)
    assert all(len(heading) <= 42 for heading in HEADINGS.values())


def test_it_is_the_same_every_time_and_names_no_machine(written, published_store, tmp_path):
    again = write_report(published_store, tmp_path / "again")
    assert again.read_bytes() == written.read_bytes()
    assert str(published_store.parent) not in again.read_text(encoding="utf-8")


def test_a_search_is_shown_beside_the_closed_form(make_store, make_entries, tmp_path):
    few = Selection(operations=("add",), distributions=("U(-1,1)",), seeds=(100, 101))
    store = make_store(
        make_entries("exp2", selection=few, recipe="ROBUST"), make_entries("regularization", selection=few)
    )
    beside = write_report(store, tmp_path / "a").read_text(encoding="utf-8")
    assert "The recipes side by side" in beside
    assert "closed form, no network" in beside
    text = write_report(store, tmp_path / "b", recipe="ROBUST").read_text(encoding="utf-8")
    assert text.count("closed form, no network") > 3


#: One distribution, where an experiment has many.
EXAMPLES = dict.fromkeys(("exp1", "exp2", "ablation", "departures-exp1", "departures-exp2"), ("U(-1,1)",))


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.needs is None])
def test_every_experiment_can_be_shown(name, make_store, make_entries, tmp_path):
    selection = Selection(operations=("add",), seeds=(100,), distributions=EXAMPLES.get(name))
    text = write_report(make_store(make_entries(name, selection=selection)), tmp_path).read_text(
        encoding="utf-8"
    )
    assert HEADINGS[name] in text
    assert NOTES.get(name, "") in html.unescape(text)


def test_a_folder_that_cannot_be_written_is_one_sentence(published_store, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InvalidData, match="cannot be written"):
        write_report(published_store, file)
    assert file.read_text() == "mine"


def test_without_matplotlib_it_says_what_to_install(published_store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'inalu\[report\]'"):
        write_report(published_store, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.system
@pytest.mark.parametrize("width", [400, 1400])
def test_chromium_renders_it_without_a_sideways_scroll(written, tmp_path, width):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is missing: apt-get install chromium (Debian, Ubuntu)")
    # The page allows no scripts, so a copy without its policy measures itself.
    probe = tmp_path / "probe.html"
    text = re.sub(r"<meta http-equiv[^>]*>", "", written.read_text(encoding="utf-8"))
    script = (
        "<script>addEventListener('load', () => { const d = document.documentElement;"
        "const wide = [...document.querySelectorAll('figure, h2, p, .box')].filter("
        "e => e.getBoundingClientRect().right > d.clientWidth + 1).length;"
        "const small = [...document.querySelectorAll('svg')].filter("
        "e => e.getBoundingClientRect().width < 250).length;"
        "document.title = ['sizes', d.scrollWidth, d.clientWidth, wide, small].join(' ');})</script></body>"
    )
    probe.write_text(text.replace("</body>", script), encoding="utf-8")
    shell = tmp_path / "shell.html"
    shell.write_text(
        f"<iframe src=probe.html width={width} height=3000 style='border:0'></iframe>"
        "<script>addEventListener('load', () => setTimeout(() => {document.body.append("
        "document.querySelector('iframe').contentDocument.title)}, 100))</script>",
        encoding="utf-8",
    )
    done = chromium(browser, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=5000",
                    "--dump-dom", shell.as_uri())  # fmt: skip
    found = re.search(r"sizes (\d+) (\d+) (\d+) (\d+)", done.stdout)
    assert found, done.stdout[-500:] + done.stderr[-500:]
    scroll, client, wide, small = map(int, found.groups())
    assert client == width
    assert scroll <= client
    assert (wide, small) == (0, 0)


@pytest.mark.system
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_chromium_draws_it_in_both_schemes(written, tmp_path, scheme):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is missing: apt-get install chromium (Debian, Ubuntu)")
    picture = tmp_path / "page.png"
    option = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    chromium(browser, tmp_path, option, "--window-size=500,800", f"--screenshot={picture}", written.as_uri())
    from matplotlib.image import imread

    corner = imread(picture)[2, 2, :3].mean()
    assert corner < 0.2 if scheme == "dark" else corner > 0.9


def chromium(browser: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser without a window, and without any word to the network."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}"]  # fmt: skip
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=180, check=True)
