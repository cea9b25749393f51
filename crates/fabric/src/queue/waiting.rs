//! The packets that wait in one queue.

use std::collections::VecDeque;

use daybreak_units::parameters::Settings;
use daybreak_units::{Duration, Instant};

use super::{Arrival, Capacity, Kept, Kind, Leaving, Limits, Occupancy, Verdict};
use crate::{DropReason, PacketId};

/// The state of a queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queue {
    ring: VecDeque<PacketId>,
    bytes: u64,
    /// Number of the packets that the discipline keeps: then none are in the ring.
    kept: u32,
    /// Number of the next one.
    next_kept: u64,
    /// The one link that serves it through an open gate and serves nothing else, or [`NOT_PLAIN`].
    pub sole_link: u32,
    /// Its gates in the fabric's list.
    pub gates_start: u32,
    pub gates_end: u32,
    /// Arrivals are lost because the gates closed with the policy `drop`.
    pub drops_arrivals: bool,
    /// The discipline also sees packets that do not wait.
    pub sees_every_arrival: bool,
    /// The discipline keeps the packets that wait.
    pub keeps_packets: bool,
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

    pub(crate) fn with_others(self, others: u32) -> Self {
        Self { others, ..self }
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
            kept: 0,
            next_kept: 0,
            sole_link: NOT_PLAIN,
            gates_start: 0,
            gates_end: 0,
            drops_arrivals: false,
            sees_every_arrival: kind.sees_every_arrival(),
            keeps_packets: kind.keeps_packets(),
            capacity: limits.into(),
            came: kind.sees_departures().then(Box::default),
            kind,
            returned: returned_limit.map(|limit| Box::new(Returned { ring: VecDeque::new(), bytes: 0, limit })),
            settings,
        }
    }

    /// Whether one open gate is all of its state.
    pub(crate) fn may_be_plain(&self) -> bool {
        !self.sees_every_arrival && !self.keeps_packets && self.came.is_none() && self.returned.is_none()
    }

    /// Asks the limit and the discipline about a packet. True if it is to be marked.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Instant, bytes: u32, is_ect: bool, flow: u32) -> Result<bool, DropReason> {
        let occupancy = self.waiting();
        let fits = self.capacity.admits(occupancy, bytes);
        let verdict = self.kind.arrival(&Arrival { now, occupancy, bytes, is_ect, fits, flow });
        match verdict {
            _ if !fits => Err(DropReason::QueueFull),
            Verdict::Accept => Ok(false),
            Verdict::Mark => Ok(true),
            Verdict::Drop => Err(DropReason::EarlyDrop),
        }
    }

    /// The same for a packet that will not wait, since a link is idle: no limit applies.
    pub(crate) fn admit_at_once(
        &mut self,
        now: Instant,
        bytes: u32,
        is_ect: bool,
        flow: u32,
    ) -> Result<bool, DropReason> {
        let occupancy = Occupancy::default();
        match self.kind.arrival(&Arrival { now, occupancy, bytes, is_ect, fits: true, flow }) {
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

    /// Whether a packet of `bytes` that came now would fit.
    pub(crate) fn has_room_for(&self, bytes: u32) -> bool {
        self.capacity.admits(self.waiting(), bytes)
    }

    /// Lets the discipline keep a packet; it may be that more wait then than may: see [`Queue::evict`].
    pub(crate) fn keep(&mut self, now: Instant, id: PacketId, bytes: u32, is_ect: bool, flow: u32) {
        let number = self.next_kept;
        self.next_kept += 1;
        self.kept += 1;
        self.bytes += u64::from(bytes);
        self.kind.keep(Kept { id, number, flow, bytes, is_ect, came: now });
    }

    /// Number of the next packet that the discipline will keep.
    pub(crate) fn next_kept(&self) -> u64 {
        self.next_kept
    }

    /// How many packets the discipline keeps whose numbers are lower.
    pub(crate) fn kept_before(&self, number: u64) -> u32 {
        self.kind.kept_before(number)
    }

    /// Takes out some of the packets that the discipline keeps, at most `most`, if more wait than may.
    pub(crate) fn evict(&mut self, most: u32) -> Vec<PacketId> {
        let mut lost = Vec::new();
        if !self.capacity.holds(self.waiting()) {
            self.kind.evict(most, &mut lost);
        }
        self.have_left(&lost);
        lost.into_iter().map(|kept| kept.id).collect()
    }

    /// Takes out all the packets that the discipline keeps.
    pub(crate) fn empty(&mut self) -> Vec<PacketId> {
        let mut lost = Vec::new();
        self.kind.empty(&mut lost);
        self.have_left(&lost);
        lost.into_iter().map(|kept| kept.id).collect()
    }

    fn have_left(&mut self, packets: &[Kept]) {
        self.kept -= packets.len() as u32;
        self.bytes -= packets.iter().map(|kept| u64::from(kept.bytes)).sum::<u64>();
    }

    /// The packet that a link takes next of those that the discipline keeps with lower numbers, and what is done with
    /// it.
    pub(crate) fn next(&mut self, now: Instant, before: u64) -> Option<(PacketId, Verdict)> {
        let (kept, verdict) = self.kind.next(now, before)?;
        self.have_left(&[kept]);
        Some((kept.id, verdict))
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

    /// Removes the first packet of a lane; `length` is the size of a packet in bytes. Also returns its arrival time,
    /// for [`Queue::departure`].
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
    /// If it has no such parameter or the value does not fit: plan validation must have rejected it.
    pub(crate) fn set_parameter(&mut self, name: &str, value: daybreak_units::parameters::Value) {
        self.settings.set(name, value).unwrap_or_else(|error| panic!("an action cannot be applied: {error}"));
        self.kind.configure(&self.settings);
    }

    pub(crate) fn discipline(&mut self) -> &mut Kind {
        &mut self.kind
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.kept == 0 && self.returned.as_ref().is_none_or(|returned| returned.ring.is_empty())
    }

    /// How many packets wait in each lane.
    #[inline]
    pub(crate) fn lanes(&self) -> Lanes {
        let returned = self.returned.as_ref().map_or(0, |returned| returned.ring.len() as u32);
        Lanes { returned, others: self.ring.len() as u32 + self.kept }
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
        Occupancy { packets: self.ring.len() as u32 + self.kept, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::{Rate, Stream};

    use super::*;
    use crate::queue::{Setup, find};

    fn queue(name: &str) -> Queue {
        let entry = find(name).expect("it is registered");
        let settings = entry.settings([]).expect("all have defaults");
        let stream = Stream::new(1, "test");
        let setup = Setup { settings: &settings, rate: Rate::from_bps(1 << 30), framing_bytes: 0, stream };
        let kind = Kind::new(entry, &setup);
        Queue::new(kind, settings.clone(), Limits { packets: None, bytes: Some(4_000) }, None)
    }

    fn waits(queue: &Queue) -> (u32, u64) {
        (queue.occupancy().packets, queue.occupancy().bytes)
    }

    #[test]
    fn what_has_left_makes_room() {
        let mut queue = queue("drop_tail");
        for id in 0..2 {
            queue.push(PacketId(id), 1_500);
        }
        assert!(!queue.has_room_for(1_500));
        queue.pop_plain(1_500);
        assert_eq!((waits(&queue), queue.has_room_for(1_500)), ((1, 1_500), true));
        queue.pop(Lane::Others, |_| 1_500);
        assert_eq!(waits(&queue), (0, 0));
    }

    #[test]
    fn what_a_discipline_has_kept_counts_until_it_leaves_or_is_lost() {
        let mut queue = queue("fq_codel");
        for id in 0..4 {
            queue.keep(Instant::ZERO, PacketId(id), 1_000, true, id);
        }
        assert_eq!(waits(&queue), (4, 4_000));
        assert_eq!(queue.evict(1), [], "all of it fits");
        queue.keep(Instant::ZERO, PacketId(4), 1_000, true, 4);
        assert_eq!((queue.evict(1).len(), waits(&queue)), (1, (4, 4_000)));
        queue.next(Instant::ZERO, u64::MAX).expect("it takes one");
        assert_eq!(waits(&queue), (3, 3_000));
        assert_eq!((queue.empty().len(), waits(&queue), queue.is_empty()), (3, (0, 0), true));
    }
}
