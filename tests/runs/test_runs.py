"""Runs: tables with names, determinism, and folders that are whole or not there."""

import os
import pickle
import stat
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
from ready_files import ROOT, SCENARIO_FILES, SIMULATED_FILES

import daybreak
from daybreak import _native
from daybreak.engines import run_many
from daybreak.engines.kernel.errors import BuildError
from daybreak.errors import (
    DaybreakError,
    EngineError,
    Interrupted,
    OutputError,
    PlanError,
    ScenarioError,
    UnknownName,
)  # fmt: skip
from daybreak.runs import read
from daybreak.runs.naming import frame_of
from daybreak.scenario import Scenario, load
from daybreak.scenario.lowering import lower

EVERYTHING = {
    "records": {
        "bins": "1 ms", "taps": ["green", "blue"], "links": ["green"], "window": "1 ms", "queues": "1 ms",
        "latency": True,
    }
}  # fmt: skip


def contents(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize("path", SIMULATED_FILES, ids=lambda path: path.stem)
def test_ready_files_run(path):
    scenario = load(path)
    run = daybreak.run(scenario)
    assert run.flows.height == len(lower(scenario, 1).content.flows)
    assert (run.flows["delivered_bytes"] > 0).all()
    limited = run.flows.filter(pl.col("bytes").is_not_null())
    assert limited["end_ns"].null_count() == 0
    assert (limited["delivered_bytes"] == limited["bytes"]).all()


def test_the_window_table_is_in_order_of_time_and_counts_no_fin():
    topology = {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "5 ms", "queue": "100 packets"}
    flows = [{"from": f"sender-{i}", "to": f"receiver-{i}", "size": "3 kB", "start": f"{7 - 7 * i} ms"} for i in (0, 1)]
    scenario = {"name": "short", "duration": "1 s", "topology": topology, "flows": flows, "records": {"window": "1 ms"}}
    window = daybreak.run(Scenario.parse(scenario)).window
    assert window["flow"].to_list() != sorted(window["flow"])
    assert window.select("time_ns", "flow").equals(window.select("time_ns", "flow").sort("time_ns", "flow"))
    # The last segment carries the FIN.
    assert set(window["outstanding_bytes"]) == {3000}


@pytest.mark.parametrize("table", [name for name, _, _ in _native.tables()])
def test_each_table_is_an_attribute_that_completion_finds(table, migration):
    assert table in dir(daybreak.Run) and getattr(daybreak.Run, table).__doc__
    run = daybreak.run(migration)
    if table in run.manifest["tables"]:
        assert getattr(run, table).equals(run.table(table))
    else:
        with pytest.raises(OutputError, match=f'no table "{table}"'):
            getattr(run, table)


def test_tables_have_names_beside_numbers(migration):
    run = daybreak.run(migration.with_(EVERYTHING))
    assert run.flows["flow_name"].to_list() == ["main", "moved"]
    assert run.flows["src"].to_list() == ["sender-main", "sender-migrated"]
    assert set(run.bins["scope"]) == {"arrived", "delivered", "tap", "link"}
    assert set(run.bins.filter(pl.col("scope") == "link")["name"]) == {"green"}
    assert set(run.bins.filter(pl.col("scope") == "tap")["name"]) == {"main", "moved"}
    assert set(run.window["variant"]) == {"cubic"}
    assert set(run.window["state"]) <= {"Open", "Disorder", "CWR", "Recovery", "Loss"}
    assert "blue" in run.queues["queue_name"].to_list()
    assert set(run.circuits["timeline_name"]) == {"migrate-0"}
    assert "bypass" in run.links["link_name"].to_list()
    assert set(run.latency["group"]) == {"main", "moved"}


def test_drops_tell_why_and_where(migration):
    night = {"timelines.0.night": "2 ms", "duration": "60 ms", "flows.1.size": "unlimited"}
    drops = daybreak.run(migration.with_(night)).drops
    by_night = drops.filter(pl.col("reason") == "night")
    assert by_night.height > 0
    assert set(by_night["place_name"]) == {"migrate-0/0"}
    assert set(by_night["flow_name"]) == {"moved"}
    assert by_night["data"].all()


def test_codel_spares_short_flows_the_buffer_that_a_bulk_transfer_fills():
    codel = load(ROOT / "scenarios" / "18-controlled-delay.toml")
    mean_ms = [
        daybreak.run(scenario).flows.filter(group="request")["fct_ns"].mean() / 1e6
        for scenario in (codel, codel.with_({"topology.queue_kind": "drop_tail"}))
    ]
    assert mean_ms == pytest.approx([75.9, 579.2], rel=0.01)


def test_flow_queues_let_short_flows_pass_an_elephant():
    queues = load(ROOT / "scenarios" / "19-flow-queues.toml")
    kinds = ("fq_codel", "codel", "pie", "drop_tail")
    runs = [daybreak.run(queues.with_({"topology.queue_kind": kind})) for kind in kinds]
    mean_ms = [run.flows.filter(group="request")["fct_ns"].mean() / 1e6 for run in runs]
    assert mean_ms == pytest.approx([63.5, 75.9, 104.4, 579.2], rel=0.01)


def test_losses_are_the_drops_of_each_bin(migration):
    night = {
        "timelines.0.night": "2 ms", "duration": "60 ms", "flows.1.size": "unlimited", "topology.queue": "10 packets",
        "records.loss_bins": "1 ms",
    }  # fmt: skip
    run = daybreak.run(migration.with_(night))
    names = ["start_ns", "reason", "place_name", "flow_name", "data"]
    bins = run.drops.with_columns((pl.col("time_ns") // 1_000_000 * 1_000_000).alias("start_ns"))
    counted = bins.group_by(names).agg(pl.len().alias("packets"), pl.col("bytes").cast(pl.Int64).sum()).sort(names)
    assert set(run.losses["reason"]) >= {"night", "queue_full"}
    assert run.losses.select(*names, "packets", "bytes").sort(names).rows() == counted.rows()
    assert daybreak.run(migration).losses.is_empty()


def test_bytes_are_counted_once(migration):
    run = daybreak.run(migration.with_(EVERYTHING))
    delivered = run.bins.filter(pl.col("scope") == "delivered").group_by("name").agg(pl.col("bytes").sum())
    assert dict(delivered.iter_rows()) == dict(run.flows.select("flow_name", "delivered_bytes").iter_rows())


def test_columns_are_not_copied(one_flow):
    tables, _ = _native.run(lower(one_flow, 1).json)
    values = tables["bins"]["bytes"]
    assert values.dtype == np.uint64
    seen = frame_of(tables["bins"])["bytes"].to_numpy(allow_copy=False)
    assert seen.ctypes.data == values.ctypes.data
    assert len(seen) == len(values) > 0


def test_the_manifest_says_what_was_run(one_flow):
    run = daybreak.run(one_flow, seed=9)
    assert (run.manifest["name"], run.seed, run.manifest["engine"]) == ("one flow", 9, "simulated")
    assert run.manifest["plan_hash"] == lower(one_flow, 9).hash
    assert run.scenario == one_flow
    assert run.manifest["totals"]["packet_hops"] > 1_000


def test_the_manifest_of_a_changed_copy_shows_the_copy(one_flow):
    daybreak.run(one_flow)
    changed = one_flow.model_copy(update={"name": "another"})
    assert daybreak.run(changed).scenario == changed


def test_a_run_comes_back_from_disk(migration, tmp_path):
    run = daybreak.run(migration.with_(EVERYTHING))
    place = run.write(tmp_path / "deep" / "run")
    again = read(place)
    assert again.manifest == run.manifest
    for name, table in run.tables():
        assert again.table(name).equals(table), name
    assert stat.S_IMODE(place.stat().st_mode) & 0o700 == 0o700


def test_the_same_plan_gives_the_same_bytes(migration, tmp_path):
    scenario = migration.with_(EVERYTHING)
    for name in ("first", "second"):
        daybreak.run(scenario, seed=4).write(tmp_path / name)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_the_number_of_workers_changes_nothing(migration, tmp_path):
    jitter = {"flows.1.start": {"uniform": ["0 s", "5 ms"]}, "flows.0.size": "4 MiB", "flows.1.size": "4 MiB"}
    jobs = [(migration.with_(EVERYTHING).with_(jitter), seed) for seed in range(6)]
    for workers in (1, 2, 5):
        for run in run_many(jobs, workers=workers):
            run.write(tmp_path / f"{workers}-workers" / f"seed-{run.seed}")
    for seed in range(6):
        folders = [contents(tmp_path / f"{workers}-workers" / f"seed-{seed}") for workers in (1, 2, 5)]
        assert folders[0] == folders[1] == folders[2]
    assert contents(tmp_path / "1-workers" / "seed-0") != contents(tmp_path / "1-workers" / "seed-1")


def test_many_runs_keep_their_order_and_tell_their_progress(one_flow):
    calls = []
    runs = run_many(
        [one_flow, (one_flow, 5)], workers=2, reduce=lambda run: run.seed, progress=lambda *now: calls.append(now)
    )
    assert runs == [1, 5]
    assert calls[-1] == (2.0, 2)


def test_an_error_in_one_run_is_the_error_of_all(one_flow):
    broken = one_flow.with_({"flows.0.to": "nobody"})
    with pytest.raises(UnknownName, match="nobody"):
        run_many([one_flow, broken, one_flow])


def test_progress_may_end_a_run(one_flow):
    def enough(now):
        raise Interrupted

    with pytest.raises(Interrupted):
        daybreak.run(one_flow, progress=enough)


def test_other_threads_go_on_during_a_run(one_flow):
    ticks = threading.Event()
    waiter = threading.Thread(target=ticks.set)
    endless = one_flow.with_({"flows.0.size": "unlimited"})
    seen = []
    daybreak.run(endless, progress=lambda now: seen.append(now) or (waiter.start() if len(seen) == 1 else None))
    assert ticks.is_set()
    assert seen[-1].fraction == 1.0
    assert seen[0].events == 0


def test_capture_is_a_file_that_lives_with_the_run(one_flow, tmp_path):
    run = daybreak.run(one_flow.with_({"records": {"capture": ["bottleneck"], "snaplen": 96}}))
    assert run.capture.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    run.write(tmp_path / "run")
    assert read(tmp_path / "run").capture.read_bytes() == run.capture.read_bytes()
    assert daybreak.run(one_flow).capture is None


def test_a_run_can_be_pickled(migration, tmp_path):
    run = daybreak.run(migration.with_(EVERYTHING | {"records.capture": ["green"]}))
    again = pickle.loads(pickle.dumps(run))
    assert again.manifest == run.manifest
    assert [(name, table.equals(run.table(name))) for name, table in again.tables()] == [
        (name, True) for name in run.manifest["tables"]
    ]
    assert again.capture != run.capture and again.capture.read_bytes() == run.capture.read_bytes()
    from_disk = pickle.loads(pickle.dumps(read(run.write(tmp_path / "run"))))
    assert from_disk.flows.equals(run.flows) and from_disk.capture.read_bytes() == run.capture.read_bytes()
    assert pickle.loads(pickle.dumps(daybreak.run(migration))).capture is None


@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_a_scenario_can_be_pickled(path):
    scenario = load(path)
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario and again.document() == scenario.document()
    assert lower(again, 1).json == lower(scenario, 1).json


def test_errors_can_be_pickled():
    for error in (
        ScenarioError("a sentence", "flows[0].size", ("one", "two")), UnknownName("b"), PlanError("c"),
        EngineError("d"), OutputError("e"), Interrupted("f", (1, 2)), BuildError("g", "log"),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


def test_writing_replaces_a_run_by_force_but_nothing_else(one_flow, tmp_path):
    run, other = daybreak.run(one_flow), daybreak.run(one_flow, seed=2)
    run.write(tmp_path / "run")
    with pytest.raises(OutputError, match=r'it holds a run of "one flow" with seed 1 on engine simulated'):
        other.write(tmp_path / "run")
    assert read(tmp_path / "run").seed == 1
    other.write(tmp_path / "run", force=True)
    assert read(tmp_path / "run").seed == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="it exists and is not a run"):
        run.write(tmp_path / "mine")
    assert os.listdir(tmp_path / "mine") == ["letter.txt"]
    assert sorted(os.listdir(tmp_path)) == ["mine", "run"]


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    """A limit on the size of files stands for the full disk; it holds for the whole process, hence another one."""
    program = f"""
import resource, signal, sys
import daybreak
from daybreak.errors import OutputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
run = daybreak.run(daybreak.load({str(SCENARIO_FILES[0])!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    run.write({str(tmp_path / "run")!r})
except OutputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "cannot be written" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_way(one_flow, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        daybreak.run(one_flow).write(tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [(None, "no such file"), ("{", "is not JSON"), ("{}", "name is missing"), ("[]", "expected a table")],
)
def test_folders_that_are_not_runs(tmp_path, manifest, sentence):
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(OutputError, match=sentence):
        read(tmp_path)


def test_a_missing_table_is_named(one_flow, tmp_path):
    run = daybreak.run(one_flow)
    with pytest.raises(OutputError, match='no table "queries": it has flows'):
        run.table("queries")
    run.write(tmp_path / "run")
    (tmp_path / "run" / "links.parquet").unlink()
    with pytest.raises(OutputError, match=r"links.parquet cannot be read: no such file or directory"):
        _ = read(tmp_path / "run").links


def test_unknown_engines_list_the_known_ones(one_flow):
    with pytest.raises(UnknownName, match="known are simulated"):
        daybreak.run(one_flow, engine="ns3")


def test_errors_of_the_engine_are_daybreak_errors():
    for error in (PlanError, EngineError, OutputError, UnknownName, Interrupted):
        assert issubclass(error, DaybreakError)
    with pytest.raises(PlanError, match="cannot be read"):
        _native.run(b"{}")
    with pytest.raises(UnknownName, match="known are S1"):
        _native.run_benchmark("S9")


def test_the_engine_refuses_a_plan_that_makes_no_sense(one_flow):
    plan = lower(one_flow, 1).json.replace(b'"src":0', b'"src":99')
    with pytest.raises(PlanError, match=r"flows\[0\]"):
        _native.run(plan)


def test_a_fin_that_is_outstanding_is_no_payload():
    topology = {"kind": "dumbbell", "pairs": 2, "rate": "1 Gbit/s", "delay": "10 us", "queue": "100 packets"}
    flow = {"from": "senders[*]", "to": "receivers[*]", "pairing": "one_to_one", "size": "1 kB"}
    scenario = Scenario.parse({"name": "fin", "duration": "1 s", "topology": topology, "flows": [flow]})
    # The run ends when the last ACK of payload is there, and the FIN's is not.
    ended = daybreak.run(scenario).flows
    assert ended["delivered_bytes"].to_list() == [1000, 1000] and ended["outstanding_bytes"].to_list() == [0, 0]
    # At every time it is what was sent of the payload less what is acknowledged; before that the SYN alone is out.
    for end in range(5, 95, 5):
        cut = daybreak.run(scenario.with_({"duration": f"{end} us"})).flows
        assert set(cut["outstanding_bytes"]) <= {0, 1000}, end
