//! A plan that cannot be run is refused with one sentence that names the field and its value.

mod plans;

use daybreak_engine::{EngineError, Simulation, run};
use daybreak_plan::{Action, Downtime, Plan, Step};
use plans::day_and_night;

/// The message for the plan after one change.
fn refusal(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = day_and_night(Downtime::Hold);
    change(&mut plan);
    match run(&plan) {
        Err(error @ EngineError::Plan(_)) => error.to_string(),
        Err(other) => panic!("refused as {other}"),
        Ok(_) => panic!("the plan was accepted"),
    }
}

macro_rules! refused {
    ($($name:ident: |$plan:ident| $change:expr => $message:expr;)*) => {
        $(#[test] fn $name() { assert_eq!(refusal(|$plan| { $change; }), $message); })*
    };
}

refused! {
    version: |plan| plan.version = 7 => "version is 7: this engine runs plans of version 2";
    no_time: |plan| plan.end_ps = 0 => "end_ps is 0: it must be more than 0 ps";
    link_to_nowhere: |plan| plan.links[1].to = 9 => "links[1].to is 9: the plan has only 4 nodes";
    link_to_itself: |plan| plan.links[0].to = 0 => "links[0].to is 0: the link starts at the same node";
    no_rate: |plan| plan.links[2].rate_bps = 0
        => "links[2].rate_bps is 0: a rate is between 1000000 and 10000000000000 bit/s";
    certain_loss: |plan| plan.links[2].loss_ppb = 1_000_000_001
        => "links[2].loss_ppb is 1000000001: a probability is at most 1000000000 parts per 10^9";
    two_of_a_name: |plan| plan.links[1].name = plan.links[0].name.clone()
        => "links[1].name is \"left access out\": links[0] has that name";
    unknown_queue: |plan| plan.queues[3].discipline.name = "blue".into()
        => "queues[3].discipline.name is \"blue\": it is not a known queue discipline; known are drop_tail, ecn_threshold, red, codel, fq_codel, pie";
    foreign_link: |plan| plan.queues[0].served_by = vec![3]
        => "queues[0].served_by[0] is 3: that link starts at node 2 (\"right\"), the queue stands at node 0 (\"src\")";
    nobody_serves: |plan| plan.queues[0].served_by.clear()
        => "queues[0].served_by is empty: no link serves the queue";
    no_alternative: |plan| plan.route_switches[0].alternatives.clear()
        => "route_switches[0].alternatives is empty: a route switch needs an alternative";
    alternatives_part: |plan| plan.paths[1] = vec![Step::Queue(4)]
        => "route_switches[0].alternatives[1] is a path to node 2 (\"right\"): the alternatives before it lead to node 3 (\"dst\")";
    a_route_switch_in_a_circle: |plan| {
            plan.paths[1] = vec![Step::Queue(4), Step::Queue(3), Step::RouteSwitch(0)];
        } => "route_switches[0].alternatives is route switch 0: the route switch leads back to itself";
    short_period: |plan| plan.timelines[0].period_ps = 900_000_000
        => "timelines[0].steps[2].offset_ps is 950000000: the period is only 900000000 ps";
    steps_out_of_order: |plan| plan.timelines[0].steps.swap(0, 1)
        => "timelines[0].steps[1].offset_ps is 450000000: the step before it is later, at 500000000 ps";
    no_such_alternative: |plan| {
            plan.timelines[0].steps[0].actions[0] = Action::SetRoute { route_switch: 0, alternative: 2 };
        } => "timelines[0].steps[0].actions[0].alternative is 2: the plan has only 2 alternatives in that route switch";
    a_gate_that_is_none: |plan| {
            plan.timelines[0].steps[0].actions[0] = Action::OpenGate { queue: 0, link: 1 };
        } => "timelines[0].steps[0].actions[0].link is 1: that link does not serve queue \"left access out\"";
    tiny_mtu: |plan| plan.stacks[0].mtu = 60 => "stacks[0].mtu is 60: an MTU is between 576 and 65535 bytes";
    buffers_out_of_order: |plan| plan.stacks[0].tcp_rmem = [5, 4, 6]
        => "stacks[0].tcp_rmem is [5, 4, 6]: it must be minimum, default, maximum, each at least the one before and not 0";
    from_a_switch: |plan| plan.flows[0].src = 1
        => "flows[0].src is node 1 (\"left\"): a flow starts and ends at hosts, and this is a switch";
    no_path: |plan| plan.paths[2].clear()
        => "flows[0].data_path is path 2, without a step: a path needs at least one step";
    a_path_that_does_not_exist: |plan| plan.flows[0].ack_path = 4 => "flows[0].ack_path is 4: the plan has only 4 paths";
    a_path_with_a_gap: |plan| plan.paths[3] = vec![Step::Queue(7), Step::Queue(1)]
        => "paths[3][1] is queue 1 (\"left access back\"): it stands at node 1 (\"left\"), but the path is at node 2 (\"right\")";
    a_path_to_the_wrong_host: |plan| plan.paths[3] = vec![Step::Queue(7)]
        => "flows[0].ack_path is path 3, to node 2 (\"right\"): it must lead to node 0 (\"src\")";
    a_path_from_the_wrong_host: |plan| { plan.paths[2].remove(0); }
        => "flows[0].data_path is path 2, from node 1 (\"left\"): it must start at node 0 (\"src\")";
    bins_without_width: |plan| plan.records.bin_delivered = true
        => "records.bin_ps is null: something is to be binned, so a bin needs a width";
    samples_beyond_measure: |plan| { plan.end_ps = 5_000_000_000; plan.records.window_ps = Some(1); }
        => "records.window_ps is 1: until end_ps, 5000000000, that would be 5000000000 samples, and 4294967296 are the most";
    tap_on_nothing: |plan| { plan.records.bin_ps = Some(1); plan.records.tap_links = vec![8]; }
        => "records.tap_links[0] is 8: the plan has only 8 links";
}

#[test]
fn an_unknown_variant_is_refused_with_those_that_are_known() {
    let message = refusal(|plan| plan.rules[0].name = "cubik".into());
    let start = "rules[0].name is \"cubik\": unknown TCP variant \"cubik\"; known are ";
    assert!(message.starts_with(start) && message.contains("cubic"), "{message}");
}

#[test]
fn an_unknown_field_is_refused() {
    let mut json = serde_json::to_value(day_and_night(Downtime::Hold)).unwrap();
    json["links"][0]["colour"] = "red".into();
    let error = EngineError::from(serde_json::from_value::<Plan>(json).unwrap_err());
    assert!(error.to_string().contains("unknown field `colour`"), "{error}");
}

#[test]
fn a_capture_needs_an_output() {
    let mut plan = day_and_night(Downtime::Hold);
    plan.records.capture_links = vec![0, 1];
    plan.records.capture_snaplen = 128;
    let error = Simulation::new(&plan).err().unwrap();
    assert_eq!(error.to_string(), "records.capture_links names 2 links, but no output for the capture was given");
}

#[test]
fn an_output_that_fails_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut plan = day_and_night(Downtime::Hold);
    plan.records.capture_links = vec![0];
    plan.records.capture_snaplen = 128;
    let mut simulation = Simulation::with_capture(&plan, Box::new(Full)).unwrap();
    while !simulation.step(u64::MAX).done {}
    let error = simulation.finish().unwrap_err();
    assert_eq!(error.to_string(), "the packet capture could not be written: no space left");
}
