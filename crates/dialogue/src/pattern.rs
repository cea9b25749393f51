//! The notation of one segment: parsed, written and compared.

use std::fmt;

use daybreak_tcp::{Ecn, Flags, SackBlock, Segment};
use daybreak_units::Instant;

use crate::claim::Relation;

/// The letters of the control bits, in the order in which they are written.
pub(crate) const FLAGS: [(Flags, char); 7] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::ACK, '.'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
];

/// The words for the ECN field.
pub(crate) const ECN: [(Ecn, &str); 4] =
    [(Ecn::NotEct, "not-ect"), (Ecn::Ect0, "ect0"), (Ecn::Ect1, "ect1"), (Ecn::Ce, "ce")];

/// A segment, as far as the line specifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Control bits.
    pub flags: Flags,
    /// On an expected segment: it must not have PSH.
    pub is_unpushed: bool,
    /// First byte, from the sender's initial sequence number.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// Window in bytes, after scaling.
    pub window: Option<u32>,
    /// The relation of an expected segment's window to `window`.
    pub window_is: Relation,
    /// It has no timestamp, though both SYNs had one.
    pub without_timestamp: bool,
    /// Instant whose timestamp is carried.
    pub ts_val: Option<Instant>,
    /// Instant whose timestamp is echoed.
    pub ts_ecr: Option<Instant>,
    /// SACK blocks; on an expected segment empty means none.
    pub sacks: Vec<SackBlock>,
    /// ECN field of the IP header.
    pub ecn: Option<Ecn>,
    /// Options of a SYN.
    pub syn: Option<Options>,
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size; 0 without the option.
    pub mss: u16,
    /// Window scale shift.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: bool,
}

impl From<&Segment> for Pattern {
    /// Everything in a segment except its timestamps, which are instants here and numbers there.
    fn from(segment: &Segment) -> Self {
        Self {
            flags: segment.flags,
            is_unpushed: false,
            seq: segment.seq,
            len: segment.len,
            ack: segment.flags.contains(Flags::ACK).then_some(segment.ack),
            window: Some(segment.window),
            window_is: Relation::Is,
            without_timestamp: false,
            ts_val: None,
            ts_ecr: None,
            sacks: segment.sacks().to_vec(),
            ecn: Some(segment.ecn),
            syn: segment.flags.contains(Flags::SYN).then(|| Options::from(segment)),
        }
    }
}

impl From<&Segment> for Options {
    fn from(segment: &Segment) -> Self {
        Self {
            mss: segment.syn.mss,
            window_scale: segment.syn.window_scale_plus_one.checked_sub(1),
            sack_permitted: segment.syn.sack_permitted,
            timestamps: segment.syn.timestamps,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, letter) in FLAGS.iter().filter(|(flag, _)| self.flags.contains(*flag)) {
            write!(f, "{letter}")?;
        }
        if self.is_unpushed {
            write!(f, "p")?;
        }
        write!(f, " {}:{}", self.seq, self.seq + u64::from(self.len))?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            let sign = if self.window_is == Relation::Is { String::new() } else { format!("{} ", self.window_is) };
            write!(f, " win {sign}{window}")?;
        }
        if !self.sacks.is_empty() {
            write!(f, " sack")?;
        }
        for block in &self.sacks {
            write!(f, " {}:{}", block.start, block.end)?;
        }
        if let Some(options) = self.syn {
            if options.mss > 0 {
                write!(f, " mss {}", options.mss)?;
            }
            if let Some(scale) = options.window_scale {
                write!(f, " wscale {scale}")?;
            }
            if options.sack_permitted {
                write!(f, " sackok")?;
            }
            if options.timestamps {
                write!(f, " ts")?;
            }
        }
        if self.without_timestamp {
            write!(f, " nots")?;
        }
        for (name, at) in [("val", self.ts_val), ("ecr", self.ts_ecr)] {
            if let Some(at) = at {
                match at.as_ps() {
                    ps if ps.is_multiple_of(1_000) => write!(f, " {name} {}ns", ps / 1_000)?,
                    ps => write!(f, " {name} {ps}ps")?,
                }
            }
        }
        match ECN.iter().find(|(ecn, _)| Some(*ecn) == self.ecn) {
            Some((_, word)) => write!(f, " {word}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Script, What};

    #[test]
    fn what_is_written_is_read_back() {
        let expected = ["0 > .p 1:1449 ack 1 win >= 64128 nots"];
        for line in expected {
            let script = Script::parse(line).unwrap();
            let What::Leaves(pattern) = &script.steps[0].what else { panic!("{line} is a segment") };
            assert_eq!(format!("0 > {pattern}"), line);
        }
        let lines = [
            "S 0:0 win 65535 mss 1460 wscale 7 sackok ts val 3000ns not-ect",
            "S.EW 0:0 ack 1 win 64240 mss 8960 ecr 0ns",
            "P. 1:1449 ack 1 win 64128 sack 5:9 11:12 val 7ps ecr 1000000ns ect0",
            "F. 2897:2897 ack 1449 ect1",
            "R 5:5 ce",
        ];
        for line in lines {
            let script = Script::parse(&format!("0 < {line}")).unwrap();
            let What::Arrives(pattern) = &script.steps[0].what else { panic!("{line} is a segment") };
            let written = pattern.to_string();
            let again = Script::parse(&format!("0 < {written}")).unwrap();
            let What::Arrives(read) = &again.steps[0].what else { panic!("{written} is a segment") };
            assert_eq!(read, pattern, "{line} was written as {written}");
            assert_eq!(written, line);
        }
    }
}
