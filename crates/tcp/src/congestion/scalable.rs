//! Scalable TCP: Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR
//! 33(2), 2003, as Linux 6.1 has it.
//!
//! Every acknowledged segment adds 0.01 of a segment to the window, and a loss takes an eighth of it
//! (section 3 of the paper). So the window needs the same number of round trips to recover,
//! ln(8/7) / ln(1.01) = 13.4, however large it is.
//!
//! Follows Linux where the paper differs: up to 100 segments the window grows as Reno's does, by one
//! segment a window, where the paper changes to Reno's growth and halving below 16 segments; the cut is
//! an eighth of every window. What slow start leaves over of an ACK counts for congestion avoidance.
//!
//! Validated by the worked numbers below, by its curve against the equation above (`tests/curves`), and by
//! the segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use super::{AckSample, Congestion, Context, Entry, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry =
    Entry { name: "scalable", summary: "Scalable TCP (Kelly, 2003)", parameters: &[], new: |_, _| Box::new(Scalable) };

/// Acknowledged segments for one more: 1 / 0.01.
const PER_SEGMENT: u32 = 100;
/// The window loses 1/2^3 of itself: 0.125.
const DECREASE_SHIFT: u32 = 3;

/// The rule; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalable;

impl Congestion for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if let Some(acked) = window.past_slow_start(ack) {
            increase(window, acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        (window.cwnd - (window.cwnd >> DECREASE_SHIFT)).max(2)
    }
}

/// Scalable TCP's growth in congestion avoidance, which YeAH shares.
pub(super) fn increase(window: &mut Window, acked: u32) {
    window.additive_increase(window.cwnd.min(PER_SEGMENT), acked);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledge(window: &mut Window, segments: u32) {
        for _ in 0..segments {
            Scalable.on_ack(window, &AckSample { acked: 1, is_cwnd_limited: true, ..AckSample::default() });
        }
    }

    #[test]
    fn one_segment_for_a_hundred_above_a_hundred() {
        let mut window = Window::new(1_000, 500);
        acknowledge(&mut window, 1_000);
        assert_eq!((window.cwnd, window.cwnd_cnt), (1_010, 0), "1 % a round trip");
        let mut window = Window::new(50, 10);
        acknowledge(&mut window, 50);
        assert_eq!(window.cwnd, 51, "below a hundred as Reno");
    }

    #[test]
    fn a_loss_takes_an_eighth() {
        let ctx = Context::default();
        assert_eq!(Scalable.ssthresh(&Window::new(1_000, 10), &ctx), 875);
        assert_eq!(Scalable.ssthresh(&Window::new(15, 10), &ctx), 14, "whole segments");
        assert_eq!(Scalable.ssthresh(&Window::new(1, 10), &ctx), 2);
    }

    #[test]
    fn grows_only_when_it_is_the_limit() {
        let mut window = Window::new(10, u32::MAX);
        Scalable.on_ack(&mut window, &AckSample { acked: 5, ..AckSample::default() });
        assert_eq!((window.cwnd, window.cwnd_cnt), (10, 0));
    }
}
