//! Forks, returns, marks, disciplines and actions that make no sense are refused in one sentence with field and value.
//! What the engine's own tests (`crates/engine/tests/refusals.rs`) have is not repeated here.

use daybreak_plan::{
    Action, Choice, Downtime, Fork, Link, Mark, Marker, Node, NodeKind, Plan, Queue, Scheduler, ShownAs, Step, Tail,
    Timeline, TimelineStep, Value, benchmarks,
};

/// a - tor1 = tor2 - b. The VOQ at tor1 is served by a circuit to tor2 and by a link to a packet switch, whose queue
/// sends packets back to it when it is full.
fn hybrid() -> Plan {
    let mut plan = benchmarks::find("S2").unwrap().plan();
    let node = |name: &str, kind| Node { name: name.to_owned(), kind };
    let (host, switch) = (NodeKind::Host, NodeKind::Switch);
    plan.nodes = vec![node("a", host), node("tor1", switch), node("ps", switch), node("tor2", switch), node("b", host)];
    let ends = [(0, 1), (1, 3), (1, 2), (2, 3), (3, 4), (4, 3), (3, 1), (1, 0)];
    plan.links = ends.into_iter().map(|(from, to)| link(from, to)).collect();
    plan.queues = (0..).zip(ends).map(|(index, (from, _))| queue(from, &[index])).collect();
    // The VOQ is queue 1; queue 2 would be that of the link to the packet switch alone.
    plan.queues[1].served_by = vec![1, 2];
    plan.queues[1].returned_limit_packets = Some(5);
    plan.queues[1].discipline =
        Choice { name: "ecn_threshold".to_owned(), parameters: [("threshold".to_owned(), Value::Packets(10))].into() };
    plan.paths = vec![
        vec![Step::Queue(0), Step::Fork(0)],
        vec![Step::Marker(0), Step::Queue(4)],
        vec![Step::Fork(1)],
        vec![Step::Return(0)],
        vec![Step::Queue(5), Step::Queue(6), Step::Queue(7)],
    ];
    plan.forks = vec![
        Fork { queue: 1, tails: vec![Tail { link: 1, path: 1 }, Tail { link: 2, path: 2 }], overflow: None },
        Fork { queue: 3, tails: vec![Tail { link: 3, path: 1 }], overflow: Some(3) },
    ];
    plan.marks = vec![Mark { name: "circuit".to_owned(), shown_as: ShownAs::Ece }];
    plan.markers = vec![Marker { name: "soon".to_owned(), node: 3, mark: 0, on: false }];
    plan.flows.truncate(1);
    let flow = &mut plan.flows[0];
    (flow.src, flow.dst, flow.data_path, flow.ack_path) = (0, 4, 0, 4);
    plan
}

fn link(from: u32, to: u32) -> Link {
    Link {
        name: format!("{from}-{to}"),
        from,
        to,
        rate_bps: 10_000_000_000,
        delay_ps: 1_000_000,
        framing_bytes: 0,
        loss_ppb: 0,
        jitter_ps: 0,
        scheduler: Scheduler::RoundRobin,
    }
}

fn queue(node: u32, served_by: &[u32]) -> Queue {
    Queue {
        name: format!("queue of {served_by:?}"),
        node,
        discipline: Choice::plain("drop_tail"),
        limit_packets: Some(16),
        limit_bytes: None,
        served_by: served_by.to_vec(),
        priority: 0,
        returned_limit_packets: None,
    }
}

fn refusal(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = hybrid();
    change(&mut plan);
    plan.validate().expect_err("the plan was accepted").to_string()
}

/// Of a plan with one action.
fn refused_action(action: Action) -> String {
    refusal(|plan| {
        let steps = vec![TimelineStep { offset_ps: 0, actions: vec![action] }];
        plan.timelines = vec![Timeline { name: "program".to_owned(), start_ps: 0, period_ps: 1, steps }];
    })
}

#[test]
fn the_plan_that_is_changed_here_is_sound() {
    hybrid().validate().unwrap();
    let set = |parameter: &str, value| Action::SetParameter { queue: 1, parameter: parameter.to_owned(), value };
    let actions = vec![
        set("threshold", Value::Bytes(90_000)),
        set("count_arrival", Value::Switch(true)),
        Action::SetLimit { queue: 1, packets: Some(50), bytes: None },
        Action::SetRate { link: 1, rate_bps: 80_000_000_000 },
        Action::SetDelay { link: 1, delay_ps: 0 },
        Action::SetLoss { link: 1, loss_ppb: 1_000_000_000 },
        Action::SetMark { marker: 0, on: true },
        Action::CloseGate { queue: 1, link: 2, downtime: Downtime::Hold },
    ];
    let mut plan = hybrid();
    let steps = vec![TimelineStep { offset_ps: 0, actions }];
    plan.timelines = vec![Timeline { name: "program".to_owned(), start_ps: 0, period_ps: 1, steps }];
    plan.validate().unwrap();
}

macro_rules! refused {
    ($($name:ident: |$plan:ident| $change:expr => $message:expr;)*) => {
        $(#[test] fn $name() { assert_eq!(refusal(|$plan| { $change; }), $message); })*
    };
}

refused! {
    links_that_part: |plan| plan.paths[0][1] = Step::Queue(1)
        => "paths[0][1] is queue 1 (\"queue of [1]\"): its links lead to node 3 (\"tor2\") and to node 2 (\"ps\"): \
            a fork has to say how to go on behind each";
    a_step_behind_a_fork: |plan| plan.paths[0].push(Step::Queue(4))
        => "paths[0][1] is fork 0: it must be the last step of a path: it says how to go on";
    a_link_without_a_tail: |plan| plan.forks[0].tails.truncate(1)
        => "forks[0].tails is a list of 1: 2 links serve the queue";
    a_tail_of_a_link_that_does_not_serve: |plan| plan.forks[0].tails[1].link = 4
        => "forks[0].tails[1].link is 4: each of the links [1, 2] that serve the queue has one tail";
    a_tail_from_elsewhere: |plan| plan.forks[0].tails[1].path = 1
        => "forks[0].tails[1].path is path 1, from node 3 (\"tor2\"): it must start at node 2 (\"ps\")";
    tails_to_different_places: |plan| {
            plan.paths.push(vec![]);
            plan.forks[1].tails[0].path = 5;
        } => "forks[0].tails[1].path is a path to node 3 (\"tor2\"): the tails before it lead to node 4 (\"b\")";
    a_fork_that_leads_to_itself: |plan| plan.paths[1] = vec![Step::Queue(6), Step::Fork(0)]
        => "forks[0].tails is fork 0: the fork leads back to itself";
    a_fork_of_nothing: |plan| plan.paths[0][1] = Step::Fork(2) => "paths[0][1] is 2: the plan has only 2 forks";
    a_return_without_room: |plan| plan.queues[1].returned_limit_packets = None
        => "paths[3][0] is return to fork 0: queue \"queue of [1]\" has no room for packets that come back";
    a_flow_that_begins_with_a_return: |plan| plan.flows[0].data_path = 3
        => "flows[0].data_path is path 3, a return: only a packet from a full queue comes back";
    a_tail_that_returns: |plan| plan.forks[0].tails[1].path = 3
        => "forks[0].tails[1].path is path 3, a return: only a packet from a full queue comes back";
    an_overflow_to_the_wrong_place: |plan| {
            plan.paths.push(vec![Step::Queue(3)]);
            plan.forks[1].overflow = Some(5);
        } => "forks[1].overflow is a path to node 3 (\"tor2\"): the tails lead to node 4 (\"b\")";
    an_overflow_that_begins_elsewhere: |plan| plan.forks[1].overflow = Some(1)
        => "forks[1].overflow is path 1, from node 3 (\"tor2\"): the queue stands at node 2 (\"ps\")";
    full_queues_in_a_circle: |plan| plan.forks[1].overflow = Some(2)
        => "forks[1].overflow is fork 1: full queues send packets round without end";
    a_marker_elsewhere: |plan| plan.markers[0].node = 2
        => "paths[1][1] is queue 4 (\"queue of [4]\"): it stands at node 3 (\"tor2\"), but the path is at node 2 (\"ps\")";
    too_many_marks: |plan| {
            plan.marks = (0..9).map(|i| Mark { name: i.to_string(), shown_as: ShownAs::Ece }).collect();
        } => "marks is a list of 9: a packet has room for 8 marks";
    a_mark_that_is_none: |plan| plan.markers[0].mark = 1 => "markers[0].mark is 1: the plan has only 1 marks";
    a_priority_in_turn: |plan| plan.queues[4].priority = 2
        => "queues[4].priority is 2: link \"3-4\" serves its queues in turn, whatever their priority";
    a_missing_parameter: |plan| plan.queues[1].discipline.parameters.clear()
        => "queues[1].discipline.parameters.threshold is missing: expected packets or bytes, from 1 to 1099511627776";
    an_unknown_parameter: |plan| { plan.queues[4].discipline.parameters.insert("k".into(), Value::Packets(1)); }
        => "queues[4].discipline.parameters.k is 1 packets: \"drop_tail\" has no such parameter; it has none";
    a_parameter_of_a_rule: |plan| { plan.rules[0].parameters.insert("beta".into(), Value::Number(1.5)); }
        => "rules[0].parameters.beta is 1.5: expected a number from 0.1 to 0.99";
    two_networks_without_sack: |plan| (plan.stacks[0].tdtcp, plan.stacks[0].tcp_sack) = (true, false)
        => "stacks[0].tdtcp is true: it needs tcp_sack";
    two_networks_with_ecn: |plan| (plan.stacks[0].tdtcp, plan.stacks[0].tcp_ecn) = (true, 1)
        => "stacks[0].tdtcp is true: the flag that selects the path is ECN's echo, and tcp_ecn is 1";
    two_networks_with_a_rule_that_needs_ecn: |plan| {
            plan.stacks[0].tdtcp = true;
            plan.rules[0].name = "dctcp".into();
        } => "flows[0].rule is 0 (\"dctcp\"): it needs ECN, whose echo is the flag that selects the path of its stack's tdtcp";
    thresholds_that_do_not_go_together: |plan| {
            plan.queues[4].discipline.name = "red".into();
            plan.queues[4].discipline.parameters.insert("min_threshold".into(), Value::Packets(15));
        } => "queues[4].discipline is \"red\": parameter \"min_threshold\" is 15 packets: expected less than max_threshold, \
              15 packets, and the same unit";
    no_bytes: |plan| plan.flows[0].application = daybreak_plan::Application::Bulk { bytes: Some(0) }
        => "flows[0].application.bytes is 0: a transfer has at least 1 byte, or null for no end";
}

#[test]
fn actions_that_make_no_sense() {
    let at = "timelines[0].steps[0].actions[0]";
    assert_eq!(
        refused_action(Action::SetLimit { queue: 8, packets: None, bytes: None }),
        format!("{at}.queue is 8: the plan has only 8 queues")
    );
    assert_eq!(
        refused_action(Action::SetRate { link: 1, rate_bps: 5 }),
        format!("{at}.rate_bps is 5: a rate is between 1000000 and 10000000000000 bit/s")
    );
    assert_eq!(
        refused_action(Action::SetDelay { link: 99, delay_ps: 5 }),
        format!("{at}.link is 99: the plan has only 8 links")
    );
    assert_eq!(
        refused_action(Action::SetDelay { link: 1, delay_ps: u64::MAX }),
        format!("{at}.delay_ps is 18446744073709551615: it must be at most 4611686018427387904 ps")
    );
    assert_eq!(
        refused_action(Action::SetLoss { link: 99, loss_ppb: 5 }),
        format!("{at}.link is 99: the plan has only 8 links")
    );
    assert_eq!(
        refused_action(Action::SetLoss { link: 1, loss_ppb: 1_000_000_001 }),
        format!("{at}.loss_ppb is 1000000001: a probability is at most 1000000000 parts per 10^9")
    );
    assert_eq!(
        refused_action(Action::SetMark { marker: 1, on: true }),
        format!("{at}.marker is 1: the plan has only 1 markers")
    );
    assert_eq!(
        refused_action(Action::SetParameter { queue: 1, parameter: "threshold".into(), value: Value::Number(3.0) }),
        format!(
            "{at}.value is 3: \"ecn_threshold\" of queue 1 cannot be set so: parameter \"threshold\" is 3: expected packets \
             or bytes, from 1 to 1099511627776"
        )
    );
    assert_eq!(
        refused_action(Action::CloseGate { queue: 1, link: 3, downtime: Downtime::Hold }),
        format!("{at}.link is 3: that link does not serve queue \"queue of [1]\"")
    );
}
