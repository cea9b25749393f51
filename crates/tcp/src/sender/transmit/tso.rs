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
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;
    use crate::sender::Opening;
    use crate::sender::sizes::FullSegment;
    use daybreak_units::Instant;

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
            sender.settings.profile.no_rtt_bursts = true;
            assert_eq!(sender.burst_goal(), 2);
        }
    }

    #[test]
    fn older_bursts_wait_within_a_tick() {
        // 4 ms of ticks: what left 3 ms ago in this tick is recent, what left 1 ms ago in the one before is not.
        for (tick_bursts, sent_ms, now_ms, waits) in
            [(false, 4, 7, false), (true, 4, 7, true), (false, 7, 8, true), (true, 7, 8, false)]
        {
            let rule = congestion::find("reno").expect("a rule").rule(1);
            let config = Config { tso_max_bytes: 65_343, jiffy: Duration::from_ms(4), ..Config::default() };
            let mut sender = Sender::new(&config, rule);
            sender.settings.profile.tick_bursts = tick_bursts;
            let at = |ms| Instant::ZERO + Duration::from_ms(ms);
            sender.clock.advance(at(sent_ms));
            sender.transmit.start(sender.clock.jiffies);
            sender.path.pacing.departure = at(sent_ms);
            sender.clock.advance(at(now_ms));
            assert_eq!(sender.sent_lately(), waits, "sent at {sent_ms} ms, now {now_ms}");
        }
    }

    /// A sender whose peer offers a window of 63,360 bytes, of which half is 31,680.
    fn writer(mss: u32, tso_max_bytes: u32, limit: Option<u64>) -> Sender {
        let config = Config { tso_max_bytes, limit_output_bytes: limit, ..Config::default() };
        let mut sender = Sender::new(&config, congestion::find("reno").expect("a rule").rule(1));
        sender.negotiate(FullSegment { payload: mss, options: 12, mss_of_peer: mss + 12 }, true, false);
        sender.begin(Instant::ZERO);
        sender.on_window(63_360);
        let window = 63_360;
        sender.start(Opening { syn_retransmits: 0, rtt_us: Some(53_000), is_client: true, window });
        sender
    }

    /// Ends of the segments that leave, in segments, those with PSH apart.
    fn ends(sender: &mut Sender) -> (Vec<u64>, Vec<u64>) {
        let mss = u64::from(sender.sizes.mss);
        let (mut plain, mut pushed) = (Vec::new(), Vec::new());
        while let Some(out) = sender.next_outgoing() {
            sender.on_nic_queued(out.len + 52);
            let list = if out.push { &mut pushed } else { &mut plain };
            list.push((out.seq - 1 + u64::from(out.len)).div_ceil(mss));
        }
        (plain, pushed)
    }

    /// Linux 6.1.192 sends so at the start of scenario 57 of `--wide --random 60 --seed 79` with buffers of 16,384 bytes: they
    /// hold three segments, of which two are a burst; the third is filled up again. The ninth is the end of a buffer that is
    /// pushed, since more than half of the window was written; the tenth is all that the congestion window has room for.
    #[test]
    fn while_the_application_writes_each_full_buffer_lets_a_burst_go() {
        let mut sender = writer(4_300, 16_191, None);
        sender.write(Instant::ZERO, 1_000_000);
        assert_eq!(ends(&mut sender), (vec![1, 3, 5, 7, 10], vec![2, 4, 6, 8, 9]));
    }

    /// `tcp_grow_skb`, since Linux 6.10: what an earlier burst has left of a buffer is filled from the next one.
    #[test]
    fn later_stacks_fill_a_buffer_from_the_next_before_it_leaves() {
        for (fills, ends) in [(false, vec![6, 10]), (true, vec![9, 18])] {
            let mut sender = writer(1_440, 65_343, None);
            sender.settings.profile.filled_segments = fills;
            sender.path.min_rtt.sample(0, 100);
            sender.write(Instant::ZERO, 20 * 1_440);
            let bursts = sender.buffer.bursts.as_mut().expect("it builds bursts");
            bursts.split(1 + 10 * 1_440);
            bursts.split(1 + 6 * 1_440);
            sender.path.window.cwnd = 18;
            let mut left = Vec::new();
            for _ in 0..2 {
                while sender.rest_of_burst().is_some() {}
                let out = sender.send_burst(false).expect("the window has room");
                assert!(out.is_new);
                let bursts = sender.buffer.bursts.as_ref().expect("it builds bursts");
                left.push((bursts.leaving() - 1) / 1_440);
            }
            assert_eq!(left, ends, "fills: {fills}");
        }
    }

    #[test]
    fn a_segment_is_pushed_where_half_a_window_lies_behind_the_last_that_was() {
        // `forced_push`: half of the window is 22 segments. So the 23rd is pushed, and the 23rd behind it, and each ends a
        // burst that would have been of two segments.
        let mut sender = writer(1_440, 7_999, None);
        sender.set_buffer(90_000);
        (sender.peer.window, sender.path.window.cwnd) = (200_000, 60);
        sender.write(Instant::ZERO, 1_000_000);
        let (_, pushed) = ends(&mut sender);
        let alone: Vec<u64> = pushed.iter().copied().filter(|end| pushed.contains(&(end - 1))).collect();
        assert_eq!((alone, pushed.len()), (vec![23, 46], 31));
    }

    #[test]
    fn a_burst_that_the_hosts_queue_holds_back_has_been_cut_off() {
        let mut sender = writer(1_440, 7_999, Some(6_000));
        sender.write(Instant::ZERO, 1_000_000);
        assert_eq!(ends(&mut sender), (vec![1, 3], vec![2, 4]));
        let bursts = sender.buffer.bursts.as_mut().expect("it builds bursts");
        assert_eq!(bursts.next_end(), Some(1 + 6 * 1_440));
        bursts.send(1, 1 + 6 * 1_440, 0);
        assert_eq!(bursts.next_end(), Some(1 + 11 * 1_440), "what lies behind it has been filled up");
    }

    /// `tcp_rtx_queue_empty_or_single_skb`: the second burst does not wait for the host's queue, the third one does.
    #[test]
    fn a_burst_leaves_however_full_the_hosts_queue_is_while_another_one_alone_is_out() {
        let mut sender = writer(1_440, 65_343, Some(5_150));
        sender.path.min_rtt.sample(0, 100);
        sender.path.window.cwnd = 12;
        sender.write(Instant::ZERO, 1_000_000);
        assert_eq!(ends(&mut sender), (vec![1, 2, 3, 4, 5, 7, 8, 9, 10, 11], vec![6, 12]));
        sender.path.window.cwnd = 24;
        sender.look_for_lost();
        assert_eq!(ends(&mut sender), (vec![], vec![]));
    }

    #[test]
    fn what_the_peers_window_cuts_off_leaves_although_it_fills_no_segment() {
        let mut sender = writer(1_440, 65_343, None);
        sender.peer.window = 5_000;
        sender.write(Instant::ZERO, 30_000);
        let mut sent = Vec::new();
        while let Some(out) = sender.next_outgoing() {
            sent.push(out.len);
        }
        assert_eq!(sent, [1_440, 1_440, 1_440, 680]);
    }

    #[test]
    fn a_write_is_corked_or_leaves_as_a_whole() {
        // Nothing is out: no part of a write waits for more. Its last 100 bytes wait for the small queue.
        let mut sender = writer(1_440, 7_999, Some(1 << 20));
        sender.write(Instant::ZERO, 4 * 1_440 + 100);
        assert_eq!(ends(&mut sender), (vec![1, 3], vec![2, 4]));
        (0..4).for_each(|_| sender.on_nic_freed(Instant::ZERO, 1_492));
        assert_eq!(ends(&mut sender), (vec![], vec![5]));
        // The host's queue holds 868 bytes of memory: a write of 100 waits for more, or for a departure, one of 101 does not.
        for (bytes, corks) in [(101, false), (100, true)] {
            let mut sender = writer(1_440, 7_999, Some(1 << 20));
            sender.buffer.nagle.set_nodelay(true);
            sender.write(Instant::ZERO, 100);
            ends(&mut sender);
            sender.write(Instant::ZERO, bytes);
            assert_eq!(ends(&mut sender).1.is_empty(), corks, "{bytes}");
        }
    }

    /// At `now_us`, with ten segments out since the start and an RTT of 53 ms.
    fn ten_out(now_us: u64) -> Sender {
        ten_out_with(writer(1_440, 65_343, None), now_us)
    }

    /// The same in two bursts of five, which are half of the window.
    fn two_bursts_out(now_us: u64) -> Sender {
        let mut sender = writer(1_440, 65_343, None);
        sender.path.min_rtt.sample(0, 100);
        ten_out_with(sender, now_us)
    }

    fn ten_out_with(mut sender: Sender, now_us: u64) -> Sender {
        sender.write(Instant::ZERO, 1_000_000);
        ends(&mut sender);
        assert_eq!(sender.path.in_flight(), 10);
        let now = Instant::ZERO + Duration::from_us(now_us);
        sender.clock.advance(now);
        sender.path.pacing.departure = now;
        sender
    }

    #[test]
    fn a_burst_waits_for_an_ack_that_is_due_within_a_millisecond() {
        // Older stacks wait for half of the RTT.
        for (now_us, is_due, of_older_stacks) in
            [(26_499, false, false), (26_500, false, true), (51_999, false, true), (52_000, true, true)]
        {
            let mut sender = ten_out(now_us);
            assert_eq!(sender.ack_is_due(), is_due, "{now_us} us");
            sender.settings.profile.tick_bursts = true;
            assert_eq!(sender.ack_is_due(), of_older_stacks, "{now_us} us");
        }
    }

    #[test]
    fn an_ack_is_due_to_the_nanosecond() {
        // The first burst left 933 ns after the microsecond of its record.
        for (now_ns, is_due) in [(26_500_932, false), (26_500_933, true)] {
            let mut sender = writer(1_440, 65_343, None);
            sender.settings.profile.tick_bursts = true;
            sender.clock.advance(Instant::from_ps(933_000));
            sender.write(Instant::from_ps(933_000), 1_000_000);
            ends(&mut sender);
            sender.clock.advance(Instant::from_ps(now_ns * 1_000));
            assert_eq!(sender.ack_is_due(), is_due, "{now_ns} ns");
        }
    }

    #[test]
    fn the_burst_with_the_tenth_segment_is_the_first_that_is_paced() {
        let mut sender = writer(1_440, 65_343, None);
        sender.path.window.is_paced = true;
        sender.path.window.pacing_rate = daybreak_units::Rate::from_bytes_per_sec(1_000_000);
        for (segments, sent, departure_us) in [(5, 4, 0), (5, 5, 7_200)] {
            sender.path.pacing.departure = Instant::ZERO;
            sender.counters.segments = sent;
            sender.pace(segments * 1_440);
            assert_eq!(sender.path.pacing.departure, Instant::ZERO + Duration::from_us(departure_us), "after {sent}");
        }
    }

    #[test]
    fn what_fills_the_window_grows_the_buffer_unless_it_is_one_burst() {
        for (bursts, grows) in [(&[4][..], false), (&[2, 2][..], true), (&[1, 3][..], true)] {
            let mut sender = ten_out(1_000);
            let before = sender.buffer.size();
            sender.snd_una += 1_440;
            sender.path.window.cwnd = 14;
            for &segments in bursts {
                sender.leave_buffer(segments * 1_440);
                for _ in 0..segments {
                    sender.push_new(1_440, false);
                }
            }
            assert_eq!((sender.path.in_flight(), sender.buffer.is_full()), (14, true));
            sender.refill_buffer(4);
            assert_eq!(sender.buffer.size() > before, grows, "{bursts:?}");
        }
    }

    /// Two bursts of five segments, of which those up to `sacked` are lost, and the others SACKed.
    fn lost_up_to(sacked: u32) -> Sender {
        let mut sender = two_bursts_out(60_000);
        for at in 0..10 {
            if at < sacked {
                sender.flight.mark_lost(&mut sender.path.tally, at);
            } else {
                sender.flight.sack(&mut sender.path.tally, at);
            }
        }
        sender.look_for_lost();
        sender
    }

    /// Segments of the retransmissions that leave, and whether each has PSH.
    fn sent_again(sender: &mut Sender) -> Vec<(u64, bool)> {
        let mut sent = Vec::new();
        while let Some(out) = sender.next_outgoing().filter(|out| !out.is_new) {
            sent.push(((out.seq - 1) / 1_440, out.push));
        }
        sent
    }

    #[test]
    fn a_burst_that_is_lost_is_sent_again_as_one() {
        // PSH is on the last segment of a burst, also where a SACK block has parted it; what is alone has its own.
        let mut sender = lost_up_to(8);
        assert_eq!(
            sent_again(&mut sender),
            [(0, false), (1, false), (2, false), (3, false), (4, true), (5, false), (6, false), (7, true)]
        );
        assert_eq!(sent_again(&mut lost_up_to(1)), [(0, false)]);
    }

    #[test]
    fn a_burst_that_is_sent_again_is_paced_as_one_and_cut_by_the_window() {
        let mut sender = lost_up_to(8);
        sender.path.window.cwnd = 3;
        sender.path.window.is_paced = true;
        sender.path.window.pacing_rate = daybreak_units::Rate::from_bytes_per_sec(10_000_000);
        let (now, memory) = (sender.clock.now, sender.memory());
        assert_eq!(sent_again(&mut sender), [(0, false), (1, false), (2, true)]);
        // 3 * 1440 bytes at 10 MB/s.
        assert_eq!(sender.path.pacing.departure, now + Duration::from_us(432));
        assert_eq!(sender.memory(), memory + sender.sizes.overhead, "the rest has a buffer of its own");
        sender.path.window.cwnd = 7;
        sender.path.window.is_paced = false;
        sender.look_for_lost();
        assert_eq!(sent_again(&mut sender), [(3, false), (4, true), (5, false), (6, true)]);
    }

    #[test]
    fn the_peers_window_cuts_a_burst_that_is_sent_again() {
        let mut sender = lost_up_to(8);
        sender.peer.window = 3 * 1_440 + 500;
        assert_eq!(sent_again(&mut sender)[..3], [(0, false), (1, false), (2, true)]);
    }

    #[test]
    fn a_timeout_and_a_probe_send_one_segment_of_a_burst_again() {
        let mut sender = lost_up_to(10);
        sender.transmit.on_timeout();
        assert_eq!(sent_again(&mut sender), [(0, false)]);
        sender.look_for_lost();
        sender.path.window.cwnd = 4;
        assert_eq!(sent_again(&mut sender), [(1, false), (2, false), (3, true)], "it is apart from the others");
        let mut sender = two_bursts_out(60_000);
        sender.peer.window = 10 * 1_440;
        sender.transmit.on_loss_probe();
        assert_eq!(sent_again(&mut sender), [(9, false)]);
        for at in 5..10 {
            sender.flight.mark_lost(&mut sender.path.tally, at);
        }
        sender.look_for_lost();
        assert_eq!(sent_again(&mut sender), [(5, false), (6, false), (7, false), (8, true), (9, false)]);
    }

    #[test]
    fn a_timeout_takes_the_whole_first_burst_to_be_lost_however_recent_it_is() {
        let mut sender = two_bursts_out(60_000);
        sender.path.rack.rtt_us = 100_000;
        sender.on_rto();
        let lost = (0..10).filter(|&at| sender.flight.get(at).has(crate::sender::flight::Sent::LOST)).count();
        assert_eq!(lost, 5);
    }

    #[test]
    fn a_buffer_that_is_sacked_in_part_takes_the_memory_of_its_pieces() {
        let mut sender = two_bursts_out(60_000);
        let whole = sender.memory();
        // Of two bursts of five the second to fourth segment: three pieces of the first. Then all but the first segment: one
        // piece of what is SACKed.
        (1..4).for_each(|at| sender.flight.sack(&mut sender.path.tally, at));
        (2..4).for_each(|at| sender.flight.shift(at, 1));
        assert_eq!(sender.memory(), whole + 2 * sender.sizes.overhead);
        (4..10).for_each(|at| {
            sender.flight.sack(&mut sender.path.tally, at);
            sender.flight.shift(at, 1);
        });
        assert_eq!(sender.memory(), whole);
    }

    #[test]
    fn a_buffer_that_the_window_has_room_for_waits_only_at_the_end() {
        let mut sender = ten_out(52_500);
        sender.path.window.cwnd = 12;
        for (segments, is_last, waits) in [(2, false, false), (2, true, true), (3, false, true)] {
            let next = NextBuffer { len: segments * 1_440, is_last, fin: false };
            assert_eq!(sender.burst_waits(10, next), waits, "{segments} segments, last: {is_last}");
        }
    }
}
