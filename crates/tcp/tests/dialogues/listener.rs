//! The receiving half alone, behind the least of a passive end: dialogues in which we send no data
//! run against it as well as against the whole connection.

use daybreak_tcp::config::{Config, EcnMode};
use daybreak_tcp::receiver::{Negotiated, Receiver, SenderTiming};
use daybreak_tcp::{Flags, Segment};
use daybreak_units::{Duration, Instant};

use super::runner::Endpoint;

pub struct Listener {
    config: Config,
    receiver: Receiver,
    syn_ack: Option<Segment>,
    delivered: u64,
    timestamps: bool,
    established_at: Option<Instant>,
    /// The only RTT that the sending half ever measures: SYN-ACK to ACK.
    srtt: Duration,
}

impl Listener {
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            receiver: Receiver::new(config),
            syn_ack: None,
            delivered: 0,
            timestamps: false,
            established_at: None,
            srtt: Duration::ZERO,
        }
    }

    fn timing(&self) -> SenderTiming {
        SenderTiming { srtt: self.srtt, rto: self.srtt + self.config.rto_min }
    }

    fn on_syn(&mut self, now: Instant, segment: &Segment) {
        let negotiated = Negotiated {
            window_scaling: segment.syn.window_scale_plus_one > 0 && self.config.window_scaling,
            timestamps: segment.syn.timestamps && self.config.timestamps,
            sack: segment.syn.sack_permitted && self.config.sack,
            ecn: segment.flags.contains(Flags::ECE.with(Flags::CWR)) && self.config.ecn != EcnMode::Off,
        };
        self.timestamps = negotiated.timestamps;
        self.receiver.on_syn(now, segment, negotiated);
        let mut answer = Segment { flags: Flags::SYN.with(Flags::ACK), ..Segment::default() };
        if negotiated.ecn {
            answer.flags = answer.flags.with(Flags::ECE);
        }
        answer.syn.mss = (self.config.mtu - 40) as u16;
        answer.syn.sack_permitted = negotiated.sack;
        answer.syn.timestamps = negotiated.timestamps;
        answer.ts_val = if negotiated.timestamps { self.config.timestamp(now) } else { 0 };
        self.receiver.fill_syn(&mut answer);
        self.syn_ack = Some(answer);
        self.established_at = Some(now);
    }
}

impl Endpoint for Listener {
    fn open(&mut self, _now: Instant) {
        panic!("a listener does not open");
    }
    fn write(&mut self, _now: Instant, _bytes: u64) {
        panic!("a listener does not write");
    }
    fn close(&mut self, _now: Instant) {
        panic!("a listener does not close");
    }
    fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            return self.on_syn(now, segment);
        }
        if let Some(sent) = self.established_at.take() {
            self.srtt = now - sent;
            self.receiver.established(now);
        }
        if self.receiver.accept(now, segment) {
            let timing = self.timing();
            self.delivered += self.receiver.on_data(now, segment, timing).delivered;
        }
    }
    fn on_timeout(&mut self, now: Instant) {
        let timing = self.timing();
        self.receiver.on_timeout(now, timing);
    }
    fn on_nic_freed(&mut self, _now: Instant, _bytes: u32) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(segment) = self.syn_ack.take() {
            return Some(segment);
        }
        self.receiver.ack_pending().then(|| {
            let mut segment = Segment { seq: 1, ..Segment::default() };
            segment.ts_val = if self.timestamps { self.config.timestamp(now) } else { 0 };
            self.receiver.fill_ack(now, &mut segment);
            segment
        })
    }
    fn poll_timeout(&self) -> Instant {
        self.receiver.poll_timeout()
    }
    fn tell(&self, _now: Instant, name: &str) -> Option<String> {
        let counters = self.receiver.counters();
        let value = match name {
            "delivered" => self.delivered,
            "reordered" => counters.reordered,
            "duplicates" => counters.duplicates,
            _ => return None,
        };
        Some(value.to_string())
    }
}
