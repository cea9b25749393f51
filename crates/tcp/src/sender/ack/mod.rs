//! Acknowledgement processing: from an arriving ACK to the new window.
//!
//! The order is that of Linux, since the parts feed each other: SACKs, cumulative acknowledgement and
//! RTT, the probe, the congestion state, the timer, and at last the window.
//!
//! There is one way, in two instances. A plain ACK ([`Sender::is_plain`]) finds the path in Open and marks nowhere, so that
//! its instance (`PLAIN`) leaves out what only matters where something was SACKed, lost or sent again.

mod of_paths;

use crate::congestion::{AckArrival, AckSample, CaState, Timestamps};
use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::Sent;
use crate::sender::measure::rate_sample::Building;
use crate::{Flags, Segment};
use daybreak_units::Duration;

/// What cumulative acknowledgement found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cleaned {
    pub segments: u32,
    /// Send times of the first and the last segment that were sent once.
    pub first_us: Option<u64>,
    pub last_us: u64,
    /// Lowest segment that was sent once and not SACKed before.
    pub reord: u64,
}

/// What a path was before an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    pub delivered: u64,
    lost: u64,
    in_flight: u32,
    sacked_out: u32,
    highest_sacked: u64,
}

/// RTT samples taken from one ACK.
#[derive(Clone, Copy, Debug, Default)]
struct RttSamples {
    /// For the estimator.
    seq_us: Option<u32>,
    /// From the first segment that this ACK newly SACKs.
    sack_us: Option<u32>,
    /// For the rule: of what was delivered last.
    ca_us: Option<u32>,
}

impl Sender {
    /// The acknowledgement of a segment when nothing is out (see [`Sender::is_quiet`]): only its
    /// window matters.
    #[inline]
    pub(crate) fn on_quiet_ack(&mut self, segment: &Segment) {
        if self.peer.is_updated_by(segment, self.settings.profile) && segment.ack == self.snd_una {
            self.peer.window_seq = segment.seq;
            self.peer.window = segment.window;
            self.on_window(segment.window);
        }
    }

    /// Processes the acknowledgement of an acceptable segment, which is what header prediction expects if `is_next`.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, segment: &Segment, is_next: bool) {
        if segment.ack <= self.snd_nxt {
            self.take_ack::<false>(segment, is_next);
        }
    }

    /// Processes a plain ACK.
    #[inline]
    pub(crate) fn on_plain_ack(&mut self, segment: &Segment) {
        self.take_ack::<true>(segment, true);
    }

    #[inline(always)]
    fn take_ack<const PLAIN: bool>(&mut self, segment: &Segment, is_next: bool) {
        self.transmit.on_ack();
        let prior_una = self.snd_una;
        let mut ack = Ack {
            flags: AckFlags::default(),
            prior_una,
            has_ece: !PLAIN && segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::SYN),
            is_predicted: is_next
                && segment.window == self.peer.window
                && (PLAIN || (segment.sack_count == 0 && segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0)),
            sack_reord: self.snd_nxt,
            first_sacked_us: None,
            last_sacked_us: 0,
            rate: Building::default(),
        };
        if !PLAIN {
            self.echoed = segment.ts_ecr;
            self.buffer.look_for_room();
            if segment.len > 0 {
                ack.flags.set(AckFlags::DATA);
            }
            if segment.ack < prior_una {
                self.on_old_ack(segment, ack);
                return;
            }
            if self.has_paths() {
                self.on_ack_of_paths(segment, ack);
                return;
            }
        }
        let prior = self.prior::<PLAIN>(prior_una);
        let had_queue = PLAIN || !self.flight.is_empty();
        self.advance_una::<PLAIN>(segment, &mut ack);
        if !PLAIN {
            if segment.sack_count > 0 && self.sack_permitted {
                self.tag_sacks(segment, &mut ack);
            }
            if ack.has_ece && self.ecn.active {
                ack.flags.set(AckFlags::ECE);
            }
        }
        if !had_queue {
            self.on_ack_without_queue(segment, &mut ack);
            return;
        }

        let cleaned = self.clean_queue::<PLAIN>(&mut ack);
        self.respond::<PLAIN>(segment, &mut ack, &prior, cleaned);
    }

    /// What is acknowledged cumulatively, and the peer's window.
    #[inline(always)]
    pub(super) fn advance_una<const PLAIN: bool>(&mut self, segment: &Segment, ack: &mut Ack) {
        if PLAIN || segment.ack > ack.prior_una {
            ack.flags.set(AckFlags::UNA_ADVANCED);
            if !PLAIN {
                self.timer.timeouts = 0;
            }
        }
        self.update_window::<PLAIN>(segment, ack);
        self.snd_una = segment.ack;
    }

    /// The path before an ACK, when `una` was the first unacknowledged byte.
    #[inline(always)]
    pub(super) fn prior<const PLAIN: bool>(&self, una: u64) -> Prior {
        let path = &self.path;
        Prior {
            delivered: path.delivery.delivered,
            lost: path.delivery.lost,
            in_flight: if PLAIN { path.tally.packets_out() } else { path.in_flight() },
            sacked_out: path.tally.sacked_out(),
            highest_sacked: path.tally.highest_sacked(una),
        }
    }

    /// Updates RTT, loss detection, state and window after the delivered segments have been tagged.
    #[inline(always)]
    pub(super) fn respond<const PLAIN: bool>(
        &mut self,
        segment: &Segment,
        ack: &mut Ack,
        prior: &Prior,
        cleaned: Cleaned,
    ) {
        let rtt_us = self.measure_rtt::<PLAIN>(ack, prior, &cleaned);
        let delivered_at_first = self.path.delivery.delivered;
        if ack.flags.any(AckFlags::ECE) {
            self.path.delivery.delivered_ce += delivered_at_first - prior.delivered;
        }
        let arrival = self.arrival::<PLAIN>(segment, ack, cleaned.segments, rtt_us);
        if PLAIN {
            // Nothing but the window will be changed: the sample is complete.
            let mut sample = self.sample::<PLAIN>(arrival, ack, prior, cleaned.segments);
            self.path.rule.on_arrival(&mut self.path.window, &sample.arrival);
            self.update_reo_wnd(ack.rate.taken.then_some(ack.rate.prior_delivered));
            self.arm_for_ack();
            self.control_window::<PLAIN>(&mut sample, ack.flags);
        } else {
            self.path.rule.on_arrival(&mut self.path.window, &arrival);
            self.update_reo_wnd(ack.rate.taken.then_some(ack.rate.prior_delivered));
            self.react(ack, delivered_at_first);
            let newly_delivered = (self.path.delivery.delivered - prior.delivered) as u32;
            let mut sample = self.sample::<PLAIN>(arrival, ack, prior, newly_delivered);
            self.control_window::<PLAIN>(&mut sample, ack.flags);
        }
    }

    /// What follows from an ACK for the probe, the congestion state and the timer. `delivered_before` counts what was
    /// delivered before the state machine runs.
    #[inline(always)]
    fn react(&mut self, ack: &mut Ack, delivered_before: u64) {
        if self.path.probe.high_seq != 0 {
            self.on_loss_probe_ack(self.snd_una, ack.flags);
        }
        if !ack.flags.any(AckFlags::NOT_DUP) || ack.flags.any(AckFlags::ALERT) || self.path.state != CaState::Open {
            let has_echo = ack.flags.any(AckFlags::ECE);
            let is_dupack = !ack.flags.any(AckFlags::UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DSACKING);
            self.counters.dup_acks += u64::from(is_dupack && self.is_on_present_path());
            if self.settings.profile.rto_restart {
                ack.flags.set(AckFlags::SET_TIMER);
            }
            self.run_state_machine(ack, is_dupack);
            if has_echo {
                // Without SACK a duplicate delivers as well.
                self.path.delivery.delivered_ce += self.path.delivery.delivered - delivered_before;
            }
            if ack.flags.any(AckFlags::SET_TIMER) && !self.has_paths() {
                self.arm_after_ack();
            }
        } else if ack.flags.any(AckFlags::SET_TIMER) {
            self.arm_for_ack();
        }
    }

    /// The rule, or PRR, sets the window.
    #[inline(always)]
    fn control_window<const PLAIN: bool>(&mut self, sample: &mut AckSample, flags: AckFlags) {
        // Asked of the window that the rule and the state have left.
        sample.is_cwnd_limited = self.is_cwnd_limited();
        if self.path.capabilities.controls_window {
            self.control_by_rule(sample);
            return;
        }
        if !PLAIN && self.path.in_cwnd_reduction() {
            let rebuilds = if self.settings.profile.prr_by_retransmission {
                flags.any(AckFlags::RETRANS_DATA_ACKED) && !flags.any(AckFlags::LOST_RETRANS)
            } else {
                flags.any(AckFlags::UNA_ADVANCED) && sample.newly_lost == 0
            };
            self.reduce_cwnd(sample.newly_delivered, rebuilds);
        } else if flags.any(AckFlags::DATA_ACKED)
            || (flags.any(AckFlags::DATA_SACKED) && self.path.reordering.degree > self.settings.reordering)
        {
            self.grow(sample);
        }
        self.update_pacing_rate();
        if PLAIN {
            self.plan_burst();
        }
    }

    /// Takes the peer's window from the newest segment (RFC 9293, section 3.10.7.4).
    #[inline(always)]
    fn update_window<const PLAIN: bool>(&mut self, segment: &Segment, ack: &mut Ack) {
        if PLAIN || segment.ack > ack.prior_una || self.peer.is_updated_by(segment, self.settings.profile) {
            ack.flags.set(AckFlags::WIN_UPDATE);
            self.peer.window_seq = segment.seq;
            if self.peer.window != segment.window {
                self.peer.window = segment.window;
                self.on_window(segment.window);
                // What is acknowledged is out still.
                if !PLAIN && self.has_unsent() {
                    self.restart_after_idle();
                }
            }
        }
    }

    /// An ACK from before the newest: only its SACKs count.
    #[cold]
    fn on_old_ack(&mut self, segment: &Segment, mut ack: Ack) {
        if segment.sack_count == 0 || !self.sack_permitted {
            return;
        }
        if self.has_paths() {
            self.on_old_ack_of_paths(segment, ack);
            return;
        }
        let delivered = self.path.delivery.delivered;
        self.tag_sacks(segment, &mut ack);
        self.respond_to_old(&mut ack, delivered);
    }

    /// The rest of an ACK that is older than the last, when `delivered` had been delivered before it: what it reports is
    /// SACKed from then on, and Linux 6.1.192 counts it as delivered neither now nor when it is acknowledged.
    pub(super) fn respond_to_old(&mut self, ack: &mut Ack, delivered: u64) {
        self.path.delivery.delivered = delivered;
        self.run_state_machine(ack, false);
    }

    /// Nothing was outstanding: a window update, or a late duplicate.
    pub(super) fn on_ack_without_queue(&mut self, segment: &Segment, ack: &mut Ack) {
        if !std::mem::take(&mut self.handshake.is_ending) && self.path.capabilities.wants_idle_acks {
            let arrival = self.arrival::<false>(segment, ack, 0, None);
            self.path.rule.on_arrival(&mut self.path.window, &arrival);
        }
        self.on_late_ack(ack);
        self.on_window_probe_ack();
    }

    /// What an ACK means for a path when nothing is out.
    pub(super) fn on_late_ack(&mut self, ack: &mut Ack) {
        if ack.flags.any(AckFlags::DSACKING) {
            self.run_state_machine(ack, false);
        }
        if self.path.probe.high_seq != 0 {
            self.on_loss_probe_ack(self.snd_una, ack.flags);
        }
    }

    /// Removes what is acknowledged.
    #[inline(always)]
    fn clean_queue<const PLAIN: bool>(&mut self, ack: &mut Ack) -> Cleaned {
        let prior_sacked = self.path.tally.sacked_out();
        let head = self.flight.head();
        let mut cleaned = Cleaned { reord: self.snd_nxt, ..Cleaned::default() };
        let mut last_plain: Option<u32> = None;
        let mut plain = 0;
        // The first one is acknowledged by a plain ACK.
        let mut at = head.wrapping_add(u32::from(PLAIN));
        while at != self.flight.tail() {
            let record = self.flight.get(at);
            if record.end() > self.snd_una {
                break;
            }
            if !PLAIN && record.has(Sent::UNUSUAL) {
                self.clean_marked(at, ack, &mut cleaned);
            } else if !PLAIN {
                if cleaned.first_us.is_none() {
                    cleaned.first_us = Some(record.sent_us);
                    cleaned.reord = cleaned.reord.min(record.seq);
                }
                cleaned.last_us = record.sent_us;
                if record.end() <= self.path.high_seq {
                    ack.flags.set(AckFlags::ORIG_SACK_ACKED);
                }
                last_plain = Some(at);
                plain += 1;
            }
            at = at.wrapping_add(1);
        }
        cleaned.segments = at.wrapping_sub(head);
        if PLAIN {
            let last = at.wrapping_sub(1);
            (last_plain, plain) = (Some(last), cleaned.segments);
            cleaned.first_us = Some(self.flight.get(head).sent_us);
            cleaned.last_us = self.flight.get(last).sent_us;
        }
        if let Some(last) = last_plain {
            // Plain records were sent in this order: the last of them is the latest.
            let (path, sent) = (&mut self.path, self.flight.get(last));
            if PLAIN || self.sack_permitted {
                path.delivery.delivered += u64::from(plain);
                path.rack.on_delivered(sent, self.clock.now_us, path.min_rtt.get());
            }
            path.delivery.on_delivered(&mut ack.rate, sent);
        }
        if PLAIN {
            self.flight.release_plain(&mut self.path.tally, at);
            ack.flags.set(AckFlags::DATA_ACKED | AckFlags::SET_TIMER);
        } else {
            self.release(ack, at, cleaned.segments);
            if prior_sacked > 0 && self.flight.first().is_some_and(|first| first.has(Sent::SACKED)) {
                ack.flags.set(AckFlags::SACK_RENEGING);
            }
        }
        debug_assert_eq!(self.path.tally.packets_out(), self.flight.len(), "packets_out is not what is queued");
        cleaned
    }

    /// Removes the records below position `at`: `segments`, whose marks are cleared.
    #[inline(always)]
    fn release(&mut self, ack: &mut Ack, at: u32, segments: u32) {
        if segments == 0 {
            return;
        }
        self.flight.release(&mut self.path.tally, segments);
        self.flight.pop_to(at);
        if !self.sack_permitted {
            self.uncount_duplicates(segments);
            // Without SACK an original cannot be distinguished from its retransmission.
            if ack.flags.any(AckFlags::RETRANS_DATA_ACKED) {
                ack.flags.unset(AckFlags::ORIG_SACK_ACKED);
            }
        }
        ack.flags.set(AckFlags::DATA_ACKED | AckFlags::SET_TIMER);
        if self.is_in_order_again() {
            self.flight.drop_time_order();
        }
    }

    /// Feeds the estimators, and looks for reordering. Returns the rule's sample.
    #[inline(always)]
    fn measure_rtt<const PLAIN: bool>(&mut self, ack: &mut Ack, prior: &Prior, cleaned: &Cleaned) -> Option<u32> {
        let mut rtt = RttSamples::default();
        let now_us = self.clock.now_us;
        if let Some(first_us) = cleaned.first_us
            && !ack.flags.any(AckFlags::RETRANS_DATA_ACKED)
        {
            rtt.seq_us = Some(now_us.saturating_sub(first_us) as u32);
            rtt.ca_us = Some(now_us.saturating_sub(cleaned.last_us) as u32);
            // A lone segment, not full sized, and nothing else delivered while it was under way.
            if cleaned.segments == 1
                && self.snd_una - ack.prior_una < u64::from(self.sizes.mss)
                && (PLAIN || prior.sacked_out == 0)
                && ack.rate.prior_delivered + 1 == self.path.delivery.delivered
                && !ack.flags.any(AckFlags::ALERT)
            {
                ack.flags.set(AckFlags::MAYBE_DELAYED);
            }
        }
        if let Some(first_us) = ack.first_sacked_us {
            rtt.sack_us = Some(now_us.saturating_sub(first_us) as u32);
            rtt.ca_us = Some(now_us.saturating_sub(ack.last_sacked_us) as u32);
        }
        let updated = self.update_rtt::<PLAIN>(&mut rtt, ack.flags);
        if PLAIN {
            return rtt.ca_us;
        }
        if cleaned.segments > 0 {
            if cleaned.reord < prior.highest_sacked {
                self.check_reordering(cleaned.reord);
            }
        } else if updated
            && let (Some(sack_us), Some(first)) = (rtt.sack_us, self.flight.first())
            && u64::from(sack_us) > now_us.saturating_sub(first.sent_us)
        {
            ack.flags.set(AckFlags::SET_TIMER);
        }
        rtt.ca_us
    }

    /// A segment that was SACKed, sent again or marked lost is acknowledged.
    #[cold]
    pub(super) fn clean_marked(&mut self, at: u32, ack: &mut Ack, cleaned: &mut Cleaned) {
        let path = &mut self.path;
        let sent = self.flight.clear_marks(&mut path.tally, at);
        if sent.has(Sent::RETRANS | Sent::EVER_RETRANS) {
            ack.flags.set(AckFlags::RETRANS_DATA_ACKED);
        } else if !sent.has(Sent::SACKED) {
            if cleaned.first_us.is_none() {
                cleaned.first_us = Some(sent.sent_us);
            }
            cleaned.last_us = sent.sent_us;
            cleaned.reord = cleaned.reord.min(sent.seq);
            if sent.end() <= path.high_seq {
                ack.flags.set(AckFlags::ORIG_SACK_ACKED);
            }
        }
        if !sent.has(Sent::SACKED) && self.sack_permitted {
            path.delivery.delivered += 1;
            // An echo older than the retransmission means that the original was delivered.
            let spurious = sent.has(Sent::RETRANS | Sent::EVER_RETRANS)
                && self.echoed != 0
                && (self.echoed.wrapping_sub(self.clock.timestamp_of(sent.sent_us)) as i32) < 0;
            if self.settings.profile.fack {
                path.fack.on_acknowledged(&sent);
            }
            if !spurious {
                path.rack.on_delivered(&sent, self.clock.now_us, path.min_rtt.get());
            }
        }
        path.delivery.on_delivered(&mut ack.rate, &sent);
    }

    /// Feeds the estimator (RFC 6298; Karn's rule). Falls back to the timestamp echo when only data
    /// that was sent again is acknowledged (RFC 7323, section 4). True when there was a sample.
    #[inline(always)]
    fn update_rtt<const PLAIN: bool>(&mut self, rtt: &mut RttSamples, flags: AckFlags) -> bool {
        let mut seq_us = rtt.seq_us.or(rtt.sack_us);
        let is_measured = seq_us.is_some();
        if !PLAIN && !is_measured && self.echoed != 0 && flags.any(AckFlags::DATA_ACKED) && !self.has_paths() {
            let ticks = self.clock.timestamp.wrapping_sub(self.echoed);
            let us = self.clock.timestamp_us(ticks.max(1));
            if let Ok(us) = u32::try_from(us) {
                seq_us = Some(us);
                rtt.ca_us = seq_us;
            }
        }
        let (Some(seq_us), Some(ca_us)) = (seq_us, rtt.ca_us) else { return false };
        if !(flags.any(AckFlags::MAYBE_DELAYED) && ca_us > self.path.min_rtt.get()) {
            let floor = if ca_us == 0 { self.clock.us_in(1) as u32 } else { ca_us };
            self.path.min_rtt.sample(self.clock.now_us, floor);
        }
        self.path.rtt.sample(&self.clock, seq_us, self.snd_una, self.snd_nxt);
        if !PLAIN && !is_measured && self.settings.profile.no_echo_samples {
            rtt.ca_us = None;
        }
        true
    }

    /// The ACK as it arrived: `acked` segments are acknowledged cumulatively.
    #[inline(always)]
    fn arrival<const PLAIN: bool>(&self, segment: &Segment, ack: &Ack, acked: u32, rtt_us: Option<u32>) -> AckArrival {
        let path = &self.path;
        AckArrival {
            now: self.clock.now,
            acked,
            sacked_out: if PLAIN { 0 } else { path.tally.sacked_out() },
            rtt: rtt_us.map(|us| Duration::from_us(u64::from(us))),
            delivered: path.delivery.delivered,
            delivered_ce: path.delivery.delivered_ce,
            prior_delivered: ack.rate.prior_delivered,
            state: if PLAIN { CaState::Open } else { path.state },
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss: self.sizes.mss,
            timestamps: Timestamps { value: segment.ts_val, echo: segment.ts_ecr, now: self.clock.timestamp },
            // Linux 6.1.192 predicts headers in ESTABLISHED alone, which a close ends even while the FIN waits behind data.
            is_fast_path: ack.is_predicted && !self.has_closed(),
        }
    }

    /// What the ACK has changed, the window apart.
    #[inline(always)]
    fn sample<const PLAIN: bool>(
        &mut self,
        arrival: AckArrival,
        ack: &Ack,
        prior: &Prior,
        newly_delivered: u32,
    ) -> AckSample {
        let (now_us, min_rtt_us) = (self.clock.now_us, self.path.min_rtt.get());
        let mut rate = self.path.delivery.finish(&ack.rate, newly_delivered, now_us, min_rtt_us);
        if !PLAIN && self.scoreboard.reneging {
            rate.delivered = None;
        }
        rate.is_ack_delayed = ack.flags.any(AckFlags::MAYBE_DELAYED);
        let path = &self.path;
        AckSample {
            arrival,
            newly_delivered,
            newly_lost: if PLAIN { 0 } else { (path.delivery.lost - prior.lost) as u32 },
            srtt: self.exact_srtt(),
            min_rtt: self.min_rtt(),
            prior_in_flight: prior.in_flight,
            in_flight: if PLAIN { path.tally.packets_out() } else { path.in_flight() },
            delivered: path.delivery.delivered,
            lost: path.delivery.lost,
            rate,
            state: if PLAIN { CaState::Open } else { path.state },
            is_cwnd_limited: false,
            ece: ack.has_ece,
            earliest_departure: path.pacing.departure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;
    use daybreak_units::Instant;

    /// `tcp_update_rtt_min`: the peer may have kept its ACK of a lone small segment, so that the sample is too large. It
    /// does not replace a minimum that has expired, but a smaller one counts whatever it is of.
    #[test]
    fn the_minimum_does_not_rise_to_a_sample_that_may_be_delayed() {
        for (flags, sample_us, min_us) in [
            (AckFlags::DATA_ACKED, 50_000, 50_000),
            (AckFlags::MAYBE_DELAYED, 50_000, 10_000),
            (AckFlags::MAYBE_DELAYED, 9_999, 9_999),
        ] {
            let rule = congestion::find("reno").expect("a rule").rule(1);
            let mut sender = Sender::new(&Config::default(), rule);
            sender.path.min_rtt.sample(0, 10_000);
            sender.clock.advance(Instant::ZERO + Duration::from_secs(301));
            let mut rtt = RttSamples { seq_us: Some(sample_us), sack_us: None, ca_us: Some(sample_us) };
            assert!(sender.update_rtt::<false>(&mut rtt, flags));
            assert_eq!(sender.path.min_rtt.get(), min_us, "{flags:?}");
            assert_eq!(sender.path.rtt.srtt_us(), sample_us, "the estimator takes it as it is");
        }
    }

    /// `tcp_clean_rtx_queue`: the RTT of a lone small segment, with nothing else delivered since it left.
    #[test]
    fn a_lone_small_segment_may_have_been_acknowledged_late() {
        for (segments, una, sacked_out, prior_delivered, flags, is_late) in [
            (1, 501, 0, 7, AckFlags::default(), true),
            (1, 1_000, 0, 7, AckFlags::default(), true),
            (1, 1_001, 0, 7, AckFlags::default(), false),
            (2, 501, 0, 7, AckFlags::default(), false),
            (1, 501, 1, 7, AckFlags::default(), false),
            (1, 501, 0, 6, AckFlags::default(), false),
            (1, 501, 0, 8, AckFlags::default(), false),
            (1, 501, 0, 7, AckFlags::ECE, false),
            (1, 501, 0, 7, AckFlags::RETRANS_DATA_ACKED, false),
        ] {
            let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
            (sender.sizes.mss, sender.snd_una, sender.path.delivery.delivered) = (1_000, una, 8);
            let mut ack = Ack {
                flags,
                prior_una: 1,
                has_ece: false,
                is_predicted: false,
                sack_reord: u64::MAX,
                first_sacked_us: None,
                last_sacked_us: 0,
                rate: Building::default(),
            };
            ack.rate.prior_delivered = prior_delivered;
            let prior = Prior { delivered: 0, lost: 0, in_flight: 1, sacked_out, highest_sacked: 0 };
            let cleaned = Cleaned { segments, first_us: Some(0), last_us: 0, reord: u64::MAX };
            sender.measure_rtt::<false>(&mut ack, &prior, &cleaned);
            assert_eq!(ack.flags.any(AckFlags::MAYBE_DELAYED), is_late, "{segments} up to {una}, {flags:?}");
        }
    }
}
