//! NV ("New Vegas"): Brakmo, "TCP-NV: congestion avoidance for data centers", Linux Plumbers Conference 2010, as
//! Linux 6.1 has it.
//!
//! Like Vegas it compares the window with what the path needs, but with the largest rate that it measured in a
//! round trip: the window that this rate needs at the smallest RTT, and 10 segments more for queues. A window
//! above that shrinks by 30 % of the difference; one at least 2 segments below it may grow, as Reno's
//! does but by at most one segment for four acknowledged. A loss takes a fifth. For data centres in which all
//! flows are NV.
//!
//! What counts, in Linux 6.1:
//! * RTTs are averaged, half old and half new. The smallest RTT is that of the last few seconds: a new one begins
//!   2 s after the start and then every 3.75 to 6.25 s, which is drawn; and twice the first RTT after each loss.
//! * A decision to shrink takes 60 ACKs with an RTT since the last decision (30 in the first slow start) and two
//!   round trips, one to grow 20. With windows of less than 60 segments that is more than one round trip.
//! * While ACKs come one a round trip, because segments are coalesced, the window may grow to 80 segments.
//! * A timeout halves the speed of growth, down to a segment in 256 round trips; each 8 decisions to grow double it.
//! * The limits of the RTT that a program could give for a data centre are not there.
//!
//! What it draws comes from the run's seed. A replay of a kernel's segments finds what the kernel drew.
//!
//! Validated by the worked numbers below, by its curve against the window above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::Instant;
use daybreak_units::parameters::{Parameter, Settings};

use super::{AckArrival, AckSample, CaState, Capabilities, Congestion, Context, Draws, Entry, Window};
use crate::jiffies::{Jiffies, JiffyClock};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "nv",
    summary: "NV, New Vegas (Brakmo, 2010)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, seed| Box::new(Nv { parameters: Parameters::of(settings), ..Nv::new(seed) }),
};

/// As parameters of Linux's module `tcp_nv`, by the same names.
const PARAMETERS: &[Parameter] = &[
    Parameter::count("nv_pad", DEFAULT.pad as u64, (0, 1_000_000), "segments that may wait in queues"),
    Parameter::count(
        "nv_reset_period",
        DEFAULT.reset_period,
        (0, 86_400),
        "mean period of the smallest RTT in seconds",
    ),
    Parameter::count("nv_min_cwnd", DEFAULT.min_cwnd as u64, (0, 1_000_000), "smallest window without losses"),
];
const DEFAULT: Parameters = Parameters { pad: 10, reset_period: 5, min_cwnd: 2 };

/// Rates are in 100 bit/s: bytes in flight times this over microseconds.
const RATE_SCALE: u64 = 80_000;
/// RTTs are averaged with this weight of the new one in 1/256 (`nv_rtt_factor`).
const RTT_WEIGHT: u64 = 128;
/// A window so far below the limit may grow (`nv_pad_buffer`).
const PAD_BUFFER: u32 = 2;
/// Part of the excess that a decision takes off, in 1/128 (`nv_cong_dec_mult`): 30 %.
const EXCESS_TAKEN: u32 = 30 * 128 / 100;
/// Smallest excess that is taken off by parts, and least that is taken.
const SMALL_EXCESS: u32 = 2;
const LEAST_TAKEN: u32 = 2;
/// The window after a loss in 1/1024 (`nv_loss_dec_factor`): 80 %.
const LOSS_KEPT: u32 = 819;
/// RTT samples before a decision to shrink, to shrink in the first slow start, and to grow.
const SAMPLES_TO_SHRINK: u8 = 60;
const SAMPLES_TO_SHRINK_AT_FIRST: u8 = 30;
const SAMPLES_TO_GROW: u8 = 20;
/// Round trips before a decision to shrink, and after which growth stops where samples are too few for it.
const TRIPS_TO_SHRINK: u8 = 2;
const TRIPS_TO_STOP: u8 = 10;
/// Decisions to grow that double the speed of growth after timeouts (`nv_cwnd_growth_rate_neg`).
const DECISIONS_TO_DOUBLE: u32 = 8;
/// Slowest growth: one segment in 2^8 windows.
const SLOWEST: u32 = 8;
/// Most segments acknowledged for one more.
const LEAST_PER_SEGMENT: u32 = 4;
/// Where ACKs come one a round trip: the window up to which it may grow, and by how much at once, in segments.
const LEAST_COALESCED: u32 = 4;
const COALESCED_STEP: u32 = 2;
const MOST_COALESCED: u32 = 81;
/// First period of the smallest RTT in seconds.
const FIRST_PERIOD: u64 = 2;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Segments that may wait in queues.
    pad: u32,
    /// Mean period of the smallest RTT in seconds.
    reset_period: u64,
    /// Smallest window without losses.
    min_cwnd: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        Self {
            pad: settings.whole("nv_pad") as u32,
            reset_period: settings.whole("nv_reset_period"),
            min_cwnd: settings.whole("nv_min_cwnd") as u32,
        }
    }
}

/// The rule. RTTs are in microseconds.
#[derive(Clone, Debug)]
pub struct Nv {
    parameters: Parameters,
    draws: Draws,
    clock: JiffyClock,
    hz: u64,
    /// The window may grow.
    may_grow: bool,
    /// Growth is 2^n times slower than Reno's, after n timeouts.
    slowness: u32,
    /// Decisions to grow in a row.
    grown: u32,
    /// All below begins anew when the state is Open again.
    is_reset_due: bool,
    trip: Trip,
    /// Smallest RTT, and that of the period which follows; when this begins, in jiffies.
    min_rtt: u32,
    next_min_rtt: u32,
    next_period: u64,
    /// Segments that an ACK must acknowledge to show that segments are coalesced.
    coalesced: u32,
}

/// What has been seen since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Trip {
    /// Averaged RTT; 0 before the first.
    rtt: u32,
    /// Largest rate, in 100 bit/s.
    max_rate: u32,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
    /// First unacknowledged byte at the ACK before.
    snd_una: u64,
    /// RTT samples and round trips.
    samples: u8,
    trips: u8,
}

impl Nv {
    /// A rule that draws the periods of its smallest RTT from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            parameters: Parameters::default(),
            draws: Draws::new(seed, "nv"),
            clock: JiffyClock::new(Jiffies::default()),
            hz: 1_000,
            may_grow: true,
            slowness: 0,
            grown: 0,
            is_reset_due: false,
            trip: Trip::default(),
            min_rtt: u32::MAX,
            next_min_rtt: u32::MAX,
            next_period: 0,
            coalesced: LEAST_COALESCED,
        }
    }

    fn reset(&mut self, snd_una: u64) {
        self.is_reset_due = false;
        self.grown = 0;
        self.trip = Trip { end: snd_una, snd_una, ..Trip::default() };
    }
}

impl Congestion for Nv {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        let jiffies = ctx.jiffies();
        self.clock = JiffyClock::new(jiffies);
        self.hz = jiffies.hz();
        self.next_period = self.clock.at(ctx.now) + FIRST_PERIOD * self.hz;
        self.reset(ctx.snd_una);
    }

    fn on_arrival(&mut self, window: &mut Window, ack: &AckArrival) {
        let Some(rtt) = ack.rtt else { return };
        if ack.state > CaState::Disorder {
            return;
        }
        let acked = ack.snd_una - self.trip.snd_una;
        self.trip.snd_una = ack.snd_una;
        let delivered = ack.delivered.wrapping_sub(ack.prior_delivered) as u32;
        let in_flight = ack.mss.wrapping_mul(delivered);
        if in_flight == 0 {
            return;
        }
        self.measure(rtt.as_us() as u32, in_flight);
        self.renew_min_rtt(ack.now);
        if ack.snd_una <= self.trip.end {
            return;
        }
        self.trip.end = ack.snd_nxt;
        self.trip.trips = self.trip.trips.saturating_add(1);
        if self.is_coalesced(acked, ack.mss) {
            self.coalesced = (self.coalesced + COALESCED_STEP).min(MOST_COALESCED);
            self.trip.end = ack.snd_nxt + u64::from(self.coalesced) * u64::from(ack.mss);
            self.trip.samples = 0;
            self.may_grow = true;
        } else if self.decides(window, ack.mss) {
            self.trip = Trip { samples: 0, trips: 0, max_rate: 0, ..self.trip };
            window.cwnd = window.cwnd.max(self.parameters.min_cwnd);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.may_grow {
            return;
        }
        if let Some(acked) = window.past_slow_start(ack) {
            let per_segment =
                if self.slowness > 0 { window.cwnd << self.slowness } else { window.cwnd.max(LEAST_PER_SEGMENT) };
            window.additive_increase(per_segment, acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        ((window.cwnd * LOSS_KEPT) >> 10).max(2)
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        match state {
            CaState::Open => {
                if self.is_reset_due {
                    self.reset(ctx.snd_una);
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery => self.stop(),
            CaState::Loss => {
                self.stop();
                self.slowness = (self.slowness + 1).min(SLOWEST);
            }
        }
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.draws)
    }
}

impl Nv {
    /// A loss: what was measured does not count any more.
    fn stop(&mut self) {
        self.is_reset_due = true;
        self.may_grow = false;
    }

    /// Takes the RTT of an ACK, and what was delivered in it.
    fn measure(&mut self, rtt: u32, in_flight: u32) {
        let trip = &mut self.trip;
        if trip.rtt > 0 {
            trip.rtt = ((u64::from(rtt) * RTT_WEIGHT + u64::from(trip.rtt) * (256 - RTT_WEIGHT)) >> 8) as u32;
        } else {
            trip.rtt = rtt;
            self.min_rtt = rtt << 1;
        }
        let rate = (u64::from(in_flight) * RATE_SCALE / u64::from(trip.rtt.max(1))) as u32;
        trip.max_rate = trip.max_rate.max(rate);
        trip.samples = trip.samples.saturating_add(1);
        self.min_rtt = self.min_rtt.min(trip.rtt);
        self.next_min_rtt = self.next_min_rtt.min(trip.rtt);
    }

    /// The smallest RTT is forgotten every few seconds.
    fn renew_min_rtt(&mut self, now: Instant) {
        let now = self.clock.at(now);
        if now < self.next_period {
            return;
        }
        self.min_rtt = std::mem::replace(&mut self.next_min_rtt, u32::MAX);
        // Between 3/4 and 5/4 of the period.
        let drawn = u64::from(self.draws.below(256));
        self.next_period = now + ((self.parameters.reset_period * (384 + drawn) * self.hz) >> 9);
        self.coalesced = (self.coalesced / 2).max(LEAST_COALESCED);
    }

    /// This ACK was alone in its round trip, and acknowledged nearly all of a window that may be too small.
    fn is_coalesced(&self, acked: u64, mss: u32) -> bool {
        self.trip.samples == 1
            && acked >= u64::from(self.coalesced - 1) * u64::from(mss)
            && self.coalesced < MOST_COALESCED
    }

    /// Sets the window at the end of a round trip. False when nothing was decided.
    fn decides(&mut self, window: &mut Window, mss: u32) -> bool {
        let needed = u64::from(self.trip.max_rate) * u64::from(self.min_rtt) / (RATE_SCALE * u64::from(mss));
        let limit = (needed as u32).wrapping_add(self.parameters.pad);
        if window.cwnd > limit {
            self.shrinks(window, limit)
        } else if window.cwnd <= limit.wrapping_sub(PAD_BUFFER) {
            self.allows_growth()
        } else {
            false
        }
    }

    fn shrinks(&mut self, window: &mut Window, limit: u32) -> bool {
        let Trip { samples, trips, .. } = self.trip;
        if trips < TRIPS_TO_SHRINK {
            return false;
        }
        if window.ssthresh == u32::MAX {
            if samples < SAMPLES_TO_SHRINK_AT_FIRST {
                return false;
            }
        } else if samples < SAMPLES_TO_SHRINK {
            self.may_grow &= trips <= TRIPS_TO_STOP;
            return false;
        }
        self.may_grow = false;
        window.ssthresh = limit;
        let excess = window.cwnd - limit;
        if excess > SMALL_EXCESS {
            window.cwnd -= (excess.wrapping_mul(EXCESS_TAKEN) >> 7).max(LEAST_TAKEN);
        } else {
            window.cwnd = limit;
        }
        self.grown = 0;
        true
    }

    fn allows_growth(&mut self) -> bool {
        if self.trip.samples < SAMPLES_TO_GROW {
            return false;
        }
        self.may_grow = true;
        self.grown += 1;
        if self.slowness > 0 && self.grown > DECISIONS_TO_DOUBLE {
            self.slowness -= 1;
            self.grown = 0;
        }
        true
    }
}

#[cfg(test)]
#[path = "nv_tests.rs"]
mod tests;
