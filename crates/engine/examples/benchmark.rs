//! Runs one benchmark scenario and prints one line about it: `benchmark NAME`, for a profiler or
//! beside another simulator. `benchmark NAME text` prints the scenario for the other one instead.
//! `benchmark FILE.json` runs any plan, as `python tools/benchmark-plan.py` writes it.

// A program for people and their clocks, not a part of the core.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use daybreak_engine::Simulation;
use daybreak_plan::{Plan, benchmarks};
use daybreak_trace::Column;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().ok_or("usage: benchmark NAME|FILE.json [text]")?;
    let plan: Plan = if name.ends_with(".json") {
        serde_json::from_slice(&std::fs::read(name)?)?
    } else {
        let benchmark = benchmarks::find(name).ok_or_else(|| format!("there is no benchmark \"{name}\""))?;
        if arguments.get(1).is_some_and(|what| what == "text") {
            print!("{}", benchmark.text());
            return Ok(());
        }
        benchmark.plan()
    };
    let mut simulation = Simulation::new(&plan)?;
    let start = std::time::Instant::now();
    while !simulation.step(u64::MAX).done {}
    let seconds = start.elapsed().as_secs_f64();
    let records = simulation.finish()?;
    let total = |column: &str| -> u64 {
        let flows = records.table("flows").into_iter().flat_map(|table| &table.columns);
        flows.filter(|(name, _)| *name == column).map(|(_, values)| sum(values)).sum()
    };
    let hops = records.packet_hops;
    println!(
        "RESULT peer=daybreak scn={name} loop={seconds:.4} sim={:.6} appbytes={} rtx={} hops={hops} \
         hops_per_s={:.3e} events={}",
        records.ended.as_secs_f64(),
        total("delivered_bytes"),
        total("retransmits"),
        hops as f64 / seconds,
        records.events,
    );
    Ok(())
}

fn sum(column: &Column) -> u64 {
    match column {
        Column::U8(values) => values.iter().map(|&value| u64::from(value)).sum(),
        Column::U32(values) => values.iter().map(|&value| u64::from(value)).sum(),
        Column::U64(values) => values.iter().sum(),
    }
}
