"""Whole runs on real Linux."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from ready_files import ROOT
from real_kernel import LACKING

import daybreak
from daybreak.engines import program
from daybreak.engines.kernel import image, workplace
from daybreak.engines.kernel.errors import NoImage
from daybreak.errors import PlanError
from daybreak.runs import read as read_run
from daybreak.scenario import Scenario, load, save
from daybreak.scenario.lowering import lower

# For the whole file at once, so that the report has one line for all that is left out.
if LACKING:
    pytest.skip(f"the kernel engine's runs are left out: {LACKING}", allow_module_level=True)


def processes_in(directory: Path) -> list[str]:
    """Processes that work below a directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if path.readlink().is_relative_to(directory):
                found.append(path.parent.name)
    return found


def test_its_program_is_named_by_kernel_image_and_guest():
    assert re.fullmatch(
        r"Linux 6\.1\.\d+, image [0-9a-f]{8}(, \d+ ticks [0-9a-f]{8})*, guest [0-9a-f]{8}", program("kernel")
    )


def test_one_flow_takes_the_time_of_its_packets(one_flow):
    run = daybreak.run(one_flow, engine="kernel")
    (flow,) = run.flows.iter_rows(named=True)
    # 691 packets of at most 1538 bytes at 10 Gbit/s, and a few round trips of slow start.
    assert 0.85e6 < flow["fct_ns"] < 2.5e6
    assert flow["delivered_bytes"] == 1_000_000
    assert flow["retransmits"] == 0


def test_without_small_queues_the_receiver_is_the_limit():
    flow = {"name": "alone", "size": "70 MB", "via": ["blue"], "ack_via": ["bypass"]}
    scenario = Scenario(
        name="alone",
        duration="1 s",
        topology={"kind": "migration_testbed"},
        stack={"mtu": 9000, "tcp_limit_output_bytes": "off"},
        flows=[flow | {"from": "sender-main", "to": "receiver-main"}],
        records={"window": "1 ms"},
    )
    runs = [daybreak.run(scenario, engine=engine) for engine in ("kernel", "simulated")]
    kernel, model = (run.window["outstanding_bytes"].max() for run in runs)
    # Half of the default tcp_rmem, 3,145,728 bytes; small queues would end it at half of that.
    assert kernel == pytest.approx(3_145_728, rel=0.02)
    assert kernel == pytest.approx(model, rel=0.02)


def test_what_is_in_flight_means_the_same_on_both_engines(migration):
    scenario = migration.with_({"timelines.0.night": "1 ms", "records": {"window": "1 ms"}})
    for engine in ("kernel", "simulated"):
        run = daybreak.run(scenario, engine=engine, seed=2)
        window = run.window
        assert (window["bytes_in_flight"] == window["in_flight"].cast(pl.UInt64) * (9000 - 52)).all()
        # While a timeout is waited for, what a night has destroyed is outstanding but no longer in flight.
        waits = window.filter(pl.col("outstanding_bytes") > pl.col("bytes_in_flight"))
        assert len(waits) > 10, engine
        # A probe that repeats the last segment is in flight beside it.
        assert window.filter(pl.col("outstanding_bytes") + 8948 < pl.col("bytes_in_flight")).is_empty()
        last = window.group_by("flow").agg(pl.col("retransmits").last()).sort("flow")["retransmits"].to_list()
        assert last == run.flows["retransmits"].to_list()


def test_nothing_is_outstanding_when_an_exchange_is_over():
    flow = {"from": "sender-0", "to": "receiver-0", "name": "one"}
    asked = {"kind": "request_response", "request": "100 B", "response": "30 kB", "exchanges": 2, "think": "1 ms"}
    scenario = Scenario(
        name="exchanges",
        duration="1 s",
        topology={"kind": "dumbbell", "pairs": 1, "rate": "1 Gbit/s", "delay": "50 us", "queue": "100 packets"},
        flows=[flow | {"application": asked}],
        records={"window": "100 us"},
    )
    for engine in ("kernel", "simulated"):
        window = daybreak.run(scenario, engine=engine).window
        assert set(window.filter(pl.col("in_flight") == 0)["outstanding_bytes"]) == {0}, engine


def test_two_runs_are_identical_and_fill_all_tables(migration):
    scenario = migration.with_({"records": {"window": "1 ms", "queues": "1 ms", "taps": ["green"]}})
    first, second = (daybreak.run(scenario, engine="kernel", seed=3) for _ in range(2))
    for table in ("flows", "bins", "window", "queues", "drops", "circuits", "links"):
        assert getattr(first, table).equals(getattr(second, table)), table
    assert first.flows["delivered_bytes"].to_list() == [32 << 20] * 2
    assert len(first.window) > 0 and len(first.queues) > 0 and len(first.circuits) > 0


def test_no_result_depends_on_when_the_console_is_read():
    # Every ten seconds BBR measures its RTT and draws anew where in its cycle it goes on.
    scenario = Scenario(
        name="paced",
        duration="40 s",
        topology={"kind": "dumbbell", "pairs": 8, "rate": "50 Mbit/s", "delay": "5 ms", "queue": "50 packets"},
        flows=[{"from": f"sender-{n}", "to": f"receiver-{n}", "variant": "bbr", "size": "1 GB"} for n in range(8)],
        stack={"mtu": 9000},
    )
    at_once, late = (
        daybreak.run(scenario, engine="kernel", progress=lambda progress, pause=pause: time.sleep(pause))
        for pause in (0, 0.03)
    )
    assert at_once.flows.equals(late.flows)


def test_flows_behind_one_nic_share_it_and_are_counted_apart(one_flow):
    flow = {"from": "sender-0", "to": "receiver-0", "size": "8 MB", "start": {"uniform": ["0 s", "1 ms"]}}
    # A bottleneck behind the NIC with a short queue: both lose packets, each its own; a SYN is sent again after 1 s.
    scenario = one_flow.with_(
        {
            "duration": "4 s",
            "topology.queue": "20 packets",
            "topology.access_rate": "40 Gbit/s",
            "flows": [flow | {"name": "a"}, flow | {"name": "b"}],
        }
    )
    run = daybreak.run(scenario, engine="kernel")
    flows = {flow["flow_name"]: flow for flow in run.flows.iter_rows(named=True)}
    payload = run.drops.filter(run.drops["bytes"] > 100)
    lost = {name: len(payload.filter(payload["flow"] == flows[name]["flow"])) for name in flows}
    for name, flow in flows.items():
        assert flow["delivered_bytes"] == 8_000_000
        assert flow["retransmits"] >= lost[name]
        assert (flow["fast_recoveries"] + flow["rtos"] > 0) == (lost[name] > 0), (flow, lost)
    # One bottleneck of 10 Gbit/s carries both.
    assert max(flow["end_ns"] for flow in flows.values()) > 16e6 * 8 / 10


@pytest.mark.parametrize("engine", ["kernel", "simulated"])
def test_a_flow_starts_with_the_threshold_that_the_one_before_has_left(one_flow, engine):
    flow = {"from": "sender-0", "to": "receiver-0", "size": "20 MB"}
    scenario = one_flow.with_(
        {
            "topology.queue": "40 packets",
            "topology.access_rate": "40 Gbit/s",
            "flows": [flow | {"name": "first"}, flow | {"name": "second", "start": "300 ms"}],
            "records": {"window": "20 us"},
        }
    )

    def thresholds(**stack):
        run = daybreak.run(scenario.with_({f"stack.{name}": value for name, value in stack.items()}), engine=engine)
        assert run.flows["retransmits"].min() > 0
        last = run.window.filter(run.window["flow"] == 0).row(-1, named=True)
        return max(last["ssthresh"] or 0, last["cwnd"] // 2), run.window.filter(run.window["flow"] == 1)["ssthresh"][0]

    left, found = thresholds(tcp_no_metrics_save=False, tcp_no_ssthresh_metrics_save=False)
    assert left == found < 200
    # Unlimited.
    assert thresholds(tcp_no_metrics_save=False)[1] is None
    assert thresholds()[1] is None


def test_a_circuit_with_two_links_and_one_queue_carries_real_tcp():
    scenario = daybreak.load(ROOT / "scenarios" / "05-circuit.toml")
    run = daybreak.run(scenario.with_({"duration": "20 ms"}), engine="kernel")
    assert run.flows["delivered_bytes"].min() > 1_000_000
    # A day begins and ends every 1.4 ms, at 14.3 weeks in 20 ms.
    assert len(run.circuits) == 30


def test_real_packets_are_captured(one_flow):
    run = daybreak.run(one_flow.with_({"records": {"capture": ["bottleneck"], "snaplen": 96}}), engine="kernel")
    content = run.capture.read_bytes()
    assert content[:4] == b"\n\r\r\n"
    packets = run.links.filter(run.links["link_name"] == "bottleneck")["packets"][0]
    assert packets > 691
    # A section, an interface, and a block of at least 96 bytes for most packets.
    assert len(content) > packets * 96


def test_the_ticks_of_the_hosts_choose_the_image(one_flow):
    """The guest refuses a plan with other ticks than its kernel has."""
    try:
        image.find(hz=250)
    except NoImage as error:
        pytest.skip(str(error))
    slow = one_flow.with_({"stack.hz": 250})
    fcts = [daybreak.run(slow, engine=engine).flows["fct_ns"][0] for engine in ("simulated", "kernel")]
    assert fcts[1] == pytest.approx(fcts[0], rel=0.01)


def test_what_the_engine_cannot_do_is_refused_by_name(one_flow):
    with pytest.raises(PlanError, match=r'stack\.delayed_ack_min is "10 ms": Linux has 40 ms'):
        daybreak.run(one_flow.with_({"stack.delayed_ack_min": "10 ms"}), engine="kernel")
    with pytest.raises(PlanError, match=r"hz of the stacks are 250, 1000: all hosts are in one kernel; use one"):
        daybreak.run(one_flow.with_({"stacks": {"slow": {"hz": 250}}, "flows.0.stack": "slow"}), engine="kernel")
    with pytest.raises(PlanError, match=r"hz of a stack is 500: expected one of 100, 250, 300, 1000"):
        daybreak.run(one_flow.with_({"stack.hz": 500}), engine="kernel")
    with pytest.raises(PlanError, match=r'beta of variant "cubic" is 0.8: Linux has no such parameter of cubic to set'):
        daybreak.run(one_flow.with_({"flows.0.variant": {"name": "cubic", "beta": 0.8}}), engine="kernel")
    with pytest.raises(PlanError, match=r"stack\.tdtcp is true: Linux 6\.1 has no time-division TCP"):
        daybreak.run(one_flow.with_({"stack.tdtcp": True}), engine="kernel")
    with pytest.raises(PlanError, match=r"records\.latency is true"):
        daybreak.run(load(ROOT / "scenarios" / "09-hybrid.toml"), engine="kernel")


def test_dctcp_over_a_hybrid_network_agrees_with_the_model():
    """A VOQ that a packet network and a circuit serve, with different next hops; a threshold that marks.

    The flows start apart: the order in which Linux wakes what is due in one nanosecond changes with the image."""
    changes: dict[str, object] = {"records.latency": False}
    for i in range(4):
        changes |= {f"flows.{i}.variant": "dctcp", f"flows.{i}.start": f"{3 * i} us"}
    scenario = load(ROOT / "scenarios" / "09-hybrid.toml").with_(changes)
    kernel, model = (daybreak.run(scenario, engine=engine) for engine in ("kernel", "simulated"))
    marks = [run.table("queue_totals")["marked_packets"].sum() for run in (kernel, model)]
    assert marks[0] > 1000 and marks[0] == pytest.approx(marks[1], rel=0.02)
    delivered = [run.flows["delivered_bytes"].sum() for run in (kernel, model)]
    assert delivered[0] == pytest.approx(delivered[1], rel=0.01)


def test_a_program_without_its_switch_is_none(tmp_path):
    alone = shutil.copy(workplace.guest_program(), tmp_path)
    done = subprocess.run([alone, "host", image.find().program, "64M"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"load the switch {tmp_path}/libdaybreak_switch.so: ")


def test_what_is_no_switch_is_reported(one_flow, tmp_path):
    program = Path(shutil.copy(workplace.guest_program(), tmp_path))
    (tmp_path / workplace.SWITCH).write_bytes(b"no library")
    (tmp_path / "plan.json").write_bytes(lower(one_flow, 1).json)
    command = [program, "host", image.find().program, "1024M"]
    # Its input stays open as long as it runs: the holder keeps the guest alive.
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as guest:
        assert guest.stdout is not None
        said = guest.stdout.readline()
    assert said.startswith("! the switch cannot be loaded: ")


def test_a_killed_run_leaves_nothing(one_flow, tmp_path):
    endless = one_flow.with_({"duration": "100 s", "flows.0.size": "unlimited"})
    file = tmp_path / "endless.toml"
    save(endless, file)
    program = "import sys; from daybreak.cli import main; sys.argv = ['daybreak', *sys.argv[1:]]; main()"
    command = [sys.executable, "-c", program, "run", str(file), "--engine", "kernel"]
    child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL)
    wait_until(lambda: processes_in(tmp_path))
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: not processes_in(tmp_path))
    kept = lambda: sorted(path.name for path in tmp_path.glob("daybreak-kernel-*/run-*/*"))  # noqa: E731
    wait_until(lambda: kept() == ["console.log"])


def wait_until(true, seconds=30):
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


def test_a_run_can_be_written_and_read(one_flow, tmp_path):
    run = daybreak.run(one_flow, engine="kernel")
    run.write(tmp_path / "run")
    assert read_run(tmp_path / "run").flows.equals(run.flows)
    assert run.manifest["engine"] == "kernel"
