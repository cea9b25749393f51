#!/usr/bin/env python3
"""Runs random scenarios: each must end in a result, or in a one-sentence error, in bounded time and memory.

    .venv/bin/python tools/fuzz-scenarios.py --count 10000

takes ready scenarios and puts, in a few places of each, what the schema allows there, or what it does not. A run is
ended after some events; one that stands still, an allocation that fails, and every exception that is not of Daybreak's
own are failures, whose document is printed. The same seed and number make the same document: `--first 1234 --count 1`.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import re
import resource
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import daybreak
from daybreak.errors import DaybreakError, Interrupted
from daybreak.scenario import Scenario
from daybreak.scenario.files import schema as scenario_schema

ROOT = Path(__file__).resolve().parents[1]
BASES = [*sorted((ROOT / "scenarios").glob("*.toml")), ROOT / "tests" / "goldens" / "everything.toml"]
MOST_EVENTS = 200_000
"""After this number a run has shown that it goes on, and is ended."""
PATIENCE_S = 120
"""No document takes so long, on a busy machine either."""
MEMORY = 8 * 2**30
"""Address space that the process may take."""
PEAK = 3 * 2**30
"""Memory that it may have used in the end."""
LONGEST_SENTENCE = 5_000
_DEEPEST = 3
NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    10,
    100,
    255,
    1000,
    65_535,
    10**6,
    2**31,
    2**32,
    2**63,
    2**64,
    10**20,
    -1,
    -(2**63),
    1 << 5000,
)
JUNK = (
    None, True, False, "", " ", "0", "5", "-1", "1e999 s", "1e999999999 s", "nan", "inf", "\x1b[31m", "a\nb", "[/x]",
    "\ud800", "x" * 500, [], {}, [[]], {"": 0}, {"kind": "x"}, 0.1, -0.0, float("inf"), float("nan"), *NUMBERS,
)  # fmt: skip
MAGNITUDES = (
    "0",
    "1",
    "2",
    "1.5",
    "9",
    "10",
    "40",
    "100",
    "999",
    "1000",
    "65536",
    "1e6",
    "1e9",
    "0.001",
    "1e12",
    "1e300",
)


class Fuzz:
    """Draws documents: what is drawn where follows the schema."""

    def __init__(self) -> None:
        self.schema = scenario_schema()
        self.bases = [tomllib.loads(path.read_text(encoding="utf-8")) for path in BASES]
        self.names = sorted({text for base in self.bases for text in _texts(base) if len(text) < 30})

    def document(self, draw: random.Random) -> Any:
        """A ready scenario, changed in one to five places."""
        document = json.loads(json.dumps(draw.choice(self.bases)))
        for _ in range(draw.choice((1, 1, 2, 3, 5))):
            places = list(self._places(document, self.schema))
            container, key, schema = draw.choice(places)
            if isinstance(container, dict) and key in container and draw.random() < 0.05:
                del container[key]
            elif draw.random() < 0.15:
                container[key] = draw.choice(JUNK)
            else:
                container[key] = self.value(schema, draw)
        return document

    def value(self, schema: dict[str, Any], draw: random.Random, depth: int = 0) -> Any:
        """Something that the schema allows."""
        schema = self._resolved(schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.value(draw.choice(schema[key]), draw, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return draw.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._table(schema, draw, depth)
            case "array":
                if "prefixItems" in schema:
                    return [self.value(item, draw, depth + 1) for item in schema["prefixItems"]]
                count = max(schema.get("minItems", 0), draw.choice((0, 1, 2, 4)))
                return [self.value(schema.get("items", {}), draw, depth + 1) for _ in range(count)]
            case "integer":
                low, high = schema.get("minimum", -(2**40)), schema.get("maximum", 2**40)
                near = [number for number in (low, low + 1, high, high - 1, *NUMBERS) if low <= number <= high]
                return draw.choice(near)
            case "number":
                return draw.choice((0.0, 1e-9, 0.001, 0.5, 0.999, 1.0, 2.0, 1e9))
            case "boolean":
                return draw.random() < 0.5
            case "string":
                return self._text(schema, draw)
            case "null":
                return None
        return draw.choice(JUNK)

    def _table(self, schema: dict[str, Any], draw: random.Random, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        optional = [key for key in schema.get("properties", {}) if key not in required]
        chosen = draw.sample(optional, min(len(optional), draw.choice((0, 1, 3)))) if depth < _DEEPEST else []
        drawn = {key: self.value(schema["properties"][key], draw, depth + 1) for key in [*required, *chosen]}
        if isinstance(schema.get("additionalProperties"), dict) and depth < _DEEPEST:
            drawn[draw.choice(self.names)] = self.value(schema["additionalProperties"], draw, depth + 1)
        return drawn

    def _text(self, schema: dict[str, Any], draw: random.Random) -> str:
        units = re.findall(r"\(([^()]*)\)", schema.get("pattern", ""))
        if not units:
            return draw.choice(self.names)
        unit = draw.choice(next(unit for unit in units if "|" in unit).split("|"))
        return f"{draw.choice(MAGNITUDES)} {unit}"

    def _places(self, value: Any, schema: dict[str, Any]) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        """Every place in a document where something could stand: its container, its key, what may stand there."""
        schema = self._fitting(value, schema)
        if isinstance(value, dict):
            for key, of in schema.get("properties", {}).items():
                yield value, key, of
                if key in value:
                    yield from self._places(value[key], of)
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            for index, item in enumerate(value):
                yield value, index, schema["items"]
                yield from self._places(item, schema["items"])

    def _fitting(self, value: Any, schema: dict[str, Any]) -> dict[str, Any]:
        schema = self._resolved(schema)
        kind = value.get("kind") if isinstance(value, dict) else None
        for key in ("anyOf", "oneOf"):
            for one in map(self._resolved, schema.get(key, ())):
                if kind is not None and one.get("properties", {}).get("kind", {}).get("const") == kind:
                    return one
                if kind is None and one.get("type") == {dict: "object", list: "array"}.get(type(value)):
                    return one
        return schema

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.schema["$defs"][schema["$ref"].rpartition("/")[2]]
        return schema


def outcome(document: Any) -> str:
    """What becomes of a document, in a word. Raises what must not happen."""

    def enough(now: Any) -> None:
        if now.events > MOST_EVENTS:
            raise Interrupted

    try:
        scenario = Scenario.parse(document)
    except DaybreakError as error:
        _check_sentence(error)
        return "refused by the loader"
    try:
        run = daybreak.run(scenario, progress=enough)
    except Interrupted:
        return "run for a while"
    except DaybreakError as error:
        _check_sentence(error)
        return "refused by the plan"
    for name, table in run.tables():
        if name == "flows" and (table["delivered_bytes"] > table["bytes"].fill_null(2**64 - 1)).any():
            raise AssertionError("a flow has delivered more than it has")
    return "run to its end"


def _check_sentence(error: DaybreakError) -> None:
    text = str(error)
    if not text or len(text) > LONGEST_SENTENCE:
        raise AssertionError(f"{len(text)} characters are no sentence: {text[:200]}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def main() -> None:
    """Tries them and says what became of them; ends with 1 at the first failure."""
    parser = argparse.ArgumentParser(description="Runs random scenarios.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fuzz, outcomes, slowest = Fuzz(), Counter[str](), 0.0
    for number in range(asked.first, asked.first + asked.count):
        document = fuzz.document(random.Random(f"{asked.seed}/{number}"))
        faulthandler.dump_traceback_later(PATIENCE_S, exit=True)
        began = time.monotonic()
        print(f"\r{number} ", end="", file=sys.stderr, flush=True)
        try:
            outcomes[outcome(document)] += 1
        except BaseException:
            print(f"\ndocument {number} of seed {asked.seed}: {json.dumps(document)[:3000]}", file=sys.stderr)
            raise
        slowest = max(slowest, time.monotonic() - began)
    faulthandler.cancel_dump_traceback_later()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(file=sys.stderr)
    print(", ".join(f"{count} {words}" for words, count in sorted(outcomes.items())))
    print(f"slowest {slowest:.1f} s, peak memory {peak / 2**20:.0f} MiB")
    if peak > PEAK:
        sys.exit("the peak is above its bound")


if __name__ == "__main__":
    main()
