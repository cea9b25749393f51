//! Segmentation bursts: with TSO the stack hands the NIC several segments at once.
//!
//! A burst is as long as a millisecond of the pacing rate, longer on short paths, at most
//! `tso_max_bytes`, and at most half of the window. A burst that the window would cut short may wait
//! for the next ACK, if that is due soon. Segments still leave one by one here, back to back.

use daybreak_units::Duration;

use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::transmit::send_buffer::Close;

/// RTTs below twice this many powers of two of a microsecond lengthen bursts (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// A burst may wait when a third of the window is not free (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// A flow that has been silent for longer does not wait.
const RECENT: Duration = Duration::from_ms(1);

impl Sender {
    /// Full segments of the longest burst now.
    fn burst_goal(&self) -> u64 {
        let most = u64::from(self.sizes.tso_max_bytes);
        let mut bytes = self.path.window.pacing_rate.as_bytes_per_sec() >> 10;
        let halvings = self.path.min_rtt.get() >> RTT_LOG;
        if halvings < u32::BITS {
            bytes += most >> halvings;
        }
        let segments = bytes.min(most) / u64::from(self.sizes.mss);
        segments.max(u64::from(self.path.rule.min_tso_segments()))
    }

    /// Full segments of the burst that may leave now; `None` when it waits. There is at least one
    /// full segment to send, and room for it.
    pub(crate) fn next_burst(&mut self) -> Option<u32> {
        let goal = self.burst_goal();
        if self.burst_waits(goal) {
            return None;
        }
        let mss = u64::from(self.sizes.mss);
        let path = &self.path;
        let half = u64::from((path.window.cwnd / 2).max(1));
        let quota = u64::from(path.window.cwnd - path.in_flight()).min(half);
        let data = (self.buffer.write_seq - self.snd_nxt) / mss;
        let window = (self.window_end() - self.snd_nxt) / mss;
        // A FIN ends a burst: the segment that carries it is looked at by itself.
        let fin = self.buffer.close == Close::Made && (self.buffer.write_seq - self.snd_nxt).is_multiple_of(mss);
        let data = data - u64::from(fin && data > 1);
        Some(goal.min(quota).min(data).min(window).max(1) as u32)
    }

    /// Whether it is better to wait for an ACK that lets a longer burst go.
    fn burst_waits(&mut self, goal: u64) -> bool {
        let path = &self.path;
        if path.state >= CaState::Recovery || self.clock.now.saturating_since(path.pacing.departure) > RECENT {
            return false;
        }
        let mss = u64::from(self.sizes.mss);
        let by_peer = self.window_end().saturating_sub(self.snd_nxt);
        let by_cwnd = u64::from(path.window.cwnd - path.in_flight()) * mss;
        let room = by_peer.min(by_cwnd);
        let window = u64::from(self.peer.window).min(u64::from(path.window.cwnd) * mss);
        if room >= goal * mss || room >= window / WINDOW_DIVISOR {
            return false;
        }
        let Some(first) = self.flight.first() else { return false };
        let age_us = self.clock.now_us.saturating_sub(first.sent_us);
        if age_us < u64::from(path.rtt.srtt_x8() >> 4) {
            return false;
        }
        let unsent = self.buffer.write_seq - self.snd_nxt;
        let length = unsent.min(goal * mss);
        if by_cwnd < by_peer {
            if by_cwnd <= length {
                self.transmit.note_limit();
                return true;
            }
        } else if by_peer <= length {
            return true;
        }
        !(self.buffer.close == Close::Made && unsent <= length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    fn sender() -> Sender {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config { tso_max_bytes: 65_343, ..Config::default() }, rule);
        sender.sizes.mss = 1_448;
        sender
    }

    #[test]
    fn the_longest_burst_is_of_whole_segments() {
        assert_eq!(sender().sizes.segments_a_burst(), 45, "45 * 1448 = 65160");
    }

    #[test]
    fn the_shorter_the_path_the_longer_the_burst() {
        // Not paced, so that the path alone counts: half as long for each 512 us.
        for (rtt_us, segments) in [(0, 45), (511, 45), (512, 22), (1_024, 11), (5 * 512, 2), (32 * 512, 2)] {
            let mut sender = sender();
            sender.path.min_rtt.sample(0, rtt_us);
            assert_eq!(sender.burst_goal(), segments, "a minimum RTT of {rtt_us} us");
        }
    }
}
