//! Packets, and the slab that all packets of a run live in.

use crate::prefetch::prefetch;

/// Index of a packet in its [`Slab`]. It is reused once the packet is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(pub u32);

impl PacketId {
    /// The packet that comes next at the end of a link which knows the order itself.
    pub const NEXT: Self = Self(u32::MAX);
}

/// A packet on its way. What the fabric needs comes first, and with the first 48 bytes of the body it
/// fills one cache line: forwarding touches no other.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet<B> {
    /// Where it will be delivered.
    pub endpoint: u32,
    /// Next step of its path; in a slot of the slab that waits for reuse, the next such slot.
    pub(crate) cursor: u32,
    /// IP length in bytes, without framing.
    pub bytes: u32,
    /// Tell the sender when the packet leaves its first queue ([`crate::Departure`]).
    pub(crate) announce: bool,
    /// False for a slot of the slab that waits for reuse.
    pub(crate) alive: bool,
    /// What it carries.
    pub body: B,
}

/// All packets of a run. Slots are reused last in, first out, so that a new packet is written where
/// the cache still is warm.
#[derive(Debug)]
pub struct Slab<B> {
    slots: Vec<Packet<B>>,
    /// The slot that was freed last, or [`NO_SLOT`].
    free: u32,
}

/// End of the list of free slots.
const NO_SLOT: u32 = u32::MAX;

impl<B: Copy> Slab<B> {
    /// An empty slab that takes `packets` before it has to move its contents.
    pub fn with_capacity(packets: usize) -> Self {
        Self { slots: Vec::with_capacity(packets), free: NO_SLOT }
    }

    /// A new packet. The body is copied once, to where it stays.
    #[inline(always)]
    pub(crate) fn insert(&mut self, endpoint: u32, cursor: u32, bytes: u32, announce: bool, body: &B) -> PacketId {
        let index = self.free;
        // The end of the list lies beyond all slots.
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return self.insert_at_end(endpoint, cursor, bytes, announce, body);
        };
        self.free = slot.cursor;
        slot.endpoint = endpoint;
        slot.cursor = cursor;
        slot.bytes = bytes;
        slot.announce = announce;
        slot.alive = true;
        slot.body = *body;
        PacketId(index)
    }

    #[cold]
    #[inline(never)]
    fn insert_at_end(&mut self, endpoint: u32, cursor: u32, bytes: u32, announce: bool, body: &B) -> PacketId {
        let index = self.slots.len() as u32;
        assert!(index < NO_SLOT, "2^32 packets are alive at once");
        self.slots.push(Packet { endpoint, cursor, bytes, announce, alive: true, body: *body });
        PacketId(index)
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        let slot = &mut self.slots[id.0 as usize];
        debug_assert!(slot.alive, "packet {id:?} is released twice");
        slot.alive = false;
        slot.cursor = self.free;
        self.free = id.0;
    }

    /// The packet `id`.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet<B> {
        &self.slots[id.0 as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet<B> {
        &mut self.slots[id.0 as usize]
    }

    /// Asks the processor to fetch the packet, which will be needed soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.slots, id.0 as usize);
    }

    /// Packets that are alive.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// True when no packet is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every packet that is alive.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<B>> {
        self.slots.iter().filter(|packet| packet.alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_a_small_body_is_one_cache_line() {
        assert_eq!(size_of::<Packet<[u8; 48]>>(), 64);
    }

    #[test]
    fn the_last_slot_freed_is_used_first() {
        let mut slab = Slab::with_capacity(4);
        let mut insert = |endpoint| slab.insert(endpoint, 0, 100, false, &[0u8; 48]);
        let [a, b, c] = [0, 1, 2].map(&mut insert);
        slab.remove(a);
        slab.remove(c);
        assert_eq!(slab.len(), 1);
        assert_eq!(slab.insert(3, 0, 100, false, &[0; 48]), c);
        assert_eq!(slab.insert(4, 0, 100, false, &[0; 48]), a);
        assert_eq!(slab.get(b).endpoint, 1);
        assert_eq!(slab.iter().map(|packet| packet.endpoint).collect::<Vec<_>>(), [4, 1, 3]);
    }
}
