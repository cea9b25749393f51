//! The receiving half of a connection: reassembly, when to acknowledge, and how much window to offer.
//!
//! The connection drives it in Linux's order for every arriving segment: [`Receiver::accept`] first
//! (PAWS and the window check of RFC 9293, section 3.10.7.4), then its own acknowledgement
//! processing, then [`Receiver::measure_rtt`], of an established connection, and [`Receiver::on_data`] when the
//! segment carries payload or FIN. After any input an
//! acknowledgement is due when [`Receiver::ack_pending`] says so; [`Receiver::fill_ack`] completes
//! every outgoing segment but a SYN, which is [`Receiver::fill_syn`]'s.
//!
//! Models Linux 6.1 with an application that reads whatever is in order at once: a segment is queued
//! and charged to the receive buffer, the ACK is decided on, and then the read empties the buffer, which
//! may decide on an ACK too. One that reads later or not at all is told by [`Receiver::stop_reading`]. Not modelled:
//! urgent data, GRO (every packet is its own segment). Checked by the dialogues in `tests/dialogues` and by replaying what Linux 6.1.192 received in 14 runs (up to 117,000 packets, with
//! losses, reordering and timeouts): each of its ACKs came out at the same time with the same number,
//! window, timestamp and SACK blocks. `tests/kernel_receiver` keeps three of them. `daybreak agree --receivers` does so with every flow of the suite.

use daybreak_units::{Duration, Instant};

use self::ack_policy::{AckPolicy, Arrival, MAX_QUICKACKS};
use self::ecn::Echo;
use self::reading::Unread;
use self::reassembly::{Inserted, OutOfOrder};
use self::sack_list::{Dsack, Ranges, SackList};
use self::window::ReceiveWindow;
use crate::config::{Config, TimestampClock};
use crate::fast_path::FastPath;
use crate::{Flags, SackBlock, Segment};

mod ack_policy;
mod buffers;
mod decision;
mod ecn;
mod reading;
mod reassembly;
mod sack_list;
mod tree;
mod window;

/// Options that fit behind timestamps and without them.
const SACK_BLOCKS: [u8; 2] = [4, 3];
/// ACKs that answer segments without data from outside the window are this far apart at least
/// (`tcp_invalid_ratelimit`).
const INVALID_RATE_LIMIT: Duration = Duration::from_ms(500);
/// How much older than the newest one a timestamp may be, in ticks.
const PAWS_SLACK: i32 = 1;
/// Segments below this size do not make the window grow.
const GROWTH_MIN: u32 = 128;

/// What the handshake settled; the receiver needs it before the first data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Both ends sent the window scale option (RFC 7323, section 2.2).
    pub window_scaling: bool,
    /// Both ends sent timestamps (RFC 7323, section 3.2).
    pub timestamps: bool,
    /// Both ends sent SACK-permitted (RFC 2018).
    pub sack: bool,
    /// ECN was negotiated (RFC 3168, section 6.1.1).
    pub ecn: bool,
    /// ECE says of each segment whether it was marked (RFC 8257, section 3.2); otherwise it lasts until the peer says CWR.
    pub exact_echo: bool,
}

/// What the receiver borrows from the sending half: both bound the delayed ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderTiming {
    /// Smoothed RTT to the eighth of a microsecond; zero before the first sample.
    pub srtt: Duration,
    /// Current retransmission timeout.
    pub rto: Duration,
}

/// How far the sending half has come, as the peer's last ACK said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// First byte that is not acknowledged.
    pub una: u64,
    /// The peer's window in bytes.
    pub window: u32,
    /// Retransmission timeout.
    pub rto: Duration,
}

/// What one segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Payload bytes that became deliverable in order; the application has read them.
    pub delivered: u64,
    /// The peer's FIN is now in order: there is nothing more to come.
    pub fin: bool,
}

/// What the receiver has seen so far, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments that arrived ahead of a hole.
    pub reordered: u64,
    /// Segments whose payload had all arrived before.
    pub duplicates: u64,
}

/// The receiving half of one connection.
#[derive(Clone, Debug)]
// What a segment in order touches is the first two cache lines, and the first two of `policy`.
#[repr(C, align(64))]
pub struct Receiver {
    /// Next byte expected.
    rcv_nxt: u64,
    /// Timestamp to echo (RFC 7323, section 4.3): of the segment that covers the last ACK sent.
    ts_recent: u32,
    /// Echo of the last RTT measurement: each of our timestamps is measured once.
    measured_ecr: u32,
    /// An ACK goes out with the next segment that is sent.
    ack_pending: bool,
    /// Its window was settled when it was decided on, before the application read.
    offer_settled: bool,
    /// Another ACK follows the next one, with the window after the application's read.
    update_follows: bool,
    /// Something lies beyond a hole, or is not read.
    holds_data: bool,
    /// There may be SACK blocks to report.
    has_blocks: bool,
    /// Nothing of ours will carry the acknowledgement of the peer's FIN.
    answers_fin: bool,
    negotiated: Negotiated,
    window: ReceiveWindow,
    policy: AckPolicy,
    queue: OutOfOrder,
    /// What the application has not read, if it does not read at once.
    unread: Option<Box<Unread>>,
    /// Sequence number of the peer's FIN; `u64::MAX` until one was seen.
    fin_seq: u64,
    /// A segment that joins the SACK list once the pending ACK, about the list before it, has gone.
    joins_after_ack: Option<(SackBlock, Option<Growth>)>,
    echo: Echo,
    dsack: Dsack,
    sacks: SackList,
    /// With [`crate::Legacy::whole_ranges`].
    ranges: Option<Box<Ranges>>,
    dsack_enabled: bool,
    /// Without [`crate::Legacy::no_paws`].
    paws: bool,
    /// Last answer to a segment without data from outside the window.
    last_invalid: Option<Instant>,
    timestamps: TimestampClock,
    counters: ReceiverCounters,
    pub(crate) fast_path: FastPath,
}

/// By what the window may grow with a segment: see [`ReceiveWindow::grow`].
#[derive(Clone, Copy, Debug)]
struct Growth {
    len: u32,
    counted: u64,
    /// Memory of the buffer that was taken.
    taken: u64,
}

impl Receiver {
    /// A receiver before the handshake, with the buffer of `config.rmem.default`.
    pub fn new(config: &Config) -> Self {
        Self {
            rcv_nxt: 0,
            queue: OutOfOrder::default(),
            unread: None,
            ack_pending: false,
            offer_settled: false,
            fin_seq: u64::MAX,
            ts_recent: 0,
            measured_ecr: 0,
            policy: AckPolicy::new(config),
            window: ReceiveWindow::new(config),
            sacks: SackList::default(),
            dsack: Dsack::default(),
            joins_after_ack: None,
            update_follows: false,
            holds_data: false,
            has_blocks: false,
            answers_fin: false,
            paws: !config.legacy.no_paws,
            ranges: config.legacy.whole_ranges.then(Box::default),
            negotiated: Negotiated {
                window_scaling: config.window_scaling,
                timestamps: config.timestamps,
                sack: config.sack,
                ecn: false,
                exact_echo: false,
            },
            echo: Echo::default(),
            dsack_enabled: config.dsack,
            last_invalid: None,
            timestamps: TimestampClock::new(config),
            counters: ReceiverCounters::default(),
            fast_path: FastPath::default(),
        }
    }

    /// Completes an outgoing SYN or SYN-ACK: the window (not scaled, RFC 7323 section 2.2), the
    /// window scale option when `segment.syn` is to carry it, and `ack` and `ts_ecr` when ACK is set.
    /// On a SYN-ACK call it after [`Receiver::on_syn`].
    pub fn fill_syn(&mut self, segment: &mut Segment) {
        segment.window = self.window.initial_offer();
        if self.negotiated.window_scaling {
            segment.syn.window_scale_plus_one = self.window.scale() + 1;
        }
        if segment.flags.contains(Flags::ACK) {
            segment.ack = self.rcv_nxt;
            segment.ts_ecr = if self.negotiated.timestamps { self.ts_recent } else { 0 };
        }
    }

    /// `SO_RCVBUF`, before the handshake.
    pub fn set_buffer(&mut self, bytes: u32) {
        self.window.lock(bytes, self.negotiated.window_scaling);
    }

    /// The peer's SYN or SYN-ACK arrived and settled the options. Only the first one counts.
    pub fn on_syn(&mut self, now: Instant, segment: &Segment, negotiated: Negotiated) {
        if self.rcv_nxt != 0 {
            return;
        }
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
        self.negotiated = negotiated;
        let answering = !segment.flags.contains(Flags::ACK);
        self.window.negotiate(negotiated.timestamps, negotiated.window_scaling, answering);
        if !answering {
            self.established(now);
        }
    }

    /// The peer has reset the handshake: another SYN may come.
    pub fn forget_syn(&mut self) {
        self.rcv_nxt = 0;
        self.last_invalid = None;
        self.window.forget_syn(self.negotiated.timestamps);
    }

    /// Some of a segment lies where data are expected (RFC 9293, section 3.4).
    #[inline(always)]
    pub fn is_in_window(&self, segment: &Segment) -> bool {
        segment.seq + segment.sequence_len() >= self.window.rcv_wup()
            && segment.seq <= self.rcv_nxt + self.window.remaining(self.rcv_nxt)
    }

    /// End of the highest range that was reported.
    pub fn last_sacked(&self) -> Option<u64> {
        self.sacks.highest()
    }

    /// Whether an ACK may answer a segment that makes no sense; takes note of it.
    pub fn may_challenge(&mut self, now: Instant) -> bool {
        if self.last_invalid.is_some_and(|last| now.saturating_since(last) < INVALID_RATE_LIMIT) {
            return false;
        }
        self.last_invalid = Some(now);
        true
    }

    /// What comes from now on is answered without SACK blocks: the socket is gone but for its numbers.
    pub fn retire(&mut self) {
        self.negotiated.sack = false;
        self.last_invalid = None;
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

    /// Before the handshake is done: some of it lies in the window of the SYN-ACK, or where that begins or ends.
    pub fn is_in_first_window(&self, segment: &Segment) -> bool {
        let (start, end) = (self.rcv_nxt, self.rcv_nxt + u64::from(self.window.initial_offer()));
        let segment_end = segment.seq + segment.sequence_len();
        segment.seq == start || (segment_end > start && segment.seq < end) || (segment.seq == end && segment_end == end)
    }

    /// Acknowledges the SYN without an ACK that counts: nothing is established.
    pub fn fill_request_ack(&self, segment: &mut Segment) {
        let scale = self.window.scale();
        segment.ack = self.rcv_nxt;
        segment.window = self.window.initial_offer() >> scale << scale;
        segment.ts_ecr = if self.negotiated.timestamps { self.ts_recent } else { 0 };
    }

    /// The handshake is done on our side: the buffer and the autotuning start here. The active end is
    /// established by [`Receiver::on_syn`] already; a second call changes nothing.
    pub fn established(&mut self, now: Instant) {
        if self.window.is_established() {
            return;
        }
        self.window.established(now, self.rcv_nxt);
        // The socket has not sent what answered segments before it was made.
        self.last_invalid = None;
        let header = if self.negotiated.timestamps { 32 } else { 20 };
        self.policy.established(now, self.window.advmss(), header, self.window.rcv_wnd());
    }

    /// Whether the segment may be processed at all: PAWS (RFC 7323, section 5) and the window check.
    /// `false` means drop it whole; an ACK may have become pending. Also keeps `ts_recent`.
    #[inline]
    pub fn accept(&mut self, now: Instant, segment: &Segment, sender: impl FnOnce() -> SenderProgress) -> bool {
        self.accepts_next(segment) || self.accept_unusual(now, segment, &sender())
    }

    /// [`Receiver::accept`] if it is the next in order, and not older than the one before: in the window by definition.
    /// Without timestamps both are 0.
    #[inline(always)]
    pub(crate) fn accepts_next(&mut self, segment: &Segment) -> bool {
        let is_newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0;
        let is_next = segment.seq == self.rcv_nxt && is_newer && self.fast_path.is_on();
        if is_next && segment.seq == self.window.rcv_wup() {
            self.ts_recent = segment.ts_val;
        }
        is_next
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

    /// Memory that a segment of `len` bytes takes when it arrives.
    pub(crate) fn cost_of(&self, len: u32) -> u64 {
        self.window.cost_of(len)
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
        let stale = timestamps && self.paws && newer < -PAWS_SLACK && !self.is_reordered_ack(segment, newer, sender);
        if stale || !self.is_in_window(segment) {
            self.reject(now, segment, end);
            return false;
        }
        true
    }

    /// [`Receiver::accept`], [`Receiver::measure_rtt`] and [`Receiver::on_data`] for a segment that
    /// [`Receiver::is_predicted`]; returns the payload that became deliverable.
    #[inline(always)]
    pub(crate) fn on_predicted(&mut self, now: Instant, segment: &Segment, timing: impl Fn() -> SenderTiming) -> u64 {
        if segment.seq == self.window.rcv_wup() {
            self.ts_recent = segment.ts_val;
        }
        self.measure_rtt(now, segment);
        if !self.fast_path.is_on() || self.holds_data || self.window.is_full_at(self.rcv_nxt) {
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

    /// Takes the payload and the FIN of an accepted segment and decides about its ACK, which seldom asks for `timing`.
    #[inline]
    pub fn on_data(&mut self, now: Instant, segment: &Segment, timing: impl Fn() -> SenderTiming) -> Received {
        let unusual = segment.flags.0 & (Flags::FIN.0 | Flags::CWR.0) != 0 || !self.fast_path.is_on();
        if segment.sack_count > 0 {
            return self.on_data_behind_blocks(now, segment, timing());
        }
        let is_next = segment.seq == self.rcv_nxt && segment.len > 0;
        if unusual || !is_next || self.holds_data || self.window.is_full_at(self.rcv_nxt) {
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
        let remaining = self.window.remaining(self.rcv_nxt);
        let (mut taken, mut first_end) = (self.memory(), end);
        if segment.seq <= before && end > before && remaining > 0 {
            taken += self.window.cost_of(segment.len);
            (taken, first_end) = self.take_in_order(now, segment, end, timing, taken);
        } else if end <= before {
            self.counters.duplicates += 1;
            self.report_duplicate(segment.seq, end);
            self.acknowledge_quickly(MAX_QUICKACKS);
        } else if segment.seq >= before + remaining {
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
            taken = self.memory();
        }
        let fin = before <= self.fin_seq && self.fin_seq < self.rcv_nxt;
        let delivered = if self.unread.is_none() { self.rcv_nxt - before - u64::from(fin) } else { 0 };
        self.decide(now, delivered, first_end, taken, timing);
        Received { delivered, fin }
    }

    /// The delayed-ACK or SACK-compression timer; harmless when early.
    pub fn on_timeout(&mut self, now: Instant, timing: SenderTiming) {
        self.ack_pending |= self.policy.on_timeout(now, timing.rto);
    }

    /// When [`Receiver::on_timeout`] wants to be called.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        self.policy.deadline()
    }

    /// An ACK must go out now.
    #[inline]
    pub fn ack_pending(&self) -> bool {
        self.ack_pending
    }

    /// Asks for an ACK at once: a challenge ACK, the third step of the handshake.
    pub fn request_ack(&mut self) {
        self.ack_pending = true;
    }

    /// Puts the acknowledgement on any outgoing segment but a SYN: the ACK flag, `ack`, `window`,
    /// SACK and DSACK blocks, `ts_ecr` and ECE. Takes note that an ACK was sent: nothing is pending
    /// or delayed afterwards. `ts_val` is the sender's. True when the next segment will say the same, the
    /// timestamp apart, if nothing arrives before.
    #[inline(always)]
    pub fn fill_ack(&mut self, segment: &mut Segment) -> bool {
        let before_read = std::mem::take(&mut self.offer_settled);
        if !before_read {
            self.settle_offer();
        }
        // Another may follow this one.
        self.ack_pending = std::mem::take(&mut self.update_follows);
        segment.flags = segment.flags.with(Flags::ACK);
        if self.negotiated.ecn && self.echo.is_on {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        segment.ack = self.rcv_nxt;
        segment.window = self.window.offered();
        if self.negotiated.timestamps {
            segment.ts_ecr = self.ts_recent;
        }
        if self.has_blocks {
            self.report_blocks(segment);
        }
        self.policy.on_ack_sent();
        !before_read && segment.sack_count == 0 && self.fast_path.is_on()
    }

    /// The window of an ACK that nothing has decided on before.
    #[inline(never)]
    fn settle_offer(&mut self) {
        let (candidate, crowded) = self.window.candidate(self.memory(), self.policy.rcv_mss());
        if crowded {
            self.policy.leave_quick_mode();
        }
        self.window.offer(self.rcv_nxt, candidate);
    }

    /// Puts the blocks on a segment; a DSACK is reported once.
    #[inline(never)]
    fn report_blocks(&mut self, segment: &mut Segment) {
        self.sacks.write(self.dsack, SACK_BLOCKS[usize::from(self.negotiated.timestamps)], segment);
        self.dsack = Dsack::default();
        if let Some((block, growth)) = self.joins_after_ack.take() {
            self.sacks.report(block);
            if let Some(growth) = growth {
                self.grow(growth);
            }
        }
        if self.fin_seq < self.rcv_nxt {
            self.sacks = SackList::default();
        }
        self.has_blocks = !self.sacks.is_empty();
    }

    /// Our side has closed: the peer's FIN is acknowledged at once.
    pub(crate) fn answer_fin(&mut self) {
        self.answers_fin = true;
    }

    /// Data was sent (not a pure ACK): for the choice between delayed and quick ACKs (pingpong mode).
    #[inline]
    pub fn on_data_sent(&mut self, now: Instant) {
        self.policy.on_data_sent(now);
    }

    /// Bytes of SACK blocks that the next segment would carry, option header included; the sender
    /// must leave them out of its payload.
    #[inline]
    pub fn sack_option_len(&self) -> u32 {
        if !self.has_blocks {
            return 0;
        }
        let blocks = self.sacks.carried(self.dsack, SACK_BLOCKS[usize::from(self.negotiated.timestamps)]);
        if blocks == 0 { 0 } else { 4 + 8 * u32::from(blocks) }
    }

    /// Timestamp that the next segment echoes (RFC 7323, section 4.3).
    #[inline]
    pub fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Next byte expected.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// What has been seen so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
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
        if segment.seq < self.rcv_nxt {
            self.report_duplicate(segment.seq, self.rcv_nxt);
        }
        self.rcv_nxt = end;
        if self.fin_seq < end {
            // Data has come that goes beyond the FIN ahead of the hole: Linux 6.1 takes it for a duplicate.
            self.fin_seq = u64::MAX;
        }
        if segment.len > 0 {
            if self.unread.is_some() {
                self.keep(end - u64::from(segment.flags.contains(Flags::FIN)), segment.len);
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
            let last = self.window.buffers().of(segment.len);
            let queued = self.queue.memory();
            let advanced = self.queue.advance(end, last, &mut dsack);
            self.rcv_nxt = advanced.rcv_nxt;
            if let Some(unread) = &mut self.unread
                && advanced.rcv_nxt > end
            {
                let fin = u64::from(self.fin_seq < advanced.rcv_nxt);
                let memory = queued - self.queue.memory();
                unread.push_filled(advanced.rcv_nxt - fin, memory.saturating_sub(advanced.saved));
            }
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
        let arrival = Arrival {
            len: segment.len,
            push: segment.flags.contains(Flags::PSH),
            plain: segment.flags.0 & (Flags::PSH.0 | Flags::FIN.0) == 0,
        };
        self.policy.on_in_order(now, arrival, self.window.rcv_wnd(), rto);
        self.window.rtt_by_window(now, self.rcv_nxt);
        let cost = self.window.cost_of(segment.len);
        self.check_ce(segment, taken + cost);
        let buffers = self.window.buffers();
        let counted = || buffers.counted(segment.len, cost);
        if segment.len >= GROWTH_MIN && self.window.grow(segment.len, counted, taken + cost, self.policy.rcv_mss()) {
            self.policy.on_window_growth();
        }
    }

    /// The segment lies beyond a hole.
    fn take_out_of_order(&mut self, segment: &Segment, end: u64) {
        let taken = self.memory();
        self.check_ce(segment, taken);
        if self.window.make_room(taken) {
            self.policy.leave_quick_mode();
        }
        self.policy.schedule();
        self.counters.reordered += 1;
        let mut dsack = self.dsack;
        let buffers = self.window.buffers();
        self.holds_data = true;
        let inserted = self.queue.insert((segment.seq, end), segment.len, buffers, &mut dsack);
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
        let truesize = buffers.truesize(segment.len);
        let growth = match inserted {
            Inserted::Known => None,
            Inserted::Alone => Some(Growth { len: segment.len, counted: truesize, taken }),
            Inserted::Joined => {
                // The window grows with what is joined before it is reported, with other segments after.
                let counted = buffers.counted(segment.len, truesize);
                self.grow(Growth { len: segment.len, counted, taken: self.memory() });
                None
            }
        };
        if self.policy.compressed() > 0 && self.sacks.pushes_back(block) {
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

    fn grow(&mut self, growth: Growth) {
        let Growth { len, counted, taken } = growth;
        if self.window.grow(len, || counted, taken, self.policy.rcv_mss()) {
            self.policy.on_window_growth();
        }
    }

    /// A segment that is not processed: tell the peer where we stand, but do not join a loop of ACKs.
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
    /// timestamp is old. Linux refuses every other one, also those that say less than was known already.
    fn is_reordered_ack(&self, segment: &Segment, newer: i32, sender: &SenderProgress) -> bool {
        let late_us = -i64::from(newer) * self.timestamps.tick.as_us() as i64;
        segment.sequence_len() == 0
            && segment.seq == self.rcv_nxt
            && segment.ack == sender.una
            && segment.window <= sender.window
            && late_us <= sender.rto.as_us() as i64
    }

    fn report_duplicate(&mut self, start: u64, end: u64) {
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
        if ticks < i32::MAX as u32 {
            let tick_us = self.timestamps.tick.as_us();
            self.window.rtt_by_timestamp(u64::from(ticks.max(1)) * tick_us);
        }
    }
}
