//! The ends of all flows, each of the transport that carries its flow.

use daybreak_tcp::Connection;
use daybreak_trace::FlowRow;

use super::endpoint::Endpoint;
use crate::flow_packets::{client_of, server_of};
use crate::transport::{Transport, Udp};

/// One end of a flow.
pub(super) enum End {
    /// The flow has not started, or nothing of it is left.
    None,
    Tcp(Box<Endpoint<Connection>>),
    Udp(Box<Endpoint<Udp>>),
}

/// Both ends of a flow, the client or source first.
pub(super) enum Ends<'a> {
    Tcp([&'a Endpoint<Connection>; 2]),
    Udp([&'a Endpoint<Udp>; 2]),
}

/// Does the same with an [`End`] of any transport, and nothing where there is none.
macro_rules! with_end {
    ($end:expr, $endpoint:ident => $action:expr) => {
        match $end {
            End::Tcp($endpoint) => $action,
            End::Udp($endpoint) => $action,
            End::None => {}
        }
    };
}
pub(super) use with_end;

impl Ends<'_> {
    /// Packets that the client or source has sent and received, and those of the other end.
    pub(super) fn packets(&self) -> [(u64, u64); 2] {
        match self {
            Self::Tcp(ends) => ends.map(|end| (end.sent, end.received)),
            Self::Udp(ends) => ends.map(|end| (end.sent, end.received)),
        }
    }

    /// Adds to the flow's row what both directions have carried, or only that to the server.
    pub(super) fn add_carried(&self, both: bool, row: &mut FlowRow) {
        fn add<T: Transport>([client, server]: &[&Endpoint<T>; 2], both: bool, row: &mut FlowRow) {
            client.transport.add_carried(&server.transport, row);
            if both {
                server.transport.add_carried(&client.transport, row);
            }
        }
        match self {
            Self::Tcp(ends) => add(ends, both, row),
            Self::Udp(ends) => add(ends, both, row),
        }
    }
}

/// Both ends of every flow that is under way: of another there are two words.
pub(super) struct Endpoints {
    ends: Vec<End>,
}

impl Endpoints {
    /// For `flows` flows, none of which has started.
    pub(super) fn new(flows: usize) -> Self {
        Self { ends: (0..2 * flows).map(|_| End::None).collect() }
    }

    /// The flow starts with these ends, the client or source first.
    pub(super) fn start(&mut self, flow: u32, [client, server]: [End; 2]) {
        self.ends[client_of(flow) as usize] = client;
        self.ends[server_of(flow) as usize] = server;
    }

    /// Nothing is left of the flow.
    pub(super) fn forget(&mut self, flow: u32) {
        self.start(flow, [End::None, End::None]);
    }

    /// The ends of a flow, if it is under way.
    pub(super) fn of_flow(&self, flow: u32) -> Option<Ends<'_>> {
        match [client_of(flow), server_of(flow)].map(|index| &self.ends[index as usize]) {
            [End::Tcp(client), End::Tcp(server)] => Some(Ends::Tcp([client, server])),
            [End::Udp(source), End::Udp(sink)] => Some(Ends::Udp([source, sink])),
            [End::None | End::Tcp(_) | End::Udp(_), _] => None,
        }
    }

    /// An end of a flow.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut End {
        &mut self.ends[index as usize]
    }

    /// An end of a connection; `None` if it is over, or none.
    #[inline(always)]
    pub(super) fn stream(&mut self, index: u32) -> Option<&mut Endpoint<Connection>> {
        match self.get_mut(index) {
            End::Tcp(endpoint) => Some(endpoint),
            _ => None,
        }
    }
}
