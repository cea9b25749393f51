//! A packet of the kernel, held by the switch.
#![allow(unsafe_code)]

use std::ptr::NonNull;

/// The location of a packet in the kernel, and the fields that the switch needs.
#[derive(Clone, Copy, Debug)]
pub struct Skb {
    /// The kernel's name for it.
    pub handle: u64,
    first: NonNull<u8>,
    /// Length with the Ethernet header.
    pub length: u32,
    header_length: u16,
    /// The checksum of TCP or UDP is only that of the pseudo header: the sender left the rest to its NIC.
    pub checksum_is_partial: bool,
}

impl Skb {
    /// A packet of `length` bytes whose first bytes are `bytes`.
    ///
    /// # Safety
    /// The bytes must stay valid, and nothing else may change them, until the packet is returned, that is until a
    /// [`crate::switch::Order`] names its handle.
    pub unsafe fn new(handle: u64, bytes: &mut [u8], length: u32, checksum_is_partial: bool) -> Self {
        let header_length = bytes.len().min(usize::from(u16::MAX)) as u16;
        Self { handle, first: NonNull::from(bytes).cast(), length, header_length, checksum_is_partial }
    }

    /// The bytes that it was made with; after [`Skb::cut`] only the headers.
    pub fn headers(&self) -> &[u8] {
        // SAFETY: `new` was promised that they stay as long as the packet is on its way, and `cut` only shortens.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), usize::from(self.header_length)) }
    }

    /// The headers, mutable: the receiver sees the changes.
    pub fn headers_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nothing else reads or writes them meanwhile: a segment that is sent again is copied.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), usize::from(self.header_length)) }
    }

    /// The headers end here.
    pub fn cut(&mut self, header_length: usize) {
        self.header_length = self.header_length.min(header_length as u16);
    }
}
