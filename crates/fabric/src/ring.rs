//! A FIFO in a buffer whose length is a power of two.

use crate::prefetch::prefetch;

/// Holds items in the order in which they came.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    items: Box<[T]>,
    /// Length of the buffer less one.
    mask: u32,
    /// Position of the first item; positions are taken modulo the length of the buffer.
    head: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    const FIRST_LENGTH: usize = 4;

    pub(crate) fn new() -> Self {
        Self {
            items: vec![T::default(); Self::FIRST_LENGTH].into(),
            mask: Self::FIRST_LENGTH as u32 - 1,
            head: 0,
            len: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True when the next push has to make room.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len > self.mask
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.is_full() {
            self.grow();
        }
        let position = self.position(self.len);
        self.items[position] = item;
        self.len += 1;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let item = self.items[self.position(0)];
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(item)
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.items[self.position(0)]) }
    }

    /// The item that has `distance - 1` others behind it.
    #[inline(always)]
    pub(crate) fn nth_last(&self, distance: u32) -> &T {
        &self.items[self.position(self.len - distance)]
    }

    /// All items, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|offset| &self.items[self.position(offset)])
    }

    /// Asks for the cache line of the first item.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self) {
        prefetch(&self.items, self.position(0));
    }

    /// Asks for the cache line in which the next item will be put.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self) {
        prefetch(&self.items, self.position(self.len));
    }

    #[inline(always)]
    fn position(&self, offset: u32) -> usize {
        (self.head.wrapping_add(offset) & self.mask) as usize
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let length = 2 * self.items.len();
        let mut items: Vec<T> = self.iter().copied().collect();
        items.resize(length, T::default());
        self.items = items.into();
        self.mask = length as u32 - 1;
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_queue(steps in prop::collection::vec(0u8..5, 0..500)) {
            let mut ring = Ring::new();
            let mut reference = VecDeque::new();
            for (item, step) in steps.into_iter().enumerate() {
                if step < 3 {
                    ring.push(item);
                    reference.push_back(item);
                } else {
                    prop_assert_eq!(ring.pop(), reference.pop_front());
                }
                prop_assert_eq!(ring.front(), reference.front());
                prop_assert_eq!(ring.len() as usize, reference.len());
                prop_assert!(ring.iter().eq(&reference));
                if let Some(last) = reference.back() {
                    prop_assert_eq!(ring.nth_last(1), last);
                    prop_assert_eq!(ring.nth_last(ring.len()), &reference[0]);
                }
            }
        }
    }
}
