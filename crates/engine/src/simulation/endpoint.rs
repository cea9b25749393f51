//! An end of a flow, and how it sends, whatever transport carries the flow.

use daybreak_fabric::{Context, Fabric, NewPacket};
use daybreak_host::{Call, Exchanges, Process};
use daybreak_tcp::Connection;
use daybreak_tcp::connection::State;
use daybreak_trace::{Probe, WindowRow};
use daybreak_units::Instant;

use super::leaving::Leaving;
use crate::alarm::Alarm;
use crate::flow_packets::{flow_of, peer_of};
use crate::schedule::{Event, EventQueue, Rank};
use crate::transport::{Body, Outgoing, Transport};
use crate::wire::Wire;

/// One end of a flow.
#[repr(C, align(64))]
pub(super) struct Endpoint<T> {
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
    pub transport: T,
    /// Payload delivered to the application, as far as the probe knows.
    pub reported: u64,
    /// What its host's queue will send.
    pub leaving: Leaving,
    /// Its application.
    pub process: Process,
    /// Of a client with requests: when it is answered.
    pub exchanges: Option<Box<Exchanges>>,
}

impl Endpoint<Connection> {
    /// Lets the application do what it can. Its times are the network's. True if it made a call.
    pub(super) fn act(&mut self, now: Instant) -> bool {
        let (clock, end) = (self.clock(now), self.transport.state() == State::CloseWait);
        let mut has_called = false;
        while let Some(call) = self.process.poll(now, self.transport.delivered_bytes(), end) {
            has_called = true;
            match call {
                Call::Write(bytes) => self.transport.write(clock, bytes),
                Call::Close => self.transport.close(clock),
                Call::Read(_) | Call::ReadToEnd | Call::Sleep(_) => unreachable!("a process waits for these itself"),
            }
        }
        self.reads = self.process.waits_for_data();
        has_called
    }
}

impl<T: Transport> Endpoint<T> {
    /// What its host's clock shows at a time of the network. The transport has no other time, so that timers, RTTs and
    /// rates are the host's, whatever the congestion control is.
    #[inline(always)]
    pub(super) fn clock(&self, now: Instant) -> Instant {
        Instant::from_ps(now.as_ps() * u64::from(self.timer_dilation))
    }

    /// When its transport wants to be called, in the network's time.
    #[inline(always)]
    fn deadline(&self) -> Instant {
        let deadline = self.transport.poll_timeout();
        if self.timer_dilation == 1 || deadline == Instant::NEVER {
            return deadline;
        }
        Instant::from_ps(deadline.as_ps().div_ceil(u64::from(self.timer_dilation)))
    }

    /// The sender's window, in the network's time.
    fn window_row(&self, flow: u32, at: Instant) -> WindowRow {
        let row = self.transport.window_row(flow, self.clock(at));
        let dilation = u64::from(self.timer_dilation);
        WindowRow { time_ns: at.as_ns(), srtt_ns: row.srtt_ns / dilation, pacing_bps: row.pacing_bps * dilation, ..row }
    }

    /// A packet is about to be processed: what is due before that.
    #[inline(always)]
    pub(super) fn arrival<P: Probe>(&mut self, index: u32, now: Instant, probe: &mut P) {
        self.sample(index, now, probe);
        self.received += 1;
        self.see_departures(now);
    }

    /// Processes a packet, after [`Endpoint::arrival`].
    #[inline(always)]
    pub(super) fn on_packet<P: Probe>(&mut self, index: u32, now: Instant, body: &Body, probe: &mut P) {
        self.transport.on_packet(self.clock(now), body);
        self.report(index, now, probe);
    }

    /// Its alarm has fired. True if its transport had a timeout, and may send.
    pub(super) fn on_timer<P: Probe>(&mut self, index: u32, now: Instant, probe: &mut P) -> bool {
        if self.deadline() > now {
            return false;
        }
        self.see_departures(now);
        self.sample(index, now, probe);
        self.transport.on_timeout(self.clock(now));
        self.report(index, now, probe);
        true
    }

    /// Sets the alarm to no later than `deadline`.
    #[inline(always)]
    pub(super) fn set_alarm(&mut self, index: u32, deadline: Instant, events: &mut EventQueue) {
        if self.alarm.set(deadline) {
            events.push(Event::new(deadline, Rank::Timer, index, 0));
        }
    }

    /// The alarm has fired before the deadline, which has moved since it was set.
    pub(super) fn set_alarm_again(&mut self, index: u32, events: &mut EventQueue) {
        self.set_alarm(index, self.deadline(), events);
    }

    /// Reports to the probe what a packet or a timer has changed: payload delivered, the window, or that the sender is
    /// connected (a client again at timers until the second segment: the samples begin with the last).
    #[inline(always)]
    fn report<P: Probe>(&mut self, index: u32, now: Instant, probe: &mut P) {
        if !P::LOOKS {
            return;
        }
        let flow = flow_of(index);
        let delivered = self.transport.delivered_bytes();
        if delivered != self.reported {
            probe.delivered(now, flow, delivered - self.reported);
            self.reported = delivered;
        }
        if !self.is_sampled {
            return;
        }
        if probe.wants_every_window() {
            probe.window(self.window_row(flow, now));
        } else if (!self.has_begun || self.received == 1) && self.transport.is_established() {
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

    /// Before an event changes an end: it sees what has left its host's queue.
    #[inline(always)]
    fn see_departures(&mut self, now: Instant) {
        if self.announce {
            while let Some((at, bytes)) = self.leaving.take(now) {
                self.transport.on_departure(self.clock(at), bytes);
            }
        }
    }

    /// A packet of `bytes` has left its host's queue now, at a time that was not known before.
    pub(super) fn on_departure<P: Probe>(&mut self, index: u32, now: Instant, bytes: u32, probe: &mut P) {
        self.sample(index, now, probe);
        self.see_departures(now);
        self.transport.on_departure(self.clock(now), bytes);
    }

    /// A packet leaves its host's queue at a time at which it wanted to see that.
    pub(super) fn on_awaited_departure<P: Probe>(&mut self, index: u32, now: Instant, probe: &mut P) {
        self.leaving.fired(now);
        self.sample(index, now, probe);
        self.see_departures(now);
    }

    /// The next departure that needs an event: it may let the transport send, or a sample is due by then, which is
    /// taken when the sender sees something for the first time after that.
    #[inline]
    fn awaited_departure<P: Probe>(&self, index: u32, probe: &P) -> Option<Instant> {
        let (first, last) = self.leaving.span()?;
        if self.transport.awaits_departure() {
            return Some(first);
        }
        let samples = P::LOOKS && self.is_sampled;
        let due = samples.then(|| probe.window_due(last, flow_of(index))).flatten()?;
        self.leaving.first_from(due)
    }

    /// A packet has been sent. One that found its NIC idle is gone at once.
    #[inline(always)]
    fn note_departure(&mut self, now: Instant, leaves: Option<Instant>, bytes: u32, fabric: &mut Fabric<Body>) {
        match leaves {
            Some(at) if at <= now => self.transport.on_departure(self.clock(now), bytes),
            Some(at) => self.leaving.push(at, bytes),
            None => self.take_departures(now, fabric),
        }
    }

    #[cold]
    fn take_departures(&mut self, now: Instant, fabric: &mut Fabric<Body>) {
        while let Some(departure) = fabric.take_departure() {
            self.transport.on_departure(self.clock(now), departure.bytes);
        }
    }

    /// Sends what there is to send now, without a packet or a timeout, and sets the alarm.
    pub(super) fn drive<P: Probe>(
        &mut self,
        index: u32,
        now: Instant,
        fabric: &mut Fabric<Body>,
        events: &mut EventQueue,
        wire: &mut Wire<P>,
    ) {
        self.transport.advance(self.clock(now));
        self.transmit(index, now, fabric, events, wire);
    }

    /// Sends what there is to send after an input, and sets the alarm.
    #[inline(always)]
    pub(super) fn transmit<P: Probe>(
        &mut self,
        index: u32,
        now: Instant,
        fabric: &mut Fabric<Body>,
        events: &mut EventQueue,
        wire: &mut Wire<P>,
    ) {
        if self.announce {
            self.send_announced(index, now, fabric, events, wire);
        } else {
            while let Some((content, Outgoing { bytes, ecn })) = self.transport.poll_transmit() {
                let packet = NewPacket { endpoint: peer_of(index), cursor: self.path, bytes, ecn };
                fabric.send(&mut Context { now, schedule: events, monitor: wire }, packet, content);
                self.sent += 1;
            }
        }
        self.set_alarm(index, self.deadline(), events);
    }

    /// Sends what there is to send where TCP small queues count what the host's queue holds.
    #[inline(never)]
    fn send_announced<P: Probe>(
        &mut self,
        index: u32,
        now: Instant,
        fabric: &mut Fabric<Body>,
        events: &mut EventQueue,
        wire: &mut Wire<P>,
    ) {
        while let Some((content, Outgoing { bytes, ecn })) = self.transport.poll_transmit() {
            let packet = NewPacket { endpoint: peer_of(index), cursor: self.path, bytes, ecn };
            let mut ctx = Context { now, schedule: &mut *events, monitor: &mut *wire };
            let leaves = fabric.send_announced(&mut ctx, packet, content);
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
