"""The one testbed of all settings: two servers and a switch with a green and a blue loopback link.

What is printed is taken as printed: 10 Gb/s everywhere, one port of each server for each of the two flows, ACKs
that bypass the loopback links, state 0 with the flows on separate links and state 1 with both on the green one,
alternating with the reconfiguration period, and packets that arrive in a night dropped.

What is inferred:

- Frames are jumbo (9000-byte MTU, 38 bytes of framing) and "GB" is GiB. The printed 3.47 s follows only so.
- A loopback port buffers 350 packets, 3.1 MB. The printed window without loss is about 3000 KB, but it bounds the
  buffer from neither side: a flow alone comes from a port of the same rate, so its queue stands in the server. What
  ends its window is half of Linux's default receive buffer of 6 MiB, 3146 KB, as measured on the real kernel.
- TCP small queues are off: with them no more than 1 MB would wait in the server, and the window would end there.
- The base RTT is 40 us plus serialisation. It is not printed; all variants fill the link within 10 ms.
- Packets leave a server's port up to 1 us late. Real hosts jitter by more, and without any jitter two senders of
  one rate keep in step: of a full queue one flow gets everything, on the real kernel in virtual time as well.
- Flows start "at the same time": each start is drawn evenly from 5 ms, which is what makes runs differ.
- The stack is Linux 6.1 with default sysctls. The paper's kernel is not printed.
- Table II: both groups draw their sizes with streams of their own, and arrive as pairs from time 0 on.
"""

from __future__ import annotations

from typing import Any

from daybreak.scenario import Scenario
from daybreak.studies.migration.settings import Setting

BIN_MS = 1
"""Width of the recorded bins and window samples."""
RATE_GBPS = 10.0
START_JITTER = "5 ms"
LOOPBACK_QUEUE = "350 packets"
RTT = "40 us"
JITTER = "1 us"
ARRIVAL_PERIOD = "10 ms"
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
            "queue": LOOPBACK_QUEUE,
            "jitter": JITTER,
        },
        "stack": {"mtu": 9000, "tcp_limit_output_bytes": "off"},
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
        document["arrivals"] = [
            _ends(group, setting)
            | {
                "name": group,
                "variant": variant,
                "sizes": {
                    "choice": [f"{size} MiB" for size in SIZES_MIB],
                    "total": f"{setting.mib} MiB",
                    "max_flows": MOST_FLOWS,
                },
                "every": ARRIVAL_PERIOD,
            }
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
            "group": "migrated",
            "between": ["blue", "green"],
            "period": f"{setting.period_ms} ms",
        }
        if setting.night_ms:
            move |= {"night": f"{setting.night_ms} ms", "downtime": "drop"}
        document["timelines"] = [move]
    return Scenario.parse(document, source=f'study migration, setting "{setting.name}"')


def _ends(group: str, setting: Setting) -> dict[str, str]:
    ends = {"from": f"sender-{group}", "to": f"receiver-{group}", "ack_via": "bypass"}
    if group == "migrated" and setting.period_ms:
        # Its way is the timeline's.
        return ends
    return ends | {"via": "blue" if group == "migrated" else "green"}
