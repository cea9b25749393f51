"""Ctrl-C while programs run on the kernel engine: one sentence, and neither a process nor a file is left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_kernel import LACKING

if LACKING:
    pytest.skip(f"the kernel engine's programs are left out: {LACKING}", allow_module_level=True)

SCENARIO = """
name = "interrupted"
duration = "1000 s"
topology = {{ kind = "dumbbell", rate = "1 Gbit/s", delay = "100 us", queue = "100 packets" }}
[[flows]]
name = "a"
from = "sender-0"
to = "receiver-0"
application = {{ kind = "program", client = {client} }}
"""
SPINS = '["/bin/sh", "-c", "while :; do :; done"]'
LOOKS = '["/bin/sh", "-c", "while read line < /dev/null; [ 1 ]; do :; done"]'
WRITES = '["/bin/sh", "-c", "while echo more; do read line < /dev/null; done"]'


def processes_below(folder: Path) -> list[str]:
    """Processes that work below a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink().is_relative_to(folder):
                found.append(link.parent.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("client", [SPINS, LOOKS, WRITES])
def test_ctrl_c_leaves_nothing(tmp_path, client, number):
    temporary, out, file = tmp_path / "temporary", tmp_path / "out", tmp_path / "scenario.toml"
    temporary.mkdir()
    file.write_text(SCENARIO.format(client=client))
    program = "from daybreak.cli import main; main()"
    command = [sys.executable, "-c", program, "run", str(file), "--engine", "kernel", "-o", str(out)]
    surroundings = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 30
    # The kernel, its init and helpers, the supervisor, the program.
    while len(processes_below(temporary)) < 5:
        assert time.monotonic() < limit and process.poll() is None, "the program did not start in time"
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert (output, errors.splitlines()[-1:]) == ("", ["daybreak: interrupted: 0 of 1 runs are finished"])
    assert "Traceback" not in errors
    assert processes_below(temporary) == []
    assert not out.exists()
    left = [path for path in temporary.rglob("*") if path.is_file()]
    assert left == []
