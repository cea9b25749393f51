//! The policies of controllers: a policy decides when a circuit or a path is set up and released, and for which flow.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_says_what_it_controls() {
        let of = |name| find(name).map(|entry| entry.controls.name());
        assert_eq!(of("queue_threshold"), Some("a circuit"));
        assert_eq!(of("elephants"), Some("flows"));
        assert_eq!(of("ring"), None);
    }
}
