//! One ACK on several paths (`paths/mod.rs`): it is processed for each, which sees only its own segments.

use super::Cleaned;
use crate::Segment;
use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::Sent;

impl Sender {
    /// Processes an ACK that is not old.
    #[cold]
    pub(super) fn on_ack_of_paths(&mut self, segment: &Segment, mut ack: Ack) {
        self.choose_path(segment);
        let had_queue = !self.flight.is_empty();
        self.advance_una::<false>(segment, &mut ack);
        let reported = (segment.sack_count > 0).then(|| self.take_sacks(segment, &mut ack));
        if !had_queue {
            self.on_ack_without_queue(segment, &mut ack);
            self.on_each_path(|sender| {
                if !sender.is_on_present_path() {
                    sender.on_late_ack(&mut ack);
                }
            });
            self.settle_probe();
            return;
        }
        let mut findings = Vec::with_capacity(self.all_paths().count());
        self.on_each_path(|sender| {
            let (mut ack, prior) = (ack, sender.prior::<false>(ack.prior_una));
            if let Some(reported) = &reported {
                sender.tag_reported(reported, &mut ack);
            }
            let cleaned = sender.clean_path(&mut ack);
            sender.drop_ambiguous(&mut ack);
            findings.push((ack, prior, cleaned));
        });
        self.pop_acknowledged();
        if let Some(reported) = &reported {
            self.remember_sacks(reported);
        }
        let reneging = self.flight.first().is_some_and(|first| first.has(Sent::SACKED));
        let mut findings = findings.into_iter();
        let (mut arms, mut waits) = (false, false);
        self.on_each_path(|sender| {
            let (mut ack, prior, mut cleaned) = findings.next().expect("one for each path");
            let overdue = sender.detect_overdue();
            if let Some(wait_us) = overdue.wait_us {
                sender.set_reorder_timer(wait_us);
                waits = true;
            }
            if overdue.found {
                ack.flags.set(AckFlags::OVERDUE);
            }
            let delivers = AckFlags::DATA_ACKED | AckFlags::DATA_SACKED | AckFlags::DSACKING;
            let is_concerned = ack.flags.any(delivers | AckFlags::OVERDUE);
            let is_calm = sender.path.state == CaState::Open && sender.path.probe.high_seq == 0;
            if !is_concerned && is_calm && !sender.is_on_present_path() {
                return;
            }
            if reneging {
                ack.flags.set(AckFlags::SACK_RENEGING);
            }
            if !sender.is_measured(cleaned.first_us) {
                cleaned.first_us = None;
            }
            let was_set = ack.flags.any(AckFlags::SET_TIMER);
            sender.respond::<false>(segment, &mut ack, &prior, cleaned);
            let is_set = ack.flags.any(AckFlags::SET_TIMER);
            arms |= is_set;
            // Loss detection has set the timer itself.
            waits |= was_set && !is_set;
        });
        self.transmit.arm_later(arms && !waits);
        self.settle_probe();
    }

    /// Of an ACK older than the last only the SACKs count.
    #[cold]
    pub(super) fn on_old_ack_of_paths(&mut self, segment: &Segment, mut ack: Ack) {
        let reported = self.take_sacks(segment, &mut ack);
        let mut findings = Vec::with_capacity(self.all_paths().count());
        self.on_each_path(|sender| {
            let (mut ack, delivered) = (ack, sender.path.delivery.delivered);
            sender.tag_reported(&reported, &mut ack);
            findings.push((ack, delivered));
        });
        self.remember_sacks(&reported);
        let mut findings = findings.into_iter();
        self.on_each_path(|sender| {
            let (mut ack, delivered) = findings.next().expect("one for each path");
            sender.respond_to_old(&mut ack, delivered);
        });
        self.settle_probe();
    }

    /// The path's segments that are acknowledged; their records stay until all paths have seen theirs.
    fn clean_path(&mut self, ack: &mut Ack) -> Cleaned {
        let mut cleaned = Cleaned { reord: self.snd_nxt, ..Cleaned::default() };
        let una = self.snd_una;
        let next_acked =
            |sender: &Self, at| sender.flight.of_path_from(&sender.path.tally, at, |record| record.end() <= una);
        let mut next = next_acked(self, self.flight.head());
        while let Some(at) = next {
            self.clean_marked(at, ack, &mut cleaned);
            cleaned.segments += 1;
            next = next_acked(self, at.wrapping_add(1));
        }
        self.flight.release(&mut self.path.tally, cleaned.segments);
        if cleaned.segments > 0 {
            ack.flags.set(AckFlags::DATA_ACKED | AckFlags::SET_TIMER);
        } else {
            // Nothing of this path's is acknowledged: its recovery has made no progress.
            ack.flags.unset(AckFlags::UNA_ADVANCED);
        }
        cleaned
    }

    fn pop_acknowledged(&mut self) {
        let at =
            self.flight.positions().find(|&at| self.flight.get(at).end() > self.snd_una).unwrap_or(self.flight.tail());
        self.flight.pop_to(at);
        debug_assert_eq!(
            self.all_paths().map(|path| path.tally.packets_out()).sum::<u32>(),
            self.flight.len(),
            "packets_out is not what is queued"
        );
    }

    /// The path was there all the time since `sent_us`.
    fn is_measured(&self, sent_us: Option<u64>) -> bool {
        self.is_on_present_path() && sent_us.is_some_and(|sent_us| sent_us >= self.paths.since_us)
    }

    /// Forgets the RTT and the rate of segments whose ACKs may have come by another path.
    fn drop_ambiguous(&mut self, ack: &mut Ack) {
        if !self.is_measured(ack.first_sacked_us) {
            ack.first_sacked_us = None;
        }
        if !self.is_measured(ack.rate.taken.then_some(self.path.delivery.first_sent_us)) {
            ack.rate.taken = false;
        }
    }
}
