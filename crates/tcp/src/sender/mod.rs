//! The sending half of a connection, as Linux 6.1 has it.
//!
//! One file a mechanism, each an `impl Sender` beside its own state. The congestion rule is asked for
//! windows and thresholds; everything else here is shared by all rules.
//!
//! Models: the SACK scoreboard with DSACK, RACK-TLP (RFC 8985) with its adaptive reordering window, RTO
//! (RFC 6298, Linux's variance, jiffies and timer wheel), F-RTO (RFC 5682), PRR (RFC 6937), NewReno
//! without SACK (RFC 6582), limited transmit (RFC 3042: SACKed segments leave the pipe), undo by
//! timestamps and DSACK, the adaptive reordering degree, window validation, slow start after idle, ECN,
//! delivery-rate samples, pacing, segmentation bursts, small queues, send-buffer autotuning, Nagle's
//! algorithm, PSH, and window probes.
//!
//! Does not model: giving up after many timeouts (`tcp_retries2`), path MTU discovery, urgent data, TCP
//! Fast Open. Where Linux and an RFC differ, the
//! file of the mechanism says which is followed: Linux.
//!
//! Validated by dialogues (`tests/dialogues`), by random networks (`tests/properties.rs`), and against
//! runs of the real kernel on the same paths: loss recovery to half a millisecond and to the count
//! (`tests/kernel_recovery.rs`), the growth of windows (`tests/kernel_window.rs`), and a flow that is
//! moved under way within 10 % (`tests/kernel_migration.rs`).

use daybreak_units::{Duration, Instant, Rate};

use crate::config::{Config, Legacy};
use crate::congestion::{Congestion, Context, Draws};
use crate::counters::Counters;
use crate::fast_path::FastPath;

mod ack;
mod alert;
mod built;
mod clock;
mod cwnd_validation;
mod ecn;
mod flight;
mod handshake;
mod legacy;
mod metrics;
mod min_rtt;
mod newreno;
mod output;
mod pacing;
mod path;
mod paths;
mod plain_ack;
mod prr;
mod rack;
mod rate_sample;
mod reordering;
mod resend;
mod rto;
mod rtt;
mod scoreboard;
mod send_buffer;
mod small_queue;
mod timer;
mod tlp;
mod tso;
mod undo;

pub(crate) use handshake::Opening;
pub use metrics::Metrics;
use output::Due;
pub(crate) use output::Outgoing;

use built::Built;
use clock::Clock;
use ecn::EcnState;
use flight::Flight;
use path::Path;
use paths::Paths;
use resend::Resend;
use rtt::Rtt;
use scoreboard::Scoreboard;
use send_buffer::{Close, SEGMENT_OVERHEAD, SendBuffer};
use small_queue::SmallQueue;
use timer::{Timer, TimerKind};

const PS_PER_US: u64 = 1_000_000;
/// Windows up to this are filled by a single segment: the default MSS (RFC 9293, section 3.7.1).
const SMALL_WINDOW: u32 = 536;
/// No segment is smaller for the sake of a window: an IP packet of 68 bytes (RFC 791).
const MSS_LEAST: u32 = 36;

/// The sending half.
#[derive(Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub(crate) struct Sender {
    /// First unacknowledged byte.
    snd_una: u64,
    /// Next byte to send.
    snd_nxt: u64,
    /// The peer's window in bytes.
    snd_wnd: u32,
    /// Payload of a full segment.
    mss: u32,
    /// Full segments that may follow at once, without another look.
    ready: u32,
    ecn: EcnState,
    /// TCP small queues are on: what the host's queues hold is counted.
    has_small_queue: bool,
    clock: Clock,
    /// Sequence number of the segment that last updated the window (`snd_wl1`).
    window_seq: u64,
    timer: Timer,
    /// New segments of the burst that is being polled.
    burst: u32,
    /// Largest window that the peer has offered.
    max_window: u32,
    /// Bytes of a segment that SACK blocks for the peer take from the payload.
    option_len: u32,
    /// The handshake is done.
    is_synchronised: bool,
    sack_permitted: bool,
    resend: Resend,
    /// The timer is to be set when the burst ends.
    arm: bool,
    /// The FIN has been sent.
    fin_sent: bool,
    due: Due,
    /// The burst ended at the window.
    limited_by_cwnd: bool,
    started_from_idle: bool,
    tail_loss_probe: bool,
    reneging: bool,
    /// The ACK that ends a passive handshake is being processed: the rule starts after it.
    opening: bool,
    /// The SYN was sent again after a timeout.
    syn_timed_out: bool,
    /// The first segment must leave, whatever the window: the timer fired.
    rto_retransmission: bool,
    /// `TCP_NODELAY`: no small segment waits for another.
    nodelay: bool,
    /// `TCP_CORK`: small segments wait for more.
    corked: bool,
    /// What is in the socket leaves whatever these say.
    push_once: bool,
    rack_enabled: bool,
    frto_enabled: bool,
    slow_start_after_idle: bool,
    tso_max_bytes: u32,
    path: Path,
    flight: Flight,
    small_queue: SmallQueue,
    buffer: SendBuffer,
    pacing_ss_ratio: u32,
    pacing_ca_ratio: u32,
    max_pacing_bytes: u64,
    /// When the probe timer was last set, and to how much, in jiffies.
    armed: (u64, u64),
    /// End of what waits in segments smaller than the present ones.
    built_end: u64,
    last_sent_jiffies: u64,
    counters: Counters,
    limit_output: u64,
    segment_overhead: u64,
    /// End of the last segment that was not full.
    small_end: u64,
    /// What was negotiated of `mss`: a small window lessens it.
    full_mss: u32,
    /// Timestamp that the latest ACK echoes.
    echoed: u32,
    scoreboard: Scoreboard,
    /// Timeouts since `snd_una` last advanced.
    retransmits: u32,
    /// Segments reported as duplicates.
    dsacks: u64,
    initial_cwnd: u32,
    initial_reordering: u32,
    /// Smoothed RTT of earlier connections to the destination in eighths of a microsecond; zero if there were none.
    known_rtt_x8: u32,
    max_reordering: u32,
    rto_initial: u64,
    fast_path: FastPath,
    legacy: Legacy,
    paths: Paths,
    built: Built,
}

impl Sender {
    pub fn new(config: &Config, rule: Box<dyn Congestion>) -> Self {
        let clock = Clock::new(config.jiffy, config.timestamp_tick, config.timestamp_offset);
        let jiffies = |span: Duration| clock.jiffies_in(span.as_us());
        let rto_min_us = config.rto_min.as_us().min(u64::from(u32::MAX)) as u32;
        let rtt = Rtt::new(&clock, jiffies(config.rto_initial), jiffies(config.rto_max), rto_min_us);
        let max_pacing_bytes = match config.max_pacing_rate {
            Rate::ZERO => u64::MAX / 8,
            rate => rate.as_bytes_per_sec(),
        };
        let ecn = EcnState::new(rule.needs_ecn());
        Self {
            snd_una: 0,
            snd_nxt: 0,
            snd_wnd: 0,
            mss: config.mtu.saturating_sub(40).max(1),
            full_mss: 0,
            option_len: 0,
            window_seq: 0,
            echoed: 0,
            max_window: 0,
            flight: Flight::new(),
            path: Path::new(config, rule, rtt),
            timer: Timer::UNSET,
            armed: (0, 0),
            buffer: SendBuffer::new(config.wmem.default, config.wmem.max),
            syn_timed_out: false,
            opening: false,
            burst: 0,
            ready: 0,
            started_from_idle: false,
            limited_by_cwnd: false,
            arm: false,
            resend: Resend::Lost,
            rto_retransmission: false,
            small_queue: SmallQueue::default(),
            small_end: 0,
            built_end: 0,
            built: Built::default(),
            last_sent_jiffies: 0,
            scoreboard: Scoreboard::default(),
            ecn,
            fin_sent: false,
            reneging: false,
            due: Due::Nothing,
            retransmits: 0,
            dsacks: 0,
            is_synchronised: false,
            counters: Counters::default(),
            sack_permitted: false,
            nodelay: false,
            corked: false,
            push_once: false,
            rack_enabled: config.rack,
            frto_enabled: config.frto,
            tail_loss_probe: config.tail_loss_probe,
            slow_start_after_idle: config.slow_start_after_idle,
            initial_cwnd: config.initial_window.max(1),
            initial_reordering: config.reordering,
            known_rtt_x8: 0,
            max_reordering: config.max_reordering,
            rto_initial: jiffies(config.rto_initial),
            pacing_ss_ratio: config.pacing_ss_ratio,
            pacing_ca_ratio: config.pacing_ca_ratio,
            max_pacing_bytes,
            has_small_queue: config.limit_output_bytes.is_some(),
            limit_output: config.limit_output_bytes.unwrap_or(0),
            segment_overhead: SEGMENT_OVERHEAD,
            tso_max_bytes: config.tso_max_bytes,
            fast_path: FastPath::default(),
            legacy: config.legacy,
            paths: Paths::default(),
            clock,
        }
    }

    /// An input at `now`: what was planned before it no longer holds.
    #[inline]
    pub fn begin(&mut self, now: Instant) {
        self.ready = 0;
        self.clock.advance(now);
    }

    /// The time is `now`; without an input, what was planned holds as long as no time has passed.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if now != self.clock.now {
            self.begin(now);
        }
    }

    /// The time of the last input.
    #[inline]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
    /// What it knows of its network path.
    #[inline]
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// What it has counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// ECN as negotiated.
    #[inline]
    pub fn ecn(&self) -> &EcnState {
        &self.ecn
    }
    /// Payload of a full segment.
    #[inline]
    pub fn mss(&self) -> u32 {
        self.mss
    }
    /// First unacknowledged byte.
    #[inline]
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }
    /// Next byte to send.
    #[inline]
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }
    /// The peer's window in bytes.
    #[inline]
    pub fn snd_wnd(&self) -> u32 {
        self.snd_wnd
    }
    /// The handshake is done.
    #[inline]
    pub fn is_synchronised(&self) -> bool {
        self.is_synchronised
    }
    /// SACK was negotiated.
    pub fn sack_permitted(&self) -> bool {
        self.sack_permitted
    }
    /// Full segments that may follow at once.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.ready > 0
    }
    /// The application has closed, and all that it wrote is in the socket.
    #[inline]
    pub fn has_closed(&self) -> bool {
        self.buffer.close == Close::Made
    }
    /// The FIN has been sent.
    #[inline]
    pub fn fin_sent(&self) -> bool {
        self.fin_sent
    }
    /// The FIN is acknowledged.
    #[inline]
    pub fn fin_acked(&self) -> bool {
        self.fin_sent && self.snd_una > self.buffer.write_seq
    }
    /// Payload that the peer has acknowledged.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        // The SYN took one number, an acknowledged FIN another.
        self.snd_una.min(self.buffer.write_seq).saturating_sub(1)
    }
    /// RFC 5961, section 5.2: an acknowledgement that is older than the largest window ago, or than the first. Linux 6.1
    /// counts the opener's SYN among what was acknowledged, and not the listener's.
    pub(crate) fn is_too_old(&self, ack: u64, opened: bool) -> bool {
        let acked = self.snd_una.saturating_sub((!opened).into());
        ack < self.snd_una - acked.min(self.max_window.into())
    }
    /// Whether at least so many of them, and at least one: [`Sender::acked_bytes`] for who asks often.
    #[inline]
    pub fn has_acked(&self, bytes: u64) -> bool {
        self.snd_una > bytes && self.buffer.write_seq > bytes
    }

    /// The application has `bytes` more to send; `u64::MAX` for ever more.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.clock.advance(now);
        // Before the bytes are in the socket: what was there did not fill the path.
        if self.is_synchronised {
            self.check_app_limited();
        }
        self.extend(bytes);
        self.push_pending();
    }

    /// The application will write no more: FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        self.begin(now);
        if self.buffer.close == Close::No {
            self.buffer.close = Close::Waits;
        }
        self.push_pending();
    }

    /// `TCP_NODELAY`. When it is set, what is in the socket leaves, even from under a cork.
    pub fn set_nodelay(&mut self, now: Instant, is_on: bool) {
        self.begin(now);
        self.nodelay = is_on;
        self.push_once |= is_on;
        self.push_pending();
    }

    /// `TCP_CORK`.
    pub fn set_cork(&mut self, now: Instant, is_on: bool) {
        self.begin(now);
        self.corked = is_on;
        self.push_once |= !is_on && self.nodelay;
        self.push_pending();
    }

    /// `SO_SNDBUF`: the buffer has twice so many bytes, and no window makes it grow.
    pub fn set_buffer(&mut self, bytes: u32) {
        self.buffer.lock(bytes);
    }

    /// SACK blocks for the peer will take so many bytes of the next segment's payload.
    #[inline]
    pub fn reserve_options(&mut self, bytes: u32) {
        self.option_len = bytes;
    }

    /// The connection was reset.
    pub fn reset(&mut self) {
        self.clear_timer();
    }

    /// The connection is over.
    pub fn desynchronise(&mut self) {
        self.is_synchronised = false;
    }

    /// The peer offers `window` bytes. A segment takes at most half of the largest window that it has offered: more
    /// than one must fit.
    #[inline]
    pub(crate) fn see_window(&mut self, window: u32) {
        if window > self.max_window {
            self.max_window = window;
            if self.mss < self.full_mss || window / 2 < self.mss {
                self.bound_mss();
            }
        }
    }

    #[cold]
    fn bound_mss(&mut self) {
        let most = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window };
        let before = self.mss;
        self.mss = self.full_mss.min(most.max(MSS_LEAST));
        if self.mss > before {
            self.keep_built(before);
        }
    }

    /// Restart window and floor of the decay.
    #[inline]
    fn initial_window(&self) -> u32 {
        self.initial_cwnd
    }

    /// Segments that the host may hand to the NIC as one.
    #[inline]
    fn segments_a_burst(&self) -> u32 {
        (self.tso_max_bytes / self.mss).max(1)
    }

    /// Smoothed RTT; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        Duration::from_us(u64::from(self.path.rtt.srtt_us()))
    }

    /// The present retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Duration {
        Duration::from_us(self.path.rtt.rto_us())
    }

    /// Smoothed RTT to the eighth of a microsecond, as Linux keeps it.
    #[inline]
    pub(crate) fn exact_srtt(&self) -> Duration {
        Duration::from_ps(u64::from(self.path.rtt.srtt_x8()) * (PS_PER_US / 8))
    }

    fn min_rtt(&self) -> Duration {
        Duration::from_us(u64::from(self.path.min_rtt.get()))
    }

    /// The rule's random numbers.
    pub fn draws(&mut self) -> Option<&mut Draws> {
        self.path.rule.draws()
    }

    /// What the rule sees outside an ACK.
    fn context(&self) -> Context {
        Context {
            now: self.clock.now,
            srtt: self.exact_srtt(),
            min_rtt: self.min_rtt(),
            in_flight: self.path.in_flight(),
            delivered: self.path.delivery.delivered,
            lost: self.path.delivery.lost,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss: self.mss,
            is_app_limited: self.path.delivery.app_limited != 0,
            state: self.path.state,
            jiffy: self.clock.jiffy(),
            ecn: self.ecn.active,
            syn_rtt: None,
        }
    }

    /// The timer is due.
    pub fn is_due(&self) -> bool {
        self.timer.at <= self.clock.now
    }

    /// The timer fired.
    pub fn on_timer(&mut self) {
        self.clock.timer_fires();
        self.resend = Resend::Lost;
        self.timer.at = Instant::NEVER;
        match self.timer.kind {
            TimerKind::Retransmit => {
                self.resend = Resend::OnlyFirst;
                self.timer.kind = TimerKind::None;
                self.on_rto();
            }
            // These remember what they were: the RTO that follows counts from the oldest segment.
            TimerKind::LossProbe => self.on_loss_probe_timeout(),
            TimerKind::Reorder => {
                self.resend = Resend::OnlyLost;
                self.on_reorder_timeout();
            }
            TimerKind::WindowProbe => {
                self.timer.kind = TimerKind::None;
                self.on_window_probe_timeout();
            }
            TimerKind::None => {}
        }
    }

    /// Nothing is out, nothing waits to be sent, no timer runs and no probe is to be judged: the half of a pure
    /// receiver, which has no deadline.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.fast_path.is_on()
            && self.timer.kind == TimerKind::None
            && self.flight.is_empty()
            && self.snd_nxt >= self.buffer.app_end()
            && !self.path.pacing.waiting
            && self.path.probe.high_seq == 0
            && !self.path.rule_hears_idle_acks
            && (self.buffer.close == Close::No || self.fin_sent)
            && !self.has_paths()
    }

    /// When the sender wants to be called: its timer, or the next departure that pacing allows.
    #[inline]
    pub fn deadline(&self) -> Instant {
        if self.path.pacing.waiting { self.timer.at.min(self.path.pacing.departure) } else { self.timer.at }
    }
}

/// For the test that holds the fast paths to the general ones.
#[cfg(test)]
impl Sender {
    /// Takes only general paths from now on.
    pub fn leave_fast_paths(&mut self) {
        self.fast_path = FastPath::off();
        self.flight.keep_time_order();
    }

    /// Whether each path counts what the records of its segments say.
    pub fn audit(&mut self) -> Result<(), String> {
        let tallies = self.paths.each(&mut self.path).map(|path| &path.tally);
        self.flight.audit(tallies, self.sack_permitted)
    }

    /// What a fast path and the general one must agree on after every input.
    pub fn state(&mut self) -> String {
        let departure = self.path.pacing.departure;
        if !self.path.window.is_paced && !self.builds_bursts() {
            // Nothing asks for it, and segments of a burst do not keep it.
            self.path.pacing.departure = Instant::ZERO;
        }
        if self.buffer.filled.is_some_and(|(_, una)| una != self.snd_una) {
            // After a plain ACK it says nothing any more.
            self.buffer.filled = None;
        }
        let peer = (self.snd_una, self.snd_nxt, self.snd_wnd, self.max_window, self.retransmits);
        let state = format!("{:?}", (&self.path, &self.paths, self.timer, peer, &self.buffer));
        self.path.pacing.departure = departure;
        state
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::Sender;

    /// The first half of a cache line is the connection's.
    #[test]
    fn the_clock_and_the_path_begin_with_a_cache_line() {
        assert_eq!([offset_of!(Sender, clock), offset_of!(Sender, path)].map(|at| (32 + at) % 64), [0, 0]);
    }
}
