"""Several kernels beside each other: which segments count as equal, and the table."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from test_agree import SUITE

from daybreak.agreement import kernels, segments
from daybreak.agreement.conversations import NAMES
from daybreak.agreement.segments import ReplayResult
from daybreak.engines import run, run_many
from daybreak.engines.kernel.errors import NoImage
from daybreak.errors import ScenarioError, UnknownName

ACK, PUSH, SYN = 16, 8, 2


def talk(*segments, first=1_000):
    """Columns of segments; `first` is the timestamp that a connection starts with."""
    rows = [{"flags": ACK, "ts_val": first + 5, **segment} for segment in segments]
    return {name: np.array([row.get(name, 0) for row in rows], np.uint64) for name in NAMES}


def end(flow, said, times_ns, identical=True, fct_ns=1_000):
    same = len(said) if identical else 1
    replayed = ReplayResult("tiny", 1, flow, "reno", len(said), 0, same, 0, 0, len(said))
    numbers = np.array(said, np.uint64)
    return kernels.End("tiny", 1, flow, "sender", replayed, fct_ns, numbers, np.array(times_ns, np.int64))


def test_timestamps_of_other_connections_are_the_same_segment():
    one = kernels.numbers(talk({"seq": 1, "ts_ecr": 1_007}), talk({}, first=995))
    # Counted from another first timestamp, past the wrap.
    two = kernels.numbers(talk({"seq": 1, "ts_ecr": 3}, first=77), talk({}, first=2**32 - 9))
    assert (one == two).all()
    assert (one == kernels.numbers(talk({"seq": 1, "ts_ecr": 1_007, "flags": ACK | PUSH}), talk({}, first=995))).all()


@pytest.mark.parametrize(
    "other",
    [{"seq": 2}, {"len": 1}, {"window": 9}, {"ts_ecr": 1_008}, {"flags": ACK | SYN}, {"ecn": 3}, {"sack_end_3": 4}],
)
def test_every_field_makes_another_segment(other):
    plain = {"seq": 1, "ts_ecr": 1_007}
    received = talk({}, first=995)
    assert kernels.numbers(talk(plain), received) != kernels.numbers(talk(plain | other), received)


def test_without_a_timestamp_it_is_another_segment():
    received = talk({}, first=995)
    assert kernels.numbers(talk({"seq": 1, "ts_val": 0}), received) != kernels.numbers(talk({"seq": 1}), received)


@pytest.mark.parametrize(
    ("two", "same", "other_time", "identical"),
    [
        (end("a", [1, 2, 3], [10, 20, 30]), 3, 0, True),
        (end("a", [1, 2, 3], [10, 20, 2_031]), 3, 1, True),
        (end("a", [1, 7, 3], [10, 20, 30]), 1, 0, False),
        (end("a", [1, 7, 9], [10, 20, 30]), 1, 0, False),
        (end("a", [1, 2], [10, 20]), 2, 0, False),
        (end("a", [1, 2, 3, 4], [10, 20, 30, 40]), 3, 0, False),
        (None, 0, 0, False),
    ],
)
def test_two_kernels_are_the_same_up_to_the_first_difference(two, same, other_time, identical):
    found = kernels.between(end("a", [1, 2, 3], [10, 20, 30]), two)
    assert found == {"same": same, "other_time": other_time, "is_identical": identical}
    # As a file has it, which knows no numbers of arrays.
    assert json.loads(json.dumps(found)) == found


def test_the_table_has_what_differs_and_the_sum():
    old = [end("a", [1, 2], [1, 2]), end("b", [1, 2], [1, 2])]
    new = [end("a", [1, 2], [1, 2], fct_ns=1_100), end("b", [1, 9], [1, 2], identical=False, fct_ns=900)]
    found = kernels._document(
        {name: {one.key: one for one in ends} for name, ends in {"kernel:6.1": old, "kernel:6.12": new}.items()},
        programs={}, seeds=[1],
    )  # fmt: skip
    assert kernels.columns(found) == (
        "scenario", "ends", "Linux 6.1 = model", "Linux 6.12 = model", "Linux 6.1 = Linux 6.12",
        "FCT, Linux 6.12 / Linux 6.1",
    )  # fmt: skip
    assert kernels.by_scenario(found) == [
        ("tiny", "2", "2", "1", "1", "1.0000"),
        ("all", "2", "2", "1", "1", "1.0000"),
    ]
    assert [end["is_identical"] for end in found["ends"][0]["between"]] == [True]


def test_a_result_has_the_replays_of_each_kernel_and_their_times(tmp_path, monkeypatch):
    """The simulator stands in for two kernels, of which the second loses another packet."""
    path = tmp_path / "suite.toml"
    path.write_text(SUITE + "loss = 0.01\n")
    ran, seen = [], []

    def stand_in(jobs, *, engine, workers, progress, reduce):
        ran.append((engine, [(scenario.name, seed) for scenario, seed in jobs], workers))
        progress(1.0, len(jobs))
        shift = len(ran) - 1
        return run_many([(scenario, seed + shift) for scenario, seed in jobs], workers=1, reduce=reduce)

    monkeypatch.setattr(kernels, "run_many", stand_in)
    monkeypatch.setattr(kernels, "program", lambda name: f"program of {name}")
    found = kernels.compare(
        ["6.1", "6.12"], path, quick=True, seeds=(1, 2), out=tmp_path / "out", workers=3, sides=["sender"],
        progress=lambda *told: seen.append(told),
    )  # fmt: skip
    jobs = [("tiny-cubic", 1), ("tiny-cubic", 2)]
    assert ran == [("kernel:6.1", jobs, 3), ("kernel:6.12", jobs, 3)]
    assert seen == [(1.0, 4, "Linux 6.1, 1 of 2"), (3.0, 4, "Linux 6.12, 1 of 2")]
    assert json.loads((tmp_path / "out/kernels.json").read_text()) == found
    ends = found.pop("ends")
    assert found == {
        "programs": {name: f"program of {name}" for name in ("kernel:6.1", "kernel:6.12", "simulated")},
        "kernels": ["kernel:6.1", "kernel:6.12"],
        "modelled": {"kernel:6.1": "6.1", "kernel:6.12": "6.12"},
        "seeds": [1, 2],
    }
    (case,) = segments.replayable(path, quick=True, only=(), hz=None)
    own = {seed: run(segments.captured(case), seed=seed) for seed in (1, 2, 3)}
    replays = {seed: next(segments.flows(one, "sender")) for seed, one in own.items()}
    assert [(end["seed"], end["side"], list(end["model"])) for end in ends] == [
        (1, "sender", ["kernel:6.1"]), (2, "sender", ["kernel:6.1", "kernel:6.12"]), (3, "sender", ["kernel:6.12"]),
    ]  # fmt: skip
    for end in ends:
        seed = end["seed"]
        assert end["fct_ns"] == {
            name: own[seed].flows["fct_ns"][0] if name in end["model"] else None for name in found["kernels"]
        }
        for replayed in end["model"].values():
            assert replayed == asdict(replays[seed]) | {"is_identical": True}
        both = len(end["model"]) == 2
        same = replays[seed].segments if both else 0
        assert end["between"] == [
            {"first": "kernel:6.1", "second": "kernel:6.12", "same": same, "other_time": 0, "is_identical": both}
        ]
    assert [line[:4] for line in kernels.by_scenario(found | {"ends": ends})] == [
        ("tiny-cubic", "3", "2", "2"), ("all", "3", "2", "2"),
    ]  # fmt: skip
    same = [ends[1]]
    assert [line[0] for line in kernels.by_scenario(found | {"ends": same})] == ["all"]
    assert [line[0] for line in kernels.by_scenario(found | {"ends": same}, all_=True)] == ["tiny-cubic", "all"]


def test_a_flow_that_does_not_end_costs_nothing():
    old, new = end("a", [1], [1], fct_ns=None), end("a", [1], [1], fct_ns=5)
    found = kernels._document({"kernel:6.1": {old.key: old}, "kernel:6.12": {new.key: new}}, programs={}, seeds=[1])
    assert kernels.by_scenario(found) == [("all", "1", "1", "1", "1", "-")]


def test_three_kernels_are_compared_pair_by_pair():
    segments_of = {"5.10": [[1, 2], [1, 2], [1, 2]], "6.1": [[1, 2], [1, 3], [1, 3]], "6.12": [[1, 2], [1, 3], [1, 4]]}
    times = {"5.10": 1_000, "6.1": 1_500, "6.12": 500}
    found = {
        f"kernel:{name}": {
            one.key: one
            for flow, said in zip("abc", ends, strict=True)
            for one in [end(flow, said, [1, 2], fct_ns=times[name], identical=name == "6.1")]
        }
        for name, ends in segments_of.items()
    }
    document = kernels._document(found, programs={}, seeds=[1])
    assert kernels.columns(document) == (
        "scenario", "ends", "Linux 5.10 = model", "Linux 6.1 = model", "Linux 6.12 = model", "Linux 5.10 = Linux 6.1",
        "Linux 5.10 = Linux 6.12", "Linux 6.1 = Linux 6.12", "FCT, Linux 6.1 / Linux 5.10",
        "FCT, Linux 6.12 / Linux 5.10",
    )  # fmt: skip
    row = ("3", "0", "3", "0", "1", "1", "2", "1.5000", "0.5000")
    assert kernels.by_scenario(document) == [("tiny", *row), ("all", *row)]


@pytest.mark.parametrize("names", [["6.1"], ["6.1", "6.1"], ["6.1", ""]])
def test_one_kernel_is_not_several(names, tmp_path):
    with pytest.raises(ScenarioError, match=r"kernels: 6\.1.*: expected two different ones or more"):
        kernels.compare(names, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_kernel_that_is_not_there_is_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NoImage, match=r"no kernel image of Linux 6\.99 .*daybreak kernel build --linux 6\.99"):
        kernels.compare(["6.99", "6.98"], quick=True, only=["buffer-*"], out=tmp_path / "out")
    with pytest.raises(NoImage, match=r"no kernel image of Linux 6\.99"):
        kernels.check(["6.99", "6.98"])
    with pytest.raises(UnknownName, match=r'kernel = "six": expected a version'):
        kernels.compare(["six", "6.98"], quick=True, only=["buffer-*"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
