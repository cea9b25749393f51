"""What the kernel engine makes of a guest's words and files, without a guest."""

import json
import os
import time

import numpy as np
import pytest
from msgspec.structs import replace

from daybreak.engines.kernel import run as kernel_run
from daybreak.engines.kernel import workplace
from daybreak.engines.kernel.errors import GuestFailed
from daybreak.engines.kernel.run import Watch, memory
from daybreak.engines.kernel.tables import read
from daybreak.errors import PlanError
from daybreak.scenario.lowering import lower

HEAD = {
    "format": 1,
    "totals": {"packet_hops": 5, "events": 6, "ended_ps": 7_000},
    "tables": [
        {"name": "circuits", "rows": 2, "columns": [["time_ns", "<u8"], ["step", "<u4"]]},
        {"name": "drops", "rows": 0, "columns": [["reason", "u1"]]},
    ],
}
BODY = np.array([1, 2], "<u8").tobytes() + np.array([3, 4], "<u4").tobytes()


def written(tmp_path, head=HEAD, body=BODY):
    path = tmp_path / "tables"
    path.write_bytes(json.dumps(head).encode() + b"\n" + body)
    return path


def test_tables_are_read_back(tmp_path):
    tables, totals = read(written(tmp_path))
    assert totals == {"packet_hops": 5, "events": 6, "ended_ns": 7}
    assert tables["circuits"]["time_ns"].tolist() == [1, 2]
    assert tables["circuits"]["step"].tolist() == [3, 4]
    assert tables["drops"]["reason"].tolist() == []


@pytest.mark.parametrize("body", [BODY[:-1], BODY + b"x", b""])
def test_a_file_that_is_not_whole_is_refused(tmp_path, body):
    with pytest.raises(GuestFailed):
        read(written(tmp_path, body=body))


def test_another_format_is_refused(tmp_path):
    with pytest.raises(GuestFailed, match="format 2"):
        read(written(tmp_path, head=HEAD | {"format": 2}))


def test_no_file_is_an_error(tmp_path):
    with pytest.raises(GuestFailed, match="no tables"):
        read(tmp_path / "tables")


@pytest.fixture
def watch(one_flow):
    reports = []
    watch = Watch(lower(one_flow, 1), reports.append)
    watch.reports = reports
    return watch


def test_progress_is_reported(watch):
    watch.on_line("@ 500000000 1234 0")
    watch.look()
    assert (watch.reports[-1].fraction, watch.reports[-1].events, watch.reports[-1].flows_limited) == (0.5, 1234, 1)


def test_the_guests_sentence_is_the_error(watch):
    watch.on_line("! find the device nic: No such device")
    assert "find the device nic" in str(watch.failure("", 0))
    watch.error = None
    watch.on_line("! the kernel engine cannot run this: stacks[0].hz is 250: the kernel image was built with 1000")
    assert isinstance(watch.failure("", 0), PlanError)


def test_a_crash_shows_the_consoles_last_lines(watch):
    for line in ["Kernel panic - not syncing: Attempted to kill init!", "", "reboot: System halted"]:
        watch.on_line(line)
    sentence = str(watch.failure("Segmentation fault", 139))
    assert "status 139" in sentence
    assert "Attempted to kill init! | reboot: System halted | Segmentation fault" in sentence


def test_patience_ends_when_virtual_time_stands_still(watch, monkeypatch):
    monkeypatch.setattr(kernel_run, "PATIENCE_S", 0.05)
    watch.on_line("@ 1500000000 10 0")
    watch.look()
    time.sleep(0.1)
    watch.on_line("@ 1500000000 20 0")
    assert watch.stands_still()
    watch.look()  # It has been asked which program keeps time from passing, and has not answered yet.
    watch.on_line("? ")
    with pytest.raises(GuestFailed, match=r"stood still for 0 s, at 1\.500000 s or later"):
        watch.look()
    watch.on_line('? the client of flow "web"')
    with pytest.raises(
        GuestFailed, match=r'the client of flow "web" ran for 0 s and let no time pass, at 1\.500000 s or later$'
    ):
        watch.look()
    watch.on_line("@ 1500000001 20 0")
    assert not watch.stands_still()


def test_patience_ends_too_where_the_guest_does_not_answer(watch, monkeypatch):
    monkeypatch.setattr(kernel_run, "PATIENCE_S", 0.0)
    monkeypatch.setattr(kernel_run, "_ANSWER_S", 0.0)
    with pytest.raises(GuestFailed, match="stood still for 0 s; its console is empty"):
        watch.look()
    watch.on_line("@ 1500000000 10 0")
    time.sleep(0.01)
    with pytest.raises(GuestFailed, match=r"stood still for 0 s, at 1\.500000 s or later"):
        watch.look()


def test_memory_grows_with_the_buffers(one_flow):
    plan = lower(one_flow, 1).content
    small = int(memory(plan)[:-1])
    many = replace(plan, flows=plan.flows * 50)
    assert small < int(memory(many)[:-1]) <= 3584


def test_a_runs_directory_goes_and_takes_dead_ones_along(tmp_path, monkeypatch):
    monkeypatch.setattr(workplace.tempfile, "gettempdir", lambda: str(tmp_path))
    with workplace.open_run() as first:
        (first / "tables").write_text("x")
        dead = first.with_name("run-dead")
        dead.mkdir()
        (dead / ".lock").touch()
        cleared, new = first.with_name("run-cleared"), first.with_name("run-new")
        cleared.mkdir()
        os.utime(cleared, (1, 1))
        new.mkdir()
        with workplace.open_run() as second:
            assert first.exists() and second.exists()
            assert not dead.exists() and not cleared.exists() and new.exists()
    assert not first.exists() and not second.exists()
