//! Networks with everything that there is, drawn from a seed.

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Config, ForkConfig, LinkConfig, MarkerConfig, QueueConfig, RouteSwitchConfig, Step};
use daybreak_units::parameters::Value;
use daybreak_units::{Duration, Stream};

use super::{link, with_discipline};

/// CoDel that refuses within microseconds, as these networks live no longer.
const CODEL_WITHIN_US: [(&str, Value); 2] = [("target", Value::Ps(1_000_000)), ("interval", Value::Ps(3_000_000))];
/// PIE that refuses as soon.
const PIE_WITHIN_US: [(&str, Value); 5] = [
    ("target", Value::Ps(1_000_000)),
    ("tupdate", Value::Ps(1_000_000)),
    ("alpha", Value::Count(32)),
    ("beta", Value::Count(32)),
    ("max_burst", Value::Ps(0)),
];

/// Draws a network in three stages, each of some queues and links:
///
/// * first queues (VOQs) that all links of the stage may serve, each of which leads to another second queue;
/// * second queues, which send a packet that finds them full back to where it came from, or lose it;
/// * plain queues in a row, with a route switch between two ways, one of them marked.
pub struct Network {
    draw: Stream,
    pub config: Config,
}

impl Network {
    pub fn drawn(seed: u64) -> Self {
        let config = Config { seed, largest_packet: 9_000, ..Config::default() };
        let mut network = Self { draw: Stream::new(seed, "network"), config };
        let first = network.links(3);
        let second = network.links(3);
        let last = network.links(4);
        let voqs: Vec<u32> = (0..1 + network.below(4)).map(|_| network.queue(&first, true)).collect();
        let inner: Vec<u32> = (0..1 + network.below(3)).map(|_| network.queue(&second, false)).collect();
        let plain: Vec<u32> = last.iter().map(|&link| network.queue(&[link], false)).collect();
        let end = network.tail(&plain);
        for voq in voqs {
            network.entrance(voq, &first, &inner, end);
        }
        network
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw.below(bound)
    }

    pub fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn links(&mut self, most: u64) -> Vec<u32> {
        let count = 1 + self.below(most);
        let made: Vec<LinkConfig> = (0..count)
            .map(|_| {
                let mut made = link([1, 10, 10, 40][self.below(4) as usize], self.below(8));
                if self.chance(6) {
                    made.loss_ppb = 50_000_000;
                }
                if self.chance(6) {
                    made.jitter = Duration::from_us(2);
                }
                made
            })
            .collect();
        let from = self.config.links.len() as u32;
        self.config.links.extend(made);
        (from..self.config.links.len() as u32).collect()
    }

    fn limits(&mut self) -> Limits {
        let packets = (!self.chance(3)).then(|| self.below(8));
        let bytes = self.chance(3).then(|| self.below(30_000));
        Limits { packets, bytes }
    }

    /// A queue that some of the links serve.
    fn queue(&mut self, links: &[u32], may_return: bool) -> u32 {
        let mut served_by: Vec<u32> = links.iter().copied().filter(|_| !self.draw.below(3).eq(&0)).collect();
        if served_by.is_empty() {
            served_by.push(links[self.below(links.len() as u64) as usize]);
        }
        let limits = self.limits();
        let threshold = [("threshold", Value::Packets(1 + self.below(5)))];
        let (name, parameters): (_, &[_]) = match self.below(7) {
            0 => ("red", &[("weight", Value::Number(0.3)), ("max_probability", Value::Number(0.5))]),
            1 | 2 => ("ecn_threshold", &threshold),
            3 => ("codel", &CODEL_WITHIN_US),
            4 => ("pie", &PIE_WITHIN_US),
            5 => ("fq_codel", &CODEL_WITHIN_US),
            _ => ("drop_tail", &[]),
        };
        let made = QueueConfig {
            priority: self.below(3) as u8,
            returned_limit: may_return.then(|| self.below(4)),
            observed: false,
            ..with_discipline(name, parameters, limits, &served_by)
        };
        self.config.queues.push(made);
        self.config.queues.len() as u32 - 1
    }

    fn path(&mut self, steps: Vec<Step>) -> u32 {
        self.config.paths.push(steps);
        self.config.paths.len() as u32 - 1
    }

    /// The last stage: one queue, then a route switch between the others and nothing.
    fn tail(&mut self, plain: &[u32]) -> u32 {
        self.config.markers.push(MarkerConfig { mark: 2, is_on: false });
        let mut others: Vec<Step> = plain.iter().skip(1).map(|&queue| Step::Queue(queue)).collect();
        let direct = self.path(vec![Step::Queue(plain[plain.len() - 1])]);
        others.insert(0, Step::Marker(0));
        others.push(Step::Queue(plain[0]));
        let round = self.path(others);
        let hold_limit = self.chance(2).then_some(3);
        self.config.route_switches.push(RouteSwitchConfig {
            alternatives: vec![direct, round],
            initial: 0,
            hold_limit,
        });
        self.path(vec![Step::Queue(plain[0]), Step::RouteSwitch(0)])
    }

    /// A path through the queue, from which each link leads on to some inner queue and then to the end.
    fn entrance(&mut self, voq: u32, links: &[u32], inner: &[u32], end: u32) {
        let fork = self.config.forks.len() as u32;
        self.config.forks.push(ForkConfig { queue: voq, tails: Vec::new(), overflow: None });
        let back = self.path(vec![Step::Return(fork)]);
        let tails: Vec<(u32, u32)> = links
            .iter()
            .map(|&link| {
                let queue = inner[self.below(inner.len() as u64) as usize];
                let overflow = (!self.chance(3)).then_some(back);
                let tails = self.config.queues[queue as usize].served_by.iter().map(|&link| (link, end)).collect();
                let index = self.config.forks.len() as u32;
                self.config.forks.push(ForkConfig { queue, tails, overflow });
                (link, self.path(vec![Step::Fork(index)]))
            })
            .collect();
        self.config.forks[fork as usize].tails = tails;
        self.path(vec![Step::Fork(fork)]);
    }

    /// The paths that begin at a VOQ.
    pub fn entrances(&self) -> Vec<u32> {
        (0..).zip(&self.config.paths).filter(|(_, path)| self.voq(path).is_some()).map(|(index, _)| index).collect()
    }

    /// The VOQ that a path begins at.
    pub fn voq(&self, path: &[Step]) -> Option<u32> {
        let [Step::Fork(fork)] = *path else { return None };
        let queue = self.config.forks[fork as usize].queue;
        self.config.queues[queue as usize].returned_limit.is_some().then_some(queue)
    }

    /// Any action at all.
    pub fn action(&mut self) -> Action {
        let downtime = Downtime::ALL[self.below(Downtime::ALL.len() as u64) as usize];
        let queue = self.below(self.config.queues.len() as u64) as u32;
        let served_by = self.config.queues[queue as usize].served_by.clone();
        let link = served_by[self.below(served_by.len() as u64) as usize];
        match self.below(11) {
            0 | 1 => Action::CloseGate { queue, link, downtime },
            2 => Action::OpenGate { queue, link },
            3 => Action::SetRoute { route_switch: 0, alternative: self.below(2) as u32 },
            4 => Action::Darken { route_switch: 0, downtime },
            5 => {
                let Limits { packets, bytes } = self.limits();
                Action::SetLimit { queue, packets, bytes }
            }
            6 => Action::SetRate { link, rate_bps: 1_000_000_000 * (1 + self.below(40)) },
            7 if self.config.queues[queue as usize].discipline.name == "ecn_threshold" => {
                let value = Value::Packets(1 + self.below(5));
                Action::SetParameter { queue, parameter: "threshold".to_owned(), value }
            }
            8 => Action::SetDelay { link, delay_ps: self.below(8_000_000) },
            9 => Action::SetLoss { link, loss_ppb: 100_000_000 * self.below(3) as u32 },
            _ => Action::SetMark { marker: 0, on: self.chance(2) },
        }
    }

    /// Opens what may be closed.
    pub fn daylight(&self) -> Vec<Action> {
        let gates = (0..)
            .zip(&self.config.queues)
            .flat_map(|(queue, config)| config.served_by.iter().map(move |&link| Action::OpenGate { queue, link }));
        gates.chain([Action::SetRoute { route_switch: 0, alternative: 1 }]).collect()
    }
}
