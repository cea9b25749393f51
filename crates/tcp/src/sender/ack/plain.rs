//! The short way for the usual ACK: in order, no SACK, nothing wrong, nothing that was sent twice.
//!
//! It does what [`Sender::on_ack`] would do, without looking at marks that cannot be there, and without what only
//! matters where something was sent again: the echoed timestamp and the count of timeouts.

use daybreak_units::Duration;

use crate::congestion::{AckArrival, AckSample, CaState, Timestamps};
use crate::sender::Sender;
use crate::sender::measure::rate_sample::Building;
use crate::{Flags, Segment};

impl Sender {
    /// Whether [`Sender::on_plain_ack`] may take the ACK of `segment`.
    #[inline]
    pub(crate) fn is_plain(&self, segment: &Segment) -> bool {
        self.fast_path.is_on()
            && segment.len == 0
            && segment.sack_count == 0
            && segment.flags == Flags::ACK
            && segment.ack <= self.snd_nxt
            && self.path.state == CaState::Open
            && self.path.probe.high_seq == 0
            && self.sack_permitted
            // Nothing that is out was SACKed, lost or sent again.
            && !self.flight.is_ordered_by_time()
            // It acknowledges whole segments, as the one before did: a peer may take part of one.
            && self.flight.first().is_some_and(|first| first.seq == self.snd_una && first.end() <= segment.ack)
    }

    /// Takes a plain ACK.
    #[inline]
    pub(crate) fn on_plain_ack(&mut self, segment: &Segment) {
        let acked = segment.ack;
        let prior_una = self.snd_una;
        let prior_in_flight = self.path.tally.packets_out();
        self.peer.window_seq = segment.seq;
        let is_predicted = self.peer.window == segment.window;
        if !is_predicted {
            self.peer.window = segment.window;
            self.on_window(segment.window);
        }
        self.snd_una = acked;
        self.transmit.allow_lost();

        let now_us = self.clock.now_us;
        let head = self.flight.head();
        let first = self.flight.get(head);
        let first_us = first.sent_us;
        let mut at = head.wrapping_add(1);
        while at != self.flight.tail() && self.flight.get(at).end() <= acked {
            at = at.wrapping_add(1);
        }
        let segments = at.wrapping_sub(head);
        let last = self.flight.get(at.wrapping_sub(1));
        let path = &mut self.path;
        path.delivery.delivered += u64::from(segments);
        let min_rtt_us = path.min_rtt.get();
        path.rack.on_delivered(last, now_us, min_rtt_us);
        let mut building = Building::default();
        path.delivery.on_delivered(&mut building, last);
        let ca_us = now_us.saturating_sub(last.sent_us) as u32;
        let seq_us = now_us.saturating_sub(first_us) as u32;
        self.flight.release_plain(&mut path.tally, at);
        debug_assert_eq!(path.tally.packets_out(), self.flight.len(), "packets_out is not what is queued");

        // A lone segment, not full sized, and nothing else delivered while it was under way.
        let maybe_delayed = segments == 1
            && acked - prior_una < u64::from(self.sizes.mss)
            && building.prior_delivered + 1 == path.delivery.delivered;
        if !maybe_delayed || ca_us <= min_rtt_us {
            let floor = if ca_us == 0 { self.clock.us_in(1) as u32 } else { ca_us };
            path.min_rtt.sample(now_us, floor);
        }
        path.rtt.sample(&self.clock, seq_us, acked, self.snd_nxt);
        let rack = &path.rack;
        if rack.dsack_seen || (rack.reo_wnd_persist == 0 && rack.reo_wnd_steps != 1) {
            self.update_reo_wnd(building.taken.then_some(building.prior_delivered));
        }
        self.transmit.arm_later(true);

        let min_rtt_us = self.path.min_rtt.get();
        let mut rate = self.path.delivery.finish(&building, segments, now_us, min_rtt_us);
        rate.is_ack_delayed = maybe_delayed;
        let path = &self.path;
        let mut sample = AckSample {
            arrival: AckArrival {
                now: self.clock.now,
                acked: segments,
                sacked_out: 0,
                rtt: Some(Duration::from_us(u64::from(ca_us))),
                delivered: path.delivery.delivered,
                delivered_ce: path.delivery.delivered_ce,
                prior_delivered: building.prior_delivered,
                state: CaState::Open,
                snd_una: acked,
                snd_nxt: self.snd_nxt,
                mss: self.sizes.mss,
                timestamps: Timestamps { value: segment.ts_val, echo: segment.ts_ecr, now: self.clock.timestamp },
                is_fast_path: is_predicted,
            },
            newly_delivered: segments,
            newly_lost: 0,
            srtt: self.exact_srtt(),
            min_rtt: self.min_rtt(),
            prior_in_flight,
            in_flight: path.tally.packets_out(),
            delivered: path.delivery.delivered,
            lost: path.delivery.lost,
            rate,
            state: CaState::Open,
            is_cwnd_limited: false,
            ece: false,
            earliest_departure: path.pacing.departure,
        };
        self.path.rule.on_arrival(&mut self.path.window, &sample.arrival);
        // Asked of the window that the rule has left.
        sample.is_cwnd_limited = self.is_cwnd_limited();
        if self.path.capabilities.controls_window {
            self.control_by_rule(&sample);
            return;
        }
        self.grow(&sample);
        self.update_pacing_rate();
        self.plan_burst();
    }
}
