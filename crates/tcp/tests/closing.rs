//! Which segment carries the FIN when an application writes and closes before the handshake is done: it then makes both calls
//! one after the other, as soon as the connection stands.

use daybreak_tcp::config::Config;
use daybreak_tcp::{Connection, Flags, Header, Segment, SynOptions, congestion};
use daybreak_units::{Duration, Instant};

/// How long a NIC takes to send what it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nic {
    NoTime,
    LongerThanTheTest,
}

/// What leaves when the SYN is answered after 10 ms: payload bytes, and whether there is a FIN.
fn first_window(bytes: u64) -> (Connection, Vec<(u32, bool)>) {
    first_window_to(Nic::NoTime, bytes, true)
}

fn first_window_to(nic: Nic, bytes: u64, closes: bool) -> (Connection, Vec<(u32, bool)>) {
    let reno = congestion::find("reno").expect("it is registered").rule(1);
    let config = Config { timestamps: false, limit_output_bytes: Some(1_048_576), ..Config::default() };
    let mut client = Connection::client(config, reno);
    client.open(Instant::ZERO);
    client.write(Instant::ZERO, bytes);
    if closes {
        client.close(Instant::ZERO);
    }
    assert!(client.poll_transmit(Instant::ZERO).is_some_and(|syn| syn.flags.contains(Flags::SYN)));
    let answer = Segment::from(Header {
        flags: Flags::SYN.with(Flags::ACK),
        ack: 1,
        window: 65_535,
        syn: SynOptions { mss: 1_460, window_scale_plus_one: 8, sack_permitted: true, timestamps: false },
        ..Header::default()
    });
    let sent = answers(&mut client, nic, 10, &answer);
    (client, sent)
}

fn answers(client: &mut Connection, nic: Nic, at_ms: u64, segment: &Segment) -> Vec<(u32, bool)> {
    let now = Instant::ZERO + Duration::from_ms(at_ms);
    client.on_segment(now, segment);
    sends(client, nic, now)
}

fn sends(client: &mut Connection, nic: Nic, now: Instant) -> Vec<(u32, bool)> {
    let mut sent = Vec::new();
    while let Some(segment) = client.poll_transmit(now) {
        if nic == Nic::NoTime {
            client.on_nic_freed(now, 20 + segment.header_len() + segment.len);
        }
        let fin = segment.flags.contains(Flags::FIN);
        if segment.len > 0 || fin {
            sent.push((segment.len, fin));
        }
    }
    sent
}

#[test]
fn what_the_first_window_holds_is_sent_before_the_close() {
    assert_eq!(first_window(1_000).1, [(1_000, false), (0, true)]);
    let whole: Vec<_> = [(1_460, false); 10].into_iter().chain([(0, true)]).collect();
    assert_eq!(first_window(14_600).1, whole);
}

#[test]
fn what_waits_for_the_window_carries_the_fin() {
    // Linux sends a last segment with FIN whatever the congestion window says.
    let (_, sent) = first_window(14_601);
    assert_eq!(sent[..10], [(1_460, false); 10]);
    assert_eq!(sent[10..], [(1, true)]);
    let (mut client, sent) = first_window(12 * 1_460);
    assert_eq!(sent, [(1_460, false); 10]);
    let ack = Segment::from(Header { flags: Flags::ACK, seq: 1, ack: 1 + 14_600, window: 65_535, ..Header::default() });
    assert_eq!(answers(&mut client, Nic::NoTime, 20, &ack), [(1_460, false), (1_460, true)]);
}

/// A client with TCP_NODELAY whose NIC holds a write of 100 bytes, and the time of its next one.
fn busy_with_a_small_write() -> (Connection, Instant) {
    let (mut client, sent) = first_window_to(Nic::LongerThanTheTest, 100, false);
    assert_eq!(sent, [(100, false)]);
    let now = Instant::ZERO + Duration::from_ms(11);
    client.set_nodelay(now, true);
    (client, now)
}

/// `tcp_autocorking`: as Linux 6.1.192 sends such flows (`short` in the agreement suite).
#[test]
fn the_rest_of_a_write_waits_for_the_close_while_the_nic_is_busy() {
    let sent = |bytes| first_window_to(Nic::LongerThanTheTest, bytes, true).1;
    assert_eq!(sent(1_000), [(1_000, false), (0, true)], "nothing is in flight");
    assert_eq!(sent(1_460), [(1_460, false), (0, true)], "it is a full segment");
    assert_eq!(sent(1_461), [(1_460, false), (1, true)]);
    assert_eq!(sent(2_919), [(1_460, false), (1_459, true)], "it takes a byte less than what the NIC holds");
}

#[test]
fn the_rest_of_a_write_without_a_close_waits_for_a_departure() {
    let (mut client, sent) = first_window_to(Nic::LongerThanTheTest, 1_461, false);
    assert_eq!(sent, [(1_460, false)]);
    let now = Instant::ZERO + Duration::from_ms(11);
    client.on_nic_freed(now, 20 + 20 + 1_460);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), [(1, false)]);
}

#[test]
fn another_look_at_the_time_of_the_write_does_not_end_its_wait() {
    let (mut client, now) = busy_with_a_small_write();
    client.write(now, 1_561);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), [(1_460, false)]);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), []);
    client.on_nic_freed(now, 20 + 20 + 100);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), [(101, false)]);
}

#[test]
fn the_rest_of_a_write_does_not_wait_for_less_memory_than_it_takes() {
    // The ACK of the handshake is all that the NIC holds beside the first write, which is smaller than the second.
    let (mut client, now) = busy_with_a_small_write();
    client.write(now, 200);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), [(200, false)]);
    client.write(now, 200);
    assert_eq!(sends(&mut client, Nic::LongerThanTheTest, now), []);
}

fn state(client: &Connection) -> String {
    format!("{:?}", client.state())
}

/// RFC 9293, section 3.6, case 1.
#[test]
fn the_end_that_closes_first_waits_for_the_peers_fin() {
    let (mut client, sent) = first_window(1_000);
    assert_eq!((sent, state(&client)), (vec![(1_000, false), (0, true)], "FinWait1".to_owned()));
    let ack = Header { flags: Flags::ACK, seq: 1, ack: 1_002, window: 65_535, ..Header::default() };
    answers(&mut client, Nic::NoTime, 20, &Segment::from(ack));
    assert_eq!(state(&client), "FinWait2");
    let fin = Header { flags: Flags::FIN.with(Flags::ACK), ..ack };
    answers(&mut client, Nic::NoTime, 30, &Segment::from(fin));
    assert_eq!(state(&client), "TimeWait");
}

/// Case 3: the peer's FIN comes before its ACK of ours.
#[test]
fn both_ends_may_close_at_once() {
    let (mut client, _) = first_window(1_000);
    let fin = Header { flags: Flags::FIN.with(Flags::ACK), seq: 1, ack: 1_001, window: 65_535, ..Header::default() };
    answers(&mut client, Nic::NoTime, 20, &Segment::from(fin));
    assert_eq!(state(&client), "Closing");
    answers(&mut client, Nic::NoTime, 30, &Segment::from(Header { flags: Flags::ACK, seq: 2, ack: 1_002, ..fin }));
    assert_eq!(state(&client), "TimeWait");
}
