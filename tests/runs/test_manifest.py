"""The fields of a run's manifest are what they say, or the first that is not is named."""

import pytest

from daybreak.runs.manifest import problem

SOUND = {
    "name": "n", "seed": 2**64 - 1, "engine": "simulated", "plan_hash": "ab", "scenario": {}, "later": [1],
    "versions": {"daybreak": "1", "plan": 0, "program": "p"}, "totals": {"ended_ns": 0, "events": 2**63 - 1},
    "tables": {"flows": 0},
}  # fmt: skip


@pytest.mark.parametrize(("part", "field"), [("totals", "ended_ns"), ("totals", "events"), ("tables", "flows")])
@pytest.mark.parametrize("value", [-1, 2**63, 1.5, "1", None])
def test_counts_are_whole_numbers_from_0_on(part, field, value):
    assert problem(SOUND) is None
    assert field in problem(SOUND | {part: SOUND[part] | {field: value}})


@pytest.mark.parametrize("seed", [-1, 2**64, "x", True])
def test_so_are_seeds_which_may_be_twice_as_large(seed):
    assert problem(SOUND | {"seed": seed}).startswith("seed")


def at(path, value):
    """The sound manifest with another value of one field, or without it."""
    *outer, last = path.split(".")
    part = SOUND[outer[0]] if outer else SOUND
    changed = {key: one for key, one in part.items() if key != last}
    if value is not ABSENT:
        changed[last] = value
    return SOUND | {outer[0]: changed} if outer else changed


ABSENT = object()
REQUIRED = (
    "name", "seed", "engine", "versions", "versions.daybreak", "versions.plan", "versions.program", "plan_hash",
    "totals", "totals.ended_ns", "tables", "scenario",
)  # fmt: skip


@pytest.mark.parametrize("path", REQUIRED)
def test_a_field_that_is_missing_is_named(path):
    assert problem(at(path, ABSENT)) == f"{path} is missing"


@pytest.mark.parametrize("path", [*REQUIRED, "capture", "files"])
@pytest.mark.parametrize("value", [None, 1.5])
def test_a_field_of_another_type_is_named(path, value):
    assert problem(at(path, value)).startswith(path)


@pytest.mark.parametrize(("path", "value"), [
    ("files", ["programs/a"]), ("capture", False), ("seed", 0), ("versions.later", 1), ("totals.later", 5),
    ("tables.later", 2**63 - 1), ("scenario", {"x": 1}),
])  # fmt: skip
def test_what_may_be_there_may(path, value):
    assert problem(at(path, value)) is None


@pytest.mark.parametrize("document", [None, [], "x", 5])
def test_a_manifest_is_a_table(document):
    assert problem(document) == "expected a table"


def test_files_are_names():
    assert problem(SOUND | {"files": ["a", 5]}).startswith("files[1]")
