//! How far ahead a delivery lies, from the delays of the plan alone.
//!
//! The switch does not have to be called for every event: only in time for every delivery. What follows from
//! an event takes a while to reach a host, so events may be handled late by that much, several at one call (as
//! in conservative parallel simulation: Chandy and Misra, CACM 1981).

use daybreak_engine::Plan;
use daybreak_engine::plan::Step;
use daybreak_units::{Duration, Rate};

use crate::layout::{Layout, behind_nic, delivers};

/// IP length of the smallest TCP packet.
const SMALLEST: u64 = 40;

/// Least time from any event in the fabric to a delivery that follows from it and is not an event yet: the
/// quickest crossing of a link that ends at a host. Zero if a NIC's link does.
pub fn least(plan: &Plan, layout: &Layout) -> Duration {
    if plan.flows.iter().any(|flow| behind_nic(flow, true).is_empty() || behind_nic(flow, false).is_empty()) {
        return Duration::ZERO;
    }
    let behind_nics = |link: &u32| !layout.nics.iter().any(|nic| nic.link == *link);
    let last_links = (0u32..).zip(delivers(plan)).filter(|&(_, delivers)| delivers).map(|(link, _)| link);
    last_links.filter(behind_nics).map(|link| crossing(plan, link)).min().unwrap_or(Duration::ZERO)
}

/// Propagation delay of a path, by the first way where it has several.
pub fn propagation(plan: &Plan, steps: &[Step]) -> Duration {
    let ps = steps.iter().map(|&step| match step {
        Step::Queue(queue) => plan.links[plan.queues[queue as usize].served_by[0] as usize].delay_ps,
        Step::Branch(branch) => propagation(plan, &plan.branches[branch as usize].alternatives[0]).as_ps(),
    });
    Duration::from_ps(ps.sum())
}

/// Time that the smallest packet takes on an idle link.
fn crossing(plan: &Plan, link: u32) -> Duration {
    let link = &plan.links[link as usize];
    let bytes = SMALLEST + u64::from(link.framing_bytes);
    Duration::from_ps(Rate::from_bps(link.rate_bps).time_for(bytes).as_ps() + link.delay_ps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_delivered_earlier_than_the_last_link_takes() {
        let mut plan = crate::layout::tests::plan();
        for link in &mut plan.links {
            (link.rate_bps, link.delay_ps, link.framing_bytes) = (8_000_000_000, 2_000_000, 38);
        }
        let layout = Layout::of(&plan).unwrap();
        // 78 bytes at a byte a nanosecond, and 2 us.
        assert_eq!(least(&plan, &layout), Duration::from_ns(2_078));
        let last = plan.flows[0].data_path.last().copied();
        let Some(Step::Queue(queue)) = last else { panic!("a path ends with a queue") };
        plan.links[plan.queues[queue as usize].served_by[0] as usize].delay_ps = 500_000;
        assert_eq!(least(&plan, &layout), Duration::from_ns(578));
        plan.flows[0].data_path.truncate(1);
        assert_eq!(least(&plan, &layout), Duration::ZERO, "the NIC's link leads to the receiver");
    }
}
