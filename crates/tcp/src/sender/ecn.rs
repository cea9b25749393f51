//! Explicit congestion notification on the sending side (RFC 3168, section 6.1).

use super::Sender;
use crate::Ecn;

/// ECN state of the connection's sending half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// Negotiated.
    pub active: bool,
    /// The next new data carries CWR.
    pub cwr_due: bool,
    /// The ECN field of segments without new data: ECT(0) while the rule needs ECN, as Linux 6.1 then sets it on every
    /// segment, also of the handshake (RFC 3168, sections 6.1.1, 6.1.4 and 6.1.5, does not).
    pub control: Ecn,
}

impl EcnState {
    pub fn new(rule_needs_ecn: bool) -> Self {
        let control = if rule_needs_ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Self { active: false, cwr_due: false, control }
    }
}

impl Sender {
    /// The ECN field of a data segment, and whether it carries CWR, which one does.
    #[inline]
    pub(crate) fn take_ecn(&mut self, is_new_data: bool) -> (Ecn, bool) {
        if !(self.ecn.active && is_new_data) {
            return (self.ecn.control, false);
        }
        (Ecn::Ect0, std::mem::take(&mut self.ecn.cwr_due))
    }

    /// The handshake is done: without ECN nothing more is ECN-capable.
    pub(crate) fn settle_ecn(&mut self) {
        if !self.ecn.active {
            self.ecn.control = Ecn::NotEct;
        }
    }

    /// The window was reduced: signal it to the peer with the next new data (CWR).
    pub(crate) fn queue_cwr(&mut self) {
        self.ecn.cwr_due = self.ecn.active;
    }

    /// The reduction was undone.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.ecn.cwr_due = false;
    }
}
