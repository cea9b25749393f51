//! The congestion state machine, and what follows from a loss.
//!
//! | state | entered when | what an ACK does there | left when |
//! |---|---|---|---|
//! | Open | nothing is SACKed, lost or sent again | the rule grows the window | the next states |
//! | Disorder | something is SACKed or was sent again, and no loss is evident | as in Open | nothing is left of it |
//! | CWR | an ECN echo (RFC 3168, section 6.1.2), or the rule backs off | PRR (RFC 6937) reduces | something above `high_seq` is acknowledged |
//! | Recovery | a loss is evident (RFC 8985; RFC 6675, section 5; RFC 6582) | PRR; an undo if the original arrived | `high_seq` is acknowledged |
//! | Loss | a timeout (RFC 5681, section 3.1) | slow start; F-RTO (RFC 5682) or an undo may end it | `high_seq` is acknowledged |
//!
//! `high_seq` is `snd_nxt` when the state was entered. A loss leads to Recovery from each of the first three, a timeout to
//! Loss from each. The machine runs for ACKs that are not plain: duplicates, SACKs, ECN echoes, and every ACK outside Open.
//!
//! | file | what it holds |
//! |---|---|
//! | `prr.rs` | the window in a reduction, and its end |
//! | `undo.rs` | reductions that turn out to have been needless |
//! | `timeout.rs` | the retransmission timeout, and ACKs in Loss |

pub(super) mod prr;
mod timeout;
pub(super) mod undo;

use crate::congestion::{AckSample, CaState};
use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::Sent;
use crate::sender::loss::Found;
use crate::sender::recovery::undo::Partial;
use crate::sender::timer::TimerKind;

impl Sender {
    /// Runs the state machine for one such ACK (`tcp_fastretrans_alert`). Unless it shows a loss, nothing is sent again for it.
    pub(crate) fn run_state_machine(&mut self, ack: &mut Ack, is_dupack: bool) {
        let mut counts = is_dupack || (ack.flags.any(AckFlags::DATA_SACKED) && self.much_is_sacked());
        if self.path.tally.packets_out() == 0 {
            self.path.tally.forget_duplicates();
        }
        if ack.flags.any(AckFlags::ECE) {
            self.path.undo.prior_ssthresh = 0;
        }
        if self.check_reneging(&mut ack.flags) {
            return;
        }
        if self.path.state == CaState::Open {
            self.path.undo.retrans_stamp = 0;
        } else if self.snd_una >= self.path.high_seq {
            match self.path.state {
                // Something above high_seq must be acknowledged, so that CWR has reached the peer.
                CaState::Cwr if self.snd_una != self.path.high_seq => {
                    self.end_cwnd_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.sack_permitted {
                        self.path.tally.forget_duplicates();
                    }
                    if self.leave_recovery() {
                        return;
                    }
                    self.end_cwnd_reduction();
                }
                _ => {}
            }
        }
        let found = match self.path.state {
            CaState::Recovery => self.step_in_recovery(ack, is_dupack, &mut counts),
            CaState::Loss => {
                self.process_loss(ack.flags, is_dupack);
                self.identify_losses(ack);
                if self.path.state == CaState::Open || ack.flags.any(AckFlags::LOST_RETRANS) {
                    self.step_outside_recovery(ack, is_dupack)
                } else {
                    Found::Nothing
                }
            }
            _ => self.step_outside_recovery(ack, is_dupack),
        };
        if found == Found::Nothing {
            return;
        }
        if counts && self.sack_permitted && self.marks_by_count() {
            self.mark_lost_by_count(found);
        }
        self.look_for_lost();
    }

    fn step_in_recovery(&mut self, ack: &mut Ack, is_dupack: bool, counts: &mut bool) -> Found {
        if ack.flags.any(AckFlags::UNA_ADVANCED) {
            match self.undo_partial(ack.prior_una) {
                Partial::Held => return Found::Nothing,
                Partial::Undone => {}
                Partial::Stands => *counts = self.much_is_sacked(),
            }
        } else if !self.sack_permitted && is_dupack {
            self.count_duplicate();
        }
        let ece = ack.flags.any(AckFlags::ECE);
        if self.undo_by_dsack() {
            self.try_to_open(ece);
        }
        self.identify_losses(ack);
        if self.path.state != CaState::Recovery {
            if !self.is_loss_evident() {
                return Found::Nothing;
            }
            self.enter_recovery(ece);
        }
        Found::Losses
    }

    fn step_outside_recovery(&mut self, ack: &mut Ack, is_dupack: bool) -> Found {
        if !self.sack_permitted {
            if ack.flags.any(AckFlags::UNA_ADVANCED) {
                self.path.tally.forget_duplicates();
            }
            if is_dupack {
                self.count_duplicate();
            }
        }
        if self.path.state <= CaState::Disorder {
            self.undo_by_dsack();
        }
        self.identify_losses(ack);
        let ece = ack.flags.any(AckFlags::ECE);
        if self.is_loss_evident() {
            self.enter_recovery(ece);
            Found::FirstLoss
        } else {
            self.try_to_open(ece);
            Found::Nothing
        }
    }

    /// Begins fast recovery.
    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.counters.fast_recoveries += 1;
        self.forget_retransmissions();
        self.path.undo.prior_ssthresh = 0;
        self.start_undo();
        if !self.path.in_cwnd_reduction() {
            if !ece {
                self.path.undo.prior_ssthresh = self.path.current_ssthresh();
            }
            self.start_cwnd_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// Nothing is lost: returns to Open or Disorder, or reacts to congestion echoes.
    fn try_to_open(&mut self, ece: bool) {
        self.forget_retransmissions();
        if ece && self.enter_cwr() {
            self.counters.ecn_reductions += 1;
        }
        if self.path.state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// Open, or Disorder while something is SACKed or was sent again.
    pub(crate) fn try_keep_open(&mut self) {
        let disorder = self.path.left_out() > 0 || self.any_retransmission_done();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.path.state != state {
            self.set_state(state);
            self.path.high_seq = self.snd_nxt;
        }
    }

    /// The rule grows the window, or reduces it without a loss.
    #[inline]
    pub(crate) fn grow(&mut self, sample: &AckSample) {
        self.path.rule.on_ack(&mut self.path.window, sample);
        if self.path.window.backs_off {
            self.path.window.backs_off = false;
            self.enter_cwr();
        }
        self.path.usage.stamp = self.clock.jiffies;
    }

    /// Congestion without loss, by an echo (RFC 3168, section 6.1.2) or the rule's own judgement. False where a
    /// reduction lasts: there is one a window of data.
    #[cold]
    pub(crate) fn enter_cwr(&mut self) -> bool {
        self.path.undo.prior_ssthresh = 0;
        if self.path.state >= CaState::Cwr {
            return false;
        }
        self.path.undo.marker = 0;
        self.start_cwnd_reduction();
        self.set_state(CaState::Cwr);
        true
    }

    /// Something at the head of the queue was sent more than once.
    pub(crate) fn any_retransmission_done(&self) -> bool {
        self.path.tally.retrans_out() > 0 || self.flight.first().is_some_and(|first| first.has(Sent::EVER_RETRANS))
    }

    /// The first segment is SACKed though not acknowledged: gives the peer half an RTT, at least
    /// 10 ms, to acknowledge it, then times out (RFC 2018, section 8).
    fn check_reneging(&mut self, flags: &mut AckFlags) -> bool {
        if !flags.any(AckFlags::SACK_RENEGING) || !flags.any(AckFlags::UNA_ADVANCED) {
            return false;
        }
        let half_rtt = u64::from(self.path.rtt.srtt_x8() >> 4);
        let jiffies = self.clock.jiffies_in(half_rtt.max(10_000));
        self.set_timer_unpaced(TimerKind::Retransmit, jiffies);
        flags.unset(AckFlags::SET_TIMER);
        true
    }

    /// The reorder timer fired.
    pub(crate) fn on_reorder_timeout(&mut self) {
        if self.has_paths() {
            self.on_reorder_timeout_of_paths();
            return;
        }
        // The timer that this look needs is the retransmission timer, which is set below.
        let _ = self.judge_reordering(false);
        if self.timer.kind != TimerKind::Retransmit {
            self.rearm_rto();
        }
    }

    /// What was waited for in vain is lost; returns the time until more may be. A loss may have been `found` already.
    pub(in crate::sender) fn judge_reordering(&mut self, found: bool) -> Option<u64> {
        let before = self.path.in_flight();
        let wait = self.detect_loss();
        if (found || self.path.in_flight() != before) && self.path.state != CaState::Recovery {
            self.enter_recovery(false);
            if !self.path.capabilities.controls_window {
                self.reduce_cwnd(1, false);
            }
        }
        wait
    }

    /// Section 7.4.2: what the ACK shows of the probe.
    pub(crate) fn on_loss_probe_ack(&mut self, ack: u64, flags: AckFlags) {
        if ack < self.path.probe.high_seq {
            return;
        }
        if !self.path.probe.is_retrans || flags.any(AckFlags::DSACK_TLP) {
            self.path.probe.high_seq = 0;
        } else if ack > self.path.probe.high_seq {
            // Only one copy arrived: the probe repaired a loss, which must count as congestion.
            self.start_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
            self.counters.tlp_recoveries += 1;
        } else if !flags.any(AckFlags::UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DATA_SACKED) {
            self.path.probe.high_seq = 0;
        }
    }

    /// The reordering timer fired: each path looks for what it waited for.
    #[cold]
    fn on_reorder_timeout_of_paths(&mut self) {
        let mut wait: Option<u64> = None;
        self.on_each_path(|sender| {
            let overdue = sender.detect_overdue();
            let reordered = sender.judge_reordering(overdue.found);
            wait = wait.into_iter().chain(overdue.wait_us).chain(reordered).min();
        });
        self.timer.kind = TimerKind::None;
        if let Some(us) = wait {
            self.set_reorder_timer(us);
        }
        self.settle_probe();
        if wait.is_none() {
            self.arm_after_ack();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    /// RFC 8985, section 7.4.2, as `tcp_process_tlp_ack()` has it: what ended at 5,001 was sent as a probe.
    #[test]
    fn a_probe_was_lost_data_unless_a_duplicate_says_otherwise() {
        for (is_retrans, ack, flags, high_seq, repairs) in [
            (false, 5_001, AckFlags::UNA_ADVANCED, 0, 0),
            (true, 5_001, AckFlags::DSACK_TLP, 0, 0),
            (true, 6_001, AckFlags::DSACK_TLP, 0, 0),
            (true, 6_001, AckFlags::UNA_ADVANCED, 0, 1),
            (true, 5_001, AckFlags::UNA_ADVANCED, 5_001, 0),
            (true, 5_001, AckFlags::DATA_SACKED, 5_001, 0),
            (true, 5_001, AckFlags::default(), 0, 0),
            (true, 4_001, AckFlags::DSACK_TLP, 5_001, 0),
        ] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
            sender.sizes.mss = 1_000;
            sender.put_in_flight(7);
            (sender.path.probe.high_seq, sender.path.probe.is_retrans) = (5_001, is_retrans);
            sender.on_loss_probe_ack(ack, flags);
            let found = (sender.path.probe.high_seq, sender.counters.tlp_recoveries);
            assert_eq!(found, (high_seq, repairs), "{ack}, {flags:?}");
        }
    }
}
