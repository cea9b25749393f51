//! Retransmissions: the lowest lost segment first, in one piece or in more.

use super::{Outgoing, Reason};
use crate::sender::Sender;
use crate::sender::flight::Sent;
use crate::sender::timer::TimerKind;

/// Half a second: the wait for local resources.
const RESOURCE_PROBE_MS: u64 = 500;

impl Sender {
    /// What is lost may be sent again. Linux 6.1 goes through what is in flight for it, whether or not anything is lost, and
    /// before each segment looks at pacing, whose timer then starts.
    pub(in crate::sender) fn look_for_lost(&mut self) {
        self.transmit.allow_lost();
        self.look_at_pacing_from(self.flight.head());
    }

    /// The walk through what is in flight comes to the segment at `at`, if there is one.
    fn look_at_pacing_from(&mut self, at: u32) {
        if at != self.flight.tail() && !self.has_paths() {
            self.pacing_holds();
        }
    }

    /// The lowest segment that is lost and not yet sent again, if the window has room.
    #[cold]
    pub(super) fn retransmit_lost(&mut self) -> Option<Outgoing> {
        if self.sizes.builds_bursts()
            && let Some(outgoing) = self.rest_again()
        {
            return Some(outgoing);
        }
        // The timeout always sends its segment.
        let forced = self.transmit.reason == Reason::Timeout;
        if !forced && (self.pacing_holds() || self.path.in_flight() >= self.path.window.cwnd) {
            return None;
        }
        // Also where the timeout before this one has been undone, and so the first segment is out twice.
        let next = if forced { Some(self.flight.head()) } else { self.flight.next_lost() };
        let Some(at) = next else {
            debug_assert!(false, "a lost segment is below the retransmission cursor");
            return None;
        };
        let sent = *self.flight.get(at);
        if !forced && self.path.fack.reach.is_some_and(|reach| sent.seq > reach) {
            return None;
        }
        let burst = if self.sizes.builds_bursts() { self.flight.burst_from(at) } else { 1 };
        if !forced && self.small_queue_holds(sent.len * burst, 1) {
            return None;
        }
        let is_queued = self.is_in_host_queue(sent.nic_serial);
        if !is_queued && !self.fits_window(at) {
            return None;
        }
        if is_queued {
            if forced {
                self.transmit.finish_timeout();
                self.set_timer_unpaced(TimerKind::Retransmit, self.clock.jiffies_in(RESOURCE_PROBE_MS * 1_000));
            }
            return None;
        }
        let segments = if forced { 1 } else { self.burst_again(at, burst) };
        if burst > 1 {
            self.cut_buffer(at.wrapping_add(segments - 1));
        }
        if forced {
            self.transmit.finish_timeout();
        }
        let mut outgoing = self.send_again(at, segments);
        outgoing.push &= segments == 1;
        self.note_resent(at, sent.path());
        // A timeout has set the timer itself.
        if at == self.flight.head() && self.timer.kind != TimerKind::Reorder && !forced {
            self.set_timer(TimerKind::Retransmit, self.path.rtt.rto);
        }
        let next = at.wrapping_add(1);
        match &mut self.buffer.bursts {
            Some(bursts) if segments > 1 => bursts.follow_with(next, segments - 1),
            _ if !forced => self.look_at_pacing_from(next),
            _ => {}
        }
        Some(outgoing)
    }

    /// Another segment of the burst that is being sent again, which departs as one, with PSH on its last.
    fn rest_again(&mut self) -> Option<Outgoing> {
        let (at, left) = self.buffer.bursts.as_mut()?.next_again()?;
        let sent_us = self.flight.get(at.wrapping_sub(1)).sent_us;
        let mut outgoing = self.send_again_at(at, sent_us);
        outgoing.push = left == 1;
        self.note_resent(at, self.flight.get(at).path());
        let next = at.wrapping_add(1);
        if left == 1 {
            self.look_at_pacing_from(next);
        } else if let Some(bursts) = &mut self.buffer.bursts {
            bursts.follow_with(next, left - 1);
        }
        Some(outgoing)
    }

    /// The segment at `at`, of the path with this tag, has been sent again.
    fn note_resent(&mut self, at: u32, path: u16) {
        self.flight.mark_resent(&mut self.path.tally, at);
        self.paths.get(&mut self.path, path).undo.count_retransmission(self.clock.timestamp);
        if self.path.in_cwnd_reduction() {
            self.path.prr.out += 1;
        }
    }

    /// How many of the `burst` segments from the one at `at` on are sent again as one: as many as both windows and the length
    /// of bursts allow.
    fn burst_again(&self, at: u32, burst: u32) -> u32 {
        if burst == 1 {
            return 1;
        }
        let path = &self.path;
        let free = u64::from(path.window.cwnd.saturating_sub(path.in_flight()));
        let most = free.min(self.burst_goal()).min(u64::from(burst)) as u32;
        let end = self.window_end();
        let fits = |n: &u32| self.flight.get(at.wrapping_add(*n)).end() <= end;
        1 + (1..most).take_while(fits).count() as u32
    }

    /// What is behind the segment at `at` gets a buffer of its own.
    pub(super) fn cut_buffer(&mut self, at: u32) {
        if self.flight.cut_behind(at)
            && let Some(bursts) = &mut self.buffer.bursts
        {
            bursts.cut(self.flight.get(at).end());
        }
    }

    /// Whether some of the segment at `at` lies within the peer's window, which may have shrunk since it was sent. What lies
    /// beyond is split off. The first segment of all is sent again in any case: then it probes the window.
    pub(super) fn fits_window(&mut self, at: u32) -> bool {
        let sent = *self.flight.get(at);
        let start = sent.seq.max(self.snd_una);
        let mss = self.sizes.payload();
        let room = self.window_end().saturating_sub(start);
        if room == 0 && start != self.snd_una {
            return false;
        }
        let room = if room == 0 { u64::from(mss) } else { room };
        let payload = (sent.end() - start) as u32 - u32::from(sent.has(Sent::FIN));
        let most = u64::from(mss).min(room) as u32;
        if payload > most {
            let path = self.paths.get(&mut self.path, sent.path());
            self.flight.split(&mut path.tally, at, (start - sent.seq) as u32 + most);
        } else if payload < most {
            self.join_following(at, most - payload);
        }
        true
    }

    /// Small segments that follow the one at `at` are sent again with it, up to `room` bytes, whether they are lost or not
    /// (`tcp_retrans_collapse`).
    #[inline(never)]
    fn join_following(&mut self, at: u32, mut room: u32) {
        loop {
            let next = at.wrapping_add(1);
            if next == self.flight.tail() || self.flight.get(at).has(Sent::FIN) {
                return;
            }
            let sent = *self.flight.get(next);
            let payload = sent.len - u32::from(sent.has(Sent::FIN));
            let stays = sent.has(Sent::SACKED | Sent::JOINED) || self.is_in_host_queue(sent.nic_serial);
            if stays || payload > room || sent.end() > self.window_end() {
                return;
            }
            room -= payload;
            let path = self.paths.get(&mut self.path, sent.path());
            self.flight.collapse(&mut path.tally, at, self.sack_permitted);
        }
    }

    /// Sends the segment at `at` again, the first of a burst of `segments`, which is paced as one.
    pub(super) fn send_again(&mut self, at: u32, segments: u32) -> Outgoing {
        self.flight.trim(at, self.snd_una);
        let payload = |at: u32| {
            let sent = self.flight.get(at);
            sent.len - u32::from(sent.has(Sent::FIN))
        };
        let paced = (0..segments).map(|n| payload(at.wrapping_add(n))).sum();
        self.take_over(at);
        self.note_start();
        let sent_us = self.pace(paced);
        self.send_again_at(at, sent_us)
    }

    /// Sends the segment at `at` again, which leaves at `sent_us`.
    fn send_again_at(&mut self, at: u32, sent_us: u64) -> Outgoing {
        let payload = {
            let sent = self.flight.get(at);
            sent.len - u32::from(sent.has(Sent::FIN))
        };
        let serial = self.next_nic_serial();
        let delivery = &mut self.path.delivery;
        let record = self.flight.send_again(at, serial, self.snd_nxt, |record| delivery.stamp(record, sent_us, false));
        let outgoing = Outgoing {
            seq: record.seq,
            len: payload,
            fin: record.has(Sent::FIN),
            push: record.has(Sent::PUSH),
            is_new: false,
        };
        if self.settings.profile.fack {
            self.path.fack.on_sent_again(self.snd_nxt, record.retransmission);
        }
        self.counters.retransmits += 1;
        self.counters.segments += u64::from(payload > 0);
        self.note_sent();
        outgoing
    }
}
