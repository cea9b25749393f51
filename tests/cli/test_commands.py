"""Commands are imported when they are called, and the list of them says what they say of themselves."""

import subprocess
import sys

import pytest

from daybreak.cli.commands import COMMANDS, loaded

SLOW = ("numpy", "polars", "scipy", "matplotlib", "pydantic", "daybreak.scenario")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_the_first_paragraph_of_its_command(name):
    module, summary = COMMANDS[name]
    assert " ".join(loaded(name, module).help.split("\n\n")[0].split()) == summary


@pytest.mark.parametrize("name", COMMANDS)
def test_a_paragraph_of_the_help_has_no_line_breaks_of_its_own(name):
    command = loaded(name, COMMANDS[name][0])
    for one in (command, *getattr(command, "commands", {}).values()):
        assert "\n" not in (one.help or "").replace("\n\n", " ")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_slow(option):
    program = (
        "import sys; from daybreak.cli.main import _run; _run(sys.argv[1:]); "
        f"print([name for name in {SLOW} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, option], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_one_run_imports_neither_scipy_nor_matplotlib():
    program = (
        "import sys; from daybreak.cli.main import _run; _run(sys.argv[1:]); "
        "print([name for name in ('scipy', 'matplotlib', 'sklearn') if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "run", "scenarios/01-one-flow.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_the_module_is_the_program():
    command = [sys.executable, "-m", "daybreak", "run", "no-such-file.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("daybreak: no-such-file.toml cannot be read")
