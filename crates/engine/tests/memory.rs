//! What a run keeps of flows that are over.
#![allow(unsafe_code)] // An allocator that counts.

mod plans;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use daybreak_engine::Simulation;
use daybreak_plan::{Application, Downtime, ExchangeRun, Plan};
use plans::{MS, US, column, day_and_night};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it is the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(bytes, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Flows of the kind of the first, one every 200 us, which each takes.
fn one_after_the_other(application: &Application, flows: u64) -> Plan {
    let mut plan = day_and_night(Downtime::Drop);
    plan.timelines.clear();
    let first = plan.flows[0].clone();
    plan.flows.clear();
    for k in 0..flows {
        let (name, application) = (format!("flow-{k}"), application.clone());
        plan.flows.push(daybreak_plan::Flow { name, application, start_ps: k * 200 * US, ..first.clone() });
    }
    plan.end_ps = flows * 200 * US + 100 * MS;
    plan
}

/// Most memory that the events of a run take beyond what its start does.
fn grows_by(plan: &Plan) -> usize {
    let mut simulation = Simulation::new(plan).unwrap();
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    while !simulation.step(u64::MAX).done {}
    let most = MOST.load(Relaxed) - before;
    let records = simulation.finish().unwrap();
    assert!(column(&records, "flows", "end_ns").iter().all(|&end| end < u64::MAX), "every flow is complete");
    assert!(column(&records, "flows", "segments").iter().all(|&segments| segments > 0), "and its row is kept");
    most
}

/// One test: two would count each other's memory.
#[test]
fn a_flow_that_is_over_leaves_its_row_and_no_endpoints() {
    /// A row of table `flows`, with the allocator's share.
    const ROW: usize = 160;
    let exchange = ExchangeRun { count: 2, request_bytes: 300, response_bytes: 3_000, think_ps: 0 };
    let bulk = Application::Bulk { bytes: Some(20_000) };
    let in_turn = Application::RequestResponse { exchanges: vec![exchange] };
    // Flows that wait for a retransmission timeout are alive at the same time: their number has settled after some seconds.
    let cases = [(&bulk, 0, 0, [200, 2_000]), (&in_turn, 2, 0, [200, 2_000]), (&bulk, 0, 10_000_000, [10_000, 20_000])];
    for (application, exchanges, loss_ppb, counts) in cases {
        let [few, many] = counts.map(|flows| {
            let mut plan = one_after_the_other(application, flows);
            for link in &mut plan.links {
                link.loss_ppb = loss_ppb;
            }
            plan.end_ps += 100_000 * MS;
            grows_by(&plan)
        });
        // The table `exchanges` has 52 bytes a row, and a vector may have room for twice what it holds, three times while it
        // moves. Two endpoints would take more than 4,000.
        let per_flow = (many - few) / (counts[1] - counts[0]) as usize;
        assert!(per_flow <= ROW + exchanges * 3 * 52, "{application:?}: {per_flow} bytes a flow");
    }
}
