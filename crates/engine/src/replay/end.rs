//! One end of a connection and its NIC, without a network.

use std::collections::VecDeque;

use daybreak_plan::{Flow, Plan, Step};
use daybreak_tcp::Segment;
use daybreak_tcp::connection::Connection;
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use super::{Captured, PS_PER_NS, only_link, refused};
use crate::error::EngineError;
use crate::flow_packets::IP_HEADER;
use crate::nic_clock::NicClock;

/// Takes note of what leaves.
pub(super) trait Log {
    fn note(&mut self, captured: Captured);
}

/// A connection, its NIC, and what has left it.
pub(super) struct End<L> {
    pub connection: Connection,
    pub nic: Nic,
    pub log: L,
}

impl<L: Log> End<L> {
    /// Everything that is due before `until`: at one time, what arrives comes before what is due.
    pub fn wait(&mut self, until: Instant) {
        loop {
            let (timer, freed) = (self.connection.poll_timeout(), self.nic.next_start());
            let now = timer.min(freed);
            if now >= until {
                break;
            }
            if timer <= freed {
                self.connection.on_timeout(now);
            }
            self.transmit(now);
        }
    }

    pub fn transmit(&mut self, now: Instant) {
        loop {
            while let Some(segment) = self.connection.poll_transmit(now) {
                let at = self.nic.send(now, IP_HEADER + segment.header_len() + segment.len);
                self.log.note(Captured { at, segment });
                // A packet that finds the NIC idle is gone at once: the next one has its room.
                self.free(now);
            }
            if !self.free(now) {
                break;
            }
        }
    }

    /// Tells TCP of what has left the NIC; false when that is nothing.
    fn free(&mut self, now: Instant) -> bool {
        let mut is_freed = false;
        while let Some(bytes) = self.nic.started(now) {
            self.connection.on_nic_freed(now, bytes);
            is_freed = true;
        }
        is_freed
    }
}

/// One direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Data,
    Acks,
}

impl Way {
    fn path(self, flow: &Flow) -> u32 {
        if self == Way::Data { flow.data_path } else { flow.ack_path }
    }

    fn field(self) -> &'static str {
        if self == Way::Data { "data_path" } else { "ack_path" }
    }

    /// The host where it starts.
    fn start(self, flow: &Flow) -> u32 {
        if self == Way::Data { flow.src } else { flow.dst }
    }

    fn side(self) -> &'static str {
        if self == Way::Data { "src" } else { "dst" }
    }

    fn stack(self, flow: &Flow) -> u32 {
        if self == Way::Data { flow.src_stack } else { flow.dst_stack }
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
    /// Of the host at the start of a flow's path, on the side of `way`.
    pub fn of(plan: &Plan, index: usize, way: Way) -> Result<Self, EngineError> {
        let (flow, host) = (&plan.flows[index], way.start(&plan.flows[index]));
        let others = || (0..plan.flows.len()).filter(|&other| other != index);
        if let Some(other) = others().find(|&other| way.start(&plan.flows[other]) == host) {
            let problem = format!("flows[{other}] has it as well, and a replay needs the NIC for itself");
            return Err(refused(&format!("flows[{index}].{}", way.side()), host, problem));
        }
        let path = &plan.paths[way.path(flow) as usize];
        let link = only_link(plan, &format!("flows[{index}].{}", way.field()), path.first())?;
        let mtu = plan.stacks[way.stack(flow) as usize].mtu;
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

/// The link that brings to an end what it hears.
pub(super) struct LastLink {
    byte_time: ByteTime,
    framing: u32,
    delay: Duration,
}

impl LastLink {
    pub fn of(plan: &Plan, index: usize, way: Way) -> Result<Self, EngineError> {
        let field = format!("flows[{index}].{}", way.field());
        let step = last_step(plan, way.path(&plan.flows[index]));
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
