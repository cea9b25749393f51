//! Random early detection: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993.
//!
//! The queue's average length is a low-pass filter with the weight w_q over the lengths that packets find on arrival.
//! Between two thresholds a packet is refused with a probability that rises with the average up to max_p, spread out by
//! counting packets since the last one that was refused, as in figure 2: a gap of 1 to 1/p_b - 1 packets, each as
//! likely. Above the upper threshold every packet is refused; with `gentle` the probability rises from max_p to 1
//! between that and twice that first (Floyd, "Recommendation on using the gentle variant of RED", 2000). Refused means
//! marked if the packet is ECN-capable and `ecn` is on, and dropped otherwise; where every packet is refused, all are
//! dropped.
//!
//! The parameters' defaults are the paper's: thresholds of 5 and 15 packets, w_q = 0.002 (section 6), max_p = 1/50
//! (section 5).
//!
//! What the paper leaves open, and what is done here:
//! * The packet that a link is sending has left the queue. A packet that finds nothing waiting takes part as a sample
//!   of length 0, whether it has to wait or not.
//! * For an idle time the paper lets m packets pass that might have been sent: here m is the time since the queue
//!   became empty, or since the last packet that found it so, over that of a packet of `typical_packet` bytes on the
//!   first link that serves the queue, rounded down; and at least the one sample above. A queue whose gates are closed
//!   is not empty.
//! * A packet that does not fit counts for the average, and for nothing else.
//! * With thresholds in bytes the average is one of bytes. The probability does not depend on the packet's size
//!   (RFC 7141 advises against the paper's byte mode).
//!
//! Checked by the worked numbers and the curve of probability against average below.

use daybreak_units::parameters::{Kind, Parameter, Settings, Value};
use daybreak_units::{Duration, Instant, Rate, Stream};

use super::{Arrival, Discipline, Setup, Verdict};

const LONGEST: u64 = 1 << 40;
const MIN_THRESHOLD: u64 = 5;
const MAX_THRESHOLD: u64 = 15;
const WEIGHT: f64 = 0.002;
const MAX_PROBABILITY: f64 = 0.02;

/// A queue's average and what follows from it. Boxed, so that plainer queues stay small.
#[derive(Debug)]
pub(crate) struct Red(Box<State>);

#[derive(Debug)]
struct State {
    min_threshold: f64,
    max_threshold: f64,
    /// Lengths are counted in bytes.
    in_bytes: bool,
    weight: f64,
    max_probability: f64,
    gentle: bool,
    ecn: bool,
    typical_packet: u64,
    framing_bytes: u32,
    rate: Rate,
    /// Average length.
    average: f64,
    /// Packets since the last one that was refused; -1 while the average is below the lower threshold.
    count: i64,
    /// Since when the queue has been empty, as far as that is not in the average yet.
    empty_since: Instant,
    stream: Stream,
}

/// The zone of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Zone {
    Below,
    /// p_b.
    Between(f64),
    Above,
}

impl Discipline for Red {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "random early detection (Floyd and Jacobson, 1993), marking or dropping";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "min_threshold",
            kind: Kind::Length { least: 1, most: LONGEST },
            default: Some(Value::Packets(MIN_THRESHOLD)),
            summary: "average length from which packets are refused at random",
        },
        Parameter {
            name: "max_threshold",
            kind: Kind::Length { least: 1, most: LONGEST },
            default: Some(Value::Packets(MAX_THRESHOLD)),
            summary: "average length from which every packet is refused",
        },
        Parameter::number("weight", WEIGHT, (1e-6, 1.0), "w_q: weight of a new sample in the average"),
        Parameter::number("max_probability", MAX_PROBABILITY, (1e-6, 1.0), "max_p: probability at the upper threshold"),
        Parameter::switch("gentle", false, "let the probability rise to 1 at twice the upper threshold"),
        Parameter::switch("ecn", true, "mark ECN-capable packets instead of dropping them"),
        Parameter {
            name: "typical_packet",
            kind: Kind::Bytes { least: 40, most: 65_535 },
            default: Some(Value::Bytes(1_500)),
            summary: "size of the packets that an idle time might have sent",
        },
    ];
    const SEES_EVERY_ARRIVAL: bool = true;
    const SETTLES_ON_ARRIVAL: bool = false;
    const MARKS: bool = true;

    fn check(settings: &Settings) -> Result<(), String> {
        match (settings.value("min_threshold"), settings.value("max_threshold")) {
            (Value::Packets(min), Value::Packets(max)) | (Value::Bytes(min), Value::Bytes(max)) if min < max => Ok(()),
            (min, max) => Err(format!(
                "parameter \"min_threshold\" is {min}: expected less than max_threshold, {max}, and the same unit"
            )),
        }
    }

    fn new(setup: &Setup) -> Self {
        let mut made = Self(Box::new(State {
            min_threshold: 0.0,
            max_threshold: 0.0,
            in_bytes: false,
            weight: 0.0,
            max_probability: 0.0,
            gentle: false,
            ecn: false,
            typical_packet: 0,
            framing_bytes: setup.framing_bytes,
            rate: setup.rate,
            average: 0.0,
            count: -1,
            empty_since: Instant::ZERO,
            stream: setup.stream.clone(),
        }));
        made.configure(setup.settings);
        made
    }

    fn configure(&mut self, settings: &Settings) {
        let state = &mut *self.0;
        state.in_bytes = matches!(settings.value("min_threshold"), Value::Bytes(_));
        state.min_threshold = settings.whole("min_threshold") as f64;
        state.max_threshold = settings.whole("max_threshold") as f64;
        state.weight = settings.number("weight");
        state.max_probability = settings.number("max_probability");
        state.gentle = settings.switch("gentle");
        state.ecn = settings.switch("ecn");
        state.typical_packet = settings.whole("typical_packet");
    }

    fn arrival(&mut self, arrival: &Arrival) -> Verdict {
        let state = &mut *self.0;
        state.sample(arrival);
        if !arrival.fits {
            return Verdict::Accept;
        }
        let may_mark = state.ecn && arrival.is_ect;
        match state.zone() {
            Zone::Below => {
                state.count = -1;
                Verdict::Accept
            }
            Zone::Between(p_b) => match state.refuses(p_b) {
                false => Verdict::Accept,
                true if may_mark => Verdict::Mark,
                true => Verdict::Drop,
            },
            Zone::Above => {
                state.count = 0;
                Verdict::Drop
            }
        }
    }

    fn emptied(&mut self, now: Instant) {
        self.0.empty_since = now;
    }

    fn rate_changed(&mut self, rate: Rate) {
        self.0.rate = rate;
    }
}

impl State {
    /// Adds the length that a packet finds to the average.
    fn sample(&mut self, arrival: &Arrival) {
        let length = if self.in_bytes { arrival.occupancy.bytes } else { u64::from(arrival.occupancy.packets) };
        if length > 0 {
            self.average += self.weight * (length as f64 - self.average);
            return;
        }
        let packet_time = self.rate.time_for(self.typical_packet + u64::from(self.framing_bytes));
        let packets = (arrival.now - self.empty_since).as_ps() / packet_time.max(Duration::from_ps(1)).as_ps();
        self.average *= power(1.0 - self.weight, packets.max(1));
        self.empty_since = arrival.now;
    }

    fn zone(&self) -> Zone {
        let Self { average, min_threshold: min, max_threshold: max, max_probability, .. } = *self;
        if average < min {
            Zone::Below
        } else if average < max {
            Zone::Between(max_probability * (average - min) / (max - min))
        } else if self.gentle && average < 2.0 * max {
            Zone::Between(max_probability + (1.0 - max_probability) * (average - max) / max)
        } else {
            Zone::Above
        }
    }

    /// Whether a packet is refused when the average gives p_b.
    fn refuses(&mut self, p_b: f64) -> bool {
        self.count += 1;
        let left = 1.0 - self.count as f64 * p_b;
        let p_a = if left > 0.0 { p_b / left } else { 1.0 };
        let refused = self.stream.unit() < p_a;
        if refused {
            self.count = 0;
        }
        refused
    }
}

/// By multiplication only, so that it is identical on every machine.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Occupancy;

    fn red(given: &[(&str, Value)]) -> Red {
        let settings = Settings::new(Red::PARAMETERS, given.iter().copied()).unwrap();
        Red::check(&settings).unwrap();
        let (rate, stream) = (Rate::from_bps(10_000_000_000), Stream::new(7, "queue/test/red"));
        Red::new(&Setup { settings: &settings, rate, framing_bytes: 0, stream })
    }

    fn arrival(packets: u32) -> Arrival {
        let occupancy = Occupancy { packets, bytes: 1_000 * u64::from(packets) };
        Arrival { now: Instant::ZERO, occupancy, bytes: 1_000, is_ect: true, fits: true, flow: 0 }
    }

    /// With w_q = 1/500 and ten packets waiting, the average after n arrivals is 10 (1 - (1 - 1/500)^n); after an idle
    /// time of 120 us, 100 packets of 1500 bytes at 10 Gbit/s, it is (1 - 1/500)^100 of that.
    #[test]
    fn the_average_follows_the_queue_and_decays_when_idle() {
        let mut red = red(&[]);
        for _ in 0..250 {
            red.arrival(&arrival(10));
        }
        let expected = 10.0 * (1.0 - 0.998f64.powi(250));
        assert!((red.0.average - expected).abs() < 1e-9, "{}", red.0.average);
        let us = |us| Instant::ZERO + Duration::from_us(us);
        red.emptied(us(1_000));
        red.arrival(&Arrival { now: us(1_120), ..arrival(0) });
        let decayed = expected * 0.998f64.powi(100);
        assert!((red.0.average - decayed).abs() < 1e-9, "{} for {decayed}", red.0.average);
        // The next one 60 us later, again into an empty queue: 50 more. And one at once: one sample.
        red.arrival(&Arrival { now: us(1_180), ..arrival(0) });
        red.arrival(&Arrival { now: us(1_180), ..arrival(0) });
        assert!((red.0.average - decayed * 0.998f64.powi(51)).abs() < 1e-9);
        // At a tenth of the rate 120 us are ten packets.
        red.rate_changed(Rate::from_bps(1_000_000_000));
        let before = red.0.average;
        red.arrival(&Arrival { now: us(1_300), ..arrival(0) });
        assert!((red.0.average - before * 0.998f64.powi(10)).abs() < 1e-9);
    }

    /// At p_b = 1/50 each gap from one refused packet to the next of 1 to 49 is as likely as the others.
    #[test]
    fn counting_spreads_the_refusals() {
        let mut red = red(&[("weight", Value::Number(1.0)), ("max_probability", Value::Number(0.04))]);
        // Half way between the thresholds: p_b is half of max_p.
        let verdicts: Vec<_> = (0..500_000).map(|_| red.arrival(&arrival(10))).collect();
        let refused: Vec<usize> =
            (0..).zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Mark).map(|(i, _)| i).collect();
        let gaps: Vec<usize> = refused.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (1..=49).contains(gap)));
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        // The mean is 25, its standard error 14.1 / sqrt(20000) = 0.1.
        assert!((mean - 25.0).abs() < 0.4, "{mean}");
        let below = gaps.iter().filter(|gap| **gap <= 10).count() as f64 / gaps.len() as f64;
        assert!((below - 10.0 / 49.0).abs() < 0.012, "{below} of the gaps are 10 or less");
    }

    /// The gap to the next refused packet counts from the last one, also from one that had no chance.
    #[test]
    fn a_refusal_above_the_thresholds_starts_the_count_anew() {
        let mut red = red(&[("weight", Value::Number(1.0)), ("max_probability", Value::Number(0.04))]);
        // The next packet at p_b = 1/50 would be the 49th since the last refusal, which is refused for sure.
        red.0.count = 48;
        assert_eq!(red.arrival(&arrival(15)), Verdict::Drop);
        assert_eq!(red.0.count, 0);
        assert_eq!((red.arrival(&arrival(10)), red.0.count), (Verdict::Accept, 1));
    }

    #[test]
    fn the_unit_of_the_thresholds_is_that_of_the_average() {
        let bytes = [("min_threshold", Value::Bytes(5_000)), ("max_threshold", Value::Bytes(15_000))];
        let mut red = red(&[bytes[0], bytes[1], ("weight", Value::Number(1.0))]);
        assert_eq!(red.arrival(&arrival(4)), Verdict::Accept);
        assert_eq!(red.0.average, 4_000.0);
        assert_eq!(red.arrival(&arrival(15)), Verdict::Drop);
        let mixed = Settings::new(Red::PARAMETERS, [bytes[0]]).unwrap();
        assert!(Red::check(&mixed).unwrap_err().contains("5000 bytes: expected less than max_threshold, 15 packets"));
    }

    #[test]
    fn a_packet_that_does_not_fit_counts_for_the_average_only() {
        let mut red = red(&[("weight", Value::Number(1.0))]);
        assert_eq!(red.arrival(&Arrival { fits: false, ..arrival(20) }), Verdict::Accept);
        assert_eq!((red.0.average, red.0.count), (20.0, -1));
    }

    /// Refused packets against the average, which with a weight of 1 is the queue's length. With counting the fraction
    /// is 2 p_b where 1/p_b is whole, since the gap is 1 to 1/p_b - 1, each as likely.
    #[test]
    fn probability_against_average() {
        let measure = |gentle: bool, is_ect: bool, packets: u32| {
            let mut red = red(&[
                ("weight", Value::Number(1.0)),
                ("max_probability", Value::Number(0.1)),
                ("gentle", Value::Switch(gentle)),
            ]);
            let verdicts: Vec<_> = (0..40_000).map(|_| red.arrival(&Arrival { is_ect, ..arrival(packets) })).collect();
            let share = |kind| verdicts.iter().filter(|verdict| **verdict == kind).count() as f64 / 40_000.0;
            (share(Verdict::Mark), share(Verdict::Drop))
        };
        let mut curve = String::from("average  red: marked dropped  not ECT: dropped  gentle: marked dropped\n");
        for packets in (0..=32).step_by(2) {
            let (marked, dropped) = measure(false, true, packets);
            let (_, not_ect) = measure(false, false, packets);
            let (gently_marked, gently_dropped) = measure(true, true, packets);
            let p_b = 0.1 * (f64::from(packets) - 5.0) / 10.0;
            if (5..15).contains(&packets) {
                assert!((marked - 2.0 * p_b).abs() < 0.005, "{packets}: {marked} for p_b = {p_b}");
            }
            curve += &format!(
                "{packets:7}  {marked:11.4} {dropped:7.4}  {not_ect:16.4}  {gently_marked:14.4} {gently_dropped:7.4}\n"
            );
        }
        insta::with_settings!({ snapshot_path => "../../tests/curves", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("red", curve);
        });
    }

    #[test]
    fn each_threshold_is_the_beginning_of_a_zone() {
        // Floyd and Jacobson, figure 1: min_th <= avg < max_th. Gentle RED goes on to twice the upper one.
        for (gentle, average, p_b) in [
            (false, 4.999, None),
            (false, 5.0, Some(0.0)),
            (false, 14.0, Some(0.018)),
            (false, 15.0, Some(1.0)),
            (true, 15.0, Some(0.02)),
            (true, 22.5, Some(0.51)),
            (true, 30.0, Some(1.0)),
        ] {
            let mut red = red(&[("gentle", Value::Switch(gentle)), ("max_probability", Value::Number(0.02))]);
            red.0.average = average;
            let found = match red.0.zone() {
                Zone::Below => None,
                Zone::Between(p_b) => Some(p_b),
                Zone::Above => Some(1.0),
            };
            assert_eq!(found.map(|p_b| (p_b * 1e6f64).round()), p_b.map(|p_b| p_b * 1e6), "{average}");
        }
    }

    #[test]
    fn thresholds_must_differ_and_the_frames_of_an_idle_time_count_whole() {
        let at = |min| [("min_threshold", Value::Packets(min)), ("max_threshold", Value::Packets(15))];
        for (min, fits) in [(14, true), (15, false), (16, false)] {
            assert_eq!(Red::check(&Settings::new(Red::PARAMETERS, at(min)).unwrap()).is_ok(), fits, "{min} and 15");
        }
        // 100 packets of 1500 bytes, each with 38 more on the wire, take 123.04 us at 10 Gbit/s.
        let settings = Settings::new(Red::PARAMETERS, []).unwrap();
        let (rate, stream) = (Rate::from_bps(10_000_000_000), Stream::new(7, "queue/test/red"));
        let mut red = Red::new(&Setup { settings: &settings, rate, framing_bytes: 38, stream });
        for (ns, packets) in [(123_040, 100), (123_039, 99)] {
            (red.0.average, red.0.empty_since) = (10.0, Instant::ZERO);
            red.arrival(&Arrival { now: Instant::ZERO + Duration::from_ns(ns), ..arrival(0) });
            let decayed = 10.0 * 0.998f64.powi(packets);
            assert!((red.0.average - decayed).abs() < 1e-9, "{} for {decayed}", red.0.average);
        }
    }

    #[test]
    fn a_queue_below_the_thresholds_forgets_the_count() {
        let mut red = red(&[("weight", Value::Number(1.0)), ("max_probability", Value::Number(0.04))]);
        red.0.count = 48;
        assert_eq!((red.arrival(&arrival(4)), red.0.count), (Verdict::Accept, -1));
    }
}
