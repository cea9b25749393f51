//! The sample that a congestion rule gets with each ACK, and what it may request.

use std::sync::mpsc::{Receiver, Sender, channel};

use daybreak_tcp::config::{Config, EcnMode};
use daybreak_tcp::congestion::{AckArrival, AckSample, CaState, Capabilities, Congestion, Context, Rule, Window};
use daybreak_tcp::{Connection, Flags, Header, SackBlock, Segment, SynOptions};
use daybreak_units::{Duration, Instant};

/// Keeps a window of ten segments and passes on its samples.
#[derive(Debug)]
struct Listener {
    samples: Sender<AckSample>,
    arrival: AckArrival,
}

impl Congestion for Listener {
    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        self.arrival = *ack;
    }
    fn on_ack(&mut self, _window: &mut Window, _ack: &AckSample) {}
    fn control(&mut self, _window: &mut Window, ack: &AckSample) {
        assert_eq!(ack.arrival, self.arrival, "it was shown on its arrival");
        self.samples.send(*ack).expect("somebody listens");
    }
    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        window.cwnd
    }
}

/// The rule, and what it asks for.
fn listener(samples: Sender<AckSample>, needs_ecn: bool) -> Rule {
    let capabilities = Capabilities { controls_window: true, needs_ecn, ..Capabilities::NONE };
    Rule { control: Box::new(Listener { samples, arrival: AckArrival::default() }), capabilities }
}

const MSS: u64 = 1_448;

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// The first byte of segment `n`, counted from 0.
fn start(n: u64) -> u64 {
    1 + n * MSS
}

/// A client that has sent ten segments at 10 ms, the RTT of its handshake.
struct Client {
    connection: Connection,
    samples: Receiver<AckSample>,
}

impl Client {
    fn new() -> Self {
        let (sender, samples) = channel();
        let rule = listener(sender, false);
        // Small queues are off: nobody here says what has left the NIC.
        // Nobody here says what has left the NIC; and F-RTO would find a timeout of reneging to be spurious.
        let config = Config { limit_output_bytes: None, frto: false, ..Config::default() };
        let mut client = Self { connection: Connection::client(config, rule), samples };
        client.connection.open(Instant::ZERO);
        client.flush(0);
        let syn = SynOptions { mss: 1_460, window_scale_plus_one: 8, sack_permitted: true, timestamps: true };
        let flags = Flags::SYN.with(Flags::ACK);
        let answer =
            Segment::from(Header { ack: 1, window: 65_535, ts_val: 1, ts_ecr: 1, flags, syn, ..Header::default() });
        client.connection.on_segment(at_us(10_000), &answer);
        client.connection.write(at_us(10_000), 10 * MSS);
        assert_eq!(client.flush(10_000), 11, "our ACK and ten segments");
        client
    }

    fn flush(&mut self, us: u64) -> usize {
        std::iter::from_fn(|| self.connection.poll_transmit(at_us(us))).count()
    }

    /// The ACK of all segments before `next` arrives, with these segments SACKed; the rule's sample of it.
    fn ack(&mut self, us: u64, next: u64, sacked: &[(u64, u64)]) -> AckSample {
        self.deliver_ack(us, next, sacked);
        self.samples.try_recv().expect("the rule gets a sample of each ACK")
    }

    fn deliver_ack(&mut self, us: u64, next: u64, sacked: &[(u64, u64)]) {
        // It echoes the present: no retransmission seems needless.
        let stamp = 1 + (us / 1_000) as u32;
        let mut ack =
            Segment::from(Header { seq: 1, ack: start(next), window: 65_535, ts_val: stamp, ..Header::default() });
        (ack.ts_ecr, ack.flags, ack.sack_count) = (stamp, Flags::ACK, sacked.len() as u8);
        for (block, (first, end)) in ack.sack.iter_mut().zip(sacked) {
            *block = SackBlock { start: start(*first), end: start(*end) };
        }
        self.connection.on_segment(at_us(us), &ack);
        self.flush(us);
    }

    fn wait(&mut self, us: u64) {
        assert_eq!(self.connection.poll_timeout(), at_us(us));
        self.connection.on_timeout(at_us(us));
        self.flush(us);
    }
}

/// Linux 6.1.192 adds what SACKs deliver where an ACK in order has been tagged, which an older one never reaches.
#[test]
fn what_an_old_ack_reports_is_never_counted_as_delivered() {
    let mut client = Client::new();
    assert_eq!(client.ack(20_000, 2, &[]).delivered, 3, "with the SYN");
    client.deliver_ack(20_100, 1, &[(4, 6)]);
    assert!(client.samples.try_recv().is_err(), "the rule does not see it");
    let next = client.ack(20_200, 2, &[(4, 7)]);
    assert_eq!((next.delivered, next.arrival.sacked_out, next.rate.delivered), (4, 3, Some(3)));
    assert_eq!(client.ack(22_000, 10, &[]).delivered, 11 - 2);
}

/// Linux 6.1.192 predicts headers in ESTABLISHED alone, and a close ends that even while the FIN waits behind data.
#[test]
fn no_ack_takes_the_fast_path_once_the_application_has_closed() {
    let mut client = Client::new();
    client.connection.write(at_us(15_000), 5 * MSS);
    assert!(client.ack(20_000, 1, &[]).arrival.is_fast_path);
    client.connection.close(at_us(21_000));
    assert_eq!(client.flush(21_000), 0, "the FIN waits for the window");
    assert!(!client.ack(22_000, 2, &[]).arrival.is_fast_path);
    assert!(!client.ack(23_000, 2, &[]).arrival.is_fast_path, "a duplicate");
}

#[test]
fn an_ack_says_what_it_delivered_how_fast_and_what_is_left() {
    let mut client = Client::new();
    let first = client.ack(20_000, 2, &[]);
    let arrival = first.arrival;
    assert_eq!((arrival.acked, first.newly_delivered, first.newly_lost), (2, 2, 0));
    assert_eq!((first.prior_in_flight, first.in_flight, first.state), (10, 8, CaState::Open));
    // The SYN counts as delivered.
    assert_eq!((first.delivered, first.lost), (3, 0));
    assert_eq!((arrival.snd_una, arrival.snd_nxt, arrival.mss), (start(2), start(10), MSS as u32));
    assert_eq!((arrival.rtt, first.min_rtt), (Some(Duration::from_ms(10)), Duration::from_ms(10)));
    assert!(arrival.is_fast_path && !first.ece);
    // Two since the segments were sent; the ACK phase is the longer one.
    let rate = first.rate;
    assert_eq!((rate.delivered, rate.interval, rate.prior_delivered), (Some(2), Duration::from_ms(10), 1));

    // Segment 2 is missing, and four above it have arrived: it is lost.
    let second = client.ack(22_000, 2, &[(3, 7)]);
    let arrival = second.arrival;
    assert_eq!((arrival.acked, arrival.sacked_out, arrival.state), (0, 4, CaState::Open));
    assert_eq!((arrival.rtt, arrival.delivered, arrival.prior_delivered), (Some(Duration::from_ms(12)), 7, 1));
    assert_eq!((second.newly_delivered, second.newly_lost), (4, 1));
    assert_eq!((second.prior_in_flight, second.in_flight, second.state), (8, 3, CaState::Recovery));
    assert_eq!((second.delivered, second.lost), (7, 1));
    // All ten were sent when only the SYN had been delivered.
    assert_eq!((second.rate.delivered, second.rate.interval), (Some(6), Duration::from_ms(12)));
    assert!(!arrival.is_fast_path);

    // The retransmission of 22 ms arrives with all the rest. What was delivered before it was sent: 7.
    let third = client.ack(33_000, 10, &[]);
    assert_eq!((third.newly_delivered, third.newly_lost, third.state), (4, 0, CaState::Open));
    assert_eq!((third.prior_in_flight, third.in_flight, third.delivered), (4, 0, 11));
    assert!(third.rate.is_retrans);
    assert_eq!((third.rate.delivered, third.rate.prior_delivered), (Some(4), 7));
    assert_eq!(third.rate.interval, Duration::from_ms(12), "its send phase, since the ten had left");
}

#[test]
fn while_the_peer_is_thought_to_renege_there_are_no_rate_samples() {
    let mut client = Client::new();
    assert_eq!(client.ack(20_000, 0, &[(1, 3)]).rate.delivered, Some(2));
    // Segment 0 is acknowledged and 1 is not, though it was SACKed. The peer gets 10 ms.
    assert_eq!(client.ack(21_000, 1, &[]).rate.delivered, Some(3));
    client.wait(32_000);
    assert_eq!(client.connection.ca_state(), CaState::Loss);
    let doubtful = client.ack(43_000, 3, &[]);
    assert_eq!((doubtful.state, doubtful.newly_delivered, doubtful.rate.delivered), (CaState::Loss, 2, None));
    // The last ACK of the recovery ends it before the sample is taken.
    assert!(client.ack(54_000, 10, &[]).rate.delivered.is_some());
    assert_eq!(client.connection.ca_state(), CaState::Open);
}

#[test]
fn a_rule_may_need_ecn_whatever_the_setting_says() {
    let rule = |needs_ecn| listener(channel().0, needs_ecn);
    let asks = Flags::ECE.with(Flags::CWR);
    let config = Config { ecn: EcnMode::Off, ..Config::default() };
    for needs_ecn in [false, true] {
        let mut client = Connection::client(config.clone(), rule(needs_ecn));
        client.open(Instant::ZERO);
        let syn = client.poll_transmit(Instant::ZERO).expect("a SYN");
        assert_eq!(syn.flags.contains(asks), needs_ecn);

        let mut server = Connection::server(config.clone(), rule(needs_ecn));
        server.on_segment(Instant::ZERO, &Segment::from(Header { flags: Flags::SYN.with(asks), ..*syn }));
        let answer = server.poll_transmit(Instant::ZERO).expect("a SYN-ACK");
        assert_eq!(answer.flags.contains(Flags::ECE), needs_ecn);
    }
}
