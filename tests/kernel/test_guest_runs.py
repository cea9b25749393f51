"""Whole runs on real Linux. They need a kernel image (daybreak kernel build) and the guest's program."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import daybreak
from daybreak.engines.kernel import image, workplace
from daybreak.engines.kernel.errors import KernelEngineError
from daybreak.errors import PlanError
from daybreak.runs.storage import read as read_run
from daybreak.scenario import save


def lacking() -> str:
    """What is missing for these tests."""
    try:
        image.find()
        workplace.guest_program()
    except KernelEngineError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(lacking()), reason=f"the kernel engine's runs are left out: {lacking()}")


def processes() -> list[str]:
    """Command lines of all guests."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"init=/proc/self/cwd/daybreak-guest" in words:
            found.append(str(path))
    return found


def test_one_flow_takes_the_time_of_its_packets(one_flow):
    run = daybreak.run(one_flow, engine="kernel")
    (flow,) = run.flows.iter_rows(named=True)
    # 691 packets of at most 1538 bytes at 10 Gbit/s, and a few round trips of slow start.
    assert 0.85e6 < flow["fct_ns"] < 2.5e6
    assert flow["delivered_bytes"] == 1_000_000
    assert flow["retransmits"] == 0


def test_two_runs_are_identical_and_fill_all_tables(migration):
    scenario = migration.with_({"records": {"window": "1 ms", "queues": "1 ms", "taps": ["green"]}})
    first, second = (daybreak.run(scenario, engine="kernel", seed=3) for _ in range(2))
    for table in ("flows", "bins", "window", "queues", "drops", "circuits", "links"):
        assert getattr(first, table).equals(getattr(second, table)), table
    assert first.flows["delivered_bytes"].to_list() == [32 << 20] * 2
    assert len(first.window) > 0 and len(first.queues) > 0 and len(first.circuits) > 0


def test_what_the_engine_cannot_do_is_refused_by_name(one_flow):
    with pytest.raises(PlanError, match="delayed_ack_min_ps"):
        daybreak.run(one_flow.with_({"stack.delayed_ack_min": "10 ms"}), engine="kernel")
    with pytest.raises(PlanError, match=r"hz is 250: the kernel image was built with"):
        daybreak.run(one_flow.with_({"stack.hz": 250}), engine="kernel")


def test_a_killed_run_leaves_nothing(one_flow, tmp_path):
    endless = one_flow.with_({"duration": "100 s", "flows.0.size": "unlimited"})
    file = tmp_path / "endless.toml"
    save(endless, file)
    program = "import sys; from daybreak.cli import main; sys.argv = ['daybreak', *sys.argv[1:]]; main()"
    command = [sys.executable, "-c", program, "run", str(file), "--engine", "kernel"]
    before = set(processes())
    child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL)
    wait_until(lambda: set(processes()) - before)
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: not set(processes()) - before)
    kept = lambda: sorted(path.name for path in tmp_path.glob("daybreak-kernel-*/run-*/*"))  # noqa: E731
    wait_until(lambda: kept() == ["console.log"])


def wait_until(true, seconds=30):
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


def test_a_run_can_be_written_and_read(one_flow, tmp_path):
    run = daybreak.run(one_flow, engine="kernel")
    run.write(tmp_path / "run")
    assert read_run(tmp_path / "run").flows.equals(run.flows)
    assert run.manifest["engine"] == "kernel"
