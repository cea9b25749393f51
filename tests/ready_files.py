"""Where the files of the repository are that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCENARIO_FILES = sorted((ROOT / "scenarios").glob("*.toml"))
SIMULATED_FILES = [path for path in SCENARIO_FILES if 'kind = "program"' not in path.read_text()]
"""Those without programs, which only the kernel engine runs."""
