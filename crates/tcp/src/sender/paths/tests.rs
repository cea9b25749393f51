use daybreak_units::{Duration, Instant};

use super::*;
use crate::config::BufferLimits;
use crate::congestion::CaState;
use crate::congestion::find;
use crate::sender::Opening;
use crate::sender::sizes::FullSegment;
use crate::sender::timer::TimerKind;
use crate::{Flags, Header, SackBlock, Segment};

const LEN: u64 = 1_000;
const WINDOW: u32 = 1_000_000;

/// A sender with two paths, ten segments a window on each.
fn sender() -> Sender {
    sender_with(2)
}

fn sender_with(paths: usize) -> Sender {
    // Without small queues no call has to report that segments have left the host.
    let wmem = BufferLimits { default: 1_000_000, ..Config::default().wmem };
    let config = Config { limit_output_bytes: None, wmem, ..Config::default() };
    let rule = || find("reno").expect("a rule").rule(1);
    let mut sender = Sender::new(&config, rule());
    (1..paths).for_each(|_| sender.add_path(&config, rule()));
    sender.negotiate(FullSegment { payload: LEN as u32, options: 12, mss_of_peer: LEN as u32 + 12 }, true, false);
    sender.begin(Instant::ZERO + Duration::from_ms(1));
    sender.start(Opening { syn_retransmits: 0, rtt_us: Some(1_000), is_client: true, window: WINDOW });
    sender
}

/// The application writes the given number of segments; those that leave, by number.
fn send(sender: &mut Sender, at_us: u64, segments: u64) -> Vec<u64> {
    sender.write(Instant::ZERO + Duration::from_us(at_us), segments * LEN);
    poll(sender)
}

fn poll(sender: &mut Sender) -> Vec<u64> {
    let mut sent = Vec::new();
    while sender.has_ready() {
        sent.push(sender.push_ready().0 / LEN);
    }
    while let Some(outgoing) = sender.next_outgoing() {
        sent.push(outgoing.seq / LEN);
        while sender.has_ready() {
            sent.push(sender.push_ready().0 / LEN);
        }
    }
    sent
}

/// Everything below segment `ack` has arrived, and the segments `sacked`; what leaves then, by number.
fn ack(
    sender: &mut Sender,
    at_us: u64,
    index: u16,
    ack: u64,
    sacked: impl Into<Option<std::ops::Range<u64>>>,
) -> Vec<u64> {
    let ece = if index == 0 { Flags::default() } else { Flags::ECE };
    let header = Header { ack: 1 + ack * LEN, window: WINDOW, flags: Flags::ACK.with(ece), ..Header::default() };
    let mut segment = Segment::from(header);
    if let Some(range) = sacked.into() {
        segment.sack[0] = SackBlock { start: 1 + range.start * LEN, end: 1 + range.end * LEN };
        segment.sack_count = 1;
    }
    sender.begin(Instant::ZERO + Duration::from_us(at_us));
    sender.on_ack(&segment, true);
    let sent = poll(sender);
    sender.audit().expect("counts add up");
    sent
}

/// What a path has out, of this SACKed, lost, and sent again.
fn counts(sender: &mut Sender, index: u16) -> [u32; 4] {
    path(sender, index).tally.counts()
}

fn path(sender: &mut Sender, index: u16) -> &mut Path {
    sender.paths.get(&mut sender.path, index << FIRST_BIT)
}

/// Segments 0 to 9 on the first path at 1 ms; 0 arrives at 1.2 ms with the news of the second, where 10 to 19 leave.
fn on_both() -> Sender {
    let mut sender = sender();
    assert_eq!(send(&mut sender, 1_000, 100), (0..10).collect::<Vec<_>>());
    assert_eq!(ack(&mut sender, 1_200, 1, 1, None), (10..20).collect::<Vec<_>>(), "the second path's own window");
    sender
}

#[test]
fn what_an_ack_says_counts_on_the_path_of_each_segment() {
    let mut sender = on_both();
    assert_eq!((counts(&mut sender, 0), counts(&mut sender, 1)), ([9, 0, 0, 0], [10, 0, 0, 0]));
    assert_eq!((path(&mut sender, 0).window.cwnd, path(&mut sender, 1).window.cwnd), (11, 10));
    // Of the first path 1 to 3, of the second 10 to 13, by SACK.
    ack(&mut sender, 1_300, 1, 4, 10..14);
    assert_eq!(counts(&mut sender, 0), [6, 0, 0, 0]);
    let [out, sacked, lost, again] = counts(&mut sender, 1);
    assert_eq!((out - sacked, sacked, lost, again), (path(&mut sender, 1).window.cwnd, 4, 0, 0));
    let delivered = |sender: &mut Sender, index| path(sender, index).delivery.delivered - 1;
    assert_eq!((delivered(&mut sender, 0), delivered(&mut sender, 1)), (4, 4));
}

#[test]
fn what_arrives_of_one_path_says_nothing_of_losses_on_another() {
    let mut sender = on_both();
    let sent = ack(&mut sender, 1_300, 1, 1, 10..20);
    assert!(sent.iter().all(|&segment| segment >= 20), "{sent:?}");
    assert_eq!((counts(&mut sender, 0), path(&mut sender, 0).state), ([9, 0, 0, 0], CaState::Open));
    // Of the first path 5 to 9 arrive: 1 to 4 are lost there, and only its window is reduced.
    let (first, second) = (path(&mut sender, 0).window.cwnd, path(&mut sender, 1).window.cwnd);
    ack(&mut sender, 1_400, 1, 1, 5..20);
    assert_eq!(path(&mut sender, 0).state, CaState::Recovery);
    assert!(path(&mut sender, 0).window.ssthresh <= first / 2);
    assert_eq!((path(&mut sender, 1).window.ssthresh, path(&mut sender, 1).window.cwnd), (u32::MAX, second));
}

#[test]
fn what_is_lost_goes_again_on_the_present_path_and_belongs_to_it() {
    let mut sender = on_both();
    let end = 20 + ack(&mut sender, 1_300, 1, 1, 10..20).len() as u64;
    let sent = ack(&mut sender, 1_400, 1, 1, 3..end);
    assert_eq!(sent[..2], [1, 2]);
    assert_eq!(counts(&mut sender, 0), [7, 7, 0, 0]);
    let first = *sender.flight.get(sender.flight.head());
    assert_eq!((first.path(), first.has(Sent::EVER_RETRANS), first.has(Sent::LOST)), (1 << FIRST_BIT, true, false));
    // It arrives, and the recovery of the first path is over once all of it has.
    ack(&mut sender, 1_500, 1, end, None);
    assert_eq!((counts(&mut sender, 0), path(&mut sender, 0).state), ([0; 4], CaState::Open));
}

#[test]
fn what_was_left_behind_is_lost_after_twice_the_longest_rtt() {
    let mut sender = on_both();
    let first = ack(&mut sender, 1_240, 0, 10, None);
    let end = 20 + first.len() as u64;
    // 10 to 19 left at 1.2 ms on the second path, which is gone. The RTT of the first, the only one known, is 1 ms.
    ack(&mut sender, 2_240, 0, 10, 20..end - 1);
    assert_eq!((counts(&mut sender, 1), path(&mut sender, 1).state), ([10, 0, 0, 0], CaState::Open));
    assert_eq!(sender.timer.kind, TimerKind::Reorder, "in a millisecond or so");
    let sent = ack(&mut sender, 3_600, 0, 10, 20..end);
    assert_eq!(sent[0], 10);
    assert_eq!(path(&mut sender, 1).state, CaState::Recovery);
}

#[test]
fn an_ack_does_not_end_the_wait_for_what_was_left_behind() {
    let mut sender = on_both();
    let end = 20 + ack(&mut sender, 1_240, 0, 10, None).len() as u64;
    ack(&mut sender, 2_240, 0, 10, 20..end - 1);
    assert_eq!(sender.timer.kind, TimerKind::Reorder);
    // It sets the timer of its own path anew, unless losses are waited for.
    ack(&mut sender, 2_300, 0, 11, 20..end - 1);
    assert_eq!(sender.timer.kind, TimerKind::Reorder);
}

#[test]
fn an_rtt_is_measured_only_where_the_path_was_there_all_the_time() {
    let mut sender = on_both();
    // The ACK that came with the news acknowledged a segment of the other path.
    assert_eq!((path(&mut sender, 0).rtt.srtt_us(), path(&mut sender, 1).rtt.srtt_us()), (1_000, 0));
    ack(&mut sender, 1_240, 1, 11, None);
    assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000, "segments 1 to 9 were sent before the change");
    assert_eq!(path(&mut sender, 1).rtt.srtt_us(), 40);
    // The rest of the second path's arrives when the first is there again.
    ack(&mut sender, 1_700, 0, 20, None);
    assert_eq!((path(&mut sender, 0).rtt.srtt_us(), path(&mut sender, 1).rtt.srtt_us()), (1_000, 40));
}

#[test]
fn a_path_that_is_back_is_measured_from_then_on() {
    let mut sender = on_both();
    // The first path is there again, after 40 us of the other. 1 to 4 left on it before: their ACKs may have come by either.
    let sent = ack(&mut sender, 1_240, 0, 1, None);
    ack(&mut sender, 1_300, 0, 5, None);
    assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000);
    // What has left since is measured: 160 us, an eighth of the way from 1 ms.
    ack(&mut sender, 1_400, 0, 10, sent[0]..sent[0] + 1);
    assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000 - (1_000 - 160) / 8);
}

#[test]
fn a_timeout_is_that_of_the_path_of_the_oldest_segment() {
    let mut sender = on_both();
    let at = sender.deadline();
    // Neither a probe nor the timeout before it is in question here: all is lost.
    let (mut now, mut fired) = (at, 0);
    while sender.counters().rtos == 0 {
        sender.begin(now);
        sender.on_timer();
        poll(&mut sender);
        sender.audit().expect("counts add up");
        now = sender.deadline();
        fired += 1;
        assert!(fired < 5);
    }
    assert_eq!((path(&mut sender, 0).state, path(&mut sender, 0).window.cwnd), (CaState::Loss, 1));
    assert_eq!((path(&mut sender, 1).state, path(&mut sender, 1).window.cwnd), (CaState::Open, 10));
}

#[test]
fn without_sack_or_with_ecn_one_path_is_left() {
    for (sack, ecn, several) in [(true, false, true), (false, false, false), (true, true, false)] {
        let config = Config::default();
        let mut sender = Sender::new(&config, find("reno").expect("a rule").rule(1));
        sender.add_path(&config, find("reno").expect("a rule").rule(1));
        sender.negotiate(FullSegment { payload: LEN as u32, options: 12, mss_of_peer: LEN as u32 + 12 }, sack, ecn);
        assert_eq!(sender.has_paths(), several, "SACK {sack}, ECN {ecn}");
    }
}

/// The first path for 2 ms, then the second and the third in turn, a millisecond each.
#[derive(Debug)]
struct Timetable;

impl PathChoice for Timetable {
    fn choose(&mut self, now: Instant, _ack: &Segment) -> u16 {
        let ms = (now.as_us() / 1_000) as u16;
        if ms < 2 { 0 } else { 1 + ms % 2 }
    }
}

#[test]
fn a_timetable_may_choose_among_three_paths_whatever_acks_say() {
    let mut sender = sender_with(3);
    sender.choose_paths(Box::new(Timetable));
    assert_eq!(send(&mut sender, 1_000, 100), (0..10).collect::<Vec<_>>());
    // Each path has a window of its own; the ECE flag of the ACKs means nothing.
    assert_eq!(ack(&mut sender, 2_100, 0, 1, None), (10..20).collect::<Vec<_>>());
    assert_eq!(ack(&mut sender, 3_100, 0, 2, None), (20..30).collect::<Vec<_>>());
    assert_eq!([0, 1, 2].map(|index| counts(&mut sender, index)[0]), [8, 10, 10]);
    // Everything arrives, while the second path is there.
    ack(&mut sender, 4_100, 0, 30, None);
    let delivered = [0, 1, 2].map(|index| path(&mut sender, index).delivery.delivered - 1);
    assert_eq!((delivered, counts(&mut sender, 0), counts(&mut sender, 2)), ([10; 3], [0; 4], [0; 4]));
}
