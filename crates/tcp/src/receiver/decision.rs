//! When the ACK of a segment that has just been queued goes out: at once, after the application's read,
//! or later.

use daybreak_units::{Duration, Instant};

use super::ack_policy::Decision;
use super::{Receiver, SenderTiming};

impl Receiver {
    /// The ACK for a segment of `len` bytes in order when no hole is open: [`Receiver::decide`] without what only an open
    /// hole needs.
    #[inline]
    pub(super) fn decide_in_order(&mut self, now: Instant, len: u32, srtt: impl FnOnce() -> Duration) {
        let unacked = self.rcv_nxt - self.window.rcv_wup();
        let rcv_mss = self.policy.rcv_mss();
        let is_due = unacked > u64::from(rcv_mss);
        if is_due || self.policy.is_urgent() {
            let (candidate, crowded) = self.window.candidate(self.window.cost_of(len), rcv_mss);
            // Linux looks at the window for the decision only where more than a segment is to be acknowledged; otherwise
            // it does when the ACK is sent.
            if crowded && is_due {
                self.policy.leave_quick_mode();
            }
            let decision = self.policy.decide(is_due && candidate >= self.window.rcv_wnd());
            if crowded {
                self.policy.leave_quick_mode();
            }
            if decision == Decision::Now {
                self.window.offer(self.rcv_nxt, candidate);
                self.offer_settled = true;
                self.ack_pending = true;
                self.window.adjust_space(now, self.rcv_nxt, self.rcv_nxt, 0);
                // The read may free so much that another ACK must follow.
                self.update_follows = self.window_doubles(u64::from(len));
                return;
            }
        }
        if self.policy.delay(now, srtt) == Decision::Now {
            self.settle_before_read(self.window.cost_of(len));
            self.ack_pending = true;
        }
        self.window.adjust_space(now, self.rcv_nxt, self.rcv_nxt, 0);
        self.ack_pending |= self.policy.due_after_read(unacked, true) || self.window_doubles(u64::from(len));
    }

    /// An ACK goes out before the application reads: the `taken` memory of the buffer narrows its window.
    #[inline(never)]
    pub(super) fn settle_before_read(&mut self, taken: u64) {
        let (candidate, crowded) = self.window.candidate(taken, self.policy.rcv_mss());
        if crowded {
            self.policy.leave_quick_mode();
        }
        self.window.offer(self.rcv_nxt, candidate);
        self.offer_settled = true;
    }

    /// The ACK for what has just been queued: now, after the application's read, or later. The first `sk_buff` that is
    /// read ends at `first_end`, and `taken` is the memory of the buffer before the read.
    #[inline]
    pub(super) fn decide(&mut self, now: Instant, delivered: u64, first_end: u64, taken: u64, timing: SenderTiming) {
        let unacked = self.rcv_nxt - self.window.rcv_wup();
        let rcv_mss = self.policy.rcv_mss();
        let is_due = unacked > u64::from(rcv_mss);
        let (mut candidate, mut crowded) = (0, false);
        if is_due || self.policy.is_urgent() {
            (candidate, crowded) = self.window.candidate(taken, rcv_mss);
            if crowded && is_due {
                self.policy.leave_quick_mode();
            }
        }
        if !self.policy.scheduled() {
            return;
        }
        let mut decision = self.policy.decide(is_due && candidate >= self.window.rcv_wnd());
        if crowded {
            self.policy.leave_quick_mode();
        }
        if decision == Decision::Now {
            self.window.offer(self.rcv_nxt, candidate);
            self.offer_settled = true;
        } else if !self.queue.is_empty() {
            decision = if self.negotiated.sack {
                self.policy.compress(now, self.rcv_nxt, self.window.rcv_rtt_us8(), timing.srtt)
            } else {
                Decision::Now
            };
            if decision == Decision::Now {
                self.settle_before_read(taken);
            }
        } else {
            decision = self.policy.delay(now, || timing.srtt);
            if decision == Decision::Now {
                self.settle_before_read(taken);
            }
        }
        if delivered > 0 {
            // Linux reads one `sk_buff` at a time: right-sizing sees only the first in this round trip.
            self.window.adjust_space(now, first_end, self.rcv_nxt, self.ahead());
        }
        // The ACK goes out before the application reads, which may free so much that another must follow.
        self.update_follows = decision == Decision::Now && self.window_doubles(delivered);
        if decision == Decision::Later
            && self.unread.is_none()
            && (self.policy.due_after_read(unacked, self.queue.is_empty()) || self.window_doubles(delivered))
        {
            decision = Decision::Now;
        }
        self.ack_pending |= decision == Decision::Now;
    }

    /// The read freed so much of the buffer that the peer should be informed at once. A peer that has closed needs no
    /// more window.
    #[inline(always)]
    pub(super) fn window_doubles(&self, delivered: u64) -> bool {
        let current = self.window.remaining(self.rcv_nxt);
        delivered > 0 && self.window.may_become(2 * current) && self.offers_double(current)
    }

    #[inline(never)]
    fn offers_double(&self, current: u64) -> bool {
        if self.fin_seq < self.rcv_nxt {
            return false;
        }
        let (candidate, _) = self.window.candidate(self.memory(), self.policy.rcv_mss());
        candidate > 0 && candidate >= 2 * current
    }
}
