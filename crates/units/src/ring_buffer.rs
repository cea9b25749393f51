//! The storage of queues: a buffer whose length is a power of two, so that a position finds its slot by a mask.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Slots for positions that are counted modulo 2^32. Who uses it keeps the positions of the first and the last item, which
/// are less than the number of slots apart.
pub struct RingBuffer<T> {
    /// The first slot of a boxed slice.
    items: NonNull<T>,
    /// One less than their number, which is a power of two. (A slice has the number itself: one instruction more for each
    /// item, 2 % of what a packet costs.)
    mask: u32,
    owns: PhantomData<Box<[T]>>,
}

impl<T: Copy + Default> RingBuffer<T> {
    /// A buffer of `len` slots, a power of two up to 2^31; panics if it is not.
    pub fn new(len: u32) -> Self {
        assert!(len.is_power_of_two(), "a ring buffer of {len} slots: expected a power of two");
        let items = Box::leak(vec![T::default(); len as usize].into_boxed_slice());
        Self { items: NonNull::from(items).cast(), mask: len - 1, owns: PhantomData }
    }

    /// Whether this number of items takes all slots.
    #[inline(always)]
    pub fn is_full_with(&self, items: u32) -> bool {
        items > self.mask
    }

    /// The slot of a position.
    #[inline(always)]
    pub fn slot(&self, position: u32) -> usize {
        (position & self.mask) as usize
    }

    /// The item at a position.
    #[inline(always)]
    #[allow(unsafe_code)] // Checks of these bounds were 3 % of what a packet costs.
    pub fn get(&self, position: u32) -> &T {
        // SAFETY: there are `mask + 1` slots, and a number that is masked is at most the mask.
        unsafe { self.items.add(self.slot(position)).as_ref() }
    }

    /// The item at a position.
    #[inline(always)]
    #[allow(unsafe_code)] // As above.
    pub fn get_mut(&mut self, position: u32) -> &mut T {
        // SAFETY: as above.
        unsafe { self.items.add(self.slot(position)).as_mut() }
    }

    /// Twice as many slots, in which the items at all positions from `first` on are the same; panics above 2^31.
    #[cold]
    #[inline(never)]
    pub fn double(&mut self, first: u32) {
        let len = self.mask + 1;
        let mut larger = Self::new(len.checked_mul(2).expect("a ring buffer of at most 2^31 slots"));
        for offset in 0..len {
            let position = first.wrapping_add(offset);
            *larger.get_mut(position) = *self.get(position);
        }
        *self = larger;
    }
}

impl<T> RingBuffer<T> {
    /// All slots, in the order of memory.
    #[inline(always)]
    #[allow(unsafe_code)] // The slice that `new` has leaked.
    pub fn slots(&self) -> &[T] {
        // SAFETY: `items` points to `mask + 1` slots that live as long as `self`, and only `get_mut` changes them.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.mask as usize + 1) }
    }
}

impl<T: Copy + Default> Clone for RingBuffer<T> {
    fn clone(&self) -> Self {
        let mut other = Self::new(self.mask + 1);
        for position in 0..=self.mask {
            *other.get_mut(position) = *self.get(position);
        }
        other
    }
}

impl<T: Debug> Debug for RingBuffer<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.slots()).finish()
    }
}

impl<T> Drop for RingBuffer<T> {
    #[allow(unsafe_code)] // What `new` has leaked goes back.
    fn drop(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.items, self.mask as usize + 1);
        // SAFETY: it is the boxed slice that `new` has leaked, of which nothing is borrowed any more.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}

// SAFETY: it owns its slots, as a boxed slice does.
#[allow(unsafe_code)] // As above.
unsafe impl<T: Send> Send for RingBuffer<T> {}
// SAFETY: as above.
#[allow(unsafe_code)] // As above.
unsafe impl<T: Sync> Sync for RingBuffer<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_a_slot() {
        let mut buffer = RingBuffer::new(4);
        for position in (u32::MAX - 1..=u32::MAX).chain(0..2) {
            *buffer.get_mut(position) = position;
        }
        let held: Vec<u32> = [u32::MAX - 1, u32::MAX, 0, 1].map(|position| *buffer.get(position)).into();
        assert_eq!(held, [u32::MAX - 1, u32::MAX, 0, 1]);
        assert_eq!(buffer.slots(), [0, 1, u32::MAX - 1, u32::MAX]);
        assert_eq!([3, 4].map(|items| buffer.is_full_with(items)), [false, true]);
        assert_eq!(*buffer.get(5), 1, "positions that are a length apart share a slot");
    }

    #[test]
    fn a_larger_one_holds_the_same_also_where_positions_wrap() {
        for first in [0, 3, u32::MAX - 1] {
            let positions = || (0..4).map(|offset| first.wrapping_add(offset));
            let mut buffer = RingBuffer::new(4);
            positions().for_each(|position| *buffer.get_mut(position) = position);
            buffer.double(first);
            assert_eq!(buffer.slots().len(), 8);
            positions().for_each(|position| assert_eq!(*buffer.get(position), position));
        }
    }

    #[test]
    #[should_panic(expected = "a ring buffer of 6 slots: expected a power of two")]
    fn other_lengths_are_refused() {
        RingBuffer::<u8>::new(6);
    }

    #[test]
    #[should_panic(expected = "a ring buffer of 0 slots: expected a power of two")]
    fn there_is_a_slot_at_least() {
        RingBuffer::<u8>::new(0);
    }
}
