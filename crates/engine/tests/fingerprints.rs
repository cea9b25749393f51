//! Short runs of many kinds give the results that are committed, so that `cargo test` alone sees a change.
//!
//! The plans in `tests/fingerprints` are scenarios of the Python package cut short, and are written by
//! `python tools/fingerprints.py --write`. The results are the snapshot beside them. Regenerate it, and review the diff,
//! with `INSTA_UPDATE=always cargo test -p daybreak-engine --test fingerprints`.

mod plans;

use std::fmt::Write;
use std::path::Path;

use daybreak_engine::{Records, run};
use daybreak_plan::{Plan, benchmarks};
use daybreak_trace::{Column, DropReason, NEVER_NS};
use plans::captured::capture;
use plans::{MS, column, rows};

/// Of more flows the slowest is shown alone.
const MOST_LISTED: usize = 4;

#[test]
fn no_result_has_changed() {
    let mut text = String::new();
    for (name, plan) in committed_plans().into_iter().chain(short_benchmarks()) {
        writeln!(text, "{name}").unwrap();
        let bare = run(&Plan { records: Default::default(), ..plan.clone() }).unwrap();
        writeln!(text, "    {}", totals(&bare)).unwrap();
        writeln!(text, "    tables={:016x} events={}", digest(&bare), bare.events).unwrap();
        let links: Vec<u32> = (0..plan.links.len() as u32).collect();
        let (recorded, packets) = capture(&all_recorded(plan), &links, 100);
        assert_eq!(totals(&recorded), totals(&bare), "{name}: recording changes the run");
        let drops: Vec<String> = drops(&recorded);
        writeln!(text, "    recorded={:016x} capture={:016x} {}", digest(&recorded), fnv(packets), drops.join(" "))
            .unwrap();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("fingerprints");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("results", text));
}

/// The plans beside this file, in the order of their names.
fn committed_plans() -> Vec<(String, Plan)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    assert!(!files.is_empty(), "there are no plans");
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    };
    files.iter().map(read).collect()
}

/// S4 takes too long here; like S3 it has enough flows for the engine to look ahead.
fn short_benchmarks() -> impl Iterator<Item = (String, Plan)> {
    [("S1", 20), ("S2", 50), ("S3", 30)].into_iter().map(|(name, ms)| {
        let mut plan = benchmarks::find(name).unwrap().plan();
        plan.end_ps = ms * MS;
        (name.to_owned(), plan)
    })
}

fn all_recorded(mut plan: Plan) -> Plan {
    let records = &mut plan.records;
    records.bin_ps = Some(MS);
    records.bin_links = (0..plan.links.len() as u32).collect();
    records.tap_links.clone_from(&records.bin_links);
    records.bin_delivered = true;
    records.window_ps = Some(MS);
    records.queue_ps = Some(MS);
    records.queues = (0..plan.queues.len() as u32).collect();
    records.drops = true;
    records.circuits = true;
    records.latency = true;
    plan
}

fn totals(records: &Records) -> String {
    let sum = |name| column(records, "flows", name).iter().sum::<u64>();
    let times = column(records, "flows", "fct_ns");
    let mut complete: Vec<u64> = times.iter().copied().filter(|&time| time != NEVER_NS).collect();
    let done = format!("{}/{}", complete.len(), times.len());
    if complete.len() > MOST_LISTED {
        complete = complete.iter().max().copied().into_iter().collect();
    }
    format!(
        "complete={done} fct_ns={complete:?} delivered={} segments={} retransmits={} rtos={} packet_hops={}",
        sum("delivered_bytes"),
        sum("segments"),
        sum("retransmits"),
        sum("rtos"),
        records.packet_hops,
    )
}

/// Losses by reason, those that there are.
fn drops(records: &Records) -> Vec<String> {
    let reasons = column(records, "drops", "reason");
    let count = |reason: DropReason| reasons.iter().filter(|&&found| found == reason as u64).count();
    let counted = DropReason::ALL.map(|reason| (reason.name(), count(reason)));
    counted.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name}={count}")).collect()
}

/// Tables that are younger than the fingerprints count only with rows, so that none changed when they came.
const LATER: [&str; 2] = ["packets", "control"];

/// Of the names and values of all columns.
fn digest(records: &Records) -> u64 {
    let mut bytes = Vec::new();
    for table in &records.tables {
        if LATER.contains(&table.name) && rows(records, table.name) == 0 {
            continue;
        }
        for (name, values) in &table.columns {
            bytes.extend(format!("{}.{name} {}\n", table.name, rows(records, table.name)).bytes());
            match values {
                Column::U8(values) => bytes.extend(values),
                Column::U32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
                Column::U64(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            }
        }
    }
    fnv(bytes)
}

/// FNV-1a.
fn fnv(bytes: Vec<u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
