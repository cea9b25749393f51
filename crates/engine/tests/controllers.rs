//! Controllers seen through whole runs.

mod plans;

use daybreak_engine::{Records, run};
use daybreak_plan::{
    Action, Application, Choice, ControlledFlow, Controller, Controls, Downtime, Fork, Plan, Step, Tail, Value,
};
use daybreak_trace::ControlEvent::{self, InForce, Released, Requested, SettingUp};
use plans::{MS, US, column, day_and_night, rows};

fn policy(name: &str, given: &[(&str, Value)]) -> Choice {
    let parameters = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Choice { name: name.to_owned(), parameters }
}

/// Two hosts and two switches on a line; behind the left one a queue that a packet link of 1 Gbit/s serves and, when the
/// controller opens it, a circuit of 10 Gbit/s.
fn hybrid(setup_us: u64, bytes: u64) -> Plan {
    let mut plan = day_and_night(Downtime::Hold);
    plan.timelines.clear();
    plan.route_switches.clear();
    plan.links[2].rate_bps = 1_000_000_000;
    // Queue 2 is the VOQ; links 2 and 4, both from left to right, serve it.
    plan.queues[2].served_by = vec![2, 4];
    plan.queues.remove(4);
    // What was queue 5, 6, 7 is now 4, 5, 6.
    plan.paths = vec![
        vec![Step::Queue(5)],
        vec![Step::Queue(0), Step::Fork(0)],
        vec![Step::Queue(6), Step::Queue(3), Step::Queue(1)],
    ];
    let tail = |link| Tail { link, path: 0 };
    plan.forks = vec![Fork { queue: 2, tails: vec![tail(2), tail(4)], overflow: None }];
    plan.flows[0].data_path = 1;
    plan.flows[0].ack_path = 2;
    plan.flows[0].application = Application::Bulk { bytes: Some(bytes) };
    plan.controllers = vec![Controller {
        name: "offload".into(),
        policy: policy(
            "queue_threshold",
            &[
                ("high_threshold", Value::Packets(20)),
                ("low_threshold", Value::Packets(1)),
                ("interval", Value::Ps(10 * US)),
            ],
        ),
        setup_ps: setup_us * US,
        controls: Controls::ControlledCircuit {
            queues: vec![2],
            open: vec![Action::OpenGate { queue: 2, link: 4 }],
            close: vec![Action::CloseGate { queue: 2, link: 4, downtime: Downtime::Hold }],
        },
    }];
    plan.records.circuits = true;
    plan
}

/// When and what was decided, about which flow and path.
fn decisions(records: &Records) -> Vec<(u64, ControlEvent, u64, u64)> {
    let read = |name| column(records, "control", name);
    let (times, events, flows, paths) = (read("time_ns"), read("event"), read("flow"), read("path"));
    let event = |number: u64| ControlEvent::ALL[number as usize];
    (0..times.len()).map(|row| (times[row], event(events[row]), flows[row], paths[row])).collect()
}

#[test]
fn a_long_queue_opens_the_circuit_and_an_empty_one_closes_it() {
    let mut plan = hybrid(30, 2_000_000);
    plan.records.queue_ps = Some(10 * US);
    plan.records.queues = vec![2];
    let records = run(&plan).unwrap();
    let found = decisions(&records);
    assert_eq!(found[0].1, Released, "it is closed at the start: {found:?}");
    assert_eq!(found[0].0, 0);
    let (set_up, in_force) = (found[1], found[2]);
    assert_eq!((set_up.1, in_force.1), (SettingUp, InForce));
    assert_eq!(set_up.0 % 10_000, 0, "it looks every 10 us");
    assert_eq!(in_force.0 - set_up.0, 30_000);
    assert!(found[3..].iter().any(|one| one.1 == Released), "{found:?}");
    let on_circuit = column(&records, "links", "packets")[4];
    let circuit_bytes = column(&records, "links", "bytes")[4];
    assert!(on_circuit > 10 && circuit_bytes > 100_000, "the circuit carried {on_circuit} packets");
    // The same without the circuit takes longer: 2 MB at 1 Gbit/s are 16 ms.
    let fct = column(&records, "flows", "fct_ns")[0];
    let mut without = plan.clone();
    without.controllers[0].policy.parameters.insert("high_threshold".into(), Value::Packets(1 << 30));
    let slow = run(&without).unwrap();
    assert_eq!(column(&slow, "links", "packets")[4], 0);
    let slow_fct = column(&slow, "flows", "fct_ns")[0];
    assert!(slow_fct > 16_000_000 && fct < slow_fct * 9 / 10, "{fct} ns with the circuit, {slow_fct} ns without");
}

/// Controllers do not need packets to be observed: what is recorded makes no difference.
#[test]
fn a_controlled_run_is_the_same_whatever_is_recorded() {
    let plan = hybrid(30, 2_000_000);
    let mut recorded = plan.clone();
    recorded.records.bin_ps = Some(100 * US);
    recorded.records.bin_links = vec![2, 4];
    recorded.records.queue_ps = Some(10 * US);
    recorded.records.queues = vec![2];
    let (one, other) = (run(&plan).unwrap(), run(&recorded).unwrap());
    for table in ["flows", "links", "control"] {
        assert_eq!(one.table(table), other.table(table), "{table}");
    }
}

/// A flow of each of these sizes, with route switches of their own: path 0 of 1 Gbit/s, path 1 of 10 Gbit/s for one
/// flow at a time.
fn shared(sizes: &[u64], policy: Choice, setup_us: u64, downtime: Downtime) -> Plan {
    let mut plan = day_and_night(downtime);
    plan.timelines.clear();
    plan.links[2].rate_bps = 1_000_000_000;
    plan.queues.iter_mut().for_each(|queue| queue.limit_packets = None);
    // With timestamps, originals that a retransmission has overtaken on the fast path are discarded (RFC 7323, section
    // 5.3), which costs a timeout and has nothing to do with the controller.
    plan.stacks[0].tcp_timestamps = false;
    let (flow, switch) = (plan.flows.remove(0), plan.route_switches.remove(0));
    let mut controlled = Vec::new();
    for (index, &bytes) in (0..).zip(sizes) {
        let mut switch = switch.clone();
        switch.name = format!("path {index}");
        plan.route_switches.push(switch);
        plan.paths.push(vec![Step::Queue(0), Step::RouteSwitch(index)]);
        let mut flow = flow.clone();
        flow.name = format!("flow {index}");
        flow.application = Application::Bulk { bytes: Some(bytes) };
        flow.start_ps = u64::from(index) * MS;
        flow.data_path = plan.paths.len() as u32 - 1;
        plan.flows.push(flow);
        controlled.push(ControlledFlow { flow: index, route_switches: vec![index], priority: 0, deadline_ps: None });
    }
    // The path that all shared is no more.
    plan.paths[2] = vec![Step::Queue(0), Step::RouteSwitch(0)];
    plan.controllers = vec![Controller {
        name: "broker".into(),
        policy,
        setup_ps: setup_us * US,
        controls: Controls::ControlledFlows { flows: controlled, paths: 2, downtime },
    }];
    plan.records.circuits = true;
    plan
}

#[test]
fn a_broker_lets_one_flow_after_the_other_onto_the_fast_path() {
    let plan = shared(&[20_000_000; 3], policy("first_come", &[]), 500, Downtime::MakeBeforeBreak);
    let records = run(&plan).unwrap();
    let found = decisions(&records);
    let ends = column(&records, "flows", "end_ns");
    let asked: Vec<_> = found.iter().filter(|one| one.1 == Requested).map(|one| (one.0, one.2)).collect();
    assert_eq!(asked, [(0, 0), (1_000_000, 1), (2_000_000, 2)], "at their starts");
    let got: Vec<_> = found.iter().filter(|one| one.1 == InForce).map(|one| (one.0, one.2, one.3)).collect();
    assert_eq!(got[0], (500_000, 0, 1));
    let given_back: Vec<_> = found.iter().filter(|one| one.1 == Released).map(|one| (one.0, one.2)).collect();
    assert_eq!(given_back[0], (ends[0], 0), "when it is complete");
    assert_eq!(got[1], (ends[0] + 500_000, 1, 1), "the next one after its set-up");
    // Who has the fast path alone has nearly all of it: 20 MB at 10 Gbit/s are 16 ms, at 1 Gbit/s 160 ms.
    assert!(ends[0] < 20_000_000, "{ends:?}");

    assert!(ends[1] - ends[0] < 20_000_000, "{ends:?}");
    assert_eq!(column(&records, "flows", "rtos").iter().sum::<u64>(), 0);
}

#[test]
fn the_largest_flow_goes_first_where_that_is_the_policy() {
    let sizes = [4_000_000, 4_000_000, 40_000_000];
    let order = |name| {
        let mut plan = shared(&sizes, policy(name, &[]), 0, Downtime::MakeBeforeBreak);
        plan.flows.iter_mut().for_each(|flow| flow.start_ps = flow.start_ps / 1_000 + 10 * US);
        let records = run(&plan).unwrap();
        decisions(&records).into_iter().filter(|one| one.1 == InForce).map(|one| one.2).collect::<Vec<_>>()
    };
    assert_eq!(order("first_come")[..2], [0, 1]);
    assert_eq!(order("largest_first")[..2], [0, 2]);
}

#[test]
fn an_elephant_is_moved_and_a_mouse_is_not() {
    let given =
        [("threshold", Value::Bps(300_000_000)), ("duration", Value::Ps(4 * MS)), ("interval", Value::Ps(2 * MS))];
    // 50 MB at 1 Gbit/s take 400 ms, 100 kB under a millisecond.
    let plan = shared(&[50_000_000, 100_000], policy("elephants", &given), 1_000, Downtime::MakeBeforeBreak);
    let records = run(&plan).unwrap();
    let found = decisions(&records);
    assert!(found.iter().all(|one| one.2 == 0), "the mouse is let alone: {found:?}");
    let events: Vec<_> = found.iter().map(|one| one.1).collect();
    assert_eq!(events, [Requested, SettingUp, InForce, Released]);
    assert_eq!(found[0].0 % 2_000_000, 0, "at a reading");
    assert!(found[0].0 >= 4_000_000, "it has been an elephant for 4 ms");
    assert_eq!(found[2].0, found[1].0 + 1_000_000);
    let ends = column(&records, "flows", "end_ns");
    assert_eq!(found[3].0, ends[0]);
    assert!(ends[0] < 100_000_000, "most of it took the fast path: {ends:?}");
}

/// While the fast path is set up the flow's packets are lost: none takes either path.
#[test]
fn packets_are_lost_during_the_set_up_where_that_is_the_policy() {
    let mut plan = shared(&[5_000_000], policy("first_come", &[]), 2_000, Downtime::Drop);
    plan.records.drops = true;
    let records = run(&plan).unwrap();
    let found = decisions(&records);
    let night = found[1].0..found[2].0;
    assert_eq!((found[1].1, found[2].1), (SettingUp, InForce));
    let times = column(&records, "drops", "time_ns");
    let reasons = column(&records, "drops", "reason");
    let lost = times.iter().zip(&reasons).filter(|(_, reason)| **reason == 1).count();
    assert!(lost > 0 && times.iter().zip(&reasons).all(|(time, reason)| *reason != 1 || night.contains(time)));
    assert_eq!(rows(&records, "flows"), 1);
}

#[test]
fn what_controllers_cannot_do_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = shared(&[1_000, 1_000], policy("first_come", &[]), 0, Downtime::Hold);
        change(&mut plan);
        run(&plan).unwrap_err().to_string()
    };
    let flows = |plan: &mut Plan, change: &dyn Fn(&mut Vec<ControlledFlow>)| match &mut plan.controllers[0].controls {
        Controls::ControlledFlows { flows, .. } => change(flows),
        Controls::ControlledCircuit { .. } => unreachable!("it controls flows"),
    };
    let sentences = [
        (refused(&|plan| plan.controllers[0].policy.name = "first".into()), "controllers[0].policy.name is \"first\""),
        (
            refused(&|plan| plan.controllers[0].policy = policy("elephants", &[])),
            "controllers[0].policy.parameters.threshold is missing",
        ),
        (
            refused(&|plan| {
                plan.controllers[0].policy = policy(
                    "queue_threshold",
                    &[("high_threshold", Value::Packets(2)), ("low_threshold", Value::Packets(1))],
                );
            }),
            "that policy is for a circuit",
        ),
        (refused(&|plan| flows(plan, &|flows| flows[0].flow = 7)), "controls.flows[0].flow is 7"),
        (refused(&|plan| flows(plan, &|flows| flows[0].flow = 1)), "has that flow already"),
        (refused(&|plan| flows(plan, &|flows| flows[0].route_switches = vec![1])), "two of its flows share that"),
        (refused(&|plan| flows(plan, &|flows| flows[0].route_switches = vec![9])), "only 2 route switches"),
        (refused(&|plan| plan.route_switches[1].alternatives.push(0)), "has 3 alternatives and the flows have 2 paths"),
        (refused(&|plan| plan.route_switches[1].initial = 1), "starts with alternative 1"),
        (
            refused(&|plan| {
                plan.controllers.push(plan.controllers[0].clone());
                plan.controllers[1].name = "second".into();
            }),
            "controllers[0] changes that too",
        ),
        (refused(&|plan| plan.timelines = day_and_night(Downtime::Hold).timelines), "timelines[0] changes that too"),
    ];
    for (sentence, part) in sentences {
        assert!(sentence.contains(part), "{sentence}");
    }
}
