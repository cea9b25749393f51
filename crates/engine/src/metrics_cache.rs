//! What hosts remember of destinations: an entry for every host and each of its peers, as Linux has one for a pair of
//! addresses. Both ends of a connection have theirs.

use daybreak_tcp::{Connection, Metrics};

use daybreak_plan::{Flow, Plan};

use crate::flow_packets::{flow_of, is_server};

/// The entries of all hosts whose stacks save them.
#[derive(Debug)]
pub(crate) struct MetricsCache {
    entries: Vec<Metrics>,
    /// Of the client and the server of each flow.
    places: Vec<[Place; 2]>,
}

/// Where an end of a flow finds what is known of its destination.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: usize,
    /// The stack keeps entries at all, and thresholds in them.
    is_kept: bool,
    with_ssthresh: bool,
}

impl MetricsCache {
    pub(crate) fn new(plan: &Plan) -> Self {
        let ends = |flow: &Flow| [(flow.src, flow.dst, flow.src_stack), (flow.dst, flow.src, flow.dst_stack)];
        let mut pairs: Vec<(u32, u32)> =
            plan.flows.iter().flat_map(ends).map(|(here, there, _)| (here, there)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let place = |(here, there, stack): (u32, u32, u32)| Place {
            entry: pairs.binary_search(&(here, there)).unwrap_or_default(),
            is_kept: !plan.stacks[stack as usize].tcp_no_metrics_save,
            with_ssthresh: !plan.stacks[stack as usize].tcp_no_ssthresh_metrics_save,
        };
        let places = plan.flows.iter().map(|flow| ends(flow).map(place)).collect();
        Self { entries: vec![Metrics::default(); pairs.len()], places }
    }

    fn place(&self, endpoint: u32) -> Place {
        self.places[flow_of(endpoint) as usize][usize::from(is_server(endpoint))]
    }

    /// A segment has come that may end the handshake: Linux looks its destination up then.
    #[cold]
    #[inline(never)]
    pub(crate) fn inherit(&self, endpoint: u32, connection: &mut Connection) {
        let place = self.place(endpoint);
        if place.is_kept {
            let known = self.entries[place.entry];
            connection.inherit(&Metrics { ssthresh: if place.with_ssthresh { known.ssthresh } else { 0 }, ..known });
        }
    }

    /// An end of a connection has reached TIME-WAIT, or its last FIN is acknowledged.
    pub(crate) fn remember(&mut self, endpoint: u32, connection: &Connection) {
        let place = self.place(endpoint);
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

#[cfg(test)]
mod tests {
    use daybreak_plan::{Stack, benchmarks};

    use super::*;
    use crate::flow_packets::{client_of, server_of};

    #[test]
    fn each_end_obeys_its_own_stack_and_both_ends_have_entries_of_their_own() {
        let mut plan = benchmarks::find("S2").unwrap().plan();
        plan.flows.truncate(1);
        let stack = |saves: bool, saves_ssthresh: bool| Stack {
            tcp_no_metrics_save: !saves,
            tcp_no_ssthresh_metrics_save: !saves_ssthresh,
            ..plan.stacks[0].clone()
        };
        plan.stacks = vec![stack(true, false), stack(false, true)];
        for (client, server) in [(0, 1), (1, 0)] {
            (plan.flows[0].src_stack, plan.flows[0].dst_stack) = (client, server);
            let cache = MetricsCache::new(&plan);
            for (endpoint, stack) in [(client_of(0), client), (server_of(0), server)] {
                let place = cache.place(endpoint);
                assert_eq!((place.is_kept, place.with_ssthresh), (stack == 0, stack == 1), "endpoint {endpoint}");
            }
            assert_ne!(cache.place(client_of(0)).entry, cache.place(server_of(0)).entry);
        }
    }
}
