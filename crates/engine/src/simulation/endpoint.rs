//! The ends of flows, and how they send.

use daybreak_fabric::{Context, Fabric, NewPacket};
use daybreak_host::{Call, ConstantRate, Exchanges, Process, Received, UDP_HEADER};
use daybreak_tcp::Segment;
use daybreak_tcp::connection::{Connection, State};
use daybreak_trace::{Probe, WindowRow};
use daybreak_units::Instant;

use super::leaving::Leaving;
use crate::alarm::Alarm;
use crate::flow_packets::{IP_HEADER, client_of, flow_of, peer_of, segment_of, server_of};
use crate::schedule::{Event, EventQueue, Rank};
use crate::wire::Wire;

/// One end of a connection.
#[repr(C, align(64))]
pub(super) struct Endpoint {
    pub alarm: Alarm,
    /// First step of its packets.
    pub path: u32,
    /// Its packets are reported when they leave the NIC's queue (TCP small queues).
    pub announce: bool,
    /// Its application waits for data.
    pub reads: bool,
    /// Its window is that of table `window`.
    pub is_sampled: bool,
    /// The probe has seen that it is connected.
    pub has_begun: bool,
    /// How much faster its clock runs than the network's time.
    pub timer_dilation: u32,
    /// Packets sent and received.
    pub sent: u64,
    pub received: u64,
    /// The flow is complete when this number of bytes is acknowledged.
    pub goal: u64,
    pub connection: Connection,
    /// Payload delivered to the application, as far as reported to the probe.
    pub told: u64,
    /// What its host's queue will send.
    pub leaving: Leaving,
    /// Its application.
    pub process: Process,
    /// Of a client with requests: when it is answered.
    pub exchanges: Option<Box<Exchanges>>,
}

impl Endpoint {
    /// Lets the application do what it can. Its times are the network's.
    pub(super) fn act(&mut self, now: Instant) {
        let (clock, end) = (self.clock(now), self.connection.state() == State::CloseWait);
        while let Some(call) = self.process.poll(now, self.connection.delivered_bytes(), end) {
            match call {
                Call::Write(bytes) => self.connection.write(clock, bytes),
                Call::Close => self.connection.close(clock),
                Call::Read(_) | Call::ReadToEnd | Call::Sleep(_) => unreachable!("a process waits for these itself"),
            }
        }
        self.reads = self.process.waits_for_data();
    }

    /// What its host's clock shows at a time of the network. The connection has no other time, so that timers, RTTs and
    /// rates are the host's, whatever the congestion control is.
    #[inline(always)]
    pub(super) fn clock(&self, now: Instant) -> Instant {
        Instant::from_ps(now.as_ps() * u64::from(self.timer_dilation))
    }

    /// When its connection wants to be called, in the network's time.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Instant {
        let deadline = self.connection.poll_timeout();
        if self.timer_dilation == 1 || deadline == Instant::NEVER {
            return deadline;
        }
        Instant::from_ps(deadline.as_ps().div_ceil(u64::from(self.timer_dilation)))
    }

    /// The sender's window, in the network's time.
    pub(super) fn window_row(&self, flow: u32, at: Instant) -> WindowRow {
        let row = self.connection.window_row(flow, self.clock(at));
        let dilation = u64::from(self.timer_dilation);
        // A SYN or a FIN that is outstanding has a sequence number and is no payload.
        let has_flag = matches!(
            self.connection.state(),
            State::SynSent | State::SynReceived | State::FinWait1 | State::Closing | State::LastAck
        );
        WindowRow {
            time_ns: at.as_ns(),
            outstanding_bytes: row.outstanding_bytes.saturating_sub(u64::from(has_flag)),
            srtt_ns: row.srtt_ns / dilation,
            pacing_bps: row.pacing_bps * dilation,
            ..row
        }
    }

    /// Reports to the probe what a segment or a timer has changed: payload delivered, the window, or that the
    /// sender is connected (a client again at timers until the second segment: the samples begin with the last).
    #[inline(always)]
    pub(super) fn tell<P: Probe>(&mut self, index: u32, now: Instant, probe: &mut P) {
        if !P::LOOKS {
            return;
        }
        let flow = flow_of(index);
        let delivered = self.connection.delivered_bytes();
        if delivered != self.told {
            probe.delivered(now, flow, delivered - self.told);
            self.told = delivered;
        }
        if !self.is_sampled {
            return;
        }
        if probe.wants_every_window() {
            probe.window(self.window_row(flow, now));
        } else if (!self.has_begun || self.received == 1) && self.connection.is_established() {
            self.has_begun = true;
            probe.flow_began(now, flow);
        }
    }

    /// Before an event changes a sender: passes the due samples of its window to the probe.
    #[inline(always)]
    pub(super) fn sample<P: Probe>(&self, index: u32, now: Instant, probe: &mut P) {
        if !P::LOOKS || !self.is_sampled {
            return;
        }
        let flow = flow_of(index);
        while let Some(at) = probe.window_due(now, flow) {
            probe.window(self.window_row(flow, at));
        }
    }

    /// Before an event changes a connection: it sees what has left its host's queue.
    #[inline(always)]
    pub(super) fn see_departures(&mut self, now: Instant) {
        if self.announce {
            while let Some((at, bytes)) = self.leaving.take(now) {
                self.connection.on_nic_freed(self.clock(at), bytes);
            }
        }
    }

    /// The next departure that needs an event: it may let the connection send, or a sample is due by then, which is
    /// taken when the sender sees something for the first time after that.
    #[inline]
    fn awaited_departure<P: Probe>(&self, index: u32, probe: &P) -> Option<Instant> {
        let (first, last) = self.leaving.span()?;
        if self.connection.awaits_departure() {
            return Some(first);
        }
        let samples = P::LOOKS && self.is_sampled;
        let due = samples.then(|| probe.window_due(last, flow_of(index))).flatten()?;
        self.leaving.first_from(due)
    }

    /// A packet has been sent. One that found its NIC idle is gone at once.
    #[inline(always)]
    fn note_departure(&mut self, now: Instant, leaves: Option<Instant>, bytes: u32, fabric: &mut Fabric<Segment>) {
        match leaves {
            Some(at) if at <= now => self.connection.on_nic_freed(self.clock(now), bytes),
            Some(at) => self.leaving.push(at, bytes),
            None => self.take_departures(now, fabric),
        }
    }

    #[cold]
    fn take_departures(&mut self, now: Instant, fabric: &mut Fabric<Segment>) {
        while let Some(departure) = fabric.take_departure() {
            self.connection.on_nic_freed(self.clock(now), departure.bytes);
        }
    }

    /// Sends what there is to send after an input, and sets the alarm.
    #[inline(always)]
    pub(super) fn transmit<P: Probe>(
        &mut self,
        index: u32,
        now: Instant,
        fabric: &mut Fabric<Segment>,
        events: &mut EventQueue,
        wire: &mut Wire<P>,
    ) {
        if self.announce {
            self.send_announced(index, now, fabric, events, wire);
        } else {
            while let Some((segment, bytes)) = self.connection.next_segment() {
                let packet = NewPacket { endpoint: peer_of(index), cursor: self.path, bytes, ecn: segment.ecn };
                fabric.send(&mut Context { now, schedule: events, monitor: wire }, packet, segment);
                self.sent += 1;
            }
        }
        let deadline = self.deadline();
        if self.alarm.set(deadline) {
            events.push(Event::new(deadline, Rank::Timer, index, 0));
        }
    }

    /// Sends what there is to send where TCP small queues count what the host's queue holds.
    #[inline(never)]
    fn send_announced<P: Probe>(
        &mut self,
        index: u32,
        now: Instant,
        fabric: &mut Fabric<Segment>,
        events: &mut EventQueue,
        wire: &mut Wire<P>,
    ) {
        while let Some((segment, bytes)) = self.connection.next_segment() {
            let packet = NewPacket { endpoint: peer_of(index), cursor: self.path, bytes, ecn: segment.ecn };
            let mut ctx = Context { now, schedule: &mut *events, monitor: &mut *wire };
            let leaves = fabric.send_announced(&mut ctx, packet, segment);
            self.sent += 1;
            self.note_departure(now, leaves, bytes, fabric);
        }
        if let Some(at) = self.awaited_departure(index, &wire.probe)
            && self.leaving.await_at(at)
        {
            events.push(Event::new(at, Rank::Departure, index, 0));
        }
    }
}

/// One end of a flow.
pub(super) enum End {
    /// The flow has not started, or nothing of it is left.
    None,
    Stream(Box<Endpoint>),
    Source(Box<Source>),
    Sink(Box<Received>),
}

/// The sender of datagrams.
pub(super) struct Source {
    pub schedule: ConstantRate,
    pub payload_bytes: u32,
    /// First step of its packets.
    pub path: u32,
}

impl Source {
    /// Sends what is due, and schedules the next call.
    pub(super) fn send<P: Probe>(
        &mut self,
        index: u32,
        fabric: &mut Fabric<Segment>,
        ctx: &mut Context<'_, EventQueue, Wire<P>>,
    ) {
        while self.schedule.next_at() <= ctx.now {
            let segment = segment_of(self.schedule.send(ctx.now), self.payload_bytes);
            let packet = NewPacket {
                endpoint: peer_of(index),
                cursor: self.path,
                bytes: IP_HEADER + UDP_HEADER + self.payload_bytes,
                ecn: segment.ecn,
            };
            fabric.send(ctx, packet, &segment);
        }
        let next = self.schedule.next_at();
        if next < Instant::NEVER {
            ctx.schedule.push(Event::new(next, Rank::Timer, index, 0));
        }
    }
}

/// Both ends of every flow that is under way: of another there are two words.
pub(super) struct Endpoints {
    ends: Vec<End>,
}

/// Both ends of a flow, the client or source first.
pub(super) enum Ends<'a> {
    Stream([&'a Endpoint; 2]),
    Datagrams(&'a Source, &'a Received),
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
            [End::Stream(client), End::Stream(server)] => Some(Ends::Stream([client, server])),
            [End::Source(source), End::Sink(sink)] => Some(Ends::Datagrams(source, sink)),
            _ => None,
        }
    }

    /// An end of a flow.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut End {
        &mut self.ends[index as usize]
    }

    /// An end of a connection; `None` if it is over, or none.
    #[inline(always)]
    pub(super) fn stream(&mut self, index: u32) -> Option<&mut Endpoint> {
        match &mut self.ends[index as usize] {
            End::Stream(endpoint) => Some(endpoint),
            End::None | End::Source(_) | End::Sink(_) => None,
        }
    }
}
