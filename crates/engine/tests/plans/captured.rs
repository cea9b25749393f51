//! A run with some links captured, and the heads of the packets in its capture (pcapng).

use std::io::Write;
use std::sync::{Arc, Mutex};

use daybreak_engine::{Records, Simulation};
use daybreak_plan::Plan;

/// A packet at the start of a captured link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub time_ns: u64,
    /// Position of the link in the list of captured ones.
    pub interface: u32,
    /// The ECN field of the IP header.
    pub ecn: u8,
    /// Flags of the TCP header: FIN is 1, SYN 2, ..., ECE 0x40, CWR 0x80.
    pub flags: u8,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the plan and captures the first `snaplen` bytes of each packet on these links.
pub fn capture(plan: &Plan, links: &[u32], snaplen: u32) -> (Records, Vec<u8>) {
    let mut plan = plan.clone();
    plan.records.capture_links = links.to_vec();
    plan.records.capture_snaplen = snaplen;
    let output = Shared::default();
    let mut simulation = Simulation::with_capture(&plan, Box::new(output.clone())).unwrap();
    while !simulation.step(u64::MAX).done {}
    let records = simulation.finish().unwrap();
    let bytes = std::mem::take(&mut *output.0.lock().unwrap());
    (records, bytes)
}

/// Like the above, with the packets' heads.
pub fn captured(plan: &Plan, links: &[u32]) -> (Records, Vec<Head>) {
    const ENHANCED_PACKET: u32 = 6;
    const IP: usize = 28 + 14; // head of the block, Ethernet
    const FLAGS: usize = IP + 20 + 13;
    let (records, bytes) = capture(plan, links, 64);
    let mut packets = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let word = |i: usize| u32::from_le_bytes(rest[4 * i..4 * i + 4].try_into().unwrap());
        if word(0) == ENHANCED_PACKET {
            let time_ns = u64::from(word(3)) << 32 | u64::from(word(4));
            packets.push(Head { time_ns, interface: word(2), ecn: rest[IP + 1] & 3, flags: rest[FLAGS] });
        }
        rest = &rest[word(1) as usize..];
    }
    (records, packets)
}
