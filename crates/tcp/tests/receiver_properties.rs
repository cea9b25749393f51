//! Whatever arrives, in whatever order, how often and how overlapping: the receiver's ACKs are true.

use daybreak_tcp::config::Config;
use daybreak_tcp::receiver::{Negotiated, Receiver, SenderProgress, SenderTiming};
use daybreak_tcp::{Flags, Header, Segment};
use daybreak_units::{Duration, Instant};
use proptest::collection::vec;
use proptest::prelude::*;

/// Sequence numbers come in steps of this many bytes, so that overlaps are frequent.
const UNIT: u64 = 100;
/// The stream is short enough for the first window.
const UNITS: usize = 500;

/// A segment of the stream, and how long after the one before.
#[derive(Clone, Debug)]
struct Arrival {
    start: usize,
    units: usize,
    push: bool,
    after_us: u64,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = (0..UNITS - 14, 1..15usize, any::<bool>(), prop_oneof![Just(1u64), 1..2_000u64, Just(60_000u64)])
        .prop_map(|(start, units, push, after_us)| Arrival { start, units, push, after_us });
    vec(arrival, 1..200)
}

struct Check {
    receiver: Receiver,
    now: Instant,
    /// Which units have arrived.
    arrived: [bool; UNITS],
    delivered: u64,
    last_ack: u64,
    right_edge: u64,
}

impl Check {
    fn new() -> Self {
        let config = Config::default();
        let mut receiver = Receiver::new(&config);
        let negotiated =
            Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false, exact_echo: false };
        let syn = Segment::from(Header { flags: Flags::SYN, ts_val: 1, ..Header::default() });
        receiver.on_syn(Instant::ZERO, &syn, negotiated);
        receiver.established(Instant::ZERO);
        Self { receiver, now: Instant::ZERO, arrived: [false; UNITS], delivered: 0, last_ack: 1, right_edge: 0 }
    }

    fn timing() -> SenderTiming {
        SenderTiming { srtt: Duration::from_ms(1), rto: Duration::from_ms(201) }
    }

    fn prefix(&self) -> u64 {
        self.arrived.iter().take_while(|arrived| **arrived).count() as u64 * UNIT
    }

    fn arrive(&mut self, arrival: &Arrival) {
        self.wait_until(self.now + Duration::from_us(arrival.after_us));
        let push = if arrival.push { Flags::PSH } else { Flags::default() };
        let segment = Segment::from(Header {
            seq: 1 + arrival.start as u64 * UNIT,
            len: (arrival.units as u64 * UNIT) as u32,
            flags: Flags::ACK.with(push),
            ts_val: 1 + (self.now.as_us() / 1_000) as u32,
            ts_ecr: 1,
            ..Header::default()
        });
        let progress = || SenderProgress { una: segment.ack, window: segment.window, rto: Self::timing().rto };
        if self.receiver.accept(self.now, &segment, progress) {
            self.receiver.measure_rtt(self.now, &segment);
            self.delivered += self.receiver.on_data(self.now, &segment, Self::timing).delivered;
            self.arrived[arrival.start..arrival.start + arrival.units].fill(true);
        } else {
            // Only what lies below the acknowledgement is refused: the rest is in the window.
            assert!(segment.seq + u64::from(segment.len) <= self.last_ack, "refused {segment:?}");
        }
        assert_eq!(self.delivered, self.prefix());
        assert_eq!(self.receiver.rcv_nxt(), 1 + self.prefix());
        self.take_acks();
    }

    fn wait_until(&mut self, then: Instant) {
        while self.receiver.poll_timeout() <= then {
            self.now = self.receiver.poll_timeout();
            self.receiver.on_timeout(self.now, Self::timing());
            self.take_acks();
        }
        self.now = then;
    }

    fn take_acks(&mut self) {
        while self.receiver.ack_pending() {
            let mut ack = Segment::default();
            self.receiver.fill_ack(&mut ack);
            assert_eq!(ack.ack, 1 + self.prefix(), "everything in order is acknowledged");
            assert!(ack.ack >= self.last_ack);
            assert!(ack.ack + u64::from(ack.window) >= self.right_edge, "the right edge moved back");
            self.last_ack = ack.ack;
            self.right_edge = ack.ack + u64::from(ack.window);
            for (index, block) in ack.sacks().iter().enumerate() {
                assert!(block.start < block.end, "an empty block");
                assert!(index == 0 || block.start > ack.ack, "only a DSACK may lie below the acknowledgement");
                // That it is not all of the range is allowed: four blocks are remembered.
                let mut units = (block.start - 1) / UNIT..(block.end - 1) / UNIT;
                assert!(units.all(|unit| self.arrived[unit as usize]), "{block:?} has not arrived");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acknowledgements_are_true(arrivals in arrivals()) {
        let mut check = Check::new();
        for arrival in &arrivals {
            check.arrive(arrival);
        }
        // Nothing is left unsaid: every ACK that was held back comes by a timer.
        check.wait_until(check.now + Duration::from_secs(1));
        prop_assert_eq!(check.last_ack, 1 + check.prefix());
        // The whole stream once more, in order: all of it is delivered.
        for start in 0..UNITS {
            check.arrive(&Arrival { start, units: 1, push: false, after_us: 10 });
        }
        prop_assert_eq!(check.delivered, UNITS as u64 * UNIT);
    }
}
