//! How often a packet has passed.

use std::collections::BTreeMap;

/// What tells a packet from the others of its flow and direction. A copy of it has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Numbers of another class are others' numbers.
    pub class: u8,
    /// Rises, as a rule, from packet to packet.
    pub number: u64,
}

/// Counts how often packets pass. Only of those that do not come in the order of their numbers an entry is kept, so memory
/// grows with retransmissions and not with packets: what is not above everything before it counts as having passed, also
/// where its first copy was lost on the way here.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// The highest number by endpoint and class.
    highest: BTreeMap<(u32, u8), u64>,
    again: BTreeMap<(u32, Identity), u32>,
}

impl Repeats {
    /// A packet passes: how often did it before?
    pub(crate) fn count(&mut self, endpoint: u32, identity: Identity) -> u32 {
        let Identity { class, number } = identity;
        let highest = self.highest.get_mut(&(endpoint, class));
        match highest {
            Some(highest) if number <= *highest => {
                let again = self.again.entry((endpoint, identity)).or_insert(0);
                *again += 1;
                *again
            }
            Some(highest) => {
                *highest = number;
                0
            }
            None => {
                self.highest.insert((endpoint, class), number);
                0
            }
        }
    }

    /// No packet to `endpoint` passes any more.
    pub(crate) fn forget(&mut self, endpoint: u32) {
        let first = Identity::default();
        let last = Identity { class: u8::MAX, number: u64::MAX };
        while let Some((&way, _)) = self.highest.range((endpoint, first.class)..=(endpoint, last.class)).next() {
            self.highest.remove(&way);
        }
        while let Some((&packet, _)) = self.again.range((endpoint, first)..=(endpoint, last)).next() {
            self.again.remove(&packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(repeats.again.len(), 3, "what comes in order leaves no entry");
    }

    #[test]
    fn an_endpoint_is_forgotten_and_no_other() {
        let mut repeats = Repeats::default();
        for endpoint in 1..=3 {
            for (class, number) in [(0, 10), (0, 10), (u8::MAX, u64::MAX), (u8::MAX, u64::MAX)] {
                repeats.count(endpoint, Identity { class, number });
            }
        }
        repeats.forget(2);
        let left: Vec<u32> = repeats.highest.keys().map(|way| way.0).collect();
        assert_eq!(left, [1, 1, 3, 3]);
        let left: Vec<u32> = repeats.again.keys().map(|packet| packet.0).collect();
        assert_eq!(left, [1, 1, 3, 3]);
    }
}
