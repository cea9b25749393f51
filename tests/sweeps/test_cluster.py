"""A sweep on a Dask cluster: a scheduler and two workers, each a process, of which one is killed."""

import os
import signal
import socket
import subprocess
import sys
import time

import polars as pl
import pytest
from ready_files import ROOT

from daybreak.errors import EngineError
from daybreak.sweeps import Dask, Local, Points, sweep
from daybreak.sweeps.grid import parse

pytest.importorskip("distributed")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """The scheduler's address, and the workers' processes."""
    address = f"tcp://127.0.0.1:{free_port()}"
    started = []

    def start(*arguments):
        with (tmp_path / f"dask-{len(started)}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
                    cwd=ROOT, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
                )
            )  # fmt: skip

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard")
        for _ in range(2):
            start(
                "dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--local-directory", str(tmp_path),
            )  # fmt: skip
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def test_a_killed_worker_costs_nothing_but_time(cluster, one_flow, tmp_path):
    from distributed import Client

    address, workers = cluster
    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        base = one_flow.with_({"flows.0.size": "20 MB", "flows.0.start": {"uniform": ["0 s", "1 ms"]}})
        axes = {"rule": {"field": "flows.0.variant", "values": ["cubic", "reno", "bbr"]}}
        points = Points(parse({"scenario": "-", "seeds": 40, "axes": axes}), base)
        killed = []

        def kill_one(done, total, words):
            if done > 10 and not killed:
                killed.append(workers[0].pid)
                os.kill(workers[0].pid, signal.SIGKILL)

        outcome = sweep(points, tmp_path / "cluster", executor=Dask(address), progress=kill_one)
        assert killed and (len(outcome.made), outcome.failures) == (120, [])
        deadline = time.monotonic() + 60
        while len(client.scheduler_info()["workers"]) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(client.scheduler_info()["workers"]) == 1
    sweep(points, tmp_path / "threads", executor=Local(2))
    tables = [pl.read_parquet(tmp_path / name / "flows") for name in ("cluster", "threads")]
    assert tables[0].equals(tables[1])


def test_failures_of_runs_come_back_with_their_sentence(cluster, one_flow, tmp_path):
    axes = {"to": {"field": "flows.0.to", "values": ["receiver-0", "nobody"]}}
    outcome = sweep(Points(parse({"scenario": "-", "axes": axes}), one_flow), tmp_path / "o", executor=Dask(cluster[0]))
    assert len(outcome.made) == 1 and "nobody" in outcome.failures[0].error


def test_a_scheduler_that_is_not_there_is_one_sentence(one_flow, tmp_path):
    points = Points(parse({"scenario": "-"}), one_flow)
    with pytest.raises(EngineError, match=r'scheduler "tcp://127.0.0.1:1" cannot be reached'):
        sweep(points, tmp_path / "o", executor=Dask("tcp://127.0.0.1:1"))
