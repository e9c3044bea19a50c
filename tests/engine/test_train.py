"""train(): the same bits whatever the threads and the company, one member's ruin, Ctrl-C, and what is streamed."""

import os
import signal
import threading
from time import monotonic, sleep

import numpy as np
import pytest

import inalu
from inalu.engine.network import Network
from inalu.engine.plan import ArraySource, Member, Plan, TaskSource
from inalu.engine.recipe import AUTHORS_CODE, PAPER, Reinitialization
from inalu.engine.result import Status
from inalu.engine.train import train
from inalu.tasks import parse_task

FAST = pytest.mark.parametrize("backend", ["cpu", "stacked"])
TASKS = [parse_task(f"{o}; inputs=2; U(-2,2) -> U(-10,-5)") for o in ("mul", "div")]
RESTARTS = Reinitialization(every=2, window=20, above=0.0, tolerance=1e6)
RECIPES = {
    "paper": PAPER.but(epochs=8, reinitialization=RESTARTS),
    "authors": AUTHORS_CODE.but(epochs=8, reinitialization=RESTARTS),
}


def population(count, rows=640, cells=("inalu-independent", "inalu-shared", "nalu-matrix")):
    return [
        Member(network=Network(cells[n % len(cells)], (2, 1)), source=TaskSource(TASKS[n % 2], n % 3, rows), seed=n)
        for n in range(count)
    ]  # fmt: skip


def same(one, other):
    assert one.restarts == other.restarts
    assert one.status is other.status
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one.loss, other.loss)


@FAST
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_bits_do_not_depend_on_threads_order_or_company(backend, recipe):
    members = population(20)
    one = train(Plan(members=members, recipe=recipe), backend=backend, threads=1)
    two = train(Plan(members=members, recipe=recipe), backend=backend, threads=2)
    order = np.random.default_rng(0).permutation(20)[:13]
    some = train(Plan(members=[members[n] for n in order], recipe=recipe), backend=backend, threads=2)
    assert one[0].restarts
    for a, b in zip(one, two, strict=True):
        same(a, b)
    for n, result in zip(order, some, strict=True):
        same(one[n], result)


@FAST
@pytest.mark.parametrize("widths", [(2, 1), (80, 2, 1)])
def test_a_member_that_overflows_harms_no_other(backend, widths):
    rng = np.random.default_rng(1)
    x = rng.uniform(1, 2, (128, widths[0]))
    healthy = ArraySource(x, x[:, 0] * x[:, 1], name="healthy")
    # Beyond the largest number of the dtype after one product, whatever the weights.
    wild = ArraySource(x * 1e30, x[:, 0] * 1e38, name="wild")
    recipe = PAPER.but(epochs=6, clip=None, optimizer=inalu.Adam(learning_rate=0.5))
    network = Network("nalu-vector", widths)
    good = [Member(network=network, source=healthy, seed=n) for n in range(5)]
    bad = Member(network=network, source=wild, seed=9)
    alone = train(Plan(members=good, recipe=recipe), backend=backend)
    mixed = train(Plan(members=[*good[:2], bad, *good[2:]], recipe=recipe), backend=backend)
    assert mixed[2].status is not Status.FINISHED
    for result, n in zip(alone, (0, 1, 3, 4, 5), strict=True):
        same(result, mixed[n])


@pytest.mark.parametrize("backend", ["cpu", "stacked", "reference"])
def test_results_and_progress_are_streamed(backend):
    members = population(4, rows=128)
    seen, steps = [], []
    training = train(
        Plan(members=members, recipe=PAPER.but(epochs=2)),
        backend=backend,
        on_result=seen.append,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert {id(r) for r in seen} == {id(r) for r in training}
    assert [r.member for r in training] == members
    assert steps[-1] == (16, 16)
    assert [d for d, _ in steps] == sorted(d for d, _ in steps)


@pytest.fixture
def hears_ctrl_c():
    # What runs in the background of a shell script inherits a SIGINT that is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("backend", ["cpu", "stacked", "reference"])
def test_ctrl_c_returns_what_is_finished(backend):
    # A step a row: one member has a row and ends after a hundred steps, which take even the slowest backend
    # a second; the others have thousands of steps for each of its own.
    quick = population(1, rows=1, cells=("inalu-independent",))
    endless = population(2, rows=64_000, cells=("inalu-shared",))
    recipe = PAPER.but(batch=1, epochs=100, reinitialization=None)
    first = threading.Event()

    def interrupt():
        first.wait(60)
        sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    killer = threading.Thread(target=interrupt, daemon=True)
    killer.start()
    began = monotonic()
    training = train(
        Plan(members=[*quick, *endless], recipe=recipe),
        backend=backend,
        threads=1 if backend == "reference" else 2,
        on_result=lambda _: first.set(),
    )
    assert training.interrupted
    assert [r.member for r in training] == quick
    assert monotonic() - began < 60


class TestRefusals:
    """One sentence before any work: what, the rule, what was given."""

    def plan(self, **changes):
        return Plan(members=population(1, rows=64), recipe=PAPER.but(epochs=1), **changes)

    def test_an_unknown_backend(self):
        with pytest.raises(inalu.InvalidArgument, match=r"backend must be .*'cpu'.*; got 'gpu9'"):
            train(self.plan(), backend="gpu9")

    @pytest.mark.parametrize("threads", [0, -1])
    def test_threads(self, threads):
        with pytest.raises(inalu.InvalidArgument, match=f"threads must be at least 1; got {threads}"):
            train(self.plan(), threads=threads)

    def test_an_explicit_backend_never_gives_way(self):
        plan = Plan(
            members=[Member(network=Network("nau", (2, 1)), source=TaskSource(TASKS[0], 0, 64))],
            recipe=PAPER.but(epochs=1),
        )
        with pytest.raises(
            inalu.InvalidArgument, match=r"cpu backend has no path for the cell 'nau'.*stacked"
        ):
            train(plan, backend="cpu")
        assert train(plan)[0].provenance.backend == "stacked"

    @pytest.mark.parametrize("backend", ["cpu", "stacked", "reference"])
    def test_more_than_memory_allows(self, backend):
        member = Member(network=Network("inalu-independent", (2, 1)), source=TaskSource(TASKS[0], 0, 10**12))
        with pytest.raises(inalu.InvalidArgument, match=r"needs about [\d,.]+ GiB of memory, most of it for"):
            train(Plan(members=[member], recipe=PAPER), backend=backend)
