//! BBR, version 1: Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: congestion-based congestion
//! control", CACM 60(2), 2017; draft-cardwell-iccrg-bbr-congestion-control-00; as Linux 6.1 has it.
//!
//! Models the path as its bottleneck bandwidth (the largest delivery rate of ten rounds) and its
//! propagation delay (the smallest RTT of ten seconds), paces at the bandwidth and holds about two
//! products of both in flight. STARTUP doubles the rate each round until the bandwidth grew by less
//! than a quarter three rounds running; DRAIN empties the queue that this left; PROBE_BW cycles
//! through gains of 5/4, 3/4 and six times 1; PROBE_RTT shrinks the window to four segments for
//! 200 ms and a round when the smallest RTT has not been seen for ten seconds.
//!
//! Follows Linux where the first draft differs: packets are conserved for the first round of a
//! recovery and the window is restored after it; ACK aggregation enlarges the window; long-term
//! sampling finds policers; the pacing rate stays 1 % below the estimate; the window has room for
//! three segmentation bursts and is even; longer times are jiffies where Linux's are.
//!
//! Not modelled: the socket's own rate limit, which is the sender's to apply.
//!
//! Validated by the worked numbers below and in its parts, by its curve over a drop-tail path
//! (`tests/curves`: gain cycle, full-pipe exit, drain and PROBE_RTT), and beside Linux 6.1. Over 10 Gbit/s
//! and 40 us windows (36, 38 while probing) and pacing rates are the same to the bit. Over 1 Gbit/s, 10 ms
//! and 830 packets (`tests/end_to_end.rs`) STARTUP ends within 2 ms of the kernel's with a threshold of
//! 962 in both, 1730 segments are sent again (1732: where a pacing release and an ACK coincide, their
//! order is not the kernel's), and the window settles at 1830 in both. Fed a kernel's ACKs it sends the
//! kernel's segments at the kernel's times, given its draws (`docs/fidelity.md`, "Segment by segment").

use daybreak_units::{Duration, Rate};

use super::{
    AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Draws, Entry, GSO_MAX_BYTES, OlderRules, Window,
};
use crate::jiffies::Jiffies;

mod aggregation;
mod bandwidth;
mod policer;

use aggregation::{Acked, Aggregation};
use bandwidth::{Bandwidth, MaxFilter};
use policer::{Observation, Policer, Verdict};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "bbr",
    summary: "BBR version 1 (Cardwell et al., 2017)",
    parameters: &[],
    capabilities: Capabilities {
        needs_pacing: true,
        controls_window: true,
        send_buffer_windows: 3,
        ..Capabilities::NONE
    },
    new: |_, seed| Box::new(Bbr::new(seed)),
};

/// Gains are fractions of 256.
const UNIT_GAIN: u64 = 256;
/// 2/ln 2 = 2.885: the smallest gain that doubles the rate each round.
const HIGH_GAIN: u64 = 256 * 2_885 / 1_000 + 1;
/// Its inverse, to drain in one round what STARTUP queued.
const DRAIN_GAIN: u64 = 256 * 1_000 / 2_885;
/// Window gain of PROBE_BW, to bear delayed and bunched ACKs.
const CWND_GAIN: u64 = 2 * 256;
/// Pacing gains of the phases of PROBE_BW.
const CYCLE: [u64; 8] = [256 * 5 / 4, 256 * 3 / 4, 256, 256, 256, 256, 256, 256];
/// PROBE_BW begins in any phase but the one that drains.
const RANDOM_PHASES: u32 = 7;
/// Rounds of the bandwidth filter.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Lifetime of the smallest RTT.
const MIN_RTT_LIFETIME: Duration = Duration::from_secs(10);
/// Time in PROBE_RTT with a small window.
const PROBE_RTT_TIME: Duration = Duration::from_ms(200);
/// Smallest window, which PROBE_RTT uses: two segments for each of two delayed ACKs.
const MIN_CWND: u32 = 4;
/// The pipe is full after three rounds without a growth by a quarter.
const FULL_GAIN: u64 = 256 * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// How far the pacing rate stays below the estimate.
const PACING_MARGIN_PERCENT: u64 = 1;
/// RFC 6928's initial window: assumed before there is an RTT.
const INITIAL_CWND: u32 = 10;
/// Below this pacing rate bursts have a single segment: 1.2 Mbit/s in bytes a second.
const SMALL_BURST_RATE: u64 = 1_200_000 / 8;
/// A burst has about a millisecond of data: 2^10 of them a second.
const BURST_SHIFT: u32 = 10;
/// Longest burst in segments.
const MAX_BURST: u64 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The rule.
#[derive(Clone, Debug)]
pub struct Bbr {
    random: Draws,
    jiffies: Jiffies,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,

    /// Bandwidth model: rounds are counted by deliveries.
    max_bandwidth: MaxFilter,
    policer: Policer,
    aggregation: Aggregation,
    rounds: u32,
    /// `delivered` at which the next round starts.
    next_round: u64,
    starts_round: bool,
    /// Time of the last delivery.
    delivered_us: u64,

    /// Delay model: smallest RTT, and the jiffy in which it was taken.
    min_rtt_us: Option<u64>,
    min_rtt_at: u64,
    /// A pacing rate was computed from an RTT.
    has_seen_rtt: bool,

    /// STARTUP: bandwidth that has to be beaten by a quarter, rounds without, and the verdict.
    full_bandwidth: Bandwidth,
    full_rounds: u32,
    is_full: bool,

    /// PROBE_BW: phase and its start.
    phase: usize,
    phase_us: u64,

    /// PROBE_RTT: last jiffy of it once in flight is small, and whether a round passed since.
    probe_rtt_until: Option<u64>,
    probe_rtt_round_done: bool,
    /// The last ACK arrived in PROBE_RTT.
    was_probing_rtt: bool,
    /// Data was sent after idle time and nothing of it delivered yet.
    is_idle_restart: bool,

    /// Recovery: window to restore, state at the last ACK, and packet conservation.
    prior_cwnd: u32,
    prior_state: CaState,
    conserves_packets: bool,
    older: OlderRules,
    /// Copies of the window's rate in bytes a second and of the segment size, for the size of bursts.
    pacing_rate: u64,
    mss: u32,
}

impl Bbr {
    /// A rule whose phases of PROBE_BW begin by `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Draws::new(seed, "bbr"),
            jiffies: Jiffies::default(),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_bandwidth: MaxFilter::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            rounds: 0,
            next_round: 0,
            starts_round: false,
            delivered_us: 0,
            min_rtt_us: None,
            min_rtt_at: 0,
            has_seen_rtt: false,
            full_bandwidth: Bandwidth::default(),
            full_rounds: 0,
            is_full: false,
            phase: 0,
            phase_us: 0,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            was_probing_rtt: false,
            is_idle_restart: false,
            prior_cwnd: 0,
            prior_state: CaState::Open,
            conserves_packets: false,
            older: OlderRules::default(),
            pacing_rate: 0,
            mss: 1,
        }
    }
}

impl Congestion for Bbr {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        *self = Self { random: self.random.clone(), jiffies: ctx.jiffies(), older: window.older, ..Self::new(0) };
        window.ssthresh = u32::MAX;
        self.next_round = ctx.delivered;
        self.min_rtt_us = (!ctx.min_rtt.is_zero()).then(|| ctx.min_rtt.as_us().max(1));
        self.min_rtt_at = self.jiffies.at(ctx.now);
        self.delivered_us = ctx.now.as_us();
        self.aggregation.restart(ctx.now.as_us());
        self.mss = ctx.mss;
        self.start_pacing(window, ctx.srtt);
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &AckSample) {}

    fn control(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.newly_delivered > 0 {
            self.delivered_us = ack.arrival.now.as_us();
        }
        self.mss = ack.arrival.mss;
        self.starts_round = false;
        if let Some(delivered) = ack.rate.delivered.filter(|_| ack.rate.interval.as_us() > 0) {
            self.learn_bandwidth(ack, u64::from(delivered), window.cwnd);
        }
        self.cycle(ack);
        self.judge_startup(ack);
        self.drain(window, ack);
        self.learn_rtt(window, ack);
        self.choose_gains();
        let bandwidth = self.bandwidth();
        self.set_pacing_rate(window, ack.srtt, bandwidth, self.pacing_gain);
        self.set_cwnd(window, ack, bandwidth);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        // A reduction that was not due proves neither a full pipe nor a policer.
        self.full_bandwidth = Bandwidth::default();
        self.full_rounds = 0;
        self.policer = Policer::default();
        window.cwnd
    }

    fn on_event(&mut self, window: &mut Window, event: CaEvent, ctx: &Context) {
        if !matches!(event, CaEvent::TxStart { .. }) || !ctx.is_app_limited {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(ctx.now.as_us());
        match self.mode {
            Mode::ProbeBw => {
                let bandwidth = self.bandwidth();
                self.set_pacing_rate(window, ctx.srtt, bandwidth, UNIT_GAIN);
            }
            Mode::ProbeRtt => self.finish_probe_rtt(window, self.jiffies.at(ctx.now)),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        if state != CaState::Loss {
            return;
        }
        // A timeout ends the round.
        self.prior_state = CaState::Loss;
        self.full_bandwidth = Bandwidth::default();
        self.starts_round = true;
        self.look_for_policer(&Observation {
            delivered_us: self.delivered_us,
            delivered: ctx.delivered,
            lost: ctx.lost,
            has_loss: true,
            starts_round: true,
            is_app_limited: false,
            is_probe_bw: self.mode == Mode::ProbeBw,
            mss: self.mss,
        });
    }

    fn min_tso_segments(&self) -> u32 {
        if self.pacing_rate < SMALL_BURST_RATE { 1 } else { 2 }
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.random)
    }

    fn marks_app_limited(&self) -> bool {
        self.was_probing_rtt
    }
}

/// The model of the path.
impl Bbr {
    /// The bandwidth to send at.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth_in_use().unwrap_or(self.max_bandwidth.max())
    }

    fn learn_bandwidth(&mut self, ack: &AckSample, delivered: u64, cwnd: u32) {
        if ack.rate.prior_delivered >= self.next_round {
            self.next_round = ack.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.starts_round = true;
            self.conserves_packets = false;
        }
        self.look_for_policer(&Observation {
            delivered_us: self.delivered_us,
            delivered: ack.delivered,
            lost: ack.lost,
            has_loss: ack.newly_lost > 0,
            starts_round: self.starts_round,
            is_app_limited: ack.rate.is_app_limited,
            is_probe_bw: self.mode == Mode::ProbeBw,
            mss: self.mss,
        });
        let sample = Bandwidth::of(delivered, ack.rate.interval.as_us());
        // What the application held back counts only as "at least".
        if !ack.rate.is_app_limited || sample >= self.max_bandwidth.max() {
            self.max_bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, sample);
        }
        if ack.newly_delivered > 0 {
            self.aggregation.update(Acked {
                now_us: self.delivered_us,
                acked: ack.newly_delivered,
                starts_round: self.starts_round,
                bandwidth: self.bandwidth(),
                cwnd,
            });
        }
    }

    fn look_for_policer(&mut self, seen: &Observation) {
        match self.policer.observe(seen) {
            Verdict::Unchanged => {}
            Verdict::Found => self.pacing_gain = UNIT_GAIN,
            Verdict::Expired => self.enter_probe_bw(),
        }
    }

    /// The smallest RTT, and PROBE_RTT from its expiry on.
    fn learn_rtt(&mut self, window: &mut Window, ack: &AckSample) {
        let now = self.jiffies.at(ack.arrival.now);
        let is_expired = now > self.min_rtt_at + self.jiffies.covering(MIN_RTT_LIFETIME);
        if let Some(rtt_us) = ack.arrival.rtt.map(Duration::as_us)
            && (self.min_rtt_us.is_none_or(|min| rtt_us < min) || is_expired && !ack.rate.is_ack_delayed)
        {
            self.min_rtt_us = Some(rtt_us);
            self.min_rtt_at = now;
        }
        if is_expired && !self.is_idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_until = None;
        }
        self.was_probing_rtt = self.mode == Mode::ProbeRtt;
        if self.was_probing_rtt {
            self.probe_rtt(window, ack, now);
        }
        if ack.rate.delivered.is_some_and(|delivered| delivered > 0) {
            self.is_idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut Window, ack: &AckSample, now: u64) {
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round_done |= self.starts_round;
            if self.probe_rtt_round_done {
                self.finish_probe_rtt(window, now);
            }
        } else if ack.in_flight <= MIN_CWND {
            self.probe_rtt_until = Some(now + self.jiffies.covering(PROBE_RTT_TIME));
            self.probe_rtt_round_done = false;
            self.next_round = ack.delivered;
        }
    }

    fn finish_probe_rtt(&mut self, window: &mut Window, now: u64) {
        if self.probe_rtt_until.is_some_and(|until| now > until) {
            self.min_rtt_at = now;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            if self.is_full {
                self.enter_probe_bw();
            } else {
                self.mode = Mode::Startup;
            }
        }
    }
}

/// The modes.
impl Bbr {
    fn choose_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.bandwidth_in_use().is_some() => (UNIT_GAIN, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT_GAIN, UNIT_GAIN),
        };
    }

    fn judge_startup(&mut self, ack: &AckSample) {
        if self.is_full || !self.starts_round || ack.rate.is_app_limited {
            return;
        }
        if self.max_bandwidth.max() >= self.full_bandwidth.times(FULL_GAIN) {
            self.full_bandwidth = self.max_bandwidth.max();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn drain(&mut self, window: &mut Window, ack: &AckSample) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.window_for(self.max_bandwidth.max(), UNIT_GAIN);
        }
        if self.mode == Mode::Drain
            && self.in_network(ack, ack.in_flight) <= self.window_for(self.max_bandwidth.max(), UNIT_GAIN)
        {
            self.enter_probe_bw();
        }
    }

    fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.random.below(RANDOM_PHASES) as usize;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_us = self.delivered_us;
    }

    /// A phase lasts for the smallest RTT; longer to fill the pipe beyond its product, shorter once
    /// what was queued is drained.
    fn cycle(&mut self, ack: &AckSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let is_long = self.min_rtt_us.is_some_and(|min| self.delivered_us - self.phase_us > min);
        let is_over = if self.pacing_gain == UNIT_GAIN {
            is_long
        } else {
            let in_network = self.in_network(ack, ack.prior_in_flight);
            let limit = |gain| self.window_for(self.max_bandwidth.max(), gain);
            if self.pacing_gain > UNIT_GAIN {
                is_long && (ack.newly_lost > 0 || in_network >= limit(self.pacing_gain))
            } else {
                is_long || in_network <= limit(UNIT_GAIN)
            }
        };
        if is_over {
            self.next_phase();
        }
    }
}

/// The controls: pacing rate and window.
impl Bbr {
    /// The pacing rate before there is a bandwidth: the window over the RTT, or over 1 ms without one.
    fn start_pacing(&mut self, window: &mut Window, srtt: Duration) {
        self.has_seen_rtt = !srtt.is_zero();
        let rtt_us = if self.has_seen_rtt { srtt.as_us().max(1) } else { 1_000 };
        let bandwidth = Bandwidth::of(u64::from(window.cwnd), rtt_us);
        let rate = self.pacing_bytes_per_sec(bandwidth, HIGH_GAIN);
        self.store_rate(window, rate.min(window.max_pacing_rate.as_bytes_per_sec()));
    }

    fn set_pacing_rate(&mut self, window: &mut Window, srtt: Duration, bandwidth: Bandwidth, gain: u64) {
        let rate = self.pacing_bytes_per_sec(bandwidth, gain).min(window.max_pacing_rate.as_bytes_per_sec());
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.start_pacing(window, srtt);
        }
        // While the pipe is filled the rate never falls.
        if self.is_full || rate > self.pacing_rate {
            self.store_rate(window, rate);
        }
    }

    /// Payload bytes a second at `gain`, less the margin.
    fn pacing_bytes_per_sec(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        let margin = if self.older.have(OlderRules::TIMER_PACING) { 0 } else { PACING_MARGIN_PERCENT };
        bandwidth.pacing_bytes_per_sec(self.mss, gain, margin)
    }

    fn store_rate(&mut self, window: &mut Window, bytes_per_sec: u64) {
        self.pacing_rate = bytes_per_sec;
        window.pacing_rate = Rate::from_bytes_per_sec(bytes_per_sec);
    }

    fn set_cwnd(&mut self, window: &mut Window, ack: &AckSample, bandwidth: Bandwidth) {
        if ack.newly_delivered > 0 {
            window.cwnd = self.next_cwnd(window.cwnd, ack, bandwidth);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }

    fn next_cwnd(&mut self, cwnd: u32, ack: &AckSample, bandwidth: Bandwidth) -> u32 {
        let cwnd = self.recover(cwnd, ack);
        if self.conserves_packets {
            return cwnd.max(ack.in_flight + ack.newly_delivered);
        }
        let mut target = self.product(bandwidth, self.cwnd_gain);
        if self.is_full && !self.older.have(OlderRules::NO_ACK_AGGREGATION) {
            target += self.aggregation.window(bandwidth) as u32;
        }
        let target = self.with_room_for_bursts(target, self.cwnd_gain);
        let grown = cwnd.saturating_add(ack.newly_delivered);
        let cwnd = if self.is_full {
            grown.min(target)
        } else if cwnd < target || ack.delivered < u64::from(INITIAL_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(MIN_CWND)
    }

    /// Takes lost segments off the window; conserves packets from entering recovery until a round
    /// has passed, and restores the window when it is left.
    fn recover(&mut self, cwnd: u32, ack: &AckSample) -> u32 {
        let mut cwnd = if ack.newly_lost > 0 { cwnd.saturating_sub(ack.newly_lost).max(1) } else { cwnd };
        let (before, now) = (self.prior_state, ack.state);
        if now == CaState::Recovery && before != CaState::Recovery {
            self.conserves_packets = true;
            self.next_round = ack.delivered;
            cwnd = ack.in_flight + ack.newly_delivered;
        } else if before >= CaState::Recovery && now < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        }
        self.prior_state = now;
        cwnd
    }

    /// Remembers the last window that was known to be good.
    fn save_cwnd(&mut self, window: &Window) {
        self.prior_cwnd = if self.prior_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    /// `gain` times bandwidth x smallest RTT.
    fn product(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        match self.min_rtt_us {
            Some(rtt_us) => bandwidth.segments_in_with(rtt_us, gain).min(u64::from(u32::MAX / 2)) as u32,
            None => INITIAL_CWND,
        }
    }

    /// Room for three bursts, at the sender, the network and the receiver; even, so that delayed ACKs
    /// do not hold it back; and two more to probe with when the product, taken `gain` times, is small.
    fn with_room_for_bursts(&self, cwnd: u32, gain: u64) -> u32 {
        let cwnd = (cwnd + 3 * self.burst() + 1) & !1;
        let probes = if self.older.have(OlderRules::WIDE_PROBES) { gain > UNIT_GAIN } else { self.phase == 0 };
        if self.mode == Mode::ProbeBw && probes { cwnd + 2 } else { cwnd }
    }

    /// In flight that keeps the pipe full at `gain`.
    fn window_for(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        self.with_room_for_bursts(self.product(bandwidth, gain), gain)
    }

    /// Segments that a burst at the present rate has.
    fn burst(&self) -> u32 {
        let bytes = (self.pacing_rate >> BURST_SHIFT).min(GSO_MAX_BYTES);
        (bytes / u64::from(self.mss)).max(u64::from(self.min_tso_segments())).min(MAX_BURST) as u32
    }

    /// Segments in the network when the next one may leave: what pacing holds back by then is gone.
    fn in_network(&self, ack: &AckSample, in_flight: u32) -> u32 {
        if self.older.have(OlderRules::TIMER_PACING) {
            return in_flight;
        }
        let wait_us = ack.earliest_departure.saturating_since(ack.arrival.now).as_us();
        let gone = self.bandwidth().segments_in(wait_us);
        let leaving = if self.pacing_gain > UNIT_GAIN { self.burst() } else { 0 };
        u64::from(in_flight + leaving).saturating_sub(gone) as u32
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
