//! Acknowledgement processing: from an arriving ACK to the new window.
//!
//! The order is that of Linux, since the parts feed each other: SACKs, cumulative acknowledgement and
//! RTT, the probe, the congestion state, the timer, and at last the window.

mod of_paths;
mod plain;

use crate::congestion::{AckSample, CaState, RateSample, Timestamps};
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

    /// It acknowledges what was acknowledged before, with the same window, and reports nothing.
    #[inline]
    pub(crate) fn says_nothing_new(&self, segment: &Segment) -> bool {
        segment.ack == self.snd_una && segment.window == self.peer.window && segment.sack_count == 0
    }

    /// Processes the acknowledgement of an acceptable segment, which is what header prediction expects if `is_next`.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, segment: &Segment, is_next: bool) {
        let acked = segment.ack;
        if acked > self.snd_nxt {
            return;
        }
        self.transmit.on_ack();
        self.echoed = segment.ts_ecr;
        self.buffer.look_for_room();
        let prior_una = self.snd_una;
        let mut ack = Ack {
            flags: AckFlags::default(),
            prior_una,
            has_ece: segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::SYN),
            timestamps: self.timestamps_of(segment),
            is_predicted: is_next
                && segment.window == self.peer.window
                && segment.sack_count == 0
                && segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0,
            sack_reord: self.snd_nxt,
            first_sacked_us: None,
            last_sacked_us: 0,
            rate: Building::default(),
        };
        if segment.len > 0 {
            ack.flags.set(AckFlags::DATA);
        }
        if acked < prior_una {
            self.on_old_ack(segment, ack);
            return;
        }
        if self.has_paths() {
            self.on_ack_of_paths(segment, ack);
            return;
        }
        let prior = self.prior(prior_una);
        let had_queue = !self.flight.is_empty();
        self.advance_una(segment, &mut ack);
        if segment.sack_count > 0 && self.sack_permitted {
            self.tag_sacks(segment, &mut ack);
        }
        if ack.has_ece && self.ecn.active {
            ack.flags.set(AckFlags::ECE);
        }
        if !had_queue {
            self.on_ack_without_queue(&mut ack);
            return;
        }

        let cleaned = self.clean_queue(&mut ack);
        self.respond(&mut ack, &prior, cleaned);
    }

    /// What is acknowledged cumulatively, and the peer's window.
    #[inline]
    pub(super) fn advance_una(&mut self, segment: &Segment, ack: &mut Ack) {
        if segment.ack > ack.prior_una {
            ack.flags.set(AckFlags::UNA_ADVANCED);
            self.retransmits = 0;
        }
        self.update_window(segment, ack);
        self.snd_una = segment.ack;
    }

    /// The path before an ACK, when `una` was the first unacknowledged byte.
    #[inline(always)]
    pub(super) fn prior(&self, una: u64) -> Prior {
        let path = &self.path;
        Prior {
            delivered: path.delivery.delivered,
            lost: path.delivery.lost,
            in_flight: path.in_flight(),
            sacked_out: path.tally.sacked_out(),
            highest_sacked: path.tally.highest_sacked(una),
        }
    }

    /// Updates RTT, loss detection, state and window after the delivered segments have been tagged.
    #[inline(always)]
    pub(super) fn respond(&mut self, ack: &mut Ack, prior: &Prior, cleaned: Cleaned) {
        let rtt_us = self.measure_rtt(ack, prior, &cleaned);
        let delivered_at_first = self.path.delivery.delivered;
        let has_echo = ack.flags.any(AckFlags::ECE);
        if has_echo {
            self.path.delivery.delivered_ce += delivered_at_first - prior.delivered;
        }
        let mut sample = self.sample(cleaned.segments, rtt_us, prior.in_flight, ack);
        sample.newly_delivered = (delivered_at_first - prior.delivered) as u32;
        self.path.rule.on_ack_sample(&mut self.path.window, &sample);
        self.update_reo_wnd(ack.rate.taken.then_some(ack.rate.prior_delivered));
        if self.path.probe.high_seq != 0 {
            self.on_loss_probe_ack(self.snd_una, ack.flags);
        }
        if !ack.flags.any(AckFlags::NOT_DUP) || ack.flags.any(AckFlags::ALERT) || self.path.state != CaState::Open {
            let is_dupack = !ack.flags.any(AckFlags::UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DSACKING);
            self.counters.dup_acks += u64::from(is_dupack && self.is_on_present_path());
            if self.settings.profile.rto_restart {
                ack.flags.set(AckFlags::SET_TIMER);
            }
            self.run_state_machine(ack, is_dupack);
            if has_echo {
                // Without SACK a duplicate delivers as well.
                self.path.delivery.delivered_ce += self.path.delivery.delivered - delivered_at_first;
            }
            if ack.flags.any(AckFlags::SET_TIMER) && !self.has_paths() {
                self.arm_after_ack();
            }
        } else if ack.flags.any(AckFlags::SET_TIMER) {
            // Once what it released has been sent: that would set the timer again.
            self.transmit.arm_later(true);
        }

        let delivery = &mut self.path.delivery;
        let newly_lost = delivery.lost - prior.lost;
        sample.newly_delivered = (delivery.delivered - prior.delivered) as u32;
        sample.newly_lost = newly_lost as u32;
        sample.rate = delivery.finish(&ack.rate, sample.newly_delivered, self.clock.now_us, self.path.min_rtt.get());
        if self.scoreboard.reneging {
            sample.rate.delivered = None;
        }
        sample.rate.is_ack_delayed = ack.flags.any(AckFlags::MAYBE_DELAYED);
        sample.delivered = self.path.delivery.delivered;
        sample.delivered_ce = self.path.delivery.delivered_ce;
        sample.lost = self.path.delivery.lost;
        sample.in_flight = self.path.in_flight();
        sample.state = self.path.state;
        // The window grows by what was delivered; what had been SACKed before counted then. Whether it was the limit
        // is asked of the window that the state has left.
        sample.acked = sample.newly_delivered;
        sample.is_cwnd_limited = self.is_cwnd_limited();
        self.control_window(&sample, ack.flags);
    }

    /// The rule, or PRR, sets the window.
    #[inline(always)]
    fn control_window(&mut self, sample: &AckSample, flags: AckFlags) {
        if self.path.rule_controls {
            self.control_by_rule(sample);
            return;
        }
        if self.path.in_cwnd_reduction() {
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
    }

    /// Takes the peer's window from the newest segment (RFC 9293, section 3.10.7.4).
    #[inline]
    fn update_window(&mut self, segment: &Segment, ack: &mut Ack) {
        if segment.ack > ack.prior_una || self.peer.is_updated_by(segment, self.settings.profile) {
            ack.flags.set(AckFlags::WIN_UPDATE);
            self.peer.window_seq = segment.seq;
            if self.peer.window != segment.window {
                self.peer.window = segment.window;
                self.on_window(segment.window);
                if self.has_unsent() {
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
        let delivered_before = self.path.delivery.delivered;
        self.tag_sacks(segment, &mut ack);
        self.run_state_machine_of_old(&mut ack, delivered_before);
    }

    pub(super) fn run_state_machine_of_old(&mut self, ack: &mut Ack, delivered_before: u64) {
        self.run_state_machine(ack, false);
        if self.path.delivery.delivered > delivered_before {
            self.path.delivery.delivered_us = self.clock.now_us;
        }
    }

    /// Nothing was outstanding: a window update, or a late duplicate.
    pub(super) fn on_ack_without_queue(&mut self, ack: &mut Ack) {
        if !std::mem::take(&mut self.handshake.is_ending) && self.path.rule_wants_idle_acks {
            let sample = self.sample(0, None, 0, ack);
            self.path.rule.on_ack_sample(&mut self.path.window, &sample);
        }
        self.on_late_ack(ack);
        self.on_window_probe_ack();
    }

    /// What an ACK says of a path when nothing is out.
    pub(super) fn on_late_ack(&mut self, ack: &mut Ack) {
        if ack.flags.any(AckFlags::DSACKING) {
            self.run_state_machine(ack, false);
        }
        if self.path.probe.high_seq != 0 {
            self.on_loss_probe_ack(self.snd_una, ack.flags);
        }
    }

    /// Removes what is acknowledged.
    #[inline]
    fn clean_queue(&mut self, ack: &mut Ack) -> Cleaned {
        let prior_sacked = self.path.tally.sacked_out();
        let mut cleaned = Cleaned { reord: self.snd_nxt, ..Cleaned::default() };
        let mut last_plain: Option<u32> = None;
        let mut plain = 0;
        let mut at = self.flight.head();
        while at != self.flight.tail() {
            let record = self.flight.get(at);
            if record.end() > self.snd_una {
                break;
            }
            if record.has(Sent::UNUSUAL) {
                self.clean_marked(at, ack, &mut cleaned);
            } else {
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
            cleaned.segments += 1;
            at = at.wrapping_add(1);
        }
        if let Some(at) = last_plain {
            // Plain records were sent in this order: the last of them is the latest.
            let sent = self.flight.get(at);
            if self.sack_permitted {
                self.path.delivery.delivered += plain;
                self.path.rack.on_delivered(sent, self.clock.now_us, self.path.min_rtt.get());
            }
            self.path.delivery.on_delivered(&mut ack.rate, sent);
        }
        if cleaned.segments > 0 {
            self.flight.release(&mut self.path.tally, cleaned.segments);
            self.flight.pop_to(at);
            if !self.sack_permitted {
                self.uncount_duplicates(cleaned.segments);
                // Without SACK an original cannot be distinguished from its retransmission.
                if ack.flags.any(AckFlags::RETRANS_DATA_ACKED) {
                    ack.flags.unset(AckFlags::ORIG_SACK_ACKED);
                }
            }
            ack.flags.set(AckFlags::DATA_ACKED | AckFlags::SET_TIMER);
            if self.flight.is_ordered_by_time()
                && !self.path.tally.has_marks()
                && self.flight.follows_retransmissions(self.snd_una)
                && self.fast_path.is_on()
            {
                self.flight.drop_time_order();
            }
        }
        if prior_sacked > 0 && self.flight.first().is_some_and(|first| first.has(Sent::SACKED)) {
            ack.flags.set(AckFlags::SACK_RENEGING);
        }
        debug_assert_eq!(self.path.tally.packets_out(), self.flight.len(), "packets_out is not what is queued");
        cleaned
    }

    /// Feeds the estimators, and looks for reordering. Returns the rule's sample.
    #[inline(always)]
    fn measure_rtt(&mut self, ack: &mut Ack, prior: &Prior, cleaned: &Cleaned) -> Option<u32> {
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
                && prior.sacked_out == 0
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
        let updated = self.update_rtt(&mut rtt, ack.flags);
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
    fn update_rtt(&mut self, rtt: &mut RttSamples, flags: AckFlags) -> bool {
        let mut seq_us = rtt.seq_us.or(rtt.sack_us);
        let is_measured = seq_us.is_some();
        if !is_measured && self.echoed != 0 && flags.any(AckFlags::DATA_ACKED) && !self.has_paths() {
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
        if !is_measured && self.settings.profile.no_echo_samples {
            rtt.ca_us = None;
        }
        true
    }

    #[inline]
    fn sample(&self, acked: u32, rtt_us: Option<u32>, prior_in_flight: u32, ack: &Ack) -> AckSample {
        let path = &self.path;
        AckSample {
            now: self.clock.now,
            acked,
            newly_delivered: 0,
            newly_lost: 0,
            rtt: rtt_us.map(|us| Duration::from_us(u64::from(us))),
            srtt: self.exact_srtt(),
            min_rtt: self.min_rtt(),
            prior_in_flight,
            in_flight: path.in_flight(),
            sacked_out: path.tally.sacked_out(),
            delivered: path.delivery.delivered,
            delivered_ce: path.delivery.delivered_ce,
            lost: path.delivery.lost,
            rate: RateSample { prior_delivered: ack.rate.prior_delivered, ..RateSample::default() },
            state: path.state,
            is_cwnd_limited: false,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss: self.sizes.mss,
            ece: ack.has_ece,
            timestamps: ack.timestamps,
            is_fast_path: ack.is_predicted,
            earliest_departure: path.pacing.departure,
        }
    }

    /// The timestamps that an ACK brings, and the time.
    #[inline]
    pub(crate) fn timestamps_of(&self, segment: &Segment) -> Timestamps {
        Timestamps { value: segment.ts_val, echo: segment.ts_ecr, now: self.clock.timestamp }
    }
}
