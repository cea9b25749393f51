//! The text of a dialogue as steps: a strict parser. The format is described in
//! `crates/tcp/tests/dialogues/README.md`.

mod segments;
mod settings;
#[cfg(test)]
mod tests;

use daybreak_tcp::Flags;
use daybreak_tcp::config::{Config, EcnMode};
use daybreak_tcp::congestion::find;
use daybreak_units::{Duration, Instant, Rate};

use crate::DialogueError;
use crate::claim::{Claim, number};
use crate::pattern::{Options, Pattern};
use crate::words::{LONGEST, Words, duration};

/// Sequence numbers stay below this, so that no sum overflows.
const LAST_SEQ: u64 = 1 << 62;
/// Largest window: 16 bits, shifted by 14 (RFC 7323, section 2.3).
const WIDEST: u32 = 65_535 << 14;
/// Largest value of `SO_RCVBUF` and `SO_SNDBUF` (`net.core.rmem_max`, `wmem_max`).
const LARGEST_BUFFER: u64 = 212_992;
/// Socket options that Linux 6.1 has and the model lacks.
const NOT_MODELLED: [&str; 8] =
    ["user_timeout", "keepalive", "quickack", "maxseg", "linger", "defer_accept", "window_clamp", "notsent_lowat"];

/// A parsed dialogue.
#[derive(Clone, Debug)]
pub struct Script {
    /// Settings of the stack.
    pub config: Config,
    /// The versions of Linux that behave like this, the first of which `config` has; empty for all modelled versions.
    pub linux: Vec<String>,
    /// Name of the congestion rule in the registry.
    pub variant: String,
    /// Rate of the host's NIC; `None` for an infinite rate.
    pub nic: Option<Rate>,
    /// Window of the peer's segments until a line sets another.
    pub peer_window: u32,
    /// Why this cannot be played with a kernel.
    pub model_only: Option<String>,
    /// Random numbers of the congestion rule, in order; with a kernel the dialogue is repeated until it has drawn
    /// these.
    pub draws: Vec<u32>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: usize,
    /// Time since the start; for a range of times its end.
    pub at: Instant,
    /// How much earlier an expected segment may leave.
    pub early: Duration,
    /// How much later it may leave.
    pub late: Duration,
    /// Whether it continues the burst of the previous step: nothing is checked between the two.
    pub continues: bool,
    /// Its content.
    pub what: What,
}

/// The kinds of steps.
#[derive(Clone, Debug)]
pub enum What {
    /// The peer's segment arrives.
    Arrives(Pattern),
    /// Our segment must leave.
    Leaves(Pattern),
    /// From now on any segment may leave without a check.
    Rest,
    /// The application connects.
    Open,
    /// The application writes this number of bytes; `u64::MAX` for an unlimited stream.
    Write(u64),
    /// The application closes its side.
    Close,
    /// The application reads, or changes how it reads.
    Read(Reading),
    /// The application sets an option of its socket.
    Set(SocketOption),
    /// Values that the stack has to report.
    Expect(Vec<Claim>),
}

/// How the application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Everything at once, from now on; this is the initial state.
    All,
    /// Nothing from now on.
    Nothing,
    /// Reads up to this number of bytes now, and nothing more from now on.
    Bytes(u64),
}

/// An option of the application's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `TCP_NODELAY`: no segment waits for an acknowledgement to grow.
    NoDelay(bool),
    /// `TCP_CORK`: only full segments leave.
    Cork(bool),
    /// `SO_RCVBUF`: sets the receive buffer to twice this number of bytes and turns autotuning off.
    ReceiveBuffer(u32),
    /// `SO_SNDBUF`: sets the send buffer to twice this number of bytes and turns autotuning off.
    SendBuffer(u32),
}

impl Script {
    /// Parses the text of a dialogue; the error names the line, the column and what was expected there.
    pub fn parse(text: &str) -> Result<Self, DialogueError> {
        let mut parser = Parser::new();
        for (line, text) in (1..).zip(text.lines()) {
            let mut words = Words::of(text);
            if !words.is_empty() {
                parser.line = line;
                parser.statement(&mut words).map_err(|problem| DialogueError {
                    line: Some(line),
                    column: Some(words.column()),
                    problem,
                })?;
            }
        }
        if parser.script.steps.is_empty() {
            let problem = "a dialogue needs at least one step".into();
            return Err(DialogueError { line: None, column: None, problem });
        }
        Ok(parser.script)
    }
}

struct Parser {
    script: Script,
    peer: Options,
    peer_ecn: bool,
    line: usize,
    now: Instant,
    /// Whether further segments are no longer checked.
    rests: bool,
}

impl Parser {
    fn new() -> Self {
        Self {
            script: Script {
                config: Config::default(),
                linux: Vec::new(),
                variant: "reno".into(),
                nic: None,
                peer_window: 1 << 20,
                model_only: None,
                draws: Vec::new(),
                steps: Vec::new(),
            },
            peer: Options { mss: 1460, window_scale: Some(7), sack_permitted: true, timestamps: true },
            peer_ecn: false,
            line: 0,
            now: Instant::ZERO,
            rests: false,
        }
    }

    fn statement(&mut self, words: &mut Words) -> Result<(), String> {
        match words.take("a statement")? {
            "config" => self.config(words)?,
            "peer" => self.peer(words)?,
            "model" => self.model_only(words)?,
            first => self.timed(first, words)?,
        }
        match words.next() {
            Some(word) => Err(format!("\"{word}\" was not expected here")),
            None => Ok(()),
        }
    }

    fn timed(&mut self, time: &str, words: &mut Words) -> Result<(), String> {
        let (time, tolerance) = match time.split_once('~') {
            Some((time, tolerance)) => (time, duration(tolerance)?),
            None => (time, Duration::ZERO),
        };
        let (from, to) = time.split_once("..").unwrap_or((time, time));
        let at = self.instant(from)?;
        let until = self.instant(to)?;
        if at < self.now {
            return Err(format!("{at} is before the line above, {}", self.now));
        }
        if until < at {
            return Err(format!("the range of times ends at {until}, before it starts at {at}"));
        }
        let verb = words.take("a step")?;
        if (tolerance > Duration::ZERO || until > at) && verb != ">" {
            return Err(format!("only an expected segment may have a tolerance or a range of times, not \"{verb}\""));
        }
        self.now = until;
        match verb {
            "<" => self.segments(words, What::Arrives, [Duration::ZERO; 2])?,
            ">" if words.takes("rest") => {
                self.rests = true;
                self.push(What::Rest);
            }
            ">" => {
                let early = until.saturating_since(at).max(tolerance);
                self.segments(words, What::Leaves, [early, tolerance])?;
            }
            "open" => self.push(What::Open),
            "close" => self.push(What::Close),
            "write" if words.takes("endless") => self.push(What::Write(u64::MAX)),
            "write" => {
                let bytes = words.within("the bytes to write", 0, LAST_SEQ)?;
                self.push(What::Write(bytes));
            }
            "read" => {
                let reading = match words.peek() {
                    Some("all") => Reading::All,
                    Some("nothing") => Reading::Nothing,
                    _ => Reading::Bytes(words.within("the bytes to read", 0, LAST_SEQ)?),
                };
                if !matches!(reading, Reading::Bytes(_)) {
                    words.next();
                }
                self.push(What::Read(reading));
            }
            "set" => self.set(words)?,
            "connect" => self.handshake(words, true)?,
            "accept" => self.handshake(words, false)?,
            "expect" => self.expect(words)?,
            _ => {
                let known = "<, >, open, connect, accept, write, read, set, close, expect";
                return Err(format!("unknown step \"{verb}\"; known are {known}"));
            }
        }
        Ok(())
    }

    /// A time since the start, or `+` and a time since the line above.
    fn instant(&self, word: &str) -> Result<Instant, String> {
        let Some(span) = word.strip_prefix('+') else { return Ok(Instant::ZERO + duration(word)?) };
        let at = self.now.saturating_add(duration(span)?);
        if at > Instant::ZERO + LONGEST { Err(format!("a time is at most {LONGEST}, not {at}")) } else { Ok(at) }
    }

    fn push(&mut self, what: What) {
        self.script.steps.push(Step {
            line: self.line,
            at: self.now,
            early: Duration::ZERO,
            late: Duration::ZERO,
            continues: false,
            what,
        });
    }

    fn expect(&mut self, words: &mut Words) -> Result<(), String> {
        let mut claims = Vec::new();
        while let Some(name) = words.next() {
            let relation = words.relation();
            let value = words.take(&format!("the value of {name}"))?;
            if relation.is_order() && number(value).is_none() {
                return Err(format!("what {name} is {relation} must be a number, not \"{value}\""));
            }
            claims.push(Claim { name: name.to_string(), relation, value: value.to_string() });
        }
        if claims.is_empty() {
            return Err("expect needs a name and a value".into());
        }
        self.push(What::Expect(claims));
        Ok(())
    }

    /// `set nodelay on`
    fn set(&mut self, words: &mut Words) -> Result<(), String> {
        let name = words.take("the name of a socket's option")?;
        let option = match name {
            "nodelay" => SocketOption::NoDelay(words.switch()?),
            "cork" => SocketOption::Cork(words.switch()?),
            "rcvbuf" => SocketOption::ReceiveBuffer(words.within("rcvbuf", 1, LARGEST_BUFFER)? as u32),
            "sndbuf" => SocketOption::SendBuffer(words.within("sndbuf", 1, LARGEST_BUFFER)? as u32),
            _ if NOT_MODELLED.contains(&name) => {
                return Err(format!("Linux 6.1 has the socket's option \"{name}\", and the model has not"));
            }
            _ => {
                return Err(format!("unknown socket's option \"{name}\"; known are nodelay, cork, rcvbuf, sndbuf"));
            }
        };
        let is_buffer = matches!(option, SocketOption::ReceiveBuffer(_) | SocketOption::SendBuffer(_));
        if is_buffer && self.script.steps.iter().any(|step| !matches!(step.what, What::Set(_))) {
            return Err(format!("\"{name}\" can be set before the connection opens and not later"));
        }
        self.push(What::Set(option));
        Ok(())
    }

    /// `connect rtt 10ms` and `accept rtt 10ms`: the whole handshake with the peer's options.
    fn handshake(&mut self, words: &mut Words, active: bool) -> Result<(), String> {
        match words.take("\"rtt\"")? {
            "rtt" => {}
            word => return Err(format!("expected \"rtt\", not \"{word}\"")),
        }
        let rtt = words.duration("the round-trip time")?;
        let syn = Pattern { flags: Flags::SYN, ..Pattern::default() };
        let syn_ack = Pattern { flags: Flags::SYN.with(Flags::ACK), ack: Some(1), ..Pattern::default() };
        let ack = Pattern { flags: Flags::ACK, seq: 1, ack: Some(1), ..Pattern::default() };
        let offer = |mut pattern: Pattern, ecn: Flags| {
            pattern.flags = pattern.flags.with(ecn);
            Pattern { syn: Some(self.peer), window: Some(self.script.peer_window.min(65_535)), ..pattern }
        };
        let needs_ecn = find(&self.script.variant).is_ok_and(|entry| entry.capabilities.needs_ecn);
        // RFC 3168, section 6.1.1: a SYN asks with ECE and CWR, a SYN-ACK grants with ECE alone.
        let [asks, grants] =
            if self.peer_ecn { [Flags::ECE.with(Flags::CWR), Flags::ECE] } else { [Flags::default(); 2] };
        if active {
            let answer = offer(syn_ack, grants);
            let asks = self.script.config.ecn == EcnMode::On || needs_ecn;
            let own_ecn = if asks { Flags::ECE.with(Flags::CWR) } else { Flags::default() };
            self.push(What::Open);
            self.push(What::Leaves(Pattern { flags: syn.flags.with(own_ecn), ..syn }));
            self.now += rtt;
            self.push(What::Arrives(answer));
            self.push(What::Leaves(ack));
        } else {
            let ask = offer(syn, asks);
            let granted = self.peer_ecn && (self.script.config.ecn != EcnMode::Off || needs_ecn);
            let own_ecn = if granted { Flags::ECE } else { Flags::default() };
            self.push(What::Arrives(ask));
            self.push(What::Leaves(Pattern { flags: syn_ack.flags.with(own_ecn), ..syn_ack }));
            self.now += rtt;
            self.push(What::Arrives(ack));
        }
        Ok(())
    }
}
