//! Runs a script against one endpoint: injects the peer's segments, and compares what leaves and when.

use std::collections::VecDeque;

use daybreak_tcp::config::Config;
use daybreak_tcp::{Ecn, Flags, Segment, SynOptions};
use daybreak_units::{Instant, Rate};

use super::script::{Options, Pattern, Script, Step, What};

/// The stack under test. A kernel behind a packet socket can stand here as well: it needs the
/// segments, the application's calls and `TCP_INFO`, nothing else.
pub trait Endpoint {
    fn open(&mut self, now: Instant);
    fn write(&mut self, now: Instant, bytes: u64);
    fn close(&mut self, now: Instant);
    fn on_segment(&mut self, now: Instant, segment: &Segment);
    fn on_timeout(&mut self, now: Instant);
    fn on_nic_freed(&mut self, now: Instant, bytes: u32);
    fn poll_transmit(&mut self, now: Instant) -> Option<Segment>;
    fn poll_timeout(&self) -> Instant;
    /// What the stack tells of itself under this name, as text; `None` for an unknown name.
    fn tell(&self, now: Instant, name: &str) -> Option<String>;
}

/// Runs all steps; the error names the line, what was expected and what came.
pub fn run(script: &Script, endpoint: &mut dyn Endpoint) -> Result<(), String> {
    let mut run = Run::new(script, endpoint);
    for step in &script.steps {
        run.step(step).map_err(|error| format!("line {}: {error}", step.line))?;
    }
    run.nothing_else("the end of the dialogue")
}

struct Run<'a> {
    endpoint: &'a mut dyn Endpoint,
    config: &'a Config,
    nic: Option<Rate>,
    now: Instant,
    /// In the NIC: when each leaves.
    queued: VecDeque<(Instant, Segment)>,
    /// Has left and was not yet expected.
    left: VecDeque<(Instant, Segment)>,
    /// Both SYNs carried timestamps.
    peer_timestamps: bool,
    own_timestamps: bool,
    /// Timestamp and window that the peer's next segment carries unless its line says otherwise.
    last_ts_val: u32,
    peer_window: u32,
    peer_scale: u8,
}

impl<'a> Run<'a> {
    fn new(script: &'a Script, endpoint: &'a mut dyn Endpoint) -> Self {
        Self {
            endpoint,
            config: &script.config,
            nic: script.nic,
            now: Instant::ZERO,
            queued: VecDeque::new(),
            left: VecDeque::new(),
            peer_timestamps: false,
            own_timestamps: false,
            last_ts_val: 0,
            peer_window: script.peer_window,
            peer_scale: 0,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let What::Leaves(pattern) = &step.what {
            return self.expect_segment(step, pattern);
        }
        // What is due before this step, and at its very time, comes first.
        while self.next_event() <= step.at {
            self.advance();
        }
        self.now = step.at;
        match &step.what {
            What::Expect(pairs) => {
                for (name, value) in pairs {
                    let told = self.endpoint.tell(self.now, name);
                    let told = told.ok_or_else(|| format!("the stack does not tell \"{name}\""))?;
                    if told != *value {
                        return Err(format!("{name} is {told}, expected {value}"));
                    }
                }
                return Ok(());
            }
            What::Leaves(_) => unreachable!("handled above"),
            _ if step.continues => {}
            _ => self.nothing_else("this step")?,
        }
        match &step.what {
            What::Arrives(pattern) => {
                let segment = self.peer_segment(pattern)?;
                self.endpoint.on_segment(self.now, &segment);
            }
            What::Open => self.endpoint.open(self.now),
            What::Write(bytes) => self.endpoint.write(self.now, *bytes),
            What::Close => self.endpoint.close(self.now),
            What::Expect(_) | What::Leaves(_) => {}
        }
        self.collect();
        Ok(())
    }

    /// Every segment that leaves must be expected.
    fn nothing_else(&self, place: &str) -> Result<(), String> {
        match self.left.front() {
            Some((at, segment)) => Err(format!("before {place}, nothing expected at {at}: {}", text(segment))),
            None => Ok(()),
        }
    }

    fn expect_segment(&mut self, step: &Step, pattern: &Pattern) -> Result<(), String> {
        let latest = step.at.saturating_add(step.tolerance);
        while self.left.is_empty() && self.next_event() <= latest {
            self.advance();
        }
        self.now = self.now.max(step.at);
        let expected = pattern_text(pattern);
        let Some((at, segment)) = self.left.pop_front() else {
            return Err(format!("expected {expected} at {}, nothing came by {latest}", step.at));
        };
        let differences = self.differences(pattern, &segment);
        if !differences.is_empty() {
            return Err(format!("expected {expected}, got {} at {at}: {}", text(&segment), differences.join(", ")));
        }
        let early = step.at.saturating_since(at);
        let late = at.saturating_since(step.at);
        if early.max(late) > step.tolerance {
            return Err(format!("{} left at {at}, expected at {} within {}", text(&segment), step.at, step.tolerance));
        }
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let nic = self.queued.front().map_or(Instant::NEVER, |(at, _)| *at);
        self.endpoint.poll_timeout().min(nic)
    }

    fn advance(&mut self) {
        self.now = self.now.max(self.next_event());
        if let Some((at, segment)) = self.queued.front().copied().filter(|(at, _)| *at <= self.now) {
            self.queued.pop_front();
            self.leave(at, segment);
        }
        if self.endpoint.poll_timeout() <= self.now {
            self.endpoint.on_timeout(self.now);
        }
        self.collect();
    }

    /// Takes what the endpoint has to send into the NIC.
    fn collect(&mut self) {
        while let Some(segment) = self.endpoint.poll_transmit(self.now) {
            match self.nic {
                Some(rate) => {
                    let free = self.queued.back().map_or(self.now, |(at, _)| *at);
                    let departure = free + rate.time_for(u64::from(ip_bytes(&segment)));
                    self.queued.push_back((departure, segment));
                }
                None => self.leave(self.now, segment),
            }
        }
    }

    fn leave(&mut self, at: Instant, segment: Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.own_timestamps = segment.syn.timestamps;
        }
        self.last_ts_val = segment.ts_val;
        self.left.push_back((at, segment));
        self.endpoint.on_nic_freed(at, ip_bytes(&segment));
    }

    /// The peer's segment: what the line leaves out, a well-behaved peer fills in.
    fn peer_segment(&mut self, pattern: &Pattern) -> Result<Segment, String> {
        let mut segment = Segment {
            seq: pattern.seq,
            ack: pattern.ack.unwrap_or_default(),
            len: pattern.len,
            flags: pattern.flags,
            ecn: pattern.ecn.unwrap_or_default(),
            ..Segment::default()
        };
        if let Some(options) = pattern.syn {
            self.peer_timestamps = options.timestamps;
            self.peer_scale = options.window_scale.unwrap_or_default();
            segment.syn = SynOptions {
                mss: options.mss,
                window_scale_plus_one: options.window_scale.map_or(0, |scale| scale + 1),
                sack_permitted: options.sack_permitted,
                timestamps: options.timestamps,
            };
        }
        let is_syn = pattern.syn.is_some();
        if is_syn {
            segment.window = pattern.window.unwrap_or(65_535);
        } else {
            self.peer_window = pattern.window.unwrap_or(self.peer_window);
            if !self.peer_window.is_multiple_of(1 << self.peer_scale) {
                return Err(format!("win {} is not a multiple of 2^{}", self.peer_window, self.peer_scale));
            }
            segment.window = self.peer_window;
        }
        if self.peer_timestamps && (self.own_timestamps || is_syn) {
            segment.ts_val = self.config.timestamp(pattern.ts_val.unwrap_or(self.now));
            let echo = pattern.ts_ecr.map_or(self.last_ts_val, |at| self.config.timestamp(at));
            segment.ts_ecr = if segment.flags.contains(Flags::ACK) { echo } else { 0 };
        }
        segment.sack_count = pattern.sacks.len() as u8;
        segment.sack[..pattern.sacks.len()].copy_from_slice(&pattern.sacks);
        Ok(segment)
    }

    /// What the line says and the segment does not do. PSH counts only where the line has it.
    fn differences(&self, pattern: &Pattern, segment: &Segment) -> Vec<String> {
        let mut list = Vec::new();
        let mut check = |differs: bool, name: &str| {
            if differs {
                list.push(format!("{name} differs"));
            }
        };
        let ignored = if pattern.flags.contains(Flags::PSH) { 0 } else { Flags::PSH.0 };
        check(pattern.flags.0 & !ignored != segment.flags.0 & !ignored, "flags");
        check(pattern.seq != segment.seq, "seq");
        check(pattern.len != segment.len, "length");
        check(pattern.ack.is_some_and(|ack| ack != segment.ack), "ack");
        check(pattern.window.is_some_and(|window| window != segment.window), "win");
        check(pattern.sacks != segment.sacks(), "sack");
        check(pattern.ecn.is_some_and(|ecn| ecn != segment.ecn), "ecn");
        check(pattern.ts_val.is_some_and(|at| self.config.timestamp(at) != segment.ts_val), "val");
        check(pattern.ts_ecr.is_some_and(|at| self.config.timestamp(at) != segment.ts_ecr), "ecr");
        check(pattern.syn.is_some_and(|options| options != options_of(segment)), "option");
        list
    }
}

fn ip_bytes(segment: &Segment) -> u32 {
    20 + segment.header_len() + segment.len
}

fn options_of(segment: &Segment) -> Options {
    Options {
        mss: segment.syn.mss,
        window_scale: segment.syn.window_scale_plus_one.checked_sub(1),
        sack_permitted: segment.syn.sack_permitted,
        timestamps: segment.syn.timestamps,
    }
}

fn flags_text(flags: Flags) -> String {
    const NAMES: [(Flags, char); 7] = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, '.'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
    ];
    NAMES.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| name).collect()
}

fn pattern_text(pattern: &Pattern) -> String {
    let mut text = format!("{} {}:{}", flags_text(pattern.flags), pattern.seq, pattern.seq + u64::from(pattern.len));
    if let Some(ack) = pattern.ack {
        text += &format!(" ack {ack}");
    }
    if let Some(window) = pattern.window {
        text += &format!(" win {window}");
    }
    if !pattern.sacks.is_empty() {
        text += " sack";
    }
    for block in &pattern.sacks {
        text += &format!(" {}:{}", block.start, block.end);
    }
    text
}

/// A segment in the words of a dialogue, so that it can be compared by eye.
fn text(segment: &Segment) -> String {
    let pattern = Pattern {
        flags: segment.flags,
        seq: segment.seq,
        len: segment.len,
        ack: segment.flags.contains(Flags::ACK).then_some(segment.ack),
        window: Some(segment.window),
        sacks: segment.sacks().to_vec(),
        ..Pattern::default()
    };
    let ecn = match segment.ecn {
        Ecn::NotEct => "",
        Ecn::Ect0 => " ect0",
        Ecn::Ect1 => " ect1",
        Ecn::Ce => " ce",
    };
    let options =
        if segment.flags.contains(Flags::SYN) { format!(" {:?}", options_of(segment)) } else { String::new() };
    let stamps = format!(" ts {} {}", segment.ts_val, segment.ts_ecr);
    pattern_text(&pattern) + ecn + &options + &stamps
}
