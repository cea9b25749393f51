//! Which segments are delivered and which are lost.
//!
//! | file | evidence |
//! |---|---|
//! | `scoreboard.rs` | SACK blocks and DSACKs |
//! | `rack.rs` | time: one sent later was delivered (RFC 8985) |
//! | `newreno.rs` | duplicate ACKs without SACK, and partial ones (RFC 6582) |
//! | `fack.rs` | how far below the highest SACK it lies, in older stacks |
//! | `overdue.rs` | time on another path: twice the longest RTT |
//! | `reordering.rs` | how far apart segments may arrive that are not lost |
//!
//! Without RACK the count of SACKed segments above decides (below). A timeout marks in `recovery/timeout.rs`. All of it
//! reads the records in flight and marks them by [`Sender::mark_lost`]; what follows from a loss is recovery's.

pub(super) mod fack;
pub(super) mod newreno;
pub(super) mod overdue;
pub(super) mod rack;
pub(super) mod reordering;
pub(super) mod scoreboard;

use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::{Lost, Sent};

/// What the state machine found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No loss.
    Nothing,
    /// A loss that begins a recovery.
    FirstLoss,
    /// A recovery goes on.
    Losses,
}

impl Sender {
    /// Something is marked lost, or, without RACK, enough is SACKed (RFC 6675, section 5).
    pub(in crate::sender) fn is_loss_evident(&self) -> bool {
        let by_count = self.marks_by_count() && self.path.tally.sacked_out() >= self.path.reordering.degree;
        self.path.tally.lost_out() > 0 || by_count
    }

    /// The count of SACKed segments finds losses: in place of RACK and forward acknowledgement, or beside an early RACK.
    pub(in crate::sender) fn marks_by_count(&self) -> bool {
        (!self.settings.rack || self.settings.profile.early_rack) && !self.settings.profile.fack
    }

    /// More than `reordering` segments lie between the first hole and the highest SACKed segment.
    pub(in crate::sender) fn much_is_sacked(&self) -> bool {
        self.highest_sacked() > self.snd_una + u64::from(self.path.reordering.degree) * u64::from(self.sizes.mss)
    }

    /// RFC 6582 without SACK, otherwise RACK.
    pub(in crate::sender) fn identify_losses(&mut self, ack: &mut Ack) {
        let retransmitted = self.path.tally.retrans_out();
        if !self.sack_permitted {
            self.newreno_mark_lost(ack);
        } else if self.settings.rack {
            if self.rack_mark_lost() {
                ack.flags.unset(AckFlags::SET_TIMER);
            }
        } else if self.settings.profile.fack {
            self.mark_lost_by_fack();
        }
        if retransmitted > self.path.tally.retrans_out() {
            ack.flags.set(AckFlags::LOST_RETRANS);
        }
    }

    /// Without RACK: segments with `reordering` SACKed ones above them are lost, and at the start of a recovery the first
    /// one in any case (RFC 6675, section 5).
    pub(in crate::sender) fn mark_lost_by_count(&mut self, found: Found) {
        let degree = self.path.reordering.degree.max(1);
        let mut to_mark = Vec::new();
        if self.path.tally.sacked_out() >= degree {
            let mut above = self.path.tally.sacked_out();
            for at in self.flight.positions_of(&self.path.tally) {
                let sent = self.flight.get(at);
                if sent.has(Sent::SACKED) {
                    above -= 1;
                } else if above >= degree && !sent.has(Sent::LOST) {
                    to_mark.push(at);
                }
                if above < degree {
                    break;
                }
            }
        } else if found == Found::FirstLoss {
            let head = self.flight.head();
            let first = self.flight.positions_of(&self.path.tally).next();
            to_mark.extend(first.filter(|&at| at == head && !self.flight.get(at).has(Sent::LOST)));
        }
        self.flight.keep_time_order();
        for at in to_mark {
            self.mark_lost(at);
        }
    }

    /// The segment is thought to be lost: the original, or its retransmission too.
    #[inline]
    pub(crate) fn mark_lost(&mut self, at: u32) {
        let path = self.paths.get(&mut self.path, self.flight.get(at).path());
        let Some(lost) = self.flight.mark_lost(&mut path.tally, at) else { return };
        path.delivery.lost += 1;
        self.counters.lost_retransmits += u64::from(lost == Lost::Retransmission);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    /// Five segments are out, of which some are SACKed.
    fn sender(sacked: &[u32]) -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sack_permitted) = (1_000, true);
        sender.put_in_flight(5);
        for n in sacked {
            sender.flight.sack(&mut sender.path.tally, sender.flight.head() + n);
        }
        sender
    }

    fn lost(sender: &Sender) -> Vec<u32> {
        (0..5).filter(|n| sender.flight.get(sender.flight.head() + n).has(Sent::LOST)).collect()
    }

    #[test]
    fn much_is_sacked_where_more_than_the_degree_lies_below_the_highest() {
        for (sacked, much) in [(&[][..], false), (&[1], false), (&[2], false), (&[3], true), (&[1, 4], true)] {
            assert_eq!(sender(sacked).much_is_sacked(), much, "{sacked:?} of five, a degree of three");
        }
    }

    #[test]
    fn segments_below_three_that_are_sacked_are_lost_and_the_first_one_in_any_case() {
        for (sacked, found, are_lost) in [
            (&[1, 2, 3][..], Found::Losses, vec![0]),
            (&[1, 3, 4], Found::Losses, vec![0]),
            (&[2, 3, 4], Found::Losses, vec![0, 1]),
            (&[1], Found::Losses, vec![]),
            (&[1], Found::FirstLoss, vec![0]),
            (&[2, 4], Found::FirstLoss, vec![0]),
        ] {
            let mut sender = sender(sacked);
            sender.mark_lost_by_count(found);
            assert_eq!(lost(&sender), are_lost, "{sacked:?}, {found:?}");
            assert_eq!(sender.path.delivery.lost, are_lost.len() as u64);
        }
    }
}
