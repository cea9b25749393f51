//! What received segments cost of the receive buffer: the memory that the host's NIC has put their frames into.
//!
//! Real NICs and their drivers differ here ([`ReceiveBuffers`]). A frame in one buffer, as `alloc_skb` gives it, costs a
//! power of two in bytes and its `sk_buff`. A larger one has its headers in a small buffer of their own and its payload
//! in whole pages. So with the defaults 1448 bytes cost 2304, and 8948 bytes 13056. With
//! [`crate::config::Profile::small_heads`] small buffers are all of one size, which is no power of two.
//!
//! Linux 6.1 saves two ways where payload lies in pages: a segment counts without its header's buffer when the window
//! is to grow, and a segment that continues another one beyond a hole gives its pages to that one, and costs no more
//! than them. The kernel engine's NICs (`kernel-image/driver/nic.c`) have the same buffers.

use crate::config::{Config, ReceiveBuffers};

/// Headers of a frame below TCP's: Ethernet and IP.
const LOWER_HEADERS: u32 = 14 + 20;
/// TCP's header without options.
const PLAIN_HEADER: u32 = 20;
/// Headroom of a frame that a driver leaves in front.
const HEADROOM: u32 = 16;
/// `sk_buff`, rounded to cache lines.
const SK_BUFF: u32 = 256;
/// `skb_shared_info`, at the end of every buffer.
const SHARED_INFO: u32 = 320;
/// The smallest buffer that a driver allocates, without `skb_shared_info`: it holds the headers of a segment in pages.
const HEAD: u32 = 192;
/// What a buffer takes that no frame can use.
pub(super) const OVERHEAD: u64 = (SK_BUFF + SHARED_INFO) as u64;
/// The room of the one size of small buffers, with [`crate::config::Profile::small_heads`].
const SMALL_HEAD: u32 = 256;
/// Pages that one `sk_buff` refers to at most.
const MAX_PAGES: u32 = 17;
/// What fits a buffer of one page.
pub(super) const PAGE_ROOM: u64 = 4096 - SHARED_INFO as u64;

/// The buffers of a NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    /// Frames of this length with headroom, and longer ones, are in pages.
    linear: u32,
    page: u32,
    /// Small buffers are of one size.
    small_heads: bool,
    /// TCP's header in the frames that arrive, with its options.
    header: u32,
}

/// One `sk_buff` and what it holds: a segment, or several that were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Payload bytes.
    pub len: u32,
    /// What it costs.
    pub memory: u64,
    /// Bytes that fit behind its payload.
    room: u32,
    /// Pages that it has.
    pages: u32,
    /// What its first buffer costs.
    head: u16,
    /// Some payload lies in its first buffer.
    is_linear: bool,
}

/// A buffer and where its bytes lie in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub buffer: Buffer,
}

impl Piece {
    /// Takes in `next` if it continues this one. What it costs now, or `None` if it stays alone.
    pub(super) fn join(&mut self, next: &Self) -> Option<u64> {
        let cost = if next.start == self.end { self.buffer.join(&next.buffer)? } else { return None };
        self.end = next.end;
        Some(cost)
    }
}

impl Buffer {
    /// Takes in `next`, whose payload follows without a gap.
    fn join(&mut self, next: &Self) -> Option<u64> {
        let pages = self.pages + next.pages;
        let cost = if next.len <= self.room {
            self.room -= next.len;
            0
        } else if !next.is_linear && pages <= MAX_PAGES {
            (self.pages, self.room) = (pages, 0);
            next.memory - u64::from(next.head)
        } else {
            return None;
        };
        self.len += next.len;
        self.memory += cost;
        Some(cost)
    }
}

impl Buffers {
    pub(super) fn new(config: &Config) -> Self {
        let ReceiveBuffers { linear, page } = config.receive_buffers;
        let small_heads = config.profile.small_heads;
        Self { linear: linear.max(HEAD + 1), page, small_heads, header: PLAIN_HEADER }
    }

    /// These buffers, for segments whose TCP header has `header` bytes.
    #[inline]
    pub(super) fn behind(self, header: u32) -> Self {
        Self { header, ..self }
    }

    /// What a segment of `len` bytes costs when it arrives.
    #[inline]
    pub(super) fn truesize(self, len: u32) -> u64 {
        let frame = self.frame(len);
        if frame < self.linear { self.linear_size(frame) } else { self.paged_head() + self.paged(len) }
    }

    /// What of its `truesize` counts when the window is to grow for it.
    #[inline]
    pub(super) fn counted(self, len: u32, truesize: u64) -> u64 {
        if self.is_linear(len) { truesize } else { truesize - self.paged_head() }
    }

    /// A segment of `len` bytes as it arrives.
    pub(super) fn of(self, len: u32) -> Buffer {
        let memory = self.truesize(len);
        if !self.is_linear(len) {
            let head = self.paged_head() as u16;
            return Buffer { len, memory, room: 0, pages: len.div_ceil(self.page), head, is_linear: false };
        }
        let room = (memory - OVERHEAD) as u32 - self.frame(len);
        Buffer { len, memory, room, pages: 0, head: 0, is_linear: true }
    }

    /// What `len` bytes are copied into that were to be `room`.
    pub(super) fn copy(self, room: u32, len: u32) -> Buffer {
        let memory = self.linear_size(room);
        let room = (memory - OVERHEAD) as u32 - len;
        Buffer { len, memory, room, pages: 0, head: 0, is_linear: true }
    }

    /// Bytes of a frame with `len` of payload, and the headroom in front.
    #[inline]
    fn frame(self, len: u32) -> u32 {
        HEADROOM + LOWER_HEADERS + self.header + len
    }

    #[inline]
    fn is_linear(self, len: u32) -> bool {
        self.frame(len) < self.linear
    }

    #[inline]
    fn paged(self, len: u32) -> u64 {
        u64::from(len.next_multiple_of(self.page))
    }

    /// What the headers of a segment in pages cost.
    #[inline]
    fn paged_head(self) -> u64 {
        self.linear_size(HEAD)
    }

    /// A buffer for `bytes` and its `sk_buff`.
    #[inline]
    fn linear_size(self, bytes: u32) -> u64 {
        let room = bytes.next_multiple_of(64);
        if self.small_heads && room <= SMALL_HEAD {
            return u64::from(SMALL_HEAD) + OVERHEAD;
        }
        u64::from((room + SHARED_INFO).next_power_of_two() + SK_BUFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cost_what_a_kernel_was_seen_to_charge() {
        let buffers = Buffers::new(&Config::default()).behind(32);
        // Linux 6.1.192: rcv_ssthresh stopped at 423264 = (48 * 17908 - 13056) / 2 with 8948-byte segments.
        assert_eq!(buffers.truesize(1_448), 2_304);
        assert_eq!(buffers.truesize(8_948), 13_056);
        assert_eq!(buffers.truesize(1), 512 + 256);
    }

    #[test]
    fn options_count_as_the_payload_does() {
        // 16 + 54 + 111 bytes fit into a buffer of 192; with timestamps they take one of 256, and 1,024 with what is at its
        // end.
        let buffers = Buffers::new(&Config::default());
        assert_eq!((buffers.truesize(111), buffers.behind(32).truesize(111)), (768, 1_280));
    }

    #[test]
    fn only_pages_are_discounted() {
        let buffers = Buffers::new(&Config::default()).behind(32);
        assert_eq!(buffers.counted(1_448, 2_304), 2_304);
        assert_eq!(buffers.counted(8_948, 13_056), 3 * 4_096);
        let paged =
            Buffers::new(&Config { receive_buffers: ReceiveBuffers { linear: 0, page: 2_048 }, ..Config::default() })
                .behind(32);
        assert_eq!((paged.truesize(1_448), paged.counted(1_448, 2_816)), (2_816, 2_048));
        assert_eq!(paged.truesize(50), 768);
    }

    #[test]
    fn pages_are_joined_up_to_seventeen() {
        let buffers = Buffers::new(&Config::default()).behind(32);
        let mut joined = buffers.of(8_948);
        for _ in 0..4 {
            assert_eq!(joined.join(&buffers.of(8_948)), Some(12_288));
        }
        // Five have 15 pages; three more are too many, two are not.
        assert_eq!(joined.join(&buffers.of(8_948)), None);
        assert_eq!(joined.join(&buffers.of(8_000)), Some(8_192));
        assert_eq!((joined.memory, joined.pages), (768 + 17 * 4_096, 17));
    }

    #[test]
    fn what_fits_behind_a_payload_costs_nothing() {
        let buffers = Buffers::new(&Config::default()).behind(32);
        // 16 + 66 + 700 are 832 with rounding and 1152 with what is at the end: of 2048 are 2048 - 320 - 782 left.
        let mut joined = buffers.of(700);
        assert_eq!(joined.room, 946);
        assert_eq!(joined.join(&buffers.of(700)), Some(0));
        assert_eq!((joined.room, joined.memory), (246, 2_304));
        assert_eq!(buffers.of(1_448).join(&buffers.of(1_448)), None);
    }
}
