//! Whole runs: what the tables say fits together, and the same plan gives the same bytes.

mod plans;

use daybreak_engine::{Records, Simulation, run};
use daybreak_plan::{Application, Downtime, NodeKind, Plan, Step, benchmarks};
use plans::captured::captured;
use plans::{MS, US, all_recorded, column, day_and_night, rows};

#[test]
fn a_flow_is_complete_under_every_policy_and_the_tables_agree() {
    for downtime in Downtime::ALL {
        let plan = all_recorded(day_and_night(downtime));
        let records = run(&plan).unwrap();
        assert_eq!(column(&records, "flows", "delivered_bytes"), [4_000_000], "{downtime:?}");
        let fct = column(&records, "flows", "fct_ns")[0];
        // 4 MB take 3.2 ms at 10 Gbit/s.
        assert!((3_200_000..300_000_000).contains(&fct), "{downtime:?}: {fct} ns");
        assert_eq!(column(&records, "flows", "end_ns")[0], 10_000 + fct);

        let scope = column(&records, "bins", "scope");
        let bytes = column(&records, "bins", "bytes");
        let ids = column(&records, "bins", "id");
        let sum = |wanted: u64, id: u64| -> u64 {
            (0..bytes.len()).filter(|&i| scope[i] == wanted && ids[i] == id).map(|i| bytes[i]).sum()
        };
        assert_eq!(sum(0, 0), 4_000_000, "delivered");
        let again = column(&records, "flows", "duplicates")[0] * u64::from(plan.stacks[0].mtu);
        assert!((4_000_000..=4_000_000 + again).contains(&sum(3, 0)), "arrived: {} of {again}", sum(3, 0));
        let most = |wanted| (0..bytes.len()).filter(|&i| scope[i] == wanted).map(|i| bytes[i]).max().unwrap();
        let line = plan.links[0].rate_bps / 8 * (plan.records.bin_ps.unwrap() / US) / 1_000_000;
        assert!(most(3) <= line + u64::from(plan.stacks[0].mtu), "{} arrive where the link has {line}", most(3));
        assert!(downtime != Downtime::Drop || most(0) > most(3), "a hole is filled");
        let link_bytes = column(&records, "links", "bytes");
        assert_eq!(sum(2, 6), link_bytes[6], "link bins");
        assert_eq!(sum(1, 0), link_bytes[2] + link_bytes[4], "taps see every data packet once");

        let drops = rows(&records, "drops") as u64;
        if downtime == Downtime::Drop {
            assert!(column(&records, "drops", "reason").contains(&1), "a night loses packets");
        }
        let segments = column(&records, "flows", "segments")[0];
        let retransmits = column(&records, "flows", "retransmits")[0];
        assert!(drops <= retransmits + 1, "{downtime:?}: {drops} lost, {retransmits} sent again");
        let delays: u64 = column(&records, "latency", "packets").iter().sum();
        assert!(delays + drops >= segments - 10 && delays + drops <= segments, "{delays} {drops} {segments}");
        let steps = column(&records, "circuits", "time_ns");
        assert_eq!(steps[..3], [450_000, 500_000, 950_000]);
        assert!(rows(&records, "window") > 10 && rows(&records, "queues") > 10);
    }
}

#[test]
fn a_window_is_sampled_while_nothing_happens() {
    let mut plan = all_recorded(day_and_night(Downtime::Drop));
    let interval_ns = plan.records.window_ps.unwrap() / 1_000;
    // From 450 us on nothing gets through: the sender waits for its timeouts, of 200 ms and more.
    plan.timelines[0].steps.truncate(1);
    plan.timelines[0].period_ps = 1_000 * MS;
    plan.stop_when_flows_complete = false;
    plan.end_ps = 700 * MS;
    let records = run(&plan).unwrap();
    assert!(column(&records, "flows", "rtos")[0] >= 1);
    let times = column(&records, "window", "time_ns");
    assert_eq!(times[0] % interval_ns, 0);
    assert!(times.windows(2).all(|pair| pair[1] == pair[0] + interval_ns), "a sample every {interval_ns} ns");
    assert_eq!(times.last(), Some(&700_000_000), "up to the end of the run");
    let waits = times.iter().position(|&time| time >= 150_000_000).unwrap();
    assert!(column(&records, "window", "outstanding_bytes")[waits] > 0, "what was sent is still outstanding");
}

#[test]
fn what_is_in_flight_is_neither_lost_nor_sacked() {
    let mut plan = day_and_night(Downtime::Drop);
    plan.records.window_ps = Some(MS / 10);
    let mss = u64::from(plan.stacks[0].mtu) - 52;
    let records = run(&plan).unwrap();
    let of = |name| column(&records, "window", name);
    let (segments, bytes, outstanding) = (of("in_flight"), of("bytes_in_flight"), of("outstanding_bytes"));
    assert!(segments.iter().zip(&bytes).all(|(segments, bytes)| *bytes == segments * mss));
    assert!(bytes.iter().zip(&outstanding).any(|(bytes, outstanding)| bytes + 10 * mss < *outstanding));
    let (resent, flow) = (of("retransmits"), of("flow"));
    for index in 0..plan.flows.len() as u64 {
        let mine: Vec<_> =
            resent.iter().zip(&flow).filter(|(_, flow)| **flow == index).map(|(sent, _)| *sent).collect();
        assert!(mine.is_sorted(), "a counter never falls");
        assert!(*mine.last().unwrap() <= column(&records, "flows", "retransmits")[index as usize]);
    }
    assert!(resent.iter().any(|sent| *sent > 0));
}

#[test]
fn recording_changes_nothing() {
    for downtime in Downtime::ALL {
        let plain = run(&day_and_night(downtime)).unwrap();
        let recorded = run(&all_recorded(day_and_night(downtime))).unwrap();
        assert_eq!(plain.table("flows"), recorded.table("flows"), "{downtime:?}");
        assert_eq!(plain.table("links"), recorded.table("links"), "{downtime:?}");
        assert_eq!(plain.ended, recorded.ended);
        assert_eq!(rows(&plain, "bins") + rows(&plain, "drops"), 0, "what is not asked for is empty");
    }
}

/// Where packets cross several links in one step, each link still counts what has arrived by now.
#[test]
fn links_that_nobody_watches_count_the_same() {
    let mut plan = benchmarks::find("S3-100ms").unwrap().plan();
    plan.end_ps = 30 * MS;
    let plain = run(&plan).unwrap();
    plan.records.bin_links = (0..plan.links.len() as u32).collect();
    plan.records.bin_ps = Some(MS);
    let watched = run(&plan).unwrap();
    assert!(plain.events < watched.events);
    assert_eq!(plain.table("links"), watched.table("links"));
}

/// 24 equal flows from equal links over two of the same rate, so that packets arrive at the switch at
/// the very same instants: none may live on the others' account. The fair part of each is 10.4 MB of
/// payload in a second; alone on its link a flow would have 120 MB.
#[test]
fn flows_over_equal_links_do_not_starve_each_other() {
    let mut plan = benchmarks::find("S3").unwrap().plan();
    plan.flows.truncate(24);
    plan.end_ps = 1_000 * MS;
    let records = run(&plan).unwrap();
    let mut delivered = column(&records, "flows", "delivered_bytes");
    delivered.sort_unstable();
    let all: u64 = delivered.iter().sum();
    // Two links of 1 Gbit/s, 1448 of 1500 bytes of a packet, less the start.
    assert!(all > 240_000_000, "{all} bytes in all: a link has stood idle");
    assert!(delivered[0] > 3_000_000 && delivered[23] < 30_000_000, "{delivered:?}");
}

#[test]
fn the_same_plan_gives_the_same_bytes_in_any_thread() {
    let plans: Vec<Plan> = Downtime::ALL
        .iter()
        .map(|&downtime| {
            let mut plan = all_recorded(day_and_night(downtime));
            plan.links[6].loss_ppb = 1_000_000;
            plan
        })
        .collect();
    let alone: Vec<Records> = plans.iter().map(|plan| run(plan).unwrap()).collect();
    for threads in [1, 2, 4] {
        let found = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|worker| {
                    let plans = &plans;
                    scope.spawn(move || {
                        let mine = (0..plans.len()).filter(move |i| i % threads == worker);
                        mine.map(|i| (i, run(&plans[i]).unwrap())).collect::<Vec<_>>()
                    })
                })
                .collect();
            let mut found: Vec<_> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
            found.sort_by_key(|(i, _)| *i);
            found.into_iter().map(|(_, records)| records).collect::<Vec<_>>()
        });
        assert_eq!(found, alone, "with {threads} threads");
    }
}

#[test]
fn another_seed_loses_other_packets() {
    let lost = |seed| {
        let mut plan = all_recorded(day_and_night(Downtime::Hold));
        plan.seed = seed;
        plan.links[6].loss_ppb = 10_000_000;
        column(&run(&plan).unwrap(), "drops", "seq")
    };
    assert_ne!(lost(1), lost(2));
    assert_eq!(lost(1), lost(1));
}

/// The whole of a connection that carries one segment (RFC 9293, section 3.6): both sides close.
#[test]
fn both_ends_close_their_connection() {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const PUSH: u8 = 0x08;
    const ACK: u8 = 0x10;
    let mut plan = day_and_night(Downtime::Drop);
    plan.flows[0].application = Application::Bulk { bytes: Some(1_000) };
    plan.stop_when_flows_complete = false;
    let (records, packets) = captured(&plan, &[0, 7]);
    let flags = |interface| -> Vec<u8> {
        packets.iter().filter(|packet| packet.interface == interface).map(|packet| packet.flags).collect()
    };
    // The segment is gone when the application closes.
    assert_eq!(flags(0), [SYN, ACK, PUSH | ACK, FIN | ACK, ACK], "of the client");
    assert_eq!(flags(1), [SYN | ACK, ACK, FIN | ACK], "of the server");
    // Two round trips of 40 us, and what the packets take on the links.
    assert!((80_000..90_000).contains(&column(&records, "flows", "fct_ns")[0]));
}

#[test]
fn a_run_in_steps_is_the_run() {
    let plan = all_recorded(day_and_night(Downtime::Drain));
    let whole = run(&plan).unwrap();
    let mut simulation = Simulation::new(&plan).unwrap();
    let mut before = 0;
    loop {
        let progress = simulation.step(97);
        assert!(progress.events - before <= 97);
        before = progress.events;
        if progress.done {
            assert_eq!((progress.flows_complete, progress.flows_limited), (1, 1));
            break;
        }
    }
    assert_eq!(simulation.finish().unwrap(), whole);
}

#[test]
fn a_run_may_be_given_up_at_any_time() {
    for events in [0, 1, 50, 500, 2_000] {
        let mut simulation = Simulation::new(&day_and_night(Downtime::Drop)).unwrap();
        assert!(!simulation.step(events).done);
        let records = simulation.finish().unwrap();
        assert_eq!(column(&records, "flows", "fct_ns"), [u64::MAX]);
    }
}

#[test]
fn a_run_ends_at_its_end() {
    let mut plan = day_and_night(Downtime::Hold);
    plan.end_ps = MS;
    let records = run(&plan).unwrap();
    assert_eq!(records.ended.as_ps(), MS);
    assert_eq!(column(&records, "flows", "end_ns"), [u64::MAX]);
    plan.end_ps = 5 * US;
    assert_eq!(column(&run(&plan).unwrap(), "flows", "segments"), [0], "the flow starts later");
}

/// Memory depends on what is asked for, not on how long the run is: the rows of a long run without
/// bins are those of a short one.
#[test]
fn tables_do_not_grow_with_time_unless_asked_to() {
    let table_rows = |end: u64| {
        let mut plan = day_and_night(Downtime::Hold);
        plan.flows[0].application = Application::Bulk { bytes: None };
        plan.records.latency = true;
        plan.end_ps = end;
        let records = run(&plan).unwrap();
        records
            .tables
            .iter()
            .filter(|table| table.name != "latency")
            .map(|table| rows(&records, table.name))
            .sum::<usize>()
    };
    assert_eq!(table_rows(5 * MS), table_rows(50 * MS));
}

/// Two flows one after the other between the same hosts, the first of which loses packets; the first `ssthresh` of
/// the second, and the last of the first with its window.
fn thresholds(no_metrics_save: bool, no_ssthresh_metrics_save: bool, destination: u32) -> (u64, u64, u64) {
    let mut plan = all_recorded(day_and_night(Downtime::Drop));
    plan.stacks[0].tcp_no_metrics_save = no_metrics_save;
    plan.stacks[0].tcp_no_ssthresh_metrics_save = no_ssthresh_metrics_save;
    plan.records.window_ps = Some(0);
    let mut second = plan.flows[0].clone();
    second.name = "second".to_owned();
    second.start_ps = 1_000 * MS;
    plan.flows.push(second);
    if destination != 3 {
        plan.nodes[destination as usize].kind = NodeKind::Host;
        plan.flows[1].dst = destination;
        plan.paths.push(vec![Step::Queue(0), Step::Queue(2)]);
        plan.paths.push(vec![Step::Queue(3), Step::Queue(1)]);
        (plan.flows[1].data_path, plan.flows[1].ack_path) = (4, 5);
    }
    let records = run(&plan).unwrap();
    let (flows, ssthresh) = (column(&records, "window", "flow"), column(&records, "window", "ssthresh"));
    let cwnd = column(&records, "window", "cwnd");
    let last = flows.iter().rposition(|&flow| flow == 0).unwrap();
    let first = flows.iter().position(|&flow| flow == 1).unwrap();
    (ssthresh[last], cwnd[last], ssthresh[first])
}

#[test]
fn a_host_remembers_the_threshold_if_it_is_told_to() {
    let unlimited = u64::from(u32::MAX);
    let (ssthresh, cwnd, next) = thresholds(false, false, 3);
    assert!(ssthresh < unlimited, "the first flow loses packets");
    assert_eq!(next, ssthresh.max(cwnd / 2));
    assert_eq!(thresholds(true, false, 3).2, unlimited, "nothing is saved");
    assert_eq!(thresholds(false, true, 3).2, unlimited, "no threshold is saved");
    assert_eq!(thresholds(false, false, 2).2, unlimited, "another destination");
}
