//! Reads the headers of a packet (Ethernet, IPv4, TCP or UDP), and writes marks into them.

use daybreak_fabric::Ecn;
use daybreak_host::{Datagram, UDP_HEADER};

/// The fields of a packet that the engine needs. For UDP, TCP's numbers, flags and window are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// What carries the payload.
    pub protocol: Protocol,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Sender's port.
    pub source: u16,
    /// Receiver's port.
    pub destination: u16,
    /// Sender's and receiver's IP address.
    pub addresses: [u32; 2],
    /// Identifies the fragments of one datagram.
    pub identification: u16,
    /// Whether it is a later fragment of a datagram, with no header but that of IP.
    pub is_later_fragment: bool,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// TCP's control bits.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Its first SACK block reports a duplicate (RFC 2883): it begins below the acknowledgement or lies within the
    /// second.
    pub dsack: bool,
    /// Length of all headers and of the head of a datagram.
    pub length: usize,
    /// IP length.
    pub ip_bytes: u32,
    /// Payload.
    pub payload: u32,
}

/// A protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP, with the head that our sources write at the start of the payload, if it fits.
    Udp(Option<Datagram>),
    /// Something else, which has no ports.
    Other(u8),
}

impl Protocol {
    /// Its place in the IP header's field.
    const TCP: u8 = 6;
    const UDP: u8 = 17;

    /// Its number in the field.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => Self::TCP,
            Self::Udp(_) => Self::UDP,
            Self::Other(number) => number,
        }
    }
}

/// The control bits that matter here.
pub mod flags {
    /// No more data.
    pub const FIN: u8 = 0x01;
    /// Synchronise.
    pub const SYN: u8 = 0x02;
    /// Reset.
    pub const RST: u8 = 0x04;
    /// The acknowledgement counts.
    pub const ACK: u8 = 0x10;
}

/// Ethernet header without tags, in bytes.
pub const ETHERNET: usize = 14;

impl Headers {
    /// Reads the first bytes of a packet; `None` if it is not IPv4, or cut off.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let u16_at = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let u32_at = |at: usize| Some(u32::from(u16_at(at)?) << 16 | u32::from(u16_at(at + 2)?));
        if u16_at(12)? != 0x0800 {
            return None;
        }
        let ip_header = usize::from(*bytes.get(ETHERNET)? & 15) * 4;
        let above = ETHERNET + ip_header;
        let ip_bytes = u32::from(u16_at(ETHERNET + 2)?);
        let addresses = [u32_at(ETHERNET + 12)?, u32_at(ETHERNET + 16)?];
        let identification = u16_at(ETHERNET + 4)?;
        let is_later_fragment = u16_at(ETHERNET + 6)? & 0x1fff != 0;
        let ecn = Ecn::from_bits(bytes[ETHERNET + 1]);
        let payload = |header: usize| ip_bytes.checked_sub((ip_header + header) as u32);
        let number = *bytes.get(ETHERNET + 9)?;
        let plain = Self {
            protocol: if number == Protocol::UDP { Protocol::Udp(None) } else { Protocol::Other(number) },
            ecn,
            source: 0,
            destination: 0,
            addresses,
            identification,
            is_later_fragment,
            seq: 0,
            ack: 0,
            flags: 0,
            window: 0,
            dsack: false,
            length: above,
            ip_bytes,
            payload: payload(0)?,
        };
        if is_later_fragment {
            return Some(plain);
        }
        match number {
            Protocol::TCP => {
                let (source, destination) = (u16_at(above)?, u16_at(above + 2)?);
                let tcp_header = usize::from(*bytes.get(above + 12)? >> 4) * 4;
                let length = above + tcp_header;
                let options = bytes.get(above + 20..length)?;
                Some(Self {
                    protocol: Protocol::Tcp,
                    source,
                    destination,
                    seq: u32_at(above + 4)?,
                    ack: u32_at(above + 8)?,
                    flags: bytes[above + 13],
                    window: u16_at(above + 14)?,
                    dsack: sacks(options).is_some_and(|blocks| reports_duplicate(blocks, u32_at(above + 8))),
                    length,
                    payload: payload(tcp_header)?,
                    ..plain
                })
            }
            Protocol::UDP => {
                let header = UDP_HEADER as usize;
                let (source, destination) = (u16_at(above)?, u16_at(above + 2)?);
                let datagram = Datagram::decode(bytes.get(above + header..)?);
                let head = if datagram.is_some() { Datagram::BYTES } else { 0 };
                Some(Self {
                    protocol: Protocol::Udp(datagram),
                    source,
                    destination,
                    length: above + header + head,
                    payload: payload(header)?,
                    ..plain
                })
            }
            _ => Some(plain),
        }
    }
}

/// Writes a packet's marks into its headers: CE if it is `congested`, and TCP flags. Updates the checksums
/// incrementally (RFC 1624, equation 3). A `partial` checksum, the sum of the pseudo header alone, does not depend on
/// the changes.
pub fn mark(bytes: &mut [u8], congested: bool, tcp_bits: u8, partial: bool) {
    const TYPE_OF_SERVICE: usize = ETHERNET + 1;
    const IP_CHECKSUM: usize = ETHERNET + 10;
    if congested {
        let marked = bytes[TYPE_OF_SERVICE] | Ecn::Ce as u8;
        change(bytes, TYPE_OF_SERVICE, marked, Some(IP_CHECKSUM));
    }
    if tcp_bits != 0 && bytes[ETHERNET + 9] == Protocol::TCP {
        let tcp = ETHERNET + usize::from(bytes[ETHERNET] & 15) * 4;
        let bits = bytes[tcp + 13] | tcp_bits;
        change(bytes, tcp + 13, bits, (!partial).then_some(tcp + 16));
    }
}

/// Writes a byte, and corrects the checksum over it. The byte is the second of its 16-bit word.
fn change(bytes: &mut [u8], at: usize, value: u8, checksum: Option<usize>) {
    let old = std::mem::replace(&mut bytes[at], value);
    let Some(checksum) = checksum else { return };
    let field = u16::from_be_bytes([bytes[checksum], bytes[checksum + 1]]);
    let mut sum = u32::from(!field) + u32::from(!u16::from(old)) + u32::from(value);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[checksum..checksum + 2].copy_from_slice(&(!sum as u16).to_be_bytes());
}

/// The content of the SACK option.
fn sacks(mut options: &[u8]) -> Option<&[u8]> {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest) {
            (END, _) => return None,
            (NOP, rest) => rest,
            (SACK, [length, ..]) => return options.get(2..usize::from(*length)),
            (_, [length, ..]) if *length >= 2 => options.get(usize::from(*length)..).unwrap_or(&[]),
            _ => return None,
        };
    }
    None
}

fn reports_duplicate(blocks: &[u8], acknowledged: Option<u32>) -> bool {
    let edge = |at: usize| blocks.get(4 * at..4 * at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let is_before = |one: u32, other: u32| (one.wrapping_sub(other) as i32) < 0;
    let (Some(start), Some(end), Some(acknowledged)) = (edge(0), edge(1), acknowledged) else { return false };
    let is_within = |(outer_start, outer_end)| !is_before(start, outer_start) && !is_before(outer_end, end);
    is_before(start, acknowledged) || edge(2).zip(edge(3)).is_some_and(is_within)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A segment from port 1 of address 3 to port 2 of address 4.
    pub(crate) fn headers(seq: u32, ack: u32, bits: u8, payload: u32) -> Headers {
        Headers {
            protocol: Protocol::Tcp,
            ecn: Ecn::NotEct,
            source: 1,
            destination: 2,
            addresses: [3, 4],
            identification: 0,
            is_later_fragment: false,
            seq,
            ack,
            flags: bits,
            window: 100,
            dsack: false,
            length: 54,
            ip_bytes: 40 + payload,
            payload,
        }
    }

    fn packet(options: &[u8], payload: u16) -> Vec<u8> {
        let mut bytes = vec![0u8; 14 + 20 + 20];
        bytes[12] = 8;
        bytes[14] = 0x45;
        let total = 40 + options.len() as u16 + payload;
        bytes[16..18].copy_from_slice(&total.to_be_bytes());
        bytes[23] = 6;
        bytes[34..36].copy_from_slice(&5000u16.to_be_bytes());
        bytes[36..38].copy_from_slice(&35000u16.to_be_bytes());
        bytes[38..42].copy_from_slice(&0xdead_beefu32.to_be_bytes());
        bytes[42..46].copy_from_slice(&7u32.to_be_bytes());
        bytes[46] = ((20 + options.len()) / 4 * 16) as u8;
        bytes[47] = flags::ACK;
        bytes.extend_from_slice(options);
        bytes
    }

    #[test]
    fn a_data_packet() {
        let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let headers = Headers::read(&packet(&options, 1448)).unwrap();
        assert_eq!((headers.source, headers.destination), (5000, 35000));
        assert_eq!((headers.seq, headers.ack, headers.flags), (0xdead_beef, 7, flags::ACK));
        assert_eq!((headers.length, headers.ip_bytes, headers.payload), (66, 1500, 1448));
        assert!(!headers.dsack);
    }

    #[test]
    fn a_reported_duplicate_behind_other_options_is_seen() {
        // The acknowledgement is 7.
        let reports = |edges: &[u32]| {
            let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 2 + 4 * edges.len() as u8];
            options.extend(edges.iter().flat_map(|edge| edge.to_be_bytes()));
            Headers::read(&packet(&options, 0)).unwrap().dsack
        };
        assert!(reports(&[1, 7]) && reports(&[u32::MAX - 5, 2]));
        assert!(reports(&[20, 30, 10, 40]) && reports(&[10, 40, 10, 40]));
        assert!(!reports(&[7, 9]) && !reports(&[20, 30]) && !reports(&[20, 30, 40, 50]) && !reports(&[9, 40, 10, 40]));
    }

    fn sum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn marks_leave_the_checksums_right() {
        for (ecn, payload) in [(1u8, 0u16), (2, 1448), (3, 7)] {
            let mut bytes = packet(&[], payload);
            bytes[15] = ecn;
            let ip = !sum(&bytes[14..34]);
            bytes[24..26].copy_from_slice(&ip.to_be_bytes());
            let tcp = !sum(&bytes[34..]);
            bytes[50..52].copy_from_slice(&tcp.to_be_bytes());
            let whole = bytes.clone();
            mark(&mut bytes, true, 0x40, false);
            assert_eq!((bytes[15], bytes[47]), (3, flags::ACK | 0x40));
            assert_eq!((sum(&bytes[14..34]), sum(&bytes[34..])), (0xffff, 0xffff));
            assert_eq!(Headers::read(&bytes).unwrap().ecn, Ecn::Ce);

            let mut partial = whole.clone();
            mark(&mut partial, false, 0x40, true);
            assert_eq!((partial[15], partial[47]), (ecn, flags::ACK | 0x40));
            assert_eq!(partial[50..52], whole[50..52], "the sum of the pseudo header");
            mark(&mut partial, false, 0, true);
            assert_eq!(partial[24..26], whole[24..26]);
        }
    }

    #[test]
    fn a_datagram_says_its_number_and_time() {
        let datagram = Datagram { number: 9, sent_at: daybreak_units::Instant::from_ps(5_000) };
        let mut bytes = packet(&[], 0)[..42].to_vec();
        bytes[16..18].copy_from_slice(&(20 + 8 + 100u16).to_be_bytes());
        bytes[23] = 17;
        bytes.extend(datagram.encode());
        let headers = Headers::read(&bytes).unwrap();
        assert_eq!((headers.protocol, headers.payload), (Protocol::Udp(Some(datagram)), 100));
        assert_eq!((headers.source, headers.destination, headers.length), (5000, 35000, 58));
        assert_eq!(Headers::read(&bytes[..57]).unwrap().protocol, Protocol::Udp(None));
        let whole = bytes.clone();
        mark(&mut bytes, false, 0x40, false);
        assert_eq!(bytes, whole, "UDP has no such bit");
    }

    #[test]
    fn what_is_not_ip_is_not_read() {
        let mut arp = packet(&[], 0);
        arp[13] = 6;
        assert_eq!(Headers::read(&arp), None);
        assert_eq!(Headers::read(&packet(&[], 0)[..40]), None);
    }
}
