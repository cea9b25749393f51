"""Exports: what other viewers read is what the tables have."""

import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from cli.program import daybreak as program
from cli.program import one_sentence

import daybreak
from daybreak.errors import OutputError
from daybreak.report import export

RECORDS = {"bins": "1 ms", "window": "1 ms", "queues": "1 ms"}
RUN, CIRCUITS, FLOWS, LINKS, QUEUES, LOSSES = range(1, 7)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    document = {
        "name": "moved", "duration": "1 s", "topology": {"kind": "migration_testbed", "queue": "60 packets"},
        "stack": {"mtu": 9000}, "records": RECORDS,
        "flows": [
            {"name": "main", "from": "sender-main", "to": "receiver-main", "size": "8 MiB", "via": "green"},
            {"name": "moved", "from": "sender-migrated", "to": "receiver-migrated", "size": "16 MiB"},
        ],
        "timelines": [
            {"kind": "migrate", "flows": ["moved"], "between": ["blue", "green"], "period": "10 ms", "night": "1 ms"}
        ],
    }  # fmt: skip
    run = daybreak.run(daybreak.Scenario.parse(document))
    return run.write(tmp_path_factory.mktemp("export") / "run")


def test_perfetto_has_flows_circuits_counters_and_losses(place, tmp_path):
    run = daybreak.read(place)
    assert export.write(run, tmp_path / "t.json", "perfetto") == 2
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    slices = {event["name"]: event for event in events if event["ph"] == "X" and event["pid"] == FLOWS}
    for name, start, end in run.flows.select("flow_name", "start_ns", "end_ns").iter_rows():
        assert (slices[name]["ts"], slices[name]["dur"]) == (start / 1000, pytest.approx((end - start) / 1000))
    nights = [event for event in events if event["ph"] == "X" and event["name"] == "night"]
    assert [event["dur"] for event in nights][:1] == [1000.0]
    cwnd = [event["args"]["segments"] for event in events if event["name"] == "moved: cwnd"]
    assert cwnd == changes(run.window.filter(flow_name="moved")["cwnd"])
    assert sum(event["ph"] == "i" for event in events) == run.drops.height > 0
    queued = [event["args"]["packets"] for event in events if event["name"] == "green"]
    assert queued == changes(run.queues.filter(queue_name="green")["packets"])
    arrived = [(e["ts"], e["args"]["Gbit/s"]) for e in events if e["name"] == "main: throughput"]
    carried = sum(rate * (until - since) for (since, rate), (until, _) in pairwise(arrived)) * 1e3 / 8
    assert carried == pytest.approx(run.bins.filter(scope="arrived", name="main")["bytes"].sum())


def changes(values):
    """The values that differ from the one before, and the last."""
    known = values.to_list()
    return [value for at, value in enumerate(known) if at == 0 or value != known[at - 1]] + (
        known[-1:] if known[-2:-1] == known[-1:] else []
    )


def held(series):
    """A counter as a viewer shows it: without the points that repeat a value, but for its last time."""
    return [one for at, one in enumerate(series) if at == 0 or one[1] != series[at - 1][1]], series[-1][0]


def test_qlog_has_a_trace_a_flow_in_the_order_of_time(place, tmp_path):
    run = daybreak.read(place)
    export.write(run, tmp_path / "t.qlog", "qlog", flows="mov*")
    document = json.loads((tmp_path / "t.qlog").read_text())
    (trace,) = document["traces"]
    assert (document["qlog_version"], trace["title"]) == ("0.3", "moved")
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)
    metrics = [event["data"] for event in trace["events"] if event["name"] == "recovery:metrics_updated"]
    window = run.window.filter(flow_name="moved")
    # A full packet of 9000 bytes has 52 bytes of headers with timestamps.
    assert [data["congestion_window"] for data in metrics] == [cwnd * 8948 for cwnd in window["cwnd"]]
    lost = [event for event in trace["events"] if event["name"] == "recovery:packet_lost"]
    assert len(lost) == run.drops.filter(flow_name="moved", data=True).height > 0
    states = [event["data"]["new"] for event in trace["events"] if event["name"].endswith("congestion_state_updated")]
    assert states == [
        now for at, now in enumerate(window["state"]) if at == 0 or window["state"][at - 1] != now
    ]  # fmt: skip


def counters(events):
    """Times and values of the counters, under the names that Perfetto gives them: with the argument, which is the
    unit."""
    series = {}
    for event in events:
        if event["ph"] == "C":
            ((unit, value),) = event["args"].items()
            series.setdefault((event["pid"], f"{event['name']} {unit}"), []).append((event["ts"], value))
    return series


def test_counters_have_the_units_of_their_names_and_rates_end_with_their_bins(place, tmp_path):
    run = daybreak.read(place)
    series = counters(exported(run, tmp_path / "t.json", "perfetto")["traceEvents"])
    window = run.window.filter(flow_name="moved").select("time_ns", "bytes_in_flight", "srtt_ns").rows()
    assert held(series[FLOWS, "moved: in flight bytes"]) == held([(time / 1000, flying) for time, flying, _ in window])
    srtts = [(time / 1000, srtt / 1000) for time, _, srtt in window if srtt is not None]
    assert held(series[FLOWS, "moved: srtt us"]) == held(srtts)
    # A bin is a millisecond: 125 kB in it are 1 Gbit/s from its start to its end.
    bins = dict(run.bins.filter(scope="arrived", name="moved").select("start_ns", "bytes").rows())
    at = range(min(bins), max(bins) + 2_000_000, 1_000_000)
    assert any(start not in bins for start in at[:-1]), "the flow pauses"
    expected = held([(start / 1000, pytest.approx(bins.get(start, 0) * 8e-6)) for start in at])
    assert held(series[FLOWS, "moved: throughput Gbit/s"]) == expected


def test_a_counter_is_written_where_it_changes_and_at_its_end(place, tmp_path):
    run = daybreak.read(place)
    ends = run.queues.group_by("queue_name").agg(last=pl.col("time_ns").max() / 1000)
    last = {(QUEUES, f"{name} packets"): time for name, time in ends.rows()}
    series = counters(exported(run, tmp_path / "t.json", "perfetto")["traceEvents"])
    for name, events in series.items():
        # Only the last may be as the one before.
        assert all(one != other for (_, one), (_, other) in pairwise(events[:-1])), name
        assert events == sorted(events, key=lambda event: event[0])
        assert name not in last or events[-1][0] == last[name]
    assert len(series) > len(last) > 2


def test_of_chosen_flows_only_the_queues_on_their_ways_are_exported(one_flow, tmp_path):
    flows = [{"name": f"f{at}", "from": f"sender-{at}", "to": f"receiver-{at}", "size": "300 kB"} for at in (0, 1)]
    run = daybreak.run(one_flow.with_({"topology.pairs": 2, "flows": flows, "records": {"queues": "20 us"}}))
    assert export.write(run, tmp_path / "t.json", "perfetto", flows="f1") == 1
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    queues = {event["name"] for event in events if event["pid"] == QUEUES and event["ph"] == "C"}
    assert {"bottleneck", "right->receiver-1"} <= queues < set(run.queues["queue_name"]) and not any(
        "sender-0" in name for name in queues
    )


def test_progress_counts_up_to_all_flows_samples_and_losses(place, tmp_path, monkeypatch):
    run = daybreak.read(place)
    monkeypatch.setattr(export, "_TOLD_EVERY", 1)
    for kind, more in (("perfetto", run.queues.height), ("qlog", 0)):
        told = []
        export.write(run, tmp_path / f"t.{kind}", kind, progress=lambda *counts, told=told: told.append(counts))
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1]
        assert told[-1][1] == run.flows.height + run.window.height + run.drops.height + more


def test_without_recorded_bins_there_are_no_rates(one_flow, tmp_path):
    run = daybreak.run(one_flow.with_({"records": {"window": "1 ms", "bins": "off"}}))
    events = exported(run, tmp_path / "t.json", "perfetto")["traceEvents"]
    units = {unit for event in events if event["ph"] == "C" for unit in event["args"]}
    assert units == {"segments", "bytes", "us"}


def test_a_lost_packet_is_an_instant_with_its_place_flow_and_first_byte(place, tmp_path):
    run = daybreak.read(place)
    events = exported(run, tmp_path / "t.json", "perfetto")["traceEvents"]
    lost = [(e["ts"], e["name"], e["args"]["flow"], e["args"]["seq"]) for e in events if e["ph"] == "i"]
    columns = ("time_ns", "reason", "place_name", "flow_name", "seq")
    assert lost == [
        (time / 1000, f"{reason} at {where}", flow, seq)
        for time, reason, where, flow, seq in run.drops.select(columns).rows()
    ]
    logged = {trace["title"]: trace for trace in exported(run, tmp_path / "t.qlog", "qlog")["traces"]}
    assert logged["moved"]["description"] == "sender-migrated to receiver-migrated, cubic"
    assert [
        (e["time"], e["network_loss"], e["data"]["header"]["packet_number"])
        for e in logged["moved"]["events"] if e["name"] == "recovery:packet_lost"
    ] == [
        (time / 1e6, f"{reason} at {where}", seq)
        for time, reason, where, flow, seq in run.drops.filter(data=True).select(columns).rows() if flow == "moved"
    ]  # fmt: skip


def test_qlog_has_times_in_milliseconds_windows_in_bytes_and_leaves_out_what_is_unknown(place, tmp_path):
    run = daybreak.run(daybreak.read(place).scenario.with_({"flows.1.variant": "bbr"}))
    (trace,) = [t for t in exported(run, tmp_path / "t.qlog", "qlog")["traces"] if t["title"] == "moved"]
    metrics = [(e["time"], e["data"]) for e in trace["events"] if e["name"] == "recovery:metrics_updated"]
    columns = ("time_ns", "cwnd", "bytes_in_flight", "ssthresh", "srtt_ns", "pacing_bps")
    rows = run.window.filter(flow_name="moved").select(columns).rows()
    assert len(rows) == len(metrics) and any(row[5] for row in rows)
    for (time, cwnd, flying, ssthresh, srtt, pacing), (at, data) in zip(rows, metrics, strict=True):
        known = {"congestion_window": cwnd * 8948, "bytes_in_flight": flying}
        known |= {} if ssthresh is None else {"ssthresh": ssthresh * 8948}
        known |= {} if srtt is None else {"smoothed_rtt": srtt / 1e6}
        assert (at, data) == (time / 1e6, known | ({} if pacing is None else {"pacing_rate": pacing}))


def test_a_flow_that_goes_on_is_a_slice_to_the_end_of_the_run(place, tmp_path):
    scenario = daybreak.read(place).scenario.with_({"duration": "12 ms"})
    run = daybreak.run(scenario)
    events = exported(run, tmp_path / "t.json", "perfetto")["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [names[one] for one in (RUN, CIRCUITS, FLOWS)] == ["run", "circuits", "flows"]
    assert [names[one] for one in (LINKS, QUEUES, LOSSES)] == ["links", "queues", "losses"]
    (moved,) = [e for e in events if e["ph"] == "X" and e["pid"] == FLOWS and e["name"] == "moved"]
    assert moved["ts"] + moved["dur"] == 12_000 and moved["args"]["complete"] is False
    assert moved["args"]["bytes"] == 16 * 2**20 and moved["args"]["variant"] == "cubic"
    assert {e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["pid"] == CIRCUITS} == {10_000, 11_000, 12_000}


def test_a_lost_ack_is_no_lost_packet_of_its_sender(one_flow, tmp_path):
    # The bottleneck loses what goes to the receivers: data of one flow, and ACKs of the other.
    there = {"name": "there", "from": "sender-0", "to": "receiver-0", "size": "1 MB"}
    back = {"name": "back", "from": "receiver-0", "to": "sender-0", "size": "1 MB"}
    run = daybreak.run(one_flow.with_({"topology.loss": 0.02, "flows": [there, back]}))
    lost = {
        trace["title"]: [event["name"] for event in trace["events"]].count("recovery:packet_lost")
        for trace in exported(run, tmp_path / "t.qlog", "qlog")["traces"]
    }
    acks = run.drops.filter(data=False)
    assert lost == {"there": run.drops.height - acks.height, "back": 0} and lost["there"] > 0
    assert acks.height > 0 and set(acks["flow_name"]) == {"back"}


def problems(schema, document):
    """What a document has that its format does not allow."""
    known = json.loads((Path(__file__).parent / "schemas" / f"{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(known)
    return [error.message for error in jsonschema.Draft202012Validator(known).iter_errors(document)]


def exported(run, place, kind):
    export.write(run, place, kind)
    return json.loads(place.read_text())


@pytest.mark.parametrize("variant", ["cubic", "bbr"])
def test_exports_keep_to_their_formats(place, tmp_path, variant):
    # With pacing there is a rate as well.
    run = daybreak.run(daybreak.read(place).scenario.with_({"flows.1.variant": variant}))
    log, trace = exported(run, tmp_path / "t.qlog", "qlog"), exported(run, tmp_path / "t.json", "perfetto")
    assert problems("qlog-0.3", log) == [] and problems("trace-events", trace) == []
    names = {event["name"] for one in log["traces"] for event in one["events"]}
    recovery = {f"recovery:{one}" for one in ("metrics_updated", "congestion_state_updated", "packet_lost")}
    assert names == recovery | {"connectivity:connection_state_updated"}
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X", "C", "i"}
    # What the formats do not allow is found.
    lost = next(e for one in log["traces"] for e in one["events"] if e["name"] == "recovery:packet_lost")
    lost["data"]["trigger"] = "queue full"
    assert len(problems("qlog-0.3", log)) == 1
    next(event for event in trace["traceEvents"] if event["ph"] == "X").pop("dur")
    assert len(problems("trace-events", trace)) == 1


def test_slices_of_a_thread_do_not_overlap(place, tmp_path):
    # A viewer nests slices of one thread, and drops those that cross.
    ends = {}
    for event in exported(daybreak.read(place), tmp_path / "t.json", "perfetto")["traceEvents"]:
        if event["ph"] == "X":
            thread = event["pid"], event["tid"]
            assert round(event["ts"] * 1000) >= ends.get(thread, 0)
            ends[thread] = round(event["ts"] * 1000) + round(event["dur"] * 1000)
    # The run itself, its timeline and two flows.
    assert len(ends) == 4


def test_a_thread_has_a_number_that_no_other_thread_and_no_process_has(place, tmp_path):
    # Perfetto takes a thread with the number of its process for the main thread, and names threads by number alone.
    events = exported(daybreak.read(place), tmp_path / "t.json", "perfetto")["traceEvents"]
    threads = [event["tid"] for event in events if event["name"] == "thread_name"]
    assert len(threads) == len(set(threads)) == 4
    assert not set(threads) & {event["pid"] for event in events} and 0 not in threads
    assert {event["tid"] for event in events if event["ph"] == "X"} == set(threads)


def test_times_of_a_viewer_are_those_of_the_run(place, tmp_path):
    # Perfetto counts from the first event on; up to 2022 it took displayTimeUnit for the unit of all times.
    run = daybreak.run(daybreak.read(place).scenario.with_({"flows.1.start": "7 ms"}))
    export.write(run, tmp_path / "t.json", "perfetto", flows="moved")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert set(trace) == {"traceEvents", "otherData"}
    (whole,) = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == RUN]
    ended = run.manifest["totals"]["ended_ns"] / 1000
    assert (whole["name"], whole["ts"], whole["dur"]) == ("moved", 0, ended)
    assert whole["args"] == {"seed": run.seed, "engine": "simulated"}
    assert max(event["ts"] + event["dur"] for event in trace["traceEvents"] if event["ph"] == "X") == ended


def test_what_controllers_set_is_a_circuit_of_its_own(tmp_path):
    run = daybreak.run(daybreak.load(Path(__file__).parents[2] / "scenarios" / "11-light-paths.toml"))
    export.write(run, tmp_path / "t.json", "perfetto", flows="data-*")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == CIRCUITS}
    assert set(names.values()) == {f"manager: data-{at}" for at in range(3)}
    slices = [event for event in events if event["ph"] == "X" and event["pid"] == CIRCUITS]
    begun = {(names[e["tid"]], e["name"], e["ts"]) for e in slices}
    moved = run.control.filter(pl.col("flow_name").str.starts_with("data"), event="in_force", path=1)
    assert moved.height and begun >= {
        (f"manager: {flow}", "path 1", time / 1000) for flow, time in moved.select("flow_name", "time_ns").iter_rows()
    }
    ended = run.manifest["totals"]["ended_ns"] / 1000
    assert sum(round(event["dur"], 3) for event in slices) == pytest.approx(3 * ended)
    links = {event["name"] for event in events if event["pid"] == LINKS and event["ph"] == "C"}
    assert {"ip", "light-1"} <= links


def test_each_flow_has_its_start_and_its_end_in_qlog(one_flow, tmp_path):
    # Nothing else is recorded here, and qvis would not open a file with a trace that has no event.
    run = daybreak.run(one_flow.with_({"records": {}}))
    (trace,) = exported(run, tmp_path / "t.qlog", "qlog")["traces"]
    start, end = run.flows.select("start_ns", "end_ns").row(0)
    assert [(event["time"], event["name"], event["data"]) for event in trace["events"]] == [
        (time / 1e6, "connectivity:connection_state_updated", {"new": state})
        for time, state in ((start, "attempted"), (end, "closed"))
    ]
    run = daybreak.run(one_flow.with_({"records": {}, "duration": "300 us", "stop": "duration"}))
    (trace,) = exported(run, tmp_path / "t.qlog", "qlog")["traces"]
    assert [event["data"]["new"] for event in trace["events"]] == ["attempted"]


def test_only_exports_are_replaced_and_mistakes_are_one_sentence(place, tmp_path, monkeypatch):
    run, mine = daybreak.read(place), tmp_path / "notes.json"
    mine.write_text("mine")
    with pytest.raises(OutputError, match=r"is no export of Daybreak's: give another name, or --force"):
        export.write(run, mine, "perfetto")
    assert mine.read_text() == "mine"
    for _ in range(2):
        export.write(run, tmp_path / "t.json", "perfetto")
        export.write(run, tmp_path / "t.qlog", "qlog")
    with pytest.raises(OutputError, match='no flow is called "x"'):
        export.write(run, tmp_path / "u.json", "perfetto", flows="x")
    monkeypatch.setattr(export, "MOST_ROWS", 3)
    with pytest.raises(OutputError, match="more than 3, which a viewer can open: choose flows"):
        export.write(run, tmp_path / "u.json", "perfetto")
    done = program("export", place, "--format", "svg", cwd=tmp_path)
    assert done.returncode == 2 and one_sentence(done.stderr) and "expected perfetto or qlog" in done.stderr
    done = program("export", place, "--format", "qlog", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "run.qlog").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.json", "run.qlog", "t.json", "t.qlog"]
