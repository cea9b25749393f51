//! The benchmark scenarios S1 to S4, which are identical for every simulator that is compared.
//!
//! Each is a topology of full-duplex links with one drop-tail queue per direction, limited in full-size
//! packets (a host's NIC never drops), fixed paths, and bulk flows of CUBIC with SACK, timestamps, an
//! initial window of 10 and at most 1000 packets in flight. Nothing is framed, paced or recorded.

use daybreak_units::splitmix;

use crate::{
    Application, Choice, Flow, Link, Linux, Node, NodeKind, PLAN_VERSION, Plan, Queue, ReceiveBuffers, Records,
    Scheduler, Stack, Step,
};

/// One benchmark.
#[derive(Clone, Copy)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    build: fn() -> Topology,
    end_us: u64,
}

const DUMBBELL: &str = "16 endless flows over a 10 Gbit/s dumbbell";
const LEAF_SPINE: &str = "72 flows of 250 MB over 6 leaves and 2 spines of 1 Gbit/s";
const SCALE: &str = "1024 hosts, a permutation over 32 leaves and 16 spines of 10 Gbit/s";

/// All benchmarks. Those with a time in their name are cut short: the difference of two excludes set-up and start.
pub const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "S1", summary: DUMBBELL, build: dumbbell_16, end_us: 2_000_000 },
    Benchmark { name: "S2", summary: "2 flows of 2 GiB in jumbo frames", build: two_flows, end_us: 60_000_000 },
    Benchmark { name: "S3", summary: LEAF_SPINE, build: leaf_spine_1g, end_us: 10_000_000 },
    Benchmark { name: "S4", summary: SCALE, build: scale, end_us: 50_000 },
    Benchmark { name: "S1-50ms", summary: DUMBBELL, build: dumbbell_16, end_us: 50_000 },
    Benchmark { name: "S1-100ms", summary: DUMBBELL, build: dumbbell_16, end_us: 100_000 },
    Benchmark { name: "S3-100ms", summary: LEAF_SPINE, build: leaf_spine_1g, end_us: 100_000 },
    Benchmark { name: "S3-200ms", summary: LEAF_SPINE, build: leaf_spine_1g, end_us: 200_000 },
    Benchmark { name: "S4-3ms", summary: SCALE, build: scale, end_us: 3_000 },
    Benchmark { name: "S4-4ms", summary: SCALE, build: scale, end_us: 4_000 },
    Benchmark { name: "S4-10ms", summary: SCALE, build: scale, end_us: 10_000 },
];

/// Looks a benchmark up by its name.
pub fn find(name: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.name == name)
}

impl Benchmark {
    /// The plan of the benchmark.
    pub fn plan(&self) -> Plan {
        (self.build)().into_plan(self.end_us)
    }

    /// The scenario in the line format that the harnesses of other simulators read: `name`, `pkt`
    /// (bytes), `maxwin` (packets), `end` (s; 0 until all is acknowledged), `nodes`, `hosts`; then
    /// `link A B BIT/S DELAY_NS QUEUE_AB QUEUE_BA`; then `flow SRC DST BYTES START_NS K NODE...`,
    /// each with `rev K NODE...`, the path of its ACKs.
    pub fn text(&self) -> String {
        let topology = (self.build)();
        let until_done = topology.flows.iter().any(|flow| flow.bytes > 0) && self.end_us == 60_000_000;
        let end = if until_done { "0".to_owned() } else { seconds(self.end_us) };
        let mut lines = vec![
            format!("name {}", self.name),
            format!("pkt {}", topology.packet_bytes),
            format!("maxwin {MAX_WINDOW}"),
            format!("end {end}"),
            format!("nodes {}", topology.nodes),
            format!("hosts {}", topology.hosts),
        ];
        for cable in &topology.cables {
            let Cable { a, b, bps, delay_ns, queue_ab, queue_ba } = cable;
            lines.push(format!("link {a} {b} {bps} {delay_ns} {queue_ab} {queue_ba}"));
        }
        let nodes = |path: &[u32]| path.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        for Transfer { bytes, start_ns, data_path, ack_path } in &topology.flows {
            let (src, dst, count) = (data_path[0], ack_path[0], data_path.len());
            lines.push(format!("flow {src} {dst} {bytes} {start_ns} {count} {}", nodes(data_path)));
            lines.push(format!("rev {} {}", ack_path.len(), nodes(ack_path)));
        }
        lines.join("\n") + "\n"
    }
}

/// Seconds as the reference generator prints them.
fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// Limit on the packets of a flow in flight.
const MAX_WINDOW: u32 = 1_000;
/// A host's NIC queue, in packets: it never drops.
const NIC_QUEUE: u64 = 100_000;
const GBPS: u64 = 1_000_000_000;

/// A full-duplex link.
struct Cable {
    a: u32,
    b: u32,
    bps: u64,
    delay_ns: u64,
    /// Queues in packets.
    queue_ab: u64,
    queue_ba: u64,
}

/// A flow along the nodes of its paths.
struct Transfer {
    bytes: u64,
    start_ns: u64,
    data_path: Vec<u32>,
    ack_path: Vec<u32>,
}

/// A network in which hosts come first.
struct Topology {
    packet_bytes: u32,
    nodes: u32,
    hosts: u32,
    cables: Vec<Cable>,
    flows: Vec<Transfer>,
}

struct Dumbbell {
    pairs: u32,
    access: (u64, u64),
    core: (u64, u64),
    packet_bytes: u32,
    bytes: u64,
    gap_ns: u64,
}

/// S1.
fn dumbbell_16() -> Topology {
    let access = (100 * GBPS, 1_000);
    let core = (10 * GBPS, 20_000);
    Dumbbell { pairs: 16, access, core, packet_bytes: 1_500, bytes: 0, gap_ns: 100_000 }.build()
}

/// S2.
fn two_flows() -> Topology {
    let access = (10 * GBPS, 2_500);
    let core = (10 * GBPS, 10_000);
    Dumbbell { pairs: 2, access, core, packet_bytes: 9_000, bytes: 2 << 30, gap_ns: 1_000_000 }.build()
}

impl Dumbbell {
    /// Senders, then receivers, then the two switches; 350 packets fit before the core link.
    fn build(self) -> Topology {
        let Self { pairs, access, core, packet_bytes, bytes, gap_ns } = self;
        let (left, right) = (2 * pairs, 2 * pairs + 1);
        let cable = |a, b, (bps, delay_ns), queue| Cable { a, b, bps, delay_ns, queue_ab: queue, queue_ba: queue };
        let mut cables: Vec<Cable> = (0..pairs).map(|i| cable(i, left, access, NIC_QUEUE)).collect();
        cables.extend((0..pairs).map(|i| cable(right, pairs + i, access, NIC_QUEUE)));
        cables.push(cable(left, right, core, 350));
        let flows = (0..pairs).map(|i| Transfer {
            bytes,
            start_ns: u64::from(i) * gap_ns,
            data_path: vec![i, left, right, pairs + i],
            ack_path: vec![pairs + i, right, left, i],
        });
        let flows = flows.collect();
        Topology { packet_bytes, nodes: 2 * pairs + 2, hosts: 2 * pairs, cables, flows }
    }
}

struct LeafSpine {
    leaves: u32,
    hosts_per_leaf: u32,
    spines: u32,
    bps: u64,
    delay_ns: u64,
    seed: u64,
}

/// S3: host h of leaf 0, 1, 2 sends to host h of leaf 3, 4, 5.
fn leaf_spine_1g() -> Topology {
    let pairs = (0..3).flat_map(|leaf| (0..24).map(move |host| (leaf * 24 + host, (leaf + 3) * 24 + host)));
    let shape = LeafSpine { leaves: 6, hosts_per_leaf: 24, spines: 2, bps: GBPS, delay_ns: 5_000, seed: 3 };
    shape.build(pairs.collect(), 250_000_000, 10_000)
}

/// S4.
fn scale() -> Topology {
    let shape = LeafSpine { leaves: 32, hosts_per_leaf: 32, spines: 16, bps: 10 * GBPS, delay_ns: 1_000, seed: 4 };
    shape.build((0..).zip(permutation(1024, 4)).collect(), 0, 1_000)
}

impl LeafSpine {
    /// Hosts, then leaves, then spines; 100 packets fit into a switch's queue. The spine of a path
    /// follows from its destination.
    fn build(self, pairs: Vec<(u32, u32)>, bytes: u64, gap_ns: u64) -> Topology {
        let Self { leaves, hosts_per_leaf, spines, bps, delay_ns, seed } = self;
        let hosts = leaves * hosts_per_leaf;
        let leaf = |host: u32| hosts + host / hosts_per_leaf;
        let spine = |host: u32| {
            let choice = splitmix(seed * 1_000_003 + u64::from(host)) % u64::from(spines);
            hosts + leaves + choice as u32
        };
        let route = |from: u32, to: u32| {
            if leaf(from) == leaf(to) {
                vec![from, leaf(from), to]
            } else {
                vec![from, leaf(from), spine(to), leaf(to), to]
            }
        };
        let cable = |a, b, queue_ab| Cable { a, b, bps, delay_ns, queue_ab, queue_ba: 100 };
        let mut cables: Vec<Cable> = (0..hosts).map(|host| cable(host, leaf(host), NIC_QUEUE)).collect();
        for l in 0..leaves {
            cables.extend((0..spines).map(|s| cable(hosts + l, hosts + leaves + s, 100)));
        }
        let flows = pairs.iter().zip(0..).map(|(&(src, dst), index)| Transfer {
            bytes,
            start_ns: index * gap_ns,
            data_path: route(src, dst),
            ack_path: route(dst, src),
        });
        let flows = flows.collect();
        Topology { packet_bytes: 1_500, nodes: hosts + leaves + spines, hosts, cables, flows }
    }
}

/// A Fisher-Yates shuffle of `0..n`; hosts that would send to themselves exchange their targets.
fn permutation(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for i in (1..n).rev() {
        let j = splitmix(seed * 7_919 + u64::from(i)) % u64::from(i + 1);
        order.swap(i as usize, j as usize);
    }
    let fixed: Vec<u32> = (0..n).filter(|&i| order[i as usize] == i).collect();
    for (i, &host) in fixed.iter().enumerate() {
        order[host as usize] = fixed[(i + 1) % fixed.len()];
    }
    if let [alone] = fixed[..] {
        order.swap(alone as usize, ((alone + 1) % n) as usize);
    }
    order
}

impl Topology {
    /// Each cable becomes two links, each with its queue of the same index.
    fn into_plan(self, end_us: u64) -> Plan {
        let mut links = Vec::with_capacity(2 * self.cables.len());
        let mut queues = Vec::with_capacity(2 * self.cables.len());
        let mut queue_between = std::collections::BTreeMap::new();
        for &Cable { a, b, bps, delay_ns, queue_ab, queue_ba } in &self.cables {
            for (from, to, packets) in [(a, b, queue_ab), (b, a, queue_ba)] {
                let index = links.len() as u32;
                let name = format!("{from}-{to}");
                queue_between.insert((from, to), index);
                queues.push(Queue {
                    name: name.clone(),
                    node: from,
                    discipline: Choice::plain("drop_tail"),
                    limit_packets: Some(packets),
                    limit_bytes: None,
                    served_by: vec![index],
                    priority: 0,
                    returned_limit_packets: None,
                });
                links.push(Link {
                    name,
                    from,
                    to,
                    rate_bps: bps,
                    delay_ps: delay_ns * 1_000,
                    framing_bytes: 0,
                    loss_ppb: 0,
                    jitter_ps: 0,
                    scheduler: Scheduler::RoundRobin,
                });
            }
        }
        let mut paths = Vec::with_capacity(2 * self.flows.len());
        let mut add_path = |nodes: &[u32]| {
            paths.push(nodes.windows(2).map(|hop| Step::Queue(queue_between[&(hop[0], hop[1])])).collect());
            paths.len() as u32 - 1
        };
        let flows = self.flows.iter().enumerate().map(|(index, flow)| Flow {
            name: format!("flow {index}"),
            group: 0,
            src: flow.data_path[0],
            dst: flow.ack_path[0],
            src_stack: 0,
            dst_stack: 0,
            rule: 0,
            application: Application::Bulk { bytes: Some(flow.bytes).filter(|&bytes| bytes > 0) },
            start_ps: flow.start_ns * 1_000,
            data_path: add_path(&flow.data_path),
            ack_path: add_path(&flow.ack_path),
        });
        let flows = flows.collect();
        let node = |index: u32| Node {
            name: index.to_string(),
            kind: if index < self.hosts { NodeKind::Host } else { NodeKind::Switch },
        };
        Plan {
            version: PLAN_VERSION,
            seed: 1,
            end_ps: end_us * 1_000_000,
            stop_when_flows_complete: true,
            nodes: (0..self.nodes).map(node).collect(),
            links,
            queues,
            paths,
            route_switches: Vec::new(),
            forks: Vec::new(),
            marks: Vec::new(),
            markers: Vec::new(),
            timelines: Vec::new(),
            controllers: Vec::new(),
            stacks: vec![stack(self.packet_bytes)],
            rules: vec![Choice::plain("cubic")],
            groups: vec!["all".to_owned()],
            flows,
            records: Records::default(),
        }
    }
}

/// Linux's defaults, except that the window is limited only by [`MAX_WINDOW`] packets, ACKs are delayed by 40 ms, and
/// segmentation offload and TCP small queues are off.
fn stack(packet_bytes: u32) -> Stack {
    let buffer = 4 * u64::from(MAX_WINDOW) * u64::from(packet_bytes);
    Stack {
        name: "benchmark".to_owned(),
        mtu: packet_bytes,
        initial_window: 10,
        cwnd_clamp: Some(MAX_WINDOW),
        hz: 1_000,
        linux: Linux::default(),
        timer_dilation: 1,
        rto_min_ps: 200_000_000_000,
        delayed_ack_min_ps: 40_000_000_000,
        delayed_ack_max_ps: 40_000_000_000,
        tcp_rmem: [4_096, buffer, buffer],
        tcp_wmem: [4_096, buffer, buffer],
        tcp_moderate_rcvbuf: false,
        tcp_adv_win_scale: 1,
        receive_buffers: ReceiveBuffers::default(),
        tcp_window_scaling: true,
        tcp_timestamps: true,
        tcp_sack: true,
        tcp_dsack: true,
        tcp_frto: 2,
        tcp_early_retrans: 3,
        tcp_recovery: 1,
        tcp_reordering: 3,
        tcp_max_reordering: 300,
        tcp_slow_start_after_idle: true,
        tcp_ecn: 0,
        tcp_comp_sack_delay_ns: 1_000_000,
        tcp_comp_sack_slack_ns: 100_000,
        tcp_comp_sack_nr: 44,
        tso_max_bytes: 0,
        tcp_limit_output_bytes: None,
        tdtcp: false,
        legacy: Vec::new(),
        tcp_no_metrics_save: true,
        tcp_no_ssthresh_metrics_save: true,
        max_pacing_rate_bps: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a of the files written by the reference generator, which all compared simulators share.
    #[test]
    fn scenarios_are_those_of_the_peers() {
        let digest = |text: &str| {
            text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        let expected = [
            ("S1", 0x74c3_e471_64c5_0909),
            ("S2", 0x4a1e_7deb_9a6f_ea83),
            ("S3", 0x3c63_eb46_df6a_16a2),
            ("S4", 0x91b6_b9a8_4223_46c1),
            ("S1-50ms", 0x6d70_863d_18cb_2c22),
            ("S1-100ms", 0xc8c9_06a5_03cf_d6d0),
            ("S3-100ms", 0xa2ce_9351_f40a_77d4),
            ("S3-200ms", 0x9585_cae8_9177_ec0e),
            ("S4-3ms", 0xee20_da4a_4ff6_a0c7),
            ("S4-4ms", 0x9571_4522_4797_bf05),
            ("S4-10ms", 0xf8d5_a39a_f83f_2685),
        ];
        let found: Vec<_> = BENCHMARKS.iter().map(|benchmark| (benchmark.name, digest(&benchmark.text()))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn plans_are_valid_and_have_the_text_s_links_and_flows() {
        for benchmark in BENCHMARKS {
            let plan = benchmark.plan();
            plan.validate().unwrap();
            let count = |word: &str| benchmark.text().lines().filter(|line| line.starts_with(word)).count();
            assert_eq!(plan.links.len(), 2 * count("link "));
            assert_eq!(plan.flows.len(), count("flow "));
        }
    }
}
