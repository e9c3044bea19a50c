"""Whatever needs an optional package says in one sentence how to install it: every extra, every public name."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from inalu.errors import EXTRAS, MissingExtra, load

# What is missing, the extra that brings it, and something that needs it.
CALLS = [
    ("torch", "torch", "inalu.expression(None, ['a'])"),
    ("torch", "torch", "inalu.Network('inalu-shared', (2, 1)).build()"),
    ("torch", "torch", "train('stacked')"),
    ("torch", "torch", "train('reference')"),
    ("sklearn", "sklearn", "inalu.FormulaRegressor()"),
    ("pandas", "sklearn", "from inalu.experiments.store import read_frame; read_frame('runs.sqlite')"),
    (
        "matplotlib",
        "report",
        "from inalu.report.write import write_report; write_report('runs.sqlite', 'out')",
    ),
    ("sympy", "export", "from inalu.tabular.render import to_sympy; to_sympy(inalu.Expression.parse('a'))"),
]
PREAMBLE = """
import sys
import inalu

def train(backend):
    source = inalu.TaskSource(inalu.parse_task("mul; inputs=2; U(-1,1) -> U(-10,-5)"), 0)
    member = inalu.Member(network=inalu.Network("inalu-shared", (2, 1)), source=source)
    inalu.train(inalu.Plan(members=[member], recipe=inalu.PAPER), backend=backend)

def attempt(what):
    try:
        exec(what)
    except Exception as error:
        print(what, type(error).__name__, str(error), sep="|")
"""


def attempts(missing: list[str], calls: list[str]) -> dict[str, tuple[str, str]]:
    """Run each call where packages are missing; return the exceptions by call, as (type, message)."""
    hide = "".join(f"sys.modules[{name!r}] = None\n" for name in missing)
    code = PREAMBLE + hide + "".join(f"attempt({call!r})\n" for call in calls)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.split("|", 2) for line in done.stdout.splitlines()]
    return {call: (kind, message) for call, kind, message in lines}


@pytest.mark.parametrize("missing", sorted({missing for missing, _, _ in CALLS}))
def test_what_needs_a_missing_package_names_its_extra(missing):
    calls = {call: extra for name, extra, call in CALLS if name == missing}
    found = attempts([missing], list(calls))
    for call, extra in calls.items():
        kind, message = found.get(call, ("nothing was raised", ""))
        assert kind == "MissingExtra", (call, kind, message)
        assert f"needs {missing}" in message
        assert message.endswith(f": pip install 'inalu[{extra}]'")


def test_every_public_name_is_there_or_says_what_brings_it():
    import inalu

    missing = sorted(EXTRAS)
    failed = attempts(missing, [f"inalu.{name}" for name in inalu.__all__])
    assert {kind for kind, _ in failed.values()} == {"MissingExtra"}
    assert all("pip install 'inalu[" in message for _, message in failed.values())
    without_torch = {"INALU", "NAC", "NALU", "NAU", "Discretize", "Reinitialize", "discreteness",
                     "parameter_groups", "regularizer", "snap"}  # fmt: skip
    assert {call.removeprefix("inalu.") for call in failed} == without_torch | {"FormulaRegressor"}


def test_the_table_of_extras_is_that_of_the_project():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    imported = {"scikit-learn": "sklearn"}
    declared = {
        imported.get(name, name): extra
        for extra in ("torch", "sklearn", "report", "export")
        for name in (line.split(">")[0] for line in extras[extra])
    }
    assert declared == EXTRAS


def test_a_broken_package_is_not_reported_as_missing(tmp_path, monkeypatch):
    (tmp_path / "needs_what_nobody_has.py").write_text("import a_package_that_nobody_has")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as error:
        load("needs_what_nobody_has")
    assert not isinstance(error.value, MissingExtra)
