"""Folders of runs that are being made: who removes which, and when."""

import fcntl
import os
import time

import pytest

from daybreak.runs.staging import PREFIX, Staging, remove_stale


def left(base, name, *, seconds_ago=0.0, lock=None):
    folder = base / f"{PREFIX}{name}"
    folder.mkdir()
    if lock is not None:
        (folder / lock).touch()
    then = time.time() - seconds_ago
    os.utime(folder, (then, then))
    return folder


@pytest.mark.parametrize(("seconds_ago", "stays"), [(0, True), (50, True), (70, False)])
def test_a_folder_without_a_lock_is_left_for_a_minute(tmp_path, seconds_ago, stays):
    """Its process may be about to take the lock."""
    folder = left(tmp_path, "a", seconds_ago=seconds_ago)
    remove_stale(tmp_path)
    assert folder.exists() == stays


def test_a_lock_that_nobody_holds_is_of_a_process_that_is_gone(tmp_path):
    gone, held, other = left(tmp_path, "a", lock=".lock"), left(tmp_path, "b", lock=".lock"), tmp_path / "mine"
    other.mkdir()
    (other / ".lock").touch()
    with (held / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_stale(tmp_path)
    assert (gone.exists(), held.exists(), other.exists()) == (False, True, True)


def test_a_link_to_a_folder_is_not_followed(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / ".lock").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(target)
    remove_stale(tmp_path)
    assert (target / ".lock").exists() and (tmp_path / f"{PREFIX}link").is_symlink()


def test_a_folder_of_ones_own_is_there_until_its_block_ends_and_others_leave_it(tmp_path):
    with Staging(tmp_path) as folder:
        assert folder.parent == tmp_path and folder.name.startswith(PREFIX)
        assert sorted(one.name for one in folder.iterdir()) == [".lock"]
        with Staging(tmp_path) as another:
            assert folder.is_dir() and another.is_dir() and another != folder
        assert folder.is_dir() and not another.exists()
    assert list(tmp_path.iterdir()) == []
