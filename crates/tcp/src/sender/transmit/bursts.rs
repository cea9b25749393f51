//! What lies together in one buffer, of what the application has written: a burst is of one.

use std::collections::VecDeque;

/// The buffers of a sender that builds bursts, and how far the application's write is.
#[derive(Clone, Debug, Default)]
pub(in crate::sender) struct Bursts {
    /// Ends of those that wait. The first begins with the next new byte.
    waiting: VecDeque<u64>,
    /// Ends of those that were sent, some of which may be acknowledged, and when each left first, in nanoseconds.
    sent: VecDeque<(u64, u64)>,
    /// End of the burst that is leaving, or has left.
    leaving: u64,
    /// Segments of the first burst that has left since the last input.
    first_segments: u32,
    /// The application is within a write, and may wait for room there.
    is_writing: bool,
    /// What may leave before the write goes on.
    pause: Option<Pause>,
    /// Of the burst that is being sent again: the next segment, and how many are left.
    again: Option<(u32, u32)>,
}

/// Linux sends while the application writes, each time when a buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) enum Pause {
    /// As usual: more than half of the peer's largest window was written since the last time.
    All,
    /// A burst of the buffer, which is the only one; it does not wait for an ACK.
    One,
    /// That burst has left, or the end of a write is corked.
    Nothing,
}

/// The write.
impl Bursts {
    /// The application is within a write.
    pub fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// What it has written goes up to `end`; it lies in the last buffer, or begins one. Whether the write is complete.
    pub fn write(&mut self, end: u64, joins_last: bool, is_complete: bool) {
        self.is_writing = !is_complete;
        match self.waiting.back_mut().filter(|_| joins_last) {
            Some(last) => *last = end,
            None => self.waiting.push_back(end),
        }
    }

    /// What may leave before the write goes on.
    pub fn pause(&self) -> Option<Pause> {
        self.pause
    }

    /// Only this may leave before the write goes on, or for now if it is complete.
    pub fn pause_for(&mut self, pause: Pause) {
        self.pause = Some(pause);
    }

    /// Nothing more is held back. True if a write goes on.
    pub fn resume(&mut self) -> bool {
        self.pause.take().is_some() && self.is_writing
    }
}

/// What is sent again.
impl Bursts {
    /// After the segment that leaves, `left` more of its burst are sent again, from the one at `at` on.
    pub fn follow_with(&mut self, at: u32, left: u32) {
        self.again = (left > 0).then_some((at, left));
    }

    /// The next segment of the burst that is being sent again, and how many are left with it.
    pub fn next_again(&mut self) -> Option<(u32, u32)> {
        self.again.take()
    }
}

/// The buffers.
impl Bursts {
    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the last buffer, if one waits; the first one begins at `snd_nxt`.
    pub fn last_len(&self, snd_nxt: u64) -> Option<u64> {
        let end = self.waiting.back()?;
        Some(end - self.waiting.iter().rev().nth(1).copied().unwrap_or(snd_nxt))
    }

    /// End of the next buffer.
    pub fn next_end(&self) -> Option<u64> {
        self.waiting.front().copied()
    }

    /// What lies before `end` has a buffer of its own, and is the next one.
    pub fn split(&mut self, end: u64) {
        self.waiting.push_front(end);
    }

    /// The next buffer is filled from the one behind it, up to `end` at most.
    pub fn fill_next(&mut self, end: u64) {
        let mut waiting = self.waiting.iter().copied();
        let (Some(next), Some(behind)) = (waiting.next(), waiting.next()) else { return };
        if end >= behind {
            self.waiting.pop_front();
        } else if end > next {
            self.waiting[0] = end;
        }
    }

    /// End of the burst that is leaving, or has left.
    pub fn leaving(&self) -> u64 {
        self.leaving
    }

    /// Segments of the first burst that has left since the last input.
    pub fn first_segments(&self) -> u32 {
        self.first_segments
    }

    /// A burst leaves, the first since the last input.
    pub fn begin(&mut self, segments: u32) {
        self.first_segments = segments;
    }

    /// A burst leaves at `left_ns` that ends at `end`.
    pub fn send(&mut self, snd_una: u64, end: u64, left_ns: u64) {
        self.leaving = end;
        if self.pause == Some(Pause::One) {
            self.pause = Some(Pause::Nothing);
        }
        if self.waiting.front() == Some(&end) {
            self.waiting.pop_front();
        }
        while self.sent.front().is_some_and(|&(end, _)| end <= snd_una) {
            self.sent.pop_front();
        }
        self.sent.push_back((end, left_ns));
    }

    /// What was sent is cut in two at `end`.
    pub fn cut(&mut self, end: u64) {
        let at = self.sent.partition_point(|&(other, _)| other < end);
        if let Some(&(_, left_ns)) = self.sent.get(at).filter(|&&(other, _)| other != end) {
            self.sent.insert(at, (end, left_ns));
        }
    }

    /// How many were sent and hold what is not acknowledged.
    pub fn in_flight(&self, snd_una: u64) -> u64 {
        (self.sent.len() - self.acknowledged(snd_una)) as u64
    }

    /// When the first left that is not acknowledged, in nanoseconds, if it was not sent again.
    pub fn first_left_ns(&self, snd_una: u64) -> Option<u64> {
        self.sent.get(self.acknowledged(snd_una)).map(|&(_, left_ns)| left_ns)
    }

    fn acknowledged(&self, snd_una: u64) -> usize {
        self.sent.partition_point(|&(end, _)| end <= snd_una)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(waiting: &[u64], sent: &[(u64, u64)]) -> Bursts {
        Bursts { waiting: waiting.iter().copied().collect(), sent: sent.iter().copied().collect(), ..Bursts::default() }
    }

    #[test]
    fn what_is_written_joins_the_last_buffer_or_begins_one() {
        let mut bursts = Bursts::default();
        for (end, joins, complete, ends, last_len) in [
            (101, true, false, vec![101], 100),
            (151, true, true, vec![151], 150),
            (201, false, false, vec![151, 201], 50),
        ] {
            bursts.write(end, joins, complete);
            assert_eq!((Vec::from(bursts.waiting.clone()), bursts.is_writing()), (ends.clone(), !complete));
            assert_eq!((bursts.waiting(), bursts.last_len(1)), (ends.len(), Some(last_len)));
        }
    }

    #[test]
    fn a_pause_ends_once_and_only_a_write_goes_on_then() {
        for (complete, goes_on) in [(false, true), (true, false)] {
            let mut bursts = Bursts::default();
            bursts.write(101, false, complete);
            assert!(!bursts.resume(), "nothing was held back");
            bursts.pause_for(Pause::One);
            assert_eq!((bursts.resume(), bursts.resume()), (goes_on, false));
        }
    }

    #[test]
    fn a_buffer_takes_from_the_one_behind_it_what_there_is() {
        for (end, left) in
            [(99, vec![100, 200]), (100, vec![100, 200]), (150, vec![150, 200]), (200, vec![200]), (250, vec![200])]
        {
            let mut bursts = bursts(&[100, 200], &[]);
            bursts.fill_next(end);
            assert_eq!(Vec::from(bursts.waiting), left, "up to {end}");
        }
        let mut alone = bursts(&[100], &[]);
        alone.fill_next(150);
        assert_eq!(Vec::from(alone.waiting), [100]);
    }

    #[test]
    fn a_cut_makes_two_of_what_was_sent_at_once() {
        for (end, sent) in [
            (50, vec![(50, 1), (100, 1), (200, 2)]),
            (100, vec![(100, 1), (200, 2)]),
            (150, vec![(100, 1), (150, 2), (200, 2)]),
            (250, vec![(100, 1), (200, 2)]),
        ] {
            let mut bursts = bursts(&[], &[(100, 1), (200, 2)]);
            bursts.cut(end);
            assert_eq!(Vec::from(bursts.sent), sent, "at {end}");
        }
    }

    #[test]
    fn what_ends_below_the_first_byte_that_is_not_acknowledged_is_gone() {
        let bursts = bursts(&[], &[(100, 1), (200, 2)]);
        for (una, in_flight, first) in
            [(1, 2, Some(1)), (99, 2, Some(1)), (100, 1, Some(2)), (199, 1, Some(2)), (200, 0, None)]
        {
            assert_eq!((bursts.in_flight(una), bursts.first_left_ns(una)), (in_flight, first), "{una}");
        }
    }

    #[test]
    fn what_is_sent_again_follows_while_something_is_left() {
        let mut bursts = Bursts::default();
        for (left, follows) in [(0, None), (1, Some((7, 1))), (3, Some((7, 3)))] {
            bursts.follow_with(7, left);
            assert_eq!((bursts.next_again(), bursts.next_again()), (follows, None));
        }
    }
}
