//! TIME-WAIT (RFC 9293, section 3.10.7.4): the connection is over, and for a minute what comes late is answered.
//!
//! Models Linux 6.1: a bare ACK at the number that is expected is no sign of trouble; a RST there ends TIME-WAIT (the
//! first hazard of RFC 1337, since `tcp_rfc1337` is off); everything else but a RST is acknowledged, what has no data
//! not twice in half a second. A segment with an ACK starts the minute anew. A SYN that is newer than all before begins
//! a new connection where a listener is (RFC 6191).

use daybreak_units::Duration;

use super::{Connection, Mode, State};
use crate::{Flags, Segment};

/// Linux's `TCP_TIMEWAIT_LEN`.
const LENGTH: Duration = Duration::from_secs(60);

impl Connection {
    /// Both FINs are acknowledged, ours first.
    pub(super) fn enter_time_wait(&mut self) {
        self.state = State::TimeWait;
        self.mode = Mode::Unusual;
        self.has_ended = true;
        self.sender.reset();
        self.sender.desynchronise();
        self.receiver.retire();
        self.start_time_wait();
    }

    fn start_time_wait(&mut self) {
        let clock = self.sender.clock();
        self.time_wait_end = clock.expiry(clock.whole_jiffies_in(LENGTH));
    }

    /// TIME-WAIT is over, if it was one: this shows only with the next segment.
    pub(super) fn outlive_time_wait(&mut self) {
        if self.state == State::TimeWait && self.sender.clock().now >= self.time_wait_end {
            self.state = State::Closed;
        }
    }

    pub(super) fn input_time_wait(&mut self, segment: &Segment) {
        let has = |flag: Flags| segment.flags.contains(flag);
        let is_old = self.receiver.is_older(segment);
        let is_next = segment.seq == self.receiver.rcv_nxt() && !is_old;
        if is_next && has(Flags::RST) {
            self.state = State::Closed;
            return;
        }
        if is_next && segment.sequence_len() == 0 {
            self.receiver.take_timestamp(segment);
            self.start_time_wait();
            return;
        }
        if has(Flags::RST) {
            return;
        }
        if self.is_new_connection(segment) {
            // There is no listener here.
            return self.acknowledge();
        }
        if is_old || has(Flags::ACK) {
            self.start_time_wait();
        }
        let is_data = segment.sequence_len() > 0 && !has(Flags::SYN);
        if is_data || self.receiver.may_challenge(self.sender.clock().now) {
            self.acknowledge();
        }
    }

    /// The segment begins a new connection, if something listens: then the caller makes a [`Connection::server`] for it.
    pub fn is_succeeded_by(&self, segment: &Segment) -> bool {
        self.state == State::TimeWait && !self.is_opener && self.is_new_connection(segment)
    }

    fn is_new_connection(&self, segment: &Segment) -> bool {
        let is_syn = segment.flags.0 & (Flags::SYN.0 | Flags::ACK.0 | Flags::RST.0) == Flags::SYN.0;
        let receiver = &self.receiver;
        is_syn && !receiver.is_older(segment) && (segment.seq > receiver.rcv_nxt() || receiver.is_newer(segment))
    }

    fn acknowledge(&mut self) {
        self.ack_fields_cached = false;
        self.receiver.request_ack();
    }
}
