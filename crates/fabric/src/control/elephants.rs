//! Detects elephant flows, and moves them to light-paths.
//!
//! **Models** the self-management of hybrid optical and packet networks: a network manager reads the byte counters of
//! the switches' flow rules at fixed times, classifies a flow as an elephant when its rate has reached a threshold for
//! some time, and sets up a light-path for it, if there is one; it takes the light-path back when the flow is complete
//! or has been slower than a second threshold for some time. If light-paths are scarce, a higher priority goes first,
//! then a higher rate. A rate is that of the IP bytes between two readings. **Does not model** the time that a reading
//! takes to get to the manager: add it to the set-up time.

use std::cmp::Reverse;

use daybreak_units::parameters::{Kind, Parameter, Settings, Value};
use daybreak_units::{Duration, Instant};

use super::entry::{Controls, Entry};
use super::grants::{Flows, Grants, State, holder};
use super::{Controller, Counters, Orders};

/// The entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "elephants",
    summary: "moves flows that carry much to light-paths, as their byte counters show",
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Rate { least: 1, most: 10_000_000_000_000 },
            default: None,
            summary: "a flow of at least this rate is an elephant",
        },
        Parameter {
            name: "duration",
            kind: Kind::Time { least: 0, most: 1_000_000_000_000_000_000 },
            default: Some(Value::Ps(0)),
            summary: "time for which a flow must have had that rate",
        },
        Parameter {
            name: "interval",
            kind: Kind::Time { least: 1_000_000, most: 1_000_000_000_000_000_000 },
            default: Some(Value::Ps(100_000_000_000)),
            summary: "time between two readings of the counters",
        },
        Parameter {
            name: "release_threshold",
            kind: Kind::Rate { least: 0, most: 10_000_000_000_000 },
            default: Some(Value::Bps(0)),
            summary: "a flow below this rate gives its light-path back; at most threshold",
        },
        Parameter {
            name: "release_duration",
            kind: Kind::Time { least: 0, most: 1_000_000_000_000_000_000 },
            default: Some(Value::Ps(0)),
            summary: "time for which it must have been below that rate",
        },
        Parameter::switch(
            "preempt",
            false,
            "an elephant takes the light-path of a flow of lower priority if none is free",
        ),
    ],
    check,
    controls: Controls::Flows(|settings, flows| Box::new(Elephants::new(settings, flows))),
};

fn check(settings: &Settings) -> Result<(), String> {
    let (threshold, release) = (settings.value("threshold"), settings.value("release_threshold"));
    if settings.whole("release_threshold") > settings.whole("threshold") {
        return Err(format!("release_threshold is {release}: expected at most the threshold of {threshold}"));
    }
    Ok(())
}

#[derive(Debug)]
struct Elephants {
    threshold: u64,
    duration: Duration,
    interval: Duration,
    release_threshold: u64,
    release_duration: Duration,
    preempt: bool,
    grants: Grants,
    /// The state of each flow.
    seen: Vec<Seen>,
    next_reading: Instant,
}

/// The state of a flow, from the readings.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// It has started and is not complete.
    is_active: bool,
    /// Its counter at the last reading.
    bytes: u64,
    /// IP bytes between the last two readings.
    recent: u64,
    /// Since when its rate has been at or above the threshold.
    fast_since: Option<Instant>,
    /// Since when it has been below the release threshold, on its light-path.
    slow_since: Option<Instant>,
    /// It had its light-path for the whole time between the last two readings.
    had_path: bool,
    /// It is an elephant, and this is reported.
    is_elephant: bool,
}

impl Elephants {
    fn new(settings: &Settings, flows: Flows) -> Self {
        let interval = settings.time("interval");
        Self {
            threshold: settings.whole("threshold"),
            duration: settings.time("duration"),
            interval,
            release_threshold: settings.whole("release_threshold"),
            release_duration: settings.time("release_duration"),
            preempt: settings.switch("preempt"),
            seen: vec![Seen::default(); flows.flows.len()],
            grants: Grants::new(flows),
            next_reading: Instant::ZERO + interval,
        }
    }

    /// Whether `bytes` in an interval are at least this rate.
    fn reaches(&self, bytes: u64, rate_bps: u64) -> bool {
        const PS_PER_S: u128 = 1_000_000_000_000;
        8 * u128::from(bytes) * PS_PER_S >= u128::from(rate_bps) * u128::from(self.interval.as_ps())
    }

    fn read(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders) {
        for place in 0..self.seen.len() {
            let Some(&rule) = self.grants.flows[place].route_switches.first() else { continue };
            let bytes = counters.route_switch(rule).bytes;
            let before = self.seen[place];
            let recent = bytes - before.bytes;
            let began = now - self.interval;
            let is_fast = before.is_active && self.reaches(recent, self.threshold);
            let has_path = matches!(self.grants.of_flow(place as u32), Some(State::InForce { .. }));
            let is_slow = before.had_path && has_path && !self.reaches(recent, self.release_threshold);
            let fast_since = is_fast.then(|| before.fast_since.unwrap_or(began));
            let seen = &mut self.seen[place];
            *seen = Seen {
                is_active: before.is_active,
                bytes,
                recent,
                fast_since,
                slow_since: is_slow.then(|| before.slow_since.unwrap_or(began)),
                had_path: has_path,
                is_elephant: fast_since.is_some_and(|since| now - since >= self.duration),
            };
            if seen.is_elephant && !before.is_elephant && !has_path {
                self.grants.request(place as u32, orders);
            }
        }
    }

    fn release_slow_flows(&mut self, now: Instant, orders: &mut Orders) {
        for place in 0..self.seen.len() {
            if self.seen[place].slow_since.is_some_and(|since| now - since >= self.release_duration) {
                self.grants.release(place as u32, orders);
                self.seen[place].slow_since = None;
            }
        }
    }

    fn move_elephants(&mut self, now: Instant, orders: &mut Orders) {
        let waits = |&place: &u32| self.seen[place as usize].is_elephant && self.grants.of_flow(place).is_none();
        let mut waiting: Vec<u32> = (0..self.seen.len() as u32).filter(waits).collect();
        waiting.sort_by_key(|&place| (Reverse(self.priority(place)), Reverse(self.seen[place as usize].recent)));
        for place in waiting {
            if !self.grants.has_free_path()
                && let Some(other) = self.outranked_by(place)
            {
                self.grants.release(other, orders);
            }
            if self.grants.has_free_path() {
                self.grants.grant(now, place, orders);
            }
        }
    }

    fn priority(&self, place: u32) -> u32 {
        self.grants.flows[place as usize].priority
    }

    /// The flow with a light-path that has to give it to this one: the slowest of the lowest priority.
    fn outranked_by(&self, place: u32) -> Option<u32> {
        let holders = self.grants.states().filter_map(holder).filter(|_| self.preempt);
        let last = holders.min_by_key(|&other| (self.priority(other), self.seen[other as usize].recent, other));
        last.filter(|&other| self.priority(other) < self.priority(place))
    }
}

impl Controller for Elephants {
    fn next_at(&self) -> Instant {
        self.next_reading.min(self.grants.next_at())
    }

    fn advance(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders) {
        self.grants.advance(now, orders);
        if self.next_reading <= now {
            self.next_reading = now + self.interval;
            self.read(now, counters, orders);
            self.release_slow_flows(now, orders);
            self.move_elephants(now, orders);
        }
    }

    fn flow_started(&mut self, _now: Instant, flow: u32, _orders: &mut Orders) {
        self.seen[flow as usize].is_active = true;
    }

    fn flow_ended(&mut self, _now: Instant, flow: u32, orders: &mut Orders) {
        self.seen[flow as usize].is_active = false;
        self.grants.release(flow, orders);
    }
}

#[cfg(test)]
mod tests {
    use daybreak_trace::ControlEvent::{self, InForce, Released, Requested, SettingUp};

    use super::*;
    use crate::circuit::Downtime;
    use crate::control::ControlledFlow;
    use crate::control::testing::{Bytes, decisions};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn flows(priorities: &[u32], paths: u32, setup_ms: u64) -> Flows {
        let flow = |(place, &priority): (u32, &u32)| ControlledFlow {
            flow: place,
            route_switches: vec![place],
            bytes: None,
            priority,
            deadline: None,
        };
        let flows = (0..).zip(priorities).map(flow).collect();
        Flows { flows, paths, setup: Duration::from_ms(setup_ms), downtime: Downtime::Hold }
    }

    /// A manager that reads every 10 ms and takes flows of 8 Mbit/s, which is 10,000 bytes between two readings, for
    /// elephants.
    fn manager(more: &[(&str, Value)], flows: Flows) -> Elephants {
        let given = [("threshold", Value::Bps(8_000_000)), ("interval", Value::Ps(10_000_000_000))];
        let settings = ENTRY.settings(given.into_iter().chain(more.iter().copied())).unwrap();
        let mut made = Elephants::new(&settings, flows);
        for flow in 0..made.seen.len() as u32 {
            made.flow_started(at(0), flow, &mut Orders::default());
        }
        made
    }

    type Seen = (u64, ControlEvent, u32, u32);

    /// What is decided, at which ms, when each row is what the flows have carried before one reading.
    fn decided(manager: &mut Elephants, carried: &[&[u64]]) -> Vec<Seen> {
        let (mut totals, mut found) = (vec![0; manager.seen.len()], Vec::new());
        let mut orders = Orders::default();
        for row in carried {
            let reading = manager.next_reading;
            while manager.next_at() < reading {
                let now = manager.next_at();
                manager.advance(now, &Bytes(&totals), &mut orders);
                found.extend(told(now, &mut orders));
            }
            totals.iter_mut().zip(*row).for_each(|(total, bytes)| *total += bytes);
            manager.advance(reading, &Bytes(&totals), &mut orders);
            found.extend(told(reading, &mut orders));
        }
        found
    }

    fn told(now: Instant, orders: &mut Orders) -> Vec<Seen> {
        let told = decisions(orders).into_iter();
        told.map(|(event, flow, path)| (now.as_us() / 1_000, event, flow.unwrap(), path)).collect()
    }

    #[test]
    fn a_flow_is_moved_when_it_has_been_fast_for_long_enough() {
        let mut manager = manager(&[("duration", Value::Ps(20_000_000_000))], flows(&[0], 2, 3));
        let carried: [&[u64]; 6] = [&[10_000], &[9_999], &[10_000], &[10_000], &[10_000], &[0]];
        let expected = [(40, Requested, 0, 0), (40, SettingUp, 0, 1), (43, InForce, 0, 1)];
        assert_eq!(decided(&mut manager, &carried), expected);
    }

    #[test]
    fn a_flow_that_starves_gives_its_light_path_back() {
        let more = [("release_threshold", Value::Bps(4_000_000)), ("release_duration", Value::Ps(20_000_000_000))];
        let mut manager = manager(&more, flows(&[0], 2, 0));
        // Between the thresholds it keeps the light-path; below the lower one not for long.
        let carried: [&[u64]; 8] = [&[10_000], &[0], &[5_000], &[4_999], &[5_000], &[4_999], &[4_999], &[4_999]];
        let expected = [(10, Requested, 0, 0), (10, InForce, 0, 1), (70, Released, 0, 1)];
        assert_eq!(decided(&mut manager, &carried), expected);
    }

    #[test]
    fn a_flow_is_not_slow_before_it_has_had_its_light_path_between_two_readings() {
        let more = [("release_threshold", Value::Bps(4_000_000))];
        let mut manager = manager(&more, flows(&[0], 2, 13));
        // Nothing passes while the light-path is set up, until 23 ms, nor after: 30 to 40 ms is what is judged first.
        let expected = [(10, Requested, 0, 0), (10, SettingUp, 0, 1), (23, InForce, 0, 1), (40, Released, 0, 1)];
        assert_eq!(decided(&mut manager, &[&[10_000], &[0], &[0], &[0]]), expected);
    }

    #[test]
    fn few_light_paths_go_to_the_highest_priority_and_then_to_the_fastest() {
        let mut manager = manager(&[], flows(&[0, 0, 1, 0], 3, 0));
        let rows: [&[u64]; 1] = [&[20_000, 30_000, 10_000, 9_000]];
        let seen = decided(&mut manager, &rows);
        let asked: Vec<u32> = seen.iter().filter(|one| one.1 == Requested).map(|one| one.2).collect();
        let moved: Vec<(u32, u32)> = seen.iter().filter(|one| one.1 == InForce).map(|one| (one.2, one.3)).collect();
        assert_eq!((asked, moved), (vec![0, 1, 2], vec![(2, 1), (1, 2)]));
        // When one is complete the next reading gives its light-path away.
        let mut orders = Orders::default();
        manager.flow_ended(at(12), 2, &mut orders);
        assert_eq!(told(at(12), &mut orders), [(12, Released, 2, 1)]);
        let totals = [40_000, 60_000, 10_000, 18_000];
        manager.advance(at(20), &Bytes(&totals), &mut orders);
        assert_eq!(told(at(20), &mut orders), [(20, InForce, 0, 1)]);
    }

    #[test]
    fn a_higher_priority_takes_a_light_path_only_where_it_may() {
        let rows: [&[u64]; 2] = [&[10_000, 11_000, 0], &[10_000, 11_000, 10_000]];
        let mut polite = manager(&[], flows(&[0, 0, 1], 3, 0));
        assert!(decided(&mut polite, &rows).iter().all(|one| one.1 != Released));
        let mut equal = manager(&[("preempt", Value::Switch(true))], flows(&[1, 1, 1], 3, 0));
        assert!(decided(&mut equal, &rows).iter().all(|one| one.1 != Released));
        let mut pushing = manager(&[("preempt", Value::Switch(true))], flows(&[0, 0, 1], 3, 0));
        let seen = decided(&mut pushing, &rows);
        assert_eq!(seen[4..], [(20, Requested, 2, 0), (20, Released, 0, 2), (20, InForce, 2, 2)]);
    }

    #[test]
    fn thresholds_that_do_not_go_together_are_refused() {
        let given = [("threshold", Value::Bps(5)), ("release_threshold", Value::Bps(6))];
        assert!(ENTRY.settings(given).unwrap_err().to_string().contains("expected at most the threshold of 5 bit/s"));
    }

    #[test]
    fn the_thresholds_may_be_the_same() {
        for (release, fits) in [(9_999, true), (10_000, true), (10_001, false)] {
            let given = [("threshold", Value::Bps(10_000)), ("release_threshold", Value::Bps(release))];
            assert_eq!(ENTRY.settings(given).is_ok(), fits, "{release} and 10000");
        }
    }
}
