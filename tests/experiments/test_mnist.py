"""The classifier and the reader of its images; scikit-learn's digits stand for MNIST."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from inalu import PAPER
from inalu.engine.recipe import Adam
from inalu.errors import InvalidArgument, InvalidData
from inalu.experiments import mnist
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.job import Classification
from inalu.experiments.run import reproduce
from inalu.layers.laws import Law

pytest.importorskip("torch")
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path):
    """A folder with digits of 8 × 8 as IDX files, one of them compressed."""
    datasets = pytest.importorskip("sklearn.datasets")
    digits = datasets.load_digits()
    pixels, classes = digits.images * 15, digits.target
    parts = (pixels[:1500], classes[:1500], pixels[1500:], classes[1500:])
    for name, part in zip(FILES, parts, strict=True):
        content = idx(np.asarray(part))
        if name == FILES[0]:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (tmp_path / name).write_bytes(content)
    mnist.load.cache_clear()
    return tmp_path


@pytest.fixture
def job(folder):
    # PAPER's initial weights (0, -1, 1) add up all pixels, and need far more steps than a test may take.
    recipe = PAPER.but(
        name="mnist", regularization=None, reinitialization=None, optimizer=Adam(learning_rate=0.01),
        law=Law.around(0, 0, 0, std=0.5),
    )  # fmt: skip
    name = mnist.load(str(folder)).name
    return Classification(
        model="nalu-matrix", widths=(64, 16, 16, 10), seed=100, recipe=recipe, steps=400, data=name,
        folder=str(folder),
    )  # fmt: skip


def test_digits_are_learned_and_the_same_again(job):
    first, second = mnist.run(job), mnist.run(job)
    assert first.status == "finished"
    assert first.measures["accuracy"] > 0.6
    assert first.measures["accuracy"] == second.measures["accuracy"]
    assert first.loss[-1] < first.loss[0]
    assert first.steps == 400
    assert mnist.run(replace(job, seed=101, steps=20)).loss != first.loss[:1]


def test_a_run_that_is_no_longer_finite_stops_and_says_so(job):
    images = mnist.load(job.folder)
    broken = images.train.copy()
    broken[640] = np.nan
    record = mnist.train(job, replace(images, train=broken))
    assert record.status == "non_finite"
    assert record.steps == 11
    assert 0 <= record.measures["accuracy"] <= 1


def test_images_are_read_as_they_are(folder):
    images = mnist.load(str(folder))
    assert images.train.shape == (1500, 64)
    assert images.test.shape == (297, 64)
    assert images.train.dtype == np.float32
    assert 0 <= images.train.min() < images.train.max() <= 1
    assert images.name.startswith("images ")


def test_bad_files_are_refused_in_one_sentence(folder):
    good = (folder / FILES[1]).read_bytes()
    for content, words in (
        (good[:-1], "and holds"),
        (b"PK" + good, "not an IDX file"),
        (b"", "not an IDX file"),
        (idx(np.zeros(7)), "do not belong together"),
        (idx(np.full(1500, 11)), "between 0 and 9"),
        (bytes([0, 0, 8, 1, 255, 255, 255, 255]), "and holds"),
    ):
        (folder / FILES[1]).write_bytes(content)
        mnist.load.cache_clear()
        with pytest.raises(InvalidData, match=words):
            mnist.load(str(folder))
    (folder / FILES[1]).unlink()
    with pytest.raises(InvalidData, match="there is no 'train-labels"):
        mnist.load(str(folder))
    (folder / f"{FILES[1]}.gz").write_bytes(b"not gzip")
    with pytest.raises(InvalidData, match="cannot be read"):
        mnist.load(str(folder))
    with pytest.raises(InvalidData, match="no folder"):
        mnist.load(str(folder / "missing"))


def test_the_experiment_is_run_and_kept(folder, tmp_path, monkeypatch):
    from inalu.experiments.catalog import images

    monkeypatch.setattr(images, "WIDTHS", replace(images.WIDTHS, value=(64, 16, 16, 10)))
    monkeypatch.setattr(images, "STEPS", replace(images.STEPS, value=20))
    selection = Selection(folder=str(folder), models=("inalu-independent",))
    store = tmp_path / "runs.sqlite"
    answer = reproduce(["mnist"], treatments()["PAPER"], selection, store=store)
    (row,) = answer.experiments[0].measures["accuracies"]
    assert row["steps"] == 20
    assert answer.backend == "torch"
    again = reproduce(["mnist"], treatments()["PAPER"], selection, store=store)
    assert again.experiments[0].measures["accuracies"] == [row]


def test_it_needs_its_data_and_an_adam():
    with pytest.raises(InvalidArgument, match="--data"):
        EXPERIMENTS["mnist"].runs(treatments()["PAPER"])
