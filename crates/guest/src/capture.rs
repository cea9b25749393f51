//! Captures real packets on chosen links as pcapng. The payload, which is zeros, is written up to the plan's snap
//! length; checksums that a host left to its NIC are completed.

use std::fs::File;
use std::io;
use std::path::Path;

use daybreak_engine::PcapngWriter;
use daybreak_plan::Plan;
use daybreak_units::Instant;

use crate::marks::Marks;
use crate::skb::Skb;

/// An open capture.
pub struct Capture {
    writer: PcapngWriter<File>,
    /// Interface of each link.
    interfaces: Vec<Option<u32>>,
    snaplen: usize,
    frame: Vec<u8>,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl Capture {
    /// The capture that a plan asks for, if any, to a file at `path`.
    pub fn new(plan: &Plan, path: &Path) -> io::Result<Option<Self>> {
        if plan.records.capture_links.is_empty() {
            return Ok(None);
        }
        let mut writer = PcapngWriter::new(File::create(path)?)?;
        let mut interfaces = vec![None; plan.links.len()];
        for (number, &link) in (0..).zip(&plan.records.capture_links) {
            writer.interface(&plan.links[link as usize].name, plan.records.capture_snaplen)?;
            interfaces[link as usize] = Some(number);
        }
        let snaplen = plan.records.capture_snaplen as usize;
        Ok(Some(Self { writer, interfaces, snaplen, frame: Vec::new(), failed: None }))
    }

    /// A link starts to send the packet, which carries `marks`.
    pub fn packet(&mut self, now: Instant, link: u32, packet: &Skb, marks: Option<Marks>) {
        let Some(interface) = self.interfaces[link as usize].filter(|_| self.failed.is_none()) else { return };
        self.frame.clear();
        self.frame.extend_from_slice(packet.headers());
        if let Some(marks) = marks {
            marks.write(packet.checksum_is_partial, &mut self.frame);
        }
        if packet.checksum_is_partial {
            complete_checksum(&mut self.frame);
        }
        let length = packet.length;
        self.frame.resize((length as usize).min(self.snaplen.max(packet.headers().len())), 0);
        self.frame.truncate(self.snaplen);
        if let Err(error) = self.writer.packet(interface, now.as_ns(), &self.frame, length) {
            self.failed = Some(error);
        }
    }

    /// Writes what is still buffered and returns the first failure.
    pub fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }
}

/// The field holds the sum of the pseudo header; adds that of the TCP header, or of the UDP header with the head of a
/// datagram. A payload of zeros adds nothing.
fn complete_checksum(frame: &mut [u8]) {
    const PROTOCOL: usize = 14 + 9;
    const UDP: u8 = 17;
    const ABOVE_IP: usize = 14 + 20;
    let is_udp = frame[PROTOCOL] == UDP;
    let field = ABOVE_IP + if is_udp { 6 } else { 16 };
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    let mut sum: u32 = frame[ABOVE_IP..].chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // RFC 768: a sum of zero is sent as all ones, since zero means that there is none.
    let sum = if is_udp && sum == 0xffff { 0xffff } else { !sum as u16 };
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_checksum_makes_the_whole_sum_all_ones() {
        let mut frame: Vec<u8> = (0..14 + 20 + 32).map(|i| (i * 37 % 251) as u8).collect();
        let pseudo = 0x1a2bu32;
        frame[50..52].copy_from_slice(&(pseudo as u16).to_be_bytes());
        complete_checksum(&mut frame);
        let words = frame[34..].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let mut sum = words.sum::<u32>() + pseudo;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!(sum, 0xffff);
    }
}
