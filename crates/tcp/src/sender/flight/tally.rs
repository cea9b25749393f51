//! What one path has in flight, counted in segments.

/// The counts of one path's segments. They change only here, where the records do.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Tally {
    pub(super) packets_out: u32,
    pub(super) sacked_out: u32,
    pub(super) lost_out: u32,
    pub(super) retrans_out: u32,
    /// Meaningful while a segment is SACKed.
    pub(super) highest_sacked: u64,
    tag: u16,
}

impl Tally {
    /// Nothing is in flight on the path that the records call `tag`.
    pub fn new(tag: u16) -> Self {
        Self { tag, ..Self::default() }
    }

    /// Which path it is, as the records of its segments have it in [`Sent::PATH`].
    #[inline]
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// Sent and not acknowledged cumulatively.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        self.packets_out
    }

    /// Of these, SACKed; without SACK, duplicate ACKs.
    #[inline]
    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Of these, thought to be lost.
    #[inline]
    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Retransmissions thought to be in flight.
    #[inline]
    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Something is SACKed, lost or sent again.
    #[inline]
    pub fn has_marks(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out != 0
    }

    /// Something is lost that has not been sent again.
    #[inline]
    pub fn has_to_resend(&self) -> bool {
        self.lost_out > self.retrans_out
    }

    /// What the network is thought to hold (the "pipe" of RFC 6675).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        debug_assert!(
            self.sacked_out + self.lost_out <= self.packets_out + self.retrans_out,
            "in flight is negative: {} out, {} sacked, {} lost, {} sent again",
            self.packets_out,
            self.sacked_out,
            self.lost_out,
            self.retrans_out
        );
        self.packets_out + self.retrans_out - self.sacked_out - self.lost_out
    }

    /// SACKed or lost: has left the network.
    #[inline]
    pub fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// End of the path's highest SACKed segment, `una` when there is none (`tcp_highest_sack_seq`).
    #[inline]
    pub fn highest_sacked(&self, una: u64) -> u64 {
        if self.sacked_out == 0 { una } else { self.highest_sacked.max(una) }
    }

    /// Sent and not acknowledged, SACKed, lost, and sent again and in flight.
    pub fn counts(&self) -> [u32; 4] {
        [self.packets_out, self.sacked_out, self.lost_out, self.retrans_out]
    }
}

/// Without SACK each duplicate ACK stands for one segment that has left the network (RFC 6582): `sacked_out` is an
/// estimate then, and no record is marked.
impl Tally {
    /// A duplicate ACK. True when there were more than segments can have arrived, which means that they were reordered.
    pub fn count_duplicate(&mut self) -> bool {
        self.sacked_out += 1;
        self.limit_duplicates()
    }

    /// `acked` segments were acknowledged cumulatively: all but one of them had been counted. True as above.
    pub fn uncount_duplicates(&mut self, acked: u32) -> bool {
        if acked > 0 {
            self.sacked_out = self.sacked_out.saturating_sub(acked - 1);
        }
        self.limit_duplicates()
    }

    /// At least one segment must be missing for duplicates to be sent. True when the estimate was too large.
    pub fn limit_duplicates(&mut self) -> bool {
        let holes = self.lost_out.max(1).min(self.packets_out);
        let most = self.packets_out - holes;
        let exceeded = self.sacked_out > most;
        self.sacked_out = self.sacked_out.min(most);
        exceeded
    }

    /// The duplicates so far count for nothing.
    pub fn forget_duplicates(&mut self) {
        self.sacked_out = 0;
    }
}

#[cfg(test)]
impl Tally {
    /// These counts, without a look at the records.
    pub fn of(packets_out: u32, sacked_out: u32, lost_out: u32, retrans_out: u32) -> Self {
        Self { packets_out, sacked_out, lost_out, retrans_out, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sacked_lost_or_sent_again_is_marked_and_the_former_have_left() {
        for (sacked_out, lost_out, retrans_out, has_marks, left_out, in_flight) in [
            (0, 0, 0, false, 0, 9),
            (1, 0, 0, true, 1, 8),
            (0, 2, 0, true, 2, 7),
            (0, 0, 1, true, 0, 10),
            (3, 2, 1, true, 5, 5),
            (2, 2, 2, true, 4, 7),
        ] {
            let tally = Tally { packets_out: 9, sacked_out, lost_out, retrans_out, ..Tally::default() };
            assert_eq!((tally.has_marks(), tally.left_out(), tally.in_flight()), (has_marks, left_out, in_flight));
            assert_eq!(tally.has_to_resend(), lost_out > retrans_out);
        }
    }

    #[test]
    fn duplicates_are_counted_until_they_are_forgotten() {
        let mut tally = Tally { packets_out: 9, ..Tally::default() };
        assert_eq!((tally.count_duplicate(), tally.count_duplicate(), tally.sacked_out()), (false, false, 2));
        tally.forget_duplicates();
        assert_eq!(tally.sacked_out(), 0);
    }
}
