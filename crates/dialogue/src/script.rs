//! The text of a dialogue as steps: a strict parser. The format is described in
//! `crates/tcp/tests/dialogues/README.md`.

use daybreak_tcp::config::{Config, EcnMode, Legacy};
use daybreak_tcp::congestion::find;
use daybreak_tcp::{Flags, SackBlock};
use daybreak_units::{Duration, Instant, Rate};

use crate::DialogueError;
use crate::pattern::{ECN, FLAGS, Options, Pattern};

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
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Debug)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: usize,
    /// When, since the start.
    pub at: Instant,
    /// How far from `at` an expected segment may be.
    pub tolerance: Duration,
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
    /// The application connects.
    Open,
    /// Queue this many bytes; `u64::MAX` for an endless stream.
    Write(u64),
    /// The application closes its side.
    Close,
    /// Name and expected value of what the stack tells of itself.
    Expect(Vec<(String, String)>),
}

impl Script {
    /// Parses the text of a dialogue; the error names the line and what was expected there.
    pub fn parse(text: &str) -> Result<Self, DialogueError> {
        let mut parser = Parser::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = content.split_whitespace().collect();
            if !words.is_empty() {
                parser.line = index + 1;
                parser.statement(&words).map_err(|problem| DialogueError { line: Some(index + 1), problem })?;
            }
        }
        if parser.script.steps.is_empty() {
            return Err(DialogueError { line: None, problem: "a dialogue needs at least one step".into() });
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
}

/// The words that are left of a line.
struct Words<'a> {
    rest: &'a [&'a str],
}

impl<'a> Words<'a> {
    fn take(&mut self, what: &str) -> Result<&'a str, String> {
        let (first, rest) =
            self.rest.split_first().ok_or_else(|| format!("{what} is missing at the end of the line"))?;
        self.rest = rest;
        Ok(first)
    }
    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.take(what)?;
        word.parse().map_err(|_| format!("{what} must be a whole number, not \"{word}\""))
    }
    fn duration(&mut self, what: &str) -> Result<Duration, String> {
        duration(self.take(what)?)
    }
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
                steps: Vec::new(),
            },
            peer: Options { mss: 1460, window_scale: Some(7), sack_permitted: true, timestamps: true },
            peer_ecn: false,
            line: 0,
            now: Instant::ZERO,
        }
    }

    fn statement(&mut self, words: &[&str]) -> Result<(), String> {
        let mut words = Words { rest: words };
        let first = words.take("a statement")?;
        match first {
            "config" => self.config(&mut words)?,
            "peer" => self.peer(&mut words)?,
            "model" => self.model_only(&mut words)?,
            _ => self.timed(first, &mut words)?,
        }
        match words.rest.first() {
            Some(word) => Err(format!("\"{word}\" was not expected here")),
            None => Ok(()),
        }
    }

    fn timed(&mut self, time: &str, words: &mut Words) -> Result<(), String> {
        let (time, tolerance) = match time.split_once('~') {
            Some((time, tolerance)) => (time, duration(tolerance)?),
            None => (time, Duration::ZERO),
        };
        let at = match time.strip_prefix('+') {
            Some(span) => self.now + duration(span)?,
            None => Instant::ZERO + duration(time)?,
        };
        if at < self.now {
            return Err(format!("{at} is before the line above, {}", self.now));
        }
        self.now = at;
        let verb = words.take("a step")?;
        if tolerance > Duration::ZERO && verb != ">" {
            return Err(format!("only an expected segment may have a tolerance, not \"{verb}\""));
        }
        match verb {
            "<" => self.segments(words, tolerance, What::Arrives)?,
            ">" => self.segments(words, tolerance, What::Leaves)?,
            "open" => self.push(What::Open),
            "close" => self.push(What::Close),
            "write" => {
                let bytes = match words.rest {
                    ["endless"] => {
                        words.rest = &[];
                        u64::MAX
                    }
                    _ => words.number("the bytes to write")?,
                };
                self.push(What::Write(bytes));
            }
            "connect" => self.handshake(words, true)?,
            "accept" => self.handshake(words, false)?,
            "expect" => self.expect(words)?,
            _ => {
                let known = "<, >, open, connect, accept, write, close, expect";
                return Err(format!("unknown step \"{verb}\"; known are {known}"));
            }
        }
        Ok(())
    }

    fn push(&mut self, what: What) {
        self.script.steps.push(Step {
            line: self.line,
            at: self.now,
            tolerance: Duration::ZERO,
            continues: false,
            what,
        });
    }

    fn expect(&mut self, words: &mut Words) -> Result<(), String> {
        let mut pairs = Vec::new();
        while !words.rest.is_empty() {
            let name = words.take("a name")?.to_string();
            let value = words.take(&format!("the value of {name}"))?.to_string();
            pairs.push((name, value));
        }
        if pairs.is_empty() {
            return Err("expect needs a name and a value".into());
        }
        self.push(What::Expect(pairs));
        Ok(())
    }

    /// `connect rtt 10ms` and `accept rtt 10ms`: the whole handshake with the peer's options.
    fn handshake(&mut self, words: &mut Words, active: bool) -> Result<(), String> {
        match words.take("rtt")? {
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
    fn segments(&mut self, words: &mut Words, tolerance: Duration, make: fn(Pattern) -> What) -> Result<(), String> {
        let mut pattern = Pattern { flags: flags(words.take("the flags")?)?, ..Pattern::default() };
        let range = words.take("the sequence range")?;
        let (seq, end, piece) = sequence_range(range)?;
        while let Some(word) = words.rest.first() {
            words.rest = &words.rest[1..];
            self.field(word, words, &mut pattern)?;
        }
        if pattern.flags.contains(Flags::ACK) != pattern.ack.is_some() {
            return Err("\"ack\" and the flag \".\" go together".into());
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
            let len = u32::try_from(len).map_err(|_| "the segment is too long")?;
            let piece = Pattern { flags: Flags(all.0 & !dropped), seq: at, len, ..pattern.clone() };
            let what = make(piece);
            self.script.steps.push(Step { line: self.line, at: self.now, tolerance, continues: at > seq, what });
            at += u64::from(len);
            if is_last {
                return Ok(());
            }
        }
    }

    fn field(&mut self, word: &str, words: &mut Words, pattern: &mut Pattern) -> Result<(), String> {
        match word {
            "ack" => pattern.ack = Some(words.number("the acknowledgement number")?),
            "win" => pattern.window = Some(words.number("the window")?),
            "val" => pattern.ts_val = Some(Instant::ZERO + words.duration("the time of the timestamp")?),
            "ecr" => pattern.ts_ecr = Some(Instant::ZERO + words.duration("the time of the echoed timestamp")?),
            "sack" => {
                while let Some((start, end)) = words.rest.first().and_then(|word| word.split_once(':')) {
                    words.rest = &words.rest[1..];
                    let block = (start.parse(), end.parse());
                    let (Ok(start), Ok(end)) = block else {
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
        while !words.rest.is_empty() {
            match words.take("an option")? {
                "win" => self.script.peer_window = words.number("the peer's window")?,
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
        if words.rest.is_empty() {
            return Err("\"model only:\" needs a reason".into());
        }
        self.script.model_only = Some(words.rest.join(" "));
        words.rest = &[];
        Ok(())
    }

    fn before_the_first_step(&self, what: &str) -> Result<(), String> {
        if self.script.steps.is_empty() { Ok(()) } else { Err(format!("\"{what}\" must stand before the first step")) }
    }

    fn config(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("config")?;
        let config = &mut self.script.config;
        match words.take("the name of a setting")? {
            "variant" => self.script.variant = words.take("the variant")?.to_string(),
            "nic" => self.script.nic = Some(rate(words.take("the NIC's rate")?)?),
            "mtu" => config.mtu = words.number("mtu")?,
            "initial_window" => config.initial_window = words.number("initial_window")?,
            "initial_ssthresh" => config.initial_ssthresh = words.number("initial_ssthresh")?,
            "cwnd_clamp" => config.cwnd_clamp = words.number("cwnd_clamp")?,
            "jiffy" => config.jiffy = words.duration("jiffy")?,
            "rmem_default" => config.rmem.default = words.number("rmem_default")?,
            "rmem_max" => config.rmem.max = words.number("rmem_max")?,
            "wmem_default" => config.wmem.default = words.number("wmem_default")?,
            "wmem_max" => config.wmem.max = words.number("wmem_max")?,
            "receive_autotuning" => config.receive_autotuning = switch(words)?,
            "window_scaling" => config.window_scaling = switch(words)?,
            "timestamps" => config.timestamps = switch(words)?,
            "sack" => config.sack = switch(words)?,
            "dsack" => config.dsack = switch(words)?,
            "frto" => config.frto = switch(words)?,
            "tail_loss_probe" => config.tail_loss_probe = switch(words)?,
            "rack" => config.rack = switch(words)?,
            "reordering" => config.reordering = words.number("reordering")?,
            "max_reordering" => config.max_reordering = words.number("max_reordering")?,
            "slow_start_after_idle" => config.slow_start_after_idle = switch(words)?,
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
            "comp_sack_nr" => config.comp_sack_nr = words.number("comp_sack_nr")?,
            "tso_max_bytes" => config.tso_max_bytes = words.number("tso_max_bytes")?,
            "limit_output_bytes" => config.limit_output_bytes = Some(words.number("limit_output_bytes")?),
            "legacy" => legacy(&mut config.legacy, words.take("a mechanism")?)?,
            "max_pacing_rate" => config.max_pacing_rate = rate(words.take("max_pacing_rate")?)?,
            word => return Err(format!("unknown setting \"{word}\"")),
        }
        Ok(())
    }
}

fn legacy(legacy: &mut Legacy, word: &str) -> Result<(), String> {
    match word {
        "fack" => legacy.fack = true,
        "window_at_once" => legacy.window_at_once = true,
        "no_undo" => legacy.no_undo = true,
        "ack_every_packet" => legacy.ack_every_packet = true,
        "rto_restart" => legacy.rto_restart = true,
        "forget_sacks" => legacy.forget_sacks = true,
        _ => return Err(format!("unknown mechanism of older stacks \"{word}\"")),
    }
    Ok(())
}

fn option(options: &mut Options, word: &str, words: &mut Words) -> Result<(), String> {
    match word {
        "mss" => options.mss = words.number("the MSS")?,
        "wscale" => options.window_scale = Some(words.number("the window scale")?),
        "sackok" => options.sack_permitted = true,
        "ts" => options.timestamps = true,
        _ => return Err(format!("unknown option \"{word}\"; known are mss, wscale, sackok, ts")),
    }
    Ok(())
}

fn switch(words: &mut Words) -> Result<bool, String> {
    match words.take("on or off")? {
        "on" => Ok(true),
        "off" => Ok(false),
        word => Err(format!("expected on or off, not \"{word}\"")),
    }
}

fn flags(word: &str) -> Result<Flags, String> {
    word.chars().try_fold(Flags::default(), |flags, letter| {
        let flag = FLAGS.iter().find(|(_, known)| *known == letter).map(|(flag, _)| *flag);
        let flag = flag.ok_or_else(|| format!("unknown flag \"{letter}\" in \"{word}\"; known are S F R P . E W"))?;
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
    if end < seq || piece == 0 { Err(bad()) } else { Ok((seq, end, piece)) }
}

/// A decimal number with a unit, or 0.
fn duration(word: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u32); 5] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    let bad = || format!("a time is a number with ps, ns, us, ms or s, not \"{word}\"");
    if word == "0" {
        return Ok(Duration::ZERO);
    }
    let (number, exponent) =
        UNITS.iter().find_map(|(unit, exponent)| Some((word.strip_suffix(unit)?, *exponent))).ok_or_else(bad)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > exponent as usize {
        return Err(bad());
    }
    let digits = format!("{whole}{fraction:0<width$}", width = exponent as usize);
    digits.parse().map(Duration::from_ps).map_err(|_| bad())
}

fn rate(word: &str) -> Result<Rate, String> {
    const UNITS: [(&str, u64); 3] = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)];
    let bad = || format!("a rate is a whole number with kbit/s, Mbit/s or Gbit/s, not \"{word}\"");
    let (number, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor))).ok_or_else(bad)?;
    let number: u64 = number.parse().map_err(|_| bad())?;
    Ok(Rate::from_bps(number * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Script::parse(text).expect_err("the text is wrong").to_string()
    }

    #[test]
    fn errors_name_the_line_and_the_word() {
        assert_eq!(
            error("0 open\n5ms jump"),
            "line 2: unknown step \"jump\"; known are <, >, open, connect, accept, write, close, expect"
        );
        assert_eq!(error("5ms open\n1ms close"), "line 2: 1 ms is before the line above, 5 ms");
        assert_eq!(error("0 > . 1"), "line 1: \"ack\" and the flag \".\" go together");
        assert_eq!(error("0 > X 1"), "line 1: unknown flag \"X\" in \"X\"; known are S F R P . E W");
        assert_eq!(
            error("0 < . 1:10/0 ack 1"),
            "line 1: a sequence range is SEQ, SEQ:END or SEQ:END/PIECE, not \"1:10/0\""
        );
        assert_eq!(error("config speed 3"), "line 1: unknown setting \"speed\"");
        assert_eq!(error("0 open\nconfig mtu 9000"), "line 2: \"config\" must stand before the first step");
        assert_eq!(error("0 open now"), "line 1: \"now\" was not expected here");
        assert_eq!(error("0~1ms open"), "line 1: only an expected segment may have a tolerance, not \"open\"");
        assert_eq!(error("5 open"), "line 1: a time is a number with ps, ns, us, ms or s, not \"5\"");
        assert_eq!(error("0 write ten"), "line 1: the bytes to write must be a whole number, not \"ten\"");
        assert_eq!(error("0 expect cwnd"), "line 1: the value of cwnd is missing at the end of the line");
        assert_eq!(error("model only:"), "line 1: \"model only:\" needs a reason");
        assert_eq!(error("# nothing"), "a dialogue needs at least one step");
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
        assert_eq!(script.steps[3].tolerance, Duration::from_us(3));
    }
}
