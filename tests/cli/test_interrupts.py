"""Ctrl-C at any moment of the first second, most of which is the loading of modules: one sentence and exit code 130."""

import subprocess
import sys

import pytest

# Sends itself Ctrl-C when it imports its n-th module.
INTERRUPTED = """
import signal, sys
from daybreak.cli import main
left = int(sys.argv.pop(1))
def at_import(event, _):
    global left
    if event == "import":
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGINT)
sys.addaudithook(at_import)
main()
"""


def after(imports, *arguments):
    command = [sys.executable, "-c", INTERRUPTED, str(imports), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("imports", [1, 20, 60, 120, 180, 240, 300, 400, 500, 600])
@pytest.mark.parametrize("command", [("list", "variants"), ("kernel", "list"), ("run", "no-such-file.toml")])
def test_ctrl_c_while_modules_are_loaded_is_one_sentence(command, imports):
    done = after(imports, *command)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "daybreak: interrupted\n")


def test_without_ctrl_c_the_command_runs():
    done = after(100_000, "list", "variants")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cubic" in done.stdout
