//! One run of a plan: the loop over events, and the endpoints that it wakes.

mod applications;
mod conservation;
mod endpoint;
mod ends;
mod leaving;
mod table;

use std::io::Write;

use daybreak_fabric::{Config as FabricConfig, Context, Control, Fabric, Packet, PacketId};
use daybreak_plan::{Application, Plan};
use daybreak_tcp::config::Config;
use daybreak_tcp::connection::State;
use daybreak_trace::{ExchangeColumns, FlowRow, Probe, Silent, Table};
use daybreak_units::Instant;

use crate::capture::Capture;
use crate::error::EngineError;
use crate::flow_packets::{client_of, peer_of, server_of};
use crate::lookahead::Lookahead;
use crate::metrics_cache::MetricsCache;
use crate::recorder::{self, Recorder};
use crate::schedule::{Event, EventQueue, Rank};
use crate::transport::{Body, Transport};
use crate::wire::{Shown, Wants, Wire};
use crate::wiring::{self, Rule};
use ends::{End, Endpoints, Ends, with_end};

/// Address space for packets that is reserved, not used, at the start.
const PACKETS_RESERVED: usize = 1 << 18;

/// From this number of links on it pays to prefetch what the next events need: with fewer most of it is in the cache.
const LINKS_BEYOND_CACHE: usize = 1024;

/// A run in progress.
pub struct Simulation {
    run: Box<dyn Run>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// End of the run at the latest.
    pub end: Instant,
    /// Events processed so far.
    pub events: u64,
    /// Flows of limited size that are complete.
    pub flows_complete: u32,
    /// Flows of limited size.
    pub flows_limited: u32,
    /// Nothing is left to do.
    pub done: bool,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// `flows`, `bins`, `window`, `queues`, `drops`, `circuits`, `control`, `latency`, `packets`, `links`, `queue_totals`;
    /// a table that was not requested is empty. With requests and responses also `exchanges`, with UDP also `datagrams`.
    pub tables: Vec<Table>,
    /// Packets that finished crossing a link, counted at every link.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Simulated time at the end.
    pub ended: Instant,
}

impl Records {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl Simulation {
    /// Prepares a run of a plan that captures no packets.
    ///
    /// # Errors
    /// When the plan is not sound; the error names the field.
    pub fn new(plan: &Plan) -> Result<Self, EngineError> {
        plan.validate()?;
        match plan.records.capture_links.len() {
            0 => Ok(Self::prepare(plan, None)),
            links => Err(EngineError::NoCaptureOutput { links }),
        }
    }

    /// Prepares a run whose capture goes to `output` as pcapng.
    ///
    /// # Errors
    /// When the plan is not sound, or the head of the capture cannot be written.
    pub fn with_capture(plan: &Plan, output: Box<dyn Write + Send>) -> Result<Self, EngineError> {
        plan.validate()?;
        Ok(Self::prepare(plan, Some(Capture::new(plan, output).map_err(EngineError::Capture)?)))
    }

    fn prepare(plan: &Plan, capture: Option<Capture>) -> Self {
        let shown = Shown::new(&plan.marks);
        let run: Box<dyn Run> = if recorder::watches_packets(plan) {
            let recorder = Recorder::new(plan);
            let wants = Wants { delays: recorder.wants_latency(), packets: recorder.wants_packets() };
            Box::new(Core::new(plan, Wire::new(recorder, wants, capture, shown)))
        } else {
            Box::new(Core::new(plan, Wire::new(Silent, Wants::default(), capture, shown)))
        };
        Self { run }
    }

    /// Processes up to `max_events` events. Call until `done`; in between, the caller may look at
    /// the progress or give up.
    pub fn step(&mut self, max_events: u64) -> Progress {
        self.run.step(max_events)
    }

    /// Ends the run, which need not be done, and hands out its records.
    ///
    /// # Errors
    /// When the capture could not be written, or packets were not conserved.
    pub fn finish(self) -> Result<Records, EngineError> {
        self.run.finish()
    }
}

/// Runs a plan to its end.
///
/// # Errors
/// As [`Simulation::new`] and [`Simulation::finish`].
pub fn run(plan: &Plan) -> Result<Records, EngineError> {
    let mut simulation = Simulation::new(plan)?;
    while !simulation.step(u64::MAX).done {}
    simulation.finish()
}

/// The two forms of a run, with and without a recorder, behind one face.
trait Run: Send {
    fn step(&mut self, max_events: u64) -> Progress;
    fn finish(self: Box<Self>) -> Result<Records, EngineError>;
}

/// The client or the server of a flow, or its source or sink.
struct Side {
    host: u32,
    stack: u32,
    /// First step of its packets.
    path: u32,
}

/// What a flow needs at its start and its end; of the sides the client comes first.
struct FlowState {
    application: Application,
    start: Instant,
    end: Option<Instant>,
    /// What is known of it, when nothing else of it is left.
    over: Option<Box<FlowRow>>,
    sides: [Side; 2],
    rule: u32,
}

/// What connections are made from.
struct Setups {
    stacks: Vec<Config>,
    /// `timer_dilation` of each stack.
    dilations: Vec<u32>,
    /// `tdtcp` of each stack.
    have_paths: Vec<bool>,
    rules: Vec<Rule>,
    seed: u64,
}

struct Core<P> {
    now: Instant,
    end: Instant,
    events: EventQueue,
    fabric: Fabric<Body>,
    wire: Wire<P>,
    endpoints: Endpoints,
    setups: Setups,
    flows: Vec<FlowState>,
    control: Control,
    /// For a network that the processor's cache does not hold.
    lookahead: Option<Lookahead>,
    metrics: MetricsCache,
    names: Names,
    exchanges: ExchangeColumns,
    stop_when_complete: bool,
    flows_limited: u32,
    flows_complete: u32,
    processed: u64,
    done: bool,
}

/// Names for errors and random streams.
struct Names {
    nodes: Vec<String>,
    flows: Vec<String>,
    links: Vec<String>,
}

impl<P: Probe + Tables + Send> Core<P> {
    fn new(plan: &Plan, wire: Wire<P>) -> Self {
        let config = FabricConfig { packets: PACKETS_RESERVED, ..wiring::fabric(plan) };
        let fabric = Fabric::new(&config).identified_by(Body::identity);
        let flow_state = |flow: &daybreak_plan::Flow| FlowState {
            application: flow.application.clone(),
            start: Instant::from_ps(flow.start_ps),
            end: None,
            over: None,
            sides: [
                Side { host: flow.src, stack: flow.src_stack, path: fabric.cursor(flow.data_path) },
                Side { host: flow.dst, stack: flow.dst_stack, path: fabric.cursor(flow.ack_path) },
            ],
            rule: flow.rule,
        };
        let is_limited = |flow: &&daybreak_plan::Flow| flow.application.limited_bytes().is_some();
        let mut core = Self {
            now: Instant::ZERO,
            end: Instant::from_ps(plan.end_ps),
            events: EventQueue::new(Instant::from_ps(plan.end_ps)),
            wire,
            endpoints: Endpoints::new(plan.flows.len()),
            setups: Setups {
                stacks: plan.stacks.iter().map(wiring::stack).collect(),
                dilations: plan.stacks.iter().map(|stack| stack.timer_dilation).collect(),
                have_paths: plan.stacks.iter().map(|stack| stack.tdtcp).collect(),
                rules: plan.rules.iter().map(Rule::new).collect(),
                seed: plan.seed,
            },
            flows: plan.flows.iter().map(flow_state).collect(),
            control: wiring::control(plan),
            lookahead: (plan.links.len() >= LINKS_BEYOND_CACHE).then(Lookahead::new),
            metrics: MetricsCache::new(plan),
            names: Names {
                nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
                flows: plan.flows.iter().map(|flow| flow.name.clone()).collect(),
                links: plan.links.iter().map(|link| link.name.clone()).collect(),
            },
            exchanges: ExchangeColumns::default(),
            stop_when_complete: plan.stop_when_flows_complete,
            flows_limited: plan.flows.iter().filter(is_limited).count() as u32,
            flows_complete: 0,
            processed: 0,
            done: false,
            fabric,
        };
        // The latest first: many may start at one time, and the queue keeps what is next at the end.
        for (index, flow) in core.flows.iter().enumerate().rev() {
            core.events.push(Event::new(flow.start, Rank::Start, index as u32, 0));
        }
        core.control.start(&mut core.events);
        core
    }

    fn stop_at_end(&mut self) {
        self.now = self.end;
        self.done = true;
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            end: self.end,
            events: self.processed,
            flows_complete: self.flows_complete,
            flows_limited: self.flows_limited,
            done: self.done,
        }
    }

    /// Handles up to `max_events` events; returns how many there were.
    #[inline(always)]
    fn process<const LOOKS_AHEAD: bool>(&mut self, max_events: u64) -> u64 {
        let mut left = max_events;
        while left > 0 {
            let Some(event) = self.events.pop() else {
                if !self.done {
                    self.stop_at_end();
                }
                break;
            };
            left -= 1;
            self.now = event.at();
            if LOOKS_AHEAD && self.lookahead.as_ref().is_some_and(|lookahead| lookahead.is_due(&self.events)) {
                self.look_ahead();
            }
            self.handle(event);
        }
        max_events - left
    }

    #[inline(never)]
    fn look_ahead(&mut self) {
        let Some(lookahead) = &mut self.lookahead else { return };
        // Twice an event: it catches up when it starts, and where slots hold several events.
        for _ in 0..2 {
            lookahead.advance(&self.events, &self.fabric);
        }
    }

    /// Handles one event. Forwarding, which is most of all, is kept small enough for the registers.
    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let Some(link) = event.next_arrival() else {
            return self.handle_other(event);
        };
        let (fabric, mut ctx) = self.fabric();
        if let Some(id) = fabric.next_arrives(&mut ctx, link) {
            self.deliver(id);
        }
    }

    #[inline(never)]
    fn packet_arrives(&mut self, link: u32, packet: PacketId) {
        let (fabric, mut ctx) = self.fabric();
        if let Some(id) = fabric.packet_arrives(&mut ctx, link, packet) {
            self.deliver(id);
        } else {
            self.report_departures();
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, event: Event) {
        match event.rank() {
            Rank::TransmissionComplete => {
                let (fabric, mut ctx) = self.fabric();
                fabric.transmission_complete(&mut ctx, event.component());
                self.report_departures();
            }
            Rank::Departure => self.departure(event.component()),
            Rank::Timer => self.timer(event.component()),
            Rank::Start => self.start(event.component()),
            Rank::Control => self.control(event.component()),
            Rank::Arrival => self.packet_arrives(event.component(), PacketId(event.argument())),
        }
    }

    #[inline(always)]
    fn fabric(&mut self) -> (&mut Fabric<Body>, Context<'_, EventQueue, Wire<P>>) {
        let ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        (&mut self.fabric, ctx)
    }

    /// A packet has reached its endpoint.
    #[inline(never)]
    fn deliver(&mut self, id: PacketId) {
        let now = self.now;
        let packet = self.fabric.packet(id);
        let index = packet.endpoint;
        let packet = if packet.header.is_marked() { show(&mut self.fabric, self.wire.shown, id) } else { packet };
        self.wire.received(now, id, packet);
        let Some(endpoint) = self.endpoints.stream(index) else {
            return self.deliver_without_stream(index, id);
        };
        endpoint.arrival(index, now, &mut self.wire.probe);
        if endpoint.transport.is_unsynchronised() {
            self.metrics.inherit(index, &mut endpoint.transport);
        }
        endpoint.on_packet(index, now, &packet.body, &mut self.wire.probe);
        self.fabric.release(id);
        let state = endpoint.transport.state();
        let is_closing = state != State::Established;
        endpoint.transmit(index, now, &mut self.fabric, &mut self.events, &mut self.wire);
        if endpoint.transport.has_acked(endpoint.goal) {
            self.complete(index);
        } else if endpoint.reads {
            self.data_arrived(index);
        }
        if is_closing {
            if state == State::CloseWait {
                self.stream_has_ended(index);
            }
            self.closing(index);
        }
    }

    /// A packet has reached an end whose application has no stream.
    #[cold]
    #[inline(never)]
    fn deliver_without_stream(&mut self, index: u32, id: PacketId) {
        let now = self.now;
        let mut is_complete = false;
        with_end!(self.endpoints.get_mut(index), endpoint => {
            endpoint.arrival(index, now, &mut self.wire.probe);
            endpoint.on_packet(index, now, &self.fabric.packet(id).body, &mut self.wire.probe);
            endpoint.transmit(index, now, &mut self.fabric, &mut self.events, &mut self.wire);
            is_complete = endpoint.transport.has_acked(endpoint.goal);
        });
        self.fabric.release(id);
        if is_complete {
            self.complete(index);
        }
    }

    /// What had to be acknowledged at once is. The application reads the end of the stream and closes: its FIN acknowledges
    /// what else nothing would before the delayed-ACK timer.
    #[cold]
    fn stream_has_ended(&mut self, index: u32) {
        if let Some(endpoint) = self.endpoints.stream(index) {
            endpoint.act(self.now);
        }
        self.drive(index);
    }

    /// Sends what the endpoint has to send.
    #[inline(never)]
    fn drive(&mut self, index: u32) {
        with_end!(self.endpoints.get_mut(index), endpoint => {
            endpoint.drive(index, self.now, &mut self.fabric, &mut self.events, &mut self.wire);
        });
    }

    /// Notifies senders of packets that have left their NIC, which may let them send more.
    #[inline(never)]
    fn report_departures(&mut self) {
        while let Some(departure) = self.fabric.take_departure() {
            let index = peer_of(departure.endpoint);
            with_end!(self.endpoints.get_mut(index), endpoint => {
                endpoint.on_departure(index, self.now, departure.bytes, &mut self.wire.probe);
            });
            self.drive(index);
        }
    }

    /// A packet leaves the queue of its host, whose sender waits for that.
    fn departure(&mut self, index: u32) {
        with_end!(self.endpoints.get_mut(index), endpoint => {
            endpoint.on_awaited_departure(index, self.now, &mut self.wire.probe);
        });
        self.drive(index);
    }

    /// An alarm fires. Where nothing is due any more nothing is sent: a burst that waits for more waits for the next ACK, not
    /// for a deadline that has moved.
    fn timer(&mut self, index: u32) {
        let (now, probe) = (self.now, &mut self.wire.probe);
        let mut may_send = false;
        with_end!(self.endpoints.get_mut(index), endpoint => {
            if !endpoint.alarm.fired(now) {
                return;
            }
            may_send = endpoint.on_timer(index, now, probe);
        });
        if let Some(endpoint) = self.endpoints.stream(index)
            && endpoint.process.poll_timeout() < Instant::NEVER
        {
            may_send |= self.on_application_timer(index);
        }
        if may_send {
            return self.drive(index);
        }
        with_end!(self.endpoints.get_mut(index), endpoint => endpoint.set_alarm_again(index, &mut self.events));
    }

    /// A timeline or a controller is due.
    fn control(&mut self, index: u32) {
        let mut ctx = Context { now: self.now, schedule: &mut self.events, monitor: &mut self.wire };
        self.control.wake(&mut self.fabric, &mut ctx, index);
        self.report_departures();
    }
}

impl<P: Probe + Tables + Send> Run for Core<P> {
    fn step(&mut self, max_events: u64) -> Progress {
        self.processed += match self.lookahead {
            Some(_) => self.process::<true>(max_events),
            None => self.process::<false>(max_events),
        };
        self.progress()
    }

    fn finish(mut self: Box<Self>) -> Result<Records, EngineError> {
        self.check_conservation()?;
        self.fabric.revoke_unsent(self.now, &mut self.wire);
        let left = self.events.drain();
        self.check_links(&left)?;
        if let Some(capture) = self.wire.capture.take() {
            capture.finish().map_err(EngineError::Capture)?;
        }
        for flow in 0..self.flows.len() as u32 {
            if let Some(Ends::Tcp(ends)) = self.endpoints.of_flow(flow) {
                for (index, end) in [client_of(flow), server_of(flow)].into_iter().zip(ends) {
                    end.sample(index, self.now, &mut self.wire.probe);
                }
            }
        }
        let mut tables = vec![self.flow_table()];
        let links = recorder::link_table(self.fabric.link_totals(self.now));
        let queues = recorder::queue_totals_table(self.fabric.queue_totals());
        let packet_hops = self.fabric.link_totals(self.now).map(|link| link.arrived).sum();
        let (events, ended) = (self.processed, self.now);
        let of_applications = self.application_tables();
        tables.extend(self.wire.probe.into_tables(ended));
        tables.extend([links, queues]);
        tables.extend(of_applications);
        Ok(Records { tables, packet_hops, events, ended })
    }
}

/// Puts what the packet's header carries into its segment.
#[cold]
#[inline(never)]
fn show(fabric: &mut Fabric<Body>, shown: Shown, id: PacketId) -> &Packet<Body> {
    *fabric.body_mut(id) = shown.body(fabric.packet(id));
    fabric.packet(id)
}

/// A probe that ends in tables.
trait Tables {
    fn into_tables(self, end: Instant) -> Vec<Table>;
}

impl Tables for Recorder {
    fn into_tables(self, end: Instant) -> Vec<Table> {
        Recorder::into_tables(self, end)
    }
}

impl Tables for Silent {
    fn into_tables(self, end: Instant) -> Vec<Table> {
        // The same tables as ever, empty.
        Recorder::default().into_tables(end)
    }
}
