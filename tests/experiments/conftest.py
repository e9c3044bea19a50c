"""What the tests of the experiments share: a recipe and a selection that take no time."""

from pathlib import Path

import numpy as np
import pytest

from inalu import PAPER
from inalu.experiments.catalog import Selection, Treatment
from inalu.experiments.record import Entry, Record, Setting, Specification


@pytest.fixture(scope="session")
def tiny():
    """PAPER with two epochs."""
    return Treatment(name="tiny", about="two epochs", recipe=PAPER.but(name="tiny", epochs=2))


@pytest.fixture(scope="session")
def small():
    """Two seeds of 640 rows, one operation, one distribution."""
    return Selection(seeds=(100, 101), rows=640, operations=("add",), distributions=("U(-1,1)",))


@pytest.fixture
def store_path(tmp_path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture(scope="session")
def make_entry():
    """Return a function that makes entries with everything filled in."""

    def make(seed=100, model="inalu-shared", operation="add", recipe="PAPER", **changes):
        specification = Specification(
            network=f"{model} 2-1", task=f"{operation}; inputs=2; U(-1,1) -> U(-10,-5)", seed=seed,
            rows=64_000,
            recipe=recipe, decisions='{"epochs":100}', law=None, dtype="float32", backend="cpu", algorithm=1,
        )  # fmt: skip
        values = {
            "status": "finished", "mse_interpolation": 1e-15, "mse_extrapolation": 1e-13,
            "within_interpolation": 1.0, "within_extrapolation": 0.5, "snapped_mse_interpolation": 0.0,
            "snapped_mse_extrapolation": 0.0, "snapped_within_interpolation": 1.0,
            "snapped_within_extrapolation": 1.0, "formula": "x0 + x1", "exact_formula": True,
            "discreteness": 1e-9, "restarts": (10, 20), "loss": (1.0, 0.5, 0.25),
            "parameters": np.arange(5, dtype=np.float32), "steps": 100_000, "seconds": 0.25, "threads": 2,
            "versions": (("python", "3.11"), ("numpy", "2.4")), "measures": {"accuracy": 0.5},
        }  # fmt: skip
        record = Record(specification=specification, **{**values, **changes})
        return Entry(Setting("exp1", model, operation, "U(-1,1)", "U(-10,-5)"), recipe, record)

    return make
