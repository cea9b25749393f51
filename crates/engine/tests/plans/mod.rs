//! Small plans for the tests, and a look at the tables.
#![allow(dead_code)] // Each test binary uses its part.

pub mod captured;

use daybreak_engine::Records;
use daybreak_plan::benchmarks;
use daybreak_plan::{
    Action, Application, Choice, Downtime, Flow, Link, Node, NodeKind, Plan, Queue, RouteSwitch, Scheduler, Step,
    Timeline, TimelineStep,
};
use daybreak_trace::Column;

pub const US: u64 = 1_000_000;
pub const MS: u64 = 1_000 * US;

/// Two hosts and two switches on a line, 10 Gbit/s and 40 us round trip, one flow of 4 MB. The core
/// has a second path, which a timeline of 1 ms takes for half of the time, with a night of 50 us.
pub fn day_and_night(downtime: Downtime) -> Plan {
    let mut plan = benchmarks::find("S2").unwrap().plan();
    plan.nodes = ["src", "left", "right", "dst"].map(node).to_vec();
    plan.links.clear();
    plan.queues.clear();
    let mut pair = |a: u32, b: u32, delay_us: u64, name: &str| {
        for (from, to, way) in [(a, b, "out"), (b, a, "back")] {
            let index = plan.links.len() as u32;
            plan.links.push(link(&format!("{name} {way}"), from, to, delay_us * US));
            plan.queues.push(queue(&format!("{name} {way}"), from, 100, &[index]));
        }
    };
    pair(0, 1, 2, "left access");
    pair(1, 2, 16, "packet");
    pair(1, 2, 6, "optical");
    pair(2, 3, 2, "right access");
    plan.paths = vec![
        vec![Step::Queue(2), Step::Queue(6)],
        vec![Step::Queue(4), Step::Queue(6)],
        vec![Step::Queue(0), Step::RouteSwitch(0)],
        vec![Step::Queue(7), Step::Queue(3), Step::Queue(1)],
    ];
    plan.route_switches = vec![RouteSwitch {
        name: "path".to_owned(),
        node: 1,
        alternatives: vec![0, 1],
        initial: 0,
        hold_limit_packets: None,
    }];
    let darken = Action::Darken { route_switch: 0, downtime };
    let route = |alternative| Action::SetRoute { route_switch: 0, alternative };
    let step =
        |offset_us: u64, action: &Action| TimelineStep { offset_ps: offset_us * US, actions: vec![action.clone()] };
    plan.timelines = vec![Timeline {
        name: "week".to_owned(),
        start_ps: 0,
        period_ps: MS,
        steps: vec![step(450, &darken), step(500, &route(1)), step(950, &darken), step(999, &route(0))],
    }];
    plan.flows = vec![Flow {
        name: "flow".to_owned(),
        group: 0,
        src: 0,
        dst: 3,
        src_stack: 0,
        dst_stack: 0,
        rule: 0,
        application: Application::Bulk { bytes: Some(4_000_000) },
        start_ps: 10 * US,
        data_path: 2,
        ack_path: 3,
    }];
    plan.end_ps = 2_000 * MS;
    plan
}

/// The plan with everything recorded except captures.
pub fn all_recorded(mut plan: Plan) -> Plan {
    let records = &mut plan.records;
    records.bin_ps = Some(100 * US);
    records.tap_links = vec![2, 4];
    records.bin_links = vec![2, 4, 6];
    records.bin_delivered = true;
    records.window_ps = Some(20 * US);
    records.queue_ps = Some(50 * US);
    records.queues = vec![2, 4];
    records.drops = true;
    records.circuits = true;
    records.latency = true;
    plan
}

fn node(name: &str) -> Node {
    let kind = if matches!(name, "src" | "dst") { NodeKind::Host } else { NodeKind::Switch };
    Node { name: name.to_owned(), kind }
}

fn link(name: &str, from: u32, to: u32, delay_ps: u64) -> Link {
    Link {
        name: name.to_owned(),
        from,
        to,
        rate_bps: 10_000_000_000,
        delay_ps,
        framing_bytes: 38,
        loss_ppb: 0,
        jitter_ps: 0,
        scheduler: Scheduler::RoundRobin,
    }
}

fn queue(name: &str, node: u32, packets: u64, served_by: &[u32]) -> Queue {
    Queue {
        name: name.to_owned(),
        node,
        discipline: Choice::plain("drop_tail"),
        limit_packets: Some(packets),
        limit_bytes: None,
        served_by: served_by.to_vec(),
        priority: 0,
        returned_limit_packets: None,
    }
}

/// A column of a table as numbers.
pub fn column(records: &Records, table: &str, column: &str) -> Vec<u64> {
    let table = records.table(table).unwrap_or_else(|| panic!("there is no table {table}"));
    let (_, values) = table.columns.iter().find(|(name, _)| *name == column).unwrap();
    match values {
        Column::U8(values) => values.iter().map(|&value| value.into()).collect(),
        Column::U32(values) => values.iter().map(|&value| value.into()).collect(),
        Column::U64(values) => values.clone(),
    }
}

/// Rows of a table.
pub fn rows(records: &Records, table: &str) -> usize {
    let first = records.table(table).unwrap().columns[0].0;
    column(records, table, first).len()
}
