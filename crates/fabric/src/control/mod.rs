//! The only things that change a fabric while it runs.

mod timeline;

pub use timeline::{Action, Timeline, TimelineStep};
