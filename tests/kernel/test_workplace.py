"""Where guests run: one run must not remove the directory of another that is about to start."""

import fcntl

from daybreak.engines.kernel import workplace


def test_a_run_that_is_about_to_start_keeps_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(workplace, "_base", lambda: tmp_path)
    flock = fcntl.flock

    def another_run_starts_first(file, operation):
        monkeypatch.setattr(fcntl, "flock", flock)
        workplace._remove_stale(tmp_path)
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", another_run_starts_first)
    with workplace.open_run() as run:
        assert run.directory.is_dir()
        workplace._remove_stale(tmp_path)
        assert run.directory.is_dir()
    assert not run.directory.exists()


def test_what_a_dead_run_has_left_is_removed(tmp_path):
    left = tmp_path / "run-dead"
    left.mkdir()
    (left / ".lock").touch()
    (left / "console.log").write_text("the end\n")
    workplace._remove_stale(tmp_path)
    assert not left.exists()
