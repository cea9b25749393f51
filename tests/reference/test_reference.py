"""The reference pages are made from what stands, say something of everything, and their examples are valid."""

import subprocess
import sys
import tomllib
from typing import Annotated

import pytest
from pydantic import TypeAdapter
from ready_files import ROOT

import daybreak
from daybreak import _native
from daybreak.reference import PAGES, scenario, tables
from daybreak.scenario import Scenario

SECTIONS = scenario.sections()
TABLES = tables.tables()
each_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.model.__name__)


@pytest.mark.parametrize("name", ["scenario", "tables"])
def test_the_pages_in_the_documents_are_those_of_the_models(golden, name):
    golden(f"{name}.md", PAGES[name](), ROOT / "docs" / "reference")


@each_section
def test_every_key_is_there_with_type_example_and_meaning(section):
    model = section.model
    assert [key.name for key in section.keys] == [field.alias or name for name, field in model.model_fields.items()]
    for key in section.keys:
        assert key.type and key.meaning.endswith(".") and key.example, key


@each_section
def test_examples_are_valid_and_defaults_are_the_models(section):
    for key, field in zip(section.keys, section.model.model_fields.values(), strict=True):
        adapter = TypeAdapter(Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation)
        adapter.validate_python(tomllib.loads(f"value = {key.example}")["value"])
        if key.default not in ("", "none"):
            given = adapter.validate_python(tomllib.loads(f"value = {key.default}")["value"])
            assert given == field.get_default(call_default_factory=True), key
        assert (key.default == "") == field.is_required(), key


@each_section
def test_plain_integers_have_units(section):
    for key in section.keys:
        if "integer" in key.type:
            assert key.unit, f"{section.model.__name__}.{key.name}: a unit is missing in keys.toml"


def test_nothing_is_said_of_keys_that_are_no_more():
    known = {(section.model.__name__, key.name) for section in SECTIONS for key in section.keys}
    for kind in tomllib.loads(scenario.text("keys.toml")).values():
        assert {(model, key) for model, keys in kind.items() for key in keys} <= known


def test_every_model_of_the_schema_has_its_section():
    names = {model.__name__ for model in (*(section.model for section in SECTIONS), *scenario.REGISTRIES)}
    assert set(Scenario.model_json_schema()["$defs"]) <= names


def everything_recorded():
    """A scenario that fills every table."""
    document = {
        "name": "all", "duration": "30 ms", "topology": {"kind": "migration_testbed"},
        "flows": [
            {"name": "f", "from": "sender-migrated", "to": "receiver-migrated", "size": "1 GB"},
            {"name": "asks", "from": "sender-main", "to": "receiver-main",
             "application": {"kind": "request_response", "request": "1 kB", "response": "1 kB"}},
            {"name": "sends", "from": "sender-main", "to": "receiver-main",
             "application": {"kind": "constant_rate", "rate": "100 Mbit/s", "payload": "1 kB"}},
        ],
        "controllers": [
            {"kind": "paths", "flows": ["asks"], "between": ["green", "blue"], "policy": "first_come", "setup": "1 us"},
        ],
        "timelines": [
            {"kind": "migrate", "flows": ["f"], "between": ["blue", "green"], "period": "10 ms", "night": "1 ms"}
        ],
        "records": {"window": "1 ms", "queues": "1 ms", "loss_bins": "1 ms", "latency": True, "packets": ["green"]},
    }  # fmt: skip
    return Scenario.parse(document)


def test_the_columns_of_a_run_are_those_of_the_page():
    run = daybreak.run(everything_recorded())
    of_linux = {"connections", "programs"}
    page = {table.name: [column.name for column in table.columns] for table in TABLES}
    assert page.keys() - of_linux == set(run.manifest["tables"])
    assert {name: page[name] for name in run.manifest["tables"]} == {
        name: frame.columns for name, frame in run.tables()
    }
    assert all(rows > 0 for rows in run.manifest["tables"].values())


def test_every_column_has_a_meaning_and_every_number_a_unit():
    for table in TABLES:
        assert table.meaning.endswith(".")
        for column in table.columns:
            assert column.meaning and "[`" not in column.meaning, (table.name, column)
            assert column.type


def test_what_is_said_of_columns_is_said_of_columns_that_are_there():
    columns = {f"{table.name}.{column.name}" for table in TABLES for column in table.columns}
    known = columns | {name.partition(".")[2] for name in columns} | {table.name for table in TABLES}
    for part in tables.facts().values():
        assert set(part) <= known


def test_all_reasons_of_drops_are_explained():
    (reason,) = [c.meaning for table in TABLES if table.name == "drops" for c in table.columns if c.name == "reason"]
    for name, *_ in _native.drop_reasons():
        assert f"`{name}`, " in reason


def test_the_pages_of_the_program_are_the_same():
    command = [sys.executable, "-c", "from daybreak.cli import main; main()", "help"]
    for name, page in PAGES.items():
        done = subprocess.run([*command, name], capture_output=True, text=True, check=True)
        assert done.stdout == page()
    done = subprocess.run([*command, "weather"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "scenario, tables, nights, captures" in done.stderr
