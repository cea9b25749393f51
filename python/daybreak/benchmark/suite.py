"""All benchmarks by name, each measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.resources import as_file, files

from daybreak import _native
from daybreak.errors import EngineError
from daybreak.scenario import load
from daybreak.scenario.lowering import Plan, lower

from .engine import PLAN

OF_FILES = ("S5", "S6", "S7")
"""Those that are scenario files."""
STANDARD = ("S1", "S2", "S3", "S4", *OF_FILES)
"""The benchmarks that are run without a choice."""
SEED = 1


def known() -> dict[str, str]:
    """Every benchmark: its name and a line about it."""
    return dict(_native.benchmarks()) | {name: _document(name)["description"] for name in OF_FILES}


def plan(name: str) -> Plan:
    """The plan of a benchmark that is a scenario file."""
    with as_file(files(__package__).joinpath(f"{name}.toml")) as path:
        return lower(load(path), SEED)


def measure_apart(name: str) -> dict[str, float]:
    """As `engine.measure`, in a process of its own. Raises EngineError."""
    given, text = (PLAN, plan(name).json) if name in OF_FILES else (name, None)
    command = [sys.executable, "-m", "daybreak.benchmark.engine", given]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    if done.returncode != 0:
        written = done.stderr.decode(errors="replace").strip() or "no output"
        raise EngineError(f"benchmark {name} failed: {written.splitlines()[-1]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _document(name: str) -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
