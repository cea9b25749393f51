//! DCTCP: RFC 8257 as Linux 6.1 has it.
//!
//! Estimates which part of its segments the network marks (`alpha`), once a round trip, and answers an echo by taking half
//! that part off the window, where Reno takes half. Grows as Reno does. The receiver's side, an echo that says which
//! segments were marked (RFC 8257, section 3.2), is `receiver/ecn.rs`; that every segment is ECN-capable,
//! `sender/ecn.rs`.
//!
//! Follows Linux where the RFC leaves a choice or differs: counts segments and not bytes (section 3.3 counts bytes); an
//! estimate below one part in `2^g` falls to nothing at once; a loss or a timeout halves the window that there is then,
//! also when an echo has begun to reduce it. Where ECN is not negotiated it is Reno, and sends nothing that is
//! ECN-capable.
//!
//! Validated by the worked numbers below, by its curve over a marking queue (`tests/curves`) and by dialogues that Linux
//! 6.1 plays as well (`tests/dialogues`, `dctcp_*`).

use daybreak_units::parameters::{Kind, Parameter, Settings, Value};

use super::{
    AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, OlderRules, Window, reno,
};

/// `alpha` is counted in parts of 1,024.
const WHOLE_SHIFT: u32 = 10;
const WHOLE: u32 = 1 << WHOLE_SHIFT;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "dctcp_shift_g",
        kind: Kind::Count { least: 0, most: 10 },
        default: Some(Value::Count(4)),
        summary: "weight of a new sample of alpha (g), as a power of 1/2: 4 is 1/16",
    },
    Parameter {
        name: "dctcp_alpha_on_init",
        kind: Kind::Count { least: 0, most: WHOLE as u64 },
        default: Some(Value::Count(WHOLE as u64)),
        summary: "alpha at the start, in parts of 1024",
    },
];

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "dctcp",
    summary: "DCTCP (RFC 8257)",
    parameters: PARAMETERS,
    capabilities: Capabilities { needs_ecn: true, wants_idle_acks: true, ..Capabilities::NONE },
    new,
};

fn new(settings: &Settings, _seed: u64) -> Box<dyn Congestion> {
    let shift_g = settings.whole("dctcp_shift_g") as u32;
    Box::new(Dctcp { shift_g, alpha: settings.whole("dctcp_alpha_on_init") as u32, ..Dctcp::default() })
}

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// `g` is `2^-shift_g` (RFC 8257, section 3.3).
    shift_g: u32,
    /// ECN was negotiated; otherwise this is Reno.
    is_active: bool,
    /// The part of the segments that is marked, in 1,024ths (`DCTCP.Alpha`).
    alpha: u32,
    /// The round trip ends when this is acknowledged (`DCTCP.WindowEnd`).
    window_end: u64,
    /// What had been delivered when it began, and of that, by ACKs with an echo.
    delivered: u64,
    delivered_ce: u64,
    /// The window before the last reduction, to return to.
    loss_cwnd: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { shift_g: 4, is_active: false, alpha: WHOLE, window_end: 0, delivered: 0, delivered_ce: 0, loss_cwnd: 0 }
    }
}

impl Dctcp {
    /// One minus `g` of the old estimate and `g` of the new sample (RFC 8257, section 3.3, step 6).
    fn estimate(&mut self, delivered: u64, marked: u64) {
        let forgotten = match self.alpha >> self.shift_g {
            0 => self.alpha,
            part => part,
        };
        self.alpha -= forgotten;
        if marked > 0 {
            let sample = (marked << (WHOLE_SHIFT - self.shift_g)) / delivered.max(1);
            self.alpha = (u64::from(self.alpha) + sample).min(u64::from(WHOLE)) as u32;
        }
    }

    /// A loss counts as one everywhere (RFC 8257, section 3.4).
    fn halve(&mut self, window: &mut Window) {
        self.loss_cwnd = window.cwnd;
        window.ssthresh = reno::halved(window);
    }
}

impl Congestion for Dctcp {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        self.is_active = ctx.ecn;
        self.window_end = ctx.snd_nxt;
        self.delivered = ctx.delivered;
    }

    #[inline]
    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        if !self.is_active || ack.snd_una < self.window_end {
            return;
        }
        self.estimate(ack.delivered - self.delivered, ack.delivered_ce - self.delivered_ce);
        (self.delivered, self.delivered_ce, self.window_end) = (ack.delivered, ack.delivered_ce, ack.snd_nxt);
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        reno::increase(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        if !self.is_active {
            return reno::halved(window);
        }
        self.loss_cwnd = window.cwnd;
        let taken = (u64::from(window.cwnd) * u64::from(self.alpha)) >> (WHOLE_SHIFT + 1);
        (window.cwnd - taken as u32).max(2)
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(if self.is_active { self.loss_cwnd } else { window.prior_cwnd })
    }

    fn on_event(&mut self, window: &mut Window, event: CaEvent, _ctx: &Context) {
        match event {
            CaEvent::Loss if self.is_active && !window.older.have(OlderRules::LOSS_AS_MARK) => self.halve(window),
            CaEvent::Loss | CaEvent::TxStart { .. } | CaEvent::WindowRestart | CaEvent::CompleteCwr => {}
        }
    }

    fn on_state(&mut self, window: &mut Window, state: CaState, ctx: &Context) {
        let is_loss = state == CaState::Recovery && ctx.state != CaState::Recovery;
        if self.is_active && is_loss && !window.older.have(OlderRules::LOSS_AS_MARK) {
            self.halve(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments out, and an estimate of everything.
    fn rule(shift_g: u64) -> (Box<dyn Congestion>, Window) {
        let settings = ENTRY.settings([("dctcp_shift_g", Value::Count(shift_g))]).expect("it is in its range");
        let (mut rule, mut window) = ((ENTRY.new)(&settings, 1), Window::new(20, 20));
        rule.init(&mut window, &Context { ecn: true, delivered: 1, snd_nxt: 1, ..Context::default() });
        (rule, window)
    }

    /// The end of the `n`th round trip of ten segments, of which `marked` were in all rounds so far.
    fn end(rule: &mut Box<dyn Congestion>, window: &mut Window, n: u64, marked: u64) {
        let [snd_una, snd_nxt] = [n, n + 1].map(|n| 1 + 10 * n);
        let ack = AckArrival { snd_una, snd_nxt, delivered: snd_una, delivered_ce: marked, ..AckArrival::default() };
        rule.on_arrival(window, &ack);
    }

    fn reduced(rule: &mut Box<dyn Congestion>, cwnd: u32) -> u32 {
        rule.ssthresh(&Window::new(cwnd, cwnd), &Context::default())
    }

    #[test]
    fn alpha_moves_by_a_sixteenth_a_round_trip() {
        let (mut rule, mut window) = rule(4);
        assert_eq!(reduced(&mut rule, 1_000), 500, "half as long as nothing is known: alpha is 1");
        // The first ACK ends the first round trip, which had nothing: 1024 - 64 = 960.
        end(&mut rule, &mut window, 0, 0);
        assert_eq!(reduced(&mut rule, 1_000), 1_000 - 1_000 * 960 / 2_048);
        // 5 of 10: 960 - 60 + 64 * 5 / 10 = 932. In between nothing changes.
        let within = AckArrival { snd_una: 10, delivered: 9, delivered_ce: 5, ..AckArrival::default() };
        rule.on_arrival(&mut window, &within);
        assert_eq!(reduced(&mut rule, 1_000), 1_000 - 1_000 * 960 / 2_048);
        end(&mut rule, &mut window, 1, 5);
        assert_eq!(reduced(&mut rule, 1_000), 1_000 - 1_000 * 932 / 2_048);
        // None, then all of them: 932 - 58 = 874; 874 - 54 + 64 = 884.
        end(&mut rule, &mut window, 2, 5);
        end(&mut rule, &mut window, 3, 15);
        assert_eq!(reduced(&mut rule, 1_000), 1_000 - 1_000 * 884 / 2_048);
        assert_eq!(reduced(&mut rule, 3), 2, "never below two");
    }

    #[test]
    fn an_estimate_below_its_weight_falls_to_nothing_and_none_exceeds_one() {
        let (mut rule, mut window) = rule(4);
        (0..100).for_each(|n| end(&mut rule, &mut window, n, 0));
        assert_eq!(reduced(&mut rule, 4_000), 4_000);
        let settings = [("dctcp_shift_g", Value::Count(0)), ("dctcp_alpha_on_init", Value::Count(100))];
        let mut rule = (ENTRY.new)(&ENTRY.settings(settings).expect("in their ranges"), 1);
        rule.init(&mut window, &Context { ecn: true, ..Context::default() });
        assert_eq!(reduced(&mut rule, 2_048), 2_048 - 100, "the alpha that was set");
        // With a weight of one the sample is all: 10 of 10.
        end(&mut rule, &mut window, 0, 0);
        end(&mut rule, &mut window, 1, 10);
        assert_eq!(reduced(&mut rule, 2_048), 1_024);
    }

    #[test]
    fn a_loss_halves_also_within_a_reduction() {
        let (mut rule, mut window) = rule(4);
        (0..100).for_each(|n| end(&mut rule, &mut window, n, 0));
        window.ssthresh = rule.ssthresh(&window, &Context::default());
        assert_eq!(window.ssthresh, 20, "nothing was marked");
        window.cwnd = 18;
        rule.on_state(&mut window, CaState::Recovery, &Context { state: CaState::Cwr, ..Context::default() });
        assert_eq!((window.ssthresh, rule.undo_cwnd(&Window::new(9, 9))), (9, 18));
        // What is entered again is not another loss.
        window.cwnd = 9;
        rule.on_state(&mut window, CaState::Recovery, &Context { state: CaState::Recovery, ..Context::default() });
        assert_eq!(window.ssthresh, 9);
        window.cwnd = 14;
        rule.on_event(&mut window, CaEvent::Loss, &Context::default());
        assert_eq!((window.ssthresh, rule.undo_cwnd(&Window::new(1, 7))), (7, 14));
    }

    #[test]
    fn older_stacks_take_a_loss_for_a_mark() {
        let (mut rule, mut window) = rule(4);
        window.older = OlderRules::LOSS_AS_MARK;
        (0..100).for_each(|n| end(&mut rule, &mut window, n, 0));
        window.ssthresh = rule.ssthresh(&window, &Context::default());
        rule.on_state(&mut window, CaState::Recovery, &Context { state: CaState::Cwr, ..Context::default() });
        rule.on_event(&mut window, CaEvent::Loss, &Context::default());
        assert_eq!(window.ssthresh, 20, "nothing was marked");
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut rule, mut window) = (ENTRY.rule(1).control, Window::new(21, 20));
        rule.init(&mut window, &Context::default());
        for n in 0..100 {
            end(&mut rule, &mut window, n, 0);
        }
        assert_eq!(rule.ssthresh(&window, &Context::default()), 10);
        window.prior_cwnd = 21;
        rule.on_state(&mut window, CaState::Recovery, &Context::default());
        assert_eq!((window.ssthresh, rule.undo_cwnd(&Window { prior_cwnd: 30, ..window.clone() })), (20, 30));
    }
}
