//! One event of a run, and the total order of events.

use std::cmp::Ordering;

use daybreak_fabric::{PacketId, tie_break};
use daybreak_units::Instant;

/// What happens, in the order in which simultaneous events happen: the fabric changes first, then
/// links become free, then senders see what has left their hosts' queues, then packets arrive, then flows start, then
/// timers fire. So a packet that arrives as the day begins meets the day, a departure makes room for a simultaneous
/// arrival, and an acknowledgement that arrives at a deadline is in time. The tie-break orders simultaneous arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Rank {
    Control = 0,
    TransmissionComplete = 1,
    Departure = 2,
    Arrival = 3,
    Start = 4,
    Timer = 5,
}

/// One event, totally ordered by time, rank, [`tie_break`] of an arrival, component and argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(super) ps: u64,
    /// A mark that the event queue keeps there, rank in 3 bits, component in 28, argument in 32.
    pub(super) key: u64,
}

/// Mark of the first event of a slot that has more.
pub(super) const CROWDED: u64 = 1 << 63;

impl Event {
    /// Components are numbered below this.
    pub(crate) const COMPONENTS: u32 = 1 << 28;

    #[inline]
    pub(crate) fn new(at: Instant, rank: Rank, component: u32, argument: u32) -> Self {
        debug_assert!(component < Self::COMPONENTS);
        debug_assert!(argument != PacketId::NEXT.0 || rank == Rank::Arrival);
        let place = ((rank as u32) << 28) + component;
        Self { ps: at.as_ps(), key: u64::from(place) << 32 | u64::from(argument) }
    }
    #[inline]
    pub(crate) fn at(self) -> Instant {
        Instant::from_ps(self.ps)
    }
    #[inline]
    pub(crate) fn rank(self) -> Rank {
        match self.key >> 60 {
            0 => Rank::Control,
            1 => Rank::TransmissionComplete,
            2 => Rank::Departure,
            3 => Rank::Arrival,
            4 => Rank::Start,
            _ => Rank::Timer,
        }
    }
    /// The link, if the next of the packets that it keeps arrives there: no other event has that argument.
    #[inline(always)]
    pub(crate) fn next_arrival(self) -> Option<u32> {
        (self.argument() == PacketId::NEXT.0).then(|| self.component())
    }
    #[inline]
    pub(crate) fn component(self) -> u32 {
        (self.key >> 32) as u32 & (Self::COMPONENTS - 1)
    }
    #[inline]
    pub(crate) fn argument(self) -> u32 {
        self.key as u32
    }
    /// Orders simultaneous events, but for those of equal rank and tie-break, in 34 bits.
    #[inline(always)]
    fn turn(self) -> u64 {
        let rank = self.key >> 60;
        if rank == Rank::Arrival as u64 {
            1 << 32 | u64::from(tie_break(self.at(), self.component()))
        } else {
            u64::from(rank > Rank::Arrival as u64) << 33
        }
    }
}

/// An event of a slot, as they are sorted there.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    /// Time since the slot began, and turn.
    place: u64,
    key: u64,
}

impl Placed {
    /// No slot is longer than 2 to this number of picoseconds.
    pub(super) const TIME_BITS: u32 = 30;
    const TURN_BITS: u32 = 64 - Self::TIME_BITS;

    /// The event in the slot that begins at `start`.
    #[inline(always)]
    pub(super) fn new(event: Event, start: u64) -> Self {
        let since = event.ps - start;
        debug_assert!(since < 1 << Self::TIME_BITS);
        Self { place: since << Self::TURN_BITS | event.turn(), key: event.key }
    }

    /// The event that it was made of.
    #[inline(always)]
    pub(super) fn event(self, start: u64) -> Event {
        Event { ps: start + self.since(), key: self.key }
    }

    /// Time since the slot began.
    #[inline(always)]
    pub(super) fn since(self) -> u64 {
        self.place >> Self::TURN_BITS
    }
}

impl Ord for Placed {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        // One comparison of 128 bits takes no branch.
        let number = |placed: &Self| u128::from(placed.place) << 64 | u128::from(placed.key);
        number(self).cmp(&number(other))
    }
}

impl PartialOrd for Placed {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.ps, self.turn(), self.key).cmp(&(other.ps, other.turn(), other.key))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_gives_back_what_it_was_made_of() {
        let event = Event::new(Instant::from_ps(77), Rank::Timer, Event::COMPONENTS - 1, u32::MAX - 1);
        assert_eq!(event.at(), Instant::from_ps(77));
        assert_eq!(event.rank(), Rank::Timer);
        assert_eq!(event.component(), Event::COMPONENTS - 1);
        assert_eq!(event.argument(), u32::MAX - 1);
        assert_eq!(event.next_arrival(), None);
        let next = Event::new(Instant::from_ps(77), Rank::Arrival, Event::COMPONENTS - 1, PacketId::NEXT.0);
        assert_eq!((next.rank(), next.next_arrival()), (Rank::Arrival, Some(Event::COMPONENTS - 1)));
        for event in [event, next] {
            assert_eq!(Placed::new(event, 70).event(70), event);
        }
    }
}
