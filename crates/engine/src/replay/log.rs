//! The content of a log of a conversation: rows of whole numbers, from a capture, and therefore not to be trusted.

use std::array::from_fn;

use daybreak_plan::PlanError;
use daybreak_tcp::{Ecn, Flags, Header, SackBlock, Segment, SynOptions};
use daybreak_units::Instant;

use super::{Captured, Dialogue, PS_PER_NS};
use crate::error::EngineError;

/// The columns of a log. A SACK block that is not there is empty.
pub const COLUMNS: [&str; 20] = [
    "time_ns",
    "seq",
    "ack",
    "len",
    "window",
    "ts_val",
    "ts_ecr",
    "flags",
    "ecn",
    "mss",
    "window_scale_plus_one",
    "sack_permitted",
    "sack_start_0",
    "sack_end_0",
    "sack_start_1",
    "sack_end_1",
    "sack_start_2",
    "sack_end_2",
    "sack_start_3",
    "sack_end_3",
];

/// The largest number of each column. Times and sequence numbers leave room for sums; a window has 16 bits and is
/// shifted by at most 14 (RFC 7323, section 2.3).
const MOST: [u64; COLUMNS.len()] = {
    let mut most = [1 << 62; COLUMNS.len()];
    most[0] = (1 << 62) / PS_PER_NS;
    most[3] = u16::MAX as u64;
    most[4] = (u16::MAX as u64) << 14;
    most[5] = u32::MAX as u64;
    most[6] = u32::MAX as u64;
    most[7] = u8::MAX as u64;
    most[8] = 3;
    most[9] = u16::MAX as u64;
    most[10] = 15;
    most[11] = 1;
    most
};

/// A number of a log that no segment has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSegment {
    /// Its column.
    pub column: &'static str,
    /// The number.
    pub value: u64,
    /// What it may be.
    pub problem: String,
}

impl Captured {
    /// The segment of a row of [`COLUMNS`].
    ///
    /// # Errors
    /// When a number is too large for its column.
    pub fn from_row(row: &[u64; COLUMNS.len()]) -> Result<Self, NoSegment> {
        for ((&column, &value), most) in COLUMNS.iter().zip(row).zip(MOST) {
            if value > most {
                return Err(NoSegment { column, value, problem: format!("it is at most {most}") });
            }
        }
        let [time_ns, seq, ack, len, window, ts_val, ts_ecr, flags, ecn, mss, scale, permitted, ref edges @ ..] = *row;
        let flags = Flags(flags as u8);
        let mut segment = Segment::from(Header {
            seq,
            ack,
            len: len as u32,
            window: window as u32,
            ts_val: ts_val as u32,
            ts_ecr: ts_ecr as u32,
            flags,
            ecn: Ecn::from_bits(ecn as u8),
            ..Header::default()
        });
        if flags.contains(Flags::SYN) {
            segment.syn = SynOptions {
                mss: mss as u16,
                window_scale_plus_one: scale as u8,
                sack_permitted: permitted == 1,
                timestamps: ts_val != 0,
            };
        }
        let blocks = edges.chunks_exact(2).map(|edge| SackBlock { start: edge[0], end: edge[1] });
        for block in blocks.filter(|block| block.start != block.end) {
            segment.sack[usize::from(segment.sack_count)] = block;
            segment.sack_count += 1;
        }
        Ok(Self { at: Instant::from_ps(time_ns * PS_PER_NS), segment })
    }

    /// Its row of [`COLUMNS`].
    pub fn row(&self) -> [u64; COLUMNS.len()] {
        let Header { seq, ack, len, window, ts_val, ts_ecr, flags, ecn, syn, .. } = self.segment.header;
        let [len, window, ts_val, ts_ecr] = [len, window, ts_val, ts_ecr].map(u64::from);
        let (scale, permitted) = (u64::from(syn.window_scale_plus_one), u64::from(syn.sack_permitted));
        let fields = [
            self.at.as_ns(),
            seq,
            ack,
            len,
            window,
            ts_val,
            ts_ecr,
            flags.0.into(),
            ecn as u64,
            syn.mss.into(),
            scale,
            permitted,
        ];
        let edge = |at: usize| {
            let block = self.segment.sacks().get(at / 2).copied().unwrap_or_default();
            if at.is_multiple_of(2) { block.start } else { block.end }
        };
        from_fn(|at| fields.get(at).copied().unwrap_or_else(|| edge(at - fields.len())))
    }
}

impl Dialogue {
    /// Reads a log: a line with the names of the columns, then lines of `sent` or `received` and the numbers.
    ///
    /// # Errors
    /// When a line is something else; the error names the line and the column.
    pub fn read(log: &str) -> Result<Self, EngineError> {
        let mut dialogue = Self::default();
        for (line, text) in (1..).zip(log.lines()).skip(1) {
            let (direction, numbers) = text.split_once(',').unwrap_or((text, ""));
            let side = match direction {
                "sent" => &mut dialogue.sent,
                "received" => &mut dialogue.received,
                _ => return Err(refused(line, "direction", direction, "it is sent or received")),
            };
            let mut words = numbers.split(',');
            let mut row = [0; COLUMNS.len()];
            for (number, column) in row.iter_mut().zip(COLUMNS) {
                let word = words.next().unwrap_or_default();
                *number = word.parse().map_err(|_| refused(line, column, word, "it is a whole number"))?;
            }
            if let Some(word) = words.next() {
                return Err(refused(line, "after the last column", word, "nothing stands there"));
            }
            let captured = Captured::from_row(&row);
            side.push(captured.map_err(|error| refused(line, error.column, &error.value.to_string(), &error.problem))?);
        }
        Ok(dialogue)
    }

    /// Time does not run backwards.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        for (name, side) in [("sent", &self.sent), ("received", &self.received)] {
            if let Some(at) = side.windows(2).position(|pair| pair[1].at < pair[0].at) {
                let [before, after] = from_fn(|i| side[at + i].at);
                return Err(EngineError::Plan(PlanError {
                    field: format!("dialogue.{name}[{}].at", at + 1),
                    value: after.to_string(),
                    problem: format!("the segment before it is of {before}"),
                }));
            }
        }
        Ok(())
    }
}

fn refused(line: usize, column: &str, value: &str, problem: &str) -> EngineError {
    EngineError::Plan(PlanError {
        field: format!("line {line}, {column}"),
        value: if value.is_empty() { "missing".to_owned() } else { format!("\"{value}\"") },
        problem: problem.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        Dialogue::read(&format!("direction,...\n{line}")).expect_err("the log is wrong").to_string()
    }

    #[test]
    fn what_no_segment_says_is_refused_by_line_and_column() {
        let rest = ",0".repeat(16);
        assert!(Dialogue::read(&format!("heads\nsent,1,2,3,1448{rest}")).is_ok());
        assert!(error("said,1").contains("line 2, direction is \"said\": it is sent or received"));
        assert!(error("sent,1,2").contains("line 2, ack is missing: it is a whole number"));
        assert!(error("sent,-1").contains("line 2, time_ns is \"-1\": it is a whole number"));
        assert!(error(&format!("sent,1,2,3,65536{rest}")).contains("line 2, len is \"65536\": it is at most 65535"));
        assert!(error(&format!("sent,1,2,3,4{rest},5")).contains("after the last column is \"5\""));
    }

    #[test]
    fn time_runs_forwards() {
        let at = |ns: u64| Captured { at: Instant::from_ps(ns * 1_000), segment: Segment::default() };
        let dialogue = Dialogue { sent: Vec::new(), received: vec![at(3), at(5), at(4)] };
        let error = dialogue.check().expect_err("it runs backwards").to_string();
        assert!(error.contains("dialogue.received[2].at is 4 ns: the segment before it is of 5 ns"), "{error}");
    }
}
