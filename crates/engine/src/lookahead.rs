//! Looks at the events to come and fetches what they will touch into the processor's cache.
//!
//! With a thousand hosts the state of links and connections does not fit the cache, and a run would
//! mostly wait for memory. Nothing here changes a result.

use daybreak_fabric::Fabric;

use crate::schedule::EventQueue;

/// Events between the four steps of [`Fabric`]'s look-ahead.
const DISTANCE: usize = 5;
const WINDOW: usize = 32;
/// How far ahead the look goes, in slots of the event queue; every fourth to eighth has an event.
const AHEAD: u64 = 144;

/// How far the look has come.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// Slot of the event queue that was looked at last.
    slot: u64,
    /// Links of arrivals to come, in a ring; [`NOTHING`] for other events.
    links: [u32; WINDOW],
    position: usize,
}

const NOTHING: u32 = u32::MAX;

impl Lookahead {
    pub(crate) fn new() -> Self {
        Self { slot: 0, links: [NOTHING; WINDOW], position: 0 }
    }

    /// It is time to look further.
    #[inline(always)]
    pub(crate) fn is_due(&self, events: &EventQueue) -> bool {
        self.slot < events.slot() + AHEAD
    }

    /// Looks further.
    #[inline(always)]
    pub(crate) fn advance<B: Copy>(&mut self, events: &EventQueue, fabric: &Fabric<B>) {
        let Some((slot, event)) = events.peek_behind(self.slot) else { return };
        self.slot = slot;
        self.position += 1;
        self.links[self.position % WINDOW] = event.next_arrival().unwrap_or(NOTHING);
        let at = |steps: usize| self.links[self.position.wrapping_sub(steps * DISTANCE) % WINDOW];
        if at(0) != NOTHING {
            fabric.look_ahead_at_link(at(0));
        }
        if at(1) != NOTHING {
            fabric.look_ahead_at_first_packet(at(1));
        }
        if at(2) != NOTHING {
            fabric.look_ahead_at_next_hop(at(2));
        }
        if at(3) != NOTHING {
            fabric.look_ahead_at_end(at(3));
        }
    }
}
