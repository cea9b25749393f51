//! The receive window: how much is offered, and how buffer and offer grow with the flow.
//!
//! Follows Linux 6.1. A segment costs the memory of its NIC's [`Buffers`], and a [`Share`] of the buffer is offered as
//! window. Three limits stand above the offer: the free part of the buffer; `window_clamp`, the offer of an empty buffer;
//! and `rcv_ssthresh`, which starts low and grows with what arrives. The buffer grows by right-sizing.
//!
//! A buffer that overflows because its segments cost more than the window reckons with grows to what they take, or the
//! window shrinks (`overflow.rs`). Not modelled: global memory pressure, and the optional shrinking of the window.

use daybreak_units::Instant;

mod right_sizing;

use super::buffers::{Buffer, Buffers};
use super::share::Share;
use crate::config::{Config, Profile};

/// Segments in the initial window that right-sizing assumes (RFC 6928).
const INITIAL_WINDOW_SEGMENTS: u32 = 10;
/// Largest shift of RFC 7323, section 2.3.
const MAX_WINDOW_SCALE: u8 = 14;
/// `SO_RCVBUF` makes no buffer smaller: room for 2,048 bytes and their `sk_buff`.
const SMALLEST_BUFFER: u64 = 2_048 + 256;
/// The buffer that an application may set (`net.core.rmem_max`): the window scale is chosen for it as well.
const LARGEST_SET: u64 = 212_992;
/// What it is in Linux 7.3, with [`crate::config::Profile::larger_scale`].
const LARGER_SET: u64 = 4 << 20;
/// Largest value of the window field.
const MAX_FIELD: u64 = 65_535;

/// State of the receive window. Bytes, unless noted otherwise.
#[derive(Clone, Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub(super) struct ReceiveWindow {
    /// `rcv_nxt` of the last ACK: the offer counts from here.
    rcv_wup: u64,
    /// The offer of the last ACK.
    rcv_wnd: u64,
    /// Largest offer for now; grows with what arrives.
    rcv_ssthresh: u64,
    /// Offer of the empty buffer.
    window_clamp: u64,
    /// The part of the whole buffer that is window.
    whole: u64,
    /// Largest payload that we let the peer send (`advmss`).
    advmss: u32,
    /// Shift of our window field.
    scale: u8,
    share: Share,
    autotuning: bool,
    /// What a segment of `advmss` costs of the buffer.
    full_cost: u64,
    /// The part of what is free beside one segment of the usual size.
    beside_one: u64,
    /// The receive buffer, overhead included (`sk_rcvbuf`).
    rcvbuf: u64,
    /// When `rcv_nxt` reaches this, one window has arrived since `rtt_from`.
    rtt_until: u64,
    /// Start of that window in microseconds; 0 when no measurement runs.
    rtt_from_us: u64,
    /// When a round trip has passed since; never while the RTT is not known.
    space_due: Instant,
    /// The RTT as the receiver sees it in eighths of a microsecond; 0 before the first sample.
    rcv_rtt_us8: u64,
    buffers: Buffers,
    rmem_max: u64,
    /// The application has set the size of the buffer.
    is_locked: bool,
    profile: Profile,
    /// What the application read in the last round trip that had more than those before.
    space: u64,
    /// Where its count started.
    space_from: u64,
    /// When, in microseconds.
    space_since_us: u64,
}

impl ReceiveWindow {
    /// The window before the handshake; the SYN can be filled from it.
    pub(super) fn new(config: &Config) -> Self {
        let mut window = Self {
            rcv_wnd: 0,
            rcv_wup: 0,
            rcv_ssthresh: 0,
            window_clamp: MAX_FIELD << MAX_WINDOW_SCALE,
            rcvbuf: config.rmem.default,
            whole: 0,
            beside_one: 0,
            scale: 0,
            share: Share::new(config),
            profile: config.profile,
            autotuning: config.receive_autotuning,
            is_locked: false,
            rmem_max: config.rmem.max,
            advmss: config.mtu.saturating_sub(40).max(1),
            buffers: Buffers::new(config),
            full_cost: 0,
            rcv_rtt_us8: 0,
            rtt_until: 0,
            rtt_from_us: 0,
            space: 0,
            space_from: 0,
            space_since_us: 0,
            space_due: Instant::NEVER,
        };
        window.select_initial(config.window_scaling);
        window
    }

    /// The options are known: timestamps shorten every segment, and without window scaling the field
    /// limits the window. `answering` is true at the passive end, whose first offer is made now.
    pub(super) fn negotiate(&mut self, timestamps: bool, window_scaling: bool, answering: bool) {
        if timestamps {
            self.advmss = self.advmss.saturating_sub(12).max(1);
            self.set_header(32);
        }
        if answering {
            self.window_clamp = if self.is_locked { self.whole } else { MAX_FIELD << MAX_WINDOW_SCALE };
            self.select_initial(window_scaling);
        } else if !window_scaling {
            self.scale = 0;
            self.window_clamp = self.window_clamp.min(MAX_FIELD);
        }
    }

    /// What the options of a SYN have changed is as it was before.
    pub(super) fn forget_syn(&mut self, timestamps: bool) {
        if timestamps {
            self.advmss += 12;
            self.set_header(20);
        }
        self.rcv_wup = 0;
    }

    /// Charges segments for a TCP header of `bytes` from now on.
    pub(super) fn set_header(&mut self, bytes: u32) {
        self.buffers = self.buffers.behind(bytes);
        self.resize(self.rcvbuf);
    }

    /// `SO_RCVBUF` before the handshake: sets the buffer to twice `bytes`, and offers no larger scale than it needs.
    pub(super) fn lock(&mut self, bytes: u32, window_scaling: bool) {
        self.rcvbuf = (2 * u64::from(bytes)).max(SMALLEST_BUFFER);
        self.is_locked = true;
        self.autotuning = false;
        self.resize(self.rcvbuf);
        self.window_clamp = self.whole;
        self.select_initial(window_scaling);
    }

    /// The connection is established and its first byte is `rcv_nxt`.
    pub(super) fn established(&mut self, now: Instant, rcv_nxt: u64) {
        let advmss = u64::from(self.advmss);
        let whole = self.whole;
        self.window_clamp = self.window_clamp.min(whole);
        // One segment stays in reserve.
        if self.window_clamp > 2 * advmss && self.window_clamp + advmss > whole {
            self.window_clamp = (2 * advmss).max(whole.saturating_sub(advmss));
        }
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp);
        self.rcv_wup = rcv_nxt;
        self.space = self.rcv_ssthresh.min(self.rcv_wnd).min(u64::from(INITIAL_WINDOW_SEGMENTS) * advmss).max(1);
        self.space_from = rcv_nxt;
        self.space_since_us = now.as_us();
    }

    /// [`ReceiveWindow::established`] was called.
    pub(super) fn is_established(&self) -> bool {
        self.space > 0
    }

    /// Offer of the first segment, not scaled.
    pub(super) fn initial_offer(&self) -> u32 {
        self.rcv_wnd.min(MAX_FIELD) as u32
    }

    /// [`Buffers::truesize`], without arithmetic for segments of the usual size.
    #[inline]
    pub(super) fn cost_of(&self, len: u32) -> u64 {
        if len == self.advmss { self.full_cost } else { self.buffers.truesize(len) }
    }

    /// The buffer has more room than its payload needs.
    pub(super) fn wastes(&self, buffer: &Buffer) -> bool {
        self.offer_of(buffer.memory) > u64::from(buffer.len)
    }

    /// The buffers of the NIC.
    pub(super) fn buffers(&self) -> Buffers {
        self.buffers
    }

    #[inline]
    pub(super) fn scale(&self) -> u8 {
        self.scale
    }
    #[inline]
    pub(super) fn advmss(&self) -> u32 {
        self.advmss
    }
    #[inline]
    pub(super) fn rcv_wup(&self) -> u64 {
        self.rcv_wup
    }
    #[inline]
    pub(super) fn rcv_wnd(&self) -> u64 {
        self.rcv_wnd
    }
    /// A window of `bytes` is within all bounds but that of the memory.
    #[inline]
    pub(super) fn may_become(&self, bytes: u64) -> bool {
        bytes <= self.window_clamp && bytes < self.rcv_ssthresh + (1 << self.scale)
    }
    #[inline]
    pub(super) fn rcv_rtt_us8(&self) -> u64 {
        self.rcv_rtt_us8
    }

    /// What the peer may still send when `rcv_nxt` has been reached.
    #[inline]
    pub(super) fn remaining(&self, rcv_nxt: u64) -> u64 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(rcv_nxt)
    }

    /// How far beyond `rcv_nxt` data is taken.
    #[inline]
    pub(super) fn room(&self, rcv_nxt: u64) -> u64 {
        if self.profile.no_receive_window { u64::MAX - rcv_nxt } else { self.remaining(rcv_nxt) }
    }

    /// Nothing: the peer has filled the window that it was offered.
    #[inline]
    pub(super) fn is_full_at(&self, rcv_nxt: u64) -> bool {
        rcv_nxt >= self.rcv_wup + self.rcv_wnd
    }

    /// The window that an ACK would offer now, when `memory` bytes of the buffer are taken and full
    /// segments have `rcv_mss` bytes; whole steps of the window field. The second value is true if
    /// the buffer is more than half full.
    #[inline]
    pub(super) fn candidate(&self, memory: u64, rcv_mss: u32) -> (u64, bool) {
        let whole = self.whole;
        let full = self.window_clamp.min(whole);
        let mss = u64::from(rcv_mss).min(full);
        let step = (1u64 << self.scale) - 1;
        let mut free = self.offer_beside(memory);
        let crowded = free < full / 2;
        if mss == 0 {
            return (0, crowded);
        }
        if crowded {
            // The window must not grow by rounding now, and a sliver of it is none (RFC 9293, 3.8.6.2.2).
            free &= !step;
            if free < whole / 16 || free < mss {
                return (0, crowded);
            }
        }
        let free = free.min(self.rcv_ssthresh);
        if self.scale > 0 {
            return ((free + step) & !step, crowded);
        }
        // Without a scale the offer is kept at whole segments, and unless it is off by one, as it is.
        let kept = self.rcv_wnd;
        let window = if kept + mss <= free || kept > free {
            free - free % mss
        } else if mss == full && free > kept + full / 2 {
            free
        } else {
            kept
        };
        (window, crowded)
    }

    /// An ACK of `rcv_nxt` goes out with this [`ReceiveWindow::candidate`]: settles its offer. The right
    /// edge never moves back.
    #[inline]
    pub(super) fn offer(&mut self, rcv_nxt: u64, candidate: u64) {
        let step = (1u64 << self.scale) - 1;
        let current = self.remaining(rcv_nxt);
        self.rcv_wnd = if candidate < current { (current + step) & !step } else { candidate };
        self.rcv_wup = rcv_nxt;
    }

    /// There is no room for what has arrived: the right edge moves back.
    pub(super) fn close(&mut self, rcv_nxt: u64) {
        (self.rcv_wnd, self.rcv_wup) = (0, rcv_nxt);
    }

    /// The offer as the peer reads it: what the field can hold.
    #[inline]
    pub(super) fn offered(&self) -> u32 {
        ((self.rcv_wnd.min(MAX_FIELD << self.scale) >> self.scale) << self.scale) as u32
    }

    /// A segment of `len` bytes arrived while `memory` bytes of the buffer are taken: `rcv_ssthresh` grows when
    /// segments like it, which count as `truesize`, fit the buffer. True when it grew.
    #[inline]
    pub(super) fn grow(&mut self, len: u32, truesize: impl FnOnce(Buffers) -> u64, memory: u64, rcv_mss: u32) -> bool {
        let limit = self.window_clamp.min(self.offer_beside(memory));
        if limit <= self.rcv_ssthresh {
            return false;
        }
        let (len, truesize) = (u64::from(len), truesize(self.buffers));
        let step = if self.offer_of(truesize) <= len {
            2 * u64::from(self.advmss)
        } else {
            self.slow_step(len, truesize, rcv_mss)
        };
        if step == 0 {
            return false;
        }
        self.rcv_ssthresh = limit.min(self.rcv_ssthresh + step.max(2 * len));
        true
    }

    /// The buffer has less than the `memory` bytes that it holds: it becomes as large, but not larger than the largest,
    /// unless the application has set its size. If that is too little, the window shrinks to two segments.
    #[cold]
    pub(super) fn make_room(&mut self, memory: u64) {
        if !self.is_locked {
            self.resize(memory.min(self.rmem_max.max(self.rcvbuf)));
        }
        if self.overflows(memory) {
            self.rcv_ssthresh = self.window_clamp.min(2 * u64::from(self.advmss));
        }
    }

    /// The buffer has less than `memory` bytes.
    #[inline]
    pub(super) fn overflows(&self, memory: u64) -> bool {
        memory > self.rcvbuf
    }

    pub(super) fn rcvbuf(&self) -> u64 {
        self.rcvbuf
    }

    /// A segment of `len` bytes has shown the size of the peer's full segments: it may also show which share of the
    /// buffer is payload.
    #[cold]
    pub(super) fn measure_share(&mut self, len: u32) {
        let share = self.share.after(len, self.buffers.truesize(len));
        if share != self.share {
            self.share = share;
            self.resize(self.rcvbuf);
            self.window_clamp = self.whole;
            self.space = self.space.min(self.window_clamp);
        }
    }

    /// Growth for a segment whose overhead exceeds its payload: allowed while the window is small
    /// enough for the buffer to hold as many of them.
    fn slow_step(&self, len: u64, truesize: u64, rcv_mss: u32) -> u64 {
        let mut cost = self.offer_of(truesize) / 2;
        let mut window = self.offer_of(self.rmem_max) / 2;
        while self.rcv_ssthresh <= window {
            if cost <= len {
                return 2 * u64::from(rcv_mss);
            }
            cost /= 2;
            window /= 2;
        }
        0
    }

    /// The first offer, in whole segments, and the scale that the largest buffer will need.
    fn select_initial(&mut self, window_scaling: bool) {
        let mss = u64::from(self.advmss);
        self.resize(self.rcvbuf);
        let space = self.whole.min(self.window_clamp);
        let space = if space > mss { space - space % mss } else { space };
        self.rcv_wnd = if self.profile.wide_first_window { space } else { space.min(MAX_FIELD) };
        self.scale = 0;
        if window_scaling {
            let largest_set = if self.profile.larger_scale { LARGER_SET } else { LARGEST_SET };
            let largest = space.max(self.rmem_max).max(largest_set).min(self.window_clamp).max(1);
            self.scale = (largest.ilog2() as u8).saturating_sub(15).min(MAX_WINDOW_SCALE);
        }
        self.window_clamp = self.window_clamp.min(MAX_FIELD << self.scale);
        self.rcv_ssthresh = self.rcv_wnd;
    }

    /// The receive buffer has this size from now on.
    fn resize(&mut self, rcvbuf: u64) {
        self.rcvbuf = rcvbuf;
        self.full_cost = self.buffers.truesize(self.advmss);
        self.whole = self.offer_of(rcvbuf);
        self.beside_one = self.offer_of(rcvbuf.saturating_sub(self.full_cost));
    }

    /// The part of the buffer's free room that is offered while `memory` bytes are taken: mostly none, or
    /// those of the segment that has just arrived.
    #[inline]
    fn offer_beside(&self, memory: u64) -> u64 {
        if memory == self.full_cost { self.beside_one } else { self.offer_of(self.rcvbuf.saturating_sub(memory)) }
    }

    /// The part of `space` bytes of buffer that is offered as window.
    #[inline]
    fn offer_of(&self, space: u64) -> u64 {
        self.share.of(space)
    }
}

#[cfg(test)]
mod tests;
