//! Requests to rtnetlink, and the socket that they go through.
//!
//! The format is that of rtnetlink(7) and netlink(7): a header of 16 bytes, a fixed struct, then
//! attributes of a 16-bit length, a 16-bit type and a value padded to four bytes.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::error::GuestError;
use crate::system;

const HEADER: usize = 16;
const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
/// Create what does not exist, replace what does.
pub const CREATE: u16 = 0x400 | 0x100;
/// Refuse what exists.
pub const EXCLUSIVE: u16 = 0x200;

/// One request under construction.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
    what: String,
}

impl Request {
    /// A request of this `kind` (`RTM_...`) with more `flags` than those of every request; `body` is the
    /// fixed struct that the kind wants, and `what` the rest of the sentence "refused to".
    pub fn new(kind: u16, flags: u16, body: &[u8], what: impl Into<String>) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        bytes.extend_from_slice(body);
        let mut request = Self { bytes, what: what.into() };
        request.pad();
        request
    }

    /// Adds an attribute.
    pub fn put(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(4 + value.len()).expect("a netlink attribute is below 64 KiB");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
        self
    }

    /// Adds a number of 32 bits.
    pub fn put_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds a string with its final zero.
    pub fn put_str(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.put(kind, &bytes)
    }

    /// Adds an attribute with the content that `fill` adds.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.put(kind, &[]);
        fill(self);
        let length = u16::try_from(self.bytes.len() - start).expect("a netlink attribute is below 64 KiB");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Adds a fixed struct in the middle of an attribute.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// The bytes as they are sent, with this sequence number.
    pub fn finish(&self, sequence: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let length = u32::try_from(bytes.len()).expect("a netlink message is below 4 GiB");
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        bytes
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A connection to rtnetlink in the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: system::Fd,
    sequence: u32,
}

impl Netlink {
    /// Opens it in the namespace of the calling thread.
    pub fn open() -> Result<Self, GuestError> {
        let socket = system::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE, "open rtnetlink")?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends the request and waits for the kernel's answer.
    pub fn ask(&mut self, request: &Request) -> Result<(), GuestError> {
        self.sequence += 1;
        let failed = |source| GuestError::Netlink { what: request.what.clone(), source };
        system::send(self.socket.as_raw_fd(), &request.finish(self.sequence)).map_err(failed)?;
        answer(self.socket.as_raw_fd()).map_err(failed)
    }
}

fn answer(socket: RawFd) -> io::Result<()> {
    let mut buffer = [0u8; 8192];
    let length = system::receive(socket, &mut buffer)?;
    parse_answer(&buffer[..length])
}

/// Reads an `NLMSG_ERROR`: a header, and the negative error number or zero.
fn parse_answer(message: &[u8]) -> io::Result<()> {
    let too_short = || io::Error::new(io::ErrorKind::InvalidData, "the answer is cut off");
    let kind = message.get(4..6).ok_or_else(too_short)?;
    if u16::from_ne_bytes([kind[0], kind[1]]) != libc::NLMSG_ERROR as u16 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not an acknowledgement"));
    }
    let code = message.get(HEADER..HEADER + 4).ok_or_else(too_short)?;
    match i32::from_ne_bytes([code[0], code[1], code[2], code[3]]) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ip link set dev #3 mtu 9000 up`, byte for byte as strace shows it for iproute2 (little endian).
    #[test]
    fn a_request_is_laid_out_as_rtnetlink_wants_it() {
        let mut body = [0u8; 16];
        body[4..8].copy_from_slice(&3i32.to_ne_bytes());
        body[8..12].copy_from_slice(&1u32.to_ne_bytes());
        body[12..16].copy_from_slice(&1u32.to_ne_bytes());
        let mut request = Request::new(16, 0, &body, "set the link up");
        request.put_u32(4, 9000);
        let expected: [u8; 40] = [
            40, 0, 0, 0, 16, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, // header
            0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, // ifinfomsg
            8, 0, 4, 0, 0x28, 0x23, 0, 0, // IFLA_MTU
        ];
        assert_eq!(request.finish(7), expected);
    }

    #[test]
    fn nested_attributes_know_their_length_and_are_padded() {
        let mut request = Request::new(16, CREATE, &[], "x");
        request.nest(18, |info| {
            info.put_str(1, "veth").nest(2, |data| {
                data.raw(&[9; 5]);
            });
        });
        let bytes = request.finish(1);
        assert_eq!(bytes[6..8], (CREATE | 5).to_ne_bytes());
        // info: 4 + ("veth\0" padded: 4 + 8) + (data: 4 + 8)
        assert_eq!(bytes[16..20], [28, 0, 18, 0]);
        assert_eq!(bytes[20..32], [9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0]);
        assert_eq!(bytes[32..44], [12, 0, 2, 0, 9, 9, 9, 9, 9, 0, 0, 0]);
    }

    #[test]
    fn the_kernels_refusal_is_an_error() {
        let mut message = vec![0u8; 36];
        message[4..6].copy_from_slice(&2u16.to_ne_bytes());
        message[16..20].copy_from_slice(&(-libc::EEXIST).to_ne_bytes());
        assert_eq!(parse_answer(&message).unwrap_err().raw_os_error(), Some(libc::EEXIST));
        message[16..20].fill(0);
        assert!(parse_answer(&message).is_ok());
        assert!(parse_answer(&message[..10]).is_err());
    }
}
