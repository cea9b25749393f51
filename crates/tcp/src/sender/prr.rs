//! Proportional Rate Reduction (RFC 6937), as Linux 6.1 applies it.
//!
//! While more is in flight than `ssthresh`, the sender sends `ssthresh / prior_cwnd` of what is
//! delivered. Below, it may rebuild towards `ssthresh`: by one segment more than was delivered (the
//! slow-start reduction bound) only on ACKs that advance `snd_una` and reveal no new loss, otherwise
//! by what was delivered (the conservative bound).

use super::Sender;
use crate::congestion::{CaEvent, CaState};

/// State of one reduction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    /// Segments delivered since it began.
    delivered: u32,
    /// Segments sent since it began.
    pub out: u32,
}

impl Prr {
    /// Counts an ACK where the window is reduced at once. True for the first and then for every other one.
    pub fn count_ack(&mut self) -> bool {
        self.delivered += 1;
        self.delivered % 2 == 1
    }
}

impl Sender {
    /// Begins a reduction: asks the rule for the threshold.
    pub(crate) fn start_cwnd_reduction(&mut self) {
        self.path.high_seq = self.snd_nxt;
        self.path.probe.high_seq = 0;
        self.path.window.cwnd_cnt = 0;
        self.path.window.prior_cwnd = self.path.window.cwnd;
        self.path.prr = Prr::default();
        let context = self.context();
        self.path.window.ssthresh = self.path.rule.ssthresh(&self.path.window, &context);
        self.queue_cwr();
    }

    /// Sets the window for an ACK within a reduction.
    pub(crate) fn reduce_cwnd(&mut self, newly_delivered: u32, newly_lost: u64, una_advanced: bool) {
        if newly_delivered == 0 {
            return;
        }
        if self.legacy.window_at_once {
            self.reduce_at_once();
            return;
        }
        let path = &mut self.path;
        debug_assert!(path.window.prior_cwnd > 0, "a reduction without a window before it");
        path.prr.delivered += newly_delivered;
        let in_flight = path.in_flight();
        let mut budget: i64;
        if in_flight > path.window.ssthresh {
            let prior = u64::from(path.window.prior_cwnd);
            let share = u64::from(path.window.ssthresh) * u64::from(path.prr.delivered);
            budget = share.div_ceil(prior) as i64 - i64::from(path.prr.out);
        } else {
            let behind = i64::from(path.prr.delivered) - i64::from(path.prr.out);
            budget = behind.max(i64::from(newly_delivered));
            if una_advanced && newly_lost == 0 {
                budget += 1;
            }
            budget = budget.min(i64::from(path.window.ssthresh - in_flight));
        }
        // The first ACK always lets the fast retransmit out.
        budget = budget.max(i64::from(path.prr.out == 0));
        path.window.cwnd = (i64::from(in_flight) + budget.max(0)) as u32;
    }

    /// Ends a reduction: the window becomes the threshold, unless the reduction was undone.
    pub(crate) fn end_cwnd_reduction(&mut self) {
        if self.path.rule_controls {
            return;
        }
        let path = &mut self.path;
        let undone = path.state != CaState::Cwr && path.undo.marker == 0;
        if path.window.ssthresh < u32::MAX && !undone {
            path.window.cwnd = path.window.ssthresh;
            path.usage.stamp = self.clock.jiffies;
        }
        self.event(CaEvent::CompleteCwr);
    }
}
