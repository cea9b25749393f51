//! The only things that change a fabric while it runs.

mod action;
mod apply;
mod timeline;

pub use action::{Action, Change};
pub use timeline::{Timeline, TimelineStep};
