"""Sweeps: what is missing is run and nothing else, whatever happens meanwhile."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref

import pytest
from executors import Processes, Serial
from ready_files import ROOT
from sweeps.reductions import BROKEN, FLOWS

import daybreak
from daybreak.errors import EngineError, Interrupted, OutputError, ScenarioError
from daybreak.sweeps import Job, Local, Store, Task, execute


@pytest.fixture
def small(one_flow):
    return one_flow.with_({"flows.0.size": "100 kB", "flows.0.start": {"uniform": ["0 s", "1 ms"]}})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs", FLOWS)


def contents(store):
    return {
        str(path.relative_to(store.directory)): path.read_bytes()
        for path in sorted(store.directory.rglob("*"))
        if path.is_file()
    }


def test_a_sweep_keeps_what_runs_show(store, small):
    jobs = [Job(small, seed) for seed in range(1, 6)]
    calls = []
    execute(jobs, store, executor=Local(2), progress=lambda *now: calls.append(now))
    for job in jobs:
        run = daybreak.run(small, seed=job.seed)
        assert store.get(job).tables["flows"].equals(run.flows)
        assert store.get(job).manifest == run.manifest
    assert calls[0] == (0, 5) and calls[-1] == (5, 5)


def test_only_what_is_new_is_run(store, small):
    first, second = Serial(), Serial()
    calls = []
    execute([Job(small, seed) for seed in (1, 2)], store, executor=first)
    execute([Job(small, seed) for seed in (1, 2, 3)], store, executor=second, progress=lambda *now: calls.append(now))
    assert [seed for _, _, seed in first.ran] == [1, 2] and [seed for _, _, seed in second.ran] == [3]
    assert calls[-1] == (3, 3)


def test_processes_make_the_same_bytes_as_threads(tmp_path, small):
    jobs = [Job(small, seed) for seed in range(1, 5)]
    stores = [Store(tmp_path / name, FLOWS) for name in ("threads", "processes")]
    execute(jobs, stores[0], executor=Local(2))
    execute(jobs, stores[1], executor=Processes())
    assert contents(stores[0]) == contents(stores[1])


def test_a_task_travels_without_its_plan_and_makes_it_again(store, small):
    plan = Job(small).plan()
    task = Task(Job(small), FLOWS, store.program("simulated", plan), store.digest(plan, "simulated"), plan)
    arrived = pickle.loads(pickle.dumps(task))
    assert arrived.plan is None and (arrived.job, arrived.digest) == (task.job, task.digest)
    assert len(pickle.dumps(task)) < len(plan.json)
    assert arrived().tables["flows"].equals(task().tables["flows"])
    assert pickle.loads(pickle.dumps(task())).manifest == task().manifest


def test_another_program_elsewhere_is_an_error(small):
    task = Task(Job(small), FLOWS, "native module 00000000", "0" * 32)
    with pytest.raises(EngineError, match=r"engine simulated is native module .* not native module 00000000"):
        pickle.loads(pickle.dumps(task))()


@pytest.mark.parametrize("executor", [Local(2), Processes()], ids=["threads", "processes"])
def test_failures_are_told_with_their_job_and_stop_nobody(tmp_path, small, executor):
    store = Store(tmp_path, BROKEN)
    jobs = [Job(small, seed) for seed in range(1, 7)]
    jobs.insert(1, Job(small.with_({"flows.0.to": "nobody"}), 9))
    failures = {}
    calls = []
    execute(
        jobs, store, executor=executor, failed=lambda job, error: failures.update({job.seed: error}),
        progress=lambda *now: calls.append(now),
    )  # fmt: skip
    assert {seed: type(error).__base__ for seed, error in failures.items()} == {9: ScenarioError, 3: Exception}
    assert "nobody" in str(failures[9]) and "seed 3 is not liked" in str(failures[3])
    assert [job.seed for job in jobs if job.seed != 9 and store.has(job)] == [1, 2, 4, 5, 6]
    assert calls[-1] == (7, 7)


def test_without_a_listener_the_first_failure_stops_all(tmp_path, small):
    store = Store(tmp_path, BROKEN)
    with pytest.raises(ValueError, match="seed 3"):
        execute([Job(small, seed) for seed in range(1, 1000)], store, executor=Local(2))
    kept = [seed for seed in range(1, 1000) if store.has(Job(small, seed))]
    assert 3 not in kept and len(kept) < 900


def test_a_full_store_is_an_error_not_a_failure_of_a_run(tmp_path, small):
    (tmp_path / "runs").write_text("a file")
    store = Store(tmp_path / "runs", FLOWS)
    with pytest.raises(OutputError, match="cannot be written"):
        execute([Job(small)], store, failed=lambda job, error: None)


def test_an_interruption_keeps_what_is_finished(store, small):
    jobs = [Job(small, seed) for seed in range(1, 5)]
    with pytest.raises(Interrupted):
        execute(jobs, store, executor=Serial(interrupt_at=2))
    assert [store.has(job) for job in jobs] == [True, True, False, False]


def test_jobs_are_taken_as_there_is_room_and_let_go_when_they_are_done(store, small):
    alive, most = [], 0

    def jobs():
        nonlocal most
        for seed in range(1, 301):
            scenario = small.with_(name=f"job {seed}")
            alive.append(weakref.ref(scenario))
            if seed % 20 == 0:
                gc.collect()
                alive[:] = [one for one in alive if one() is not None]
                most = max(most, len(alive))
            yield Job(scenario, seed)

    execute(jobs(), store, executor=Local(2))
    # Those that two threads work on, the one that is being taken, and those that are not yet let go.
    assert most < 10
    assert len(list(store.directory.glob("??/*"))) == 300


def test_later_jobs_may_depend_on_what_is_kept(store, small):
    """As a sweep does that stops when a confidence interval is narrow enough."""

    def jobs():
        seed = 0
        while seed < 4 or not store.has(Job(small, 4)):
            seed += 1
            yield Job(small, seed)

    execute(jobs(), store, executor=Serial())
    assert store.has(Job(small, 4)) and not store.has(Job(small, 5))


ENDLESS = """
import sys
from pathlib import Path
from itertools import count
sys.path.insert(0, "tests")
import daybreak
from daybreak.sweeps import Job, Local, Store, execute
from sweeps.reductions import FLOWS
scenario = daybreak.load("scenarios/01-one-flow.toml").with_({"flows.0.size": "100 kB"})
store = Store(Path(sys.argv[1]), FLOWS)
execute((Job(scenario, seed) for seed in count(1)), store, executor=Local(2))
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_kill_9_loses_nothing_that_was_kept_and_leaves_nothing_half_written(tmp_path, after):
    def kept():
        return set(tmp_path.glob("??/*"))

    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], cwd=ROOT)
    try:
        while len(kept()) < after:
            assert process.poll() is None
            time.sleep(0.001)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    found = kept()
    assert len(found) >= after
    scenario = daybreak.load(ROOT / "scenarios" / "01-one-flow.toml").with_({"flows.0.size": "100 kB"})
    store = Store(tmp_path, FLOWS)
    jobs = [Job(scenario, seed) for seed in range(1, len(found) + 3)]
    assert sum(store.has(job) and store.get(job).tables["flows"].height for job in jobs) == len(found)
    again = Serial()
    execute(jobs, store, executor=again)
    assert len(again.ran) == len(jobs) - len(found)
    assert not list((tmp_path / ".unfinished").iterdir())
