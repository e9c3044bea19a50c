"""The runner: what is missing is run, what has ended is kept, and plans stay small."""

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from inalu.engine.search import solve
from inalu.errors import InvalidArgument, StoreError
from inalu.experiments import keeper
from inalu.experiments import run as module
from inalu.experiments.catalog import EXPERIMENTS, Selection, treatments
from inalu.experiments.evaluate import MEMORY, Evaluator
from inalu.experiments.run import Options, chunks, reproduce, train_runs
from inalu.experiments.store import Store
from inalu.tasks import Task


@pytest.fixture
def trained(monkeypatch):
    """Count the problems that are trained."""
    counted = []

    def counting(problems, *arguments, **options):
        counted.extend(problem.tag for problem in problems)
        return solve(problems, *arguments, **options)

    monkeypatch.setattr(module, "solve", counting)
    return counted


def test_the_same_command_again_does_only_what_is_missing(tiny, small, store_path, trained):
    seen = []
    options = Options(progress=lambda *values: seen.append(values))
    first = reproduce(["exp1"], tiny, replace(small, seeds=(100,)), store=store_path, options=options)
    assert len(trained) == 3
    assert first.experiments[0].runs == 4
    assert all(share <= 1 + 1e-9 for *_, share in seen)
    second = reproduce(["exp1"], tiny, small, store=store_path, options=options)
    assert len(trained) == 6
    assert second.experiments[0].runs == 8
    third = reproduce(["exp1"], tiny, small, store=store_path)
    assert len(trained) == 6
    assert third.to_json()["experiments"][0]["settings"] == second.to_json()["experiments"][0]["settings"]
    assert {e.setting.model for e in third.experiments[0].entries} == set(EXPERIMENTS["exp1"].models.value)


def test_both_gates_show_one_record(tiny, small, store_path):
    entries = reproduce(["exp1"], tiny, small, store=store_path).experiments[0].entries
    keys = {
        m: [e.record.key for e in entries if e.setting.model == m] for m in ("nalu-matrix", "nalu-vector")
    }
    assert keys["nalu-matrix"] == keys["nalu-vector"]


def test_an_experiment_uses_the_runs_of_another(tiny, small, store_path, trained):
    reproduce(["exp1"], tiny, replace(small, models=("inalu-independent",)), store=store_path)
    before = len(trained)
    reproduce(["ablation"], tiny, small, store=store_path)
    # Seven of eight variants are new: the complete one is experiment 1's.
    assert len(trained) - before == 7 * 2
    with Store.read(store_path) as store:
        complete = [e for e in store.entries("ablation") if e.setting.model.endswith("complete")]
    assert len(complete) == 2


def test_a_search_is_run_as_any_recipe(small, store_path):
    selection = replace(small, models=("inalu-independent",), rows=2000)
    answer = reproduce(["exp1"], treatments()["WARM"], selection, store=store_path)
    assert answer.recipe == "WARM"
    assert [entry.record.exact_formula for entry in answer.experiments[0].entries] == [True, True]


def test_results_are_kept_while_others_are_trained(tiny, small, store_path, monkeypatch):
    """With room for one result, each is stored before the one after the next may be handed over."""
    monkeypatch.setattr(module, "PLAN_MEMBERS", 1)
    monkeypatch.setattr(keeper, "BATCH", 1)
    events = []
    add, put = Store.add, keeper.Keeper.put

    def watched_add(store, entries):
        add(store, entries)
        events.append("kept")

    def watched_put(self, result):
        put(self, result)
        events.append("handed over")

    monkeypatch.setattr(Store, "add", watched_add)
    monkeypatch.setattr(keeper.Keeper, "put", watched_put)
    reproduce(["exp1"], tiny, small, store=store_path)
    assert events.count("kept") == events.count("handed over") == 6
    for handed_over, place in enumerate(n for n, event in enumerate(events) if event == "handed over"):
        assert events[:place].count("kept") >= handed_over - 2


def test_plans_are_bounded_and_keep_shared_inputs_together(tiny, monkeypatch):
    selection = Selection(rows=640)
    jobs = [case.job for case in EXPERIMENTS["exp1"].runs(tiny, selection)]
    unique = list(dict.fromkeys(jobs))
    monkeypatch.setattr(module, "PLAN_MEMBERS", 100)
    plans = list(chunks(unique))
    assert sorted(map(id, (job for plan in plans for job in plan))) == sorted(map(id, unique))
    assert all(len(plan) <= 100 for plan in plans)
    keys = [{job.member().source.x_key for job in plan} for plan in plans]
    assert sum(map(len, keys)) == len(set().union(*keys)) == 70
    monkeypatch.setattr(module, "PLAN_BYTES", 4 * 640 * 2 * 3)
    assert max(len({job.member().source.x_key for job in plan}) for plan in chunks(unique)) == 3


def test_the_sets_of_a_plan_fit_the_evaluators_memory(tiny, monkeypatch):
    """Else they are made anew for each network, and results wait longer and longer."""
    # All for 64 rows instead of 64,000.
    monkeypatch.setattr(module, "PLAN_BYTES", module.PLAN_BYTES // 1000)
    evaluator = Evaluator(MEMORY // 1000)
    made = []
    draw = Task.draw_x
    monkeypatch.setattr(Task, "draw_x", lambda task, *which: made.append(which) or draw(task, *which))
    jobs = list(dict.fromkeys(case.job for case in EXPERIMENTS["exp4"].runs(tiny, Selection(rows=64))))
    plan = next(chunks(jobs))
    # One network on all of the plan's rows, then the next, as the engine trains them.
    for job in sorted(plan, key=lambda job: str(job.network)):
        evaluator.prepare(job)
    inputs = {job.member().source.x_key for job in plan}
    assert len(inputs) > 1
    assert len(made) == 2 * len(inputs)


def test_what_was_asked_for_and_is_not_there_is_named(tiny, small, store_path):
    both = replace(small, distributions=("U(-1,1)", "U(0,7)"))
    with pytest.raises(InvalidArgument, match=r"no run of exp1 has the training distribution 'U\(0,7\)'"):
        reproduce(["exp1"], tiny, both, store=store_path)
    with pytest.raises(InvalidArgument, match="no run of challenges has the operation 'sqrt'"):
        reproduce(["challenges"], tiny, Selection(operations=("add", "sqrt")), store=store_path)
    with pytest.raises(InvalidArgument, match=r"training distributions are U\(-1,1\), U\(-5,5\)"):
        reproduce(["exp1"], tiny, replace(small, distributions=("U(0,7)",)), store=store_path)
    assert not store_path.exists()


def test_plans_hold_one_recipe(tiny):
    jobs = [c.job for c in EXPERIMENTS["regularization"].runs(tiny, Selection(seeds=(1,), rows=640))]
    assert all(len({job.recipe for job in plan}) == 1 for plan in chunks(jobs))


def test_ctrl_c_keeps_what_has_ended(tiny, small, store_path, monkeypatch):
    def interrupted(problems, recipe, *, on_result, **options):
        training = solve(problems[:2], recipe, on_result=on_result, **options)
        return replace(training, interrupted=True)

    monkeypatch.setattr(module, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["exp1"], tiny, small, store=store_path)
    with Store.write(store_path) as store:
        assert len(store.keys()) == 2


def test_an_error_of_the_store_ends_the_training(tiny, small, store_path, monkeypatch):
    def full(self, entries):
        raise StoreError("there is no room left")

    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(StoreError, match="no room left"):
        reproduce(["exp1"], tiny, small, store=store_path)
    with Store.write(store_path) as store:
        assert store.keys() == set()


def test_nothing_to_run_is_said_before_any_work(tiny, small, store_path):
    notes = []
    options = Options(note=notes.append)
    with pytest.raises(InvalidArgument, match="no run is left"):
        reproduce(["exp3"], tiny, replace(small, distributions=("E(1)",)), store=store_path, options=options)
    assert notes == []
    elsewhere = replace(small, distributions=("E(7)",))
    with pytest.raises(InvalidArgument, match="no run is left"):
        reproduce(["exp3", "exp4"], tiny, elsewhere, store=store_path, options=options)
    with pytest.raises(InvalidArgument, match="needs --data"):
        reproduce(["mnist"], tiny, small, store=store_path)
    assert not store_path.exists()
    assert "exp3 has no run" in notes[0]


def test_all_leaves_out_what_cannot_be_run(tiny, small):
    notes = []
    planned = module._plans(["all"], tiny, small, Options(note=notes.append))
    assert any(note.startswith("mnist is left out") for note in notes)
    assert "exp1" in {experiment.name for experiment, _ in planned}


def test_results_do_not_depend_on_how_they_are_cut(tiny, small, monkeypatch):
    jobs = list(dict.fromkeys(c.job for c in EXPERIMENTS["exp1"].runs(tiny, small)))

    def parameters():
        found = {}
        train_runs(jobs, Options(), lambda r: found.update({r.member.tag: r.parameters}), lambda share: None)
        return [found[job] for job in jobs]

    whole = parameters()
    monkeypatch.setattr(module, "PLAN_MEMBERS", 1)
    assert all((a == b).all() for a, b in zip(whole, parameters(), strict=True))


PROGRAM = """
import sys
from inalu import PAPER
from inalu.experiments.catalog import Selection, Treatment
from inalu.experiments.evaluate import MEMORY, Evaluator
from inalu.experiments.run import Options, reproduce
treatment = Treatment(name="tiny", about="", recipe=PAPER.but(name="tiny", epochs=1000, reinitialization=None))
selection = Selection(seeds=tuple(range(100, 112)), rows=6400, operations=("add", "div"),
                      distributions=("U(-1,1)", "E(0.2)"), models=("inalu-shared", "inalu-independent"))
done = -1
def progress(experiment, runs, total, share):
    global done
    if runs != done:
        done = runs
        print(runs, flush=True)
reproduce(["exp1"], treatment, selection, store=sys.argv[1], options=Options(progress=progress))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a signal of Unix")
def test_a_runner_that_is_killed_loses_nothing_that_was_kept(store_path):
    rng = random.Random(0)
    kept: set[str] = set()
    for attempt in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(store_path)], stdout=subprocess.PIPE, text=True
        )
        said = []
        # Killed moments after it has kept some more; after four attempts it may end.
        target = len(kept) + rng.randint(1, 16) if attempt < 4 else 10**9
        for line in process.stdout:
            said.append(int(line))
            if said[-1] >= target:
                time.sleep(rng.random() * 0.01)
                process.send_signal(signal.SIGKILL)
                break
        process.stdout.close()
        ended = process.wait()
        with Store.read(store_path) as store:
            now = store.keys()
            entries = store.entries()
        assert kept <= now
        assert len(now) >= max(said, default=0)
        assert len(entries) == len(now)
        assert all(e.record.formula is not None and len(e.record.loss) == 1000 for e in entries)
        kept = now
        if ended == 0:
            break
    assert ended == 0
    assert attempt >= 2
    cases = {(e.setting, e.record.seed) for e in entries}
    assert len(cases) == len(entries) == len(kept) == 12 * 2 * 2 * 2
    # One that was never killed has the same keys.
    again = store_path.with_name("whole.sqlite")
    subprocess.run([sys.executable, "-c", PROGRAM, str(again)], check=True, stdout=subprocess.DEVNULL)
    with Store.read(again) as store:
        assert store.keys() == kept
        errors = {e.record.key: e.record.parameters.tobytes() for e in store.entries()}
    assert errors == {e.record.key: e.record.parameters.tobytes() for e in entries}


FULL = """
import resource
from inalu.cli.main import main
from inalu.experiments import keeper
from inalu.experiments.store import Store
# One result at a time, or all of them would fit into the first commit.
keeper.BATCH = 1
add = Store.add
def limited(self, entries):
    add(self, entries)
    largest = max(path.stat().st_size for path in self.path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 20_000, resource.RLIM_INFINITY))
Store.add = limited
main()
"""
SEVERAL = ("reproduce", "exp1", "--operations", "add", "--seeds", "100-105", "--distributions", "U(-1,1)",
           "--models", "inalu-shared,inalu-independent", "--threads", "1", "--json")  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a process's files")
def test_a_disk_that_fills_up_is_one_sentence_and_loses_nothing(store_path):
    command = [*SEVERAL, "--store", str(store_path)]
    stopped = subprocess.run([sys.executable, "-c", FULL, *command], capture_output=True, text=True)
    assert stopped.returncode == 2
    assert stopped.stdout == ""
    assert stopped.stderr.count("\n") == 1
    assert "could not be written" in stopped.stderr
    assert "goes on where it stopped" in stopped.stderr
    with Store.read(store_path) as store:
        kept = {entry.record.key: entry.record.parameters.tobytes() for entry in store.entries()}
    assert 0 < len(kept) < 12
    again = subprocess.run([sys.executable, "-m", "inalu", *command], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    with Store.read(store_path) as store:
        entries = store.entries()
        assert len(entries) == len(store.keys()) == 12
    now = {entry.record.key: entry.record.parameters.tobytes() for entry in entries}
    assert kept.items() <= now.items()
