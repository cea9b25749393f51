//! Congestion control: the rule trait, what a rule sees and may edit, and the registry.
//!
//! A rule is one file. It sees an [`AckArrival`] and an [`AckSample`] of each ACK, edits a [`Window`], returns `ssthresh` when
//! the window must shrink, and is notified of [`CaEvent`]s and state changes. Loss detection (SACK,
//! RACK-TLP), RTO, PRR, pacing, undo and F-RTO are shared machinery outside the rules.

use daybreak_units::{Duration, Instant, Rate};

use crate::jiffies::Jiffies;

mod bbr;
mod bic;
mod cdg;
mod compound;
mod cubic;
mod dctcp;
mod draws;
mod entry;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod lp;
mod nv;
mod registry;
mod reno;
mod retcp;
mod sample;
mod scalable;
pub mod slow_start;
mod vegas;
mod veno;
mod westwood;
mod yeah;

pub use bbr::Bbr;
pub use bic::Bic;
pub use cdg::Cdg;
pub use compound::Compound;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use draws::{Draw, Draws};
pub use entry::{Capabilities, Entry, Rule};
pub use highspeed::HighSpeed;
pub use htcp::HTcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use lp::Lp;
pub use nv::Nv;
pub use registry::{REGISTRY, UnknownVariant, find};
pub use reno::Reno;
pub use retcp::ReTcp;
pub use sample::{AckArrival, AckSample, RateSample, Timestamps};
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use yeah::Yeah;

/// Largest segmentation burst of a NIC that sets no other limit, in bytes: 64 KiB less the room for headers, 192 bytes in a Linux 6.1 without tunnels and
/// wireless, and one (`sk_gso_max_size`). With them it would be 128 bytes less.
pub(crate) const GSO_MAX_BYTES: u64 = 65_343;

/// The sender's congestion state, as in Linux and RFC 6582/6675 terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CaState {
    /// Normal: no dubious events.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs seen; not yet a loss.
    Disorder = 1,
    /// The window is being reduced after an ECN echo or local congestion.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// What the congestion control of older stacks does otherwise: a set of the fields of [`crate::config::Profile`] with these
/// names, in one byte of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OlderRules(u8);

#[expect(missing_docs, reason = "described where the profile has them")]
impl OlderRules {
    pub const COUNT_ACKS: Self = Self(1 << 0);
    pub const LOSS_AS_MARK: Self = Self(1 << 1);
    pub const NO_ACK_AGGREGATION: Self = Self(1 << 2);
    pub const WIDE_PROBES: Self = Self(1 << 3);
    pub const TIMER_PACING: Self = Self(1 << 4);
    pub const MS_DELAYS: Self = Self(1 << 5);
}

impl OlderRules {
    /// The rules with `true`.
    pub fn of<const N: usize>(rules: [(Self, bool); N]) -> Self {
        Self(rules.iter().filter(|(_, is_on)| *is_on).fold(0, |bits, (rule, _)| bits | rule.0))
    }

    /// Whether one of `rules` is among these.
    #[inline]
    pub fn have(self, rules: Self) -> bool {
        self.0 & rules.0 != 0
    }
}

/// The window of one path: what a rule edits. Counted in segments, as Linux counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Congestion window in segments; never below 1.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `u32::MAX` while unlimited.
    pub ssthresh: u32,
    /// ACKs counted towards the next increment of `cwnd` (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Upper bound of `cwnd`.
    pub cwnd_clamp: u32,
    /// `cwnd` just before the last reduction (`prior_cwnd`), for undo and for rules that resume.
    pub prior_cwnd: u32,
    /// The pacing rate (`sk_pacing_rate`). The sender keeps it up to date on every ACK, whether it
    /// paces or not, for rules that do not set it themselves; zero before the first RTT sample.
    pub pacing_rate: Rate,
    /// Upper bound of `pacing_rate` (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Rate,
    /// The sender paces with `pacing_rate` (`sk_pacing_status` is not "none").
    pub is_paced: bool,
    /// A rule sets this in [`Congestion::on_ack`] for a reduction without a loss: the sender enters CWR, once a
    /// window of data, and calls [`Congestion::ssthresh`].
    pub backs_off: bool,
    /// What the rules of older stacks do otherwise.
    pub older: OlderRules,
    /// It was the limit at some time of the present window of data; the sender keeps it up to date.
    pub was_full: bool,
}

impl Window {
    /// A window of `cwnd` segments without any other limit than `ssthresh`, not paced.
    pub fn new(cwnd: u32, ssthresh: u32) -> Self {
        Self {
            cwnd,
            ssthresh,
            cwnd_cnt: 0,
            cwnd_clamp: u32::MAX,
            prior_cwnd: 0,
            pacing_rate: Rate::ZERO,
            max_pacing_rate: Rate::from_bps(u64::MAX),
            is_paced: false,
            backs_off: false,
            older: OlderRules::default(),
            was_full: false,
        }
    }

    /// True below the threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Classic slow start (RFC 5681, section 3.1): one segment more for each one acknowledged, up
    /// to `ssthresh`. Returns the acknowledged segments that remain for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Takes an ACK through slow start. Returns the acknowledged segments that congestion avoidance
    /// counts; `None` when the window may not grow or slow start took them all.
    #[inline]
    pub fn past_slow_start(&mut self, ack: &AckSample) -> Option<u32> {
        if !ack.is_cwnd_limited {
            return None;
        }
        if self.in_slow_start() {
            return Some(self.slow_start(ack.newly_delivered)).filter(|&left| left > 0);
        }
        Some(ack.newly_delivered)
    }

    /// [`Window::past_slow_start`] of the rules that counted ACKs up to Linux 5.6: with [`OlderRules::COUNT_ACKS`] an ACK
    /// in congestion avoidance counts as one segment, and slow start leaves nothing over.
    #[inline]
    pub fn past_slow_start_by_acks(&mut self, ack: &AckSample) -> Option<u32> {
        if !self.older.have(OlderRules::COUNT_ACKS) {
            return self.past_slow_start(ack);
        }
        let was_slow_start = self.in_slow_start();
        self.past_slow_start(ack).filter(|_| !was_slow_start).map(|_| 1)
    }

    /// Additive increase: one segment more for every `per` acknowledged ones.
    #[inline]
    pub fn additive_increase(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Credit that was earned under a larger `per` is worth at most one segment.
        if self.cwnd_cnt >= per {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= per {
            let more = self.cwnd_cnt / per;
            self.cwnd_cnt -= more * per;
            self.cwnd += more;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

/// Events other than ACKs of which a rule is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// A transmission when nothing was in flight: after idle time, and the first retransmission after a
    /// timeout has found everything lost.
    TxStart {
        /// Time since the last data segment was sent (`now - lsndtime`); zero for the first one.
        idle: Duration,
    },
    /// The window was restarted after idle time (RFC 5681, section 4.1).
    WindowRestart,
    /// A window reduction ended (leaving CWR or Recovery). Sent after `cwnd` was set to `ssthresh`;
    /// a rule that sets both itself has the last word.
    CompleteCwr,
    /// A retransmission timeout fired. Order: [`Congestion::ssthresh`], this event, the new `cwnd`,
    /// then [`Congestion::on_state`] with Loss.
    Loss,
}

/// What a rule sees when it decides outside an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Now.
    pub now: Instant,
    /// Smoothed RTT in eighths of a microsecond; zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT of the connection.
    pub min_rtt: Duration,
    /// In flight.
    pub in_flight: u32,
    /// All segments delivered so far on this path.
    pub delivered: u64,
    /// All segments marked lost so far.
    pub lost: u64,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Sender maximum segment size in bytes.
    pub mss: u32,
    /// The last transmission was limited by the application.
    pub is_app_limited: bool,
    /// Congestion state.
    pub state: CaState,
    /// Length of a jiffy (`Config::jiffy`): rules whose Linux original counts time in jiffies need it.
    /// Zero stands for a millisecond.
    pub jiffy: Duration,
    /// Largest segmentation burst of the host's NIC in bytes (`sk_gso_max_size`); zero stands for that of one without a limit.
    pub gso_max_bytes: u32,
    /// ECN was negotiated.
    pub ecn: bool,
    /// In [`Congestion::init`]: RTT of the SYN, which some rules count as their first; `None` for the passive side.
    pub syn_rtt: Option<Duration>,
}

impl Context {
    fn jiffies(&self) -> Jiffies {
        if self.jiffy.is_zero() { Jiffies::default() } else { Jiffies::new(self.jiffy) }
    }
}

/// One congestion control rule.
pub trait Congestion: std::fmt::Debug + Send {
    /// What the ACK of a client's SYN, which comes before [`Congestion::init`], makes of a window of `cwnd` segments: the
    /// first pacing rate is that of this window.
    fn cwnd_after_syn(&self, cwnd: u32) -> u32 {
        cwnd
    }

    /// Called once the handshake is done, before the first data.
    fn init(&mut self, _window: &mut Window, _ctx: &Context) {}

    /// An ACK has come. Called before any other hook and before `cwnd` or the state changes (`pkts_acked` and then
    /// `in_ack_event` of Linux 6.1.192).
    fn on_arrival(&mut self, _window: &mut Window, _ack: &AckArrival) {}

    /// Grow the window. Called for ACKs that advance `snd_una` outside a reduction (not in
    /// Recovery or CWR), also when the sender is not window-limited: the rule checks `is_cwnd_limited`.
    /// Not called when [`Capabilities::controls_window`] is set.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample);

    /// The whole control of a rule with [`Capabilities::controls_window`]; called on every ACK.
    fn control(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// The new threshold on entering Recovery, CWR or Loss; at least 2.
    fn ssthresh(&mut self, window: &Window, ctx: &Context) -> u32;

    /// The window to restore when a reduction is found to be spurious.
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }

    /// Something other than an ACK happened.
    fn on_event(&mut self, _window: &mut Window, _event: CaEvent, _ctx: &Context) {}

    /// The congestion state is about to become `state`.
    fn on_state(&mut self, _window: &mut Window, _state: CaState, _ctx: &Context) {}

    /// Fewest segments in a TSO burst at the current pacing rate.
    fn min_tso_segments(&self) -> u32 {
        2
    }
    /// Rate samples of what is now in flight must not count as the path's limit, since the rule holds
    /// the window down on purpose (BBR in PROBE_RTT). The sender calls this after [`Congestion::control`]
    /// and then behaves as if the application were the limit.
    fn marks_app_limited(&self) -> bool {
        false
    }
    /// The rule's random numbers, so that a replay can choose them.
    fn draws(&mut self) -> Option<&mut Draws> {
        None
    }
}
