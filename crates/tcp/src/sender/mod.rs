//! The sending half of a connection, as Linux 6.1 has it.
//!
//! Each room owns a mechanism and its state (the table in ARCHITECTURE.md): `flight` what is in flight, `loss` which of it
//! is lost, `recovery` what follows from that, `transmit` what may be sent, `ack` the order in which an ACK passes through
//! them. The congestion rule supplies windows and thresholds; everything else here is shared by all rules.
//!
//! Models: the SACK scoreboard with DSACK, RACK-TLP (RFC 8985) with its adaptive reordering window, RTO
//! (RFC 6298, Linux's variance, jiffies and timer wheel), F-RTO (RFC 5682), PRR (RFC 6937), NewReno
//! without SACK (RFC 6582), limited transmit (RFC 3042: SACKed segments leave the pipe), undo by
//! timestamps and DSACK, the adaptive reordering degree, window validation, slow start after idle, ECN,
//! delivery-rate samples, pacing, segmentation bursts, small queues, send-buffer autotuning, Nagle's
//! algorithm, PSH, and window probes.
//!
//! Does not model: giving up after many timeouts (`tcp_retries2`), path MTU discovery, urgent data, TCP
//! Fast Open. Where Linux and an RFC differ, the file of the mechanism notes it, and Linux is followed.
//!
//! Validated by dialogues (`tests/dialogues`), by random networks (`tests/properties.rs`), and against
//! runs of the real kernel on the same paths: loss recovery to half a millisecond and to the count
//! (`tests/kernel_recovery.rs`), the growth of windows (`tests/kernel_window.rs`), and a flow that is
//! moved under way within 10 % (`tests/kernel_migration.rs`).

use daybreak_units::{Duration, Instant};

use crate::config::Config;
use crate::congestion::{Draws, Rule};
use crate::counters::Counters;
use crate::fast_path::FastPath;

mod ack;
mod clock;
mod cwnd_validation;
mod ecn;
mod finding;
mod flight;
mod handshake;
mod loss;
mod measure;
mod metrics;
mod path;
mod paths;
mod peer;
mod recovery;
mod rule;
mod settings;
mod shortcuts;
pub(crate) mod sizes;
mod timer;
mod transmit;

pub(crate) use handshake::Opening;
pub use metrics::Metrics;
pub use paths::{EchoMarks, PathChoice};
pub(crate) use transmit::Outgoing;

use clock::Clock;
use ecn::EcnState;
use flight::Flight;
use handshake::HandshakeState;
use loss::scoreboard::Scoreboard;
use measure::rtt::Rtt;
use path::Path;
use paths::Paths;
use peer::PeerWindow;
use settings::{Settings, jiffies, rto_min_us};
use sizes::{Built, Sizes};
use timer::{Timer, TimerKind};
use transmit::Transmit;
use transmit::pacing::PacingRates;
use transmit::send_buffer::{Close, SendBuffer};
use transmit::small_queue::SmallQueue;

const PS_PER_US: u64 = 1_000_000;

/// The sending half.
#[derive(Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub(crate) struct Sender {
    /// First unacknowledged byte.
    snd_una: u64,
    /// Next byte to send.
    snd_nxt: u64,
    peer: PeerWindow,
    clock: Clock,
    transmit: Transmit,
    timer: Timer,
    ecn: EcnState,
    /// The handshake is done.
    is_synchronised: bool,
    sack_permitted: bool,
    /// The FIN has been sent.
    fin_sent: bool,
    /// TCP small queues are on: what the host's queues hold is counted.
    has_small_queue: bool,
    sizes: Sizes,
    pacing_rates: PacingRates,
    counters: Counters,
    /// Timestamp that the latest ACK echoes.
    echoed: u32,
    handshake: HandshakeState,
    /// The present path.
    path: Path,
    small_queue: SmallQueue,
    flight: Flight,
    buffer: SendBuffer,
    settings: Settings,
    built: Built,
    scoreboard: Scoreboard,
    fast_path: FastPath,
    /// The other paths.
    paths: Paths,
}

impl Sender {
    pub fn new(config: &Config, rule: Rule) -> Self {
        let clock = Clock::new(config.jiffy, config.timestamp_tick, config.timestamp_offset);
        let settings = Settings::new(config, &clock);
        let rto_min_us = rto_min_us(config, &clock);
        let rtt = Rtt::new(&clock, settings.rto_initial, jiffies(&clock, config.rto_max), rto_min_us);
        let ecn = EcnState::new(rule.capabilities.needs_ecn);
        let path = Path::new(config, rule, rtt);
        Self {
            snd_una: 0,
            snd_nxt: 0,
            peer: PeerWindow::default(),
            transmit: Transmit::new(settings.tail_loss_probe),
            timer: Timer::UNSET,
            ecn,
            is_synchronised: false,
            sack_permitted: false,
            fin_sent: false,
            has_small_queue: config.limit_output_bytes.is_some(),
            handshake: HandshakeState::default(),
            sizes: Sizes::new(config),
            built: Built::new(),
            pacing_rates: PacingRates::new(config, path.window.is_paced),
            small_queue: SmallQueue::new(config.limit_output_bytes.unwrap_or(0)),
            path,
            flight: Flight::new(),
            buffer: SendBuffer::new(config.wmem.default, config.wmem.max),
            settings,
            counters: Counters::default(),
            echoed: 0,
            scoreboard: Scoreboard::default(),
            fast_path: FastPath::default(),
            paths: Paths::default(),
            clock,
        }
    }

    /// Processes an input at `now`; cancels the burst that was approved before it.
    #[inline]
    pub fn begin(&mut self, now: Instant) {
        self.transmit.begin();
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
    /// The state of its network path.
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
        self.sizes.mss
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
        self.peer.window
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
    /// The application has closed, and the FIN has not been sent.
    #[inline]
    fn is_closing(&self) -> bool {
        self.buffer.close != Close::No && !self.fin_sent
    }
    /// The FIN is acknowledged.
    #[inline]
    pub fn fin_acked(&self) -> bool {
        self.fin_sent && self.snd_una > self.buffer.write_seq
    }
    /// Payload that is in the socket, or was.
    pub fn written_bytes(&self) -> u64 {
        self.buffer.write_seq - 1
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
        ack < self.snd_una - acked.min(self.peer.max_window.into())
    }
    /// Cheap test for `acked_bytes() >= bytes.max(1)`, for use on every ACK.
    #[inline]
    pub fn has_acked(&self, bytes: u64) -> bool {
        self.snd_una > bytes && self.buffer.write_seq > bytes
    }

    /// The application has `bytes` more to send; `u64::MAX` for an unlimited transfer.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.clock.advance(now);
        // Before the bytes are in the socket: what was there did not fill the path.
        if self.is_synchronised {
            self.check_app_limited();
        }
        self.extend(bytes);
        self.transmit.on_written();
    }

    /// The application will write no more: FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        self.begin(now);
        if self.buffer.close == Close::No {
            self.buffer.close = Close::Waits;
        }
        self.transmit.on_written();
    }

    /// `TCP_NODELAY`. When it is set, what is in the socket leaves, even from under a cork.
    pub fn set_nodelay(&mut self, now: Instant, is_on: bool) {
        self.begin(now);
        self.buffer.nagle.set_nodelay(is_on);
        self.transmit.on_written();
    }

    /// `TCP_CORK`.
    pub fn set_cork(&mut self, now: Instant, is_on: bool) {
        self.begin(now);
        self.buffer.nagle.set_cork(is_on);
        self.transmit.on_written();
    }

    /// `SO_SNDBUF`: sets the buffer to twice `bytes` and turns autotuning off.
    pub fn set_buffer(&mut self, bytes: u32) {
        self.buffer.lock(bytes);
    }

    /// SACK blocks for the peer will take `bytes` of the next segment's payload.
    #[inline]
    pub fn reserve_options(&mut self, bytes: u32) {
        self.sizes.option_len = bytes;
    }

    /// The connection was reset.
    pub fn reset(&mut self) {
        self.clear_timer();
    }

    /// The connection is over.
    pub fn desynchronise(&mut self) {
        self.is_synchronised = false;
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

    /// The rule's random numbers.
    pub fn draws(&mut self) -> Option<&mut Draws> {
        self.path.rule.draws()
    }

    /// The timer is due.
    pub fn is_due(&self) -> bool {
        self.timer.at <= self.clock.now
    }

    /// The timer fired.
    pub fn on_timer(&mut self) {
        self.clock.timer_fires();
        self.transmit.allow_lost();
        self.timer.at = Instant::NEVER;
        match self.timer.kind {
            TimerKind::Retransmit => {
                self.timer.kind = TimerKind::None;
                self.transmit.on_timeout();
                self.on_rto();
            }
            // These remember what they were: the RTO that follows counts from the oldest segment.
            TimerKind::LossProbe => self.on_loss_probe_timeout(),
            TimerKind::Reorder => {
                self.transmit.on_losses();
                self.on_reorder_timeout();
            }
            TimerKind::WindowProbe => {
                self.timer.kind = TimerKind::None;
                self.on_window_probe_timeout();
            }
            TimerKind::None => {}
        }
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
    /// Segments of 1,000 bytes are in flight, the first of the stream.
    pub fn put_in_flight(&mut self, segments: u64) {
        for n in 0..segments {
            let sent = flight::Sent { seq: 1 + n * 1_000, len: 1_000, ..Default::default() };
            self.flight.push(&mut self.path.tally, sent);
        }
        (self.snd_una, self.snd_nxt) = (1, 1 + segments * 1_000);
    }

    /// Takes only general paths from now on.
    pub fn leave_fast_paths(&mut self) {
        self.fast_path = FastPath::off();
        self.flight.keep_time_order();
    }

    /// Whether each path's counts match the records of its segments.
    pub fn audit(&mut self) -> Result<(), String> {
        let tallies = self.paths.each(&mut self.path).map(|path| &path.tally);
        self.flight.audit(tallies, self.sack_permitted)
    }

    /// What a fast path and the general one must agree on after every input.
    pub fn state(&mut self) -> String {
        let departure = self.path.pacing.departure;
        if !self.path.window.is_paced && !self.sizes.builds_bursts() {
            // Nothing reads it, and segments of a burst do not keep it.
            self.path.pacing.departure = Instant::ZERO;
        }
        if self.buffer.filled.is_some_and(|(_, una)| una != self.snd_una) {
            // After a plain ACK it has no meaning any more.
            self.buffer.filled = None;
        }
        let peer = (self.snd_una, self.snd_nxt, self.peer.window, self.peer.max_window, self.timer.timeouts);
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
    fn what_every_segment_touches_begins_with_a_cache_line() {
        let starts = [
            offset_of!(Sender, clock),
            offset_of!(Sender, transmit),
            offset_of!(Sender, sizes),
            offset_of!(Sender, path),
            offset_of!(Sender, small_queue),
        ];
        assert_eq!(starts.map(|at| (32 + at) % 64), [0; 5]);
    }
}
