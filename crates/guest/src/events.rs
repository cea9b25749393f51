//! The fabric's pending events, in the total order of time, kind, tie-break of an arrival, component and number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use daybreak_fabric::{Schedule, Wake, tie_break};
use daybreak_units::{Duration, Instant};

/// What happens; simultaneous events happen in this order, but a packet that enters the fabric has arrived like
/// any other, and the tie-break orders simultaneous arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A timeline or a controller is due.
    Control {
        /// Which one.
        controller: u32,
    },
    /// A link has sent its packet.
    TransmissionComplete {
        /// Which one.
        link: u32,
    },
    /// A packet is at the end of a link of the fabric.
    Arrival {
        /// Which link.
        link: u32,
        /// The packet.
        packet: u32,
    },
    /// The application of a flow starts.
    Start {
        /// Which flow.
        flow: u32,
    },
    /// The client of a flow has ended; without a flow, all programs that the run waits for.
    End {
        /// Which flow.
        flow: Option<u32>,
    },
    /// A packet is at the end of a host's own link and enters the fabric.
    Entry {
        /// Which link.
        link: u32,
        /// Its index among the packets that wait to enter.
        frame: u32,
    },
}

impl Event {
    /// Its rank among the events of one instant, before kind and component.
    #[inline]
    fn tie_break(self, at: Instant) -> u64 {
        match self {
            Self::Control { .. } => 0,
            Self::TransmissionComplete { .. } => 1,
            Self::Arrival { link, .. } | Self::Entry { link, .. } => 2 + u64::from(tie_break(at, link)),
            Self::Start { .. } | Self::End { .. } => u64::MAX,
        }
    }
}

type Heap = BinaryHeap<Reverse<(Instant, u64, Event, u64)>>;

/// Pending events.
#[derive(Debug)]
pub struct Events {
    /// Events that may lead to deliveries.
    open: Heap,
    /// Deliveries.
    last: Heap,
    /// Least time from an open event to a delivery that follows from it.
    least: Duration,
    added: u64,
    /// Links that end at hosts.
    delivers: Vec<bool>,
}

impl Events {
    /// No events. `delivers` marks, by link, those that end at hosts; `least` is the result of [`crate::lookahead`].
    pub fn new(delivers: Vec<bool>, least: Duration) -> Self {
        Self { open: Heap::new(), last: Heap::new(), least, added: 0, delivers }
    }

    /// Adds an event that is no delivery. Those of one time and kind at one component happen in the order of adding.
    #[inline]
    pub fn push(&mut self, at: Instant, event: Event) {
        self.added += 1;
        self.open.push(Reverse((at, event.tie_break(at), event, self.added)));
    }

    /// Takes the next event up to `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Event)> {
        let from_open = match (self.open.peek(), self.last.peek()) {
            (Some(open), Some(last)) => open.0 <= last.0,
            (open, _) => open.is_some(),
        };
        let heap = if from_open { &mut self.open } else { &mut self.last };
        let Reverse((at, _, event, _)) = *heap.peek()?;
        if at > now {
            return None;
        }
        heap.pop();
        Some((at, event))
    }

    /// Lower bound on the time of the next delivery.
    #[inline]
    pub fn next_delivery(&self) -> Instant {
        let certain = self.last.peek().map_or(Instant::NEVER, |event| event.0.0);
        let possible = self.open.peek().map_or(Instant::NEVER, |event| event.0.0.saturating_add(self.least));
        certain.min(possible)
    }
}

impl Schedule for Events {
    #[inline]
    fn at(&mut self, at: Instant, wake: Wake) {
        match wake {
            Wake::Control { controller } => self.push(at, Event::Control { controller }),
            Wake::TransmissionComplete { link } => self.push(at, Event::TransmissionComplete { link }),
            Wake::Arrival { link, packet } => {
                let event = Event::Arrival { link, packet: packet.0 };
                if self.delivers[link as usize] {
                    self.added += 1;
                    self.last.push(Reverse((at, event.tie_break(at), event, self.added)));
                } else {
                    self.push(at, event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_fabric::PacketId;

    #[test]
    fn events_come_in_their_total_order() {
        let at = Instant::from_ps;
        let mut events = Events::new(vec![false, true], Duration::from_ps(20));
        events.push(at(6), Event::Entry { link: 0, frame: 1 });
        events.at(at(5), Wake::Arrival { link: 1, packet: PacketId(7) });
        events.at(at(5), Wake::TransmissionComplete { link: 1 });
        events.push(at(5), Event::Start { flow: 2 });
        events.push(at(5), Event::Control { controller: 0 });
        events.at(at(4), Wake::Arrival { link: 0, packet: PacketId(3) });
        let order: Vec<_> = std::iter::from_fn(|| events.pop(at(6))).map(|(_, event)| event).collect();
        assert_eq!(
            order,
            [
                Event::Arrival { link: 0, packet: 3 },
                Event::Control { controller: 0 },
                Event::TransmissionComplete { link: 1 },
                Event::Arrival { link: 1, packet: 7 },
                Event::Start { flow: 2 },
                Event::Entry { link: 0, frame: 1 },
            ]
        );
        assert_eq!(events.next_delivery(), Instant::NEVER);
    }

    #[test]
    fn simultaneous_arrivals_and_entries_take_turns() {
        let mut events = Events::new(vec![false; 3], Duration::ZERO);
        let times: Vec<Instant> = (1..200).map(|packet| Instant::from_ps(packet * 12_000_000)).collect();
        for &at in &times {
            events.push(at, Event::Entry { link: 0, frame: 0 });
            events.at(at, Wake::Arrival { link: 1, packet: PacketId::NEXT });
            events.push(at, Event::Entry { link: 2, frame: 0 });
        }
        for &at in &times {
            let mut links = [0, 1, 2];
            links.sort_by_key(|&link| tie_break(at, link));
            let taken = [(); 3].map(|()| match events.pop(at) {
                Some((_, Event::Arrival { link, .. } | Event::Entry { link, .. })) => link,
                other => panic!("{other:?} is no arrival"),
            });
            assert_eq!(taken, links);
        }
    }

    #[test]
    fn a_delivery_is_at_its_time_and_other_events_are_some_time_before_one() {
        let at = Instant::from_ps;
        let mut events = Events::new(vec![false, true], Duration::from_ps(20));
        events.push(at(9), Event::TransmissionComplete { link: 0 });
        assert_eq!(events.pop(at(8)), None);
        assert_eq!(events.next_delivery(), at(29));
        events.at(at(28), Wake::Arrival { link: 1, packet: PacketId::NEXT });
        assert_eq!(events.next_delivery(), at(28));
        assert!(events.pop(at(9)).is_some());
        assert!(events.pop(at(28)).is_some());
        assert_eq!(events.next_delivery(), Instant::NEVER);
    }
}
