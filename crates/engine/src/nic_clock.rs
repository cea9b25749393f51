//! The clock of a NIC of the kernel engine.
//!
//! There a NIC's rate is a queueing discipline of Linux (`tbf`), which counts the time of a packet in whole
//! nanoseconds, rounded down, by a multiplication and a shift that are themselves a little too small. A NIC that is
//! too fast by a fraction of a nanosecond would fill the queue behind it; so a packet of full size gets the bytes
//! that round its time up, unless that would slow the NIC down by more than one part in 2000.

use daybreak_units::Duration;

use daybreak_plan::Link;

/// Ethernet header, which `tbf` counts itself.
const ETHERNET: u32 = 14;
const NS_PER_SEC: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1_000;
/// The largest slowdown of a NIC against its link: 1/2000 of the rate.
const SLOWER: u64 = 2_000;

/// The time that packets take at a NIC.
#[derive(Clone, Copy, Debug)]
pub struct NicClock {
    /// Bytes that are counted beyond the IP packet and the Ethernet header.
    pub overhead: u16,
    multiplier: u64,
    shift: u32,
}

impl NicClock {
    /// The clock of the NIC in front of `link`, with packets of up to `mtu` bytes.
    pub fn new(link: &Link, mtu: u32) -> Self {
        let (multiplier, shift) = precomputed(link.rate_bps / 8);
        let clock = |overhead: u32| Self { overhead: overhead as u16, multiplier, shift };
        let framing = link.framing_bytes - ETHERNET;
        let wire_ps = u128::from(mtu + link.framing_bytes) * 8 * u128::from(NS_PER_SEC * PS_PER_NS);
        let exact_ps = (wire_ps / u128::from(link.rate_bps)) as u64;
        let up = (framing..).map(clock).find(|clock| clock.time_of(mtu).as_ps() >= exact_ps).expect("time grows");
        if up.time_of(mtu).as_ps() * SLOWER <= exact_ps * (SLOWER + 1) { up } else { clock(framing) }
    }

    /// The time of a packet.
    pub fn time_of(&self, ip_bytes: u32) -> Duration {
        let bytes = u64::from(ip_bytes + ETHERNET) + u64::from(self.overhead);
        Duration::from_ps(((bytes * self.multiplier) >> self.shift) * PS_PER_NS)
    }
}

/// Nanoseconds a byte, as the largest multiplier below 2^32 and its shift (`psched_ratecfg_precompute`).
fn precomputed(bytes_per_sec: u64) -> (u64, u32) {
    let bytes_per_sec = bytes_per_sec.max(1);
    let mut shift = 0;
    while NS_PER_SEC << shift < 1 << 63 && (NS_PER_SEC << shift) / bytes_per_sec < 1 << 31 {
        shift += 1;
    }
    ((NS_PER_SEC << shift) / bytes_per_sec, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(gbps: u64, mtu: u32) -> (u16, u64) {
        let link = Link {
            name: "nic".to_owned(),
            from: 0,
            to: 1,
            rate_bps: gbps * NS_PER_SEC,
            delay_ps: 0,
            framing_bytes: 38,
            loss_ppb: 0,
            jitter_ps: 0,
            scheduler: daybreak_plan::Scheduler::RoundRobin,
        };
        let clock = NicClock::new(&link, mtu);
        (clock.overhead, clock.time_of(mtu).as_ps())
    }

    #[test]
    fn time_is_rounded_up_where_that_costs_little() {
        assert_eq!(clock(8, 1_500), (24, 1_538_000), "whole nanoseconds need nothing");
        assert_eq!(clock(10, 1_500), (25, 1_231_000), "1230.4 ns");
        assert_eq!(clock(10, 9_000), (25, 7_231_000), "7230.4 ns");
        assert_eq!(clock(100, 1_500), (24, 123_000), "123.04 ns would become 124, 0.8 % more");
    }

    #[test]
    fn a_product_that_is_whole_is_rounded_down_all_the_same() {
        // 9040 bytes at 40 Gbit/s take 1808 ns, but 0.2 ns is not a binary fraction: it takes one byte more.
        assert_eq!(clock(40, 9_000), (27, 1_808_000), "1807.6 ns");
    }
}
