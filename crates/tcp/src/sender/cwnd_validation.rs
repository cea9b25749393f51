//! Congestion window validation: whether the flow uses its window (RFC 7661's concern), and the
//! decay of a window that it does not use (RFC 2861), as Linux 6.1 does them.

use super::Sender;
use crate::congestion::{CaEvent, CaState};

/// How much of the window the flow has used lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// Most segments out at once in this window of data.
    max_packets_out: u32,
    /// The window of data ends when this is acknowledged.
    round_end: u64,
    /// Most segments out since the window was last full.
    cwnd_used: u32,
    /// When the window was last full or changed, in jiffies.
    pub stamp: u64,
}

impl Sender {
    /// Whether the window may grow: it was the limit, or, in slow start, more than half of it was used.
    #[inline]
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        let usage = &self.path.usage;
        let window = &self.path.window;
        window.was_full || (window.in_slow_start() && window.cwnd < 2 * usage.max_packets_out)
    }

    /// After a burst of transmissions that ended because the window was full (`limited`) or not.
    #[inline]
    pub(crate) fn validate_cwnd(&mut self, limited: bool) {
        self.validate(limited, self.buffer.is_full());
    }

    /// After the first segment of a write that finds nothing in flight: each segment leaves while it is written, so there is
    /// but one when the window is looked at, and the application has not come to wait for room.
    #[inline(never)]
    pub(crate) fn validate_as_written(&mut self) {
        self.validate(false, false);
    }

    #[inline]
    fn validate(&mut self, limited: bool, is_full: bool) {
        let (usage, window) = (&mut self.path.usage, &mut self.path.window);
        if self.snd_una >= usage.round_end
            || limited
            || (!window.was_full && self.path.tally.packets_out() > usage.max_packets_out)
        {
            window.was_full = limited;
            usage.max_packets_out = self.path.tally.packets_out();
            usage.round_end = self.snd_nxt;
        }
        if self.is_cwnd_limited() {
            self.path.usage.cwnd_used = 0;
            self.path.usage.stamp = self.clock.jiffies;
        } else {
            self.note_unused_window(is_full);
        }
    }

    fn note_unused_window(&mut self, is_full: bool) {
        let usage = &mut self.path.usage;
        usage.cwnd_used = usage.cwnd_used.max(self.path.tally.packets_out());
        if self.settings.slow_start_after_idle
            && self.clock.jiffies - usage.stamp >= self.path.rtt.rto
            && !self.path.capabilities.controls_window
        {
            self.decay_unused_window(is_full);
        }
    }

    /// The application has not filled the window for a whole timeout: halve what it did not use.
    #[cold]
    fn decay_unused_window(&mut self, is_full: bool) {
        if self.path.state == CaState::Open && !is_full {
            let used = self.path.usage.cwnd_used.max(self.settings.initial_window);
            if used < self.path.window.cwnd {
                self.path.window.ssthresh = self.path.current_ssthresh();
                self.path.window.cwnd = (self.path.window.cwnd + used) >> 1;
            }
            self.path.usage.cwnd_used = 0;
        }
        self.path.usage.stamp = self.clock.jiffies;
    }

    /// Slow start after idle (RFC 5681, section 4.1): the window halves for every timeout that has
    /// passed since the last transmission, down to the restart window.
    pub(crate) fn restart_after_idle(&mut self) {
        if !self.settings.slow_start_after_idle || !self.flight.is_empty() || self.path.capabilities.controls_window {
            return;
        }
        let rto = self.path.rtt.rto;
        let mut idle = self.clock.jiffies - self.transmit.last_sent_jiffies();
        if idle <= rto {
            return;
        }
        self.event(CaEvent::WindowRestart);
        self.path.window.ssthresh = self.path.current_ssthresh();
        let restart = self.settings.initial_window.min(self.path.window.cwnd);
        while idle > rto && self.path.window.cwnd > restart {
            idle -= rto;
            self.path.window.cwnd >>= 1;
        }
        self.path.window.cwnd = self.path.window.cwnd.max(restart);
        self.path.usage.stamp = self.clock.jiffies;
        self.path.usage.cwnd_used = 0;
    }
}
