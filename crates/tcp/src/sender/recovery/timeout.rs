//! The retransmission timeout and the Loss state, with F-RTO.

use crate::congestion::{CaEvent, CaState};
use crate::sender::Sender;
use crate::sender::finding::AckFlags;
use crate::sender::flight::Sent;
use crate::sender::timer::TimerKind;

impl Sender {
    /// The retransmission timer fired: enters Loss; the first segment leaves at the next poll.
    pub(crate) fn on_rto(&mut self) {
        let Some(first) = self.flight.first() else {
            self.clear_timer();
            return;
        };
        // The oldest segment's path has timed out. What is out on others may still arrive.
        self.on_path(first.path(), Self::time_out);
        if self.has_paths() {
            self.settle_probe();
        }
    }

    fn time_out(&mut self) {
        self.enter_loss();
        let backoff = self.path.rtt.backoff;
        self.path.rtt.back_off(&self.clock);
        if self.peer.window == 0 && !self.settings.profile.no_receive_window {
            // The peer has closed its window below what is out: what is sent again probes the window, and is no timeout.
            self.path.rtt.backoff = backoff;
        } else {
            self.counters.rtos += 1;
            self.timer.timeouts += 1;
        }
        self.set_timer_unpaced(TimerKind::Retransmit, self.path.rtt.rto);
    }

    /// RFC 5681, section 3.1, with the reduction made once a window of data.
    fn enter_loss(&mut self) {
        let state = self.path.state;
        let new_recovery = state < CaState::Recovery;
        self.mark_lost_by_timeout();
        self.path.fack.reach = None;
        if state <= CaState::Disorder
            || self.path.high_seq <= self.snd_una
            || (state == CaState::Loss && self.timer.timeouts == 0)
        {
            self.path.undo.prior_ssthresh = self.path.current_ssthresh();
            self.path.window.prior_cwnd = self.path.window.cwnd;
            let context = self.context();
            self.path.window.ssthresh = self.path.rule.ssthresh(&self.path.window, &context);
            self.event(CaEvent::Loss);
            self.start_undo();
        }
        self.path.window.cwnd = self.path.in_flight() + 1;
        self.path.window.cwnd_cnt = 0;
        self.path.usage.stamp = self.clock.jiffies;
        if state <= CaState::Disorder && self.path.tally.sacked_out() >= self.settings.reordering {
            // Many SACKs, and still a timeout: reordering was overestimated.
            let degree = &mut self.path.reordering.degree;
            *degree = (*degree).min(self.settings.reordering);
        }
        self.set_state(CaState::Loss);
        self.path.high_seq = self.snd_nxt;
        self.queue_cwr();
        self.path.probe.high_seq = 0;
        self.path.frto = self.settings.frto && !self.has_paths() && (new_recovery || self.timer.timeouts > 0);
    }

    /// Everything is lost, but what was sent too recently for RACK to find it lost. If the peer had SACKed
    /// the first segment, it has thrown data away (reneging, RFC 2018 section 8) and SACKs count for
    /// nothing.
    fn mark_lost_by_timeout(&mut self) {
        let reneging = self.flight.first().is_some_and(|first| first.has(Sent::SACKED));
        self.flight.keep_time_order();
        if reneging {
            self.flight.unmark_sacked(self.paths.each(&mut self.path).map(|path| &mut path.tally));
            self.scoreboard.reneging = true;
        } else if !self.sack_permitted {
            self.path.tally.forget_duplicates();
        }
        if reneging {
            for at in self.flight.positions() {
                self.mark_lost(at);
            }
        } else {
            self.mark_lost_of_path();
        }
        self.flight.resend_all_lost();
    }

    fn mark_lost_of_path(&mut self) {
        let now_us = self.clock.now_us;
        let head = self.flight.head();
        // Linux looks at the age of all but the first buffer.
        let first = self.flight.burst_from(head);
        let judges_age = self.settings.rack && self.sack_permitted && !self.settings.profile.early_rack;
        let mut next = self.flight.of_path_from(&self.path.tally, head, |_| true);
        while let Some(at) = next {
            let is_recent = || self.path.rack.remaining_us(self.flight.get(at), 0, now_us) > 0;
            if !(judges_age && at.wrapping_sub(head) >= first && is_recent()) {
                self.mark_lost(at);
            }
            next = self.flight.of_path_from(&self.path.tally, at.wrapping_add(1), |_| true);
        }
    }

    /// An ACK in Loss: undo, F-RTO (RFC 5682, section 3.1, SACK-enhanced), or slow start.
    pub(crate) fn process_loss(&mut self, flags: AckFlags, is_dupack: bool) {
        let recovered = self.snd_una >= self.path.high_seq;
        if flags.any(AckFlags::UNA_ADVANCED) && self.undo_loss(false) {
            return;
        }
        if self.path.frto {
            if flags.any(AckFlags::ORIG_SACK_ACKED) && self.undo_loss(true) {
                return;
            }
            if self.snd_nxt > self.path.high_seq {
                if flags.any(AckFlags::DATA_SACKED) || is_dupack {
                    self.path.frto = false;
                }
            } else if flags.any(AckFlags::UNA_ADVANCED) && !recovered {
                self.path.high_seq = self.snd_nxt;
                if self.has_unsent() && self.window_end() > self.snd_nxt {
                    self.transmit.ask_by_frto();
                    return;
                }
                self.path.frto = false;
            }
        }
        if recovered {
            self.leave_recovery();
            return;
        }
        if !self.sack_permitted {
            // Duplicates count once F-RTO has sent new data: they show that it arrived.
            if self.snd_nxt > self.path.high_seq && is_dupack {
                self.count_duplicate();
            } else if flags.any(AckFlags::UNA_ADVANCED) {
                self.path.tally.forget_duplicates();
            }
        }
        self.look_for_lost();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    #[test]
    fn a_timeout_sends_one_segment_however_large_the_window_becomes() {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
        sender.sizes.mss = 1_000;
        sender.is_synchronised = true;
        sender.buffer.write_seq = 4_001;
        sender.peer.window = 100_000;
        sender.put_in_flight(3);
        sender.has_small_queue = false;
        sender.timer.kind = TimerKind::Retransmit;
        sender.on_timer();
        assert_eq!(sender.path.tally.lost_out(), 3);
        // BBR leaves PROBE_RTT when the segment leaves, and restores its window.
        sender.path.window.cwnd = 100;
        assert_eq!(sender.next_outgoing().map(|outgoing| outgoing.seq), Some(1));
        assert_eq!(sender.next_outgoing(), None);
        // Until an ACK arrives or the application writes.
        sender.transmit.on_written();
        assert_eq!(sender.next_outgoing().map(|outgoing| outgoing.seq), Some(1_001));
    }

    #[test]
    fn a_timeout_spares_what_was_sent_within_an_rtt_but_for_older_stacks() {
        for (early_rack, lost) in [(false, 1), (true, 3)] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
            sender.settings.profile.early_rack = early_rack;
            sender.sack_permitted = true;
            sender.sizes.mss = 1_000;
            sender.put_in_flight(3);
            sender.path.rack.rtt_us = 100_000;
            sender.on_rto();
            assert_eq!(sender.path.tally.lost_out(), lost, "early_rack {early_rack}");
        }
    }

    #[test]
    fn new_data_shows_whether_a_timeout_was_due_where_the_window_has_room_for_it() {
        // RFC 5682, section 3.1, step 2: three segments of 1,000 bytes are out, and more waits.
        for (window, goes_on) in [(3_000, false), (3_001, true)] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
            (sender.sizes.mss, sender.sack_permitted, sender.is_synchronised) = (1_000, true, true);
            sender.buffer.write_seq = 9_001;
            sender.peer.window = window;
            sender.put_in_flight(3);
            (sender.path.state, sender.path.frto, sender.path.high_seq) = (CaState::Loss, true, 3_001);
            sender.process_loss(AckFlags::UNA_ADVANCED, false);
            assert_eq!(sender.path.frto, goes_on, "a window of {window}");
        }
    }

    #[test]
    fn without_sack_duplicates_count_in_loss_once_new_data_was_sent() {
        for (high_seq, counted) in [(3_001, 0), (3_000, 1), (2_001, 1)] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
            (sender.sizes.mss, sender.sack_permitted) = (1_000, false);
            sender.put_in_flight(3);
            (sender.path.state, sender.path.high_seq) = (CaState::Loss, high_seq);
            sender.process_loss(AckFlags::default(), true);
            assert_eq!(sender.path.tally.sacked_out(), counted, "high_seq is {high_seq}");
        }
    }

    #[test]
    fn sacks_of_many_segments_and_still_a_timeout_show_that_the_degree_was_too_high() {
        // tcp_enter_loss(), where a recovery has not begun.
        for (state, sacked, degree) in [
            (CaState::Open, 3, 3),
            (CaState::Disorder, 4, 3),
            (CaState::Disorder, 2, 9),
            (CaState::Cwr, 3, 9),
            (CaState::Recovery, 4, 9),
        ] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
            (sender.sizes.mss, sender.sack_permitted, sender.path.state) = (1_000, true, state);
            sender.put_in_flight(5);
            for n in 1..=sacked {
                sender.flight.sack(&mut sender.path.tally, sender.flight.head() + n);
            }
            sender.path.reordering.degree = 9;
            sender.enter_loss();
            assert_eq!(sender.path.reordering.degree, degree, "{sacked} in {state:?}");
        }
    }

    #[test]
    fn a_timeout_was_due_if_duplicates_or_sacks_come_after_new_data() {
        // RFC 5682, section 3.1, step 3 a, and its SACK-enhanced version.
        for (high_seq, flags, is_dupack, goes_on) in [
            (2_001, AckFlags::DATA_SACKED, false, false),
            (2_001, AckFlags::default(), true, false),
            (2_001, AckFlags::default(), false, true),
            (3_001, AckFlags::default(), true, true),
        ] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").unwrap().rule(1));
            (sender.sizes.mss, sender.sack_permitted) = (1_000, true);
            sender.put_in_flight(3);
            (sender.path.state, sender.path.frto, sender.path.high_seq) = (CaState::Loss, true, high_seq);
            sender.process_loss(flags, is_dupack);
            assert_eq!(sender.path.frto, goes_on, "{flags:?}, {is_dupack}");
        }
    }
}
