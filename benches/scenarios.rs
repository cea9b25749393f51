//! `cargo bench`: packet-hops per second in the benchmark scenarios, cut to a size that criterion can
//! repeat. `daybreak bench` runs them whole; `cargo run --release --example benchmark -- S1` runs one,
//! for a profiler or beside another simulator.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use daybreak_engine::{Simulation, run};
use daybreak_plan::benchmarks;

fn scenarios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packet-hops");
    group.sample_size(10);
    for name in ["S1-100ms", "S2", "S3-200ms", "S4-3ms"] {
        let plan = benchmarks::find(name).expect("the name is registered").plan();
        let hops = run(&plan).expect("the plan is valid").packet_hops;
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            let prepare = || Simulation::new(&plan).expect("the plan is valid");
            let work = |mut simulation: Simulation| {
                while !simulation.step(u64::MAX).done {}
                simulation
            };
            bencher.iter_batched(prepare, work, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, scenarios);
criterion_main!(benches);
