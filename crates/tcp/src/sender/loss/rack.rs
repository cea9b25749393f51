//! RACK: time-based loss detection (RFC 8985, section 6).
//!
//! A segment is lost when one sent later has been delivered and the reordering window has passed
//! since. Linux keeps the window at zero until reordering has been seen once recovery has begun or the
//! classic threshold of duplicate ACKs is reached; it counts the steps of the window in quarters of
//! the minimum RTT; its timer runs in jiffies with two more on top.

use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::flight::Sent;
use crate::sender::timer::{TIMEOUT_MIN, TIMEOUT_MIN_US, TimerKind};

/// Recoveries that a widened window outlasts (RFC 8985, section 6.2 step 4).
pub(crate) const RECOVERY_THRESHOLD: u8 = 16;

/// State of RACK.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// A segment sent later than all before was delivered since the last look for losses.
    pub advanced: bool,
    /// A DSACK that is due to reordering has arrived.
    pub dsack_seen: bool,
    /// Width of the reordering window in quarters of the minimum RTT.
    pub reo_wnd_steps: u8,
    /// Recoveries until the width returns to one step.
    pub reo_wnd_persist: u8,
    /// RTT of the segment delivered last, in microseconds.
    pub rtt_us: u32,
    /// Send time of the most recently sent segment that was delivered.
    sent_us: u64,
    /// Its end, which orders segments sent at the same time.
    end: u64,
    /// `delivered` when the width last grew: it may grow once a round trip.
    last_delivered: u64,
}

impl Rack {
    pub fn new() -> Self {
        Self {
            advanced: false,
            dsack_seen: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            rtt_us: 0,
            sent_us: 0,
            end: 0,
            last_delivered: 0,
        }
    }

    /// Section 6.2, steps 1 and 2: a segment was delivered.
    #[inline]
    pub fn on_delivered(&mut self, sent: &Sent, now_us: u64, min_rtt_us: u32) {
        let rtt_us = now_us.saturating_sub(sent.sent_us) as u32;
        // Too fast for the retransmission: the original was delivered.
        if rtt_us < min_rtt_us && sent.has(Sent::RETRANS | Sent::EVER_RETRANS) {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if (sent.sent_us, sent.end()) > (self.sent_us, self.end) {
            self.sent_us = sent.sent_us;
            self.end = sent.end();
        }
    }

    /// When the most recently sent segment was sent that has been delivered.
    pub fn sent_us(&self) -> u64 {
        self.sent_us
    }

    /// The segment was sent before the most recent delivered one.
    #[inline]
    pub fn overtook(&self, sent: &Sent) -> bool {
        (self.sent_us, self.end) > (sent.sent_us, sent.end())
    }

    /// Microseconds until the segment is lost; zero or less when it is.
    #[inline]
    pub fn remaining_us(&self, sent: &Sent, reo_wnd_us: u32, now_us: u64) -> i64 {
        i64::from(self.rtt_us) + i64::from(reo_wnd_us) - now_us.saturating_sub(sent.sent_us) as i64
    }
}

impl Sender {
    /// Section 6.2, step 4: the reordering window in microseconds.
    fn reo_wnd_us(&self) -> u32 {
        let path = &self.path;
        if self.settings.profile.early_rack {
            return self.early_reo_wnd_us();
        }
        let is_at_threshold = || !self.settings.rack_no_threshold && path.tally.sacked_out() >= path.reordering.degree;
        if path.reordering.seen == 0 && (path.state >= CaState::Recovery || is_at_threshold()) {
            return 0;
        }
        let min_rtt = path.min_rtt.get();
        ((min_rtt >> 2).saturating_mul(u32::from(path.rack.reo_wnd_steps))).min(path.rtt.srtt_us())
    }

    /// As up to Linux 4.17: a millisecond, or more while nothing is lost or since reordering was seen.
    fn early_reo_wnd_us(&self) -> u32 {
        const LEAST_US: u32 = 1_000;
        let path = &self.path;
        if path.reordering.seen == 0 && path.tally.lost_out() > 0 {
            return LEAST_US;
        }
        let steps = u32::from(path.rack.reo_wnd_steps);
        (path.min_rtt.get() >> 2).saturating_mul(steps).max(LEAST_US).min(path.rtt.srtt_us())
    }

    /// Section 6.2, step 4: widens the window after a DSACK, once a round trip.
    #[inline]
    pub(crate) fn update_reo_wnd(&mut self, prior_delivered: Option<u64>) {
        let rack = &mut self.path.rack;
        if !rack.dsack_seen && (rack.reo_wnd_persist > 0 || rack.reo_wnd_steps == 1) {
            return;
        }
        if self.settings.rack_static_window {
            return;
        }
        let Some(prior_delivered) = prior_delivered else { return };
        if prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.reo_wnd_steps = rack.reo_wnd_steps.saturating_add(1);
            rack.dsack_seen = false;
            rack.last_delivered = self.path.delivery.delivered;
            rack.reo_wnd_persist = RECOVERY_THRESHOLD;
        } else if rack.reo_wnd_persist == 0 {
            rack.reo_wnd_steps = 1;
        }
    }

    /// Section 6.2, step 5: marks what is lost; returns the time until the next may be.
    pub(in crate::sender) fn detect_loss(&mut self) -> Option<u64> {
        let reo_wnd = self.reo_wnd_us();
        let now_us = self.clock.now_us;
        if !self.flight.is_ordered_by_time() {
            match self.flight.first() {
                Some(first) if self.path.rack.overtook(first) => self.flight.keep_time_order(),
                _ => return None,
            }
        }
        let mut wait = 0i64;
        let path = &self.path;
        let mut next = self.flight.oldest_of_path(&path.tally, |sent| path.rack.overtook(sent));
        while let Some(at) = next {
            let path = &self.path;
            next = self.flight.newer_of_path(&path.tally, at, |sent| path.rack.overtook(sent));
            let remaining = path.rack.remaining_us(self.flight.get(at), reo_wnd, now_us);
            if remaining <= 0 {
                self.mark_lost(at);
                self.flight.note_racked(at);
            } else {
                wait = wait.max(remaining);
            }
        }
        (wait > 0).then_some(wait as u64)
    }

    /// Looks for losses after an ACK. True when the reorder timer was set.
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.path.rack.advanced {
            return false;
        }
        self.path.rack.advanced = false;
        let Some(wait_us) = self.detect_loss() else { return false };
        self.set_reorder_timer(wait_us);
        true
    }

    pub(in crate::sender) fn set_reorder_timer(&mut self, wait_us: u64) {
        let jiffies = if self.settings.profile.two_tick_slack {
            self.clock.jiffies_in(wait_us) + TIMEOUT_MIN
        } else {
            self.clock.jiffies_in(wait_us + TIMEOUT_MIN_US)
        };
        let before = self.timer;
        self.set_timer_unpaced(TimerKind::Reorder, jiffies.min(self.path.rtt.rto));
        if before.kind == TimerKind::Reorder && before.at < self.timer.at && self.has_paths() {
            // Another path waits less long.
            self.timer = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    fn sender() -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sack_permitted) = (1_000, true);
        sender.put_in_flight(5);
        sender.path.min_rtt.sample(0, 8_000);
        sender.path.rtt.sample(&sender.clock, 9_000, 1, 5_001);
        sender
    }

    #[test]
    fn a_segment_does_not_overtake_itself() {
        let sent = |sent_us, seq| Sent { sent_us, seq, len: 1_000, ..Sent::default() };
        let mut rack = Rack::new();
        rack.on_delivered(&sent(50, 2_001), 70, 10);
        for (sent_us, seq, overtook) in
            [(49, 9_001, true), (50, 1_001, true), (50, 2_001, false), (50, 3_001, false), (51, 1, false)]
        {
            assert_eq!(rack.overtook(&sent(sent_us, seq)), overtook, "{seq} at {sent_us}");
        }
    }

    #[test]
    fn a_retransmission_that_is_acknowledged_too_soon_delivers_nothing() {
        // RFC 8985, section 6.2, step 2.
        for (flags, now_us, advanced) in
            [(0, 59, true), (Sent::RETRANS, 59, false), (Sent::EVER_RETRANS, 59, false), (Sent::RETRANS, 60, true)]
        {
            let mut rack = Rack::new();
            rack.on_delivered(&Sent { sent_us: 50, seq: 1, len: 1_000, flags, ..Sent::default() }, now_us, 10);
            assert_eq!(rack.advanced, advanced, "{flags} at {now_us} us");
        }
    }

    #[test]
    fn the_window_widens_with_a_dsack_of_another_round_trip_and_narrows_after_sixteen_recoveries() {
        // tcp_rack_update_reo_wnd().
        for (dsack_seen, steps, persist, prior_delivered, after) in [
            (true, 1, 0, Some(50), (2, 16)),
            (true, 1, 0, Some(49), (1, 0)),
            (true, 1, 0, None, (1, 0)),
            (true, 255, 3, Some(51), (255, 16)),
            (false, 3, 0, Some(50), (1, 0)),
            (false, 3, 5, Some(50), (3, 5)),
        ] {
            let mut sender = sender();
            let rack = &mut sender.path.rack;
            (rack.dsack_seen, rack.reo_wnd_steps, rack.reo_wnd_persist) = (dsack_seen, steps, persist);
            rack.last_delivered = 50;
            sender.update_reo_wnd(prior_delivered);
            let rack = &sender.path.rack;
            assert_eq!((rack.reo_wnd_steps, rack.reo_wnd_persist), after, "{dsack_seen}, {prior_delivered:?}");
        }
    }

    #[test]
    fn the_window_is_a_quarter_of_the_smallest_rtt_and_none_without_reordering_where_losses_are_likely() {
        for (seen, state, sacked, steps, wnd_us) in [
            (0, CaState::Open, 2, 1, 2_000),
            (0, CaState::Open, 3, 1, 0),
            (0, CaState::Cwr, 2, 1, 2_000),
            (0, CaState::Recovery, 0, 1, 0),
            (1, CaState::Recovery, 3, 1, 2_000),
            (1, CaState::Recovery, 3, 3, 6_000),
            (1, CaState::Recovery, 3, 9, 9_000),
        ] {
            let mut sender = sender();
            (sender.path.reordering.seen, sender.path.state) = (seen, state);
            sender.path.rack.reo_wnd_steps = steps;
            for n in 1..=sacked {
                sender.flight.sack(&mut sender.path.tally, sender.flight.head() + n);
            }
            assert_eq!(sender.reo_wnd_us(), wnd_us, "{seen} in {state:?} with {sacked}");
        }
    }

    #[test]
    fn up_to_linux_4_17_the_window_is_a_millisecond_at_least() {
        for (seen, lost, min_rtt_us, steps, wnd_us) in [
            (0, true, 8_000, 1, 1_000),
            (1, true, 8_000, 1, 2_000),
            (0, false, 8_000, 1, 2_000),
            (0, false, 8_000, 4, 8_000),
            (0, false, 400, 1, 1_000),
            (0, false, 8_000, 9, 9_000),
        ] {
            let mut sender = sender();
            sender.settings.profile.early_rack = true;
            sender.path.min_rtt.sample(1, min_rtt_us);
            (sender.path.reordering.seen, sender.path.rack.reo_wnd_steps) = (seen, steps);
            if lost {
                sender.mark_lost(sender.flight.head());
            }
            assert_eq!(sender.reo_wnd_us(), wnd_us, "{seen}, {lost}, {min_rtt_us} us");
        }
    }
}
