//! Runs one benchmark and prints what it took: `bench NAME`.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // A program for people, not the core.

fn main() {
    let name = std::env::args().nth(1).unwrap_or("S1-100ms".into());
    let plan = daybreak_engine::benchmarks::find(&name).expect("unknown benchmark").plan();
    let mut simulation = daybreak_engine::Simulation::new(&plan).unwrap();
    let start = std::time::Instant::now();
    while !simulation.step(u64::MAX).done {}
    let wall = start.elapsed().as_secs_f64();
    let records = simulation.finish().unwrap();
    let hops = records.packet_hops as f64;
    let rss = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rss = rss.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
    println!(
        "{name}: {wall:.3} s, {} hops, {:.2} M hops/s, {:.2} events/hop, sim {:?}, {rss}",
        records.packet_hops,
        hops / wall / 1e6,
        records.events as f64 / hops,
        records.ended
    );
    println!(
        "{:?}",
        records
            .table("flows")
            .unwrap()
            .columns
            .iter()
            .filter(|c| ["delivered_bytes", "retransmits", "rtos"].contains(&c.0))
            .map(|(n, c)| match c {
                daybreak_trace::Column::U64(v) => (n, v.iter().sum::<u64>()),
                daybreak_trace::Column::U32(v) => (n, v.iter().map(|x| *x as u64).sum()),
                _ => (n, 0),
            })
            .collect::<Vec<_>>()
    );
}
