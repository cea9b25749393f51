//! The plain FIFO: an arrival that does not fit is lost.

use super::{Discipline, Limits, Occupancy, Verdict};

/// The limits of one queue.
#[derive(Debug)]
pub(crate) struct DropTail {
    packets: u32,
    bytes: u64,
}

impl Discipline for DropTail {
    fn new(limits: Limits) -> Self {
        let packets = limits.packets.unwrap_or(u64::from(u32::MAX));
        Self { packets: u32::try_from(packets).unwrap_or(u32::MAX), bytes: limits.bytes.unwrap_or(u64::MAX) }
    }

    #[inline(always)]
    fn arrival(&mut self, occupancy: Occupancy, bytes: u32) -> Verdict {
        let fits = occupancy.packets < self.packets && occupancy.bytes + u64::from(bytes) <= self.bytes;
        if fits { Verdict::Accept } else { Verdict::Drop }
    }

    fn room(&self, occupancy: Occupancy, largest_packet: u32) -> u32 {
        let packets = self.packets.saturating_sub(occupancy.packets);
        let bytes = self.bytes.saturating_sub(occupancy.bytes);
        u64::from(packets).min(bytes / u64::from(largest_packet.max(1))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_limit_drops() {
        let mut queue = DropTail::new(Limits { packets: Some(3), bytes: Some(4_000) });
        let mut arrival = |packets, bytes, size| queue.arrival(Occupancy { packets, bytes }, size);
        assert_eq!(arrival(2, 2_500, 1_500), Verdict::Accept);
        assert_eq!(arrival(2, 2_501, 1_500), Verdict::Drop);
        assert_eq!(arrival(3, 100, 40), Verdict::Drop);
    }
}
