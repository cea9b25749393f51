//! At the end of a run: no packet has vanished or come from nowhere.

use daybreak_trace::Probe;

use super::{Core, Tables};
use crate::error::EngineError;
use crate::flow_packets::{client_of, server_of};
use crate::schedule::{Event, Rank};

impl<P: Probe + Tables + Send> Core<P> {
    /// Every packet is delivered, lost or on its way, by flow, by link and in all.
    pub(super) fn check_conservation(&self) -> Result<(), EngineError> {
        let mut in_flight = vec![0u64; 2 * self.flows.len()];
        for packet in self.fabric.packets() {
            in_flight[packet.endpoint as usize] += 1;
        }
        for flow in 0..self.flows.len() as u32 {
            // Of a flow that is over every packet has arrived or was lost: see `closing`.
            let Some(ends) = self.endpoints.of_flow(flow) else { continue };
            let [(client_sent, client_received), (server_sent, server_received)] = ends.packets();
            for (index, sent, received, way) in [
                (server_of(flow), client_sent, server_received, "data"),
                (client_of(flow), server_sent, client_received, "ACKs"),
            ] {
                let place = || format!("flow \"{}\" ({way})", self.names.flows[flow as usize]);
                balance(place, sent, received, self.fabric.lost(index), in_flight[index as usize])?;
            }
        }
        let census = self.fabric.census(self.now);
        let found = census.queued + census.held + census.on_links;
        balance(|| "the slab".into(), census.alive, 0, 0, found)
    }

    /// The events that are left show which packets are on which link.
    pub(super) fn check_links(&self, left: &[Event]) -> Result<(), EngineError> {
        let mut under_way = vec![0u64; self.names.links.len()];
        for event in left.iter().filter(|event| event.rank() == Rank::Arrival) {
            under_way[event.component() as usize] += 1;
        }
        for (index, link) in self.fabric.link_totals(self.now).enumerate() {
            let place = || format!("link \"{}\"", self.names.links[index]);
            balance(place, link.wakes, 0, 0, under_way[index])?;
        }
        Ok(())
    }
}

fn balance(
    place: impl FnOnce() -> String,
    sent: u64,
    delivered: u64,
    lost: u64,
    in_flight: u64,
) -> Result<(), EngineError> {
    if sent == delivered + lost + in_flight {
        return Ok(());
    }
    Err(EngineError::NotConserved { place: place(), sent, delivered, lost, in_flight })
}
