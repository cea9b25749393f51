//! Prefetches the memory that an arrival will touch, while other events are handled.
//!
//! Each step needs what the previous one has fetched, so some events should lie between them. None of them changes
//! state, and a wrong guess costs only time.

use super::Fabric;
use crate::prefetch::prefetch;

impl<B: Copy> Fabric<B> {
    /// First step for an arrival on a link that keeps its packets itself ([`crate::PacketId::NEXT`]).
    #[inline(always)]
    pub fn look_ahead_at_link(&self, link: u32) {
        prefetch(&self.analytic, link as usize);
    }

    /// Second step.
    #[inline(always)]
    pub fn look_ahead_at_first_packet(&self, link: u32) {
        self.analytic[link as usize].ring.prefetch_front();
    }

    /// Third step: where the packet will go.
    #[inline(always)]
    pub fn look_ahead_at_next_hop(&self, link: u32) {
        let Some(transit) = self.analytic[link as usize].ring.front() else { return };
        match self.steps[transit.cursor as usize].analytic_link() {
            Some(next) => prefetch(&self.analytic, next as usize),
            None => self.slab.prefetch(transit.id),
        }
    }

    /// Fourth step: the end of the next queue.
    #[inline(always)]
    pub fn look_ahead_at_end(&self, link: u32) {
        let Some(transit) = self.analytic[link as usize].ring.front() else { return };
        if let Some(next) = self.steps[transit.cursor as usize].analytic_link() {
            self.analytic[next as usize].ring.prefetch_end();
        }
    }
}
