//! The text of a dialogue as steps: a strict parser. The format is described in
//! `crates/tcp/tests/dialogues/README.md`.

use daybreak_tcp::config::{Config, EcnMode, Legacy};
use daybreak_tcp::congestion::find;
use daybreak_tcp::{Flags, SackBlock};
use daybreak_units::{Duration, Instant, Rate};

use crate::DialogueError;
use crate::claim::{Claim, Relation, number};
use crate::pattern::{ECN, FLAGS, Options, Pattern};
use crate::words::{LONGEST, Words, duration};

/// Sequence numbers stay below this, so that no sum overflows.
const LAST_SEQ: u64 = 1 << 62;
/// Most segments of a line.
const MOST_SEGMENTS: u64 = 10_000;
/// Longest payload: an IP packet of 65,535 bytes with headers of 40.
const LONGEST_PAYLOAD: u64 = 65_495;
/// Largest window: 16 bits, shifted by 14 (RFC 7323, section 2.3).
const WIDEST: u32 = 65_535 << 14;
/// `SO_RCVBUF` and `SO_SNDBUF` take no more (`net.core.rmem_max`, `wmem_max`).
const LARGEST_BUFFER: u64 = 212_992;
/// Sockets' options that Linux 6.1 has and the model has not.
const NOT_MODELLED: [&str; 8] =
    ["user_timeout", "keepalive", "quickack", "maxseg", "linger", "defer_accept", "window_clamp", "notsent_lowat"];

/// A parsed dialogue.
#[derive(Debug)]
pub struct Script {
    /// Settings of the stack.
    pub config: Config,
    /// Congestion rule, as the registry names it.
    pub variant: String,
    /// The host's NIC; `None` takes every packet at once.
    pub nic: Option<Rate>,
    /// Window of the peer's segments until a line says another.
    pub peer_window: u32,
    /// Why this cannot be said to a kernel.
    pub model_only: Option<String>,
    /// What the congestion rule draws, in order; a kernel is asked until it has drawn this.
    pub draws: Vec<u32>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Debug)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: usize,
    /// When, since the start; of a range of times the end.
    pub at: Instant,
    /// How much earlier an expected segment may leave.
    pub early: Duration,
    /// How much later it may leave.
    pub late: Duration,
    /// Belongs to the burst of the step before: nothing is checked between the two.
    pub continues: bool,
    /// What.
    pub what: What,
}

/// The kinds of steps.
#[derive(Debug)]
pub enum What {
    /// The peer's segment arrives.
    Arrives(Pattern),
    /// Our segment must leave.
    Leaves(Pattern),
    /// From now on any segment may leave: nothing more is expected of them.
    Rest,
    /// The application connects.
    Open,
    /// Queue this many bytes; `u64::MAX` for an endless stream.
    Write(u64),
    /// The application closes its side.
    Close,
    /// The application reads, or changes how it does.
    Read(Reading),
    /// The application sets an option of its socket.
    Set(SocketOption),
    /// What the stack is to tell of itself.
    Expect(Vec<Claim>),
}

/// What the application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Everything at once, from now on; so it begins.
    All,
    /// Nothing from now on, unless it is told to.
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
    /// No more segments are expected.
    rests: bool,
}

impl Parser {
    fn new() -> Self {
        Self {
            script: Script {
                config: Config::default(),
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
        let needs_ecn = find(&self.script.variant).is_ok_and(|entry| entry.rule(1).needs_ecn());
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

    /// One line may stand for several segments: `1:14481/1448` are ten of 1448 bytes.
    fn segments(
        &mut self,
        words: &mut Words,
        make: fn(Pattern) -> What,
        [early, late]: [Duration; 2],
    ) -> Result<(), String> {
        let is_expected = matches!(make(Pattern::default()), What::Leaves(_));
        if is_expected && self.rests {
            return Err("no segment can be expected after \"> rest\"".into());
        }
        let word = words.take("the flags")?;
        let mut pattern = Pattern { flags: flags(word)?, is_unpushed: word.contains(UNPUSHED), ..Pattern::default() };
        let range = words.take("the sequence range")?;
        let (seq, end, piece) = sequence_range(range)?;
        while let Some(word) = words.next() {
            self.field(word, words, &mut pattern)?;
        }
        if pattern.flags.contains(Flags::ACK) != pattern.ack.is_some() {
            return Err("\"ack\" and the flag \".\" go together".into());
        }
        if pattern.without_timestamp && (pattern.ts_val, pattern.ts_ecr) != (None, None) {
            return Err("a segment without a timestamp has neither \"val\" nor \"ecr\"".into());
        }
        if !is_expected {
            if pattern.is_unpushed {
                return Err("the peer's segment has PSH or has it not: \"p\" is for expected segments".into());
            }
            if pattern.window_is != Relation::Is {
                return Err(format!("\"win {}\" is for expected segments", pattern.window_is));
            }
        }
        // PSH, FIN and CWR of several segments: PSH and FIN belong to the last, CWR to the first.
        let all = pattern.flags;
        let only_last = Flags::PSH.with(Flags::FIN);
        let mut at = seq;
        loop {
            let len = (end - at).min(piece);
            let is_last = at + len >= end;
            let mut dropped = if is_last { 0 } else { only_last.0 };
            dropped |= if at == seq { 0 } else { Flags::CWR.0 };
            let piece = Pattern { flags: Flags(all.0 & !dropped), seq: at, len: len as u32, ..pattern.clone() };
            let (what, continues) = (make(piece), at > seq);
            self.script.steps.push(Step { line: self.line, at: self.now, early, late, continues, what });
            at += len;
            if is_last {
                return Ok(());
            }
        }
    }

    fn field(&mut self, word: &str, words: &mut Words, pattern: &mut Pattern) -> Result<(), String> {
        match word {
            "ack" => pattern.ack = Some(words.within("the acknowledgement number", 0, LAST_SEQ)?),
            "win" => {
                pattern.window_is = words.relation();
                pattern.window = Some(words.within_u32("the window", 0, WIDEST)?);
            }
            "val" => pattern.ts_val = Some(words.instant("the time of the timestamp")?),
            "ecr" => pattern.ts_ecr = Some(words.instant("the time of the echoed timestamp")?),
            "nots" => pattern.without_timestamp = true,
            "sack" => {
                while let Some((start, end)) = words.peek().and_then(|word| word.split_once(':')) {
                    words.next();
                    let edge = |word: &str| word.parse().ok().filter(|edge| *edge <= LAST_SEQ);
                    let (Some(start), Some(end)) = (edge(start), edge(end)) else {
                        return Err(format!("a SACK block is start:end, not \"{start}:{end}\""));
                    };
                    pattern.sacks.push(SackBlock { start, end });
                }
                if pattern.sacks.is_empty() || pattern.sacks.len() > 4 {
                    return Err("\"sack\" takes one to four blocks start:end".into());
                }
            }
            "mss" | "wscale" | "sackok" | "ts" => option(pattern.syn.get_or_insert_default(), word, words)?,
            _ => {
                let ecn = ECN.iter().find(|(_, known)| *known == word).map(|(ecn, _)| *ecn);
                pattern.ecn = Some(ecn.ok_or_else(|| format!("unknown field \"{word}\" of a segment"))?);
            }
        }
        Ok(())
    }

    fn peer(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("peer")?;
        self.peer = Options::default();
        self.peer_ecn = false;
        while let Some(word) = words.next() {
            match word {
                "win" => self.script.peer_window = words.within_u32("the peer's window", 0, WIDEST)?,
                "ecn" => self.peer_ecn = true,
                word => option(&mut self.peer, word, words)?,
            }
        }
        Ok(())
    }

    /// `model only: the reason`, to the end of the line.
    fn model_only(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("model only:")?;
        match words.take("\"only:\"")? {
            "only:" => {}
            word => return Err(format!("expected \"only:\" after \"model\", not \"{word}\"")),
        }
        if words.is_empty() {
            return Err("\"model only:\" needs a reason".into());
        }
        self.script.model_only = Some(words.all().to_string());
        Ok(())
    }

    fn before_the_first_step(&self, what: &str) -> Result<(), String> {
        if self.script.steps.is_empty() { Ok(()) } else { Err(format!("\"{what}\" must stand before the first step")) }
    }

    fn config(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("config")?;
        const JIFFIES: [Duration; 2] = [Duration::from_us(100), Duration::from_ms(42)];
        let config = &mut self.script.config;
        match words.take("the name of a setting")? {
            "variant" => {
                let name = words.take("the variant")?;
                find(name).map_err(|unknown| unknown.to_string())?;
                self.script.variant = name.to_string();
            }
            "draws" => {
                while let Some(word) = words.next() {
                    let draw = word.parse().map_err(|_| format!("a draw must be a whole number, not \"{word}\""))?;
                    self.script.draws.push(draw);
                }
                if self.script.draws.is_empty() {
                    return Err("\"draws\" needs at least one number".into());
                }
            }
            "nic" => self.script.nic = Some(words.rate("the NIC's rate")?),
            "mtu" => config.mtu = words.within_u32("mtu", 88, 65_535)?,
            "initial_window" => config.initial_window = words.within_u32("initial_window", 1, 65_535)?,
            "initial_ssthresh" => config.initial_ssthresh = words.number("initial_ssthresh")?,
            "cwnd_clamp" => config.cwnd_clamp = words.within_u32("cwnd_clamp", 1, u32::MAX)?,
            "jiffy" => {
                config.jiffy = words.duration("jiffy")?;
                let [least, most] = JIFFIES;
                if !(least..=most).contains(&config.jiffy) {
                    return Err(format!("a jiffy is between {least} and {most}, not {}", config.jiffy));
                }
            }
            "rmem_default" => config.rmem.default = words.within("rmem_default", 1, u32::MAX.into())?,
            "rmem_max" => config.rmem.max = words.within("rmem_max", 1, u32::MAX.into())?,
            "wmem_default" => config.wmem.default = words.within("wmem_default", 1, u32::MAX.into())?,
            "wmem_max" => config.wmem.max = words.within("wmem_max", 1, u32::MAX.into())?,
            "receive_autotuning" => config.receive_autotuning = words.switch()?,
            "window_scaling" => config.window_scaling = words.switch()?,
            "timestamps" => config.timestamps = words.switch()?,
            "sack" => config.sack = words.switch()?,
            "dsack" => config.dsack = words.switch()?,
            "frto" => config.frto = words.switch()?,
            "tail_loss_probe" => config.tail_loss_probe = words.switch()?,
            "rack" => config.rack = words.switch()?,
            "reordering" => config.reordering = words.within_u32("reordering", 1, u32::MAX)?,
            "max_reordering" => config.max_reordering = words.within_u32("max_reordering", 1, u32::MAX)?,
            "slow_start_after_idle" => config.slow_start_after_idle = words.switch()?,
            "ecn" => {
                config.ecn = match words.take("off, on or passive")? {
                    "off" => EcnMode::Off,
                    "on" => EcnMode::On,
                    "passive" => EcnMode::Passive,
                    word => return Err(format!("ecn is off, on or passive, not \"{word}\"")),
                }
            }
            "comp_sack_delay" => config.comp_sack_delay = words.duration("comp_sack_delay")?,
            "comp_sack_slack" => config.comp_sack_slack = words.duration("comp_sack_slack")?,
            "comp_sack_nr" => config.comp_sack_nr = words.within_u32("comp_sack_nr", 0, 255)?,
            "tso_max_bytes" => config.tso_max_bytes = words.number("tso_max_bytes")?,
            "limit_output_bytes" => config.limit_output_bytes = Some(words.number("limit_output_bytes")?),
            "legacy" => legacy(&mut config.legacy, words.take("a mechanism")?)?,
            "max_pacing_rate" => config.max_pacing_rate = words.rate("max_pacing_rate")?,
            word => return Err(format!("unknown setting \"{word}\"")),
        }
        Ok(())
    }
}

fn legacy(legacy: &mut Legacy, word: &str) -> Result<(), String> {
    legacy.switch_on(word).ok_or_else(|| format!("unknown mechanism of older stacks \"{word}\""))
}

fn option(options: &mut Options, word: &str, words: &mut Words) -> Result<(), String> {
    match word {
        "mss" => options.mss = words.number("the MSS")?,
        "wscale" => options.window_scale = Some(words.within("the window scale", 0, 14)? as u8),
        "sackok" => options.sack_permitted = true,
        "ts" => options.timestamps = true,
        _ => return Err(format!("unknown option \"{word}\"; known are mss, wscale, sackok, ts")),
    }
    Ok(())
}

/// On an expected segment: it has no PSH.
const UNPUSHED: char = 'p';

fn flags(word: &str) -> Result<Flags, String> {
    if word.contains(UNPUSHED) && word.contains('P') {
        return Err(format!("\"{word}\" asks for PSH and forbids it"));
    }
    word.chars().filter(|&letter| letter != UNPUSHED).try_fold(Flags::default(), |flags, letter| {
        let flag = FLAGS.iter().find(|(_, known)| *known == letter).map(|(flag, _)| *flag);
        let flag = flag.ok_or_else(|| format!("unknown flag \"{letter}\" in \"{word}\"; known are S F R P p . E W"))?;
        Ok(flags.with(flag))
    })
}

/// `SEQ`, `SEQ:END` or `SEQ:END/PIECE`.
fn sequence_range(word: &str) -> Result<(u64, u64, u64), String> {
    let bad = || format!("a sequence range is SEQ, SEQ:END or SEQ:END/PIECE, not \"{word}\"");
    let (range, piece) = match word.split_once('/') {
        Some((range, piece)) => (range, piece.parse().map_err(|_| bad())?),
        None => (word, u64::MAX),
    };
    let (seq, end) = range.split_once(':').unwrap_or((range, range));
    let (seq, end): (u64, u64) = (seq.parse().map_err(|_| bad())?, end.parse().map_err(|_| bad())?);
    if end < seq || piece == 0 || end > LAST_SEQ {
        return Err(bad());
    }
    if piece.min(end - seq) > LONGEST_PAYLOAD {
        return Err(format!("a segment has at most {LONGEST_PAYLOAD} bytes, not {}", piece.min(end - seq)));
    }
    if (end - seq).div_ceil(piece) > MOST_SEGMENTS {
        return Err(format!("a line stands for at most {MOST_SEGMENTS} segments"));
    }
    Ok((seq, end, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Script::parse(text).expect_err("the text is wrong").to_string()
    }

    #[test]
    fn errors_name_the_line_and_the_word() {
        let cases = [
            (
                "0 open\n5ms jump",
                "line 2, column 5: unknown step \"jump\"; known are <, >, open, connect, accept, write, read, set, close, \
                 expect",
            ),
            ("5ms open\n1ms close", "line 2, column 1: 1 ms is before the line above, 5 ms"),
            ("0 > . 1", "line 1, column 7: \"ack\" and the flag \".\" go together"),
            ("0 > X 1", "line 1, column 5: unknown flag \"X\" in \"X\"; known are S F R P p . E W"),
            ("0 > Pp. 1 ack 1", "line 1, column 5: \"Pp.\" asks for PSH and forbids it"),
            (
                "0 < . 1:10/0 ack 1",
                "line 1, column 7: a sequence range is SEQ, SEQ:END or SEQ:END/PIECE, not \"1:10/0\"",
            ),
            ("0 < . 1:70000 ack 1", "line 1, column 7: a segment has at most 65495 bytes, not 69999"),
            ("0 < . 1:70000/1 ack 1", "line 1, column 7: a line stands for at most 10000 segments"),
            ("config speed 3", "line 1, column 8: unknown setting \"speed\""),
            ("config mtu 9", "line 1, column 12: mtu is between 88 and 65535, not 9"),
            ("config jiffy 1s", "line 1, column 14: a jiffy is between 100 us and 42 ms, not 1 s"),
            ("config draws 3 x", "line 1, column 16: a draw must be a whole number, not \"x\""),
            ("0 open\nconfig mtu 9000", "line 2, column 1: \"config\" must stand before the first step"),
            ("0 open now", "line 1, column 8: \"now\" was not expected here"),
            (
                "0~1ms open",
                "line 1, column 7: only an expected segment may have a tolerance or a range of times, not \"open\"",
            ),
            ("3ms..2ms > . 1 ack 1", "line 1, column 1: the range of times ends at 2 ms, before it starts at 3 ms"),
            ("5 open", "line 1, column 1: a time is a number with ps, ns, us, ms or s, not \"5\""),
            ("9999999s open", "line 1, column 1: a time is at most 4000000 s, not \"9999999s\""),
            ("0 write ten", "line 1, column 9: the bytes to write must be a whole number, not \"ten\""),
            ("0 read some", "line 1, column 8: the bytes to read must be a whole number, not \"some\""),
            (
                "0 set mood good",
                "line 1, column 7: unknown socket's option \"mood\"; known are nodelay, cork, rcvbuf, sndbuf",
            ),
            (
                "0 set user_timeout 5",
                "line 1, column 7: Linux 6.1 has the socket's option \"user_timeout\", and the model has not",
            ),
            ("0 set cork perhaps", "line 1, column 12: expected on or off, not \"perhaps\""),
            (
                "0 open\n0 set rcvbuf 9000",
                "line 2, column 14: \"rcvbuf\" can be set before the connection opens and not later",
            ),
            ("0 set rcvbuf 300000", "line 1, column 14: rcvbuf is between 1 and 212992, not 300000"),
            ("0 expect cwnd", "line 1, column 14: the value of cwnd is missing at the end of the line"),
            ("0 expect state < Loss", "line 1, column 18: what state is < must be a number, not \"Loss\""),
            ("0 < . 1 ack 1 win < 9", "line 1, column 21: \"win <\" is for expected segments"),
            (
                "0 < .p 1 ack 1",
                "line 1, column 14: the peer's segment has PSH or has it not: \"p\" is for expected segments",
            ),
            (
                "0 > . 1 ack 1 nots val 3ms",
                "line 1, column 24: a segment without a timestamp has neither \"val\" nor \"ecr\"",
            ),
            ("0 > rest\n0 > . 1 ack 1", "line 2, column 3: no segment can be expected after \"> rest\""),
            ("model only:", "line 1, column 7: \"model only:\" needs a reason"),
            ("# nothing", "a dialogue needs at least one step"),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected, "of {text:?}");
        }
    }

    #[test]
    fn a_time_may_be_a_range() {
        let script = Script::parse("1ms open\n+2ms..+5ms > . 1 ack 1\n+1ms~1us > . 1 ack 1").expect("valid");
        let times = |at: usize| (script.steps[at].at, script.steps[at].early, script.steps[at].late);
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        assert_eq!(times(1), (at(6), Duration::from_ms(3), Duration::ZERO));
        // The line after a range counts from its end.
        assert_eq!(times(2), (at(7), Duration::from_us(1), Duration::from_us(1)));
    }

    #[test]
    fn a_line_may_stand_for_several_segments() {
        let script =
            Script::parse("1.5ms < P. 1:2901/1448 ack 1 sack 5:9 11:12\n+20us~3us > . 1 ack 2901").expect("valid");
        let lens: Vec<u32> = script
            .steps
            .iter()
            .map(|step| match &step.what {
                What::Arrives(pattern) | What::Leaves(pattern) => pattern.len,
                other => panic!("not a segment: {other:?}"),
            })
            .collect();
        assert_eq!(lens, [1448, 1448, 4, 0]);
        assert_eq!(script.steps[0].at, Instant::ZERO + Duration::from_us(1_500));
        assert_eq!(script.steps[3].at, Instant::ZERO + Duration::from_us(1_520));
        assert_eq!(script.steps[3].late, Duration::from_us(3));
    }
}
