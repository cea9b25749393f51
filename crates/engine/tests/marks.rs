//! What the network writes on packets reaches TCP: CE of a queue, and the marks of markers.

mod plans;

use daybreak_engine::{Records, run};
use daybreak_plan::{Action, Choice, Mark, Marker, Plan, ShownAs, Step, Timeline, TimelineStep, Value, benchmarks};
use plans::captured::captured;
use plans::{MS, US, column};

/// S2: two flows over one core link, behind the queue of index 8; the two hosts' links are 0 to 7. The flows are unlimited.
fn two_flows(tcp_ecn: u32, discipline: Choice) -> Plan {
    let mut plan = benchmarks::find("S2").unwrap().plan();
    plan.stacks[0].tcp_ecn = tcp_ecn;
    plan.queues[8].discipline = discipline;
    plan.end_ps = 20 * MS;
    plan.records.queue_ps = Some(10 * US);
    plan.records.drops = true;
    plan
}

fn threshold(packets: u64) -> Choice {
    let parameters = [("threshold".to_owned(), Value::Packets(packets))].into();
    Choice { name: "ecn_threshold".to_owned(), parameters }
}

fn total(records: &Records, name: &str) -> u64 {
    column(records, "flows", name).iter().sum()
}

#[test]
fn a_marked_flow_slows_down_instead_of_losing() {
    // A drop-tail queue of 100 packets is full some time.
    let mut lossy = two_flows(1, Choice::plain("drop_tail"));
    lossy.queues[8].limit_packets = Some(100);
    let plain = run(&lossy).unwrap();
    assert!(column(&plain, "queue_totals", "dropped_packets")[8] > 0);
    assert_eq!(column(&plain, "queue_totals", "marked_packets"), [0; 10]);

    let mut marking = two_flows(1, threshold(30));
    marking.queues[8].limit_packets = Some(100);
    let marked = run(&marking).unwrap();
    let totals = column(&marked, "queue_totals", "marked_packets");
    assert!(totals[8] > 20, "{totals:?}");
    assert_eq!(totals.iter().sum::<u64>(), totals[8], "no other queue marks");
    assert_eq!((total(&marked, "retransmits"), plans::rows(&marked, "drops")), (0, 0));
    // The link stays busy: 10 Gbit/s for 19 ms are 2,500 packets of 9000 bytes and more.
    assert!(total(&marked, "delivered_bytes") > 2_400 * 8_948, "{}", total(&marked, "delivered_bytes"));

    marking.stacks[0].tcp_ecn = 0;
    let deaf = run(&marking).unwrap();
    assert_eq!(column(&deaf, "queue_totals", "marked_packets"), [0; 10], "not ECN-capable");
    assert_eq!(column(&deaf, "flows", "segments"), column(&plain, "flows", "segments"), "ECN on, and never needed");
}

/// Whether the queue is sampled, and so served in general, or served analytically.
#[test]
fn observing_a_marking_queue_changes_nothing() {
    let mut plan = two_flows(1, threshold(30));
    let unobserved = run(&plan).unwrap();
    plan.records.queues = vec![8];
    let observed = run(&plan).unwrap();
    assert!(observed.events > unobserved.events);
    for table in ["flows", "drops", "links", "queue_totals"] {
        assert_eq!(observed.table(table), unobserved.table(table), "{table}");
    }
}

/// RED keeps its average between the thresholds, here with marks.
#[test]
fn red_holds_a_queue() {
    let parameters = [
        ("min_threshold".to_owned(), Value::Packets(20)),
        ("max_threshold".to_owned(), Value::Packets(100)),
        ("typical_packet".to_owned(), Value::Bytes(9_000)),
    ];
    let mut plan = two_flows(1, Choice { name: "red".to_owned(), parameters: parameters.into() });
    plan.end_ps = 100 * MS;
    plan.records.queues = vec![8];
    let records = run(&plan).unwrap();
    assert!(column(&records, "queue_totals", "marked_packets")[8] > 10);
    let late = column(&records, "queues", "packets").split_off(5_000);
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    assert!((5.0..100.0).contains(&mean), "{mean}");
    assert_eq!(run(&plan).unwrap(), records, "its draws are those of its seed");
    plan.seed = 2;
    assert_ne!(run(&plan).unwrap().table("flows"), records.table("flows"));
}

/// A marker on the way of the ACKs of the first flow, which shows as ECE, on from 5 ms on.
fn with_marker(mut plan: Plan) -> Plan {
    plan.marks = vec![
        Mark { name: "unused".into(), shown_as: ShownAs::Ece },
        Mark { name: "circuit".into(), shown_as: ShownAs::Ece },
    ];
    let node = plan.links[9].from;
    plan.markers = vec![Marker { name: "soon".to_owned(), node, mark: 1, on: false }];
    let path = plan.flows[0].ack_path as usize;
    let at = plan.paths[path].iter().position(|&step| step == Step::Queue(9)).unwrap();
    plan.paths[path].insert(at, Step::Marker(0));
    let actions = vec![Action::SetMark { marker: 0, on: true }];
    let steps = vec![TimelineStep { offset_ps: 5 * MS, actions }];
    plan.timelines = vec![Timeline { name: "program".to_owned(), start_ps: 0, period_ps: 1_000 * MS, steps }];
    plan
}

#[test]
fn a_mark_is_shown_to_the_sender_whose_acks_get_it() {
    let plan = two_flows(1, Choice::plain("drop_tail"));
    let (plain, marked) = (run(&plan).unwrap(), run(&with_marker(plan.clone())).unwrap());
    let of = |records: &Records| column(records, "flows", "delivered_bytes");
    // An ECE in every ACK halves the window of the first flow again and again; the other one takes its place.
    assert!(of(&marked)[0] < of(&plain)[0] / 2, "{:?} {:?}", of(&marked), of(&plain));
    assert!(of(&marked)[1] > of(&plain)[1]);
    // A sender that has not negotiated ECN does not care.
    let mut deaf = plan;
    deaf.stacks[0].tcp_ecn = 0;
    assert_eq!(of(&run(&with_marker(deaf.clone())).unwrap()), of(&run(&deaf).unwrap()));
}

#[test]
fn captures_show_marks_behind_the_place_that_makes_them() {
    const CE: u8 = 3;
    const ECE: u8 = 0x40;
    // The first flow's data before and behind the core link, its ACKs likewise.
    let plan = with_marker(two_flows(1, threshold(30)));
    let ways = [plan.flows[0].data_path, plan.flows[0].ack_path].map(|path| plan.paths[path as usize].clone());
    let link = |step: Option<&Step>| match step {
        Some(&Step::Queue(queue)) => plan.queues[queue as usize].served_by[0],
        other => panic!("{other:?}"),
    };
    let links = [link(ways[0].first()), link(ways[0].last()), link(ways[1].first()), link(ways[1].last())];
    let (_, heads) = captured(&plan, &links);
    let ce = |interface| heads.iter().filter(|head| head.interface == interface && head.ecn == CE).count();
    assert_eq!(ce(0), 0, "nothing is marked before the queue");
    assert!(ce(1) > 20, "{}", ce(1));
    let ece = |interface| heads.iter().filter(|head| head.interface == interface && head.flags & ECE != 0).count();
    assert!(ece(3) > ece(2) + 100, "{} {}", ece(2), ece(3));
}
