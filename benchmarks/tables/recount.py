"""The counting of ``tests/data/tables/verify.py``, which shares no code with the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TABLES = Path(__file__).parents[2] / "tests" / "data" / "tables"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_tables", TABLES / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


verify = _load()
