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
