//! A lane: one FIFO queue and the one link that serves it, for good.
//!
//! When a packet arrives there, the time at which it will be sent is already settled: it is when the
//! packet before it has been sent (Lindley's recursion). So nobody has to be woken when the link
//! becomes free: a hop costs one event however long the queue is. What a hop needs of a packet is
//! kept in the lane's ring, so that the packet itself is not touched between its first hop and its
//! last. The outcome is the same as with a queue and a link of their own.

use std::collections::VecDeque;

use daybreak_units::{ByteTime, Duration, Instant};

use crate::PacketId;
use crate::link::LinkConfig;
use crate::queue::{Kind, Occupancy, Verdict};

/// A packet that waits, is being sent, or is in the pipe.
#[derive(Clone, Copy, Debug)]
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
    waiting_bytes: u64,
    /// Packets accepted, and their bytes on the wire.
    packets: u64,
    bytes: u64,
    /// In the order of arrival.
    ring: VecDeque<Transit>,
    kind: Kind,
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
    /// Packets that wait.
    pub waiting: u64,
}

impl Lane {
    pub(crate) fn new(config: &LinkConfig, kind: Kind) -> Self {
        Self {
            busy_until: Instant::ZERO,
            byte_time: ByteTime::new(config.rate),
            delay: config.delay,
            framing_bytes: config.framing_bytes,
            waiting: 0,
            waiting_bytes: 0,
            packets: 0,
            bytes: 0,
            ring: VecDeque::new(),
            kind,
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
        let alone = self.ring.is_empty();
        self.ring.push_back(Transit { start, id, cursor, bytes });
        Ok(alone.then(|| self.busy_until + self.delay))
    }

    /// The first packet has arrived. Also tells when the next one will.
    #[inline(always)]
    pub(crate) fn arrival(&mut self) -> Option<(Transit, Option<Instant>)> {
        let first = self.ring.pop_front()?;
        if self.waiting as usize > self.ring.len() {
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(first.bytes);
        }
        let next = self.ring.front().map(|next| {
            let sent = next.start + self.byte_time.of(next.bytes + self.framing_bytes);
            sent + self.delay
        });
        Some((first, next))
    }

    /// What it has done by `now`, which is not before any call.
    pub(crate) fn totals(&self, now: Instant) -> LaneTotals {
        let waiting = || self.ring.iter().filter(|transit| transit.start > now);
        let wire_bytes = |transit: &Transit| u64::from(transit.bytes + self.framing_bytes);
        LaneTotals {
            packets: self.packets - waiting().count() as u64,
            bytes: self.bytes - waiting().map(wire_bytes).sum::<u64>(),
            arrived: self.packets - self.ring.len() as u64,
            waiting: waiting().count() as u64,
        }
    }

    /// Lets go of those that have begun to be sent.
    #[inline(always)]
    fn look_who_waits(&mut self, now: Instant) {
        while self.waiting > 0 {
            let first = &self.ring[self.ring.len() - self.waiting as usize];
            if first.start > now {
                break;
            }
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(first.bytes);
        }
    }
}

/// The queue is full.
#[derive(Debug)]
pub(crate) struct Refused;
