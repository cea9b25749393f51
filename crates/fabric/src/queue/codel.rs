//! Controlled delay: Nichols, Jacobson, McGregor and Iyengar, "Controlled Delay Active Queue Management", RFC 8289.
//!
//! The input is how long packets have waited when a link takes them. Once all have waited for at least `target`, for at
//! least `interval`, one is refused; while this lasts the next is refused after interval / sqrt(count), where count is
//! the number of refusals (section 5.5, the control law). A packet that has waited less ends it, and so does a queue
//! with at most one full packet. If it begins again soon, within 16 intervals, it continues with nearly the previous
//! rate. Refused means marked if the packet is ECN-capable and `ecn` is on, and dropped otherwise.
//!
//! What the RFC leaves open is done as Linux 6.1 does it (`sch_codel`):
//! * The square root is a single step of Newton's method from the value for the count before, with 16 bits: after the
//!   second refusal the next is due after 0.5 intervals, not 0.71. `exact_root` takes the root itself.
//! * The clock has ticks of 1024 ns.
//!
//! And otherwise:
//! * A full packet is the largest one that has left so far; Linux takes the device's MTU.
//! * Packets that came back are not seen.
//!
//! Checked by the worked numbers below, and decision by decision against `sch_codel` of Linux 6.1.192 on drawn loads
//! (`tools/disciplines-of-linux`, `tests/of_linux.rs`).

use daybreak_units::Instant;
use daybreak_units::parameters::{Parameter, Settings};

use super::{Arrival, Discipline, Leaving, Setup, Verdict};

/// Times in microseconds, as a Parameter has them in picoseconds.
const US: u64 = 1_000_000;
const TARGET_US: u64 = 5_000;
const INTERVAL_US: u64 = 100_000;
const TICK_PS: u64 = 1_024_000;
/// Intervals within which refusing goes on where it ended.
const RECENT: u64 = 16;
/// Bits of the inverse root behind the point.
const BITS: u32 = 16;

/// A queue's control law. Boxed, so that plainer queues stay small.
#[derive(Debug)]
pub(crate) struct CoDel(Box<(Targets, Law)>);

/// The targets, common to all sub-queues of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    /// Times are in ticks.
    target: u64,
    interval: u64,
    ecn: bool,
    exact_root: bool,
    /// Largest packet so far.
    full_packet: u32,
}

/// The state of the control law.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Law {
    /// When packets will have waited too long for an interval; none while they do not. Times are in ticks.
    above_until: Option<u64>,
    /// Packets are being refused.
    refuses: bool,
    /// When the next refusal is due.
    next: u64,
    /// The previous packet was dropped: if this one has waited too long as well, the next time is due.
    dropped: bool,
    count: u32,
    /// `count` when this state began.
    first_count: u32,
    /// 1 / sqrt(count), about.
    inverse_root: u64,
}

pub(super) const TARGET: Parameter =
    Parameter::time("target", TARGET_US * US, (US, 1_000_000 * US), "waiting time that is good");
pub(super) const INTERVAL: Parameter =
    Parameter::time("interval", INTERVAL_US * US, (US, 10_000_000 * US), "time for which it may be longer");
pub(super) const EXACT_ROOT: Parameter =
    Parameter::switch("exact_root", false, "take the square root of the RFC, not the one of Linux");

/// The tick in which a time lies.
fn tick(time: Instant) -> u64 {
    time.as_ps() / TICK_PS
}

impl Discipline for CoDel {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str = "controlled delay (RFC 8289), marking or dropping packets that leave";
    const PARAMETERS: &'static [Parameter] = &[
        TARGET,
        INTERVAL,
        Parameter::switch("ecn", false, "mark ECN-capable packets instead of dropping them"),
        EXACT_ROOT,
    ];
    const SEES_EVERY_ARRIVAL: bool = false;
    const SEES_DEPARTURES: bool = true;
    const SETTLES_ON_ARRIVAL: bool = false;
    const MARKS: bool = true;

    fn check(settings: &Settings) -> Result<(), String> {
        Targets::check(settings)
    }

    fn new(setup: &Setup) -> Self {
        Self(Box::new((Targets::new(setup.settings), Law::default())))
    }

    fn configure(&mut self, settings: &Settings) {
        self.0.0.configure(settings);
    }

    #[inline]
    fn arrival(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Accept
    }

    fn departure(&mut self, leaving: &Leaving) -> Verdict {
        let (targets, law) = &mut *self.0;
        law.departure(targets, leaving)
    }
}

impl Targets {
    pub(super) fn check(settings: &Settings) -> Result<(), String> {
        let (target, interval) = (settings.time("target"), settings.time("interval"));
        if target > interval {
            return Err(format!("parameter \"target\" is {target}: expected at most the interval, {interval}"));
        }
        Ok(())
    }

    pub(super) fn new(settings: &Settings) -> Self {
        let mut made = Self { target: 0, interval: 0, ecn: false, exact_root: false, full_packet: 0 };
        made.configure(settings);
        made
    }

    pub(super) fn configure(&mut self, settings: &Settings) {
        self.target = settings.time("target").as_ps() / TICK_PS;
        self.interval = settings.time("interval").as_ps() / TICK_PS;
        self.ecn = settings.switch("ecn");
        self.exact_root = settings.switch("exact_root");
    }

    fn refusal(&self, leaving: &Leaving) -> Verdict {
        if self.ecn && leaving.is_ect { Verdict::Mark } else { Verdict::Drop }
    }
}

impl Law {
    pub(super) fn departure(&mut self, targets: &mut Targets, leaving: &Leaving) -> Verdict {
        targets.full_packet = targets.full_packet.max(leaving.bytes);
        let targets = &*targets;
        let now = tick(leaving.now);
        let is_due = self.has_waited_long(targets, leaving, now);
        if std::mem::take(&mut self.dropped) && is_due {
            self.next = self.after(targets, self.next);
        }
        if !is_due {
            self.refuses = false;
            return Verdict::Accept;
        }
        if !self.refuses {
            self.begin(targets, now);
            return targets.refusal(leaving);
        }
        if now < self.next {
            return Verdict::Accept;
        }
        self.count = self.count.wrapping_add(1);
        self.step();
        let verdict = targets.refusal(leaving);
        match verdict {
            Verdict::Drop => self.dropped = true,
            _ => self.next = self.after(targets, self.next),
        }
        verdict
    }

    /// The queue was empty when a link was ready.
    pub(super) fn is_empty(&mut self) {
        *self = Self { above_until: None, refuses: false, dropped: false, ..*self };
    }

    /// Packets were dropped since the queue was full, which strengthens the signal by as many.
    pub(super) fn add_to_count(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// Whether packets have waited too long for an interval.
    fn has_waited_long(&mut self, targets: &Targets, leaving: &Leaving, now: u64) -> bool {
        let waited = now - tick(leaving.now - leaving.waited);
        if waited < targets.target || leaving.behind <= u64::from(targets.full_packet) {
            self.above_until = None;
            return false;
        }
        now > *self.above_until.get_or_insert(now + targets.interval)
    }

    /// Packets are refused from now on.
    fn begin(&mut self, targets: &Targets, now: u64) {
        self.refuses = true;
        let more = self.count.wrapping_sub(self.first_count);
        let has_refused = self.next > 0;
        if has_refused && more > 1 && now < self.next + RECENT * targets.interval {
            self.count = more;
            self.step();
        } else {
            self.count = 1;
            self.inverse_root = (1 << BITS) - 1;
        }
        self.first_count = self.count;
        self.next = self.after(targets, now);
    }

    /// Newton's method for v = 1 / sqrt(count), a step from the value before: v (3 - count v^2) / 2, in the words of
    /// Linux. Where `count` has leapt the difference is negative, and what comes of it is as arbitrary as there.
    fn step(&mut self) {
        let (count, root) = (u64::from(self.count), self.inverse_root);
        let difference = (3_u64 << (2 * BITS)).wrapping_sub(count.wrapping_mul(root * root));
        self.inverse_root =
            ((difference >> 2).wrapping_mul(root << BITS) >> (2 * BITS - 1) >> BITS) & ((1 << BITS) - 1);
    }

    /// The control law: when the next packet is due after one that was at `time`.
    fn after(&self, targets: &Targets, time: u64) -> u64 {
        if targets.exact_root {
            return time + (targets.interval as f64 / f64::from(self.count).sqrt()) as u64;
        }
        time + ((targets.interval * self.inverse_root) >> BITS)
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::parameters::Value;
    use daybreak_units::{Duration, Rate, Stream};

    use super::*;

    const MS: u64 = 1_000;

    fn discipline(given: &[(&str, Value)]) -> CoDel {
        let settings = Settings::new(CoDel::PARAMETERS, given.iter().copied()).unwrap();
        let stream = Stream::new(1, "test");
        CoDel::new(&Setup { settings: &settings, rate: Rate::from_bps(1 << 30), framing_bytes: 0, stream })
    }

    /// A full packet that leaves at a time in microseconds, after a wait, with `behind` others like it in the queue.
    fn leaves(discipline: &mut CoDel, at_us: u64, waited_us: u64, behind: u64) -> Verdict {
        discipline.departure(&Leaving {
            now: Instant::ZERO + Duration::from_us(at_us),
            waited: Duration::from_us(waited_us),
            bytes: 1_500,
            behind: 1_500 * behind,
            is_ect: true,
        })
    }

    /// When packets are refused, in milliseconds, of those that leave each millisecond after having waited for 20 ms.
    fn refused(discipline: &mut CoDel, ms: std::ops::Range<u64>) -> Vec<u64> {
        ms.filter(|&at| leaves(discipline, at * MS, 20 * MS, 9) != Verdict::Accept).collect()
    }

    #[test]
    fn the_interval_falls_with_the_root_of_the_count() {
        let mut exact = discipline(&[("exact_root", Value::Switch(true))]);
        // 100, then 100 / 1, / 1.414, / 1.732, / 2, / 2.236, each from when the one before was due.
        assert_eq!(refused(&mut exact, 1_000..1_500), [1_101, 1_201, 1_272, 1_330, 1_380, 1_425, 1_465]);
        // Newton's method: 100 / 1, / 2, / 1.778, / 2.05, / 2.24.
        assert_eq!(
            refused(&mut discipline(&[]), 1_000..1_500),
            [1_101, 1_201, 1_251, 1_308, 1_357, 1_401, 1_441, 1_479]
        );
    }

    #[test]
    fn one_good_packet_ends_it_and_it_soon_goes_on_at_its_rate() {
        let mut codel = discipline(&[("exact_root", Value::Switch(true))]);
        assert_eq!(refused(&mut codel, 1_000..1_500).len(), 7);
        assert_eq!(leaves(&mut codel, 1_500 * MS, 4_900, 9), Verdict::Accept);
        // Count was 7 and began at 1: it begins at 6, 100 / 2.449 = 41 ms.
        assert_eq!(refused(&mut codel, 1_501..1_650), [1_602, 1_643]);
        // 16 intervals later it begins anew.
        assert_eq!(leaves(&mut codel, 1_650 * MS, 4_900, 9), Verdict::Accept);
        assert_eq!(refused(&mut codel, 3_400..3_700), [3_501, 3_601, 3_672]);
    }

    #[test]
    fn sixteen_intervals_after_the_next_was_due_it_begins_anew() {
        // `codel_dequeue` goes on at the old rate before that tick, and not in it.
        for (early, count) in [(1, 6), (0, 1)] {
            let mut codel = discipline(&[("exact_root", Value::Switch(true))]);
            assert_eq!(refused(&mut codel, 1_000..1_500).len(), 7);
            assert_eq!(leaves(&mut codel, 1_500 * MS, 4_900, 9), Verdict::Accept);
            let (interval, next) = (codel.0.0.interval, codel.0.1.next);
            assert_eq!(interval, 97_656, "100 ms in ticks");
            let begins = next + 16 * interval - early;
            let us = |tick: u64| (tick * 1_024).div_ceil(1_000);
            assert_eq!(leaves(&mut codel, us(begins - interval - 1), 20 * MS, 9), Verdict::Accept);
            assert_ne!(leaves(&mut codel, us(begins), 20 * MS, 9), Verdict::Accept);
            assert_eq!((codel.0.1.count, codel.0.1.first_count), (count, count), "{early} ticks before");
        }
    }

    #[test]
    fn a_queue_of_one_full_packet_is_never_too_long() {
        let mut codel = discipline(&[]);
        assert!((1_000..2_000).all(|at| leaves(&mut codel, at * MS, 500 * MS, 1) == Verdict::Accept));
        assert!(!refused(&mut codel, 2_000..2_200).is_empty());
    }

    #[test]
    fn what_is_refused_is_marked_where_that_is_on() {
        for (ecn, verdict) in [(true, Verdict::Mark), (false, Verdict::Drop)] {
            let mut codel = discipline(&[("ecn", Value::Switch(ecn))]);
            assert!(refused(&mut codel, 1_000..1_101).is_empty());
            assert_eq!(leaves(&mut codel, 1_101 * MS, 20 * MS, 9), verdict);
        }
    }

    #[test]
    fn the_target_is_no_longer_than_the_interval() {
        let given = [("target", Value::Ps(2 * US)), ("interval", Value::Ps(US))];
        let settings = Settings::new(CoDel::PARAMETERS, given).unwrap();
        assert!(CoDel::check(&settings).unwrap_err().starts_with("parameter \"target\" is"));
    }

    /// Refusals so far of packets that leave each millisecond after having waited for 20 ms, with the root of Linux and
    /// that of the RFC, and with a good packet every 400 ms.
    #[test]
    fn refusals_over_time() {
        let exact = ("exact_root", Value::Switch(true));
        let mut disciplines = [discipline(&[]), discipline(&[exact]), discipline(&[exact])];
        let mut refused = [0; 3];
        let mut curve = String::from("    ms  of Linux  of the RFC  with good packets\n");
        for ms in 1_000..3_000 {
            for (index, codel) in disciplines.iter_mut().enumerate() {
                let waited = if index == 2 && ms % 400 == 0 { 4 } else { 20 };
                refused[index] += u32::from(leaves(codel, ms * MS, waited * MS, 9) != Verdict::Accept);
            }
            if ms % 100 == 99 {
                curve += &format!("{ms:6}  {:8}  {:10}  {:17}\n", refused[0], refused[1], refused[2]);
            }
        }
        insta::with_settings!({ snapshot_path => "../../tests/curves", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("codel", curve);
        });
    }

    #[test]
    fn settings_may_change_while_packets_wait() {
        let mut codel = discipline(&[]);
        let given = [("target", Value::Ps(7_000_000_000)), ("ecn", Value::Switch(false))];
        codel.configure(&Settings::new(CoDel::PARAMETERS, given).unwrap());
        assert_eq!((codel.0.0.target, codel.0.0.ecn), (7_000_000_000 / TICK_PS, false));
    }

    #[test]
    fn an_empty_queue_ends_the_refusals_and_what_they_owe() {
        let mut law = Law { above_until: Some(9), refuses: true, dropped: true, count: 7, ..Law::default() };
        law.is_empty();
        assert_eq!((law.above_until, law.refuses, law.dropped, law.count), (None, false, false, 7));
    }

    #[test]
    fn one_refusal_since_the_last_beginning_is_no_reason_to_go_on_with_its_rate() {
        // codel_dequeue(): "if (delta > 1 && ...)"; else 1 / sqrt(1) is taken as all ones.
        let targets = Targets { target: 5, interval: 100, ecn: false, exact_root: false, full_packet: 0 };
        for (count, becomes, all_ones) in [(5, 1, true), (6, 1, true), (7, 2, false)] {
            let mut law = Law { count, first_count: 5, next: 1_000, inverse_root: 30_000, ..Law::default() };
            law.begin(&targets, 1_001);
            assert_eq!((law.count, law.inverse_root == (1 << BITS) - 1), (becomes, all_ones), "{count}");
        }
    }
}
