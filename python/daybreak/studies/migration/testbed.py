"""The one testbed of all settings: two servers and a switch with a green and a blue loopback link.

What is printed is taken as printed: 10 Gb/s everywhere, one port of each server for each of the two flows, ACKs
that bypass the loopback links, state 0 with the flows on separate links and state 1 with both on the green one,
alternating with the reconfiguration period, and packets that arrive in a night dropped.

What is inferred:

- Frames are jumbo (9000-byte MTU, 38 bytes of framing) and "GB" is GiB. The printed 3.47 s follows only so.
- A loopback port buffers 250 packets, 2.25 MB. Nothing printed says it. Of those from 100 to 400 packets most claims
  of figures 4 to 7 hold with 200, 36 of 41, and one less with 100, 150 and 250; of these four 250 comes closest to the
  printed numbers of figures 4 and 5 (`sweep`; the tables are in the directory `buffer`). The window without loss, about
  3000 KB, bounds the buffer from neither side: a flow alone comes from a port of the same rate, so its queue stands in
  the server. What ends its window is half of Linux's default receive buffer of 6 MiB, 3146 KB, as measured on the real
  kernel.
- TCP small queues are off: with them no more than 1 MB would wait in the server, and the window would end there.
- The base RTT is 40 us plus serialisation. It is not printed; all variants fill the link within 10 ms.
- Packets leave a server's port up to the time of one packet late. With nothing random two senders of one rate keep in
  step: of a full queue one flow gets everything. With 1 us the main flow lost its whole window at the first collision
  and waited for a timeout in 10 of 24 runs (two flows of 300 MB, 50 ms), with 7.23 us in none; nor did it with 1 us and
  ports that were 0.01 % slower than the loopback links, as the clocks of real ports may be, and are in the kernel
  engine.
- Flows start "at the same time": each start is drawn evenly from 5 ms, which is what makes runs differ.
- The stack is Linux 6.1 with default sysctls. The paper's kernel is not printed.
- A flow begins with the slow-start threshold that the last one between the same ports has left, as Linux has it by
  default up to 5.5. The paper's iPerf, 2.0.10, is of 2017 and that of Ubuntu 18.04, whose kernels are 4.15 to 5.4;
  6.1 does the same when it is told to. It matters in Table II alone, where many flows share a pair of ports.
- Table II: both groups draw their sizes with streams of their own, and arrive as pairs. The runs follow each other, so
  each is preceded by one with other draws, which is not measured.
"""

from __future__ import annotations

from typing import Any

from daybreak.scenario import Scenario
from daybreak.studies.migration.settings import Setting

BIN_MS = 1
"""Width of the recorded bins and window samples."""
RATE_GBPS = 10.0
START_JITTER = "5 ms"
RTT = "40 us"
MTU = 9000
PAYLOAD = MTU - 52
"""Bytes of a segment besides IP and TCP header with timestamps."""
JITTER = "7.23 us"
ARRIVAL_PERIOD = "10 ms"
EARLIER = "earlier-"
"""What the names of Table II's groups begin with in the run before the one that is measured."""
MEASURED_FROM = "6 s"
"""When the measured groups of Table II arrive: the run before takes less than 3 s, and the switch is in state 0."""
MOST_FLOWS = 20
SIZES_MIB = tuple(2**n for n in range(9))


def scenario(setting: Setting) -> Scenario:
    """The scenario of a setting; a seed makes a run of it."""
    both = {"migrated": setting.migrated, "main": setting.main}
    document: dict[str, Any] = {
        "name": setting.name,
        "description": "Migration study: TCP flows that an optical switch moves between two loopback links.",
        "duration": "120 s",
        "topology": {
            "kind": "migration_testbed",
            "rate": f"{RATE_GBPS} Gbit/s",
            "rtt": RTT,
            "queue": f"{setting.buffer} packets",
            "jitter": JITTER,
        },
        "stack": {
            "mtu": MTU,
            "tcp_limit_output_bytes": "off",
            "tcp_no_metrics_save": False,
            "tcp_no_ssthresh_metrics_save": False,
        },
        "records": {
            "bins": f"{BIN_MS} ms",
            "delivered": False,
            "taps": ["green", "blue"],
            "window": f"{BIN_MS} ms",
            "drops": False,
        },
    }
    groups = {group: variant for group, variant in both.items() if variant}
    if setting.kind == "groups":
        # The run before, whose flows have left their thresholds, then the one that is measured.
        document["arrivals"] = [
            _ends(group, setting)
            | {
                "name": f"{before}{group}",
                "start": start,
                "variant": variant,
                "sizes": {
                    "choice": [f"{size} MiB" for size in SIZES_MIB],
                    "total": f"{setting.mib} MiB",
                    "max_flows": MOST_FLOWS,
                },
                "every": ARRIVAL_PERIOD,
            }
            for before, start in ((EARLIER, "0 s"), ("", MEASURED_FROM))
            for group, variant in groups.items()
        ]
    else:
        document["flows"] = [
            _ends(group, setting)
            | {
                "name": group,
                "group": group,
                "variant": variant,
                "size": f"{setting.mib} MiB",
                "start": {"uniform": ["0 s", START_JITTER]},
            }
            for group, variant in groups.items()
        ]
    if setting.period_ms:
        move: dict[str, Any] = {
            "kind": "migrate",
            "between": ["blue", "green"],
            "period": f"{setting.period_ms} ms",
        }
        if setting.night_ms:
            move |= {"night": f"{setting.night_ms} ms", "downtime": "drop"}
        moved = ["migrated"] if setting.kind != "groups" else ["migrated", f"{EARLIER}migrated"]
        document["timelines"] = [{"name": group, "group": group} | move for group in moved]
    return Scenario.parse(document, source=f'study migration, setting "{setting.name}"')


def _ends(group: str, setting: Setting) -> dict[str, str]:
    ends = {"from": f"sender-{group}", "to": f"receiver-{group}", "ack_via": "bypass"}
    if group == "migrated" and setting.period_ms:
        # Its way is the timeline's.
        return ends
    return ends | {"via": "blue" if group == "migrated" else "green"}
