//! What happens to packets on a link at random.
//!
//! A draw belongs to the packet and not to its turn: it is a hash of the link, the packet's flow and direction, what tells
//! it from the others there ([`Identity`]), and how often it has passed. So two runs lose the same packets as far as they
//! send the same, however their hosts' clocks or the other flows differ. Each retransmission draws anew.

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
}

impl Impairment {
    /// `None` for a link without impairment.
    pub fn new(config: &LinkConfig, seed: u64) -> Option<Self> {
        let threshold = (u128::from(config.loss_ppb) << 64) / 1_000_000_000;
        (config.loss_ppb > 0 || !config.jitter.is_zero()).then(|| Self {
            repeats: Repeats::default(),
            losses: Draws::new(seed, &format!("{}/loss", config.stream)),
            threshold: u64::try_from(threshold).unwrap_or(u64::MAX),
            lost: 0,
            delays: Draws::new(seed, &format!("{}/jitter", config.stream)),
            jitter: config.jitter,
            latest: Instant::ZERO,
        })
    }

    /// A packet to `endpoint` passes that would arrive at `on_time`: when it does, or `None` if it is lost.
    pub fn pass(&mut self, endpoint: u32, identity: Identity, on_time: Instant) -> Option<Instant> {
        let before = self.repeats.count(endpoint, identity);
        if self.threshold > 0 && self.losses.of(endpoint, identity, before) < self.threshold {
            self.lost += 1;
            return None;
        }
        if self.jitter.is_zero() {
            return Some(on_time);
        }
        // Of 2^64 outcomes each delay has the same number, but for one: a picosecond is drawn too often by less than 10^-6.
        let draw = u128::from(self.delays.of(endpoint, identity, before));
        let late = (draw * u128::from(self.jitter.as_ps() + 1)) >> 64;
        let arrival = on_time + Duration::from_ps(late as u64);
        self.latest = arrival.max(self.latest + Duration::from_ps(1));
        Some(self.latest)
    }

    /// No packet to `endpoint` passes any more.
    pub(crate) fn forget(&mut self, endpoint: u32) {
        self.repeats.forget(endpoint);
    }
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
