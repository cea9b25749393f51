//! SACKed neighbours share a descriptor (`TCPSackMerged` counts them on Linux), so that a burst of losses leaves room
//! for new data in the send buffer.

use super::Sender;
use super::queue::Sent;

/// Bytes that a socket buffer takes, exclusive: 65,535 segments of the least size, 8 bytes (`TCP_MIN_GSO_SIZE`). With
/// a writer that copies its data this is less than what its pieces of memory hold, 17 of 32 KiB.
const MOST_BYTES: u64 = 65_535 * 8;

/// SACKed, and no copy of it is under way.
fn is_plain_sacked(sent: &Sent) -> bool {
    sent.flags & (Sent::SACKED | Sent::RETRANS | Sent::LOST) == Sent::SACKED
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

    /// First sequence number of what shares a descriptor with the segment `below` at `at`.
    fn merged_start(&self, at: u32, below: &Sent) -> u64 {
        let (start, end) = self.scoreboard.merged;
        if end == below.end() {
            return start.max(self.snd_una);
        }
        let mut at = at;
        while at != self.queue.head() && self.queue.get(at).has(Sent::MERGED) {
            at = at.wrapping_sub(1);
        }
        self.queue.get(at).seq
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
