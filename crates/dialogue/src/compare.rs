//! Compares an observed segment with the line that expects it.

use daybreak_tcp::config::Config;
use daybreak_tcp::{Ecn, Flags, Segment};

use crate::pattern::{Options, Pattern};

/// The differences between the line and the segment. PSH counts only if the line requires or forbids it.
pub(crate) fn differences(pattern: &Pattern, segment: &Segment, config: &Config) -> Vec<String> {
    let mut list = Vec::new();
    let mut check = |differs: bool, name: &str| {
        if differs {
            list.push(format!("{name} differs"));
        }
    };
    let tells_push = pattern.flags.contains(Flags::PSH) || pattern.is_unpushed;
    let ignored = if tells_push { 0 } else { Flags::PSH.0 };
    check(pattern.flags.0 & !ignored != segment.flags.0 & !ignored, "flags");
    check(pattern.seq != segment.seq, "seq");
    check(pattern.len != segment.len, "length");
    check(pattern.ack.is_some_and(|ack| ack != segment.ack), "ack");
    check(pattern.window.is_some_and(|window| !pattern.window_is.holds(segment.window, window)), "win");
    check(pattern.sacks != segment.sacks(), "sack");
    check(pattern.ecn.is_some_and(|ecn| ecn != segment.ecn), "ecn");
    check(pattern.ts_val.is_some_and(|at| config.timestamp(at) != segment.ts_val), "val");
    check(pattern.ts_ecr.is_some_and(|at| config.timestamp(at) != segment.ts_ecr), "ecr");
    check(pattern.without_timestamp && segment.ts_val != 0, "timestamp");
    check(pattern.syn.is_some_and(|options| options != Options::from(segment)), "option");
    list
}

/// A segment in the notation of a dialogue, for comparison by eye; timestamps as numbers.
pub fn text(segment: &Segment) -> String {
    let pattern = Pattern::from(segment);
    let ecn = pattern.ecn.filter(|ecn| *ecn != Ecn::NotEct);
    format!("{} ts {} {}", Pattern { ecn, ..pattern }, segment.ts_val, segment.ts_ecr)
}
