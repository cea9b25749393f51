//! An observed segment beside the line that expects it.

use daybreak_tcp::config::Config;
use daybreak_tcp::{Ecn, Flags, Segment};

use crate::script::{Options, Pattern};

/// What the line says and the segment does not do. PSH counts only where the line has it.
pub(crate) fn differences(pattern: &Pattern, segment: &Segment, config: &Config) -> Vec<String> {
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
    check(pattern.ts_val.is_some_and(|at| config.timestamp(at) != segment.ts_val), "val");
    check(pattern.ts_ecr.is_some_and(|at| config.timestamp(at) != segment.ts_ecr), "ecr");
    check(pattern.syn.is_some_and(|options| options != options_of(segment)), "option");
    list
}

/// A segment in the words of a dialogue, so that it can be compared by eye.
pub fn text(segment: &Segment) -> String {
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

/// The part of a line that names a segment.
pub(crate) fn pattern_text(pattern: &Pattern) -> String {
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
