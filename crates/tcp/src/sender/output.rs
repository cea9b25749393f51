//! What may be sent now: retransmissions, new data, probes.

use super::Sender;
use super::queue::Sent;
use super::resend::Resend;
use super::send_buffer::Close;
use super::timer::TimerKind;
use crate::congestion::CaEvent;

/// Half a second: the wait for local resources.
const RESOURCE_PROBE_MS: u64 = 500;

/// A segment that is to go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub seq: u64,
    /// Payload.
    pub len: u32,
    pub fin: bool,
    pub push: bool,
    /// New data, which may be marked ECN-capable (RFC 3168, section 6.1.5).
    pub is_new: bool,
}

/// What goes before all else that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// A tail loss probe: the timer fired, and one segment may leave although the window is full.
    LossProbe,
    /// A window probe. Nothing is out then.
    WindowProbe,
    /// What another path than the present one has lost.
    LostElsewhere,
}

impl Sender {
    /// The next segment that may leave now. Call until `None`, which ends the burst: it validates the
    /// window and sets the timers.
    #[inline(always)]
    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        if self.due != Due::Nothing
            && let Some(outgoing) = self.send_due()
        {
            return Some(outgoing);
        }
        if self.path.lost_out > self.path.retrans_out
            && let Some(outgoing) = self.retransmit_lost()
        {
            return Some(outgoing);
        }
        if self.resend.is_of_a_timer() {
            return None;
        }
        if let Some(outgoing) = self.send_new(false) {
            return Some(outgoing);
        }
        self.end_burst()
    }

    /// What is seldom due.
    #[cold]
    fn send_due(&mut self) -> Option<Outgoing> {
        match self.due {
            Due::LossProbe => self.send_loss_probe(),
            Due::WindowProbe => Some(self.window_probe()),
            Due::LostElsewhere if self.is_lost_elsewhere() => self.retransmit_lost(),
            Due::Nothing | Due::LostElsewhere => {
                self.due = Due::Nothing;
                None
            }
        }
    }

    /// The application has written or closed: new data is looked at, also after a timer.
    pub(crate) fn push_pending(&mut self) {
        if self.resend.is_of_a_timer() {
            self.resend = Resend::Lost;
        }
    }

    /// Anything is or may be waiting to be sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.buffer.write_seq || (self.buffer.close == Close::Made && !self.fin_sent)
    }

    /// First sequence number beyond the peer's window.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        self.snd_una + u64::from(self.snd_wnd)
    }

    #[inline(always)]
    fn send_new(&mut self, is_probe: bool) -> Option<Outgoing> {
        if !self.has_unsent() {
            return None;
        }
        if self.pacing_holds() {
            // The window may be the limit as well, perhaps by what was sent again just now.
            self.limited_by_cwnd |= self.path.in_flight() >= self.path.window.cwnd;
            return None;
        }
        if self.path.in_flight() >= self.path.window.cwnd && !is_probe && !self.next_is_final() {
            self.limited_by_cwnd = true;
            return None;
        }
        let left = self.buffer.write_seq - self.snd_nxt;
        let full = self.mss - self.option_len;
        let mut len = left.min(u64::from(full)) as u32;
        if self.built_end > self.snd_nxt {
            len = len.min(self.built_len());
        }
        let last = u64::from(len) == left;
        let fin = last && self.buffer.close == Close::Made;
        if self.snd_nxt + u64::from(len) > self.window_end() {
            return None;
        }
        if len < full && last && !fin && !is_probe && self.nagle_holds() {
            return None;
        }
        if self.small_queue_holds(len, 0) {
            return None;
        }
        if len < self.mss || fin || is_probe {
            return Some(self.push_new(len, fin));
        }
        if self.builds_bursts() {
            // Each segment names its path when it leaves, if there are several.
            let segments = self.next_burst()?.min(if self.has_paths() { 1 } else { u32::MAX });
            // The whole burst is paced as one.
            let outgoing = self.push_new_paced(len, fin, len * segments);
            self.ready = segments - 1;
            return Some(outgoing);
        }
        let outgoing = self.push_new(len, fin);
        self.ready = self.following(1);
        Some(outgoing)
    }

    /// The next segment carries the FIN: Linux sends it whatever the congestion window says.
    fn next_is_final(&self) -> bool {
        let left = self.buffer.write_seq - self.snd_nxt;
        self.buffer.close == Close::Made && left <= u64::from(self.mss - self.option_len)
    }

    /// How many full segments may follow what was just sent, for the same reasons: `on_way` segments
    /// of it are not in the host's queue yet.
    #[inline(always)]
    fn following(&self, on_way: u64) -> u32 {
        let path = &self.path;
        let mut segments = u64::from(path.window.cwnd.saturating_sub(path.in_flight()));
        if segments == 0 || path.one_by_one || self.built_end > self.snd_nxt || !self.fast_path.is_on() {
            return 0;
        }
        let mss = u64::from(self.mss);
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

    /// After a plain ACK: the full segments that may go out at once. The first one must not have to say CWR.
    #[inline]
    pub(crate) fn plan_burst(&mut self) {
        if self.path.packets_out > 0 && self.option_len == 0 && !self.ecn.cwr_due && !self.builds_bursts() {
            self.ready = self.following(0);
        }
    }

    /// The first segment of a burst is about to go.
    #[inline]
    pub(crate) fn begins_burst(&self) -> bool {
        self.burst == 0
    }

    /// Sends one of the segments that [`Sender::ready`] counts; returns its sequence number and PSH.
    #[inline]
    pub(crate) fn push_ready(&mut self) -> (u64, bool) {
        self.ready -= 1;
        let seq = self.snd_nxt;
        debug_assert!(!self.has_paths(), "the segment would have to name its path");
        let mut sent = Sent { seq, len: self.mss, nic_serial: self.next_nic_serial(), ..Sent::default() };
        // A paced burst departs as one.
        let paced = self.path.window.is_paced;
        let sent_us = if paced { self.queue.get(self.queue.tail().wrapping_sub(1)).sent_us } else { self.clock.now_us };
        self.path.delivery.stamp(&mut sent, sent_us, false);
        self.snd_nxt = sent.end();
        let push = self.buffer.takes_push(self.snd_nxt, self.clock.now);
        if push {
            sent.flags |= Sent::PUSH;
        }
        self.queue.push(sent);
        self.path.packets_out += 1;
        self.burst += 1;
        self.counters.segments += 1;
        (seq, push)
    }

    /// Nagle's algorithm with Minshall's change: a small segment waits only while another small one
    /// is unacknowledged. `TCP_CORK` holds every small segment back, `TCP_NODELAY` none.
    fn nagle_holds(&self) -> bool {
        let waits_for_small = !self.nodelay && !self.queue.is_empty() && self.small_end > self.snd_una;
        !self.push_once && (self.corked || waits_for_small)
    }

    #[inline]
    fn push_new(&mut self, len: u32, fin: bool) -> Outgoing {
        self.push_new_paced(len, fin, len)
    }

    /// `paced` bytes count for pacing.
    #[inline]
    fn push_new_paced(&mut self, len: u32, fin: bool, paced: u32) -> Outgoing {
        let seq = self.snd_nxt;
        // A FIN without payload has no PSH in Linux 6.1.
        let push = len > 0 && (fin || self.buffer.takes_push(seq + u64::from(len), self.clock.now));
        self.tell_start();
        let sent_us = self.pace(paced);
        let mut sent = Sent {
            seq,
            len: len + u32::from(fin),
            nic_serial: self.next_nic_serial(),
            flags: self.path.tag | if fin { Sent::FIN } else { 0 } | if push { Sent::PUSH } else { 0 },
            ..Sent::default()
        };
        let (idle, path_idle) = (self.queue.is_empty(), self.path.packets_out == 0);
        self.path.delivery.stamp(&mut sent, sent_us, path_idle);
        self.snd_nxt = sent.end();
        self.queue.push(sent);
        self.path.packets_out += 1;
        if len < self.mss - self.option_len {
            self.small_end = self.snd_nxt;
        }
        self.fin_sent |= fin;
        self.started_from_idle |= idle;
        self.burst += 1;
        // A FIN alone is no data segment.
        self.counters.segments += u64::from(len > 0);
        Outgoing { seq, len, fin, push, is_new: true }
    }

    /// Tells the rule when nothing is in flight before a segment with data is sent.
    #[inline]
    fn tell_start(&mut self) {
        if self.path.in_flight() == 0 {
            let idle = self.clock.now.saturating_since(self.path.last_sent);
            self.event(CaEvent::TxStart { idle });
        }
    }

    /// The burst is over. Refills the socket, which may allow one more segment.
    #[inline(always)]
    fn end_burst(&mut self) -> Option<Outgoing> {
        if self.burst > 0 || self.limited_by_cwnd {
            let is_limited = self.limited_by_cwnd || self.path.in_flight() >= self.path.window.cwnd;
            self.validate_cwnd(is_limited);
        }
        self.limited_by_cwnd = false;
        let burst = std::mem::take(&mut self.burst);
        let from_idle = std::mem::take(&mut self.started_from_idle);
        if self.resend == Resend::NewFirst {
            return self.end_frto_burst(burst);
        }
        if burst > 0 {
            self.path.last_sent = self.clock.now;
            self.last_sent_jiffies = self.clock.jiffies;
            if self.path.in_cwnd_reduction() {
                self.path.prr.out += burst;
            }
            let after_ack = std::mem::take(&mut self.arm);
            if !after_ack && (from_idle || self.timer.kind == TimerKind::LossProbe) {
                self.rearm_rto();
            }
            if !self.schedule_loss_probe(false) && after_ack {
                self.rearm_rto();
            }
        } else if self.arm {
            self.arm_after_ack();
        }
        if self.refill_buffer(burst) || self.makes_close() {
            return self.send_more();
        }
        if self.timer.kind == TimerKind::None && self.queue.is_empty() && self.has_unsent() {
            self.start_window_probe();
        }
        None
    }

    /// The application closes once its last write has returned, which sends what may go: the FIN rides on the last segment
    /// if that is still waiting then, and goes alone if all is sent. True when it closes now.
    #[inline]
    fn makes_close(&mut self) -> bool {
        if self.buffer.close != Close::Waits || !self.buffer.is_complete() {
            return false;
        }
        self.buffer.close = Close::Made;
        true
    }

    /// F-RTO sent new data, if it could; otherwise conventional recovery goes on.
    #[cold]
    fn end_frto_burst(&mut self, burst: u32) -> Option<Outgoing> {
        if self.snd_nxt > self.path.high_seq {
            // What the application writes before the next ACK is new data as well.
            self.resend = Resend::Nothing;
            self.path.last_sent = self.clock.now;
            self.last_sent_jiffies = self.clock.jiffies;
            if burst > 0 && self.timer.kind == TimerKind::LossProbe {
                self.rearm_rto();
            }
            return None;
        }
        self.resend = Resend::Lost;
        self.path.frto = false;
        self.send_more()
    }

    /// [`Sender::next_outgoing`] out of line.
    #[inline(never)]
    fn send_more(&mut self) -> Option<Outgoing> {
        self.next_outgoing()
    }

    /// The lowest segment that is lost and not yet sent again, if the window has room.
    #[cold]
    fn retransmit_lost(&mut self) -> Option<Outgoing> {
        // The timeout always sends its segment.
        let forced = self.rto_retransmission;
        let may = match self.resend {
            Resend::Lost | Resend::OnlyLost => true,
            Resend::OnlyFirst => forced,
            Resend::Nothing | Resend::NewFirst => false,
        };
        if !may {
            return None;
        }
        if !forced && (self.pacing_holds() || self.path.in_flight() >= self.path.window.cwnd) {
            return None;
        }
        let mut at = self.resend_from;
        while at != self.queue.tail() {
            let sent = self.queue.get(at);
            if sent.has(Sent::LOST) && !sent.has(Sent::RETRANS | Sent::SACKED) {
                break;
            }
            at = at.wrapping_add(1);
        }
        self.resend_from = at;
        if at == self.queue.tail() {
            debug_assert!(false, "a lost segment is below the retransmission cursor");
            return None;
        }
        let sent = *self.queue.get(at);
        if !forced && self.path.fack.reach.is_some_and(|reach| sent.seq > reach) {
            return None;
        }
        if !forced && self.small_queue_holds(sent.len, 1) {
            return None;
        }
        let is_queued = self.is_in_host_queue(sent.nic_serial);
        if !is_queued && !self.fits_window(at) {
            return None;
        }
        if is_queued {
            if forced {
                self.rto_retransmission = false;
                self.set_timer_unpaced(TimerKind::Retransmit, self.clock.jiffies_in(RESOURCE_PROBE_MS * 1_000));
            }
            return None;
        }
        self.rto_retransmission = false;
        let outgoing = self.send_again(at);
        let record = self.queue.get_mut(at);
        record.flags &= !Sent::RACKED;
        if record.has(Sent::LOST) {
            record.flags |= Sent::RETRANS;
            self.path.retrans_out += 1;
        }
        self.count_retransmission(sent.path());
        if self.path.in_cwnd_reduction() {
            self.path.prr.out += 1;
        }
        self.resend_from = at.wrapping_add(1);
        // A timeout has set the timer itself.
        if at == self.queue.head() && self.timer.kind != TimerKind::Reorder && !forced {
            self.set_timer(TimerKind::Retransmit, self.path.rtt.rto);
        }
        Some(outgoing)
    }

    /// Whether some of the segment at `at` lies within the peer's window, which may have shrunk since it was sent. What lies
    /// beyond is split off. The first segment of all is sent again in any case: then it asks for the window.
    fn fits_window(&mut self, at: u32) -> bool {
        let sent = *self.queue.get(at);
        let start = sent.seq.max(self.snd_una);
        let mss = self.mss - self.option_len;
        let room = self.window_end().saturating_sub(start);
        if room == 0 && start != self.snd_una {
            return false;
        }
        let room = if room == 0 { u64::from(mss) } else { room };
        let payload = (sent.end() - start) as u32 - u32::from(sent.has(Sent::FIN));
        let most = u64::from(mss).min(room) as u32;
        if payload > most {
            self.split(at, (start - sent.seq) as u32 + most);
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
            if next == self.queue.tail() || self.queue.get(at).has(Sent::FIN) {
                return;
            }
            let sent = *self.queue.get(next);
            let payload = sent.len - u32::from(sent.has(Sent::FIN));
            let stays = sent.has(Sent::SACKED) || self.is_in_host_queue(sent.nic_serial);
            if stays || payload > room || sent.end() > self.window_end() {
                return;
            }
            room -= payload;
            self.queue.join_next(at);
            self.buffer.merged -= u64::from(sent.has(Sent::MERGED));
            let path = self.paths.get(&mut self.path, sent.path());
            path.packets_out -= 1;
            path.lost_out -= u32::from(sent.has(Sent::LOST));
            path.retrans_out -= u32::from(sent.has(Sent::RETRANS));
            if !self.sack_permitted {
                // Without SACK nobody knows which of them have arrived.
                path.sacked_out = path.sacked_out.saturating_sub(1);
            }
        }
    }

    /// The segment at `at` counts as two from now on.
    #[cold]
    fn split(&mut self, at: u32, len: u32) {
        self.queue.split(at, len);
        let sent = self.queue.get(at);
        let path = self.paths.get(&mut self.path, sent.path());
        path.packets_out += 1;
        path.lost_out += u32::from(sent.has(Sent::LOST));
        path.retrans_out += u32::from(sent.has(Sent::RETRANS));
        path.sacked_out += u32::from(sent.has(Sent::SACKED));
    }

    /// Sends the segment at `at` again.
    fn send_again(&mut self, at: u32) -> Outgoing {
        self.queue.keep_time_order();
        if self.queue.get(at).seq < self.snd_una {
            // The peer has taken a part of it: only the rest is sent again.
            let record = self.queue.get_mut(at);
            record.len -= (self.snd_una - record.seq) as u32;
            record.seq = self.snd_una;
        }
        let payload = {
            let sent = self.queue.get(at);
            sent.len - u32::from(sent.has(Sent::FIN))
        };
        self.take_over(at);
        self.tell_start();
        let sent_us = self.pace(payload);
        let serial = self.next_nic_serial();
        self.retransmissions = self.retransmissions.wrapping_add(1);
        let retransmission = self.retransmissions;
        let record = self.queue.get_mut(at);
        self.path.delivery.stamp(record, sent_us, false);
        record.flags |= Sent::EVER_RETRANS;
        record.retransmission = retransmission;
        record.nic_serial = serial;
        let outgoing = Outgoing {
            seq: record.seq,
            len: payload,
            fin: record.has(Sent::FIN),
            push: record.has(Sent::PUSH),
            is_new: false,
        };
        if !record.has(Sent::SACKED) {
            self.queue.link_newest(at);
        }
        if self.legacy.fack {
            self.path.fack.on_sent_again(self.snd_nxt, retransmission);
        }
        self.time_order_until = self.snd_nxt;
        self.counters.retransmits += 1;
        self.counters.segments += u64::from(payload > 0);
        self.path.last_sent = self.clock.now;
        self.last_sent_jiffies = self.clock.jiffies;
        outgoing
    }

    /// RFC 8985, section 7.3.
    #[cold]
    fn send_loss_probe(&mut self) -> Option<Outgoing> {
        if self.queue.is_empty() {
            self.due = Due::Nothing;
            return self.send_more();
        }
        let fits = {
            let left = self.buffer.write_seq.saturating_sub(self.snd_nxt).min(u64::from(self.mss));
            self.has_unsent() && self.snd_nxt + left <= self.window_end()
        };
        let outgoing = if fits {
            self.send_new(true)
        } else {
            let at = self.queue.last().expect("segments are out");
            (!self.is_in_host_queue(self.queue.get(at).nic_serial) && self.fits_window(at)).then(|| self.send_again(at))
        };
        let is_retrans = outgoing.is_some() && !fits;
        if !is_retrans && outgoing.is_some() {
            // Counted here: the probe does not end a burst.
            let burst = std::mem::take(&mut self.burst);
            self.started_from_idle = false;
            self.path.last_sent = self.clock.now;
            self.last_sent_jiffies = self.clock.jiffies;
            let full = self.path.in_flight() >= self.path.window.cwnd;
            self.validate_cwnd(full);
            if self.path.in_cwnd_reduction() {
                self.path.prr.out += burst;
            }
        }
        self.loss_probe_done(outgoing.is_some(), is_retrans);
        self.resend = Resend::OnlyLost;
        outgoing
    }

    /// The peer's window is closed, or too small for the next segment, and nothing is out.
    fn start_window_probe(&mut self) {
        let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
        self.set_timer(TimerKind::WindowProbe, base);
    }

    /// The probe timer fired (RFC 9293, section 3.8.6.1): what fits into the window, or an empty
    /// segment below it that the peer must answer.
    pub(crate) fn on_window_probe_timeout(&mut self) {
        if !self.queue.is_empty() || !self.has_unsent() {
            self.clear_timer();
            return;
        }
        self.due = Due::WindowProbe;
        self.path.rtt.backoff += 1;
        let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
        let wait = base.saturating_mul(1 << self.path.rtt.backoff.min(20));
        self.set_timer(TimerKind::WindowProbe, wait);
    }

    /// The segment of a window probe.
    #[cold]
    fn window_probe(&mut self) -> Outgoing {
        self.due = Due::Nothing;
        let room = self.window_end().saturating_sub(self.snd_nxt);
        let left = self.buffer.write_seq - self.snd_nxt;
        let built = if self.built_end > self.snd_nxt { self.built_len() } else { u32::MAX };
        let size = left.min(self.mss.min(built).into());
        let len = room.min(size) as u32;
        if len == 0 {
            return Outgoing { seq: self.snd_una - 1, len: 0, fin: false, push: false, is_new: false };
        }
        // Linux 6.1 pushes it. Of a segment that it splits, the rest stays a segment of its own, and is pushed as well.
        let whole = self.snd_nxt + size;
        let small_end = self.small_end;
        let mut outgoing = self.push_new(len, false);
        // No small segment has to wait for it.
        self.small_end = small_end;
        outgoing.push = true;
        let at = self.queue.tail().wrapping_sub(1);
        self.queue.get_mut(at).flags |= Sent::PUSH;
        if whole > self.snd_nxt {
            self.keep_rest(whole);
            self.buffer.push_next(whole);
        }
        self.path.last_sent = self.clock.now;
        self.last_sent_jiffies = self.clock.jiffies;
        self.burst = 0;
        self.started_from_idle = false;
        self.set_timer(TimerKind::Retransmit, self.path.rtt.rto);
        outgoing
    }

    /// An ACK while nothing is out: does the window take the next segment now?
    pub(crate) fn on_window_probe_ack(&mut self) {
        if self.timer.kind != TimerKind::WindowProbe {
            return;
        }
        let next = self.buffer.write_seq.saturating_sub(self.snd_nxt).min(u64::from(self.mss));
        if self.snd_nxt + next <= self.window_end() {
            self.path.rtt.backoff = 0;
            self.clear_timer();
        } else {
            let base = self.path.rtt.rto.max(self.clock.jiffies_in(u64::from(self.path.rtt.rto_min_us())));
            self.set_timer(TimerKind::WindowProbe, base << self.path.rtt.backoff.min(20));
        }
    }

    /// What is in flight does not show the path's limit (`tcp_rate_check_app_limited`).
    pub(crate) fn check_app_limited(&mut self) {
        if self.buffer.write_seq.saturating_sub(self.snd_nxt) < u64::from(self.mss)
            && self.host_queue_is_empty()
            && self.path.in_flight() < self.path.window.cwnd
            && self.path.lost_out <= self.path.retrans_out
            && !self.is_lost_elsewhere()
        {
            self.mark_app_limited();
        }
    }

    pub(crate) fn mark_app_limited(&mut self) {
        let path = &mut self.path;
        path.delivery.app_limited = (path.delivery.delivered + u64::from(path.in_flight())).max(1);
    }
}
