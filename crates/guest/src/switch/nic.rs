//! The hosts' NICs, and the packets that cross their links.

use daybreak_engine::wiring;
use daybreak_fabric::{Ecn, Impairment, LinkTotals};
use daybreak_plan::Plan;
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use super::frame::Frame;

/// Where a packet comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The NIC that it leaves.
    pub nic: u32,
    /// The user whose socket it is from, or [`crate::discover::NO_OWNER`].
    pub owner: u32,
}

/// A host's NIC as the switch sees it.
#[derive(Debug)]
pub(super) struct Nic {
    pub(super) link: u32,
    pub(super) delay: Duration,
    pub(super) framing_bytes: u32,
    byte_time: ByteTime,
    /// When its last packet has been sent.
    pub(super) busy_until: Instant,
    /// Its random loss and jitter.
    pub(super) impairment: Option<Impairment>,
    pub(super) count: LinkTotals,
}

impl Nic {
    pub(super) fn new(plan: &Plan, index: u32) -> Self {
        let link = &plan.links[index as usize];
        Self {
            link: index,
            delay: Duration::from_ps(link.delay_ps),
            framing_bytes: link.framing_bytes,
            byte_time: ByteTime::new(Rate::from_bps(link.rate_bps)),
            busy_until: Instant::ZERO,
            impairment: Impairment::new(&wiring::link(link), plan.seed),
            count: LinkTotals::default(),
        }
    }

    /// Starts to send a packet that the queueing discipline has let go, and returns when that was. The
    /// discipline's bucket lets small packets go together; they are sent one after the other. It counts
    /// whole nanoseconds, so a packet that comes a fraction of one early is in time.
    pub(super) fn begin(&mut self, let_go: Instant, wire_bytes: u32) -> Instant {
        const TICK: Duration = Duration::from_ns(1);
        let began = if self.busy_until <= let_go + TICK { let_go } else { self.busy_until };
        self.busy_until = began + self.byte_time.of(wire_bytes);
        self.count.packets += 1;
        self.count.bytes += u64::from(wire_bytes);
        began
    }
}

/// Packets that cross a host's own link: they have not entered the fabric.
#[derive(Debug, Default)]
pub(super) struct Entries {
    packets: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) endpoint: u32,
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) number: u64,
    pub(super) frame: Frame,
}

impl Entries {
    pub(super) fn put(&mut self, entry: Entry) -> u32 {
        if let Some(index) = self.free.pop() {
            self.packets[index as usize] = entry;
            return index;
        }
        self.packets.push(entry);
        self.packets.len() as u32 - 1
    }

    pub(super) fn take(&mut self, index: u32) -> Entry {
        self.free.push(index);
        self.packets[index as usize]
    }
}
