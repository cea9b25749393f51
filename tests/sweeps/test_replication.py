"""How many runs a point gets, with which seeds; and the values of an axis as a column of one type."""

import polars as pl
import pytest

from daybreak.sweeps.labels import is_among, labels
from daybreak.sweeps.replication import Replication, next_seeds


def test_replication_asks_for_no_more_than_it_needs():
    def flows(*fcts):
        return pl.DataFrame(
            {"group": ["g"] * len(fcts), "bytes": 1, "start_ns": 0, "end_ns": fcts, "fct_ns": fcts},
            schema_overrides=dict.fromkeys(("bytes", "start_ns", "end_ns", "fct_ns"), pl.UInt64),
        )

    one = Replication(0.02, 100)
    assert one.more() == 5
    for fct in (90, 110, 100, 95, 105):
        one.add(flows(fct))
    # s = 7.9, t = 2.776: 9.8 % of the mean, which asks for 120 runs; at most twice as many are looked at.
    assert not one.is_narrow and one.half_width() == pytest.approx(0.0982, abs=1e-4) and one.more() == 5
    same = Replication(0.02, 100)
    for _ in range(5):
        same.add(flows(100))
    assert same.is_narrow and same.more() == 0
    never = Replication(0.02, 100)
    for _ in range(5):
        never.add(flows(None))
    assert not never.is_narrow and never.more() == 0


def replicated(width, most, **groups):
    """The replication of a point with these mean FCTs in ns by group, run by run."""
    found = Replication(width, most)
    for fcts in zip(*groups.values(), strict=True):
        columns = dict.fromkeys(("bytes", "start_ns", "end_ns", "fct_ns"), pl.UInt64)
        rows = [
            {"group": name, "bytes": 1, "start_ns": 0, "end_ns": fct, "fct_ns": fct}
            for name, fct in zip(groups, fcts, strict=True)
        ]
        found.add(pl.DataFrame(rows, schema_overrides=columns))
    return found


def test_the_next_batch_is_as_large_as_the_deviation_asks_for():
    """s = 7.906 around 100, and t(4) = 2.776: a half width of 9.816 %; (9.816 / 8)^2 of 5 runs are 7.53."""
    fcts = (90, 110, 100, 95, 105)
    for width, more in ((0.099, 0), (0.098, 1), (0.09, 1), (0.08, 3), (0.07, 5), (0.01, 5)):
        assert replicated(width, 100, g=fcts).more() == more, width
    # Never beyond the limit, also before the interval is looked at.
    assert [replicated(0.01, most, g=fcts).more() for most in (5, 6, 9, 10, 99)] == [0, 1, 4, 5, 5]
    assert [replicated(0.01, most, g=fcts[:2]).more() for most in (2, 3, 99)] == [0, 1, 3]


def test_the_widest_of_the_groups_decides_and_too_few_runs_are_never_narrow():
    steady, wild = (100,) * 5, (90, 110, 100, 95, 105)
    assert replicated(0.05, 99, a=steady, b=wild).half_width() == replicated(0.05, 99, b=wild, a=steady).half_width()
    assert replicated(0.05, 99, a=steady, b=wild).half_width() == pytest.approx(0.09816, abs=1e-5)
    assert replicated(0.05, 99, a=steady).is_narrow and not replicated(0.05, 99, a=steady, b=wild).is_narrow
    assert replicated(0.05, 99, a=steady[:4]).half_width() == 0 and not replicated(0.05, 99, a=steady[:4]).is_narrow
    # One group that does not end in one run has no mean, whatever the others have.
    assert replicated(0.05, 99, a=steady, b=(*wild[:4], None)).half_width() == float("inf")


@pytest.mark.parametrize(("used", "count", "seeds"), [
    ([], 3, [1, 2, 3]), ([1, 2], 2, [3, 4]), ([7, 3], 2, [8, 9]), ([0], 1, [1]), ([5], 0, []),
])  # fmt: skip
def test_seeds_go_on_behind_the_greatest(used, count, seeds):
    assert next_seeds(used, count) == seeds


@pytest.mark.parametrize(("values", "column"), [
    (["a", "b"], ["a", "b"]), ([1, 2], [1, 2]), ([True, False], [True, False]), ([1, 2.0], [1.0, 2.0]),
    ([0.5, 1.0], [0.5, 1.0]),
    ([1, True], ["1", "true"]), (["1", 1], ['"1"', "1"]), (["x", 1], ["x", "1"]), ([[1], [1, 2]], ["[1]", "[1, 2]"]),
])  # fmt: skip
def test_a_column_has_one_type_and_no_two_equal_texts(values, column):
    found = labels(values)
    assert found == column and [type(one) for one in found] == [type(one) for one in column]


@pytest.mark.parametrize(("value", "values", "is_there"), [
    (1, [1.0], True), (True, [1], False), (1, [True], False), ("1", [1], False), ("b", ["a", "b"], True),
    ({"name": "x", "b": 1}, [{"b": 1, "name": "x"}], True), ({"name": "x"}, [{"name": "y"}], False),
    (0, [False], False),
])  # fmt: skip
def test_values_are_equal_as_numbers_or_as_json(value, values, is_there):
    assert is_among(value, values) is is_there
