//! The SACK scoreboard (RFC 2018, RFC 6675) and DSACKs (RFC 2883).
//!
//! An ACK repeats what earlier ACKs reported; only the part of its blocks that the previous ACK did
//! not carry is looked at, so an ACK costs what is new in it and not what is in flight.

use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::Sent;
use crate::{SackBlock, Segment};

/// What the scoreboard remembers between ACKs.
#[derive(Clone, Debug, Default)]
pub(in crate::sender) struct Scoreboard {
    /// Segments reported as duplicates.
    dsacks: u64,
    /// The peer has thrown away what it had SACKed (RFC 2018, section 8).
    pub reneging: bool,
    /// Blocks of the previous ACK, in sequence order.
    seen: [SackBlock; 4],
    seen_count: u8,
}

impl Scoreboard {
    /// The blocks of the previous ACK count for nothing.
    pub fn forget_blocks(&mut self) {
        self.seen_count = 0;
    }
}

/// What the blocks of an ACK report.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sender) struct Reported {
    /// A duplicate that may be believed.
    duplicate: Option<SackBlock>,
    /// What has arrived.
    fresh: [SackBlock; 4],
    count: usize,
}

impl Sender {
    /// End of the path's highest SACKed segment, `snd_una` when there is none (`tcp_highest_sack_seq`).
    #[inline]
    pub(crate) fn highest_sacked(&self) -> u64 {
        self.path.tally.highest_sacked(self.snd_una)
    }

    /// Takes the SACK blocks of a segment.
    pub(crate) fn tag_sacks(&mut self, segment: &Segment, ack: &mut Ack) {
        let reported = self.take_sacks(segment, ack);
        self.tag_reported(&reported, ack);
        self.remember_sacks(&reported);
    }

    /// What an ACK reports: the DSACK, which it counts, and what else is plausible, in sequence order.
    #[inline(always)]
    pub(in crate::sender) fn take_sacks(&mut self, segment: &Segment, ack: &mut Ack) -> Reported {
        if self.path.tally.sacked_out() == 0 && self.paths.hold_no_sacks() {
            self.scoreboard.forget_blocks();
            self.flight.forget_shift();
        }
        let blocks = segment.sacks();
        let is_dsack = self.check_dsack(blocks, segment.ack, ack);
        let mut reported = Reported { duplicate: is_dsack.then(|| blocks[0]), ..Reported::default() };
        for (n, block) in blocks.iter().enumerate() {
            if n == 0 && is_dsack {
                continue;
            }
            if self.is_plausible(block) && block.end > ack.prior_una {
                reported.fresh[reported.count] = *block;
                reported.count += 1;
            }
        }
        reported.fresh[..reported.count].sort_unstable_by_key(|block| block.start);
        reported
    }

    /// The next ACK repeats it.
    pub(in crate::sender) fn remember_sacks(&mut self, reported: &Reported) {
        if !self.flight.is_empty() {
            self.scoreboard.seen = reported.fresh;
            self.scoreboard.seen_count = reported.count as u8;
            if reported.count > 0 {
                self.path.fack.on_reported(reported.fresh[reported.count - 1].end);
            }
        }
    }

    /// Tags the segments of the path that are reported and were not by the ACK before.
    #[inline(always)]
    pub(in crate::sender) fn tag_reported(&mut self, reported: &Reported, ack: &mut Ack) {
        let known = &self.scoreboard.seen[..self.scoreboard.seen_count as usize];
        let mut splits = None;
        if let Some(block) = reported.duplicate {
            let fresh = &reported.fresh[..reported.count];
            let is_alone = known.iter().any(|known| holds(known, block));
            splits = self.split_by_duplicate(block, fresh, is_alone);
            if !self.passes_over(block, fresh, is_alone) {
                self.tag_dsack(block, is_alone, ack);
            }
        }
        if !self.flight.is_empty() {
            let (seen, seen_count) = (self.scoreboard.seen, self.scoreboard.seen_count as usize);
            let mut walked = 0;
            for block in &reported.fresh[..reported.count] {
                self.tag_unseen(*block, &seen[..seen_count], &mut walked, ack);
            }
        }
        if let Some(at) = splits {
            self.flight.part(at);
        }
        if self.path.state != crate::congestion::CaState::Loss || self.path.undo.marker != 0 {
            self.check_reordering(ack.sack_reord);
        }
    }

    fn is_plausible(&self, block: &SackBlock) -> bool {
        block.start < block.end && block.end <= self.snd_nxt && block.start >= self.snd_una
    }

    /// RFC 2883, section 4: the first block lies below the ACK or within the second block. True when
    /// it is a DSACK that may be believed.
    #[inline]
    fn check_dsack(&mut self, blocks: &[SackBlock], acked: u64, ack: &mut Ack) -> bool {
        let Some(first) = blocks.first() else { return false };
        let within = |outer: &SackBlock| first.start >= outer.start && first.end <= outer.end;
        if first.start >= acked && !blocks.get(1).is_some_and(within) {
            return false;
        }
        if first.start >= first.end || first.end > self.snd_nxt {
            return false;
        }
        let bytes = first.end - first.start;
        if bytes > u64::from(self.peer.max_window) {
            return false;
        }
        let segments = bytes.div_ceil(u64::from(self.sizes.mss)) as u32;
        if segments == 1 && self.paths.each(&mut self.path).any(|path| path.probe.high_seq == first.end) {
            ack.flags.set(AckFlags::DSACK_TLP);
        }
        self.scoreboard.dsacks += u64::from(segments);
        if self.scoreboard.dsacks > self.counters.retransmits {
            // More than was ever sent again: the network duplicates, which proves nothing.
            return false;
        }
        self.counters.dsacks += u64::from(segments);
        let path = self.paths.of_duplicate(&mut self.path, first.end);
        if path.reordering.seen > 0 && !ack.flags.any(AckFlags::DSACK_TLP) {
            path.rack.dsack_seen = true;
        }
        ack.flags.set(AckFlags::DSACKING);
        path.delivery.delivered += u64::from(segments);
        let undo = &mut path.undo;
        if undo.marker != 0 && undo.retrans > 0 && first.end <= ack.prior_una && first.end > undo.marker {
            undo.retrans = (undo.retrans - i64::from(segments)).max(0);
        }
        true
    }

    /// A duplicate of data that is still outstanding: it clears the retransmissions that it reports. What is looked at by itself
    /// merges into what is below, as with any block.
    fn tag_dsack(&mut self, block: SackBlock, merges: bool, ack: &mut Ack) {
        let next_from =
            |sender: &Self, at| sender.flight.of_path_from(&sender.path.tally, at, |sent| sent.seq < block.end);
        let mut next = next_from(self, self.flight.find(block.start, self.sizes.mss));
        while let Some(at) = next {
            let sent = *self.flight.get(at);
            if sent.seq >= block.start && sent.end() <= block.end {
                self.tag_duplicate(at, &sent, ack);
                if merges && !sent.has(Sent::MERGED) {
                    self.flight.shift(at, self.snd_una);
                }
            }
            next = next_from(self, at.wrapping_add(1));
        }
    }

    fn tag_duplicate(&mut self, at: u32, sent: &Sent, ack: &mut Ack) {
        if sent.has(Sent::RETRANS | Sent::EVER_RETRANS) {
            let undo = &mut self.paths.of_duplicate(&mut self.path, sent.end()).undo;
            if undo.marker != 0 && undo.retrans > 0 && sent.end() > undo.marker {
                undo.retrans -= 1;
            }
            if sent.has(Sent::SACKED) {
                ack.sack_reord = ack.sack_reord.min(sent.seq);
            }
        }
        if sent.end() <= self.snd_una {
            return;
        }
        if !sent.has(Sent::SACKED) {
            self.tag_one(at, ack);
        }
        self.flight.end_retransmission(&mut self.path.tally, at);
    }

    /// Tags what `block` holds and the previous ACK's blocks did not. What lies below `walked` was looked at with a block before.
    fn tag_unseen(&mut self, block: SackBlock, seen: &[SackBlock], walked: &mut u64, ack: &mut Ack) {
        let mut start = block.start;
        for old in seen {
            if old.end <= start {
                continue;
            }
            if old.start >= block.end {
                break;
            }
            if start < old.start {
                self.tag_range(SackBlock { start, end: old.start }, walked, ack);
            }
            start = old.end;
            if start == self.highest_sacked() {
                // Linux walks on from the highest segment that is SACKed. What an ACK has reported above it is not: a
                // part of a segment.
                break;
            }
        }
        if start < block.end {
            self.tag_range(SackBlock { start, end: block.end }, walked, ack);
        }
    }

    fn tag_range(&mut self, range: SackBlock, walked: &mut u64, ack: &mut Ack) {
        if range.end <= *walked {
            return;
        }
        let splits = self.flight.merged_from(range.end, self.sizes.mss);
        let mut ends_inside = false;
        let mut next_from = |sender: &Self, at| {
            sender.flight.of_path_from(&sender.path.tally, at, |sent| {
                ends_inside = sent.end() > range.end;
                !ends_inside
            })
        };
        let mut next = next_from(self, self.flight.find(range.start, self.sizes.mss));
        while let Some(at) = next {
            let sent = self.flight.get(at);
            if sent.seq >= range.start {
                let is_merged = sent.has(Sent::MERGED);
                if !sent.has(Sent::SACKED) {
                    self.tag_one(at, ack);
                }
                if !is_merged {
                    self.flight.shift(at, self.snd_una);
                }
            }
            next = next_from(self, at.wrapping_add(1));
        }
        // Linux finds any segment again once it has come to the last.
        *walked = if ends_inside { range.end } else { 0 };
        if let Some(at) = splits {
            self.flight.part(at);
        }
    }

    /// A segment is SACKed for the first time.
    fn tag_one(&mut self, at: u32, ack: &mut Ack) {
        let sent = *self.flight.get(at);
        let path = &mut self.path;
        path.rack.on_delivered(&sent, self.clock.now_us, path.min_rtt.get());
        if self.settings.profile.fack {
            path.fack.on_sacked(&sent);
        }
        if !sent.has(Sent::RETRANS | Sent::EVER_RETRANS) {
            if sent.seq < path.tally.highest_sacked(self.snd_una) {
                ack.sack_reord = ack.sack_reord.min(sent.seq);
            }
            if sent.end() <= path.high_seq {
                ack.flags.set(AckFlags::ORIG_SACK_ACKED);
            }
            if ack.first_sacked_us.is_none() {
                ack.first_sacked_us = Some(sent.sent_us);
            }
            ack.last_sacked_us = sent.sent_us;
        }
        ack.flags.set(AckFlags::DATA_SACKED);
        path.delivery.delivered += 1;
        path.delivery.on_delivered(&mut ack.rate, &sent);
        self.flight.sack(&mut path.tally, at);
    }

    /// Linux 6.1 passes over the DSACK `duplicate` of a SACKed segment where this segment is shifted while the block around
    /// it, one of `fresh`, is walked (`tcp_sacktag_walk`). Where the blocks of the previous ACK hold the duplicate as well
    /// it `is_alone`: looked at by itself.
    fn passes_over(&self, duplicate: SackBlock, fresh: &[SackBlock], is_alone: bool) -> bool {
        let Some(around) = fresh.iter().find(|block| holds(block, duplicate)) else { return false };
        around.start != duplicate.start
            && !is_alone
            && self.flight.shifts_in_walk(duplicate.start, around.start, self.sizes.mss)
    }

    /// The segment that gets an `sk_buff` apart from the one below it: the first behind a duplicate that `is_alone`, the
    /// first of one that is looked at while the block around it is walked. Where both begin at once all is shifted again.
    fn split_by_duplicate(&self, duplicate: SackBlock, fresh: &[SackBlock], is_alone: bool) -> Option<u32> {
        if is_alone {
            return self.flight.merged_from(duplicate.end, self.sizes.mss);
        }
        let around = fresh.iter().find(|block| holds(block, duplicate))?;
        if around.start < duplicate.start { self.flight.merged_from(duplicate.start, self.sizes.mss) } else { None }
    }
}

/// The duplicate begins in the block.
fn holds(block: &SackBlock, duplicate: SackBlock) -> bool {
    block.start <= duplicate.start && duplicate.start < block.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;
    use crate::sender::measure::rate_sample::Building;

    /// Five segments of 1,000 bytes are out, and as many were sent again.
    fn sender() -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sack_permitted) = (1_000, true);
        sender.put_in_flight(5);
        (sender.counters.retransmits, sender.peer.max_window) = (5, 60_000);
        sender
    }

    fn ack(prior_una: u64) -> Ack {
        Ack {
            flags: AckFlags::default(),
            prior_una,
            has_ece: false,
            is_predicted: false,
            sack_reord: u64::MAX,
            first_sacked_us: None,
            last_sacked_us: 0,
            rate: Building::default(),
        }
    }

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start, end }
    }

    #[test]
    fn a_duplicate_lies_below_the_ack_or_within_the_second_block() {
        // RFC 2883, section 4. Of more than was ever sent, or of more than the peer's window, it is not believed.
        for (first, second, acked, is_duplicate) in [
            (block(1, 1_001), None, 2_001, true),
            (block(2_000, 2_001), None, 2_001, true),
            (block(2_001, 3_001), None, 2_001, false),
            (block(3_001, 4_001), Some(block(3_001, 5_001)), 1, true),
            (block(3_001, 5_001), Some(block(3_001, 5_001)), 1, true),
            (block(2_001, 4_001), Some(block(3_001, 5_001)), 1, false),
            (block(4_001, 5_001), Some(block(3_001, 4_001)), 1, false),
            (block(1_001, 1_001), None, 2_001, false),
            (block(1, 5_001), None, 2_001, true),
            (block(1, 5_002), None, 2_001, false),
        ] {
            let blocks: Vec<_> = [Some(first), second].into_iter().flatten().collect();
            let found = sender().check_dsack(&blocks, acked, &mut ack(1));
            assert_eq!(found, is_duplicate, "{first:?} in {second:?} of {acked}");
        }
        for (max_window, retransmits, believed) in [(5_000, 5, true), (4_999, 5, false), (5_000, 4, false)] {
            let mut sender = sender();
            (sender.peer.max_window, sender.counters.retransmits) = (max_window, retransmits);
            assert_eq!(sender.check_dsack(&[block(1, 5_001)], 2_001, &mut ack(1)), believed, "{max_window}");
            assert_eq!(sender.path.delivery.delivered, if believed { 5 } else { 0 });
        }
    }

    #[test]
    fn a_duplicate_of_the_probe_alone_is_of_the_probe_and_no_other_shows_reordering() {
        for (end, probe, seen, is_probe, is_reordering) in [
            (1_001, 1_001, 1, true, false),
            (1_001, 2_001, 1, false, true),
            (2_001, 2_001, 1, false, true),
            (1_001, 2_001, 0, false, false),
        ] {
            let mut sender = sender();
            (sender.path.probe.high_seq, sender.path.reordering.seen) = (probe, seen);
            let mut ack = ack(1);
            assert!(sender.check_dsack(&[block(1, end)], 3_001, &mut ack));
            assert_eq!((ack.flags.any(AckFlags::DSACK_TLP), sender.path.rack.dsack_seen), (is_probe, is_reordering));
        }
    }

    #[test]
    fn duplicates_of_what_was_sent_again_bring_an_undo_nearer() {
        // tcp_check_dsack(): what lies below the ACK before, and was sent in this reduction.
        for (end, marker, retrans, prior_una, left) in [
            (1_001, 1, 3, 2_001, 2),
            (1_001, 1, 3, 1_001, 2),
            (1_001, 1, 3, 1_000, 3),
            (1_001, 1_000, 3, 2_001, 2),
            (1_001, 1_001, 3, 2_001, 3),
            (1_001, 0, 3, 2_001, 3),
            (1_001, 1, 0, 2_001, 0),
            (1_001, 1, -1, 2_001, -1),
            (5_001, 1, 3, 5_001, 0),
        ] {
            let mut sender = sender();
            (sender.path.undo.marker, sender.path.undo.retrans) = (marker, retrans);
            sender.check_dsack(&[block(1, end)], 5_001, &mut ack(prior_una));
            assert_eq!(sender.path.undo.retrans, left, "{end} above {marker}, {prior_una}");
        }
    }

    #[test]
    fn a_duplicate_above_the_ack_is_a_retransmission_that_has_arrived() {
        for (flags, marker, retrans, una, left, is_sacked) in [
            (Sent::RETRANS | Sent::EVER_RETRANS, 1, 2, 1, 1, true),
            (Sent::EVER_RETRANS, 1, 2, 1, 1, true),
            (Sent::EVER_RETRANS, 2_000, 2, 1, 1, true),
            (Sent::EVER_RETRANS, 2_001, 2, 1, 2, true),
            (Sent::EVER_RETRANS, 0, 2, 1, 2, true),
            (Sent::EVER_RETRANS, 1, 0, 1, 0, true),
            (0, 1, 2, 1, 2, true),
            (Sent::EVER_RETRANS, 1, 2, 2_001, 1, false),
            (Sent::EVER_RETRANS, 1, 2, 2_000, 1, true),
        ] {
            let mut sender = sender();
            (sender.path.undo.marker, sender.path.undo.retrans, sender.snd_una) = (marker, retrans, una);
            let at = sender.flight.head() + 1;
            let mut sent = *sender.flight.get(at);
            sent.flags |= flags & !Sent::RETRANS;
            sender.tag_duplicate(at, &Sent { flags: sent.flags | flags, ..sent }, &mut ack(1));
            assert_eq!(sender.path.undo.retrans, left, "above {marker}, {una}");
            assert_eq!(sender.flight.get(at).has(Sent::SACKED), is_sacked);
        }
    }

    #[test]
    fn blocks_lie_between_what_is_acknowledged_and_what_was_sent() {
        for (start, end, is_plausible) in [
            (1_001, 2_001, true),
            (1, 5_001, true),
            (0, 1_001, false),
            (1, 5_002, false),
            (2_001, 2_001, false),
            (2_001, 1_001, false),
        ] {
            assert_eq!(sender().is_plausible(&block(start, end)), is_plausible, "{start} to {end}");
        }
    }
}
