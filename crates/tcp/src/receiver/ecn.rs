//! Congestion marks on what arrives, and how they are echoed.
//!
//! With RFC 3168 (section 6.1.3) one mark is echoed until the peer sets CWR. A rule such as DCTCP counts marked
//! segments: then ECE shows whether the last segment was marked, and where that changes an ACK goes out at once
//! (RFC 8257, section 3.2). Segments before the change whose ACK is still held back get one of their own first, as in
//! Linux 6.1.

use super::Receiver;
use super::ack_policy::ECN_QUICKACKS;
use crate::{Ecn, Flags, Segment};

/// Marks that have come, and what is to be echoed of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Echo {
    /// ACKs carry ECE.
    pub(super) is_on: bool,
    /// The last ECN-capable segment was marked (`DCTCP.CE`).
    was_marked: bool,
    /// The peer has sent ECN-capable segments.
    ect_seen: bool,
    /// `rcv_nxt` when the last ECN-capable segment had come.
    noted: u64,
    /// An ACK for what came before the echo changed.
    earlier: Option<EarlierAck>,
}

/// What an ACK reports that is older than the last segment.
#[derive(Clone, Copy, Debug)]
struct EarlierAck {
    ack: u64,
    window: u32,
    ece: bool,
}

impl Receiver {
    /// A segment is taken, and the buffer has `memory` in use with it.
    #[inline]
    pub(super) fn check_ce(&mut self, segment: &Segment, memory: u64) {
        if self.negotiated.ecn {
            self.note_ecn(segment, memory);
        }
    }

    fn note_ecn(&mut self, segment: &Segment, memory: u64) {
        if self.negotiated.exact_echo && segment.ecn != Ecn::NotEct {
            self.echo_exactly(segment.ecn == Ecn::Ce, memory);
        }
        match segment.ecn {
            // ECN-capable before and not now: probably a retransmission.
            Ecn::NotEct if self.echo.ect_seen => self.policy.enter_quick_mode(self.window.rcv_wnd(), ECN_QUICKACKS),
            Ecn::NotEct => {}
            Ecn::Ce => {
                self.echo.ect_seen = true;
                // A sender that was marked needs its ACKs soon.
                if !self.echo.is_on {
                    self.echo.is_on = true;
                    self.policy.enter_quick_mode(self.window.rcv_wnd(), ECN_QUICKACKS);
                }
            }
            Ecn::Ect0 | Ecn::Ect1 => self.echo.ect_seen = true,
        }
    }

    fn echo_exactly(&mut self, is_marked: bool, memory: u64) {
        // CWR may have ended the echo; what was marked before remains so.
        let was_marked = self.echo.was_marked;
        if is_marked != was_marked {
            if self.policy.is_delayed() {
                self.acknowledge_before(was_marked, memory);
            }
            self.policy.demand();
        }
        (self.echo.noted, self.echo.was_marked, self.echo.is_on) = (self.rcv_nxt, is_marked, is_marked);
    }

    /// An ACK for all but the last segment, with what was so then; its window is today's.
    fn acknowledge_before(&mut self, ece: bool, memory: u64) {
        let (candidate, _) = self.window.candidate(memory, self.policy.rcv_mss());
        self.window.offer(self.rcv_nxt, candidate);
        let ack = self.echo.noted;
        self.echo.earlier = Some(EarlierAck { ack, window: self.window.offered(), ece });
        if ack == self.rcv_nxt {
            self.policy.on_ack_sent();
        } else {
            self.policy.on_other_ack_sent();
        }
    }

    /// An ACK goes out before all else ([`Receiver::fill_earlier_ack`]).
    #[inline]
    pub fn earlier_ack_pending(&self) -> bool {
        self.negotiated.exact_echo && self.echo.earlier.is_some()
    }

    /// Completes it. No ACK is delayed while there are SACK blocks to report, so it has none.
    pub fn fill_earlier_ack(&mut self, segment: &mut Segment) {
        let Some(earlier) = self.echo.earlier.take() else { return };
        segment.flags = segment.flags.with(if earlier.ece { Flags::ACK.with(Flags::ECE) } else { Flags::ACK });
        segment.ack = earlier.ack;
        segment.window = earlier.window;
        if self.negotiated.timestamps {
            segment.ts_ecr = self.ts_recent;
        }
    }
}
