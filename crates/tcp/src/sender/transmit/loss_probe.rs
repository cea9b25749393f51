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
