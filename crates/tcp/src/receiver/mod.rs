//! The receiving half of a connection: reassembly, when to acknowledge, and how much window to offer.
//!
//! The connection drives it in Linux's order for every arriving segment: [`Receiver::accept`] first
//! (PAWS and the window check of RFC 9293, section 3.10.7.4), then its own acknowledgement
//! processing, then [`Receiver::on_data`] when the segment carries payload or FIN. After any input an
//! acknowledgement is due when [`Receiver::ack_pending`] says so; [`Receiver::fill_ack`] completes
//! every outgoing segment but a SYN, which is [`Receiver::fill_syn`]'s.

use daybreak_units::{Duration, Instant};

use crate::config::Config;
use crate::{Flags, Segment};

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
}

/// What the receiver borrows from the sending half: both bound the delayed ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderTiming {
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Current retransmission timeout.
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
    /// Segments outside the window or refused by PAWS.
    pub rejected: u64,
    /// ACKs that were held back by SACK compression.
    pub compressed_acks: u64,
    /// ACKs that the delayed-ACK timer sent.
    pub delayed_acks: u64,
}

/// The receiving half of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    rcv_nxt: u64,
    rcv_wnd: u32,
    ts_recent: u32,
    ack_pending: bool,
    window_scale: u8,
    negotiated: Negotiated,
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver before the handshake, with the buffer of `config.rmem.default`.
    pub fn new(_config: &Config) -> Self {
        Self {
            rcv_nxt: 0,
            rcv_wnd: 65_160,
            ts_recent: 0,
            ack_pending: false,
            window_scale: 7,
            negotiated: Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false },
            counters: ReceiverCounters::default(),
        }
    }

    /// Completes an outgoing SYN or SYN-ACK: the window (not scaled, RFC 7323 section 2.2), the
    /// window scale option when `segment.syn` is to carry it, and `ack` and `ts_ecr` when ACK is set.
    /// On a SYN-ACK call it after [`Receiver::on_syn`].
    pub fn fill_syn(&mut self, segment: &mut Segment) {
        segment.window = self.rcv_wnd;
        segment.syn.window_scale_plus_one = self.window_scale + 1;
        if segment.flags.contains(Flags::ACK) {
            segment.ack = self.rcv_nxt;
            segment.ts_ecr = self.ts_recent;
        }
    }

    /// The peer's SYN or SYN-ACK arrived and settled the options.
    pub fn on_syn(&mut self, _now: Instant, segment: &Segment, negotiated: Negotiated) {
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
        self.negotiated = negotiated;
    }

    /// The handshake is done on our side: the buffer and the autotuning start here.
    pub fn established(&mut self, _now: Instant) {}

    /// Whether the segment may be processed at all: PAWS (RFC 7323, section 5) and the window check.
    /// `false` means drop it whole; an ACK may have become pending. Also keeps `ts_recent`.
    pub fn accept(&mut self, _now: Instant, segment: &Segment) -> bool {
        if segment.seq <= self.rcv_nxt {
            self.ts_recent = self.ts_recent.max(segment.ts_val);
        }
        segment.seq <= self.rcv_nxt + u64::from(self.rcv_wnd)
    }

    /// Takes the payload and the FIN of an accepted segment and decides about its ACK.
    pub fn on_data(&mut self, _now: Instant, segment: &Segment, _timing: SenderTiming) -> Received {
        self.ack_pending = true;
        if segment.seq != self.rcv_nxt {
            return Received::default();
        }
        self.rcv_nxt += u64::from(segment.len);
        let fin = segment.flags.contains(Flags::FIN);
        self.rcv_nxt += u64::from(fin);
        Received { delivered: u64::from(segment.len), fin }
    }

    /// The delayed-ACK or SACK-compression timer; harmless when early.
    pub fn on_timeout(&mut self, _now: Instant, _timing: SenderTiming) {}

    /// When [`Receiver::on_timeout`] wants to be called.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        Instant::NEVER
    }

    /// An ACK must go out now.
    #[inline]
    pub fn ack_pending(&self) -> bool {
        self.ack_pending
    }

    /// Asks for an ACK at once: a challenge ACK, the third step of the handshake.
    pub fn request_ack(&mut self) {
        self.ack_pending = true;
    }

    /// Puts the acknowledgement on any outgoing segment but a SYN: the ACK flag, `ack`, `window`,
    /// SACK and DSACK blocks, `ts_ecr` and ECE. Takes note that an ACK was sent: nothing is pending
    /// or delayed afterwards. `ts_val` is the sender's.
    pub fn fill_ack(&mut self, _now: Instant, segment: &mut Segment) {
        segment.flags = segment.flags.with(Flags::ACK);
        segment.ack = self.rcv_nxt;
        segment.window = self.rcv_wnd;
        segment.ts_ecr = self.ts_recent;
        self.ack_pending = false;
    }

    /// Data was sent (not a pure ACK): for the choice between delayed and quick ACKs (pingpong mode).
    #[inline]
    pub fn on_data_sent(&mut self, _now: Instant) {}

    /// Bytes of SACK blocks that the next segment would carry, option header included; the sender
    /// must leave them out of its payload.
    #[inline]
    pub fn sack_option_len(&self) -> u32 {
        0
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
