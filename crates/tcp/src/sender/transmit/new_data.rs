//! New data: what may leave, and in which segments.

use super::Outgoing;
use crate::congestion::CaEvent;
use crate::sender::Sender;
use crate::sender::flight::Sent;
use crate::sender::transmit::send_buffer::Close;

impl Sender {
    /// Anything is or may be waiting to be sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.buffer.write_seq || (self.buffer.close == Close::Made && !self.fin_sent)
    }

    /// First sequence number beyond the peer's window.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        if self.settings.profile.no_receive_window {
            return u64::MAX;
        }
        self.snd_una + u64::from(self.peer.window)
    }

    /// Whether the peer's window takes the next `len` bytes, and the FIN if it follows them: it needs room as well (RFC 9293,
    /// section 3.4).
    #[inline(always)]
    pub(super) fn window_takes_next(&self, len: u64) -> bool {
        let end = self.snd_nxt + len;
        let fin = end == self.buffer.write_seq && self.buffer.close == Close::Made;
        end + u64::from(fin) <= self.window_end()
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, is_probe: bool) -> Option<Outgoing> {
        if !self.has_unsent() {
            return None;
        }
        if self.sizes.builds_bursts()
            && let Some(outgoing) = self.rest_of_burst()
        {
            return Some(outgoing);
        }
        if self.pacing_holds() {
            // The window may be the limit as well, perhaps by what was sent again just now.
            self.transmit.limited_by_cwnd |= self.path.in_flight() >= self.path.window.cwnd;
            return None;
        }
        if self.path.in_flight() >= self.path.window.cwnd && !is_probe && !self.next_is_final() {
            self.transmit.note_limit();
            return None;
        }
        if self.sizes.builds_bursts() {
            return self.send_burst(is_probe);
        }
        let left = self.buffer.write_seq - self.snd_nxt;
        let full = self.sizes.payload();
        let mut len = left.min(u64::from(full)) as u32;
        if self.sizes.built_end > self.snd_nxt {
            len = len.min(self.fill_built(full));
        }
        let last = u64::from(len) == left;
        let fin = last && self.buffer.close == Close::Made;
        if !self.window_takes_next(u64::from(len)) {
            return None;
        }
        if len < full && last && !fin && !is_probe && self.buffer.nagle.holds(self.snd_una, self.flight.is_empty()) {
            return None;
        }
        if last && !fin && !is_probe && self.autocorks(left) {
            return None;
        }
        if self.small_queue_holds(len, 0) {
            return None;
        }
        if len < self.sizes.mss || fin || is_probe {
            return Some(self.push_new(len, fin));
        }
        let outgoing = self.push_new(len, fin);
        self.transmit.ready = self.following(1);
        Some(outgoing)
    }

    /// The next segment carries the FIN: Linux 6.1.192 sends it whatever the congestion window is.
    fn next_is_final(&self) -> bool {
        let left = self.buffer.write_seq - self.snd_nxt;
        !self.settings.profile.fin_waits && self.buffer.close == Close::Made && left <= u64::from(self.sizes.payload())
    }

    /// Number of full segments that may be sent next without another look at the windows and the small queue. `on_way`
    /// segments are not in the host's queue yet.
    #[inline(always)]
    fn following(&self, on_way: u64) -> u32 {
        let path = &self.path;
        let mut segments = u64::from(path.window.cwnd.saturating_sub(path.in_flight()));
        if segments == 0 || !self.sends_at_once() {
            return 0;
        }
        let mss = u64::from(self.sizes.mss);
        // The last segment may not be full, or carry the FIN: it is looked at by itself.
        let data = self.buffer.write_seq.saturating_sub(self.snd_nxt + 1);
        if segments * mss > data {
            segments = data / mss;
        }
        let window = self.window_end().saturating_sub(self.snd_nxt);
        if segments * mss > window {
            segments = window / mss;
        }
        if self.has_small_queue {
            segments = segments.min(self.small_queue_room(on_way));
        }
        segments as u32
    }

    /// After a plain ACK: the full segments that may go out at once. The first one must not have to carry CWR.
    #[inline]
    pub(crate) fn plan_burst(&mut self) {
        if self.path.tally.packets_out() > 0
            && self.sizes.option_len == 0
            && !self.ecn.cwr_due
            && !self.sizes.builds_bursts()
        {
            self.transmit.ready = self.following(0);
        }
    }

    /// Sends one of the segments that [`Sender::has_ready`] announces; returns its sequence number and PSH.
    #[inline]
    pub(crate) fn push_ready(&mut self) -> (u64, bool) {
        self.transmit.ready -= 1;
        let seq = self.snd_nxt;
        debug_assert!(!self.has_paths(), "the segment would have to name its path");
        let mut sent = Sent { seq, len: self.sizes.mss, nic_serial: self.next_nic_serial(), ..Sent::default() };
        self.path.delivery.stamp(&mut sent, self.clock.now_us, false);
        self.snd_nxt = sent.end();
        let push = self.buffer.takes_push(self.snd_nxt, self.clock.now);
        if push {
            sent.flags |= Sent::PUSH;
        }
        self.flight.push(&mut self.path.tally, sent);
        self.transmit.burst += 1;
        self.counters.segments += 1;
        (seq, push)
    }

    #[inline]
    pub(super) fn push_new(&mut self, len: u32, fin: bool) -> Outgoing {
        self.push_new_paced(len, fin, len)
    }

    /// Another segment of the burst that is leaving, which departs as one.
    pub(super) fn push_of_burst(&mut self, len: u32, fin: bool) -> Outgoing {
        let seq = self.snd_nxt;
        // Linux puts PSH on each burst of several segments.
        let push = fin | self.buffer.takes_push(seq + u64::from(len), self.clock.now);
        let sent_us = self.flight.get(self.flight.tail().wrapping_sub(1)).sent_us;
        let is_last = self.ends_burst(len);
        self.keep_new(len, fin, push, !is_last, sent_us);
        Outgoing { seq, len, fin, push: push | is_last, is_new: true }
    }

    /// `paced` bytes count for pacing.
    #[inline]
    pub(super) fn push_new_paced(&mut self, len: u32, fin: bool, paced: u32) -> Outgoing {
        let seq = self.snd_nxt;
        // A FIN without payload has no PSH in Linux 6.1.
        let push = len > 0 && (fin || self.buffer.takes_push(seq + u64::from(len), self.clock.now));
        self.note_start();
        let sent_us = self.pace(paced);
        self.keep_new(len, fin, push, paced > len, sent_us);
        Outgoing { seq, len, fin, push, is_new: true }
    }

    /// Keeps the record of a new segment that was sent at `sent_us`, and whether the next one is of the same burst.
    #[inline]
    fn keep_new(&mut self, len: u32, fin: bool, push: bool, is_joined: bool, sent_us: u64) {
        let seq = self.snd_nxt;
        let mut sent = Sent {
            seq,
            len: len + u32::from(fin),
            nic_serial: self.next_nic_serial(),
            flags: self.path.tally.tag()
                | if fin { Sent::FIN } else { 0 }
                | if push { Sent::PUSH } else { 0 }
                | if is_joined { Sent::JOINED } else { 0 },
            ..Sent::default()
        };
        let (idle, path_idle) = (self.flight.is_empty(), self.path.tally.packets_out() == 0);
        self.path.delivery.stamp(&mut sent, sent_us, path_idle);
        self.snd_nxt = sent.end();
        self.flight.push(&mut self.path.tally, sent);
        if idle && self.buffer.is_written(self.clock.now) {
            self.validate_as_written();
        }
        if len < self.sizes.payload() {
            self.buffer.nagle.on_small(self.snd_nxt);
        }
        self.fin_sent |= fin;
        self.transmit.started_from_idle |= idle;
        self.transmit.burst += 1;
        // A FIN alone is no data segment.
        self.counters.segments += u64::from(len > 0);
    }

    /// Notifies the rule if nothing is in flight before a segment with data is sent.
    #[inline]
    pub(super) fn note_start(&mut self) {
        if self.path.in_flight() == 0 {
            let idle = self.clock.now.saturating_since(self.path.last_sent);
            self.event(CaEvent::TxStart { idle });
        }
    }

    /// The application closes once its last write has returned, which sends what may go: the FIN rides on the last segment
    /// if that is still waiting then, and goes alone if all is sent. True when it closes now.
    #[inline]
    pub(super) fn makes_close(&mut self) -> bool {
        if self.buffer.close != Close::Waits || !self.buffer.is_complete() {
            return false;
        }
        self.buffer.close = Close::Made;
        true
    }

    /// What is in flight does not show the path's limit (`tcp_rate_check_app_limited`).
    pub(crate) fn check_app_limited(&mut self) {
        if self.buffer.write_seq.saturating_sub(self.snd_nxt) < u64::from(self.sizes.mss)
            && self.host_queue_is_empty()
            && self.path.in_flight() < self.path.window.cwnd
            && !self.has_to_resend()
        {
            let in_flight = self.path.in_flight();
            self.path.delivery.mark_app_limited(in_flight);
        }
    }
}
