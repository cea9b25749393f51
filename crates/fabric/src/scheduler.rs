//! Which of several queues a link serves next.
//!
//! Strict priority, and round robin among queues of the same priority, packet by packet. A bit for each queue is set if
//! it has a packet for the link, so that finding the next one reads no queue: 63 queues are one word.

/// The queues of one link.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    /// By falling priority.
    levels: Vec<Level>,
}

/// Queues of one priority.
#[derive(Debug)]
struct Level {
    priority: u8,
    queues: Vec<u32>,
    /// A bit for each queue that has a packet which the link may take.
    ready: Vec<u64>,
    /// Where the search begins: behind the queue that was served last.
    next: usize,
}

/// Where a queue stands in the scheduler of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    level: u32,
    position: u32,
}

impl Scheduler {
    /// A scheduler of these queues, each with its priority; of equal ones the first goes first at the start.
    pub(crate) fn new(queues: &[(u32, u8)]) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        for &(queue, priority) in queues {
            let index = levels.iter().position(|level| level.priority <= priority).unwrap_or(levels.len());
            if levels.get(index).is_none_or(|level| level.priority != priority) {
                levels.insert(index, Level { priority, queues: Vec::new(), ready: Vec::new(), next: 0 });
            }
            levels[index].queues.push(queue);
        }
        for level in &mut levels {
            level.ready = vec![0; level.queues.len().div_ceil(64)];
        }
        Self { levels }
    }

    /// The place of a queue that the link serves.
    pub(crate) fn place(&self, queue: u32) -> Option<Place> {
        (0..).zip(&self.levels).find_map(|(level, in_level)| {
            let position = in_level.queues.iter().position(|&one| one == queue)? as u32;
            Some(Place { level, position })
        })
    }

    /// The queue at `place` has a packet for the link, or has none.
    #[inline]
    pub(crate) fn set_ready(&mut self, place: Place, is_ready: bool) {
        let position = place.position as usize;
        let word = &mut self.levels[place.level as usize].ready[position / 64];
        let bit = 1 << (position % 64);
        if is_ready { *word |= bit } else { *word &= !bit }
    }

    /// Whether any queue has a packet for the link.
    pub(crate) fn is_any_ready(&self) -> bool {
        self.levels.iter().any(|level| level.ready.iter().any(|&word| word != 0))
    }

    /// The queue to take the next packet from, whose turn it is no longer then.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.levels.iter_mut().find_map(Level::take)
    }

    /// Every queue of the link.
    pub(crate) fn queues(&self) -> impl Iterator<Item = u32> {
        self.levels.iter().flat_map(|level| level.queues.iter().copied())
    }
}

impl Level {
    fn take(&mut self) -> Option<u32> {
        let position = self.first_ready()?;
        self.next = position + 1;
        Some(self.queues[position])
    }

    /// The first position from `next` on, once around, whose bit is set.
    fn first_ready(&self) -> Option<usize> {
        let (start, shift) = (self.next / 64, self.next % 64);
        let found = |word: usize, bits: u64| (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize);
        let behind = self.ready.get(start).and_then(|&bits| found(start, bits >> shift << shift));
        let later = || (start + 1..self.ready.len()).find_map(|word| found(word, self.ready[word]));
        let earlier = || (0..self.ready.len()).find_map(|word| found(word, self.ready[word]));
        behind.or_else(later).or_else(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_queues_take_turns_and_higher_ones_go_first() {
        let mut scheduler = Scheduler::new(&[(7, 0), (8, 1), (9, 0), (10, 1)]);
        for queue in [7, 8, 9, 10] {
            let place = scheduler.place(queue).unwrap();
            scheduler.set_ready(place, true);
        }
        let order: Vec<_> = (0..5).filter_map(|_| scheduler.take()).collect();
        assert_eq!(order, [8, 10, 8, 10, 8]);
        for queue in [8, 10] {
            let place = scheduler.place(queue).unwrap();
            scheduler.set_ready(place, false);
        }
        let order: Vec<_> = (0..3).filter_map(|_| scheduler.take()).collect();
        assert_eq!(order, [7, 9, 7]);
        assert!(scheduler.place(11).is_none());
    }

    proptest! {
        /// As a plain search of all queues in turn would do it.
        #[test]
        fn round_robin_of_many_queues(count in 1usize..200, steps in prop::collection::vec((0usize..200, any::<bool>()), 1..400)) {
            let queues: Vec<_> = (0..count as u32).map(|queue| (queue, 0)).collect();
            let mut scheduler = Scheduler::new(&queues);
            let (mut ready, mut next) = (vec![false; count], 0);
            for (queue, is_ready) in steps {
                let queue = queue % count;
                let place = scheduler.place(queue as u32).unwrap();
                scheduler.set_ready(place, is_ready);
                ready[queue] = is_ready;
                let expected = (next..next + count).map(|position| position % count).find(|&position| ready[position]);
                prop_assert_eq!(scheduler.is_any_ready(), expected.is_some());
                prop_assert_eq!(scheduler.take(), expected.map(|queue| queue as u32));
                next = expected.map_or(next, |position| position + 1);
            }
        }
    }
}
