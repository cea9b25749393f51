//! Undo of reductions that turn out to have been needless: by timestamps (Eifel detection, RFC 3522,
//! with the response of RFC 4015) or by DSACKs for every retransmission (RFC 3708).

use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::loss::rack::RECOVERY_THRESHOLD;

/// What is needed to take a reduction back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// `snd_una` when the reduction began; zero when there is nothing to undo.
    pub marker: u64,
    /// Retransmissions that no DSACK has reported yet; negative when none was sent.
    pub retrans: i64,
    /// Threshold before the reduction; zero when it must stand.
    pub prior_ssthresh: u32,
    /// Timestamp of the first retransmission, in timestamp ticks; zero without one.
    pub retrans_stamp: u32,
}

impl Undo {
    /// A retransmission leaves while the timestamp clock shows `timestamp`.
    pub fn count_retransmission(&mut self, timestamp: u32) {
        if self.retrans_stamp == 0 {
            self.retrans_stamp = timestamp;
        }
        self.retrans = self.retrans.max(0) + 1;
    }
}

/// What a partial ACK shows of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partial {
    /// It goes on.
    Stands,
    /// It was needless, but retransmissions are still out: nothing more may be marked lost by this ACK.
    Held,
    /// It was needless, and its reduction is undone.
    Undone,
}

impl Sender {
    /// A reduction begins that may have to be taken back.
    pub(crate) fn start_undo(&mut self) {
        self.path.undo.marker = self.snd_una;
        // A probe that was a retransmission may cause a DSACK as well.
        let probe = &self.path.probe;
        let probes = i64::from(probe.high_seq != 0 && probe.is_retrans);
        self.path.undo.retrans = match i64::from(self.path.tally.retrans_out()) + probes {
            0 => -1,
            out => out,
        };
    }

    /// The next retransmission is the first again if nothing that was sent again is out.
    pub(crate) fn forget_retransmissions(&mut self) {
        if !self.any_retransmission_done() {
            self.path.undo.retrans_stamp = 0;
        }
    }

    /// The ACK echoes a timestamp from before the first retransmission, or nothing was sent again yet:
    /// the original had arrived.
    fn original_arrived(&self) -> bool {
        let stamp = self.path.undo.retrans_stamp;
        if stamp == 0 {
            // Without SACK the stamp is also cleared when all of the recovery is acknowledged.
            return self.sack_permitted || self.snd_una < self.path.high_seq;
        }
        self.echoed != 0 && (self.echoed.wrapping_sub(stamp) as i32) < 0
    }

    fn may_undo(&self) -> bool {
        !self.settings.profile.no_undo
            && self.path.undo.marker != 0
            && (self.path.undo.retrans == 0 || self.original_arrived())
    }

    /// Restores window and threshold; `unmark` also takes back all loss marks.
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            // Linux leaves to the timeout what RACK has given up. Of several paths, the one that was left may have lost the
            // rest though one of its segments has come late: it is judged again.
            let gives_up_nothing = self.has_paths();
            self.flight.unmark_lost(&mut self.path.tally, gives_up_nothing);
        }
        if self.path.undo.prior_ssthresh != 0 {
            self.path.window.cwnd = self.path.rule.undo_cwnd(&self.path.window);
            if self.path.undo.prior_ssthresh > self.path.window.ssthresh {
                self.path.window.ssthresh = self.path.undo.prior_ssthresh;
                self.withdraw_cwr();
            }
        }
        self.path.usage.stamp = self.clock.jiffies;
        self.path.undo.marker = 0;
        self.path.rack.advanced = true;
        self.counters.spurious += 1;
    }

    /// Recovery or Loss ends because all of it is acknowledged. True when the state must be held.
    pub(crate) fn leave_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else if self.path.rack.reo_wnd_persist > 0 {
            self.path.rack.reo_wnd_persist -= 1;
        }
        if self.must_hold_state() {
            return true;
        }
        self.set_state(CaState::Open);
        self.scoreboard.reneging = false;
        if self.settings.profile.forget_sacks {
            self.forget_sacks();
        }
        false
    }

    /// Without SACK a recovery is only over once something above `high_seq` is acknowledged: before
    /// that, duplicates may still be due to it (RFC 6582, section 5).
    fn must_hold_state(&mut self) -> bool {
        if self.sack_permitted || self.snd_una != self.path.high_seq {
            return false;
        }
        self.forget_retransmissions();
        true
    }

    /// Every retransmission was reported as a duplicate. True when the reduction was undone.
    pub(crate) fn undo_by_dsack(&mut self) -> bool {
        if self.settings.profile.no_undo || self.path.undo.marker == 0 || self.path.undo.retrans != 0 {
            return false;
        }
        let rack = &mut self.path.rack;
        rack.reo_wnd_persist = (rack.reo_wnd_persist + 1).min(RECOVERY_THRESHOLD);
        self.undo_reduction(false);
        true
    }

    /// A timeout turns out to be spurious, by F-RTO (`by_frto`) or by the evidence above.
    pub(crate) fn undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.counters.spurious_rtos += u64::from(by_frto);
        self.timer.timeouts = 0;
        if self.must_hold_state() {
            return true;
        }
        if by_frto || self.sack_permitted {
            self.set_state(CaState::Open);
            self.scoreboard.reneging = false;
        }
        true
    }

    /// A partial ACK in Recovery: undoes the reduction if it came from the original and not from the retransmission.
    pub(crate) fn undo_partial(&mut self, prior_una: u64) -> Partial {
        if self.settings.profile.no_undo || self.path.undo.marker == 0 || !self.original_arrived() {
            return Partial::Stands;
        }
        self.check_reordering(prior_una);
        if self.path.tally.retrans_out() > 0 {
            return Partial::Held;
        }
        self.forget_retransmissions();
        self.undo_reduction(true);
        self.try_keep_open();
        Partial::Undone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    /// A sender in Recovery whose reordering window is to stay wide for `persist` recoveries.
    fn recovering(persist: u8) -> Sender {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config::default(), rule);
        sender.sack_permitted = true;
        sender.path.state = CaState::Recovery;
        sender.path.window.ssthresh = 4;
        sender.path.undo = Undo { marker: 1, retrans: 1, prior_ssthresh: 8, retrans_stamp: 7 };
        sender.path.rack.reo_wnd_persist = persist;
        sender
    }

    #[test]
    fn a_recovery_that_was_due_brings_a_wide_reordering_window_nearer_to_its_end() {
        // RFC 8985, section 6.2, step 4: the window persists for 16 recoveries.
        for (persist, left) in [(RECOVERY_THRESHOLD, 15), (1, 0), (0, 0)] {
            let mut sender = recovering(persist);
            sender.leave_recovery();
            assert_eq!((sender.path.rack.reo_wnd_persist, sender.path.state), (left, CaState::Open));
        }
    }

    #[test]
    fn a_recovery_that_was_not_does_not() {
        let mut sender = recovering(9);
        // The ACK echoes an older timestamp than the first retransmission has.
        sender.echoed = 6;
        sender.leave_recovery();
        assert_eq!((sender.path.rack.reo_wnd_persist, sender.counters.spurious), (9, 1));
    }

    #[test]
    fn an_undo_by_dsack_adds_a_recovery_up_to_sixteen() {
        for (persist, left) in [(0, 1), (15, 16), (16, 16)] {
            let mut sender = recovering(persist);
            assert!(!sender.undo_by_dsack(), "a retransmission is not accounted for");
            sender.path.undo.retrans = 0;
            assert!(sender.undo_by_dsack());
            assert_eq!((sender.path.rack.reo_wnd_persist, sender.path.window.ssthresh), (left, 8));
            assert!(!sender.undo_by_dsack(), "there is nothing left to undo");
        }
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_is_of_the_original() {
        // tcp_packet_delayed(): nothing was sent again, or the echo is older. Without SACK the stamp is cleared at the end.
        for (stamp, echoed, has_sack, una, arrived) in [
            (7, 6, true, 1, true),
            (7, 7, true, 1, false),
            (7, 8, true, 1, false),
            (7, 0, true, 1, false),
            (0, 9, true, 9, true),
            (0, 9, false, 8, true),
            (0, 9, false, 9, false),
        ] {
            let mut sender = recovering(0);
            (sender.path.undo.retrans_stamp, sender.echoed, sender.sack_permitted) = (stamp, echoed, has_sack);
            (sender.snd_una, sender.path.high_seq) = (una, 9);
            assert_eq!(sender.original_arrived(), arrived, "{echoed} and {stamp}");
        }
    }

    #[test]
    fn an_undo_waits_for_a_duplicate_of_each_retransmission_a_probe_too() {
        for (high_seq, is_retrans, retrans) in [(0, true, -1), (5, false, -1), (5, true, 1)] {
            let mut sender = recovering(0);
            (sender.path.probe.high_seq, sender.path.probe.is_retrans, sender.snd_una) = (high_seq, is_retrans, 3);
            sender.start_undo();
            assert_eq!((sender.path.undo.retrans, sender.path.undo.marker), (retrans, 3));
        }
    }

    #[test]
    fn without_sack_recovery_lasts_until_something_later_is_acknowledged() {
        // RFC 6582, section 5.
        for (has_sack, una, holds) in [(true, 9, false), (false, 9, true), (false, 10, false)] {
            let mut sender = recovering(0);
            (sender.sack_permitted, sender.snd_una, sender.path.high_seq) = (has_sack, una, 9);
            assert_eq!(sender.must_hold_state(), holds);
            assert_eq!(sender.path.undo.retrans_stamp, if holds { 0 } else { 7 });
        }
    }
}
