//! What is in flight: a record of each sent segment that is not acknowledged, and the counts of each path.
//!
//! [`Flight`] is the retransmission queue: the records in sequence order, in a ring. Whatever changes the mark of a record
//! changes the [`Tally`] of its path here as well, and nothing outside changes either; so the counts are what the records
//! say. It decides nothing: loss detection and the scoreboard determine which segment is lost or delivered.
//!
//! | file | what it holds |
//! |---|---|
//! | `sent.rs` | one record |
//! | `tally.rs` | the counts of a path, and their estimate without SACK |
//! | `marks.rs` | a segment is sent, SACKed, lost, sent again, acknowledged |
//! | `of_path.rs` | which records are those of one path |
//! | `time_order.rs` | the records in the order of their last transmission |
//! | `sk_buff.rs` | what Linux does to the boundaries of segments: split, collapse, shift |

use daybreak_units::RingBuffer;

mod marks;
mod of_path;
mod sent;
mod sk_buff;
mod tally;
mod time_order;

pub(crate) use marks::Lost;
pub(crate) use sent::Sent;
pub(crate) use tally::Tally;

/// The ring. Positions count up without end (modulo 2^32) and stay valid while the record is queued.
#[derive(Debug)]
// In this order what every segment touches is its first half of a cache line.
#[repr(C)]
pub(crate) struct Flight {
    ring: RingBuffer<Sent>,
    head: u32,
    tail: u32,
    /// No segment below this position waits to be sent again.
    resend_from: u32,
    ordered: bool,
    /// Transmission order; only kept while `ordered`.
    oldest: u32,
    newest: u32,
    linked: u32,
    /// Segments without an `sk_buff` of their own.
    merged: u64,
    /// The `sk_buff` that was last shifted into another: first and last sequence number, the latter exclusive.
    shifted: (u64, u64),
    /// The transmission order may differ from the sequence order below this.
    time_order_until: u64,
    /// Retransmissions so far.
    retransmissions: u32,
}

impl Flight {
    pub fn new() -> Self {
        Self {
            ring: RingBuffer::new(16),
            head: 0,
            tail: 0,
            oldest: 0,
            newest: 0,
            linked: 0,
            resend_from: 0,
            ordered: false,
            merged: 0,
            shifted: (0, 0),
            time_order_until: 0,
            retransmissions: 0,
        }
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
        self.ring.get(at)
    }
    #[inline]
    fn get_mut(&mut self, at: u32) -> &mut Sent {
        self.ring.get_mut(at)
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
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Segments of `len` bytes, the first of which begins at 1, sent a microsecond apart.
    pub fn flight(segments: u64, len: u32) -> (Flight, Tally) {
        let (mut flight, mut tally) = (Flight::new(), Tally::default());
        for n in 0..segments {
            flight.push(&mut tally, Sent { seq: 1 + n * u64::from(len), len, sent_us: n, ..Sent::default() });
        }
        (flight, tally)
    }

    #[test]
    fn grows_and_finds() {
        let (mut flight, mut tally) = flight(100, 1_000);
        flight.release_plain(&mut tally, 30);
        assert_eq!((flight.len(), tally.counts()), (70, [70, 0, 0, 0]));
        for n in 30..100u64 {
            assert_eq!(flight.find(1 + n * 1000, 1000), n as u32);
            assert_eq!(flight.find(1 + n * 1000 + 999, 1400), n as u32);
        }
        assert_eq!(flight.find(1 + 100 * 1000, 1000), 100);
    }

    #[test]
    fn what_is_acknowledged_is_not_sent_again() {
        let (mut flight, mut tally) = flight(6, 1_000);
        flight.mark_lost(&mut tally, 0);
        flight.mark_lost(&mut tally, 4);
        // An ACK of the first two: their records stay in memory, marked as they are.
        flight.pop_to(2);
        assert_eq!(flight.next_lost(), Some(4));
        // One of what lies below the last that was sent again does not turn the search back.
        flight.mark_resent(&mut tally, 4);
        flight.pop_to(3);
        assert_eq!((flight.next_lost(), flight.resend_from), (None, 6));
    }
}
