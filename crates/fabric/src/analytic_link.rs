//! An analytic link: one FIFO queue and the one link that permanently serves it.
//!
//! When a packet arrives there, the time at which it will be sent is already known: it is when the previous packet has
//! been sent (Lindley's recursion). So no wake-up is needed when the link becomes free: a hop costs one event however
//! long the queue is. The fields that a hop needs are stored in the link's ring, so the packet itself is not touched
//! between its first and last hop. The outcome equals that of a separate queue and link.
//!
//! Some links have work for each packet ([`Singly`]): to draw its jitter, or report it. Their `room` is always 0, so
//! that the others need not check their kind.

use daybreak_units::{ByteTime, Duration, Instant};

use crate::link::LinkConfig;
use crate::queue::{Arrival, Capacity, Kind, Occupancy, Verdict};
use crate::ring::Ring;
use crate::{DropReason, PacketId};

/// A packet that waits, is being sent, or is in the pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transit {
    /// When it will arrive, less the delay of the link: when the link will have sent it, and the next one begins,
    /// unless it is late ([`Singly`]).
    due: Instant,
    pub id: PacketId,
    /// Its next step behind this link.
    pub cursor: u32,
    /// IP length.
    pub bytes: u32,
    /// IP bytes that the link has accepted, up to and with this packet, modulo 2^32.
    through: u32,
}

/// Packets of 64 KiB that add up to just below 2^32 bytes.
const MOST_UNCOUNTED: u32 = 1 << 16;

/// The link's totals when last counted: the link itself counts modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    packets: u64,
    bytes: u64,
}

/// The state of an analytic link. The fields that every packet needs fill its first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct AnalyticLink {
    /// When the last packet that was accepted will have been sent.
    busy_until: Instant,
    byte_time: ByteTime,
    delay: Duration,
    /// In the order of arrival. Where packets are passed on, some of them may have arrived already.
    pub ring: Ring<Transit>,
    framing_bytes: u32,
    /// Number of packets that certainly fit, whatever still waits, so that no check is needed. Negative only during
    /// [`AnalyticLink::admit`].
    room: i32,
    /// IP bytes of all packets accepted, modulo 2^32.
    through: u32,
    /// See [`AnalyticLink::passes`].
    passes: bool,
    /// False for a link that is not analytic.
    pub exists: bool,
    /// No packet has more bytes than this (IP length).
    largest_packet: u32,
    /// Position in the ring below which all had been sent at the last check.
    sent_below: u32,
    counted: Counted,
    capacity: Capacity,
    kind: Kind,
    singly: Option<Box<Singly>>,
}

/// Further state of a link that has work for each packet.
#[derive(Debug)]
struct Singly {
    /// As [`AnalyticLink::room`], which is 0 here.
    room: i32,
    /// When the link will have sent each packet that has not arrived, and some before them: positions are those of the
    /// link's ring. None where no packet is late.
    sent: Option<Ring<Instant>>,
    /// The monitor is notified of each packet.
    is_metered: bool,
}

impl Singly {
    fn new(link: &LinkConfig, is_metered: bool) -> Option<Box<Self>> {
        let is_late = !link.jitter.is_zero();
        (is_late || is_metered).then(|| Box::new(Self { room: 0, sent: is_late.then(Ring::new), is_metered }))
    }
}

/// Totals of an analytic link up to some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnalyticTotals {
    /// Packets that began to be sent.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that arrived at the other end.
    pub arrived: u64,
    /// Packets that wait, or are on the preceding link and will arrive.
    pub waiting: u64,
    /// Packets that are here but were already passed on.
    pub handed_on: u64,
    /// Arrivals that need a wake-up.
    pub wakes: u64,
}

/// What an analytic link is made from.
pub(crate) struct Setup<'a> {
    pub link: &'a LinkConfig,
    pub capacity: Capacity,
    pub kind: Kind,
    pub largest_packet: u32,
    pub is_metered: bool,
}

impl AnalyticLink {
    pub(crate) fn new(setup: Setup, exists: bool) -> Self {
        let Setup { link, capacity, kind, largest_packet, is_metered } = setup;
        Self {
            busy_until: Instant::ZERO,
            byte_time: ByteTime::new(link.rate),
            delay: link.delay,
            ring: Ring::new(),
            framing_bytes: link.framing_bytes,
            room: 0,
            through: 0,
            passes: false,
            exists,
            largest_packet,
            sent_below: 0,
            counted: Counted::default(),
            capacity,
            kind,
            singly: if exists { Singly::new(link, is_metered) } else { None },
        }
    }

    /// Reserves room for the next packet, which must then be given to [`AnalyticLink::accept`]; false when the
    /// discipline has to decide ([`AnalyticLink::admit`]).
    #[inline(always)]
    pub(crate) fn try_reserve(&mut self) -> bool {
        self.room -= 1;
        self.room >= 0
    }

    /// [`AnalyticLink::try_reserve`] for a link that processes each packet.
    #[inline(always)]
    pub(crate) fn try_reserve_singly(&mut self) -> bool {
        self.room = 0;
        let Some(singly) = &mut self.singly else { return false };
        singly.room -= 1;
        singly.room >= 0
    }

    /// Whether it processes each packet.
    #[inline(always)]
    pub(crate) fn looks_singly(&self) -> bool {
        self.singly.is_some()
    }

    /// When it would begin to send a packet that arrives now.
    #[inline]
    pub(crate) fn begins(&self, now: Instant) -> Instant {
        self.busy_until.max(now)
    }

    /// Takes an admitted packet that arrives at time `at`, not before `now`. Returns its arrival time at the other end.
    /// If it is the only one here, the caller has to schedule that, unless packets are passed on, see
    /// [`AnalyticLink::passes`].
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Instant, at: Instant, id: PacketId, cursor: u32, bytes: u32) -> Instant {
        let sent = self.busy_until.max(at) + self.byte_time.of(bytes + self.framing_bytes);
        self.busy_until = sent;
        self.through = self.through.wrapping_add(bytes);
        if self.ring.is_full() {
            self.make_room(now);
        }
        self.ring.push(Transit { due: sent, id, cursor, bytes, through: self.through });
        sent + self.delay
    }

    /// [`AnalyticLink::accept`] for a link that processes each packet: `late` delays its arrival, and `meter` gets the
    /// start of its transmission and its bytes on the wire.
    #[inline(always)]
    pub(crate) fn accept_singly(
        &mut self,
        (now, at): (Instant, Instant),
        (id, cursor, bytes): (PacketId, u32, u32),
        late: impl FnOnce(Instant) -> Instant,
        meter: impl FnOnce(Instant, u32),
    ) -> Instant {
        let arrival = self.accept(now, at, id, cursor, bytes);
        let Some(singly) = &mut self.singly else { return arrival };
        if singly.is_metered {
            let wire_bytes = bytes + self.framing_bytes;
            meter(self.busy_until - self.byte_time.of(wire_bytes), wire_bytes);
        }
        let Some(sent) = &mut singly.sent else { return arrival };
        if sent.is_full() {
            match self.ring.head().wrapping_sub(sent.head()) {
                0 => sent.grow(),
                arrived => sent.forget(arrived),
            }
        }
        sent.push(self.busy_until);
        let arrival = late(arrival);
        self.ring.last_mut().due = arrival - self.delay;
        arrival
    }

    /// The monitor is notified of each packet.
    pub(crate) fn is_metered(&self) -> bool {
        self.singly.as_ref().is_some_and(|singly| singly.is_metered)
    }

    /// When it begins to send the packet at a position of the ring, and the packet's bytes on the wire.
    pub(crate) fn crossing(&self, position: u32) -> (Instant, u32) {
        let wire_bytes = self.ring.get(position).bytes + self.framing_bytes;
        (self.sent(position) - self.byte_time.of(wire_bytes), wire_bytes)
    }

    /// Removes the first packet, which must exist and has arrived. Also returns when the next one will arrive.
    #[inline(always)]
    pub(crate) fn arrival(&mut self) -> (Transit, Option<Instant>) {
        let first = self.ring.pop();
        (first, self.ring.front().map(|next| self.arrival_of(next)))
    }

    /// Whether each packet continues to an analytic link that only this one feeds: later packets arrive later there
    /// too, so packets can continue at once.
    #[inline(always)]
    pub(crate) fn passes(&self) -> bool {
        self.passes
    }

    /// Makes [`AnalyticLink::passes`] true.
    pub(crate) fn make_pass(&mut self) {
        self.passes = true;
    }

    /// Whether this link, fed only by `feeder`, always has room. It is at least as fast, so no more waits here than
    /// arrived while one packet was sent.
    pub(crate) fn keeps_up_with(&self, feeder: &Self, largest_packet: u32) -> bool {
        let small = 40;
        let occupancy = Occupancy { packets: largest_packet / small + 1, bytes: 2 * u64::from(largest_packet) };
        let sizes = [small, largest_packet];
        let time = |analytic: &Self, bytes: u32| analytic.byte_time.of(bytes + analytic.framing_bytes);
        sizes.iter().all(|&bytes| time(self, bytes) <= time(feeder, bytes))
            && self.kind.room(occupancy, &self.capacity, largest_packet) > 0
    }

    /// Its totals by `now`, which is not before any call.
    pub(crate) fn totals(&self, now: Instant) -> AnalyticTotals {
        let (mut here, mut waiting, mut waiting_bytes) = (0, 0, 0);
        for position in self.ring.positions() {
            let transit = self.ring.get(position);
            if self.passes && self.arrival_of(transit) <= now {
                continue;
            }
            here += 1;
            let (begins, wire_bytes) = self.crossing(position);
            if begins > now {
                waiting += 1;
                waiting_bytes += u64::from(wire_bytes);
            }
        }
        let Counted { packets, bytes } = self.count();
        let bytes = bytes + packets * u64::from(self.framing_bytes);
        AnalyticTotals {
            packets: packets - waiting,
            bytes: bytes - waiting_bytes,
            arrived: packets - here,
            waiting,
            handed_on: if self.passes { here } else { 0 },
            wakes: u64::from(!self.passes && here > 0),
        }
    }

    /// Applies limit and discipline to a packet that arrives at `now`; `is_ect` is whether it is ECN-capable. True if
    /// it is to be marked. Also determines how many of the next packets are certain to be accepted unmarked.
    #[inline]
    pub(crate) fn admit(&mut self, now: Instant, bytes: u32, is_ect: impl Fn() -> bool) -> Result<bool, DropReason> {
        self.counted = self.count();
        let mut occupancy = Occupancy::default();
        let mut is_marked = false;
        if self.busy_until <= now {
            self.sent_below = self.ring.tail();
        } else {
            occupancy = self.occupancy(now);
            if !self.capacity.admits(occupancy, bytes) {
                self.set_room(0);
                return Err(DropReason::QueueFull);
            }
            // Only marking needs the packet itself, which may not be in the cache.
            let is_ect = self.kind.marks() && is_ect();
            // A discipline that needs the flow does not decide on arrival.
            let verdict = self.kind.arrival(&Arrival { now, occupancy, bytes, is_ect, fits: true, flow: u32::MAX });
            debug_assert_ne!(verdict, Verdict::Drop, "an analytic queue drops a packet that fits");
            is_marked = verdict == Verdict::Mark;
        }
        // This packet is one of them, unless it starts at once.
        let room = self.kind.room(occupancy, &self.capacity, self.largest_packet).saturating_sub(1);
        self.set_room(room.min(MOST_UNCOUNTED) as i32);
        Ok(is_marked)
    }

    #[inline(always)]
    fn set_room(&mut self, room: i32) {
        match &mut self.singly {
            None => self.room = room,
            Some(singly) => (self.room, singly.room) = (0, room),
        }
    }

    /// Totals accepted so far. Must be called before 2^32 bytes are uncounted.
    fn count(&self) -> Counted {
        let Counted { packets, bytes } = self.counted;
        let since = |now: u32, then: u64| u64::from(now.wrapping_sub(then as u32));
        Counted { packets: packets + since(self.ring.tail(), packets), bytes: bytes + since(self.through, bytes) }
    }

    /// The occupancy at `now`, while the link is busy. Less than 2^32 bytes wait, or the number does not matter: see
    /// `analytic`.
    #[inline(never)]
    fn occupancy(&mut self, now: Instant) -> Occupancy {
        let head = self.ring.head();
        let is_gone = self.ring.tail().wrapping_sub(self.sent_below) > self.ring.len();
        let mut in_service = if is_gone { head } else { self.sent_below };
        while self.sent(in_service) <= now {
            in_service = in_service.wrapping_add(1);
        }
        self.sent_below = in_service;
        Occupancy {
            packets: self.ring.tail().wrapping_sub(in_service) - 1,
            bytes: u64::from(self.through.wrapping_sub(self.ring.get(in_service).through)),
        }
    }

    /// Makes room in the ring. Where packets are passed on, there is no event for those that arrive.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Instant) {
        let half = self.ring.len() / 2;
        if self.passes && self.arrival_of(self.ring.get(self.ring.head().wrapping_add(half - 1))) <= now {
            self.ring.forget(half);
        } else {
            self.ring.grow();
        }
    }

    #[inline(always)]
    fn arrival_of(&self, transit: &Transit) -> Instant {
        transit.due + self.delay
    }

    /// When the link will have sent the packet at a position of the ring.
    #[inline]
    fn sent(&self, position: u32) -> Instant {
        match self.singly.as_ref().and_then(|singly| singly.sent.as_ref()) {
            None => self.ring.get(position).due,
            Some(sent) => *sent.get(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::Rate;
    use std::mem::offset_of;

    #[test]
    fn what_every_packet_needs_of_a_link_is_one_cache_line() {
        assert_eq!(offset_of!(AnalyticLink, largest_packet), 64);
        assert_eq!(size_of::<AnalyticLink>(), 128);
        assert_eq!(size_of::<Transit>(), 24);
    }

    fn analytic(rate_bps: u64) -> AnalyticLink {
        let (rate, delay, jitter) = (Rate::from_bps(rate_bps), Duration::ZERO, Duration::ZERO);
        let link = LinkConfig { rate, delay, framing_bytes: 38, loss_ppb: 0, jitter, stream: String::new() };
        let (capacity, kind) = (Capacity::default(), Kind::default());
        AnalyticLink::new(Setup { link: &link, capacity, kind, largest_packet: 65_535, is_metered: false }, true)
    }

    #[test]
    fn more_than_2_to_the_32_bytes_are_counted() {
        let mut analytic = analytic(1_000_000_000_000);
        let mut now = Instant::ZERO;
        for _ in 0..200_000 {
            if !analytic.try_reserve() {
                assert_eq!(analytic.admit(now, 65_535, || false), Ok(false));
            }
            now = analytic.accept(now, now, PacketId(0), 0, 65_535);
            analytic.arrival();
        }
        let AnalyticTotals { packets, bytes, arrived, waiting, .. } = analytic.totals(now);
        assert_eq!((packets, bytes, arrived, waiting), (200_000, 200_000 * 65_573, 200_000, 0));
    }

    #[test]
    fn of_packets_that_are_passed_on_those_that_have_not_arrived_stay() {
        // 1000 bytes in 8 us. The ring has four places, and makes room when the fifth packet comes.
        for (us, arrived) in [(0, 0), (15, 1), (16, 2), (24, 3)] {
            let (mut analytic, now) = (analytic(1_000_000_000), Instant::ZERO + Duration::from_us(us));
            analytic.make_pass();
            for at in [Instant::ZERO; 4].into_iter().chain([now]) {
                analytic.accept(at, at, PacketId(0), 0, 962);
            }
            let AnalyticTotals { arrived: found, handed_on, wakes, .. } = analytic.totals(now);
            assert_eq!((found, handed_on, wakes), (arrived, 5 - arrived, 0), "after {us} us");
        }
    }
}
