use super::*;
use crate::config::Config;
use crate::congestion;
use crate::sender::Opening;
use crate::sender::sizes::FullSegment;
use daybreak_units::Instant;

fn sender() -> Sender {
    let rule = congestion::find("reno").expect("a rule").rule(1);
    let mut sender = Sender::new(&Config { tso_max_bytes: 65_343, ..Config::default() }, rule);
    sender.sizes.mss = 1_448;
    sender
}

#[test]
fn the_longest_burst_is_of_whole_segments() {
    assert_eq!(sender().sizes.segments_a_burst(), 45, "45 * 1448 = 65160");
}

#[test]
fn the_shorter_the_path_the_longer_the_burst() {
    // Not paced, so that the path alone counts: half as long for each 512 us.
    for (rtt_us, segments) in [(0, 45), (511, 45), (512, 22), (1_024, 11), (5 * 512, 2), (32 * 512, 2)] {
        let mut sender = sender();
        sender.path.min_rtt.sample(0, rtt_us);
        assert_eq!(sender.burst_goal(), segments, "a minimum RTT of {rtt_us} us");
        sender.settings.profile.no_rtt_bursts = true;
        assert_eq!(sender.burst_goal(), 2);
    }
}

#[test]
fn older_bursts_wait_within_a_tick() {
    // 4 ms of ticks: what left 3 ms ago in this tick is recent, what left 1 ms ago in the one before is not.
    for (tick_bursts, sent_ms, now_ms, waits) in
        [(false, 4, 7, false), (true, 4, 7, true), (false, 7, 8, true), (true, 7, 8, false)]
    {
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let config = Config { tso_max_bytes: 65_343, jiffy: Duration::from_ms(4), ..Config::default() };
        let mut sender = Sender::new(&config, rule);
        sender.settings.profile.tick_bursts = tick_bursts;
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        sender.clock.advance(at(sent_ms));
        sender.transmit.start(sender.clock.jiffies);
        sender.path.pacing.departure = at(sent_ms);
        sender.clock.advance(at(now_ms));
        assert_eq!(sender.sent_lately(), waits, "sent at {sent_ms} ms, now {now_ms}");
    }
}

/// A sender whose peer offers a window of 63,360 bytes, of which half is 31,680.
fn writer(mss: u32, tso_max_bytes: u32, limit: Option<u64>) -> Sender {
    let config = Config { tso_max_bytes, limit_output_bytes: limit, ..Config::default() };
    let mut sender = Sender::new(&config, congestion::find("reno").expect("a rule").rule(1));
    sender.negotiate(FullSegment { payload: mss, options: 12, mss_of_peer: mss + 12 }, true, false);
    sender.begin(Instant::ZERO);
    sender.on_window(63_360);
    let window = 63_360;
    sender.start(Opening { syn_retransmits: 0, rtt_us: Some(53_000), is_client: true, window });
    sender
}

/// Ends of the segments that leave, in segments, those with PSH apart.
fn ends(sender: &mut Sender) -> (Vec<u64>, Vec<u64>) {
    let mss = u64::from(sender.sizes.mss);
    let (mut plain, mut pushed) = (Vec::new(), Vec::new());
    while let Some(out) = sender.next_outgoing() {
        sender.on_nic_queued(out.len + 52);
        let list = if out.push { &mut pushed } else { &mut plain };
        list.push((out.seq - 1 + u64::from(out.len)).div_ceil(mss));
    }
    (plain, pushed)
}

/// Linux 6.1.192 sends so at the start of scenario 57 of `--wide --random 60 --seed 79` with buffers of 16,384 bytes: they
/// hold three segments, of which two are a burst; the third is filled up again. The ninth is the end of a buffer that is
/// pushed, since more than half of the window was written; the tenth is all that the congestion window has room for.
#[test]
fn while_the_application_writes_each_full_buffer_lets_a_burst_go() {
    let mut sender = writer(4_300, 16_191, None);
    sender.write(Instant::ZERO, 1_000_000);
    assert_eq!(ends(&mut sender), (vec![1, 3, 5, 7, 10], vec![2, 4, 6, 8, 9]));
}

/// `tcp_grow_skb`, since Linux 6.10: what an earlier burst has left of a buffer is filled from the next one.
#[test]
fn later_stacks_fill_a_buffer_from_the_next_before_it_leaves() {
    for (fills, ends) in [(false, vec![6, 10]), (true, vec![9, 18])] {
        let mut sender = writer(1_440, 65_343, None);
        sender.settings.profile.filled_segments = fills;
        sender.path.min_rtt.sample(0, 100);
        sender.write(Instant::ZERO, 20 * 1_440);
        let bursts = sender.buffer.bursts.as_mut().expect("it builds bursts");
        bursts.split(1 + 10 * 1_440);
        bursts.split(1 + 6 * 1_440);
        sender.path.window.cwnd = 18;
        let mut left = Vec::new();
        for _ in 0..2 {
            while sender.rest_of_burst().is_some() {}
            let out = sender.send_burst(false).expect("the window has room");
            assert!(out.is_new);
            let bursts = sender.buffer.bursts.as_ref().expect("it builds bursts");
            left.push((bursts.leaving() - 1) / 1_440);
        }
        assert_eq!(left, ends, "fills: {fills}");
    }
}

#[test]
fn a_segment_is_pushed_where_half_a_window_lies_behind_the_last_that_was() {
    // `forced_push`: half of the window is 22 segments. So the 23rd is pushed, and the 23rd behind it, and each ends a
    // burst that would have been of two segments.
    let mut sender = writer(1_440, 7_999, None);
    sender.set_buffer(90_000);
    (sender.peer.window, sender.path.window.cwnd) = (200_000, 60);
    sender.write(Instant::ZERO, 1_000_000);
    let (_, pushed) = ends(&mut sender);
    let alone: Vec<u64> = pushed.iter().copied().filter(|end| pushed.contains(&(end - 1))).collect();
    assert_eq!((alone, pushed.len()), (vec![23, 46], 31));
}

#[test]
fn a_burst_that_the_hosts_queue_holds_back_has_been_cut_off() {
    let mut sender = writer(1_440, 7_999, Some(6_000));
    sender.write(Instant::ZERO, 1_000_000);
    assert_eq!(ends(&mut sender), (vec![1, 3], vec![2, 4]));
    let bursts = sender.buffer.bursts.as_mut().expect("it builds bursts");
    assert_eq!(bursts.next_end(), Some(1 + 6 * 1_440));
    bursts.send(1, 1 + 6 * 1_440, 0);
    assert_eq!(bursts.next_end(), Some(1 + 11 * 1_440), "what lies behind it has been filled up");
}

/// `tcp_rtx_queue_empty_or_single_skb`: the second burst does not wait for the host's queue, the third one does.
#[test]
fn a_burst_leaves_however_full_the_hosts_queue_is_while_another_one_alone_is_out() {
    let mut sender = writer(1_440, 65_343, Some(5_150));
    sender.path.min_rtt.sample(0, 100);
    sender.path.window.cwnd = 12;
    sender.write(Instant::ZERO, 1_000_000);
    assert_eq!(ends(&mut sender), (vec![1, 2, 3, 4, 5, 7, 8, 9, 10, 11], vec![6, 12]));
    sender.path.window.cwnd = 24;
    sender.look_for_lost();
    assert_eq!(ends(&mut sender), (vec![], vec![]));
}

#[test]
fn what_the_peers_window_cuts_off_leaves_although_it_fills_no_segment() {
    let mut sender = writer(1_440, 65_343, None);
    sender.peer.window = 5_000;
    sender.write(Instant::ZERO, 30_000);
    let mut sent = Vec::new();
    while let Some(out) = sender.next_outgoing() {
        sent.push(out.len);
    }
    assert_eq!(sent, [1_440, 1_440, 1_440, 680]);
}

#[test]
fn a_write_is_corked_or_leaves_as_a_whole() {
    // Nothing is out: no part of a write waits for more. Its last 100 bytes wait for the small queue.
    let mut sender = writer(1_440, 7_999, Some(1 << 20));
    sender.write(Instant::ZERO, 4 * 1_440 + 100);
    assert_eq!(ends(&mut sender), (vec![1, 3], vec![2, 4]));
    (0..4).for_each(|_| sender.on_nic_freed(Instant::ZERO, 1_492));
    assert_eq!(ends(&mut sender), (vec![], vec![5]));
    // The host's queue holds 868 bytes of memory: a write of 100 waits for more, or for a departure, one of 101 does not.
    for (bytes, corks) in [(101, false), (100, true)] {
        let mut sender = writer(1_440, 7_999, Some(1 << 20));
        sender.buffer.nagle.set_nodelay(true);
        sender.write(Instant::ZERO, 100);
        ends(&mut sender);
        sender.write(Instant::ZERO, bytes);
        assert_eq!(ends(&mut sender).1.is_empty(), corks, "{bytes}");
    }
}

/// At `now_us`, with ten segments out since the start and an RTT of 53 ms.
fn ten_out(now_us: u64) -> Sender {
    ten_out_with(writer(1_440, 65_343, None), now_us)
}

/// The same in two bursts of five, which are half of the window.
fn two_bursts_out(now_us: u64) -> Sender {
    let mut sender = writer(1_440, 65_343, None);
    sender.path.min_rtt.sample(0, 100);
    ten_out_with(sender, now_us)
}

fn ten_out_with(mut sender: Sender, now_us: u64) -> Sender {
    sender.write(Instant::ZERO, 1_000_000);
    ends(&mut sender);
    assert_eq!(sender.path.in_flight(), 10);
    let now = Instant::ZERO + Duration::from_us(now_us);
    sender.clock.advance(now);
    sender.path.pacing.departure = now;
    sender
}

#[test]
fn a_burst_waits_for_an_ack_that_is_due_within_a_millisecond() {
    // Older stacks wait for half of the RTT.
    for (now_us, is_due, of_older_stacks) in
        [(26_499, false, false), (26_500, false, true), (51_999, false, true), (52_000, true, true)]
    {
        let mut sender = ten_out(now_us);
        assert_eq!(sender.ack_is_due(), is_due, "{now_us} us");
        sender.settings.profile.tick_bursts = true;
        assert_eq!(sender.ack_is_due(), of_older_stacks, "{now_us} us");
    }
}

#[test]
fn an_ack_is_due_to_the_nanosecond() {
    // The first burst left 933 ns after the microsecond of its record.
    for (now_ns, is_due) in [(26_500_932, false), (26_500_933, true)] {
        let mut sender = writer(1_440, 65_343, None);
        sender.settings.profile.tick_bursts = true;
        sender.clock.advance(Instant::from_ps(933_000));
        sender.write(Instant::from_ps(933_000), 1_000_000);
        ends(&mut sender);
        sender.clock.advance(Instant::from_ps(now_ns * 1_000));
        assert_eq!(sender.ack_is_due(), is_due, "{now_ns} ns");
    }
}

#[test]
fn the_burst_with_the_tenth_segment_is_the_first_that_is_paced() {
    let mut sender = writer(1_440, 65_343, None);
    sender.path.window.is_paced = true;
    sender.path.window.pacing_rate = daybreak_units::Rate::from_bytes_per_sec(1_000_000);
    for (segments, sent, departure_us) in [(5, 4, 0), (5, 5, 7_200)] {
        sender.path.pacing.departure = Instant::ZERO;
        sender.counters.segments = sent;
        sender.pace(segments * 1_440);
        assert_eq!(sender.path.pacing.departure, Instant::ZERO + Duration::from_us(departure_us), "after {sent}");
    }
}

#[test]
fn what_fills_the_window_grows_the_buffer_unless_it_is_one_burst() {
    for (bursts, grows) in [(&[4][..], false), (&[2, 2][..], true), (&[1, 3][..], true)] {
        let mut sender = ten_out(1_000);
        let before = sender.buffer.size();
        sender.snd_una += 1_440;
        sender.path.window.cwnd = 14;
        for &segments in bursts {
            sender.leave_buffer(segments * 1_440);
            for _ in 0..segments {
                sender.push_new(1_440, false);
            }
        }
        assert_eq!((sender.path.in_flight(), sender.buffer.is_full()), (14, true));
        sender.refill_buffer(4);
        assert_eq!(sender.buffer.size() > before, grows, "{bursts:?}");
    }
}

/// Two bursts of five segments, of which those up to `sacked` are lost, and the others SACKed.
fn lost_up_to(sacked: u32) -> Sender {
    let mut sender = two_bursts_out(60_000);
    for at in 0..10 {
        if at < sacked {
            sender.flight.mark_lost(&mut sender.path.tally, at);
        } else {
            sender.flight.sack(&mut sender.path.tally, at);
        }
    }
    sender.look_for_lost();
    sender
}

/// Segments of the retransmissions that leave, and whether each has PSH.
fn sent_again(sender: &mut Sender) -> Vec<(u64, bool)> {
    let mut sent = Vec::new();
    while let Some(out) = sender.next_outgoing().filter(|out| !out.is_new) {
        sent.push(((out.seq - 1) / 1_440, out.push));
    }
    sent
}

#[test]
fn a_burst_that_is_lost_is_sent_again_as_one() {
    // PSH is on the last segment of a burst, also where a SACK block has parted it; what is alone has its own.
    let mut sender = lost_up_to(8);
    assert_eq!(
        sent_again(&mut sender),
        [(0, false), (1, false), (2, false), (3, false), (4, true), (5, false), (6, false), (7, true)]
    );
    assert_eq!(sent_again(&mut lost_up_to(1)), [(0, false)]);
}

#[test]
fn a_burst_that_is_sent_again_is_paced_as_one_and_cut_by_the_window() {
    let mut sender = lost_up_to(8);
    sender.path.window.cwnd = 3;
    sender.path.window.is_paced = true;
    sender.path.window.pacing_rate = daybreak_units::Rate::from_bytes_per_sec(10_000_000);
    let (now, memory) = (sender.clock.now, sender.memory());
    assert_eq!(sent_again(&mut sender), [(0, false), (1, false), (2, true)]);
    // 3 * 1440 bytes at 10 MB/s.
    assert_eq!(sender.path.pacing.departure, now + Duration::from_us(432));
    assert_eq!(sender.memory(), memory + sender.sizes.overhead, "the rest has a buffer of its own");
    sender.path.window.cwnd = 7;
    sender.path.window.is_paced = false;
    sender.look_for_lost();
    assert_eq!(sent_again(&mut sender), [(3, false), (4, true), (5, false), (6, true)]);
}

#[test]
fn the_peers_window_cuts_a_burst_that_is_sent_again() {
    let mut sender = lost_up_to(8);
    sender.peer.window = 3 * 1_440 + 500;
    assert_eq!(sent_again(&mut sender)[..3], [(0, false), (1, false), (2, true)]);
}

#[test]
fn a_timeout_and_a_probe_send_one_segment_of_a_burst_again() {
    let mut sender = lost_up_to(10);
    sender.transmit.on_timeout();
    assert_eq!(sent_again(&mut sender), [(0, false)]);
    sender.look_for_lost();
    sender.path.window.cwnd = 4;
    assert_eq!(sent_again(&mut sender), [(1, false), (2, false), (3, true)], "it is apart from the others");
    let mut sender = two_bursts_out(60_000);
    sender.peer.window = 10 * 1_440;
    sender.transmit.on_loss_probe();
    assert_eq!(sent_again(&mut sender), [(9, false)]);
    for at in 5..10 {
        sender.flight.mark_lost(&mut sender.path.tally, at);
    }
    sender.look_for_lost();
    assert_eq!(sent_again(&mut sender), [(5, false), (6, false), (7, false), (8, true), (9, false)]);
}

#[test]
fn a_timeout_takes_the_whole_first_burst_to_be_lost_however_recent_it_is() {
    let mut sender = two_bursts_out(60_000);
    sender.path.rack.rtt_us = 100_000;
    sender.on_rto();
    let lost = (0..10).filter(|&at| sender.flight.get(at).has(crate::sender::flight::Sent::LOST)).count();
    assert_eq!(lost, 5);
}

#[test]
fn a_buffer_that_is_sacked_in_part_takes_the_memory_of_its_pieces() {
    let mut sender = two_bursts_out(60_000);
    let whole = sender.memory();
    // Of two bursts of five the second to fourth segment: three pieces of the first. Then all but the first segment: one
    // piece of what is SACKed.
    (1..4).for_each(|at| sender.flight.sack(&mut sender.path.tally, at));
    (2..4).for_each(|at| sender.flight.shift(at, 1));
    assert_eq!(sender.memory(), whole + 2 * sender.sizes.overhead);
    (4..10).for_each(|at| {
        sender.flight.sack(&mut sender.path.tally, at);
        sender.flight.shift(at, 1);
    });
    assert_eq!(sender.memory(), whole);
}

#[test]
fn a_buffer_that_the_window_has_room_for_waits_only_at_the_end() {
    let mut sender = ten_out(52_500);
    sender.path.window.cwnd = 12;
    for (segments, is_last, waits) in [(2, false, false), (2, true, true), (3, false, true)] {
        let next = NextBuffer { len: segments * 1_440, is_last, fin: false };
        assert_eq!(sender.burst_waits(10, next), waits, "{segments} segments, last: {is_last}");
    }
}
