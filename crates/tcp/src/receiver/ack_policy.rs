//! When to acknowledge: at once, with the next segment, by a timer, or compressed.
//!
//! Follows Linux 6.1. A connection starts in quick-ACK mode and returns to it after duplicates, ECN
//! marks and long silences. Outside it, every second full segment is acknowledged (RFC 1122, 4.2.3.2;
//! RFC 5681, section 4.2) and a single one after the adaptive delayed-ACK time (`ato`), in jiffies of
//! the timer wheel. An application that reads at once also acknowledges a partial or pushed segment at
//! once. Above a hole the first three duplicate ACKs go out at once and the next ones are compressed
//! into one per 5 % of the RTT.

use daybreak_units::{Duration, Instant};

use crate::config::Config;
use crate::jiffies::{Jiffies, JiffyClock};
use crate::{Flags, Segment};

/// Most ACKs in a row that quick-ACK mode sends after a start, a duplicate or a silence.
pub(super) const MAX_QUICKACKS: u64 = 16;
/// Quick ACKs after an ECN mark.
pub(super) const ECN_QUICKACKS: u64 = 2;
/// Duplicate ACKs that are sent at once (RFC 5681's threshold of fast retransmit).
const DUPTHRESH: u8 = 3;
/// The peer's segment size is assumed to be this, the default of RFC 9293, until one has been seen.
const MSS_DEFAULT: u32 = 536;
/// TCP header without options.
const MIN_HEADER: u32 = 20;
/// Smallest segment size that is believed.
const MSS_MIN: u32 = 88;
/// The delayed-ACK timer does not run.
const STOPPED: u64 = u64::MAX;

/// Why an acknowledgement goes out or does not, right after a segment was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// At once.
    Now,
    /// A timer will send it, unless something else does first.
    Later,
}

/// A segment as the policy sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Payload bytes.
    pub(super) len: u32,
    /// The PSH flag.
    pub(super) push: bool,
    /// Neither PSH nor FIN: the segment should be a full one.
    pub(super) plain: bool,
}

impl Arrival {
    pub(super) fn of(segment: &Segment) -> Self {
        Self {
            len: segment.len,
            push: segment.flags.contains(Flags::PSH),
            plain: segment.flags.0 & (Flags::PSH.0 | Flags::FIN.0) == 0,
        }
    }
}

/// State of the policy. Times in jiffies are marked so.
#[derive(Clone, Debug)]
// What a segment in order touches is the first two cache lines, and what every ACK of a sender touches the first.
#[repr(C, align(64))]
pub(super) struct AckPolicy {
    /// Delayed-ACK time in jiffies; 0 before the first data.
    ato: u64,
    last_data: Instant,
    delayed_fires: Instant,
    compressed_fires: Instant,
    /// When the delayed ACK is due, in jiffies; [`STOPPED`] while its timer does not run.
    due: u64,
    /// ACKs held back by compression since the last one.
    compressed: u32,
    /// ACKs left in quick-ACK mode.
    quick: u32,
    /// Estimate of the peer's full segment.
    rcv_mss: u32,
    /// Size of the last small segment: two alike are taken for full ones.
    last_small: u32,
    /// Something is to be acknowledged.
    scheduled: bool,
    /// The protocol demands an ACK at once: a hole was filled, CWR came.
    demanded: bool,
    /// Segments since the last ACK that ended a write: partial or with PSH; 2 means more.
    pushed: u8,
    /// The session is interactive: answers carry the ACKs (`pingpong`).
    interactive: bool,
    /// Duplicate ACKs sent at once for `duplicates_of`.
    duplicates: u8,
    /// [`crate::config::Profile::ack_every_packet`].
    ack_every_packet: bool,
    /// `TCP_ATO_MIN` in jiffies.
    ato_min: u64,
    /// No ACK waits longer, in jiffies.
    delay_max: u64,
    /// Half of `ato_min`: data this close to the last are a stream.
    stream_gap: Duration,
    clock: JiffyClock,
    jiffies: Jiffies,
    advmss: u32,
    /// TCP header of the peer's data segments.
    header: u32,
    duplicates_of: u64,
    half_second: u64,
    /// `TCP_DELACK_MAX` in jiffies.
    ato_max: u64,
    /// No more than that is learnt.
    bounds_ato: bool,
    compression_delay: Duration,
    compression_slack: Duration,
    compression_limit: u32,
    /// The part of the RTT that SACKs are held back for, in percent.
    compression_percent: u64,
}

impl AckPolicy {
    pub(super) fn new(config: &Config) -> Self {
        let jiffies = Jiffies::new(config.jiffy);
        Self {
            scheduled: false,
            demanded: false,
            pushed: 0,
            interactive: false,
            quick: 0,
            ato: 0,
            rcv_mss: MSS_DEFAULT,
            last_small: 0,
            advmss: MSS_DEFAULT,
            header: MIN_HEADER,
            last_data: Instant::ZERO,
            due: STOPPED,
            delayed_fires: Instant::NEVER,
            compressed: 0,
            duplicates: 0,
            duplicates_of: 0,
            compressed_fires: Instant::NEVER,
            jiffies,
            clock: JiffyClock::new(jiffies),
            stream_gap: jiffies.span(jiffies.covering(config.delayed_ack_min) / 2),
            ato_min: jiffies.covering(config.delayed_ack_min),
            ato_max: jiffies.covering(config.delayed_ack_max),
            delay_max: longest_delay(config, jiffies),
            bounds_ato: config.profile.shorter_delays,
            half_second: jiffies.covering(Duration::from_ms(500)),
            compression_delay: config.comp_sack_delay,
            compression_slack: config.comp_sack_slack,
            compression_limit: config.comp_sack_nr,
            compression_percent: if config.profile.longer_compression { 33 } else { 5 },
            ack_every_packet: config.profile.ack_every_packet,
        }
    }

    /// The handshake is done.
    pub(super) fn established(&mut self, now: Instant, advmss: u32, header: u32, rcv_wnd: u64) {
        let half_window = u32::try_from(rcv_wnd / 2).unwrap_or(u32::MAX);
        self.rcv_mss = advmss.min(half_window).clamp(MSS_MIN, MSS_DEFAULT);
        self.advmss = advmss;
        self.header = header;
        self.last_data = now;
    }

    #[inline]
    pub(super) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }
    #[inline]
    pub(super) fn scheduled(&self) -> bool {
        self.scheduled
    }
    /// ACKs that are being held back.
    pub(super) fn compressed(&self) -> u32 {
        self.compressed
    }
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        let delayed = if self.is_delayed() || self.compressed > 0 { self.delayed_fires } else { Instant::NEVER };
        delayed.min(self.compressed_fires)
    }

    /// The delayed-ACK timer runs.
    #[inline]
    pub(super) fn is_delayed(&self) -> bool {
        self.due != STOPPED
    }

    /// There is something to acknowledge.
    pub(super) fn schedule(&mut self) {
        self.scheduled = true;
    }
    /// The next decision will be [`Decision::Now`].
    pub(super) fn demand(&mut self) {
        self.scheduled = true;
        self.demanded = true;
    }
    /// The receive buffer is more than half full: no more quick ACKs.
    pub(super) fn leave_quick_mode(&mut self) {
        self.quick = 0;
    }
    /// The window could grow: the peer should be informed.
    #[inline]
    pub(super) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }
    /// The peer will send no more; what is left to come are answers.
    pub(super) fn on_fin(&mut self) {
        self.scheduled = true;
        self.interactive = true;
    }

    /// Data arrived in order. True where it shows another size of the peer's full segments than those before.
    #[inline(always)]
    pub(super) fn on_in_order(
        &mut self,
        now: Instant,
        arrival: Arrival,
        rcv_wnd: u64,
        rto: impl FnOnce() -> Duration,
    ) -> bool {
        self.scheduled = true;
        let is_other = self.measure_mss(arrival);
        let gap = now.saturating_since(self.last_data);
        if self.ato == 0 {
            self.add_quick_acks(rcv_wnd, MAX_QUICKACKS);
            self.ato = self.ato_min;
        } else if gap < self.stream_gap {
            self.ato = self.ato / 2 + self.ato_min / 2;
        } else {
            self.adapt_to_gap(now, rcv_wnd, rto());
        }
        self.last_data = now;
        is_other
    }

    /// Quick-ACK mode for up to `most` ACKs, as many as half the window has segments.
    pub(super) fn enter_quick_mode(&mut self, rcv_wnd: u64, most: u64) {
        self.add_quick_acks(rcv_wnd, most);
        self.interactive = false;
        self.ato = self.ato_min;
    }

    /// An ACK is wanted whatever has arrived.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        self.demanded || (self.quick > 0 && !self.interactive) || self.ack_every_packet
    }

    /// Decides after a segment was queued. `window_moves` is true if more than one full segment has come
    /// in order since the last ACK and that the next offer would be no smaller than the last one.
    #[inline]
    pub(super) fn decide(&self, window_moves: bool) -> Decision {
        if window_moves || self.is_urgent() { Decision::Now } else { Decision::Later }
    }

    /// The application has read all: acknowledges more than one full segment, and the end of a write
    /// when the buffer is empty now.
    #[inline]
    pub(super) fn due_after_read(&self, unacked: u64, buffer_empty: bool) -> bool {
        let end_of_write = self.pushed > 1 || (self.pushed == 1 && !self.interactive);
        self.scheduled && (unacked > u64::from(self.rcv_mss) || (end_of_write && buffer_empty))
    }

    /// Starts the delayed-ACK timer, or decides that the time has come.
    #[inline(always)]
    pub(super) fn delay(&mut self, now: Instant, srtt: impl FnOnce() -> Duration) -> Decision {
        let mut ato = self.ato;
        if ato > self.ato_min {
            // Linux 6.1 reckons with whole microseconds here.
            let srtt = Duration::from_us(srtt().as_us());
            let mut limit = if self.interactive || self.pushed > 0 { self.ato_max } else { self.half_second };
            if !srtt.is_zero() {
                limit = limit.min(self.jiffies.covering(srtt).max(self.ato_min));
            }
            ato = ato.min(limit);
        }
        let ato = ato.min(self.delay_max);
        let jiffy = self.clock.at(now);
        let mut due = jiffy + ato;
        if self.is_delayed() {
            if self.due <= jiffy + ato / 4 {
                return Decision::Now;
            }
            due = due.min(self.due);
        }
        self.scheduled = true;
        self.due = due;
        self.delayed_fires = self.jiffies.fires(jiffy, due);
        Decision::Later
    }

    /// Above a hole: an ACK at once for the first duplicates of `rcv_nxt`, then one for each twentieth of the RTT, or for
    /// a third; the RTT is given in eighths of a microsecond.
    pub(super) fn compress(&mut self, now: Instant, rcv_nxt: u64, rcv_rtt_us8: u64, srtt: Duration) -> Decision {
        if self.compressed >= self.compression_limit {
            return Decision::Now;
        }
        if self.duplicates_of != rcv_nxt {
            self.duplicates_of = rcv_nxt;
            self.duplicates = 0;
        }
        if self.duplicates < DUPTHRESH {
            self.duplicates += 1;
            return Decision::Now;
        }
        if self.compressed == 0 && !self.is_delayed() && self.delayed_fires <= now {
            // It ran out when there was nothing to send.
            self.delayed_fires = Instant::NEVER;
        }
        self.compressed += 1;
        if self.compressed_fires == Instant::NEVER {
            let srtt_us8 = srtt.as_ns() * 8 / 1_000;
            let rtt_us8 = if srtt_us8 != 0 { rcv_rtt_us8.min(srtt_us8) } else { rcv_rtt_us8 };
            let delay = Duration::from_ns(rtt_us8 * (1_000 / 8) * self.compression_percent / 100);
            let delay = delay.min(self.compression_delay);
            // The timer may fire anywhere within its slack; an idle host fires it at the end.
            self.compressed_fires = now.saturating_add(delay).saturating_add(self.compression_slack);
        }
        Decision::Later
    }

    /// A deadline may have passed. True when an ACK must go out.
    pub(super) fn on_timeout(&mut self, now: Instant, rto: Duration) -> bool {
        let mut send = false;
        if self.compressed_fires <= now {
            self.compressed_fires = Instant::NEVER;
            if self.compressed > 0 {
                self.compressed -= 1;
                send = true;
            }
        }
        if self.delayed_fires <= now {
            self.delayed_fires = Instant::NEVER;
            let is_due = std::mem::replace(&mut self.due, STOPPED) != STOPPED;
            if self.compressed > 0 {
                // Also when the ACK that it was started for has gone.
                self.compressed -= 1;
                send = true;
            } else if is_due && self.scheduled {
                if self.interactive {
                    // The answer did not come: the session is not interactive after all.
                    self.interactive = false;
                    self.ato = self.ato_min;
                } else {
                    self.ato = self.bounded(self.ato * 2, self.jiffies.covering(rto));
                }
                send = true;
            }
        }
        send
    }

    /// An ACK went out that does not cover the last segment.
    #[inline]
    pub(super) fn on_other_ack_sent(&mut self) {
        self.compressed_fires = Instant::NEVER;
        self.compressed = 0;
    }

    /// A segment with an ACK went out.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.on_other_ack_sent();
        // One that answers no new data, as to a duplicate that was refused, is not one of them.
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min;
            }
        }
        self.scheduled = false;
        self.demanded = false;
        self.pushed = 0;
        self.due = STOPPED;
    }

    /// We sent data: soon after the peer's, it counts as an answer.
    #[inline]
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        // A peer that only acknowledges has no `ato`.
        if self.ato > 0 {
            self.note_answer(now);
        }
    }

    #[inline(never)]
    fn note_answer(&mut self, now: Instant) {
        if self.jiffies.at(now) - self.jiffies.at(self.last_data) < self.ato {
            self.interactive = true;
        }
    }

    /// Learns the peer's full segment size, and where its writes end. True where the segment is full, and not of the size
    /// that was known.
    #[inline]
    pub(super) fn measure_mss(&mut self, arrival: Arrival) -> bool {
        let last_small = std::mem::take(&mut self.last_small);
        if arrival.len >= self.rcv_mss {
            let is_other = arrival.len != self.rcv_mss;
            self.rcv_mss = arrival.len.min(self.advmss);
            if arrival.push {
                self.pushed = self.pushed.max(1);
            }
            return is_other;
        }
        // A small segment that should be full, or is too large for the end of a small write, is one
        // when it comes twice.
        let with_header = arrival.len + self.header;
        if with_header >= MSS_DEFAULT + MIN_HEADER || (with_header >= MSS_MIN + MIN_HEADER && arrival.plain) {
            self.last_small = arrival.len;
            if arrival.len == last_small {
                self.rcv_mss = arrival.len;
                return false;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
        false
    }

    /// A delayed-ACK time as it is learnt, in jiffies.
    fn bounded(&self, ato: u64, rto: u64) -> u64 {
        let ato = ato.min(rto);
        if self.bounds_ato { ato.min(self.ato_max) } else { ato }
    }

    fn add_quick_acks(&mut self, rcv_wnd: u64, most: u64) {
        let half_window = rcv_wnd / (2 * u64::from(self.rcv_mss));
        let quick = if half_window == 0 { 2 } else { half_window }.min(most) as u32;
        self.quick = self.quick.max(quick);
    }

    /// The gap to the last data was not short: follow it, or after a long silence start anew.
    fn adapt_to_gap(&mut self, now: Instant, rcv_wnd: u64, rto: Duration) {
        let gap = self.jiffies.at(now) - self.jiffies.at(self.last_data);
        let rto = self.jiffies.covering(rto);
        if gap <= self.ato_min / 2 {
            self.ato = self.ato / 2 + self.ato_min / 2;
        } else if gap < self.ato {
            self.ato = self.bounded(self.ato / 2 + gap, rto);
        } else if gap > rto {
            self.add_quick_acks(rcv_wnd, MAX_QUICKACKS);
        }
    }
}

/// With [`crate::config::Profile::shorter_delays`] a tick less than the peer's least timeout is the longest.
fn longest_delay(config: &Config, jiffies: Jiffies) -> u64 {
    let longest = jiffies.covering(config.delayed_ack_max);
    if config.profile.shorter_delays { longest.min(jiffies.covering(config.rto_min).max(2) - 1) } else { longest }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn what_a_segment_in_order_touches_is_two_cache_lines() {
        assert_eq!((offset_of!(AckPolicy, ato_min), offset_of!(AckPolicy, header)), (64, 124));
    }

    #[test]
    fn the_timer_sends_the_ack_that_it_was_started_for_and_no_other() {
        for (started_for, is_scheduled, sends) in
            [(1, true, true), (STOPPED, true, false), (1, false, false), (STOPPED, false, false)]
        {
            let mut policy = AckPolicy::new(&Config::default());
            let now = Instant::ZERO + Duration::from_ms(40);
            (policy.due, policy.scheduled, policy.delayed_fires) = (started_for, is_scheduled, now);
            assert_eq!(policy.on_timeout(now, Duration::from_ms(200)), sends, "{started_for}, {is_scheduled}");
            assert_eq!((policy.due, policy.delayed_fires), (STOPPED, Instant::NEVER));
        }
    }

    fn policy() -> AckPolicy {
        let mut policy = AckPolicy::new(&Config::default());
        policy.established(Instant::ZERO, 1_448, 32, 60_000);
        policy
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn a_segment_with_psh_or_fin_need_not_be_full() {
        for (flags, push, plain) in [
            (Flags::ACK, false, true),
            (Flags::PSH, true, false),
            (Flags::FIN, false, false),
            (Flags::PSH.with(Flags::FIN), true, false),
        ] {
            let header = crate::Header { flags: flags.with(Flags::ACK), len: 9, ..Default::default() };
            let arrival = Arrival::of(&Segment::from(header));
            assert_eq!((arrival.len, arrival.push, arrival.plain), (9, push, plain), "{flags:?}");
        }
    }

    #[test]
    fn full_segments_are_taken_for_half_a_window_at_first() {
        // tcp_initialize_rcv_mss(): between 88 and 536 bytes.
        for (advmss, rcv_wnd, rcv_mss) in [(1_448, 600, 300), (1_448, 60_000, 536), (1_448, 9, 88), (200, 600, 200)] {
            let mut policy = AckPolicy::new(&Config::default());
            policy.established(Instant::ZERO, advmss, 32, rcv_wnd);
            assert_eq!(policy.rcv_mss(), rcv_mss);
        }
    }

    #[test]
    fn a_timer_without_an_ack_to_send_is_no_deadline() {
        for (due, compressed, deadline) in [(STOPPED, 0, Instant::NEVER), (STOPPED, 1, at(40)), (40, 0, at(40))] {
            let mut policy = policy();
            (policy.due, policy.compressed, policy.delayed_fires) = (due, compressed, at(40));
            assert_eq!(policy.deadline(), deadline);
        }
    }

    #[test]
    fn each_timer_sends_one_of_the_acks_that_are_held_back() {
        // tcp_compressed_ack_kick() and tcp_delack_timer_handler().
        for (held, sends, left) in [(0, false, 0), (1, true, 0), (2, true, 0), (9, true, 7)] {
            let mut policy = policy();
            (policy.compressed, policy.delayed_fires, policy.compressed_fires) = (held, at(40), at(40));
            assert_eq!((policy.on_timeout(at(40), Duration::from_ms(200)), policy.compressed), (sends, left));
        }
    }

    #[test]
    fn the_last_quick_ack_brings_the_shortest_delay_back() {
        let mut policy = policy();
        (policy.quick, policy.ato) = (2, 90);
        for (scheduled, quick, ato) in
            [(true, 1, 90), (false, 1, 90), (true, 0, policy.ato_min), (true, 0, policy.ato_min)]
        {
            policy.scheduled = scheduled;
            policy.on_ack_sent();
            assert_eq!((policy.quick, policy.ato), (quick, ato));
        }
    }

    #[test]
    fn data_that_is_sent_within_the_delay_is_an_answer() {
        for (ato, ms, interactive) in [(40, 39, true), (40, 40, false), (0, 0, false)] {
            let mut policy = policy();
            policy.ato = ato;
            policy.on_data_sent(at(ms));
            assert_eq!(policy.interactive, interactive, "{ms} ms");
        }
    }

    #[test]
    fn two_segments_of_a_size_are_full_ones_if_they_are_no_ends_of_small_writes() {
        // tcp_measure_rcv_mss(): with a TCP header of 32 bytes 524 are as much as 536 behind one of 20; and 76 as 88.
        for (len, plain, rcv_mss) in [
            (524, false, 524),
            (523, false, 1_448),
            (523, true, 523),
            (76, true, 76),
            (76, false, 1_448),
            (75, true, 1_448),
        ] {
            let mut policy = policy();
            policy.rcv_mss = 1_448;
            let arrival = Arrival { len, push: !plain, plain };
            policy.measure_mss(arrival);
            assert_eq!(policy.rcv_mss, 1_448, "one is none");
            policy.measure_mss(arrival);
            assert_eq!(policy.rcv_mss, rcv_mss, "{len} bytes");
        }
    }

    #[test]
    fn the_delay_follows_the_gaps_between_segments() {
        // tcp_event_data_recv() with a timeout of 200 ms.
        for (gap_ms, ato, quick) in
            [(20, 70, 0), (21, 71, 0), (99, 149, 0), (100, 100, 0), (200, 100, 0), (201, 100, MAX_QUICKACKS as u32)]
        {
            let mut policy = policy();
            policy.ato = 100;
            policy.adapt_to_gap(at(gap_ms), 60_000, Duration::from_ms(200));
            assert_eq!((policy.ato, policy.quick), (ato, quick), "{gap_ms} ms");
        }
    }
}
