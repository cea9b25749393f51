//! One-way delays as histograms: exact below 16 ns, then 16 buckets for every power of two.

use daybreak_trace::{LatencyColumns, LatencyRow};

const PER_OCTAVE_BITS: u32 = 4;
const PER_OCTAVE: u64 = 1 << PER_OCTAVE_BITS;

#[derive(Debug)]
pub(super) struct Latency {
    /// Packets in each bucket, by flow; as long as the largest delay seen needs.
    flows: Vec<Vec<u64>>,
}

impl Latency {
    pub(super) fn new(flows: usize) -> Self {
        Self { flows: vec![Vec::new(); flows] }
    }

    /// One more flow.
    pub(super) fn grow(&mut self) {
        self.flows.push(Vec::new());
    }

    #[inline]
    pub(super) fn add(&mut self, flow: u32, delay_ns: u64) {
        let buckets = &mut self.flows[flow as usize];
        let index = bucket(delay_ns);
        if index >= buckets.len() {
            buckets.resize(index + 1, 0);
        }
        buckets[index] += 1;
    }

    pub(super) fn into_columns(self) -> LatencyColumns {
        let mut columns = LatencyColumns::default();
        for (flow, buckets) in self.flows.iter().enumerate() {
            for (index, &packets) in buckets.iter().enumerate().filter(|(_, packets)| **packets > 0) {
                let (from_ns, to_ns) = (lower_edge(index), lower_edge(index + 1));
                columns.push(LatencyRow { flow: flow as u32, from_ns, to_ns, packets });
            }
        }
        columns
    }
}

#[inline]
fn bucket(ns: u64) -> usize {
    if ns < PER_OCTAVE {
        return ns as usize;
    }
    let shift = ns.ilog2() - PER_OCTAVE_BITS;
    ((u64::from(shift) << PER_OCTAVE_BITS) + (ns >> shift)) as usize
}

fn lower_edge(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PER_OCTAVE {
        return bucket;
    }
    let shift = (bucket >> PER_OCTAVE_BITS) - 1;
    (PER_OCTAVE + bucket % PER_OCTAVE) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_edges_and_are_narrow() {
        for ns in (0..5_000).chain([44_000, 1 << 30, (1 << 40) + 12345]) {
            let index = bucket(ns);
            let (from, to) = (lower_edge(index), lower_edge(index + 1));
            assert!(from <= ns && ns < to, "{ns} is not in [{from}, {to})");
            assert!(to - from == 1 || (to - from) * 16 <= from, "[{from}, {to}) is too wide");
        }
    }
}
