"""The examples of the README and of the docstrings run as they stand; links in the documents lead somewhere."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import inalu

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

# Kernels are not importable without their compiler's types; they have no examples.
SKIPPED = {"inalu.__main__", "inalu.engine.cpu"}
MODULES = sorted(m.name for m in pkgutil.walk_packages(inalu.__path__, "inalu.") if m.name not in SKIPPED)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document(document):
    failed, _ = doctest.testfile(str(document), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert failed == 0


def test_the_commands_of_the_readme_print_what_it_shows():
    def without_measurements(text: str) -> list[str]:
        lines = [line.rstrip() for line in text.strip().splitlines()]
        return [re.sub(r"\b[0-9.]+ s\b|(?<=by luck alone: )\S+", "…", line) for line in lines]

    blocks = re.findall(
        r"```\n\$ inalu ([^\n]*)\n(.*?)```", DOCUMENTS[0].read_text(encoding="utf-8"), re.DOTALL
    )
    assert blocks
    for arguments, shown in blocks:
        command = [sys.executable, "-m", "inalu", *arguments.split()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
        assert without_measurements(done.stdout) == without_measurements(shown), done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target
