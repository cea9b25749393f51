//! A TCP segment as the two ends of a connection see it.
//!
//! Sequence numbers are unwrapped to 64 bits: the initial sequence number is 0 in both directions
//! and never wraps. A capture writes the low 32 bits.

use std::ops::{Deref, DerefMut};

use daybreak_units::Ecn;

/// The control bits of RFC 9293, section 3.1, and RFC 3168.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push function.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: Self = Self(0x10);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// True when every bit of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets of bits.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A received range that is reported back (RFC 2018): `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the range.
    pub start: u64,
    /// First byte after the range.
    pub end: u64,
}

/// One segment: its header, whose fields are the segment's own, and SACK blocks.
#[derive(Copy, Debug, Default, Eq)]
// The blocks, which few segments have, lie apart from what all have.
#[repr(C)]
pub struct Segment {
    /// All but the blocks.
    pub header: Header,
    /// SACK blocks (RFC 2018); the first may be a DSACK (RFC 2883). With timestamps three fit.
    pub sack: [SackBlock; 4],
}

/// A segment without SACK blocks. Options that the connection has not negotiated are absent: `ts_val` 0 without
/// timestamps, `sack_count` 0 without SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Sequence number of the first byte.
    pub seq: u64,
    /// Next byte expected from the peer; meaningful with [`Flags::ACK`].
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Receive window in bytes, after scaling: what the peer may send beyond `ack`.
    pub window: u32,
    /// Timestamp value (RFC 7323), in the sender's timestamp ticks.
    pub ts_val: u32,
    /// Timestamp echo reply (RFC 7323).
    pub ts_ecr: u32,
    /// Control bits.
    pub flags: Flags,
    /// ECN field of the IP header that carries the segment.
    pub ecn: Ecn,
    /// Valid entries of [`Segment::sack`].
    pub sack_count: u8,
    /// Options of a SYN: MSS and window scale; zero on other segments.
    pub syn: SynOptions,
}

impl From<Header> for Segment {
    fn from(header: Header) -> Self {
        Self { header, sack: Default::default() }
    }
}

impl Deref for Segment {
    type Target = Header;
    #[inline(always)]
    fn deref(&self) -> &Header {
        &self.header
    }
}

impl DerefMut for Segment {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Header {
        &mut self.header
    }
}

#[allow(clippy::non_canonical_clone_impl)] // What `clone_from` makes is equal to a copy; it writes less.
impl Clone for Segment {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }

    /// What `self` has in place of blocks that `source` does not have is left there, untouched.
    #[inline(always)]
    fn clone_from(&mut self, source: &Self) {
        if source.sack_count > 0 {
            self.sack = source.sack;
        }
        self.header = source.header;
    }
}

impl PartialEq for Segment {
    /// Only blocks that are present count.
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.sacks() == other.sacks()
    }
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1), without options.
    pub mss: u16,
    /// Window scale shift (RFC 7323), plus one; 0 when the option is absent.
    pub window_scale_plus_one: u8,
    /// SACK permitted (RFC 2018).
    pub sack_permitted: bool,
    /// Timestamps offered (RFC 7323).
    pub timestamps: bool,
}

impl Segment {
    /// The SACK blocks that are present.
    #[inline]
    pub fn sacks(&self) -> &[SackBlock] {
        &self.sack[..self.sack_count as usize]
    }
    /// Sequence space that the segment takes: payload plus one each for SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.0 & Flags::SYN.0 != 0) + u64::from(self.flags.0 & Flags::FIN.0 != 0)
    }
    /// Bytes of the TCP header with its options, as Linux lays them out: timestamps take 12 bytes,
    /// SACK blocks 8 each after 4, a SYN its own options, all padded to 4.
    #[inline]
    pub fn header_len(&self) -> u32 {
        if self.sack_count == 0 && !self.flags.contains(Flags::SYN) {
            return if self.ts_val != 0 { 32 } else { 20 };
        }
        self.header_len_with_options()
    }

    #[inline(never)]
    fn header_len_with_options(&self) -> u32 {
        let timestamps = if self.ts_val != 0 || self.syn.timestamps { 12 } else { 0 };
        let sack = if self.sack_count > 0 { 4 + 8 * u32::from(self.sack_count) } else { 0 };
        let syn = if self.flags.contains(Flags::SYN) {
            // SACK-permitted rides in the padding of the timestamps option when both are there.
            let permitted = u32::from(self.syn.sack_permitted && timestamps == 0) * 4;
            4 + permitted + u32::from(self.syn.window_scale_plus_one != 0) * 4
        } else {
            0
        };
        20 + timestamps + sack + syn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_all_blocks_that_are_present() {
        let block = SackBlock { start: 7, end: 9 };
        let with = Segment { header: Header { seq: 1, sack_count: 4, ..Header::default() }, sack: [block; 4] };
        let without = Segment::from(Header { seq: 2, ..Header::default() });
        let mut place = Segment::default();
        for segment in [with, without, with] {
            place.clone_from(&segment);
            assert_eq!(place, segment);
        }
        assert_ne!(place, Segment { sack: Default::default(), ..with });
        // A packet is written where another was: what that had in place of the blocks stays there.
        place.clone_from(&without);
        assert_eq!((place.sacks(), place.sack), (&[][..], [block; 4]));
    }
}
