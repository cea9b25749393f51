//! The sending half during the handshake, and its start afterwards.

use daybreak_units::Duration;

use super::Sender;
use super::sizes::FullSegment;
use super::timer::{TIMEOUT_MIN, TimerKind};
use crate::congestion::{CaState, Context};
use crate::sender::measure::rtt::Rtt;

/// The window unless a route or a rule sets another (RFC 6928).
const UNTOLD_WINDOW: u32 = 10;
/// Timeouts of a SYN after which the next wait is as long as the last one (`tcp_syn_linear_timeouts`).
const LINEAR_TIMEOUTS: u32 = 4;

/// What the handshake leaves to the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandshakeState {
    /// The ACK that ends a passive handshake is being processed: the rule starts after it.
    pub is_ending: bool,
    /// The SYN was sent again after a timeout.
    pub syn_timed_out: bool,
    /// Smoothed RTT of earlier connections to the destination in eighths of a microsecond; zero if there were none.
    pub known_rtt_x8: u32,
}

/// How the handshake went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Repeated SYNs of our side.
    pub syn_retransmits: u32,
    pub rtt_us: Option<u32>,
    /// We sent the SYN and not the SYN-ACK.
    pub is_client: bool,
    /// What the peer offers, in bytes.
    pub window: u32,
}

impl Sender {
    /// A SYN or SYN-ACK leaves: for the first time, or again.
    pub fn on_syn_sent(&mut self, is_repeated: bool) {
        self.counters.retransmits += u64::from(is_repeated);
        self.snd_nxt = 1;
        self.set_timer(TimerKind::Retransmit, self.path.rtt.rto);
    }

    /// The SYN was answered as that of another connection: it is sent again soon.
    pub fn retry_syn(&mut self) {
        self.set_timer_unpaced(TimerKind::Retransmit, TIMEOUT_MIN);
    }

    /// The peer has reset the handshake.
    pub fn forget_syn(&mut self) {
        self.clear_timer();
        self.snd_nxt = 0;
        let (rto_max, rto_min_us) = (self.path.rtt.rto_max(), self.path.rtt.rto_min_us());
        self.path.rtt = Rtt::new(&self.clock, self.settings.rto_initial, rto_max, rto_min_us);
    }

    /// Nothing has answered it: the next wait is twice as long, but after the first `timeouts` of a SYN with
    /// [`crate::config::Profile::linear_syn_timeouts`].
    pub fn on_handshake_timeout(&mut self, is_syn: bool, timeouts: u32) {
        let is_linear = is_syn && self.settings.profile.linear_syn_timeouts && timeouts < LINEAR_TIMEOUTS;
        if !is_linear {
            self.path.rtt.back_off(&self.clock);
        }
        self.counters.rtos += 1;
    }

    /// The SYN is sent again after a timeout, which is a reduction like any other where it `asked_ecn`.
    pub fn on_syn_timeout(&mut self, asked_ecn: bool) {
        self.handshake.syn_timed_out = true;
        self.ecn.cwr_due = asked_ecn;
    }

    /// The options are settled.
    pub fn negotiate(&mut self, full: FullSegment, sack: bool, ecn: bool) {
        self.sizes.mss = full.payload;
        self.sizes.full_mss = full.payload;
        self.buffer.mss_of_peer = full.mss_of_peer;
        self.small_queue.negotiate(full.options);
        self.sack_permitted = sack;
        self.ecn.active = ecn;
        if !sack || ecn {
            self.keep_first_path();
        }
    }

    /// The handshake is done: the window, the rule and the buffer start.
    pub fn start(&mut self, opening: Opening) {
        let Opening { rtt_us, is_client, window, .. } = opening;
        self.peer.window = window;
        self.on_window(window);
        self.is_synchronised = true;
        self.handshake.is_ending = !is_client;
        self.settle_ecn();
        self.snd_una = 1;
        self.snd_nxt = self.snd_nxt.max(1);
        self.clear_timer();
        let (rto_max, rto_min_us) = (self.path.rtt.rto_max(), self.path.rtt.rto_min_us());
        self.path.rtt = Rtt::new(&self.clock, self.settings.rto_initial, rto_max, rto_min_us);
        if let Some(rtt_us) = rtt_us {
            let floor = if rtt_us == 0 { self.clock.us_in(1) as u32 } else { rtt_us };
            self.path.min_rtt.sample(self.clock.now_us, floor);
            self.path.rtt.sample(&self.clock, rtt_us, self.snd_una, self.snd_nxt);
        } else {
            self.path.rtt.begin_unmeasured(&self.clock);
        }
        self.transmit.start(self.clock.jiffies);
        self.buffer.nagle.on_small(self.snd_una);
        self.buffer.bursts = self.sizes.builds_bursts().then(Box::default);
        // Linux notifies the rule of an acknowledged SYN, but not of a SYN-ACK.
        let syn_rtt = rtt_us.filter(|_| is_client).map(|us| Duration::from_us(u64::from(us)));
        self.on_each_path(|sender| {
            // The handshake has measured the path that it took.
            sender.start_path(&opening, syn_rtt.filter(|_| sender.is_on_present_path()));
        });
        self.size_buffer();
    }

    /// The window and the rule of a path start.
    fn start_path(&mut self, opening: &Opening, syn_rtt: Option<Duration>) {
        let &Opening { syn_retransmits, is_client, .. } = opening;
        if is_client && !self.path.capabilities.controls_window {
            self.first_pacing_rate();
        }
        self.path.rtt.respect(&self.clock, self.handshake.known_rtt_x8);
        // RFC 6298, section 5.7, in the gentler form of Linux: only the second repetition counts.
        self.path.window.cwnd = if syn_retransmits > 1 { 1 } else { self.settings.initial_window };
        self.path.delivery.delivered = 1;
        self.path.delivery.delivered_us = self.clock.now_us;
        self.path.high_seq = 0;
        if self.handshake.syn_timed_out && !self.sack_permitted {
            // The Loss state of the SYN is left when something above it is acknowledged ([`Sender::must_hold_state`]).
            self.path.state = CaState::Loss;
            self.path.high_seq = self.snd_una;
        }
        self.path.last_sent = self.clock.now;
        self.path.usage.stamp = self.clock.jiffies;
        let context = Context { syn_rtt, ..self.context() };
        self.path.rule.init(&mut self.path.window, &context);
        if !is_client && !self.path.capabilities.controls_window {
            self.update_pacing_rate();
        }
    }

    /// Linux 6.1 computes a client's pacing rate before it sets the window: with ten segments whatever the initial window
    /// is, or the one that is left when the SYN was sent again, and in slow start. Small queues depend on it.
    fn first_pacing_rate(&mut self) {
        let ssthresh = std::mem::replace(&mut self.path.window.ssthresh, u32::MAX);
        let cwnd = if self.handshake.syn_timed_out { 1 } else { UNTOLD_WINDOW };
        self.path.window.cwnd = self.path.rule.cwnd_after_syn(cwnd);
        self.update_pacing_rate();
        self.path.window.ssthresh = ssthresh;
    }
}
