//! The events that the fabric and the hosts report during a run.

use daybreak_units::Instant;

use crate::{CircuitRow, ControlRow, DropRow, PacketRow, WindowRow};

/// Receives the events of a run. Every method does nothing by default, and the probe is a type parameter of the run, so
/// disabled recording costs no instruction.
pub trait Probe {
    /// False for a probe that ignores everything: the caller may then skip work that only the probe needs.
    const LOOKS: bool = true;
    /// `wire_bytes` of a packet of `flow` leave on `link` at a time that may be in the future; `data` is the direction.
    #[inline]
    fn link_sent(&mut self, _at: Instant, _link: u32, _flow: u32, _data: bool, _wire_bytes: u32) {}
    /// The packet announced by `link_sent` does not leave after all: the run ends before.
    #[inline]
    fn link_unsent(&mut self, _at: Instant, _link: u32, _flow: u32, _data: bool, _wire_bytes: u32) {}
    /// Whether [`Probe::packet`] wants the packets of this link.
    #[inline]
    fn wants_packets(&self, _link: u32) -> bool {
        false
    }
    /// A link starts to send a packet.
    #[inline]
    fn packet(&mut self, _row: PacketRow) {}
    /// The occupancy of a queue after an arrival or a departure.
    #[inline]
    fn queue_changed(&mut self, _now: Instant, _queue: u32, _packets: u32, _bytes: u64) {}
    /// A packet was lost.
    #[inline]
    fn dropped(&mut self, _row: DropRow) {}
    /// A packet of `flow` with `bytes` of payload reached its receiver.
    #[inline]
    fn arrived(&mut self, _now: Instant, _flow: u32, _bytes: u64) {}
    /// The receiver of `flow` handed `bytes` to its application, in order.
    #[inline]
    fn delivered(&mut self, _now: Instant, _flow: u32, _bytes: u64) {}
    /// A new flow was discovered; it gets the next index.
    fn flow_found(&mut self) {}
    /// The sender of `flow` is connected, and is sampled from now on.
    #[inline]
    fn flow_began(&mut self, _now: Instant, _flow: u32) {}
    /// `flow` is complete, and no longer sampled.
    #[inline]
    fn flow_ended(&mut self, _flow: u32) {}
    /// The time, up to now, of a due sample by [`Probe::window`], with the state of the sender of `flow` since its last
    /// event; called before every event until it returns `None`.
    #[inline]
    fn window_due(&self, _now: Instant, _flow: u32) -> Option<Instant> {
        None
    }
    /// Whether [`Probe::window`] wants the state after every ACK.
    #[inline]
    fn wants_every_window(&self) -> bool {
        false
    }
    /// A sender's window.
    #[inline]
    fn window(&mut self, _row: WindowRow) {}
    /// A timeline took a step.
    #[inline]
    fn circuit(&mut self, _row: CircuitRow) {}
    /// A controller made a decision.
    #[inline]
    fn control(&mut self, _row: ControlRow) {}
    /// A data packet of `flow` reached its receiver `delay_ps` after it entered the sender's NIC queue.
    #[inline]
    fn packet_delay(&mut self, _flow: u32, _delay_ps: u64) {}
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Probe for Silent {
    const LOOKS: bool = false;
}
