//! The TCP sockets of a network namespace, whosever they are: sock_diag(7).

use std::io;
use std::os::fd::AsRawFd;

use crate::error::GuestError;
use crate::system::{self, Fd};
use crate::tcp_info::TcpInfo;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// All that match, as a request that wants no acknowledgement.
const NLM_F_REQUEST_DUMP: u16 = 0x01 | 0x300;
const HEADER: usize = 16;
/// `struct inet_diag_msg`, which attributes follow.
const MESSAGE: usize = 72;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
/// States in which an end may have data to send: ESTABLISHED, FIN_WAIT1, CLOSE_WAIT, LAST_ACK, CLOSING.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 11;

/// An address and a port.
pub type SocketAddress = (u32, u16);

/// A connected TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its own address and its peer's.
    pub ends: [SocketAddress; 2],
    /// Name of its congestion control.
    pub congestion: String,
    /// Its state.
    pub info: TcpInfo,
}

/// The sockets of one namespace.
#[derive(Debug)]
pub struct Sockets {
    netlink: Fd,
    /// With IPv6 in the kernel, sockets of IPv6 whose addresses are of IPv4 as well.
    families: &'static [i32],
}

impl Sockets {
    /// Those of a namespace, in which the calling thread remains.
    pub fn of(namespace: &Fd) -> Result<Self, GuestError> {
        system::enter_network(namespace)?;
        let netlink = system::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_SOCK_DIAG, "open sock_diag")?;
        let families = if system::has_ipv6() { &[libc::AF_INET, libc::AF_INET6][..] } else { &[libc::AF_INET] };
        Ok(Self { netlink, families })
    }

    /// All that are connected now.
    pub fn connected(&self) -> Result<Vec<Socket>, GuestError> {
        let mut found = Vec::new();
        for &family in self.families {
            self.dump(family as u8, &mut found).map_err(|error| GuestError::io("list the sockets", error))?;
        }
        Ok(found)
    }

    fn dump(&self, family: u8, found: &mut Vec<Socket>) -> io::Result<()> {
        system::send(self.netlink.as_raw_fd(), &request(family))?;
        let mut buffer = [0; 1 << 15];
        loop {
            let length = system::receive(self.netlink.as_raw_fd(), &mut buffer)?;
            if parse(&buffer[..length], found)? {
                return Ok(());
            }
        }
    }
}

/// `struct inet_diag_req_v2`: any addresses and ports.
fn request(family: u8) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + 56];
    let length = bytes.len() as u32;
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes[16] = family;
    bytes[17] = libc::IPPROTO_TCP as u8;
    bytes[18] = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
    bytes[20..24].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// Adds the sockets of a piece of the answer; true if it was the last one.
fn parse(mut bytes: &[u8], found: &mut Vec<Socket>) -> io::Result<bool> {
    let broken = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    while let Some((head, _)) = bytes.split_first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let message = bytes.get(HEADER..length).ok_or_else(|| broken("the answer is cut off"))?;
        match i32::from(u16::from_ne_bytes([head[4], head[5]])) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let code = message.first_chunk().map_or(0, |&code| i32::from_ne_bytes(code));
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => found.extend(socket(message).ok_or_else(|| broken("the answer is not one on a socket"))?),
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(false)
}

/// `None` inside for a socket that does not carry IPv4, or that has no state of TCP any more; `None` for what is too
/// short.
#[expect(clippy::option_option, reason = "cut off, or of no interest")]
fn socket(message: &[u8]) -> Option<Option<Socket>> {
    let (head, mut attributes) = message.split_first_chunk::<MESSAGE>()?;
    let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let address = |at: usize| {
        let words: [u32; 4] = std::array::from_fn(|word| {
            let byte = at + 4 * word;
            u32::from_be_bytes([head[byte], head[byte + 1], head[byte + 2], head[byte + 3]])
        });
        match words {
            [address, ..] if i32::from(head[0]) == libc::AF_INET => Some(address),
            [0, 0, 0xffff, address] => Some(address),
            _ => None,
        }
    };
    let (mut info, mut congestion) = (None, String::new());
    while let Some((&[a, b, c, d], _)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = attributes.get(4..length)?;
        match u16::from_ne_bytes([c, d]) {
            INET_DIAG_INFO => info = TcpInfo::parse(value),
            INET_DIAG_CONG => {
                let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
                congestion = String::from_utf8_lossy(text).into_owned();
            }
            _ => {}
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    let ends = address(8).zip(address(24)).map(|(own, other)| [(own, port(4)), (other, port(6))]);
    Some(ends.zip(info).map(|(ends, info)| Socket { ends, congestion, info }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[0..4].copy_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    /// A socket from 10.0.0.1:5201 to 10.0.0.2:40000 of this family with these address words.
    fn on(family: i32, addresses: [[u32; 4]; 2]) -> Vec<u8> {
        let mut body = vec![0; MESSAGE];
        body[0] = family as u8;
        body[4..6].copy_from_slice(&5201u16.to_be_bytes());
        body[6..8].copy_from_slice(&40_000u16.to_be_bytes());
        for (at, word) in (8..).step_by(4).zip(addresses.iter().flatten()) {
            body[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let mut info = [0; 232];
        info[80..84].copy_from_slice(&17u32.to_ne_bytes());
        body.extend(attribute(INET_DIAG_CONG, b"bbr\0"));
        body.extend(attribute(8, &[7]));
        body.extend(attribute(INET_DIAG_INFO, &info));
        body
    }

    #[test]
    fn an_answer_names_ends_congestion_control_and_state() {
        let [own, other] = [0x0a00_0001, 0x0a00_0002];
        let mut answer = message(20, &on(libc::AF_INET, [[own, 0, 0, 0], [other, 0, 0, 0]]));
        answer.extend(message(20, &on(libc::AF_INET6, [[0, 0, 0xffff, own], [0, 0, 0xffff, other]])));
        answer.extend(message(20, &on(libc::AF_INET6, [[0, 0, 0, 1], [0, 0, 0, 1]])));
        let mut found = Vec::new();
        assert!(!parse(&answer, &mut found).unwrap());
        let expected = Socket {
            ends: [(own, 5201), (other, 40_000)],
            congestion: "bbr".into(),
            info: TcpInfo { cwnd: 17, ..TcpInfo::default() },
        };
        assert_eq!(found, [expected.clone(), expected]);
        assert!(parse(&message(3, &[0; 4]), &mut found).unwrap());
    }

    #[test]
    fn a_refusal_and_what_is_cut_off_are_errors() {
        let mut found = Vec::new();
        let refused = parse(&message(2, &(-libc::EPERM).to_ne_bytes()), &mut found).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        let answer = message(20, &on(libc::AF_INET, [[1, 0, 0, 0], [2, 0, 0, 0]]));
        assert!(parse(&answer[..answer.len() - 8], &mut found).is_err());
        assert!(parse(&message(20, &[0; 20]), &mut found).is_err());
        assert!(found.is_empty());
    }
}
