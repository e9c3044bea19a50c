"""The keeper: nothing waits for long, and an error comes to whoever trains."""

import threading
import time
from types import SimpleNamespace

import pytest

from inalu.experiments import keeper as module
from inalu.experiments.catalog import EXPERIMENTS, Selection
from inalu.experiments.keeper import Keeper


@pytest.fixture
def jobs(tiny):
    """Two jobs for each of four groups of inputs."""
    selection = Selection(
        seeds=(1, 2), rows=640, operations=("add", "mul"), distributions=("U(-1,1)", "E(0.2)"),
        models=("inalu-shared",),
    )  # fmt: skip
    cases = EXPERIMENTS["exp1"].runs(tiny, selection)
    return sorted((case.job for case in cases), key=lambda job: str(module._needs_of(job)))


class Watched:
    """An evaluator that takes a while for each result."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.prepared, self.batches = [], []

    def prepare(self, training):
        self.prepared.append(training)

    def evaluate(self, results):
        began = time.thread_time()
        while time.thread_time() - began < self.seconds * len(results):
            pass
        self.batches.append(len(results))
        return [f"record of {result.member.tag.seed}" for result in results]


def result_of(job):
    return SimpleNamespace(member=SimpleNamespace(tag=job))


@pytest.fixture
def watched(monkeypatch):
    def make(seconds=0.0):
        evaluator = Watched(seconds)
        monkeypatch.setattr(module, "Evaluator", lambda: evaluator)
        return evaluator

    return make


def wait_until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


def test_sets_are_made_ahead_but_not_all_of_them(watched, jobs):
    evaluator = watched()
    keeper = Keeper(lambda records: None, jobs)
    wait_until(lambda: len(evaluator.prepared) == 2)
    time.sleep(0.05)
    assert evaluator.prepared == [jobs[0], jobs[2]]
    # The second group is reached, so the third is made, and the fourth waits.
    keeper.put(result_of(jobs[3]))
    wait_until(lambda: len(evaluator.prepared) == 3)
    time.sleep(0.05)
    keeper.close()
    assert evaluator.prepared == [jobs[0], jobs[2], jobs[4]]


def test_networks_that_need_other_logarithms_are_another_group(watched, tiny):
    """An iNALU's are of max(|x|, ε), a NALU's of |x| + ε."""
    evaluator = watched()
    selection = Selection(
        seeds=(1,), rows=640, operations=("add",), distributions=("U(-1,1)",),
        models=("nalu-matrix", "inalu-shared", "inalu-independent"),
    )  # fmt: skip
    jobs = [case.job for case in EXPERIMENTS["exp1"].runs(tiny, selection)]
    keeper = Keeper(lambda records: None, jobs)
    wait_until(lambda: len(evaluator.prepared) == 2)
    keeper.close()
    assert evaluator.prepared == jobs[:2]


def test_slow_results_are_kept_one_by_one(watched, jobs):
    evaluator = watched(0.2)
    kept = []
    keeper = Keeper(kept.extend, jobs)
    for job in jobs[:4]:
        keeper.put(result_of(job))
    keeper.close()
    assert keeper.error is None
    assert [job for job, _ in kept] == jobs[:4]
    # All that waited at first, and then no more than fit into a fraction of a second.
    assert all(size == 1 for size in evaluator.batches[1:])


def test_a_training_that_is_faster_than_evaluation_waits(watched, jobs):
    """Or the results of a long run would wait for longer and longer, and a killed process would lose more."""
    watched(0.05)
    keeper = Keeper(lambda records: None, jobs)
    longest = 0
    for _ in range(3):
        for job in jobs:
            keeper.put(result_of(job))
            longest = max(longest, len(keeper._waiting))
    keeper.close()
    assert keeper.error is None
    # 0.3 s hold six of them; before the first was evaluated nobody knew.
    assert longest <= module.FIRST_BATCH


def test_a_training_that_waits_hears_of_an_error(watched, jobs):
    evaluator = watched(0.2)
    evaluator.evaluate = lambda results: 1 / 0
    keeper = Keeper(lambda records: None, jobs)
    with keeper._changed:
        # As many as may wait; the thread looks at them as soon as the next one does.
        keeper._waiting.extend(result_of(jobs[0]) for _ in range(2 * module.FIRST_BATCH))
        keeper._changed.notify_all()
        with pytest.raises(ZeroDivisionError):
            keeper.put(result_of(jobs[0]))
    keeper.close()


def test_an_error_ends_the_training(watched, jobs):
    watched()

    def full(records):
        raise OSError("no room")

    keeper = Keeper(full, jobs)
    keeper.put(result_of(jobs[0]))
    keeper.close()
    with pytest.raises(OSError, match="no room"):
        keeper.put(result_of(jobs[1]))


def test_ctrl_c_while_training_waits_loses_nothing(watched, jobs, monkeypatch):
    watched()
    kept = []
    keeper = Keeper(kept.extend, jobs)

    wait_for = keeper._changed.wait_for

    def interrupted(condition):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return wait_for(condition)

    with monkeypatch.context() as patched:
        patched.setattr(keeper._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keeper.put(result_of(jobs[0]))
    keeper.close()
    assert [job for job, _ in kept] == jobs[:1]
