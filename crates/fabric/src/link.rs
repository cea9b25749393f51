//! A unidirectional link: a serialiser, then a pipe.

use daybreak_units::{ByteTime, Duration, Instant, Rate, Stream};

/// A link at the start of a run.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// At least 1 Mbit/s.
    pub rate: Rate,
    /// Time from the last bit sent to the arrival of the packet.
    pub delay: Duration,
    /// Bytes on the wire beyond each packet's IP length.
    pub framing_bytes: u32,
    /// Probability of losing a packet, in parts per 10^9.
    pub loss_ppb: u32,
    /// Most that a packet's arrival is late, drawn evenly from zero to this; packets keep their order.
    pub jitter: Duration,
    /// Name of the link; its random streams are called after it.
    pub stream: String,
}

/// The state of a link, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    /// When the packet in service, if any, has been sent.
    pub busy_until: Instant,
    pub byte_time: ByteTime,
    pub delay: Duration,
    /// Packets that began to be sent, lost ones included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that arrived at the other end.
    pub arrived: u64,
    pub framing_bytes: u32,
    /// Index of its [`Impairment`], or [`UNIMPAIRED`].
    pub impairment: u32,
    /// The queue it serves, or [`SEVERAL`].
    pub queue: u32,
    /// A [`crate::Wake::TransmissionComplete`] is under way: somebody waits.
    pub awaited: bool,
}

/// Neither random loss nor jitter.
pub(crate) const UNIMPAIRED: u32 = u32::MAX;
/// The link serves no queue or more than one.
pub(crate) const SEVERAL: u32 = u32::MAX;

impl Link {
    pub(crate) fn new(config: &LinkConfig, impairment: u32) -> Self {
        Self {
            busy_until: Instant::ZERO,
            byte_time: ByteTime::new(config.rate),
            delay: config.delay,
            packets: 0,
            bytes: 0,
            arrived: 0,
            framing_bytes: config.framing_bytes,
            impairment,
            queue: SEVERAL,
            awaited: false,
        }
    }

    /// True when a packet may start at once: nothing is in service, nobody waits.
    #[inline]
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now && !self.awaited
    }
}

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
