"""What a machine lacks for a build is named in one sentence."""

import os
import shutil
import subprocess
import tomllib

import pytest
from ready_files import ROOT

SCRIPT = ROOT / "tools" / "check-requirements.sh"
NEEDED = ("sh", "cut", "echo", "cargo", "rustc", "cc", "python3")


@pytest.fixture
def machine(tmp_path):
    """A folder of programs that is the whole PATH; those given text instead of a link are small scripts."""

    def make(without=(), **scripts):
        for name in NEEDED:
            if name not in without and name not in scripts:
                (tmp_path / name).symlink_to(os.path.realpath(shutil.which(name)))
        for name, text in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        environment = os.environ | {"PATH": str(tmp_path)}
        return subprocess.run(["/bin/sh", SCRIPT], env=environment, capture_output=True, text=True, check=False)

    return make


def test_every_place_asks_for_the_same_versions():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    readme, script = (ROOT / "README.md").read_text(), SCRIPT.read_text()
    assert f"Rust ({cargo} or newer), Python ({python} or newer" in readme
    assert f"install Rust {cargo} or newer" in script and f"-ge {cargo.removeprefix('1.')} ]" in script
    assert f"install Python {python} or newer" in script and f"({python.replace('.', ', ')})" in script


def test_a_complete_machine(machine):
    # The programs of rustup look at the name they are called by, so these two are scripts.
    done = machine(cargo="exit 0", rustc="echo rustc 1.95.0", python3="exit 0")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("without", "scripts", "sentence"),
    [
        ("cargo", {}, "cargo was not found; install Rust 1.90 or newer"),
        ("", {"rustc": "echo rustc 1.70.0"}, "Rust 1.70.0 is too old; 1.90 or newer is needed"),
        ("cc", {"rustc": "echo rustc 1.95.0"}, "no C compiler was found"),
        ("python3", {"rustc": "echo rustc 1.95.0"}, "python3 was not found; install Python 3.11 or newer"),
        (
            "",
            {"rustc": "echo rustc 1.95.0", "python3": '[ "$1" = --version ] && echo Python 3.9.1 || exit 1'},
            "Python 3.9.1 is too old; 3.11 or newer is needed",
        ),
        (
            "",
            {"rustc": "echo rustc 1.95.0", "python3": 'case "$2" in *venv*) exit 1;; esac'},
            "python3 has no venv module",
        ),
    ],
)
def test_what_is_missing_is_named(machine, without, scripts, sentence):
    done = machine(without=(without,), **({} if without == "cargo" else {"cargo": "exit 0"}), **scripts)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
