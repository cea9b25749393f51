//! The retransmission queue: one record a sent segment, in sequence order, in a ring.
//!
//! Segments keep their boundaries when they are sent again, but for those that are split where the peer's
//! window ends, and small ones that are joined, so a SACK block always covers whole records. The records
//! that loss detection may still judge are also linked in the order of their last transmission (RFC 8985,
//! section 6.2 step 5). While nothing is SACKed, lost or sent again, that order is the sequence order, and
//! the links are not kept at all: the common case pays nothing.

/// One sent segment that is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Sent {
    /// Sequence number of the first byte.
    pub seq: u64,
    /// Last transmission, in microseconds (`skb_mstamp`).
    pub sent_us: u64,
    /// `delivered_us` of the path at that transmission.
    pub delivered_us: u64,
    /// `first_sent_us` of the path at that transmission.
    pub first_sent_us: u64,
    /// `delivered` of the path at that transmission.
    pub delivered: u64,
    /// Sequence space: payload, and one for a FIN.
    pub len: u32,
    /// Which packet it was on its last way to the NIC, to tell whether it is still queued there.
    pub nic_serial: u32,
    /// Retransmissions of the connection up to its last one, which is one of them.
    pub retransmission: u32,
    /// Neighbours in transmission order; meaningful with [`Sent::LINKED`].
    pub(super) older: u32,
    pub(super) newer: u32,
    /// The bits below.
    pub flags: u16,
}

const _: () = assert!(size_of::<Sent>() <= 64, "a sent segment must fit a cache line");

impl Sent {
    /// The peer holds it (RFC 2018).
    pub const SACKED: u16 = 16;
    /// Sent again, and the copy is thought to be in flight.
    pub const RETRANS: u16 = 2;
    /// Thought to be lost.
    pub const LOST: u16 = 4;
    /// Sent more than once.
    pub const EVER_RETRANS: u16 = 8;
    /// Sent while the application was the limit. The lowest bit: a comparison gives it, for every segment that is sent.
    pub const APP_LIMITED: u16 = 1;
    /// Its delivery was already sampled.
    pub const SAMPLED: u16 = 32;
    /// Carries the FIN.
    pub const FIN: u16 = 64;
    /// Member of the transmission order.
    const LINKED: u16 = 128;
    /// RACK declared it lost: it leaves the transmission order until it is sent again.
    pub const RACKED: u16 = 256;
    /// Carries PSH, also when it is sent again: the peer acknowledges it at once.
    pub const PUSH: u16 = 512;
    /// SACKed and merged into the segment below it, so that it costs no descriptor of its own.
    pub const MERGED: u16 = 1024;
    /// On which path it was last sent: [`Path::tag`](super::path::Path::tag).
    pub const PATH: u16 = 0xf000;
    /// Anything that needs more than plain cumulative acknowledgement.
    pub const UNUSUAL: u16 =
        Self::SACKED | Self::RETRANS | Self::LOST | Self::EVER_RETRANS | Self::LINKED | Self::MERGED;

    /// First sequence number after the segment.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    /// Any of `bits` is set.
    #[inline]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }
    /// The path on which it was last sent.
    #[inline]
    pub fn path(&self) -> u16 {
        self.flags & Self::PATH
    }
}

/// The ring. Positions count up for ever (modulo 2^32) and stay valid while the record is queued.
#[derive(Debug)]
pub(crate) struct Queue {
    ring: Box<[Sent]>,
    head: u32,
    tail: u32,
    /// Transmission order; only kept while `ordered`.
    oldest: u32,
    newest: u32,
    linked: u32,
    ordered: bool,
}

impl Queue {
    pub fn new() -> Self {
        Self {
            ring: vec![Sent::default(); 16].into_boxed_slice(),
            head: 0,
            tail: 0,
            oldest: 0,
            newest: 0,
            linked: 0,
            ordered: false,
        }
    }

    #[inline]
    fn slot(&self, at: u32) -> usize {
        at as usize & (self.ring.len() - 1)
    }
    /// Position of the lowest record.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }
    /// Position after the highest record.
    #[inline]
    pub fn tail(&self) -> u32 {
        self.tail
    }
    #[inline]
    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }
    #[inline]
    pub fn get(&self, at: u32) -> &Sent {
        &self.ring[at as usize & (self.ring.len() - 1)]
    }
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> &mut Sent {
        let slot = self.slot(at);
        &mut self.ring[slot]
    }
    /// The lowest record.
    #[inline]
    pub fn first(&self) -> Option<&Sent> {
        (!self.is_empty()).then(|| self.get(self.head))
    }
    /// Position of the highest record.
    pub fn last(&self) -> Option<u32> {
        (!self.is_empty()).then(|| self.tail.wrapping_sub(1))
    }
    /// All positions, lowest sequence number first.
    pub fn positions(&self) -> impl Iterator<Item = u32> + use<> {
        let head = self.head;
        (0..self.len()).map(move |offset| head.wrapping_add(offset))
    }

    /// Appends a segment that is sent for the first time.
    #[inline]
    pub fn push(&mut self, sent: Sent) {
        if self.len() as usize == self.ring.len() {
            self.grow();
        }
        let at = self.tail;
        let slot = self.slot(at);
        self.ring[slot] = sent;
        self.tail = at.wrapping_add(1);
        if self.ordered {
            self.link_newest(at);
        }
    }

    /// Splits the record at `at` after `len` bytes: the rest is a record of its own, sent when that one was. FIN and PSH are
    /// the rest's.
    #[cold]
    pub fn split(&mut self, at: u32, len: u32) {
        let whole = *self.get(at);
        if self.len() as usize == self.ring.len() {
            self.grow();
        }
        self.tail = self.tail.wrapping_add(1);
        let mut to = self.tail.wrapping_sub(1);
        while to != at.wrapping_add(1) {
            let from = to.wrapping_sub(1);
            *self.get_mut(to) = *self.get(from);
            to = from;
        }
        let rest = at.wrapping_add(1);
        let end_flags = Sent::FIN | Sent::PUSH;
        let first = self.get_mut(at);
        first.len = len;
        first.flags &= !end_flags;
        *self.get_mut(rest) = Sent {
            seq: whole.seq + u64::from(len),
            len: whole.len - len,
            flags: whole.flags & !(Sent::LINKED | Sent::MERGED),
            ..whole
        };
        if !self.ordered {
            return;
        }
        self.relink_behind(at, 1);
        if self.get(at).has(Sent::LINKED) {
            self.link_after(at, rest);
        }
    }

    /// Joins the record behind the one at `at` to it.
    #[cold]
    pub fn join_next(&mut self, at: u32) {
        let next = at.wrapping_add(1);
        self.unlink(next);
        let joined = *self.get(next);
        let first = self.get_mut(at);
        first.len += joined.len;
        first.flags |= joined.flags & (Sent::FIN | Sent::PUSH | Sent::EVER_RETRANS);
        let mut to = next;
        while to.wrapping_add(1) != self.tail {
            *self.get_mut(to) = *self.get(to.wrapping_add(1));
            to = to.wrapping_add(1);
        }
        self.tail = to;
        self.relink_behind(next, -1);
    }

    /// Links lead to where the records behind the place `at` are, which have moved by so many places.
    fn relink_behind(&mut self, at: u32, by: i32) {
        let head = self.head;
        let moved = |place: u32| {
            let is_behind = place.wrapping_sub(head) > at.wrapping_sub(head);
            if is_behind { place.wrapping_add_signed(by) } else { place }
        };
        for place in self.positions() {
            let sent = self.get_mut(place);
            if sent.has(Sent::LINKED) {
                (sent.older, sent.newer) = (moved(sent.older), moved(sent.newer));
            }
        }
        (self.oldest, self.newest) = (moved(self.oldest), moved(self.newest));
    }

    /// The record at `at` was sent right after the one at `older`.
    fn link_after(&mut self, older: u32, at: u32) {
        let newer = self.get(older).newer;
        let is_newest = self.newest == older;
        let record = self.get_mut(at);
        record.flags |= Sent::LINKED;
        (record.older, record.newer) = (older, newer);
        self.get_mut(older).newer = at;
        if is_newest {
            self.newest = at;
        } else {
            self.get_mut(newer).older = at;
        }
        self.linked += 1;
    }

    /// Removes the records below position `at`, which are not linked any more.
    #[inline]
    pub fn pop_to(&mut self, at: u32) {
        debug_assert!(at.wrapping_sub(self.head) <= self.len(), "a segment was acknowledged that was never sent");
        self.head = at;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![Sent::default(); self.ring.len() * 2].into_boxed_slice();
        for at in self.positions() {
            larger[at as usize & (larger.len() - 1)] = *self.get(at);
        }
        self.ring = larger;
    }

    /// Position of the record that holds `seq`, or of the first one after it.
    pub fn find(&self, seq: u64, mss: u32) -> u32 {
        let Some(first) = self.first() else { return self.head };
        if seq <= first.seq {
            return self.head;
        }
        // Nearly all segments are full: the guess is then exact.
        let guess = ((seq - first.seq) / u64::from(mss)).min(u64::from(self.len()) - 1) as u32;
        let at = self.head.wrapping_add(guess);
        let record = self.get(at);
        if record.seq <= seq && seq < record.end() {
            return at;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(self.head.wrapping_add(middle)).end() <= seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.head.wrapping_add(low)
    }

    /// Whether the transmission order differs, or may differ, from the sequence order.
    #[inline]
    pub fn is_ordered_by_time(&self) -> bool {
        self.ordered
    }

    /// Starts to keep the transmission order; until now it was the sequence order.
    pub fn keep_time_order(&mut self) {
        if self.ordered {
            return;
        }
        self.ordered = true;
        self.linked = 0;
        for at in self.positions() {
            if !self.get(at).has(Sent::SACKED | Sent::LOST) {
                self.link_newest(at);
            }
        }
    }

    /// Stops keeping it: every record was sent once, or once more in sequence order, and none is marked.
    pub fn drop_time_order(&mut self) {
        if self.ordered {
            self.ordered = false;
            for at in self.positions() {
                self.get_mut(at).flags &= !Sent::LINKED;
            }
        }
    }

    /// Sorts the order anew after marks were removed: whatever is neither SACKed, lost nor given up
    /// by RACK takes part.
    pub fn rebuild_time_order(&mut self) {
        let mut by_time: Vec<(u64, u32)> = Vec::with_capacity(self.len() as usize);
        for offset in 0..self.len() {
            let record = self.get_mut(self.head.wrapping_add(offset));
            record.flags &= !Sent::LINKED;
            let is_lost = record.has(Sent::LOST) && !record.has(Sent::RETRANS);
            if !is_lost && !record.has(Sent::SACKED | Sent::RACKED) {
                by_time.push((record.sent_us, offset));
            }
        }
        by_time.sort_unstable();
        self.ordered = true;
        self.linked = 0;
        for (_, offset) in by_time {
            self.link_newest(self.head.wrapping_add(offset));
        }
    }

    /// The record that was sent longest ago, among those that loss detection may judge.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        (self.linked > 0).then_some(self.oldest)
    }
    /// The one that was sent next after `at`.
    #[inline]
    pub fn newer(&self, at: u32) -> Option<u32> {
        (at != self.newest).then(|| self.get(at).newer)
    }

    /// The record is SACKed or lost: loss detection is done with it.
    #[inline]
    pub fn unlink(&mut self, at: u32) {
        let record = self.get_mut(at);
        if !record.has(Sent::LINKED) {
            return;
        }
        record.flags &= !Sent::LINKED;
        let (older, newer) = (record.older, record.newer);
        self.linked -= 1;
        if at == self.oldest {
            self.oldest = newer;
        } else {
            self.get_mut(older).newer = newer;
        }
        if at == self.newest {
            self.newest = older;
        } else {
            self.get_mut(newer).older = older;
        }
    }

    /// The record was sent just now.
    pub fn link_newest(&mut self, at: u32) {
        self.unlink(at);
        let newest = self.newest;
        let record = self.get_mut(at);
        record.flags |= Sent::LINKED;
        record.older = newest;
        if self.linked == 0 {
            self.oldest = at;
        } else {
            self.get_mut(newest).newer = at;
        }
        self.newest = at;
        self.linked += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(segments: u64) -> Queue {
        let mut queue = Queue::new();
        for n in 0..segments {
            queue.push(Sent { seq: 1 + n * 1000, len: 1000, sent_us: n, ..Sent::default() });
        }
        queue
    }

    fn order(queue: &Queue) -> Vec<u32> {
        let mut order = Vec::new();
        let mut at = queue.oldest();
        while let Some(position) = at {
            order.push(position);
            at = queue.newer(position);
        }
        order
    }

    #[test]
    fn grows_and_finds() {
        let mut queue = queue(100);
        queue.pop_to(30);
        assert_eq!(queue.len(), 70);
        for n in 30..100u64 {
            assert_eq!(queue.find(1 + n * 1000, 1000), n as u32);
            assert_eq!(queue.find(1 + n * 1000 + 999, 1400), n as u32);
        }
        assert_eq!(queue.find(1 + 100 * 1000, 1000), 100);
    }

    #[test]
    fn what_is_split_keeps_its_places() {
        let mut queue = queue(16);
        queue.keep_time_order();
        queue.link_newest(3);
        queue.get_mut(5).flags |= Sent::PUSH;
        queue.split(5, 400);
        queue.split(3, 1);
        let ranges: Vec<(u64, u64)> =
            queue.positions().skip(2).take(7).map(|at| queue.get(at)).map(|sent| (sent.seq, sent.end())).collect();
        let expected = [
            (2_001, 3_001),
            (3_001, 3_002),
            (3_002, 4_001),
            (4_001, 5_001),
            (5_001, 5_401),
            (5_401, 6_001),
            (6_001, 7_001),
        ];
        assert_eq!(ranges, expected);
        assert!(!queue.get(6).has(Sent::PUSH) && queue.get(7).has(Sent::PUSH));
        // In the order of their transmission: all but the fourth, which was sent last, both of its parts.
        let seqs: Vec<u64> = order(&queue).into_iter().map(|at| queue.get(at).seq).collect();
        assert_eq!(seqs[..5], [1, 1_001, 2_001, 4_001, 5_001]);
        assert_eq!(seqs[5], 5_401);
        assert_eq!(seqs[seqs.len() - 2..], [3_001, 3_002]);
        assert_eq!(seqs.len(), 18);
        assert!(seqs.iter().all(|&seq| queue.get(queue.find(seq, 1_000)).seq == seq));
        // And joined again.
        queue.join_next(6);
        queue.join_next(3);
        assert_eq!(queue.len(), 16);
        assert!(queue.get(5).has(Sent::PUSH));
        let seqs: Vec<u64> = order(&queue).into_iter().map(|at| queue.get(at).seq).collect();
        assert_eq!((seqs.len(), seqs[3], seqs[4], seqs[15]), (16, 4_001, 5_001, 3_001));
    }

    #[test]
    fn time_order_follows_retransmissions() {
        let mut queue = queue(5);
        queue.keep_time_order();
        queue.unlink(2);
        queue.link_newest(0);
        assert_eq!(order(&queue), [1, 3, 4, 0]);
        queue.unlink(0);
        queue.unlink(1);
        queue.link_newest(1);
        queue.push(Sent { seq: 5001, len: 1000, ..Sent::default() });
        assert_eq!(order(&queue), [3, 4, 1, 5]);
        queue.unlink(0);
        queue.unlink(1);
        queue.pop_to(2);
        assert_eq!(order(&queue), [3, 4, 5]);
        for at in 3..6 {
            queue.unlink(at);
        }
        assert_eq!(queue.oldest(), None);
    }
}
