//! Window probes (RFC 9293, section 3.8.6.1): the peer's window is closed, or too small for the next segment.

use super::{Outgoing, Reason};
use crate::sender::Sender;
use crate::sender::timer::TimerKind;

impl Sender {
    /// The peer's window is closed, or too small for the next segment, and nothing is out.
    pub(super) fn start_window_probe(&mut self) {
        let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
        self.set_timer(TimerKind::WindowProbe, base);
    }

    /// The probe timer fired (RFC 9293, section 3.8.6.1): what fits into the window, or an empty
    /// segment below it that the peer must answer.
    pub(crate) fn on_window_probe_timeout(&mut self) {
        if !self.flight.is_empty() || !self.has_unsent() {
            self.clear_timer();
            return;
        }
        self.transmit.on_window_probe();
        self.path.rtt.backoff += 1;
        let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
        let wait = base.saturating_mul(1 << self.path.rtt.backoff.min(20));
        self.set_timer(TimerKind::WindowProbe, wait);
    }

    /// The segment of a window probe.
    #[cold]
    pub(super) fn window_probe(&mut self) -> Outgoing {
        self.transmit.reason = Reason::Clock;
        let room = self.window_end().saturating_sub(self.snd_nxt);
        let left = self.buffer.write_seq - self.snd_nxt;
        let built = if self.sizes.built_end > self.snd_nxt { self.built_len() } else { u32::MAX };
        let size = left.min(self.sizes.mss.min(built).into());
        let len = room.min(size) as u32;
        if len == 0 {
            return Outgoing { seq: self.snd_una - 1, len: 0, fin: false, push: false, is_new: false };
        }
        // Linux 6.1 pushes it. Of a segment that it splits, the rest stays a segment of its own, and is pushed as well.
        let whole = self.snd_nxt + size;
        let small_end = self.buffer.nagle.small_end();
        self.leave_buffer(u64::from(len));
        let mut outgoing = self.push_new(len, false);
        // No small segment has to wait for it.
        self.buffer.nagle.on_small(small_end);
        outgoing.push = true;
        let at = self.flight.tail().wrapping_sub(1);
        self.flight.push_mark(at);
        if whole > self.snd_nxt {
            if !self.sizes.builds_bursts() {
                self.keep_rest(whole);
            }
            self.buffer.push_next(whole);
        }
        self.close_probe_burst();
        self.set_timer(TimerKind::Retransmit, self.path.rtt.rto);
        outgoing
    }

    /// An ACK while nothing is out: does the window take the next segment now?
    pub(crate) fn on_window_probe_ack(&mut self) {
        if self.timer.kind != TimerKind::WindowProbe {
            return;
        }
        let left = self.buffer.write_seq.saturating_sub(self.snd_nxt);
        if self.window_takes_next(left.min(u64::from(self.sizes.mss))) {
            self.path.rtt.backoff = 0;
            self.clear_timer();
        } else {
            let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
            self.set_timer(TimerKind::WindowProbe, base << self.path.rtt.backoff.min(20));
        }
    }
}
