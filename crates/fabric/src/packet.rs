//! Packets, and the slab that stores all packets of a run.

use daybreak_units::Ecn;

use crate::prefetch::prefetch;

/// Index of a packet in its [`Slab`]. It is reused once the packet is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(pub u32);

impl PacketId {
    /// The next packet at the end of a link that keeps the order itself.
    pub const NEXT: Self = Self(u32::MAX);
}

/// A packet's ECN field, and a bit for each mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(u16);

impl Header {
    #[inline(always)]
    fn new(ecn: Ecn) -> Self {
        Self(ecn as u16)
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0 as u8)
    }

    /// A bit for each mark that the packet got on its path.
    #[inline]
    pub fn marks(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Whether it has a mark or CE.
    #[inline(always)]
    pub fn is_marked(self) -> bool {
        self.0 >= Ecn::Ce as u16
    }

    #[inline]
    pub(crate) fn set_ce(&mut self) {
        self.0 |= Ecn::Ce as u16;
    }

    #[inline]
    pub(crate) fn add_marks(&mut self, marks: u8) {
        self.0 |= u16::from(marks) << 8;
    }
}

/// A packet in flight. The fields that the fabric needs come first, and with the first 48 bytes of the body they fill
/// one cache line: forwarding touches no other.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet<B> {
    /// Where it will be delivered.
    pub endpoint: u32,
    /// Next step of its path; in a slot of the slab that waits for reuse, the next such slot.
    pub(crate) cursor: u32,
    /// IP length in bytes, without framing.
    pub bytes: u32,
    /// Its ECN field and marks.
    pub header: Header,
    /// Notify the sender when the packet leaves its first queue ([`crate::Departure`]).
    pub(crate) announce: bool,
    /// False for a slot of the slab that waits for reuse.
    pub(crate) alive: bool,
    /// Its content.
    pub body: B,
}

/// What the body of a new packet is made of: the body itself, or what the body wraps.
pub trait Content<B> {
    /// The body.
    fn body(&self) -> B;
    /// Writes the body where it stays, over that of a packet that is gone; what it does not use may be left out.
    #[inline(always)]
    fn write_to(&self, place: &mut B) {
        *place = self.body();
    }
}

impl<B: Copy> Content<B> for B {
    #[inline(always)]
    fn body(&self) -> B {
        *self
    }
}

/// A packet that enters the fabric.
#[derive(Clone, Copy, Debug)]
pub struct NewPacket {
    /// Where it will be delivered.
    pub endpoint: u32,
    /// Start of its path: see [`crate::Fabric::cursor`].
    pub cursor: u32,
    /// IP length.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
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
    /// An empty slab with capacity for `packets` packets.
    pub fn with_capacity(packets: usize) -> Self {
        Self { slots: Vec::with_capacity(packets), free: NO_SLOT }
    }

    /// A new packet. Its body is written once, where it stays.
    #[inline(always)]
    pub(crate) fn insert<C: Content<B>>(&mut self, packet: NewPacket, content: &C) -> PacketId {
        let NewPacket { endpoint, cursor, bytes, ecn } = packet;
        // The end of the list lies beyond all slots.
        if self.free as usize >= self.slots.len() {
            self.add_slot(content.body());
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        self.free = slot.cursor;
        slot.endpoint = endpoint;
        slot.cursor = cursor;
        slot.bytes = bytes;
        slot.header = Header::new(ecn);
        slot.announce = false;
        slot.alive = true;
        content.write_to(&mut slot.body);
        PacketId(index)
    }

    /// Adds a slot that waits for use; what its body is does not matter.
    #[cold]
    #[inline(never)]
    fn add_slot(&mut self, body: B) {
        let index = self.slots.len() as u32;
        assert!(index < NO_SLOT, "2^32 packets are alive at once");
        let header = Header::new(Ecn::NotEct);
        let free = Packet { endpoint: 0, cursor: NO_SLOT, bytes: 0, header, announce: false, alive: false, body };
        self.slots.push(free);
        self.free = index;
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

    /// Asks the processor to fetch the packet's first cache line, which will be needed soon.
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
    fn a_header_has_an_ecn_field_and_eight_marks() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let mut header = Header::new(ecn);
            assert_eq!((header.ecn(), header.marks(), header.is_marked()), (ecn, 0, ecn == Ecn::Ce));
            header.add_marks(0b1000_0001);
            header.add_marks(0b0000_0010);
            assert_eq!((header.ecn(), header.marks(), header.is_marked()), (ecn, 0b1000_0011, true));
            header.set_ce();
            assert_eq!((header.ecn(), header.marks()), (Ecn::Ce, 0b1000_0011));
        }
    }

    #[test]
    fn the_last_slot_freed_is_used_first() {
        let mut slab = Slab::with_capacity(4);
        let new = |endpoint| NewPacket { endpoint, cursor: 0, bytes: 100, ecn: Ecn::Ect0 };
        let [a, b, c] = [0, 1, 2].map(|endpoint| slab.insert(new(endpoint), &[0u8; 48]));
        slab.remove(a);
        slab.remove(c);
        assert_eq!(slab.len(), 1);
        assert_eq!(slab.insert(new(3), &[0; 48]), c);
        assert_eq!(slab.insert(new(4), &[0; 48]), a);
        assert_eq!(slab.get(b).endpoint, 1);
        assert_eq!(slab.iter().map(|packet| packet.endpoint).collect::<Vec<_>>(), [4, 1, 3]);
    }
}
