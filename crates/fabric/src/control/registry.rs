//! The policies that controllers may have: a policy decides when a circuit or a path is set up and given up, for whom.

use super::{Entry, broker, elephants, queue_threshold};

/// Every policy. A new one is one file and one line here.
pub const REGISTRY: &[Entry] = &[
    queue_threshold::ENTRY,
    elephants::ENTRY,
    broker::FIRST_COME,
    broker::LARGEST_FIRST,
    broker::EARLIEST_DEADLINE,
    broker::FAIR_SHARE,
];

/// Looks a policy up by its name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
