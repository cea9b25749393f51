//! The packets that wait in one queue.

use std::collections::VecDeque;

use daybreak_units::parameters::Settings;
use daybreak_units::{Duration, Instant};

use super::{Arrival, Capacity, Kind, Leaving, Limits, Occupancy, Verdict};
use crate::{DropReason, PacketId};

/// The state of a queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queue {
    ring: VecDeque<PacketId>,
    bytes: u64,
    /// The one link that serves it through an open gate and serves nothing else, or [`NOT_PLAIN`].
    pub sole_link: u32,
    /// Its gates in the fabric's list.
    pub gates_start: u32,
    pub gates_end: u32,
    /// Arrivals are lost because the gates closed with the policy `drop`.
    pub drops_arrivals: bool,
    /// The discipline also sees packets that do not wait.
    pub sees_every_arrival: bool,
    capacity: Capacity,
    kind: Kind,
    /// For packets that come back, if they may.
    returned: Option<Box<Returned>>,
    /// When the packets that wait came, for a discipline that sees them leave; not of those that came back.
    #[expect(clippy::box_collection, reason = "one word in the queues of all other disciplines, not four")]
    came: Option<Box<VecDeque<Instant>>>,
    settings: Settings,
}

/// Packets that came back from a queue further on which was full. They are served before all others.
#[derive(Debug)]
struct Returned {
    ring: VecDeque<PacketId>,
    bytes: u64,
    /// Most packets.
    limit: u64,
}

/// The lines in which packets wait in a queue; each is first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Of those that came back, which are served first.
    Returned,
    Others,
}

/// A number of packets at the front of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    returned: u32,
    others: u32,
}

impl Lanes {
    /// The lane that is served next.
    #[inline]
    pub(crate) fn first(self) -> Lane {
        if self.returned > 0 { Lane::Returned } else { Lane::Others }
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.returned == 0 && self.others == 0
    }

    /// Without the first packet of a lane, if it is among them.
    #[inline]
    pub(crate) fn without_first(self, lane: Lane) -> Self {
        match lane {
            Lane::Returned => Self { returned: self.returned.saturating_sub(1), ..self },
            Lane::Others => Self { others: self.others.saturating_sub(1), ..self },
        }
    }

    pub(crate) fn at_most(self, most: Self) -> Self {
        Self { returned: self.returned.min(most.returned), others: self.others.min(most.others) }
    }
}

/// The general way has to be taken: there are several gates or a closed one, the link serves other queues as well,
/// the discipline sees every arrival, or packets may come back.
pub(crate) const NOT_PLAIN: u32 = u32::MAX;

impl Queue {
    pub(crate) fn new(kind: Kind, settings: Settings, limits: Limits, returned_limit: Option<u64>) -> Self {
        Self {
            ring: VecDeque::new(),
            bytes: 0,
            sole_link: NOT_PLAIN,
            gates_start: 0,
            gates_end: 0,
            drops_arrivals: false,
            sees_every_arrival: kind.sees_every_arrival(),
            capacity: limits.into(),
            came: kind.sees_departures().then(Box::default),
            kind,
            returned: returned_limit.map(|limit| Box::new(Returned { ring: VecDeque::new(), bytes: 0, limit })),
            settings,
        }
    }

    /// Whether one open gate is all that there is to know about it.
    pub(crate) fn may_be_plain(&self) -> bool {
        !self.sees_every_arrival && self.came.is_none() && self.returned.is_none()
    }

    /// Asks the limit and the discipline about a packet. True if it is to be marked.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Instant, bytes: u32, is_ect: bool) -> Result<bool, DropReason> {
        let occupancy = self.waiting();
        let fits = self.capacity.admits(occupancy, bytes);
        let verdict = self.kind.arrival(&Arrival { now, occupancy, bytes, is_ect, fits });
        match verdict {
            _ if !fits => Err(DropReason::QueueFull),
            Verdict::Accept => Ok(false),
            Verdict::Mark => Ok(true),
            Verdict::Drop => Err(DropReason::EarlyDrop),
        }
    }

    /// The same for a packet that will not wait, since a link is idle: no limit applies.
    pub(crate) fn admit_at_once(&mut self, now: Instant, bytes: u32, is_ect: bool) -> Result<bool, DropReason> {
        let occupancy = Occupancy::default();
        match self.kind.arrival(&Arrival { now, occupancy, bytes, is_ect, fits: true }) {
            Verdict::Accept => Ok(false),
            Verdict::Mark => Ok(true),
            Verdict::Drop => Err(DropReason::EarlyDrop),
        }
    }

    /// Lets a packet wait that was admitted.
    #[inline]
    pub(crate) fn push(&mut self, id: PacketId, bytes: u32) {
        self.ring.push_back(id);
        self.bytes += u64::from(bytes);
    }

    /// Notes that the last packet has come now, if the discipline sees it leave.
    #[inline]
    pub(crate) fn note_arrival(&mut self, now: Instant) {
        if let Some(came) = &mut self.came {
            came.push_back(now);
        }
    }

    /// Lets a packet wait that came back. False if there is no room.
    ///
    /// # Panics
    /// If packets cannot come back to this queue.
    pub(crate) fn push_returned(&mut self, id: PacketId, bytes: u32) -> bool {
        let returned = self.returned.as_mut().expect("a packet returns to a queue without room for such");
        let fits = (returned.ring.len() as u64) < returned.limit;
        if fits {
            returned.ring.push_back(id);
            returned.bytes += u64::from(bytes);
        }
        fits
    }

    /// The packet that leaves next, of a queue that is plain.
    #[inline]
    pub(crate) fn plain_front(&self) -> Option<PacketId> {
        self.ring.front().copied()
    }

    /// Takes that packet, of `bytes`, out.
    #[inline]
    pub(crate) fn pop_plain(&mut self, bytes: u32) {
        self.ring.pop_front();
        self.bytes -= u64::from(bytes);
    }

    /// Takes the first packet of a lane out; `length` tells the bytes of a packet. With it comes the time at which it came, for
    /// [`Queue::departure`].
    pub(crate) fn pop(&mut self, lane: Lane, length: impl Fn(PacketId) -> u32) -> Option<(PacketId, Option<Instant>)> {
        let (ring, bytes) = match (lane, &mut self.returned) {
            (Lane::Returned, Some(returned)) => (&mut returned.ring, &mut returned.bytes),
            _ => (&mut self.ring, &mut self.bytes),
        };
        let id = ring.pop_front()?;
        *bytes -= u64::from(length(id));
        let came = self.came.as_mut().filter(|_| lane == Lane::Others).and_then(|came| came.pop_front());
        Some((id, came))
    }

    /// Asks the discipline about a packet of `bytes` that was taken out. `came` is none where it does not see it.
    #[inline]
    pub(crate) fn departure(&mut self, now: Instant, came: Option<Instant>, bytes: u32, is_ect: bool) -> Verdict {
        let Some(came) = came else { return Verdict::Accept };
        self.kind.departure(&Leaving { now, waited: now - came, bytes, behind: self.bytes, is_ect })
    }

    /// Lets the discipline see a packet that leaves without having waited.
    #[inline]
    pub(crate) fn departs_at_once(&mut self, now: Instant, bytes: u32, is_ect: bool) {
        if self.came.is_some() {
            let leaving = Leaving { now, waited: Duration::ZERO, bytes, behind: 0, is_ect };
            let verdict = self.kind.departure(&leaving);
            debug_assert_eq!(verdict, Verdict::Accept, "a packet that has not waited");
        }
    }

    /// Other limits are in force. Call [`Queue::pop_excess`] until nothing is left over.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.capacity = limits.into();
    }

    /// Takes the last packet out if more wait than may; those that came back do not count.
    pub(crate) fn pop_excess(&mut self, length: impl Fn(PacketId) -> u32) -> Option<PacketId> {
        if self.capacity.holds(self.waiting()) {
            return None;
        }
        let id = self.ring.pop_back()?;
        if let Some(came) = &mut self.came {
            came.pop_back();
        }
        self.bytes -= u64::from(length(id));
        Some(id)
    }

    /// Changes a setting of the discipline.
    ///
    /// # Panics
    /// If it has no such parameter or the value does not fit: whoever made the action had to look.
    pub(crate) fn set_parameter(&mut self, name: &str, value: daybreak_units::parameters::Value) {
        self.settings.set(name, value).unwrap_or_else(|error| panic!("an action cannot be applied: {error}"));
        self.kind.configure(&self.settings);
    }

    pub(crate) fn discipline(&mut self) -> &mut Kind {
        &mut self.kind
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.returned.as_ref().is_none_or(|returned| returned.ring.is_empty())
    }

    /// How many packets wait in each lane.
    #[inline]
    pub(crate) fn lanes(&self) -> Lanes {
        let returned = self.returned.as_ref().map_or(0, |returned| returned.ring.len() as u32);
        Lanes { returned, others: self.ring.len() as u32 }
    }

    /// All that waits.
    #[inline]
    pub(crate) fn occupancy(&self) -> Occupancy {
        let mut occupancy = self.waiting();
        if let Some(returned) = &self.returned {
            occupancy.packets += returned.ring.len() as u32;
            occupancy.bytes += returned.bytes;
        }
        occupancy
    }

    /// What counts against the limit: all but what came back.
    #[inline(always)]
    fn waiting(&self) -> Occupancy {
        Occupancy { packets: self.ring.len() as u32, bytes: self.bytes }
    }
}
