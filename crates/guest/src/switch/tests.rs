use super::*;
use crate::discover::NO_OWNER;
use crate::layout::tests::plan;
use daybreak_plan::{Application, Choice, ControlledFlow, Controller, Controls, Downtime, RouteSwitch, Step};
use daybreak_trace::{ControlRow, FlowRow, Silent};
use daybreak_units::Rate;

const PAYLOAD: u16 = 1_000;

/// A data packet of flow 0: Ethernet, IPv4 and TCP headers.
fn data() -> Vec<u8> {
    let mut bytes = vec![0u8; 54];
    bytes[12] = 8;
    bytes[14] = 0x45;
    bytes[16..18].copy_from_slice(&(40 + PAYLOAD).to_be_bytes());
    bytes[23] = 6;
    bytes[34..36].copy_from_slice(&ports::client(0).to_be_bytes());
    bytes[36..38].copy_from_slice(&ports::server(0).to_be_bytes());
    bytes[46] = 5 << 4;
    bytes[47] = crate::headers::flags::ACK;
    bytes
}

fn at(nic: u32) -> Origin {
    Origin { nic, owner: NO_OWNER }
}

#[expect(unsafe_code, reason = "the bytes outlive the switch in every test")]
fn skb(handle: u64, bytes: &mut [u8]) -> Skb {
    // SAFETY: see above.
    unsafe { Skb::new(handle, bytes, 54 + u32::from(PAYLOAD), false) }
}

fn links_of_data(plan: &Plan) -> Vec<usize> {
    let link = |step: &Step| match step {
        Step::Queue(queue) => plan.queues[*queue as usize].served_by[0] as usize,
        other => panic!("the benchmark has no {other:?}"),
    };
    plan.paths[plan.flows[0].data_path as usize].iter().map(link).collect()
}

fn switch(plan: &Plan) -> Switch<Silent> {
    Switch::new(plan, &Layout::of(plan).unwrap(), Silent, None)
}

#[test]
fn a_packet_is_delivered_when_it_has_crossed_its_links_and_not_before() {
    let plan = plan();
    let crossing = links_of_data(&plan).into_iter().map(|link| {
        let link = &plan.links[link];
        let wire = u64::from(40 + u32::from(PAYLOAD) + link.framing_bytes);
        Rate::from_bps(link.rate_bps).time_for(wire).as_ps() + link.delay_ps
    });
    let start = Instant::from_ps(5_000);
    let due = Instant::from_ps(start.as_ps() + crossing.sum::<u64>());
    let (mut switch, mut bytes) = (switch(&plan), data());
    assert!(switch.send(start, at(0), skb(77, &mut bytes)).unwrap());
    let receiver = Layout::of(&plan).unwrap().ends[1].nic;
    let mut calls = 0;
    loop {
        let now = switch.next();
        assert!(now <= due, "it would be late");
        calls += 1;
        let orders = switch.advance(now).to_vec();
        if now == due {
            assert_eq!(orders, [Order { handle: 77, nic: receiver, deliver: 1 }]);
            break;
        }
        assert_eq!(orders, []);
    }
    assert!(calls <= links_of_data(&plan).len() + 1, "it asks for {calls} calls");
    let mut row = FlowRow::default();
    switch.flows[0].fill(&mut row);
    assert_eq!(row.delivered_bytes, u64::from(PAYLOAD));
    let last = *links_of_data(&plan).last().unwrap();
    let count = switch.link_totals(due)[last];
    assert_eq!((count.packets, count.arrived), (1, 1));
}

#[test]
fn a_lost_packet_is_given_back_at_once_by_its_nic_and_later_by_the_fabric() {
    let mut lossy = plan();
    let links = links_of_data(&lossy);
    lossy.links[links[0]].loss_ppb = 1_000_000_000;
    let mut bytes = data();
    assert!(!switch(&lossy).send(Instant::ZERO, at(0), skb(1, &mut bytes)).unwrap());
    lossy.links[links[0]].loss_ppb = 0;
    lossy.links[links[1]].loss_ppb = 1_000_000_000;
    let mut switch = switch(&lossy);
    assert!(switch.send(Instant::ZERO, at(0), skb(1, &mut bytes)).unwrap());
    let orders = std::iter::from_fn(|| {
        let now = switch.next();
        Some(switch.advance(now).to_vec())
    });
    let first = orders.take(10).find(|orders| !orders.is_empty());
    assert_eq!(first.unwrap(), [Order { handle: 1, nic: 0, deliver: 0 }]);
}

/// Keeps what arrives.
#[derive(Default)]
struct Arrived(Vec<(u32, u64)>);

impl Probe for Arrived {
    fn arrived(&mut self, _now: Instant, flow: u32, bytes: u64) {
        self.0.push((flow, bytes));
    }
}

#[test]
fn payload_counts_each_time_that_it_arrives() {
    let plan = plan();
    let mut switch = Switch::new(&plan, &Layout::of(&plan).unwrap(), Arrived::default(), None);
    for (handle, us) in [(1, 1), (2, 100_000)] {
        let mut bytes = data();
        assert!(switch.send(Instant::from_ps(us * 1_000_000), at(0), skb(handle, &mut bytes)).unwrap());
        while switch.advance(switch.next()).is_empty() {}
    }
    assert_eq!(switch.watch.probe.0, [(0, u64::from(PAYLOAD)); 2]);
    let mut row = FlowRow::default();
    switch.flows[0].fill(&mut row);
    assert_eq!((row.delivered_bytes, row.duplicates), (u64::from(PAYLOAD), 1));
}

/// Keeps what controllers decide.
#[derive(Default)]
struct Decided(Vec<(u64, u8, u32, u32)>);

impl Probe for Decided {
    fn control(&mut self, row: ControlRow) {
        self.0.push((row.time_ns, row.event, row.flow, row.path));
    }
}

/// The receiver's first ACK of all payload is the end of the flow.
#[test]
fn a_controller_hears_when_flows_start_and_end() {
    let mut plan = plan();
    for flow in 0..2 {
        let whole = plan.paths[plan.flows[flow as usize].data_path as usize].clone();
        let Step::Queue(second) = whole[1] else { panic!("the benchmark has queues alone") };
        let tail = plan.paths.len() as u32;
        plan.route_switches.push(RouteSwitch {
            name: format!("switch {flow}"),
            node: plan.queues[second as usize].node,
            alternatives: vec![tail, tail],
            initial: 0,
            hold_limit_packets: None,
        });
        plan.paths.extend([whole[1..].to_vec(), vec![whole[0], Step::RouteSwitch(flow)]]);
        plan.flows[flow as usize].data_path = tail + 1;
        plan.flows[flow as usize].start_ps = 1_000_000 * (1 + u64::from(flow));
    }
    plan.flows[0].application = Application::Bulk { bytes: Some(1_000) };
    let flow = |flow| ControlledFlow { flow, route_switches: vec![flow], priority: 0, deadline_ps: None };
    let flows = vec![flow(0), flow(1)];
    plan.controllers = vec![Controller {
        name: "broker".into(),
        policy: Choice::plain("first_come"),
        setup_ps: 0,
        controls: Controls::ControlledFlows { flows, paths: 2, downtime: Downtime::Hold },
    }];
    plan.stop_when_flows_complete = false;
    plan.validate().unwrap();
    let layout = Layout::of(&plan).unwrap();
    let mut switch = Switch::new(&plan, &layout, Decided::default(), None);
    let [asked, got, released] = [0, 2, 3];
    switch.advance(Instant::from_ps(2_500_000));
    assert_eq!(switch.probe().0, [(1_000, asked, 0, 0), (1_000, got, 0, 1), (2_000, asked, 1, 0)]);
    // The data, and its acknowledgement.
    let mut bytes = data();
    assert!(
        switch
            .send(Instant::from_ps(3_000_000), at(layout.ends[layout.flows[0].0 as usize].nic), skb(1, &mut bytes))
            .unwrap()
    );
    let mut ack = data();
    (ack[34..36]).copy_from_slice(&ports::server(0).to_be_bytes());
    (ack[36..38]).copy_from_slice(&ports::client(0).to_be_bytes());
    ack[16..18].copy_from_slice(&40u16.to_be_bytes());
    ack[42..46].copy_from_slice(&u32::from(PAYLOAD).to_be_bytes());
    let nic = layout.ends[layout.flows[0].1 as usize].nic;
    assert!(switch.send(Instant::from_ps(4_000_000), at(nic), skb(2, &mut ack)).unwrap());
    switch.advance(Instant::from_ps(plan.end_ps - 1));
    let end = switch.ends[0].expect("everything is acknowledged").as_ns();
    assert_eq!(switch.probe().0[3..], [(end, released, 0, 1), (end, got, 1, 1)]);
}

#[test]
fn packets_of_strangers_are_forgotten_or_an_error() {
    let plan = plan();
    let (mut switch, mut bytes) = (switch(&plan), data());
    let mut arp = bytes.clone();
    arp[13] = 6;
    assert!(!switch.send(Instant::ZERO, at(0), skb(1, &mut arp)).unwrap());
    assert!(switch.send(Instant::ZERO, at(1), skb(1, &mut bytes)).is_err(), "another host's NIC");
    bytes[34] = 0;
    assert!(switch.send(Instant::ZERO, at(0), skb(1, &mut bytes)).is_err(), "no flow has that port");
}

#[test]
fn the_run_is_over_at_its_end() {
    let plan = plan();
    let mut switch = switch(&plan);
    let end = Instant::from_ps(plan.end_ps);
    assert_eq!(switch.next(), end);
    switch.advance(end);
    assert_eq!(switch.stopped, Some(end));
    assert!(!switch.send(end, at(0), skb(1, &mut data())).unwrap(), "nothing is taken any more");
    assert_eq!(switch.next(), Instant::NEVER);
}
