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


# Is sent SIGINT, and SIGTERM while it removes what it has begun; then SIGINT much later.
TWICE = """
import importlib, os, signal, sys, time
cli = importlib.import_module("daybreak.cli.main")
cli._SAME_REQUEST_S = float(sys.argv[1])
received = []
cli._take_signals_as_ctrl_c(received)
try:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        print("removed")
except KeyboardInterrupt:
    print("interrupted", received)
"""


@pytest.mark.parametrize(("same_s", "said"), [("60", ["removed", "interrupted [15]"]), ("0", ["interrupted [15]"])])
def test_a_signal_soon_after_another_does_not_interrupt_the_removal(same_s, said):
    done = subprocess.run([sys.executable, "-c", TWICE, same_s], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == said


def test_without_ctrl_c_the_command_runs():
    done = after(100_000, "list", "variants")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cubic" in done.stdout
