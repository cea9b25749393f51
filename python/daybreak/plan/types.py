"""The plan: a scenario in its resolved form, as engines read it. Made by tools/plan-types.py; do not edit.

Integers (picoseconds, bytes, bit/s) throughout, but for parameters without a unit; things refer to each other by their
index in the plan's lists.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A part of a plan. It is plain data: every field is given, and none is ever changed."""


NodeKind: TypeAlias = Literal["host", "switch"]
"""Kind of a node."""

Scheduler: TypeAlias = Literal["round_robin", "strict_priority"]
"""How a link chooses among queues that have a packet for it."""

ShownAs: TypeAlias = Literal["ece"]
"""How a mark is shown to the host that receives the packet."""

Downtime: TypeAlias = Literal["drop", "hold", "drain", "make_before_break"]
"""What happens to packets while a route or a gate is dark."""

Linux: TypeAlias = Literal["6.1", "6.12", "7.3"]
"""A version of Linux that is modelled completely: see `daybreak_tcp::profile`."""

Legacy: TypeAlias = Literal[
    "fack",
    "window_at_once",
    "no_undo",
    "ack_every_packet",
    "rto_restart",
    "forget_sacks",
    "whole_ranges",
    "count_acks",
    "loss_as_mark",
    "no_ack_aggregation",
    "wide_probes",
    "timer_pacing",
    "ms_delays",
    "no_rtt_bursts",
    "tick_bursts",
    "early_rack",
    "prr_by_retransmission",
    "two_tick_slack",
    "no_paws",
    "half_threshold",
    "no_echo_samples",
    "no_receive_window",
]
"""A mechanism of older stacks that Linux 6.1 does not have: see `daybreak_tcp::profile`."""


class Node(Part, frozen=True, kw_only=True):
    """A host or a switch."""

    name: str  # Unique name.
    kind: NodeKind  # Host or switch. Flows start and end at hosts.


class Link(Part, frozen=True, kw_only=True):
    """A unidirectional link: a serialiser, then a pipe."""

    name: str  # Unique name.
    from_: int = msgspec.field(name="from")  # Node at its start.
    to: int  # Node at its end.
    rate_bps: int  # Rate, at least 1 Mbit/s.
    delay_ps: int  # Propagation delay.
    framing_bytes: int  # Bytes on the wire of every packet beyond its IP length (preamble, header, FCS, gap).
    loss_ppb: int  # Probability that a packet is lost on the link, in parts per 10^9.
    jitter_ps: int  # Largest delay beyond `delay_ps`, drawn uniformly from zero to this; packets keep their order.
    scheduler: Scheduler  # How it chooses among several queues.


class Queue(Part, frozen=True, kw_only=True):
    """A queue. A packet that a link is sending has left it."""

    name: str  # Unique name.
    node: int  # Its node.
    discipline: Choice  # Queue discipline.
    limit_packets: int | None  # Limit in packets; null for no limit.
    limit_bytes: int | None  # Limit in bytes (IP length); null for no limit.
    served_by: list[int]  # Links that may serve it, in the order in which they are tried; all start at `node`.
    priority: int  # A link with strict priority serves the queue with the greatest value first; 0 elsewhere.
    returned_limit_packets: int | None
    """Capacity for packets that come back from a full queue further on. They do not count against the limits and are
    served before the others. Null if none can come back.
    """


class Choice(Part, frozen=True, kw_only=True):
    """An entry of a registry, with its non-default parameters."""

    name: str  # Name in the registry.
    parameters: dict[str, Value]  # Parameters by name.


class Value(Part, frozen=True, kw_only=True):
    """A value with its unit."""

    unit: Literal["switch", "number", "count", "packets", "bytes", "ps", "bps"]
    """"switch": On or off; "number": A number without a unit; "count": A whole number without a unit; "packets":
    Packets; "bytes": Bytes; "ps": A time in picoseconds; "bps": A rate in bit/s
    """
    value: bool | float | int


class Step(Part, frozen=True, kw_only=True):
    """One step of a path. A list of steps ends with a fork, a return or a route switch, which continue elsewhere, or
    else with the delivery of the packet. A step refers to things by their index in the list of their kind.
    """

    kind: Literal["queue", "fork", "return", "route_switch", "marker"]
    """"queue": Wait in this queue, then cross the link that serves it; "fork": Wait in the queue of this fork and
    cross the link that serves it; that link determines where to continue; "return": Come back to the queue of this
    fork, to wait among the returned packets, which are served first; "route_switch": Continue with the alternative
    that is in force in this route switch; "marker": Get the mark of this marker if it is on
    """
    index: int


class RouteSwitch(Part, frozen=True, kw_only=True):
    """A switch rule that a timeline changes: packets that arrive take the path in force now."""

    name: str  # Unique name.
    node: int  # Node that decides.
    alternatives: list[int]  # Paths from here to the destination.
    initial: int  # Alternative in force at the start.
    hold_limit_packets: int | None  # Limit on packets held while dark; null for no limit.


class Fork(Part, frozen=True, kw_only=True):
    """A queue after which paths differ, depending on the link that serves a packet, or on overflow."""

    queue: int  # The queue.
    tails: list[Tail]  # The rest of the path for each link that may serve the queue.
    overflow: int | None  # Path of a packet that finds the queue full, taken at once; null if it is lost.


class Tail(Part, frozen=True, kw_only=True):
    """The rest of the path after one link of a fork."""

    link: int  # The link.
    path: int  # Path from the end of the link to the destination; an empty one if the link ends there.


class Mark(Part, frozen=True, kw_only=True):
    """A mark that can be written on packets."""

    name: str  # Unique name.
    shown_as: ShownAs  # How the receiving host perceives it.


class Marker(Part, frozen=True, kw_only=True):
    """A place that marks the packets that pass while it is on."""

    name: str  # Unique name.
    node: int  # Its node.
    mark: int  # The mark.
    on: bool  # Whether it is on at the start.


class Timeline(Part, frozen=True, kw_only=True):
    """A periodic program: at `start_ps + offset` of each step, and again every `period_ps`."""

    name: str  # Unique name.
    start_ps: int  # Start of the first period.
    period_ps: int  # Length of a period; longer than every offset.
    steps: list[TimelineStep]  # Steps in the order of their offsets.


class TimelineStep(Part, frozen=True, kw_only=True):
    """One step of a timeline."""

    offset_ps: int  # Time after the start of the period.
    actions: list[Action]  # Actions, in order.


class SetRoute(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_route"):
    """Let a route switch use an alternative; held packets follow at once."""

    route_switch: int  # Index of the route switch.
    alternative: int  # Index in its alternatives.


class Darken(Part, frozen=True, kw_only=True, tag_field="kind", tag="darken"):
    """Make a route switch dark until the next `SetRoute`."""

    route_switch: int  # Index of the route switch.
    downtime: Downtime  # What happens to packets that arrive meanwhile.


class OpenGate(Part, frozen=True, kw_only=True, tag_field="kind", tag="open_gate"):
    """Let a link serve a queue."""

    queue: int  # Index of the queue.
    link: int  # One of the links that may serve it.


class CloseGate(Part, frozen=True, kw_only=True, tag_field="kind", tag="close_gate"):
    """Stop a link from serving a queue; a packet on the wire still arrives."""

    queue: int  # Index of the queue.
    link: int  # One of the links that may serve it.
    downtime: Downtime  # What happens to the queue's packets.


class SetLimit(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_limit"):
    """Change a queue's limits. The first waiting packets that fit are kept; the others are lost at once, the last one
    first.
    """

    queue: int  # Index of the queue.
    packets: int | None  # Limit in packets; `None` for no limit.
    bytes: int | None  # Limit in bytes; `None` for no limit.


class SetRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_rate"):
    """Change a link's rate. A packet that is being sent finishes at the old rate."""

    link: int  # Index of the link.
    rate_bps: int  # The rate, at least 1 Mbit/s.


class SetDelay(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_delay"):
    """Change a link's propagation delay, for packets whose last bit leaves from now on; those already under way are
    not affected. No packet overtakes another: if the delay falls, a packet that would arrive too early arrives a
    picosecond behind the one before it.
    """

    link: int  # Index of the link.
    delay_ps: int  # Time from the last bit sent to the arrival of the packet.


class SetLoss(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_loss"):
    """Change a link's probability of random loss, for packets whose first bit leaves from now on."""

    link: int  # Index of the link.
    loss_ppb: int  # Probability of losing a packet, in parts per 10^9.


class SetParameter(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_parameter"):
    """Set a parameter of a queue's discipline."""

    queue: int  # Index of the queue.
    parameter: str  # Name of the parameter.
    value: Value  # Its value from now on.


class SetMark(Part, frozen=True, kw_only=True, tag_field="kind", tag="set_mark"):
    """Switch a marker on or off."""

    marker: int  # Index of the marker.
    on: bool  # Whether packets that pass get its mark.


class Controller(Part, frozen=True, kw_only=True):
    """A controller: a policy, and what it controls."""

    name: str  # Unique name.
    policy: Choice  # The policy.
    setup_ps: int  # Time from a decision until it is in force.
    controls: Controls  # What it controls.


class ControlledCircuit(Part, frozen=True, kw_only=True, tag_field="kind", tag="controlled_circuit"):
    """Whether a circuit is open."""

    queues: list[int]  # Queues whose length indicates the demand.
    open: list[Action]  # Actions that open it, in order.
    close: list[Action]  # Actions that close it; also applied at the start of the run.


class ControlledFlows(Part, frozen=True, kw_only=True, tag_field="kind", tag="controlled_flows"):
    """Which flows take which of their paths. Each path except the first serves one flow at a time."""

    flows: list[ControlledFlow]  # The flows.
    paths: int  # Paths of each flow: alternatives of its route switches.
    downtime: Downtime  # What happens to a flow's packets while another path is set up for it.


class ControlledFlow(Part, frozen=True, kw_only=True):
    """A flow whose path a controller chooses."""

    flow: int  # The flow.
    route_switches: list[int]  # Its route switches, which no other flow has; the first one counts its data.
    priority: int  # Flows of a higher priority go first.
    deadline_ps: int | None  # Deadline for its completion, relative to its start; null for none.


class Stack(Part, frozen=True, kw_only=True):
    """A TCP stack: Linux's sysctls by their names, in integers."""

    name: str  # Unique name.
    linux: Linux  # Version of Linux whose TCP it models.
    mtu: int  # IP packet size limit.
    initial_window: int  # Initial window in segments.
    cwnd_clamp: int | None  # Upper bound of the congestion window in segments; null for none.
    hz: int  # Timer ticks per second (CONFIG_HZ).
    timer_dilation: int
    """Factor by which the hosts' clocks run faster than the network's time: all timers and measured times of the
    stack are in the hosts' time. 1 for undilated clocks.
    """
    rto_min_ps: int  # Minimum RTO.
    delayed_ack_min_ps: int  # Shortest delayed-ACK time.
    delayed_ack_max_ps: int  # Longest delayed-ACK time.
    tcp_rmem: tuple[int, int, int]  # `tcp_rmem`: minimum, default, maximum.
    tcp_wmem: tuple[int, int, int]  # `tcp_wmem`: minimum, default, maximum.
    tcp_moderate_rcvbuf: bool  # `tcp_moderate_rcvbuf`.
    tcp_adv_win_scale: int  # `tcp_adv_win_scale`.
    receive_buffers: ReceiveBuffers  # The buffers of the host's NIC.
    tcp_window_scaling: bool  # `tcp_window_scaling`.
    tcp_timestamps: bool  # `tcp_timestamps`.
    tcp_sack: bool  # `tcp_sack`.
    tcp_dsack: bool  # `tcp_dsack`.
    tcp_frto: int  # `tcp_frto` (0 or 2).
    tcp_early_retrans: int  # `tcp_early_retrans` (0 or 3): tail loss probes.
    tcp_recovery: int
    """`tcp_recovery`: bit 0 is RACK, bit 1 keeps its reordering window as it is, bit 2 makes it wait for that window
    whatever the reordering degree.
    """
    tcp_reordering: int  # `tcp_reordering`.
    tcp_max_reordering: int  # `tcp_max_reordering`.
    tcp_slow_start_after_idle: bool  # `tcp_slow_start_after_idle`.
    tcp_ecn: int  # `tcp_ecn`: 0 off, 1 on, 2 passive.
    tcp_comp_sack_delay_ns: int  # `tcp_comp_sack_delay_ns`.
    tcp_comp_sack_slack_ns: int  # `tcp_comp_sack_slack_ns`.
    tcp_comp_sack_nr: int  # `tcp_comp_sack_nr`.
    tso_max_bytes: int  # Largest burst handed to the NIC at once (TSO) in bytes; 0 disables TSO.
    tcp_limit_output_bytes: int | None  # `tcp_limit_output_bytes`; null disables TCP small queues.
    tcp_no_metrics_save: bool  # `tcp_no_metrics_save`: a flow starts without cached metrics of the destination.
    tcp_no_ssthresh_metrics_save: bool
    """`tcp_no_ssthresh_metrics_save`: a flow starts without a cached slow-start threshold."""
    tdtcp: bool  # Time-division TCP: separate congestion states for the packet network and the circuit.
    legacy: list[Legacy]  # Mechanisms of older stacks that this one has.
    max_pacing_rate_bps: int | None
    """`SO_MAX_PACING_RATE` in bit/s; null for no limit. A rule that needs pacing paces in any case."""


class ReceiveBuffers(Part, frozen=True, kw_only=True):
    """How a host's NIC stores received frames in memory: see `daybreak_tcp::config::ReceiveBuffers`."""

    linear_bytes: int
    """A frame below this size, with its headroom, is stored in one buffer; the payload of a larger one in pages."""
    page_bytes: int  # Size of a page.


class Flow(Part, frozen=True, kw_only=True):
    """An application at `src` with its peer at `dst`, and the transport between them: one TCP connection, or
    datagrams.
    """

    name: str  # Unique name.
    group: int  # Group in which figures and metrics aggregate it.
    src: int  # Sending host.
    dst: int  # Receiving host.
    src_stack: int  # Stack of the sender.
    dst_stack: int  # Stack of the receiver.
    rule: int  # Congestion control of the sender.
    application: Application  # Its application.
    start_ps: int  # When the sender opens the connection, or sends its first datagram.
    data_path: int  # Path from the sender's NIC queue to the receiver.
    ack_path: int  # Path from the receiver's NIC queue to the sender.


class Bulk(Part, frozen=True, kw_only=True, tag_field="kind", tag="bulk"):
    """Transfers data in one direction, over TCP."""

    bytes: int | None  # Payload; null for an unlimited transfer.


class RequestResponse(Part, frozen=True, kw_only=True, tag_field="kind", tag="request_response"):
    """Requests from the sender and responses from the receiver over TCP: successive exchanges on one connection,
    which the sender closes at the end.
    """

    exchanges: list[ExchangeRun]  # The exchanges, in order.


class ConstantRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="constant_rate"):
    """Sends datagrams of one size at even intervals, over UDP."""

    rate_bps: int  # Rate of the payload.
    payload_bytes: int  # Payload of each datagram.
    stop_ps: int | None  # Time at which the source stops; null for the end of the run.


class Program(Part, frozen=True, kw_only=True, tag_field="kind", tag="program"):
    """Runs programs of the machine at one or both hosts; kernel engine only. Their connections are discovered by
    their packets, and take the flow's paths.
    """

    client: Command | None  # At `src`, from the flow's start on.
    server: Command | None
    """At `dst`, started before the run begins, and terminated when all clients of the run have ended."""


class ExchangeRun(Part, frozen=True, kw_only=True):
    """A run of identical exchanges."""

    count: int  # Their number.
    request_bytes: int  # Payload of each request.
    response_bytes: int  # Payload of each response.
    think_ps: int
    """Time from the end of the previous response to each request; the first request of the flow does not wait."""


class Command(Part, frozen=True, kw_only=True):
    """A program with its arguments and environment."""

    arguments: list[str]  # The program, as a path or the name of one in the standard folders, and its arguments.
    stop_ps: int | None  # Time of SIGTERM; null for a program that ends by itself, or with the run.
    folder: str  # Working directory: its private folder, or an absolute path of the machine.
    environment: dict[str, str]  # Variables of its environment besides the standard ones.
    files: dict[str, str]  # Files of its private folder: the content of each in Base64 (RFC 4648).


class Records(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Selects what is recorded. Records that are off cost nothing."""

    bin_ps: int | None  # Width of the throughput bins; null for no bins.
    tap_links: list[int]  # Links on which each flow's wire bytes are binned (the taps).
    bin_links: list[int]  # Links whose total bytes are binned.
    bin_delivered: bool  # Bin the payload that reaches each receiver, and the payload that it delivers.
    window_ps: int | None  # Interval of the window samples of every sender; 0 samples on every ACK; null for none.
    queue_ps: int | None  # Interval of the queue samples; null for none.
    queues: list[int]  # Queues that are sampled.
    drops: bool  # One row for every lost packet.
    loss_bin_ps: int | None  # Width of the bins in which lost packets are counted; null for no such bins.
    circuits: bool  # One row for every timeline step.
    latency: bool  # One-way delay histogram of every flow.
    packet_links: list[int]  # Links whose packets are listed one by one, at the start of each link.
    capture_links: list[int]  # Links whose packets are captured as pcapng, at the start of each link.
    capture_snaplen: int  # Bytes of each packet that are kept in the capture, headers included.
    flows: list[int] | None = None
    """The flows that taps, bins of payload, window samples and lost packets are about; null for all of them."""


class Plan(Part, frozen=True, kw_only=True):
    """Everything that one run needs, independent of the machine."""

    version: int  # Version of the format: 2.
    seed: int  # Seed of every random stream that the engine draws from (random loss, rules, queues).
    end_ps: int  # Latest end of the run.
    stop_when_flows_complete: bool  # Stop as soon as every flow of limited size is complete.
    nodes: list[Node]  # Hosts and switches.
    links: list[Link]  # Unidirectional links.
    queues: list[Queue]  # Queues, each served by one or more links that start at its node.
    paths: list[list[Step]]  # Paths and parts of paths, each stored once, however many flows take it.
    route_switches: list[RouteSwitch]  # Places where a timeline chooses the path.
    forks: list[Fork]  # Queues behind which the path depends on the link that serves a packet.
    marks: list[Mark]  # Marks that packets can get, at most eight.
    markers: list[Marker]  # Places where packets are marked.
    timelines: list[Timeline]  # Periodic programs that change the fabric.
    controllers: list[Controller]  # Controllers, which change the fabric in response to its state.
    stacks: list[Stack]  # TCP stacks.
    rules: list[Choice]  # Congestion controls with their parameters.
    groups: list[str]  # Names of the groups that figures and metrics aggregate.
    flows: list[Flow]  # Flows.
    records: Records  # What is recorded.


Action: TypeAlias = (
    SetRoute | Darken | OpenGate | CloseGate | SetLimit | SetRate | SetDelay | SetLoss | SetParameter | SetMark
)
"""A change of the fabric. Things are named by their index in the list of their kind."""

Controls: TypeAlias = ControlledCircuit | ControlledFlows
"""What a controller controls."""

Application: TypeAlias = Bulk | RequestResponse | ConstantRate | Program
"""A flow's application."""
