//! Whether a segment counts: PAWS (RFC 7323, section 5), the window check (RFC 9293, section 3.10.7.4), header prediction.

use daybreak_units::{Duration, Instant};

use super::ack_policy::MAX_QUICKACKS;
use super::{Receiver, SenderProgress};
use crate::{Flags, Segment};

/// ACKs that answer segments without data from outside the window are this far apart at least
/// (`tcp_invalid_ratelimit`).
const INVALID_RATE_LIMIT: Duration = Duration::from_ms(500);
/// How much older than the newest one a timestamp may be, in ticks.
const PAWS_SLACK: i32 = 1;
/// Ticks a second of the fastest timestamp clock that [`crate::config::Profile::same_segment_closes`] allows for.
const FASTEST_TICKS: i64 = 1_200;

impl Receiver {
    /// Whether the segment may be processed at all: PAWS (RFC 7323, section 5) and the window check.
    /// `false` means drop it whole; an ACK may have become pending. Also keeps `ts_recent`.
    #[inline]
    pub fn accept(&mut self, now: Instant, segment: &Segment, sender: impl FnOnce() -> SenderProgress) -> bool {
        self.accepts_next(segment) || self.accept_unusual(now, segment, &sender())
    }

    /// [`Receiver::accept`] if it is the next in order, and not older than the one before.
    #[inline(always)]
    pub(crate) fn accepts_next(&mut self, segment: &Segment) -> bool {
        let is_next = self.is_surely_accepted(segment);
        if is_next && segment.seq == self.window.rcv_wup() {
            self.ts_recent = segment.ts_val;
        }
        is_next
    }

    #[inline(never)]
    fn accept_unusual(&mut self, now: Instant, segment: &Segment, sender: &SenderProgress) -> bool {
        let newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32;
        if !self.check(now, segment, sender) {
            return false;
        }
        let timestamps = self.negotiated.timestamps && segment.ts_val != 0;
        if timestamps && newer >= 0 && segment.seq <= self.window.rcv_wup() {
            self.ts_recent = segment.ts_val;
        }
        true
    }

    /// [`Receiver::accept`] without taking the timestamp.
    #[inline(never)]
    pub(crate) fn check(&mut self, now: Instant, segment: &Segment, sender: &SenderProgress) -> bool {
        let newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32;
        let end = segment.seq + segment.sequence_len();
        let timestamps = self.negotiated.timestamps && segment.ts_val != 0;
        let stale = timestamps
            && !self.profile.no_paws
            && newer < -PAWS_SLACK
            && !self.is_reordered_ack(segment, newer, sender);
        if stale && self.profile.silent_old_acks && segment.sequence_len() == 0 && segment.seq < self.rcv_nxt {
            return false;
        }
        if stale || !self.is_in_window(segment) {
            self.reject(now, segment, end);
            return false;
        }
        true
    }

    /// An accepted segment with data is what header prediction expects: the next in order while no hole is open, and not the
    /// first.
    #[inline]
    pub(crate) fn is_predicted(&self, segment: &Segment) -> bool {
        self.rcv_nxt > 1 && self.is_predicted_next(segment) && segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0
    }

    /// It is the next in order, and no hole is open.
    #[inline]
    pub(crate) fn is_predicted_next(&self, segment: &Segment) -> bool {
        segment.seq == self.rcv_nxt && (!self.holds_data || self.queue.is_empty())
    }

    /// Some of a segment lies where data are expected (RFC 9293, section 3.4).
    #[inline(always)]
    pub fn is_in_window(&self, segment: &Segment) -> bool {
        segment.seq + segment.sequence_len() >= self.window.rcv_wup()
            && segment.seq <= self.rcv_nxt + self.window.room(self.rcv_nxt)
    }

    /// Before the handshake is done: some of it lies in the window of the SYN-ACK, or where that begins or ends.
    pub fn is_in_first_window(&self, segment: &Segment) -> bool {
        let (start, end) = (self.rcv_nxt, self.rcv_nxt + u64::from(self.window.initial_offer()));
        let segment_end = segment.seq + segment.sequence_len();
        segment.seq == start || (segment_end > start && segment.seq < end) || (segment.seq == end && segment_end == end)
    }

    /// An older timestamp than that of a segment before it: PAWS without the slack that an open connection allows.
    pub fn is_older(&self, segment: &Segment) -> bool {
        self.is_stamped(segment) && (segment.ts_val.wrapping_sub(self.ts_recent) as i32) < 0
    }

    /// A later timestamp than that of all segments before it.
    pub fn is_newer(&self, segment: &Segment) -> bool {
        self.is_stamped(segment) && (segment.ts_val.wrapping_sub(self.ts_recent) as i32) > 0
    }

    fn is_stamped(&self, segment: &Segment) -> bool {
        self.negotiated.timestamps && segment.ts_val != 0
    }

    /// Echoes the timestamp of a segment that is not ahead of the stream from now on.
    pub fn take_timestamp(&mut self, segment: &Segment) {
        if self.is_stamped(segment) && segment.seq <= self.rcv_nxt {
            self.ts_recent = segment.ts_val;
        }
    }

    /// A segment that is not processed: inform the peer of our state, but do not join a loop of ACKs.
    #[cold]
    fn reject(&mut self, now: Instant, segment: &Segment, end: u64) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.sequence_len() == 0 {
            if !self.may_challenge(now) {
                return;
            }
        } else if segment.seq < self.rcv_nxt {
            self.counters.duplicates += u64::from(end <= self.rcv_nxt);
            self.policy.enter_quick_mode(self.window.rcv_wnd(), MAX_QUICKACKS);
            self.report_duplicate(segment.seq, end.min(self.rcv_nxt));
        }
        self.ack_pending = true;
    }

    /// A duplicate ACK that was overtaken, not by longer than an RTO, is worth its SACK blocks, though its
    /// timestamp is old. Linux refuses every other one, also those that acknowledge less than an earlier one.
    fn is_reordered_ack(&self, segment: &Segment, newer: i32, sender: &SenderProgress) -> bool {
        let late_us = -i64::from(newer) * self.timestamps.tick.as_us() as i64;
        let rto_us = sender.rto.as_us() as i64;
        let (closes, most_us) = if self.profile.same_segment_closes {
            (segment.window == 0, rto_us * FASTEST_TICKS / 1_000)
        } else {
            (false, rto_us)
        };
        segment.sequence_len() == 0
            && segment.seq == self.rcv_nxt
            && segment.ack == sender.una
            && segment.window <= sender.window
            && !closes
            && late_us <= most_us
    }

    /// Whether an ACK may answer a segment that makes no sense; takes note of it.
    pub fn may_challenge(&mut self, now: Instant) -> bool {
        if self.last_invalid.is_some_and(|last| now.saturating_since(last) < INVALID_RATE_LIMIT) {
            return false;
        }
        self.last_invalid = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use crate::config::Config;
    use crate::receiver::Negotiated;

    const RTO: Duration = Duration::from_ms(200);

    /// It has taken a SYN, and the last timestamp was 10,000.
    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(&Config::default());
        let negotiated = Negotiated { timestamps: true, sack: true, window_scaling: true, ..receiver.negotiated };
        receiver.on_syn(Instant::ZERO, &segment(0, 0, Flags::SYN, 10_000), negotiated);
        receiver.established(Instant::ZERO);
        receiver
    }

    fn segment(seq: u64, len: u32, flags: Flags, ts_val: u32) -> Segment {
        Segment::from(Header { seq, len, flags, ts_val, ack: 5, window: 7, ..Header::default() })
    }

    #[test]
    fn the_first_window_begins_with_the_first_byte_and_ends_behind_the_offer() {
        let receiver = receiver();
        let end = 1 + u64::from(receiver.window.initial_offer());
        for (seq, len, is_in) in [
            (0, 0, false),
            (0, 1, false),
            (0, 2, true),
            (1, 0, true),
            (1, 9, true),
            (end - 1, 1, true),
            (end, 0, true),
            (end, 1, false),
            (end + 1, 0, false),
        ] {
            let segment = segment(seq, len, Flags::ACK, 0);
            assert_eq!(receiver.is_in_first_window(&segment), is_in, "{len} bytes at {seq} of {end}");
        }
    }

    #[test]
    fn the_echo_is_of_a_stamped_segment_that_is_not_ahead() {
        for (timestamps, seq, ts_val, echoed) in [
            (true, 0, 20_000, 20_000),
            (true, 1, 20_000, 20_000),
            (true, 2, 20_000, 10_000),
            (true, 1, 0, 10_000),
            (false, 1, 20_000, 10_000),
        ] {
            let mut receiver = receiver();
            receiver.negotiated.timestamps = timestamps;
            receiver.take_timestamp(&segment(seq, 1, Flags::ACK, ts_val));
            assert_eq!(receiver.ts_recent(), echoed, "{ts_val} at {seq}");
        }
    }

    #[test]
    fn an_old_segment_with_a_newer_stamp_is_echoed_and_one_without_is_not() {
        // RFC 7323, section 4.3, rule 2.
        let progress = SenderProgress { una: 5, window: 7, rto: RTO };
        for (before, ts_val, echoed) in
            [(10_000, 10_001, 10_001), (10_000, 9_999, 10_000), (u32::MAX - 9, 0, u32::MAX - 9), (u32::MAX - 9, 3, 3)]
        {
            let mut receiver = receiver();
            receiver.ts_recent = before;
            assert!(receiver.accept(Instant::ZERO, &segment(0, 1, Flags::ACK, ts_val), || progress));
            assert_eq!(receiver.ts_recent(), echoed, "{ts_val} after {before}");
        }
    }

    #[test]
    fn a_duplicate_ack_may_be_late_by_a_timeout() {
        // With ticks of a millisecond. Where the clock may be faster by a fifth so much later ones count, but for those of a
        // closed window.
        for (closes, late, window, counts) in [
            (false, 200, 7, true),
            (false, 201, 7, false),
            (false, 200, 0, true),
            (true, 240, 7, true),
            (true, 241, 7, false),
            (true, 240, 0, false),
        ] {
            let mut receiver = receiver();
            receiver.profile.same_segment_closes = closes;
            let progress = SenderProgress { una: 5, window: 7, rto: RTO };
            let mut ack = segment(1, 0, Flags::ACK, 10_000 - late);
            ack.window = window;
            assert_eq!(receiver.check(Instant::ZERO, &ack, &progress), counts, "{late} ms late");
        }
    }

    #[test]
    fn another_syn_may_come_after_a_reset_and_none_else() {
        let mut receiver = receiver();
        let negotiated = receiver.negotiated;
        receiver.on_syn(Instant::ZERO, &segment(0, 0, Flags::SYN, 77), negotiated);
        assert_eq!((receiver.rcv_nxt(), receiver.ts_recent()), (1, 10_000), "the first one counts");
        assert!(receiver.may_challenge(Instant::ZERO));
        receiver.forget_syn();
        assert!(receiver.may_challenge(Instant::ZERO), "it has answered nothing yet");
        receiver.on_syn(Instant::ZERO, &segment(0, 0, Flags::SYN, 77), negotiated);
        assert_eq!((receiver.rcv_nxt(), receiver.ts_recent()), (1, 77));
    }

    #[test]
    fn a_connection_in_time_wait_reports_no_blocks_and_answers_at_once() {
        let mut receiver = receiver();
        assert!(receiver.may_challenge(Instant::ZERO) && !receiver.may_challenge(Instant::ZERO));
        receiver.retire();
        assert!(!receiver.negotiated.sack && receiver.may_challenge(Instant::ZERO));
    }
}
