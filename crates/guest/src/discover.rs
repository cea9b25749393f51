//! Finds the connections of programs by the five-tuples of their packets.
//!
//! Connections of programs are not in the plan. The first packet of one creates a flow, with the paths of the plan's
//! flow between the two hosts: that of the program that owns the socket, or else the first one. A TCP connection is one
//! flow, whose source is the end that opened it. Datagrams are one flow per direction and five-tuple.

use std::collections::BTreeMap;

use daybreak_plan::Plan;
use daybreak_trace::{ConnectionRow, UNKNOWN};

use crate::headers::{Headers, Protocol, flags};
use crate::layout::{End, Layout, runs_programs};
use crate::sockets::SocketAddress;

/// The owner of packets that no program sent.
pub const NO_OWNER: u32 = u32::MAX;
/// User ids of programs: the client of flow 0, its server, the client of flow 1, and so on.
const FIRST_USER: u32 = 100_000;

/// The user id of a program, which identifies its packets.
pub fn user(flow: u32, is_server: bool) -> u32 {
    FIRST_USER + 2 * flow + u32::from(is_server)
}

/// A five-tuple without the order of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tuple {
    protocol: u8,
    addresses: [u32; 2],
    ports: [u16; 2],
}

/// A flow of the plan that runs programs.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    /// Addresses of its source and its destination.
    addresses: [u32; 2],
}

/// The owner of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOwner {
    /// A known flow; true if the packet is from its source.
    Known(u32, bool),
    /// A new flow; the packet is from its source.
    New {
        /// Flow of the plan whose paths it takes.
        of_flow: u32,
        /// Its source is that flow's destination.
        is_reversed: bool,
    },
}

/// The flows that were found.
#[derive(Debug)]
pub struct Discovery {
    /// Flows of the plan.
    planned: u32,
    entries: Vec<Entry>,
    known: BTreeMap<Tuple, u32>,
    /// The last fragmented datagram between two hosts, and its flow: only the first fragment has ports.
    fragments: BTreeMap<[u32; 2], (u16, u32)>,
    /// The connections found, in the order of their first packets.
    pub connections: Vec<ConnectionRow>,
}

impl Discovery {
    /// Starts without any; addresses are those of the layout's ends.
    pub fn new(plan: &Plan, layout: &Layout) -> Self {
        let with_programs = (0..).zip(&plan.flows).filter(|(_, flow)| runs_programs(flow));
        let entry = |flow: u32| {
            let (src, dst) = layout.flows[flow as usize];
            Entry { flow, addresses: [End::ip(src), End::ip(dst)] }
        };
        Self {
            planned: plan.flows.len() as u32,
            entries: with_programs.map(|(flow, _)| entry(flow)).collect(),
            known: BTreeMap::new(),
            fragments: BTreeMap::new(),
            connections: Vec::new(),
        }
    }

    /// Whether the plan has any programs.
    pub fn is_wanted(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether a flow of the plan runs programs.
    pub fn runs_programs(&self, flow: u32) -> bool {
        self.entries.binary_search_by_key(&flow, |entry| entry.flow).is_ok()
    }

    /// The connection of a TCP socket, by its own address and its peer's, and whether that end opened it.
    pub fn of_socket(&self, [own, other]: [SocketAddress; 2]) -> Option<(u32, bool)> {
        let tuple = |from: SocketAddress, to: SocketAddress| Tuple {
            protocol: Protocol::Tcp.number(),
            addresses: [from.0, to.0],
            ports: [from.1, to.1],
        };
        let flow = |from, to, is_opener| self.known.get(&tuple(from, to)).map(|&flow| (flow, is_opener));
        flow(own, other, true).or_else(|| flow(other, own, false))
    }

    /// Notes which congestion control a connection has: see `variant` of table `connections`.
    pub fn note_variant(&mut self, flow: u32, variant: u32) {
        self.connections[(flow - self.planned) as usize].variant = variant;
    }

    /// The owner of a packet; `None` if no program's flow connects its hosts. `is_closed(flow)` is whether the flow's
    /// connection has ended, so that a SYN begins another one.
    pub fn see(&mut self, headers: &Headers, owner: u32, is_closed: impl Fn(u32) -> bool) -> Option<PacketOwner> {
        let [from, to] = headers.addresses;
        if headers.is_later_fragment {
            let flow = self.fragments.get(&[from, to]).filter(|(id, _)| *id == headers.identification)?.1;
            return Some(PacketOwner::Known(flow, true));
        }
        let protocol = headers.protocol.number();
        let tuple = Tuple { protocol, addresses: [from, to], ports: [headers.source, headers.destination] };
        let back = Tuple { protocol, addresses: [to, from], ports: [headers.destination, headers.source] };
        let is_stream = headers.protocol == Protocol::Tcp;
        let opens = is_stream && headers.flags & (flags::SYN | flags::ACK) == flags::SYN;
        for (tuple, is_from_source) in [(tuple, true), (back, false)].into_iter().take(1 + usize::from(is_stream)) {
            if let Some(&flow) = self.known.get(&tuple) {
                if opens && is_closed(flow) {
                    self.known.remove(&tuple);
                    break;
                }
                if !is_stream {
                    self.fragments.insert([from, to], (headers.identification, flow));
                }
                return Some(PacketOwner::Known(flow, is_from_source));
            }
        }
        let joins = |entry: &&Entry| entry.addresses == [from, to] || entry.addresses == [to, from];
        let owns = |entry: &&Entry| [false, true].iter().any(|&server| owner == user(entry.flow, server));
        let candidates = || self.entries.iter().filter(joins);
        let &Entry { flow: of_flow, addresses } = candidates().find(owns).or_else(|| candidates().next())?;
        let flow = self.planned + self.connections.len() as u32;
        self.known.insert(tuple, flow);
        self.fragments.insert([from, to], (headers.identification, flow));
        let [src_port, dst_port] = tuple.ports.map(u32::from);
        let is_reversed = addresses == [to, from];
        self.connections.push(ConnectionRow {
            flow,
            of_flow,
            is_reversed: u8::from(is_reversed),
            protocol,
            src_port,
            dst_port,
            variant: UNKNOWN,
        });
        Some(PacketOwner::New { of_flow, is_reversed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::headers;
    use crate::layout::tests::plan;
    use daybreak_plan::{Application, Command};

    fn program() -> Application {
        let command = Command {
            arguments: vec!["program".into()],
            stop_ps: None,
            folder: ".".into(),
            environment: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        Application::Program { client: Some(command.clone()), server: Some(command) }
    }

    /// Two flows between one pair of hosts; addresses of the hosts.
    fn discovery() -> (Discovery, [u32; 2]) {
        let mut plan = plan();
        plan.stacks[0].tcp_limit_output_bytes = Some(1 << 20);
        plan.flows[1] = daybreak_plan::Flow { name: "second".into(), ..plan.flows[0].clone() };
        plan.flows.iter_mut().for_each(|flow| flow.application = program());
        let layout = Layout::of(&plan).unwrap();
        let (src, dst) = layout.flows[0];
        assert_eq!(layout.flows[1], (src, dst), "programs of one host share its network");
        (Discovery::new(&plan, &layout), [src, dst].map(End::ip))
    }

    fn segment(addresses: [u32; 2], ports: [u16; 2], bits: u8) -> Headers {
        Headers { addresses, source: ports[0], destination: ports[1], ..headers(0, 0, bits, 0) }
    }

    fn datagram(addresses: [u32; 2], ports: [u16; 2], identification: u16) -> Headers {
        Headers { protocol: Protocol::Udp(None), identification, ..segment(addresses, ports, 0) }
    }

    #[test]
    fn a_connection_is_one_flow_in_both_directions_and_a_new_one_when_it_is_opened_again() {
        let (mut discovery, [client, server]) = discovery();
        let open = |_| false;
        let there = segment([client, server], [40_000, 80], flags::SYN);
        let back = segment([server, client], [80, 40_000], flags::SYN | flags::ACK);
        assert_eq!(discovery.see(&there, NO_OWNER, open), Some(PacketOwner::New { of_flow: 0, is_reversed: false }));
        assert_eq!(discovery.see(&there, NO_OWNER, open), Some(PacketOwner::Known(2, true)), "sent again");
        assert_eq!(discovery.see(&back, NO_OWNER, open), Some(PacketOwner::Known(2, false)));
        assert_eq!(discovery.see(&back, NO_OWNER, |_| true), Some(PacketOwner::Known(2, false)), "it opens nothing");
        assert_eq!(
            discovery.see(&there, NO_OWNER, |_| true),
            Some(PacketOwner::New { of_flow: 0, is_reversed: false })
        );
        assert_eq!(discovery.see(&back, NO_OWNER, open), Some(PacketOwner::Known(3, false)));
        let ports = |row: &ConnectionRow| (row.flow, row.protocol, row.src_port, row.dst_port);
        assert_eq!(
            discovery.connections.iter().map(ports).collect::<Vec<_>>(),
            [(2, 6, 40_000, 80), (3, 6, 40_000, 80)]
        );
    }

    #[test]
    fn the_owner_of_the_socket_tells_the_flow() {
        let (mut discovery, [client, server]) = discovery();
        let mut of =
            |port, owner, addresses| match discovery.see(&segment(addresses, [port, 80], flags::SYN), owner, |_| false)
            {
                Some(PacketOwner::New { of_flow, is_reversed }) => (of_flow, is_reversed),
                other => panic!("{other:?}"),
            };
        assert_eq!(of(1, user(0, false), [client, server]), (0, false));
        assert_eq!(of(2, user(1, false), [client, server]), (1, false));
        assert_eq!(of(3, user(1, true), [server, client]), (1, true), "a server that opens a connection");
        assert_eq!(of(4, NO_OWNER, [client, server]), (0, false));
        let stranger = segment([client, client + 7], [5, 80], flags::SYN);
        assert_eq!(discovery.see(&stranger, user(0, false), |_| false), None);
    }

    #[test]
    fn datagrams_are_a_flow_in_each_direction_and_fragments_belong_to_the_first() {
        let (mut discovery, [client, server]) = discovery();
        let mut see = |headers: &Headers| discovery.see(headers, NO_OWNER, |_| false);
        let there = datagram([client, server], [1, 2], 7);
        let back = datagram([server, client], [2, 1], 7);
        assert!(matches!(see(&there), Some(PacketOwner::New { is_reversed: false, .. })));
        assert!(matches!(see(&back), Some(PacketOwner::New { is_reversed: true, .. })));
        assert_eq!(see(&there), Some(PacketOwner::Known(2, true)));
        let later =
            |identification| Headers { is_later_fragment: true, ..datagram([client, server], [0, 0], identification) };
        assert_eq!(see(&later(7)), Some(PacketOwner::Known(2, true)));
        assert_eq!(see(&later(8)), None, "its first fragment never came");
    }
}
