//! Proportional Rate Reduction (RFC 6937), as Linux 6.1 applies it.
//!
//! While more is in flight than `ssthresh`, the sender sends `ssthresh / prior_cwnd` of what is
//! delivered. Below, it may rebuild towards `ssthresh`: by one segment more than was delivered (the
//! slow-start reduction bound) only on ACKs that advance `snd_una` and reveal no new loss, otherwise
//! by what was delivered (the conservative bound). Older stacks differ: [`crate::config::Profile::prr_by_retransmission`].

use crate::congestion::{CaEvent, CaState};
use crate::sender::Sender;

/// By how many segments the window may exceed what is in flight after a fast recovery, with [`crate::config::Profile::half_threshold`].
const MAX_BURST: u32 = 3;

/// State of one reduction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    /// Segments delivered since it began.
    delivered: u32,
    /// Segments sent since it began.
    pub out: u32,
    /// Where the window is reduced at once: what was in flight when the last segment left beyond the threshold; less has to
    /// be for the next.
    most_in_flight: u32,
}

impl Prr {
    /// Where the window is reduced at once: whether one more segment may leave while so much is in flight.
    pub fn count_down(&mut self, in_flight: u32) -> bool {
        let may_send = in_flight < self.most_in_flight;
        self.most_in_flight = self.most_in_flight.min(in_flight);
        may_send
    }
}

impl Sender {
    /// Begins a reduction with the rule's threshold.
    pub(crate) fn start_cwnd_reduction(&mut self) {
        self.path.high_seq = self.snd_nxt;
        self.path.probe.high_seq = 0;
        self.path.window.cwnd_cnt = 0;
        self.path.window.prior_cwnd = self.path.window.cwnd;
        self.path.prr = Prr { most_in_flight: self.path.window.cwnd, ..Prr::default() };
        let context = self.context();
        self.path.window.ssthresh = self.path.rule.ssthresh(&self.path.window, &context);
        self.queue_cwr();
    }

    /// Sets the window for an ACK within a reduction. `rebuilds` when the ACK shows that recovery gets on: below the
    /// threshold one segment more may leave then.
    pub(crate) fn reduce_cwnd(&mut self, newly_delivered: u32, rebuilds: bool) {
        if self.settings.profile.window_at_once {
            self.reduce_at_once();
            return;
        }
        if newly_delivered == 0 {
            return;
        }
        let path = &mut self.path;
        debug_assert!(path.window.prior_cwnd > 0, "a reduction without a window before it");
        path.prr.delivered += newly_delivered;
        let in_flight = path.in_flight();
        let mut budget: i64;
        if in_flight > path.window.ssthresh {
            let prior = u64::from(path.window.prior_cwnd);
            let share = u64::from(path.window.ssthresh) * u64::from(path.prr.delivered);
            budget = share.div_ceil(prior) as i64 - i64::from(path.prr.out);
        } else {
            budget = i64::from(newly_delivered);
            if rebuilds || !self.settings.profile.prr_by_retransmission {
                let behind = i64::from(path.prr.delivered) - i64::from(path.prr.out);
                budget = budget.max(behind);
            }
            budget += i64::from(rebuilds);
            budget = budget.min(i64::from(path.window.ssthresh - in_flight));
        }
        // The first ACK always lets the fast retransmit out.
        budget = budget.max(i64::from(path.prr.out == 0));
        path.window.cwnd = (i64::from(in_flight) + budget.max(0)) as u32;
    }

    /// Sets the window for an ACK within a reduction: the threshold; while more is in flight, room for one segment whenever
    /// that is less than it was when the last one left.
    pub(crate) fn reduce_at_once(&mut self) {
        let path = &mut self.path;
        let in_flight = path.in_flight();
        let may_send = path.prr.count_down(in_flight);
        let least = if self.settings.profile.half_threshold { path.window.ssthresh / 2 } else { path.window.ssthresh };
        path.window.cwnd = if in_flight < least { least } else { in_flight + u32::from(may_send) };
    }

    /// Ends a reduction: the window becomes the threshold, unless the reduction was undone.
    pub(crate) fn end_cwnd_reduction(&mut self) {
        if self.path.capabilities.controls_window {
            return;
        }
        let path = &mut self.path;
        let undone = path.state != CaState::Cwr && path.undo.marker == 0;
        if path.window.ssthresh < u32::MAX && !undone {
            path.window.cwnd = path.window.ssthresh;
            if self.settings.profile.half_threshold {
                path.window.cwnd = path.window.cwnd.min(path.in_flight() + MAX_BURST);
            }
            path.usage.stamp = self.clock.jiffies;
        }
        self.event(CaEvent::CompleteCwr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Profile};
    use crate::congestion;
    use crate::sender::flight::Tally;

    /// Windows of the ACKs of a recovery from 10 to 5 of which 7 were lost: two SACKs, which let two retransmissions out; the
    /// first of them is acknowledged, then another SACK comes.
    fn windows(profile: Profile) -> [u32; 4] {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config { profile, ..Config::default() }, rule);
        sender.path.window.prior_cwnd = 10;
        sender.path.window.ssthresh = 5;
        let mut found = [0; 4];
        // Out, SACKed, lost, sent again; sent since the reduction began; whether recovery gets on.
        let acks =
            [((10, 1, 7, 0), 0, false), ((10, 2, 7, 0), 0, false), ((9, 2, 6, 1), 2, true), ((9, 3, 6, 1), 2, false)];
        for (window, ((out, sacked, lost, retransmitted), sent, rebuilds)) in found.iter_mut().zip(acks) {
            let path = &mut sender.path;
            path.tally = Tally::of(out, sacked, lost, retransmitted);
            path.prr.out = sent;
            sender.reduce_cwnd(1, rebuilds);
            *window = sender.path.window.cwnd;
        }
        found
    }

    #[test]
    fn what_was_not_sent_is_made_up_for_only_in_newer_stacks() {
        // In flight 2, 1, 2 and 1. Delivered and not sent: 1, 2, 1 and 2; one more where recovery gets on.
        assert_eq!(windows(Profile::default()), [3, 3, 4, 3]);
        // Without progress no more than the one segment that this ACK delivers.
        assert_eq!(windows(Profile { prr_by_retransmission: true, ..Profile::default() }), [3, 2, 4, 2]);
    }

    #[test]
    fn a_reduction_ends_at_the_threshold_unless_it_was_undone() {
        // `tcp_end_cwnd_reduction`: a marker of 0 says that it was undone, but in CWR, which has none.
        for (state, marker, ssthresh, cwnd) in [
            (CaState::Recovery, 1, 5, 5),
            (CaState::Recovery, 0, 5, 10),
            (CaState::Cwr, 0, 5, 5),
            (CaState::Cwr, 0, u32::MAX, 10),
            (CaState::Recovery, 1, u32::MAX, 10),
        ] {
            let rule = congestion::find("reno").expect("a rule").rule(1);
            let mut sender = Sender::new(&Config::default(), rule);
            (sender.path.state, sender.path.undo.marker) = (state, marker);
            (sender.path.window.ssthresh, sender.path.window.cwnd) = (ssthresh, 10);
            sender.end_cwnd_reduction();
            assert_eq!(sender.path.window.cwnd, cwnd, "{state:?}, marker {marker}, threshold {ssthresh}");
        }
    }

    #[test]
    fn where_the_window_is_cut_at_once_it_is_the_threshold_or_half_of_it() {
        for (half_threshold, in_flight, cwnd) in
            [(false, 9, 11), (false, 11, 11), (true, 4, 5), (true, 5, 5), (true, 8, 8)]
        {
            let rule = congestion::find("reno").expect("a rule").rule(1);
            let profile = Profile { half_threshold, ..Profile::default() };
            let mut sender = Sender::new(&Config { profile, ..Config::default() }, rule);
            sender.put_in_flight(in_flight);
            sender.path.window.ssthresh = 11;
            sender.reduce_at_once();
            assert_eq!(sender.path.window.cwnd, cwnd, "{in_flight} in flight");
        }
    }
}
