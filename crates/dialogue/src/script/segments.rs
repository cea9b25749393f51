//! A line that stands for one segment or several: `P. 1:14481/1448 ack 1 win 65535`.

use daybreak_tcp::{Flags, SackBlock};
use daybreak_units::Duration;

use super::{LAST_SEQ, Parser, Step, WIDEST, What};
use crate::claim::Relation;
use crate::pattern::{ECN, FLAGS, Options, Pattern};
use crate::words::Words;

/// Limit on the segments of a line.
const MOST_SEGMENTS: u64 = 10_000;
/// Longest payload: an IP packet of 65,535 bytes with headers of 40.
const LONGEST_PAYLOAD: u64 = 65_495;

impl Parser {
    /// One line may stand for several segments: `1:14481/1448` are ten of 1448 bytes.
    pub(super) fn segments(
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
}

/// An option of a SYN.
pub(super) fn option(options: &mut Options, word: &str, words: &mut Words) -> Result<(), String> {
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
