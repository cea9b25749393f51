//! UDP at a constant rate: sending times, the head of datagrams, and the receiver's counters.

use daybreak_trace::{DatagramRow, NEVER_NS};
use daybreak_units::{Duration, Instant};

/// UDP header (RFC 768), in bytes.
pub const UDP_HEADER: u32 = 8;

/// The sending times of a source: evenly spaced, without accumulating errors.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate {
    start: Instant,
    stop: Instant,
    rate_bps: u64,
    payload_bytes: u32,
    sent: u64,
}

impl ConstantRate {
    /// From `start` up to, not including, `stop`: `rate_bps` of UDP payload.
    pub fn new(start: Instant, stop: Option<Instant>, rate_bps: u64, payload_bytes: u32) -> Self {
        Self { start, stop: stop.unwrap_or(Instant::NEVER), rate_bps, payload_bytes, sent: 0 }
    }

    /// When the next datagram leaves; [`Instant::NEVER`] if none does.
    pub fn next_at(&self) -> Instant {
        const PS_PER_SEC: u128 = 1_000_000_000_000;
        let bits = u128::from(self.sent) * u128::from(self.payload_bytes) * 8;
        let after = u64::try_from(bits * PS_PER_SEC / u128::from(self.rate_bps)).map(Duration::from_ps);
        let at = after.map_or(Instant::NEVER, |after| self.start.saturating_add(after));
        if at < self.stop { at } else { Instant::NEVER }
    }

    /// The datagram that leaves `now`.
    pub fn send(&mut self, now: Instant) -> Datagram {
        self.sent += 1;
        Datagram { number: self.sent - 1, sent_at: now }
    }

    /// Datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// The head of each payload: two 64-bit numbers in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number; the first is 0.
    pub number: u64,
    /// Sending time; on the wire in nanoseconds of the run.
    pub sent_at: Instant,
}

impl Datagram {
    /// Its length in bytes.
    pub const BYTES: usize = 16;

    /// Encodes it.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..].copy_from_slice(&self.sent_at.as_ns().to_be_bytes());
        bytes
    }

    /// Decodes it from the start of a payload; `None` if the payload is too short.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let (number, rest) = payload.split_first_chunk()?;
        let sent_ns = u64::from_be_bytes(*rest.first_chunk()?);
        Some(Self { number: u64::from_be_bytes(*number), sent_at: Instant::from_ps(sent_ns.checked_mul(1_000)?) })
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Datagrams.
    pub datagrams: u64,
    /// Datagrams that arrived after one with a higher number.
    pub reordered: u64,
    /// One-way delays: least, most, sum.
    pub delay_min: Duration,
    /// See `delay_min`.
    pub delay_max: Duration,
    /// See `delay_min`.
    pub delay_sum: Duration,
    next: u64,
}

impl Received {
    /// Counts a datagram; returns its delay.
    pub fn count(&mut self, now: Instant, datagram: Datagram) -> Duration {
        let delay = now.saturating_since(datagram.sent_at);
        self.delay_min = if self.datagrams == 0 { delay } else { self.delay_min.min(delay) };
        self.delay_max = self.delay_max.max(delay);
        self.delay_sum += delay;
        self.datagrams += 1;
        self.reordered += u64::from(datagram.number < self.next);
        self.next = self.next.max(datagram.number + 1);
        delay
    }

    /// The row of a flow with `sent` datagrams, `lost` of which were lost.
    pub fn row(&self, flow: u32, sent: u64, lost: u64) -> DatagramRow {
        let known = |delay: Duration| if self.datagrams == 0 { NEVER_NS } else { delay.as_ps() / 1_000 };
        DatagramRow {
            flow,
            sent,
            delivered: self.datagrams,
            lost,
            in_flight: sent - lost - self.datagrams,
            reordered: self.reordered,
            delay_min_ns: known(self.delay_min),
            delay_mean_ns: known(Duration::from_ps(self.delay_sum.as_ps() / self.datagrams.max(1))),
            delay_max_ns: known(self.delay_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: &mut ConstantRate, most: usize) -> Vec<u64> {
        let next = || {
            let at = rate.next_at();
            (at < Instant::NEVER).then(|| rate.send(at).sent_at.as_ps())
        };
        std::iter::from_fn(next).take(most).collect()
    }

    #[test]
    fn datagrams_keep_their_rate_exactly() {
        // 1,000 bytes at 3 Gbit/s: 2666 2/3 ns, without an error that grows.
        let mut rate = ConstantRate::new(Instant::from_ps(5), None, 3_000_000_000, 1_000);
        assert_eq!(times(&mut rate, 4), [5, 2_666_671, 5_333_338, 8_000_005]);
        let mut rate = ConstantRate::new(Instant::ZERO, Some(Instant::from_ps(8_000_000)), 3_000_000_000, 1_000);
        assert_eq!(times(&mut rate, 9), [0, 2_666_666, 5_333_333], "none at its end");
        assert_eq!(rate.sent(), 3);
    }

    #[test]
    fn a_datagram_comes_back_as_it_was() {
        let datagram = Datagram { number: 1 << 40, sent_at: Instant::from_ps(77_000) };
        let bytes = datagram.encode();
        assert_eq!(Datagram::decode(&bytes), Some(datagram));
        assert_eq!(Datagram::decode(&bytes[..15]), None);
    }

    #[test]
    fn a_receiver_counts_delays_and_what_comes_late() {
        let mut received = Received::default();
        for (number, sent, now) in [(0, 100, 150), (2, 120, 190), (1, 110, 200), (3, 130, 160)] {
            let sent_at = Instant::from_ps(sent);
            assert_eq!(received.count(Instant::from_ps(now), Datagram { number, sent_at }).as_ps(), now - sent);
        }
        let Received { datagrams, reordered, delay_min, delay_max, delay_sum, .. } = received;
        assert_eq!((datagrams, reordered), (4, 1));
        assert_eq!([delay_min, delay_max, delay_sum].map(Duration::as_ps), [30, 90, 240]);
        let row = received.row(7, 9, 2);
        assert_eq!((row.flow, row.sent, row.delivered, row.lost, row.in_flight), (7, 9, 4, 2, 3));
        assert_eq!(Received::default().row(7, 1, 1).delay_mean_ns, NEVER_NS, "there is none");
    }
}
