//! The event queue: a wheel of time slots.
//!
//! A slot is so short that it mostly holds one event; a bitmap finds the next one. Where there are
//! more the first one is marked and the others are in a list, which is sorted when its turn comes.
//! Events beyond the wheel wait in a binary heap. So inserting and taking cost a few instructions
//! whatever the number of events. The slot width follows the density of events, from nothing but the
//! events, so that a run stays reproducible.
//!
//! Source of the idea: Brown, "Calendar Queues", CACM 1988; Varghese and Lauck, "Hashed and
//! Hierarchical Timing Wheels", SOSP 1987.

mod event;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

use daybreak_fabric::{PacketId, Schedule, Wake};
use daybreak_units::Instant;

use event::{CROWDED, Placed};
pub(crate) use event::{Event, Rank};

const SLOTS: usize = 65536;
const WORDS: usize = SLOTS / 64;
/// End of a list.
const NIL: u32 = u32::MAX;
/// Slots for each time at which there are events, at least, once the width has adapted: most times then have
/// a slot alone.
const SLOTS_PER_TIME: u64 = 4;
/// Width at the start: 2^20 ps, about a microsecond.
const FIRST_SHIFT: u32 = 20;
const SHIFTS: std::ops::RangeInclusive<u32> = 6..=Placed::TIME_BITS;
/// Times between two looks at the density; the first look comes early.
const FIRST_LOOK: u64 = 1 << 10;
const LOOK: u64 = 1 << 16;

/// A further event of a slot.
#[derive(Clone, Copy, Debug)]
struct Node {
    placed: Placed,
    next: u32,
}

/// Pending events.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// What is left of the slot in hand, latest event first. None of it is later than the end.
    current: Vec<Placed>,
    /// Number of the slot in hand: time >> shift.
    slot: u64,
    shift: u32,
    /// A bit for every slot that has an event.
    occupied: [u64; WORDS],
    /// The first event of each slot.
    slots: Box<[Event; SLOTS]>,
    /// Slots before this can be popped without checking `far` or the end.
    fast_until: u64,
    /// Slot of the first event in `far`.
    far_slot: u64,
    /// Nothing later than this is taken.
    end: u64,
    /// The further events of each slot that is marked.
    lists: Box<[u32; SLOTS]>,
    nodes: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<Event>>,
    /// Events later than the end, as far as that has been seen.
    late: Vec<Event>,
    /// Times of events since the last look at the density, when that was, and how many make the next.
    times: u64,
    look_started: u64,
    look_interval: u64,
}

impl EventQueue {
    /// A queue that hands out events up to and at `end`.
    pub(crate) fn new(end: Instant) -> Self {
        let mut queue = Self {
            current: Vec::with_capacity(64),
            slot: 0,
            shift: FIRST_SHIFT,
            occupied: [0; WORDS],
            slots: boxed(Event { ps: 0, key: 0 }),
            fast_until: 0,
            far_slot: u64::MAX,
            end: end.as_ps(),
            lists: boxed(NIL),
            nodes: Vec::with_capacity(1024),
            free: NIL,
            far: BinaryHeap::new(),
            late: Vec::new(),
            times: 0,
            look_started: 0,
            look_interval: FIRST_LOOK,
        };
        queue.update_fast_until();
        queue
    }

    /// Adds an event, which is not earlier than the last one taken.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        let slot = event.ps >> self.shift;
        // Slots 1 to SLOTS - 1 ahead; the slot in hand and those behind wrap around.
        let ahead = slot.wrapping_sub(self.slot);
        let index = slot as usize % SLOTS;
        if ahead.wrapping_sub(1) >= SLOTS as u64 - 1 {
            return self.push_elsewhere(event, slot);
        }
        let word = self.occupied[index / 64];
        let with_it = word | 1 << (index % 64);
        if with_it == word {
            return self.push_behind(event, slot);
        }
        self.times += 1;
        self.occupied[index / 64] = with_it;
        self.slots[index] = event;
    }

    /// Takes the first event, unless it is later than the end.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if let Some(placed) = self.current.pop() {
            return Some(placed.event(self.slot << self.shift));
        }
        if let Some(slot) = self.near_occupied(self.slot)
            && slot < self.fast_until
        {
            let index = slot as usize % SLOTS;
            let event = self.slots[index];
            if event.key & CROWDED == 0 {
                self.occupied[index / 64] &= !(1 << (index % 64));
                self.slot = slot;
                return Some(event);
            }
        }
        self.advance()
    }

    /// The first slot behind `slot` that has an event, if it is within the next 64.
    #[inline(always)]
    fn near_occupied(&self, slot: u64) -> Option<u64> {
        let from = slot + 1;
        let start = from as usize % SLOTS;
        if let Some(here) = NonZeroU64::new(self.occupied[start / 64] >> (start % 64)) {
            return Some(from + u64::from(here.trailing_zeros()));
        }
        let base = (from | 63) + 1;
        let there = NonZeroU64::new(self.occupied[base as usize % SLOTS / 64])?;
        Some(base + u64::from(there.trailing_zeros()))
    }

    /// Nothing more is to be taken.
    pub(crate) fn close(&mut self) {
        self.end = 0;
        self.part_with_late();
        self.update_fast_until();
    }

    /// The slot in hand.
    #[inline(always)]
    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    /// The first event of the next slot behind `slot` that has one, and that slot. Only a hint: it may
    /// look no further than the next few slots.
    #[inline(always)]
    pub(crate) fn peek_behind(&self, slot: u64) -> Option<(u64, Event)> {
        let slot = self.near_occupied(slot.max(self.slot))?;
        let Event { ps, key } = self.slots[slot as usize % SLOTS];
        Some((slot, Event { ps, key: key & !CROWDED }))
    }

    /// The slot has an event.
    #[cold]
    #[inline(never)]
    fn push_behind(&mut self, event: Event, slot: u64) {
        let index = slot as usize % SLOTS;
        if self.free == NIL {
            self.add_node();
        }
        let at = self.free;
        let node = &mut self.nodes[at as usize];
        node.placed = Placed::new(event, slot << self.shift);
        self.free = std::mem::replace(&mut node.next, self.lists[index]);
        self.lists[index] = at;
        self.slots[index].key |= CROWDED;
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { placed: Placed::default(), next: NIL });
    }

    /// In the slot in hand, or beyond the wheel.
    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, event: Event, slot: u64) {
        if event.ps > self.end {
            self.late.push(event);
        } else if slot <= self.slot {
            let placed = Placed::new(event, self.slot << self.shift);
            let place = self.current.partition_point(|other| *other > placed);
            self.current.insert(place, placed);
        } else {
            self.far_slot = self.far_slot.min(slot);
            self.far.push(Reverse(event));
            self.update_fast_until();
        }
    }

    /// The rarer cases, with nothing in hand: the first event of the next slot that has any.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) -> Option<Event> {
        let mut near = self.next_occupied();
        if self.times >= self.look_interval && near.min(self.far_slot) <= self.end >> self.shift {
            // Only if an event is taken next: none that is added then lies before the new slot in hand.
            self.adapt_width();
            near = self.next_occupied();
        }
        let slot = near.min(self.far_slot);
        if slot > self.end >> self.shift {
            return None;
        }
        self.slot = slot;
        if near == slot {
            let index = slot as usize % SLOTS;
            self.occupied[index / 64] &= !(1 << (index % 64));
            let first = self.slots[index];
            if slot < self.fast_until && first.key & CROWDED == 0 {
                return Some(first);
            }
            self.gather(first, index);
        }
        if slot >= self.fast_until {
            self.take_far();
            self.part_with_late();
        }
        self.current.sort_unstable_by(|one, other| other.cmp(one));
        self.times += times_behind_first(&self.current);
        self.current.pop().map(|first| first.event(slot << self.shift))
    }

    /// Takes the events of a slot in hand, unsorted.
    #[inline(always)]
    fn gather(&mut self, Event { ps, key }: Event, index: usize) {
        self.current.push(Placed::new(Event { ps, key: key & !CROWDED }, self.slot << self.shift));
        if key & CROWDED != 0 {
            let first = std::mem::replace(&mut self.lists[index], NIL);
            let mut at = first;
            while at != NIL {
                let node = &mut self.nodes[at as usize];
                self.current.push(node.placed);
                at = node.next;
                if at == NIL {
                    node.next = std::mem::replace(&mut self.free, first);
                }
            }
        }
    }

    /// What is in hand and later than the end is not taken.
    fn part_with_late(&mut self) {
        let (start, end, late) = (self.slot << self.shift, self.end, &mut self.late);
        self.current.retain(|placed| {
            let event = placed.event(start);
            let is_late = event.ps > end;
            if is_late {
                late.push(event);
            }
            !is_late
        });
    }

    fn update_fast_until(&mut self) {
        self.fast_until = self.far_slot.min(self.end >> self.shift);
    }

    /// Takes the far events of the slot in hand, unsorted.
    #[cold]
    fn take_far(&mut self) {
        self.far_slot = u64::MAX;
        while let Some(&Reverse(event)) = self.far.peek() {
            let slot = event.ps >> self.shift;
            if slot > self.slot {
                self.far_slot = slot;
                break;
            }
            self.far.pop();
            self.current.push(Placed::new(event, self.slot << self.shift));
        }
        self.update_fast_until();
    }

    /// The first slot after the one in hand that has an event, or `u64::MAX`.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let from = self.slot + 1;
        let start = from as usize % SLOTS;
        let here = self.occupied[start / 64] >> (start % 64);
        if here != 0 {
            return from + u64::from(here.trailing_zeros());
        }
        // The words behind, once around: the lower bits of this word come last.
        let mut at = from + 64 - start as u64 % 64;
        for _ in 0..WORDS {
            let word = self.occupied[at as usize % SLOTS / 64];
            if word != 0 {
                return at + u64::from(word.trailing_zeros());
            }
            at += 64;
        }
        u64::MAX
    }

    /// Adapts the slot width to the events since the last look.
    #[cold]
    fn adapt_width(&mut self) {
        let now = self.slot << self.shift;
        let width = (now - self.look_started) / (self.times * SLOTS_PER_TIME);
        let shift = width.max(1).ilog2().clamp(*SHIFTS.start(), *SHIFTS.end());
        self.look_started = now;
        self.look_interval = (self.look_interval * 4).min(LOOK);
        if shift != self.shift {
            let events = self.drain_wheel();
            // Everything before the end of the slot in hand has been taken.
            let end = (self.slot + 1) << self.shift;
            self.shift = shift;
            self.slot = (end >> shift).saturating_sub(1);
            self.far_slot = self.far.peek().map_or(u64::MAX, |Reverse(first)| first.ps >> shift);
            self.update_fast_until();
            for event in events {
                self.push(event);
            }
            self.pull_near();
        }
        self.times = 0;
    }

    /// Moves far events that a wider wheel reaches into it. Those beyond it stay where they are.
    fn pull_near(&mut self) {
        while self.far_slot < self.slot.saturating_add(SLOTS as u64) {
            let Some(Reverse(event)) = self.far.pop() else { break };
            self.far_slot = self.far.peek().map_or(u64::MAX, |Reverse(first)| first.ps >> self.shift);
            self.push(event);
        }
        self.update_fast_until();
    }

    /// Takes everything out, in no particular order.
    pub(crate) fn drain(&mut self) -> Vec<Event> {
        let mut events = self.drain_wheel();
        events.extend(std::mem::take(&mut self.far).into_iter().map(|Reverse(event)| event));
        events.append(&mut self.late);
        self.far_slot = u64::MAX;
        self.update_fast_until();
        events
    }

    /// Takes out what is in hand and on the wheel, unsorted: to sort it slot by slot would cost the square of the events.
    fn drain_wheel(&mut self) -> Vec<Event> {
        let start = self.slot << self.shift;
        let mut events: Vec<Event> = self.current.drain(..).map(|placed| placed.event(start)).collect();
        for (word, marks) in self.occupied.iter_mut().enumerate() {
            while *marks != 0 {
                let index = word * 64 + marks.trailing_zeros() as usize;
                *marks &= *marks - 1;
                let Event { ps, key } = self.slots[index];
                events.push(Event { ps, key: key & !CROWDED });
                let mut at = std::mem::replace(&mut self.lists[index], NIL);
                while let Some(node) = self.nodes.get(at as usize) {
                    events.push(node.placed.event(ps >> self.shift << self.shift));
                    at = node.next;
                }
            }
        }
        self.nodes.clear();
        self.free = NIL;
        events
    }
}

/// An array that is made where it stays: it is too large for the stack.
fn boxed<T: Clone>(value: T) -> Box<[T; SLOTS]> {
    vec![value; SLOTS].try_into().unwrap_or_else(|_| unreachable!("the length is that of the array"))
}

/// How many times there are among sorted events, but for the first: those of one time count once, since no slot
/// is so short that it parts them. Where there are several times, each event counts for one.
fn times_behind_first(events: &[Placed]) -> u64 {
    match events {
        [latest, .., first] if latest.since() != first.since() => events.len() as u64 - 1,
        _ => 0,
    }
}

impl Schedule for EventQueue {
    #[inline(always)]
    fn at(&mut self, at: Instant, wake: Wake) {
        self.push(match wake {
            Wake::Control { controller } => Event::new(at, Rank::Control, controller, 0),
            Wake::TransmissionComplete { link } => Event::new(at, Rank::TransmissionComplete, link, 0),
            Wake::Arrival { link, packet: PacketId(packet) } => Event::new(at, Rank::Arrival, link, packet),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_fabric::tie_break;
    use proptest::prelude::*;

    #[test]
    fn simultaneous_events_follow_rank_and_component() {
        let at = Instant::from_ps(5_000_000);
        let mut queue = EventQueue::new(Instant::NEVER);
        let in_order = [
            Event::new(at, Rank::Control, 9, 0),
            Event::new(at, Rank::TransmissionComplete, 1, 0),
            Event::new(at, Rank::TransmissionComplete, 7, 0),
            Event::new(at, Rank::Arrival, 0, 3),
            Event::new(at, Rank::Timer, 0, 0),
        ];
        for &event in in_order.iter().rev() {
            queue.push(event);
        }
        for event in in_order {
            assert_eq!(queue.pop(), Some(event));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn slots_are_no_shorter_for_simultaneous_events() {
        let shift_with = |events_a_time: u32| {
            let mut queue = EventQueue::new(Instant::NEVER);
            for time in 1..20_000 {
                let at = Instant::from_ps(time * 1_200_000);
                (0..events_a_time).for_each(|link| queue.push(Event::new(at, Rank::Arrival, link, 0)));
                (0..events_a_time).for_each(|_| assert_eq!(queue.pop().map(Event::at), Some(at)));
            }
            queue.shift
        };
        // 2^18 ps is the largest power of two of which at least four fit between times.
        assert_eq!([2, 8].map(shift_with), [18, 18]);
    }

    #[test]
    fn nothing_later_than_the_end_is_taken_or_lost() {
        let event = |ps| Event::new(Instant::from_ps(ps), Rank::Timer, 0, 0);
        let mut queue = EventQueue::new(Instant::from_ps(3_000_000));
        let late = [3_000_001, 3_000_002, 5_000_000_000_000].map(event);
        [event(2_999_999), event(3_000_000)].into_iter().chain(late).for_each(|event| queue.push(event));
        assert_eq!(queue.pop(), Some(event(2_999_999)));
        queue.push(event(3_000_003));
        assert_eq!(queue.pop(), Some(event(3_000_000)));
        assert_eq!(queue.pop(), None);
        let mut left = queue.drain();
        left.sort();
        assert_eq!(left, [late[0], late[1], event(3_000_003), late[2]]);
    }

    #[test]
    fn nothing_is_taken_once_it_is_closed() {
        let events = [7, 7, 8].map(|ps| Event::new(Instant::from_ps(ps), Rank::Timer, ps as u32, 0));
        let mut queue = EventQueue::new(Instant::NEVER);
        events.into_iter().for_each(|event| queue.push(event));
        assert_eq!(queue.pop(), Some(events[0]));
        queue.close();
        assert_eq!((queue.pop(), queue.drain().len()), (None, 2));
    }

    #[test]
    fn simultaneous_arrivals_take_turns() {
        let mut queue = EventQueue::new(Instant::NEVER);
        let times: Vec<Instant> = (1..200).map(|packet| Instant::from_ps(packet * 12_000_000)).collect();
        for &at in &times {
            (0..3).for_each(|link| queue.push(Event::new(at, Rank::Arrival, link, 0)));
        }
        for &at in &times {
            let mut links = [0, 1, 2];
            links.sort_by_key(|&link| tie_break(at, link));
            let taken = [(); 3].map(|()| queue.pop().unwrap());
            assert_eq!(taken.map(|event| (event.at(), event.component())), links.map(|link| (at, link)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The order is that of a binary heap, whatever the spacing: `scales` moves it from
        /// picoseconds to seconds within a run, so the wheel has to adapt.
        #[test]
        fn order_is_that_of_a_heap(
            scales in prop::collection::vec(0u32..42, 1..8),
            steps in prop::collection::vec((0u64..1_000, 0u8..7, 0u32..4), 1..6_000),
        ) {
            let mut queue = EventQueue::new(Instant::NEVER);
            let mut reference = BinaryHeap::new();
            let mut now = 0;
            for (index, &(distance, what, component)) in steps.iter().enumerate() {
                let scale = scales[index * scales.len() / steps.len()];
                if what < 4 {
                    let at = Instant::from_ps(now + (distance << scale >> 8));
                    let event = Event::new(at, Rank::Arrival, component, index as u32);
                    queue.push(event);
                    reference.push(Reverse(event));
                }
                if what >= 3 {
                    let expected = reference.pop().map(|Reverse(event)| event);
                    prop_assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |event| event.at().as_ps());
                }
            }
            let mut left = queue.drain();
            left.sort();
            let expected: Vec<Event> =
                std::iter::from_fn(|| reference.pop().map(|Reverse(event)| event)).collect();
            prop_assert_eq!(left, expected);
        }

        #[test]
        fn nothing_is_left_behind(times in prop::collection::vec(0u64..1 << 45, 0..5_000)) {
            let mut queue = EventQueue::new(Instant::NEVER);
            let mut expected: Vec<Event> = times
                .iter()
                .enumerate()
                .map(|(index, &ps)| Event::new(Instant::from_ps(ps), Rank::Timer, index as u32, 0))
                .collect();
            for &event in &expected {
                queue.push(event);
            }
            expected.sort();
            let taken: Vec<Event> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(taken, expected);
        }
    }
}
