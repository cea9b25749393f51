//! Segmentation bursts: with TSO the stack hands the NIC several segments at once.
//!
//! What the application writes lies in buffers of up to `tso_max_bytes`, and of no more than half of the peer's largest
//! window; what a later write adds lies in the last one as long as that waits and has room. A burst is of one buffer. It is
//! as long as a millisecond of the pacing rate, longer on short paths, and at most half of the window; what it leaves of
//! its buffer stays one. A burst that the window would cut short may wait for the next ACK, if that is due soon. Segments
//! leave one by one here, back to back.
//!
//! Held beside Linux 6.1.192, whose stack does so without a NIC that has TSO as well (GSO).

use daybreak_units::Duration;

use super::Outgoing;
use super::bursts::Pause;
use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::transmit::send_buffer::Close;

/// RTTs below twice this many powers of two of a microsecond lengthen bursts (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// A burst may wait when a third of the window is not free (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// A flow that has been silent for longer does not wait.
const RECENT: Duration = Duration::from_ms(1);
/// Nor does one whose next ACK is due later than this, or than half of the RTT.
const SOON: Duration = Duration::from_ms(1);

/// The buffer that is next: of one segment at most, it leaves as segments do.
#[derive(Clone, Copy, Debug)]
struct NextBuffer {
    /// Payload.
    len: u64,
    /// Nothing lies behind it.
    is_last: bool,
    /// The FIN follows it.
    fin: bool,
}

impl Sender {
    /// The application writes into buffers, each of which begins while any memory is left, until one is full that leads to
    /// a transmission, or there is no more room, or no more to write.
    pub(super) fn write_buffers(&mut self) {
        let size_goal = self.sizes.full_buffer(self.peer.max_window);
        let half_window = u64::from(self.peer.max_window) / 2;
        let Some(mut bursts) = self.buffer.bursts.take() else { return };
        if bursts.waiting() == 0 && !bursts.is_writing() {
            self.restart_after_idle();
        }
        // What an earlier write of this instant holds back is looked at anew.
        bursts.resume();
        loop {
            let start = self.buffer.write_seq;
            let last = bursts.last_len(self.snd_nxt).filter(|&len| len < size_goal);
            if last.is_none() && self.memory_with(&bursts) >= self.buffer.size() {
                self.buffer.wait_for_room(self.clock.now, self.snd_una, bursts.waiting() > 0);
                break;
            }
            let (end, is_complete) = self.buffer.write_up_to(start + size_goal - last.unwrap_or(0));
            // A write takes the PSH off what an earlier one has left; its own stays at the end.
            if last.is_some() && self.buffer.unpush(start) && bursts.is_writing() {
                self.buffer.keep_push(end);
            }
            bursts.write(end, last.is_some(), is_complete);
            if is_complete {
                self.buffer.return_from_write(self.clock.now);
                if self.autocorks(bursts.last_len(self.snd_nxt).unwrap_or(0)) {
                    bursts.pause_for(Pause::Nothing);
                }
                break;
            }
            if end > self.buffer.pushed() + half_window {
                self.buffer.push_at(end);
                bursts.pause_for(Pause::All);
                break;
            }
            if bursts.waiting() == 1 {
                bursts.pause_for(Pause::One);
                break;
            }
        }
        self.buffer.bursts = Some(bursts);
    }

    /// What a full buffer lets out has left: the write goes on. True if there was one.
    pub(super) fn writes_on(&mut self) -> bool {
        let Some(bursts) = &mut self.buffer.bursts else { return false };
        let goes_on = bursts.resume();
        if goes_on {
            self.write_buffers();
        }
        goes_on
    }

    /// A segment of the burst that is leaving.
    #[inline]
    pub(super) fn rest_of_burst(&mut self) -> Option<Outgoing> {
        let leaving = self.buffer.bursts.as_ref()?.leaving();
        if leaving <= self.snd_nxt {
            return None;
        }
        let len = (leaving - self.snd_nxt).min(u64::from(self.sizes.payload())) as u32;
        let ends = self.snd_nxt + u64::from(len) == self.buffer.write_seq;
        Some(self.push_of_burst(len, ends && self.buffer.close == Close::Made))
    }

    /// The next `len` bytes are the last of the burst that is leaving.
    pub(super) fn ends_burst(&self, len: u32) -> bool {
        self.buffer.bursts.as_ref().is_some_and(|bursts| bursts.leaving() == self.snd_nxt + u64::from(len))
    }

    /// The first segment of the next burst, or the only one. There is data to send, or a FIN.
    pub(super) fn send_burst(&mut self, is_probe: bool) -> Option<Outgoing> {
        let pause = self.buffer.bursts.as_ref().and_then(|bursts| bursts.pause());
        if pause == Some(Pause::Nothing) {
            return None;
        }
        let mss = u64::from(self.sizes.payload());
        if self.settings.profile.filled_segments {
            let most = self.snd_nxt + mss * self.burst_segments();
            if let Some(bursts) = &mut self.buffer.bursts {
                bursts.fill_next(most);
            }
        }
        let next = self.next_buffer();
        let is_one = next.len <= mss;
        let first_end = self.snd_nxt + if is_one { next.len + u64::from(next.fin) } else { mss };
        if first_end > self.window_end() {
            return None;
        }
        let holds = self.buffer.nagle.holds(self.snd_una, self.flight.is_empty());
        if is_one {
            if next.len < mss && next.is_last && !next.fin && !is_probe && holds {
                return None;
            }
        } else {
            let goal = self.burst_goal();
            let is_pushed = is_probe || pause == Some(Pause::One);
            if !is_pushed && self.burst_waits(goal, next) {
                return None;
            }
        }
        let len = if is_one { next.len } else { self.burst_len(next, holds) };
        if len < next.len {
            // It has a buffer of its own, also if the host's queue is too full for it.
            self.split_buffer(len);
        }
        if self.small_queue_holds(len as u32, 0) {
            return None;
        }
        let first = len.min(mss) as u32;
        let fin = next.fin && u64::from(first) == next.len;
        self.leave_buffer(len);
        // The whole burst is paced as one.
        Some(self.push_new_paced(first, fin, len as u32))
    }

    /// The next `len` bytes leave their buffer.
    pub(super) fn leave_buffer(&mut self, len: u64) {
        let left_ns = self.leaves_ns();
        if let Some(bursts) = self.buffer.bursts.as_mut().filter(|_| len > 0) {
            if self.transmit.burst == 0 {
                bursts.begin(len.div_ceil(u64::from(self.sizes.payload())) as u32);
            }
            bursts.send(self.snd_una, self.snd_nxt + len, left_ns);
        }
    }

    fn split_buffer(&mut self, len: u64) {
        if let Some(bursts) = &mut self.buffer.bursts {
            bursts.split(self.snd_nxt + len);
        }
    }

    fn next_buffer(&self) -> NextBuffer {
        let write_seq = self.buffer.write_seq;
        let end = self.buffer.bursts.as_ref().and_then(|bursts| bursts.next_end()).unwrap_or(write_seq);
        let is_last = end == write_seq;
        NextBuffer { len: end - self.snd_nxt, is_last, fin: is_last && self.buffer.close == Close::Made }
    }

    /// Payload of the burst that leaves now (`tcp_mss_split_point`): at most as many whole segments as both windows and the
    /// length of bursts allow. The last bytes of a buffer fill no segment, and go with it unless Nagle holds them back.
    fn burst_len(&self, next: NextBuffer, holds: bool) -> u64 {
        let mss = u64::from(self.sizes.payload());
        let most = mss * self.burst_segments();
        // Each segment names its path when it leaves, if there are several.
        let most = if self.has_paths() { mss } else { most };
        let window = self.window_end() - self.snd_nxt;
        if most <= window && !next.is_last {
            return most.min(next.len);
        }
        let needed = next.len.min(window);
        if most <= needed {
            return most;
        }
        if holds { needed - needed % mss } else { needed }
    }

    /// Full segments of a burst that leaves now.
    fn burst_segments(&self) -> u64 {
        let path = &self.path;
        let half = u64::from((path.window.cwnd / 2).max(1));
        // A probe leaves also where the congestion window has no room, one segment long then.
        let free = u64::from(path.window.cwnd.saturating_sub(path.in_flight())).clamp(1, half);
        free.min(self.burst_goal())
    }

    /// Full segments of the longest burst now.
    pub(super) fn burst_goal(&self) -> u64 {
        let most = u64::from(self.sizes.tso_max_bytes);
        let mut bytes = self.path.window.pacing_rate.as_bytes_per_sec() >> 10;
        let halvings = self.path.min_rtt.get() >> RTT_LOG;
        if halvings < u32::BITS && !self.settings.profile.no_rtt_bursts {
            bytes += most >> halvings;
        }
        let segments = bytes.min(most) / u64::from(self.sizes.payload());
        segments.max(u64::from(self.path.rule.min_tso_segments()))
    }

    /// Whether it is better to wait for an ACK that lets a longer burst go.
    fn burst_waits(&mut self, goal: u64, next: NextBuffer) -> bool {
        let path = &self.path;
        if path.state >= CaState::Recovery || !self.sent_lately() {
            return false;
        }
        let mss = u64::from(self.sizes.mss);
        let by_peer = self.window_end().saturating_sub(self.snd_nxt);
        let by_cwnd = u64::from(path.window.cwnd - path.in_flight()) * mss;
        let room = by_peer.min(by_cwnd);
        if room >= goal * mss || (!next.is_last && room >= next.len) {
            return false;
        }
        let window = u64::from(self.peer.window).min(u64::from(path.window.cwnd) * mss);
        if room >= window / WINDOW_DIVISOR || !self.ack_is_due() {
            return false;
        }
        if by_cwnd < by_peer {
            if by_cwnd <= next.len {
                self.transmit.note_limit();
                return true;
            }
        } else if by_peer <= next.len {
            return true;
        }
        !next.fin
    }

    /// The ACK of what is out longest will be here soon.
    fn ack_is_due(&self) -> bool {
        let Some(first) = self.flight.first() else { return false };
        let srtt_ns = u64::from(self.path.rtt.srtt_x8()) * 125;
        // Its record has whole microseconds. What was sent again has another time than its burst.
        let of_burst = self.buffer.bursts.as_ref().and_then(|bursts| bursts.first_left_ns(self.snd_una));
        let sent_ns = of_burst.filter(|ns| ns / 1_000 == first.sent_us).unwrap_or(first.sent_us * 1_000);
        let due_in_ns = (sent_ns + srtt_ns).saturating_sub(self.clock.now.as_ns());
        let soon_ns = if self.settings.profile.tick_bursts { u64::MAX } else { SOON.as_ns() };
        due_in_ns <= (srtt_ns / 2).min(soon_ns)
    }

    /// Otherwise no burst waits.
    fn sent_lately(&self) -> bool {
        if self.settings.profile.tick_bursts {
            return self.transmit.last_sent_jiffies() == self.clock.jiffies;
        }
        self.clock.now.saturating_since(self.path.pacing.departure) <= RECENT
    }
}

#[cfg(test)]
mod tests;
