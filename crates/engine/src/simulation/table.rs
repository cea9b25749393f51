//! The tables of flows and of what their applications did, at the end of a run.

use daybreak_host::Received;
use daybreak_plan::Application;
use daybreak_trace::{DatagramColumns, FlowColumns, FlowRow, NEVER_NS, Probe, Table};
use daybreak_units::Instant;

use super::ends::Ends;
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
        if let Some(ends) = self.endpoints.of_flow(index) {
            let [_, server_writes] = flow.application.writers();
            ends.add_carried(server_writes, &mut row);
        }
        row
    }

    /// The tables that are there because some flow has such an application.
    pub(super) fn application_tables(&mut self) -> Vec<Table> {
        let mut tables = Vec::new();
        let has = |wanted: fn(&Application) -> bool| self.flows.iter().any(|flow| wanted(&flow.application));
        let (exchanges, datagrams) = (has(|application| application.exchanges().is_some()), has(Application::is_udp));
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
                Some(Ends::Udp([source, sink])) => {
                    source.transport.row(&sink.transport, flow, self.fabric.lost(server_of(flow)))
                }
                _ => Received::default().row(flow, 0, 0),
            });
        }
        columns.into_table()
    }
}
