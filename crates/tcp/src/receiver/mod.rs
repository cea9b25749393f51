//! The receiving half of a connection: reassembly, when to acknowledge, and how much window to offer.
//!
//! The connection drives it in Linux's order for every arriving segment: [`Receiver::accept`] first
//! (PAWS and the window check of RFC 9293, section 3.10.7.4), then its own acknowledgement
//! processing, then [`Receiver::measure_rtt`], of an established connection, and [`Receiver::on_data`] when the
//! segment carries payload or FIN. After any input an
//! acknowledgement is due while [`Receiver::ack_pending`] is true; [`Receiver::fill_ack`] completes
//! every outgoing segment but a SYN, which is [`Receiver::fill_syn`]'s.
//!
//! Models Linux 6.1 with an application that reads whatever is in order at once: a segment is queued
//! and charged to the receive buffer, the ACK is decided on, and then the read empties the buffer, which
//! may decide on an ACK too; [`Receiver::stop_reading`] is for one that reads later or not at all. Not modelled:
//! urgent data, GRO (every packet is its own segment).
//!
//! `acceptance.rs` decides whether a segment counts, `arrival.rs` takes what it brings, `decision.rs` and `ack_policy.rs`
//! decide when to acknowledge, and `answer.rs` writes the acknowledgement.
//!
//! Checked by the dialogues in `tests/dialogues` and by replaying what Linux 6.1.192 received in 14 runs (up to 117,000
//! packets, with losses, reordering and timeouts): each of its ACKs came out at the same time with the same number,
//! window, timestamp and SACK blocks. `tests/kernel_receiver` keeps three of them. `daybreak agree --receivers` does so
//! with every flow of the suite.

use daybreak_units::{Duration, Instant};

use self::ack_policy::AckPolicy;
use self::arrival::Growth;
use self::ecn::Echo;
use self::reading::Unread;
use self::reassembly::OutOfOrder;
use self::sack_list::{Dsack, Ranges, SackList};
use self::window::ReceiveWindow;
use crate::config::{Config, Profile, TimestampClock};
use crate::fast_path::FastPath;
use crate::{Flags, SackBlock, Segment};

mod acceptance;
mod ack_policy;
mod answer;
mod arrival;
mod buffers;
mod collapse;
mod decision;
mod ecn;
mod overflow;
mod reading;
mod reassembly;
mod sack_list;
mod share;
mod shortcuts;
mod tree;
mod window;

/// Most SACK blocks per segment: without and with the timestamp option.
const SACK_BLOCKS: [u8; 2] = [4, 3];

/// What the handshake settled; the receiver needs it before the first data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Both ends sent the window scale option (RFC 7323, section 2.2).
    pub window_scaling: bool,
    /// Both ends sent timestamps (RFC 7323, section 3.2).
    pub timestamps: bool,
    /// Both ends sent SACK-permitted (RFC 2018).
    pub sack: bool,
    /// ECN was negotiated (RFC 3168, section 6.1.1).
    pub ecn: bool,
    /// ECE shows for each segment whether it was marked (RFC 8257, section 3.2); otherwise it lasts until the peer sets CWR.
    pub exact_echo: bool,
}

/// What the receiver borrows from the sending half: both bound the delayed ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderTiming {
    /// Smoothed RTT to the eighth of a microsecond; zero before the first sample.
    pub srtt: Duration,
    /// Current retransmission timeout.
    pub rto: Duration,
}

/// How far the sending half has come, by the peer's last ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// First byte that is not acknowledged.
    pub una: u64,
    /// The peer's window in bytes.
    pub window: u32,
    /// Retransmission timeout.
    pub rto: Duration,
}

/// What one segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Payload bytes that became deliverable in order; the application has read them.
    pub delivered: u64,
    /// The peer's FIN is now in order: there is nothing more to come.
    pub fin: bool,
}

/// What the receiver has seen so far, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments that arrived ahead of a hole.
    pub reordered: u64,
    /// Segments whose payload had all arrived before.
    pub duplicates: u64,
}

/// The receiving half of one connection.
#[derive(Clone, Debug)]
// What a segment in order touches is the first two cache lines, and the first two of `policy`.
#[repr(C, align(64))]
pub struct Receiver {
    /// Next byte expected.
    rcv_nxt: u64,
    /// Timestamp to echo (RFC 7323, section 4.3): of the segment that covers the last ACK sent.
    ts_recent: u32,
    /// Echo of the last RTT measurement: each of our timestamps is measured once.
    measured_ecr: u32,
    /// An ACK goes out with the next segment that is sent.
    ack_pending: bool,
    /// Its window was settled when it was decided on, before the application read.
    offer_settled: bool,
    /// Another ACK follows the next one, with the window after the application's read.
    update_follows: bool,
    /// Something lies beyond a hole, or is not read.
    holds_data: bool,
    /// There may be SACK blocks to report.
    has_blocks: bool,
    /// Nothing of ours will carry the acknowledgement of the peer's FIN.
    answers_fin: bool,
    negotiated: Negotiated,
    window: ReceiveWindow,
    policy: AckPolicy,
    queue: OutOfOrder,
    /// What the application has not read, if it does not read at once.
    unread: Option<Box<Unread>>,
    /// Sequence number of the peer's FIN; `u64::MAX` until one was seen.
    fin_seq: u64,
    /// SACK block to add after the pending ACK has been sent; that ACK still reports the old list.
    joins_after_ack: Option<(SackBlock, Option<Growth>)>,
    echo: Echo,
    dsack: Dsack,
    sacks: SackList,
    /// With [`crate::config::Profile::whole_ranges`].
    ranges: Option<Box<Ranges>>,
    dsack_enabled: bool,
    profile: Profile,
    /// Last answer to a segment without data from outside the window.
    last_invalid: Option<Instant>,
    /// When the handshake was done.
    established_at: Instant,
    timestamps: TimestampClock,
    counters: ReceiverCounters,
    pub(crate) fast_path: FastPath,
}

impl Receiver {
    /// A receiver before the handshake, with the buffer of `config.rmem.default`.
    pub fn new(config: &Config) -> Self {
        Self {
            rcv_nxt: 0,
            queue: OutOfOrder::default(),
            unread: None,
            ack_pending: false,
            offer_settled: false,
            fin_seq: u64::MAX,
            ts_recent: 0,
            measured_ecr: 0,
            policy: AckPolicy::new(config),
            window: ReceiveWindow::new(config),
            sacks: SackList::default(),
            dsack: Dsack::default(),
            joins_after_ack: None,
            update_follows: false,
            holds_data: false,
            has_blocks: false,
            answers_fin: false,
            ranges: config.profile.whole_ranges.then(Box::default),
            negotiated: Negotiated {
                window_scaling: config.window_scaling,
                timestamps: config.timestamps,
                sack: config.sack,
                ecn: false,
                exact_echo: false,
            },
            echo: Echo::default(),
            dsack_enabled: config.dsack,
            profile: config.profile,
            last_invalid: None,
            established_at: Instant::ZERO,
            timestamps: TimestampClock::new(config),
            counters: ReceiverCounters::default(),
            fast_path: FastPath::default(),
        }
    }

    /// Completes an outgoing SYN or SYN-ACK: the window (not scaled, RFC 7323 section 2.2), the
    /// window scale option when `segment.syn` is to carry it, and `ack` and `ts_ecr` when ACK is set.
    /// On a SYN-ACK call it after [`Receiver::on_syn`].
    pub fn fill_syn(&mut self, segment: &mut Segment) {
        segment.window = self.window.initial_offer();
        if self.negotiated.window_scaling {
            segment.syn.window_scale_plus_one = self.window.scale() + 1;
        }
        if segment.flags.contains(Flags::ACK) {
            segment.ack = self.rcv_nxt;
            segment.ts_ecr = if self.negotiated.timestamps { self.ts_recent } else { 0 };
        }
    }

    /// `SO_RCVBUF`, before the handshake.
    pub fn set_buffer(&mut self, bytes: u32) {
        self.window.lock(bytes, self.negotiated.window_scaling);
    }

    /// The peer's SYN or SYN-ACK arrived and settled the options. Only the first one counts.
    pub fn on_syn(&mut self, now: Instant, segment: &Segment, negotiated: Negotiated) {
        if self.rcv_nxt != 0 {
            return;
        }
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
        self.negotiated = negotiated;
        let answering = !segment.flags.contains(Flags::ACK);
        self.window.negotiate(negotiated.timestamps, negotiated.window_scaling, answering);
        if !answering {
            self.established(now);
        }
    }

    /// The peer has reset the handshake: another SYN may come.
    pub fn forget_syn(&mut self) {
        self.rcv_nxt = 0;
        self.last_invalid = None;
        self.window.forget_syn(self.negotiated.timestamps);
    }

    /// End of the highest range that was reported.
    pub fn last_sacked(&self) -> Option<u64> {
        self.sacks.highest()
    }

    /// TIME-WAIT: later segments are answered without SACK blocks.
    pub fn retire(&mut self) {
        self.negotiated.sack = false;
        self.last_invalid = None;
    }

    /// Acknowledges the SYN without an ACK that counts: nothing is established.
    pub fn fill_request_ack(&self, segment: &mut Segment) {
        let scale = self.window.scale();
        segment.ack = self.rcv_nxt;
        segment.window = self.window.initial_offer() >> scale << scale;
        segment.ts_ecr = if self.negotiated.timestamps { self.ts_recent } else { 0 };
    }

    /// The handshake is done on our side: the buffer and the autotuning start here. The active end is
    /// established by [`Receiver::on_syn`] already; a second call changes nothing.
    pub fn established(&mut self, now: Instant) {
        if self.window.is_established() {
            return;
        }
        self.window.established(now, self.rcv_nxt);
        self.established_at = now;
        // The socket has not sent what answered segments before it was made.
        self.last_invalid = None;
        let header = if self.negotiated.timestamps { 32 } else { 20 };
        self.policy.established(now, self.window.advmss(), header, self.window.rcv_wnd());
    }

    /// Memory that a segment of `len` bytes takes when it arrives.
    pub(crate) fn cost_of(&self, len: u32) -> u64 {
        self.window.cost_of(len)
    }

    /// Timestamp that the next segment echoes (RFC 7323, section 4.3).
    #[inline]
    pub fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Next byte expected.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// What has been seen so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }
}
