//! Lazy timers: an endpoint has one deadline that moves with almost every packet, mostly away from
//! now. Moving it later costs nothing; the event that is already scheduled finds out when it fires.

use daybreak_units::Instant;

/// The timer events of one endpoint that are under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    /// The next one; [`Instant::NEVER`] when there is none.
    earliest: Instant,
    /// Those behind it, in order.
    later: [Instant; DEPTH],
}

/// A deadline that moves earlier needs a further event; an endpoint has few kinds of deadlines, so
/// these few places are enough. The event that falls out of the list is ignored when it fires.
const DEPTH: usize = 2;

impl Alarm {
    pub(crate) const IDLE: Self = Self { earliest: Instant::NEVER, later: [Instant::NEVER; DEPTH] };

    /// The deadline is now this. True if an event must be scheduled for it.
    #[inline]
    pub(crate) fn set(&mut self, deadline: Instant) -> bool {
        if deadline >= self.earliest {
            return false;
        }
        self.later = [self.earliest, self.later[0]];
        self.earliest = deadline;
        true
    }

    /// An event fires. False if it is one that fell out of the list.
    pub(crate) fn fired(&mut self, now: Instant) -> bool {
        let known = self.earliest == now;
        if known {
            self.earliest = self.later[0];
            self.later = [self.later[1], Instant::NEVER];
        }
        known
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
