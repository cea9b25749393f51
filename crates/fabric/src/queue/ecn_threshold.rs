//! Threshold marking, the switch of DCTCP: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1;
//! RFC 8257, section 3.1.
//!
//! An ECN-capable packet that arrives is marked (CE) if the queue that it finds is longer than a threshold K, in
//! packets or in bytes: the queue of this instant, not an average. Other packets are not marked. All are dropped only
//! when the queue is full.
//!
//! Both sources say "greater than K upon its arrival" and leave open whether the packet itself counts. By default it
//! does not; `count_arrival` counts it, as the Etalon emulator does (NSDI 2020). A packet that finds the link idle does
//! not wait and is not marked, and a packet that a link is sending has left the queue. The DCTCP paper suggests K = 20
//! packets at 1 Gbit/s and 65 at 10 Gbit/s (section 3.5), in queues that count the packet being sent.
//!
//! Checked by the curve below, mark by mark, and in the agreement of analytic and general service (`tests/`).

use daybreak_units::parameters::{Kind, Parameter, Settings, Value};

use super::{Arrival, Capacity, Discipline, Occupancy, Setup, Verdict};

/// The threshold, in 16 bytes: an analytic link has room for no more.
#[derive(Debug)]
pub(crate) struct EcnThreshold {
    most: u64,
    in_bytes: bool,
    count_arrival: bool,
}

impl Discipline for EcnThreshold {
    const NAME: &'static str = "ecn_threshold";
    const SUMMARY: &'static str = "FIFO that marks ECN-capable packets above a threshold (DCTCP; RFC 8257)";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "threshold",
            kind: Kind::Length { least: 1, most: 1 << 40 },
            default: None,
            summary: "K: a packet that finds more waiting is marked",
        },
        Parameter::switch("count_arrival", false, "count the arriving packet as well"),
    ];
    const SEES_EVERY_ARRIVAL: bool = false;
    const SETTLES_ON_ARRIVAL: bool = true;
    const MARKS: bool = true;

    fn new(setup: &Setup) -> Self {
        let mut made = Self { most: 0, in_bytes: false, count_arrival: false };
        made.configure(setup.settings);
        made
    }

    fn configure(&mut self, settings: &Settings) {
        (self.most, self.in_bytes) = match settings.value("threshold") {
            Value::Bytes(most) => (most, true),
            Value::Packets(most) => (most, false),
            other => unreachable!("a threshold of {other}"),
        };
        self.count_arrival = settings.switch("count_arrival");
    }

    fn arrival(&mut self, arrival: &Arrival) -> Verdict {
        let Arrival { occupancy: Occupancy { packets, bytes }, is_ect, .. } = *arrival;
        let counted = u64::from(self.count_arrival);
        let length = match self.in_bytes {
            true => bytes + counted * u64::from(arrival.bytes),
            false => u64::from(packets) + counted,
        };
        if length > self.most && is_ect { Verdict::Mark } else { Verdict::Accept }
    }

    fn room(&self, occupancy: Occupancy, capacity: &Capacity, largest_packet: u32) -> u32 {
        let below = match self.in_bytes {
            true => self.most.checked_sub(occupancy.bytes).map(|left| left / u64::from(largest_packet.max(1))),
            false => self.most.checked_sub(u64::from(occupancy.packets)),
        };
        // The packet that finds exactly K is not marked either, unless it counts itself.
        let unmarked = below.map_or(0, |below| below + u64::from(!self.count_arrival));
        capacity.room(occupancy, largest_packet).min(unmarked.min(u64::from(u32::MAX)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::{Instant, Rate, Stream};

    use super::*;
    use crate::queue::Limits;

    fn discipline(threshold: Value, count_arrival: bool) -> EcnThreshold {
        let given = [("threshold", threshold), ("count_arrival", Value::Switch(count_arrival))];
        let settings = Settings::new(EcnThreshold::PARAMETERS, given).unwrap();
        let stream = Stream::new(1, "test");
        EcnThreshold::new(&Setup { settings: &settings, rate: Rate::from_bps(1 << 30), framing_bytes: 0, stream })
    }

    /// The fewest packets of 1000 bytes that must wait for the next one to be marked. Below none is, above all are.
    fn marking_begins(threshold: Value, count_arrival: bool, is_ect: bool) -> Option<u32> {
        let mut discipline = discipline(threshold, count_arrival);
        let mut verdict = |packets: u32| {
            let occupancy = Occupancy { packets, bytes: 1_000 * u64::from(packets) };
            discipline.arrival(&Arrival { now: Instant::ZERO, occupancy, bytes: 1_000, is_ect, fits: true, flow: 0 })
        };
        let verdicts: Vec<_> = (0..100).map(&mut verdict).collect();
        assert!(verdicts.is_sorted_by_key(|&verdict| verdict == Verdict::Mark));
        verdicts.iter().position(|&verdict| verdict == Verdict::Mark).map(|packets| packets as u32)
    }

    /// The curve of marking against the length of the queue is a step.
    #[test]
    fn marking_begins_above_the_threshold() {
        assert_eq!(marking_begins(Value::Packets(10), false, true), Some(11));
        assert_eq!(marking_begins(Value::Packets(10), true, true), Some(10));
        assert_eq!(marking_begins(Value::Bytes(10_000), false, true), Some(11));
        assert_eq!(marking_begins(Value::Bytes(9_999), false, true), Some(10));
        assert_eq!(marking_begins(Value::Bytes(10_000), true, true), Some(10));
        assert_eq!(marking_begins(Value::Packets(10), false, false), None, "not ECN-capable");
    }

    /// The number that is certain to stay unmarked is exactly the number that would if packets only arrived.
    #[test]
    fn room_is_what_is_left_unmarked() {
        let capacity = Limits { packets: Some(50), bytes: None }.into();
        for threshold in [Value::Packets(10), Value::Bytes(10_000), Value::Bytes(9_999), Value::Packets(80)] {
            for count_arrival in [false, true] {
                let first = marking_begins(threshold, count_arrival, true).unwrap_or(u32::MAX).min(50);
                let discipline = discipline(threshold, count_arrival);
                for packets in 0..60 {
                    let occupancy = Occupancy { packets, bytes: 1_000 * u64::from(packets) };
                    let room = discipline.room(occupancy, &capacity, 1_000);
                    assert_eq!(room, first.saturating_sub(packets), "{threshold}, {packets} wait");
                }
            }
        }
    }
}
