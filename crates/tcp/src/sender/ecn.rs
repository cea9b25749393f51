//! Explicit congestion notification on the sending side (RFC 3168, section 6.1).

use super::Sender;

/// ECN state of the connection's sending half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// Negotiated.
    pub active: bool,
    /// The next new data carries CWR.
    pub cwr_due: bool,
}

impl Sender {
    /// The window was reduced: tell the peer with the next new data.
    pub(crate) fn queue_cwr(&mut self) {
        self.ecn.cwr_due = self.ecn.active;
    }

    /// The reduction was undone.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.ecn.cwr_due = false;
    }
}
