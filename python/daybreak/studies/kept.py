"""Columns of table `flows` that studies keep of their runs."""

_BEFORE = ("flow", "flow_name", "group", "variant", "bytes", "start_ns", "end_ns", "fct_ns")
_AFTER = (
    "segments", "retransmits", "rtos", "tlps", "fast_recoveries", "spurious", "dup_acks", "reordered", "duplicates",
)  # fmt: skip

FLOW_COLUMNS = (*_BEFORE, *_AFTER)
"""Of flows that all end."""
UNENDED_FLOW_COLUMNS = (*_BEFORE, "delivered_bytes", *_AFTER)
"""Of flows some of which do not: what they have delivered as well."""
