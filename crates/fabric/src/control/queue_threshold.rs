//! Opens a circuit when a queue becomes long, and closes it when the queue is short again.
//!
//! **Models** a control loop as in c-Through (Wang et al., SIGCOMM 2010) and Helios (Farrington et al., SIGCOMM 2010),
//! which use the queue for a circuit as its demand: the lengths are read at fixed times, a circuit takes a while to be
//! set up, and the two thresholds keep it from flapping. **Does not model** the time that a reading takes to get to the
//! controller: add it to the set-up time. Several queues count together.

use daybreak_trace::ControlEvent;
use daybreak_units::parameters::{Kind, Parameter, Settings, Value};
use daybreak_units::{Duration, Instant};

use super::entry::{Controls, Entry};
use super::{Circuit, Controller, Counters, Decision, Orders, Report};

/// The entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "queue_threshold",
    summary: "opens the circuit when the watched queues are long, closes it when they are short again",
    parameters: &[
        Parameter {
            name: "high_threshold",
            kind: Kind::Length { least: 1, most: 1 << 40 },
            default: None,
            summary: "the circuit is set up when at least this much is queued",
        },
        Parameter {
            name: "low_threshold",
            kind: Kind::Length { least: 1, most: 1 << 40 },
            default: None,
            summary: "the circuit is closed when less than this waits; at most high_threshold",
        },
        Parameter {
            name: "interval",
            kind: Kind::Time { least: 100_000, most: 1_000_000_000_000_000_000 },
            default: Some(Value::Ps(10_000_000)),
            summary: "time between two looks at the queues",
        },
        Parameter {
            name: "least_open",
            kind: Kind::Time { least: 0, most: 1_000_000_000_000_000_000 },
            default: Some(Value::Ps(0)),
            summary: "time for which the circuit stays open at least",
        },
    ],
    check,
    controls: Controls::Circuit(|settings, circuit| Box::new(QueueThreshold::new(settings, circuit))),
};

fn check(settings: &Settings) -> Result<(), String> {
    let (high, low) = (settings.value("high_threshold"), settings.value("low_threshold"));
    if std::mem::discriminant(&high) != std::mem::discriminant(&low) {
        return Err(format!("high_threshold is {high} and low_threshold is {low}: expected the same unit"));
    }
    if settings.whole("low_threshold") > settings.whole("high_threshold") {
        return Err(format!("low_threshold is {low}: expected at most the high_threshold of {high}"));
    }
    Ok(())
}

/// The controller.
#[derive(Debug)]
struct QueueThreshold {
    circuit: Circuit,
    high: Value,
    low: Value,
    interval: Duration,
    least_open: Duration,
    state: State,
    /// The next look at the queues.
    look: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// As a fabric starts, with all gates open.
    Unknown,
    Closed,
    SettingUp {
        until: Instant,
    },
    Open {
        since: Instant,
    },
}

impl QueueThreshold {
    fn new(settings: &Settings, circuit: Circuit) -> Self {
        Self {
            circuit,
            high: settings.value("high_threshold"),
            low: settings.value("low_threshold"),
            interval: settings.time("interval"),
            least_open: settings.time("least_open"),
            state: State::Unknown,
            look: Instant::ZERO,
        }
    }

    /// The occupancy in the unit of the thresholds, and the thresholds.
    fn lengths(&self, counters: &dyn Counters) -> (u64, u64, u64) {
        let waiting = self.circuit.queues.iter().map(|&queue| counters.queue(queue));
        match (self.high, self.low) {
            (Value::Bytes(high), Value::Bytes(low)) => (waiting.map(|queue| queue.bytes).sum(), high, low),
            (Value::Packets(high), Value::Packets(low)) => {
                (waiting.map(|queue| u64::from(queue.packets)).sum(), high, low)
            }
            (high, low) => unreachable!("thresholds of {high} and {low} were checked"),
        }
    }

    fn look(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders) {
        self.look = now + self.interval;
        let (waiting, high, low) = self.lengths(counters);
        match self.state {
            State::Closed if waiting >= high => {
                self.state = State::SettingUp { until: now + self.circuit.setup };
                report(orders, ControlEvent::SettingUp);
            }
            State::Open { since } if waiting < low && now >= since + self.least_open => {
                self.close(orders);
            }
            State::Unknown | State::Closed | State::SettingUp { .. } | State::Open { .. } => {}
        }
    }

    fn close(&mut self, orders: &mut Orders) {
        self.state = State::Closed;
        orders.actions.extend_from_slice(&self.circuit.close);
        report(orders, ControlEvent::Released);
    }
}

fn report(orders: &mut Orders, event: ControlEvent) {
    orders.reports.push(Report::Decision(Decision { event, flow: None, path: 0 }));
}

impl Controller for QueueThreshold {
    fn next_at(&self) -> Instant {
        match self.state {
            State::SettingUp { until } => until.min(self.look),
            State::Unknown | State::Closed | State::Open { .. } => self.look,
        }
    }

    fn advance(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders) {
        if self.state == State::Unknown {
            self.close(orders);
        }
        if self.look <= now {
            self.look(now, counters, orders);
        }
        if let State::SettingUp { until } = self.state
            && until <= now
        {
            self.state = State::Open { since: now };
            orders.actions.extend_from_slice(&self.circuit.open);
            report(orders, ControlEvent::InForce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Action;
    use crate::control::testing::Waiting;

    const US: u64 = 1_000_000;

    fn controller(given: &[(&str, Value)], setup_us: u64) -> QueueThreshold {
        let settings = ENTRY.settings(given.iter().copied()).unwrap();
        let open = vec![Action::OpenGate { queue: 0, link: 1 }];
        let close = vec![Action::CloseGate { queue: 0, link: 1, downtime: crate::circuit::Downtime::Hold }];
        let circuit = Circuit { queues: vec![0, 1], open, close, setup: Duration::from_us(setup_us) };
        QueueThreshold::new(&settings, circuit)
    }

    /// What is reported when the queues, watched every 10 us from time 0 on, are so long together.
    fn reports(controller: &mut QueueThreshold, lengths: &[u64]) -> Vec<(u64, ControlEvent)> {
        let mut found = Vec::new();
        while controller.next_at().as_us() < 10 * lengths.len() as u64 {
            let now = controller.next_at();
            let mut orders = Orders::default();
            // One of the two queues has one packet more than the other, of 1500 bytes each.
            let waiting = Waiting(lengths[(now.as_us() / 10) as usize]);
            controller.advance(now, &waiting, &mut orders);
            for report in orders.reports {
                let Report::Decision(decision) = report else { panic!("{report:?} is of a timeline") };
                assert_eq!((decision.flow, decision.path), (None, 0));
                let changes = orders.actions.len();
                assert_eq!(changes, usize::from(decision.event != ControlEvent::SettingUp));
                found.push((now.as_us(), decision.event));
            }
        }
        found
    }

    #[test]
    fn the_circuit_is_set_up_at_the_high_threshold_and_closed_at_the_low_one() {
        use ControlEvent::{InForce, Released, SettingUp};
        let given = [("high_threshold", Value::Packets(8)), ("low_threshold", Value::Packets(4))];
        let seen = reports(&mut controller(&given, 14), &[0, 7, 8, 4, 4, 3, 7, 9, 1, 1]);
        let expected = [
            (0, Released),
            (20, SettingUp),
            (34, InForce),
            (50, Released),
            (70, SettingUp),
            (84, InForce),
            (90, Released),
        ];
        assert_eq!(seen, expected);
        let bytes = [("high_threshold", Value::Bytes(12_000)), ("low_threshold", Value::Bytes(6_000))];
        assert_eq!(reports(&mut controller(&bytes, 14), &[0, 7, 8, 4, 4, 3, 7, 9, 1, 1]), expected);
    }

    #[test]
    fn the_circuit_stays_open_for_its_least_time() {
        use ControlEvent::{Released, SettingUp};
        let given = [
            ("high_threshold", Value::Packets(2)),
            ("low_threshold", Value::Packets(1)),
            ("least_open", Value::Ps(25 * US)),
        ];
        let mut controller = controller(&given, 0);
        let mut orders = Orders::default();
        for at in [0, 10, 20, 30, 40] {
            let now = Instant::ZERO + Duration::from_us(at);
            controller.advance(now, &Waiting(if at == 10 { 5 } else { 0 }), &mut orders);
        }
        let events = orders.reports;
        assert_eq!(events.len(), 4, "closed at the start, set up and open at 10 us, closed at 40 us: {events:?}");
        assert_eq!(controller.state, State::Closed);
        let Report::Decision(second) = events[1] else { panic!("a decision") };
        assert_eq!(second.event, SettingUp);
        assert_eq!(events[3], Report::Decision(Decision { event: Released, flow: None, path: 0 }));
    }

    #[test]
    fn the_least_time_counts_from_when_the_circuit_is_there() {
        use ControlEvent::{InForce, Released, SettingUp};
        let given = [
            ("high_threshold", Value::Packets(2)),
            ("low_threshold", Value::Packets(1)),
            ("least_open", Value::Ps(25 * US)),
        ];
        // Decided at 10 us and there at 24: 49 us is over at the look of 50, and was not at that of 40.
        let seen = reports(&mut controller(&given, 14), &[0, 5, 0, 0, 0, 0, 0]);
        assert_eq!(seen, [(0, Released), (10, SettingUp), (24, InForce), (50, Released)]);
    }

    #[test]
    fn thresholds_that_do_not_go_together_are_refused() {
        let refused =
            |high, low| ENTRY.settings([("high_threshold", high), ("low_threshold", low)]).unwrap_err().to_string();
        assert!(refused(Value::Packets(5), Value::Packets(6)).contains("expected at most the high_threshold of 5"));
        assert!(refused(Value::Packets(5), Value::Bytes(5)).contains("expected the same unit"));
    }

    #[test]
    fn the_thresholds_may_be_the_same() {
        for (low, fits) in [(9, true), (10, true), (11, false)] {
            let given = [("high_threshold", Value::Packets(10)), ("low_threshold", Value::Packets(low))];
            assert_eq!(ENTRY.settings(given).is_ok(), fits, "{low} and 10");
        }
    }
}
