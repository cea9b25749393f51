//! Requests and responses, and datagrams at a constant rate: what they take can be derived.

mod plans;

use daybreak_engine::{Records, run};
use daybreak_plan::{Application, Downtime, ExchangeRun, Plan, Step};
use daybreak_units::Rate;
use plans::{MS, US, column as u64s, day_and_night};

/// Without its timeline: 10 Gbit/s, 2 + 16 + 2 us each way, no framing changed.
fn line(application: Application) -> Plan {
    let mut plan = day_and_night(Downtime::Drop);
    plan.timelines.clear();
    plan.flows[0].application = application;
    plan.end_ps = 100 * MS;
    plan.stop_when_flows_complete = true;
    plan
}

fn asks(runs: &[(u32, u64, u64, u64)]) -> Application {
    let run = |&(count, request_bytes, response_bytes, think_ps)| ExchangeRun {
        count,
        request_bytes,
        response_bytes,
        think_ps,
    };
    Application::RequestResponse { exchanges: runs.iter().map(run).collect() }
}

/// Time that a packet takes on idle links, store and forward.
fn crossing(plan: &Plan, steps: &[Step], ip_bytes: u32) -> u64 {
    let of = |step: &Step| match step {
        Step::Queue(queue) => {
            let link = &plan.links[plan.queues[*queue as usize].served_by[0] as usize];
            let wire = u64::from(ip_bytes + link.framing_bytes);
            Rate::from_bps(link.rate_bps).time_for(wire).as_ps() + link.delay_ps
        }
        Step::RouteSwitch(_) => crossing(plan, &plan.paths[0], ip_bytes),
        other => panic!("the plan has no {other:?}"),
    };
    steps.iter().map(of).sum()
}

fn ways(plan: &Plan) -> [Vec<Step>; 2] {
    let flow = &plan.flows[0];
    [flow.data_path, flow.ack_path].map(|path| plan.paths[path as usize].clone())
}

/// IP and TCP headers with timestamps.
const HEADERS: u32 = 52;

#[test]
fn a_small_exchange_takes_a_round_trip_and_the_first_one_more() {
    let think = 3 * MS;
    let plan = line(asks(&[(3, 300, 700, think)]));
    let records = run(&plan).unwrap();
    let [out, back] = ways(&plan);
    let exchange = crossing(&plan, &out, HEADERS + 300) + crossing(&plan, &back, HEADERS + 700);
    // SYN and SYN-ACK have 40 bytes of TCP header: MSS, SACK permitted, timestamps, window scale. The ACK of the
    // handshake goes before the request, which so waits for it at the NIC. The server acknowledges the first request at
    // once, since it has sent no data yet (no "pingpong" mode in Linux), and the response waits for that ACK.
    let nic = plan.links[0].rate_bps;
    let ack = Rate::from_bps(nic).time_for(u64::from(HEADERS + plan.links[0].framing_bytes)).as_ps();
    let handshake = crossing(&plan, &out, 60) + crossing(&plan, &back, 60) + 2 * ack;
    let (start, end) = (u64s(&records, "exchanges", "start_ns"), u64s(&records, "exchanges", "end_ns"));
    let mut now = plan.flows[0].start_ps;
    for k in 0..3 {
        let begin = if k == 0 { now } else { now + think };
        now = begin + exchange + if k == 0 { handshake } else { 0 };
        assert_eq!((start[k], end[k]), (begin / 1_000, now / 1_000), "exchange {k}");
    }
    assert_eq!(u64s(&records, "flows", "end_ns"), [now / 1_000]);
    assert_eq!(u64s(&records, "flows", "bytes"), [3_000]);
    assert_eq!(u64s(&records, "flows", "delivered_bytes"), [3_000]);
    assert_eq!(u64s(&records, "flows", "segments"), [6], "a request and a response are a segment each");
}

#[test]
fn exchanges_of_all_sizes_are_complete_under_loss() {
    let runs = [(4, 100_000, 1, 0), (3, 1, 400_000, 50 * US), (1, 1, 1, MS)];
    for loss_ppb in [0, 10_000_000] {
        let mut plan = line(asks(&runs));
        plan.end_ps = 20_000 * MS;
        plan.links.iter_mut().for_each(|link| link.loss_ppb = loss_ppb);
        let records = run(&plan).unwrap();
        assert_eq!(u64s(&records, "exchanges", "end_ns").len(), 8);
        assert_eq!(u64s(&records, "flows", "delivered_bytes"), [4 * 100_001 + 3 * 400_001 + 2]);
        assert_eq!(u64s(&records, "flows", "retransmits")[0] > 0, loss_ppb > 0);
        let (start, end) = (u64s(&records, "exchanges", "start_ns"), u64s(&records, "exchanges", "end_ns"));
        for k in 1..8 {
            let think = [0, 0, 0, 0, 50_000, 50_000, 50_000, 1_000_000][k];
            assert!(start[k] - end[k - 1] - think <= 1, "exchange {k} begins when the client has thought");
        }
    }
}

fn datagrams(rate_bps: u64, payload_bytes: u32, stop_ps: Option<u64>) -> Application {
    Application::ConstantRate { rate_bps, payload_bytes, stop_ps }
}

fn total(records: &Records, name: &str) -> u64 {
    u64s(records, "datagrams", name)[0]
}

#[test]
fn datagrams_keep_their_rate_and_their_delay() {
    // 1000 bytes at 1 Gbit/s are 8 us apart: 125 in a millisecond.
    let mut plan = line(datagrams(1_000_000_000, 1_000, None));
    let stop_ps = Some(plan.flows[0].start_ps + MS);
    plan.flows[0].application = datagrams(1_000_000_000, 1_000, stop_ps);
    let records = run(&plan).unwrap();
    assert_eq!((total(&records, "sent"), total(&records, "delivered")), (125, 125));
    assert_eq!((total(&records, "lost"), total(&records, "reordered")), (0, 0));
    let delay = crossing(&plan, &ways(&plan)[0], 1_028) / 1_000;
    for name in ["delay_min_ns", "delay_mean_ns", "delay_max_ns"] {
        assert_eq!(total(&records, name), delay, "{name}");
    }
    assert_eq!(u64s(&records, "flows", "segments"), [125]);
    assert_eq!(u64s(&records, "flows", "delivered_bytes"), [125_000]);
    assert_eq!(u64s(&records, "flows", "end_ns"), [u64::MAX], "nobody tells a source that it is complete");
}

#[test]
fn what_a_full_queue_does_not_take_is_lost() {
    let mut plan = line(datagrams(4_000_000_000, 972, None));
    plan.end_ps = 10 * MS;
    // The link behind the left switch sends 1000 bytes of IP at half of that rate.
    let core = plan.queues[2].served_by[0] as usize;
    let framing = u64::from(plan.links[core].framing_bytes);
    plan.links[core].rate_bps = 2_000_000_000 * (1_000 + framing) / 1_000;
    let records = run(&plan).unwrap();
    let (sent, delivered) = (total(&records, "sent"), total(&records, "delivered"));
    assert_eq!(sent, delivered + total(&records, "lost") + total(&records, "in_flight"));
    // 8 us each is 2500 in all, less what is still to come when the first one is delivered; the queue takes 100.
    let share = 10 * MS / 4_000_000;
    assert!((share - 20..=share).contains(&delivered), "{delivered} of {share}");
    assert!(total(&records, "lost") > sent / 2 - 200);
    // A datagram that gets the last place waits for 99 or 100 others of 4 us.
    let longest = total(&records, "delay_max_ns") - total(&records, "delay_min_ns");
    assert!((396_000..=404_000).contains(&longest), "{longest}");
}

#[test]
fn what_is_due_is_acknowledged_before_the_application_closes() {
    let mut plan = line(Application::Bulk { bytes: Some(17 * 1_448) });
    plan.stop_when_flows_complete = false;
    plan.stacks.iter_mut().for_each(|stack| stack.mtu = 1_500);
    let records = run(&plan).unwrap();
    // SYN, ACK, 17 segments with the FIN on the last, and the last ACK; SYN-ACK, an ACK of each segment, since each makes the
    // window grow, and then the FIN, which is no part of the last of these. Three links each way.
    assert_eq!(records.packet_hops, 3 * (2 + 17 + 1 + 1 + 17 + 1));
}
