//! Hosts whose clocks run faster behave as ones with true clocks do on a network that is slower by as much.

mod plans;

use daybreak_engine::{Records, run};
use daybreak_plan::{Choice, Downtime, Plan};
use plans::{US, all_recorded, column, day_and_night};

const DILATION: u64 = 20;

/// The plan on a network that is slower in all: rates, delays, timelines, starts, and the times of records.
fn slowed(mut plan: Plan, by: u64) -> Plan {
    for link in &mut plan.links {
        link.rate_bps /= by;
        link.delay_ps *= by;
    }
    for timeline in &mut plan.timelines {
        timeline.start_ps *= by;
        timeline.period_ps *= by;
        for step in &mut timeline.steps {
            step.offset_ps *= by;
        }
    }
    for flow in &mut plan.flows {
        flow.start_ps *= by;
    }
    plan.end_ps *= by;
    let records = &mut plan.records;
    for interval in [&mut records.bin_ps, &mut records.window_ps, &mut records.queue_ps].into_iter().flatten() {
        *interval *= by;
    }
    plan
}

fn dilated(mut plan: Plan, by: u64) -> Plan {
    for stack in &mut plan.stacks {
        stack.timer_dilation = by as u32;
    }
    plan
}

fn plan(rule: &str, downtime: Downtime) -> Plan {
    let mut plan = all_recorded(day_and_night(downtime));
    plan.rules[0] = Choice::plain(rule);
    plan
}

fn counts(records: &Records) -> Vec<u64> {
    ["segments", "retransmits", "rtos", "tlps", "fast_recoveries", "dup_acks", "reordered", "delivered_bytes"]
        .map(|name| column(records, "flows", name)[0])
        .to_vec()
}

#[test]
fn fast_clocks_are_a_slow_network() {
    for rule in ["cubic", "reno", "bbr", "westwood", "vegas"] {
        for downtime in [Downtime::Drop, Downtime::Hold] {
            let emulated = run(&dilated(plan(rule, downtime), DILATION)).unwrap();
            let real = run(&slowed(plan(rule, downtime), DILATION)).unwrap();
            assert_eq!(counts(&emulated), counts(&real), "{rule} {downtime:?}");
            let [fast, slow] = [&emulated, &real].map(|records| column(records, "flows", "fct_ns")[0]);
            // A deadline between two picoseconds of the network's time is met at the later one.
            assert!((fast * DILATION).abs_diff(slow) <= 2 * DILATION, "{rule} {downtime:?}: {fast} and {slow}");
            for name in ["cwnd", "ssthresh", "in_flight", "outstanding_bytes"] {
                assert_eq!(column(&emulated, "window", name), column(&real, "window", name), "{rule}: {name}");
            }
        }
    }
}

#[test]
fn windows_are_told_in_the_networks_time() {
    let fast = run(&dilated(plan("bbr", Downtime::Hold), DILATION)).unwrap();
    let true_clocks = run(&plan("bbr", Downtime::Hold)).unwrap();
    for records in [&fast, &true_clocks] {
        let srtt = *column(records, "window", "srtt_ns").last().unwrap();
        assert!((40_000..1_000_000).contains(&srtt), "{srtt}");
        assert!(column(records, "window", "time_ns").windows(2).all(|pair| pair[1] - pair[0] == 20 * US / 1_000));
    }
    // What BBR paces at belongs to the network as well.
    let slow = run(&slowed(plan("bbr", Downtime::Hold), DILATION)).unwrap();
    let [fast, slow] = [&fast, &slow].map(|records| *column(records, "window", "pacing_bps").last().unwrap());
    assert!(slow > 0 && fast.abs_diff(slow * DILATION) <= fast / 1_000, "{fast} and {slow} x {DILATION}");
}

#[test]
fn clocks_that_agree_change_nothing() {
    let plan = plan("cubic", Downtime::Drop);
    assert_eq!(run(&dilated(plan.clone(), 1)).unwrap(), run(&plan).unwrap());
    assert_ne!(counts(&run(&dilated(plan.clone(), DILATION)).unwrap()), counts(&run(&plan).unwrap()));
}
