//! A FIFO in a buffer whose length is a power of two.

use daybreak_units::RingBuffer;

use crate::prefetch::prefetch;

/// Holds items in the order in which they came. Each has a position, counted modulo 2^32 from the first
/// that ever came.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    items: RingBuffer<T>,
    /// Position of the first item.
    head: u32,
    /// Position that the next item will have.
    tail: u32,
}

impl<T: Copy + Default> Ring<T> {
    const FIRST_LENGTH: u32 = 4;

    pub(crate) fn new() -> Self {
        Self { items: RingBuffer::new(Self::FIRST_LENGTH), head: 0, tail: 0 }
    }

    /// Position of the first item.
    #[inline(always)]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    /// Position of the next item: the number of items ever pushed, modulo 2^32.
    #[inline(always)]
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether room has to be made before the next push.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.items.is_full_with(self.len())
    }

    /// Appends an item; [`Ring::is_full`] must be false.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        debug_assert!(!self.is_full());
        let tail = self.tail;
        *self.items.get_mut(tail) = item;
        self.tail = tail.wrapping_add(1);
    }

    /// Takes the first item, which must be there.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> T {
        debug_assert!(!self.is_empty(), "an item is taken from an empty ring");
        let item = *self.get(self.head);
        self.head = self.head.wrapping_add(1);
        item
    }

    /// Forgets the first `count` items, which must be there.
    pub(crate) fn forget(&mut self, count: u32) {
        debug_assert!(count <= self.len());
        self.head = self.head.wrapping_add(count);
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(self.get(self.head)) }
    }

    /// The item at a position between head and tail.
    #[inline(always)]
    pub(crate) fn get(&self, position: u32) -> &T {
        debug_assert!(position.wrapping_sub(self.head) < self.len());
        self.items.get(position)
    }

    /// The last item, which must be there.
    #[inline(always)]
    pub(crate) fn last_mut(&mut self) -> &mut T {
        debug_assert!(!self.is_empty());
        self.items.get_mut(self.tail.wrapping_sub(1))
    }

    /// The positions of all items, oldest first.
    pub(crate) fn positions(&self) -> impl Iterator<Item = u32> + use<T> {
        let head = self.head;
        (0..self.len()).map(move |offset| head.wrapping_add(offset))
    }

    /// Asks for the cache line of the first item.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self) {
        prefetch(self.items.slots(), self.items.slot(self.head));
    }

    /// Asks for the cache line in which the next item will be put.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self) {
        prefetch(self.items.slots(), self.items.slot(self.tail));
    }

    /// Twice the room.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self) {
        self.items.double(self.head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_queue(steps in prop::collection::vec(0u8..6, 0..500)) {
            let mut ring = Ring::new();
            // Positions wrap.
            (ring.head, ring.tail) = (u32::MAX - 100, u32::MAX - 100);
            let mut reference = VecDeque::new();
            for (item, step) in steps.into_iter().enumerate() {
                match step {
                    0..3 => {
                        if ring.is_full() {
                            ring.grow();
                        }
                        ring.push(item);
                        reference.push_back(item);
                    }
                    3..5 if ring.is_empty() => prop_assert!(reference.is_empty()),
                    3..5 => prop_assert_eq!(Some(ring.pop()), reference.pop_front()),
                    _ => {
                        let half = reference.len() / 2;
                        ring.forget(half as u32);
                        reference.drain(..half);
                    }
                }
                prop_assert_eq!(ring.front(), reference.front());
                prop_assert_eq!(ring.len() as usize, reference.len());
                prop_assert!(ring.positions().map(|position| ring.get(position)).eq(&reference));
                if let Some(last) = reference.back() {
                    prop_assert_eq!(ring.get(ring.tail().wrapping_sub(1)), last);
                    prop_assert_eq!(ring.last_mut(), last);
                }
            }
        }
    }
}
