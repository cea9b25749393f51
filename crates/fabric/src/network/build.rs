//! Makes a fabric from its configuration.

use std::collections::{BTreeSet, VecDeque};

use daybreak_units::{Duration, Stream};

use super::Fabric;
use crate::circuit::{Gate, GateState};
use crate::config::{Config, QueueConfig};
use crate::control::{Change, Passed};
use crate::impairment::Impairment;
use crate::link::{Link, UNIMPAIRED};
use crate::path::{self, Fork, ForkConfig, Marker, MarkerConfig, NO_STEP, RouteSwitch, RouteSwitchConfig};
use crate::queue::{Kind, Queue, Setup};
use crate::repeats::Identity;
use crate::scheduler::Scheduler;
use crate::totals::QueueTotals;
use crate::{Slab, analytic};

impl<B: Copy> Fabric<B> {
    /// Makes a fabric. To its impairments the packets of a flow and direction are copies of each other, unless
    /// [`Fabric::identified_by`] distinguishes them.
    ///
    /// # Panics
    /// If the configuration names something that does not exist.
    pub fn new(config: &Config) -> Self {
        let link_of_queue = analytic::links_of_queues(config);
        let changes: BTreeSet<Change> = config.changes.iter().copied().collect();
        let has_pipe = |queue: &QueueConfig| queue.served_by.iter().any(|&link| changes.contains(&Change::Delay(link)));
        let has_pipe: Vec<bool> = config.queues.iter().map(has_pipe).collect();
        let queues_of_forks: Vec<u32> = config.forks.iter().map(|fork| fork.queue).collect();
        let served = path::Served { analytic: &link_of_queue, has_pipe: &has_pipe, queues_of_forks: &queues_of_forks };
        let mut steps = Vec::new();
        let cursors: Vec<u32> = config.paths.iter().map(|path| path::append(&mut steps, path, &served)).collect();
        let mut analytic_links = analytic::make(config, &link_of_queue, |queue| kind(config, &config.queues[queue]));
        analytic::join(&mut analytic_links, &steps, config.largest_packet);
        let mut fabric = Self {
            slab: Slab::with_capacity(config.packets),
            steps,
            queues: Vec::with_capacity(config.queues.len()),
            gates: Vec::new(),
            links: Vec::with_capacity(config.links.len()),
            analytic: analytic_links,
            schedulers: Vec::with_capacity(config.links.len()),
            impairments: Vec::new(),
            identify: |_| Identity::default(),
            route_switches: config.route_switches.iter().map(|one| RouteSwitch::new(one, &cursors)).collect(),
            forks: config.forks.iter().map(|one| Fork::new(one, &cursors)).collect(),
            markers: config.markers.iter().map(Marker::new).collect(),
            changes,
            departures: VecDeque::new(),
            totals: vec![QueueTotals::default(); config.queues.len()],
            lost: Vec::new(),
            cursors,
        };
        fabric.add_links(config);
        fabric.add_queues(config);
        fabric
    }

    /// The random impairments of its links draw by this identity of a packet's body.
    #[must_use]
    pub fn identified_by(mut self, identify: fn(&B) -> Identity) -> Self {
        self.identify = identify;
        self
    }

    fn add_links(&mut self, config: &Config) {
        let mut served: Vec<Vec<(u32, u8)>> = vec![Vec::new(); config.links.len()];
        for (index, queue) in (0..).zip(&config.queues) {
            for &link in &queue.served_by {
                served[link as usize].push((index, queue.priority));
            }
        }
        for ((index, of_link), queues) in (0..).zip(&config.links).zip(&served) {
            let mut impairment = UNIMPAIRED;
            let has_pipe = self.changes.contains(&Change::Delay(index));
            let random = if has_pipe {
                Some(Impairment::with_pipe(of_link, config.seed))
            } else if self.changes.contains(&Change::Loss(index)) {
                Some(Impairment::always(of_link, config.seed))
            } else {
                Impairment::new(of_link, config.seed)
            };
            if let Some(random) = random {
                impairment = self.impairments.len() as u32;
                self.impairments.push(random);
            }
            let mut link = Link::new(of_link, impairment);
            if has_pipe {
                // The link itself only sends: when a packet arrives is known when it has left.
                link.delay = Duration::ZERO;
            }
            let mut scheduler = Scheduler::default();
            match queues[..] {
                [(queue, _)] => link.queue = queue,
                _ => scheduler = Scheduler::new(queues),
            }
            self.links.push(link);
            self.schedulers.push(scheduler);
        }
    }

    fn add_queues(&mut self, config: &Config) {
        for (index, of_queue) in (0..).zip(&config.queues) {
            let QueueConfig { settings, limits, returned_limit, .. } = of_queue;
            let mut queue = Queue::new(kind(config, of_queue), settings.clone(), *limits, *returned_limit);
            queue.gates_start = self.gates.len() as u32;
            for &link in &of_queue.served_by {
                let place = self.schedulers[link as usize].place(index);
                self.gates.push(Gate { link, state: GateState::Open, place, before: 0 });
            }
            queue.gates_end = self.gates.len() as u32;
            self.queues.push(queue);
            self.update_sole_link(index);
        }
    }
}

fn kind(config: &Config, queue: &QueueConfig) -> Kind {
    let link = &config.links[queue.served_by[0] as usize];
    let setup = Setup {
        settings: &queue.settings,
        rate: link.rate,
        framing_bytes: link.framing_bytes,
        stream: Stream::new(config.seed, &format!("{}/{}", queue.stream, queue.discipline.name)),
    };
    Kind::new(queue.discipline, &setup)
}

impl RouteSwitch {
    fn new(config: &RouteSwitchConfig, cursors: &[u32]) -> Self {
        let alternatives: Vec<u32> = config.alternatives.iter().map(|&path| cursors[path as usize]).collect();
        Self {
            current: alternatives[config.initial as usize],
            alternatives,
            dark: None,
            held: VecDeque::new(),
            hold_limit: config.hold_limit.unwrap_or(u64::MAX),
            passed: Passed::default(),
        }
    }
}

impl Fork {
    fn new(config: &ForkConfig, cursors: &[u32]) -> Self {
        Self {
            queue: config.queue,
            overflow: config.overflow.map_or(NO_STEP, |path| cursors[path as usize]),
            tails: config.tails.iter().map(|&(link, path)| (link, cursors[path as usize])).collect(),
        }
    }
}

impl Marker {
    fn new(config: &MarkerConfig) -> Self {
        let bit = 1 << config.mark;
        Self { bit, sets: if config.is_on { bit } else { 0 } }
    }
}
