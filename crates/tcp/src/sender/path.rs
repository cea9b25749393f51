//! Everything of a sender that belongs to one network path.
//!
//! A connection has one path, or several that it uses in turn (`paths/mod.rs`). What is here exists once for each of them: the
//! congestion control and its window, the RTT, the counts of what is in flight, and the state of loss detection and
//! recovery.

use daybreak_units::{Instant, Rate};

use super::cwnd_validation::Usage;
use super::flight::Tally;
use crate::config::{Config, Profile};
use crate::congestion::{CaState, Capabilities, Congestion, OlderRules, Rule, Window};
use crate::sender::loss::fack::Fack;
use crate::sender::loss::rack::Rack;
use crate::sender::loss::reordering::Reordering;
use crate::sender::measure::min_rtt::MinRtt;
use crate::sender::measure::rate_sample::Delivery;
use crate::sender::measure::rtt::Rtt;
use crate::sender::recovery::prr::Prr;
use crate::sender::recovery::undo::Undo;
use crate::sender::transmit::loss_probe::LossProbe;
use crate::sender::transmit::pacing::Pacing;

/// The state of one path. Counts are segments.
#[derive(Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub(crate) struct Path {
    pub window: Window,
    /// What it has in flight.
    pub tally: Tally,
    pub state: CaState,
    /// What its congestion control is to the sender.
    pub capabilities: Capabilities,
    /// Whether each segment has to be looked at by itself before it leaves: it is paced, or the connection has several paths.
    pub one_by_one: bool,
    /// The connection has more of them.
    pub has_others: bool,
    pub pacing: Pacing,
    pub probe: LossProbe,
    /// When data was last sent on it.
    pub last_sent: Instant,
    /// Its congestion control.
    pub rule: Box<dyn Congestion>,
    pub delivery: Delivery,
    pub rack: Rack,
    pub usage: Usage,
    pub min_rtt: MinRtt,
    pub rtt: Rtt,
    pub prr: Prr,
    pub undo: Undo,
    pub reordering: Reordering,
    pub fack: Fack,
    /// `snd_nxt` when the present state was entered: it ends when this is acknowledged.
    pub high_seq: u64,
    /// F-RTO is judging a timeout (RFC 5682).
    pub frto: bool,
}

/// What of a profile congestion control has to know.
fn older_rules(profile: &Profile) -> OlderRules {
    OlderRules::of([
        (OlderRules::COUNT_ACKS, profile.count_acks),
        (OlderRules::LOSS_AS_MARK, profile.loss_as_mark),
        (OlderRules::NO_ACK_AGGREGATION, profile.no_ack_aggregation),
        (OlderRules::WIDE_PROBES, profile.wide_probes),
        (OlderRules::TIMER_PACING, profile.timer_pacing),
        (OlderRules::MS_DELAYS, profile.ms_delays),
    ])
}

impl Path {
    /// A path of which nothing is known but its first retransmission timeout.
    pub fn new(config: &Config, rule: Rule, rtt: Rtt) -> Self {
        let mut window = Window::new(config.initial_window.max(1), config.initial_ssthresh);
        window.cwnd_clamp = config.cwnd_clamp.max(1);
        window.older = older_rules(&config.profile);
        if config.max_pacing_rate > Rate::ZERO {
            window.max_pacing_rate = config.max_pacing_rate;
        }
        let Rule { control, capabilities } = rule;
        window.is_paced = capabilities.needs_pacing || config.max_pacing_rate > Rate::ZERO;
        Self {
            one_by_one: window.is_paced,
            capabilities,
            rule: control,
            window,
            state: CaState::Open,
            has_others: false,
            frto: false,
            tally: Tally::default(),
            rtt,
            min_rtt: MinRtt::new(),
            delivery: Default::default(),
            usage: Default::default(),
            pacing: Default::default(),
            high_seq: 0,
            probe: Default::default(),
            rack: Rack::new(),
            reordering: Reordering { degree: config.reordering, seen: 0 },
            prr: Default::default(),
            undo: Default::default(),
            fack: Fack::default(),
            last_sent: Instant::ZERO,
        }
    }

    /// What the network is thought to hold (the "pipe" of RFC 6675).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.tally.in_flight()
    }

    /// SACKed or lost: has left the network.
    #[inline]
    pub fn left_out(&self) -> u32 {
        self.tally.left_out()
    }

    /// PRR holds the window.
    #[inline]
    pub fn in_cwnd_reduction(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// The threshold to come back to: outside a reduction no less than three quarters of the window.
    pub fn current_ssthresh(&self) -> u32 {
        if self.in_cwnd_reduction() {
            self.window.ssthresh
        } else {
            self.window.ssthresh.max((self.window.cwnd >> 1) + (self.window.cwnd >> 2))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion;
    use crate::sender::Sender;

    #[test]
    fn only_outside_a_reduction_three_quarters_of_the_window_are_worth_coming_back_to() {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut path = Sender::new(&Config::default(), rule).path;
        (path.window.cwnd, path.window.ssthresh) = (11, 5);
        let mut threshold = |state| {
            path.state = state;
            path.current_ssthresh()
        };
        for state in [CaState::Open, CaState::Disorder, CaState::Loss] {
            assert_eq!(threshold(state), 5 + 2, "11 / 2 + 11 / 4 in {state:?}");
        }
        // PRR is on its way to the threshold: the window has no meaning.
        assert_eq!((threshold(CaState::Cwr), threshold(CaState::Recovery)), (5, 5));
    }

    #[test]
    fn congestion_control_hears_of_each_older_rule_of_the_profile() {
        let profile = Profile::default();
        let all = [
            (Profile { count_acks: true, ..profile }, OlderRules::COUNT_ACKS),
            (Profile { loss_as_mark: true, ..profile }, OlderRules::LOSS_AS_MARK),
            (Profile { no_ack_aggregation: true, ..profile }, OlderRules::NO_ACK_AGGREGATION),
            (Profile { wide_probes: true, ..profile }, OlderRules::WIDE_PROBES),
            (Profile { timer_pacing: true, ..profile }, OlderRules::TIMER_PACING),
            (Profile { ms_delays: true, ..profile }, OlderRules::MS_DELAYS),
        ];
        assert_eq!(older_rules(&profile), OlderRules::default());
        for (profile, rule) in &all {
            assert_eq!(older_rules(profile), *rule);
        }
        let both = older_rules(&Profile { count_acks: true, ms_delays: true, ..profile });
        let has = |rule| both.have(rule);
        assert_eq!(all.map(|(_, rule)| has(rule)), [true, false, false, false, false, true]);
    }
}
