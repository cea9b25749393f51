//! The flows' applications: how they start, react to data and time, and end.

use daybreak_fabric::{Context, PacketId};
use daybreak_host::{Calls, ConstantRate, Exchanges, Process};
use daybreak_plan::Application;
use daybreak_tcp::config::Config;
use daybreak_tcp::connection::Connection;
use daybreak_trace::Probe;
use daybreak_units::{Instant, Stream};

use super::endpoint::{End, Endpoint, Ends, Source};
use super::leaving::Leaving;
use super::{Core, FlowState, Tables};
use crate::alarm::Alarm;
use crate::flow_packets::{client_of, datagram_of, flow_of, server_of};
use crate::schedule::{Event, Rank};

impl<P: Probe + Tables + Send> Core<P> {
    /// A flow starts: its ends are made, and its client or source does what it does first.
    pub(super) fn start(&mut self, flow: u32) {
        let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        self.control.flow_started(&mut self.fabric, &mut ctx, flow);
        self.tell_departures();
        let FlowState { application, start, sides, .. } = &self.flows[flow as usize];
        if let &Application::ConstantRate { rate_bps, payload_bytes, stop_ps } = application {
            let schedule = ConstantRate::new(*start, stop_ps.map(Instant::from_ps), rate_bps, payload_bytes);
            let source = Source { schedule, payload_bytes, path: sides[0].path };
            self.endpoints.start(flow, [End::Source(Box::new(source)), End::Sink(Box::default())]);
            return self.send_datagrams(client_of(flow));
        }
        let ends = [true, false].map(|client| End::Stream(Box::new(self.endpoint(flow, client))));
        self.endpoints.start(flow, ends);
        for index in [client_of(flow), server_of(flow)] {
            let Some(endpoint) = self.endpoints.stream(index) else { continue };
            if index == client_of(flow) {
                endpoint.connection.open(endpoint.clock(self.now));
            }
            endpoint.act(self.now);
        }
        self.drive(client_of(flow));
    }

    /// Makes the client or the server of a flow.
    fn endpoint(&self, flow: u32, client: bool) -> Endpoint {
        let FlowState { application, start, sides, rule, .. } = &self.flows[flow as usize];
        let (here, there) = (&sides[usize::from(!client)], &sides[usize::from(client)]);
        let timestamp_offset = self.timestamp_offset(here.host, there.host);
        let config = Config { timestamp_offset, ..self.setups.stacks[here.stack as usize].clone() };
        let (name, side) = (&self.names.flows[flow as usize], if client { "client" } else { "server" });
        let seed = Stream::new(self.setups.seed, &format!("flow/{name}/{side}/rule")).next_u64();
        let rules = &self.setups.rules[*rule as usize];
        let (goal, client_is_sampled, exchanges) = match application {
            Application::Bulk { bytes } => (bytes.filter(|_| client), true, None),
            Application::RequestResponse { exchanges } => {
                (None, false, client.then(|| Box::new(Exchanges::new(flow, exchanges, *start))))
            }
            Application::ConstantRate { .. } => unreachable!("datagrams need no connection"),
            Application::Program { .. } => unreachable!("a plan with programs is refused"),
        };
        let open = if client { Connection::client } else { Connection::server };
        let mut connection = open(config.clone(), rules.make(seed));
        if self.setups.have_paths[here.stack as usize] {
            let seed = Stream::new(self.setups.seed, &format!("flow/{name}/{side}/rule/circuit")).next_u64();
            connection.add_path(&config, rules.make(seed));
        }
        Endpoint {
            alarm: Alarm::IDLE,
            path: here.path,
            announce: config.limit_output_bytes.is_some(),
            timer_dilation: self.setups.dilations[here.stack as usize],
            reads: false,
            is_sampled: client == client_is_sampled,
            has_begun: false,
            sent: 0,
            received: 0,
            goal: goal.unwrap_or(u64::MAX),
            told: 0,
            leaving: Leaving::NONE,
            connection,
            process: Process::new(Calls::new(application, client)),
            exchanges,
        }
    }

    /// What a host's timestamps show at the start: Linux draws it for each pair of addresses (`tcp_timestamps` 1).
    fn timestamp_offset(&self, here: u32, there: u32) -> u32 {
        let [here, there] = [here, there].map(|host| &self.names.nodes[host as usize]);
        Stream::new(self.setups.seed, &format!("timestamps/{here}/{there}")).next_u64() as u32
    }

    /// The sender has everything acknowledged, or the client every response.
    #[cold]
    pub(super) fn complete(&mut self, index: u32) {
        let Some(endpoint) = self.endpoints.stream(index) else { return };
        endpoint.goal = u64::MAX;
        self.wire.probe.flow_ended(flow_of(index));
        self.flows[flow_of(index) as usize].end = Some(self.now);
        self.flows_complete += 1;
        let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        self.control.flow_ended(&mut self.fabric, &mut ctx, flow_of(index));
        self.tell_departures();
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
        let delivered = endpoint.connection.delivered_bytes();
        let answered = endpoint.exchanges.as_mut().and_then(|exchanges| exchanges.delivered(now, delivered));
        let is_complete = answered.is_some() && endpoint.exchanges.as_ref().is_some_and(|all| all.are_complete());
        endpoint.act(now);
        endpoint.transmit(index, now, &mut self.fabric, &mut self.events, &mut self.wire);
        let wakes = endpoint.process.poll_timeout();
        if endpoint.alarm.set(wakes) {
            self.events.push(Event::new(wakes, Rank::Timer, index, 0));
        }
        if let Some(row) = answered {
            self.exchanges.push(row);
        }
        if is_complete {
            self.complete(index);
        }
    }

    /// The pause of an application may be over.
    #[cold]
    pub(super) fn on_application_timer(&mut self, index: u32) {
        let Some(endpoint) = self.endpoints.stream(index) else { return };
        endpoint.act(self.now);
        let wakes = endpoint.process.poll_timeout();
        if endpoint.alarm.set(wakes) {
            self.events.push(Event::new(wakes, Rank::Timer, index, 0));
        }
    }

    /// A source sends what is due. Timers of connections that are over end here too.
    #[cold]
    pub(super) fn send_datagrams(&mut self, index: u32) {
        if let End::Source(source) = self.endpoints.get_mut(index) {
            let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
            source.send(index, &mut self.fabric, &mut ctx);
        }
    }

    /// A datagram is at its sink. No other packet comes where no connection is: see [`Core::closing`].
    #[cold]
    pub(super) fn datagram_arrives(&mut self, index: u32, id: PacketId) {
        let segment = self.fabric.packet(id).body;
        self.fabric.release(id);
        let End::Sink(received) = self.endpoints.get_mut(index) else {
            unreachable!("a packet for flow {} has come, which is not under way", flow_of(index))
        };
        received.count(self.now, datagram_of(&segment));
        self.wire.probe.delivered(self.now, flow_of(index), u64::from(segment.len));
    }

    /// An end of a flow is not open, or not any more. Notes what a connection that is over has learnt, and forgets a
    /// flow both of whose ends are closed once no packet of it is on its way any more: so no late one has to be
    /// answered, and what is forgotten changes nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn closing(&mut self, index: u32) {
        let flow = flow_of(index);
        if let Some(endpoint) = self.endpoints.stream(index)
            && endpoint.connection.take_ended()
        {
            self.metrics.remember(index, &endpoint.connection);
        }
        let Some(Ends::Stream([client, server])) = self.endpoints.of_flow(flow) else { return };
        let arrived = |sender: &Endpoint, receiver: &Endpoint, index: u32| {
            sender.sent == receiver.received + self.fabric.lost(index)
        };
        let is_over = client.connection.is_closed()
            && server.connection.is_closed()
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
