//! Veno: Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC
//! 21(2), 2003, as Linux 6.1 has it.
//!
//! Reno with Vegas's estimate of how many segments wait in queues, `N = cwnd (1 - baseRTT / RTT)`. With fewer
//! than 3, the paper's beta, a loss is taken for a random one and the window cut to 4/5 only; with 3 or more the
//! window is halved, and grows by one segment in every other round trip.
//!
//! Follows Linux where the paper differs:
//! * `N` is computed with every ACK that may grow the window, from the smallest RTT since the last such ACK:
//!   usually of one sample. The count of samples that makes it trusted (three) is never reset, so it holds
//!   from the third sample on, and again after each 65,536.
//! * `N` is in halves, rounded up.
//! * Losses are found by Linux; the slow start threshold of a timeout is the same as that of fast recovery.
//! * When nothing is in flight, also at the retransmission after a timeout, `baseRTT` is forgotten.
//!
//! Validated by the worked numbers below, by its curve against the paper's growth (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use super::{AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "veno",
    summary: "Veno (Fu and Liew, 2003)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(Veno::default()),
};

/// An RTT that is not known, in microseconds.
const UNKNOWN: u32 = 0x7fff_ffff;
/// N is kept in halves.
const SHIFT: u32 = 1;
/// Segments in queues from which on the path counts as congested (section III of the paper), in halves.
const BETA: u32 = 3 << SHIFT;
/// Fewest RTT samples that are trusted.
const ENOUGH_SAMPLES: u16 = 3;
/// Smallest window that it sets.
const MIN_WINDOW: u32 = 2;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct Veno {
    /// The state is Open.
    is_enabled: bool,
    /// RTT samples so far.
    samples: u16,
    /// Smallest RTT since the last growth, and of all, in microseconds, and one more.
    rtt: u32,
    base_rtt: u32,
    /// The next increment of a congested path counts.
    is_turn: bool,
    /// Segments in queues, in halves.
    queued: u32,
}

impl Default for Veno {
    fn default() -> Self {
        Self { is_enabled: true, samples: 0, rtt: UNKNOWN, base_rtt: UNKNOWN, is_turn: true, queued: 0 }
    }
}

impl Congestion for Veno {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        // The SYN's RTT is forgotten, but counted.
        self.samples = u16::from(ctx.syn_rtt.is_some());
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_us() as u32 + 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.rtt = self.rtt.min(rtt);
        self.samples = self.samples.wrapping_add(1);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.is_enabled {
            reno::increase(window, ack);
            return;
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if self.samples < ENOUGH_SAMPLES {
            reno::increase(window, ack);
        } else {
            self.queued = self.queued(window.cwnd);
            if let Some(acked) = window.past_slow_start_by_acks(ack) {
                self.increase(window, acked);
            }
            window.cwnd = window.cwnd.min(window.cwnd_clamp).max(MIN_WINDOW);
        }
        self.rtt = UNKNOWN;
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        if self.queued < BETA { (window.cwnd * 4 / 5).max(2) } else { reno::halved(window) }
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, _ctx: &Context) {
        match event {
            CaEvent::WindowRestart | CaEvent::TxStart { .. } => {
                *self = Self { samples: self.samples, queued: self.queued, ..Self::default() };
            }
            CaEvent::CompleteCwr | CaEvent::Loss => {}
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, _ctx: &Context) {
        self.is_enabled = state == CaState::Open;
        if self.is_enabled {
            self.rtt = UNKNOWN;
        }
    }
}

impl Veno {
    /// N in halves: what the path does not hold of `cwnd` segments.
    fn queued(&self, cwnd: u32) -> u32 {
        let held = (u64::from(cwnd) * u64::from(self.base_rtt)) << SHIFT;
        (cwnd << SHIFT) - (held / u64::from(self.rtt)) as u32
    }

    fn increase(&mut self, window: &mut Window, acked: u32) {
        if self.queued < BETA {
            window.additive_increase(window.cwnd, acked);
        } else if window.cwnd_cnt >= window.cwnd {
            // The window's worth was there before this ACK, which is not counted.
            let grows = self.is_turn && window.cwnd < window.cwnd_clamp;
            window.cwnd += u32::from(grows);
            self.is_turn = !grows;
            window.cwnd_cnt = 0;
        } else {
            window.cwnd_cnt += acked;
        }
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::Duration;

    use super::super::OlderRules;
    use super::*;

    fn ack(rule: &mut Veno, window: &mut Window, rtt_us: u64) {
        let sample = AckArrival { acked: 1, rtt: Some(Duration::from_us(rtt_us)), ..AckArrival::default() };
        rule.on_arrival(window, &sample);
        rule.on_ack(window, &sample.sample());
    }

    /// A rule that has seen a base RTT of 10 ms.
    fn rule(cwnd: u32, ssthresh: u32) -> (Veno, Window) {
        let rule = Veno { samples: 2, base_rtt: 10_000, ..Veno::default() };
        (rule, Window::new(cwnd, ssthresh))
    }

    #[test]
    fn three_segments_in_queues_are_congestion() {
        // 100 segments: at 10,309 us the path holds 97.0 of them, at 10,308 us 97.01.
        let (mut veno, mut window) = rule(100, 50);
        ack(&mut veno, &mut window, 10_307);
        assert_eq!((veno.queued, veno.ssthresh(&window, &Context::default())), (6, 50), "2.99 is rounded up to halves");
        let (mut veno, mut window) = rule(100, 50);
        ack(&mut veno, &mut window, 10_255);
        assert_eq!((veno.queued, veno.ssthresh(&window, &Context::default())), (5, 80));
    }

    #[test]
    fn a_congested_path_gets_one_segment_in_two_round_trips() {
        let (mut rule, mut window) = rule(100, 50);
        let mut grown = Vec::new();
        for n in 1..=450 {
            let before = window.cwnd;
            ack(&mut rule, &mut window, 20_000);
            if window.cwnd > before {
                grown.push(n);
            }
        }
        // A hundred ACKs counted, one more to see it, every other time.
        assert_eq!(grown, [101, 101 + 102 + 102]);
        let (mut rule, mut window) = self::rule(100, 50);
        (0..100).for_each(|_| ack(&mut rule, &mut window, 10_000));
        assert_eq!(window.cwnd, 101, "an uncongested one gets one in one");
    }

    #[test]
    fn the_first_two_samples_are_not_trusted() {
        let (mut rule, mut window) = (Veno::default(), Window::new(100, 50));
        (0..2).for_each(|_| ack(&mut rule, &mut window, 10_000));
        assert_eq!(rule.queued, 0);
        rule.base_rtt = 5_000;
        ack(&mut rule, &mut window, 9_999);
        assert_eq!(rule.queued, 100, "half of 100 segments, in halves");
        (0..65_534).for_each(|_| ack(&mut rule, &mut window, 10_000));
        rule.queued = 7;
        ack(&mut rule, &mut window, 10_000);
        assert_eq!((rule.samples, rule.queued), (2, 7), "the count has 16 bits");
    }

    #[test]
    fn forgets_the_base_rtt_when_nothing_is_in_flight() {
        let (mut rule, mut window) = rule(100, 50);
        ack(&mut rule, &mut window, 20_000);
        rule.on_state(&mut window, CaState::Loss, &Context::default());
        assert!(!rule.is_enabled);
        rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &Context::default());
        assert_eq!((rule.base_rtt, rule.is_enabled, rule.samples), (UNKNOWN, true, 3));
    }

    #[test]
    fn older_stacks_count_acks() {
        let ack = AckSample { newly_delivered: 2, is_cwnd_limited: true, ..AckSample::default() };
        let acks = |older| {
            let mut window = Window { older, ..Window::new(8, 1) };
            // With three samples of one RTT nothing waits in queues.
            let mut rule = Veno { samples: 3, rtt: 1_000, base_rtt: 1_000, ..Veno::default() };
            (1..).find(|_| {
                rule.rtt = 1_000;
                rule.on_ack(&mut window, &ack);
                window.cwnd > 8
            })
        };
        assert_eq!((acks(OlderRules::default()), acks(OlderRules::COUNT_ACKS)), (Some(4), Some(8)));
    }

    #[test]
    fn the_rtt_of_the_syn_is_counted_and_forgotten_and_others_are_a_microsecond_longer() {
        // tcp_veno_pkts_acked(): "Never allow zero rtt or baseRTT".
        for (syn_rtt, samples) in [(None, 0), (Some(Duration::from_us(7)), 1)] {
            let (mut rule, mut window) = (Veno::default(), Window::new(10, 5));
            rule.init(&mut window, &Context { syn_rtt, ..Context::default() });
            assert_eq!((rule.samples, rule.base_rtt), (samples, UNKNOWN));
            rule.on_arrival(&mut window, &AckArrival { rtt: Some(Duration::from_us(20)), ..AckArrival::default() });
            assert_eq!((rule.samples, rule.rtt, rule.base_rtt), (samples + 1, 21, 21));
        }
    }

    #[test]
    fn after_idle_time_a_loss_is_still_judged_by_the_last_queue() {
        let (mut rule, mut window) = rule(100, 50);
        rule.queued = BETA;
        rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &Context::default());
        assert_eq!(rule.ssthresh(&window, &Context::default()), 50);
    }

    #[test]
    fn a_congested_window_grows_every_other_time_and_not_beyond_its_clamp() {
        for (queued, clamp, cwnd, counted, is_turn) in
            [(BETA - 1, 200, 101, 1, true), (BETA, 200, 101, 0, false), (BETA, 100, 100, 0, true)]
        {
            let (mut rule, mut window) = rule(100, 50);
            (rule.queued, window.cwnd_cnt, window.cwnd_clamp) = (queued, 100, clamp);
            rule.increase(&mut window, 1);
            assert_eq!(
                (window.cwnd, window.cwnd_cnt, rule.is_turn),
                (cwnd, counted, is_turn),
                "{queued} below {clamp}"
            );
        }
    }
}
