//! The send buffer: how much of what the application wants to send is in the socket.
//!
//! Linux charges a buffer for memory, not for payload: each segment costs its payload and a constant
//! for its descriptor and header room; neighbours that the peer has SACKed share one. The buffer grows
//! with the window, to twice the room that the window's segments may take, up to `tcp_wmem`'s maximum;
//! the application refills it when a third of it is free.

use std::collections::VecDeque;

use daybreak_units::Instant;

use crate::config::Profile;
use crate::sender::Sender;
use crate::sender::transmit::bursts::Bursts;
use crate::sender::transmit::nagle::Nagle;

/// Memory of a segment besides its payload: the socket buffer's descriptor (256 bytes) and its head
/// of 512 bytes with header room and the shared page list. That is how a 6.1 kernel without tunnels
/// and wireless filled its buffer (35 jumbo segments of 9,000 bytes in 332,800); with them the head
/// takes 1,024 bytes.
pub(crate) const SEGMENT_OVERHEAD: u64 = 768;
/// That memory with [`crate::config::Profile::small_heads`], where the head has room for 256 bytes.
const SMALL_HEAD_OVERHEAD: u64 = 832;
/// Header room that sizing allows for (320 with tunnels and wireless, where 1,460 bytes need 4,096 then
/// instead of 2,048), and the shared page list, and the descriptor. A 6.1 kernel without them took 21
/// segments of 1,448 bytes into its first buffer, which is 46,080 bytes.
const SIZING_HEADER: u64 = 192;
const SIZING_SHARED: u64 = 320;
const SIZING_DESCRIPTOR: u64 = 256;

/// `SO_SNDBUF` makes no buffer smaller: twice 2,048 bytes and their descriptor.
const SMALLEST: u64 = 2 * (2_048 + SIZING_DESCRIPTOR);

/// Memory of a segment besides its payload.
pub(crate) fn segment_overhead(profile: Profile) -> u64 {
    if profile.small_heads { SMALL_HEAD_OVERHEAD } else { SEGMENT_OVERHEAD }
}

/// Whether the application has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// It may write more.
    No,
    /// Closed, but the last write has not returned; its data may not be sent yet.
    Waits,
    /// Its `close` has been made.
    Made,
}

/// The buffer. Sequence numbers count payload only: a FIN is not in it.
#[derive(Clone, Debug)]
// What every ACK touches comes last: in the sender more of it follows.
#[repr(C)]
pub(crate) struct SendBuffer {
    /// Whether its last bytes wait for more.
    pub nagle: Nagle,
    /// How it is divided, where the NIC takes bursts.
    pub bursts: Option<Box<Bursts>>,
    /// End of what the application wants to send.
    app_end: u64,
    /// `sk_sndbuf`.
    size: u64,
    max: u64,
    /// Ends of the segments that carry PSH behind `next_push`.
    pushes: VecDeque<u64>,
    /// End of the last of them (`pushed_seq`).
    pushed: u64,
    /// End of what was written before the application had to wait for room, and when that was. Linux sends full segments
    /// while they are written, and puts PSH on the last only if it has not left by then.
    waiting: (u64, Instant),
    /// When the application wrote last.
    wrote_at: Instant,
    /// End of that write if it has returned, until its last segment was looked at.
    written: u64,
    /// End of what is in the socket (`write_seq`).
    pub write_seq: u64,
    /// Payload that takes two thirds of the memory, at most: with more the application does not go on.
    refill_at: u64,
    /// End of the next segment that carries PSH.
    next_push: u64,
    /// Window in segments for which it was sized last.
    sized_for: u32,
    /// The peer's MSS option (`mss_clamp`).
    pub mss_of_peer: u32,
    /// The application has set its size.
    is_locked: bool,
    /// The application waits for room (`SOCK_NOSPACE`).
    full: bool,
    /// When it began to wait, and the first unacknowledged byte then, until a segment that is not plain arrives.
    pub filled: Option<(Instant, u64)>,
    /// Whether the application will write more.
    pub close: Close,
}

impl SendBuffer {
    pub fn new(size: u64, max: u64) -> Self {
        Self {
            nagle: Nagle::default(),
            bursts: None,
            app_end: 1,
            write_seq: 1,
            size,
            sized_for: 0,
            mss_of_peer: 0,
            max,
            is_locked: false,
            refill_at: 0,
            full: false,
            filled: None,
            close: Close::No,
            next_push: u64::MAX,
            pushes: VecDeque::new(),
            pushed: 1,
            waiting: (0, Instant::NEVER),
            wrote_at: Instant::NEVER,
            written: 0,
        }
    }

    /// `SO_SNDBUF` before the handshake.
    pub fn lock(&mut self, bytes: u32) {
        self.size = (2 * u64::from(bytes)).max(SMALLEST);
        self.is_locked = true;
    }

    /// End of what the application wants to send.
    #[inline]
    pub fn app_end(&self) -> u64 {
        self.app_end
    }

    /// The application waits for room.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// A segment has arrived: Linux looks whether an application that waits may go on.
    #[inline]
    pub fn look_for_room(&mut self) {
        self.filled = None;
    }

    /// Whether the segment that ends at `end` carries PSH: a push point lies in it or at its end. It
    /// need not end there, since a later write may have filled the segment up.
    #[inline]
    pub fn takes_push(&mut self, end: u64, now: Instant) -> bool {
        end >= self.next_push && self.passes_push(end, now)
    }

    #[inline(never)]
    fn passes_push(&mut self, end: u64, now: Instant) -> bool {
        if self.waiting == (end, now) && self.next_push == end {
            self.next_push = self.pushes.pop_front().unwrap_or(u64::MAX);
            return false;
        }
        while self.next_push <= end {
            self.next_push = self.pushes.pop_front().unwrap_or(u64::MAX);
        }
        true
    }

    /// Marks what was written in segments of which the first ends at `end`: PSH goes on the one that brings the data since
    /// the last PSH above half of the peer's largest window, and on the last one of the write.
    fn mark_pushes(&mut self, mut end: u64, mss: u64, max_window: u64) {
        while end < self.write_seq {
            let due = self.pushed + max_window / 2 + 1;
            if end < due {
                end += (due - end).div_ceil(mss) * mss;
                continue;
            }
            self.push_at(end);
            end += mss;
        }
        self.push_at(self.write_seq);
    }

    /// The application writes now.
    #[inline]
    pub fn is_written(&self, now: Instant) -> bool {
        self.wrote_at == now
    }

    /// Whether the write that ends with the socket's data returns now.
    #[inline]
    pub fn returns_from_write(&self, now: Instant) -> bool {
        self.is_written(now) && self.written == self.write_seq
    }

    /// What happens from now on happens after the write has returned.
    pub fn has_returned(&mut self) {
        self.written = 0;
    }

    /// PSH stands at `end` as well, before all others.
    pub fn push_next(&mut self, end: u64) {
        if self.next_push != end {
            if self.next_push != u64::MAX {
                self.pushes.push_front(self.next_push);
            }
            self.next_push = end;
        }
    }

    /// PSH does not stand at `end` if nothing stands behind it.
    /// True if it stood there.
    pub(super) fn unpush(&mut self, end: u64) -> bool {
        if self.pushes.back() == Some(&end) {
            self.pushes.pop_back();
        } else if self.pushes.is_empty() && self.next_push == end {
            self.next_push = u64::MAX;
        } else {
            return false;
        }
        true
    }

    pub(super) fn push_at(&mut self, end: u64) {
        self.pushed = end;
        self.keep_push(end);
    }

    /// PSH stands at `end`, behind all others.
    pub(super) fn keep_push(&mut self, end: u64) {
        if self.next_push == u64::MAX {
            self.next_push = end;
        } else {
            self.pushes.push_back(end);
        }
    }

    /// `sk_sndbuf`.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// End of the last segment that PSH was put on (`pushed_seq`).
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// The application writes up to `end`, or as much as it has: the end of that, and whether it was all.
    pub(super) fn write_up_to(&mut self, end: u64) -> (u64, bool) {
        self.write_seq = end.min(self.app_end);
        self.nagle.on_written();
        (self.write_seq, self.is_complete())
    }

    /// The application waits for room. PSH goes on what waits.
    pub(super) fn wait_for_room(&mut self, now: Instant, snd_una: u64, has_unsent: bool) {
        self.full = true;
        self.filled = Some((now, snd_una));
        (self.wrote_at, self.written) = (now, 0);
        if has_unsent {
            self.unpush(self.write_seq);
            self.push_at(self.write_seq);
        }
    }

    /// The application's write returns. PSH goes on its end.
    pub(super) fn return_from_write(&mut self, now: Instant) {
        (self.full, self.filled) = (false, None);
        (self.wrote_at, self.written) = (now, self.write_seq);
        self.push_at(self.write_seq);
    }

    /// All that the application wants to write is in the socket.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.write_seq == self.app_end
    }
}

impl Sender {
    /// The application wants to send `bytes` more; `u64::MAX` never ends.
    pub(in crate::sender) fn extend(&mut self, bytes: u64) {
        // Far beyond any run, and still with room for arithmetic.
        self.buffer.app_end = self.buffer.app_end.saturating_add(bytes).min(u64::MAX / 4);
        // An application that waits for room goes on with what it was writing when there is some.
        if self.is_synchronised && !self.buffer.full {
            self.fill_buffer();
        }
    }

    /// The application writes what fits: what the last segment has room for that waits, and then whole segments, each of
    /// which begins while any memory is left.
    pub(crate) fn fill_buffer(&mut self) {
        if self.buffer.is_complete() {
            self.buffer.full = false;
            return;
        }
        if self.sizes.builds_bursts() {
            return self.write_buffers();
        }
        let start = self.buffer.write_seq;
        let had_unsent = start > self.snd_nxt;
        let unsent = start.saturating_sub(self.snd_nxt.max(self.sizes.built_end));
        let segment = u64::from(self.sizes.mss);
        let tail_room = unsent.next_multiple_of(segment) - unsent;
        let left = self.buffer.size.saturating_sub(self.memory() + tail_room);
        let room = tail_room + left.div_ceil(segment + self.sizes.overhead) * segment;
        let end = (start + room).min(self.buffer.app_end);
        self.buffer.full = end < self.buffer.app_end;
        self.buffer.filled = self.buffer.full.then_some((self.clock.now, self.snd_una));
        if end > start {
            self.buffer.write_seq = end;
            self.buffer.nagle.on_written();
            if tail_room > 0 {
                // The last segment grows, so that it is no longer the end of a write.
                self.buffer.unpush(start);
            }
            let first_full = start + if tail_room > 0 { tail_room } else { segment };
            self.buffer.mark_pushes(first_full, segment, u64::from(self.peer.max_window));
            self.buffer.wrote_at = self.clock.now;
            self.buffer.written = if self.buffer.full { 0 } else { end };
            if self.buffer.full {
                self.buffer.waiting = (end, self.clock.now);
            }
            if !had_unsent {
                self.restart_after_idle();
            }
        }
    }

    /// Memory of what is in the socket.
    pub(crate) fn memory(&self) -> u64 {
        let first = self.flight.first().map_or(self.snd_nxt, |sent| sent.seq);
        if let Some(bursts) = &self.buffer.bursts {
            return self.memory_with(bursts);
        }
        let sent = u64::from(self.flight.len()) - self.flight.merged();
        let built = if self.sizes.built_end > self.snd_nxt { self.built_segments() } else { 0 };
        let unsent = self.buffer.write_seq.saturating_sub(self.snd_nxt.max(self.sizes.built_end));
        let unsent = built + unsent.div_ceil(u64::from(self.sizes.mss));
        self.buffer.write_seq.saturating_sub(first) + (sent + unsent) * self.sizes.overhead
    }

    /// [`Sender::memory`] of buffers of several segments.
    pub(super) fn memory_with(&self, bursts: &Bursts) -> u64 {
        let first = self.flight.first().map_or(self.snd_nxt, |sent| sent.seq);
        let is_sacked = self.path.tally.sacked_out() > 0;
        let sent = if is_sacked { self.flight.buffers() } else { bursts.in_flight(self.snd_una) };
        self.buffer.write_seq.saturating_sub(first) + (sent + bursts.waiting() as u64) * self.sizes.overhead
    }

    /// The handshake is done: sizes the buffer for the initial window.
    pub(crate) fn size_buffer(&mut self) {
        self.buffer.sized_for = 0;
        self.update_capacity();
        self.expand_buffer();
        if self.buffer.write_seq < self.buffer.app_end {
            // The application, which has waited for the connection, writes now: nothing was there to fill the path.
            self.check_app_limited();
        }
        self.fill_buffer();
    }

    /// `tcp_wmem` autotuning: twice the memory of the window's segments.
    fn expand_buffer(&mut self) {
        let segments = self.path.window.cwnd.max(10).max(self.path.reordering.degree + 1);
        if segments <= self.buffer.sized_for || self.buffer.is_locked {
            return;
        }
        self.buffer.sized_for = segments;
        // A window that bounds the MSS for now does not bound the buffer.
        let largest = u64::from(self.sizes.mss.max(self.buffer.mss_of_peer));
        let per_segment = (largest + SIZING_HEADER + SIZING_SHARED).next_power_of_two() + SIZING_DESCRIPTOR;
        let wanted = u64::from(self.path.capabilities.send_buffer_windows) * u64::from(segments) * per_segment;
        if wanted > self.buffer.size {
            self.buffer.size = wanted.min(self.buffer.max).max(self.buffer.size);
            self.update_capacity();
        }
    }

    /// Segments have another size, or the buffer has.
    pub(in crate::sender) fn update_capacity(&mut self) {
        let payload = u64::from(self.sizes.segments_a_burst() * self.sizes.mss);
        self.buffer.refill_at = (2 * self.buffer.size / 3 * payload).div_ceil(payload + self.sizes.overhead);
    }

    /// After `burst` new segments: grows the buffer if the window was not full, and lets the application
    /// go on once a third is free. True when there is new data to send.
    ///
    /// Linux looks whenever a buffer has left, so that what fills the window grows the buffer as well, unless it is a single
    /// segment or segmentation burst; but only where the application waits already, not after what leaves while it writes.
    #[inline(always)]
    pub(crate) fn refill_buffer(&mut self, burst: u32) -> bool {
        if !self.buffer.full {
            return false;
        }
        if self.path.in_flight() < self.path.window.cwnd + burst.saturating_sub(1) && !self.is_filled_by_one(burst) {
            if self.has_only_filled(burst) {
                return false;
            }
            self.expand_buffer();
            self.path.usage.stamp = self.clock.jiffies;
        }
        let queued = self.buffer.write_seq - self.snd_una.min(self.buffer.write_seq);
        if queued > self.buffer.refill_at + self.flight.merged() * self.sizes.overhead {
            return false;
        }
        self.refill_by_memory()
    }

    /// The first segmentation burst that has left has filled the window.
    fn is_filled_by_one(&self, burst: u32) -> bool {
        let bursts = self.buffer.bursts.as_ref();
        let rest = |bursts: &Bursts| burst.saturating_sub(bursts.first_segments());
        bursts.is_some_and(|bursts| self.path.in_flight() >= self.path.window.cwnd + rest(bursts))
    }

    /// Since the application began to wait nothing has arrived, and nothing has left but what left while it was writing.
    #[inline(never)]
    fn has_only_filled(&self, burst: u32) -> bool {
        let filled = |(at, una)| una == self.snd_una && (burst == 0 || at == self.clock.now);
        self.buffer.filled.is_some_and(filled)
    }

    /// The application goes on if a third of the buffer is free.
    #[inline(never)]
    fn refill_by_memory(&mut self) -> bool {
        let memory = self.memory();
        if self.buffer.size.saturating_sub(memory) < memory / 2 {
            return false;
        }
        let before = self.buffer.write_seq;
        self.fill_buffer();
        self.buffer.write_seq > before
    }
}

#[cfg(test)]
mod tests {
    use super::{Instant, SendBuffer, Sender};
    use crate::config::Config;
    use crate::congestion;
    use crate::sender::sizes::FullSegment;

    #[test]
    fn the_room_for_more_is_counted_in_segments_of_the_present_size() {
        let config = Config::default();
        let mut sender = Sender::new(&config, congestion::find("reno").expect("it is registered").rule(1));
        sender.negotiate(FullSegment { payload: 1_448, options: 12, mss_of_peer: 1_460 }, true, false);
        sender.on_window(1_448);
        sender.size_buffer();
        // Two thirds of the buffer, of which a segment takes 768 bytes besides its payload.
        assert_eq!((sender.sizes.mss, sender.buffer.size), (724, 46_080));
        assert_eq!(sender.buffer.refill_at, 14_908);
        sender.on_window(1_792);
        assert_eq!((sender.sizes.mss, sender.buffer.refill_at), (896, 16_542));
    }

    #[test]
    fn a_push_point_inside_a_segment_is_not_lost() {
        let mut buffer = SendBuffer::new(16_384, 4_194_304);
        // The first write ended at byte 1,501; the second one filled that segment up to 2,001.
        buffer.push_at(1_501);
        buffer.push_at(5_001);
        let at = Instant::ZERO;
        assert!(!buffer.takes_push(1_001, at));
        assert!(buffer.takes_push(2_001, at));
        assert!(!buffer.takes_push(3_001, at));
        assert!(buffer.takes_push(5_001, at), "points behind an overtaken one still count");
    }

    #[test]
    fn what_is_written_when_the_connection_is_made_did_not_fill_the_path() {
        for (bytes, app_limited) in [(0, 0), (100_000, 1)] {
            let rule = congestion::find("bbr").expect("a rule").rule(1);
            let mut sender = Sender::new(&Config::default(), rule);
            sender.extend(bytes);
            sender.size_buffer();
            assert_eq!(sender.path.delivery.app_limited, app_limited, "{bytes} bytes");
        }
    }

    #[test]
    fn the_buffer_has_twice_the_memory_of_the_windows_segments() {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config::default(), rule);
        sender.sizes.mss = 1_448;
        sender.expand_buffer();
        // Ten segments of 2048 + 256 bytes, twice: the `tb46080` that `ss -m` shows of a new connection.
        assert_eq!(sender.buffer.size, 46_080);
    }

    #[test]
    fn psh_is_on_the_segment_that_goes_beyond_half_of_the_window_and_on_the_last() {
        // skb_push if after(write_seq, pushed_seq + (max_window >> 1)) (tcp_push_pending_frames' forced_push).
        let mut buffer = SendBuffer::new(1 << 20, 1 << 20);
        buffer.write_seq = 10_501;
        buffer.mark_pushes(1_001, 1_000, 4_000);
        let mut pushed = Vec::new();
        for end in (1_001..=10_001).step_by(1_000).chain([10_501]) {
            if buffer.takes_push(end, Instant::ZERO) {
                pushed.push(end);
            }
        }
        assert_eq!(pushed, [3_001, 6_001, 9_001, 10_501]);
        assert_eq!(buffer.pushed(), 10_501);
    }

    #[test]
    fn only_the_last_push_point_is_withdrawn() {
        for (points, end, withdrawn, left) in [
            (&[100][..], 100, true, vec![]),
            (&[100], 99, false, vec![100]),
            (&[100, 200], 200, true, vec![100]),
            (&[100, 200], 100, false, vec![100, 200]),
            (&[100, 200, 300], 300, true, vec![100, 200]),
        ] {
            let mut buffer = SendBuffer::new(1 << 20, 1 << 20);
            points.iter().for_each(|&point| buffer.push_at(point));
            assert_eq!(buffer.unpush(end), withdrawn);
            let found: Vec<u64> = (1..400).filter(|&at| buffer.takes_push(at, Instant::ZERO)).collect();
            assert_eq!(found, left, "{end} of {points:?}");
        }
    }
}
