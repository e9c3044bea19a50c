"""Random numbers that are a function: (key, index) -> number, the same on every machine, for ever.

Word ``i`` of a stream is word ``i mod 4`` of Philox4x64-10 at counter ``i div 4``, under a 128-bit key that
is a hash of the stream's name. Any slice of a stream can be drawn alone, in any order, by any number of
threads. One number uses one word, through the inverse distribution functions of `inalu.tasks.transforms`.

A library's ``normal()`` would not do, since its stream may change between versions. Of NumPy only the bits of
`numpy.random.Philox` are used: NumPy guarantees their stream for a fixed key, and a test holds them against
the published vectors of Philox.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from inalu.errors import invalid
from inalu.tasks import transforms
from inalu.tasks.transforms import Floats as Floats

Shape: TypeAlias = int | tuple[int, ...]

# Transforms run over pieces of this many numbers, so that temporaries stay in the second-level cache.
_PIECE = 8192


@dataclass(frozen=True, slots=True)
class Key:
    """The name of a stream of random numbers; made by `key_of`.

    Attributes
    ----------
    text : str
        The parts as a JSON list. Two keys with the same text are the same stream.
    """

    text: str

    @property
    def number(self) -> int:
        """The 128-bit key of Philox: a hash of the text."""
        digest = hashlib.blake2b(self.text.encode(), digest_size=16, person=b"inalu.random.1").digest()
        return int.from_bytes(digest, "little")


def key_of(*parts: str | int | float | Key) -> Key:
    """Return the stream that ``parts`` name; equal parts give equal streams, and 1 and 1.0 are equal.

    A key among the parts stands for its own parts.

    Raises
    ------
    InvalidArgument
        When a part is neither text nor a finite number.

    Examples
    --------
    >>> key_of("train", "U(-1,1)", 10, 42).text
    '["train", "U(-1,1)", 10, 42]'
    >>> key_of(key_of("weights", 7), "gate") == key_of("weights", 7, "gate")
    True
    """
    flat: list[str | int | float] = []
    for part in parts:
        flat.extend(json.loads(part.text) if isinstance(part, Key) else [_canonical(part)])
    return Key(json.dumps(flat))


def _canonical(part: str | int | float) -> str | int | float:
    if isinstance(part, str):
        return str(part)
    if isinstance(part, float | np.floating) and math.isfinite(part):
        return int(part) if float(part).is_integer() else float(part)
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return operator.index(part)
    raise invalid("a part of a stream's name", "must be text or a finite number", part)


def bits(key: Key, start: int, count: int) -> npt.NDArray[np.uint64]:
    """Return words ``start`` to ``start + count`` of a stream, 64 random bits each.

    Examples
    --------
    >>> key = key_of("example")
    >>> bool((bits(key, 0, 9)[5:] == bits(key, 5, 4)).all())
    True
    """
    start, count = operator.index(start), operator.index(count)
    if start < 0:
        raise invalid("start", "must not be negative", start)
    if count < 0:
        raise invalid("count", "must not be negative", count)
    block, skip = divmod(start, 4)
    # NumPy counts up before it draws, hence the 1.
    source = np.random.Philox(key=key.number, counter=(block - 1) % 2**256)
    words: npt.NDArray[np.uint64] = source.random_raw(skip + count)
    return words[skip:]


def unit(words: npt.NDArray[np.uint64]) -> Floats:
    """Turn words into numbers of the open interval (0, 1): the odd multiples of 2**-53.

    They are symmetric about one half, exact in float64, and neither 0 nor 1/2 nor 1 is among them.
    """
    odd = ((words >> np.uint64(12)) << np.uint64(1)) | np.uint64(1)
    return odd.astype(np.float64) * 2.0**-53


def fill(
    out: npt.NDArray[Any], key: Key, quantile: Callable[[Floats], npt.NDArray[Any]], *, start: int = 0
) -> None:
    """Fill ``out``, in C order, with ``quantile`` of the stream's numbers in (0, 1) from index ``start`` on.

    Parameters
    ----------
    out : ndarray
        C-contiguous; modified in place. Values are rounded to its dtype.
    quantile : callable
        An inverse distribution function; it gets pieces of one dimension and may write over them.
    """
    flat = out.reshape(-1)
    if flat.size and not np.shares_memory(flat, out):
        raise invalid("out", "must be C-contiguous", out.strides)
    for first in range(0, flat.size, _PIECE):
        piece = flat[first : first + _PIECE]
        piece[:] = quantile(unit(bits(key, start + first, piece.size)))


def _filled(key: Key, shape: Shape, quantile: Callable[[Floats], Floats], start: int) -> Floats:
    out = np.empty(shape, np.float64)
    fill(out, key, quantile, start=start)
    return out


def uniform(key: Key, shape: Shape, low: float = 0.0, high: float = 1.0, *, start: int = 0) -> Floats:
    """Draw from the uniform distribution between ``low`` and ``high``.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the result, filled in C order.
    start : int
        Index of the first number in the stream; row 100 of an array with I columns begins at ``100 * I``.

    Examples
    --------
    >>> key = key_of("example")
    >>> whole = uniform(key, (6, 3), -1.0, 1.0)
    >>> bool((whole[2:4] == uniform(key, (2, 3), -1.0, 1.0, start=6)).all())
    True
    """
    return _filled(key, shape, lambda u: transforms.uniform_quantile(u, low, high), start)


def normal(key: Key, shape: Shape, mean: float = 0.0, std: float = 1.0, *, start: int = 0) -> Floats:
    """Draw from the normal distribution; arguments as in `uniform`.

    Examples
    --------
    >>> normal(key_of("example"), (2, 3)).shape
    (2, 3)
    """
    return _filled(key, shape, lambda u: mean + std * transforms.normal_quantile(u), start)


def truncated_normal(key: Key, shape: Shape, low: float, high: float, *, start: int = 0) -> Floats:
    """Draw from the normal distribution whose mean ± 3 standard deviations are the bounds, cut off there.

    Examples
    --------
    >>> x = truncated_normal(key_of("example"), 1000, -3.0, 3.0)
    >>> bool(abs(x).max() <= 3)
    True
    """
    return _filled(key, shape, lambda u: transforms.truncated_normal_quantile(u, low, high), start)


def exponential(key: Key, shape: Shape, scale: float = 1.0, *, start: int = 0) -> Floats:
    """Draw from the exponential distribution with mean ``scale``; arguments as in `uniform`.

    Examples
    --------
    >>> bool((exponential(key_of("example"), 1000, 0.2) > 0).all())
    True
    """
    return _filled(key, shape, lambda u: transforms.exponential_quantile(u, scale), start)


def integers(key: Key, shape: Shape, high: int, *, start: int = 0) -> npt.NDArray[np.int64]:
    """Draw whole numbers from 0 to ``high - 1``, equally likely up to ``high`` / 2**52.

    Examples
    --------
    >>> sorted(set(integers(key_of("example"), 100, 3).tolist()))
    [0, 1, 2]
    """
    if not 1 <= high <= 2**32:
        raise invalid("high", "must lie between 1 and 2**32", high)
    # The largest number below 1 times `high` can round up to `high` itself.
    draws = _filled(key, shape, lambda u: np.minimum(np.floor(u * float(high)), high - 1.0), start)
    return draws.astype(np.int64)


def permutation(key: Key, count: int) -> npt.NDArray[np.int64]:
    """Return the numbers 0 to ``count - 1`` in random order.

    Examples
    --------
    >>> sorted(permutation(key_of("example"), 4).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(bits(key, 0, count), kind="stable").astype(np.int64)
