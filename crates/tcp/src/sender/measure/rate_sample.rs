//! Delivery-rate sampling (draft-cheng-iccrg-delivery-rate-estimation-02), for rules such as BBR.
//!
//! Each segment remembers the delivery state of the path when it was sent; the ACK that delivers it
//! gives one sample: segments delivered over the longer of the send phase and the ACK phase.

use daybreak_units::Duration;

use crate::congestion::RateSample;
use crate::sender::flight::Sent;

/// Delivery state of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Segments delivered so far, the SYN included.
    pub delivered: u64,
    /// Of these, by ACKs that echo congestion.
    pub delivered_ce: u64,
    /// Segments marked lost so far.
    pub lost: u64,
    /// When `delivered` last grew, in microseconds.
    pub delivered_us: u64,
    /// Send time of the segment that was delivered last: start of the send phase.
    pub first_sent_us: u64,
    /// Samples are the application's limit until `delivered` passes this; zero when they are not.
    pub app_limited: u64,
}

/// The sample that an ACK is building.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Building {
    /// A delivered segment gave the fields below.
    pub taken: bool,
    pub prior_delivered: u64,
    prior_us: u64,
    send_us: u64,
    end: u64,
    is_app_limited: bool,
    is_retrans: bool,
}

impl Delivery {
    /// Notes the state in a segment that is about to be sent at `sent_us`. `idle` when nothing is
    /// outstanding: then the sampling interval starts now.
    #[inline]
    pub fn stamp(&mut self, sent: &mut Sent, sent_us: u64, idle: bool) {
        if idle {
            self.first_sent_us = sent_us;
            self.delivered_us = sent_us;
        }
        sent.sent_us = sent_us;
        sent.first_sent_us = self.first_sent_us;
        sent.delivered_us = self.delivered_us;
        sent.delivered = self.delivered;
        sent.flags &= !(Sent::APP_LIMITED | Sent::SAMPLED);
        if self.app_limited != 0 {
            sent.flags |= Sent::APP_LIMITED;
        }
    }

    /// The `in_flight` segments that are out do not show the path's limit.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// A segment was delivered: the one sent last gives the sample.
    #[inline]
    pub fn on_delivered(&mut self, building: &mut Building, sent: &Sent) {
        if sent.has(Sent::SAMPLED) {
            return;
        }
        let later = (sent.sent_us, sent.end()) > (self.first_sent_us, building.end);
        if building.taken && !later {
            return;
        }
        *building = Building {
            taken: true,
            prior_delivered: sent.delivered,
            prior_us: sent.delivered_us,
            send_us: sent.sent_us - sent.first_sent_us.min(sent.sent_us),
            end: sent.end(),
            is_app_limited: sent.has(Sent::APP_LIMITED),
            is_retrans: sent.has(Sent::RETRANS | Sent::EVER_RETRANS),
        };
        self.first_sent_us = sent.sent_us;
    }

    /// Finishes the sample of an ACK that delivered `newly_delivered` segments.
    #[inline]
    pub fn finish(&mut self, building: &Building, newly_delivered: u32, now_us: u64, min_rtt_us: u32) -> RateSample {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if newly_delivered > 0 {
            self.delivered_us = now_us;
        }
        let mut sample = RateSample {
            prior_delivered: building.prior_delivered,
            is_app_limited: building.is_app_limited,
            is_retrans: building.is_retrans,
            ..RateSample::default()
        };
        if building.taken {
            let interval_us = building.send_us.max(now_us.saturating_sub(building.prior_us));
            // Shorter than any round trip: the segment must have been delivered by an earlier copy.
            if interval_us >= u64::from(min_rtt_us) {
                sample.delivered = Some((self.delivered - building.prior_delivered) as u32);
                sample.interval = Duration::from_us(interval_us);
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_measures_its_rate() {
        // Ten segments a millisecond, RTT 5 ms.
        let mut path = Delivery { delivered: 1, ..Delivery::default() };
        let mut sent = Vec::new();
        let mut last = RateSample::default();
        for n in 0..300u64 {
            let now_us = n * 100;
            if n >= 50 {
                let mut building = Building::default();
                path.on_delivered(&mut building, &sent[n as usize - 50]);
                path.delivered += 1;
                last = path.finish(&building, 1, now_us, 5_000);
            }
            let mut record = Sent { seq: n, len: 1, ..Sent::default() };
            path.stamp(&mut record, now_us, n == 0);
            sent.push(record);
        }
        let delivered = f64::from(last.delivered.unwrap());
        let rate = delivered / last.interval.as_secs_f64();
        assert!((9_000.0..11_000.0).contains(&rate), "{rate} segments/s");
    }

    #[test]
    fn a_segment_that_is_sent_again_is_stamped_anew() {
        // It gives a sample once more, and was sent at the limit unless the application limits the sender now.
        for (limited, flags) in [(false, Sent::LOST), (true, Sent::LOST | Sent::APP_LIMITED)] {
            let mut path = Delivery { delivered: 7, ..Delivery::default() };
            if limited {
                path.mark_app_limited(3);
            }
            let before = Sent::LOST | Sent::APP_LIMITED | Sent::SAMPLED;
            let mut record = Sent { flags: before, delivered: 1, ..Sent::default() };
            path.stamp(&mut record, 40, true);
            assert_eq!((record.flags, record.delivered, record.first_sent_us), (flags, 7, 40));
        }
    }

    #[test]
    fn an_interval_below_the_rtt_gives_no_sample() {
        let mut path = Delivery { delivered: 1, ..Delivery::default() };
        let mut record = Sent { len: 1, ..Sent::default() };
        path.stamp(&mut record, 0, true);
        let mut building = Building::default();
        path.on_delivered(&mut building, &record);
        path.delivered += 1;
        assert_eq!(path.finish(&building, 1, 10, 40).delivered, None);
    }

    #[test]
    fn the_application_is_the_limit_until_more_than_was_out_then_is_delivered() {
        // tcp_rate_gen(): seven were delivered and three out.
        for (delivered, app_limited) in [(9, 10), (10, 10), (11, 0)] {
            let mut path = Delivery { delivered: 7, ..Delivery::default() };
            path.mark_app_limited(3);
            path.delivered = delivered;
            path.finish(&Building::default(), 1, 100, 40);
            assert_eq!(path.app_limited, app_limited, "{delivered} delivered");
        }
    }

    #[test]
    fn only_an_ack_that_delivers_is_the_time_of_a_delivery() {
        for (newly_delivered, delivered_us) in [(0, 50), (1, 100)] {
            let mut path = Delivery { delivered_us: 50, ..Delivery::default() };
            path.finish(&Building::default(), newly_delivered, 100, 40);
            assert_eq!(path.delivered_us, delivered_us);
        }
    }

    #[test]
    fn an_interval_of_the_smallest_rtt_gives_a_sample() {
        for (now_us, delivered) in [(139, None), (140, Some(4)), (141, Some(4))] {
            let mut path = Delivery { delivered: 5, ..Delivery::default() };
            let building = Building { taken: true, prior_delivered: 1, prior_us: 100, ..Building::default() };
            assert_eq!(path.finish(&building, 1, now_us, 40).delivered, delivered);
        }
    }
}
