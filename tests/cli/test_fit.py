"""`inalu fit`: one column's formula and its rivals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from inalu.cli.main import inalu


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = np.random.default_rng(6)
    weight, height = np.round(rng.uniform(45, 120, 80), 1), np.round(rng.uniform(1.5, 2.0, 80), 2)
    bmi = np.round(weight / height**2, 1)
    lines = [
        f"{a},{b},{c},{d}" for a, b, c, d in zip(weight, height, bmi, rng.integers(18, 90, 80), strict=True)
    ]
    path = tmp_path / "patients.csv"
    path.write_text("weight,height,bmi,age\n" + "\n".join(lines) + "\n")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(inalu, [str(argument) for argument in arguments])


def test_the_formula_of_a_column(patients: Path) -> None:
    result = run("fit", patients, "--target", "bmi")
    assert result.exit_code == 0, result.output
    assert "bmi = weight / height ** 2" in result.output
    found = json.loads(run("fit", patients, "-t", "bmi", "--json").output)
    assert found["relations"][0]["formula"] == "weight / height ** 2"
    assert found["relations"][0]["target"] == "bmi"


def test_a_column_without_a_formula(patients: Path) -> None:
    result = run("fit", patients, "-t", "age")
    assert result.exit_code == 0
    assert "No formula found" in result.output


@pytest.mark.parametrize(
    ("target", "said"), [("bmx", "Did you mean 'bmi'?"), ("zzz", "weight, height, bmi, age")]
)
def test_an_unknown_target_suggests_the_nearest(patients: Path, target: str, said: str) -> None:
    result = run("fit", patients, "-t", target)
    assert result.exit_code == 2
    assert said in result.output


def test_the_target_is_required(patients: Path) -> None:
    assert run("fit", patients).exit_code == 2
