//! Turns the lists of a valid plan into what the fabric and TCP are configured with.

use daybreak_fabric::{
    Config as FabricConfig, Control, ForkConfig, LinkConfig, MarkerConfig, QueueConfig, RouteSwitchConfig, control,
    queue,
};
use daybreak_plan::{
    Choice, ControlledFlow, Controller, Controls, Legacy, Link, Plan, Queue, RouteSwitch, Stack, Timeline,
};
use daybreak_tcp::config::{BufferLimits, Config, EcnMode, Profile, ReceiveBuffers};
use daybreak_tcp::congestion;
use daybreak_units::parameters::Settings;
use daybreak_units::{Duration, Instant, Rate};

/// The fabric of a plan.
pub fn fabric(plan: &Plan) -> FabricConfig {
    let mut queues: Vec<QueueConfig> = plan.queues.iter().map(queue).collect();
    look(plan, &mut queues);
    FabricConfig {
        links: plan.links.iter().map(link).collect(),
        queues,
        route_switches: plan.route_switches.iter().map(route_switch).collect(),
        forks: plan
            .forks
            .iter()
            .map(|fork| ForkConfig {
                queue: fork.queue,
                tails: fork.tails.iter().map(|tail| (tail.link, tail.path)).collect(),
                overflow: fork.overflow,
            })
            .collect(),
        markers: plan.markers.iter().map(|marker| MarkerConfig { mark: marker.mark as u8, is_on: marker.on }).collect(),
        paths: plan.paths.clone(),
        changes: plan.changes().collect(),
        seed: plan.seed,
        largest_packet: plan.stacks.iter().map(|stack| stack.mtu).max().unwrap_or(0),
        packets: 0,
    }
}

/// A link as the fabric takes it.
pub fn link(link: &Link) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(link.rate_bps),
        delay: Duration::from_ps(link.delay_ps),
        framing_bytes: link.framing_bytes,
        loss_ppb: link.loss_ppb,
        jitter: Duration::from_ps(link.jitter_ps),
        stream: format!("link/{}", link.name),
    }
}

fn queue(queue: &Queue) -> QueueConfig {
    let discipline = queue::find(&queue.discipline.name).expect("the plan was validated");
    QueueConfig {
        discipline,
        settings: discipline.settings(queue.discipline.given()).expect("the plan was validated"),
        limits: queue::Limits { packets: queue.limit_packets, bytes: queue.limit_bytes },
        served_by: queue.served_by.clone(),
        priority: queue.priority,
        returned_limit: queue.returned_limit_packets,
        observed: false,
        metered: false,
        announced: false,
        stream: format!("queue/{}", queue.name),
    }
}

/// Says at which queues somebody looks at packets, and why.
fn look(plan: &Plan, queues: &mut [QueueConfig]) {
    let records = &plan.records;
    let mut observed = vec![false; plan.links.len()];
    for &link in records.packet_links.iter().chain(&records.capture_links) {
        observed[link as usize] = true;
    }
    let mut metered = vec![false; plan.links.len()];
    for &link in records.tap_links.iter().chain(&records.bin_links) {
        metered[link as usize] = true;
    }
    // Senders with TCP small queues are notified when a packet leaves their host's queue.
    let mut announced = vec![false; plan.nodes.len()];
    for flow in &plan.flows {
        for (node, stack) in [(flow.src, flow.src_stack), (flow.dst, flow.dst_stack)] {
            announced[node as usize] |= plan.stacks[stack as usize].tcp_limit_output_bytes.is_some();
        }
    }
    for (queue, of_plan) in queues.iter_mut().zip(&plan.queues) {
        let serves = |links: &[bool]| of_plan.served_by.iter().any(|&link| links[link as usize]);
        queue.observed = serves(&observed);
        queue.metered = serves(&metered);
        queue.announced = announced[of_plan.node as usize];
    }
    for &queue in records.queues.iter().chain(plan.controllers.iter().flat_map(Controller::queues)) {
        queues[queue as usize].observed = true;
    }
}

fn route_switch(switch: &RouteSwitch) -> RouteSwitchConfig {
    RouteSwitchConfig {
        alternatives: switch.alternatives.clone(),
        initial: switch.initial,
        hold_limit: switch.hold_limit_packets,
    }
}

/// A congestion control with its parameters, as flows use it.
pub(crate) struct Rule {
    entry: &'static congestion::Entry,
    settings: Settings,
}

impl Rule {
    /// The rule of a valid plan.
    pub(crate) fn new(choice: &Choice) -> Self {
        let entry = congestion::find(&choice.name).expect("the plan was validated");
        Self { entry, settings: entry.settings(choice.given()).expect("the plan was validated") }
    }

    /// For one connection.
    pub(crate) fn make(&self, seed: u64) -> congestion::Rule {
        self.entry.make(&self.settings, seed)
    }
}

/// The timelines and controllers of a plan.
pub fn control(plan: &Plan) -> Control {
    let mut control = Control::default();
    plan.timelines.iter().for_each(|line| control.add_timeline(timeline(line)));
    for one in &plan.controllers {
        let flows = match &one.controls {
            Controls::ControlledCircuit { .. } => &[][..],
            Controls::ControlledFlows { flows, .. } => flows,
        };
        control.add_controller(controller(plan, one), flows.iter().map(|flow| flow.flow));
    }
    control
}

fn controller(plan: &Plan, controller: &Controller) -> Box<dyn control::Controller> {
    let policy = control::find(&controller.policy.name).expect("the plan was validated");
    let settings = policy.settings(controller.policy.given()).expect("the plan was validated");
    let setup = Duration::from_ps(controller.setup_ps);
    match (&policy.controls, &controller.controls) {
        (control::Controls::Circuit(new), Controls::ControlledCircuit { queues, open, close }) => {
            let (queues, open, close) = (queues.clone(), open.clone(), close.clone());
            new(&settings, control::Circuit { queues, open, close, setup })
        }
        (control::Controls::Flows(new), Controls::ControlledFlows { flows, paths, downtime }) => {
            let flows = flows.iter().map(|flow| controlled_flow(plan, flow)).collect();
            new(&settings, control::Flows { flows, paths: *paths, setup, downtime: *downtime })
        }
        _ => unreachable!("the plan was validated: the policy is for what the controller controls"),
    }
}

fn controlled_flow(plan: &Plan, flow: &ControlledFlow) -> control::ControlledFlow {
    control::ControlledFlow {
        flow: flow.flow,
        route_switches: flow.route_switches.clone(),
        bytes: plan.flows[flow.flow as usize].application.limited_bytes(),
        priority: flow.priority,
        deadline: flow.deadline_ps.map(Duration::from_ps),
    }
}

/// A timeline as the fabric takes it.
fn timeline(timeline: &Timeline) -> control::Timeline {
    let steps = timeline
        .steps
        .iter()
        .map(|step| control::TimelineStep { offset: Duration::from_ps(step.offset_ps), actions: step.actions.clone() });
    let period = Duration::from_ps(timeline.period_ps);
    control::Timeline::new(Instant::from_ps(timeline.start_ps), period, steps.collect())
}

/// What a stack does otherwise than the usual one: its Linux, and what it has of older ones.
fn profile(stack: &Stack) -> Profile {
    let mut profile = Profile::of_linux(stack.linux.version()).expect("a plan names only versions that are modelled");
    for mechanism in &stack.legacy {
        match mechanism {
            Legacy::Fack => profile.fack = true,
            Legacy::WindowAtOnce => profile.window_at_once = true,
            Legacy::NoUndo => profile.no_undo = true,
            Legacy::AckEveryPacket => profile.ack_every_packet = true,
            Legacy::RtoRestart => profile.rto_restart = true,
            Legacy::ForgetSacks => profile.forget_sacks = true,
            Legacy::WholeRanges => profile.whole_ranges = true,
            Legacy::CountAcks => profile.count_acks = true,
            Legacy::LossAsMark => profile.loss_as_mark = true,
            Legacy::NoAckAggregation => profile.no_ack_aggregation = true,
            Legacy::WideProbes => profile.wide_probes = true,
            Legacy::TimerPacing => profile.timer_pacing = true,
            Legacy::MsDelays => profile.ms_delays = true,
            Legacy::NoRttBursts => profile.no_rtt_bursts = true,
            Legacy::TickBursts => profile.tick_bursts = true,
            Legacy::EarlyRack => profile.early_rack = true,
            Legacy::PrrByRetransmission => profile.prr_by_retransmission = true,
            Legacy::TwoTickSlack => profile.two_tick_slack = true,
            Legacy::NoPaws => profile.no_paws = true,
            Legacy::HalfThreshold => profile.half_threshold = true,
            Legacy::NoEchoSamples => profile.no_echo_samples = true,
            Legacy::NoReceiveWindow => profile.no_receive_window = true,
        }
    }
    profile
}

/// What Linux 6.1 keeps of the largest burst for headers, and a byte (`MAX_TCP_HEADER + 1` without tunnels or wireless
/// devices).
const BURST_HEADERS: u32 = 193;

/// The settings of an endpoint; what the plan leaves out is Linux's default.
pub(crate) fn stack(stack: &Stack) -> Config {
    let buffer = |[min, default, max]: [u64; 3]| BufferLimits { min, default, max };
    Config {
        mtu: stack.mtu,
        initial_window: stack.initial_window,
        cwnd_clamp: stack.cwnd_clamp.unwrap_or(u32::MAX),
        jiffy: Duration::from_ps(Duration::from_secs(1).as_ps() / u64::from(stack.hz)),
        rto_min: Duration::from_ps(stack.rto_min_ps),
        delayed_ack_min: Duration::from_ps(stack.delayed_ack_min_ps),
        delayed_ack_max: Duration::from_ps(stack.delayed_ack_max_ps),
        rmem: buffer(stack.tcp_rmem),
        wmem: buffer(stack.tcp_wmem),
        receive_autotuning: stack.tcp_moderate_rcvbuf,
        adv_win_scale: stack.tcp_adv_win_scale,
        receive_buffers: ReceiveBuffers {
            linear: stack.receive_buffers.linear_bytes,
            page: stack.receive_buffers.page_bytes,
        },
        window_scaling: stack.tcp_window_scaling,
        timestamps: stack.tcp_timestamps,
        sack: stack.tcp_sack,
        dsack: stack.tcp_dsack,
        frto: stack.tcp_frto != 0,
        tail_loss_probe: stack.tcp_early_retrans == 3,
        rack: stack.tcp_recovery & 1 != 0,
        rack_static_window: stack.tcp_recovery & 2 != 0,
        rack_no_threshold: stack.tcp_recovery & 4 != 0,
        reordering: stack.tcp_reordering,
        max_reordering: stack.tcp_max_reordering,
        slow_start_after_idle: stack.tcp_slow_start_after_idle,
        ecn: match stack.tcp_ecn {
            0 => EcnMode::Off,
            1 => EcnMode::On,
            _ => EcnMode::Passive,
        },
        comp_sack_delay: Duration::from_ns(stack.tcp_comp_sack_delay_ns),
        comp_sack_slack: Duration::from_ns(stack.tcp_comp_sack_slack_ns),
        comp_sack_nr: stack.tcp_comp_sack_nr,
        tso_max_bytes: stack.tso_max_bytes.saturating_sub(BURST_HEADERS),
        limit_output_bytes: stack.tcp_limit_output_bytes,
        profile: profile(stack),
        max_pacing_rate: stack.max_pacing_rate_bps.map_or(Rate::ZERO, Rate::from_bps),
        ..Config::default()
    }
}
