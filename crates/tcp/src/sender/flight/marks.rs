//! What happens to a segment, in its record and in the counts of its path.

use super::{Flight, Sent, Tally};

/// What a loss mark means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The segment as it was sent first.
    Original,
    /// Its retransmission, too.
    Retransmission,
}

impl Flight {
    /// Appends a segment that is sent for the first time.
    #[inline]
    pub fn push(&mut self, tally: &mut Tally, sent: Sent) {
        if self.ring.is_full_with(self.len()) {
            self.ring.double(self.head);
        }
        let at = self.tail;
        *self.ring.get_mut(at) = sent;
        self.tail = at.wrapping_add(1);
        if self.ordered {
            self.link_newest(at);
        }
        tally.packets_out += 1;
    }

    /// The segment at `at` carries PSH.
    pub fn push_mark(&mut self, at: u32) {
        self.get_mut(at).flags |= Sent::PUSH;
    }

    /// Everything below `at` is acknowledged, and none of it is marked.
    #[inline]
    pub fn release_plain(&mut self, tally: &mut Tally, at: u32) {
        tally.packets_out -= at.wrapping_sub(self.head);
        debug_assert!(at.wrapping_sub(self.head) <= self.len(), "a segment was acknowledged that was never sent");
        self.head = at;
        self.resend_from = at;
    }

    /// The segment at `at` is acknowledged: its marks leave the counts, and it leaves the transmission order. Returns what
    /// the record was. It stays queued until [`Flight::pop_to`].
    #[cold]
    pub fn clear_marks(&mut self, tally: &mut Tally, at: u32) -> Sent {
        let sent = *self.get(at);
        self.unlink(at);
        tally.retrans_out -= u32::from(sent.has(Sent::RETRANS));
        tally.sacked_out -= u32::from(sent.has(Sent::SACKED));
        tally.lost_out -= u32::from(sent.has(Sent::LOST));
        if sent.has(Sent::MERGED) {
            // Another path's turn of the same ACK may look at the record before it is removed.
            self.get_mut(at).flags &= !Sent::MERGED;
            self.merged -= 1;
        }
        sent
    }

    /// `segments` of the path are acknowledged, whose marks are cleared. A segment that was sent again twice, by a timeout
    /// after one that was undone, counts twice until nothing is out.
    #[inline]
    pub fn release(&mut self, tally: &mut Tally, segments: u32) {
        tally.packets_out -= segments;
        if tally.packets_out == 0 {
            tally.retrans_out = 0;
        }
    }

    /// Removes the records below position `at`, which all paths have released.
    #[inline]
    pub fn pop_to(&mut self, at: u32) {
        debug_assert!(at.wrapping_sub(self.head) <= self.len(), "a segment was acknowledged that was never sent");
        self.head = at;
        if (at.wrapping_sub(self.resend_from) as i32) > 0 {
            self.resend_from = at;
        }
    }

    /// The segment at `at` is SACKed for the first time: it is not lost. A retransmission that was not thought to be lost
    /// is believed to be still in flight.
    pub fn sack(&mut self, tally: &mut Tally, at: u32) {
        self.keep_time_order();
        let record = self.get_mut(at);
        if record.has(Sent::LOST) {
            tally.lost_out -= 1;
            if record.has(Sent::RETRANS) {
                tally.retrans_out -= 1;
                record.flags &= !Sent::RETRANS;
            }
            record.flags &= !Sent::LOST;
        }
        record.flags |= Sent::SACKED | Sent::SAMPLED;
        let end = record.end();
        tally.sacked_out += 1;
        tally.highest_sacked = if tally.sacked_out == 1 { end } else { tally.highest_sacked.max(end) };
        self.unlink(at);
    }

    /// A duplicate reports the retransmission of the segment at `at`: it is not in flight any more.
    pub fn end_retransmission(&mut self, tally: &mut Tally, at: u32) {
        let record = self.get_mut(at);
        if record.has(Sent::RETRANS) {
            record.flags &= !Sent::RETRANS;
            tally.retrans_out -= 1;
        }
    }

    /// The segment at `at` is thought to be lost: the original, or its retransmission too. Loss detection is done with it.
    /// `None` when that was known, or when it has arrived.
    pub fn mark_lost(&mut self, tally: &mut Tally, at: u32) -> Option<Lost> {
        self.keep_time_order();
        self.unlink(at);
        let record = self.get_mut(at);
        if record.has(Sent::SACKED) {
            return None;
        }
        let lost = if !record.has(Sent::LOST) {
            record.flags |= Sent::LOST;
            tally.lost_out += 1;
            Lost::Original
        } else if record.has(Sent::RETRANS) {
            record.flags &= !Sent::RETRANS;
            tally.retrans_out -= 1;
            Lost::Retransmission
        } else {
            return None;
        };
        if (at.wrapping_sub(self.resend_from) as i32) < 0 {
            self.resend_from = at;
        }
        Some(lost)
    }

    /// The segment at `at` was marked lost because it was late ([`Sent::RACKED`]).
    pub fn note_racked(&mut self, at: u32) {
        self.get_mut(at).flags |= Sent::RACKED;
    }

    /// The lowest of what is lost goes first.
    pub fn resend_all_lost(&mut self) {
        self.resend_from = self.head;
    }

    /// The peer has thrown away what it had SACKed: nothing is SACKed on any path.
    pub fn unmark_sacked<'a>(&mut self, tallies: impl Iterator<Item = &'a mut Tally>) {
        tallies.for_each(|tally| tally.sacked_out = 0);
        for at in self.positions() {
            self.get_mut(at).flags &= !Sent::SACKED;
        }
    }

    /// Nothing of the path is lost; with `gives_up_nothing` what RACK has given up is judged again.
    pub fn unmark_lost(&mut self, tally: &mut Tally, gives_up_nothing: bool) {
        let marks = if gives_up_nothing { Sent::LOST | Sent::RACKED } else { Sent::LOST };
        self.unmark(tally, marks);
        tally.lost_out = 0;
        self.rebuild_time_order();
    }

    /// Nothing of the path is marked: all of it counts as in flight, as if it had been sent once.
    #[cold]
    pub fn forget_marks(&mut self, tally: &mut Tally) {
        self.unmark(tally, Sent::SACKED | Sent::LOST | Sent::RETRANS | Sent::RACKED);
        (tally.sacked_out, tally.lost_out, tally.retrans_out) = (0, 0, 0);
        self.shifted = (0, 0);
        self.resend_from = self.head;
        self.rebuild_time_order();
    }

    fn unmark(&mut self, tally: &Tally, marks: u16) {
        let mut next = self.of_path_from(tally, self.head, |_| true);
        while let Some(at) = next {
            self.get_mut(at).flags &= !marks;
            next = self.of_path_from(tally, at.wrapping_add(1), |_| true);
        }
    }

    /// The lowest segment that is lost and not sent again.
    pub fn next_lost(&mut self) -> Option<u32> {
        let mut at = self.resend_from;
        while at != self.tail {
            let sent = self.get(at);
            if sent.has(Sent::LOST) && !sent.has(Sent::RETRANS | Sent::SACKED) {
                break;
            }
            at = at.wrapping_add(1);
        }
        self.resend_from = at;
        (at != self.tail).then_some(at)
    }

    /// The segment at `at` leaves once more, as packet `nic_serial`, while `snd_nxt` is next; `stamp` notes the time. Returns
    /// the record and the number of the retransmission.
    pub fn send_again(&mut self, at: u32, nic_serial: u32, snd_nxt: u64, stamp: impl FnOnce(&mut Sent)) -> &Sent {
        self.keep_time_order();
        self.retransmissions = self.retransmissions.wrapping_add(1);
        self.time_order_until = snd_nxt;
        let retransmission = self.retransmissions;
        let record = self.get_mut(at);
        stamp(record);
        record.flags |= Sent::EVER_RETRANS;
        record.retransmission = retransmission;
        record.nic_serial = nic_serial;
        if !record.has(Sent::SACKED) {
            self.link_newest(at);
        }
        self.get(at)
    }

    /// The segment at `at`, which was lost, has been sent again: the search for the next goes on behind it.
    pub fn mark_resent(&mut self, tally: &mut Tally, at: u32) {
        let record = self.get_mut(at);
        record.flags &= !Sent::RACKED;
        if record.has(Sent::LOST) {
            record.flags |= Sent::RETRANS;
            tally.retrans_out += 1;
        }
        self.resend_from = at.wrapping_add(1);
    }

    /// The segment at `at` leaves the path `from` with its marks, and is a new segment of the path `to`, which has
    /// everything below `una` acknowledged.
    pub fn take_over(&mut self, at: u32, from: &mut Tally, to: &mut Tally, una: u64) {
        let record = self.get_mut(at);
        from.packets_out -= 1;
        from.sacked_out -= u32::from(record.has(Sent::SACKED));
        from.lost_out -= u32::from(record.has(Sent::LOST));
        from.retrans_out -= u32::from(record.has(Sent::RETRANS));
        record.flags &= !(Sent::PATH | Sent::LOST | Sent::RETRANS | Sent::RACKED);
        record.flags |= to.tag();
        to.packets_out += 1;
        if record.has(Sent::SACKED) {
            // A tail loss probe.
            to.highest_sacked = to.highest_sacked(una).max(record.end());
            to.sacked_out += 1;
        }
    }
}

#[cfg(test)]
impl Flight {
    /// Whether each count of a path is what the records say; without SACK that of the SACKed is an estimate.
    pub fn audit<'a>(&self, tallies: impl Iterator<Item = &'a Tally>, has_sack: bool) -> Result<(), String> {
        let records: Vec<_> = self.positions().map(|at| *self.get(at)).collect();
        let merged = records.iter().filter(|sent| sent.has(Sent::MERGED)).count() as u64;
        if merged != self.merged {
            return Err(format!("{} are counted as merged, {merged} are", self.merged));
        }
        let mut packets_out = 0;
        for tally in tallies {
            let own: Vec<_> = self.positions_of(tally).map(|at| self.get(at)).collect();
            let count = |bits| own.iter().filter(|sent| sent.has(bits)).count() as u32;
            let sacked = if has_sack { count(Sent::SACKED) } else { tally.sacked_out };
            // One that was sent again twice counts twice (`release`).
            let retrans = tally.retrans_out.max(count(Sent::RETRANS));
            let found = [own.len() as u32, sacked, count(Sent::LOST), retrans];
            if found != tally.counts() {
                return Err(format!("path {:x} counts {:?}, its records say {found:?}", tally.tag(), tally.counts()));
            }
            packets_out += tally.packets_out;
        }
        if packets_out != self.len() {
            return Err(format!("the paths count {packets_out} segments, {} are queued", self.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;
    use crate::sender::Sender;

    const ALL: u16 = Sent::SACKED | Sent::LOST | Sent::RETRANS | Sent::RACKED;

    /// Four segments are out, each with one mark.
    fn marked() -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        sender.sack_permitted = true;
        sender.put_in_flight(4);
        let (flight, tally) = (&mut sender.flight, &mut sender.path.tally);
        let head = flight.head();
        flight.sack(tally, head);
        flight.mark_lost(tally, head + 1).expect("it was not known");
        flight.get_mut(head + 2).flags |= Sent::RETRANS;
        tally.retrans_out += 1;
        flight.note_racked(head + 3);
        sender
    }

    fn marks(sender: &Sender) -> Vec<u16> {
        sender.flight.positions().map(|at| sender.flight.get(at).flags & ALL).collect()
    }

    #[test]
    fn marks_are_forgotten_altogether_or_those_of_losses_alone() {
        let mut sender = marked();
        assert_eq!(marks(&sender), [Sent::SACKED, Sent::LOST, Sent::RETRANS, Sent::RACKED]);
        assert_eq!(sender.path.tally.counts(), [4, 1, 1, 1]);
        sender.flight.unmark_lost(&mut sender.path.tally, false);
        assert_eq!(marks(&sender), [Sent::SACKED, 0, Sent::RETRANS, Sent::RACKED]);
        assert_eq!(sender.path.tally.counts(), [4, 1, 0, 1]);
        sender.flight.unmark_lost(&mut sender.path.tally, true);
        assert_eq!(marks(&sender), [Sent::SACKED, 0, Sent::RETRANS, 0], "it is judged again");
        let mut sender = marked();
        sender.flight.forget_marks(&mut sender.path.tally);
        assert_eq!((marks(&sender), sender.path.tally.counts()), (vec![0; 4], [4, 0, 0, 0]));
    }

    #[test]
    fn a_retransmission_that_is_reported_ends_once() {
        let mut sender = marked();
        let at = sender.flight.head() + 2;
        for _ in 0..2 {
            sender.flight.end_retransmission(&mut sender.path.tally, at);
            assert_eq!((marks(&sender)[2], sender.path.tally.counts()), (0, [4, 1, 1, 0]));
        }
    }

    #[test]
    fn the_lowest_that_is_lost_is_sent_first() {
        let mut sender = marked();
        let head = sender.flight.head();
        sender.flight.resend_from = head + 3;
        for (lost, from) in [(3, 3), (2, 2), (3, 2)] {
            sender.flight.mark_lost(&mut sender.path.tally, head + lost);
            assert_eq!(sender.flight.resend_from, head + from);
        }
        sender.flight.resend_all_lost();
        assert_eq!(sender.flight.resend_from, head);
        // What is acknowledged is not sent again.
        sender.flight.pop_to(head + 1);
        assert_eq!(sender.flight.resend_from, head + 1);
    }

    #[test]
    fn a_segment_takes_its_counts_along_to_another_path_but_no_loss() {
        let mut sender = marked();
        let (flight, from) = (&mut sender.flight, &mut sender.path.tally);
        let mut to = Tally::new(Sent::PATH & Sent::PATH.wrapping_neg());
        for (n, left, taken) in [
            (0, [3, 0, 1, 1], [1, 1, 0, 0]),
            (1, [2, 0, 0, 1], [2, 1, 0, 0]),
            (2, [1, 0, 0, 0], [3, 1, 0, 0]),
            (3, [0, 0, 0, 0], [4, 1, 0, 0]),
        ] {
            let at = flight.head() + n;
            flight.take_over(at, from, &mut to, 1);
            assert_eq!((from.counts(), to.counts()), (left, taken), "segment {n}");
            assert_eq!(flight.get(at).flags & (ALL | Sent::PATH), to.tag() | if n == 0 { Sent::SACKED } else { 0 });
        }
        assert_eq!(to.highest_sacked(1), 1_001);
    }

    #[test]
    fn nothing_is_sent_again_where_nothing_is_out() {
        let mut sender = marked();
        for (segments, retrans) in [(3, 1), (1, 0)] {
            sender.flight.release(&mut sender.path.tally, segments);
            assert_eq!(sender.path.tally.retrans_out(), retrans);
        }
    }
}
