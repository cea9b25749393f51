//! Tracks one connection by the packets that cross the fabric: what was sent, received in order, and acknowledged.
//!
//! A connection that carries payload both ways has two tracks, one for each direction.
//! The receiving application reads at once, so what is in order is delivered. Sequence numbers are
//! unwrapped to 64 bits, and the payload starts at 0.

use std::collections::BTreeMap;

use daybreak_engine::PacketKey;
use daybreak_fabric::Identity;
use daybreak_host::Datagram;

use crate::headers::{Headers, flags};

/// The state of one flow, derived from its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Payload of the sender, payload of the receiver.
    data: Numbers,
    acks: Numbers,
    /// Highest payload byte sent, plus one.
    pub sent: u64,
    /// Payload that the receiver has in order.
    pub delivered: u64,
    /// Payload acknowledged at the sender.
    pub acked: u64,
    /// Data packets that entered the network.
    pub segments: u64,
    /// Of these: those that began with payload that had been sent before.
    pub retransmits: u64,
    /// Data packets that reached the receiver after a gap.
    pub reordered: u64,
    /// Data packets that brought nothing new to the receiver.
    pub duplicates: u64,
    /// Duplicate ACKs that have reached the sender: see the column of table `flows`.
    pub dup_acks: u64,
    /// The sender's window, once it is scaled, and the sequence number of its segment.
    window: Option<u16>,
    window_seq: u64,
    /// Ranges beyond `delivered`, start to end.
    ahead: BTreeMap<u64, u64>,
}

/// Unwraps the sequence numbers of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    /// Sequence number of the first payload byte.
    first: u32,
    /// Highest position seen.
    highest: u64,
}

impl Numbers {
    fn begin(&mut self, syn: u32) {
        *self = Self { first: syn.wrapping_add(1), highest: 0 };
    }

    /// Position of a sequence number: bytes after the first payload byte.
    fn position(&mut self, number: u32) -> u64 {
        let expected = self.first.wrapping_add(self.highest as u32);
        let distance = i64::from(number.wrapping_sub(expected) as i32);
        let position = self.highest.saturating_add_signed(distance);
        self.highest = self.highest.max(position);
        position
    }
}

/// A packet's position in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First byte of its payload, or the number of a datagram.
    pub seq: u64,
    /// Payload that it acknowledges, or when a datagram was sent, in picoseconds.
    pub ack: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Window field.
    pub window: u16,
    /// Control bits; a segment has some, a datagram none.
    pub flags: u8,
    /// Whether it reports a duplicate by SACK.
    pub dsack: bool,
}

impl Place {
    /// The place of a datagram.
    pub fn of(datagram: Datagram, payload: u32) -> Self {
        let Datagram { number, sent_at } = datagram;
        Self { seq: number, ack: sent_at.as_ps(), payload, window: 0, flags: 0, dsack: false }
    }

    /// The identity by which impairments draw, as in the simulator.
    pub fn identity(&self) -> Identity {
        let key = match self.payload {
            _ if self.is_datagram() => PacketKey::Payload(self.seq),
            _ if self.flags & flags::SYN != 0 => PacketKey::Opening,
            0 if self.flags & flags::FIN != 0 => PacketKey::Closing,
            0 => PacketKey::Acknowledgement(self.ack),
            _ => PacketKey::Payload(self.seq),
        };
        key.identity()
    }

    /// Whether it belongs to a datagram.
    pub fn is_datagram(&self) -> bool {
        self.flags == 0
    }
}

impl Track {
    /// A packet has left its NIC; `data` is the direction of the data.
    pub fn sent(&mut self, headers: &Headers, data: bool) -> Place {
        let (own, other) = if data { (&mut self.data, &mut self.acks) } else { (&mut self.acks, &mut self.data) };
        if headers.flags & flags::SYN != 0 {
            own.begin(headers.seq);
        }
        let syn = u32::from(headers.flags & flags::SYN != 0);
        let seq = own.position(headers.seq.wrapping_add(syn));
        let ack = if headers.flags & flags::ACK != 0 { other.position(headers.ack) } else { 0 };
        let payload = headers.payload;
        if data && payload > 0 {
            self.segments += 1;
            self.retransmits += u64::from(seq < self.sent);
            self.sent = self.sent.max(seq + u64::from(payload));
        }
        let Headers { payload, window, flags, dsack, .. } = *headers;
        Place { seq, ack, payload, window, flags, dsack }
    }

    /// A data packet has reached the receiver; returns how many bytes it made deliverable.
    pub fn data_arrived(&mut self, place: &Place) -> u64 {
        if place.payload == 0 {
            return 0;
        }
        let (start, end) = (place.seq, place.seq + u64::from(place.payload));
        let known = |ahead: &BTreeMap<u64, u64>| {
            ahead.range(..=start).next_back().is_some_and(|(_, &known_end)| end <= known_end)
        };
        if end <= self.delivered || known(&self.ahead) {
            self.duplicates += 1;
            return 0;
        }
        if start > self.delivered {
            self.reordered += 1;
            self.keep(start, end);
            return 0;
        }
        let before = self.delivered;
        self.delivered = end;
        while let Some(range) = self.ahead.first_entry().filter(|range| *range.key() <= self.delivered) {
            self.delivered = self.delivered.max(range.remove());
        }
        self.delivered - before
    }

    /// A packet of the receiver has reached the sender; true if it acknowledged something new.
    pub fn ack_arrived(&mut self, place: &Place) -> bool {
        if place.flags & flags::ACK == 0 || place.flags & flags::SYN != 0 {
            return false;
        }
        // The acknowledgement of a FIN lies one behind the payload.
        let ack = place.ack.min(self.sent);
        if ack < self.acked {
            return false;
        }
        let is_news = ack > self.acked;
        let is_wider = place.seq == self.window_seq && self.window.is_some_and(|window| place.window > window);
        let is_window_update = place.seq > self.window_seq || is_wider;
        if is_news || is_window_update || self.window.is_none() {
            (self.window, self.window_seq) = (Some(place.window), place.seq);
        }
        self.acked = ack;
        let is_outstanding = self.sent > self.acked;
        let is_duplicate = !is_news && is_outstanding && place.payload == 0 && !is_window_update && !place.dsack;
        self.dup_acks += u64::from(is_duplicate);
        is_news
    }

    /// Keeps a range, merged with those that it touches.
    fn keep(&mut self, mut start: u64, mut end: u64) {
        if let Some((&before, &before_end)) = self.ahead.range(..=start).next_back()
            && before_end >= start
        {
            start = before;
            end = end.max(before_end);
        }
        while let Some((&next, &next_end)) = self.ahead.range(start..=end).next() {
            end = end.max(next_end);
            self.ahead.remove(&next);
        }
        self.ahead.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::headers;

    fn open(data: u32, acks: u32) -> Track {
        let mut track = Track::default();
        track.sent(&headers(data, 0, flags::SYN, 0), true);
        track.sent(&headers(acks, data.wrapping_add(1), flags::SYN | flags::ACK, 0), false);
        track
    }

    fn data(track: &mut Track, isn: u32, at: u32, payload: u32) -> Place {
        track.sent(&headers(isn.wrapping_add(1).wrapping_add(at), 0, flags::ACK, payload), true)
    }

    #[test]
    fn numbers_wrap() {
        let isn = u32::MAX - 500;
        let mut track = open(isn, 9);
        for at in [0, 1000, 2000] {
            assert_eq!(data(&mut track, isn, at, 1000).seq, u64::from(at));
        }
        assert_eq!((track.sent, track.segments), (3000, 3));
        let ack = track.sent(&headers(10, isn.wrapping_add(1).wrapping_add(2000), flags::ACK, 0), false);
        assert_eq!(ack.ack, 2000);
        assert!(track.ack_arrived(&ack));
        assert_eq!(track.acked, 2000);
    }

    #[test]
    fn a_gap_is_filled() {
        let mut track = open(5, 9);
        let places: Vec<Place> = (0..4).map(|i| data(&mut track, 5, i * 1000, 1000)).collect();
        assert_eq!(track.data_arrived(&places[0]), 1000);
        assert_eq!(track.data_arrived(&places[2]), 0);
        assert_eq!(track.data_arrived(&places[3]), 0);
        assert_eq!(track.data_arrived(&places[3]), 0);
        assert_eq!(track.data_arrived(&places[1]), 3000);
        assert_eq!(track.data_arrived(&places[1]), 0);
        assert_eq!((track.delivered, track.reordered, track.duplicates), (4000, 2, 2));
        assert_eq!((track.segments, track.retransmits), (4, 0));
        data(&mut track, 5, 1000, 1000);
        assert_eq!((track.segments, track.retransmits), (5, 1));
    }

    #[test]
    fn duplicate_acks_need_outstanding_data() {
        let mut track = open(5, 9);
        let ack = track.sent(&headers(10, 6, flags::ACK, 0), false);
        track.ack_arrived(&ack);
        assert_eq!(track.dup_acks, 0);
        data(&mut track, 5, 0, 1000);
        track.ack_arrived(&ack);
        assert_eq!(track.dup_acks, 1);
        track.ack_arrived(&Place { window: 200, ..ack });
        assert_eq!(track.dup_acks, 1, "an ACK that widens the window is not a duplicate");
        track.ack_arrived(&Place { window: 150, ..ack });
        assert_eq!(track.dup_acks, 2, "one that offers less is, and leaves the window");
        track.ack_arrived(&Place { window: 180, ..ack });
        assert_eq!(track.dup_acks, 3);
        for other in [
            Place { dsack: true, ..ack },
            Place { payload: 7, ..ack },
            Place { seq: ack.seq + 7, ..ack },
            Place { ack: 1000, ..ack },
            Place { ack: 500, ..ack },
        ] {
            track.ack_arrived(&other);
            assert_eq!(track.dup_acks, 3, "{other:?}");
        }
    }
}
