"""The wheel, installed in an environment of its own and used from another folder: it has the real-kernel engine."""

import json
import os
import subprocess
import sys
import sysconfig

import pytest
from ready_files import ROOT, SCENARIO_FILES
from real_kernel import with_kernel

from daybreak.cli.commands import COMMANDS


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


SMALL = ("--set", "flows.0.size=1 MB")


def test_every_command_of_the_wheel_runs(installed, tmp_path):
    """One of each, in a folder that has nothing of the working copy but a scenario."""
    scenario = tmp_path / "one.toml"
    scenario.write_text(SCENARIO_FILES[0].read_text(encoding="utf-8"), encoding="utf-8")
    moved = tmp_path / "moved.toml"
    moved.write_text((ROOT / "scenarios" / "17-prolongation.toml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "grid.toml").write_text(
        'scenario = "one.toml"\nseeds = 1\naxes = { "flows.0.size" = ["1 MB", "2 MB"] }\n', encoding="utf-8"
    )
    calls = [
        ("run", scenario, *SMALL, "-o", "run"), ("plot", "run", "-o", "run.svg"), ("report", "run", "-o", "run.html"),
        ("export", "run", "-o", "run.json"), ("sweep", "grid.toml", "-o", "swept", "--workers", 1),
        ("plot", "swept", "-o", "swept.svg"), ("compare", scenario, "one.toml", "--runs", 1, "--workers", 1),
        ("explain", scenario), ("predict", moved, "--runs", 2, "--workers", 1),
        ("tune", moved, "--verify", 1, "--seeds", 2, "--workers", 1), ("validate", scenario), ("list", "variants"),
        ("schema",), ("reproduce", "space-switch", "--help"), ("reproduce", "no-such-study"), ("agree", "--help"),
        ("learn", "--help"), ("bench", "S1"), ("help", "tables"), ("kernel", "list"),
    ]  # fmt: skip
    assert {str(call[0]) for call in calls} == set(COMMANDS)
    for call in calls:
        done = run(installed, *call, cwd=tmp_path)
        expected = 2 if "no-such-study" in call else 0
        assert done.returncode == expected, (call, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
    for study in ("migration", "etalon", "lightpath", "space-switch"):
        code = f"from daybreak.studies.registry import study; assert study({study!r}).experiments"
        done = run(installed.with_name("python"), "-c", code, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
