//! What is to happen in the fabric, in the total order of time, rank, component and number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use daybreak_fabric::{PacketId, Schedule, Wake};
use daybreak_units::{Duration, Instant};

use crate::lookahead::Lookahead;

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
    /// The earliest delivery that can follow from each event that is not one, and when that event is.
    due: BinaryHeap<Reverse<(Instant, Instant)>>,
    look: Lookahead,
    added: u64,
    /// Certain deliveries that the kernel has not been told of.
    pub outbox: Vec<Delivery>,
    delivers: Vec<bool>,
}

impl Events {
    /// No events; `delivers` tells the links that end at hosts.
    pub fn new(delivers: Vec<bool>, look: Lookahead) -> Self {
        let (open, settled, due) = (BinaryHeap::new(), BinaryHeap::new(), BinaryHeap::new());
        Self { open, settled, due, look, added: 0, outbox: Vec::new(), delivers }
    }

    /// Adds an event. Those of one time and kind at one component happen in the order of adding.
    pub fn push(&mut self, at: Instant, event: Event) {
        self.added += 1;
        self.open.push(Reverse((at, event, self.added)));
        self.due.push(Reverse((at.saturating_add(self.rest(event)), at)));
    }

    /// Time from an event to a delivery that follows from it, at least.
    fn rest(&self, event: Event) -> Duration {
        match event {
            Event::Timeline { .. } => self.look.last_link,
            Event::LinkFree { link } => {
                let Lookahead { crossing, after, .. } = &self.look;
                Duration::from_ps(crossing[link as usize].as_ps().saturating_add(after[link as usize].as_ps()))
            }
            Event::Arrival { link, .. } | Event::Entry { link, .. } => self.look.after[link as usize],
        }
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

    /// Nothing that is not certain yet can be delivered before; all events up to `horizon` are done.
    pub fn uncertain_until(&mut self, horizon: Instant) -> Instant {
        while let Some(&Reverse((due, at))) = self.due.peek() {
            if at > horizon {
                return due;
            }
            self.due.pop();
        }
        Instant::NEVER
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
        let mut events = Events::new(vec![false, true], look());
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
        assert_eq!(events.uncertain_until(at(5)), Instant::NEVER);
    }

    #[test]
    fn events_beyond_the_horizon_say_when_something_may_be_delivered() {
        let at = Instant::from_ps;
        let mut events = Events::new(vec![false, true], look());
        events.push(at(9), Event::LinkFree { link: 0 });
        events.push(at(11), Event::Arrival { link: 0, packet: 1 });
        assert_eq!(events.pop(at(8)), None);
        assert_eq!(events.uncertain_until(at(8)), at(11 + 20));
        assert!(events.pop(at(11)).is_some());
        assert_eq!(events.uncertain_until(at(10)), at(11 + 20));
    }

    /// Link 0 takes 100 ps at least, and what follows it 20 ps.
    fn look() -> Lookahead {
        let ps = Duration::from_ps;
        Lookahead {
            entry: ps(1),
            through: ps(1),
            last_link: ps(1),
            after: vec![ps(20), ps(0)],
            crossing: vec![ps(100), ps(20)],
        }
    }
}
