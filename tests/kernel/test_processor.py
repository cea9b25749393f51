"""Each guest has a processor of its own as long as there are enough."""

import os
import subprocess
import sys

import pytest

from daybreak.engines.kernel import processor

OWNER = f"daybreak-test-{os.getpid()}"
AFFINITY = "import os; print(*os.sched_getaffinity(0))"


@pytest.fixture
def four(monkeypatch):
    """A thread that may use four processors, and whose wishes are recorded."""
    usable = {4, 0, 2, 9}
    wishes = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(usable))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, mask: wishes.append((pid, set(mask))))
    return usable, wishes


def test_no_two_guests_have_one_processor_and_those_after_the_last_have_any(four):
    with processor.reserved(OWNER) as first, processor.reserved(OWNER) as second:
        assert (first, second) == (0, 2)
        with processor.reserved(OWNER) as third, processor.reserved(OWNER) as fourth:
            assert (third, fourth) == (4, 9)
            with processor.reserved(OWNER) as fifth:
                assert fifth is None
        with processor.reserved(OWNER) as again:
            assert again == 4
    with processor.reserved(OWNER) as again:
        assert again == 0


def test_one_processor_is_not_reserved(four):
    usable, _ = four
    usable.clear()
    usable.add(3)
    with processor.reserved(OWNER) as only:
        assert only is None


def test_a_processor_of_another_process_is_free_once_that_is_dead(four):
    take = "import socket, sys, time; taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
    take += "taken.bind(chr(0) + sys.argv[1]); print('!', flush=True); time.sleep(60)"
    name = f"{OWNER}-processor-0"
    other = subprocess.Popen([sys.executable, "-c", take, name], stdout=subprocess.PIPE)
    assert other.stdout and other.stdout.read(1) == b"!"
    with processor.reserved(OWNER) as mine:
        assert mine == 2
    other.kill()
    other.wait()
    other.stdout.close()
    with processor.reserved(OWNER) as mine:
        assert mine == 0


def test_the_thread_itself_may_use_all_again(four):
    usable, wishes = four
    with pytest.raises(KeyError), processor.only(9):
        raise KeyError
    with processor.only(None):
        pass
    assert wishes == [(0, {9}), (0, usable)]


def test_a_processor_that_was_taken_away_is_done_without(monkeypatch):
    def refuse(pid, mask):
        if mask == {9}:
            raise OSError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with processor.only(9):
        pass


def test_what_is_started_in_the_block_stays_there_and_what_is_started_later_does_not():
    usable = os.sched_getaffinity(0)
    one = max(usable)
    with processor.only(one):
        inside = subprocess.run([sys.executable, "-c", AFFINITY], capture_output=True, text=True, check=True)
    after = subprocess.run([sys.executable, "-c", AFFINITY], capture_output=True, text=True, check=True)
    assert inside.stdout.split() == [str(one)]
    assert {int(word) for word in after.stdout.split()} == usable
