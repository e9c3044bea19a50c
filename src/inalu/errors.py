"""The exceptions of inalu: each is ours and also the built-in kind, so that either can be caught.

A message names the argument, the rule, the value that was given, and the way out, in one sentence or two.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType

# Which extra brings a package that is not always there.
EXTRAS = {
    "torch": "torch", "sklearn": "sklearn", "pandas": "sklearn", "matplotlib": "report", "sympy": "export",
    "safetensors": "export", "onnx": "export", "onnxscript": "export", "onnxruntime": "export",
}  # fmt: skip


class InaluError(Exception):
    """The base of every exception that inalu raises on purpose."""


class InvalidArgument(InaluError, ValueError):
    """An argument breaks a rule; raised before any work is done."""


class InvalidData(InaluError, ValueError):
    """Data or a file cannot be used as it is: empty, ragged, not finite, of an unknown format."""


class MissingExtra(InaluError, ImportError):
    """An optional dependency is needed and not installed."""


class StoreError(InaluError, OSError):
    """A results store cannot be read or written."""


def invalid(argument: str, rule: str, got: object, fix: str = "") -> InvalidArgument:
    """Return the exception for one bad argument, in the one wording that all rooms use.

    Examples
    --------
    >>> print(invalid("omega", "must be positive or None", -1, fix="omega=20.0 is the paper's"))
    omega must be positive or None; got -1. omega=20.0 is the paper's.
    """
    text = f"{argument} {rule}; got {got!r}."
    return InvalidArgument(f"{text} {fix}." if fix else text)


def check_choice(argument: str, value: object, allowed: Iterable[str]) -> None:
    """Raise InvalidArgument unless ``value`` is one of the ``allowed`` names; suggest the nearest.

    Examples
    --------
    >>> check_choice("gate", "vector", ["vector", "matrix"])
    >>> check_choice("gate", "vektor", ["vector", "matrix"])
    Traceback (most recent call last):
        ...
    inalu.errors.InvalidArgument: gate must be one of 'vector', 'matrix'; got 'vektor'. Did you mean 'vector'?
    """
    names = list(allowed)
    if value in names:
        return
    text = f"{argument} must be one of {', '.join(map(repr, names))}; got {value!r}."
    near = difflib.get_close_matches(str(value), names, n=1)
    raise InvalidArgument(f"{text} Did you mean {near[0]!r}?" if near else text)


def require_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one sentence which extra brings it.

    Raises
    ------
    MissingExtra
        When ``module`` is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A package that is installed but broken must not be reported as missing.
        name = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != name:
            raise
        raise _missing(name, extra) from None


def load(module: str) -> ModuleType:
    """Import one of our own modules; an optional package that it misses is reported as by `require_extra`.

    Raises
    ------
    MissingExtra
        When a package of ``EXTRAS`` is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise _missing(name, EXTRAS[name]) from None


def _missing(name: str, extra: str) -> MissingExtra:
    message = f"this needs {name}, which is not installed: pip install 'inalu[{extra}]'"
    return MissingExtra(message, name=name)
