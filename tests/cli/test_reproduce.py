"""``inalu reproduce`` by its command line."""

import json

import click
import pytest
from click.testing import CliRunner

from inalu import PAPER
from inalu.cli import reproduce as module
from inalu.cli.reproduce import reproduce
from inalu.cli.reproduction import show
from inalu.errors import InvalidArgument, StoreError
from inalu.experiments.catalog import Treatment, treatments
from inalu.experiments.record import Entry, Initialisation, Record, Setting, Specification
from inalu.experiments.summary import Reproduction, summarise_experiment

ONE = ("--seeds", "100", "--operations", "add", "--distributions", "U(-1,1)")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call the verb with a recipe of two epochs under the name of PAPER, and its own store."""
    tiny = Treatment(name="PAPER", about="", recipe=PAPER.but(name="PAPER", epochs=2))
    monkeypatch.setattr(module, "treatments", lambda: {**treatments(), "PAPER": tiny})
    store = tmp_path / "runs.sqlite"

    def run(*arguments):
        return CliRunner().invoke(reproduce, [*arguments, "--store", str(store)], catch_exceptions=False)

    run.store = store
    return run


def test_json_and_again(call):
    first = call("exp1", *ONE, "--json")
    assert first.exit_code == 0
    answer = json.loads(first.stdout)
    assert answer["recipe"] == "PAPER"
    assert answer["backend"] == "cpu"
    (experiment,) = answer["experiments"]
    assert experiment["runs"] == 4
    assert {s["model"] for s in experiment["settings"]} == {
        "nalu-matrix", "nalu-vector", "inalu-shared", "inalu-independent",
    }  # fmt: skip
    again = json.loads(call("exp1", *ONE, "--json").stdout)
    assert again["experiments"][0]["settings"] == experiment["settings"]


COUNTS = [
    "runs", "solved_interpolation", "solved_extrapolation", "solved_both", "exact_formula",
    "median_mse_extrapolation", "max_mse_extrapolation",
]  # fmt: skip


def test_the_answer_has_the_promised_keys_and_no_others(call):
    answer = json.loads(call("exp1", "exp3", "--models", "inalu-shared", *ONE[:-2], "--json").stdout)
    assert list(answer) == ["recipe", "backend", "wall_s", "experiments", "claims"]
    assert [e["experiment"] for e in answer["experiments"]] == ["exp1", "exp3"]
    for experiment in answer["experiments"]:
        assert list(experiment) == ["experiment", "wall_s", "runs", "settings", "measures"]
        assert sum(setting["runs"] for setting in experiment["settings"]) == experiment["runs"]
        for setting in experiment["settings"]:
            place = ["model", "operation", "train", "extrapolation", "initialisation"]
            assert list(setting) == [*place, *COUNTS, "published"]
            assert list(setting["published"]) == COUNTS
            assert setting["published"]["exact_formula"] is None
            assert setting["solved_both"] <= min(
                setting["solved_interpolation"], setting["solved_extrapolation"]
            )
            if experiment["experiment"] == "exp1":
                assert setting["initialisation"] is None
            else:
                assert list(setting["initialisation"]) == ["mean_gate", "mean_m_hat", "mean_w_hat", "std"]
    assert {claim["experiment"] for claim in answer["claims"]} == {"exp1", "exp3"}
    for claim in answer["claims"]:
        assert list(claim) == ["experiment", "claim", "line", "holds", "ours", "published"]
        assert claim["holds"] in (True, False, None)
        assert isinstance(claim["line"], int)


def test_nothing_but_the_answer_is_written_where_there_is_no_terminal(call):
    done = call("exp1", *ONE, "--json")
    assert done.stderr == ""
    assert done.stdout.endswith("}\n")


def test_the_table_shows_both_counts_and_the_claims(call):
    text = call("exp1", *ONE).stdout
    assert "Experiment 1" in text
    assert "inalu-independent" in text
    assert "0/1 (10)" in text
    assert "in brackets the published counts, each of 10." in " ".join(text.split())
    assert "≠" not in text
    assert "trained once, shown twice" in text
    assert "12 claims of the text cannot be told from these runs" in text
    assert "4 runs in" in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exp3", ("max MSE", "1.0e-08 100% (1.6e-04 100%)")),
        ("exp4", ("N(-3,3) → N(3,4)", "1/1 (10)")),
        (
            "regularization",
            ("after 10 epochs", "1e-09", "(line 331)", "2.06e-9", "claims of the text cannot be told"),
        ),
    ],
)
def test_other_tables(name, words):
    start = Initialisation(0.0, -1.0, 1.0, 0.1) if name == "exp3" else None
    model = "inalu-shared, after 10 epochs" if name == "regularization" else "inalu-shared"
    ranges = ("N(-3,3)", "N(7,13)" if name == "exp3" else "N(3,4)")
    specification = Specification(
        network="inalu-shared 100-2-1", task="t", seed=100, rows=64_000, recipe="PAPER", decisions="{}",
        law=None, dtype="float32", backend="cpu", algorithm=1,
    )  # fmt: skip
    record = Record(
        specification=specification, status="finished", mse_interpolation=1e-9, mse_extrapolation=1e-8
    )
    entry = Entry(Setting(name, model, "add", *ranges, start), "PAPER", record)
    answer = Reproduction("PAPER", "cpu", 1.0, (summarise_experiment(name, "PAPER", [entry]),))
    shown = CliRunner().invoke(_shower(answer)).stdout
    assert all(word in shown for word in words)


def test_a_published_count_that_is_not_plausible_is_marked(make_counts):
    shown = CliRunner().invoke(_shower(make_counts(solved=0))).stdout
    assert "0/30 (10)≠" in shown
    assert "≠ where the published count is not plausible under ours" in shown
    assert "≠" not in CliRunner().invoke(_shower(make_counts(solved=30))).stdout
    assert "float32" not in shown


def test_the_precision_of_the_evaluation_is_named_where_it_decides(make_counts):
    measures = {"mse_interpolation_float32": 1e-9, "mse_extrapolation_float32": 1e-9}
    shown = CliRunner().invoke(_shower(make_counts(solved=0, measures=measures))).stdout
    text = " ".join(shown.split())
    assert (
        "there 30 of ours are solved, not 0, and the published count is plausible in 1 of 1 settings" in text
    )


@pytest.fixture
def make_counts():
    """Return a function that makes an answer of one setting with thirty seeds, some of them solved."""

    def make(solved, measures=None):
        setting = Setting("exp1", "inalu-shared", "add", "U(-1,1)", "U(-10,-5)")
        entries = []
        for seed in range(30):
            specification = Specification(
                network="inalu-shared 2-1", task="t", seed=seed, rows=64_000, recipe="PAPER", decisions="{}",
                law=None, dtype="float32", backend="cpu", algorithm=1,
            )  # fmt: skip
            error = 1e-9 if seed < solved else 1.0
            record = Record(
                specification=specification, status="finished", mse_interpolation=error,
                mse_extrapolation=error, measures=measures or {},
            )  # fmt: skip
            entries.append(Entry(setting, "PAPER", record))
        return Reproduction("PAPER", "cpu", 1.0, (summarise_experiment("exp1", "PAPER", entries),))

    return make


def _shower(answer):
    @click.command()
    def command():
        show(answer, "runs.sqlite")

    return command


def test_wrong_words_are_one_sentence_before_any_work(call):
    for arguments, words in (
        (("exp9",), "experiment must be one of"),
        (("exp1", "--recipe", "PAPPER"), "Did you mean 'PAPER'"),
        (("exp1", "--backend", "cuda"), "--backend must be one of"),
        (("exp1", "--models", "nalu"), "model must be one of"),
        (("exp1", "--models", ","), "--models must name at least one"),
        (("exp1", "--operations", "plus"), "operation must be one of"),
        (("exp1", "--distributions", "U(1,0)"), "rising order"),
        (("exp1", "--seeds", "9-1"), "seeds must be"),
        (("exp1", "--distributions", "U(7,8)"), "no run is left"),
        (("mnist",), "--data FOLDER"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            call(*arguments)
        assert not call.store.exists()


def test_names_are_required_and_help_lists_what_there_is(call):
    assert call().exit_code == 2
    text = CliRunner().invoke(reproduce, ["--help"]).stdout
    for word in ("exp1", "mnist", "AUTHORS_CODE", "ROBUST", "stacked", "inalu-runs.sqlite"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_store_that_is_none_is_left_alone(call):
    call.store.write_text("a,b\n1,2\n")
    with pytest.raises(StoreError, match="left as it is"):
        call("exp1", *ONE)
    assert call.store.read_text() == "a,b\n1,2\n"
