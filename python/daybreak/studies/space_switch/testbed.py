"""The network of all settings: three sender ToRs and three receiver ToRs under two spines.

Printed values are taken as printed. Inferences are in `inferences.toml`.
"""

from __future__ import annotations

import math
from typing import Any

from daybreak.scenario import Scenario
from daybreak.studies.space_switch.settings import ECMP, SHARED, TURNS, Hosts, Setting

PAIRS = 3
"""Sender ToRs 0, 1, 2 send to receiver ToRs 3, 4, 5."""
MICE_TO_ONE_ELEPHANT = 7
ELEPHANT_GIB = 3
MOUSE_MIB = 250
BEFORE = "before"
"""Group of uncounted transfers."""
MIXED = (0.5, 1.0, 1.5)
"""Sizes of a ToR's three elephants in the comparison of brokers, as parts of the paper's."""
DEADLINE_FACTOR = 2.5
"""Deadline factor in that comparison: relative to the time that an elephant takes alone."""
GOODPUT = 1448 / 1514
"""Payload of a packet with timestamps, and its bytes on the wire."""
FRAMING = 14
LONGEST_S = 1000
ROUND_S = 100
"""Time between two rounds of transfers, if the hosts cache metrics."""
GOLDEN = (math.sqrt(5) - 1) / 2


def scenario(setting: Setting, seed: int = 1) -> Scenario:
    """The scenario of a setting and seed."""
    per_tor = setting.transfers // PAIRS
    start = start_s(setting, seed)
    has_direct = setting.scheme in ("ut", "dt", "on_demand")
    document: dict[str, Any] = {
        "name": setting.name,
        "description": "Space-switch study: VM transfers over a leaf-spine network with direct optical links.",
        "duration": setting.scaled(LONGEST_S),
        "topology": {
            "kind": "leaf_spine", "leaves": 2 * PAIRS, "spines": 2, "hosts_per_leaf": per_tor,
            "rate": f"{setting.rate_mbps} Mbit/s", "delay": f"{setting.network.delay_us} us",
            "queue": f"{setting.network.queue_packets} packets", "queue_kind": discipline(setting), "framing": FRAMING,
            "direct": [[tor, tor + PAIRS] for tor in range(PAIRS)] if has_direct else [],
        },
        "routing": "ecmp" if setting.scheme == ECMP else "first",
        "flows": flows(setting, start), "stack": stack(setting.hosts),
        "records": {"drops": False, "circuits": False},
    }  # fmt: skip
    if setting.scheme in TURNS:
        document["schedule"] = {
            "kind": "direct_turns", "turn": setting.turn, "night": setting.night,
            "downtime": setting.downtime, "groups": [] if setting.scheme == "ut" else ["elephant"],
        }  # fmt: skip
    if setting.scheme == "on_demand":
        document["controllers"] = [broker(setting, tor) for tor in range(PAIRS)]
    return Scenario.parse(document, source=f'study space-switch, setting "{setting.name}"')


def start_s(setting: Setting, seed: int) -> float:
    """Start time of a run's transfers, at the paper's sizes: a different phase of the cycle of turns for each seed.

    Multiples of the golden ratio cover the cycle evenly for any number of seeds.
    """
    return seed * GOLDEN % 1 * PAIRS * setting.sse_s / setting.shares


def flows(setting: Setting, start: float) -> list[dict[str, Any]]:
    """All transfers of a run, preceded by those of an uncounted round if the hosts cache metrics."""
    per_tor = setting.transfers // PAIRS
    found = [flow(setting, tor, place, start) for tor in range(PAIRS) for place in range(per_tor)]
    if setting.network.order:
        step = setting.network.start_ms / 1e3 / len(found)
        for number, one in enumerate(sorted(found, key=lambda one: one["group"] != setting.network.order)):
            one["start"] = setting.scaled(start + number * step)
    if not setting.hosts.again:
        return found
    later = [flow(setting, tor, place, start + ROUND_S) for tor in range(PAIRS) for place in range(per_tor)]
    return [one | {"name": f"{one['name']}-before", "group": BEFORE} for one in found] + later


def stack(hosts: Hosts) -> dict[str, Any]:
    """Settings of the hosts' TCP that are not Linux 6.1's defaults."""
    found: dict[str, Any] = {
        "initial_window": hosts.initial_window, "rto_min": f"{hosts.rto_min_ms} ms",
        "tso_max_bytes": 1024 * hosts.burst_kb, "tcp_ecn": 1 if hosts.marks else 2,
    }  # fmt: skip
    if hosts.again:
        found |= {"tcp_no_metrics_save": False, "tcp_no_ssthresh_metrics_save": False}
    return found


def discipline(setting: Setting) -> str | dict[str, Any]:
    """The discipline of the switches' queues."""
    marks = setting.hosts.marks
    return {"name": "ecn_threshold", "threshold": f"{marks} packets"} if marks else "drop_tail"


def flow(setting: Setting, tor: int, place: int, start: float) -> dict[str, Any]:
    """One transfer, which starts soon after `start`; the first of eight is an elephant."""
    per_tor = setting.transfers // PAIRS
    is_elephant = place % (MICE_TO_ONE_ELEPHANT + 1) == 0
    kib = (
        elephant_kib(setting, place // (MICE_TO_ONE_ELEPHANT + 1))
        if is_elephant
        else MOUSE_MIB * 1024 // setting.divisor
    )
    group = "elephant" if is_elephant else "mouse"
    found = {
        "name": f"{group}-{tor}-{place}",
        "group": group,
        "variant": setting.hosts.variant,
        "from": f"host-{tor * per_tor + place}",
        "to": f"host-{(tor + PAIRS) * per_tor + place}",
        "size": f"{kib} KiB",
        "start": {"uniform": [setting.scaled(start), setting.scaled(start + setting.network.start_ms / 1e3)]},
    }
    stays = setting.scheme in ("dt", "on_demand") and not is_elephant
    return found | ({"via": spine(tor), "ack_via": spine(tor + PAIRS)} if stays else {})


def elephant_kib(setting: Setting, which: int) -> int:
    """Size of a ToR's elephant."""
    part = MIXED[which] if setting.mixed_sizes else 1.0
    return round(ELEPHANT_GIB * 2**20 * part / setting.divisor)


def broker(setting: Setting, tor: int) -> dict[str, Any]:
    """The broker of a ToR's direct link, which grants it to its elephants, together or one at a time."""
    per_tor = setting.transfers // PAIRS
    places = range(0, per_tor, MICE_TO_ONE_ELEPHANT + 1)
    names = [f"elephant-{tor}-{place}" for place in places]
    at_a_time = len(names) if setting.policy == SHARED else 1
    direct = f"direct-{tor}-{tor + PAIRS}"
    found: dict[str, Any] = {
        "kind": "paths", "name": f"broker-{tor}", "flows": names, "setup": setting.night,
        "between": [[spine(tor)]] + [[direct]] * at_a_time,
        "ack_between": [[spine(tor + PAIRS)]] + [[f"{direct}.back"]] * at_a_time,
        "policy": policy(setting), "downtime": setting.downtime,
    }  # fmt: skip
    if setting.policy == "earliest_deadline":
        alone = {name: alone_s(setting, which) for which, name in enumerate(names)}
        found["deadlines"] = {name: f"{DEADLINE_FACTOR * one * 1e6:.0f} us" for name, one in alone.items()}
    return found


def policy(setting: Setting) -> str | dict[str, Any]:
    """The broker's policy; turns of a fair share are as long as an epoch."""
    if setting.policy == "fair_share":
        return {"name": "fair_share", "turn": setting.turn}
    return "first_come" if setting.policy == SHARED else setting.policy


def alone_s(setting: Setting, which: int) -> float:
    """Time in seconds that a ToR's elephant takes alone on a link."""
    return elephant_kib(setting, which) * 8192 / (setting.rate_mbps * 1e6 * GOODPUT)


def spine(tor: int) -> str:
    """The link from a ToR to the spine that its traffic takes."""
    return f"leaf-{tor}->spine-0"
