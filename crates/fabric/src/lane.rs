//! A lane: one FIFO queue and the one link that serves it, for good.
//!
//! When a packet arrives there, the time at which it will be sent is already settled: it is when the
//! packet before it has been sent (Lindley's recursion). So nobody has to be woken when the link
//! becomes free: a hop costs one event however long the queue is. What a hop needs of a packet is
//! kept in the lane's ring, so that the packet itself is not touched between its first hop and its
//! last. The outcome is the same as with a queue and a link of their own.

use daybreak_units::{ByteTime, Duration, Instant};

use crate::PacketId;
use crate::link::LinkConfig;
use crate::queue::{Kind, Occupancy, Verdict};
use crate::ring::Ring;

/// A packet that waits, is being sent, or is in the pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transit {
    /// When it begins to be sent.
    pub start: Instant,
    pub id: PacketId,
    /// Its next step behind this lane.
    pub cursor: u32,
    /// IP length.
    pub bytes: u32,
}

/// The state of a lane.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Lane {
    /// When the last packet that was accepted will have been sent.
    busy_until: Instant,
    byte_time: ByteTime,
    delay: Duration,
    framing_bytes: u32,
    /// Packets at the end of the ring that had not begun to be sent when this was last looked at.
    waiting: u32,
    /// In the order of arrival.
    pub ring: Ring<Transit>,
    /// Packets accepted, and their bytes on the wire.
    packets: u64,
    bytes: u64,
    waiting_bytes: u64,
    kind: Kind,
    /// Every packet goes on to a lane that only this one feeds: see [`Lane::pass`].
    passes: bool,
    /// False for a link that is no lane.
    pub exists: bool,
}

/// What a lane has done up to some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneTotals {
    /// Packets that began to be sent.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that arrived at the other end.
    pub arrived: u64,
    /// Packets that wait, or are in the lane before and will come.
    pub waiting: u64,
    /// Packets that are here and were already handed on.
    pub handed_on: u64,
    /// Arrivals that somebody is to be woken for.
    pub wakes: u64,
}

/// The queue is full.
#[derive(Debug)]
pub(crate) struct Refused;

impl Lane {
    pub(crate) fn new(config: &LinkConfig, kind: Kind, exists: bool) -> Self {
        Self {
            busy_until: Instant::ZERO,
            byte_time: ByteTime::new(config.rate),
            delay: config.delay,
            framing_bytes: config.framing_bytes,
            waiting: 0,
            ring: Ring::new(),
            packets: 0,
            bytes: 0,
            waiting_bytes: 0,
            kind,
            passes: false,
            exists,
        }
    }

    /// Takes a packet in, or refuses it. Returns when it will arrive if it is the only one here, and
    /// the caller has to see to that.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        id: PacketId,
        cursor: u32,
        bytes: u32,
    ) -> Result<Option<Instant>, Refused> {
        let start = self.settle(now, bytes)?;
        let alone = self.ring.is_empty();
        self.ring.push(Transit { start, id, cursor, bytes });
        Ok(if alone { Some(self.busy_until + self.delay) } else { None })
    }

    /// Takes a packet in that goes on to a lane that is fed by this one only: whatever comes later
    /// comes later there too, so it can go on at once. Returns when it will arrive there.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Instant, id: PacketId, bytes: u32) -> Result<Instant, Refused> {
        if self.ring.is_full() {
            self.forget_arrived(now);
        }
        let start = self.settle(now, bytes)?;
        self.ring.push(Transit { start, id, cursor: 0, bytes });
        Ok(self.busy_until + self.delay)
    }

    /// The first packet has arrived. Also tells when the next one will.
    #[inline(always)]
    pub(crate) fn arrival(&mut self) -> Option<(Transit, Option<Instant>)> {
        let first = self.pop()?;
        let next = self.ring.front().map(|next| self.arrival_of(next));
        Some((first, next))
    }

    /// Whether packets are to be taken in by [`Lane::pass`].
    #[inline(always)]
    pub(crate) fn passes(&self) -> bool {
        self.passes
    }

    /// From now on packets are taken in by [`Lane::pass`].
    pub(crate) fn make_pass(&mut self) {
        self.passes = true;
    }

    /// Whether this lane, fed by `feeder` only, has room for whatever comes. It is at least as fast,
    /// so what waits here is no more than what arrived while one packet was sent.
    pub(crate) fn keeps_up_with(&self, feeder: &Self, largest_packet: u32) -> bool {
        let small = 40;
        let occupancy = Occupancy { packets: largest_packet / small + 1, bytes: 2 * u64::from(largest_packet) };
        let sizes = [small, largest_packet];
        let time = |lane: &Self, bytes: u32| lane.byte_time.of(bytes + lane.framing_bytes);
        sizes.iter().all(|&bytes| time(self, bytes) <= time(feeder, bytes))
            && self.kind.has_room(occupancy, largest_packet)
    }

    /// What it has done by `now`, which is not before any call.
    pub(crate) fn totals(&self, now: Instant) -> LaneTotals {
        let present = self.ring.iter().filter(|transit| self.arrival_of(transit) > now || !self.passes);
        let (mut here, mut waiting, mut waiting_bytes) = (0, 0, 0);
        for transit in present {
            here += 1;
            if transit.start > now {
                waiting += 1;
                waiting_bytes += u64::from(transit.bytes + self.framing_bytes);
            }
        }
        LaneTotals {
            packets: self.packets - waiting,
            bytes: self.bytes - waiting_bytes,
            arrived: self.packets - here,
            waiting,
            handed_on: if self.passes { here } else { 0 },
            wakes: u64::from(!self.passes && here > 0),
        }
    }

    /// Settles when the packet begins to be sent, or that it does not fit.
    #[inline(always)]
    fn settle(&mut self, now: Instant, bytes: u32) -> Result<Instant, Refused> {
        let mut start = now;
        if self.busy_until > now {
            self.look_who_waits(now);
            let occupancy = Occupancy { packets: self.waiting, bytes: self.waiting_bytes };
            if self.kind.arrival(occupancy, bytes) == Verdict::Drop {
                return Err(Refused);
            }
            start = self.busy_until;
            self.waiting += 1;
            self.waiting_bytes += u64::from(bytes);
        } else {
            self.waiting = 0;
            self.waiting_bytes = 0;
        }
        let wire_bytes = bytes + self.framing_bytes;
        self.busy_until = start + self.byte_time.of(wire_bytes);
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
        Ok(start)
    }

    /// Lets go of those that have begun to be sent.
    #[inline(always)]
    fn look_who_waits(&mut self, now: Instant) {
        while self.waiting > 0 {
            let first = self.ring.nth_last(self.waiting);
            if first.start > now {
                break;
            }
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(first.bytes);
        }
    }

    /// Makes room in the ring of a lane that passes packets on: nobody is woken for their arrival.
    #[inline(never)]
    fn forget_arrived(&mut self, now: Instant) {
        while self.ring.front().is_some_and(|first| self.arrival_of(first) <= now) {
            self.pop();
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Transit> {
        let first = self.ring.pop()?;
        if self.waiting > self.ring.len() {
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(first.bytes);
        }
        Some(first)
    }

    #[inline(always)]
    fn arrival_of(&self, transit: &Transit) -> Instant {
        transit.start + self.byte_time.of(transit.bytes + self.framing_bytes) + self.delay
    }
}
