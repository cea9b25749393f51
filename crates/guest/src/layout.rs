//! Assigns ends and NICs to flows. Refuses by name what real hosts cannot do here.

use daybreak_plan::{Action, Flow, NodeKind, Plan, ReceiveBuffers, Stack, Step};

use std::collections::BTreeMap;

use crate::error::GuestError;
use crate::{headers, modules};

/// The client of flow 0 has this port, that of flow 1 the next, and so on.
pub const FIRST_CLIENT_PORT: u16 = 5_000;
/// The server of flow 0 listens at this port, that of flow 1 at the next, and so on.
pub const FIRST_SERVER_PORT: u16 = 35_000;
/// Most flows of a plan.
pub const MOST_FLOWS: usize = 30_000;

/// A network interface of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Queue of the plan that it is.
    pub queue: u32,
    /// Link of the plan that the queue feeds.
    pub link: u32,
    /// Whether several ends share it.
    pub shared: bool,
    /// Largest packet of the ends behind it.
    pub mtu: u32,
    /// How it stores received frames in memory.
    pub buffers: ReceiveBuffers,
}

/// A TCP stack behind a NIC: one network namespace. A sender that shares its NIC has one of its own, so that the kernel
/// counts it separately; receivers share one, and so do senders that share cached metrics (`tcp_no_metrics_save` off),
/// since the cache belongs to a namespace and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its NIC.
    pub nic: u32,
    /// Stack of the plan.
    pub stack: u32,
    /// The flow that it belongs to exclusively, if any.
    sender_of: Option<u32>,
    /// Ends that it exchanges packets with, in rising order.
    pub peers: Vec<u32>,
    /// Congestion control of the programs' sockets, if programs run there: then it is a whole host of the plan.
    pub rule: Option<u32>,
}

impl End {
    /// Address of the end with this index.
    pub fn ip(index: u32) -> u32 {
        0x0a00_0001 + index
    }

    /// Ethernet address of the end with this index, locally administered.
    pub fn mac(index: u32) -> [u8; 6] {
        let [a, b, c, d] = index.to_be_bytes();
        [0x02, 0, a, b, c, d]
    }
}

/// All NICs and ends, and which ends each flow joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// NICs in the order in which the flows name them.
    pub nics: Vec<Nic>,
    /// Ends in the order in which the flows name them.
    pub ends: Vec<End>,
    /// Sending and receiving end of each flow.
    pub flows: Vec<(u32, u32)>,
}

impl Layout {
    /// Lays out a plan, or names what real hosts cannot run.
    pub fn of(plan: &Plan) -> Result<Self, GuestError> {
        if plan.flows.len() > MOST_FLOWS {
            return refuse("flows", plan.flows.len(), format!("there are ports for {MOST_FLOWS} flows"));
        }
        records(plan)?;
        modules::parameters(plan)?;
        let mut layout = Self { nics: Vec::new(), ends: Vec::new(), flows: Vec::new() };
        for (i, flow) in plan.flows.iter().enumerate() {
            for (side, stack) in [("sender", flow.src_stack), ("receiver", flow.dst_stack)] {
                supported(&plan.stacks[stack as usize]).map_err(|error| with_flow(error, &flow.name, side))?;
            }
            let stack = |stack: u32| &plan.stacks[stack as usize];
            layout.nic(plan, &format!("flows[{i}].data_path"), flow.data_path, stack(flow.src_stack))?;
            layout.nic(plan, &format!("flows[{i}].ack_path"), flow.ack_path, stack(flow.dst_stack))?;
        }
        for (i, flow) in (0..).zip(&plan.flows) {
            let alone = |stack: u32| plan.stacks[stack as usize].tcp_no_metrics_save.then_some(i);
            let [src_is_sender, dst_is_sender] = flow.application.writers();
            let of_src = alone(flow.src_stack).filter(|_| src_is_sender);
            let of_dst = alone(flow.dst_stack).filter(|_| dst_is_sender);
            let src = layout.end(&plan.paths[flow.data_path as usize], flow.src_stack, of_src);
            let dst = layout.end(&plan.paths[flow.ack_path as usize], flow.dst_stack, of_dst);
            layout.join(src, dst);
            layout.flows.push((src, dst));
        }
        layout.programs(plan)?;
        Ok(layout)
    }

    /// Notes that one more flow begins or ends at the NIC at the start of `path`.
    fn nic(&mut self, plan: &Plan, field: &str, path: u32, stack: &Stack) -> Result<(), GuestError> {
        let first = plan.paths[path as usize].first();
        let Some(&Step::Queue(queue)) = first else {
            let value = format!("path {path}, which starts with {first:?}");
            return refuse(field, value, "a real host has one NIC for a flow, so a path starts with a queue");
        };
        if let Some(nic) = self.nics.iter_mut().find(|nic| nic.queue == queue) {
            nic.shared = true;
            nic.mtu = nic.mtu.max(stack.mtu);
            if nic.buffers != stack.receive_buffers {
                let value = format!("{:?}", stack.receive_buffers);
                return refuse(
                    setting(stack, "receive_buffers"),
                    value,
                    "another stack behind the same NIC has others",
                );
            }
            return Ok(());
        }
        let (mtu, buffers) = (stack.mtu, stack.receive_buffers);
        self.nics.push(Nic { queue, link: nic(plan, queue)?, shared: false, mtu, buffers });
        Ok(())
    }

    /// The end at the start of `path`, made if it is new.
    fn end(&mut self, path: &[Step], stack: u32, sender_of: Option<u32>) -> u32 {
        let nic = self.nics.iter().position(|nic| path.first() == Some(&Step::Queue(nic.queue)));
        let nic = nic.expect("every path's NIC is noted before") as u32;
        let known = |end: &End| end.nic == nic && end.stack == stack && end.sender_of == sender_of;
        if let Some(index) = self.ends.iter().position(known) {
            return index as u32;
        }
        self.ends.push(End { nic, stack, sender_of, peers: Vec::new(), rule: None });
        self.ends.len() as u32 - 1
    }

    /// The programs of a host of the plan share one end, with one NIC, stack and congestion control.
    fn programs(&mut self, plan: &Plan) -> Result<(), GuestError> {
        let mut hosts: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
        for (i, flow) in plan.flows.iter().enumerate().filter(|(_, flow)| runs_programs(flow)) {
            let (src, dst) = self.flows[i];
            for (host, end, stack) in [(flow.src, src, flow.src_stack), (flow.dst, dst, flow.dst_stack)] {
                let stack = &plan.stacks[stack as usize];
                let unset = "programs open their sockets themselves; leave it out";
                if let Some(rate) = stack.max_pacing_rate_bps {
                    return refuse(setting(stack, "max_pacing_rate"), rate, unset);
                }
                if stack.tcp_limit_output_bytes.is_none() {
                    let problem = "behind it a packet does not show which program sent it; give a number of bytes";
                    return refuse(setting(stack, "tcp_limit_output_bytes"), "\"off\"", problem);
                }
                let &mut (first, known) = hosts.entry(host).or_insert((i, end));
                let name = format!("\"{}\"", plan.nodes[host as usize].name);
                let of_first = &plan.flows[first];
                if known != end {
                    let what = format!("flows[{i}] (\"{}\"), of host {name}", flow.name);
                    let problem = format!(
                        "programs of one host share its NIC and stack, and flow \"{}\" has another path or stack there",
                        of_first.name
                    );
                    return refuse(what, "program", problem);
                }
                let rule = *self.ends[end as usize].rule.get_or_insert(flow.rule);
                if rule != flow.rule {
                    let problem = format!(
                        "programs of host {name} share one congestion control, and flow \"{}\" has \"{}\"",
                        of_first.name, plan.rules[rule as usize].name
                    );
                    let name = format!("\"{}\"", plan.rules[flow.rule as usize].name);
                    return refuse(format!("flows[{i}].variant"), name, problem);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, a: u32, b: u32) {
        for (end, peer) in [(a, b), (b, a)] {
            let peers = &mut self.ends[end as usize].peers;
            if let Err(place) = peers.binary_search(&peer) {
                peers.insert(place, peer);
            }
        }
    }
}

/// Whether a flow runs programs, whose connections are flows of their own.
pub fn runs_programs(flow: &Flow) -> bool {
    flow.application.commands() != [None, None]
}

fn refuse<T>(
    field: impl Into<String>,
    value: impl std::fmt::Display,
    problem: impl Into<String>,
) -> Result<T, GuestError> {
    Err(GuestError::Unsupported { field: field.into(), value: value.to_string(), problem: problem.into() })
}

fn with_flow(error: GuestError, flow: &str, side: &str) -> GuestError {
    match error {
        GuestError::Unsupported { field, value, problem } => {
            GuestError::Unsupported { field, value, problem: format!("{problem} (the {side} of flow \"{flow}\")") }
        }
        other => other,
    }
}

/// Checks that a queue can be the queueing discipline of a NIC, and returns its link.
fn nic(plan: &Plan, index: u32) -> Result<u32, GuestError> {
    let queue = &plan.queues[index as usize];
    let [link] = queue.served_by[..] else {
        let links = format!("{} links", queue.served_by.len());
        return refuse(format!("queue \"{}\"", queue.name), links, "a host's NIC serves one link");
    };
    let field = |name: &str| format!("{name} of link \"{}\"", plan.links[link as usize].name);
    if queue.discipline.name != "drop_tail" {
        let name = format!("\"{}\"", queue.discipline.name);
        return refuse(field("queue_kind"), name, "a host's NIC is a drop_tail queue");
    }
    if let Some(limit) = queue.returned_limit_packets {
        return refuse(
            field("returned_limit"),
            format!("{limit} packets"),
            "packets cannot come back to a real host's NIC",
        );
    }
    if plan.forks.iter().any(|fork| fork.queue == index) {
        let name = format!("\"{}\"", queue.name);
        return refuse(field("queue"), name, "it is a host's NIC, behind which there is one way");
    }
    if let Some(limit) = queue.limit_packets {
        return refuse(
            field("nic_queue"),
            format!("{limit} packets"),
            "drops at a host's own NIC cannot be recorded; leave nic_queue out",
        );
    }
    if let Some(limit) = queue.limit_bytes {
        return refuse(
            field("nic_queue"),
            format!("{limit} B"),
            "drops at a host's own NIC cannot be recorded; leave nic_queue out",
        );
    }
    if let Some(other) =
        (0..plan.queues.len()).find(|&i| i != index as usize && plan.queues[i].served_by.contains(&link))
    {
        return refuse(
            format!("served_by of queue \"{}\"", plan.queues[other].name),
            format!("\"{}\"", plan.links[link as usize].name),
            "that link is a host's NIC and serves another queue already",
        );
    }
    let changes_nic = |action: &&Action| match **action {
        Action::OpenGate { queue, .. }
        | Action::CloseGate { queue, .. }
        | Action::SetLimit { queue, .. }
        | Action::SetParameter { queue, .. } => queue == index,
        Action::SetRate { link: changed, .. }
        | Action::SetDelay { link: changed, .. }
        | Action::SetLoss { link: changed, .. } => changed == link,
        Action::SetRoute { .. } | Action::Darken { .. } | Action::SetMark { .. } => false,
    };
    if let Some(action) = plan.actions().find(changes_nic) {
        let problem = format!("a timeline cannot change a real host's NIC: {action:?}");
        return refuse(field("queue"), format!("\"{}\"", queue.name), problem);
    }
    let framing = plan.links[link as usize].framing_bytes;
    if framing < headers::ETHERNET as u32 {
        return refuse(field("framing"), framing, "a real NIC sends an Ethernet header of 14 bytes");
    }
    let rate = plan.links[link as usize].rate_bps;
    if !rate.is_multiple_of(8) {
        return refuse(field("rate"), format!("{rate} bit/s"), "the NIC's rate must be a multiple of 8 bit/s");
    }
    Ok(link)
}

/// Checks a stack for what the kernel fixes at build time.
fn supported(stack: &Stack) -> Result<(), GuestError> {
    let field = |name: &str| setting(stack, name);
    if stack.timer_dilation != 1 {
        let problem = "a real host's clock runs as fast as the network's time; use 1";
        return refuse(field("timer_dilation"), stack.timer_dilation, problem);
    }
    // TCP_DELACK_MIN and TCP_DELACK_MAX are constants of the kernel.
    if stack.delayed_ack_min_ps != 40_000_000_000 {
        return refuse(
            field("delayed_ack_min"),
            span(stack.delayed_ack_min_ps),
            "Linux has 40 ms, fixed when it is built",
        );
    }
    if stack.delayed_ack_max_ps != 200_000_000_000 {
        return refuse(
            field("delayed_ack_max"),
            span(stack.delayed_ack_max_ps),
            "Linux has 200 ms, fixed when it is built",
        );
    }
    if !stack.rto_min_ps.is_multiple_of(1_000_000_000) || stack.rto_min_ps == 0 {
        return refuse(field("rto_min"), span(stack.rto_min_ps), "Linux takes whole milliseconds");
    }
    if let Some(clamp) = stack.cwnd_clamp {
        let problem =
            "Linux 6.1 takes it from a route, and only once an earlier connection has ended there; leave it out";
        return refuse(field("cwnd_clamp"), clamp, problem);
    }
    if stack.tdtcp {
        return refuse(field("tdtcp"), true, "Linux 6.1 has no time-division TCP");
    }
    if let Some(mechanism) = stack.legacy.first() {
        return refuse(field("legacy"), format!("{mechanism:?}"), "Linux 6.1 has no mechanisms of older stacks");
    }
    if stack.tcp_rmem.iter().chain(&stack.tcp_wmem).any(|&bytes| bytes > i32::MAX as u64) {
        return refuse(field("tcp_rmem or tcp_wmem"), "above 2147483647", "Linux takes 31 bits");
    }
    Ok(())
}

/// A stack's setting in the notation of scenarios: the default stack is the table "stack", the others are in "stacks".
pub fn setting(stack: &Stack, name: &str) -> String {
    let table = if stack.name == "stack" { "" } else { "stacks." };
    format!("{table}{}.{name}", stack.name)
}

/// A time in the notation of scenarios.
fn span(ps: u64) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let (size, unit) = units.into_iter().find(|&(size, _)| ps >= size && ps.is_multiple_of(size)).unwrap_or((1, "ps"));
    format!("\"{} {unit}\"", ps / size)
}

fn records(plan: &Plan) -> Result<(), GuestError> {
    if plan.records.window_ps == Some(0) {
        return refuse(
            "records.window",
            "\"every ack\"",
            "a real host's window cannot be read on every ACK; give an interval",
        );
    }
    let over_tcp = plan.flows.iter().any(|flow| !flow.application.is_udp());
    if plan.records.latency && over_tcp {
        let problem = "when a segment entered a real host's NIC queue is not known: only datagrams say it";
        return refuse("records.latency", true, problem);
    }
    Ok(())
}

/// The port of the client or the server of a flow, and back.
pub mod ports {
    use super::{FIRST_CLIENT_PORT, FIRST_SERVER_PORT, MOST_FLOWS};

    /// Port of the flow's sender.
    pub fn client(flow: usize) -> u16 {
        FIRST_CLIENT_PORT + flow as u16
    }

    /// Port of the flow's receiver.
    pub fn server(flow: usize) -> u16 {
        FIRST_SERVER_PORT + flow as u16
    }

    /// The flow of a packet, and whether it comes from the sender.
    pub fn flow(source: u16, destination: u16, flows: usize) -> Option<(u32, bool)> {
        let of = |client: u16, server: u16| {
            let flow = usize::from(client.checked_sub(FIRST_CLIENT_PORT)?);
            let known = flow < flows.min(MOST_FLOWS) && self::server(flow) == server;
            known.then_some(flow as u32)
        };
        of(source, destination).map(|flow| (flow, true)).or_else(|| of(destination, source).map(|flow| (flow, false)))
    }
}

/// Nodes at which each link ends are hosts: such a link delivers.
pub fn delivers(plan: &Plan) -> Vec<bool> {
    let host = |node: u32| plan.nodes[node as usize].kind == NodeKind::Host;
    plan.links.iter().map(|link| host(link.to)).collect()
}

/// The steps of a flow behind the NIC, on the way of the data or of the ACKs.
pub fn behind_nic<'a>(plan: &'a Plan, flow: &Flow, data: bool) -> &'a [Step] {
    let path = if data { flow.data_path } else { flow.ack_path };
    &plan.paths[path as usize][1..]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use daybreak_plan::{Legacy, Timeline, TimelineStep, Value, benchmarks};

    /// Two flows of two hosts each, as this engine can run them.
    pub(crate) fn plan() -> Plan {
        let mut plan = benchmarks::find("S2").expect("the benchmark is known").plan();
        for queue in &mut plan.queues {
            if plan.nodes[queue.node as usize].kind == NodeKind::Host {
                (queue.limit_packets, queue.limit_bytes) = (None, None);
            }
        }
        for stack in &mut plan.stacks {
            (stack.delayed_ack_min_ps, stack.delayed_ack_max_ps) = (40_000_000_000, 200_000_000_000);
            stack.tso_max_bytes = 0;
            stack.cwnd_clamp = None;
        }
        for link in &mut plan.links {
            link.framing_bytes = 38;
        }
        plan.records.latency = false;
        plan.records.window_ps = None;
        plan
    }

    fn refusal(plan: &Plan) -> String {
        Layout::of(plan).expect_err("the plan should be refused").to_string()
    }

    #[test]
    fn flows_that_share_a_nic_have_stacks_of_their_own_behind_it() {
        let mut plan = plan();
        plan.flows.truncate(1);
        let alone = Layout::of(&plan).unwrap();
        assert_eq!((alone.nics.len(), alone.ends.len()), (2, 2));
        assert!(alone.nics.iter().all(|nic| !nic.shared));
        assert_eq!(alone.flows, [(0, 1)]);

        plan.flows.push(plan.flows[0].clone());
        let shared = Layout::of(&plan).unwrap();
        assert!(shared.nics.iter().all(|nic| nic.shared));
        // Two senders and one receiver.
        assert_eq!(shared.flows, [(0, 1), (2, 1)]);
        assert_eq!(shared.ends[1].peers, [0, 2]);
        assert_eq!(shared.ends[2].peers, [1]);
    }

    #[test]
    fn what_real_hosts_cannot_do_is_refused_by_name() {
        let mut plan = plan();
        assert!(Layout::of(&plan).is_ok());
        plan.stacks[0].delayed_ack_max_ps = 1;
        assert!(refusal(&plan).contains("delayed_ack_max is \"1 ps\": Linux has 200 ms"), "{}", refusal(&plan));

        let mut plan = self::plan();
        plan.records.window_ps = Some(0);
        assert!(refusal(&plan).contains("records.window is \"every ack\""));

        let mut plan = self::plan();
        plan.stacks[0].timer_dilation = 20;
        assert!(refusal(&plan).contains("timer_dilation is 20"), "{}", refusal(&plan));

        let mut plan = self::plan();
        let Step::Queue(nic) = plan.paths[plan.flows[0].data_path as usize][0] else {
            panic!("a path starts with a queue")
        };
        plan.queues[nic as usize].limit_packets = Some(10);
        assert!(refusal(&plan).contains("nic_queue of link \"0-4\" is 10 packets"), "{}", refusal(&plan));

        let mut plan = self::plan();
        plan.stacks[0].legacy = vec![Legacy::Fack];
        assert!(refusal(&plan).contains("legacy is Fack"));

        let mut plan = self::plan();
        plan.stacks[0].tdtcp = true;
        assert!(refusal(&plan).contains("tdtcp is true: Linux 6.1 has no time-division TCP"), "{}", refusal(&plan));

        let mut plan = self::plan();
        plan.stacks[0].cwnd_clamp = Some(20);
        assert!(refusal(&plan).contains("cwnd_clamp is 20: Linux 6.1"), "{}", refusal(&plan));
        let of_flow = format!("(the sender of flow \"{}\")", plan.flows[0].name);
        assert!(refusal(&plan).ends_with(&of_flow), "{}", refusal(&plan));

        let mut plan = self::plan();
        plan.rules[0].parameters.insert("beta".into(), Value::Number(0.8));
        assert!(refusal(&plan).contains("beta of variant \"cubic\" is 0.8"), "{}", refusal(&plan));

        let mut plan = self::plan();
        let actions = vec![Action::SetRate { link: plan.queues[nic as usize].served_by[0], rate_bps: 1_000_000 }];
        let steps = vec![TimelineStep { offset_ps: 0, actions }];
        plan.timelines.push(Timeline { name: "slow".into(), start_ps: 0, period_ps: 1, steps });
        assert!(refusal(&plan).contains("a timeline cannot change a real host's NIC"), "{}", refusal(&plan));
    }

    #[test]
    fn ports_tell_the_flow_and_the_direction() {
        assert_eq!(ports::flow(ports::client(7), ports::server(7), 8), Some((7, true)));
        assert_eq!(ports::flow(ports::server(7), ports::client(7), 8), Some((7, false)));
        assert_eq!(ports::flow(ports::client(7), ports::server(6), 8), None);
        assert_eq!(ports::flow(ports::client(8), ports::server(8), 8), None);
        assert!(ports::server(MOST_FLOWS - 1) > ports::client(MOST_FLOWS - 1));
    }
}
