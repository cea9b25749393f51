"""The program as a user starts it."""

import signal
import subprocess
import sys
import time

PROGRAM = [sys.executable, "-c", "from daybreak.cli import main; main()"]


def daybreak(*arguments, cwd=None, env=None):
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=env, check=False, timeout=120
    )


def one_sentence(text):
    return text.count("\n") == 1 and text.startswith("daybreak: ") and "Traceback" not in text


def interrupted(arguments, out, *, after, seconds=0.0, number=signal.SIGINT):
    """Sends Ctrl-C a while after a file that matches `after` is in `out`; returns what the command prints."""
    command = [*PROGRAM, *map(str, arguments), "-o", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(out.glob(after)) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(seconds)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        return errors
    assert process.returncode == 128 + number, errors
    # Before it there may be lines of progress on a slow machine.
    last = errors.splitlines(keepends=True)[-1]
    assert one_sentence(last), errors
    assert "Traceback" not in errors
    return last
