//! HighSpeed TCP: RFC 3649 (Floyd, 2003) as Linux 6.1 has it.
//!
//! Above 38 segments the increase `a(w)` per round trip and the decrease `b(w)` depend on the window, such
//! that the mean window at a loss rate `p` is `0.12 / p^0.835` (RFC 3649, section 5) instead of Reno's
//! `1.22 / sqrt(p)`: 83,000 segments at one loss in ten million.
//!
//! `a(w)` and `b(w)` are those of the table of RFC 3649, appendix B: between two of its windows the next
//! larger one's. Follows Linux where the RFC differs: `a(w)` is added once per ACK, not per acknowledged
//! segment, so delayed ACKs slow it down; `b(w)` is cut off to 1/256; the place in the table is looked up
//! only when the window grows in congestion avoidance, so a loss in slow start takes half, and one
//! soon after another takes what the window was before both; slow start's last ACK counts for slow start only.
//! RFC 3742's limited slow start is no part of it.
//!
//! Validated by the worked numbers below, which compute the table anew, by its curve against the table
//! (`tests/curves`), and by the segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`,
//! docs/fidelity.md).

use super::{AckSample, Capabilities, Congestion, Context, Entry, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "highspeed",
    summary: "HighSpeed TCP (RFC 3649)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(HighSpeed::default()),
};

/// Windows up to which `a(w)` is 1, 2, 3 and so on segments a round trip (RFC 3649, appendix B).
#[rustfmt::skip]
const WINDOWS: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1_058, 1_284, 1_529, 1_793, 2_076, 2_378, 2_699, 3_039, 3_399, 3_778, 4_177,
    4_596, 5_036, 5_497, 5_979, 6_483, 7_009, 7_558, 8_130, 8_726, 9_346, 9_991, 10_661, 11_358, 12_082, 12_834,
    13_614, 14_424, 15_265, 16_137, 17_042, 17_981, 18_955, 19_965, 21_013, 22_101, 23_230, 24_402, 25_618, 26_881,
    28_193, 29_557, 30_975, 32_450, 33_986, 35_586, 37_253, 38_992, 40_808, 42_707, 44_694, 46_776, 48_961, 51_258,
    53_677, 56_230, 58_932, 61_799, 64_851, 68_113, 71_617, 75_401, 79_517, 84_035, 89_053,
];
/// `b(w)` at these windows in 1/256: 0.50, 0.44, 0.41 down to 0.10 (section 5, equation for b(w)).
const DECREASE: [u8; WINDOWS.len()] = [
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60, 59, 58, 57, 56, 55, 54,
    53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41, 41, 40, 39, 39, 38, 38, 37, 36, 36, 35, 35, 34,
    33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25, 24,
];
const DECREASE_SHIFT: u32 = 8;
/// The largest window, so that `b(w)` times the window stays in 32 bits.
const MAX_WINDOW: u32 = u32::MAX / 128;

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeed {
    /// Place in the table: `a(w)` less one.
    place: usize,
}

impl Congestion for HighSpeed {
    fn init(&mut self, window: &mut Window, _ctx: &Context) {
        window.cwnd_clamp = window.cwnd_clamp.min(MAX_WINDOW);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.newly_delivered);
            return;
        }
        self.look_up(window.cwnd);
        if window.cwnd < window.cwnd_clamp {
            window.cwnd_cnt += self.place as u32 + 1;
            if window.cwnd_cnt >= window.cwnd {
                window.cwnd_cnt -= window.cwnd;
                window.cwnd += 1;
            }
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let decrease = (window.cwnd * u32::from(DECREASE[self.place])) >> DECREASE_SHIFT;
        (window.cwnd - decrease).max(2)
    }
}

impl HighSpeed {
    /// Moves to the first window of the table that is not below `cwnd`.
    fn look_up(&mut self, cwnd: u32) {
        while cwnd > WINDOWS[self.place] && self.place + 1 < WINDOWS.len() {
            self.place += 1;
        }
        while self.place > 0 && cwnd <= WINDOWS[self.place - 1] {
            self.place -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(cwnd: u32, acks: u32) -> (HighSpeed, Window) {
        let (mut rule, mut window) = (HighSpeed::default(), Window::new(cwnd, 2));
        for _ in 0..acks {
            rule.on_ack(&mut window, &AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() });
        }
        (rule, window)
    }

    /// The table as RFC 3649, appendix B, makes it from the equations of section 5: a window is entered when
    /// a(w) has grown by one since the last that was.
    #[test]
    fn the_table_follows_from_its_equations() {
        let b = |w: f64| (0.1 - 0.5) * (w.ln() - 38f64.ln()) / (83_000f64.ln() - 38f64.ln()) + 0.5;
        let a = |w: f64| w * w * 2.0 * b(w) / ((2.0 - b(w)) * w.powf(1.2) * 12.8);
        let (mut rows, mut last) = (vec![38], 1.0);
        for w in 39..=90_000 {
            if a(f64::from(w)) > last + 1.0 {
                last = a(f64::from(w));
                rows.push(w);
            }
        }
        assert_eq!(rows, WINDOWS);
        for (w, decrease) in WINDOWS.iter().zip(DECREASE) {
            assert_eq!((b(f64::from(*w)) * 256.0) as u8, decrease, "{w}");
        }
    }

    #[test]
    fn the_increase_is_that_of_the_table() {
        // a(38) = 1: one ACK for each of 20 segments is one round trip.
        assert_eq!(grown(20, 20).1.cwnd, 21);
        // a(1000) lies between 851 and 1058: 8 segments a round trip of 1000 ACKs, hardly less as it grows.
        let (rule, window) = grown(1_000, 1_000);
        assert_eq!((rule.place + 1, window.cwnd, window.cwnd_cnt), (8, 1_007, 8_000 - (1_000..1_007).sum::<u32>()));
    }

    #[test]
    fn the_decrease_is_that_of_the_table() {
        let ctx = Context::default();
        let (mut rule, window) = grown(1_000, 1);
        assert_eq!(rule.ssthresh(&window, &ctx), 1_000 - 1_000 * 83 / 256);
        assert_eq!(HighSpeed::default().ssthresh(&Window::new(1_000, 2), &ctx), 500, "not looked up yet");
        assert_eq!(HighSpeed::default().ssthresh(&Window::new(3, 2), &ctx), 2);
        // The place follows the window down as well, and stays at the table's end.
        let mut rule = HighSpeed { place: 71 };
        rule.look_up(300_000);
        assert_eq!(rule.place, 71);
        rule.look_up(118);
        assert_eq!(rule.place, 1);
        rule.look_up(38);
        assert_eq!(rule.place, 0);
    }

    #[test]
    fn slow_start_keeps_what_it_does_not_need() {
        let (mut rule, mut window) = (HighSpeed::default(), Window::new(98, 100));
        rule.on_ack(&mut window, &AckSample { newly_delivered: 5, is_cwnd_limited: true, ..AckSample::default() });
        assert_eq!((window.cwnd, window.cwnd_cnt), (100, 0));
    }

    #[test]
    fn the_window_is_bounded() {
        let (mut rule, mut window) = (HighSpeed::default(), Window::new(50, 5));
        rule.init(&mut window, &Context::default());
        assert_eq!(window.cwnd_clamp, MAX_WINDOW, "so that its products stay in 32 bits");
        (window.cwnd_clamp, window.cwnd_cnt) = (50, 50);
        rule.on_ack(&mut window, &AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() });
        assert_eq!((window.cwnd, window.cwnd_cnt), (50, 50));
    }
}
