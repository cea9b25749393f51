//! LP: Kuzmanovic and Knightly, "TCP-LP: low-priority service via end-point congestion control", IEEE/ACM
//! Transactions on Networking 14(4), 2006, as Linux 6.1 has it.
//!
//! A Reno that gives way. It takes the one-way delay from the timestamps of each ACK; when the smoothed delay is
//! above `d_min + 0.15 (d_max - d_min)` others are using the path (early congestion indication): the window is
//! halved, and does not grow for an inference phase of three round trips. A second indication in it
//! sets the window to one segment.
//!
//! Follows Linux where the paper differs. Some of this is hardly meant, and decides what the rule does:
//! * The delay is `value * (1000 / hz) - echo` in ticks of a millisecond and in 32 bits, without a common
//!   origin: it contains the difference of the two clocks, which Linux draws at random for each pair of addresses. The
//!   smoothed delay is kept in eighths in 32 bits too, so of a delay of 2^29 or more the upper three bits are lost, it
//!   seems smaller than the smallest, and the rule never gives way. That is so for seven of eight connections.
//! * `hz`, the peer's clock rate, is estimated with each ACK from two timestamps in a row, with a weight of 1/64 and
//!   rounded down: ticks that fall unevenly lead it away from 1000, and `1000 / hz`, a whole number, jumps.
//! * The first delay is the smallest and the largest at once, so the rule gives way with the first ACKs. An indication
//!   sets `d_min` to the smoothed delay and `d_max` to twice that. Both hold the clocks' difference, so the
//!   threshold is then far above and the rule does not give way again soon.
//! * The threshold of slow start stays as it is, so a window below it returns by slow start.
//! * The largest delay is taken with a delay of one: the largest but one counts, at first.
//!
//! Validated by the worked numbers below, by its curve beside Reno's (`tests/curves`), and by the segments that Linux
//! 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use super::{AckArrival, AckSample, Capabilities, Congestion, Context, Entry, Timestamps, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "lp",
    summary: "TCP-LP, low priority (Kuzmanovic and Knightly, 2006)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(Lp::default()),
};

/// Ticks a second of our own timestamps, and of the delay.
const RESOLUTION: u32 = 1_000;
/// The estimate of the peer's clock moves by 1/2^6 of what it is off.
const HZ_SHIFT: u32 = 6;
/// The smoothed delay is kept in eighths, and moves by an eighth.
const DELAY_SHIFT: u32 = 3;
/// Percent of the range of delays above the smallest that are free of others (the paper's delta).
const THRESHOLD: u32 = 15;
/// Round trips of an inference phase (the paper's itt).
const INFERENCE_TRIPS: u32 = 3;

/// The rule. Times are ticks of the timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Lp {
    peer: PeerClock,
    /// Smoothed one-way delay in eighths; 0 before the first.
    delay_x8: u32,
    /// Smallest and largest one-way delay, and the largest that was put off.
    min_delay: u32,
    max_delay: u32,
    reserve: u32,
    /// Length of the inference phase.
    inference: u32,
    /// When it last gave way.
    gave_way: Option<u32>,
    /// The inference phase lasts.
    is_inferring: bool,
}

impl Default for Lp {
    fn default() -> Self {
        Self {
            peer: PeerClock::default(),
            delay_x8: 0,
            min_delay: u32::MAX,
            max_delay: 0,
            reserve: 0,
            inference: 0,
            gave_way: None,
            is_inferring: false,
        }
    }
}

impl Congestion for Lp {
    /// Before `init` all delays are 0 in Linux 6.1.192, and 0 is not below a threshold of 0: it gives way.
    fn cwnd_after_syn(&self, cwnd: u32) -> u32 {
        (cwnd / 2).max(1)
    }

    fn on_arrival(&mut self, window: &mut Window, ack: &AckArrival) {
        let stamps = ack.timestamps;
        if ack.rtt.is_some_and(|rtt| !rtt.is_zero())
            && let Some(delay) = self.peer.delay(&stamps)
        {
            self.learn(delay);
        }
        let trip = stamps.now.wrapping_sub(stamps.echo);
        if trip as i32 > 0 {
            self.inference = INFERENCE_TRIPS.wrapping_mul(trip);
        }
        self.is_inferring = self.gave_way.is_some_and(|at| stamps.now.wrapping_sub(at) < self.inference);
        if self.delay_x8 >> DELAY_SHIFT >= self.threshold() {
            self.give_way(window, stamps.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.is_inferring {
            reno::increase(window, ack);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }
}

impl Lp {
    fn learn(&mut self, delay: u32) {
        self.min_delay = self.min_delay.min(delay);
        if delay > self.max_delay {
            if delay > self.reserve {
                self.max_delay = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.max_delay = delay;
            }
        }
        self.delay_x8 = match self.delay_x8 {
            0 => delay << DELAY_SHIFT,
            x8 => x8.wrapping_add(delay).wrapping_sub(x8 >> DELAY_SHIFT),
        };
    }

    /// The smoothed delay from which on others use the path.
    fn threshold(&self) -> u32 {
        let range = self.max_delay.wrapping_sub(self.min_delay);
        self.min_delay.wrapping_add(THRESHOLD.wrapping_mul(range) / 100)
    }

    fn give_way(&mut self, window: &mut Window, now: u32) {
        self.min_delay = self.delay_x8 >> DELAY_SHIFT;
        self.max_delay = self.delay_x8 >> (DELAY_SHIFT - 1);
        self.reserve = self.max_delay;
        window.cwnd = if self.is_inferring { 1 } else { (window.cwnd / 2).max(1) };
        self.gave_way = Some(now);
    }
}

/// The peer's clock as the timestamps of its ACKs show it.
#[derive(Clone, Copy, Debug, Default)]
struct PeerClock {
    /// Estimate of its ticks a second; 0 before the first.
    hz: u32,
    /// Timestamps of the ACK before.
    last: Option<(u32, u32)>,
}

impl PeerClock {
    /// The one-way delay of an ACK; `None` while it is not known.
    fn delay(&mut self, stamps: &Timestamps) -> Option<u32> {
        self.estimate(stamps);
        let ticks = RESOLUTION.checked_div(self.hz)?;
        let delay = stamps.value.wrapping_mul(ticks).wrapping_sub(stamps.echo);
        (delay > 0).then_some(delay)
    }

    /// Takes the rate at which its clock has gone since the ACK before, if both clocks have moved.
    fn estimate(&mut self, stamps: &Timestamps) {
        let last = self.last.replace((stamps.value, stamps.echo));
        let Some((value, echo)) = last.filter(|&(value, echo)| value != stamps.value && echo != stamps.echo) else {
            return;
        };
        let ticks = RESOLUTION.wrapping_mul(stamps.value.wrapping_sub(value));
        let hz = ticks / stamps.echo.wrapping_sub(echo);
        self.hz = match self.hz {
            0 => hz,
            old => ((i64::from(old << HZ_SHIFT) + i64::from(hz) - i64::from(old)) >> HZ_SHIFT) as u32,
        };
    }
}

#[cfg(test)]
#[path = "lp_tests.rs"]
mod tests;
