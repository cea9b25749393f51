//! What a host remembers of a destination when a connection there ends, for the next ones.
//!
//! Models Linux's metrics cache (`tcp_metrics`): the slow-start threshold, the reordering degree, and the RTT, which the
//! first timeout of the next connection respects. They are kept for a pair of addresses, at both ends of a connection,
//! and the last one to end counts most. Not modelled: a window and a variance, which Linux keeps and does not use unless
//! they are locked, and the age of an hour after which an entry is void. The threshold is Linux's default up to 5.5;
//! since then `tcp_no_ssthresh_metrics_save` is set.

use super::Sender;
use crate::congestion::CaState;

/// An entry of the cache; zero stands for a value that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Reordering degree in segments.
    pub reordering: u32,
    /// Smoothed RTT in eighths of a microsecond.
    pub rtt_x8: u32,
}

/// A connection's RTT counts for an eighth where it is below what is known: too long a timeout does less harm.
const RTT_SHARE: u32 = 8;

impl Sender {
    /// Starts from what is known of the destination.
    pub fn inherit(&mut self, metrics: &Metrics) {
        let path = &mut self.path;
        if metrics.ssthresh > 0 {
            path.window.ssthresh = metrics.ssthresh.min(path.window.cwnd_clamp);
        }
        if metrics.reordering > 0 {
            path.reordering.degree = metrics.reordering;
        }
        self.handshake.known_rtt_x8 = metrics.rtt_x8;
    }

    /// Notes in `metrics` what this connection has learnt; to be called when it is over.
    pub fn remember(&self, metrics: &mut Metrics) {
        let path = &self.path;
        let window = &path.window;
        let srtt_x8 = path.rtt.srtt_x8();
        // A connection without an RTT has learnt nothing, but that the known one cannot be relied on.
        if srtt_x8 == 0 || path.rtt.backoff > 0 {
            metrics.rtt_x8 = 0;
            return;
        }
        metrics.rtt_x8 = match metrics.rtt_x8.checked_sub(srtt_x8) {
            Some(less) => metrics.rtt_x8 - less / RTT_SHARE,
            None => srtt_x8,
        };
        if window.ssthresh == u32::MAX {
            // Still in its first slow start: what is known was too low, if anything.
            if metrics.ssthresh > 0 {
                metrics.ssthresh = metrics.ssthresh.max(window.cwnd / 2);
            }
        } else if !window.in_slow_start() && path.state == CaState::Open {
            metrics.ssthresh = window.ssthresh.max(window.cwnd / 2);
        } else if metrics.ssthresh > 0 {
            metrics.ssthresh = metrics.ssthresh.max(window.ssthresh);
        }
        let degree = path.reordering.degree;
        if degree > metrics.reordering && degree != self.settings.reordering {
            metrics.reordering = degree;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion::find;

    /// A sender with an RTT that has this window and threshold.
    fn sender(cwnd: u32, ssthresh: u32) -> Sender {
        let rule = find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config::default(), rule);
        sender.path.rtt.sample(&sender.clock, 100, 1, 1);
        (sender.path.window.cwnd, sender.path.window.ssthresh) = (cwnd, ssthresh);
        sender
    }

    fn left(sender: &Sender, known: u32) -> u32 {
        let mut metrics = Metrics { ssthresh: known, ..Metrics::default() };
        sender.remember(&mut metrics);
        metrics.ssthresh
    }

    #[test]
    fn a_threshold_is_left_by_the_last_connection_that_avoided_congestion() {
        assert_eq!(left(&sender(90, 60), 500), 60);
        assert_eq!(left(&sender(200, 60), 500), 100, "half of a window that has grown beyond it");
        assert_eq!(left(&sender(40, 60), 500), 500, "still in slow start below it");
        assert_eq!(left(&sender(40, 60), 50), 60, "what was known was too low");
        assert_eq!(left(&sender(40, 60), 0), 0);
        let mut recovering = sender(90, 60);
        recovering.path.state = CaState::Recovery;
        assert_eq!(left(&recovering, 500), 500);
        let mut timing_out = sender(90, 60);
        timing_out.path.rtt.backoff = 1;
        assert_eq!(left(&timing_out, 500), 500, "its last timeout is not answered");
    }

    #[test]
    fn a_first_slow_start_only_raises_a_threshold() {
        assert_eq!(left(&sender(90, u32::MAX), 0), 0);
        assert_eq!(left(&sender(90, u32::MAX), 30), 45);
        assert_eq!(left(&sender(90, u32::MAX), 60), 60);
    }

    #[test]
    fn the_largest_reordering_is_kept_and_the_default_is_not() {
        let mut metrics = Metrics::default();
        let mut sender = sender(90, 60);
        sender.remember(&mut metrics);
        assert_eq!(metrics.reordering, 0, "three is where every connection starts");
        for (degree, kept) in [(7, 7), (5, 7), (9, 9)] {
            sender.path.reordering.degree = degree;
            sender.remember(&mut metrics);
            assert_eq!(metrics.reordering, kept);
        }
    }

    #[test]
    fn a_connection_starts_with_what_is_known_and_without_an_rtt_teaches_nothing() {
        let rule = find("reno").expect("a rule").rule(1);
        let mut fresh = Sender::new(&Config { cwnd_clamp: 80, ..Config::default() }, rule);
        let known = Metrics { ssthresh: 100, reordering: 9, rtt_x8: 0 };
        fresh.inherit(&Metrics::default());
        assert_eq!((fresh.path.window.ssthresh, fresh.path.reordering.degree), (u32::MAX, 3));
        fresh.inherit(&known);
        assert_eq!((fresh.path.window.ssthresh, fresh.path.reordering.degree), (80, 9));
        let mut metrics = known;
        fresh.remember(&mut metrics);
        assert_eq!(metrics, known);
    }

    #[test]
    fn a_longer_rtt_is_kept_and_a_shorter_one_counts_for_an_eighth() {
        // The sender has 100 us.
        for (known, kept) in [(0, 800), (400, 800), (800, 800), (1_600, 1_500)] {
            let mut metrics = Metrics { rtt_x8: known, ..Metrics::default() };
            sender(90, 60).remember(&mut metrics);
            assert_eq!(metrics.rtt_x8, kept, "{known}");
        }
        let mut timing_out = sender(90, 60);
        timing_out.path.rtt.backoff = 1;
        let mut metrics = Metrics { rtt_x8: 400, ..Metrics::default() };
        timing_out.remember(&mut metrics);
        assert_eq!(metrics.rtt_x8, 0);
    }
}
