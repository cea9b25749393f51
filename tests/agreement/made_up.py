"""Made-up observations: flows that deliver evenly, with a queue and a window that a test chooses."""

from __future__ import annotations

import polars as pl

from daybreak.agreement import scenarios
from daybreak.agreement.observed import SCHEMA, Observation
from daybreak.agreement.suite import Case


def case(**changes: object) -> Case:
    """A flow, or what `changes` say, through a buffer of 50 packets in bins of 10 ms."""
    document = {
        "name": "made-up", "what": "A test", "flows": "cubic", "rate": "1 Gbit/s", "rtt": "4 ms", "mtu": 9000,
        "queue": "50 packets", "packets": 8000,
    }  # fmt: skip
    return Case.model_validate(document | changes)


def observed(
    case: Case,
    bins: dict[str, int | None],
    *,
    retransmits: int = 0,
    rtos: int = 0,
    window: float = 1e5,
    queue: int = 10,
) -> Observation:
    """A run in which each flow ends after a number of bins, or never; its bytes come evenly in 100 bins if never."""
    groups = dict(zip(bins, scenarios.groups(case), strict=True))
    size, bin_ns = case.packets * (case.mtu - 52), int(scenarios.bin_width(case)) // 1000
    flows, curves = [], []
    for name, length in bins.items():
        end = None if length is None else length * bin_ns
        flows.append(
            {
                "flow_name": name, "group": groups[name], "variant": "cubic", "bytes": size, "start_ns": 0,
                "end_ns": end, "fct_ns": end, "segments": case.packets, "retransmits": retransmits, "rtos": rtos,
            }
        )  # fmt: skip
        for slot in range(length or 50):
            # No rounding of the sum may keep a flow from its last byte.
            curves.append(("delivered", name, slot, size * (1 + 1e-12) / (length or 100)))
            curves.append(("in_flight", name, slot, window))
    longest = max(length or 50 for length in bins.values())
    curves += [("queue", "bottleneck", slot, float(queue)) for slot in range(longest)]
    schema = {"start_ns": pl.UInt64, "end_ns": pl.UInt64, "fct_ns": pl.UInt64}
    return Observation(pl.DataFrame(flows, schema_overrides=schema), pl.DataFrame(curves, schema=SCHEMA, orient="row"))
