//! Tail loss probes (RFC 8985, section 7).
//!
//! The probe timeout is two smoothed RTTs and 2 ms, or, with one segment out, the delayed-ACK allowance of `rto_min`
//! instead of the 2 ms; never later than the RTO. In older stacks it is two jiffies that are added.

use super::{Outgoing, Reason};
use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::timer::{TIMEOUT_MIN, TIMEOUT_MIN_US, TimerKind};

/// The probe that is out.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossProbe {
    /// `snd_nxt` when the probe was sent; zero when none is out.
    pub high_seq: u64,
    /// It was a retransmission.
    pub is_retrans: bool,
}

impl Sender {
    /// There may be probes: they are on, and the peer reports what it has got.
    #[inline]
    pub(super) fn probes_loss(&self) -> bool {
        self.transmit.may_probe && self.sack_permitted
    }

    /// Section 7.2: sets the probe timer when a probe may be sent. `advancing` when the RTO would
    /// start anew now.
    #[inline(always)]
    pub(crate) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let (path, out) = (&self.path, self.flight.len());
        if !self.probes_loss() || out == 0 || !matches!(path.state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut jiffies = if path.rtt.srtt_x8() == 0 {
            self.settings.rto_initial
        } else if self.settings.profile.two_tick_slack {
            let slack = if out == 1 { self.clock.jiffies_in(u64::from(path.rtt.rto_min_us())) } else { TIMEOUT_MIN };
            self.path.rtt.jiffies_of_two(0, &self.clock) + slack
        } else {
            let slack_us = if out == 1 { u64::from(path.rtt.rto_min_us()) } else { TIMEOUT_MIN_US };
            self.path.rtt.jiffies_of_two(slack_us, &self.clock)
        };
        if advancing {
            jiffies = jiffies.min(self.path.rtt.rto);
        } else {
            let left_us = self.rto_left_us();
            // The division is only worth it when the RTO may come first.
            if left_us > 0 && (left_us as u64) < self.clock.us_within(jiffies) {
                jiffies = jiffies.min(self.clock.jiffies_in(left_us as u64));
            }
        }
        if self.probe_timer_stands(jiffies) {
            return true;
        }
        self.timer.probe_set = (self.clock.jiffies, jiffies);
        self.set_timer(TimerKind::LossProbe, jiffies);
        true
    }

    /// Section 7.3: the probe timer fired. New data goes out if there is some and the peer's window
    /// takes it, otherwise the last segment again; the transmission itself happens at the next poll.
    pub(crate) fn on_loss_probe_timeout(&mut self) {
        if self.path.probe.high_seq != 0 || self.flight.is_empty() {
            self.rearm_rto();
            return;
        }
        self.path.probe.is_retrans = false;
        self.transmit.on_loss_probe();
    }

    /// Several paths: holds the probe back while a reordering timer runs.
    pub(in crate::sender) fn settle_probe(&mut self) {
        self.transmit.may_probe = self.settings.tail_loss_probe && self.timer.kind != TimerKind::Reorder;
    }

    /// The probe has left, or could not.
    pub(crate) fn loss_probe_done(&mut self, sent: bool, is_retrans: bool) {
        if self.has_paths() {
            self.settle_probe();
        }
        if sent {
            self.path.probe.is_retrans = is_retrans;
            self.path.probe.high_seq = self.snd_nxt;
            self.counters.tlps += 1;
            // The retransmission timer starts from the probe.
            self.timer.kind = TimerKind::None;
        }
        self.rearm_rto();
    }

    /// RFC 8985, section 7.3.
    #[cold]
    pub(super) fn send_loss_probe(&mut self) -> Option<Outgoing> {
        if self.flight.is_empty() {
            self.transmit.reason = Reason::Clock;
            return None;
        }
        let fits = {
            let left = self.buffer.write_seq.saturating_sub(self.snd_nxt).min(u64::from(self.sizes.mss));
            self.has_unsent() && self.window_takes_next(left)
        };
        let outgoing = if fits {
            self.send_new(true)
        } else {
            let at = self.flight.last().expect("segments are out");
            (!self.is_in_host_queue(self.flight.get(at).nic_serial) && self.fits_window(at)).then(|| {
                if at != self.flight.head() {
                    self.cut_buffer(at.wrapping_sub(1));
                }
                self.send_again(at, 1)
            })
        };
        let is_retrans = outgoing.is_some() && !fits;
        if !is_retrans && outgoing.is_some() {
            let burst = self.close_probe_burst();
            let full = self.path.in_flight() >= self.path.window.cwnd;
            self.validate_cwnd(full);
            if self.path.in_cwnd_reduction() {
                self.path.prr.out += burst;
            }
        }
        self.transmit.reason = Reason::Losses;
        self.loss_probe_done(outgoing.is_some(), is_retrans);
        outgoing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    /// Three segments of 1,000 bytes are out.
    fn sender() -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sack_permitted, sender.is_synchronised) = (1_000, true, true);
        sender.has_small_queue = false;
        sender.put_in_flight(3);
        sender
    }

    #[test]
    fn a_probe_is_new_data_if_the_window_takes_it_and_otherwise_the_last_segment() {
        // RFC 8985, section 7.3. What is written, the peer's window; where the probe begins, and where it ends.
        for (written, window, seq, end) in [
            (9_000, 100_000, 3_001, 4_001),
            (9_000, 4_000, 3_001, 4_001),
            (9_000, 3_999, 2_001, 3_001),
            (3_000, 100_000, 2_001, 3_001),
        ] {
            for (state, new_out) in [(CaState::Open, 0), (CaState::Cwr, 1)] {
                let mut sender = sender();
                (sender.buffer.write_seq, sender.peer.window, sender.path.state) = (1 + written, window, state);
                let probe = sender.send_loss_probe().expect("something can be sent");
                let is_new = seq == 3_001;
                assert_eq!((probe.seq, probe.len, probe.is_new), (seq, 1_000, is_new), "{written}, {window}");
                assert_eq!((sender.path.probe.high_seq, sender.path.probe.is_retrans), (end, !is_new));
                assert_eq!(sender.counters.tlps, 1);
                if is_new {
                    assert_eq!(sender.path.prr.out, new_out, "a reduction counts what is sent in it");
                }
            }
        }
    }

    #[test]
    fn nothing_is_probed_for_while_a_reordering_timer_runs() {
        for (probes, kind, may_probe) in [
            (true, TimerKind::Retransmit, true),
            (true, TimerKind::Reorder, false),
            (false, TimerKind::Retransmit, false),
        ] {
            let mut sender = sender();
            (sender.settings.tail_loss_probe, sender.timer.kind) = (probes, kind);
            sender.settle_probe();
            assert_eq!(sender.transmit.may_probe, may_probe, "{kind:?}");
        }
    }
}
