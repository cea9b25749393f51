//! What older stacks did otherwise than Linux 6.1: see [`crate::Legacy`].

use super::Sender;
use super::queue::Sent;
use super::scoreboard::Scoreboard;

/// A retransmission is lost when one that was sent so many retransmissions later is SACKed: the threshold of three
/// duplicates, counted beyond the next one, as ns-2.35 does.
const RETRANSMISSION_DEGREE: u32 = 5;

/// State of forward acknowledgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    /// All of the path's segments below are SACKed or were marked lost.
    pub until: u64,
    /// Something was SACKed since the last look for lost retransmissions.
    advanced: bool,
    /// Transmission, in microseconds, and end of the SACKed segment that was sent last, of those that were sent once.
    sent: (u64, u64),
    /// The retransmission that was SACKed last, in their order ([`Sent::retransmission`]). Whether it was the original that
    /// arrived nobody asks.
    retransmission: u32,
}

impl Fack {
    /// A segment is SACKed for the first time.
    pub fn on_sacked(&mut self, sent: &Sent) {
        self.advanced = true;
        if sent.has(Sent::RETRANS) {
            self.retransmission = sent.retransmission;
        } else if !sent.has(Sent::EVER_RETRANS) {
            self.sent = self.sent.max((sent.sent_us, sent.end()));
        }
    }

    /// A segment that was not SACKed is acknowledged.
    pub fn on_acknowledged(&mut self, sent: &Sent) {
        if sent.has(Sent::RETRANS) {
            self.advanced = true;
            self.retransmission = self.retransmission.max(sent.retransmission);
        }
    }

    /// New data that was sent after the retransmission is SACKed, or a retransmission some places after it.
    fn overtook(&self, sent: &Sent) -> bool {
        self.sent > (sent.sent_us, sent.end()) || sent.retransmission + RETRANSMISSION_DEGREE <= self.retransmission
    }
}

impl Sender {
    /// Forward acknowledgement: everything that is not SACKed and begins more than `reordering` and one segments below the
    /// end of the highest SACK is lost, all at once. Retransmissions are lost by their order ([`Fack::overtook`]).
    pub(crate) fn mark_lost_by_fack(&mut self) {
        self.queue.keep_time_order();
        let below = u64::from(self.path.reordering.degree + 1) * u64::from(self.mss);
        let high = self.highest_sacked();
        let mut at = self.queue.find(self.path.fack.until.max(self.snd_una), self.mss);
        while at != self.queue.tail() {
            let sent = self.queue.get(at);
            if sent.seq + below >= high {
                break;
            }
            if !sent.has(Sent::SACKED | Sent::LOST) && sent.path() == self.path.tag {
                self.mark_lost(at);
                self.queue.unlink(at);
            }
            at = at.wrapping_add(1);
        }
        if at != self.queue.tail() {
            self.path.fack.until = self.queue.get(at).seq;
        }
        if std::mem::take(&mut self.path.fack.advanced) && self.path.retrans_out > 0 {
            self.mark_overtaken_retransmissions();
        }
    }

    fn mark_overtaken_retransmissions(&mut self) {
        let mut next = self.queue.oldest();
        while let Some(at) = next {
            let sent = *self.queue.get(at);
            next = self.queue.newer(at);
            if !sent.has(Sent::RETRANS) || sent.path() != self.path.tag {
                continue;
            }
            if !self.path.fack.overtook(&sent) {
                break;
            }
            self.mark_lost(at);
            self.queue.unlink(at);
        }
    }

    /// Sets the window for an ACK within a reduction: the threshold; while more is in flight, room for one segment
    /// with the first and then with every other ACK.
    pub(crate) fn reduce_at_once(&mut self) {
        let path = &mut self.path;
        let in_flight = path.in_flight();
        let more = u32::from(path.prr.count_ack());
        path.window.cwnd = if in_flight < path.window.ssthresh { path.window.ssthresh } else { in_flight + more };
    }

    /// Fast recovery has ended: what is above counts as in flight, as if it had never been SACKed.
    #[cold]
    pub(crate) fn forget_sacks(&mut self) {
        for at in self.queue.positions() {
            let record = self.queue.get_mut(at);
            if record.path() == self.path.tag {
                record.flags &= !(Sent::SACKED | Sent::LOST | Sent::RETRANS | Sent::RACKED);
            }
        }
        let path = &mut self.path;
        (path.sacked_out, path.lost_out, path.retrans_out) = (0, 0, 0);
        self.scoreboard = Scoreboard::default();
        self.path.fack = Fack::default();
        self.resend_from = self.queue.head();
        self.queue.rebuild_time_order();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sent_us: u64, seq: u64, retransmission: u32) -> Sent {
        let flags = if retransmission > 0 { Sent::RETRANS | Sent::EVER_RETRANS } else { 0 };
        Sent { seq, len: 1_000, sent_us, retransmission, flags, ..Sent::default() }
    }

    #[test]
    fn a_retransmission_is_lost_when_new_data_that_was_sent_after_it_is_sacked() {
        let mut fack = Fack::default();
        let judged = sent(50, 1, 9);
        fack.on_sacked(&sent(49, 8_000, 0));
        assert!(!fack.overtook(&judged));
        // Sent at the same time, in one burst: what lies higher was sent later.
        fack.on_sacked(&sent(50, 9_000, 0));
        assert!(fack.overtook(&judged));
        // What is SACKed later and was sent earlier changes nothing.
        fack.on_sacked(&sent(20, 7_000, 0));
        assert!(fack.overtook(&judged));
    }

    #[test]
    fn a_retransmission_is_lost_when_the_fifth_after_it_is_sacked() {
        let mut fack = Fack::default();
        let judged = sent(50, 1, 9);
        fack.on_sacked(&sent(50, 5_000, 13));
        assert!(!fack.overtook(&judged));
        fack.on_sacked(&sent(50, 6_000, 14));
        assert!(fack.overtook(&judged));
        // It is the one SACKed last that counts, not the highest.
        fack.on_sacked(&sent(50, 2_000, 10));
        assert!(!fack.overtook(&judged));
        // Of those that are acknowledged it is the highest.
        fack.on_acknowledged(&sent(50, 6_000, 14));
        fack.on_acknowledged(&sent(50, 3_000, 11));
        assert!(fack.overtook(&judged));
    }
}
