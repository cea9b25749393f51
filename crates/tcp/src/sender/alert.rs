//! The congestion state machine: Open, Disorder, CWR, Recovery, Loss.
//!
//! Runs for ACKs that are not plain: duplicates, SACKs, ECN echoes, and every ACK outside Open.

use super::Sender;
use super::ack::{Ack, AckFlags};
use super::flight::Sent;
use super::resend::Resend;
use super::timer::TimerKind;
use super::undo::Partial;
use crate::congestion::{CaEvent, CaState};

/// What the state machine found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No loss.
    Nothing,
    /// A loss that begins a recovery.
    FirstLoss,
    /// A recovery goes on.
    Losses,
}

impl Sender {
    /// Takes one such ACK. Unless it says that something is lost, nothing is sent again for it.
    pub(crate) fn alert(&mut self, ack: &mut Ack, is_dupack: bool) {
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
            CaState::Recovery => self.alert_in_recovery(ack, is_dupack, &mut counts),
            CaState::Loss => {
                self.process_loss(ack.flags, is_dupack);
                self.identify_losses(ack);
                if self.path.state == CaState::Open || ack.flags.any(AckFlags::LOST_RETRANS) {
                    self.alert_otherwise(ack, is_dupack)
                } else {
                    Found::Nothing
                }
            }
            _ => self.alert_otherwise(ack, is_dupack),
        };
        if found == Found::Nothing {
            return;
        }
        if counts && self.sack_permitted && self.marks_by_count() {
            self.mark_lost_by_count(found);
        }
        self.resend = Resend::Lost;
    }

    fn alert_in_recovery(&mut self, ack: &mut Ack, is_dupack: bool, counts: &mut bool) -> Found {
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

    fn alert_otherwise(&mut self, ack: &mut Ack, is_dupack: bool) -> Found {
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

    /// Something is marked lost, or, without RACK, enough is SACKed (RFC 6675, section 5).
    fn is_loss_evident(&self) -> bool {
        let by_count = self.marks_by_count() && self.path.tally.sacked_out() >= self.path.reordering.degree;
        self.path.tally.lost_out() > 0 || by_count
    }

    /// Neither RACK nor forward acknowledgement finds losses.
    fn marks_by_count(&self) -> bool {
        !self.rack_enabled && !self.legacy.fack
    }

    /// More than `reordering` segments lie between the first hole and the highest SACKed segment.
    fn much_is_sacked(&self) -> bool {
        self.highest_sacked() > self.snd_una + u64::from(self.path.reordering.degree) * u64::from(self.mss)
    }

    /// RFC 6582 without SACK, otherwise RACK.
    fn identify_losses(&mut self, ack: &mut Ack) {
        let retransmitted = self.path.tally.retrans_out();
        if !self.sack_permitted {
            self.newreno_mark_lost(ack);
        } else if self.rack_enabled {
            if self.rack_mark_lost() {
                ack.flags.unset(AckFlags::SET_TIMER);
            }
        } else if self.legacy.fack {
            self.mark_lost_by_fack();
        }
        if retransmitted > self.path.tally.retrans_out() {
            ack.flags.set(AckFlags::LOST_RETRANS);
        }
    }

    /// Without RACK: segments with `reordering` SACKed ones above them are lost, and at the start of a recovery the first
    /// one in any case (RFC 6675, section 5).
    fn mark_lost_by_count(&mut self, found: Found) {
        let degree = self.path.reordering.degree.max(1);
        let mut to_mark = Vec::new();
        if self.path.tally.sacked_out() >= degree {
            let mut above = self.path.tally.sacked_out();
            for at in self.flight.positions() {
                let sent = self.flight.get(at);
                if !self.path.tally.owns(sent) {
                    continue;
                }
                if sent.has(Sent::SACKED) {
                    above -= 1;
                } else if above >= degree && !sent.has(Sent::LOST) {
                    to_mark.push(at);
                }
                if above < degree {
                    break;
                }
            }
        } else if found == Found::FirstLoss
            && self.flight.first().is_some_and(|first| !first.has(Sent::LOST) && self.path.tally.owns(first))
        {
            to_mark.push(self.flight.head());
        }
        self.flight.keep_time_order();
        for at in to_mark {
            self.mark_lost(at);
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

    pub(crate) fn set_state(&mut self, state: CaState) {
        let context = self.context();
        self.path.rule.on_state(&mut self.path.window, state, &context);
        self.path.state = state;
    }

    pub(crate) fn event(&mut self, event: CaEvent) {
        let context = self.context();
        self.path.rule.on_event(&mut self.path.window, event, &context);
    }
}
