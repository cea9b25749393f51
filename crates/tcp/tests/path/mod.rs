//! A closed loop for one congestion rule: a sender with endless data, a drop-tail bottleneck of fixed
//! rate, and a receiver that acknowledges every segment selectively. It is ideal where a rule is not
//! at stake: losses are found by three later segments, retransmissions are never ambiguous, and there
//! are no timeouts. It needs no event queue, since ACKs come back in the order of their segments.

use std::collections::VecDeque;

use daybreak_tcp::congestion::{
    AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, RateSample, Rule, Timestamps, Window,
};
use daybreak_units::{Duration, Instant, Rate};

/// How far the receiver's clock is ahead, in milliseconds. Where it is less than 2^29 (the eighth of all connections, as
/// Linux draws it), LP gives way.
const PEER_CLOCK: u32 = 1 << 28;

/// A path and its segments.
#[derive(Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    /// Round-trip time without the serialisation of the segment.
    pub delay: Duration,
    /// Segments that wait or are being sent at the bottleneck.
    pub buffer: usize,
    /// A segment that finds this many there is marked, for rules that need ECN.
    pub marking: usize,
    pub mss: u32,
    /// A segment on the wire.
    pub frame: u32,
}

/// A sample of the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub at: Instant,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub in_flight: u32,
    pub queue: usize,
    pub pacing: Rate,
    pub delivered: u64,
    pub state: CaState,
}

/// One transmission.
#[derive(Clone, Copy)]
struct Sent {
    segment: u64,
    /// Time of the ACK; `None` when the queue was full.
    acked_at: Option<Instant>,
    sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    is_app_limited: bool,
    is_retransmission: bool,
    is_marked: bool,
}

/// The loop.
pub struct Loop {
    path: Path,
    rule: Box<dyn Congestion>,
    capabilities: Capabilities,
    pub window: Window,
    now: Instant,
    /// Departure times of what the queue holds.
    queue: VecDeque<Instant>,
    /// Transmissions that are neither acknowledged nor found lost, oldest first.
    flying: VecDeque<Sent>,
    lost: VecDeque<u64>,
    /// First segment that is not acknowledged, and what is acknowledged beyond it.
    una: u64,
    beyond: std::collections::BTreeSet<u64>,
    next: u64,
    delivered: u64,
    delivered_ce: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost_total: u64,
    app_limited_until: u64,
    state: CaState,
    recovery_end: u64,
    prr: (u64, u64),
    is_cwnd_limited: bool,
    departure: Instant,
    srtt: Duration,
    min_rtt: Duration,
    /// Times of ACKs that echo a mark; each says so of its own segment.
    pub echoes: Vec<Instant>,
    /// Segments lost to the full queue, by time.
    pub drops: Vec<Instant>,
    /// Gives a sample every so often.
    every: Duration,
    next_sample: Instant,
    pub samples: Vec<Sample>,
}

impl Loop {
    /// A connection with 10 segments to send at once, after a handshake over the empty path.
    pub fn new(path: Path, rule: Rule, every: Duration) -> Self {
        let Rule { control: mut rule, capabilities } = rule;
        let mut window = Window::new(10, u32::MAX);
        let now = Instant::ZERO + path.delay;
        let ctx = Context {
            now,
            srtt: path.delay,
            min_rtt: path.delay,
            mss: path.mss,
            jiffy: Duration::from_ms(1),
            ecn: capabilities.needs_ecn,
            ..Context::default()
        };
        rule.init(&mut window, &ctx);
        window.is_paced = capabilities.needs_pacing;
        Self {
            path,
            rule,
            capabilities,
            window,
            now,
            queue: VecDeque::new(),
            flying: VecDeque::new(),
            lost: VecDeque::new(),
            una: 0,
            beyond: std::collections::BTreeSet::new(),
            next: 0,
            delivered: 0,
            delivered_ce: 0,
            delivered_at: now,
            first_sent_at: now,
            lost_total: 0,
            app_limited_until: 0,
            state: CaState::Open,
            recovery_end: 0,
            prr: (0, 0),
            is_cwnd_limited: false,
            departure: now,
            srtt: path.delay,
            min_rtt: path.delay,
            echoes: Vec::new(),
            drops: Vec::new(),
            every,
            next_sample: Instant::ZERO + every,
            samples: Vec::new(),
        }
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Instant) -> &mut Self {
        while self.now < end {
            self.send();
            let ack = self.flying.iter().find_map(|sent| sent.acked_at).expect("an ACK is always on its way");
            let release = if self.may_send() { self.departure } else { Instant::NEVER };
            let next = ack.min(release);
            self.sample_until(next);
            self.now = next;
            if next == ack {
                self.receive();
            }
        }
        self
    }

    fn in_flight(&self) -> u32 {
        self.flying.len() as u32
    }

    fn may_send(&self) -> bool {
        self.in_flight() < self.window.cwnd
    }

    fn send(&mut self) {
        while self.may_send() && (!self.window.is_paced || self.departure <= self.now) {
            let (segment, is_retransmission) = match self.lost.pop_front() {
                Some(segment) => (segment, true),
                None => (self.next, false),
            };
            self.next += u64::from(!is_retransmission);
            self.prr.1 += 1;
            self.transmit(segment, is_retransmission);
        }
        self.is_cwnd_limited = !self.may_send();
        self.window.was_full = self.is_cwnd_limited;
    }

    fn transmit(&mut self, segment: u64, is_retransmission: bool) {
        if self.flying.is_empty() {
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
        }
        if self.window.is_paced {
            let gap = self.window.pacing_rate.time_for(u64::from(self.path.mss));
            self.departure = self.departure.max(self.now) + gap;
        }
        while self.queue.front().is_some_and(|&leaves| leaves <= self.now) {
            self.queue.pop_front();
        }
        let is_marked = self.capabilities.needs_ecn && self.queue.len() >= self.path.marking;
        let acked_at = if self.queue.len() < self.path.buffer {
            let starts = self.queue.back().map_or(self.now, |&leaves| leaves.max(self.now));
            let leaves = starts + self.path.rate.time_for(u64::from(self.path.frame));
            self.queue.push_back(leaves);
            Some(leaves + self.path.delay)
        } else {
            self.drops.push(self.now);
            None
        };
        self.flying.push_back(Sent {
            segment,
            acked_at,
            sent_at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited_until > 0,
            is_retransmission,
            is_marked,
        });
    }

    /// The ACK of the oldest transmission that was not dropped.
    fn receive(&mut self) {
        let prior_in_flight = self.in_flight();
        let place = self.flying.iter().position(|sent| sent.acked_at.is_some()).expect("an ACK is here");
        let sent = self.flying.remove(place).expect("it is in flight");
        // What was sent before it is lost once three later ones arrived; with one path in order the
        // first such ACK already proves it, the third is waited for.
        let newly_lost = self.find_losses(place);
        let before = self.una;
        self.beyond.insert(sent.segment);
        while self.beyond.remove(&self.una) {
            self.una += 1;
        }
        self.delivered += 1;
        if sent.is_marked {
            self.delivered_ce += 1;
            self.echoes.push(self.now);
        }
        self.delivered_at = self.now;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let rtt = self.now - sent.sent_at;
        if !sent.is_retransmission {
            self.srtt = Duration::from_ps(self.srtt.as_ps() - self.srtt.as_ps() / 8 + rtt.as_ps() / 8);
            self.min_rtt = self.min_rtt.min(rtt);
        }
        let acked = (self.una - before) as u32;
        let arrival = self.ack_arrival(&sent, rtt, acked);
        self.rule.on_arrival(&mut self.window, &arrival);
        let mut ack = AckSample { newly_lost, prior_in_flight, ..self.ack_sample(&sent, arrival) };
        self.first_sent_at = sent.sent_at;
        self.change_state(newly_lost, sent.is_marked);
        ack.state = self.state;
        self.act(&ack, acked);
        if !self.capabilities.needs_pacing {
            let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
            let bytes = u64::from(self.window.cwnd) * u64::from(self.path.mss) * percent / 100;
            let ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(self.srtt.as_ps());
            self.window.pacing_rate = Rate::from_bps(ps as u64);
        }
    }

    /// Marks the `older` dropped transmissions lost when three later ones arrived.
    fn find_losses(&mut self, older: usize) -> u32 {
        if older == 0 {
            return 0;
        }
        let oldest = self.flying[0].segment;
        let later = self.beyond.range(oldest + 1..).take(2).count() + 1;
        let is_retransmission = self.flying[0].is_retransmission;
        if later < 3 && !is_retransmission {
            return 0;
        }
        for _ in 0..older {
            let sent = self.flying.pop_front().expect("older ones are in flight");
            self.lost.push_back(sent.segment);
        }
        self.lost_total += older as u64;
        older as u32
    }

    fn ack_arrival(&self, sent: &Sent, rtt: Duration, acked: u32) -> AckArrival {
        AckArrival {
            now: self.now,
            acked,
            sacked_out: self.beyond.len() as u32,
            rtt: (!sent.is_retransmission).then_some(rtt),
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            prior_delivered: sent.delivered,
            state: self.state,
            snd_una: self.una * u64::from(self.path.mss),
            snd_nxt: self.next * u64::from(self.path.mss),
            mss: self.path.mss,
            timestamps: Timestamps {
                value: milliseconds(self.now - self.path.delay / 2).wrapping_add(PEER_CLOCK),
                echo: milliseconds(sent.sent_at),
                now: milliseconds(self.now),
            },
            is_fast_path: self.state == CaState::Open && self.beyond.is_empty(),
        }
    }

    fn ack_sample(&self, sent: &Sent, arrival: AckArrival) -> AckSample {
        let interval = (sent.sent_at - sent.first_sent_at).max(self.now - sent.delivered_at);
        let is_valid = interval >= self.min_rtt;
        AckSample {
            arrival,
            newly_delivered: 1,
            newly_lost: 0,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            prior_in_flight: 0,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            lost: self.lost_total,
            rate: RateSample {
                delivered: is_valid.then_some((self.delivered - sent.delivered) as u32),
                interval,
                prior_delivered: sent.delivered,
                is_app_limited: sent.is_app_limited,
                is_retrans: sent.is_retransmission,
                is_ack_delayed: false,
            },
            state: self.state,
            is_cwnd_limited: self.is_cwnd_limited,
            ece: sent.is_marked,
            earliest_departure: self.departure,
        }
    }

    fn context(&self) -> Context {
        Context {
            now: self.now,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            lost: self.lost_total,
            snd_una: self.una * u64::from(self.path.mss),
            snd_nxt: self.next * u64::from(self.path.mss),
            mss: self.path.mss,
            state: self.state,
            jiffy: Duration::from_ms(1),
            ..Context::default()
        }
    }

    fn change_state(&mut self, newly_lost: u32, echo: bool) {
        let ctx = self.context();
        if newly_lost > 0 && self.state == CaState::Open {
            self.start_reduction(CaState::Recovery);
        } else if echo && self.state == CaState::Open {
            self.start_reduction(CaState::Cwr);
        } else if newly_lost > 0 && self.state == CaState::Cwr {
            self.rule.on_state(&mut self.window, CaState::Recovery, &ctx);
            self.state = CaState::Recovery;
            self.recovery_end = self.next;
        } else if self.is_reducing() && self.una >= self.recovery_end {
            if !self.capabilities.controls_window {
                self.window.cwnd = self.window.ssthresh;
                self.window.cwnd_cnt = 0;
                self.rule.on_event(&mut self.window, CaEvent::CompleteCwr, &ctx);
            }
            self.rule.on_state(&mut self.window, CaState::Open, &ctx);
            self.state = CaState::Open;
        }
    }

    fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    fn start_reduction(&mut self, state: CaState) {
        let ctx = self.context();
        self.window.prior_cwnd = self.window.cwnd;
        self.window.cwnd_cnt = 0;
        self.window.ssthresh = self.rule.ssthresh(&self.window, &ctx);
        self.rule.on_state(&mut self.window, state, &ctx);
        self.state = state;
        self.recovery_end = self.next;
        self.prr = (0, 0);
    }

    /// `acked` segments are acknowledged cumulatively: the window grows by these, though some were SACKed before.
    fn act(&mut self, ack: &AckSample, acked: u32) {
        if self.capabilities.controls_window {
            self.rule.control(&mut self.window, ack);
            if self.rule.marks_app_limited() {
                self.app_limited_until = (self.delivered + u64::from(self.in_flight())).max(1);
            }
        } else if self.is_reducing() {
            self.reduce();
        } else if acked > 0 {
            self.rule.on_ack(&mut self.window, &AckSample { newly_delivered: acked, ..*ack });
            if std::mem::take(&mut self.window.backs_off) {
                self.start_reduction(CaState::Cwr);
            }
        }
    }

    /// Proportional rate reduction (RFC 6937, section 3, with its slow-start reduction bound).
    fn reduce(&mut self) {
        self.prr.0 += 1;
        let (delivered, out) = self.prr;
        let (in_flight, ssthresh) = (u64::from(self.in_flight()), u64::from(self.window.ssthresh));
        let prior = u64::from(self.window.prior_cwnd.max(1));
        let more = if in_flight > ssthresh {
            (delivered * ssthresh).div_ceil(prior).saturating_sub(out)
        } else {
            (ssthresh - in_flight).min(delivered.saturating_sub(out).max(1) + 1)
        };
        // The first retransmission always goes out.
        let more = more.max(u64::from(out == 0));
        self.window.cwnd = (in_flight + more) as u32;
    }

    fn sample_until(&mut self, next: Instant) {
        while self.next_sample <= next {
            let at = self.next_sample;
            self.samples.push(Sample {
                at,
                cwnd: self.window.cwnd,
                ssthresh: self.window.ssthresh,
                in_flight: self.in_flight(),
                queue: self.queue.iter().filter(|&&leaves| leaves > at).count(),
                pacing: self.window.pacing_rate,
                delivered: self.delivered,
                state: self.state,
            });
            self.next_sample += self.every;
        }
    }
}

/// A timestamp option's clock.
fn milliseconds(at: Instant) -> u32 {
    (at.as_us() / 1_000) as u32 + 1
}
