//! Our TCP as the host of a dialogue.

use std::collections::VecDeque;

use daybreak_tcp::config::Config;
use daybreak_tcp::congestion::{Rule, UnknownVariant, find};
use daybreak_tcp::{Connection, Segment};
use daybreak_units::{Duration, Instant, Rate};

use crate::play::{Answer, Host};
use crate::script::{Reading, Script, SocketOption};

/// One end of a connection. It listens until the application opens it; the two ends differ only in that.
#[derive(Debug)]
pub struct Model {
    config: Config,
    variant: String,
    connection: Connection,
    nic: Option<Rate>,
    draws: Vec<u32>,
    /// Options set before the connection opens.
    options: Vec<SocketOption>,
    /// The application reads everything at once.
    reads: bool,
    now: Instant,
    /// In the NIC: when each leaves.
    queued: VecDeque<(Instant, Segment)>,
}

impl Model {
    /// A stack at the start of the dialogue.
    ///
    /// # Errors
    /// If it has no such congestion rule.
    pub fn new(script: &Script) -> Result<Self, UnknownVariant> {
        let rule = find(&script.variant)?.rule(1);
        let mut model = Self {
            config: script.config.clone(),
            variant: script.variant.clone(),
            connection: Connection::server(script.config.clone(), rule),
            nic: script.nic,
            draws: script.draws.clone(),
            options: Vec::new(),
            reads: true,
            now: Instant::ZERO,
            queued: VecDeque::new(),
        };
        model.fix_draws();
        Ok(model)
    }

    /// A new connection, with what the application has set.
    fn begin(&mut self, make: fn(Config, Rule) -> Connection) {
        let rule = find(&self.variant).expect("it was found before").rule(1);
        self.connection = make(self.config.clone(), rule);
        self.fix_draws();
        for option in self.options.clone() {
            self.apply(self.now, option);
        }
        if !self.reads {
            self.connection.stop_reading();
        }
    }

    fn fix_draws(&mut self) {
        if let (Some(draws), false) = (self.connection.draws(), self.draws.is_empty()) {
            draws.follow(self.draws.clone());
        }
    }

    fn apply(&mut self, now: Instant, option: SocketOption) {
        match option {
            SocketOption::NoDelay(is_on) => self.connection.set_nodelay(now, is_on),
            SocketOption::Cork(is_on) => self.connection.set_cork(now, is_on),
            SocketOption::ReceiveBuffer(bytes) => self.connection.set_receive_buffer(bytes),
            SocketOption::SendBuffer(bytes) => self.connection.set_send_buffer(bytes),
        }
    }

    fn in_nic(&self) -> Instant {
        self.queued.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// Moves the segments that the connection has to send into the NIC.
    fn collect(&mut self) {
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            let departure = match self.nic {
                Some(rate) => {
                    let free = self.queued.back().map_or(self.now, |(at, _)| *at);
                    free + rate.time_for(u64::from(ip_bytes(&segment)))
                }
                None => {
                    self.connection.on_nic_freed(self.now, ip_bytes(&segment));
                    self.now
                }
            };
            self.queued.push_back((departure, segment));
        }
    }
}

impl Host for Model {
    const GRAIN: Duration = Duration::ZERO;

    fn next_segment(&mut self, until: Instant) -> Result<Option<(Instant, Segment)>, String> {
        loop {
            let timeout = self.connection.poll_timeout();
            let next = timeout.min(self.in_nic());
            if next > until {
                self.now = self.now.max(until);
                return Ok(None);
            }
            self.now = self.now.max(next);
            let leaves = if self.in_nic() <= self.now { self.queued.pop_front() } else { None };
            if let (Some((at, segment)), Some(_)) = (&leaves, self.nic) {
                self.connection.on_nic_freed(*at, ip_bytes(segment));
            }
            if leaves.is_none() || timeout <= self.now {
                self.connection.on_timeout(self.now);
            }
            self.collect();
            if leaves.is_some() {
                return Ok(leaves);
            }
        }
    }

    fn open(&mut self, now: Instant) -> Result<(), String> {
        self.now = now;
        self.begin(Connection::client);
        self.connection.open(now);
        self.collect();
        Ok(())
    }

    fn write(&mut self, now: Instant, bytes: u64) -> Result<(), String> {
        self.now = now;
        self.connection.write(now, bytes);
        self.collect();
        Ok(())
    }

    fn close(&mut self, now: Instant) -> Result<(), String> {
        self.now = now;
        self.connection.close(now);
        self.collect();
        Ok(())
    }

    fn read(&mut self, now: Instant, reading: Reading) -> Result<(), String> {
        self.now = now;
        self.reads = reading == Reading::All;
        match reading {
            Reading::All => self.connection.read_all(now),
            Reading::Nothing => self.connection.stop_reading(),
            Reading::Bytes(bytes) => {
                self.connection.stop_reading();
                self.connection.read(now, bytes);
            }
        }
        self.collect();
        Ok(())
    }

    fn set(&mut self, now: Instant, option: SocketOption) -> Result<(), String> {
        self.now = now;
        self.options.push(option);
        self.apply(now, option);
        self.collect();
        Ok(())
    }

    fn on_segment(&mut self, now: Instant, segment: &Segment) -> Result<(), String> {
        self.now = now;
        if self.connection.is_succeeded_by(segment) {
            self.begin(Connection::server);
        }
        self.connection.on_segment(now, segment);
        self.collect();
        Ok(())
    }

    fn observe(&mut self, name: &str) -> Result<Answer, String> {
        let connection = &self.connection;
        let counters = connection.counters();
        let [unacked, sacked, lost, retransmitted] = connection.outstanding().map(u64::from);
        let number = match name {
            "state" => return Ok(Answer::Is(format!("{:?}", connection.ca_state()))),
            "ssthresh" if connection.ssthresh() == u32::MAX => return Ok(Answer::Is("infinite".into())),
            "srtt" => return Ok(Answer::Is(format!("{}us", connection.srtt().as_us()))),
            "rto" => return Ok(Answer::Is(format!("{}us", connection.rto().as_us()))),
            "ssthresh" => u64::from(connection.ssthresh()),
            "cwnd" => u64::from(connection.cwnd()),
            "in_flight" => u64::from(connection.in_flight()),
            "unacked" => unacked,
            "sacked" => sacked,
            "lost" => lost,
            "retransmitted" => retransmitted,
            "reordering" => u64::from(connection.reordering()),
            "pacing_rate" => connection.pacing_rate().as_bps(),
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
            _ => return Ok(Answer::Unknown),
        };
        Ok(Answer::Is(number.to_string()))
    }
}

fn ip_bytes(segment: &Segment) -> u32 {
    20 + segment.header_len() + segment.len
}
