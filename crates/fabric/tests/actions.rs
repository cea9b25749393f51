//! What actions do, to the picosecond. 1250 bytes take 1 us at 10 Gbit/s.

mod rig;

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Ecn, QueueConfig, Step};
use daybreak_units::Duration;
use daybreak_units::parameters::Value;
use rig::{DropReason, Rig, link, of_packets, queue, us, with_discipline};

fn set_limit(packets: Option<u64>, bytes: Option<u64>) -> Action {
    Action::SetLimit { queue: 0, packets, bytes }
}

fn set_rate(gbps: u64) -> Action {
    Action::SetRate { link: 0, rate_bps: gbps * 1_000_000_000 }
}

/// One link of 10 Gbit/s and 5 us behind this queue.
fn single(queue: QueueConfig, declared: &[Action]) -> Rig {
    let mut rig = Rig::new(&[link(10, 5)], &[queue]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(declared);
    rig
}

#[test]
fn a_lower_limit_keeps_the_first_packets_that_fit() {
    let mut rig = single(of_packets(10, &[0]), &[set_limit(None, None)]);
    (0..7).for_each(|_| rig.send(us(0), 0, 1250));
    // 0 is sent; 1 to 6 wait.
    let half = us(0) + Duration::from_ns(500);
    rig.apply(half, &set_limit(Some(3), None));
    let lost = |number| (half, DropReason::LimitLowered, 0, number);
    assert_eq!(rig.dropped, [lost(6), lost(5), lost(4)]);
    assert_eq!(rig.occupancy(0), (3, 3_750));
    rig.send(half, 0, 1250);
    rig.check_conservation();
    assert_eq!(rig.dropped[3], (half, DropReason::QueueFull, 0, 7));
    // A higher limit does nothing by itself, and lets more in from now on.
    rig.apply(half, &set_limit(Some(4), None));
    assert_eq!(rig.occupancy(0), (3, 3_750));
    rig.send(half, 0, 1250);
    rig.run_to_end();
    assert_eq!(rig.order(), [0, 1, 2, 3, 8]);
    assert_eq!(rig.fabric().queue_totals().next().map(|totals| totals.dropped), Some(4));
}

#[test]
fn a_lower_limit_in_bytes_keeps_what_fits_together() {
    let mut rig = single(queue(Limits::default(), &[0]), &[set_limit(None, None)]);
    for bytes in [1250, 1000, 3000, 500, 200] {
        rig.send(us(0), 0, bytes);
    }
    // 1000 and 3000 fit into 4200, 500 do not, and what comes behind them goes as well.
    rig.apply(us(0), &set_limit(None, Some(4_200)));
    assert_eq!(rig.occupancy(0), (2, 4_000));
    rig.apply(us(0), &set_limit(Some(0), Some(4_200)));
    assert_eq!(rig.occupancy(0), (0, 0));
    rig.run_to_end();
    assert_eq!(rig.order(), [0]);
    rig.check_conservation();
}

/// A limit that changes at the time of an arrival holds for it: timelines come first.
#[test]
fn a_limit_holds_for_arrivals_of_its_time() {
    let run = |packets| {
        let links = [link(10, 5), link(10, 5)];
        let mut rig = Rig::new(&links, &[of_packets(1, &[0]), queue(Limits::default(), &[1])]);
        rig.path(&[Step::Queue(1), Step::Queue(0)]);
        rig.path(&[Step::Queue(0)]);
        rig.declare(&[set_limit(None, None)]);
        rig.send(us(0), 0, 1250);
        rig.send(us(5) + Duration::from_ns(500), 1, 1250);
        rig.send(us(5) + Duration::from_ns(500), 1, 1250);
        // At 6 us packet 0 arrives; one is being sent and one waits.
        rig.apply_first(us(6), &set_limit(Some(packets), None));
        rig.run_to_end();
        rig.order()
    };
    assert_eq!(run(2), [1, 2, 0]);
    assert_eq!(run(1), [1, 2]);
    assert_eq!(run(0), [1]);
}

#[test]
fn a_packet_in_service_finishes_at_the_old_rate() {
    let mut rig = single(queue(Limits::default(), &[0]), &[set_rate(1)]);
    (0..3).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(0) + Duration::from_ns(300), &set_rate(1));
    // 0 is sent by 1 us as before, 1 then takes 10 us, and 2 as long as the rate is at its start.
    rig.apply(us(10), &set_rate(5));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(1 + 5), 0), (us(11 + 5), 1), (us(13 + 5), 2)]);
}

/// A rate that changes when a packet has just been sent holds for the next.
#[test]
fn a_rate_holds_for_what_starts_at_its_time() {
    let mut rig = single(queue(Limits::default(), &[0]), &[set_rate(1)]);
    (0..2).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply_first(us(1), &set_rate(1));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(16), 1)]);
}

fn set_delay(us: u64) -> Action {
    Action::SetDelay { link: 0, delay_ps: us * 1_000_000 }
}

/// 1 is being sent when the delay rises, and 0 is under way.
#[test]
fn a_longer_delay_holds_for_what_leaves_from_then_on() {
    let mut rig = single(queue(Limits::default(), &[0]), &[set_delay(9)]);
    (0..3).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(0) + Duration::from_ns(1_300), &set_delay(9));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(1 + 5), 0), (us(2 + 9), 1), (us(3 + 9), 2)]);
}

/// 0 and 1 arrive as they would have; 2 and 3 would be there before 1, and 4 is not too early.
#[test]
fn a_shorter_delay_overtakes_nothing() {
    let mut rig = single(queue(Limits::default(), &[0]), &[set_delay(2)]);
    (0..5).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(2) + Duration::from_ns(700), &set_delay(2));
    rig.run_to_end();
    let behind = |ps| us(2 + 5) + Duration::from_ps(ps);
    assert_eq!(rig.delivered, [(us(1 + 5), 0), (us(2 + 5), 1), (behind(1), 2), (behind(2), 3), (behind(3), 4)]);
    rig.check_conservation();
    let mut rig = single(queue(Limits::default(), &[0]), &[set_delay(0)]);
    (0..3).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(1) + Duration::from_ns(1), &set_delay(0));
    rig.send(us(10), 0, 1250);
    rig.run_to_end();
    let behind = |ps| us(1 + 5) + Duration::from_ps(ps);
    assert_eq!(rig.delivered, [(us(6), 0), (behind(1), 1), (behind(2), 2), (us(11), 3)]);
}

/// Timelines come first: a delay that changes just when a packet has left holds for it.
#[test]
fn a_delay_holds_for_what_leaves_at_its_time() {
    for (from_ps, arrives) in [(1_000_000, 1 + 9), (1_000_001, 1 + 5)] {
        let mut rig = single(queue(Limits::default(), &[0]), &[set_delay(9)]);
        rig.send(us(0), 0, 1250);
        rig.apply_first(us(0) + Duration::from_ps(from_ps), &set_delay(9));
        rig.run_to_end();
        assert_eq!(rig.delivered, [(us(arrives), 0)], "{from_ps}");
    }
}

/// A VOQ that two links serve, of which one has a delay that changes.
#[test]
fn the_delay_of_one_of_several_links() {
    let mut rig = Rig::new(&[link(10, 5), link(10, 6)], &[queue(Limits::default(), &[0, 1])]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(&[set_delay(9)]);
    (0..4).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(1), &set_delay(9));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(7), 1), (us(8), 3), (us(11), 2)]);
}

/// A draw belongs to the packet: what is lost is what would be lost with that probability throughout, of the packets
/// whose first bit leaves while it is set.
#[test]
fn a_loss_holds_for_what_starts_while_it_is_set() {
    const PACKETS: u64 = 400;
    let set_loss = |loss_ppb| Action::SetLoss { link: 0, loss_ppb };
    let run =
        |initial: u32, actions: &[(u64, Action)]| {
            let mut of_link = link(10, 5);
            of_link.loss_ppb = initial;
            let mut rig = Rig::new(&[of_link], &[queue(Limits::default(), &[0])]);
            rig.path(&[Step::Queue(0)]);
            rig.declare(&[set_loss(0)]);
            (0..PACKETS).for_each(|_| rig.send(us(0), 0, 1250));
            for (at, action) in actions {
                rig.apply_first(us(*at), action);
            }
            rig.run_to_end();
            rig.check_conservation();
            assert!(rig.dropped.iter().all(|&(at, reason, place, number)| {
                (at, reason, place) == (us(number), DropReason::RandomLoss, 0)
            }));
            let lost: Vec<u64> = rig.dropped.iter().map(|drop| drop.3).collect();
            assert_eq!(rig.fabric().link_totals(us(9_999)).map(|link| link.lost).sum::<u64>(), lost.len() as u64);
            lost
        };
    let throughout = run(300_000_000, &[]);
    assert!((80..160).contains(&throughout.len()), "{} of {PACKETS} are lost", throughout.len());
    let within = |range: std::ops::Range<u64>| -> Vec<u64> {
        throughout.iter().copied().filter(|number| range.contains(number)).collect()
    };
    let (from, to) = (throughout[20], throughout[40]);
    assert_eq!(run(0, &[(from, set_loss(300_000_000)), (to, set_loss(0))]), within(from..to));
    assert_eq!(run(300_000_000, &[(to, set_loss(0))]), within(0..to));
    assert_eq!(run(0, &[(390, set_loss(1_000_000_000))]), (390..400).collect::<Vec<_>>());
}

#[test]
fn a_parameter_holds_for_arrivals_from_then_on() {
    let set =
        |packets| Action::SetParameter { queue: 0, parameter: "threshold".into(), value: Value::Packets(packets) };
    let threshold = [("threshold", Value::Packets(2))];
    let mut rig = single(with_discipline("ecn_threshold", &threshold, Limits::default(), &[0]), &[set(1)]);
    rig.ecn = Ecn::Ect0;
    // They find 0 (an idle link), 0, 1, 2, 3: the last is marked.
    (0..5).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(0), &set(9));
    // 4 and 5 wait.
    (0..2).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply(us(0), &set(5));
    // 6 wait.
    rig.send(us(0), 0, 1250);
    rig.run_to_end();
    let marked: Vec<_> =
        rig.deliveries.iter().filter(|packet| packet.ecn == Ecn::Ce).map(|packet| packet.number).collect();
    assert_eq!(marked, [4, 7]);
    assert_eq!(rig.fabric().queue_totals().next().map(|totals| totals.marked), Some(2));
}

/// A gate that closes just when its link is free keeps the packet; one that opens then lets it go at once.
#[test]
fn a_gate_acts_before_the_link_is_free() {
    let open = Action::OpenGate { queue: 0, link: 0 };
    let close = Action::CloseGate { queue: 0, link: 0, downtime: Downtime::Hold };
    let mut rig = single(queue(Limits::default(), &[0]), std::slice::from_ref(&open));
    (0..3).for_each(|_| rig.send(us(0), 0, 1250));
    rig.apply_first(us(1), &close);
    rig.run_until(us(3));
    assert_eq!(rig.occupancy(0), (2, 2_500));
    rig.apply_first(us(4), &open);
    rig.apply(us(4) + Duration::from_ns(1), &close);
    rig.apply_first(us(5), &open);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(10), 1), (us(11), 2)]);
}

/// Gates of queues that share a link: the one that is closed loses its turn, not its packets.
#[test]
fn a_gate_of_one_of_several_queues() {
    let open = |queue| Action::OpenGate { queue, link: 0 };
    let close = |queue, downtime| Action::CloseGate { queue, link: 0, downtime };
    let run = |downtime| {
        let queues = [queue(Limits::default(), &[0]), queue(Limits::default(), &[0])];
        let mut rig = Rig::new(&[link(10, 5)], &queues);
        let paths = [rig.path(&[Step::Queue(0)]), rig.path(&[Step::Queue(1)])];
        rig.declare(&[open(0), open(1)]);
        for path in [0, 0, 0, 1, 1, 1] {
            rig.send(us(0), paths[path], 1250);
        }
        rig.apply(us(0), &close(0, downtime));
        rig.send(us(0), paths[0], 1250);
        rig.run_until(us(50));
        rig.apply(us(50), &open(0));
        rig.run_to_end();
        rig.check_conservation();
        (rig.order(), rig.dropped.iter().map(|drop| drop.3).collect::<Vec<_>>())
    };
    assert_eq!(run(Downtime::Hold), (vec![0, 3, 4, 5, 1, 2, 6], vec![]));
    assert_eq!(run(Downtime::Drop), (vec![0, 3, 4, 5], vec![1, 2, 6]));
    // 1 and 2 may still go, in turn with the others.
    assert_eq!(run(Downtime::Drain), (vec![0, 1, 3, 2, 4, 5, 6], vec![]));
}
