//! Which queues are served analytically, that is, by computing departures when packets arrive
//! ([`crate::analytic_link`]). This is decided here and nowhere else.

use crate::analytic_link::{AnalyticLink, Setup};
use crate::config::{Config, QueueConfig};
use crate::control::Change;
use crate::path::{Code, Decoded, Step};
use crate::queue::{Kind, Limits};

/// For each queue that can be served analytically, its link.
///
/// Its packets leave in the order of arrival, at times that follow from earlier arrivals: so one link serves it and
/// nothing else, at one rate, with one delay, and without loss; jitter is drawn when a packet arrives at the queue, in
/// the order in which it would be drawn at the link. The discipline decides on arrival, packets neither come back nor
/// branch, nothing about it ever changes, and no monitor observes each packet. If packets are announced, their senders
/// put them into the queue themselves.
pub(crate) fn links_of_queues(config: &Config) -> Vec<Option<u32>> {
    let mut possible: Vec<Option<u32>> =
        config.queues.iter().map(|queue| sole_link(queue.served_by.as_slice())).collect();
    let mut served = vec![0u32; config.links.len()];
    for &link in config.queues.iter().flat_map(|queue| &queue.served_by) {
        served[link as usize] += 1;
    }
    for (queue, link) in config.queues.iter().zip(&mut possible) {
        *link = link.filter(|&link| {
            served[link as usize] == 1
                && config.links[link as usize].loss_ppb == 0
                && queue.discipline.settles_on_arrival
                && queue.returned_limit.is_none()
                && !queue.observed
                && counts_modulo(queue, config.largest_packet)
        });
    }
    for fork in &config.forks {
        possible[fork.queue as usize] = None;
    }
    for queue in not_entered_first(config) {
        possible[queue as usize] = None;
    }
    for change in &config.changes {
        match *change {
            // Route switches and markers are passed before the queue, so they do not affect it.
            Change::Route(_) | Change::Mark(_) => {}
            Change::Gate { queue, .. } | Change::Limit(queue) | Change::Parameters(queue) => {
                possible[queue as usize] = None;
            }
            Change::Rate(link) | Change::Delay(link) | Change::Loss(link) => {
                possible.iter_mut().filter(|of_queue| **of_queue == Some(link)).for_each(|of_queue| *of_queue = None);
            }
        }
    }
    possible
}

/// Queues of announced packets that packets also enter from elsewhere than their sender.
fn not_entered_first(config: &Config) -> impl Iterator<Item = u32> {
    let mut continues = vec![false; config.paths.len()];
    let of_switches = config.route_switches.iter().flat_map(|switch| &switch.alternatives);
    let of_forks = config.forks.iter().flat_map(|fork| fork.tails.iter().map(|(_, path)| path).chain(&fork.overflow));
    of_switches.chain(of_forks).for_each(|&path| continues[path as usize] = true);
    let later = |(path, continues): (&'_ Vec<Step>, bool)| path[usize::from(!continues).min(path.len())..].to_vec();
    config.paths.iter().zip(continues).flat_map(later).filter_map(|step| match step {
        Step::Queue(queue) if config.queues[queue as usize].announced => Some(queue),
        _ => None,
    })
}

fn sole_link(served_by: &[u32]) -> Option<u32> {
    if let [link] = served_by { Some(*link) } else { None }
}

/// An analytic link counts its waiting bytes modulo 2^32: enough if there are never more, or the count is never read.
fn counts_modulo(queue: &QueueConfig, largest_packet: u32) -> bool {
    let modulus = 1 << 32;
    let Limits { packets, bytes } = queue.limits;
    let of_packets = packets.map_or(u64::MAX, |packets| packets.saturating_mul(u64::from(largest_packet)));
    let nobody_asks = bytes.is_none() && !queue.discipline.marks;
    nobody_asks || of_packets.min(bytes.unwrap_or(u64::MAX)) < modulus
}

/// The analytic links, by link; placeholders with `exists = false` for the others.
pub(crate) fn make(
    config: &Config,
    link_of_queue: &[Option<u32>],
    mut kind: impl FnMut(usize) -> Kind,
) -> Vec<AnalyticLink> {
    let largest_packet = config.largest_packet;
    let capacity = Default::default();
    let none = |link| {
        let setup = Setup { link, capacity, kind: Kind::default(), largest_packet, is_metered: false };
        AnalyticLink::new(setup, false)
    };
    let mut made: Vec<AnalyticLink> = config.links.iter().map(none).collect();
    for (queue, link) in link_of_queue.iter().enumerate() {
        if let Some(index) = *link {
            let link = &config.links[index as usize];
            let (capacity, is_metered) = (config.queues[queue].limits.into(), config.queues[queue].metered);
            let setup = Setup { link, capacity, kind: kind(queue), largest_packet, is_metered };
            made[index as usize] = AnalyticLink::new(setup, true);
        }
    }
    made
}

/// Finds analytic links that are fed by only one other, so that packets need no event in between.
pub(crate) fn join(links: &mut [AnalyticLink], steps: &[Code], largest_packet: u32) {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Analytic(u32),
        Others,
    }
    let mut feeders = vec![Feeder::Nobody; links.len()];
    let mut before = Feeder::Others;
    for code in steps {
        let Decoded::Analytic(link) = code.decode() else {
            before = Feeder::Others;
            continue;
        };
        let feeder = &mut feeders[link as usize];
        *feeder = if *feeder == Feeder::Nobody || *feeder == before { before } else { Feeder::Others };
        before = Feeder::Analytic(link);
    }
    // A link passes packets on if each of them goes to an analytic link that it alone feeds. Late ones may come to that
    // all at once, and what is metered is looked up where it is under way.
    let mut passes: Vec<bool> = links.iter().map(|link| link.exists && !link.looks_singly()).collect();
    for pair in steps.windows(2) {
        let Decoded::Analytic(link) = pair[0].decode() else { continue };
        passes[link as usize] &= match pair[1].decode() {
            Decoded::Analytic(next) => {
                feeders[next as usize] == Feeder::Analytic(link)
                    && links[next as usize].keeps_up_with(&links[link as usize], largest_packet)
            }
            _ => false,
        };
    }
    for link in steps.iter().filter_map(|code| code.analytic_link()) {
        if passes[link as usize] {
            links[link as usize].make_pass();
        }
    }
}
