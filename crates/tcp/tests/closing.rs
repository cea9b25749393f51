//! Which segment carries the FIN when an application writes and closes before the handshake is done: it then makes both calls
//! one after the other, as soon as the connection stands.

use daybreak_tcp::config::Config;
use daybreak_tcp::{Connection, Flags, Header, Segment, SynOptions, congestion};
use daybreak_units::{Duration, Instant};

/// What leaves when the SYN is answered after 10 ms: payload bytes, and whether there is a FIN.
fn first_window(bytes: u64) -> (Connection, Vec<(u32, bool)>) {
    let reno = congestion::find("reno").expect("it is registered").rule(1);
    let mut client = Connection::client(Config { timestamps: false, ..Config::default() }, reno);
    client.open(Instant::ZERO);
    client.write(Instant::ZERO, bytes);
    client.close(Instant::ZERO);
    assert!(client.poll_transmit(Instant::ZERO).is_some_and(|syn| syn.flags.contains(Flags::SYN)));
    let answer = Segment::from(Header {
        flags: Flags::SYN.with(Flags::ACK),
        ack: 1,
        window: 65_535,
        syn: SynOptions { mss: 1_460, window_scale_plus_one: 8, sack_permitted: true, timestamps: false },
        ..Header::default()
    });
    let sent = hear(&mut client, 10, &answer);
    (client, sent)
}

fn hear(client: &mut Connection, at_ms: u64, segment: &Segment) -> Vec<(u32, bool)> {
    let now = Instant::ZERO + Duration::from_ms(at_ms);
    client.on_segment(now, segment);
    let mut sent = Vec::new();
    while let Some(segment) = client.poll_transmit(now) {
        client.on_nic_freed(now, 20 + segment.header_len() + segment.len);
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
    assert_eq!(hear(&mut client, 20, &ack), [(1_460, false), (1_460, true)]);
}
