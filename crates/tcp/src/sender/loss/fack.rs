//! What older stacks did otherwise than Linux 6.1: see [`crate::config::Profile`].

use crate::sender::Sender;
use crate::sender::flight::Sent;
use std::collections::VecDeque;

/// A retransmission is lost when one that was sent this many retransmissions later is SACKed: the threshold of three
/// duplicates, counted beyond the next one, as ns-2.35 does.
const RETRANSMISSION_DEGREE: u32 = 5;

/// State of forward acknowledgement.
///
/// ns-2.35 looks for losses in one pass over its scoreboard, from the first hole upwards. It comes to the end only with an
/// ACK that moves the highest SACK or shows that a retransmission arrived; otherwise to the first hole above the blocks
/// that the ACK reports. What the pass does not come to is neither judged nor sent again then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    /// All of the path's segments below are SACKed or were marked lost.
    pub until: u64,
    /// End of the highest SACKed segment.
    high: u64,
    /// `snd_nxt` when something was sent again, and the last retransmission with it; both ascend.
    sent: VecDeque<(u64, u32)>,
    /// New data that was sent after these retransmissions is SACKed: this one, and all before it.
    overtaken: u32,
    /// The retransmission that arrived last, in their order ([`Sent::retransmission`]), before this ACK.
    retransmission: u32,
    /// The one that this ACK SACKs, and where it is. The pass comes by what lies below before that.
    latest: Option<(u64, u32)>,
    /// The pass goes to the end.
    is_thorough: bool,
    /// End of the highest block that this ACK reports.
    reported: Option<u64>,
    /// Retransmissions may be overtaken that the last pass did not judge.
    is_due: bool,
    /// The highest segment that the last pass came to, and that may be sent again; none if it came to the end.
    pub reach: Option<u64>,
}

impl Fack {
    /// Something is sent again while `snd_nxt` is next.
    pub fn on_sent_again(&mut self, snd_nxt: u64, retransmission: u32) {
        match self.sent.back_mut() {
            Some((next, last)) if *next == snd_nxt => *last = retransmission,
            _ => self.sent.push_back((snd_nxt, retransmission)),
        }
    }

    /// A segment is SACKed for the first time.
    pub fn on_sacked(&mut self, sent: &Sent) {
        if sent.end() > self.high {
            self.high = sent.end();
            self.is_thorough = true;
        }
        if sent.has(Sent::RETRANS) {
            self.latest = Some((sent.seq, sent.retransmission));
            self.is_thorough = true;
        }
    }

    /// A segment that was not SACKed is acknowledged.
    pub fn on_acknowledged(&mut self, sent: &Sent) {
        if sent.has(Sent::RETRANS) && sent.retransmission > self.retransmission {
            self.retransmission = sent.retransmission;
            self.is_thorough = true;
        }
    }

    /// The ACK reports blocks, the highest of which ends here.
    pub fn on_reported(&mut self, end: u64) {
        self.reported = Some(end);
    }

    /// Where new data is SACKed, everything that was sent again before it is overtaken.
    fn overtake(&mut self) {
        while let Some(&(snd_nxt, last)) = self.sent.front()
            && snd_nxt < self.high
        {
            self.overtaken = last;
            self.sent.pop_front();
        }
    }

    /// Some retransmission is overtaken that is not before this one.
    fn may_overtake(&self, sent: &Sent) -> bool {
        let latest = self.latest.map_or(0, |(_, retransmission)| retransmission).max(self.retransmission);
        sent.retransmission <= self.overtaken || sent.retransmission + RETRANSMISSION_DEGREE <= latest
    }

    /// New data that was sent after the retransmission is SACKed, or a retransmission some places after it.
    fn overtook(&self, sent: &Sent) -> bool {
        let arrived = match self.latest {
            Some((seq, retransmission)) if seq < sent.seq => retransmission,
            _ => self.retransmission,
        };
        sent.retransmission <= self.overtaken || sent.retransmission + RETRANSMISSION_DEGREE <= arrived
    }
}

impl Sender {
    /// Forward acknowledgement: everything that is not SACKed and begins more than `reordering` and one segments below the
    /// end of the highest SACK is lost, all at once. Retransmissions are lost by their order ([`Fack::overtook`]).
    pub(crate) fn mark_lost_by_fack(&mut self) {
        self.flight.keep_time_order();
        let reported = self.path.fack.reported.take();
        if std::mem::take(&mut self.path.fack.is_thorough) {
            self.path.fack.reach = None;
            self.path.fack.is_due = true;
        } else if let Some(end) = reported {
            self.path.fack.reach = Some(self.first_hole_from(end));
        } else {
            return;
        }
        self.mark_lost_below_high();
        self.path.fack.overtake();
        if self.path.fack.is_due && self.path.tally.retrans_out() > 0 {
            self.mark_overtaken_retransmissions();
        }
        let fack = &mut self.path.fack;
        if let Some((_, retransmission)) = fack.latest.take() {
            fack.retransmission = retransmission;
        }
    }

    /// Where the first segment from `seq` on begins that is not SACKed.
    fn first_hole_from(&self, seq: u64) -> u64 {
        let mut at = self.flight.find(seq, self.sizes.mss);
        while at != self.flight.tail() {
            let sent = self.flight.get(at);
            if !sent.has(Sent::SACKED) {
                return sent.seq;
            }
            at = at.wrapping_add(1);
        }
        self.snd_nxt
    }

    fn mark_lost_below_high(&mut self) {
        let below = u64::from(self.path.reordering.degree + 1) * u64::from(self.sizes.mss);
        let high = self.highest_sacked();
        let mut until = self.path.fack.until;
        let mut next_from = |sender: &Self, at| {
            sender.flight.of_path_from(&sender.path.tally, at, |sent| {
                let is_below = sent.seq + below < high;
                if !is_below {
                    until = sent.seq;
                }
                is_below
            })
        };
        let mut next = next_from(self, self.flight.find(self.path.fack.until.max(self.snd_una), self.sizes.mss));
        while let Some(at) = next {
            if !self.flight.get(at).has(Sent::SACKED | Sent::LOST) {
                self.mark_lost(at);
            }
            next = next_from(self, at.wrapping_add(1));
        }
        self.path.fack.until = until;
    }

    fn mark_overtaken_retransmissions(&mut self) {
        let reach = self.path.fack.reach.unwrap_or(u64::MAX);
        let mut is_due = false;
        let mut next = self.flight.oldest_of_path(&self.path.tally, |_| true);
        while let Some(at) = next {
            let sent = *self.flight.get(at);
            next = self.flight.newer_of_path(&self.path.tally, at, |_| true);
            if !sent.has(Sent::RETRANS) {
                continue;
            }
            if !self.path.fack.may_overtake(&sent) {
                break;
            }
            if sent.seq <= reach && self.path.fack.overtook(&sent) {
                self.mark_lost(at);
            } else {
                is_due = true;
            }
        }
        self.path.fack.is_due = is_due;
    }

    /// Fast recovery has ended: what is above counts as in flight, as if it had never been SACKed.
    #[cold]
    pub(crate) fn forget_sacks(&mut self) {
        self.flight.forget_marks(&mut self.path.tally);
        self.scoreboard.forget_blocks();
        self.path.fack = Fack::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(seq: u64, retransmission: u32) -> Sent {
        let flags = if retransmission > 0 { Sent::RETRANS | Sent::EVER_RETRANS } else { 0 };
        Sent { seq, len: 1_000, retransmission, flags, ..Sent::default() }
    }

    /// What an ACK SACKs, and the pass that it causes.
    fn sack(fack: &mut Fack, what: &Sent, judged: &Sent) -> bool {
        fack.on_sacked(what);
        fack.overtake();
        let is_lost = fack.overtook(judged);
        if let Some((_, retransmission)) = fack.latest.take() {
            fack.retransmission = retransmission;
        }
        is_lost
    }

    #[test]
    fn a_retransmission_is_lost_when_new_data_that_was_sent_after_it_is_sacked() {
        let mut fack = Fack::default();
        fack.on_sent_again(8_001, 9);
        fack.on_sent_again(8_001, 10);
        fack.on_sent_again(9_001, 11);
        assert!(!sack(&mut fack, &sent(7_001, 0), &sent(1, 9)));
        // The next segment after those that were out then.
        assert!(sack(&mut fack, &sent(8_001, 0), &sent(1, 9)));
        assert!(fack.overtook(&sent(1_001, 10)));
        assert!(!fack.overtook(&sent(2_001, 11)));
        // Whether that was itself sent again does not matter.
        assert!(sack(&mut fack, &sent(9_001, 12), &sent(2_001, 11)));
    }

    #[test]
    fn a_retransmission_is_lost_when_the_fifth_after_it_is_sacked() {
        let mut fack = Fack { high: 50_000, ..Fack::default() };
        let judged = sent(2_001, 9);
        assert!(!sack(&mut fack, &sent(5_001, 13), &judged));
        // The pass is by the first one when it comes to the fifth: the next ACK finds it.
        assert!(!sack(&mut fack, &sent(6_001, 14), &judged));
        assert!(fack.overtook(&judged));
        // It is the one SACKed last that counts, not the highest; what lies above it is judged at once.
        assert!(!sack(&mut fack, &sent(1, 10), &judged));
        // Of those that are acknowledged it is the highest.
        fack.on_acknowledged(&sent(6_001, 14));
        fack.on_acknowledged(&sent(3_001, 11));
        assert!(fack.overtook(&judged));
    }
}
