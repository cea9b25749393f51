"""Scenario files: TOML in, TOML out, and the JSON Schema that editors use."""

import tomllib
from pathlib import Path
from typing import Any

from daybreak.errors import OutputError, ScenarioError, reason

from .programs import put_contents
from .scenario import Scenario
from .traces import put_traces
from .workloads import FILED
from .workloads.rows import read_rows


def load(path: str | Path) -> Scenario:
    """Reads a scenario file. Raises ScenarioError, whose message names the file and the field."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path} is not a scenario file: it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not valid TOML: {reason(error)}") from None
    except ValueError as error:
        # A number with thousands of digits, or an invalid date.
        raise ScenarioError(f"{path} is not valid TOML: {reason(error).partition(';')[0]}") from None
    except RecursionError:
        raise ScenarioError(f"{path} is not a scenario file: its tables or lists are nested too deeply") from None
    try:
        _put_rows(document, path.parent)
        put_traces(document, path.parent)
        put_contents(document.get("flows"), path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}", error.field) from None
    return Scenario.parse(document, source=str(path))


def _put_rows(document: dict[str, Any], folder: Path) -> None:
    """Replaces names of files in flow generators by the files' rows; invalid entries are left for validation."""
    arrivals = document.get("arrivals")
    for i, entry in enumerate(arrivals if isinstance(arrivals, list) else ()):
        for key in ("sizes", "process", "pairs"):
            part = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(part, dict) or not isinstance(part.get("kind"), str):
                continue
            model = FILED.get((key, part["kind"]))
            if model is not None and isinstance(part.get("file"), str) and model.rows_key not in part:
                file = folder / part.pop("file")
                part[model.rows_key] = read_rows(file, model.columns, f"arrivals[{i}].{key}.file")


def save(scenario: Scenario, path: str | Path) -> None:
    """Writes a scenario file that loads to the same scenario. Raises OutputError."""
    try:
        Path(path).write_text(scenario.to_toml(), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Scenario.model_json_schema(by_alias=True)
