//! reTCP: Mukerjee et al., "Adapting TCP for reconfigurable datacenter networks", NSDI 2020, as the kernel module of the
//! paper's emulator (Etalon) has it.
//!
//! Reno for networks with circuits. A switch sets the ECE flag on a flow's ACKs from some time before the flow's
//! circuit is there until it is gone. With the first marked ACK the window is multiplied by `alpha`, with the first
//! unmarked one divided by it. ECN need not be negotiated, and the flag reduces nothing.
//!
//! An ACK jumps after Reno's own increase, so only where it may grow the window: not in Recovery or CWR, but also
//! while the window is not the limit. Losses do not change that a flow has jumped, and jumps do not change the
//! threshold of slow start. The division is a whole one. Differs from that module where it would leave a window of
//! none: one segment stays.
//!
//! Validated by the worked numbers below, and beside the same rule as a module of Linux 6.1 (`kernel-image/congestion`)
//! by dialogues (`tests/dialogues`, `retcp_*`).

use daybreak_units::parameters::Parameter;

use super::{AckSample, Capabilities, Congestion, Context, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "retcp",
    summary: "reTCP, Reno with circuit marks (Mukerjee et al., 2020)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| {
        let [alpha_up, alpha_down] = ["alpha_up", "alpha_down"].map(|name| settings.whole(name) as u32);
        Box::new(ReTcp { parameters: Parameters { alpha_up, alpha_down }, has_jumped: false })
    },
};

/// The parameters of the module, by the same names.
const PARAMETERS: &[Parameter] = &[
    Parameter::count("alpha_up", 2, (1, 1_024), "factor of the window when the circuit comes up"),
    Parameter::count("alpha_down", 2, (1, 1_024), "divisor of the window when the circuit goes"),
];

/// What the module has as parameters.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Factor of the window when the circuit comes up.
    alpha_up: u32,
    /// Divisor when it goes.
    alpha_down: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { alpha_up: 2, alpha_down: 2 }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReTcp {
    parameters: Parameters,
    /// The window has been multiplied for a circuit.
    has_jumped: bool,
}

impl Congestion for ReTcp {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        reno::increase(window, ack);
        if ack.ece == self.has_jumped {
            return;
        }
        window.cwnd = if ack.ece {
            window.cwnd.saturating_mul(self.parameters.alpha_up).min(window.cwnd_clamp)
        } else {
            (window.cwnd / self.parameters.alpha_down).max(1)
        };
        self.has_jumped = ack.ece;
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::parameters::Value;

    use super::*;
    use crate::congestion::CaState;

    fn ack(ece: bool) -> AckSample {
        AckSample { newly_delivered: 1, ece, is_cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn jumps_with_the_first_mark_and_back_with_the_first_ack_without() {
        let (mut rule, mut window) = (ReTcp::default(), Window::new(20, 10));
        rule.on_ack(&mut window, &ack(true));
        assert_eq!((window.cwnd, window.cwnd_cnt, window.ssthresh), (40, 1, 10), "counted first, then doubled");
        rule.on_ack(&mut window, &ack(true));
        assert_eq!((window.cwnd, window.cwnd_cnt), (40, 2), "once");
        window.cwnd = 45;
        rule.on_ack(&mut window, &ack(false));
        assert_eq!(window.cwnd, 22, "whole segments");
        rule.on_ack(&mut window, &ack(false));
        assert_eq!(window.cwnd, 22);
    }

    #[test]
    fn the_increase_of_slow_start_is_doubled_too() {
        let (mut rule, mut window) = (ReTcp::default(), Window::new(10, u32::MAX));
        rule.on_ack(&mut window, &AckSample { newly_delivered: 2, ..ack(true) });
        assert_eq!(window.cwnd, 24);
    }

    #[test]
    fn jumps_while_the_window_is_not_the_limit_and_within_its_clamp() {
        let (mut rule, mut window) = (ReTcp::default(), Window { cwnd_clamp: 30, ..Window::new(20, 10) });
        rule.on_ack(&mut window, &AckSample { is_cwnd_limited: false, ..ack(true) });
        assert_eq!((window.cwnd, window.cwnd_cnt), (30, 0));
        window.cwnd = 1;
        rule.on_ack(&mut window, &AckSample { is_cwnd_limited: false, ..ack(false) });
        assert_eq!(window.cwnd, 1, "never none");
    }

    #[test]
    fn its_factors_can_be_set() {
        let given = [("alpha_up", Value::Count(3)), ("alpha_down", Value::Count(5))];
        let mut rule = (ENTRY.new)(&ENTRY.settings(given).unwrap(), 0);
        let mut window = Window::new(20, 10);
        rule.on_ack(&mut window, &AckSample { is_cwnd_limited: false, ..ack(true) });
        assert_eq!(window.cwnd, 60);
        rule.on_ack(&mut window, &AckSample { is_cwnd_limited: false, ..ack(false) });
        assert_eq!(window.cwnd, 12);
        assert!(ENTRY.settings([("alpha_up", Value::Count(0))]).is_err());
    }

    #[test]
    fn a_loss_does_not_change_that_it_has_jumped() {
        let (mut rule, mut window) = (ReTcp::default(), Window::new(20, 10));
        rule.on_ack(&mut window, &ack(true));
        window.ssthresh = rule.ssthresh(&window, &Context::default());
        assert_eq!(window.ssthresh, 20);
        window.cwnd = 20;
        rule.on_state(&mut window, CaState::Recovery, &Context::default());
        rule.on_state(&mut window, CaState::Open, &Context::default());
        rule.on_ack(&mut window, &ack(true));
        assert_eq!(window.cwnd, 20, "no second jump");
        rule.on_ack(&mut window, &ack(false));
        assert_eq!(window.cwnd, 10);
    }
}
