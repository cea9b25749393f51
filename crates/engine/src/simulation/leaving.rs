//! Packets that will leave their host's queue at a time that is settled already (TCP small queues).
//!
//! A sender sees them gone before whatever happens to it next. It needs an event for a departure only if that may let it
//! send: Linux looks at a socket then only if it waits for room (`tcp_wfree`).

use std::collections::VecDeque;

use daybreak_units::Instant;

/// The packets of one sender, in the order in which they leave.
#[derive(Debug)]
pub(super) struct Leaving {
    /// When each leaves, and its IP length.
    packets: VecDeque<(Instant, u32)>,
    /// The next event that sees one gone; [`Instant::NEVER`] when there is none.
    event: Instant,
}

impl Leaving {
    /// None.
    pub(super) const NONE: Self = Self { packets: VecDeque::new(), event: Instant::NEVER };

    /// One more packet.
    #[inline]
    pub(super) fn push(&mut self, at: Instant, bytes: u32) {
        self.packets.push_back((at, bytes));
    }

    /// Takes the next one, if it has left by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let has_left = self.packets.front().is_some_and(|(at, _)| *at <= now);
        if has_left { self.packets.pop_front() } else { None }
    }

    /// When the first and the last one leave.
    #[inline]
    pub(super) fn span(&self) -> Option<(Instant, Instant)> {
        self.packets.front().zip(self.packets.back()).map(|(first, last)| (first.0, last.0))
    }

    /// When the first one leaves that does not leave before `from`.
    pub(super) fn first_from(&self, from: Instant) -> Option<Instant> {
        self.packets.get(self.packets.partition_point(|(at, _)| *at < from)).map(|packet| packet.0)
    }

    /// The departure at `at` is to be seen. True if an event must be scheduled for it.
    #[inline]
    pub(super) fn await_at(&mut self, at: Instant) -> bool {
        let is_earlier = at < self.event;
        self.event = self.event.min(at);
        is_earlier
    }

    /// An event has come.
    pub(super) fn fired(&mut self, now: Instant) {
        if self.event == now {
            self.event = Instant::NEVER;
        }
    }
}
