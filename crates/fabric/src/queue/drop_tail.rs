//! The plain FIFO: only a full queue refuses a packet.

use daybreak_units::parameters::{Parameter, Settings};

use super::{Arrival, Capacity, Discipline, Occupancy, Setup, Verdict};

/// It has neither settings nor state.
#[derive(Debug)]
pub(crate) struct DropTail;

impl Discipline for DropTail {
    const NAME: &'static str = "drop_tail";
    const SUMMARY: &'static str = "FIFO that drops arrivals when it is full";
    const PARAMETERS: &'static [Parameter] = &[];
    const SEES_EVERY_ARRIVAL: bool = false;
    const SETTLES_ON_ARRIVAL: bool = true;
    const MARKS: bool = false;

    fn new(_setup: &Setup) -> Self {
        Self
    }

    fn configure(&mut self, _settings: &Settings) {}

    #[inline(always)]
    fn arrival(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Accept
    }

    fn room(&self, occupancy: Occupancy, capacity: &Capacity, largest_packet: u32) -> u32 {
        capacity.room(occupancy, largest_packet)
    }
}
