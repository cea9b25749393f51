//! One endpoint of a connection: its states, what comes in, what goes out, and when.
//!
//! The way of quinn and smoltcp: the caller hands in segments and the time, polls segments out until
//! there are none, and reads the time of the next call. Nothing happens in between.
//!
//! Not modelled: two ends that open at once, and a socket that is closed with data unread, which Linux
//! resets.

use daybreak_trace::WindowRow;
use daybreak_units::{Duration, Instant, Rate};

use crate::config::{Config, Profile};
use crate::congestion::{CaState, Draws, Rule};
use crate::counters::Counters;
use crate::receiver::{Receiver, SenderTiming};
use crate::sender::{Metrics, PathChoice, Sender};

#[cfg(test)]
mod fast_path_tests;
mod input;
mod output;
mod state;
mod syn_received;
mod time_wait;

pub use state::State;

use state::Handshake;

/// One endpoint: sending half and receiving half.
#[derive(Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub struct Connection {
    deadline: Instant,
    /// Payload handed to the application.
    delivered: u64,
    out_bytes: u32,
    mode: Mode,
    /// The ACK, window and SACK fields of `out` are still current and may be reused.
    ack_fields_cached: bool,
    state: State,
    /// Timestamps were negotiated.
    timestamps: bool,
    /// Our ACK of the SYN-ACK is still to be sent: it goes before any data.
    third_due: bool,
    /// It sent the first SYN.
    is_opener: bool,
    /// Both FINs are acknowledged, and [`Connection::take_ended`] has not returned it yet.
    has_ended: bool,
    sender: Sender,
    receiver: Receiver,
    /// The segment that was polled last, and its IP length.
    out: crate::Segment,
    handshake: Handshake,
    /// To a segment that belongs to no connection.
    reply: Option<Box<crate::Segment>>,
    /// When TIME-WAIT is over.
    time_wait_end: Instant,
    profile: Profile,
}

/// Which of three output paths applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The handshake goes on, or everything is over.
    Unusual,
    /// Open.
    Open,
    /// Open, and [`Sender::is_quiet`] until the application writes or closes: then the sender has no deadline.
    Quiet,
}

impl Connection {
    /// The active opener: sends a SYN after [`Connection::open`].
    pub fn client(config: Config, rule: Rule) -> Self {
        Self::new(config, rule, State::Closed)
    }

    /// The passive opener: waits for a SYN.
    pub fn server(config: Config, rule: Rule) -> Self {
        Self::new(config, rule, State::Listen)
    }

    fn new(config: Config, rule: Rule, state: State) -> Self {
        Self {
            receiver: Receiver::new(&config),
            handshake: Handshake::new(&config, rule.capabilities.needs_ecn),
            sender: Sender::new(&config, rule),
            state,
            timestamps: false,
            delivered: 0,
            deadline: Instant::NEVER,
            mode: Mode::Unusual,
            ack_fields_cached: false,
            third_due: false,
            is_opener: state == State::Closed,
            has_ended: false,
            out: crate::Segment::default(),
            out_bytes: 0,
            reply: None,
            time_wait_end: Instant::NEVER,
            profile: config.profile,
        }
    }

    /// Adds a path with its own congestion control (time-division TCP). ACKs with ECE select the second path, ACKs without it
    /// the first, unless [`Connection::choose_paths`] sets another choice. To be called before [`Connection::open`].
    ///
    /// # Panics
    /// When it has 16 paths already.
    pub fn add_path(&mut self, config: &Config, rule: Rule) {
        self.sender.add_path(config, rule);
    }

    /// Sets what chooses among several paths. To be called before [`Connection::open`].
    pub fn choose_paths(&mut self, choice: Box<dyn PathChoice>) {
        self.sender.choose_paths(choice);
    }

    /// Active open: the SYN goes out at the next poll.
    pub fn open(&mut self, now: Instant) {
        self.sender.advance(now);
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.handshake.is_due = true;
        }
    }

    /// The application has `bytes` more to send; `u64::MAX` for an unlimited transfer.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.leave_quiet();
        self.sender.write(now, bytes);
    }

    /// The application will write no more: FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        self.leave_quiet();
        self.sender.close(now);
    }

    /// What arrives stays in the receive buffer until the application reads it.
    pub fn stop_reading(&mut self) {
        self.receiver.stop_reading();
    }

    /// The application, which has stopped reading, reads up to `bytes` of what is there.
    pub fn read(&mut self, now: Instant, bytes: u64) {
        self.sender.begin(now);
        self.ack_fields_cached = false;
        self.delivered += self.receiver.read(now, bytes);
    }

    /// The application reads what is there, and from now on everything at once.
    pub fn read_all(&mut self, now: Instant) {
        self.sender.begin(now);
        self.ack_fields_cached = false;
        self.delivered += self.receiver.read_all(now);
    }

    /// `TCP_NODELAY`: no small segment waits for the acknowledgement of another.
    pub fn set_nodelay(&mut self, now: Instant, is_on: bool) {
        self.leave_quiet();
        self.sender.set_nodelay(now, is_on);
    }

    /// `TCP_CORK`: small segments wait for more data, or for the timer of window probes.
    pub fn set_cork(&mut self, now: Instant, is_on: bool) {
        self.leave_quiet();
        self.sender.set_cork(now, is_on);
    }

    /// `SO_RCVBUF`: sets the receive buffer to twice `bytes` and turns autotuning off. To be called before the handshake.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        self.receiver.set_buffer(bytes);
    }

    /// `SO_SNDBUF`: sets the send buffer to twice `bytes` and turns autotuning off. To be called before the handshake.
    pub fn set_send_buffer(&mut self, bytes: u32) {
        self.sender.set_buffer(bytes);
    }

    /// A segment of the peer arrived.
    #[inline(never)]
    pub fn on_segment(&mut self, now: Instant, segment: &crate::Segment) {
        self.sender.begin(now);
        self.input(segment);
    }

    /// To be called at [`Connection::poll_timeout`]; does nothing when early.
    pub fn on_timeout(&mut self, now: Instant) {
        self.sender.begin(now);
        self.sender.end_pacing_wait();
        if self.sender.is_due() {
            if self.sender.is_synchronised() {
                self.sender.on_timer();
            } else {
                self.on_handshake_timeout();
            }
        }
        if self.receiver.poll_timeout() <= now {
            self.ack_fields_cached = false;
            let timing = timing(&self.sender);
            self.receiver.on_timeout(now, timing);
        }
    }

    /// A packet with `bytes` (IP length) of this connection has left the host's NIC queue.
    #[inline]
    pub fn on_nic_freed(&mut self, now: Instant, bytes: u32) {
        self.sender.on_nic_freed(now, bytes);
    }

    /// Whether a packet that leaves the host's NIC queue may let a segment go. If not, [`Connection::on_nic_freed`] may come
    /// later, but before the next input.
    #[inline]
    pub fn awaits_departure(&self) -> bool {
        self.sender.awaits_departure()
    }

    /// The next segment to send; poll until `None` after every input.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<crate::Segment> {
        self.advance(now);
        self.next_segment().map(|(segment, _)| *segment)
    }

    /// Sets the time of the segments that are polled next. Not needed after an input, which has set it.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        self.sender.advance(now);
    }

    /// [`Connection::poll_transmit`] at the time of the last input or [`Connection::advance`], without a
    /// copy, and with the length of the IP packet: the segment stays here and is valid until the next call.
    #[inline(always)]
    pub fn next_segment(&mut self) -> Option<(&crate::Segment, u32)> {
        if self.output() { Some((&self.out, self.out_bytes)) } else { None }
    }

    /// When [`Connection::on_timeout`] wants to be called; [`Instant::NEVER`] for never. Valid once
    /// [`Connection::poll_transmit`] has returned `None`.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        self.deadline
    }

    /// Payload handed to the application here, in order.
    #[inline]
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// What the application has written into the socket.
    pub fn written_bytes(&self) -> u64 {
        self.sender.written_bytes()
    }

    /// Our payload that the peer has acknowledged.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        self.sender.acked_bytes()
    }

    /// Cheap test for `acked_bytes() >= bytes.max(1)`, for use on every ACK.
    #[inline]
    pub fn has_acked(&self, bytes: u64) -> bool {
        self.sender.has_acked(bytes)
    }

    /// The handshake is done.
    pub fn is_established(&self) -> bool {
        self.sender.is_synchronised() && self.state != State::Closed
    }

    /// Both directions are closed, or the connection was reset.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// The handshake is not done, or the connection is over.
    #[inline]
    pub fn is_unsynchronised(&self) -> bool {
        // The state lies where every segment looks.
        self.state != State::Established && !self.sender.is_synchronised()
    }

    /// True the first time that it is called after an orderly close, never after a reset.
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// The state of RFC 9293, section 3.3.2.
    pub fn state(&self) -> State {
        self.state
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        let receiver = self.receiver.counters();
        Counters { reordered: receiver.reordered, duplicates: receiver.duplicates, ..*self.sender.counters() }
    }

    /// Congestion window in segments, as what follows that of the present path.
    pub fn cwnd(&self) -> u32 {
        self.sender.path().window.cwnd
    }
    /// Slow-start threshold in segments; `u32::MAX` while unlimited.
    pub fn ssthresh(&self) -> u32 {
        self.sender.path().window.ssthresh
    }
    /// The pacing rate, also of a rule that does not pace.
    pub fn pacing_rate(&self) -> Rate {
        self.sender.path().window.pacing_rate
    }
    /// Segments in flight as the sender counts them, on all of its paths.
    pub fn in_flight(&self) -> u32 {
        let [out, sacked, lost, again] = self.sender.outstanding();
        out + again - sacked - lost
    }
    /// Congestion state.
    pub fn ca_state(&self) -> CaState {
        self.sender.path().state
    }
    /// Sent and not acknowledged, SACKed, lost, and sent again and in flight: the counts that
    /// [`Connection::in_flight`] is made of.
    pub fn outstanding(&self) -> [u32; 4] {
        self.sender.outstanding()
    }
    /// Smoothed RTT; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.sender.srtt()
    }
    /// Retransmission timeout.
    pub fn rto(&self) -> Duration {
        self.sender.rto()
    }
    /// Reordering degree in segments.
    pub fn reordering(&self) -> u32 {
        self.sender.path().reordering.degree
    }

    /// Starts from what is known of the destination; to be called before the segment that ends the handshake.
    pub fn inherit(&mut self, metrics: &Metrics) {
        self.sender.inherit(metrics);
    }

    /// Notes in `metrics` what this connection has learnt; to be called when it has ended ([`Connection::take_ended`]).
    pub fn remember(&self, metrics: &mut Metrics) {
        self.sender.remember(metrics);
    }

    /// The random numbers of the congestion rule, if it draws any: a replay chooses them.
    pub fn draws(&mut self) -> Option<&mut Draws> {
        self.sender.draws()
    }

    /// The state of the sending half as a record.
    pub fn window_row(&self, flow: u32, now: Instant) -> WindowRow {
        let sender = &self.sender;
        let path = sender.path();
        let (window, in_flight) = (&path.window, path.in_flight());
        // A SYN or a FIN that is outstanding has a sequence number and is no payload.
        let has_flag = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::FinWait1 | State::Closing | State::LastAck
        );
        WindowRow {
            flow,
            time_ns: now.as_ns(),
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight,
            bytes_in_flight: u64::from(in_flight) * u64::from(sender.mss()),
            outstanding_bytes: (sender.snd_nxt() - sender.snd_una()).saturating_sub(u64::from(has_flag)),
            srtt_ns: sender.srtt().as_ns(),
            pacing_bps: if window.is_paced { window.pacing_rate.as_bps() } else { 0 },
            retransmits: sender.counters().retransmits,
            state: path.state as u8,
        }
    }

    fn leave_quiet(&mut self) {
        if self.mode == Mode::Quiet {
            self.mode = Mode::Open;
        }
    }
}

/// What the receiver borrows from the sender.
fn timing(sender: &Sender) -> SenderTiming {
    SenderTiming { srtt: sender.exact_srtt(), rto: sender.rto() }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::Connection;

    #[test]
    fn the_sender_begins_in_the_middle_of_the_first_cache_line() {
        assert_eq!((offset_of!(Connection, sender), align_of::<Connection>()), (32, 64));
    }
}
