//! Segments as frames: Ethernet, IPv4, TCP with its options, checksums.
//!
//! A dialogue counts sequence numbers from each side's initial one, windows in bytes and timestamps from its
//! start. Here they are converted to the fields on the wire, and back.

use daybreak_tcp::{Ecn, Flags, Header, SackBlock, Segment, SynOptions};

use crate::headers::ETHERNET;
use crate::system::Address;

/// The stack under test.
pub const OWN: Address = Address { ip: 0x0a00_0001, port: 5_000 };
/// The peer.
pub const PEER: Address = Address { ip: 0x0a00_0002, port: 6_000 };
/// Ethernet address of the stack's NIC.
pub const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Ethernet address of the peer.
pub const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// The peer's initial sequence number, chosen arbitrarily.
const PEER_ISN: u32 = 0x5000_0000;
const IP: usize = 20;
const TCP: usize = 20;

/// The state of a connection needed to read and write its segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wire {
    /// Initial sequence number of the stack under test.
    own_isn: u32,
    /// Offset of its timestamps from the dialogue's clock; `None` before the first.
    stamp_offset: Option<u32>,
    /// Window scales that the SYNs offered, plus one.
    own_scale: u8,
    peer_scale: u8,
}

impl Wire {
    /// The peer's segment as a frame for the stack under test.
    pub fn write(&mut self, segment: &Segment) -> Vec<u8> {
        let is_syn = segment.flags.contains(Flags::SYN);
        if is_syn {
            self.peer_scale = segment.syn.window_scale_plus_one;
        }
        let window = segment.window >> self.shift(is_syn, self.peer_scale);
        let options = self.options(segment);
        let header = TCP + options.len();
        let has_ack = segment.flags.contains(Flags::ACK);

        let mut tcp = Vec::with_capacity(header + segment.len as usize);
        tcp.extend_from_slice(&PEER.port.to_be_bytes());
        tcp.extend_from_slice(&OWN.port.to_be_bytes());
        tcp.extend_from_slice(&PEER_ISN.wrapping_add(segment.seq as u32).to_be_bytes());
        let ack = if has_ack { self.own_isn.wrapping_add(segment.ack as u32) } else { 0 };
        tcp.extend_from_slice(&ack.to_be_bytes());
        tcp.extend_from_slice(&[(header / 4 * 16) as u8, segment.flags.0]);
        tcp.extend_from_slice(&(window.min(0xffff) as u16).to_be_bytes());
        tcp.extend_from_slice(&[0; 4]);
        tcp.extend_from_slice(&options);
        tcp.resize(header + segment.len as usize, 0);
        let mut pseudo = Vec::new();
        pseudo.extend_from_slice(&PEER.ip.to_be_bytes());
        pseudo.extend_from_slice(&OWN.ip.to_be_bytes());
        pseudo.extend_from_slice(&[0, libc::IPPROTO_TCP as u8]);
        pseudo.extend_from_slice(&(tcp.len() as u16).to_be_bytes());
        let sum = checksum(&[&pseudo, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());

        let mut frame = Vec::with_capacity(ETHERNET + IP + tcp.len());
        frame.extend_from_slice(&OWN_MAC);
        frame.extend_from_slice(&PEER_MAC);
        frame.extend_from_slice(&(libc::ETH_P_IP as u16).to_be_bytes());
        let mut ip = [0u8; IP];
        ip[0] = 0x45;
        ip[1] = segment.ecn as u8;
        ip[2..4].copy_from_slice(&((IP + tcp.len()) as u16).to_be_bytes());
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = libc::IPPROTO_TCP as u8;
        ip[12..16].copy_from_slice(&PEER.ip.to_be_bytes());
        ip[16..20].copy_from_slice(&OWN.ip.to_be_bytes());
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(&ip);
        frame.extend_from_slice(&tcp);
        frame
    }

    /// A frame of the stack under test as a segment; none if it is not TCP. `stamp` is what the dialogue's
    /// timestamp clock shows now.
    pub fn read(&mut self, frame: &[u8], stamp: u32) -> Option<Segment> {
        let byte = |at: usize| frame.get(at).copied();
        let u16_at = |at: usize| Some(u16::from_be_bytes([byte(at)?, byte(at + 1)?]));
        let u32_at = |at: usize| Some(u32::from(u16_at(at)?) << 16 | u32::from(u16_at(at + 2)?));
        if u16_at(12)? != libc::ETH_P_IP as u16 || byte(ETHERNET + 9)? != libc::IPPROTO_TCP as u8 {
            return None;
        }
        let ip_header = usize::from(byte(ETHERNET)? & 15) * 4;
        let tcp = ETHERNET + ip_header;
        let header = usize::from(byte(tcp + 12)? >> 4) * 4;
        let flags = Flags(byte(tcp + 13)?);
        let is_syn = flags.contains(Flags::SYN);
        if is_syn {
            self.own_isn = u32_at(tcp + 4)?;
        }
        let seq = match u32_at(tcp + 4)? {
            // A RST for a segment without an ACK belongs to no connection (RFC 9293, section 3.10.7.1).
            0 if flags.contains(Flags::RST.with(Flags::ACK)) => 0,
            seq => seq.wrapping_sub(self.own_isn),
        };
        let mut segment = Segment::from(Header {
            seq: u64::from(seq),
            len: u32::from(u16_at(ETHERNET + 2)?).checked_sub((ip_header + header) as u32)?,
            flags,
            ecn: match byte(ETHERNET + 1)? & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
            ..Header::default()
        });
        if flags.contains(Flags::ACK) {
            segment.ack = u64::from(u32_at(tcp + 8)?.wrapping_sub(PEER_ISN));
        }
        self.read_options(frame.get(tcp + TCP..tcp + header)?, stamp, &mut segment)?;
        if is_syn {
            self.own_scale = segment.syn.window_scale_plus_one;
        }
        segment.window = u32::from(u16_at(tcp + 14)?) << self.shift(is_syn, self.own_scale);
        Some(segment)
    }

    /// A window is scaled if both SYNs had the option, and never in a SYN (RFC 7323, section 2.2).
    fn shift(&self, is_syn: bool, scale_plus_one: u8) -> u8 {
        if is_syn || self.own_scale == 0 || self.peer_scale == 0 { 0 } else { scale_plus_one - 1 }
    }

    fn options(&self, segment: &Segment) -> Vec<u8> {
        let mut options = Vec::new();
        let syn = &segment.syn;
        if syn.mss != 0 {
            options.extend_from_slice(&[MSS, 4]);
            options.extend_from_slice(&syn.mss.to_be_bytes());
        }
        if syn.window_scale_plus_one != 0 {
            options.extend_from_slice(&[NOP, WINDOW_SCALE, 3, syn.window_scale_plus_one - 1]);
        }
        if syn.sack_permitted {
            options.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if segment.ts_val != 0 {
            options.extend_from_slice(&[NOP, NOP, TIMESTAMPS, 10]);
            options.extend_from_slice(&segment.ts_val.to_be_bytes());
            let echo = match segment.ts_ecr {
                0 => 0,
                echo => echo.wrapping_add(self.stamp_offset.unwrap_or_default()),
            };
            options.extend_from_slice(&echo.to_be_bytes());
        }
        if segment.sack_count != 0 {
            options.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * segment.sack_count]);
            for edge in segment.sacks().iter().flat_map(|block| [block.start, block.end]) {
                options.extend_from_slice(&self.own_isn.wrapping_add(edge as u32).to_be_bytes());
            }
        }
        options
    }

    fn read_options(&mut self, mut options: &[u8], stamp: u32, segment: &mut Segment) -> Option<()> {
        let mut syn = SynOptions::default();
        while let [kind, rest @ ..] = options {
            if *kind == END {
                break;
            }
            if *kind == NOP {
                options = rest;
                continue;
            }
            let length = usize::from(*rest.first()?);
            let value = options.get(2..length)?;
            options = &options[length..];
            match (*kind, value) {
                (MSS, &[high, low]) => syn.mss = u16::from_be_bytes([high, low]),
                (WINDOW_SCALE, &[scale]) => syn.window_scale_plus_one = scale + 1,
                (SACK_PERMITTED, _) => syn.sack_permitted = true,
                (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                    syn.timestamps = true;
                    let raw = u32::from_be_bytes([a, b, c, d]);
                    let offset = *self.stamp_offset.get_or_insert(raw.wrapping_sub(stamp));
                    segment.ts_val = raw.wrapping_sub(offset);
                    segment.ts_ecr = u32::from_be_bytes([e, f, g, h]);
                }
                (SACK, blocks) => {
                    let edge =
                        |at: &[u8]| u64::from(u32::from_be_bytes([at[0], at[1], at[2], at[3]]).wrapping_sub(PEER_ISN));
                    for block in blocks.chunks_exact(8).take(4) {
                        let place = usize::from(segment.sack_count);
                        segment.sack[place] = SackBlock { start: edge(&block[..4]), end: edge(&block[4..]) };
                        segment.sack_count += 1;
                    }
                }
                _ => {}
            }
        }
        if segment.flags.contains(Flags::SYN) {
            segment.syn = syn;
        }
        Some(())
    }
}

// Kinds of options: RFC 9293, section 3.2; RFC 7323; RFC 2018.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The Internet checksum (RFC 1071) over parts of even length, but for the last.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer's frame with the two ends exchanged, as if the stack under test had sent it.
    fn returned(mut frame: Vec<u8>) -> Vec<u8> {
        let (own, peer) = frame[26..34].split_at_mut(4);
        own.swap_with_slice(peer);
        frame
    }

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071, section 3: the sum of these is ddf2.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
        assert_eq!(checksum(&[&[0x00, 0x01], &[0xf2]]), !0xf201);
    }

    #[test]
    fn a_written_frame_sums_to_nothing() {
        let segment =
            Segment::from(Header { seq: 1, ack: 1, len: 7, flags: Flags::ACK, ts_val: 9, ..Header::default() });
        let frame = Wire::default().write(&segment);
        assert_eq!(frame.len(), 14 + 20 + 32 + 7);
        assert_eq!(checksum(&[&frame[14..34]]), 0);
        let tcp = &frame[34..];
        let pseudo = [10, 0, 0, 2, 10, 0, 0, 1, 0, 6, 0, tcp.len() as u8];
        assert_eq!(checksum(&[&pseudo, tcp]), 0);
    }

    #[test]
    fn what_is_written_is_read() {
        // Both ends alike: their numbers start at the same place.
        let mut wire = Wire { own_isn: PEER_ISN, stamp_offset: Some(0), ..Wire::default() };
        let syn = SynOptions { mss: 1460, window_scale_plus_one: 8, sack_permitted: true, timestamps: true };
        let syn = Segment::from(Header { flags: Flags::SYN, syn, ts_val: 5, window: 64_240, ..Header::default() });
        let frame = returned(wire.write(&syn));
        assert_eq!(wire.read(&frame, 5), Some(syn));
        let mut ack = Segment::from(Header {
            seq: 1,
            ack: 70_000,
            len: 100,
            window: 128 * 300,
            ts_val: 77,
            ts_ecr: 66,
            flags: Flags::ACK.with(Flags::ECE),
            ecn: Ecn::Ect0,
            sack_count: 2,
            ..Header::default()
        });
        ack.sack[0] = SackBlock { start: 71_448, end: 72_896 };
        ack.sack[1] = SackBlock { start: 80_000, end: 80_001 };
        let frame = returned(wire.write(&ack));
        assert_eq!(wire.read(&frame, 77), Some(ack));
    }

    #[test]
    fn timestamps_count_from_the_start_of_the_dialogue() {
        let mut wire = Wire::default();
        let segment = Segment::from(Header { flags: Flags::ACK, ts_val: 1_000_003, ..Header::default() });
        let frame = wire.write(&segment);
        assert_eq!(wire.read(&frame, 3).map(|read| read.ts_val), Some(3));
        let echo = Segment::from(Header { flags: Flags::ACK, ts_val: 4, ts_ecr: 3, ..Header::default() });
        let frame = wire.write(&echo);
        assert_eq!(wire.read(&frame, 4).map(|read| read.ts_ecr), Some(1_000_003));
    }

    #[test]
    fn what_is_no_tcp_is_not_read() {
        let mut frame = Wire::default().write(&Segment::default());
        assert!(Wire::default().read(&frame[..40], 0).is_none());
        frame[12] = 6;
        assert!(Wire::default().read(&frame, 0).is_none());
    }
}
