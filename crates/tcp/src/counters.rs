//! What one endpoint counts.

/// Counts since the start of the connection, in segments unless noted otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
// The first of them counts with each segment.
#[repr(C)]
pub struct Counters {
    /// Segments with payload that were sent, retransmissions included.
    pub segments: u64,
    /// Sent again, the SYN or SYN-ACK included.
    pub retransmits: u64,
    /// Retransmissions that were lost again, as far as known.
    pub lost_retransmits: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Timeouts that F-RTO found to be spurious.
    pub spurious_rtos: u64,
    /// Tail loss probes.
    pub tlps: u64,
    /// Losses that a tail loss probe repaired.
    pub tlp_recoveries: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Reductions that were undone.
    pub spurious: u64,
    /// Reductions for an ECN echo.
    pub ecn_reductions: u64,
    /// Duplicate ACKs that arrived.
    pub dup_acks: u64,
    /// Segments that the peer reported as duplicates.
    pub dsacks: u64,
    /// Times that the sender saw reordering.
    pub reordering_seen: u64,
    /// Segments that arrived here ahead of a hole.
    pub reordered: u64,
    /// Segments that arrived here although all of them had arrived before.
    pub duplicates: u64,
}
