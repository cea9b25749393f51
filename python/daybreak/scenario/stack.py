"""The TCP stack of a host: Linux's sysctls by their names, with the defaults of Linux 6.1."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from .model import Model
from .quantities import Rate, Span, reject
from .written import version

Legacy = Literal[
    "fack", "window_at_once", "no_undo", "ack_every_packet", "rto_restart", "forget_sacks", "whole_ranges",
    "count_acks", "loss_as_mark", "no_ack_aggregation", "wide_probes", "timer_pacing", "ms_delays", "no_rtt_bursts",
    "tick_bursts", "early_rack", "prr_by_retransmission", "two_tick_slack", "no_paws", "half_threshold",
    "no_echo_samples", "no_receive_window",
]  # fmt: skip
"""A mechanism of older stacks, by name."""
Linux = Literal["6.1", "6.12", "7.3"]
"""A version whose TCP is modelled completely."""
Bytes = Annotated[int, Field(ge=0, le=2**40)]


UNBOUNDED = 2**31
"""A buffer in bytes of which half is window: 1 GiB, the most that the TCP header can say (RFC 7323, section 2.3)."""
LARGEST = 2**32 - 1
"""The largest buffer in bytes. ns-2 has no send buffer, and its sender may have more out than `UNBOUNDED`."""
_MOST_PAGES = 17
"""Of one packet in Linux 6.1."""
PRESETS: dict[str | None, dict[str, Any]] = {
    "ns2-2009": {
        "initial_window": 2,
        "tcp_rmem": (4_096, UNBOUNDED, UNBOUNDED),
        "tcp_wmem": (4_096, LARGEST, LARGEST),
        "tcp_moderate_rcvbuf": False,
        "tcp_dsack": False,
        "tcp_frto": 0,
        "tcp_early_retrans": 0,
        "tcp_recovery": 0,
        "tcp_max_reordering": 3,
        "tcp_comp_sack_nr": 0,
        "tcp_limit_output_bytes": "off",
        "legacy": (
            "fack",
            "window_at_once",
            "no_undo",
            "ack_every_packet",
            "rto_restart",
            "forget_sacks",
            "whole_ranges",
            "no_paws",
            "no_echo_samples",
            "no_receive_window",
        ),
    }
}
"""The settings of each preset."""


class ReceiveBuffers(Model):
    """How a host's NIC stores received frames in memory. The memory that a segment occupies counts against the receive
    buffer, not its payload, so it affects the window; real NICs and drivers differ here."""

    linear: int = Field(default=4_096, ge=0, le=131_072)
    """A frame below this size, with 14 bytes of Ethernet header and 16 of headroom, is stored in one buffer of a power
    of two in bytes. Of a larger frame only the headers are, and its payload is stored in pages. Values below 193 act as
    193."""
    page: int = Field(default=4_096, ge=256, le=4_096)
    """Size of a page."""


class Stack(Model):
    """Settings of one stack. Integers are in the unit of the sysctl."""

    preset: Literal["ns2-2009"] | None = None
    """Settings under one name, each of which may still be overridden: "ns2-2009" is the TCP of ns-2.35, with the sender
    of Linux 2.6.22. Its CUBIC is `{name = "cubic", beta = 0.8, hystart = false, max_increment = 16, ack_ratio =
    true}`."""
    linux: Linux = "6.1"
    """Version of Linux whose TCP is modelled: "6.1" (6.1.192), "6.12" (6.12.117) or "7.3" (7.3.4). With `--kernel 6.12`
    all hosts have this one; the kernel engine refuses a scenario with another version than its kernel's, or with
    several."""
    mtu: int = Field(default=1500, ge=576, le=65_535)
    """Largest IP packet, in bytes."""
    initial_window: int = Field(default=10, ge=1, le=10_000)
    """Initial window in segments (RFC 6928)."""
    cwnd_clamp: int | None = Field(default=None, ge=2, le=2**31)
    """Upper bound of the congestion window in segments."""
    hz: int = Field(default=1000, ge=24, le=10_000)
    """Timer ticks per second (CONFIG_HZ)."""
    timer_dilation: int = Field(default=1, ge=1, le=1_000)
    """Factor by which the hosts' clocks run faster than the network's time. All timers and measured times of the stack,
    including its congestion control, are in the hosts' time: with 20 an RTO of 200 ms takes 10 ms of the network's
    time. This models an emulation that slows down the network by this factor, but not its hosts' kernels."""
    rto_min: Span = Field(default=Span.parse("200 ms"), gt=0)
    """Minimum retransmission timeout."""
    delayed_ack_min: Span = Field(default=Span.parse("40 ms"), gt=0)
    """Shortest delayed-ACK time."""
    delayed_ack_max: Span = Field(default=Span.parse("200 ms"), gt=0)
    """Longest delayed-ACK time."""
    tcp_rmem: tuple[Bytes, Bytes, Bytes] = (4_096, 131_072, 6_291_456)
    """Receive buffer: minimum, default, maximum."""
    tcp_wmem: tuple[Bytes, Bytes, Bytes] = (4_096, 16_384, 4_194_304)
    """Send buffer: minimum, default, maximum."""
    tcp_moderate_rcvbuf: bool = True
    """Let the receive buffer grow with the flow."""
    tcp_adv_win_scale: int = Field(default=1, ge=-31, le=31)
    """Share of the receive buffer that is window; 1 is half. Linux 6.12 measures it instead."""
    receive_buffers: ReceiveBuffers = ReceiveBuffers()
    """The receive buffers of the host's NIC."""
    tcp_window_scaling: bool = True
    """Window scaling (RFC 7323)."""
    tcp_timestamps: bool = True
    """Timestamps (RFC 7323)."""
    tcp_sack: bool = True
    """Selective acknowledgements (RFC 2018)."""
    tcp_dsack: bool = True
    """Duplicate SACK (RFC 2883)."""
    tcp_frto: Literal[0, 2] = 2
    """F-RTO (RFC 5682)."""
    tcp_early_retrans: Literal[0, 3] = 3
    """Tail loss probes (RFC 8985)."""
    tcp_recovery: int = Field(default=1, ge=0, le=7)
    """Bit 0: RACK (RFC 8985). Bit 1: its reordering window does not adapt. Bit 2: it waits for that window even where
    `tcp_reordering` segments have arrived beyond a hole."""
    tcp_reordering: int = Field(default=3, ge=1, le=10_000)
    """Reordering degree at the start."""
    tcp_max_reordering: int = Field(default=300, ge=1, le=100_000)
    """Largest reordering degree."""
    tcp_slow_start_after_idle: bool = True
    """Slow start after an idle time."""
    tcp_ecn: Literal[0, 1, 2] = 2
    """ECN: 0 off, 1 on, 2 when the peer asks."""
    tcp_comp_sack_delay_ns: int = Field(default=1_000_000, ge=0, le=10**9)
    """Longest delay of a compressed SACK."""
    tcp_comp_sack_slack_ns: int = Field(default=100_000, ge=0, le=10**9)
    """Slack of the compression timer."""
    tcp_comp_sack_nr: int = Field(default=44, ge=0, le=255)
    """Largest number of SACKs compressed into one; 0 disables compression."""
    tso_max_bytes: int = Field(default=0, ge=0, le=65_536)
    """Segmentation offload: largest burst handed to the NIC at once; 0 disables it. Real hosts have it. The kernel
    engine has Linux cut bursts right before the NIC (GSO); the model is not yet as exact with bursts as without."""
    tcp_limit_output_bytes: Annotated[int, Field(ge=1, le=2**31)] | Literal["off"] = 1_048_576
    """TCP small queues: most bytes of a flow in the host's NIC queue, or "off"."""
    tcp_no_metrics_save: bool = True
    """Do not cache metrics of the destination when a flow ends. Linux's default is off: the next flow between the same
    hosts starts with the cached reordering degree (and, in the kernel engine, the RTT for the first timeout). When off,
    the kernel engine counts timeouts, probes and recoveries of a host's flows together, under the first of them."""
    tcp_no_ssthresh_metrics_save: bool = True
    """Never cache the slow-start threshold. On since Linux 5.6; with both off a flow starts with the threshold of the
    previous one between the same hosts, as in older versions."""
    tdtcp: bool = False
    """Time-division TCP (Chen et al., 2022), with any variant: a flow has one congestion state for each of two
    networks, and its sender uses the second from a marked ACK (`marks`, or `announce` of a schedule; "ece") until an
    unmarked one. Needs `tcp_sack`, and no ECN. The kernel engine refuses it."""
    legacy: tuple[Legacy, ...] = ()
    """Mechanisms of older stacks that Linux 6.1 does not have: "fack" (forward acknowledgement, with `tcp_recovery =
    0`), "window_at_once" (no proportional rate reduction), "no_undo", "ack_every_packet", "rto_restart" (duplicate ACKs
    start the timer anew), "forget_sacks" (when fast recovery ends), "whole_ranges" (a SACK block is all of the range
    that the segment is in), "count_acks" (BIC, Scalable, Veno and YeAH count ACKs, not the segments that they
    acknowledge: Linux up to 5.6), "loss_as_mark" (DCTCP takes off for a loss what it takes off for a mark: Linux up to
    5.0), "no_ack_aggregation" (BBR's window is not enlarged by what is acknowledged in bunches: Linux up to 5.0),
    "wide_probes" (BBR's window is two segments larger in all phases of PROBE_BW: Linux 4.18 to 5.4, and 4.15 as
    maintained), "timer_pacing" (no credit for a segment that left late, and BBR paces at all of its bandwidth: Linux up
    to 4.19), "ms_delays" (CUBIC and HyStart measure in milliseconds: Linux up to 5.5), "no_rtt_bursts" (segmentation
    bursts are no longer on short paths: Linux up to 5.17), "tick_bursts" (a burst may wait for an ACK where the last
    segment left in the same tick: Linux up to 4.20), "early_rack" (RACK waits for at least a millisecond, and counts of
    SACKed segments find losses as well: Linux up to 4.17), "prr_by_retransmission" (in fast recovery the window is
    rebuilt by more than was delivered only when a retransmission is acknowledged: Linux 4.15 and 5.10),
    "two_tick_slack" (the tail loss probe and the reordering timer wait two ticks beyond what was measured, not 2 ms:
    Linux up to 6.5), "no_paws" (timestamps are not checked), "half_threshold" (the window of a fast recovery, with
    "window_at_once"), "no_echo_samples" (congestion control gets no RTT from timestamps alone), "no_receive_window"
    (the sender looks at no receive window, and the receiver takes what lies beyond the one that it offers). The kernel
    engine refuses them."""
    max_pacing_rate: Rate | None = None
    """`SO_MAX_PACING_RATE`; variants that pace do so in any case."""

    _version = field_validator("linux", mode="before")(version)

    @model_validator(mode="before")
    @classmethod
    def _take_preset(cls, given: Any) -> Any:
        named = given.get("preset") if isinstance(given, dict) else None
        preset = PRESETS.get(named) if isinstance(named, str) else None
        return given if preset is None else preset | given

    @model_validator(mode="after")
    def _makes_sense(self) -> "Stack":
        buffers = self.receive_buffers
        if self.mtu >= buffers.linear - 30 and self.mtu > _MOST_PAGES * buffers.page:
            raise reject(
                f"has receive_buffers.page = {buffers.page}: expected at least {-(-self.mtu // _MOST_PAGES)}, since a "
                f"packet of mtu = {self.mtu} may lie in {_MOST_PAGES} pages"
            )
        for name in ("tcp_rmem", "tcp_wmem"):
            low, middle, high = getattr(self, name)
            if not low <= middle <= high:
                raise reject(f"has {name} = [{low}, {middle}, {high}]: expected minimum, default and maximum in order")
        if self.tdtcp and not self.tcp_sack:
            raise reject("has tdtcp = true with tcp_sack = false: expected tcp_sack = true")
        if self.tdtcp and self.tcp_ecn == 1:
            raise reject("has tdtcp = true with tcp_ecn = 1: expected 0 or 2, since ECN's echo selects the network")
        if self.delayed_ack_min > self.delayed_ack_max:
            raise reject(
                f"has delayed_ack_min = {self.delayed_ack_min}: "
                f"expected at most delayed_ack_max = {self.delayed_ack_max}"
            )
        return self
