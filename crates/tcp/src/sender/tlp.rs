//! Tail loss probes (RFC 8985, section 7).
//!
//! The probe timeout is two smoothed RTTs and 2 ms, or, with one segment out, the delayed-ACK allowance of `rto_min`
//! instead of the 2 ms; never later than the RTO. In older stacks it is two jiffies that are added.

use super::Sender;
use super::output::Due;
use super::timer::{TIMEOUT_MIN, TIMEOUT_MIN_US, TimerKind};
use crate::congestion::CaState;

/// The probe that is out.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossProbe {
    /// `snd_nxt` when the probe was sent; zero when none is out.
    pub high_seq: u64,
    /// It was a retransmission.
    pub is_retrans: bool,
}

impl Sender {
    /// Section 7.2: sets the probe timer when a probe may be sent. `advancing` when the RTO would
    /// start anew now.
    #[inline(always)]
    pub(crate) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let (path, out) = (&self.path, self.flight.len());
        if !self.tail_loss_probe
            || out == 0
            || !self.sack_permitted
            || !matches!(path.state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut jiffies = if path.rtt.srtt_x8() == 0 {
            self.rto_initial
        } else if self.legacy.two_tick_slack {
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
        if self.timer.kind == TimerKind::LossProbe
            && self.armed == (self.clock.jiffies, jiffies)
            && !self.path.window.is_paced
            && self.fast_path.is_on()
        {
            // The same tick as last time: the timer stands as it is.
            return true;
        }
        self.armed = (self.clock.jiffies, jiffies);
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
        self.due = Due::LossProbe;
    }

    /// The probe has left, or could not.
    pub(crate) fn loss_probe_done(&mut self, sent: bool, is_retrans: bool) {
        self.due = Due::Nothing;
        if self.has_paths() {
            self.heed_others();
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

    /// Section 7.4.2: what the ACK says of the probe.
    pub(crate) fn on_loss_probe_ack(&mut self, ack: u64, flags: super::ack::AckFlags) {
        use super::ack::AckFlags;
        if ack < self.path.probe.high_seq {
            return;
        }
        if !self.path.probe.is_retrans || flags.any(AckFlags::DSACK_TLP) {
            self.path.probe.high_seq = 0;
        } else if ack > self.path.probe.high_seq {
            // Only one copy arrived: the probe repaired a loss, which must count as congestion.
            self.start_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
            self.counters.tlp_recoveries += 1;
        } else if !flags.any(AckFlags::UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DATA_SACKED) {
            self.path.probe.high_seq = 0;
        }
    }
}
