//! Reads the headers of a packet: Ethernet, IPv4, TCP.

/// What the engine needs to know of a TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Sender's port.
    pub source: u16,
    /// Receiver's port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// TCP's control bits.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// True if there is a SACK option.
    pub sack: bool,
    /// Length of all headers.
    pub length: usize,
    /// IP length.
    pub ip_bytes: u32,
    /// Payload.
    pub payload: u32,
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
    /// Reads the first bytes of a packet; `None` if it is not TCP over IPv4 or cut off.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let u16_at = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let u32_at = |at: usize| Some(u32::from(u16_at(at)?) << 16 | u32::from(u16_at(at + 2)?));
        if u16_at(12)? != 0x0800 || *bytes.get(ETHERNET + 9)? != 6 {
            return None;
        }
        let ip_header = usize::from(bytes[ETHERNET] & 15) * 4;
        let tcp = ETHERNET + ip_header;
        let tcp_header = usize::from(*bytes.get(tcp + 12)? >> 4) * 4;
        let length = tcp + tcp_header;
        let options = bytes.get(tcp + 20..length)?;
        let ip_bytes = u32::from(u16_at(ETHERNET + 2)?);
        Some(Self {
            source: u16_at(tcp)?,
            destination: u16_at(tcp + 2)?,
            seq: u32_at(tcp + 4)?,
            ack: u32_at(tcp + 8)?,
            flags: bytes[tcp + 13],
            window: u16_at(tcp + 14)?,
            sack: has_sack(options),
            length,
            ip_bytes,
            payload: ip_bytes.checked_sub((ip_header + tcp_header) as u32)?,
        })
    }
}

fn has_sack(mut options: &[u8]) -> bool {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest) {
            (END, _) => return false,
            (NOP, rest) => rest,
            (SACK, _) => return true,
            (_, [length, ..]) if *length >= 2 => options.get(usize::from(*length)..).unwrap_or(&[]),
            _ => return false,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!headers.sack);
    }

    #[test]
    fn a_sack_behind_other_options_is_seen() {
        let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
        assert!(Headers::read(&packet(&options, 0)).unwrap().sack);
    }

    #[test]
    fn what_is_not_tcp_is_not_read() {
        let mut arp = packet(&[], 0);
        arp[13] = 6;
        assert_eq!(Headers::read(&arp), None);
        assert_eq!(Headers::read(&packet(&[], 0)[..40]), None);
    }
}
