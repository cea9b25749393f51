"""Every ready topology with parameters for tests."""

from typing import Any, NamedTuple

_LINK = {"rate": "1 Gbit/s", "delay": "1 ms", "queue": "9 packets"}
_SHORT = {"rate": "1 Gbit/s", "delay": "5 us", "queue": "50 packets"}
_HYBRID = {
    "host_rate": "40 Gbit/s", "host_delay": "1 us", "packet_rate": "10 Gbit/s", "packet_delay": "5 us",
    "circuit_rate": "80 Gbit/s", "circuit_delay": "30 us", "voq": "16 packets",
}  # fmt: skip
_LIGHT_PATH = {
    "rtt": "20 ms", "sender_rate": "1 Gbit/s", "ip_rate": "2 Gbit/s", "optical_rate": "3 Gbit/s",
    "receiver_rate": "4 Gbit/s",
}  # fmt: skip


class Network(NamedTuple):
    """A topology as tests use it."""

    built: list[dict[str, Any]]
    """Parameters with which it is compared link by link: those that it must have, and all."""
    small: dict[str, Any]
    """Parameters with which two flows of 3 MB end within 2 s."""
    ends: tuple[str, str]
    """Between which they go."""
    via: tuple[str, ...] = ()
    """The links that they take."""


NETWORKS = {
    "dumbbell": Network(
        [
            _LINK,
            _LINK | {"pairs": 2, "access_rate": "4 Gbit/s", "access_delay": "3 us", "loss": 0.01, "framing": 14},
        ],
        {"access_rate": "2 Gbit/s"} | _SHORT,
        ("sender-0", "receiver-0"),
    ),
    "parallel_links": Network(
        [
            {"access_rate": "40 Gbit/s", "between": [_LINK | {"name": "packet"}, _LINK | {"name": "light"}]},
            {
                "pairs": 2, "access_rate": "40 Gbit/s", "access_delay": "2 us", "framing": 14,
                "between": [
                    _LINK | {"name": "a"}, {"name": "b", "rate": "10 Gbit/s", "delay": "2 ms", "queue": "1 MB"},
                ],
            },
        ],
        {"access_rate": "2 Gbit/s", "between": [{"name": "green"} | _SHORT, {"name": "blue"} | _SHORT]},
        ("sender-0", "receiver-0"),
        ("green",),
    ),
    "migration_testbed": Network(
        [{}, {"rate": "5 Tbit/s", "rtt": "101 ps", "queue": "7 packets", "jitter": "0", "framing": 14}],
        {"rate": "1 Gbit/s", "queue": "50 packets"},
        ("sender-main", "receiver-main"),
        ("green",),
    ),
    "hybrid": Network(
        [
            _HYBRID | {"racks": 2, "hosts": 1},
            _HYBRID | {"racks": 3, "hosts": 2, "to_host_rate": "800 Gbit/s", "framing": 0},
        ],
        {
            "racks": 2, "hosts": 1, "host_rate": "2 Gbit/s", "to_host_rate": "1 Gbit/s", "host_delay": "1 us",
            "packet_rate": "1 Gbit/s", "packet_delay": "5 us", "circuit_rate": "2 Gbit/s", "circuit_delay": "5 us",
            "voq": "50 packets",
        },
        ("host-0-0", "host-1-0"),
    ),
    "leaf_spine": Network(
        [
            _LINK | {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
            _LINK | {"leaves": 1, "spines": 1, "hosts_per_leaf": 1, "spine_rate": "4 Gbit/s", "framing": 14},
            _LINK
            | {"leaves": 3, "spines": 3, "hosts_per_leaf": 1, "spine_rate": "4 Gbit/s", "direct": [[0, 1], [2, 0]]},
        ],
        {"leaves": 3, "spines": 2, "hosts_per_leaf": 1, "direct": [[0, 1]]} | _SHORT,
        ("host-0", "host-2"),
    ),
    "light_path": Network(
        [
            _LIGHT_PATH,
            _LIGHT_PATH
            | {"optical_delay": "3 ms", "receiver_queue": "7 packets", "nic_queue": "8 packets", "framing": 0},
        ],
        {
            "sender_rate": "2 Gbit/s", "ip_rate": "1 Gbit/s", "optical_rate": "1 Gbit/s", "receiver_rate": "1 Gbit/s",
            "rtt": "1 ms", "queue": "50 packets",
        },
        ("sender", "receiver"),
        ("ip-1", "ip-2"),
    ),
}  # fmt: skip
"""By kind."""
