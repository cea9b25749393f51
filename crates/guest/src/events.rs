//! What is to happen in the fabric, in the total order of time, rank, component and number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use daybreak_fabric::{PacketId, Schedule, Wake};
use daybreak_units::Instant;

/// What happens; simultaneous events happen in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A timeline takes a step.
    Timeline {
        /// Which one.
        timeline: u32,
    },
    /// A link has sent its packet.
    LinkFree {
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
    /// A packet is at the end of a host's own link and enters the fabric.
    Entry {
        /// Which link.
        link: u32,
        /// Its place among the packets that wait to enter.
        frame: u32,
    },
}

/// A delivery that is certain: the packet is on its last link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When.
    pub at: Instant,
    /// The packet.
    pub packet: PacketId,
}

/// Pending events.
#[derive(Debug)]
pub struct Events {
    /// Events that may lead to deliveries that are not certain yet.
    open: BinaryHeap<Reverse<(Instant, Event, u64)>>,
    /// Deliveries that are certain.
    settled: BinaryHeap<Reverse<(Instant, Event, u64)>>,
    added: u64,
    /// Certain deliveries that the kernel has not been told of.
    pub outbox: Vec<Delivery>,
    delivers: Vec<bool>,
}

impl Events {
    /// No events; `delivers` tells the links that end at hosts.
    pub fn new(delivers: Vec<bool>) -> Self {
        Self { open: BinaryHeap::new(), settled: BinaryHeap::new(), added: 0, outbox: Vec::new(), delivers }
    }

    /// Adds an event. Those of one time and kind at one component happen in the order of adding.
    pub fn push(&mut self, at: Instant, event: Event) {
        self.added += 1;
        self.open.push(Reverse((at, event, self.added)));
    }

    /// Takes the next event up to `horizon`.
    pub fn pop(&mut self, horizon: Instant) -> Option<(Instant, Event)> {
        let from_open = match (self.open.peek(), self.settled.peek()) {
            (Some(open), Some(settled)) => open.0 <= settled.0,
            (open, _) => open.is_some(),
        };
        let heap = if from_open { &mut self.open } else { &mut self.settled };
        let Reverse((at, event, _)) = *heap.peek()?;
        if at > horizon {
            return None;
        }
        heap.pop();
        Some((at, event))
    }

    /// When the next event is due that is not a certain delivery.
    pub fn next_open(&self) -> Instant {
        self.open.peek().map_or(Instant::NEVER, |event| event.0.0)
    }

    /// When the next event of any kind is due.
    pub fn next(&self) -> Instant {
        self.next_open().min(self.settled.peek().map_or(Instant::NEVER, |event| event.0.0))
    }
}

impl Schedule for Events {
    fn at(&mut self, at: Instant, wake: Wake) {
        match wake {
            Wake::LinkFree { link } => self.push(at, Event::LinkFree { link }),
            Wake::Arrival { link, packet } => {
                let event = Event::Arrival { link, packet: packet.0 };
                if self.delivers[link as usize] {
                    self.added += 1;
                    self.settled.push(Reverse((at, event, self.added)));
                    self.outbox.push(Delivery { at, packet });
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

    #[test]
    fn events_come_in_their_total_order_and_deliveries_are_known_early() {
        let at = Instant::from_ps;
        let mut events = Events::new(vec![false, true]);
        events.push(at(5), Event::Entry { link: 0, frame: 1 });
        events.at(at(5), Wake::Arrival { link: 1, packet: PacketId(7) });
        events.at(at(5), Wake::LinkFree { link: 1 });
        events.push(at(5), Event::Timeline { timeline: 0 });
        events.at(at(4), Wake::Arrival { link: 0, packet: PacketId(3) });
        assert_eq!(events.outbox, [Delivery { at: at(5), packet: PacketId(7) }]);
        let order: Vec<_> = std::iter::from_fn(|| events.pop(at(5))).map(|(_, event)| event).collect();
        assert_eq!(
            order,
            [
                Event::Arrival { link: 0, packet: 3 },
                Event::Timeline { timeline: 0 },
                Event::LinkFree { link: 1 },
                Event::Arrival { link: 1, packet: 7 },
                Event::Entry { link: 0, frame: 1 },
            ]
        );
        assert_eq!(events.next(), Instant::NEVER);
    }

    #[test]
    fn the_horizon_holds_events_back() {
        let mut events = Events::new(vec![true]);
        events.push(Instant::from_ps(9), Event::LinkFree { link: 0 });
        assert_eq!(events.pop(Instant::from_ps(8)), None);
        assert_eq!(events.next_open(), Instant::from_ps(9));
    }
}
