"""The set-up of sections 2 and 3 and of table 1, read from the scenarios as they are run."""

from __future__ import annotations

from daybreak.plan import types as plan
from daybreak.scenario.lowering import lower
from daybreak.studies.lightpath import testbed
from daybreak.studies.lightpath.measured import WIDTHS_MS, Evidence
from daybreak.studies.lightpath.settings import (
    NS2,
    RATES_MBPS,
    RTTS_MS,
    SCENARIOS,
    Scale,
    Setting,
)
from daybreak.studies.lightpath.settings import grid as run_of_grid
from daybreak.studies.lightpath.testbed import BIN_MS, PACKET, QUEUE_PACKETS
from daybreak.studies.scoreboard import Scoreboard

LINKS = ("sender", "ip-1", "ip-2", "optical", "receiver")
LIMITED = {
    "A": set(),
    "B": {"sender"},
    "C1": {"ip-1", "ip-2", "optical"},
    "C2": {"ip-1", "ip-2"},
    "D": {"receiver"},
}
"""Table 1: the links that limit."""
BUFFERS_MB = {100: 0.125, 1000: 1.25, 10_000: 12.5}
"""Table 1: buffers of A at a base RTT of 10 ms."""


def settings(scale: Scale) -> list[Setting]:
    """Nothing is run for it."""
    return []


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Claims about the network, its flow, and the TCP."""
    grid = {
        (scenario, rate, rtt): _plan(Setting(scenario, rate, rtt, stack=NS2, move="10"))
        for scenario in SCENARIOS
        for rate in RATES_MBPS
        for rtt in RTTS_MS
    }
    one = grid["B", 1000, 100]
    names = {node.name for node in one.nodes}
    ways = [[one.links[link].name for link in _links(one, path)] for path in _data_paths(one)]
    board.shape("setup.topology", names == {"sender", "r1", "r2", "r3", "receiver"} and ways == [
        ["ip-1", "ip-2", "receiver"], ["optical", "receiver"]
    ], float(len(ways)), note="ways from r1: " + "; ".join(" ".join(way) for way in ways))  # fmt: skip
    board.value("setup.flow", [float(len(one.flows))])
    back = {one.links[link].name for link in _links(one, one.paths[one.flows[0].ack_path])}
    board.shape("setup.ack_path", not any("optical" in name for name in back), note=", ".join(sorted(back)))
    limits = {key: _limited(key[0], key[1], found) for key, found in grid.items()}
    wrong = [key for key, found in limits.items() if found != LIMITED[key[0]]]
    board.shape("setup.limits", not wrong, float(len(grid) - len(wrong)))
    over = {(rate, _mbps(found, link)) for (scenario, rate, _), found in grid.items() for link in LINKS
            if link not in LIMITED[scenario]}  # fmt: skip
    board.shape("setup.over", over == set(RATES_MBPS.items()), note=f"Mb/s: {sorted(rate for _, rate in over)}")
    board.shape("setup.rates", {rate for _, rate, _ in grid} == {100, 1000, 10_000})
    run = len(run_of_grid(scale, NS2))
    board.shape("setup.grid", run == len(grid) == 45, float(run), note="with CUBIC and the TCP of ns-2; all can be run")
    exact = [
        _clamp(grid["A", rate, rtt]) == int(BUFFERS_MB[rate] * 1e6 * rtt / 10 / PACKET)
        for rate in RATES_MBPS
        for rtt in RTTS_MS
    ]
    board.shape("setup.alpha_A", all(exact), float(sum(exact)), note="in whole packets of 1500 bytes")
    buffers = [found.stacks[0].tcp_wmem[2] for key, found in grid.items() if key[0] != "A"]
    board.shape(
        "setup.alpha_other", min(buffers) / 2 >= 1.16e9 / 1.164 and all(_clamp(grid["B", rate, 10]) is None
        for rate in RATES_MBPS), min(buffers) / 2 / 2**30, note="GiB of window: the most that the TCP header can say",
    )  # fmt: skip
    rule = one.rules[one.flows[0].rule]
    growth = {name: value.value for name, value in rule.parameters.items()}
    board.shape(
        "setup.tcp",
        (rule.name, growth.get("beta"), growth.get("ack_ratio")) == ("cubic", 0.8, True),
        note=f"{rule.name} with {growth}",
    )
    board.shape(
        "setup.growth_bound", growth.get("max_increment") == 16, note="16 packets in 100 ms; Linux 6.1 has none"
    )
    limit = {found.queues[_queue(found, "receiver")].limit_packets for found in grid.values()}
    is_printed = limit == {QUEUE_PACKETS}
    board.shape(
        "setup.r3_buffer", is_printed, QUEUE_PACKETS + 1.0 if is_printed else None, note="one of them is being sent"
    )
    board.shape("setup.granularity", 1000 in WIDTHS_MS and 1000 % BIN_MS == 0, note="and 100 ms; bins end at the move")
    board.left_out("sctp_dccp", "not compared")


def _plan(setting: Setting) -> plan.Plan:
    return lower(testbed.scenario(setting), 1).content


def _links(found: plan.Plan, path: list[plan.Step]) -> list[int]:
    return [found.queues[step.index].served_by[0] for step in path if step.kind == "queue"]


def _data_paths(found: plan.Plan) -> list[list[plan.Step]]:
    return [found.paths[path] for path in found.route_switches[0].alternatives]


def _queue(found: plan.Plan, link: str) -> int:
    return next(place for place, queue in enumerate(found.queues) if found.links[queue.served_by[0]].name == link)


def _mbps(found: plan.Plan, link: str) -> float:
    return next(one.rate_bps for one in found.links if one.name == link) / 1e6


def _limited(scenario: str, rate: int, found: plan.Plan) -> set[str]:
    return {link for link in LINKS if _mbps(found, link) == rate}


def _clamp(found: plan.Plan) -> int | None:
    return found.stacks[0].cwnd_clamp
