//! TCP small queues: a flow keeps no more than about a millisecond of its data in the host's queues.
//!
//! The limit is a 1/1024 s of the pacing rate, at least two segments and at most
//! `tcp_limit_output_bytes`; it is counted in memory, as the send buffer is. A segment may go while less
//! than the limit waits: Linux lets it go at the limit, but counts the socket itself as one more
//! (`sk_wmem_alloc` starts at 1), so that a slow flow keeps two segments in the queue and not three.

use daybreak_units::Instant;

use crate::sender::Sender;
use crate::sender::transmit::send_buffer::SEGMENT_OVERHEAD;

/// A packet up to this size carries no payload worth counting.
const PURE_ACK_MAX: u32 = 92;
/// What Linux charges for a pure ACK.
const PURE_ACK_CHARGE: u64 = 2;
/// IP and TCP header without options.
const HEADERS: u32 = 40;

/// What the host's queues hold of a flow.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(in crate::sender) struct SmallQueue {
    /// Memory of the packets that wait (`sk_wmem_alloc`).
    held: u64,
    /// Packets handed to the host.
    sent: u32,
    /// Packets that have left it.
    freed: u32,
    /// `tcp_limit_output_bytes`.
    limit: u64,
    /// Bytes of a packet that are no payload; the memory for them is in a segment's overhead.
    headers: u32,
    /// A transmission waits for room.
    pub throttled: bool,
}

impl SmallQueue {
    /// An empty queue with this limit (`tcp_limit_output_bytes`).
    pub fn new(limit: u64) -> Self {
        Self { limit, headers: HEADERS, ..Self::default() }
    }

    /// Each segment carries TCP options of this length.
    pub fn negotiate(&mut self, options: u32) {
        self.headers = HEADERS + options;
    }

    #[inline]
    fn charge(&self, ip_bytes: u32, overhead: u64) -> u64 {
        if ip_bytes <= PURE_ACK_MAX { PURE_ACK_CHARGE } else { u64::from(ip_bytes - self.headers) + overhead }
    }
}

impl Sender {
    /// A packet goes to the host's queue.
    #[inline]
    pub(crate) fn on_nic_queued(&mut self, ip_bytes: u32) {
        if !self.has_small_queue {
            return;
        }
        self.small_queue.held += self.small_queue.charge(ip_bytes, self.sizes.overhead);
        self.small_queue.sent = self.small_queue.sent.wrapping_add(1);
    }

    /// A packet has left the host's queue.
    #[inline]
    pub(crate) fn on_nic_freed(&mut self, now: Instant, ip_bytes: u32) {
        self.clock.advance(now);
        if !self.has_small_queue {
            return;
        }
        let charge = self.small_queue.charge(ip_bytes, self.sizes.overhead);
        debug_assert!(self.small_queue.held >= charge, "the NIC freed more than it was given");
        self.small_queue.held = self.small_queue.held.saturating_sub(charge);
        self.small_queue.freed = self.small_queue.freed.wrapping_add(1);
        if std::mem::take(&mut self.small_queue.throttled) {
            self.buffer.has_returned();
            self.transmit.allow_lost();
        }
    }

    /// The serial number that the next packet will get.
    #[inline]
    pub(crate) fn next_nic_serial(&self) -> u32 {
        self.small_queue.sent
    }

    /// The packet is still in the host's queue: sending it again would be nonsense.
    pub(crate) fn is_in_host_queue(&self, serial: u32) -> bool {
        self.has_small_queue && (serial.wrapping_sub(self.small_queue.freed) as i32) >= 0
    }

    /// Nothing waits in the host's queue, as far as TCP can see: without small queues it is not notified.
    pub(crate) fn host_queue_is_empty(&self) -> bool {
        !self.has_small_queue || self.small_queue.held < SEGMENT_OVERHEAD
    }

    /// Full segments that may go to the host's queue before it holds too much, when `on_way` full
    /// segments are on their way to it.
    #[inline]
    pub(crate) fn small_queue_room(&self, on_way: u64) -> u64 {
        let charge = u64::from(self.sizes.mss) + self.sizes.overhead;
        let rate = self.path.window.pacing_rate.as_bytes_per_sec();
        let limit = (2 * charge).max(rate >> 10).min(self.small_queue.limit);
        let held = self.small_queue.held + on_way * charge;
        limit.saturating_sub(held).div_ceil(charge)
    }

    /// Automatic corking (`tcp_autocorking`): the last `left` bytes of a write that returns now wait for more, or for the
    /// next departure, if they fill no segment, and what the host's queue holds takes more memory than they do.
    #[inline]
    pub(crate) fn autocorks(&mut self, left: u64) -> bool {
        if !self.has_small_queue || self.flight.is_empty() || !self.buffer.returns_from_write(self.clock.now) {
            return false;
        }
        let bursts = self.sizes.builds_bursts();
        let full = if bursts { self.sizes.full_buffer(self.peer.max_window) } else { u64::from(self.sizes.payload()) };
        let corks = left < full && self.small_queue.held >= left + self.sizes.overhead;
        self.small_queue.throttled |= corks;
        corks
    }

    /// True when a segment with `len` bytes must wait. Retransmissions (`factor_shift` 1) may use
    /// twice the limit.
    #[inline]
    pub(crate) fn small_queue_holds(&mut self, len: u32, factor_shift: u32) -> bool {
        if !self.has_small_queue {
            return false;
        }
        let held = self.small_queue.held;
        let two = 2 * (u64::from(len) + self.sizes.overhead);
        // No limit is lower than this one.
        if held < two.min(self.small_queue.limit) << factor_shift {
            return false;
        }
        let rate = self.path.window.pacing_rate.as_bytes_per_sec();
        let mut limit = two.max(rate >> 10);
        if !self.path.window.is_paced || self.settings.profile.limited_pacing {
            limit = limit.min(self.small_queue.limit);
        }
        if held < limit << factor_shift || self.flight.has_one_buffer() {
            return false;
        }
        self.small_queue.throttled = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion::find;
    use crate::sender::Opening;
    use crate::sender::sizes::FullSegment;

    const LEN: u32 = 1_448;
    const IP_BYTES: u32 = LEN + 52;

    fn goes(sender: &mut Sender) -> u32 {
        let mut count = 0;
        while sender.next_outgoing().is_some() {
            sender.on_nic_queued(IP_BYTES);
            count += 1;
        }
        count
    }

    /// Linux 6.1.192, as in drawn suite 1795709430, scenario 53: a segment of 8948 bytes, and 6831 that may be queued.
    #[test]
    fn with_a_limit_below_a_segment_one_goes_when_the_queue_is_empty_and_a_second_after_the_first_of_all() {
        let config = Config { limit_output_bytes: Some(1_000), ..Config::default() };
        let mut sender = Sender::new(&config, find("reno").expect("a rule").rule(1));
        sender.negotiate(FullSegment { payload: LEN, options: 12, mss_of_peer: LEN + 12 }, true, false);
        sender.begin(Instant::ZERO);
        sender.start(Opening { syn_retransmits: 0, rtt_us: Some(1_000), is_client: true, window: 1 << 20 });
        sender.write(Instant::ZERO, 8 * u64::from(LEN));
        let mut gone = vec![goes(&mut sender)];
        for _ in 0..3 {
            sender.on_nic_freed(Instant::ZERO, IP_BYTES);
            gone.push(goes(&mut sender));
        }
        assert_eq!(gone, [2, 0, 1, 1]);
    }

    /// A sender of segments that cost 1,448 and 768 bytes in the host's queue.
    fn queueing(held: u64) -> Sender {
        let mut sender = Sender::new(&Config::default(), find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sizes.overhead, sender.has_small_queue) = (LEN, 768, true);
        (sender.small_queue.held, sender.small_queue.limit) = (held, 1 << 20);
        sender
    }

    #[test]
    fn a_packet_lies_in_the_hosts_queue_until_as_many_have_left_it() {
        for (has_queue, serial, freed, lies) in [
            (true, 7, 7, true),
            (true, 8, 7, true),
            (true, 6, 7, false),
            (true, 0, u32::MAX, true),
            (false, 7, 7, false),
        ] {
            let mut sender = queueing(0);
            (sender.has_small_queue, sender.small_queue.freed, sender.small_queue.sent) = (has_queue, freed, 9);
            assert_eq!((sender.is_in_host_queue(serial), sender.next_nic_serial()), (lies, 9), "{serial} of {freed}");
        }
        for (held, is_empty) in [(SEGMENT_OVERHEAD - 1, true), (SEGMENT_OVERHEAD, false)] {
            assert_eq!(queueing(held).host_queue_is_empty(), is_empty);
        }
        let blind = Sender { has_small_queue: false, ..queueing(9_999) };
        assert!(blind.host_queue_is_empty(), "TCP sees none");
    }

    #[test]
    fn the_hosts_queue_has_room_for_two_segments_or_a_millisecond() {
        // tcp_small_queue_check(): at 10 MB/s 9,765 bytes, of which a segment takes 2,216.
        for (rate, held, on_way, room) in [
            (0, 0, 0, 2),
            (0, 2_215, 0, 2),
            (0, 2_216, 0, 1),
            (0, 0, 1, 1),
            (0, 4_432, 0, 0),
            (10_000_000, 0, 0, 5),
            (10_000_000, 0, 2, 3),
        ] {
            let mut sender = queueing(held);
            sender.path.window.pacing_rate = daybreak_units::Rate::from_bytes_per_sec(rate);
            assert_eq!(sender.small_queue_room(on_way), room, "{rate}, {held} and {on_way}");
        }
    }

    #[test]
    fn a_segment_waits_for_the_hosts_queue_and_a_retransmission_for_twice_of_it() {
        for (held, shift, limit, holds) in [
            (4_431, 0, 1 << 20, false),
            (4_432, 0, 1 << 20, true),
            (4_432, 1, 1 << 20, false),
            (8_863, 1, 1 << 20, false),
            (8_864, 1, 1 << 20, true),
            (2_999, 0, 3_000, false),
            (3_000, 0, 3_000, true),
        ] {
            let mut sender = queueing(held);
            sender.small_queue.limit = limit;
            sender.put_in_flight(3);
            assert_eq!(sender.small_queue_holds(LEN, shift), holds, "{held} of {limit}");
            assert_eq!(sender.small_queue.throttled, holds);
        }
    }
}
