//! Whether a small segment waits for more (RFC 896, RFC 9293, section 3.7.4).

/// Nagle's algorithm with Minshall's change, and the application's word about it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sender) struct Nagle {
    /// End of the last segment that was not full.
    small_end: u64,
    /// `TCP_NODELAY`: no small segment waits for another.
    nodelay: bool,
    /// `TCP_CORK`: small segments wait for more.
    corked: bool,
    /// What is buffered is sent once, regardless of these.
    push_once: bool,
}

impl Nagle {
    /// `TCP_NODELAY`. When it is set, what is in the socket leaves, even from under a cork.
    pub fn set_nodelay(&mut self, is_on: bool) {
        self.nodelay = is_on;
        self.push_once |= is_on;
    }

    /// `TCP_CORK`.
    pub fn set_cork(&mut self, is_on: bool) {
        self.corked = is_on;
        self.push_once |= !is_on && self.nodelay;
    }

    /// The application has written more.
    pub fn on_written(&mut self) {
        self.push_once = false;
    }

    /// A segment that is not full leaves; it ends at `end`.
    #[inline]
    pub fn on_small(&mut self, end: u64) {
        self.small_end = end;
    }

    /// End of the last segment that was not full.
    pub fn small_end(&self) -> u64 {
        self.small_end
    }

    /// Whether the next small segment waits. A small one waits only while another is unacknowledged: `una` is the first
    /// byte that is, if `is_idle` is false. `TCP_CORK` holds every small segment back, `TCP_NODELAY` none.
    pub fn holds(&self, una: u64, is_idle: bool) -> bool {
        let waits_for_small = !self.nodelay && !is_idle && self.small_end > una;
        !self.push_once && (self.corked || waits_for_small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_segment_waits_for_another_and_a_cork_holds_all() {
        // The last small segment ended at 100.
        for (nodelay, corked, una, is_idle, holds) in [
            (false, false, 99, false, true),
            (false, false, 100, false, false),
            (false, false, 99, true, false),
            (true, false, 99, false, false),
            (false, true, 100, true, true),
            (true, true, 100, true, true),
        ] {
            let nagle = Nagle { small_end: 100, nodelay, corked, push_once: false };
            assert_eq!(nagle.holds(una, is_idle), holds, "{nagle:?} at {una}");
            assert!(!Nagle { push_once: true, ..nagle }.holds(una, is_idle));
        }
    }

    #[test]
    fn what_is_there_leaves_with_nodelay_and_with_the_cork_of_a_socket_without_delay() {
        // do_tcp_setsockopt(): TCP_NAGLE_PUSH comes with the former, and where the latter is pulled.
        let mut nagle = Nagle::default();
        nagle.set_cork(true);
        nagle.set_cork(false);
        assert!(!nagle.push_once, "as without a cork");
        nagle.set_nodelay(true);
        assert!(nagle.push_once);
        nagle.on_written();
        nagle.set_cork(true);
        assert!(!nagle.push_once && nagle.holds(1, true));
        nagle.set_cork(false);
        assert!(nagle.push_once);
    }
}
