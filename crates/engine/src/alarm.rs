//! Lazy timers: an endpoint has one deadline that moves with almost every packet, mostly away from
//! now. Moving it later costs nothing; the event that is already scheduled finds out when it fires.

use daybreak_units::Instant;

/// The timer events of one endpoint that are under way, earliest last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pending: [Instant; DEPTH],
    count: u8,
}

/// A deadline that moves earlier needs a further event; an endpoint has few kinds of deadlines, so
/// these few places are enough. The event that falls out of the list is ignored when it fires.
const DEPTH: usize = 3;

impl Alarm {
    pub(crate) const IDLE: Self = Self { pending: [Instant::NEVER; DEPTH], count: 0 };

    /// The deadline is now this. True if an event must be scheduled for it.
    #[inline]
    pub(crate) fn set(&mut self, deadline: Instant) -> bool {
        if deadline >= self.earliest() {
            return false;
        }
        if self.count as usize == DEPTH {
            self.pending.copy_within(1.., 0);
            self.count -= 1;
        }
        self.pending[self.count as usize] = deadline;
        self.count += 1;
        true
    }

    /// An event fires. False if it is one that fell out of the list.
    pub(crate) fn fired(&mut self, now: Instant) -> bool {
        let known = self.earliest() == now;
        self.count -= u8::from(known);
        known
    }

    #[inline]
    fn earliest(&self) -> Instant {
        if self.count == 0 { Instant::NEVER } else { self.pending[self.count as usize - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    #[test]
    fn a_later_deadline_needs_no_event() {
        let mut alarm = Alarm::IDLE;
        assert!(alarm.set(at(200)));
        assert!(!alarm.set(at(300)));
        assert!(alarm.set(at(50)));
        assert!(alarm.fired(at(50)));
        assert!(!alarm.set(at(250)), "the event at 200 will look again");
        assert!(alarm.fired(at(200)));
        assert!(alarm.set(at(250)));
        assert!(!alarm.set(Instant::NEVER));
    }

    proptest! {
        /// However the deadline moves, an event fires at it or before.
        #[test]
        fn no_deadline_is_missed(moves in prop::collection::vec((1u64..40, 0u64..100), 1..200)) {
            let mut alarm = Alarm::IDLE;
            let mut events = std::collections::BTreeSet::new();
            let (mut now, mut deadline) = (0, u64::MAX);
            for (step, distance) in moves {
                let until = now + step;
                while let Some(&first) = events.first().filter(|first| **first <= until) {
                    events.remove(&first);
                    now = first;
                    if alarm.fired(at(now)) {
                        if deadline <= now {
                            deadline = u64::MAX;
                        }
                        if alarm.set(at(deadline)) {
                            events.insert(deadline);
                        }
                    }
                    prop_assert!(deadline > now, "the deadline {deadline} passed unseen");
                }
                now = until;
                deadline = now + 1 + distance;
                if alarm.set(at(deadline)) {
                    events.insert(deadline);
                }
                prop_assert!(events.len() <= 100);
            }
        }
    }
}
