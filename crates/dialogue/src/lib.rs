//! Dialogues with a TCP stack: text files of segments, times and expected answers, as packetdrill plays
//! them with a live machine. The format is described in `crates/tcp/tests/dialogues/README.md`.
//!
//! The text becomes a [`Script`], and [`play`] plays it with a [`Host`]: our own TCP, which is [`Model`], or a real
//! kernel in the guest. Both receive the same segments at the same times and must give the same answers. There is no
//! clock and no socket here; the host owns the time.

mod claim;
mod compare;
mod model;
mod pattern;
mod peer;
mod play;
mod script;
mod words;

pub use claim::{Claim, Relation};
pub use compare::text;
pub use model::Model;
pub use pattern::{Options, Pattern};
pub use peer::Peer;
pub use play::{Answer, Host, play};
pub use script::{Reading, Script, SocketOption, Step, What};

/// A syntax error of a dialogue, or a difference of the stack from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(*.line, *.column))]
pub struct DialogueError {
    /// Line of the file, from 1; `None` if it concerns the whole file.
    pub line: Option<usize>,
    /// Column of the word that cannot be parsed, from 1; `None` for a difference of the stack.
    pub column: Option<usize>,
    /// What was expected, and what was found.
    pub problem: String,
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        (Some(line), None) => format!("line {line}: "),
        (None, _) => String::new(),
    }
}
