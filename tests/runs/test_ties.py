"""Warnings about packets that come in step, held against what some nanoseconds of jitter change."""

import json
from pathlib import Path

import pytest
from cli.program import daybreak as program
from msgspec.structs import replace
from ready_files import ROOT

import daybreak
from daybreak.engines import simulated
from daybreak.runs.naming import named
from daybreak.runs.ties import ties
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import Plan, lower

IN_STEP = {
    "05-circuit": 0.05, "09-hybrid": 0.05, "12-on-demand": 0.05, "13-strobe": 0.04, "14-direct-links": 0.5,
    "16-time-division": 0.05,
}  # fmt: skip
"""Ready scenarios whose outcome 7 ns of jitter change, and by how much at least."""
NOT_IN_STEP = ("01-one-flow", "08-own-network", "11-light-paths")
"""Those without jitter that it leaves as they are, to a thousandth."""


def content_of(name):
    return lower(daybreak.load(ROOT / "scenarios" / f"{name}.toml"), 1).content


def outcome(content):
    """Completion time and delivered bytes of each flow."""
    recorded = simulated.execute(Plan(content), None, Path())
    flows = named("flows", recorded.tables["flows"], content)
    return [value or 0 for name in ("fct_ns", "delivered_bytes") for value in flows[name]]


def change(content):
    """The largest relative change of any of these by jitter of 7 ns on every link."""
    jittered = replace(content, links=[replace(link, jitter_ps=7_000) for link in content.links])
    both = zip(outcome(content), outcome(jittered), strict=True)
    return max(abs(one - other) / max(one, 1) for one, other in both)


@pytest.mark.parametrize("name", IN_STEP)
def test_what_nanoseconds_change_is_warned_of(name):
    content = content_of(name)
    assert "no link on their paths has jitter" in (ties(content) or "")
    assert change(content) > IN_STEP[name]
    # With jitter there is nothing to warn of.
    assert ties(replace(content, links=[replace(link, jitter_ps=7_000) for link in content.links])) is None


@pytest.mark.parametrize("name", NOT_IN_STEP)
def test_what_they_leave_as_it_is_is_not(name):
    content = content_of(name)
    assert not any(link.jitter_ps for link in content.links)
    assert ties(content) is None
    assert change(content) < 1e-3


def dumbbell(pairs, **more):
    return {
        "name": "ties", "duration": "1 s",
        "topology": {"kind": "dumbbell", "pairs": pairs, "rate": "1 Gbit/s", "delay": "20 us", "queue": "30 packets"}
        | more,
        "flows": [{"from": f"sender-{k}", "to": f"receiver-{k}", "size": "1 MB"} for k in range(pairs)],
    }  # fmt: skip


def said(document):
    return ties(lower(Scenario.parse(document), 1).content)


def test_flows_that_fill_a_queue_together_meet_and_one_alone_does_not():
    assert said(dumbbell(1)) is None
    assert said(dumbbell(2)) == (
        'queue "bottleneck": 2 flows come to it by 2 links of one rate, and no link on their paths has jitter. Their '
        "packets arrive in lockstep; nanoseconds may decide throughout the run whose packets are lost: give hosts' "
        "links some jitter, or draw when flows start, and compare several seeds"
    )
    # Two that together bring no more than the bottleneck takes.
    assert said(dumbbell(2, rate="2 Gbit/s", access_rate="1 Gbit/s")) is None
    # Two of one host wait in its own queue.
    one_host = dumbbell(2)
    one_host["flows"] = [{"from": "sender-0", "to": "receiver-0", "size": "1 MB", "count": 2}]
    assert said(one_host) is None


def test_a_link_with_a_gate_is_not_counted_on_and_a_flow_does_not_meet_itself():
    # By day the circuit takes more than both hosts send, at night the packet network does not.
    assert ties(content_of("13-strobe")).startswith('queue "voq-0-1": 2 flows come to it by 2 links of one rate')
    # One flow that is moved between two leaves reaches its host by two links; five others share an uplink.
    assert ties(content_of("14-direct-links")).startswith('queue "leaf-0->spine-0": 5 flows')


def between_racks(night):
    """Two hosts of 1 Gbit/s each whose rack has a circuit of 10 Gbit/s, which is shut at night."""
    return {
        "name": "nights", "duration": "100 ms",
        "topology": {
            "kind": "hybrid", "racks": 2, "hosts": 2, "host_rate": "1 Gbit/s", "host_delay": "1 us",
            "circuit_rate": "10 Gbit/s", "circuit_delay": "1 us", "packet_rate": "500 Mbit/s", "packet_delay": "1 us",
            "voq": "16 packets",
        },
        "schedule": {"kind": "strobe", "day": "1 ms", "night": night},
        "flows": [{"from": f"host-0-{k}", "to": f"host-1-{k}", "size": "1 MB"} for k in range(2)],
    }  # fmt: skip


def test_a_link_that_does_not_always_serve_a_queue_does_not_keep_it_empty():
    assert said(dumbbell(2, rate="2 Gbit/s", access_rate="1 Gbit/s")) is None
    assert said(between_racks("100 us")).startswith('queue "voq-0-1": 2 flows come to it by 2 links of one rate')


def test_a_link_whose_rate_falls_below_what_comes_is_slow():
    falling = dumbbell(2, rate="2 Gbit/s", access_rate="1 Gbit/s") | {
        "timelines": [
            {
                "kind": "program",
                "name": "falls",
                "period": "10 ms",
                "steps": [{"at": "5 ms", "do": [{"kind": "set_rate", "link": "bottleneck", "rate": "500 Mbit/s"}]}],
            }
        ]
    }
    assert said(falling).startswith('queue "bottleneck": 2 flows')


def test_draws_of_starts_are_advised_only_where_flows_start_together():
    together, drawn = dumbbell(3), dumbbell(3)
    for flow in drawn["flows"]:
        flow["start"] = {"uniform": ["0 s", "5 ms"]}
    assert "some jitter, or draw when flows start, and compare several seeds" in said(together)
    assert said(drawn).endswith("give hosts' links some jitter and compare several seeds")


def test_validate_says_it_and_succeeds():
    scenario = ROOT / "scenarios" / "12-on-demand.toml"
    done = program("validate", scenario)
    assert done.returncode == 0 and "warning: queue" in done.stdout
    report = json.loads(program("validate", scenario, "--json").stdout)
    assert report["valid"] and any("in lockstep" in warning for warning in report["warnings"])
    assert json.loads(program("validate", ROOT / "scenarios" / "01-one-flow.toml", "--json").stdout)["warnings"] == []


def only(content, **changes):
    """The plan with changed queues or links: `changes` are of those with a name."""
    ((kind, of),) = changes.items()
    return replace(content, **{kind: [replace(one, **of.get(one.name, {})) for one in getattr(content, kind)]})


def test_a_queue_without_a_limit_loses_nothing_and_one_in_bytes_does():
    content = lower(Scenario.parse(dumbbell(2)), 1).content
    endless = {"bottleneck": {"limit_packets": None, "limit_bytes": None}}
    assert ties(only(content, queues=endless)) is None
    in_bytes = {"bottleneck": {"limit_packets": None, "limit_bytes": 30_000}}
    assert ties(only(content, queues=in_bytes)) == ties(content) is not None


def test_links_of_two_rates_do_not_send_in_step_and_one_with_jitter_ends_it():
    content = lower(Scenario.parse(dumbbell(2)), 1).content
    assert ties(only(content, links={"sender-0->left": {"rate_bps": 7 * 10**9}})) is None
    # A flow whose own link has jitter meets no other.
    assert ties(only(content, links={"sender-0->left": {"jitter_ps": 1}})) is None
    assert ties(only(content, links={"left->sender-0": {"jitter_ps": 1}})) == ties(content) is not None


def test_of_three_flows_two_by_one_link_are_one_more_and_datagrams_are_none():
    document = dumbbell(2)
    document["flows"].append(document["flows"][0])
    assert said(document).startswith('queue "bottleneck": 3 flows come to it by 2 links of one rate')
    sends = {"kind": "constant_rate", "rate": "100 Mbit/s", "payload": "1 kB"}
    document["flows"] = [{"from": f"sender-{k}", "to": f"receiver-{k}", "application": sends} for k in range(2)]
    assert said(document) is None


def test_of_requests_the_responses_meet():
    """They come from the receivers, and share the link back."""
    asks = {"kind": "request_response", "request": "100 B", "response": "1 MB", "exchanges": 1}
    document = dumbbell(2)
    document["flows"] = [{"from": f"sender-{k}", "to": f"receiver-{k}", "application": asks} for k in range(2)]
    assert said(document).startswith('queue "bottleneck.back": 2 flows come to it by 2 links of one rate')
