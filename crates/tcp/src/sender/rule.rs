//! How the sender calls the congestion rule of its path.

use daybreak_units::Duration;

use crate::congestion::{AckSample, CaEvent, CaState, Context};
use crate::sender::{PS_PER_US, Sender};

impl Sender {
    /// What the rule sees outside an ACK.
    pub(super) fn context(&self) -> Context {
        Context {
            now: self.clock.now,
            srtt: self.exact_srtt(),
            min_rtt: self.min_rtt(),
            in_flight: self.path.in_flight(),
            delivered: self.path.delivery.delivered,
            lost: self.path.delivery.lost,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss: self.sizes.mss,
            is_app_limited: self.path.delivery.app_limited != 0,
            state: self.path.state,
            jiffy: self.clock.jiffy(),
            gso_max_bytes: self.sizes.tso_max_bytes,
            ecn: self.ecn.active,
            syn_rtt: None,
        }
    }

    pub(super) fn min_rtt(&self) -> Duration {
        Duration::from_us(u64::from(self.path.min_rtt.get()))
    }

    /// Smoothed RTT to the eighth of a microsecond, as Linux keeps it.
    #[inline]
    pub(crate) fn exact_srtt(&self) -> Duration {
        Duration::from_ps(u64::from(self.path.rtt.srtt_x8()) * (PS_PER_US / 8))
    }

    pub(crate) fn set_state(&mut self, state: CaState) {
        let context = self.context();
        self.path.rule.on_state(&mut self.path.window, state, &context);
        self.path.state = state;
    }

    pub(crate) fn event(&mut self, event: CaEvent) {
        let context = self.context();
        self.path.rule.on_event(&mut self.path.window, event, &context);
    }

    /// The rule sets window and pacing rate.
    pub(crate) fn control_by_rule(&mut self, sample: &AckSample) {
        self.path.rule.control(&mut self.path.window, sample);
        if self.path.rule.marks_app_limited() {
            let in_flight = self.path.in_flight();
            self.path.delivery.mark_app_limited(in_flight);
        }
    }
}
