//! The connection as the endpoint of a dialogue.

use daybreak_tcp::config::Config;
use daybreak_tcp::congestion::{UnknownVariant, find};
use daybreak_tcp::{Connection, Segment};
use daybreak_units::Instant;

use super::runner::Endpoint;

/// Listens until the application opens: the two ends of a connection differ by that alone.
pub struct Stack {
    config: Config,
    variant: String,
    connection: Connection,
}

impl Stack {
    pub fn new(config: &Config, variant: &str) -> Result<Self, UnknownVariant> {
        let rule = (find(variant)?.new)(1);
        let connection = Connection::server(config.clone(), rule);
        Ok(Self { config: config.clone(), variant: variant.into(), connection })
    }
}

impl Endpoint for Stack {
    fn open(&mut self, now: Instant) {
        let rule = (find(&self.variant).expect("it was found before").new)(1);
        self.connection = Connection::client(self.config.clone(), rule);
        self.connection.open(now);
    }
    fn write(&mut self, now: Instant, bytes: u64) {
        self.connection.write(now, bytes);
    }
    fn close(&mut self, now: Instant) {
        self.connection.close(now);
    }
    fn on_segment(&mut self, now: Instant, segment: &Segment) {
        self.connection.on_segment(now, segment);
    }
    fn on_timeout(&mut self, now: Instant) {
        self.connection.on_timeout(now);
    }
    fn on_nic_freed(&mut self, now: Instant, bytes: u32) {
        self.connection.on_nic_freed(now, bytes);
    }
    fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.connection.poll_transmit(now)
    }
    fn poll_timeout(&self) -> Instant {
        self.connection.poll_timeout()
    }
    fn tell(&self, _now: Instant, name: &str) -> Option<String> {
        let connection = &self.connection;
        let counters = connection.counters();
        let number = match name {
            "state" => return Some(format!("{:?}", connection.ca_state())),
            "ssthresh" if connection.ssthresh() == u32::MAX => return Some("infinite".into()),
            "srtt" => return Some(format!("{}us", connection.srtt().as_us())),
            "rto" => return Some(format!("{}us", connection.rto().as_us())),
            "ssthresh" => u64::from(connection.ssthresh()),
            "cwnd" => u64::from(connection.cwnd()),
            "in_flight" => u64::from(connection.in_flight()),
            "reordering" => u64::from(connection.reordering()),
            "pacing_rate" => connection.window_row(0, Instant::ZERO).pacing_bps,
            "delivered" => connection.delivered_bytes(),
            "acked" => connection.acked_bytes(),
            "segments" => counters.segments,
            "retransmits" => counters.retransmits,
            "lost_retransmits" => counters.lost_retransmits,
            "rtos" => counters.rtos,
            "spurious_rtos" => counters.spurious_rtos,
            "tlps" => counters.tlps,
            "tlp_recoveries" => counters.tlp_recoveries,
            "fast_recoveries" => counters.fast_recoveries,
            "spurious" => counters.spurious,
            "ecn_reductions" => counters.ecn_reductions,
            "dup_acks" => counters.dup_acks,
            "dsacks" => counters.dsacks,
            "reordering_seen" => counters.reordering_seen,
            "reordered" => counters.reordered,
            "duplicates" => counters.duplicates,
            _ => return None,
        };
        Some(number.to_string())
    }
}
