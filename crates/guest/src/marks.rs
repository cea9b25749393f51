//! The network's marks on a packet, and how they are written into real headers.

use crate::headers;

/// The marks that a packet got on its path.
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
