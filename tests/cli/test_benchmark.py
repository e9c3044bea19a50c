"""``inalu benchmark engine``: the figures it prints, and that it prints none when the backends disagree."""

import json

import pytest

from inalu.cli.main import inalu
from inalu.engine.benchmark import run
from inalu.engine.parity import step_cases

SMALL = ("--members", "4", "--rows", "640", "--seconds", "0.001", "--no-compiled")
ONE = ("--cell", "nalu-matrix", "--network", "2-1")
RATES = run.Rates(products=8e9, mixed=12e9, divisions=1e9, roots=3e8, bytes=1e10)


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        inalu.main(["benchmark", "engine", *arguments])
    return left.value.code, capsys.readouterr()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(run, "parity_cases", lambda: [next(step_cases())])
    monkeypatch.setattr(run, "measure_rates", lambda: RATES)


def test_json_has_the_figures_of_every_case_and_axis(capsys, monkeypatch):
    monkeypatch.setattr(run, "AXES", {"members": (1, 4), "inputs": (2, 3)})
    code, said = call(capsys, "--json", *SMALL, *ONE)
    assert code == 0
    figures = json.loads(said.out)
    assert list(figures) == ["machine", "versions", "cases", "scaling"]
    (case,) = figures["cases"]
    assert (case["cell"], case["network"], case["recipe"]) == ("nalu-matrix", [2, 1], "PAPER")
    assert (case["backend"], case["members"]) == ("cpu", 4)
    for name in ("ns_step_one_core", "ns_step_all_cores", "stacked_ns_step", "roofline_share"):
        assert case[name] > 0, name
    assert case["eager_ns_step"] == min(case["eager"].values())
    assert case["ratio_eager"] == pytest.approx(case["eager_ns_step"] / case["ns_step_one_core"], rel=0.01)
    assert set(case["eager"]) == {f"{m}, {k}" for m in ("layer", "literal") for k in ("foreach", "fused")}
    axes = [(row["axis"], row["value"], row["network"]) for row in figures["scaling"]]
    assert axes[:4] == [
        ("members", 1, [2, 1]), ("members", 4, [2, 1]), ("inputs", 2, [2, 1]), ("inputs", 3, [3, 1]),
    ]  # fmt: skip
    assert {axis for axis, *_ in axes[4:]} == {"cores"}
    assert all(row["ns_step"] > 0 for row in figures["scaling"])


def test_the_text_names_every_rival(capsys):
    code, said = call(capsys, *SMALL, *ONE, "--no-scaling")
    assert code == 0
    for part in (
        "nalu-matrix 2 → 1, 4 members",
        "inalu, one core",
        "literal, fused Adam",
        "stacked, one core",
    ):
        assert part in said.out


def test_no_speed_is_told_when_a_parity_case_fails(capsys, monkeypatch):
    monkeypatch.setattr(run, "failures", lambda backend, cases: [f"{backend}: outputs off by 1"])
    code, said = call(capsys, *SMALL, *ONE)
    assert code == 1
    assert said.out == ""
    assert "cpu: outputs off by 1" in said.err
    assert "no speed is told" in said.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--network", "2-x"), "must be widths such as 100-2-1"),
        (("--network", "1-1"), "must begin with two or more inputs"),
        (("--network", "2-2"), "end with one output"),
        (("--cell", "nalu-matrixx"), "--cell must be"),
    ],
)
def test_bad_arguments(capsys, arguments, sentence):
    code, said = call(capsys, *arguments)
    assert code == 2
    assert sentence in " ".join(said.err.split())
