"""The rooms and their order, the front door, and what it costs to open it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import inalu
from inalu.errors import MissingExtra, require_extra

PACKAGE = Path(inalu.__file__).parent

# What each room may import besides itself; the shared pieces may be imported by all and import no room.
MAY_IMPORT = {
    "layers": set(),
    "tasks": set(),
    "engine": {"layers", "tasks"},
    "experiments": {"layers", "tasks", "engine"},
    "report": {"layers", "tasks", "engine", "experiments"},
    "tabular": {"engine"},
    "cli": {"layers", "tasks", "engine", "experiments", "report", "tabular"},
}


def imported(path: Path) -> set[str]:
    """The first names below ``inalu`` that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "inalu"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("inalu.")}
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_rooms_to_its_left(room):
    for path in (PACKAGE / room).rglob("*.py"):
        wrong = (imported(path) & set(MAY_IMPORT)) - {room} - MAY_IMPORT[room]
        assert not wrong, f"{path.relative_to(PACKAGE)} imports {sorted(wrong)}"


def test_shared_pieces_import_no_room():
    for path in PACKAGE.glob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            assert not imported(path) & set(MAY_IMPORT), path.name


def test_every_file_belongs_to_a_room():
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(MAY_IMPORT)


def test_only_the_command_line_reads_the_environment():
    for path in PACKAGE.rglob("*.py"):
        if "cli" not in path.relative_to(PACKAGE).parts:
            text = path.read_text(encoding="utf-8")
            assert "os.environ" not in text, path
            assert "getenv" not in text, path


def test_every_public_name_is_there():
    assert sorted(inalu.__all__) == list(inalu.__all__)
    for name in inalu.__all__:
        assert getattr(inalu, name) is not None
    assert set(inalu.__all__) <= set(dir(inalu))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="inalus"):
        inalu.inalus  # noqa: B018


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_is_cheap():
    heavy = {"torch", "numba", "sklearn", "pandas", "matplotlib", "openpyxl", "rich"}
    loaded = run_python("import sys, inalu; print(*sys.modules)").split()
    assert not heavy & set(loaded)
    # Seconds of the processor: what other programs do meanwhile is not the import's.
    code = "import time; start = time.process_time(); import inalu; print(time.process_time() - start)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.2


def test_help_is_fast():
    def seconds() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-m", "inalu", "--help"], capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    # Of the processor, as above; the interpreter's own start is in it.
    assert min(seconds() for _ in range(5)) < 0.4


def test_the_function_keeps_its_name_when_the_module_is_imported():
    code = (
        "import inalu.expression; from inalu.expression import Expression; print(callable(inalu.expression))"
    )
    assert run_python(code).strip() == "True"


def test_a_missing_extra_names_the_way_to_install_it():
    with pytest.raises(MissingExtra, match=r"pip install 'inalu\[export\]'"):
        require_extra("a_package_that_nobody_has", "export")


def test_layers_without_torch_say_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import inalu\n"
        "try:\n    inalu.INALU\nexcept ImportError as error:\n    print(error)"
    )
    assert "pip install 'inalu[torch]'" in run_python(code)


def test_nothing_speaks_of_a_workplace():
    root = PACKAGE.parents[1]
    files = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if files.returncode:
        pytest.skip("not a git checkout")
    words = ["/wo" + "rk/", "../sha" + "red", "file:///o" + "pt"]
    for name in files.stdout.split():
        path = root / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yml", ""} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [w for w in words if w in text], name
