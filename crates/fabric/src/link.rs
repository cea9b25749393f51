//! A unidirectional link: a serialiser, then a pipe.

use daybreak_units::{ByteTime, Duration, Instant, Rate};

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
    /// Largest jitter of an arrival, drawn uniformly from zero to this; packets keep their order.
    pub jitter: Duration,
    /// Name of the link, after which its random streams are named.
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
    /// Packets that began to be sent, including lost ones.
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
    /// A [`crate::Wake::TransmissionComplete`] is pending, since packets wait.
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

    /// True when a packet may start at once: the link is idle and no wake-up is pending.
    #[inline]
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now && !self.awaited
    }
}
