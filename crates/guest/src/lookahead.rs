//! Lower bound on the time to the next delivery, from the delays of the plan alone.
//!
//! The switch does not have to be called for every event: only in time for every delivery. What follows from
//! an event takes a while to reach a host, so events may be handled late by that much, several at one call (as
//! in conservative parallel simulation: Chandy and Misra, CACM 1981).

use daybreak_plan::{Action, Plan, Step};
use daybreak_units::{Duration, Rate};

use crate::layout::{Layout, behind_nic, delivers};

/// IP length of the smallest TCP packet.
const SMALLEST: u64 = 40;

/// Least time from any event in the fabric to a delivery that follows from it and is not an event yet: the
/// quickest crossing of a link that ends at a host. Zero if a NIC's link does.
pub fn least(plan: &Plan, layout: &Layout) -> Duration {
    if plan.flows.iter().any(|flow| [true, false].iter().any(|&data| behind_nic(plan, flow, data).is_empty())) {
        return Duration::ZERO;
    }
    let behind_nics = |link: &u32| !layout.nics.iter().any(|nic| nic.link == *link);
    let last_links = (0u32..).zip(delivers(plan)).filter(|&(_, delivers)| delivers).map(|(link, _)| link);
    last_links.filter(behind_nics).map(|link| crossing(plan, link)).min().unwrap_or(Duration::ZERO)
}

/// Propagation delay of a path, along the first branch at each fork.
pub fn propagation(plan: &Plan, steps: &[Step]) -> Duration {
    let of_path = |path: u32| propagation(plan, &plan.paths[path as usize]).as_ps();
    let ps = steps.iter().map(|&step| match step {
        Step::Queue(queue) => plan.links[plan.queues[queue as usize].served_by[0] as usize].delay_ps,
        Step::RouteSwitch(switch) => of_path(plan.route_switches[switch as usize].alternatives[0]),
        Step::Fork(fork) => {
            let tail = plan.forks[fork as usize].tails[0];
            plan.links[tail.link as usize].delay_ps + of_path(tail.path)
        }
        Step::Return(_) | Step::Marker(_) => 0,
    });
    Duration::from_ps(ps.sum())
}

/// Least time that the smallest packet takes on an idle link, whatever rates timelines set. Where they change the
/// delay, that a packet has left the link is an event, and only the least delay lies behind it.
fn crossing(plan: &Plan, index: u32) -> Duration {
    let link = &plan.links[index as usize];
    let delays = plan.actions().filter_map(|action| match *action {
        Action::SetDelay { link, delay_ps } if link == index => Some(delay_ps),
        _ => None,
    });
    if let Some(least) = delays.min() {
        return Duration::from_ps(least.min(link.delay_ps));
    }
    let bytes = SMALLEST + u64::from(link.framing_bytes);
    let rates = plan.actions().filter_map(|action| match *action {
        Action::SetRate { link, rate_bps } if link == index => Some(rate_bps),
        _ => None,
    });
    let fastest = rates.fold(link.rate_bps, u64::max);
    Duration::from_ps(Rate::from_bps(fastest).time_for(bytes).as_ps() + link.delay_ps)
}

#[cfg(test)]
mod tests {
    use daybreak_plan::{Timeline, TimelineStep};

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
        let path = plan.flows[0].data_path as usize;
        let last = plan.paths[path].last().copied();
        let Some(Step::Queue(queue)) = last else { panic!("a path ends with a queue") };
        let link = plan.queues[queue as usize].served_by[0];
        plan.links[link as usize].delay_ps = 500_000;
        assert_eq!(least(&plan, &layout), Duration::from_ns(578));
        // A timeline makes the link twice as fast some time.
        let actions = vec![Action::SetRate { link, rate_bps: 16_000_000_000 }];
        let steps = vec![TimelineStep { offset_ps: 0, actions }];
        plan.timelines.push(Timeline { name: "faster".into(), start_ps: 9, period_ps: 1, steps });
        assert_eq!(least(&plan, &layout), Duration::from_ns(539));
        // Another one makes it longer first, then shorter: what has left it may be there as soon.
        for (least_ps, delays) in [(500_000, [600_000, 500_000]), (400_000, [600_000, 400_000])] {
            let actions = delays.map(|delay_ps| Action::SetDelay { link, delay_ps }).to_vec();
            let steps = vec![TimelineStep { offset_ps: 0, actions }];
            plan.timelines.push(Timeline { name: "longer".into(), start_ps: 9, period_ps: 1, steps });
            assert_eq!(least(&plan, &layout), Duration::from_ps(least_ps));
        }
        plan.paths[path].truncate(1);
        assert_eq!(least(&plan, &layout), Duration::ZERO, "the NIC's link leads to the receiver");
    }
}
