//! How often a packet has passed.

use std::collections::BTreeMap;

/// Identifies a packet within its flow and direction. Copies of it share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Numbers of another class are others' numbers. Below [`Identity::CLASSES`].
    pub class: u8,
    /// Rises, as a rule, from packet to packet. Below 2^64 - 1.
    pub number: u64,
}

impl Identity {
    /// How many classes there are.
    pub const CLASSES: u8 = 4;
}

/// Counts how often packets pass. Only of those that do not come in the order of their numbers an entry is kept, so
/// memory grows with retransmissions and not with packets: what is not above everything before it counts as having
/// passed, also where its first copy was lost on the way here.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    ways: Ways,
    /// By endpoint: those that have passed again, but for the highest of each class.
    again: BTreeMap<u32, BTreeMap<Identity, u32>>,
}

impl Repeats {
    /// A packet passes: how often did it before?
    #[inline]
    pub(crate) fn count(&mut self, endpoint: u32, identity: Identity) -> u32 {
        let class = &mut self.ways.get_mut(endpoint).classes[usize::from(identity.class)];
        if identity.number < class.next || class.highest_again > 0 {
            return self.count_again(endpoint, identity);
        }
        class.next = identity.number + 1;
        0
    }

    #[cold]
    fn count_again(&mut self, endpoint: u32, identity: Identity) -> u32 {
        let Class { next, highest_again } = &mut self.ways.get_mut(endpoint).classes[usize::from(identity.class)];
        if identity.number + 1 == *next {
            // Mostly an ACK like the one before.
            *highest_again += 1;
            return *highest_again;
        }
        if identity.number < *next {
            let again = self.again.entry(endpoint).or_default().entry(identity).or_insert(0);
            *again += 1;
            return *again;
        }
        let highest = Identity { number: *next - 1, ..identity };
        self.again.entry(endpoint).or_default().insert(highest, *highest_again);
        (*next, *highest_again) = (identity.number + 1, 0);
        0
    }

    /// No packet to `endpoint` passes any more.
    pub(crate) fn forget(&mut self, endpoint: u32) {
        self.ways.remove(endpoint);
        self.again.remove(&endpoint);
    }
}

/// What has passed on the way to an endpoint.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// [`FREE`] where there is none.
    endpoint: u32,
    classes: [Class; Identity::CLASSES as usize],
}

/// What has passed of a class.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// One more than the highest number.
    next: u64,
    /// How often the highest has passed again.
    highest_again: u32,
}

const FREE: u32 = u32::MAX;

impl Way {
    const NONE: Self =
        Self { endpoint: FREE, classes: [Class { next: 0, highest_again: 0 }; Identity::CLASSES as usize] };
}

/// The ways, found by a hash of the endpoint: in the slot of the hash or behind it, without a free slot between.
/// Memory grows with the endpoints whose packets pass, however many there are.
#[derive(Debug)]
struct Ways {
    /// A power of two of them, a quarter free at least.
    slots: Box<[Way]>,
    used: usize,
}

impl Default for Ways {
    fn default() -> Self {
        Self::with_slots(8)
    }
}

impl Ways {
    fn with_slots(count: usize) -> Self {
        Self { slots: vec![Way::NONE; count].into(), used: 0 }
    }

    /// Where the search for an endpoint begins (Fibonacci hashing).
    #[inline]
    fn home(&self, endpoint: u32) -> usize {
        (u64::from(endpoint).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    /// The slot of an endpoint, or the free one where it belongs.
    #[inline]
    fn find(&self, endpoint: u32) -> usize {
        let mut at = self.home(endpoint);
        while self.slots[at].endpoint != endpoint && self.slots[at].endpoint != FREE {
            at = self.behind(at);
        }
        at
    }

    #[inline]
    fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    #[inline]
    fn get_mut(&mut self, endpoint: u32) -> &mut Way {
        let at = self.find(endpoint);
        if self.slots[at].endpoint == FREE { self.insert(endpoint) } else { &mut self.slots[at] }
    }

    #[cold]
    fn insert(&mut self, endpoint: u32) -> &mut Way {
        if 4 * (self.used + 1) > 3 * self.slots.len() {
            let larger = Self::with_slots(2 * self.slots.len());
            for way in std::mem::replace(self, larger).slots {
                if way.endpoint != FREE {
                    *self.insert(way.endpoint) = way;
                }
            }
        }
        self.used += 1;
        let at = self.find(endpoint);
        self.slots[at] = Way { endpoint, ..Way::NONE };
        &mut self.slots[at]
    }

    /// Frees the slot of an endpoint, if it has one, and fills it with what else would not be found.
    fn remove(&mut self, endpoint: u32) {
        let mut free = self.find(endpoint);
        if self.slots[free].endpoint == FREE {
            return;
        }
        self.used -= 1;
        let mut at = self.behind(free);
        while self.slots[at].endpoint != FREE {
            let mask = self.slots.len() - 1;
            let from = |slot: usize| at.wrapping_sub(slot) & mask;
            if from(self.home(self.slots[at].endpoint)) >= from(free) {
                self.slots[free] = self.slots[at];
                free = at;
            }
            at = self.behind(at);
        }
        self.slots[free] = Way::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_copy_is_counted_by_way_and_class() {
        let mut repeats = Repeats::default();
        let passed: Vec<u32> = [
            (1, 0, 0),
            (1, 0, 10),
            (1, 0, 20),
            (1, 0, 10),
            (1, 0, 10),
            (1, 1, 10),
            (2, 0, 10),
            (1, 0, 20),
            (1, 0, 15),
            (1, 0, 30),
        ]
        .map(|(endpoint, class, number)| repeats.count(endpoint, Identity { class, number }))
        .into();
        assert_eq!(passed, [0, 0, 0, 1, 2, 0, 0, 1, 1, 0]);
        assert_eq!(repeats.again[&1].len(), 3, "what comes in order leaves no entry");
        assert_eq!(repeats.again.len(), 1);
    }

    #[test]
    fn an_endpoint_is_forgotten_and_no_other() {
        let mut repeats = Repeats::default();
        for endpoint in 1..=3 {
            for class in [0, Identity::CLASSES - 1] {
                for number in [10, 10, 20] {
                    repeats.count(endpoint, Identity { class, number });
                }
            }
        }
        repeats.forget(2);
        assert_eq!([1, 2, 3].map(|endpoint| repeats.count(endpoint, Identity { class: 0, number: 10 })), [2, 0, 2]);
        let left: Vec<(u32, usize)> = repeats.again.iter().map(|(&endpoint, again)| (endpoint, again.len())).collect();
        assert_eq!(left, [(1, 2), (3, 2)]);
    }

    proptest! {
        /// As a tree of all packets counts them.
        #[test]
        fn every_packet_is_counted(numbers in prop::collection::vec((0u32..2, 0u8..2, 0u64..12), 1..200)) {
            let (mut repeats, mut passed) = (Repeats::default(), BTreeMap::new());
            for (endpoint, class, number) in numbers {
                let of_class = (endpoint, Identity { class, number: 0 })..(endpoint, Identity { class: class + 1, number: 0 });
                let is_new = passed.range(of_class).all(|(&(_, other), _): (&(u32, Identity), _)| other.number < number);
                let identity = Identity { class, number };
                let count = passed.entry((endpoint, identity)).or_insert(0u32);
                *count += u32::from(!is_new);
                prop_assert_eq!(repeats.count(endpoint, identity), *count);
            }
        }

        /// Endpoints that come, pass and are forgotten, as a tree keeps them.
        #[test]
        fn ways_are_those_of_a_tree(steps in prop::collection::vec((0u32..60, 0u8..5), 1..600)) {
            let (mut ways, mut tree) = (Ways::default(), BTreeMap::new());
            for (number, (endpoint, what)) in (1..).zip(steps) {
                let endpoint = endpoint * 1_001;
                if what == 0 {
                    ways.remove(endpoint);
                    tree.remove(&endpoint);
                } else {
                    ways.get_mut(endpoint).classes[1].next = number;
                    tree.insert(endpoint, number);
                }
                prop_assert_eq!(ways.used, tree.len());
                prop_assert!(4 * ways.used <= 3 * ways.slots.len());
                for (&endpoint, number) in &tree {
                    prop_assert_eq!(ways.slots[ways.find(endpoint)].classes[1].next, *number, "endpoint {}", endpoint);
                }
            }
            let left = ways.slots.iter().filter(|way| way.endpoint != FREE).count();
            prop_assert_eq!(left, tree.len());
        }
    }
}
