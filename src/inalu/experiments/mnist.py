"""A classifier of images with layers of this package, in plain PyTorch, and the reader of MNIST's files.

The file format is Yann LeCun's IDX (http://yann.lecun.com/exdb/mnist/): two zero bytes, the type (8: bytes),
the number of dimensions, their sizes as big-endian 32-bit numbers, then the bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Member, draw_weights
from inalu.engine.recipe import Adam, Recipe
from inalu.engine.result import library_versions
from inalu.errors import InvalidArgument, InvalidData
from inalu.experiments.job import Classification
from inalu.experiments.record import Record

#: The version of `train`; part of every record's key.
ALGORITHM = 1

_FILES = (
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
)  # fmt: skip
_LARGEST = 1 << 30


@dataclass(frozen=True, eq=False)
class Images:
    """Images as float32 rows [B, pixels] between 0 and 1, and their classes [B]."""

    train: NDArray[np.float32]
    train_classes: NDArray[np.int64]
    test: NDArray[np.float32]
    test_classes: NDArray[np.int64]
    name: str


@lru_cache(maxsize=1)
def load(folder: str) -> Images:
    """Read the four IDX files of MNIST from a folder, plain or compressed with gzip.

    Raises
    ------
    InvalidData
        When a file is missing, cut short or of another kind.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InvalidData(f"there is no folder {folder!r} with the files of MNIST.")
    digest = hashlib.blake2b(digest_size=8)
    arrays = []
    for name in _FILES:
        content = _content(place, name)
        digest.update(content)
        arrays.append(read_idx(content, name))
    train, train_classes, test, test_classes = arrays
    for images, classes, name in ((train, train_classes, "train"), (test, test_classes, "t10k")):
        if images.ndim != 3 or classes.ndim != 1 or len(images) != len(classes) or not len(images):
            raise InvalidData(f"the images and labels of {name!r} in {folder!r} do not belong together.")
        if classes.max() > 9:
            raise InvalidData(f"the labels of {name!r} in {folder!r} must lie between 0 and 9.")
    return Images(
        _rows(train), train_classes.astype(np.int64), _rows(test), test_classes.astype(np.int64),
        f"images {digest.hexdigest()}",
    )  # fmt: skip


def read_idx(content: bytes, name: str) -> NDArray[np.uint8]:
    """Return the array of an IDX file of bytes.

    Raises
    ------
    InvalidData
        When it is no such file, or has another length than it says.
    """
    dimensions = content[3] if len(content) >= 4 else 0
    head = 4 + 4 * dimensions
    if content[:3] != b"\0\0\x08" or not 1 <= dimensions <= 3 or len(content) < head:
        raise InvalidData(f"{name!r} is not an IDX file of bytes.")
    shape = tuple(int(size) for size in np.frombuffer(content[4:head], ">u4"))
    if int(np.prod(shape, dtype=np.float64)) != len(content) - head:
        raise InvalidData(f"{name!r} says that it holds {shape}, and holds {len(content) - head} bytes.")
    return np.frombuffer(content[head:], np.uint8).reshape(shape)


def run(job: Classification) -> Record:
    """Train a job on the images in its folder, and return its record."""
    from inalu.engine.reference import one_thread

    # So that the result does not depend on the machine; the layers are too small for more.
    with one_thread():
        return train(job, load(job.folder))


def train(job: Classification, images: Images) -> Record:
    """Train a classifier and measure its accuracy on the test images.

    It stops when the loss is no longer finite, as the text says of the original NALU.
    """
    import torch
    from torch.nn import functional

    recipe = job.recipe
    if not isinstance(recipe, Recipe) or not isinstance(recipe.optimizer, Adam):
        raise InvalidArgument("mnist is trained with Adam, as in the recipe PAPER.")
    if images.train.shape[1] != job.widths[0]:
        raise InvalidData(f"the images have {images.train.shape[1]} pixels, the network {job.widths[0]}.")
    module = _network(job, recipe)
    constants = recipe.optimizer
    optimizer = torch.optim.Adam(
        module.parameters(), lr=constants.learning_rate, betas=(constants.beta1, constants.beta2),
        eps=constants.epsilon,
    )  # fmt: skip
    x, classes = torch.from_numpy(images.train), torch.from_numpy(images.train_classes)
    began = perf_counter()
    losses: list[float] = []
    steps, finite = 0, True
    for part in islice(_batches(len(x), recipe.batch), job.steps):
        loss = functional.cross_entropy(module(x[part]), classes[part])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if recipe.clip is not None:
            torch.nn.utils.clip_grad_value_(module.parameters(), recipe.clip)
        optimizer.step()
        losses.append(float(loss.detach()))
        steps += 1
        finite = bool(np.isfinite(losses[-1])) and all(bool(p.isfinite().all()) for p in module.parameters())
        if not finite:
            break
    with torch.no_grad():
        outputs = module(torch.from_numpy(images.test)).numpy()
    right = np.isfinite(outputs).all(axis=1) & (outputs.argmax(axis=1) == images.test_classes)
    epoch = -(-len(x) // recipe.batch)
    return Record(
        specification=job.specification("torch", ALGORITHM),
        status="finished" if finite else "non_finite",
        loss=tuple(float(np.mean(losses[first : first + epoch])) for first in range(0, len(losses), epoch)),
        steps=steps,
        seconds=perf_counter() - began,
        threads=torch.get_num_threads(),
        versions=library_versions(),
        measures={"accuracy": float(right.mean()), "steps": float(steps)},
    )


def _network(job: Classification, recipe: Recipe):  # type: ignore[no-untyped-def]
    network = Network(job.model, job.widths)
    # Initial weights are a function of seed and task, as everywhere; only the sizes of the rows matter.
    rows = ArraySource(
        np.zeros((1, job.widths[0])), np.zeros((1, job.widths[-1])), name=f"classification; {job.data}"
    )
    member = Member(network=network, source=rows, seed=job.seed)
    return network.build(draw_weights(member, recipe.law, 0)[0].astype(np.float32))


def _batches(rows: int, batch: int) -> Iterable[slice]:
    while True:
        for first in range(0, rows, batch):
            yield slice(first, min(rows, first + batch))


def _rows(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(images.reshape(len(images), -1), np.float32) / np.float32(255)


def _content(folder: Path, name: str) -> bytes:
    for path in (folder / name, folder / f"{name}.gz", folder / name.replace("-idx", ".idx")):
        if path.is_file():
            break
    else:
        raise InvalidData(f"there is no {name!r} (or {name + '.gz'!r}) in {str(folder)!r}.")
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as stream:
            content = stream.read(_LARGEST)
            assert isinstance(content, bytes)
            return content
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidData(f"{str(path)!r} cannot be read: {error}.") from None
