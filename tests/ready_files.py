"""Where the files of the repository are that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCENARIO_FILES = sorted((ROOT / "scenarios").glob("*.toml"))
