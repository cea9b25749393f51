//! The one timer of a sender: retransmission, tail loss probe, reordering or window probe.

use daybreak_units::Instant;

use super::Sender;

/// What the probe and reordering timers wait beyond the time that was measured, in microseconds. Linux 6.1.192 adds it
/// before it rounds up to jiffies.
pub(crate) const TIMEOUT_MIN_US: u64 = 2_000;
/// In jiffies: of the handshake, and of all with [`crate::config::Profile::two_tick_slack`].
pub(crate) const TIMEOUT_MIN: u64 = 2;

/// What the timer is set for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// Not set.
    #[default]
    None,
    /// The retransmission timeout (RFC 6298).
    Retransmit,
    /// The tail loss probe (RFC 8985, section 7).
    LossProbe,
    /// RACK's reordering window (RFC 8985, section 6.3).
    Reorder,
    /// The zero-window probe (RFC 9293, section 3.8.6.1).
    WindowProbe,
}

/// The timer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Timer {
    pub at: Instant,
    pub kind: TimerKind,
    /// Timeouts since `snd_una` last advanced.
    pub timeouts: u32,
    /// When the probe timer was last set, and to how much, in jiffies.
    pub probe_set: (u64, u64),
}

impl Timer {
    pub const UNSET: Self = Self { at: Instant::NEVER, kind: TimerKind::None, timeouts: 0, probe_set: (0, 0) };
}

impl Sender {
    /// Sets the timer to `jiffies` from now, later by what pacing holds back.
    #[inline]
    pub(crate) fn set_timer(&mut self, kind: TimerKind, jiffies: u64) {
        let mut jiffies = jiffies;
        if self.path.window.is_paced {
            let held = self.path.pacing.departure.saturating_since(self.clock.now);
            jiffies += self.clock.whole_jiffies_in(held);
        }
        self.set_timer_unpaced(kind, jiffies);
    }

    /// Sets the timer to `jiffies` from now, whatever pacing holds back: what Linux does when it waits for
    /// reordering, after a timeout and when nothing could be sent.
    #[inline]
    pub(crate) fn set_timer_unpaced(&mut self, kind: TimerKind, jiffies: u64) {
        self.timer.kind = kind;
        self.timer.at = self.clock.expiry(jiffies.min(self.path.rtt.rto_max()));
    }

    #[inline]
    pub(crate) fn clear_timer(&mut self) {
        (self.timer.kind, self.timer.at) = (TimerKind::None, Instant::NEVER);
    }

    /// Microseconds until the oldest segment has been out for a whole RTO; negative when it has.
    #[inline]
    pub(crate) fn rto_left_us(&self) -> i64 {
        let sent_us = self.flight.first().map_or(self.clock.now_us, |first| first.sent_us);
        sent_us as i64 + self.path.rtt.rto_us() as i64 - self.clock.now_us as i64
    }

    /// RFC 6298, rules 5.1 to 5.3. When a probe or the reorder timer was set, time has already passed
    /// for the oldest segment.
    pub(crate) fn rearm_rto(&mut self) {
        if self.flight.is_empty() {
            self.clear_timer();
            return;
        }
        let jiffies = match self.timer.kind {
            TimerKind::Reorder | TimerKind::LossProbe => self.clock.jiffies_in(self.rto_left_us().max(1) as u64),
            _ => self.path.rtt.rto,
        };
        self.set_timer(TimerKind::Retransmit, jiffies);
    }
}
