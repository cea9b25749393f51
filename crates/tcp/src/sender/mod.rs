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
//! Fast Open, the cache of thresholds by destination, and corking. Where Linux and an RFC differ, the
//! file of the mechanism says which is followed: Linux.
//!
//! Validated by dialogues (`tests/dialogues`), by random networks (`tests/properties.rs`), and against
//! runs of the real kernel on the same paths: loss recovery to half a millisecond and to the count
//! (`tests/kernel_recovery.rs`), the growth of windows (`tests/kernel_window.rs`), and a flow that is
//! moved under way within 10 % (`tests/kernel_migration.rs`).

use daybreak_units::{Duration, Instant, Rate};

use crate::config::{Config, Legacy};
use crate::congestion::{CaState, Congestion, Context, Draws, Window};
use crate::connection::Counters;
use crate::fast_path::FastPath;

mod ack;
mod alert;
mod clock;
mod cwnd_validation;
mod ecn;
mod legacy;
mod merging;
mod min_rtt;
mod newreno;
mod output;
mod pacing;
mod path;
mod plain_ack;
mod prr;
mod queue;
mod rack;
mod rate_sample;
mod reordering;
mod rto;
mod rtt;
mod scoreboard;
mod send_buffer;
mod small_queue;
mod timer;
mod tlp;
mod tso;
mod undo;

pub(crate) use clock::Clock;
pub(crate) use output::Outgoing;
pub(crate) use timer::TimerKind;

use ecn::EcnState;
use path::Path;
use queue::Queue;
use rack::Rack;
use reordering::Reordering;
use rto::Resend;
use rtt::Rtt;
use scoreboard::Scoreboard;
use send_buffer::{SEGMENT_OVERHEAD, SendBuffer};
use small_queue::SmallQueue;
use timer::Timer;

const PS_PER_US: u64 = 1_000_000;
/// Windows up to this are filled by a single segment: the default MSS (RFC 9293, section 3.7.1).
const SMALL_WINDOW: u32 = 536;
/// No segment is smaller for the sake of a window: an IP packet of 68 bytes (RFC 791).
const MSS_LEAST: u32 = 36;

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    // Read or written by every ACK.
    pub clock: Clock,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// The peer's window in bytes.
    pub snd_wnd: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// What was negotiated of it.
    full_mss: u32,
    /// Bytes of a segment that SACK blocks for the peer take from the payload.
    pub option_len: u32,
    /// Sequence number of the segment that last updated the window (`snd_wl1`).
    window_seq: u64,
    /// Timestamp that the latest ACK echoes.
    echoed: u32,
    /// Largest window that the peer has offered.
    pub max_window: u32,
    queue: Queue,
    pub path: Path,
    pub timer: Timer,
    /// When the probe timer was last set, and to how much, in jiffies.
    armed: (u64, u64),
    pub buffer: SendBuffer,
    rule: Box<dyn Congestion>,
    /// The rule sets window and pacing rate itself.
    rule_controls: bool,
    /// [`Congestion::hears_idle_acks`].
    rule_hears_idle_acks: bool,
    /// The SYN was sent again after a timeout.
    syn_timed_out: bool,
    /// The ACK that ends a passive handshake is being processed: the rule starts after it.
    opening: bool,
    /// New segments of the burst that is being polled.
    burst: u32,
    /// Full segments that may follow at once, without another look.
    pub ready: u32,
    started_from_idle: bool,
    /// The burst ended at the window.
    limited_by_cwnd: bool,
    /// The timer is to be set when the burst ends.
    arm: bool,
    resend: Resend,
    /// The first segment must leave, whatever the window: the timer fired.
    rto_retransmission: bool,
    /// No segment below this position waits to be sent again.
    resend_from: u32,
    small_queue: SmallQueue,
    /// End of the last segment that was not full.
    small_end: u64,
    last_sent: Instant,
    last_sent_jiffies: u64,
    scoreboard: Scoreboard,
    /// The transmission order may differ from the sequence order below this.
    time_order_until: u64,
    pub ecn: EcnState,
    /// The FIN has been sent.
    pub fin_sent: bool,
    reneging: bool,
    window_probe_due: bool,
    /// Timeouts since `snd_una` last advanced.
    retransmits: u32,
    /// Segments reported as duplicates.
    dsacks: u64,
    /// The handshake is done.
    pub is_synchronised: bool,
    pub counters: Counters,
    // Settings.
    pub sack_permitted: bool,
    rack_enabled: bool,
    frto_enabled: bool,
    tail_loss_probe: bool,
    slow_start_after_idle: bool,
    initial_cwnd: u32,
    initial_reordering: u32,
    max_reordering: u32,
    rto_initial: u64,
    pacing_ss_ratio: u32,
    pacing_ca_ratio: u32,
    max_pacing_bytes: u64,
    limit_output: Option<u64>,
    segment_overhead: u64,
    tso_max_bytes: u32,
    pub fast_path: FastPath,
    legacy: Legacy,
    /// With forward acknowledgement: everything below is SACKed or was marked lost.
    fack_until: u64,
}

/// How the handshake went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Repeated SYNs of our side.
    pub syn_retransmits: u32,
    pub rtt_us: Option<u32>,
    /// We sent the SYN and not the SYN-ACK.
    pub is_client: bool,
}

impl Sender {
    pub fn new(config: &Config, rule: Box<dyn Congestion>) -> Self {
        let clock = Clock::new(config.jiffy, config.timestamp_tick, config.timestamp_offset);
        let jiffies = |span: Duration| clock.jiffies_in(span.as_us());
        let rto_min_us = config.rto_min.as_us().min(u64::from(u32::MAX)) as u32;
        let mut window = Window::new(config.initial_window.max(1), config.initial_ssthresh);
        window.cwnd_clamp = config.cwnd_clamp.max(1);
        if config.max_pacing_rate > Rate::ZERO {
            window.max_pacing_rate = config.max_pacing_rate;
        }
        window.is_paced = rule.needs_pacing() || config.max_pacing_rate > Rate::ZERO;
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
            queue: Queue::new(),
            path: Path {
                window,
                state: CaState::Open,
                frto: false,
                packets_out: 0,
                sacked_out: 0,
                lost_out: 0,
                retrans_out: 0,
                rtt: Rtt::new(&clock, jiffies(config.rto_initial), jiffies(config.rto_max), rto_min_us),
                min_rtt: min_rtt::MinRtt::new(),
                delivery: Default::default(),
                usage: Default::default(),
                pacing: Default::default(),
                high_seq: 0,
                probe: Default::default(),
                rack: Rack::new(),
                reordering: Reordering { degree: config.reordering, seen: 0 },
                prr: Default::default(),
                undo: Default::default(),
            },
            timer: Timer::UNSET,
            armed: (0, 0),
            buffer: SendBuffer::new(config.wmem.default, config.wmem.max),
            rule_controls: rule.controls_window(),
            rule_hears_idle_acks: rule.hears_idle_acks(),
            syn_timed_out: false,
            opening: false,
            rule,
            burst: 0,
            ready: 0,
            started_from_idle: false,
            limited_by_cwnd: false,
            arm: false,
            resend: Resend::Lost,
            rto_retransmission: false,
            resend_from: 0,
            small_queue: SmallQueue::default(),
            small_end: 0,
            last_sent: Instant::ZERO,
            last_sent_jiffies: 0,
            scoreboard: Scoreboard::default(),
            time_order_until: 0,
            ecn,
            fin_sent: false,
            reneging: false,
            window_probe_due: false,
            retransmits: 0,
            dsacks: 0,
            is_synchronised: false,
            counters: Counters::default(),
            sack_permitted: false,
            rack_enabled: config.rack,
            frto_enabled: config.frto,
            tail_loss_probe: config.tail_loss_probe,
            slow_start_after_idle: config.slow_start_after_idle,
            initial_cwnd: config.initial_window.max(1),
            initial_reordering: config.reordering,
            max_reordering: config.max_reordering,
            rto_initial: jiffies(config.rto_initial),
            pacing_ss_ratio: config.pacing_ss_ratio,
            pacing_ca_ratio: config.pacing_ca_ratio,
            max_pacing_bytes,
            limit_output: config.limit_output_bytes,
            segment_overhead: SEGMENT_OVERHEAD,
            tso_max_bytes: config.tso_max_bytes,
            fast_path: FastPath::default(),
            legacy: config.legacy,
            fack_until: 0,
            clock,
        }
    }

    /// The reordering degree that the stack starts with.
    pub fn initial_reordering(&self) -> u32 {
        self.initial_reordering
    }

    /// The handshake is done: the window, the rule and the buffer start.
    pub fn start(&mut self, opening: Opening) {
        self.see_window(self.snd_wnd);
        let Opening { syn_retransmits, rtt_us, is_client } = opening;
        self.is_synchronised = true;
        self.opening = !is_client;
        self.settle_ecn();
        self.snd_una = 1;
        self.snd_nxt = self.snd_nxt.max(1);
        self.clear_timer();
        let (rto_max, rto_min_us) = (self.path.rtt.rto_max(), self.path.rtt.rto_min_us());
        self.path.rtt = Rtt::new(&self.clock, self.rto_initial, rto_max, rto_min_us);
        if let Some(rtt_us) = rtt_us {
            let floor = if rtt_us == 0 { self.clock.us_in(1) as u32 } else { rtt_us };
            self.path.min_rtt.sample(self.clock.now_us, floor);
            self.path.rtt.sample(&self.clock, rtt_us, self.snd_una, self.snd_nxt);
        }
        // RFC 6298, section 5.7, in the gentler form of Linux: only the second repetition counts.
        self.path.window.cwnd = if syn_retransmits > 1 { 1 } else { self.initial_cwnd };
        self.path.delivery.delivered = 1;
        self.path.delivery.delivered_us = self.clock.now_us;
        self.path.high_seq = 0;
        if self.syn_timed_out && !self.sack_permitted {
            // The Loss state of the SYN is left when something above it is acknowledged ([`Sender::must_hold_state`]).
            self.path.state = CaState::Loss;
            self.path.high_seq = self.snd_una;
        }
        self.last_sent = self.clock.now;
        self.last_sent_jiffies = self.clock.jiffies;
        self.path.usage.stamp = self.clock.jiffies;
        self.small_end = self.snd_una;
        self.segment_overhead = SEGMENT_OVERHEAD / u64::from(self.segments_a_burst());
        // Linux tells the rule of an acknowledged SYN, but not of a SYN-ACK.
        let syn_rtt = rtt_us.filter(|_| is_client).map(|us| Duration::from_us(u64::from(us)));
        let context = Context { syn_rtt, ..self.context() };
        self.rule.init(&mut self.path.window, &context);
        if !self.rule_controls {
            self.update_pacing_rate();
        }
        self.size_buffer();
    }

    /// The SYN is sent again after a timeout, which is a reduction like any other where it `asked_ecn`.
    pub fn on_syn_timeout(&mut self, asked_ecn: bool) {
        self.syn_timed_out = true;
        self.ecn.cwr_due = asked_ecn;
    }

    /// Payload of a full segment, as negotiated.
    pub fn settle_mss(&mut self, mss: u32) {
        self.mss = mss;
        self.full_mss = mss;
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
        self.mss = self.full_mss.min(most.max(MSS_LEAST));
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

    /// Smoothed RTT for the rule: to the eighth of a microsecond.
    #[inline]
    fn exact_srtt(&self) -> Duration {
        Duration::from_ps(u64::from(self.path.rtt.srtt_x8()) * (PS_PER_US / 8))
    }

    fn min_rtt(&self) -> Duration {
        Duration::from_us(u64::from(self.path.min_rtt.get()))
    }

    /// The rule's random numbers.
    pub fn draws(&mut self) -> Option<&mut Draws> {
        self.rule.draws()
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

    /// The timer fired.
    pub fn on_timer(&mut self) {
        self.resend = Resend::Lost;
        self.timer.at = Instant::NEVER;
        match self.timer.kind {
            TimerKind::Retransmit => {
                self.resend = Resend::OnlyLost;
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
    /// receiver.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.path.packets_out == 0
            && self.snd_nxt >= self.buffer.app_end()
            && self.timer.kind == TimerKind::None
            && self.path.probe.high_seq == 0
            && !self.rule_hears_idle_acks
            && (!self.buffer.closed || self.fin_sent)
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
        self.queue.keep_time_order();
    }

    /// What a fast path and the general one must agree on after every input.
    pub fn state(&self) -> impl std::fmt::Debug {
        let peer = (self.snd_una, self.snd_nxt, self.snd_wnd, self.max_window, self.retransmits);
        let mut path = self.path.clone();
        if !path.window.is_paced && !self.builds_bursts() {
            // Nothing asks for it, and segments of a burst do not keep it.
            path.pacing.departure = Instant::ZERO;
        }
        (path, &self.rule, self.timer, peer, &self.buffer)
    }
}
