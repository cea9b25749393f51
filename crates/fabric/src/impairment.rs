//! What happens to packets on a link at random.

use daybreak_units::{Duration, Instant, Stream};

use crate::link::LinkConfig;

/// The impairments of a link: each packet is lost, or late, independently of the others.
#[derive(Debug)]
pub struct Impairment {
    losses: Stream,
    /// A draw below this loses the packet.
    threshold: u64,
    /// Packets lost so far.
    pub lost: u64,
    delays: Stream,
    jitter: Duration,
    /// Arrival of the last packet: none overtakes it.
    latest: Instant,
}

impl Impairment {
    /// `None` for a link without impairment.
    pub fn new(config: &LinkConfig, seed: u64) -> Option<Self> {
        let threshold = (u128::from(config.loss_ppb) << 64) / 1_000_000_000;
        (config.loss_ppb > 0 || !config.jitter.is_zero()).then(|| Self {
            losses: Stream::new(seed, &format!("{}/loss", config.stream)),
            threshold: u64::try_from(threshold).unwrap_or(u64::MAX),
            lost: 0,
            delays: Stream::new(seed, &format!("{}/jitter", config.stream)),
            jitter: config.jitter,
            latest: Instant::ZERO,
        })
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        let lost = self.threshold > 0 && self.losses.next_u64() < self.threshold;
        self.lost += u64::from(lost);
        lost
    }

    /// When a packet arrives that would arrive at this time without jitter.
    pub fn late(&mut self, arrival: Instant) -> Instant {
        if !self.jitter.is_zero() {
            let late = arrival + Duration::from_ps(self.delays.below(self.jitter.as_ps() + 1));
            self.latest = late.max(self.latest + Duration::from_ps(1));
            return self.latest;
        }
        arrival
    }
}
