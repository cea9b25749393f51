//! What older stacks did otherwise than Linux 6.1: see [`crate::Legacy`].

use super::Sender;
use super::queue::Sent;
use super::scoreboard::Scoreboard;

impl Sender {
    /// Forward acknowledgement: everything that is not SACKed and lies `reordering` segments below the highest SACK is
    /// lost, all at once. A retransmission is lost when something that was sent after it has been delivered.
    pub(crate) fn mark_lost_by_fack(&mut self) {
        self.queue.keep_time_order();
        let below = u64::from(self.path.reordering.degree) * u64::from(self.mss);
        let high = self.highest_sacked();
        let mut at = self.queue.find(self.path.fack_until.max(self.snd_una), self.mss);
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
            self.path.fack_until = self.queue.get(at).seq;
        }
        if std::mem::take(&mut self.path.rack.advanced) && self.path.retrans_out > 0 {
            self.mark_overtaken_retransmissions();
        }
    }

    fn mark_overtaken_retransmissions(&mut self) {
        let mut next = self.queue.oldest();
        while let Some(at) = next {
            let sent = *self.queue.get(at);
            if !self.path.rack.overtook(&sent) {
                break;
            }
            next = self.queue.newer(at);
            if sent.has(Sent::RETRANS) && sent.path() == self.path.tag {
                self.mark_lost(at);
                self.queue.unlink(at);
            }
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
        self.path.fack_until = 0;
        self.resend_from = self.queue.head();
        self.queue.rebuild_time_order();
    }
}
