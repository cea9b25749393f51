//! How far ahead the switch may look, from the delays of the plan alone.
//!
//! The switch does not have to be awake when a packet enters or leaves it: the ring tells when packets
//! came, and the kernel sends them when they are due. It only has to be in time: awake before the first
//! delivery that it has not yet handed over. The shortest way through the network says how long that
//! takes at least (as in conservative parallel simulation: Chandy and Misra, CACM 1981).

use daybreak_engine::Plan;
use daybreak_engine::plan::Step;
use daybreak_units::{Duration, Rate};

use crate::layout::{Layout, behind_nic, delivers};

/// IP length of the smallest TCP packet.
const SMALLEST: u64 = 40;

/// Lower bounds of times to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookahead {
    /// From the start of a packet at any NIC to its entry into the fabric.
    pub entry: Duration,
    /// From the start of a packet at any NIC to its delivery.
    pub through: Duration,
    /// From any event in the fabric to a delivery that follows from it.
    pub last_link: Duration,
    /// From a packet's arrival at the end of each link to its delivery.
    pub after: Vec<Duration>,
    /// Time that the smallest packet takes on each link.
    pub crossing: Vec<Duration>,
}

impl Lookahead {
    /// The bounds of a plan.
    pub fn of(plan: &Plan, layout: &Layout) -> Self {
        let entry = layout.nics.iter().map(|nic| crossing(plan, nic.link)).min().unwrap_or(Duration::ZERO);
        let last_link = (0u32..)
            .zip(delivers(plan))
            .filter(|&(link, delivers)| delivers && !layout.nics.iter().any(|nic| nic.link == link))
            .map(|(link, _)| crossing(plan, link))
            .min();
        let through = plan.flows.iter().zip(&layout.flows).flat_map(|(flow, &(src, dst))| {
            [(true, src), (false, dst)].map(|(data, end)| {
                crossing(plan, layout.nics[layout.ends[end as usize].nic as usize].link)
                    + shortest(plan, behind_nic(flow, data))
            })
        });
        let mut after = vec![Duration::MAX; plan.links.len()];
        for flow in &plan.flows {
            note(plan, &flow.data_path, &mut after);
            note(plan, &flow.ack_path, &mut after);
        }
        Self {
            entry,
            through: through.min().unwrap_or(entry),
            last_link: last_link.unwrap_or(entry),
            after,
            crossing: (0..plan.links.len() as u32).map(|link| crossing(plan, link)).collect(),
        }
    }
}

/// Propagation delay of a path, by the first way where it has several.
pub fn propagation(plan: &Plan, steps: &[Step]) -> Duration {
    let ps = steps.iter().map(|&step| match step {
        Step::Queue(queue) => plan.links[plan.queues[queue as usize].served_by[0] as usize].delay_ps,
        Step::Branch(branch) => propagation(plan, &plan.branches[branch as usize].alternatives[0]).as_ps(),
    });
    Duration::from_ps(ps.sum())
}

/// Notes for every link of a path how long the rest of it takes at least.
fn note(plan: &Plan, steps: &[Step], after: &mut [Duration]) {
    for (place, &step) in steps.iter().enumerate() {
        match step {
            Step::Queue(queue) => {
                let rest = shortest(plan, &steps[place + 1..]);
                for &link in &plan.queues[queue as usize].served_by {
                    after[link as usize] = after[link as usize].min(rest);
                }
            }
            Step::Branch(branch) => {
                plan.branches[branch as usize].alternatives.iter().for_each(|tail| note(plan, tail, after));
            }
        }
    }
}

/// Time that the smallest packet takes on an idle link.
fn crossing(plan: &Plan, link: u32) -> Duration {
    let link = &plan.links[link as usize];
    let bytes = SMALLEST + u64::from(link.framing_bytes);
    Duration::from_ps(Rate::from_bps(link.rate_bps).time_for(bytes).as_ps() + link.delay_ps)
}

fn shortest(plan: &Plan, steps: &[Step]) -> Duration {
    steps.iter().fold(Duration::ZERO, |sum, &step| {
        let least = match step {
            Step::Queue(queue) => plan.queues[queue as usize].served_by.iter().map(|&link| crossing(plan, link)).min(),
            Step::Branch(branch) => {
                plan.branches[branch as usize].alternatives.iter().map(|tail| shortest(plan, tail)).min()
            }
        };
        Duration::from_ps(sum.as_ps() + least.unwrap_or(Duration::ZERO).as_ps())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn nothing_can_be_delivered_earlier_than_the_shortest_way() {
        let mut plan = crate::layout::tests::plan();
        for link in &mut plan.links {
            (link.rate_bps, link.delay_ps, link.framing_bytes) = (8_000_000_000, 2_000_000, 38);
        }
        let layout = Layout::of(&plan).unwrap();
        let look = Lookahead::of(&plan, &layout);
        // 78 bytes at a byte a nanosecond, and 2 us.
        let hop = Duration::from_ns(2_078);
        assert_eq!((look.entry, look.last_link), (hop, hop));
        let shortest = plan.flows.iter().flat_map(|flow| [flow.data_path.len(), flow.ack_path.len()]).min().unwrap();
        assert_eq!(look.through, hop.saturating_mul(shortest as u64));
        assert_eq!(look.crossing[0], hop);
        let Step::Queue(nic) = plan.flows[0].data_path[0] else { panic!("a path starts with a queue") };
        let hops = plan.flows[0].data_path.len() as u64 - 1;
        assert_eq!(look.after[plan.queues[nic as usize].served_by[0] as usize], hop.saturating_mul(hops));
    }
}
