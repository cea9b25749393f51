//! The states of RFC 9293, section 3.3.2, and the handshake.

use daybreak_units::Instant;

use super::Connection;
use crate::config::{Config, EcnMode};
use crate::receiver::Negotiated;
use crate::sender::Opening;
use crate::sender::sizes::FullSegment;
use crate::{Ecn, Flags, Header, Segment, SynOptions};

/// What a segment has room for beside its header, whatever the peer announces: all options and eight bytes (`tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;

/// State of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened, or over.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Our SYN is out.
    SynSent,
    /// Our SYN-ACK is out.
    SynReceived,
    /// Open in both directions.
    Established,
    /// Our FIN is out.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// The peer's FIN has arrived.
    CloseWait,
    /// Both FINs are out, ours not acknowledged.
    Closing,
    /// The peer's FIN came first, ours is out.
    LastAck,
    /// Over; late segments are still answered.
    TimeWait,
}

/// What the handshake needs.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    offer: SynOptions,
    /// Window scaling is offered.
    scales: bool,
    /// Ask for ECN.
    ask_ecn: bool,
    /// Grant it.
    grant_ecn: bool,
    /// The rule needs it.
    needs_ecn: bool,
    /// A SYN or SYN-ACK is to be sent.
    pub is_due: bool,
    /// SYNs or SYN-ACKs that were sent.
    sent: u32,
    /// Timeouts without an answer.
    timeouts: u32,
    /// When the first went out.
    sent_at: Instant,
    /// Its timestamp.
    stamp: u32,
    /// The timestamp of the last one.
    last_stamp: u32,
    /// ECN is granted to the peer.
    ecn_granted: bool,
    /// A timeout had passed when the last one was sent.
    sent_late: bool,
}

impl Handshake {
    pub fn new(config: &Config, needs_ecn: bool) -> Self {
        Self {
            offer: SynOptions {
                mss: config.mtu.saturating_sub(40).min(65_535) as u16,
                window_scale_plus_one: u8::from(config.window_scaling),
                sack_permitted: config.sack,
                timestamps: config.timestamps,
            },
            scales: config.window_scaling,
            ask_ecn: config.ecn == EcnMode::On || needs_ecn,
            grant_ecn: config.ecn != EcnMode::Off,
            needs_ecn,
            is_due: false,
            sent: 0,
            timeouts: 0,
            sent_at: Instant::ZERO,
            stamp: 0,
            last_stamp: 0,
            ecn_granted: false,
            sent_late: false,
        }
    }
}

impl Handshake {
    /// `ts_ecr` is the timestamp of no SYN-ACK that was sent.
    pub fn echoes_no_syn_ack(&self, ts_ecr: u32) -> bool {
        ts_ecr != 0 && ts_ecr.wrapping_sub(self.stamp) > self.last_stamp.wrapping_sub(self.stamp)
    }
}

impl Connection {
    /// The SYN or SYN-ACK that is due.
    #[cold]
    pub(super) fn send_syn(&mut self) -> Segment {
        let handshake = &mut self.handshake;
        handshake.is_due = false;
        if handshake.sent == 0 {
            handshake.sent_at = self.sender.clock().now;
            handshake.stamp = self.sender.clock().timestamp;
        }
        handshake.last_stamp = self.sender.clock().timestamp;
        handshake.sent += 1;
        let is_repeated = handshake.sent > 1;
        let reply = self.state == State::SynReceived;
        let ecn = self.sender.ecn().control;
        let mut segment = Segment::from(Header { flags: Flags::SYN, ecn, syn: handshake.offer, ..Header::default() });
        if reply {
            segment.flags = segment.flags.with(Flags::ACK);
            segment.syn.sack_permitted = self.sender.sack_permitted();
            segment.syn.timestamps = self.timestamps;
            let is_withheld = handshake.sent_late && self.profile.withheld_ece;
            if handshake.ecn_granted && !is_withheld {
                segment.flags = segment.flags.with(Flags::ECE);
            }
        } else if handshake.ask_ecn && handshake.sent == 1 {
            // RFC 3168, section 6.1.1.1: a SYN that is sent again does not request it, for the first one may have been
            // dropped because it did (tcp_ecn_fallback).
            segment.flags = segment.flags.with(Flags::ECE).with(Flags::CWR);
        }
        if segment.syn.timestamps {
            segment.ts_val = self.sender.clock().timestamp;
        }
        handshake.sent_late = handshake.timeouts > 0;
        self.receiver.fill_syn(&mut segment);
        self.sender.on_syn_sent(is_repeated);
        segment
    }

    /// No answer to our SYN or SYN-ACK: again, after twice the time.
    pub(super) fn on_handshake_timeout(&mut self) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.sender.on_handshake_timeout(self.state == State::SynSent, self.handshake.timeouts);
            self.handshake.is_due = true;
            self.handshake.timeouts += 1;
            if self.state == State::SynSent {
                self.sender.on_syn_timeout(self.handshake.ask_ecn);
            }
        }
    }

    /// Our SYN is not acknowledged yet.
    pub(super) fn retry_syn(&mut self) {
        if self.handshake.sent == 1 {
            self.sender.retry_syn();
        }
    }

    /// The peer has reset what it had begun: the listener waits for the next SYN (RFC 9293, section 3.10.7.4).
    pub(super) fn listen_again(&mut self) {
        let handshake = &mut self.handshake;
        handshake.offer.window_scale_plus_one = u8::from(handshake.scales);
        handshake.sent = 0;
        handshake.timeouts = 0;
        handshake.sent_late = false;
        handshake.is_due = false;
        self.state = State::Listen;
        self.receiver.forget_syn();
        self.sender.forget_syn();
    }

    /// A SYN arrived at a listener.
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::ACK) {
            return;
        }
        let asks_ecn = segment.flags.contains(Flags::ECE.with(Flags::CWR));
        // Linux 6.1 grants it to an ECN-capable SYN only where its own rule needs ECN as well.
        let Handshake { grant_ecn, needs_ecn, .. } = self.handshake;
        self.handshake.ecn_granted = asks_ecn && ((grant_ecn && segment.ecn == Ecn::NotEct) || needs_ecn);
        self.state = State::SynReceived;
        self.handshake.is_due = true;
        let ecn = self.handshake.ecn_granted;
        self.negotiate(segment, ecn);
    }

    /// The answer to our SYN.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN.with(Flags::ACK)) || segment.ack != 1 {
            return;
        }
        let ecn = self.handshake.ask_ecn && segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::CWR);
        self.negotiate(segment, ecn);
        self.finish_handshake(segment);
        self.third_due = true;
    }

    /// Settles the options (RFC 9293 section 3.7.1, RFC 7323, RFC 2018, RFC 3168).
    fn negotiate(&mut self, segment: &Segment, ecn: bool) {
        let offer = &self.handshake.offer;
        let peer = &segment.syn;
        let window_scaling = offer.window_scale_plus_one != 0 && peer.window_scale_plus_one != 0;
        let sack = offer.sack_permitted && peer.sack_permitted;
        self.timestamps = offer.timestamps && peer.timestamps;
        let peer_mss = if peer.mss == 0 { 536 } else { u32::from(peer.mss) };
        let options = if self.timestamps { 12 } else { 0 };
        let mss = peer_mss.min(u32::from(offer.mss)).max(LEAST_MSS) - options;
        self.sender.negotiate(FullSegment { payload: mss, options, mss_of_peer: peer_mss }, sack, ecn);
        if !window_scaling {
            self.handshake.offer.window_scale_plus_one = 0;
        }
        let exact_echo = ecn && self.handshake.needs_ecn;
        let negotiated = Negotiated { window_scaling, timestamps: self.timestamps, sack, ecn, exact_echo };
        self.receiver.on_syn(self.sender.clock().now, segment, negotiated);
    }

    /// Our SYN is acknowledged by `segment`.
    pub(super) fn finish_handshake(&mut self, segment: &Segment) {
        let now = self.sender.clock().now;
        let rtt_us = if self.handshake.sent == 1 {
            Some((now.as_us() - self.handshake.sent_at.as_us()) as u32)
        } else if self.timestamps && segment.ts_ecr != 0 {
            let ticks = self.sender.clock().timestamp.wrapping_sub(segment.ts_ecr).max(1);
            Some(self.sender.clock().timestamp_us(ticks) as u32)
        } else {
            None
        };
        let is_client = self.state == State::SynSent;
        self.state = State::Established;
        self.receiver.established(now);
        // Those that the peer has provoked prove nothing about the network, and an answer to the first one shows that the others
        // were needless (Eifel detection, RFC 3522).
        let is_asked = self.handshake.timeouts == 0;
        let needless = is_asked || self.timestamps && segment.ts_ecr != 0 && segment.ts_ecr == self.handshake.stamp;
        let syn_retransmits = if needless { 0 } else { self.handshake.sent - 1 };
        self.sender.start(Opening { syn_retransmits, rtt_us, is_client, window: segment.window });
    }

    /// Our FIN is acknowledged, or the peer's has arrived: the next state.
    pub(super) fn step_closing(&mut self, fin_acked: bool, fin_received: bool) {
        let fin_sent = self.sender.fin_sent();
        let before = self.state;
        self.state = match self.state {
            State::Established if fin_received && self.sender.has_closed() => State::Closing,
            State::Established if fin_received => State::CloseWait,
            State::Established if fin_sent => State::FinWait1,
            State::CloseWait if fin_sent => State::LastAck,
            State::FinWait1 if fin_received => State::Closing,
            State::FinWait2 if fin_received => State::TimeWait,
            state => state,
        };
        if fin_acked {
            self.state = match self.state {
                State::FinWait1 => State::FinWait2,
                State::Closing => State::TimeWait,
                State::LastAck => State::Closed,
                state => state,
            };
            if self.state == State::Closed {
                self.has_ended = true;
                self.end();
            }
        }
        if self.state == State::TimeWait && before != State::TimeWait {
            self.enter_time_wait();
        }
    }
}
