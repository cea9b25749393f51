"""Packets that crossed a part of the network: their delays and payload.

The part is given by the links into it and out of it, all of which must be recorded in table ``packets``
(`Records.packets`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from daybreak.metrics.errors import check_columns, positive


def crossings(packets: pl.DataFrame, *, entries: Collection[str], exits: Collection[str]) -> pl.DataFrame:
    """Packets that left a part of the network, in the order of leaving.

    They enter at the ends of links ``entries`` and leave at the ends of links ``exits``. Columns ``packet``,
    ``flow``, ``data``, ``seq``, ``payload_bytes``, ``exit`` (name of the link), ``entered_ns``, ``left_ns``, and
    ``delay_us`` between the two.
    """
    check_columns("packets", packets, ("packet", "flow", "data", "seq", "payload_bytes", "link_name", "arrival_ns"))
    known = set(packets["link_name"].unique())
    for name, links in (("entries", entries), ("exits", exits)):
        if not known.intersection(links) and packets.height:
            raise ValueError(f"{name}: no packet in the table has crossed any of {', '.join(links) or 'no link'}")
    came = packets.filter(pl.col("link_name").is_in(list(entries))).select("packet", entered_ns="arrival_ns")
    went = packets.filter(pl.col("link_name").is_in(list(exits)))
    return (
        went.select("packet", "flow", "data", "seq", "payload_bytes", exit="link_name", left_ns="arrival_ns")
        .join(came, on="packet")
        .with_columns(delay_us=(pl.col("left_ns") - pl.col("entered_ns")) / 1e3)
        .select("packet", "flow", "data", "seq", "payload_bytes", "exit", "entered_ns", "left_ns", "delay_us")
        .sort("left_ns", "packet")
    )


def percentiles(crossed: pl.DataFrame, *, at: Sequence[float] = (50.0, 99.0)) -> dict[float, float | None]:
    """Percentiles of ``delay_us``, interpolated linearly between two packets; None without any packet."""
    check_columns("crossed", crossed, ("delay_us",))
    for percent in at:
        if not 0 <= percent <= 100:
            raise ValueError(f"at: percentile {percent} is not in [0, 100]")
    return {percent: crossed["delay_us"].quantile(percent / 100, "linear") for percent in at}


def utilisation(crossed: pl.DataFrame, *, link: str, rate_bps: float, open_share: float) -> float:
    """Payload that left over a link that is open part of the time, relative to what the link can carry while open.

    ``rate_bps`` is the link's rate, ``open_share`` the part of the time in which it is open (0 to 1). The time runs
    from the first to the last packet in ``crossed`` over any exit. Returns 0 without packets. Headers and framing do
    not count, so a full link stays below 1, but the packet that a link is sending when it closes still leaves.
    """
    check_columns("crossed", crossed, ("exit", "left_ns", "payload_bytes"))
    positive("rate_bps", rate_bps)
    positive("open_share", open_share)
    if crossed.height < 2:
        return 0.0
    seconds = (crossed["left_ns"][-1] - crossed["left_ns"][0]) / 1e9
    carried = crossed.filter(pl.col("exit") == link)["payload_bytes"].cast(pl.Int64).sum()
    return 8 * carried / seconds / (rate_bps * open_share) if seconds > 0 else 0.0
