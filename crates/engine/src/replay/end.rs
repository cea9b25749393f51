//! One end of a connection with its application and its NIC, without a network.

use std::collections::VecDeque;

use daybreak_host::{Call, Calls, Process};
use daybreak_plan::{Flow, Plan, Step};
use daybreak_tcp::Segment;
use daybreak_tcp::config::Config;
use daybreak_tcp::connection::{Connection, State};
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use super::draws::Drawn;
use super::{Captured, PS_PER_NS, Side, only_link, refused};
use crate::error::EngineError;
use crate::flow_packets::IP_HEADER;
use crate::nic_clock::NicClock;
use crate::wiring::{self, Rule};

/// A run in the guest starts so long after its boot, from which the clock of TCP's timestamps counts: at the second
/// jiffy whose number is a multiple of 4,096.
const GUEST_UPTIME_MS: u32 = 5_088;

/// An application that had to wait for room in its socket writes so much later than the segment arrives that makes room: its
/// process looks at the clock, which takes the guest this time.
const WOKEN: Duration = Duration::from_ns(1);

/// A connection with its application and its NIC, and what has left it.
pub(super) struct End {
    connection: Connection,
    process: Process,
    nic: Nic,
    config: Config,
    is_opener: bool,
    /// Payload that the application has written before the present event.
    written: u64,
    pub sent: Vec<Captured>,
    pub drawn: Vec<Drawn>,
}

impl End {
    /// An end of a flow whose rule draws `outcomes`.
    pub fn new(plan: &Plan, flow: &Flow, side: Side, outcomes: &[u32], nic: Nic) -> Self {
        let stack = wiring::stack(&plan.stacks[side.stack(flow) as usize]);
        let config = Config { timestamp_offset: GUEST_UPTIME_MS - 1, ..stack };
        let rule = Rule::new(&plan.rules[flow.rule as usize]).make(0);
        let is_opener = side == Side::Client;
        let open = if is_opener { Connection::client } else { Connection::server };
        let mut connection = open(config.clone(), rule);
        if let Some(draws) = connection.draws() {
            draws.follow(outcomes.to_vec());
        }
        let process = Process::new(Calls::new(&flow.application, is_opener));
        Self { connection, process, nic, config, is_opener, written: 0, sent: Vec::new(), drawn: Vec::new() }
    }

    /// What its clock of timestamps shows.
    pub fn timestamp(&self, at: Instant) -> u32 {
        self.config.timestamp(at)
    }

    /// The application begins: a client opens a connection.
    pub fn begin(&mut self, at: Instant) {
        if self.is_opener {
            self.connection.open(at);
            self.transmit(at);
        }
        self.act(at);
    }

    /// Everything that is due before the segment, then the segment. The application is notified after immediate
    /// acknowledgements have been sent.
    pub fn receive(&mut self, at: Instant, segment: &Segment) {
        self.wait(at);
        let sent = self.sent.len();
        self.connection.on_segment(at, segment);
        if let Some(draws) = self.connection.draws() {
            let made = draws.made();
            self.drawn.extend(made[self.drawn.len()..].iter().map(|&draw| Drawn { draw, sent }));
        }
        self.transmit(at);
        self.act(at);
    }

    /// Everything that is due before `until`: at one time, what arrives comes before what is due, but for what a departure
    /// lets go in some kernels.
    pub fn wait(&mut self, until: Instant) {
        loop {
            let (timer, freed, thinks) =
                (self.connection.poll_timeout(), self.nic.next_start(), self.process.poll_timeout());
            let now = timer.min(freed).min(thinks);
            if now >= until {
                if freed == until && self.config.profile.departures_first && self.free(until, until) {
                    self.transmit(until);
                }
                break;
            }
            if timer <= freed.min(thinks) {
                self.connection.on_timeout(now);
                self.transmit(now);
            } else if thinks <= freed {
                self.act(now);
            } else if self.free(now, now) {
                self.transmit(now);
            }
        }
    }

    /// The application makes the calls that need not wait.
    fn act(&mut self, now: Instant) {
        let is_at_the_end = self.connection.state() == State::CloseWait;
        let mut is_called = false;
        while let Some(call) = self.process.poll(now, self.connection.delivered_bytes(), is_at_the_end) {
            is_called = true;
            match call {
                Call::Write(bytes) => self.connection.write(now, bytes),
                Call::Close => self.connection.close(now),
                Call::Read(_) | Call::ReadToEnd | Call::Sleep(_) => unreachable!("a process waits for these itself"),
            }
        }
        if is_called {
            self.transmit(now);
        }
    }

    fn transmit(&mut self, now: Instant) {
        loop {
            while let Some(segment) = self.connection.poll_transmit(now) {
                let is_woken = self.written > 0 && segment.len > 0 && segment.seq > self.written;
                let leaves = if is_woken { now + WOKEN } else { now };
                let at = self.nic.send(leaves, IP_HEADER + segment.header_len() + segment.len);
                self.sent.push(Captured { at, segment });
                // A packet that finds the NIC idle is gone at once: the next one has its room.
                self.free(now, leaves);
            }
            if !self.free(now, now) {
                break;
            }
        }
        self.written = self.connection.written_bytes();
    }

    /// Notifies TCP now of packets that leave the NIC by `until`. True where it waits for one to send more.
    fn free(&mut self, now: Instant, until: Instant) -> bool {
        let mut may_send = false;
        while let Some(bytes) = self.nic.started(until) {
            may_send |= self.connection.awaits_departure();
            self.connection.on_nic_freed(now, bytes);
        }
        may_send
    }
}

impl Side {
    /// The path of what it sends, and its name in a plan.
    fn way_out(self, flow: &Flow) -> (u32, &'static str) {
        match self {
            Side::Client => (flow.data_path, "data_path"),
            Side::Server => (flow.ack_path, "ack_path"),
        }
    }

    /// The path of the segments that it receives.
    fn way_in(self, flow: &Flow) -> (u32, &'static str) {
        match self {
            Side::Client => Side::Server.way_out(flow),
            Side::Server => Side::Client.way_out(flow),
        }
    }

    fn host(self, flow: &Flow) -> (u32, &'static str) {
        match self {
            Side::Client => (flow.src, "src"),
            Side::Server => (flow.dst, "dst"),
        }
    }

    fn stack(self, flow: &Flow) -> u32 {
        match self {
            Side::Client => flow.src_stack,
            Side::Server => flow.dst_stack,
        }
    }
}

/// The queue and the serialiser of an end's first link.
#[derive(Clone)]
pub(super) struct Nic {
    clock: NicClock,
    /// When it has sent everything.
    free: Instant,
    /// When each packet's transmission starts, and its IP length.
    waiting: VecDeque<(Instant, u32)>,
}

impl Nic {
    /// Of the host of a flow's end.
    pub fn of(plan: &Plan, index: usize, side: Side) -> Result<Self, EngineError> {
        let flow = &plan.flows[index];
        let (host, name) = side.host(flow);
        let others = || (0..plan.flows.len()).filter(|&other| other != index);
        if let Some(other) = others().find(|&other| [plan.flows[other].src, plan.flows[other].dst].contains(&host)) {
            let problem = format!("flows[{other}] has it as well, and a replay needs the NIC for itself");
            return Err(refused(&format!("flows[{index}].{name}"), host, problem));
        }
        let (path, name) = side.way_out(flow);
        let first = plan.paths[path as usize].first();
        let link = only_link(plan, &format!("flows[{index}].{name}"), first)?;
        let mtu = plan.stacks[side.stack(flow) as usize].mtu;
        Ok(Self { clock: NicClock::new(&plan.links[link], mtu), free: Instant::ZERO, waiting: VecDeque::new() })
    }

    /// When the transmission starts.
    fn send(&mut self, now: Instant, bytes: u32) -> Instant {
        let start = now.max(self.free);
        self.free = start + self.clock.time_of(bytes);
        self.waiting.push_back((start, bytes));
        start
    }

    fn next_start(&self) -> Instant {
        self.waiting.front().map_or(Instant::NEVER, |&(start, _)| start)
    }

    /// The next packet whose transmission has started.
    fn started(&mut self, now: Instant) -> Option<u32> {
        if self.next_start() > now {
            return None;
        }
        self.waiting.pop_front().map(|(_, bytes)| bytes)
    }
}

/// The link over which an end receives.
pub(super) struct LastLink {
    byte_time: ByteTime,
    framing: u32,
    delay: Duration,
}

impl LastLink {
    pub fn of(plan: &Plan, index: usize, side: Side) -> Result<Self, EngineError> {
        let (path, name) = side.way_in(&plan.flows[index]);
        let field = format!("flows[{index}].{name}");
        let step = last_step(plan, path);
        let number = only_link(plan, &field, step)?;
        let link = &plan.links[number];
        let arrival = "the time of arrival of what is captured there must be known, so it must be 0";
        if link.jitter_ps != 0 {
            return Err(refused(&format!("links[{number}].jitter_ps"), link.jitter_ps, arrival.into()));
        }
        if link.loss_ppb != 0 {
            return Err(refused(&format!("links[{number}].loss_ppb"), link.loss_ppb, arrival.into()));
        }
        Ok(Self {
            byte_time: ByteTime::new(Rate::from_bps(link.rate_bps)),
            framing: link.framing_bytes,
            delay: Duration::from_ps(link.delay_ps),
        })
    }

    /// When a segment that starts on it has arrived: the guest's clock counts whole nanoseconds, rounded up.
    pub fn arrival(&self, start: Instant, segment: &Segment) -> Instant {
        let time = self.byte_time.of(IP_HEADER + segment.header_len() + segment.len + self.framing) + self.delay;
        Instant::from_ps((start + time).as_ps().next_multiple_of(PS_PER_NS))
    }
}

/// The last step of a path, if all ways that it may go end with the same one.
fn last_step(plan: &Plan, path: u32) -> Option<&Step> {
    let step = plan.paths[path as usize].last()?;
    let &Step::RouteSwitch(switch) = step else { return Some(step) };
    let mut ends = plan.route_switches[switch as usize].alternatives.iter().map(|&path| last_step(plan, path));
    let first = ends.next()?;
    if ends.all(|end| end == first) { first } else { Some(step) }
}
