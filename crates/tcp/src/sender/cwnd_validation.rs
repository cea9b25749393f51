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

#[cfg(test)]
mod tests {
    use daybreak_units::{Duration, Instant};

    use super::*;
    use crate::config::Config;
    use crate::congestion;

    fn sender(cwnd: u32) -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        sender.sizes.mss = 1_000;
        sender.settings.slow_start_after_idle = true;
        (sender.settings.initial_window, sender.path.window.cwnd, sender.path.window.ssthresh) = (10, cwnd, 5);
        sender
    }

    #[test]
    fn an_unused_window_loses_half_of_what_was_not_used_if_the_application_was_the_limit() {
        // RFC 7661's predecessor, RFC 2861, section 3, as tcp_cwnd_application_limited() has it.
        for (state, is_full, cwnd, used, left) in [
            (CaState::Open, false, 40, 20, 30),
            (CaState::Open, false, 40, 5, 25),
            (CaState::Open, true, 40, 20, 40),
            (CaState::Disorder, false, 40, 20, 40),
            (CaState::Open, false, 20, 20, 20),
            (CaState::Open, false, 8, 3, 8),
        ] {
            let mut sender = sender(cwnd);
            (sender.path.state, sender.path.usage.cwnd_used) = (state, used);
            sender.decay_unused_window(is_full);
            assert_eq!(sender.path.window.cwnd, left, "{used} of {cwnd} in {state:?}");
            let is_judged = state == CaState::Open && !is_full;
            assert_eq!(sender.path.usage.cwnd_used, if is_judged { 0 } else { used });
            // Three quarters of the window are worth coming back to, but only where it shrinks.
            assert_eq!(sender.path.window.ssthresh, if left < cwnd { cwnd / 2 + cwnd / 4 } else { 5 });
        }
    }

    #[test]
    fn each_timeout_of_idle_time_halves_the_window_down_to_the_initial_one() {
        // RFC 5681, section 4.1; tcp_cwnd_restart().
        for (idle_ms, cwnd, left) in
            [(200, 80, 80), (201, 80, 40), (400, 80, 40), (401, 80, 20), (1_800, 80, 10), (1_800, 8, 8), (400, 11, 10)]
        {
            let mut sender = sender(cwnd);
            sender.clock.advance(Instant::ZERO + Duration::from_ms(idle_ms));
            sender.path.rtt.rto = 200;
            assert_eq!((sender.transmit.last_sent_jiffies(), sender.clock.jiffies), (0, idle_ms));
            sender.restart_after_idle();
            let shrinks = idle_ms > 200;
            assert_eq!(sender.path.window.cwnd, left, "{idle_ms} ms");
            assert_eq!(sender.path.window.ssthresh, if shrinks { (cwnd / 2 + cwnd / 4).max(5) } else { 5 });
        }
    }
}
