//! Reno: RFC 5681 as Linux 6.1 has it.
//!
//! Models slow start, one segment more per window in congestion avoidance, and halving on loss.
//! Counts segments that were acknowledged, not ACKs (appropriate byte counting without the limit of
//! RFC 3465), so delayed ACKs do not slow it down.
//!
//! Follows Linux where RFC 5681 differs: `ssthresh` is half of `cwnd`, not of the flight size
//! (equation 4); the window grows only while it is the limit (RFC 7661's concern); what slow start
//! leaves over of an ACK counts for congestion avoidance; a spurious reduction is undone to the
//! larger of the present window and the one before. Fast recovery is the sender's.
//!
//! Validated by the worked numbers below, by its curve over a drop-tail path (`tests/curves`), and
//! beside Linux 6.1 (`tests/end_to_end.rs`): over 10 Gbit/s, 40 us and 350 packets both are cut to 389
//! at 8.3 ms and to 194 at 14.5 ms, and the windows agree to the segment from 40 to 200 ms; over 1 Gbit/s,
//! 10 ms and 830 packets both lose 1659 and are cut to 828.

use super::{AckSample, Capabilities, Congestion, Context, Entry, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "reno",
    summary: "Reno (RFC 5681)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(Reno),
};

/// The rule; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Congestion for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        increase(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        halved(window)
    }
}

/// Reno's growth on one ACK, which other rules share.
#[inline]
pub(super) fn increase(window: &mut Window, ack: &AckSample) {
    if let Some(acked) = window.past_slow_start(ack) {
        window.additive_increase(window.cwnd, acked);
    }
}

/// Reno's threshold after a loss, which other rules share; at least 2 (RFC 5681, equation 4).
#[inline]
pub(super) fn halved(window: &Window) -> u32 {
    (window.cwnd / 2).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(acked: u32) -> AckSample {
        AckSample { newly_delivered: acked, is_cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn slow_start_hands_the_rest_to_congestion_avoidance() {
        let mut window = Window::new(10, 14);
        Reno.on_ack(&mut window, &ack(3));
        assert_eq!((window.cwnd, window.cwnd_cnt), (13, 0));
        Reno.on_ack(&mut window, &ack(4));
        assert_eq!((window.cwnd, window.cwnd_cnt), (14, 3), "one segment to ssthresh, three counted");
        Reno.on_ack(&mut window, &ack(11));
        assert_eq!((window.cwnd, window.cwnd_cnt), (15, 0), "fourteen counted: one more");
    }

    #[test]
    fn one_segment_a_window() {
        let mut window = Window::new(20, 10);
        for round in 1..=5u32 {
            let cwnd = window.cwnd;
            for _ in 0..cwnd / 2 {
                Reno.on_ack(&mut window, &ack(2));
            }
            if cwnd % 2 == 1 {
                Reno.on_ack(&mut window, &ack(1));
            }
            assert_eq!(window.cwnd, 20 + round);
        }
    }

    #[test]
    fn grows_only_when_it_is_the_limit() {
        let mut window = Window::new(10, u32::MAX);
        Reno.on_ack(&mut window, &AckSample { newly_delivered: 5, ..AckSample::default() });
        assert_eq!(window.cwnd, 10);
    }

    #[test]
    fn loss_halves_and_undo_restores() {
        let ctx = Context::default();
        assert_eq!(Reno.ssthresh(&Window::new(101, 10), &ctx), 50);
        assert_eq!(Reno.ssthresh(&Window::new(3, 10), &ctx), 2);
        let window = Window { prior_cwnd: 101, ..Window::new(60, 50) };
        assert_eq!(Reno.undo_cwnd(&window), 101);
        let window = Window { prior_cwnd: 40, ..Window::new(60, 50) };
        assert_eq!(Reno.undo_cwnd(&window), 60);
    }
}
