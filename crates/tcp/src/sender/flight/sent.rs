//! The record of one sent segment.

/// One sent segment that is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Sent {
    /// Sequence number of the first byte.
    pub seq: u64,
    /// Last transmission, in microseconds (`skb_mstamp`).
    pub sent_us: u64,
    /// `delivered_us` of the path at that transmission.
    pub delivered_us: u64,
    /// `first_sent_us` of the path at that transmission.
    pub first_sent_us: u64,
    /// `delivered` of the path at that transmission.
    pub delivered: u64,
    /// Sequence space: payload, and one for a FIN.
    pub len: u32,
    /// Its packet number when last passed to the NIC, to check whether it is still queued there.
    pub nic_serial: u32,
    /// Retransmissions of the connection up to its last one, which is one of them.
    pub retransmission: u32,
    /// Neighbours in transmission order; meaningful with [`Sent::LINKED`].
    pub(in crate::sender) older: u32,
    pub(in crate::sender) newer: u32,
    /// The bits below.
    pub flags: u16,
}

const _: () = assert!(size_of::<Sent>() <= 64, "a sent segment must fit a cache line");

impl Sent {
    /// The peer holds it (RFC 2018).
    pub const SACKED: u16 = 16;
    /// Sent again, and the copy is thought to be in flight.
    pub const RETRANS: u16 = 2;
    /// Thought to be lost.
    pub const LOST: u16 = 4;
    /// Sent more than once.
    pub const EVER_RETRANS: u16 = 8;
    /// Sent while the application was the limit. The lowest bit: a comparison gives it, for every segment that is sent.
    pub const APP_LIMITED: u16 = 1;
    /// Its delivery was already sampled.
    pub const SAMPLED: u16 = 32;
    /// Carries the FIN.
    pub const FIN: u16 = 64;
    /// Member of the transmission order.
    pub(super) const LINKED: u16 = 128;
    /// RACK declared it lost: it leaves the transmission order until it is sent again.
    pub const RACKED: u16 = 256;
    /// Carries PSH, also when it is sent again: the peer acknowledges it at once.
    pub const PUSH: u16 = 512;
    /// SACKed and merged into the segment below it, so that it has no `sk_buff` of its own.
    pub const MERGED: u16 = 1024;
    /// The next segment lies in the same `sk_buff`: they were sent as one burst, and if lost are sent again as one.
    pub const JOINED: u16 = 2048;
    /// On which path it was last sent: [`Tally::tag`](super::Tally::tag).
    pub const PATH: u16 = 0xf000;
    /// Anything that needs more than plain cumulative acknowledgement.
    pub const UNUSUAL: u16 =
        Self::SACKED | Self::RETRANS | Self::LOST | Self::EVER_RETRANS | Self::LINKED | Self::MERGED;

    /// First sequence number after the segment.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    /// Any of `bits` is set.
    #[inline]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }
    /// The path on which it was last sent.
    #[inline]
    pub fn path(&self) -> u16 {
        self.flags & Self::PATH
    }
}
