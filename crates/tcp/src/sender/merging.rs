//! SACKed neighbours share a descriptor (`TCPSackMerged` counts them on Linux), so that a burst of losses leaves room
//! for new data in the send buffer.

use super::Sender;
use super::queue::Sent;
use crate::SackBlock;

/// Bytes that a socket buffer takes, exclusive: 65,535 segments of the least size, 8 bytes (`TCP_MIN_GSO_SIZE`). With
/// a writer that copies its data this is less than what its pieces of memory hold, 17 of 32 KiB.
const MOST_BYTES: u64 = 65_535 * 8;

/// SACKed, and no copy of it is under way.
fn is_plain_sacked(sent: &Sent) -> bool {
    sent.flags & (Sent::SACKED | Sent::RETRANS | Sent::LOST) == Sent::SACKED
}

/// The duplicate begins in the block.
pub(super) fn holds(block: &SackBlock, duplicate: SackBlock) -> bool {
    block.start <= duplicate.start && duplicate.start < block.end
}

impl Sender {
    /// Merges the SACKed segment at `at`, and what shares its descriptor, into the SACKed ones right below it, and then
    /// those right above. Without any below it stays alone, whatever is above.
    pub(super) fn merge_sacked(&mut self, at: u32) {
        let sent = *self.queue.get(at);
        if at == self.queue.head() || !is_plain_sacked(&sent) {
            return;
        }
        let below = *self.queue.get(at.wrapping_sub(1));
        if !is_plain_sacked(&below) || below.len != sent.len {
            return;
        }
        let start = self.merged_start(at.wrapping_sub(1), &below);
        let last = self.merged_last(at);
        let mut end = self.queue.get(last).end();
        if end - start >= MOST_BYTES {
            return;
        }
        self.mark_merged(at);
        let next = last.wrapping_add(1);
        if next != self.queue.tail() {
            let above = *self.queue.get(next);
            let end_above = self.queue.get(self.merged_last(next)).end();
            if is_plain_sacked(&above) && above.len == sent.len && end_above - start < MOST_BYTES {
                self.mark_merged(next);
                end = end_above;
            }
        }
        self.scoreboard.merged = (start, end);
    }

    /// Linux 6.1 passes over the DSACK `duplicate` of a SACKed segment where this segment is merged while the block around it,
    /// one of `fresh`, is walked. Either the block closes the hole right below it, or it begins within the descriptor that
    /// the duplicate shares with the segment below it: that is split there, and then its parts are merged again. Where the
    /// blocks of the previous ACK hold the duplicate as well it `is_alone`: looked at by itself.
    pub(super) fn passes_over(&self, duplicate: SackBlock, fresh: &[SackBlock], is_alone: bool) -> bool {
        let Some(around) = fresh.iter().find(|block| holds(block, duplicate)) else { return false };
        if around.start == duplicate.start || is_alone {
            return false;
        }
        let at = self.queue.find(duplicate.start, self.mss);
        if at == self.queue.tail() || at.wrapping_sub(self.queue.head()) < 2 {
            return false;
        }
        let [sent, below, further] = [0, 1, 2].map(|down| self.queue.get(at.wrapping_sub(down)));
        if sent.seq != duplicate.start || !is_plain_sacked(sent) {
            return false;
        }
        if sent.has(Sent::MERGED) {
            return self.run_start(at.wrapping_sub(1)) < around.start;
        }
        // What is sent again and not thought to be lost stays alone.
        let joins = |sent: &Sent| !sent.has(Sent::SACKED | Sent::RETRANS) || sent.has(Sent::LOST);
        joins(below)
            && [below.len, further.len] == [sent.len; 2]
            && (is_plain_sacked(further) || (further.seq >= around.start && joins(further)))
    }

    /// The segment that will no longer share a descriptor with the one below it: the first behind a duplicate that `is_alone`,
    /// the first of one that is looked at while the block around it is walked. Where both begin at once all is merged again.
    pub(super) fn split_by_duplicate(&self, duplicate: SackBlock, fresh: &[SackBlock], is_alone: bool) -> Option<u32> {
        if is_alone {
            return self.ends_within_merged(duplicate.end);
        }
        let around = fresh.iter().find(|block| holds(block, duplicate))?;
        if around.start < duplicate.start { self.ends_within_merged(duplicate.start) } else { None }
    }

    /// The segment that begins at `end` and shares its descriptor with the one below it.
    pub(super) fn ends_within_merged(&self, end: u64) -> Option<u32> {
        let at = self.queue.find(end, self.mss);
        (at != self.queue.tail() && self.queue.get(at).seq == end && self.queue.get(at).has(Sent::MERGED)).then_some(at)
    }

    /// The segment at `at` no longer shares the descriptor of the one below it. A block and a duplicate may end at one segment.
    pub(super) fn split_merged(&mut self, at: u32) {
        let record = self.queue.get_mut(at);
        if !record.has(Sent::MERGED) {
            return;
        }
        record.flags &= !Sent::MERGED;
        self.buffer.merged -= 1;
        self.scoreboard.merged = (0, 0);
    }

    /// First sequence number of what shares a descriptor with the segment at `at`.
    fn run_start(&self, mut at: u32) -> u64 {
        while at != self.queue.head() && self.queue.get(at).has(Sent::MERGED) {
            at = at.wrapping_sub(1);
        }
        self.queue.get(at).seq
    }

    /// First sequence number of what shares a descriptor with the segment `below` at `at`.
    fn merged_start(&self, at: u32, below: &Sent) -> u64 {
        let (start, end) = self.scoreboard.merged;
        if end == below.end() {
            return start.max(self.snd_una);
        }
        self.run_start(at)
    }

    /// The last segment that shares a descriptor with the one at `at`, which is the first.
    fn merged_last(&self, at: u32) -> u32 {
        let mut last = at;
        while last.wrapping_add(1) != self.queue.tail() && self.queue.get(last.wrapping_add(1)).has(Sent::MERGED) {
            last = last.wrapping_add(1);
        }
        last
    }

    fn mark_merged(&mut self, at: u32) {
        let record = self.queue.get_mut(at);
        if !record.has(Sent::MERGED) {
            record.flags |= Sent::MERGED;
            self.buffer.merged += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    const LEN: u32 = 1_000;

    /// A sender with `count` segments in its queue, of which `sacked` are SACKed.
    fn sender(count: u64, sacked: std::ops::Range<u64>) -> Sender {
        let rule = congestion::find("reno").unwrap().rule(1);
        let mut sender = Sender::new(&Config::default(), rule);
        for n in 0..count {
            let flags = if sacked.contains(&n) { Sent::SACKED } else { 0 };
            sender.queue.push(Sent { seq: 1 + n * u64::from(LEN), len: LEN, flags, ..Sent::default() });
        }
        sender
    }

    fn merged(sender: &Sender, at: u32) -> bool {
        sender.queue.get(at).has(Sent::MERGED)
    }

    #[test]
    fn merges_into_the_segment_below_and_never_only_upwards() {
        let mut sender = sender(4, 1..3);
        sender.merge_sacked(1);
        assert_eq!(sender.buffer.merged, 0, "below the first is none that is SACKed");
        sender.merge_sacked(2);
        assert!(merged(&sender, 2) && sender.buffer.merged == 1);
        sender.queue.get_mut(0).flags |= Sent::SACKED;
        sender.merge_sacked(0);
        assert_eq!(sender.buffer.merged, 1, "nothing is below the head");
    }

    #[test]
    fn a_segment_whose_copy_is_under_way_stays_alone() {
        let mut sender = sender(3, 0..3);
        sender.queue.get_mut(1).flags |= Sent::RETRANS | Sent::EVER_RETRANS;
        sender.merge_sacked(1);
        sender.merge_sacked(2);
        assert_eq!(sender.buffer.merged, 0);
    }

    #[test]
    fn what_is_merged_already_moves_with_its_first_segment_if_all_of_it_fits() {
        // 524 segments are 524,000 bytes; one more would be too much.
        for (above, moves) in [(523, true), (524, false)] {
            let mut sender = sender(1 + above, 1..1 + above);
            (2..=above as u32).for_each(|at| sender.merge_sacked(at));
            assert_eq!(sender.buffer.merged, above - 1);
            sender.queue.get_mut(0).flags |= Sent::SACKED;
            sender.merge_sacked(1);
            assert_eq!(merged(&sender, 1), moves, "{above} segments above the first");
        }
    }

    #[test]
    fn what_is_split_twice_is_counted_once() {
        let mut sender = sender(4, 0..4);
        (1..4).for_each(|at| sender.merge_sacked(at));
        let at = sender.ends_within_merged(1 + 2 * u64::from(LEN)).expect("it shares a descriptor");
        sender.split_merged(at);
        sender.split_merged(at);
        assert_eq!((sender.buffer.merged, merged(&sender, 2)), (2, false));
        assert_eq!(sender.ends_within_merged(1 + 2 * u64::from(LEN)), None);
    }

    #[test]
    fn a_hole_that_fills_joins_both_sides() {
        let mut sender = sender(6, 0..2);
        sender.merge_sacked(1);
        for at in [3, 4] {
            sender.queue.get_mut(at).flags |= Sent::SACKED;
            sender.merge_sacked(at);
        }
        assert_eq!(sender.buffer.merged, 2);
        sender.queue.get_mut(2).flags |= Sent::SACKED;
        sender.merge_sacked(2);
        assert_eq!(sender.buffer.merged, 4);
        assert_eq!(sender.scoreboard.merged, (1, 1 + 5 * u64::from(LEN)));
    }
}
