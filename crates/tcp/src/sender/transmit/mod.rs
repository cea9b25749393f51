//! What may be sent now: retransmissions, new data, probes.
//!
//! Each input of the sender leaves a [`Reason`]; [`Sender::next_outgoing`] is called until nothing more may leave for it,
//! which ends the burst. [`Transmit`] is the state of that: its methods are all that changes the reason.

mod bursts;
pub(super) mod loss_probe;
mod nagle;
mod new_data;
pub(super) mod pacing;
mod retransmit;
pub(super) mod send_buffer;
pub(super) mod small_queue;
mod tso;
mod window_probe;

use crate::sender::Sender;
use crate::sender::timer::TimerKind;

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

/// Why the sender looks for something to send, which decides what that may be.
///
/// The first three are those of ACKs, the application, and room that was waited for. After a timer neither new data nor
/// whether the window is the limit is looked at until one of these comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Reason {
    /// The usual one: what is marked lost, then new data.
    #[default]
    Clock,
    /// The ACK shows that what is marked lost may only be late: new data alone is clocked out.
    NewData,
    /// F-RTO looks whether new data is acknowledged (RFC 5682, section 3.1 step 2b).
    Frto,
    /// The tail loss probe: one segment may leave although the window is full. Then what is lost.
    LossProbe,
    /// A window probe, then as usual. Nothing is out.
    WindowProbe,
    /// A timer has marked losses, or the probe has left: what is marked lost.
    Losses,
    /// The retransmission timeout: the first segment leaves, however full the window is.
    Timeout,
    /// It has left, or lies in the host's queue still: nothing else, however large a window the rule has then.
    TimedOut,
}

/// What the sender does until nothing more may leave.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Transmit {
    /// Full segments that may follow at once, without another look.
    ready: u32,
    /// New segments of the burst that is being polled.
    burst: u32,
    reason: Reason,
    /// The timer is to be set when the burst ends.
    arm: bool,
    /// The burst ended at the window.
    limited_by_cwnd: bool,
    started_from_idle: bool,
    /// Tail loss probes are configured, and no path waits for what may be reordered: they share the timer.
    may_probe: bool,
    /// When data was last sent.
    last_sent_jiffies: u64,
}

/// The transitions.
impl Transmit {
    /// `may_probe` is [`Settings::tail_loss_probe`](super::settings::Settings::tail_loss_probe).
    pub fn new(may_probe: bool) -> Self {
        Self { may_probe, ..Self::default() }
    }

    /// An input: what was planned before it does not hold any longer.
    #[inline]
    pub fn begin(&mut self) {
        self.ready = 0;
    }

    /// An ACK has come. Unless it shows a loss, nothing is sent again for it.
    #[inline]
    pub fn on_ack(&mut self) {
        self.reason = Reason::NewData;
    }

    /// Losses stand, or there are none: as usual.
    #[inline]
    pub fn allow_lost(&mut self) {
        self.reason = Reason::Clock;
    }

    /// F-RTO wants new data to be sent.
    pub fn ask_by_frto(&mut self) {
        self.reason = Reason::Frto;
    }

    /// The application has written or closed: new data is looked at, also after a timer.
    #[inline]
    pub fn on_written(&mut self) {
        if !self.looks_at_new_data() {
            self.reason = Reason::Clock;
        }
    }

    /// New data may leave, perhaps after a probe.
    #[inline]
    pub fn looks_at_new_data(&self) -> bool {
        self.reason < Reason::Losses
    }

    /// A timer has marked losses.
    pub fn on_losses(&mut self) {
        self.reason = Reason::Losses;
    }

    /// The retransmission timer fired.
    pub fn on_timeout(&mut self) {
        self.reason = Reason::Timeout;
    }

    /// The probe timer fired.
    pub fn on_loss_probe(&mut self) {
        self.reason = Reason::LossProbe;
    }

    /// The window probe's timer fired.
    pub fn on_window_probe(&mut self) {
        self.reason = Reason::WindowProbe;
    }

    /// The segment of a timeout has left, or need not.
    fn finish_timeout(&mut self) {
        self.reason = Reason::TimedOut;
    }

    /// The timer is set when the burst ends.
    #[inline]
    pub fn arm_later(&mut self, is_due: bool) {
        self.arm = is_due;
    }

    /// Something was held back by the window.
    #[inline]
    pub fn note_limit(&mut self) {
        self.limited_by_cwnd = true;
    }

    /// When data was last sent, in jiffies.
    pub fn last_sent_jiffies(&self) -> u64 {
        self.last_sent_jiffies
    }

    /// The handshake is done.
    pub fn start(&mut self, jiffies: u64) {
        self.last_sent_jiffies = jiffies;
    }
}

impl Sender {
    /// The next segment that may leave now. Call until `None`, which ends the burst: it validates the
    /// window and sets the timers.
    #[inline(always)]
    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        if self.transmit.reason > Reason::Frto {
            return self.answer_timer();
        }
        if self.transmit.reason == Reason::Clock
            && self.has_to_resend()
            && let Some(outgoing) = self.retransmit_lost()
        {
            return Some(outgoing);
        }
        if let Some(outgoing) = self.send_new(false) {
            return Some(outgoing);
        }
        self.end_burst()
    }

    /// A packet that leaves the host's queue may let a segment go: a transmission waits for room there, or for the segment
    /// itself that lies there. Where time decides as well, by pacing or for a burst, each departure is a look.
    #[inline]
    pub(crate) fn awaits_departure(&self) -> bool {
        self.small_queue.throttled
            || self.has_to_resend()
            || self.transmit.reason > Reason::Frto
            || self.path.window.is_paced
            || self.sizes.builds_bursts()
            || self.has_paths()
    }

    /// What a timer lets out.
    #[cold]
    fn answer_timer(&mut self) -> Option<Outgoing> {
        if let Some(outgoing) = self.rest_of_burst() {
            // A probe of new data is a burst where the window has room for one.
            self.close_probe_burst();
            return Some(outgoing);
        }
        match self.transmit.reason {
            Reason::LossProbe => self.send_loss_probe().or_else(|| self.send_more()),
            Reason::WindowProbe => Some(self.window_probe()),
            Reason::Losses if self.has_to_resend() => self.retransmit_lost(),
            Reason::Timeout if !self.flight.is_empty() => self.retransmit_lost(),
            _ => None,
        }
    }

    /// Something is lost that has not been sent again, on this path or another.
    #[inline]
    fn has_to_resend(&self) -> bool {
        self.path.tally.has_to_resend() || (self.has_paths() && self.is_lost_elsewhere())
    }

    /// [`Sender::next_outgoing`] out of line.
    #[inline(never)]
    fn send_more(&mut self) -> Option<Outgoing> {
        self.next_outgoing()
    }

    /// Full segments may follow at once.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.transmit.ready > 0
    }

    /// The first segment of a burst is about to go.
    #[inline]
    pub(crate) fn begins_burst(&self) -> bool {
        self.transmit.burst == 0
    }

    /// The burst is over. Refills the socket, which may allow one more segment.
    #[inline(always)]
    fn end_burst(&mut self) -> Option<Outgoing> {
        let transmit = &mut self.transmit;
        let burst = std::mem::take(&mut transmit.burst);
        let from_idle = std::mem::take(&mut transmit.started_from_idle);
        let limited_by_cwnd = std::mem::take(&mut transmit.limited_by_cwnd);
        if burst > 0 || limited_by_cwnd {
            let is_limited = limited_by_cwnd || self.path.in_flight() >= self.path.window.cwnd;
            self.validate_cwnd(is_limited);
        }
        if self.transmit.reason == Reason::Frto {
            return self.end_frto_burst(burst);
        }
        if burst > 0 {
            self.note_sent();
            if self.path.in_cwnd_reduction() {
                self.path.prr.out += burst;
            }
            let after_ack = std::mem::take(&mut self.transmit.arm);
            if !after_ack && (from_idle || self.timer.kind == TimerKind::LossProbe) {
                self.rearm_rto();
            }
            if !self.schedule_loss_probe(false) && after_ack {
                self.rearm_rto();
            }
        } else if self.transmit.arm {
            self.arm_after_ack();
        }
        if (self.sizes.builds_bursts() && self.writes_on()) || self.refill_buffer(burst) || self.makes_close() {
            return self.send_more();
        }
        if self.timer.kind == TimerKind::None && self.flight.is_empty() && self.has_unsent() {
            self.start_window_probe();
        }
        None
    }

    /// F-RTO sent new data, if it could; otherwise conventional recovery goes on.
    #[cold]
    fn end_frto_burst(&mut self, burst: u32) -> Option<Outgoing> {
        if self.snd_nxt > self.path.high_seq {
            // What the application writes before the next ACK is new data as well.
            self.transmit.reason = Reason::NewData;
            self.note_sent();
            if burst > 0 && self.timer.kind == TimerKind::LossProbe {
                self.rearm_rto();
            }
            return None;
        }
        self.transmit.reason = Reason::Clock;
        self.path.frto = false;
        self.send_more()
    }

    /// A probe with new data has left, and ends no burst: its part of the end of one.
    fn close_probe_burst(&mut self) -> u32 {
        self.transmit.started_from_idle = false;
        self.note_sent();
        std::mem::take(&mut self.transmit.burst)
    }

    /// Data was sent now.
    #[inline]
    fn note_sent(&mut self) {
        self.path.last_sent = self.clock.now;
        self.transmit.last_sent_jiffies = self.clock.jiffies;
    }

    /// An ACK sets the timer anew. A probe's waits until what the ACK released has been sent, which would set it again; the
    /// retransmission timer does not, since it counts what pacing holds back before that. With several paths all of them
    /// have to be looked at before.
    #[inline(always)]
    pub(super) fn arm_for_ack(&mut self) {
        if self.probes_loss() || self.has_paths() {
            self.transmit.arm_later(true);
        } else {
            self.rearm_rto();
        }
    }

    /// Sets the probe or the retransmission timer after an ACK, when nothing was sent since.
    #[inline(never)]
    pub(crate) fn arm_after_ack(&mut self) {
        self.transmit.arm = false;
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    #[test]
    fn an_input_ends_what_was_planned_and_f_rto_asks_for_new_data() {
        let mut transmit = Transmit { ready: 3, ..Transmit::new(true) };
        transmit.begin();
        assert_eq!(transmit.ready, 0);
        transmit.ask_by_frto();
        assert!(transmit.reason == Reason::Frto && transmit.looks_at_new_data());
    }

    /// RFC 5682, section 3.1, step 2 b: nothing that is new could be sent.
    #[test]
    fn conventional_recovery_goes_on_where_f_rto_has_sent_nothing() {
        for (high_seq, goes_on) in [(2_001, true), (3_001, false)] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
            sender.sizes.mss = 1_000;
            sender.put_in_flight(3);
            (sender.path.frto, sender.path.high_seq, sender.transmit.reason) = (true, high_seq, Reason::Frto);
            assert_eq!(sender.end_frto_burst(0), None);
            assert_eq!((sender.path.frto, sender.transmit.reason == Reason::NewData), (goes_on, goes_on));
        }
    }
}
