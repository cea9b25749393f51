//! Gates that timelines open and close, seen through whole runs.

mod plans;

use daybreak_engine::run;
use daybreak_plan::{Action, Application, Downtime, Plan, Step, Timeline, TimelineStep};
use plans::{MS, US, column, day_and_night};

/// An endless flow over 10 Gbit/s and 40 us, with a gate at one queue of its path which is open for the first
/// `day_us` of each millisecond. Nothing is recorded.
fn gated(queue: u32, link: u32, day_us: u64, downtime: Downtime) -> Plan {
    let mut plan = day_and_night(downtime);
    plan.route_switches.clear();
    plan.paths[2] = vec![Step::Queue(0), Step::Queue(2), Step::Queue(6)];
    plan.flows[0].application = Application::Bulk { bytes: None };
    let step = |offset_us: u64, action| TimelineStep { offset_ps: offset_us * US, actions: vec![action] };
    plan.timelines = vec![Timeline {
        name: "week".to_owned(),
        start_ps: 0,
        period_ps: MS,
        steps: vec![
            step(0, Action::OpenGate { queue, link }),
            step(day_us, Action::CloseGate { queue, link, downtime }),
        ],
    }];
    plan.end_ps = 200 * MS;
    plan
}

/// A packet takes 7.23 us, so the link begins to send at most 14 or 125 of them, with 8948 bytes of payload each, in the
/// time in which the gate is open: 1.002 or 8.948 Gbit/s. The window is open within some milliseconds.
#[test]
fn a_flow_has_the_part_of_the_time_in_which_its_gate_is_open() {
    for queue in [0, 2, 6] {
        for (day_us, gbps) in [(100, 0.9..1.0025), (900, 8.5..8.9485)] {
            let mut plan = gated(queue, queue, day_us, Downtime::Hold);
            let records = run(&plan).unwrap();
            let found = column(&records, "flows", "delivered_bytes")[0] as f64 * 8.0 / 0.2 / 1e9;
            assert!(gbps.contains(&found), "{found} Gbit/s with gate {queue} open for {day_us} of 1000 us");
            plan.records.bin_ps = Some(MS);
            plan.records.bin_links = (0..plan.links.len() as u32).collect();
            let recorded = run(&plan).unwrap();
            assert_eq!(records.table("flows"), recorded.table("flows"));
            assert_eq!(records.table("links"), recorded.table("links"));
        }
    }
}

/// A sender with TCP small queues whose NIC's gate closes: its queue is emptied, so it may send again at that instant, and
/// what it sends is lost at once, until its window is full. Without hearing of it then, it would lose what waited: five
/// packets, since a sixth is not handed over while more than 40,000 bytes wait.
#[test]
fn a_sender_hears_at_once_that_a_gate_has_emptied_its_queue() {
    let mut plan = gated(0, 0, 500, Downtime::Drop);
    plan.stacks[0].tcp_limit_output_bytes = Some(40_000);
    plan.records.drops = true;
    plan.end_ps = MS - US;
    let records = run(&plan).unwrap();
    let times = column(&records, "drops", "time_ns");
    let at_the_step = times.iter().filter(|&&time| time == 500_000).count();
    assert!(at_the_step > 10, "lost at {times:?}");
}
