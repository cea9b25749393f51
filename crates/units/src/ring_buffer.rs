//! The storage of queues: a buffer whose length is a power of two, so that a position finds its slot by a mask.

/// Slots for positions that are counted modulo 2^32. Who uses it keeps the positions of the first and the last item, which
/// are less than the number of slots apart.
#[derive(Clone, Debug)]
pub struct RingBuffer<T> {
    /// Their number is a power of two, and not zero.
    items: Box<[T]>,
}

impl<T: Copy + Default> RingBuffer<T> {
    /// A buffer of `len` slots, a power of two up to 2^31; panics if it is not.
    pub fn new(len: u32) -> Self {
        assert!(len.is_power_of_two(), "a ring buffer of {len} slots: expected a power of two");
        Self { items: vec![T::default(); len as usize].into() }
    }

    /// Whether this number of items takes all slots.
    #[inline(always)]
    pub fn is_full_with(&self, items: u32) -> bool {
        items as usize == self.items.len()
    }

    /// The slot of a position.
    #[inline(always)]
    pub fn slot(&self, position: u32) -> usize {
        position as usize & (self.items.len() - 1)
    }

    /// All slots, in the order of memory.
    #[inline(always)]
    pub fn slots(&self) -> &[T] {
        &self.items
    }

    /// The item at a position.
    #[inline(always)]
    #[allow(unsafe_code)] // Checks of these bounds were 3 % of what a packet costs.
    pub fn get(&self, position: u32) -> &T {
        let slot = self.slot(position);
        debug_assert!(slot < self.items.len());
        // SAFETY: the length is a power of two and not zero, so a number masked with one less is below it.
        unsafe { self.items.get_unchecked(slot) }
    }

    /// The item at a position.
    #[inline(always)]
    #[allow(unsafe_code)] // As above.
    pub fn get_mut(&mut self, position: u32) -> &mut T {
        let slot = self.slot(position);
        debug_assert!(slot < self.items.len());
        // SAFETY: as above.
        unsafe { self.items.get_unchecked_mut(slot) }
    }

    /// Twice as many slots, in which the items at all positions from `first` on are the same; panics above 2^31.
    #[cold]
    #[inline(never)]
    pub fn double(&mut self, first: u32) {
        let len = self.items.len() as u32;
        let mut larger = Self::new(len.checked_mul(2).expect("a ring buffer of at most 2^31 slots"));
        for offset in 0..len {
            let position = first.wrapping_add(offset);
            *larger.get_mut(position) = *self.get(position);
        }
        *self = larger;
    }
}

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
