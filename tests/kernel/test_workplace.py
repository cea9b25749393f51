"""Where guests run: one run must not remove the directory of another that is about to start."""

import fcntl

from daybreak.engines.kernel import workplace
from daybreak.runs.staging import remove_stale


def test_a_run_that_is_about_to_start_keeps_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(workplace, "_base", lambda: tmp_path)
    flock = fcntl.flock

    def another_run_starts_first(file, operation):
        monkeypatch.setattr(fcntl, "flock", flock)
        remove_stale(tmp_path, "run-")
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", another_run_starts_first)
    with workplace.open_run() as run:
        assert run.is_dir()
        remove_stale(tmp_path, "run-")
        assert run.is_dir()
    assert not run.exists()


def test_what_a_dead_run_has_left_is_removed(tmp_path):
    left = tmp_path / "run-dead"
    left.mkdir()
    (left / ".lock").touch()
    (left / "console.log").write_text("the end\n")
    remove_stale(tmp_path, "run-")
    assert not left.exists()
