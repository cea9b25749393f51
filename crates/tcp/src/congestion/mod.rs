//! Congestion control: the rule trait, what a rule sees and may edit, and the registry.
//!
//! A rule is one file. It sees an [`AckSample`], edits a [`Window`], is asked for `ssthresh` when
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
pub use entry::Entry;
pub use highspeed::HighSpeed;
pub use htcp::HTcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use lp::Lp;
pub use nv::Nv;
pub use registry::{REGISTRY, UnknownVariant, find};
pub use reno::Reno;
pub use retcp::ReTcp;
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use yeah::Yeah;

/// Largest segmentation burst in bytes: 64 KiB less the room for headers, 192 bytes in a Linux 6.1 without tunnels and
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
    /// window of data, and asks for [`Congestion::ssthresh`].
    pub backs_off: bool,
    /// [`crate::config::Profile::count_acks`].
    pub counts_acks: bool,
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
            counts_acks: false,
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
            return Some(self.slow_start(ack.acked)).filter(|&left| left > 0);
        }
        Some(ack.acked)
    }

    /// [`Window::past_slow_start`] of the rules that counted ACKs up to Linux 5.6: with [`Window::counts_acks`] an ACK
    /// in congestion avoidance counts as one segment, and slow start leaves nothing over.
    #[inline]
    pub fn past_slow_start_by_acks(&mut self, ack: &AckSample) -> Option<u32> {
        if !self.counts_acks {
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

/// The delivery rate over the ACK's sampling interval (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered in the interval; `None` when the ACK gives no valid sample.
    pub delivered: Option<u32>,
    /// Length of the interval: the longer of the send and the ACK phase.
    pub interval: Duration,
    /// The connection's `delivered` count when the sampled segment was sent.
    pub prior_delivered: u64,
    /// The sampled segment was sent while the application, not the window, was the limit.
    pub is_app_limited: bool,
    /// The RTT of the sampled segment came from a segment that was retransmitted, so it is unusable.
    pub is_retrans: bool,
    /// The ACK was delayed by the receiver's timer, as far as the sender can tell.
    pub is_ack_delayed: bool,
}

/// The timestamps of an ACK (RFC 7323, section 3) in ticks of their clocks, usually milliseconds. `value` and
/// `echo` are zero without the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The peer's clock when it sent the ACK (TSval).
    pub value: u32,
    /// Our clock when we sent what the ACK answers (TSecr).
    pub echo: u32,
    /// Our clock now.
    pub now: u32,
}

/// Everything that a rule may know about one ACK. Counts are segments unless they say bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Arrival of the ACK.
    pub now: Instant,
    /// What counts for growth: in [`Congestion::on_ack_sample`] what was newly acknowledged
    /// cumulatively, afterwards the same as `newly_delivered`.
    pub acked: u32,
    /// Newly delivered: cumulatively acknowledged or SACKed for the first time (`acked_sacked`).
    pub newly_delivered: u32,
    /// Newly marked lost by this ACK.
    pub newly_lost: u32,
    /// RTT of the last-sent segment that this ACK newly acknowledges or SACKs; `None` when there is
    /// none that was sent only once.
    pub rtt: Option<Duration>,
    /// Smoothed RTT (RFC 6298) in eighths of a microsecond, as Linux keeps it; zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT over the windowed filter of the connection (`tcp_min_rtt`).
    pub min_rtt: Duration,
    /// In flight before the ACK was processed.
    pub prior_in_flight: u32,
    /// In flight after.
    pub in_flight: u32,
    /// SACKed and not yet acknowledged cumulatively, after this ACK.
    pub sacked_out: u32,
    /// All segments delivered so far on this path.
    pub delivered: u64,
    /// Of these, by ACKs that echo congestion, where ECN was negotiated.
    pub delivered_ce: u64,
    /// All segments marked lost so far.
    pub lost: u64,
    /// Delivery rate sample. In [`Congestion::on_ack_sample`] only `prior_delivered` is known.
    pub rate: RateSample,
    /// Congestion state after this ACK was processed.
    pub state: CaState,
    /// The sender filled its window since the last ACKs: only then may the window grow (RFC 7661). Not yet known
    /// in [`Congestion::on_ack_sample`].
    pub is_cwnd_limited: bool,
    /// First unacknowledged byte, after this ACK.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Sender maximum segment size in bytes.
    pub mss: u32,
    /// The ACK carries the ECE flag, whether ECN was negotiated or not.
    pub ece: bool,
    /// Timestamps of the ACK (RFC 7323).
    pub timestamps: Timestamps,
    /// The ACK took the receive fast path (header prediction): it has the window of the ACK before, no SACK, no
    /// ECN echo. A duplicate without SACK does as well.
    pub is_fast_path: bool,
    /// Earliest time at which pacing lets the next segment leave (`tcp_wstamp_ns`); not after `now`
    /// when pacing holds nothing back.
    pub earliest_departure: Instant,
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

/// What a rule sees when it is asked for a decision outside an ACK.
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
    /// Called once the handshake is done, before the first data.
    fn init(&mut self, _window: &mut Window, _ctx: &Context) {}

    /// Called on every ACK, before any other hook and before `cwnd` or the state changes, with the
    /// RTT sample of the ACK (`pkts_acked` and then `in_ack_event` of Linux 6.1.192).
    fn on_ack_sample(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// [`Congestion::on_ack_sample`] is called as well for ACKs that arrive while nothing is outstanding.
    fn wants_idle_acks(&self) -> bool {
        false
    }

    /// Grow the window. Called for ACKs that advance `snd_una` outside a reduction (not in
    /// Recovery or CWR), also when the sender is not window-limited: the rule checks `is_cwnd_limited`.
    /// Not called when [`Congestion::controls_window`] is true.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample);

    /// True for a rule that sets the window and the pacing rate itself on every ACK, in every state
    /// (BBR); PRR and the growth rule are then bypassed.
    fn controls_window(&self) -> bool {
        false
    }
    /// The whole control for a rule that [`Congestion::controls_window`]; called on every ACK.
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

    /// The rule needs ECN (DCTCP): the handshake asks for it whatever the settings are, every segment is ECN-capable, and
    /// the receiving half echoes each mark (RFC 8257, section 3.2).
    fn needs_ecn(&self) -> bool {
        false
    }
    /// The rule needs the sender to pace (BBR).
    fn needs_pacing(&self) -> bool {
        false
    }
    /// Fewest segments in a TSO burst at the current pacing rate.
    fn min_tso_segments(&self) -> u32 {
        2
    }
    /// Rate samples of what is now in flight must not count as the path's limit, since the rule holds
    /// the window down on purpose (BBR in PROBE_RTT). The sender asks after [`Congestion::control`]
    /// and then behaves as if the application were the limit.
    fn marks_app_limited(&self) -> bool {
        false
    }
    /// The rule's random numbers, so that a replay can choose them.
    fn draws(&mut self) -> Option<&mut Draws> {
        None
    }
    /// How many windows the send buffer should hold.
    fn send_buffer_windows(&self) -> u32 {
        2
    }
}
