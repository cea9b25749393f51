//! What hosts remember of destinations: an entry for every pair of hosts, as Linux has one for a pair of addresses.

use daybreak_tcp::{Connection, Metrics};

use daybreak_plan::{Flow, Plan, Stack};

/// The entries of all hosts whose stacks save them.
#[derive(Debug)]
pub(crate) struct MetricsCache {
    entries: Vec<Metrics>,
    /// Of each flow.
    places: Vec<Place>,
}

/// Where a flow finds what is known of its destination.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: usize,
    /// The stack keeps entries at all, and thresholds in them.
    is_kept: bool,
    with_ssthresh: bool,
}

impl MetricsCache {
    pub(crate) fn new(plan: &Plan) -> Self {
        let stack = |flow: &Flow| -> &Stack { &plan.stacks[flow.src_stack as usize] };
        let mut pairs: Vec<(u32, u32)> = plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let place = |flow: &Flow| Place {
            entry: pairs.binary_search(&(flow.src, flow.dst)).unwrap_or_default(),
            is_kept: !stack(flow).tcp_no_metrics_save,
            with_ssthresh: !stack(flow).tcp_no_ssthresh_metrics_save,
        };
        Self { entries: vec![Metrics::default(); pairs.len()], places: plan.flows.iter().map(place).collect() }
    }

    /// A flow opens.
    pub(crate) fn inherit(&self, flow: u32, connection: &mut Connection) {
        let place = self.places[flow as usize];
        if place.is_kept {
            let known = self.entries[place.entry];
            connection.inherit(&Metrics { ssthresh: if place.with_ssthresh { known.ssthresh } else { 0 }, ..known });
        }
    }

    /// Everything that a flow sent is acknowledged.
    pub(crate) fn remember(&mut self, flow: u32, connection: &Connection) {
        let place = self.places[flow as usize];
        if place.is_kept {
            let known = self.entries[place.entry];
            let entry = &mut self.entries[place.entry];
            connection.remember(entry);
            if !place.with_ssthresh {
                entry.ssthresh = known.ssthresh;
            }
        }
    }
}
