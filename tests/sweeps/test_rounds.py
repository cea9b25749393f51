"""Sweeps of several rounds: what is asked for next, what is said meanwhile, and that each run counts once."""

import json

import polars as pl
import pytest
from executors import Serial

from daybreak.sweeps import Local, Points, dataset, sweep
from daybreak.sweeps.grid import parse
from daybreak.sweeps.replication import LEAST_RUNS, Replication, next_seeds

SIZES = {"field": "flows.0.size", "values": ["100 kB", "much", "200 kB"]}


@pytest.fixture
def random(one_flow):
    """A flow whose completion time differs from run to run, since another one starts meanwhile."""
    flow = {"from": "sender-0", "to": "receiver-0", "size": "100 kB"}
    second = flow | {"start": {"uniform": ["0 s", "200 us"]}}
    return one_flow.with_({"flows": [flow, second], "topology.rate": "1 Gbit/s"})


def flows(*fcts):
    kinds = dict.fromkeys(("bytes", "start_ns", "end_ns", "fct_ns"), pl.UInt64)
    return pl.DataFrame(
        {"group": ["g"] * len(fcts), "bytes": 1, "start_ns": 0, "end_ns": fcts, "fct_ns": fcts}, schema_overrides=kinds
    )


def test_the_progress_of_all_rounds_is_one(random, tmp_path):
    """It never goes back, ends at the number of runs, and counts those of a point that is no scenario."""
    calls = []
    points = Points(parse({"scenario": "-", "axes": {"size": SIZES}}), random)
    outcome = sweep(
        points, tmp_path, width=1e-6, most_runs=12, executor=Local(1),
        progress=lambda done, total, text: calls.append((done, total)),
    )  # fmt: skip
    assert len(outcome.made) == 24 and [(one.point, one.seed) for one in outcome.failures] == [(1, None)]
    done, total = zip(*calls, strict=True)
    assert list(done) == sorted(done) and list(total) == sorted(total)
    # The runs that were made, and the one seed that was first asked for of the point that is no scenario.
    assert calls[-1] == (25, 25)
    assert all(now <= of for now, of in calls)


def test_no_more_than_the_most_runs_are_made_of_what_the_grid_asks_for(random, tmp_path):
    sizes = SIZES | {"values": ["100 kB"]}
    points = Points(parse({"scenario": "-", "seeds": 9, "axes": {"size": sizes}}), random)
    outcome = sweep(points, tmp_path, width=0.5, most_runs=6, executor=Serial())
    assert [one.seed for one in outcome.made] == [1, 2, 3, 4, 5, 6]


def test_a_mean_is_not_known_while_a_flow_of_any_run_did_not_end():
    """The four others may agree to the nanosecond: that run would have changed the mean."""
    some = Replication(0.02, 100)
    for fct in (100, 100, None, 100, 100):
        some.add(flows(fct))
    assert some.half_width() == float("inf") and not some.is_narrow and some.more() == 0


def test_the_widest_group_decides():
    both = Replication(0.02, 100)
    for fct in (90, 110, 100, 95, 105):
        one = flows(100, fct).with_columns(group=pl.Series(["same", "wide"]))
        both.add(one)
    alone = Replication(0.02, 100)
    for fct in (90, 110, 100, 95, 105):
        alone.add(flows(fct))
    assert both.half_width() == pytest.approx(alone.half_width()) and not both.is_narrow


def test_runs_are_added_as_many_as_the_width_asks_for():
    """A half width goes with the root of the number of runs: 1.2 times as wide as wanted needs 1.44 times as many."""
    ten = Replication(0.02, 100)
    for fct in (90, 110, 100, 95, 105) * 2:
        ten.add(flows(fct))
    ten.width = ten.half_width() / 1.2
    assert ten.more() == 15 - 10
    ten.width = ten.half_width() / 1.001
    assert ten.more() == 1
    ten.width = ten.half_width() / 9
    assert ten.more() == 10
    ten.most = 13
    assert ten.more() == 3
    ten.width = ten.half_width()
    assert ten.more() == 0 and ten.is_narrow
    assert Replication(0.02, 3).more() == 3 and Replication(0.02, 100).more() == LEAST_RUNS


def test_seeds_go_on_after_the_largest():
    assert next_seeds([], 2) == [1, 2]
    assert next_seeds([4, 9, 2], 3) == [10, 11, 12]
    assert next_seeds([0], 1) == [1]


def test_all_runs_are_in_the_dataset_however_many_a_file_has(random, tmp_path, monkeypatch):
    points = Points(parse({"scenario": "-", "seeds": 7, "axes": {}}), random)
    monkeypatch.setattr(dataset, "_RUNS_A_FILE", 3)
    sweep(points, tmp_path, executor=Serial())
    parts = sorted((tmp_path / "flows").glob("*.parquet"))
    assert [pl.read_parquet(part)["seed"].unique().sort().to_list() for part in parts] == [[1, 2, 3], [4, 5, 6], [7]]
    together = pl.read_parquet(tmp_path / "flows")
    monkeypatch.setattr(dataset, "_RUNS_A_FILE", 2000)
    sweep(points, tmp_path, executor=Serial())
    assert pl.read_parquet(tmp_path / "flows").equals(together) and together.height == 14


def test_what_the_grid_says_is_kept_and_no_more(random, tmp_path):
    said = {"scenario": "-", "seeds": [3, 4], "axes": {"size": SIZES | {"values": ["100 kB"]}}}
    sweep(Points(parse(said), random), tmp_path, executor=Serial())
    kept = json.loads((tmp_path / dataset.MANIFEST).read_text())
    assert kept["grid"] == said and kept["complete"] is True
    assert (kept["points"], kept["runs"], kept["new_runs"], kept["wide_points"], kept["failures"]) == (1, 2, 2, [], [])
    assert kept["seconds"] > 0
