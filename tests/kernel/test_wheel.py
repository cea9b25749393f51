"""The wheel, installed in an environment of its own and used from another folder: it has the real-kernel engine."""

import json
import os
import subprocess
import sys
import sysconfig

import pytest
from ready_files import ROOT, SCENARIO_FILES
from real_kernel import with_kernel


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The program of the wheel. What Daybreak depends on is that of the working copy; Daybreak itself is not."""
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, ROOT / "tools" / "wheel.py", "--out", place], check=True, timeout=3000)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True)
    (site,) = (place / "venv" / "lib").glob("python*/site-packages")
    # The last place to look: a line adds a folder, and not what an editable installation has put there.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return place / "venv" / "bin" / "daybreak"


def run(program, *arguments, cwd):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DAYBREAK"))}
    return subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
        timeout=600,
    )


def test_the_wheel_is_small(installed):
    """What is in it beside libraries and the model is text: figures and results of studies stay outside."""
    (wheel,) = installed.parents[2].glob("*.whl")
    assert wheel.stat().st_size < 7_000_000


def test_the_wheel_has_guest_switch_driver_and_recipe(installed, tmp_path):
    code = """
import daybreak
from daybreak.engines.kernel import recipe, workplace
print(daybreak.__file__, workplace.guest_program(), recipe.load().directory, *recipe.load().driver, sep="\\n")
print(workplace.switch_library(workplace.guest_program()).is_file())
"""
    done = run(installed.with_name("python"), "-c", code, cwd=tmp_path)
    *paths, has_switch = done.stdout.splitlines()
    assert has_switch == "True", done.stderr
    assert len(paths) >= 5
    assert all(path.startswith(str(installed.parents[1])) for path in paths), paths


def test_the_doctor_of_the_wheel_finds_the_guest(installed, tmp_path):
    done = run(installed, "kernel", "doctor", "--json", cwd=tmp_path)
    found = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["guest program"]["status"] == "ok"
    assert str(installed.parents[1]) in found["guest program"]["detail"]


@with_kernel
def test_the_wheel_runs_real_linux(installed, tmp_path):
    built = run(installed, "kernel", "build", "--json", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    arguments = ("run", SCENARIO_FILES[0], "--engine", "kernel", "--set", "flows.0.size=1 MB", "--json", "-o", "out")
    done = run(installed, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (flow,) = json.loads(done.stdout)["runs"][0]["flows"]
    assert flow["delivered_bytes"] == 1_000_000
