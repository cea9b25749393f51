"""Columns of table `flows` that studies store of their runs."""

_BEFORE = ("flow", "flow_name", "group", "variant", "bytes", "start_ns", "end_ns", "fct_ns")
_AFTER = (
    "segments", "retransmits", "rtos", "tlps", "fast_recoveries", "spurious", "dup_acks", "reordered", "duplicates",
)  # fmt: skip

FLOW_COLUMNS = (*_BEFORE, *_AFTER)
"""For studies in which all flows end."""
UNENDED_FLOW_COLUMNS = (*_BEFORE, "delivered_bytes", *_AFTER)
"""For studies in which some do not: also the bytes they delivered."""
