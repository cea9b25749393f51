//! How the fabric schedules its next call.

use daybreak_units::{Instant, splitmix};

use crate::PacketId;

/// A call that the fabric, or its control, wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Call [`crate::Control::wake`].
    Control {
        /// The timeline or controller that is due.
        controller: u32,
    },
    /// Call [`crate::Fabric::transmission_complete`].
    TransmissionComplete {
        /// The link that will have sent its packet.
        link: u32,
    },
    /// Call [`crate::Fabric::arrive`].
    Arrival {
        /// The link at whose end the packet will be.
        link: u32,
        /// The packet, or [`PacketId::NEXT`].
        packet: PacketId,
    },
}

/// Where wishes to be called go. When several fall on one instant, each [`Wake::Control`] must be called before any
/// [`Wake::TransmissionComplete`], and these before any [`Wake::Arrival`]: controllers and links in the order of their
/// numbers, arrivals in that of their [`tie_break`] and then of their links.
pub trait Schedule {
    /// Asks for `wake` at `at`, which is never in the past.
    fn at(&mut self, at: Instant, wake: Wake);
}

/// Which of the packets that arrive at one instant comes first: that on the link with the least value.
///
/// Where links are equally fast and equally long, packets of several senders arrive at a switch at the
/// very same instant, again and again, and if one place is left in a queue the first takes it. No link
/// may always be that one: with a fixed order a flow on a link that goes first takes every place as it
/// falls free, and the others starve (phase effects: Floyd and Jacobson, "On traffic phase effects in
/// packet-switched gateways", 1992). Real switches serve their ports in turn. So each instant has an
/// order of its own, which only depends on the instant.
#[inline]
pub fn tie_break(at: Instant, link: u32) -> u32 {
    (splitmix(at.as_ps() ^ u64::from(link) << 36) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 12 us from three links meet 30,000 times: each comes first in a third of them, five
    /// standard deviations of a fair draw (82) allowed, and rarely often in a row.
    #[test]
    fn links_come_first_equally_often() {
        let mut firsts = [0u32; 3];
        let (mut row, mut longest, mut last) = (0, 0, 3);
        for packet in 0..30_000 {
            let at = Instant::from_ps(17_000_000 + packet * 12_000_000);
            let first = (0..3).min_by_key(|&link| tie_break(at, link)).unwrap_or(3);
            firsts[first as usize] += 1;
            row = if first == last { row + 1 } else { 1 };
            (last, longest) = (first, longest.max(row));
        }
        assert!(firsts.iter().all(|&count| count.abs_diff(10_000) < 5 * 82), "{firsts:?}");
        assert!(longest < 20, "a link came first {longest} times in a row");
    }
}
