//! What a segment brings: payload in order or ahead of a hole, duplicates, FIN, and a sample of the peer's RTT.

use daybreak_units::{Duration, Instant};

use super::ack_policy::{Arrival, MAX_QUICKACKS};
use super::buffers::{Buffers, Piece};
use super::reassembly::{Inserted, OutOfOrder};
use super::sack_list::{Dsack, SackList};
use super::{Received, Receiver, SACK_BLOCKS, SenderTiming};
use crate::{Flags, SackBlock, Segment};

/// Segments below this size do not make the window grow.
const GROWTH_MIN: u32 = 128;

/// By what the window may grow with a segment: see [`ReceiveWindow::grow`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    len: u32,
    counted: u64,
    /// Memory of the buffer that was taken.
    taken: u64,
}

impl Receiver {
    /// [`Receiver::accept`], [`Receiver::measure_rtt`] and [`Receiver::on_data`] for a segment that
    /// [`Receiver::is_predicted`]; returns the payload that became deliverable.
    #[inline(always)]
    pub(crate) fn on_predicted(&mut self, now: Instant, segment: &Segment, timing: impl Fn() -> SenderTiming) -> u64 {
        if segment.seq == self.window.rcv_wup() {
            self.ts_recent = segment.ts_val;
        }
        self.measure_rtt(now, segment);
        if !self.takes_next_alone() {
            return self.on_unusual_data(now, segment, timing()).delivered;
        }
        self.take_next(now, segment, timing)
    }

    /// The payload of the next segment in order when no hole is open.
    #[inline(always)]
    fn take_next(&mut self, now: Instant, segment: &Segment, timing: impl Fn() -> SenderTiming) -> u64 {
        self.rcv_nxt = segment.seq + u64::from(segment.len);
        self.count_payload(now, segment, || timing().rto, 0);
        self.decide_in_order(now, segment.len, || timing().srtt);
        u64::from(segment.len)
    }

    /// Takes the payload and the FIN of an accepted segment and decides about its ACK, which seldom needs `timing`.
    #[inline]
    pub fn on_data(&mut self, now: Instant, segment: &Segment, timing: impl Fn() -> SenderTiming) -> Received {
        if segment.sack_count > 0 {
            return self.on_data_behind_blocks(now, segment, timing());
        }
        if !self.is_usual_data(segment) {
            return self.on_unusual_data(now, segment, timing());
        }
        Received { delivered: self.take_next(now, segment, timing), fin: false }
    }

    /// SACK blocks make the header longer, which the receive buffer holds as well.
    #[cold]
    fn on_data_behind_blocks(&mut self, now: Instant, segment: &Segment, timing: SenderTiming) -> Received {
        self.window.set_header(segment.header_len());
        let received = self.on_unusual_data(now, segment, timing);
        self.window.set_header(if self.negotiated.timestamps { 32 } else { 20 });
        received
    }

    /// Holes, duplicates, FIN, CWR, a closed window.
    #[inline(never)]
    fn on_unusual_data(&mut self, now: Instant, segment: &Segment, timing: SenderTiming) -> Received {
        if segment.sequence_len() == 0 {
            return Received::default();
        }
        // A duplicate that no ACK has reported yet is forgotten.
        self.dsack = Dsack::default();
        if segment.flags.contains(Flags::CWR) && self.negotiated.ecn {
            // The peer's window may be a single segment now: it waits for this ACK.
            self.echo.is_on = false;
            if segment.len > 0 {
                self.policy.demand();
            }
        }
        let before = self.rcv_nxt;
        let end = segment.seq + segment.sequence_len();
        let room = self.window.room(self.rcv_nxt);
        let (mut taken, mut first_end) = (self.memory(), end);
        let answers = self.profile.answers_when_full;
        let mut is_full = false;
        let closes = answers && segment.len == 0 && segment.flags.contains(Flags::FIN);
        if segment.seq <= before && end > before && (room > 0 || (closes && segment.seq == before)) {
            if segment.seq < before {
                self.report_duplicate(segment.seq, before);
            }
            let has_unread = self.has_unread();
            if (answers || has_unread) && !self.fits_pages(segment) && !self.find_room(segment.seq) {
                if answers {
                    self.policy.demand();
                    is_full = true;
                }
                if has_unread && (segment.len > 0 || !answers) {
                    self.decide(now, 0, before, self.memory(), timing);
                    self.close_if(is_full);
                    return Received::default();
                }
            }
            taken = self.memory() + self.window.cost_of(segment.len);
            (taken, first_end) = self.take_in_order(now, segment, end, timing, taken);
        } else if end <= before {
            self.counters.duplicates += 1;
            self.report_duplicate(segment.seq, end);
            self.acknowledge_quickly(MAX_QUICKACKS);
        } else if segment.seq >= before + room {
            if segment.seq < before {
                self.report_duplicate(segment.seq, before);
            }
            self.acknowledge_quickly(MAX_QUICKACKS);
        } else {
            self.take_out_of_order(segment, end);
            if self.joins_after_ack.is_some() {
                self.ack_pending = true;
                return Received::default();
            }
            // Not with the segment that ends the handshake: no application has accepted the connection. A segment that
            // found no room changes nothing, for then the buffer is as large as it may be.
            if now != self.established_at {
                self.make_room_ahead();
            }
            taken = self.memory();
        }
        let fin = before <= self.fin_seq && self.fin_seq < self.rcv_nxt;
        let delivered = if self.unread.is_none() { self.rcv_nxt - before - u64::from(fin) } else { 0 };
        self.decide(now, delivered, first_end, taken, timing);
        self.close_if(is_full);
        Received { delivered, fin }
    }

    /// There is no room: the ACK that has been decided on closes the window.
    fn close_if(&mut self, is_full: bool) {
        if is_full {
            self.window.close(self.rcv_nxt);
        }
    }

    /// The segment continues the stream, perhaps after a part that was there already. `taken` is the
    /// memory of the buffer with this segment; returned is what it is with what follows, before the application reads,
    /// and where the first of the `sk_buff`s ends that it will read.
    #[inline]
    fn take_in_order(
        &mut self,
        now: Instant,
        segment: &Segment,
        end: u64,
        timing: SenderTiming,
        mut taken: u64,
    ) -> (u64, u64) {
        let mut first_end = end;
        self.rcv_nxt = end;
        if self.fin_seq < end {
            // Data has come that goes beyond the FIN ahead of the hole: Linux 6.1 takes it for a duplicate.
            self.fin_seq = u64::MAX;
        }
        if segment.len > 0 {
            if let Some(unread) = &mut self.unread {
                let end = end - u64::from(segment.flags.contains(Flags::FIN));
                unread.push(Piece { start: segment.seq, end, buffer: self.window.buffers().of(segment.len) });
                taken = self.memory();
            }
            self.count_payload(now, segment, || timing.rto, taken.saturating_sub(self.window.cost_of(segment.len)));
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin_seq = end - 1;
            // Nothing can follow a FIN: Linux 6.1.192 drops what does.
            taken -= self.queue.memory();
            self.queue = OutOfOrder::default();
            self.holds_data = self.unread.is_some();
        }
        if !self.queue.is_empty() {
            let mut dsack = self.dsack;
            let advanced = match &mut self.unread {
                Some(unread) => {
                    let fin_seq = self.fin_seq;
                    self.queue
                        .advance(end, &mut dsack, |piece| unread.push(Piece { end: piece.end.min(fin_seq), ..piece }))
                }
                None => {
                    // The application reads all of it next.
                    let last = Piece { start: segment.seq, end, buffer: self.window.buffers().of(segment.len) };
                    self.queue.follow(last, &mut dsack)
                }
            };
            self.rcv_nxt = advanced.rcv_nxt;
            first_end = advanced.first_end;
            taken -= advanced.saved;
            self.note_dsack(dsack);
            if self.queue.is_empty() {
                // The hole is filled (RFC 5681, section 4.2).
                self.policy.demand();
                self.holds_data = self.unread.is_some();
            }
        }
        if self.fin_seq < self.rcv_nxt {
            self.policy.on_fin();
            if self.answers_fin {
                // In Linux 6.1 before the blocks are looked at that this fills.
                self.settle_before_read(taken);
                self.ack_pending = true;
            } else {
                // The stream is complete: there is nothing more to report.
                self.sacks = SackList::default();
                self.dsack = Dsack::default();
            }
        } else {
            self.sacks.remove_below(self.rcv_nxt);
            if let Some(ranges) = &mut self.ranges {
                ranges.remove_below(self.rcv_nxt);
            }
        }
        (taken, first_end)
    }

    /// Payload came in order, up to `rcv_nxt`, while `taken` bytes of the buffer were in use.
    #[inline(always)]
    fn count_payload(&mut self, now: Instant, segment: &Segment, rto: impl FnOnce() -> Duration, taken: u64) {
        let arrival = Arrival::of(segment);
        if self.policy.on_in_order(now, arrival, self.window.rcv_wnd(), rto) {
            self.window.measure_share(segment.len);
        }
        self.window.rtt_by_window(now, self.rcv_nxt);
        let cost = self.window.cost_of(segment.len);
        self.check_ce(segment, taken + cost);
        let counted = |buffers: Buffers| buffers.counted(segment.len, cost);
        if segment.len >= GROWTH_MIN && self.window.grow(segment.len, counted, taken + cost, self.policy.rcv_mss()) {
            self.policy.on_window_growth();
        }
    }

    /// The segment lies beyond a hole.
    fn take_out_of_order(&mut self, segment: &Segment, end: u64) {
        self.check_ce(segment, self.memory());
        if !self.find_room(segment.seq) {
            return;
        }
        if self.profile.sizes_above_holes && self.policy.measure_mss(Arrival::of(segment)) {
            self.window.measure_share(segment.len);
        }
        self.policy.schedule();
        self.counters.reordered += 1;
        let mut dsack = self.dsack;
        let buffers = self.window.buffers();
        self.holds_data = true;
        let inserted = self.queue.insert((segment.seq, end), segment.len, buffers, &mut dsack);
        let truesize = buffers.truesize(segment.len);
        // A buffer of its own is charged last.
        let taken = if inserted == Inserted::Alone { self.memory() - truesize } else { self.memory() };
        if segment.flags.contains(Flags::FIN) {
            self.fin_seq = end - 1;
        }
        if inserted == Inserted::Known {
            self.counters.duplicates += 1;
        }
        if !self.negotiated.sack {
            return;
        }
        self.has_blocks = true;
        self.note_dsack(dsack);
        let mut block = SackBlock { start: segment.seq, end };
        if let Some(ranges) = &mut self.ranges {
            block = ranges.add(block);
        }
        let growth = match inserted {
            Inserted::Known => None,
            Inserted::Alone => Some(Growth { len: segment.len, counted: truesize, taken }),
            Inserted::Joined => {
                // The window grows with what is joined before it is reported, with other segments after.
                let counted = buffers.counted(segment.len, truesize);
                self.grow(Growth { len: segment.len, counted, taken });
                None
            }
        };
        if self.policy.compressed() > 0 && self.sacks.pushes_back(block) {
            self.settle_before_read(taken);
            self.joins_after_ack = Some((block, growth));
            return;
        }
        self.sacks.report(block);
        if self.ranges.is_some() {
            self.sacks.keep(SACK_BLOCKS[usize::from(self.negotiated.timestamps)]);
        }
        if let Some(growth) = growth {
            self.grow(growth);
        }
    }

    /// What lies ahead of a hole may make the buffer grow.
    pub(super) fn make_room_ahead(&mut self) {
        self.window.make_room_ahead(self.ahead());
    }

    /// How far beyond what came in order the last segment ahead of a hole ends; 0 where there is none.
    pub(super) fn ahead(&self) -> u64 {
        self.queue.end().saturating_sub(self.rcv_nxt)
    }

    pub(super) fn grow(&mut self, growth: Growth) {
        let Growth { len, counted, taken } = growth;
        if self.window.grow(len, |_| counted, taken, self.policy.rcv_mss()) {
            self.policy.on_window_growth();
        }
    }

    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.negotiated.sack && self.dsack_enabled {
            self.has_blocks = true;
            self.dsack.set(start, end);
        }
    }

    fn note_dsack(&mut self, dsack: Dsack) {
        if self.negotiated.sack && self.dsack_enabled {
            self.has_blocks = true;
            self.dsack = dsack;
        }
    }

    fn acknowledge_quickly(&mut self, most: u64) {
        self.policy.enter_quick_mode(self.window.rcv_wnd(), most);
        self.policy.schedule();
    }

    /// What [`Receiver::measure_rtt`] makes of an ACK without data: its timestamp measures nothing any more.
    #[inline(always)]
    pub fn note_echo(&mut self, segment: &Segment) {
        self.measured_ecr = segment.ts_ecr;
    }

    /// RTT of the peer's data by the echo of our timestamp, once for each timestamp: as in Linux 6.1 not where an ACK
    /// has echoed it before. To be called before [`Receiver::on_data`] with what the open connection takes.
    #[inline]
    pub fn measure_rtt(&mut self, now: Instant, segment: &Segment) {
        if segment.ts_ecr == self.measured_ecr || !self.negotiated.timestamps {
            return;
        }
        self.measured_ecr = segment.ts_ecr;
        if segment.sequence_len() < u64::from(self.policy.rcv_mss()) {
            return;
        }
        let ticks = self.timestamps.at(now).wrapping_sub(segment.ts_ecr);
        if ticks < i32::MAX as u32 && (ticks > 0 || !self.profile.whole_tick_rtts) {
            let tick_us = self.timestamps.tick.as_us();
            self.window.rtt_by_timestamp(u64::from(ticks.max(1)) * tick_us, self.has_unread());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use crate::config::{Config, Profile};
    use crate::receiver::Negotiated;

    /// Linux 6.1.192 counts it as a tick, 1 ms, and Linux 6.12.117 not at all.
    #[test]
    fn an_echo_of_the_present_tick_says_nothing_where_the_profile_says_so() {
        for (version, rtt_us8) in [("6.1", 8_000), ("6.12", 0)] {
            let profile = Profile::of_linux(version).expect("it is modelled");
            let config = Config { profile, ..Config::default() };
            let now = Instant::ZERO + Duration::from_us(5_200);
            let mut receiver = Receiver::new(&config);
            let syn = Segment::from(Header { flags: Flags::SYN, ..Header::default() });
            let negotiated =
                Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false, exact_echo: false };
            receiver.on_syn(now, &syn, negotiated);
            receiver.established(now);
            let ts_ecr = config.timestamp(now);
            let data = Header { seq: 1, len: 1_448, flags: Flags::ACK, ts_ecr, ..Header::default() };
            receiver.measure_rtt(now, &Segment::from(data));
            assert_eq!(receiver.window.rcv_rtt_us8(), rtt_us8, "Linux {version}");
        }
    }

    /// A receiver of Linux 7.3 with a small buffer and an RTT of 10 ms.
    fn newest() -> Receiver {
        let rmem = crate::config::BufferLimits { default: 16_384, ..Config::default().rmem };
        let profile = Profile::of_linux("7.3").expect("it is modelled");
        let mut receiver = Receiver::new(&Config { rmem, profile, ..Config::default() });
        let syn = Segment::from(Header { flags: Flags::SYN, ..Header::default() });
        let negotiated =
            Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false, exact_echo: false };
        receiver.on_syn(Instant::ZERO, &syn, negotiated);
        receiver.established(Instant::ZERO);
        receiver.window.rtt_by_timestamp(10_000, false);
        receiver
    }

    fn arrives(receiver: &mut Receiver, at_ms: u64, segments: std::ops::Range<u64>) {
        let timing = SenderTiming { srtt: Duration::from_ms(10), rto: Duration::from_ms(210) };
        for n in segments {
            let data = Segment::from(Header { seq: 1 + n * 1_448, len: 1_448, flags: Flags::ACK, ..Header::default() });
            receiver.on_data(Instant::ZERO + Duration::from_ms(at_ms), &data, || timing);
        }
    }

    #[test]
    fn what_lies_ahead_of_a_hole_counts_when_the_application_reads() {
        let buffer = |ahead: u64| {
            let mut receiver = newest();
            arrives(&mut receiver, 20, 0..8);
            arrives(&mut receiver, 25, ahead..ahead + 1);
            // A round trip after the first was read.
            arrives(&mut receiver, 30, 8..9);
            receiver.window.rcvbuf()
        };
        // The window for one segment more: 160/256 of the buffer are window, the share of 1448 bytes in 2304.
        assert_eq!(buffer(12) - buffer(11), 1_448 * 256 / 160);
    }

    #[test]
    fn a_block_that_waits_for_an_ack_makes_room_after_it() {
        let mut receiver = newest();
        arrives(&mut receiver, 5, 2..3);
        let before = receiver.window.rcvbuf();
        let buffers = receiver.window.buffers();
        receiver.queue.insert((5_793, 7_241), 1_448, buffers, &mut Dsack::default());
        receiver.joins_after_ack = Some((SackBlock { start: 5_793, end: 7_241 }, None));
        receiver.fill_ack(&mut Segment::from(Header::default()));
        assert!(receiver.window.rcvbuf() > before);
    }

    /// As in Linux 6.1.192 and 6.12.117, where the ACK with the older blocks leaves before the window grows.
    #[test]
    fn growth_by_a_block_that_waits_for_an_ack_asks_for_the_next_one() {
        let buffer = crate::config::BufferLimits { default: 1 << 20, ..Config::default().rmem };
        let mut receiver = Receiver::new(&Config { rmem: buffer, ..Config::default() });
        let syn = Segment::from(Header { flags: Flags::SYN, ..Header::default() });
        let negotiated =
            Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false, exact_echo: false };
        receiver.on_syn(Instant::ZERO, &syn, negotiated);
        receiver.established(Instant::ZERO);
        receiver.policy.schedule();
        receiver.has_blocks = true;
        let growth = Growth { len: 1_448, counted: 2_304, taken: 0 };
        receiver.joins_after_ack = Some((SackBlock { start: 1_449, end: 2_897 }, Some(growth)));
        let mut ack = Segment::from(Header::default());
        receiver.fill_ack(&mut ack);
        assert_eq!(ack.sack_count, 0);
        assert!(receiver.has_blocks && receiver.policy.is_urgent());
    }

    #[test]
    fn data_behind_blocks_are_delivered_and_duplicates_are_counted() {
        let mut receiver = Receiver::new(&Config::default());
        let negotiated = receiver.negotiated;
        receiver.on_syn(
            Instant::ZERO,
            &Segment::from(Header { flags: crate::Flags::SYN, ..Header::default() }),
            negotiated,
        );
        receiver.established(Instant::ZERO);
        let timing = || SenderTiming { srtt: Duration::ZERO, rto: Duration::from_ms(200) };
        let header = Header { seq: 1, len: 100, flags: crate::Flags::ACK, sack_count: 1, ..Header::default() };
        let block = crate::SackBlock { start: 1, end: 2 };
        let segment = Segment { header, sack: [block; 4] };
        for (delivered, duplicates) in [(100, 0), (0, 1), (0, 2)] {
            let received = receiver.on_data(Instant::ZERO, &segment, timing);
            assert_eq!((received.delivered, receiver.counters().duplicates), (delivered, duplicates));
        }
    }
}
