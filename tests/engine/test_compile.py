"""The kernel's compilation: how long it takes, and that an installation nobody may write to does without a cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inalu

PROGRAM = """
from time import perf_counter
import numpy as np
from inalu import PAPER, ArraySource, Member, Network, Plan, train
source = ArraySource(np.arange(128.0).reshape(64, 2) / 100, np.arange(64.0))
plan = Plan(members=[Member(network=Network("inalu-independent", (2, 1)), source=source)], recipe=PAPER.but(epochs=2))
began = perf_counter()
results = train(plan, backend="cpu")
print(results[0].status.name, perf_counter() - began)
"""
# Permissions do not bind the superuser, unless the right to pass over them is given up before the program starts.
GIVE_UP = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def run(folder, home, *, strict=False):
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    environment |= {"PYTHONPATH": str(folder), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    launcher = [sys.executable, "-c", GIVE_UP] if strict else [sys.executable]
    done = subprocess.run(
        [*launcher, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    status, seconds = done.stdout.split()
    assert status == "FINISHED"
    return float(seconds)


@pytest.fixture
def installed(tmp_path):
    package = Path(inalu.__file__).parent
    site, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(package, site / "inalu", ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    yield site, home
    for folder in (home, site, *(p for p in site.rglob("*") if p.is_dir())):
        folder.chmod(0o755)


def test_the_second_process_finds_the_machine_code(installed):
    site, home = installed
    first, second = run(site, home), run(site, home)
    assert list(site.rglob("cpu.*.nbc"))
    # Seconds depend on the machine; what must hold anywhere is that the second process compiles nothing.
    assert second < first / 3


@pytest.mark.skipif(sys.platform != "linux", reason="gives up a right of the superuser as Linux has it")
def test_an_installation_that_cannot_be_written_trains(installed):
    site, home = installed
    for folder in (home, site, *(p for p in site.rglob("*") if p.is_dir())):
        folder.chmod(0o555)
    run(site, home, strict=True)
    assert not list(site.rglob("*.nbc"))
    assert not list(home.rglob("*"))
