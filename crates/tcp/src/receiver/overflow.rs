//! A receive buffer that has less than it holds: it grows, if it may; else what it has is copied into fewer buffers,
//! and at last what lies beyond holes is dropped.

use super::Receiver;
use super::sack_list::{Dsack, SackList};
use crate::{Flags, Segment};

/// Bytes by which the memory of a socket grows.
const PAGE: u64 = 4096;

impl Receiver {
    /// The next segment in order, in what is left of the last page that the buffer has: Linux 6.1's header prediction
    /// takes it without looking at what the buffer holds. Only an end that sends nothing is modelled: what waits to be
    /// sent has pages as well.
    pub(super) fn fits_pages(&self, segment: &Segment) -> bool {
        let left = self.memory().next_multiple_of(PAGE) - self.memory();
        segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0
            && segment.seq == self.rcv_nxt
            && segment.len > 0
            && segment.sack_count == 0
            && self.queue.is_empty()
            && self.window.cost_of(segment.len) <= left
    }

    /// Room for a segment that starts at `seq` (Linux 6.1, `tcp_prune_queue`). False if there is none.
    #[inline]
    pub(super) fn find_room(&mut self, seq: u64) -> bool {
        !self.window.overflows(self.memory()) || self.clear_room(seq)
    }

    #[cold]
    fn clear_room(&mut self, seq: u64) -> bool {
        self.policy.leave_quick_mode();
        self.window.make_room(self.memory());
        if !self.window.overflows(self.memory()) {
            return true;
        }
        self.queue.collapse(&self.window, self.fin_seq);
        if let Some(unread) = &mut self.unread {
            unread.collapse(&self.window, self.rcv_nxt, self.fin_seq);
        }
        if !self.window.overflows(self.memory()) {
            return true;
        }
        let unread = self.memory() - self.queue.memory();
        let arriving = self.profile.prunes_beyond.then_some(seq);
        if self.queue.prune(&self.window, unread, arriving) {
            self.forget_pruned();
        }
        !self.window.overflows(self.memory())
    }

    /// What was reported may be gone: the peer learns of what is left as it is reported again.
    fn forget_pruned(&mut self) {
        self.sacks = SackList::default();
        self.dsack = Dsack::default();
        if let Some(ranges) = &mut self.ranges {
            **ranges = Default::default();
        }
        if self.queue.end() <= self.fin_seq && self.fin_seq >= self.rcv_nxt {
            self.fin_seq = u64::MAX;
        }
        self.holds_data = !self.queue.is_empty() || self.unread.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use crate::config::Config;
    use crate::receiver::{Negotiated, SenderTiming};
    use daybreak_units::{Duration, Instant};

    /// With a buffer of 2400 bytes.
    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(&Config::default());
        receiver.set_buffer(1_200);
        let negotiated =
            Negotiated { window_scaling: true, timestamps: false, sack: true, ecn: false, exact_echo: false };
        receiver.on_syn(Instant::ZERO, &Segment::from(Header { flags: Flags::SYN, ..Header::default() }), negotiated);
        receiver.established(Instant::ZERO);
        receiver
    }

    fn take(receiver: &mut Receiver, seq: u64, len: u32, flags: Flags) {
        let segment = Segment::from(Header { seq, len, flags: flags.with(Flags::ACK), ..Header::default() });
        let timing = SenderTiming { srtt: Duration::ZERO, rto: Duration::from_ms(200) };
        receiver.on_data(Instant::ZERO, &segment, || timing);
    }

    #[test]
    fn a_fin_that_is_dropped_is_forgotten() {
        let mut receiver = receiver();
        for seq in [100, 200, 300] {
            take(&mut receiver, seq, 1, Flags::ACK);
        }
        take(&mut receiver, 400, 1, Flags::FIN);
        take(&mut receiver, 50, 1, Flags::ACK);
        assert_eq!((receiver.fin_seq, receiver.queue.end(), receiver.last_sacked()), (u64::MAX, 301, Some(51)));
    }

    #[test]
    fn a_fin_that_stays_is_known() {
        let mut receiver = receiver();
        take(&mut receiver, 400, 1, Flags::FIN);
        for seq in [100, 200, 300] {
            take(&mut receiver, seq, 1, Flags::ACK);
        }
        assert_eq!((receiver.fin_seq, receiver.memory()), (401, 4 * 768));
    }

    #[test]
    fn a_fin_below_what_is_dropped_is_known() {
        // A peer that sends beyond its FIN: what lies there goes first, and makes room enough.
        let mut receiver = receiver();
        take(&mut receiver, 500, 1, Flags::ACK);
        take(&mut receiver, 400, 1, Flags::FIN);
        for seq in [100, 200, 300] {
            take(&mut receiver, seq, 1, Flags::ACK);
        }
        assert_eq!((receiver.fin_seq, receiver.queue.end()), (401, 402));
    }

    /// An open hole switches header prediction off in Linux 6.1, and so do flags, old data and blocks.
    #[test]
    fn the_last_page_takes_only_what_headers_predict() {
        let data = |seq, len, flags: Flags| {
            Segment::from(Header { seq, len, flags: flags.with(Flags::ACK), ..Header::default() })
        };
        let mut receiver = receiver();
        receiver.stop_reading();
        take(&mut receiver, 1, 1, Flags::ACK);
        // 768 of a page are taken.
        for (segment, fits) in [
            (data(2, 1, Flags::PSH), true),
            (data(2, 1_700, Flags::ACK), false),
            (data(2, 0, Flags::ACK), false),
            (data(2, 1, Flags::FIN), false),
            (data(1, 2, Flags::ACK), false),
            (
                Segment {
                    sack: [Default::default(); 4],
                    header: Header { sack_count: 1, ..data(2, 1, Flags::ACK).header },
                },
                false,
            ),
        ] {
            assert_eq!(receiver.fits_pages(&segment), fits, "{segment:?}");
        }
        take(&mut receiver, 100, 1, Flags::ACK);
        assert!(!receiver.fits_pages(&data(2, 1, Flags::ACK)));
    }
}
