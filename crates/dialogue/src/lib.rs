//! Dialogues with a TCP stack: text files of segments, times and expected answers, as packetdrill plays
//! them with a live machine. The format is described in `crates/tcp/tests/dialogues/README.md`.
//!
//! The text becomes a [`Script`], and [`play`] says it to a [`Host`]: our own TCP in its tests, or a real
//! kernel in the guest. Both hear the same segments at the same times and are held to the same answers.
//! There is no clock and no socket here; the host owns the time.

mod compare;
mod pattern;
mod peer;
mod play;
mod script;

pub use compare::text;
pub use pattern::{Options, Pattern};
pub use peer::Peer;
pub use play::{Host, Told, play};
pub use script::{Script, Step, What};

/// Where a text is no dialogue, or a stack said something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct DialogueError {
    /// Line of the file, from 1; none when it concerns the whole.
    pub line: Option<usize>,
    /// What was expected, and what was found.
    pub problem: String,
}
