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

use super::{AckSample, Capabilities, Congestion, Context, Entry, OlderRules, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "scalable",
    summary: "Scalable TCP (Kelly, 2003)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(Scalable),
};

/// Acknowledged segments for one more: 1 / 0.01.
pub(super) const PER_SEGMENT: u32 = 100;
/// ACKs for one more where ACKs are counted, each of which was taken to acknowledge two segments.
const PER_ACK: u32 = PER_SEGMENT / 2;
/// The window loses 1/2^3 of itself: 0.125.
const DECREASE_SHIFT: u32 = 3;

/// The rule; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalable;

impl Congestion for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if let Some(acked) = window.past_slow_start_by_acks(ack) {
            let per = if window.older.have(OlderRules::COUNT_ACKS) { PER_ACK } else { PER_SEGMENT };
            window.additive_increase(window.cwnd.min(per), acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        (window.cwnd - (window.cwnd >> DECREASE_SHIFT)).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledge(window: &mut Window, segments: u32) {
        for _ in 0..segments {
            Scalable.on_ack(window, &AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() });
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
        Scalable.on_ack(&mut window, &AckSample { newly_delivered: 5, ..AckSample::default() });
        assert_eq!((window.cwnd, window.cwnd_cnt), (10, 0));
    }

    #[test]
    fn older_stacks_count_acks_each_for_two_segments() {
        let ack = AckSample { newly_delivered: 2, is_cwnd_limited: true, ..AckSample::default() };
        let mut window = Window { older: OlderRules::COUNT_ACKS, ..Window::new(80, 1) };
        (0..49).for_each(|_| Scalable.on_ack(&mut window, &ack));
        assert_eq!(window.cwnd, 80);
        Scalable.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 81, "50 ACKs, whatever they acknowledge");
        let mut window = Window { older: OlderRules::COUNT_ACKS, ..Window::new(4, 5) };
        Scalable.on_ack(&mut window, &ack);
        assert_eq!((window.cwnd, window.cwnd_cnt), (5, 0), "slow start leaves nothing over");
    }
}
