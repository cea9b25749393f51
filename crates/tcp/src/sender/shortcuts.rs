//! When the sender may take a shortcut: all conditions, in one place.
//!
//! A shortcut changes no result. Each has a long way round that is always right, which
//! `connection/fast_path_tests.rs` takes in one of two connections and compares.

use super::Sender;
use super::timer::TimerKind;
use crate::congestion::CaState;
use crate::{Flags, Segment};

impl Sender {
    /// The ACK is the usual one: in order, no SACK, nothing wrong, nothing that was sent twice. [`Sender::on_plain_ack`] may
    /// take it.
    #[inline]
    pub(crate) fn is_plain(&self, segment: &Segment) -> bool {
        self.fast_path.is_on()
            && segment.len == 0
            && segment.sack_count == 0
            && segment.flags == Flags::ACK
            && segment.ack <= self.snd_nxt
            && self.path.state == CaState::Open
            && self.path.probe.high_seq == 0
            && self.sack_permitted
            // Nothing that is out was SACKed, lost or sent again, and there is one path.
            && !self.flight.is_ordered_by_time()
            // It acknowledges whole segments, as the one before did: a peer may take part of one.
            && self.flight.first().is_some_and(|first| first.seq == self.snd_una && first.end() <= segment.ack)
    }

    /// Nothing is out, nothing waits to be sent, no timer runs and no probe is to be judged: the half of a pure
    /// receiver, which has no deadline. [`Sender::on_quiet_ack`] may take its ACKs.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.fast_path.is_on()
            && self.timer.kind == TimerKind::None
            && self.flight.is_empty()
            && self.snd_nxt >= self.buffer.app_end()
            && !self.path.pacing.waiting
            && self.path.probe.high_seq == 0
            && !self.path.capabilities.wants_idle_acks
            && !self.is_closing()
            && !self.has_paths()
    }

    /// It acknowledges what was acknowledged before, with the same window, and reports nothing.
    #[inline]
    pub(crate) fn says_nothing_new(&self, segment: &Segment) -> bool {
        segment.ack == self.snd_una && segment.window == self.peer.window && segment.sack_count == 0
    }

    /// Several full segments may leave by one look at the windows.
    #[inline(always)]
    pub(super) fn sends_at_once(&self) -> bool {
        self.fast_path.is_on() && !self.path.one_by_one && self.sizes.built_end <= self.snd_nxt
    }

    /// The timer of the tail loss probe was set to `jiffies` in this tick already: it stands as it is.
    #[inline]
    pub(super) fn probe_timer_stands(&self, jiffies: u64) -> bool {
        self.fast_path.is_on()
            && self.timer.kind == TimerKind::LossProbe
            && self.timer.probe_set == (self.clock.jiffies, jiffies)
            && !self.path.window.is_paced
    }

    /// What is out was sent in the order of its numbers, and nothing of it is marked: its order in time need not be kept.
    #[inline]
    pub(super) fn is_in_order_again(&self) -> bool {
        self.fast_path.is_on()
            && self.flight.is_ordered_by_time()
            && !self.path.tally.has_marks()
            && self.flight.follows_retransmissions(self.snd_una)
    }
}
