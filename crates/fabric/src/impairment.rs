//! Random loss and jitter of links.
//!
//! A draw depends on the packet and not on its turn: it is a hash of the link, the packet's flow and direction, its
//! identity among them ([`Identity`]), and how often it has passed. So two runs lose the same packets as long as they
//! send the same, however their hosts' clocks or the other flows differ. Each retransmission draws anew.

use std::collections::VecDeque;

use daybreak_units::{Duration, Instant, Stream, splitmix};

use crate::link::LinkConfig;
use crate::repeats::{Identity, Repeats};

/// The impairments of a link: each packet is lost, or late, independently of the others.
#[derive(Debug)]
pub struct Impairment {
    repeats: Repeats,
    losses: Draws,
    /// A draw below this loses the packet.
    threshold: u64,
    /// Packets lost so far.
    pub lost: u64,
    delays: Draws,
    jitter: Duration,
    /// Arrival of the last packet: none overtakes it.
    latest: Instant,
    /// Present if the link's delay may change.
    pipe: Option<Pipe>,
}

/// The pipe that a packet enters when its last bit has left the link.
#[derive(Debug)]
struct Pipe {
    delay: Duration,
    /// The jitter of the link: `Impairment::jitter` is 0, as nothing is late before it is in the pipe.
    jitter: Duration,
    /// The jitter of packets that are being sent. The next one may start before the first has entered.
    late: VecDeque<Duration>,
}

impl Impairment {
    /// `None` for a link without impairment.
    pub fn new(config: &LinkConfig, seed: u64) -> Option<Self> {
        (config.loss_ppb > 0 || !config.jitter.is_zero()).then(|| Self::always(config, seed))
    }

    /// The impairments of a link that has none yet, but may get some.
    pub(crate) fn always(config: &LinkConfig, seed: u64) -> Self {
        Self {
            repeats: Repeats::default(),
            losses: Draws::new(seed, &format!("{}/loss", config.stream)),
            threshold: threshold(config.loss_ppb),
            lost: 0,
            delays: Draws::new(seed, &format!("{}/jitter", config.stream)),
            jitter: config.jitter,
            latest: Instant::ZERO,
            pipe: None,
        }
    }

    /// The impairments of a link whose delay may change. Packets that [`Impairment::pass`] have to enter the pipe.
    pub(crate) fn with_pipe(config: &LinkConfig, seed: u64) -> Self {
        let pipe = Some(Pipe { delay: config.delay, jitter: config.jitter, late: VecDeque::new() });
        Self { jitter: Duration::ZERO, pipe, ..Self::always(config, seed) }
    }

    /// Changes the delay of a link that has a pipe, for packets that enter it from now on.
    pub(crate) fn set_delay(&mut self, delay: Duration) {
        let Some(pipe) = &mut self.pipe else { unreachable!("the delay changes of a link without a pipe") };
        pipe.delay = delay;
    }

    /// Changes the probability of loss, for packets that pass from now on.
    pub(crate) fn set_loss(&mut self, loss_ppb: u32) {
        self.threshold = threshold(loss_ppb);
    }

    /// Passes a packet to `endpoint` that would arrive at `on_time`; returns its arrival time, or `None` if it is lost.
    pub fn pass(&mut self, endpoint: u32, identity: Identity, on_time: Instant) -> Option<Instant> {
        let before = self.repeats.count(endpoint, identity);
        if self.threshold > 0 && self.losses.of(endpoint, identity, before) < self.threshold {
            self.lost += 1;
            return None;
        }
        if self.jitter.is_zero() {
            if let Some(pipe) = &mut self.pipe {
                pipe.late.push_back(late(self.delays.of(endpoint, identity, before), pipe.jitter));
            }
            return Some(on_time);
        }
        Some(self.late_arrival(endpoint, identity, before, on_time))
    }

    /// Like [`Impairment::pass`], on a link that loses no packet and has no pipe.
    #[inline]
    pub(crate) fn delay(&mut self, endpoint: u32, identity: Identity, on_time: Instant) -> Instant {
        let before = self.repeats.count(endpoint, identity);
        self.late_arrival(endpoint, identity, before, on_time)
    }

    #[inline]
    fn late_arrival(&mut self, endpoint: u32, identity: Identity, before: u32, on_time: Instant) -> Instant {
        self.in_order(on_time + late(self.delays.of(endpoint, identity, before), self.jitter))
    }

    /// The oldest passed packet that is not in the pipe enters it now; returns its arrival time at the other end.
    /// `None` for a link without a pipe.
    pub(crate) fn enter_pipe(&mut self, now: Instant) -> Option<Instant> {
        let pipe = self.pipe.as_mut()?;
        let Some(late) = pipe.late.pop_front() else { unreachable!("a packet enters a pipe that has not passed") };
        let arrival = now + pipe.delay + late;
        Some(self.in_order(arrival))
    }

    /// The arrival time of a packet that would arrive at this time if it were alone.
    fn in_order(&mut self, arrival: Instant) -> Instant {
        self.latest = arrival.max(self.latest + Duration::from_ps(1));
        self.latest
    }

    /// Discards the state of `endpoint`, to which no more packets pass.
    pub(crate) fn forget(&mut self, endpoint: u32) {
        self.repeats.forget(endpoint);
    }
}

/// A draw below this loses a packet.
fn threshold(loss_ppb: u32) -> u64 {
    u64::try_from((u128::from(loss_ppb) << 64) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// A time up to the jitter. Of 2^64 draws each has the same number, but for one: a picosecond is drawn too often by
/// less than 10^-6.
fn late(draw: u64, jitter: Duration) -> Duration {
    Duration::from_ps(((u128::from(draw) * u128::from(jitter.as_ps() + 1)) >> 64) as u64)
}

/// Random numbers by packet.
#[derive(Debug)]
struct Draws(u64);

impl Draws {
    fn new(seed: u64, path: &str) -> Self {
        Self(Stream::new(seed, path).next_u64())
    }

    /// A number uniform over all 64-bit values, for a packet that has passed `before` times.
    fn of(&self, endpoint: u32, Identity { class, number }: Identity, before: u32) -> u64 {
        let way = splitmix(self.0 ^ (u64::from(class) << 32 | u64::from(endpoint)));
        splitmix(splitmix(way ^ number) ^ u64::from(before))
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::Rate;

    use super::*;

    #[test]
    fn every_delay_up_to_the_jitter_is_as_likely_as_the_others() {
        let config = LinkConfig {
            rate: Rate::from_bps(1_000_000_000),
            delay: Duration::ZERO,
            framing_bytes: 0,
            loss_ppb: 0,
            jitter: Duration::from_ps(2),
            stream: "link".into(),
        };
        let mut seen = [0; 3];
        for number in 0..3_000 {
            let mut link = Impairment::new(&config, 1).expect("a link with jitter");
            let late = link.pass(0, Identity { class: 0, number }, Instant::ZERO + Duration::from_ns(1));
            seen[late.expect("nothing is lost").as_ps() as usize - 1_000] += 1;
        }
        // Four standard deviations of a binomial count of 3000 draws at one third are 103.
        assert!(seen.iter().all(|&count| (897..=1_103).contains(&count)), "{seen:?}");
    }
}
