//! The flows' applications: how they start, react to data and time, and end.

use daybreak_fabric::Context;
use daybreak_host::{Calls, ConstantRate, Exchanges, Process};
use daybreak_plan::Application;
use daybreak_tcp::config::Config;
use daybreak_tcp::connection::Connection;
use daybreak_trace::Probe;
use daybreak_units::{Instant, Stream};

use super::endpoint::Endpoint;
use super::ends::{End, Ends, with_end};
use super::leaving::Leaving;
use super::{Core, FlowState, Tables};
use crate::alarm::Alarm;
use crate::flow_packets::{client_of, flow_of, server_of};
use crate::transport::{Transport, Udp};

impl<P: Probe + Tables + Send> Core<P> {
    /// A flow starts: its ends are made, and its client or source does what it does first.
    pub(super) fn start(&mut self, flow: u32) {
        let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        self.control.flow_started(&mut self.fabric, &mut ctx, flow);
        self.report_departures();
        self.endpoints.start(flow, [true, false].map(|client| self.end(flow, client)));
        for index in [client_of(flow), server_of(flow)] {
            let Some(endpoint) = self.endpoints.stream(index) else { continue };
            if index == client_of(flow) {
                endpoint.transport.open(endpoint.clock(self.now));
            }
            endpoint.act(self.now);
        }
        self.drive(client_of(flow));
    }

    /// Makes the client or the server of a flow, or its source or sink.
    fn end(&self, flow: u32, client: bool) -> End {
        let FlowState { application, start, .. } = &self.flows[flow as usize];
        if let &Application::ConstantRate { rate_bps, payload_bytes, stop_ps } = application {
            let schedule = ConstantRate::new(*start, stop_ps.map(Instant::from_ps), rate_bps, payload_bytes);
            let udp = Udp::new(client.then_some(schedule), payload_bytes);
            // Its sending times are the network's.
            return End::Udp(Box::new(self.endpoint(flow, client, udp, 1)));
        }
        let stack = self.flows[flow as usize].sides[usize::from(!client)].stack as usize;
        let connection = self.connection(flow, client);
        let announce = self.setups.stacks[stack].limit_output_bytes.is_some();
        let dilation = self.setups.dilations[stack];
        End::Tcp(Box::new(Endpoint { announce, ..self.endpoint(flow, client, connection, dilation) }))
    }

    /// An end with this transport, in which nothing has happened.
    fn endpoint<T: Transport>(&self, flow: u32, client: bool, transport: T, timer_dilation: u32) -> Endpoint<T> {
        let FlowState { application, start, sides, .. } = &self.flows[flow as usize];
        let side = usize::from(!client);
        let exchanges = application.exchanges().filter(|_| client);
        Endpoint {
            alarm: Alarm::IDLE,
            path: sides[side].path,
            announce: false,
            timer_dilation,
            reads: false,
            is_sampled: application.windows()[side],
            has_begun: false,
            sent: 0,
            received: 0,
            goal: application.acknowledged_bytes().filter(|_| client).unwrap_or(u64::MAX),
            reported: 0,
            leaving: Leaving::NONE,
            transport,
            process: Process::new(Calls::new(application, client)),
            exchanges: exchanges.map(|exchanges| Box::new(Exchanges::new(flow, exchanges, *start))),
        }
    }

    /// The connection of the client or the server of a flow.
    fn connection(&self, flow: u32, client: bool) -> Connection {
        let FlowState { sides, rule, .. } = &self.flows[flow as usize];
        let (here, there) = (&sides[usize::from(!client)], &sides[usize::from(client)]);
        let timestamp_offset = self.timestamp_offset(here.host, there.host);
        let config = Config { timestamp_offset, ..self.setups.stacks[here.stack as usize].clone() };
        let (name, side) = (&self.names.flows[flow as usize], if client { "client" } else { "server" });
        let seed = Stream::new(self.setups.seed, &format!("flow/{name}/{side}/rule")).next_u64();
        let rules = &self.setups.rules[*rule as usize];
        let open = if client { Connection::client } else { Connection::server };
        let mut connection = open(config.clone(), rules.make(seed));
        if self.setups.have_paths[here.stack as usize] {
            let seed = Stream::new(self.setups.seed, &format!("flow/{name}/{side}/rule/circuit")).next_u64();
            connection.add_path(&config, rules.make(seed));
        }
        connection
    }

    /// What a host's timestamps show at the start: Linux draws it for each pair of addresses (`tcp_timestamps` 1).
    fn timestamp_offset(&self, here: u32, there: u32) -> u32 {
        let [here, there] = [here, there].map(|host| &self.names.nodes[host as usize]);
        Stream::new(self.setups.seed, &format!("timestamps/{here}/{there}")).next_u64() as u32
    }

    /// The sender has everything acknowledged, or the client every response.
    #[cold]
    pub(super) fn complete(&mut self, index: u32) {
        with_end!(self.endpoints.get_mut(index), endpoint => endpoint.goal = u64::MAX);
        self.wire.probe.flow_ended(flow_of(index));
        self.flows[flow_of(index) as usize].end = Some(self.now);
        self.flows_complete += 1;
        let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        self.control.flow_ended(&mut self.fabric, &mut ctx, flow_of(index));
        self.report_departures();
        if self.stop_when_complete && self.flows_complete == self.flows_limited {
            self.done = true;
            self.events.close();
        }
    }

    /// A segment has come for an application that waits for data. What had to be acknowledged at once is: the
    /// application is scheduled after the segment was processed, as in Linux.
    #[inline(never)]
    pub(super) fn data_arrived(&mut self, index: u32) {
        let now = self.now;
        let Some(endpoint) = self.endpoints.stream(index) else { return };
        let delivered = endpoint.transport.delivered_bytes();
        let answered = endpoint.exchanges.as_mut().and_then(|exchanges| exchanges.delivered(now, delivered));
        let is_complete = answered.is_some() && endpoint.exchanges.as_ref().is_some_and(|all| all.are_complete());
        if endpoint.act(now) {
            endpoint.transmit(index, now, &mut self.fabric, &mut self.events, &mut self.wire);
        }
        endpoint.set_alarm(index, endpoint.process.poll_timeout(), &mut self.events);
        if let Some(row) = answered {
            self.exchanges.push(row);
        }
        if is_complete {
            self.complete(index);
        }
    }

    /// The pause of an application may be over. True if it made a call.
    #[cold]
    pub(super) fn on_application_timer(&mut self, index: u32) -> bool {
        let Some(endpoint) = self.endpoints.stream(index) else { return false };
        let has_called = endpoint.act(self.now);
        endpoint.set_alarm(index, endpoint.process.poll_timeout(), &mut self.events);
        has_called
    }

    /// An end of a flow is not open, or not any more. Notes what a connection that is over has learnt, and forgets a
    /// flow both of whose ends are closed once no packet of it is on its way any more: so no late one has to be
    /// answered, and what is forgotten changes nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn closing(&mut self, index: u32) {
        let flow = flow_of(index);
        if let Some(endpoint) = self.endpoints.stream(index)
            && endpoint.transport.take_ended()
        {
            self.metrics.remember(index, &endpoint.transport);
        }
        let Some(Ends::Tcp([client, server])) = self.endpoints.of_flow(flow) else { return };
        let arrived = |sender: &Endpoint<Connection>, receiver: &Endpoint<Connection>, index: u32| {
            sender.sent == receiver.received + self.fabric.lost(index)
        };
        let is_over = client.transport.is_closed()
            && server.transport.is_closed()
            && arrived(client, server, server_of(flow))
            && arrived(server, client, client_of(flow));
        // Before its end it is a connection that was reset: what it was when the run ends is its outcome.
        if is_over && self.flows[flow as usize].end.is_some() {
            let row = self.flow_row(flow);
            self.flows[flow as usize].over = Some(Box::new(row));
            self.endpoints.forget(flow);
            for endpoint in [client_of(flow), server_of(flow)] {
                self.fabric.forget(endpoint);
            }
        }
    }
}
