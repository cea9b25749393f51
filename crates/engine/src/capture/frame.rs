//! A segment or a datagram as an Ethernet frame: RFC 894, RFC 791, RFC 768, RFC 9293, and the options of RFC 7323
//! and RFC 2018, laid out as Linux lays them out.

use daybreak_host::{Datagram, UDP_HEADER};
use daybreak_tcp::{Ecn, Flags, Segment};

use crate::flow_packets::IP_HEADER;

const ETHERNET_HEADER: u32 = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const DONT_FRAGMENT: u16 = 0x4000;
const TIME_TO_LIVE: u8 = 64;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Client ports count up from here, one a flow; server ports when those are used up.
const FIRST_CLIENT_PORT: u32 = 10_000;
const CLIENT_PORTS: u32 = 50_000;
const FIRST_SERVER_PORT: u32 = 5_001;

const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// Where a segment comes from and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    source: Socket,
    destination: Socket,
}

#[derive(Clone, Copy, Debug)]
struct Socket {
    host: u32,
    port: u16,
}

impl Addresses {
    /// Those of a flow between two hosts, in the data direction or against it.
    pub(super) fn of(flow: u32, (src, dst): (u32, u32), data: bool) -> Self {
        let client = Socket { host: src, port: (FIRST_CLIENT_PORT + flow % CLIENT_PORTS) as u16 };
        let server = Socket { host: dst, port: (FIRST_SERVER_PORT + flow / CLIENT_PORTS) as u16 };
        match data {
            true => Self { source: client, destination: server },
            false => Self { source: server, destination: client },
        }
    }
}

impl Socket {
    /// Node n has the address 10.0.0.1 + n.
    fn ip(self) -> [u8; 4] {
        (0x0A00_0001 + (self.host & 0x00FF_FFFF)).to_be_bytes()
    }
    /// A locally administered address.
    fn mac(self) -> [u8; 6] {
        let [a, b, c, d] = self.ip();
        [0x02, 0x00, a, b, c, d]
    }
}

/// Puts the first `snaplen` bytes of the segment's frame into `frame` and returns its whole length.
/// `scale` shifts the window of every segment that is not a SYN.
pub(super) fn encode(frame: &mut Vec<u8>, addresses: Addresses, segment: &Segment, scale: u8, snaplen: u32) -> u32 {
    let ip_length = IP_HEADER + segment.header_len() + segment.len;
    ethernet(frame, addresses);
    ipv4(frame, addresses, (PROTOCOL_TCP, segment.ecn), ip_length);
    let tcp = frame.len();
    tcp_header(frame, addresses, segment, scale);
    debug_assert_eq!(frame.len() - tcp, segment.header_len() as usize);
    let checksum = checksum(PROTOCOL_TCP, &frame[tcp..], addresses, segment.len);
    frame[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
    let length = ETHERNET_HEADER + ip_length;
    frame.resize(length.min(snaplen) as usize, 0);
    length
}

/// The headers of a datagram with `payload_bytes`.
pub(super) fn encode_datagram(
    frame: &mut Vec<u8>,
    addresses: Addresses,
    datagram: Datagram,
    (payload_bytes, ecn): (u32, Ecn),
    snaplen: u32,
) -> u32 {
    let ip_length = IP_HEADER + UDP_HEADER + payload_bytes;
    ethernet(frame, addresses);
    ipv4(frame, addresses, (PROTOCOL_UDP, ecn), ip_length);
    let udp = frame.len();
    frame.extend(addresses.source.port.to_be_bytes());
    frame.extend(addresses.destination.port.to_be_bytes());
    frame.extend(((UDP_HEADER + payload_bytes) as u16).to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(datagram.encode());
    let checksum = checksum(PROTOCOL_UDP, &frame[udp..], addresses, payload_bytes - Datagram::BYTES as u32);
    // RFC 768: a sum of zero is sent as all ones, since zero means that there is none.
    let checksum = if checksum == 0 { 0xFFFF } else { checksum };
    frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    let length = ETHERNET_HEADER + ip_length;
    frame.resize(length.min(snaplen) as usize, 0);
    length
}

fn ethernet(frame: &mut Vec<u8>, addresses: Addresses) {
    frame.clear();
    frame.extend(addresses.destination.mac());
    frame.extend(addresses.source.mac());
    frame.extend(ETHERTYPE_IPV4.to_be_bytes());
}

fn ipv4(frame: &mut Vec<u8>, addresses: Addresses, (protocol, ecn): (u8, Ecn), length: u32) {
    let start = frame.len();
    frame.extend([0x45, ecn as u8]);
    frame.extend((length as u16).to_be_bytes());
    frame.extend(0u16.to_be_bytes());
    frame.extend(DONT_FRAGMENT.to_be_bytes());
    frame.extend([TIME_TO_LIVE, protocol, 0, 0]);
    frame.extend(addresses.source.ip());
    frame.extend(addresses.destination.ip());
    let checksum = !fold(sum(&frame[start..]));
    frame[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn tcp_header(frame: &mut Vec<u8>, addresses: Addresses, segment: &Segment, scale: u8) {
    let syn = segment.flags.contains(Flags::SYN);
    let ack = if segment.flags.contains(Flags::ACK) { segment.ack as u32 } else { 0 };
    let window = if syn { segment.window } else { segment.window >> scale };
    frame.extend(addresses.source.port.to_be_bytes());
    frame.extend(addresses.destination.port.to_be_bytes());
    frame.extend((segment.seq as u32).to_be_bytes());
    frame.extend(ack.to_be_bytes());
    frame.extend([((segment.header_len() / 4) << 4) as u8, segment.flags.0]);
    frame.extend((window.min(0xFFFF) as u16).to_be_bytes());
    frame.extend([0; 4]);
    if syn {
        syn_options(frame, segment);
    } else {
        if segment.ts_val != 0 {
            frame.extend([OPTION_NOP, OPTION_NOP]);
            timestamps(frame, segment);
        }
        sack_option(frame, segment);
    }
}

fn syn_options(frame: &mut Vec<u8>, segment: &Segment) {
    let options = segment.syn;
    frame.extend([OPTION_MSS, 4]);
    frame.extend(options.mss.to_be_bytes());
    let with_timestamps = segment.ts_val != 0 || options.timestamps;
    match (options.sack_permitted, with_timestamps) {
        (true, _) if !with_timestamps => frame.extend([OPTION_NOP, OPTION_NOP, OPTION_SACK_PERMITTED, 2]),
        (true, _) => frame.extend([OPTION_SACK_PERMITTED, 2]),
        (false, true) => frame.extend([OPTION_NOP, OPTION_NOP]),
        (false, false) => {}
    }
    if with_timestamps {
        timestamps(frame, segment);
    }
    if let Some(shift) = options.window_scale_plus_one.checked_sub(1) {
        frame.extend([OPTION_NOP, OPTION_WINDOW_SCALE, 3, shift]);
    }
}

fn timestamps(frame: &mut Vec<u8>, segment: &Segment) {
    frame.extend([OPTION_TIMESTAMPS, 10]);
    frame.extend(segment.ts_val.to_be_bytes());
    frame.extend(segment.ts_ecr.to_be_bytes());
}

fn sack_option(frame: &mut Vec<u8>, segment: &Segment) {
    let blocks = segment.sacks();
    if blocks.is_empty() {
        return;
    }
    frame.extend([OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * segment.sack_count]);
    for block in blocks {
        frame.extend((block.start as u32).to_be_bytes());
        frame.extend((block.end as u32).to_be_bytes());
    }
}

/// Of TCP (RFC 9293, section 3.1) and UDP alike; `zeros` bytes follow, which add nothing but their length.
fn checksum(protocol: u8, bytes: &[u8], addresses: Addresses, zeros: u32) -> u16 {
    // UDP has its length in its header as well, which is among `bytes`.
    let length = bytes.len() as u32 + zeros;
    let pseudo = sum(&addresses.source.ip()) + sum(&addresses.destination.ip()) + u32::from(protocol) + length;
    !fold(pseudo + sum(bytes))
}

/// The sum of big-endian 16-bit words (RFC 1071); headers are an even number of bytes.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_tcp::{Header, SackBlock, SynOptions};

    fn check(segment: &Segment, snaplen: u32) -> Vec<u8> {
        let mut frame = Vec::new();
        let length = encode(&mut frame, Addresses::of(3, (1, 2), true), segment, 7, snaplen);
        assert_eq!(length, 14 + 20 + segment.header_len() + segment.len);
        assert_eq!(frame.len() as u32, length.min(snaplen));
        if snaplen >= length {
            assert_eq!(fold(sum(&frame[14..34])), 0xFFFF, "IPv4 checksum");
            let pseudo = sum(&frame[26..34]) + 6 + (length - 34);
            let mut tcp = frame[34..].to_vec();
            tcp.resize(tcp.len().next_multiple_of(2), 0);
            assert_eq!(fold(pseudo + sum(&tcp)), 0xFFFF, "TCP checksum");
        }
        frame
    }

    #[test]
    fn a_datagram_has_its_number_and_the_right_checksums() {
        let datagram = Datagram { number: 7, sent_at: daybreak_units::Instant::from_ps(9_000) };
        let mut frame = Vec::new();
        let addresses = Addresses::of(3, (1, 2), true);
        for payload in [16, 17, 1_000] {
            let length = encode_datagram(&mut frame, addresses, datagram, (payload, Ecn::NotEct), 65_535);
            assert_eq!((length, frame.len() as u32), (14 + 20 + 8 + payload, length));
            assert_eq!(fold(sum(&frame[14..34])), 0xFFFF, "IPv4 checksum");
            let mut udp = frame[34..].to_vec();
            udp.resize(udp.len().next_multiple_of(2), 0);
            assert_eq!(fold(sum(&frame[26..34]) + 17 + (length - 34) + sum(&udp)), 0xFFFF, "UDP checksum");
            assert_eq!(&frame[38..40], &(8 + payload as u16).to_be_bytes());
            assert_eq!(Datagram::decode(&frame[42..]), Some(datagram));
        }
        assert_eq!(encode_datagram(&mut frame, addresses, datagram, (1_000, Ecn::NotEct), 60), 1_042);
        assert_eq!(frame.len(), 60);
    }

    #[test]
    fn headers_have_the_length_the_segment_says() {
        let plain =
            Segment::from(Header { seq: 1, len: 1449, flags: Flags::ACK, window: 1 << 20, ..Header::default() });
        let frame = check(&plain, 65_535);
        assert_eq!(&frame[48..50], &(1u16 << 13).to_be_bytes(), "the window is scaled");
        check(&plain, 60);
        let block = SackBlock { start: 10, end: 20 };
        check(&Segment { header: Header { ts_val: 5, sack_count: 3, ..*plain }, sack: [block; 4] }, 65_535);
        for (sack_permitted, timestamps, window_scale_plus_one) in
            [(true, true, 8), (true, false, 8), (false, true, 0), (false, false, 0), (true, false, 0)]
        {
            let syn = SynOptions { mss: 1460, window_scale_plus_one, sack_permitted, timestamps };
            check(&Segment::from(Header { flags: Flags::SYN, syn, window: 65_535, ..Header::default() }), 65_535);
        }
    }

    #[test]
    fn a_sack_option_has_as_many_blocks_as_its_length_says() {
        // RFC 2018, section 3: kind 5, and a length of 2 and 8 for each block; two that say nothing align it.
        for count in 1..=3u8 {
            let header = Header { sack_count: count, ..Header::default() };
            let mut segment = Segment::from(header);
            segment.sack = [1, 3, 5, 7].map(|n| SackBlock { start: n, end: n + 1 });
            let mut option = Vec::new();
            sack_option(&mut option, &segment);
            assert_eq!(option[..4], [1, 1, 5, 2 + 8 * count]);
            assert_eq!(option.len(), 4 + 8 * usize::from(count));
            let last = u32::from(2 * count - 1);
            assert_eq!(option[option.len() - 8..], [last.to_be_bytes(), (last + 1).to_be_bytes()].concat());
        }
        let mut none = Vec::new();
        sack_option(&mut none, &Segment::from(Header::default()));
        assert!(none.is_empty());
    }

    #[test]
    fn flows_of_two_hosts_differ_in_their_ports() {
        for (flow, client, server) in [
            (0, 0, 0),
            (1, 1, 0),
            (CLIENT_PORTS - 1, CLIENT_PORTS - 1, 0),
            (CLIENT_PORTS, 0, 1),
            (2 * CLIENT_PORTS + 3, 3, 2),
        ] {
            let Addresses { source, destination } = Addresses::of(flow, (1, 2), true);
            assert_eq!((source.host, u32::from(source.port)), (1, FIRST_CLIENT_PORT + client), "flow {flow}");
            assert_eq!((destination.host, u32::from(destination.port)), (2, FIRST_SERVER_PORT + server));
            let back = Addresses::of(flow, (1, 2), false);
            assert_eq!((back.source.host, back.source.port), (2, destination.port));
        }
    }
}
