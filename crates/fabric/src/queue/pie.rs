//! Proportional integral controller enhanced: Pan, Natarajan, Baker and White, "PIE: A Lightweight Control Scheme to
//! Address the Bufferbloat Problem", RFC 8033.
//!
//! A packet that arrives is refused with a probability, which an update every `tupdate` changes: by alpha times the
//! excess of the waiting time over `target`, and by beta times its growth since the previous update. Refused means
//! marked if the packet is ECN-capable, `ecn` is on and the probability is at most a tenth, and dropped otherwise.
//! Nothing is refused within `max_burst` of a queue that was empty, while less than half the target is waited and the
//! probability is below a fifth, and while less than two full packets wait. Refusals are spread (section 5.4): the next
//! comes no sooner than when the probabilities since the last one have added up to 0.85.
//!
//! The waiting time is that of the packet that left last (section 5.2, timestamps). What the RFC leaves open, and where
//! Linux 6.1 (`sch_pie`) has another rule, is done as there:
//! * Times are in ticks of 64 ns; alpha and beta are in sixteenths of 1 / s.
//! * While nothing has waited in two updates the probability falls by a 64th, not a 50th.
//! * The allowance for bursts ends with the time between departures, not with updates.
//! * The probability may rise above 1.
//!
//! And otherwise:
//! * Updates are at multiples of `tupdate` of the simulated time, carried out when the next packet comes or leaves.
//! * A full packet is the largest one that has come so far; Linux takes the device's MTU.
//! * Packets that came back are not seen when they leave.
//!
//! Checked decision by decision against `sch_pie` of Linux 6.1.192 on drawn loads (`tools/disciplines-of-linux`,
//! `tests/of_linux.rs`).

use daybreak_units::parameters::{Parameter, Settings};
use daybreak_units::{Instant, Stream};

use super::{Arrival, Discipline, Leaving, Setup, Verdict};

/// Times in milliseconds, as a Parameter has them in picoseconds.
const MS: u64 = 1_000_000_000;
const TICK_PS: u64 = 64_000;
const TICKS_PER_S: f64 = 15_625_000.0;
/// Of the waiting time: above it the probability rises by [`STEP`] more (section 5.5).
const LONG_WAIT: u64 = 250 * MS / TICK_PS;
/// Most that an update adds to a probability of a tenth or more.
const STEP: f64 = 0.02;
/// Most of the probability with which packets are marked.
const MARKS_BELOW: f64 = 0.1;
/// Below this sum of probabilities nothing is refused, and above the other everything is (section 5.4).
const SPREAD: (f64, f64) = (0.85, 8.5);
/// Probabilities below which alpha and beta are smaller, by another quarter each but the first, by half (section 5.3).
const SMALL: [f64; 6] = [0.1, 0.01, 0.001, 0.000_1, 0.000_01, 0.000_001];

/// A queue's controller. Boxed, so that plainer queues stay small.
#[derive(Debug)]
pub(crate) struct Pie(Box<State>);

#[derive(Debug)]
struct State {
    /// Times are in ticks.
    target: u64,
    tupdate: u64,
    max_burst: u64,
    alpha: f64,
    beta: f64,
    ecn: bool,
    stream: Stream,
    /// Largest packet so far.
    full_packet: u32,
    next_update: u64,
    probability: f64,
    /// Sum of the probabilities since the last refusal.
    accumulated: f64,
    /// Time for which no packets are refused, however many arrive.
    burst_left: u64,
    /// The waiting time of the packet that left last.
    wait: u64,
    /// Its value at the last update.
    wait_before: u64,
    last_departure: Option<u64>,
}

/// The tick in which a time lies.
fn tick(time: Instant) -> u64 {
    time.as_ps() / TICK_PS
}

impl Discipline for Pie {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str =
        "proportional integral controller (RFC 8033), marking or dropping packets that arrive";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::time("target", 15 * MS, (MS / 1_000, 1_000 * MS), "waiting time that is aimed at"),
        Parameter::time("tupdate", 15 * MS, (MS / 1_000, 1_000 * MS), "time between updates of the probability"),
        Parameter::count("alpha", 2, (0, 32), "weight of the waiting time above the target, in sixteenths of 1 / s"),
        Parameter::count("beta", 20, (0, 32), "weight of the waiting time's growth, in sixteenths of 1 / s"),
        Parameter::time("max_burst", 150 * MS, (0, 10_000 * MS), "time for which a burst is let in"),
        Parameter::switch("ecn", false, "mark ECN-capable packets instead of dropping them"),
    ];
    const SEES_EVERY_ARRIVAL: bool = true;
    const SEES_DEPARTURES: bool = true;
    const SETTLES_ON_ARRIVAL: bool = false;
    const MARKS: bool = true;

    fn new(setup: &Setup) -> Self {
        let mut made = Self(Box::new(State {
            target: 0,
            tupdate: 0,
            max_burst: 0,
            alpha: 0.0,
            beta: 0.0,
            ecn: false,
            stream: setup.stream.clone(),
            full_packet: 0,
            next_update: 0,
            probability: 0.0,
            accumulated: 0.0,
            burst_left: 0,
            wait: 0,
            wait_before: 0,
            last_departure: None,
        }));
        made.configure(setup.settings);
        made.0.next_update = made.0.tupdate;
        made.0.burst_left = made.0.max_burst;
        made
    }

    fn configure(&mut self, settings: &Settings) {
        let state = &mut *self.0;
        state.target = settings.time("target").as_ps() / TICK_PS;
        state.tupdate = settings.time("tupdate").as_ps() / TICK_PS;
        state.max_burst = settings.time("max_burst").as_ps() / TICK_PS;
        state.alpha = settings.whole("alpha") as f64 / 16.0 / TICKS_PER_S;
        state.beta = settings.whole("beta") as f64 / 16.0 / TICKS_PER_S;
        state.ecn = settings.switch("ecn");
    }

    fn arrival(&mut self, arrival: &Arrival) -> Verdict {
        self.0.arrival(arrival)
    }

    fn departure(&mut self, leaving: &Leaving) -> Verdict {
        // One that has not waited was not in the queue at an update before.
        let waited = if leaving.waited.as_ps() > 0 { u64::from(leaving.bytes) } else { 0 };
        self.0.update_until(tick(leaving.now), leaving.behind + waited);
        self.0.departs(leaving);
        Verdict::Accept
    }
}

impl State {
    fn arrival(&mut self, arrival: &Arrival) -> Verdict {
        self.update_until(tick(arrival.now), arrival.occupancy.bytes);
        self.full_packet = self.full_packet.max(arrival.bytes);
        if arrival.fits && !self.refuses(arrival.occupancy.bytes) {
            return Verdict::Accept;
        }
        if arrival.fits && self.ecn && arrival.is_ect && self.probability <= MARKS_BELOW {
            return Verdict::Mark;
        }
        self.accumulated = 0.0;
        Verdict::Drop
    }

    /// Whether a packet that finds these bytes is refused (section 4.1).
    fn refuses(&mut self, bytes: u64) -> bool {
        let is_light = self.wait < self.target / 2 && self.probability < 0.2;
        if self.burst_left > 0 || is_light || bytes < 2 * u64::from(self.full_packet) {
            return false;
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        let (never, always) = SPREAD;
        if self.accumulated < never {
            return false;
        }
        if self.accumulated >= always {
            return true;
        }
        let refuses = self.stream.unit() < self.probability;
        if refuses {
            self.accumulated = 0.0;
        }
        refuses
    }

    fn departs(&mut self, leaving: &Leaving) {
        let now = tick(leaving.now);
        self.wait = if leaving.behind == 0 { 0 } else { now - tick(leaving.now - leaving.waited) };
        if let Some(last) = self.last_departure.replace(now) {
            self.burst_left = self.burst_left.saturating_sub(now - last);
        }
    }

    /// Carries out the updates that were due up to a tick, with the bytes that have waited since the last change.
    fn update_until(&mut self, now: u64, bytes: u64) {
        while self.next_update <= now {
            self.update(bytes);
            self.next_update += self.tupdate;
            if self.probability == 0.0 && self.wait == 0 && self.wait_before == 0 {
                // Nothing changes in further updates.
                let left = (now + self.tupdate).saturating_sub(self.next_update) / self.tupdate;
                self.next_update += left * self.tupdate;
            }
        }
    }

    /// The probability for the time to the next update (section 4.2).
    fn update(&mut self, bytes: u64) {
        let above = self.wait as f64 - self.target as f64;
        let growth = self.wait as f64 - self.wait_before as f64;
        let mut change = self.weight() * (self.alpha * above + self.beta * growth);
        if self.probability >= SMALL[0] {
            change = change.min(STEP);
        }
        if self.wait > LONG_WAIT {
            change += STEP;
        }
        self.probability = (self.probability + change).max(0.0);
        // Where bytes wait and the packet before left an empty queue, too few do to measure a rate.
        if self.wait == 0 && self.wait_before == 0 && bytes == 0 {
            self.probability -= self.probability / 64.0;
        }
        if self.wait.max(self.wait_before) < self.target / 2 && self.probability == 0.0 {
            self.burst_left = self.max_burst;
            self.last_departure = None;
            self.accumulated = 0.0;
        }
        self.wait_before = self.wait;
    }

    /// The factor of alpha and beta, so that small probabilities change in small steps.
    fn weight(&self) -> f64 {
        let steps = SMALL.iter().filter(|&&bound| self.probability < bound).count() as i32;
        if steps == 0 { 1.0 } else { 0.5 * 0.25_f64.powi(steps - 1) }
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::parameters::Value;
    use daybreak_units::{Duration, Rate};

    use super::super::Occupancy;
    use super::*;

    fn discipline(given: &[(&str, Value)]) -> Pie {
        let settings = Settings::new(Pie::PARAMETERS, given.iter().copied()).unwrap();
        let stream = Stream::new(1, "test");
        Pie::new(&Setup { settings: &settings, rate: Rate::from_bps(1 << 30), framing_bytes: 0, stream })
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_us(ms * 1_000)
    }

    /// A full packet leaves that has waited, with others behind it.
    fn leaves(pie: &mut Pie, ms: u64, waited_ms: u64, behind: u64) {
        let waited = Duration::from_us(waited_ms * 1_000);
        let left = pie.departure(&Leaving { now: at(ms), waited, bytes: 1_500, behind: 1_500 * behind, is_ect: true });
        assert_eq!(left, Verdict::Accept);
    }

    /// A full packet comes and finds others.
    fn comes(pie: &mut Pie, ms: u64, packets: u32) -> Verdict {
        let occupancy = Occupancy { packets, bytes: 1_500 * u64::from(packets) };
        pie.arrival(&Arrival { now: at(ms), occupancy, bytes: 1_500, is_ect: true, fits: true, flow: 0 })
    }

    #[test]
    fn the_probability_grows_by_weighted_distance_and_growth() {
        let mut pie = discipline(&[("max_burst", Value::Ps(0))]);
        // 45 ms waited: 30 above the target, and 45 more than before. Alpha is 0.125 and beta 1.25 / s; at a
        // probability of 0 they are 1 / 2048 of that (section 4.2): (0.125 * 0.030 + 1.25 * 0.045) / 2048.
        leaves(&mut pie, 1_004, 45, 9);
        comes(&mut pie, 1_005, 9);
        let first = (0.125 * 0.030 + 1.25 * 0.045) / 2048.0;
        assert!((pie.0.probability - first).abs() < 1e-12, "{}", pie.0.probability);
        // Still 45: 30 above, no growth. Between 10^-5 and 10^-4 they are 1 / 128.
        comes(&mut pie, 1_020, 9);
        let second = first + 0.125 * 0.030 / 128.0;
        assert!((pie.0.probability - second).abs() < 1e-12, "{}", pie.0.probability);
        // Two updates at once are two updates.
        comes(&mut pie, 1_050, 9);
        let fourth = second + 2.0 * 0.125 * 0.030 / 128.0;
        assert!((pie.0.probability - fourth).abs() < 1e-12, "{}", pie.0.probability);
    }

    #[test]
    fn more_than_250_ms_add_two_percent_an_update() {
        let mut pie = discipline(&[("max_burst", Value::Ps(0)), ("alpha", Value::Count(0)), ("beta", Value::Count(0))]);
        leaves(&mut pie, 1_004, 251, 99);
        // Ten multiples of 15 ms.
        comes(&mut pie, 1_140, 99);
        assert!((pie.0.probability - 0.2).abs() < 1e-12, "{}", pie.0.probability);
    }

    /// At a probability of 0.3 the sums are 0.3, 0.6, 0.9: from the third packet on one may be refused.
    #[test]
    fn refusals_are_spread() {
        let mut pie = discipline(&[("max_burst", Value::Ps(0)), ("tupdate", Value::Ps(1_000 * MS))]);
        (pie.0.probability, pie.0.wait) = (0.3, pie.0.target);
        let refused: Vec<usize> = (0..20_000).filter(|_| comes(&mut pie, 1, 9) == Verdict::Drop).collect();
        assert!(refused.windows(2).all(|pair| pair[1] - pair[0] >= 3));
        // Two that are let in, then a geometric number with mean 1 / 0.3: one of 5.33.
        let expected = 20_000.0 / (2.0 + 1.0 / 0.3);
        assert!((refused.len() as f64 / expected - 1.0).abs() < 0.05, "{} refused", refused.len());
    }

    #[test]
    fn a_burst_a_short_wait_and_a_short_queue_are_let_in() {
        let refused = |prepare: fn(&mut State), packets| {
            let mut pie = discipline(&[("tupdate", Value::Ps(1_000 * MS))]);
            (pie.0.probability, pie.0.wait, pie.0.burst_left, pie.0.accumulated) = (0.19, pie.0.target, 0, 9.0);
            prepare(&mut pie.0);
            comes(&mut pie, 1, packets) != Verdict::Accept
        };
        assert!(refused(|_| (), 2));
        assert!(!refused(|_| (), 1));
        assert!(!refused(|state| state.burst_left = 1, 9));
        assert!(!refused(|state| state.wait = state.target / 2 - 1, 9));
        assert!(refused(|state| (state.wait, state.probability) = (0, 0.2), 9));
    }

    #[test]
    fn refused_packets_are_marked_while_the_probability_is_low() {
        for (probability, ecn, verdict) in
            [(0.1, true, Verdict::Mark), (0.11, true, Verdict::Drop), (0.1, false, Verdict::Drop)]
        {
            let mut pie = discipline(&[("ecn", Value::Switch(ecn)), ("tupdate", Value::Ps(1_000 * MS))]);
            (pie.0.probability, pie.0.wait, pie.0.burst_left, pie.0.accumulated) = (probability, pie.0.target, 0, 8.5);
            assert_eq!(comes(&mut pie, 1, 9), verdict);
        }
    }

    /// The probability for packets that have waited 30 ms, then 20, then 10, then not at all.
    #[test]
    fn probability_over_time() {
        let mut pie = discipline(&[]);
        let mut curve = String::from("    ms  waited  probability\n");
        for ms in 1_000..17_000 {
            let waited = [30, 20, 10, 0][(ms as usize - 1_000) / 4_000];
            leaves(&mut pie, ms, waited, if waited > 0 { 20 } else { 0 });
            if ms % 500 == 499 {
                curve += &format!("{ms:6}  {waited:6}  {:11.6}\n", pie.0.probability);
            }
        }
        insta::with_settings!({ snapshot_path => "../../tests/curves", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("pie", curve);
        });
    }

    /// Section 4.4 of RFC 8033: the waiting time is below half of its target at this update and was at the one before.
    #[test]
    fn a_burst_is_let_in_again_after_two_short_waits() {
        let half = discipline(&[]).0.target / 2;
        for (wait, wait_before, probability, again) in [
            (half - 1, half - 1, 0.0, true),
            (half, half - 1, 0.0, false),
            (half - 1, half, 0.0, false),
            (half - 1, half - 1, 0.5, false),
        ] {
            let mut pie = discipline(&[("alpha", Value::Count(0)), ("beta", Value::Count(0))]);
            (pie.0.wait, pie.0.wait_before, pie.0.probability, pie.0.burst_left) = (wait, wait_before, probability, 0);
            pie.0.update(1_500);
            assert_eq!(pie.0.burst_left == pie.0.max_burst, again, "{wait} after {wait_before}");
        }
    }

    /// Section 5.3: "if p < 0.1, change / 2" and so on, and section 4.2: "if qdelay > 250 ms".
    #[test]
    fn weights_and_the_step_of_long_waits_change_beyond_their_bounds() {
        let mut pie = discipline(&[("alpha", Value::Count(0)), ("beta", Value::Count(0))]);
        for (probability, divisor) in
            [(0.1, 1.0), (0.099, 2.0), (0.01, 2.0), (0.0099, 8.0), (0.001, 8.0), (0.0001, 32.0), (0.000_000_9, 2_048.0)]
        {
            pie.0.probability = probability;
            assert_eq!(pie.0.weight(), 1.0 / divisor, "{probability}");
        }
        for (wait, probability) in [(LONG_WAIT, 0.5), (LONG_WAIT + 1, 0.52)] {
            (pie.0.wait, pie.0.wait_before, pie.0.probability) = (wait, wait, 0.5);
            pie.0.update(1_500);
            assert_eq!(pie.0.probability, probability);
        }
    }
}
