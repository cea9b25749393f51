//! Occupancy of queues at regular intervals, with the maximum within each.

use daybreak_trace::{QueueColumns, QueueRow};
use daybreak_units::Instant;

#[derive(Debug)]
pub(super) struct QueueSamples {
    interval_ps: u64,
    /// `None` for a queue that is not sampled.
    queues: Vec<Option<Sampled>>,
}

#[derive(Clone, Debug)]
struct Sampled {
    interval_end_ps: u64,
    packets: u32,
    bytes: u64,
    max_packets: u32,
    /// End of the interval in ns, packets, bytes, maximum.
    done: Vec<(u64, u32, u64, u32)>,
}

impl QueueSamples {
    pub(super) fn new(count: usize, sampled: &[u32], interval_ps: u64) -> Self {
        let mut queues = vec![None; count];
        for &queue in sampled {
            queues[queue as usize] =
                Some(Sampled { interval_end_ps: interval_ps, packets: 0, bytes: 0, max_packets: 0, done: Vec::new() });
        }
        Self { interval_ps, queues }
    }

    #[inline]
    pub(super) fn changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        if let Some(queue) = &mut self.queues[queue as usize] {
            queue.finish_intervals(now, self.interval_ps);
            queue.packets = packets;
            queue.bytes = bytes;
            queue.max_packets = queue.max_packets.max(packets);
        }
    }

    /// The rows of every interval that is complete at `end`, queue by queue.
    pub(super) fn into_columns(mut self, end: Instant) -> QueueColumns {
        let mut columns = QueueColumns::default();
        for (index, queue) in self.queues.iter_mut().enumerate() {
            let Some(queue) = queue else { continue };
            queue.finish_intervals(end, self.interval_ps);
            for &(time_ns, packets, bytes, max_packets) in &queue.done {
                columns.push(QueueRow { queue: index as u32, time_ns, packets, bytes, max_packets });
            }
        }
        columns
    }
}

impl Sampled {
    #[inline]
    fn finish_intervals(&mut self, now: Instant, interval_ps: u64) {
        while now.as_ps() >= self.interval_end_ps {
            self.done.push((self.interval_end_ps / 1_000, self.packets, self.bytes, self.max_packets));
            self.max_packets = self.packets;
            self.interval_end_ps = self.interval_end_ps.saturating_add(interval_ps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::Duration;

    #[test]
    fn every_interval_has_a_row_and_a_maximum() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut samples = QueueSamples::new(2, &[1], Duration::from_us(10).as_ps());
        samples.changed(at(1), 0, 9, 900);
        samples.changed(at(1), 1, 5, 500);
        samples.changed(at(2), 1, 2, 200);
        samples.changed(at(25), 1, 3, 300);
        let rows = samples.into_columns(at(39));
        assert_eq!(rows.queue, [1, 1, 1]);
        assert_eq!(rows.time_ns, [10_000, 20_000, 30_000]);
        assert_eq!(rows.packets, [2, 2, 3]);
        assert_eq!(rows.max_packets, [5, 2, 3]);
    }
}
