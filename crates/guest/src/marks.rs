//! What the network has to say to a packet's receiver, and how it is written into real headers.

use crate::headers;

/// What a packet has met on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// A queue has marked it: CE.
    pub congested: bool,
    /// Flags that markers add to those of its TCP header.
    pub tcp_bits: u8,
}

impl Marks {
    /// Writes it into the packet's headers.
    pub fn write(self, checksum_is_partial: bool, headers: &mut [u8]) {
        headers::mark(headers, self.congested, self.tcp_bits, checksum_is_partial);
    }
}
