//! The record tables: one struct per table. Column names carry their unit.
//! Identifiers (`flow`, `link`, `queue` ...) are indices into the Plan's lists, which hold the names.

use crate::table::{Description, table};

/// The value of a time column for an event that did not happen by the end of the run.
pub const NEVER_NS: u64 = u64::MAX;
/// A congestion control that never was known.
pub const UNKNOWN: u32 = u32::MAX;

table! {
    /// One flow, from its start to its end. For requests and responses the columns count both directions together; for
    /// a flow over UDP `segments` counts its datagrams, and columns about TCP are 0.
    "flows" FlowRow => FlowColumns {
        /// Index of the flow.
        flow: u32,
        /// Requested size, of requests and responses together; 0 for an unlimited flow and for UDP.
        bytes: u64,
        /// When the application opened the connection, or sent its first datagram.
        start_ns: u64,
        /// When everything was acknowledged at the sender, or it had the last response; [`NEVER_NS`] if not, and for
        /// UDP.
        end_ns: u64,
        /// `end_ns - start_ns`, or [`NEVER_NS`].
        fct_ns: u64,
        /// Payload handed to the receiving application, in order except for UDP.
        delivered_bytes: u64,
        /// Data segments sent, including retransmissions.
        segments: u64,
        /// Retransmitted segments, including SYNs and SYN-ACKs.
        retransmits: u64,
        /// Retransmission timeouts that fired.
        rtos: u32,
        /// Tail loss probes sent (RFC 8985, section 7).
        tlps: u32,
        /// Times the sender entered Recovery.
        fast_recoveries: u32,
        /// Recoveries and timeouts found to be spurious and undone.
        spurious: u32,
        /// ACKs that reached a sender with data outstanding, acknowledged none of it, had no payload, did not widen or
        /// renew the window and reported no duplicate: what Linux 6.1 takes for a duplicate ACK (RFC 5681, section 2,
        /// where a smaller window makes no difference, and RFC 2883).
        dup_acks: u64,
        /// Segments that arrived at the receiver out of order.
        reordered: u64,
        /// Segments that arrived at the receiver twice.
        duplicates: u64,
        /// Bytes of payload sent minus payload acknowledged at the end of the run.
        outstanding_bytes: u64,
    }
}

table! {
    /// A request and its response. The table exists if a flow has such an application.
    "exchanges" ExchangeRow => ExchangeColumns {
        /// Index of the flow.
        flow: u32,
        /// Place in the flow, from 0.
        exchange: u32,
        /// Payload of the request.
        request_bytes: u64,
        /// Payload of the response.
        response_bytes: u64,
        /// When the client sent the request: for the first one when it opened the connection, later when its think time
        /// was over.
        start_ns: u64,
        /// When the client had the last byte of the response.
        end_ns: u64,
        /// `end_ns - start_ns`.
        fct_ns: u64,
    }
}

table! {
    /// The fate of the datagrams of a flow over UDP. The table exists if there is such a flow.
    "datagrams" DatagramRow => DatagramColumns {
        /// Index of the flow.
        flow: u32,
        /// Datagrams sent.
        sent: u64,
        /// Datagrams that reached the receiver.
        delivered: u64,
        /// Datagrams lost.
        lost: u64,
        /// Datagrams in flight at the end of the run.
        in_flight: u64,
        /// Datagrams that reached the receiver after one that was sent later.
        reordered: u64,
        /// Shortest time from sending a datagram to its arrival; [`NEVER_NS`] if none arrived.
        delay_min_ns: u64,
        /// Mean of these times; [`NEVER_NS`] if none arrived.
        delay_mean_ns: u64,
        /// Longest of these times; [`NEVER_NS`] if none arrived.
        delay_max_ns: u64,
    }
}

/// The exit code, or the signal, of a program that has none.
pub const NO_STATUS: u32 = u32::MAX;

table! {
    /// A connection of a program, or its datagrams in one direction: a flow that is not in the plan, discovered by its
    /// first packet. The table exists if a flow runs programs.
    "connections" ConnectionRow => ConnectionColumns {
        /// Index of the flow, following those of the plan.
        flow: u32,
        /// Index of the plan's flow whose paths it takes.
        of_flow: u32,
        /// 1 if its source is that flow's destination.
        is_reversed: u8,
        /// Protocol above IP: 6 TCP, 17 UDP, 1 ICMP.
        protocol: u8,
        /// Port of the end that opened it, or sends; 0 if the protocol has no ports.
        src_port: u32,
        /// The other port.
        dst_port: u32,
        /// Congestion control of the end that sent more when its sockets were last looked at: index in the plan's list of
        /// rules, behind which come all that are modelled; [`UNKNOWN`] if they never were.
        variant: u32,
    }
}

table! {
    /// A program that was run. The table exists if a flow runs programs.
    "programs" ProgramRow => ProgramColumns {
        /// Index of the plan's flow.
        flow: u32,
        /// 0 for the client, 1 for the server.
        end: u8,
        /// When it was started; 0 for a server that was started before the run.
        start_ns: u64,
        /// When it ended; [`NEVER_NS`] if it was terminated at the end of the run.
        end_ns: u64,
        /// Exit code; [`NO_STATUS`] for a program that a signal ended.
        exit_code: u32,
        /// The signal that ended it; [`NO_STATUS`] for none.
        signal: u32,
        /// Bytes written to its standard output.
        stdout_bytes: u64,
        /// Bytes written to its standard error.
        stderr_bytes: u64,
    }
}

/// The kinds of rows in table `bins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BinScope {
    /// Payload handed to the flow's receiver in order; `id` is the flow.
    Delivered = 0,
    /// Bytes of a flow's packets from its sender, or with payload, on the links that the plan taps, with framing; `id`
    /// is the flow.
    Tap = 1,
    /// All bytes on a link, with framing; `id` is the link.
    Link = 2,
    /// Payload of the flow's packets as they reach its receiver, in any order and including duplicates; `id` is the
    /// flow.
    Arrived = 3,
}

table! {
    /// Bytes counted in one time bin. Empty bins are left out.
    "bins" BinRow => BinColumns {
        /// What is counted: see [`BinScope`].
        scope: u8,
        /// Flow or link.
        id: u32,
        /// Start of the bin.
        start_ns: u64,
        /// Bytes in the bin.
        bytes: u64,
    }
}

table! {
    /// A sender's window at one instant, by time and flow. For requests and responses it is the window of the responding end.
    "window" WindowRow => WindowColumns {
        /// Index of the flow.
        flow: u32,
        /// When.
        time_ns: u64,
        /// Congestion window in segments.
        cwnd: u32,
        /// Slow-start threshold in segments; `u32::MAX` while unlimited.
        ssthresh: u32,
        /// Segments in flight as the sender counts them (RFC 6675 "pipe"): sent, and neither acknowledged, SACKed nor
        /// marked as lost, plus retransmissions (`packets_out - sacked_out - lost_out + retrans_out`).
        in_flight: u32,
        /// `in_flight` times the MSS, in bytes.
        bytes_in_flight: u64,
        /// Payload sent and not acknowledged, including what is SACKed or marked as lost: `snd_nxt - snd_una` without SYN and FIN.
        outstanding_bytes: u64,
        /// Smoothed round-trip time; 0 before the first sample.
        srtt_ns: u64,
        /// Pacing rate in bit/s; 0 when not paced.
        pacing_bps: u64,
        /// Segments retransmitted so far, including SYNs and SYN-ACKs.
        retransmits: u64,
        /// Congestion state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
        state: u8,
    }
}

table! {
    /// A queue's occupancy in one sampling interval.
    "queues" QueueRow => QueueColumns {
        /// Index of the queue.
        queue: u32,
        /// End of the interval.
        time_ns: u64,
        /// Packets waiting at the end of the interval.
        packets: u32,
        /// Bytes waiting at the end of the interval.
        bytes: u64,
        /// Largest number of packets waiting at once within the interval.
        max_packets: u32,
    }
}

/// What the `place` of a lost packet is an index of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A queue.
    Queue,
    /// A link.
    Link,
    /// A route switch.
    RouteSwitch,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full; `place` is a queue.
    QueueFull = 0,
    /// The route was dark and the downtime policy is `drop`; `place` is a route switch.
    Night = 1,
    /// Random loss on a link; `place` is a link.
    RandomLoss = 2,
    /// A gate closed on a queue whose policy is `drop`; `place` is a queue.
    GateClosed = 3,
    /// The buffer that holds packets during a night was full; `place` is a route switch.
    HoldFull = 4,
    /// The queue's discipline dropped it although there was room; `place` is a queue.
    EarlyDrop = 5,
    /// It waited at the tail when the queue's limit was lowered; `place` is a queue.
    LimitLowered = 6,
    /// It came back to a queue whose capacity for returned packets was exhausted; `place` is that queue.
    ReturnFull = 7,
}

impl DropReason {
    /// All values, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::QueueFull,
        Self::Night,
        Self::RandomLoss,
        Self::GateClosed,
        Self::HoldFull,
        Self::EarlyDrop,
        Self::LimitLowered,
        Self::ReturnFull,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Night => "night",
            Self::RandomLoss => "random_loss",
            Self::GateClosed => "gate_closed",
            Self::HoldFull => "hold_full",
            Self::EarlyDrop => "early_drop",
            Self::LimitLowered => "limit_lowered",
            Self::ReturnFull => "return_full",
        }
    }

    /// The meaning of `place`.
    pub const fn place(self) -> Place {
        match self {
            Self::QueueFull | Self::GateClosed | Self::EarlyDrop | Self::LimitLowered | Self::ReturnFull => {
                Place::Queue
            }
            Self::RandomLoss => Place::Link,
            Self::Night | Self::HoldFull => Place::RouteSwitch,
        }
    }
}

table! {
    /// One lost packet.
    "drops" DropRow => DropColumns {
        /// When.
        time_ns: u64,
        /// Why: see [`DropReason`].
        reason: u8,
        /// Index of a queue, link or route switch, depending on the reason.
        place: u32,
        /// Flow of the packet.
        flow: u32,
        /// 1 for a packet from the flow's sender, or with payload; 0 for an ACK.
        data: u8,
        /// First byte of its payload.
        seq: u64,
        /// IP length.
        bytes: u32,
    }
}

table! {
    /// Packets lost in a time bin for one reason at one place. Bins without a loss have no row.
    "losses" LossRow => LossColumns {
        /// Start of the bin.
        start_ns: u64,
        /// Why: see [`DropReason`].
        reason: u8,
        /// Index of a queue, link or route switch, depending on the reason.
        place: u32,
        /// Flow of the packets.
        flow: u32,
        /// 1 for packets from the flow's sender, or with payload; 0 for ACKs.
        data: u8,
        /// Packets.
        packets: u64,
        /// Sum of their IP lengths.
        bytes: u64,
    }
}

table! {
    /// A step of a timeline.
    "circuits" CircuitRow => CircuitColumns {
        /// When.
        time_ns: u64,
        /// Index of the timeline.
        timeline: u32,
        /// Index of the step in the timeline's program.
        step: u32,
    }
}

/// The kinds of a controller's decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ControlEvent {
    /// A flow requests another path than its first one.
    Requested = 0,
    /// A path is being set up for a flow, or a circuit for all flows.
    SettingUp = 1,
    /// The flow takes the path, or the circuit is open.
    InForce = 2,
    /// The flow is back on its first path, or the circuit is closed.
    Released = 3,
}

impl ControlEvent {
    /// All values, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Requested, Self::SettingUp, Self::InForce, Self::Released];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::SettingUp => "setting_up",
            Self::InForce => "in_force",
            Self::Released => "released",
        }
    }
}

/// The value of `flow` in table `control` for decisions about a circuit.
pub const NO_FLOW: u32 = u32::MAX;

table! {
    /// A decision of a controller.
    "control" ControlRow => ControlColumns {
        /// When.
        time_ns: u64,
        /// Index of the controller.
        controller: u32,
        /// What it did: see [`ControlEvent`].
        event: u8,
        /// Flow that it concerns, or [`NO_FLOW`].
        flow: u32,
        /// Path of the flow that it concerns, from 0; 0 for a circuit.
        path: u32,
    }
}

table! {
    /// Packets that crossed one link in the whole run.
    "links" LinkRow => LinkColumns {
        /// Index of the link.
        link: u32,
        /// Packets sent.
        packets: u64,
        /// Bytes sent, with framing.
        bytes: u64,
        /// Packets lost on the link.
        lost: u64,
        /// Packets still on the link at the end.
        in_flight: u64,
    }
}

table! {
    /// What happened to the packets of one queue in the whole run.
    "queue_totals" QueueTotalsRow => QueueTotalsColumns {
        /// Index of the queue.
        queue: u32,
        /// Packets that its discipline marked (CE).
        marked_packets: u64,
        /// Packets that were lost here.
        dropped_packets: u64,
        /// Packets that found it full and took the overflow path.
        overflowed_packets: u64,
        /// Packets that came back to it from a full queue further on.
        returned_packets: u64,
    }
}

table! {
    /// One-way delay of a flow's data packets from NIC queue to receiver, as a histogram with
    /// buckets of at most 1/16 relative width.
    "latency" LatencyRow => LatencyColumns {
        /// Index of the flow.
        flow: u32,
        /// Lower edge of the bucket.
        from_ns: u64,
        /// Upper edge of the bucket, exclusive.
        to_ns: u64,
        /// Packets in the bucket.
        packets: u64,
    }
}

table! {
    /// A packet at the start of a link.
    "packets" PacketRow => PacketColumns {
        /// When the link started to send it.
        time_ns: u64,
        /// Index of the link.
        link: u32,
        /// Number of the packet in the run, constant on its whole path; a retransmission is another packet.
        packet: u64,
        /// Flow of the packet.
        flow: u32,
        /// 1 for a packet of the data direction, 0 for an ACK.
        data: u8,
        /// First byte of its payload.
        seq: u64,
        /// Payload.
        payload_bytes: u32,
        /// IP length.
        bytes: u32,
    }
}

/// Descriptions of all tables, in the order in which a run has them.
pub const TABLES: [Description; 16] = [
    FlowColumns::DESCRIPTION,
    BinColumns::DESCRIPTION,
    WindowColumns::DESCRIPTION,
    QueueColumns::DESCRIPTION,
    DropColumns::DESCRIPTION,
    LossColumns::DESCRIPTION,
    CircuitColumns::DESCRIPTION,
    ControlColumns::DESCRIPTION,
    LatencyColumns::DESCRIPTION,
    PacketColumns::DESCRIPTION,
    LinkColumns::DESCRIPTION,
    QueueTotalsColumns::DESCRIPTION,
    ExchangeColumns::DESCRIPTION,
    DatagramColumns::DESCRIPTION,
    ConnectionColumns::DESCRIPTION,
    ProgramColumns::DESCRIPTION,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_and_event_is_listed_at_its_number() {
        assert!((0..).zip(DropReason::ALL).all(|(number, reason)| reason as u8 == number));
        assert!((0..).zip(ControlEvent::ALL).all(|(number, event)| event as u8 == number));
    }
}
