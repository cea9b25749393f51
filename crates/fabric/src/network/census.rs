//! Positions of packets, totals of links, and the counters that controllers may read.

use daybreak_units::Instant;

use super::Fabric;
use crate::analytic_link::AnalyticTotals;
use crate::control::{Counters, Passed};
use crate::link::UNIMPAIRED;
use crate::queue::Occupancy;
use crate::totals::{Census, LinkTotals, QueueTotals};
use crate::{Monitor, Packet};

impl<B: Copy> Fabric<B> {
    /// Totals of every link by `now`, the time of the last call or later.
    pub fn link_totals(&self, now: Instant) -> impl Iterator<Item = LinkTotals> {
        (0..self.links.len() as u32).map(move |link| self.totals_of_link(link, now))
    }

    /// Totals of one link by `now`, the time of the last call or later.
    pub fn totals_of_link(&self, link: u32, now: Instant) -> LinkTotals {
        let (link, analytic) = (&self.links[link as usize], &self.analytic[link as usize]);
        if analytic.exists {
            let AnalyticTotals { packets, bytes, arrived, waiting, handed_on, wakes } = analytic.totals(now);
            return LinkTotals { packets, bytes, lost: 0, arrived, waiting, handed_on, wakes };
        }
        let lost = if link.impairment == UNIMPAIRED { 0 } else { self.impairments[link.impairment as usize].lost };
        LinkTotals {
            packets: link.packets,
            bytes: link.bytes,
            lost,
            arrived: link.arrived,
            waiting: 0,
            handed_on: 0,
            wakes: link.packets - lost - link.arrived,
        }
    }

    /// The run ends at `now`, the time of the last call or later: reports to the monitor which of the packets announced
    /// to it in advance are not sent.
    pub fn revoke_unsent<M: Monitor<B>>(&self, now: Instant, monitor: &mut M) {
        for (link, analytic) in (0..).zip(&self.analytic).filter(|(_, analytic)| analytic.is_metered()) {
            for position in analytic.ring.positions() {
                let (begins, wire_bytes) = analytic.crossing(position);
                if begins > now {
                    let packet = self.slab.get(analytic.ring.get(position).id);
                    monitor.link_unsent(begins, link, packet, wire_bytes);
                }
            }
        }
    }

    /// The current occupancy of a queue.
    ///
    /// # Panics
    /// If the queue is served analytically: such a queue does not track its length.
    pub fn occupancy(&self, queue: u32) -> Occupancy {
        let queue = &self.queues[queue as usize];
        for gate in &self.gates[queue.gates_start as usize..queue.gates_end as usize] {
            assert!(!self.analytic[gate.link as usize].exists, "somebody looks at a queue that is not observed");
        }
        queue.occupancy()
    }

    /// Totals of every queue. If departures are computed in advance, a packet counts as soon as its arrival is known.
    pub fn queue_totals(&self) -> impl Iterator<Item = QueueTotals> {
        self.totals.iter().copied()
    }

    /// Packets lost so far on the way to `endpoint`.
    pub fn lost(&self, endpoint: u32) -> u64 {
        self.lost.get(endpoint as usize).copied().unwrap_or(0)
    }

    /// Every packet that is alive.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<B>> {
        self.slab.iter()
    }

    /// Positions of the packets at `now`, the time of the last call or later.
    pub fn census(&self, now: Instant) -> Census {
        let mut census = Census {
            alive: self.slab.len() as u64,
            queued: self.queues.iter().map(|queue| u64::from(queue.occupancy().packets)).sum(),
            held: self.route_switches.iter().map(|switch| switch.held.len() as u64).sum(),
            on_links: 0,
        };
        let (mut queued, mut handed_on) = (0, 0);
        for link in self.link_totals(now) {
            queued += link.waiting;
            handed_on += link.handed_on;
            census.on_links += link.packets - link.lost - link.arrived;
        }
        census.queued += queued - handed_on;
        census
    }
}

impl<B: Copy> Counters for Fabric<B> {
    fn queue(&self, queue: u32) -> Occupancy {
        self.occupancy(queue)
    }

    fn link(&self, link: u32, now: Instant) -> LinkTotals {
        self.totals_of_link(link, now)
    }

    fn route_switch(&self, route_switch: u32) -> Passed {
        self.route_switches[route_switch as usize].passed
    }
}
