//! Hybla: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International
//! Journal of Satellite Communications and Networking 22(5), 2004, as Linux 6.1 has it.
//!
//! Lets a connection with a long RTT send as fast as one with a reference RTT of 25 ms would. With
//! `rho = RTT / 25 ms`, at least 1, an ACK adds `2^rho - 1` segments in slow start and `rho^2 / cwnd` in congestion
//! avoidance (equation 7 of the paper). `rho` is of the smallest smoothed RTT.
//!
//! Follows Linux where the paper differs: `rho` is in eighths and cut off; the window starts at `rho` segments,
//! so with a short RTT at 1 and not at 10; it is at most 65,535 segments; each ACK counts as one segment, however
//! many it acknowledges; while segments are disordered the window grows as Reno's. The paper's pacing,
//! bandwidth estimate and initial `ssthresh` are not there.
//!
//! Validated by the worked numbers below, by its curve against the equation above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::Duration;
use daybreak_units::parameters::{Kind, Parameter, Value};

use super::{AckSample, CaState, Capabilities, Congestion, Context, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "hybla",
    summary: "Hybla (Caini and Firrincieli, 2004)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| Box::new(Hybla { parameters: Parameters { rtt0: settings.time("rtt0") }, ..Hybla::default() }),
};

/// As the parameter of Linux's module `tcp_hybla`, where it is in milliseconds.
const PARAMETERS: &[Parameter] = &[Parameter {
    name: "rtt0",
    kind: Kind::Time { least: 1_000_000, most: 1_000_000_000_000 },
    default: Some(Value::Ps(RTT0.as_ps())),
    summary: "the RTT whose speed is aimed at",
}];
const RTT0: Duration = Duration::from_ms(25);

/// Increments are kept in 1/128 segment.
const UNIT: u32 = 128;
/// `rho` is kept in eighths.
const RHO_SHIFT: u32 = 3;
/// 2^(n/8) in 1/128, rounded down.
const EIGHTH_POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Beyond this the power of slow start does not grow.
const MAX_POWER: u32 = 16;
/// Largest window.
const MAX_WINDOW: u32 = 65_535;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// The RTT whose speed is aimed at.
    rtt0: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { rtt0: RTT0 }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hybla {
    parameters: Parameters,
    /// Nothing is out of order: the rule grows by `rho`.
    is_open: bool,
    /// `rho` in eighths.
    rho_x8: u32,
    /// Smallest smoothed RTT.
    min_srtt: Duration,
    /// Part of a segment that has been earned, in 1/128.
    fraction: u32,
}

impl Congestion for Hybla {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        self.is_open = true;
        self.learn(ctx.srtt);
        window.cwnd_clamp = MAX_WINDOW;
        window.cwnd = self.rho_x8 >> RHO_SHIFT;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.srtt < self.min_srtt {
            self.learn(ack.srtt);
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if self.is_open {
            self.grow(window);
        } else {
            reno::increase(window, ack);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, _ctx: &Context) {
        self.is_open = state == CaState::Open;
    }
}

impl Hybla {
    fn learn(&mut self, srtt: Duration) {
        self.min_srtt = srtt;
        let rho_x8 = (srtt.as_ps() << RHO_SHIFT) / self.parameters.rtt0.as_ps();
        self.rho_x8 = (rho_x8 as u32).max(1 << RHO_SHIFT);
    }

    /// The growth of one ACK.
    fn grow(&mut self, window: &mut Window) {
        let in_slow_start = window.in_slow_start();
        let increment = if in_slow_start {
            self.power() - UNIT
        } else {
            let increment = self.rho_x8.wrapping_mul(self.rho_x8).wrapping_mul(2) / window.cwnd;
            window.cwnd_cnt += u32::from(increment < UNIT);
            increment
        };
        window.cwnd += increment / UNIT;
        self.fraction += increment % UNIT;
        if self.fraction >= UNIT {
            window.cwnd += 1;
            self.fraction -= UNIT;
            window.cwnd_cnt = 0;
        }
        // A window so large that an ACK earns less than 1/128 grows by a segment a window.
        if increment == 0 && window.cwnd_cnt >= window.cwnd {
            window.cwnd += 1;
            window.cwnd_cnt = 0;
        }
        if in_slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
    }

    /// `2^rho` in 1/128.
    fn power(&self) -> u32 {
        let (whole, eighths) = (self.rho_x8 >> RHO_SHIFT, self.rho_x8 % (1 << RHO_SHIFT));
        EIGHTH_POWERS[eighths as usize] << whole.min(MAX_POWER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(rtt: Duration, cwnd: u32, ssthresh: u32) -> (Hybla, Window) {
        let (mut rule, mut window) = (Hybla::default(), Window::new(10, u32::MAX));
        rule.init(&mut window, &Context { srtt: rtt, ..Context::default() });
        (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        (rule, window)
    }

    fn ack(rule: &Hybla, acked: u32) -> AckSample {
        AckSample { newly_delivered: acked, srtt: rule.min_srtt, is_cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn starts_with_rho_segments() {
        for (us, rho_x8, cwnd) in [(40, 8, 1), (25_000, 8, 1), (28_125, 9, 1), (100_000, 32, 4), (560_000, 179, 22)] {
            let (mut rule, mut window) = (Hybla::default(), Window::new(10, u32::MAX));
            rule.init(&mut window, &Context { srtt: Duration::from_us(us), ..Context::default() });
            assert_eq!((rule.rho_x8, window.cwnd, window.cwnd_clamp), (rho_x8, cwnd, 65_535), "{us} us");
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one() {
        // 100 ms: rho = 4, 15 segments an ACK. 59.375 ms: rho = 2 3/8, 2^2.375 = 5.19 -> 4 20/128 + ...
        let (mut rule, mut window) = rule(Duration::from_ms(100), 4, u32::MAX);
        let sample = ack(&rule, 2);
        rule.on_ack(&mut window, &sample);
        assert_eq!(window.cwnd, 19, "whatever the ACK acknowledges");
        let (mut rule, mut window) = self::rule(Duration::from_us(59_375), 4, u32::MAX);
        let sample = ack(&rule, 1);
        rule.on_ack(&mut window, &sample);
        assert_eq!((window.cwnd, rule.fraction), (8, (165 << 2) % 128), "5.16 - 1");
        window.ssthresh = 10;
        rule.on_ack(&mut window, &sample);
        assert_eq!(window.cwnd, 10, "up to ssthresh");
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared_a_window() {
        let (mut rule, mut window) = rule(Duration::from_ms(100), 512, 100);
        let sample = ack(&rule, 1);
        (0..512).for_each(|_| rule.on_ack(&mut window, &sample));
        // 16/512 is 4 of 128 an ACK; beyond 512 segments, from the 33rd on, 3 of 128: 480 * 3 = 11 * 128 + 32.
        assert_eq!((window.cwnd, rule.fraction), (524, 32));
    }

    #[test]
    fn with_a_short_rtt_as_reno() {
        let (mut rule, mut window) = rule(Duration::from_us(40), 64, 32);
        let sample = ack(&rule, 1);
        (0..64).for_each(|_| rule.on_ack(&mut window, &sample));
        assert_eq!(window.cwnd, 65, "2/128 an ACK");
        // Above 128 segments an ACK earns nothing, so whole windows are counted.
        window.cwnd = 129;
        window.cwnd_cnt = 0;
        (0..129).for_each(|_| rule.on_ack(&mut window, &sample));
        assert_eq!((window.cwnd, window.cwnd_cnt), (130, 0));
    }

    #[test]
    fn rho_follows_the_smallest_rtt_also_while_the_window_is_not_the_limit() {
        let (mut rule, mut window) = rule(Duration::from_ms(100), 10, 5);
        let mut sample = ack(&rule, 1);
        sample.srtt = Duration::from_ms(120);
        rule.on_ack(&mut window, &sample);
        assert_eq!(rule.rho_x8, 32);
        sample.srtt = Duration::from_ms(50);
        sample.is_cwnd_limited = false;
        rule.on_ack(&mut window, &sample);
        assert_eq!((rule.rho_x8, rule.min_srtt), (16, Duration::from_ms(50)));
    }

    #[test]
    fn disorder_makes_it_reno() {
        let (mut rule, mut window) = rule(Duration::from_ms(100), 10, 5);
        rule.on_state(&mut window, CaState::Disorder, &Context::default());
        let sample = ack(&rule, 10);
        rule.on_ack(&mut window, &sample);
        assert_eq!(window.cwnd, 11);
        assert_eq!(rule.ssthresh(&window, &Context::default()), 5);
    }

    #[test]
    fn it_is_itself_again_when_open() {
        let (mut rule, mut window) = rule(Duration::from_ms(100), 10, 5);
        let sample = ack(&rule, 5);
        for (state, cwnd, counted) in [(CaState::Disorder, 10, 5), (CaState::Open, 11, 5), (CaState::Cwr, 11, 10)] {
            rule.on_state(&mut window, state, &Context::default());
            rule.on_ack(&mut window, &sample);
            assert_eq!((window.cwnd, window.cwnd_cnt), (cwnd, counted), "{state:?}");
        }
    }

    #[test]
    fn only_acks_that_earn_less_than_a_128th_are_counted() {
        // rho of 4: 2 * 32^2 in 128ths of 16 segments are a whole one, of 17 a little less.
        for (cwnd, grown, counted) in [(16, 17, 0), (17, 17, 1)] {
            let (mut rule, mut window) = rule(Duration::from_ms(100), cwnd, 5);
            let sample = ack(&rule, 1);
            rule.on_ack(&mut window, &sample);
            assert_eq!((window.cwnd, window.cwnd_cnt), (grown, counted));
        }
    }
}
