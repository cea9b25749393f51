//! The tables of flows and of what their applications did, at the end of a run.

use daybreak_host::Received;
use daybreak_plan::Application;
use daybreak_trace::{DatagramColumns, FlowColumns, FlowRow, NEVER_NS, Probe, Table};
use daybreak_units::Instant;

use super::endpoint::{Endpoint, Ends};
use super::{Core, Tables};
use crate::flow_packets::server_of;

impl<P: Probe + Tables + Send> Core<P> {
    pub(super) fn flow_table(&self) -> Table {
        let mut columns = FlowColumns::default();
        for (index, flow) in (0..).zip(&self.flows) {
            columns.push(flow.over.as_deref().copied().unwrap_or_else(|| self.flow_row(index)));
        }
        columns.into_table()
    }

    /// What is known of a flow now.
    pub(super) fn flow_row(&self, index: u32) -> FlowRow {
        let flow = &self.flows[index as usize];
        let mut row = FlowRow {
            flow: index,
            bytes: flow.application.limited_bytes().unwrap_or(0),
            start_ns: flow.start.as_ns(),
            end_ns: flow.end.map_or(NEVER_NS, Instant::as_ns),
            fct_ns: flow.end.map_or(NEVER_NS, |end| (end - flow.start).as_ns()),
            ..FlowRow::default()
        };
        match (self.endpoints.of_flow(index), &flow.application) {
            (None, _) => {}
            (Some(Ends::Stream([client, server])), Application::Bulk { .. }) => self.add(&mut row, client, server),
            (Some(Ends::Stream([client, server])), _) => {
                self.add(&mut row, client, server);
                self.add(&mut row, server, client);
            }
            (Some(Ends::Datagrams(source, received)), _) => {
                row.delivered_bytes = received.datagrams * u64::from(source.payload_bytes);
                row.segments = source.schedule.sent();
                row.reordered = received.reordered;
            }
        }
        row
    }

    /// Adds what one direction of a connection has carried.
    fn add(&self, row: &mut FlowRow, sender: &Endpoint, receiver: &Endpoint) {
        let (counters, received) = (sender.connection.counters(), receiver.connection.counters());
        row.delivered_bytes += receiver.connection.delivered_bytes();
        row.segments += counters.segments;
        row.retransmits += counters.retransmits;
        row.rtos += counters.rtos as u32;
        row.tlps += counters.tlps as u32;
        row.fast_recoveries += counters.fast_recoveries as u32;
        row.spurious += counters.spurious as u32;
        row.dup_acks += counters.dup_acks;
        row.reordered += received.reordered;
        row.duplicates += received.duplicates;
        row.outstanding_bytes += sender.window_row(0, Instant::ZERO).outstanding_bytes;
    }

    /// The tables that are there because some flow has such an application.
    pub(super) fn application_tables(&mut self) -> Vec<Table> {
        let mut tables = Vec::new();
        let has = |wanted: fn(&Application) -> bool| self.flows.iter().any(|flow| wanted(&flow.application));
        let (exchanges, datagrams) =
            (has(|application| matches!(application, Application::RequestResponse { .. })), has(Application::is_udp));
        if exchanges {
            tables.push(std::mem::take(&mut self.exchanges).into_table());
        }
        if datagrams {
            tables.push(self.datagram_table());
        }
        tables
    }

    fn datagram_table(&self) -> Table {
        let mut columns = DatagramColumns::default();
        for (flow, _) in (0..).zip(&self.flows).filter(|(_, state)| state.application.is_udp()) {
            columns.push(match self.endpoints.of_flow(flow) {
                Some(Ends::Datagrams(source, received)) => {
                    received.row(flow, source.schedule.sent(), self.fabric.lost(server_of(flow)))
                }
                _ => Received::default().row(flow, 0, 0),
            });
        }
        columns.into_table()
    }
}
